"""SAGE: how soon a model brings the emotion back after it made it worse, and the emotion in a scenario on a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attune_bench.analyses.recovery import StatePath, recovery_entry
from attune_bench.benchmarks.sage.scoring import row
from attune_bench.report.columns import Figure, Section
from attune_bench.report.page_scores import PageScores
from attune_bench.report.recovery import recovery_section
from attune_bench.report.transcripts import state_paths
from attune_bench.scores.columns import Analysis
from attune_data.sage import FAILURE, SUCCESS, SageDialogue


def _emotions(dialogue: SageDialogue) -> list[int | None]:
    return [said.emotion_point for said in dialogue.history if said.role == "user"]


def _paths(*, results: Iterable[SageDialogue]) -> Iterator[StatePath]:
    """Yield the emotion of each dialogue; the person left where it ended below 10."""
    for dialogue in results:
        yield StatePath(row(dialogue), "emotion", _emotions(dialogue), dialogue.outcome == "failure")


ANALYSES: Mapping[str, Analysis] = {"state_recovery": recovery_entry(_paths, ("results",))}


def sections(page: PageScores, *, results: Sequence[SageDialogue] | None = None, **_: object) -> list[Section]:
    """Return this benchmark's own sections of a page; `results` are the dialogues that were scored."""
    entry = ANALYSES["state_recovery"]
    if results is None:
        return [Section(entry.title, left_out="needs the dialogues (--results)")]
    return [recovery_section(page, entry.function(page.shown, results=results, **page.options))]


def transcript(_: None, dialogues: Mapping[str, SageDialogue]) -> Iterator[Figure]:
    """Yield what a page shows once of a scenario: the emotion under every model."""
    paths = {name: _emotions(said) for name, said in dialogues.items()}
    if any(state is not None for path in paths.values() for state in path):
        yield Figure(
            state_paths(
                {"emotion": paths},
                anchors={"emotion": {"success": SUCCESS, "failure below": FAILURE}},
                last=max(len(path) for path in paths.values()) - 1,
            ),
            "Emotion of the person after each of their messages, 0 to 100, better higher, under every model. A line "
            "that stops is a dialogue that ended there; the records do not say how many rounds it could have had.",
        )
