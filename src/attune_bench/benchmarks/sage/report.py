"""SAGE's scenarios on a page: the emotion of the person under every model."""

from collections.abc import Iterator, Mapping, Sequence

from attune_bench.benchmarks.sage.recovery import ANALYSES
from attune_bench.report.columns import Figure, Section
from attune_bench.report.page_scores import PageScores
from attune_bench.report.recovery import recovery_section
from attune_bench.report.transcripts import state_paths
from attune_data.sage import FAILURE, SUCCESS, SageDialogue


def sections(page: PageScores, *, results: Sequence[SageDialogue] | None = None, **_: object) -> list[Section]:
    """Return this benchmark's own sections of a page; `results` are the dialogues that were scored."""
    entry = ANALYSES["state_recovery"]
    if results is None:
        return [Section(entry.title, left_out="needs the dialogues (--results)")]
    return [recovery_section(page, entry.function(page.shown, results=results, **page.options))]


def transcript(_: None, dialogues: Mapping[str, SageDialogue]) -> Iterator[Figure]:
    """Yield what a page shows once of a scenario: the emotion under every model."""
    paths = {
        name: [one.emotion_point for one in said.history if one.role == "user"] for name, said in dialogues.items()
    }
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
