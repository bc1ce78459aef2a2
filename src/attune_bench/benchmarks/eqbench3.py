"""EQ-Bench 3: transcripts scored by the rubric of a judge, and ratings from the judge's verdicts on two of them.

The unit is the situation, and the cluster is the story, which a role-play and its analyses share. Iterations are
repeats. A transcript that failed, or whose scores could not be read, lowers coverage and not the score.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import fsum

from attune_bench.scores import pairwise
from attune_bench.scores.records import score_items
from attune_bench.scores.table import ScoreTable
from attune_data.comparisons import Comparison
from attune_data.eqbench3 import STORIES, EQBench3Situation, EQBench3Transcript, EQBench3Verdict
from attune_data.text import listed, plural
from attune_metrics.eqbench3 import CRITERIA, METRICS, STYLE, PlusCounts, counted_pluses, eqbench3_task_score
from attune_metrics.metric import MetricInputError

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


def plus_counts(verdicts: Iterable[EQBench3Verdict]) -> list[PlusCounts]:
    """Return the plus signs of the verdicts that can be counted, in their order, those of analysis as 1 and 0.

    Examples
    --------
    >>> about = {"scenario_id": "401", "test_model": "a", "neighbor_model": "b", "test_first": True}
    >>> plus_counts([EQBench3Verdict(**about, plus_for_test=14, plus_for_other=1)])
    [PlusCounts(test='a', other='b', scenario='401', iteration='1', plus_test=1, plus_other=0)]
    """
    found = []
    for one in verdicts:
        if not one.fault and one.plus_for_test is not None and one.plus_for_other is not None:
            counts = counted_pluses(one.plus_for_test, one.plus_for_other, rubric=one.rubric)
            sides = one.test_model, one.neighbor_model
            found.append(PlusCounts(*sides, one.scenario_id, str(one.iteration_index), *counts))
    return found


def as_comparisons(verdicts: Iterable[EQBench3Verdict]) -> list[Comparison]:
    """Return the verdicts that can be counted as comparisons in pairs, with the difference of plus signs as margin.

    The unit is the situation, the cluster its story, the iteration a repeat.

    Examples
    --------
    >>> about = {"scenario_id": "401", "test_model": "a", "neighbor_model": "b", "test_first": False}
    >>> [one] = as_comparisons([EQBench3Verdict(**about, plus_for_test=14, plus_for_other=1)])
    >>> one.outcome, one.margin, one.shown, one.cluster
    (1.0, 1, 'b', '303')
    """
    held = [one for one in verdicts if not one.fault]
    return [
        Comparison(
            unit=one.scenario_id, a=one.test_model, b=one.neighbor_model, margin=counts.plus_test - counts.plus_other,
            first=one.test_model if one.test_first else one.neighbor_model,
            length_a=one.test_model_avg_response_length, length_b=one.neighbor_model_avg_response_length,
            cluster=one.story or STORIES.get(one.scenario_id, one.scenario_id), repeat=one.iteration_index,
            synthetic=one.synthetic,
        )
        for one, counts in zip(held, plus_counts(held), strict=True)
    ]  # fmt: skip


def score_pairs(
    verdicts: Iterable[EQBench3Verdict],
    *,
    margins: pairwise.Margins = "verdicts",
    ties: pairwise.Ties = "half",
    penalty: float | None = None,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Rate models by verdicts, in one fit to which their order does not matter.

    Parameters
    ----------
    verdicts : iterable of EQBench3Verdict
        Verdicts on any number of models. Those that cannot be counted are left out, and a note says so.
    margins, ties, penalty
        As for `attune_bench.scores.pairwise.score`.
    progress : callable, optional
        Called with the number of verdicts in the end.

    Returns
    -------
    ScoreTable
        The metrics ``rating`` and ``win_rate``.

    Raises
    ------
    MetricInputError
        Where no verdict can be counted, or the ratings cannot be fitted.
    """
    given = list(verdicts)
    comparisons = as_comparisons(given)
    if not comparisons:
        raise MetricInputError(f"none of {plural(len(given), 'verdict')} can be counted: see the issues of the file")
    table = pairwise.score(comparisons, margins=margins, ties=ties, penalty=penalty, progress=progress)
    notes = []
    if left_out := len(given) - len(comparisons):
        notes.append(f"Left out: {plural(left_out, 'verdict')} that cannot be counted.")
    orders = Counter((one.unit, one.repeat, *sorted((one.a, one.b))) for one in comparisons)
    if single := sum(count == 1 for count in orders.values()):
        notes.append(f"Judged in one order only: {single} of {plural(len(orders), 'pair')} of transcripts.")
    about = {"unit": "situation", "cluster": "story"}
    noted = table.note(*notes) if notes else table
    return replace(noted, provenance=noted.provenance.model_copy(update=about))
