"""EQ-Bench 3: transcripts scored by the rubric of a judge.

The unit is the situation, its iterations are repeats, and the cluster is the story, which a role-play and its analyses
share. A transcript that failed, or whose scores could not be read, lowers coverage and not the score.
"""

from collections.abc import Callable, Iterable, Mapping
from math import fsum

from attune_bench.scores.records import score_items
from attune_bench.scores.table import ScoreTable
from attune_data.eqbench3 import EQBench3Situation, EQBench3Transcript
from attune_data.text import listed, plural
from attune_metrics.eqbench3 import CRITERIA, METRICS, STYLE, eqbench3_task_score

_RUBRIC = METRICS[0].name
_COUNTING = frozenset((*CRITERIA["standard"], *CRITERIA["analysis"]))


def row(transcript: EQBench3Transcript) -> tuple[str, None, str]:
    """Return the model, no condition, and the situation of a transcript: its row in the scores."""
    return transcript.test_model, None, transcript.scenario_id


def _values(situation: EQBench3Situation, transcript: EQBench3Transcript) -> dict[str, list[float | None]]:
    """Return the score of a transcript and its criteria; None of one that was not scored."""
    scores: Mapping[str, float] = transcript.rubric_scores if transcript.is_scored else {}
    names = (*CRITERIA[situation.rubric], *(STYLE if situation.rubric == "standard" else ()))
    found = {f"eqbench3_{name}": [_on_scale(scores.get(name))] for name in names}
    return {_RUBRIC: [_task_score(situation, scores)], **found}


def _task_score(situation: EQBench3Situation, scores: Mapping[str, float]) -> float | None:
    counting = _COUNTING if situation.rubric == "standard" else {*CRITERIA["analysis"]}
    if scores.keys().isdisjoint(counting):
        return None
    return _on_scale(eqbench3_task_score(scores, rubric=situation.rubric))


def _on_scale(score: float | None) -> float | None:
    return score if score is not None and 0 <= score <= 20 else None


def score(
    situations: Iterable[EQBench3Situation],
    transcripts: Iterable[EQBench3Transcript],
    *,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score transcripts by the rubric, as published: the mean of the criteria that count, then the mean over them.

    Parameters
    ----------
    situations : iterable of EQBench3Situation
        The situations. Transcripts of others are left out, and a note says so.
    transcripts : iterable of EQBench3Transcript
        Transcripts of any number of models and iterations.
    progress : callable, optional
        Called with the number of transcripts in the end.

    Returns
    -------
    ScoreTable
        The metric ``eqbench3_rubric``, 0 to 20, and one for each criterion. Criteria of style have no direction. Null
        for a transcript that was not scored; a note names the models that have one.

    Raises
    ------
    MetricInputError
        As `attune_bench.scores.records.score_items`.
    """
    known, given = {one.id: one for one in situations}, list(transcripts)
    table = score_items(
        known.values(), given, _values, row=row, metrics=METRICS, cluster="story", traits=("type", "category"),
        words={"unit": "situation", "cluster": "story", "primary": _RUBRIC}, progress=progress,
    )  # fmt: skip
    own = [one for one in given if one.scenario_id in known]
    notes = []
    if failed := [one for one in own if not one.is_scored]:
        models = listed(sorted({one.test_model for one in failed}), 6)
        notes.append(f"Not scored: {plural(len(failed), 'transcript')} without the judge's scores, of {models}.")
    tasks: dict[str, list[float]] = {}
    for one in own:
        if (value := _task_score(known[one.scenario_id], one.rubric_scores if one.is_scored else {})) is not None:
            tasks.setdefault(one.test_model, []).append(5 * value)
    if table.repeats is not None and tasks:
        means = ", ".join(f"{model} {fsum(found) / len(found):.1f}" for model, found in sorted(tasks.items()))
        notes.append(f"Means over all transcripts, as published, in which each iteration counts once: {means}.")
    return table.note(*notes) if notes else table
