"""The analyses that only AttuneBench has, and its defaults for analyses of any scores.

Drift
-----
Whether models do worse, or better, late in a conversation.

Turn t of T is in third ``floor(3 (t - 1) / T)``: early, middle or late. The turns of a conversation are those that any
model was scored on, in the order of their numbers, so that a model that left turns out is compared on the same thirds.
A conversation of fewer than three turns has no thirds and does not count.

Diagnosis groups
----------------
Whether people with a diagnosis are read less well than people without.

Each group is set against the conversations of participants who reported no diagnosis; those who gave no answer are on
neither side. A participant with two diagnoses is in both groups, so that groups overlap; ``any`` holds all of them.

The analyses of scores with their runs are in `attune_bench.benchmarks.attunebench.run_analyses`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import fsum
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.analyses import ANALYSES as GENERAL
from attune_bench.benchmarks.attunebench.after_mismatch import AFTER_MISMATCH, after_mismatch
from attune_bench.benchmarks.attunebench.branches import (
    BRANCH_PROFILES,
    METRICS_OF_BRANCHES,
    above_random,
    branches,
)
from attune_bench.benchmarks.attunebench.consistency import PANAS_CONSISTENCY, panas_consistency
from attune_bench.benchmarks.attunebench.contamination import CONTAMINATION, contamination, reproduced_shown
from attune_bench.benchmarks.attunebench.conversation_score import CELLS, IN_COMPOSITE, POOLED
from attune_bench.benchmarks.attunebench.detail import TURN_KEYS, record_grid
from attune_bench.benchmarks.attunebench.run_analyses import (
    JUDGE_AGREEMENT,
    JUDGE_RANKS,
    JUDGED,
    QUESTION_AGREEMENT,
    judge_agreement,
    judge_ranks,
    question_agreement,
)
from attune_bench.benchmarks.attunebench.serial_misreads import READ, SERIAL_MISREADS, serial_misreads
from attune_bench.benchmarks.attunebench.truth import METRICS as OF_TRUTH
from attune_bench.benchmarks.attunebench.truth import TRUTH, above_ceiling, truth
from attune_bench.benchmarks.attunebench.truth_agreement import TRUTH_AGREEMENT, alike, truth_agreement
from attune_bench.scores.columns import Analysis, Columns, FrameColumn, build_frame, columns, share, text
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.compare import TESTED, paired, tested
from attune_bench.stats.options import (
    AnalysisKeywords,
    AnalysisOptions,
    SamplingKeywords,
    begin,
)
from attune_bench.stats.subgroups import strata_of, subgroups
from attune_data.attunebench.profile import NO_DIAGNOSIS, UNKNOWN
from attune_data.query import Queryable
from attune_metrics.metric import MetricInputError, nan_to_none
from attune_metrics.stats.bootstrap import point_estimate
from attune_metrics.stats.sums import Floats

_THIRDS = 3

DRIFTING = (
    *"avg_emotion_f1 avg_emotion_va_score avg_binary_om_accuracy avg_binary_human_accuracy".split(),
    *("avg_pairwise_accuracy", "pooled_binary_om_metrics.accuracy"),
)
"""The metrics of turns that enter the composite, and pooled OM accuracy."""

Grid = list[list[Mapping[str, Any] | None]]


_OF_THIRDS = columns(
    "model condition metric early middle late drift",
    early="Mean over the first third of the turns.",
    middle="Mean over the middle third.",
    late="Mean over the last third.",
    drift=FrameColumn("Late minus early, on the conversations that have both.", signed=True),
)
TURN_DRIFT = _OF_THIRDS | TESTED


def turn_drift(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return each model's scores in the early, middle and late third of conversations, and late minus early.

    Parameters
    ----------
    scores : ScoreTable
        Scores of this benchmark, with the records of their runs.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. Metrics that turns have; by default `DRIFTING`.

    Returns
    -------
    polars.DataFrame
        The columns `TURN_DRIFT`. A third's value is a mean over conversations of the mean over its turns; a pooled
        score is computed from the counts of all turns of the third. All are over the ``n`` conversations that have a
        value both early and late (`middle` over those that also have one in the middle), so that ``drift`` is `late`
        minus `early`; ``p_holm`` is Holm's over the models of a mode.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, turns do not have a metric, or the scores have no records.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = turn_drift(score(load("demo"), load_runs("demo")), metrics=["avg_pairwise_accuracy"])
    >>> row = found.row(0, named=True)
    >>> row["n"], row["low"] < row["drift"] < row["high"]
    (40, True)
    """
    chosen, series, draws = begin(scores, options)
    metrics = chosen.names(scores, DRIFTING)
    for metric in metrics:
        if metric not in TURN_KEYS:
            raise MetricInputError(f"turns do not have {metric!r}; expected one of {', '.join(TURN_KEYS)}")
    grid = record_grid(scores, series)
    thirds = [_thirds(of_group[unit] for of_group in grid) for unit in range(len(series.units))]
    families = [f"the models of mode {mode!r}" for _, mode in series.groups]
    rows: dict[tuple[int, str], tuple[Any, ...]] = {}
    for metric in metrics:
        statistic = series.statistic(metric)
        early, middle, late = _values(grid, thirds, metric)
        both = [(group, len(late) + group) for group in range(len(late))]
        found = paired(draws, np.concatenate([late, early]), both, families, statistic, of=metric)
        tests = tested(found, families, draws)
        between = point_estimate(np.where(np.isnan(early + late), np.nan, middle), statistic=statistic).tolist()
        for group, (identity, pair, own) in enumerate(zip(series.groups, found, tests, strict=True)):
            values = pair.second, nan_to_none(between[group]), pair.first, pair.difference
            rows[group, metric] = (*identity, metric, *values, *own)
    draws.skewed.warn_of_differences(scores.metrics)
    ordered = [rows[group, metric] for group in range(len(series.groups)) for metric in metrics]
    return build_frame(TURN_DRIFT, ordered)


def _thirds(records: Iterable[Mapping[str, Any] | None]) -> dict[int, int]:
    """Return the third of each turn number of a conversation, none where it has fewer than three turns."""
    numbers = sorted({turn["turnNumber"] for record in records if record for turn in record["turn_scores"]})
    if len(numbers) < _THIRDS:
        return {}
    return {number: _THIRDS * place // len(numbers) for place, number in enumerate(numbers)}


def _values(grid: Grid, thirds: list[dict[int, int]], metric: str) -> Floats:
    """Return a metric's terms (thirds, groups, terms, units)."""
    key, pooled = TURN_KEYS[metric], "." in metric
    terms = np.full((_THIRDS, len(grid), len(CELLS) if pooled else 1, len(thirds)), np.nan)
    for group, records in enumerate(grid):
        for unit, record in enumerate(records):
            turns: list[list[Any]] = [[] for _ in range(_THIRDS)]
            for turn in record["turn_scores"] if record and thirds[unit] else ():
                if (value := turn.get(key)) is not None:
                    turns[thirds[unit][turn["turnNumber"]]].append(value)
            for third, values in enumerate(turns):
                if values and pooled:
                    terms[third, group, :, unit] = [sum(value[cell] for value in values) for cell in CELLS]
                elif values:
                    terms[third, group, 0, unit] = fsum(values) / len(values)
    return terms


_GAP = columns("gap", gap=FrameColumn("The first accuracy minus the second.", signed=True)) | TESTED
_OM, _HP = share("Accuracy on what the original model did."), share("Accuracy on what the participant wanted.")
PERSPECTIVE_GAP = columns("model condition om hp", om=_OM, hp=_HP) | _GAP


def perspective_gap(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how much better each model tells what the original model did (OM) than what the participant wanted (HP).

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `PERSPECTIVE_GAP`. ``om`` and ``hp`` are ``avg_binary_om_accuracy`` and
        ``avg_binary_human_accuracy``, ``gap`` is `om` minus `hp`; ``p`` is from
        `attune_metrics.stats.comparison.paired_permutation_test`, ``p_holm`` Holm's over the models of a mode.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or records contradict each other.

    Warns
    -----
    UserWarning
        Where a family is so large that, with so few clusters that differ, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> found = perspective_gap(score(load("demo"), load_runs("demo")))
    >>> [(row["model"], round(row["gap"], 2)) for row in found.iter_rows(named=True)]
    [('synthetic/attentive', 0.09), ('synthetic/hasty', 0.06)]
    """
    metrics = "avg_binary_om_accuracy", "avg_binary_human_accuracy"
    return _gap(scores, metrics, PERSPECTIVE_GAP, options)


_OBSERVER = share("Accuracy where the question is asked as of an observer.")
_HP_FACING = share("Accuracy where it is asked as of the participant.")
PHRASING_GAP = columns("model condition observer hp_facing", observer=_OBSERVER, hp_facing=_HP_FACING) | _GAP


def phrasing_gap(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how much better each model tells what the participant wanted as an observer than as that participant.

    Parameters
    ----------
    scores, **options
        As for `perspective_gap`.

    Returns
    -------
    polars.DataFrame
        The columns `PHRASING_GAP`. ``observer`` and ``hp_facing`` are ``avg_binary_human_accuracy`` and
        ``avg_binary_human_accuracy_hp``, ``gap`` is ``hp_perspective_gap``, the first minus the second. A model that
        was not asked the HP-facing questions has null.

    Raises
    ------
    MetricInputError
        As `perspective_gap`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = phrasing_gap(scores, resamples=200)
    >>> [(row["model"], round(row["gap"], 3)) for row in found.iter_rows(named=True)]
    [('synthetic/attentive', 0.001), ('synthetic/hasty', 0.007)]
    """
    metrics = "avg_binary_human_accuracy", "avg_binary_human_accuracy_hp"
    return _gap(scores, metrics, PHRASING_GAP, options)


def _gap(scores: ScoreTable, metrics: tuple[str, str], of: Columns, options: SamplingKeywords) -> pl.DataFrame:
    """Return the frame, with the columns `of`, that compares two metrics of the same models."""
    _, series, draws = begin(scores, options, weighted=True)
    both = np.concatenate([series.values(metric) for metric in metrics])
    groups = len(series.groups)
    families = [f"the models of mode {mode!r}" for _, mode in series.groups]
    found = paired(draws, both, [(one, groups + one) for one in range(groups)], families)
    tests = tested(found, families, draws)
    draws.skewed.warn_of_differences(scores.metrics)
    rows = [(*group, *pair[:3], *own) for group, pair, own in zip(series.groups, found, tests, strict=True)]
    return build_frame(of, rows)


ANY = "any"


DIAGNOSIS_GROUPS = columns(
    "group n clusters metric model condition value value_none difference low high p p_holm significant mark reason",
    group=text("Group of diagnoses; a participant can be in several."),
    value_none=FrameColumn("The value of participants without a diagnosis.", head="none"),
    difference="The group minus the participants without a diagnosis, unpaired.",
    low="Lower end of the interval of the difference.",
    high="Upper end of the interval of the difference.",
    p="p-value of the difference, by resampling participants of both sides.",
)


def diagnosis_groups(scores: ScoreTable, *, data: Queryable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return each model's scores on each diagnosis group, against those on conversations without a diagnosis.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    data : Collection or Tables
        The conversations, which say who has which diagnosis.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. The metrics are by default the composite and those that enter it.

    Returns
    -------
    polars.DataFrame
        The columns `DIAGNOSIS_GROUPS`. ``difference`` is ``value`` minus ``value_none``, with its interval and p-value
        as in `attune_bench.stats.subgroups.by`; ``p_holm`` is Holm's over the groups. ``mark`` is ``few`` below 20
        participants in the group, ``too few`` below 5. No row where nobody has a diagnosis; no difference where
        everybody has one.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or none of the scored conversations is in the data.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> conversations = load("demo")
    >>> scores = score(conversations, load_runs("demo"))
    >>> found = diagnosis_groups(scores, data=conversations, metrics=["avg_emotion_va_score"])
    >>> found.filter(model="synthetic/attentive").select("group", "n", "mark").rows()[:2]
    [('any', 22, 'few'), ('AnxDep', 10, 'few')]
    """
    chosen: AnalysisKeywords = {**options, "metrics": AnalysisOptions(**options).names_of_means(scores, IN_COMPOSITE)}
    scored = set(scores.units["unit"])
    groups = strata_of(data, "diagnosis_group").items()
    strata = {name: units for name, of in groups if (units := scored.intersection(of))}
    without, unknown = (strata.pop(name, set[str]()) for name in (NO_DIAGNOSIS, UNKNOWN))
    if strata:
        strata = {ANY: set().union(*strata.values()), **strata}
    # Without strata there is no complement either: these conversations are known, and nothing is asked of them.
    known = without if strata else without | unknown
    found = subgroups(scores, strata, known=known, compare=True, **chosen)
    return found.with_columns(
        value_none=pl.col("value") - pl.col("difference"), group="stratum", low="difference_low", high="difference_high"
    ).select(*DIAGNOSIS_GROUPS)


_ROOM = "attune_bench.benchmarks.attunebench"
_ANSWERS_OF_PEOPLE = (
    "runs of at least one person, called human/NAME, beside the models' (see docs/people.md), with one conversation "
    "that all of them answered in full"
)

ANALYSES: Mapping[str, Analysis] = MappingProxyType(
    {
        "perspective_gap": Analysis(
            function=perspective_gap,
            title="Perspective gap",
            note="Gap: accuracy on what the original model did (OM) minus on what the participant wanted (HP).",
            exchanged="the models of a mode",
            metrics=("avg_binary_om_accuracy", "avg_binary_human_accuracy"),
            takes_metrics=False,
            estimate="gap",
            row="a model and mode",
            columns=PERSPECTIVE_GAP,
        ),
        "phrasing_gap": Analysis(
            function=phrasing_gap,
            title="Phrasing gap",
            note="Gap: accuracy on what the participant wanted, asked as an observer minus asked as the participant.",
            exchanged="the models of a mode",
            metrics=("avg_binary_human_accuracy", "avg_binary_human_accuracy_hp"),
            takes_metrics=False,
            estimate="gap",
            row="a model and mode",
            columns=PHRASING_GAP,
        ),
        "turn_drift": Analysis(
            function=turn_drift,
            title="Turn drift",
            note="Means over conversations of at least three turns, by third; drift: late minus early.",
            exchanged="the models of a mode",
            metrics=DRIFTING,
            estimate="drift",
            row="a model, mode and metric",
            columns=TURN_DRIFT,
        ),
        "diagnosis_groups": Analysis(
            function=diagnosis_groups,
            title="Diagnosis groups",
            note="Difference: the group minus the conversations of participants without a diagnosis, unpaired. Groups "
            "overlap: a participant can have several diagnoses, and any holds all. Holm: p corrected for "
            "the groups. few: fewer than 20 participants. too few: fewer than 5, no interval.",
            metrics=IN_COMPOSITE,
            needs=("data",),
            rows_need="conversations of participants with a diagnosis",
            estimate="difference",
            by=("model",),
            row="a group, metric, model and mode",
            columns=DIAGNOSIS_GROUPS,
        ),
        "question_agreement": Analysis(
            function=question_agreement,
            title="Agreement by question",
            note="Agreement: the share of answers that are the participant's, a missing one being a no; coverage: the "
            "share that is not missing.",
            metrics=tuple(f"{name}.accuracy" for name in POOLED),
            takes_metrics=False,
            needs=("data", "results"),
            rows_need="binary questions that participants answered",
            estimate="agreement",
            by=("task",),
            row="a task, question, model and mode",
            columns=QUESTION_AGREEMENT,
        ),
        "judge_agreement": Analysis(
            function=judge_agreement,
            title="Agreement of judges",
            note="Krippendorff's alpha: of ratings at interval level, of answers nominal; 1 is perfect agreement, 0 is "
            "chance. Shift: mean rating of B minus mean rating of A, by which the mean moves where B takes the place "
            "of A. Judged: drafts, or answers, that two judges gave.",
            metrics=(JUDGED,),
            takes_metrics=False,
            needs=("results",),
            rows_need="runs that record what each of several judges said",
            estimate="alpha",
            by=("rated",),
            row="a mode, what is rated, and a pair of judges",
            columns=JUDGE_AGREEMENT,
        ),
        "judge_ranks": Analysis(
            function=judge_ranks,
            title="Ranks by judge",
            note="Draft judge score by one judge's ratings alone, or by all, as scored, and the rank that it gives. "
            "Where ranks differ between judges by more than their intervals, the order of models rests on the judge.",
            metrics=(JUDGED,),
            takes_metrics=False,
            needs=("results",),
            rows_need="runs that record what each judge said",
            estimate="rank",
            by=("judge",),
            row="a judge, model and mode",
            columns=JUDGE_RANKS,
        ),
        "branches": Analysis(
            function=branches,
            title="Profile of the four branches",
            note="Share: how far the mean is from random answers (0) to a perfect score (1); of a branch, the mean of "
            "the shares of its metrics. Ceiling: the highest share of a person. Value and chance: the mean of the "
            "metric and of random answers, in the unit of the metric.",
            metrics=tuple(metric for of_branch in METRICS_OF_BRANCHES.values() for metric in of_branch),
            takes_metrics=False,
            estimate="share",
            by=("model",),
            finding=above_random,
            figure=f"{_ROOM}.report:branch_cells",
            row="a model, mode, branch and metric of it",
            columns=BRANCH_PROFILES,
        ),
        "truth": Analysis(
            function=truth,
            title="Scores against other annotators",
            note="Truth: whose answers are right. Ceiling: the highest score of another annotator against the same "
            "truth, self-ratings not counted; over ceiling: the model minus that annotator. All on the conversations "
            "that every annotator answered in full.",
            metrics=OF_TRUTH,
            needs=("data", "results"),
            rows_need=_ANSWERS_OF_PEOPLE,
            estimate="value",
            by=("truth",),
            finding=above_ceiling,
            figure=f"{_ROOM}.report:truth_cells",
            row="a mode, metric, truth and model or person",
            columns=TRUTH,
        ),
        "truth_agreement": Analysis(
            function=truth_agreement,
            title="Rankings under two truths",
            note="Corrected: the correlation of the models' means under the truths A and B without the noise of both, "
            "1 where both order the models alike; its interval takes models and conversations as samples. Observed: "
            "with the noise. Rho: Spearman's.",
            metrics=OF_TRUTH,
            needs=("data", "results"),
            rows_need=_ANSWERS_OF_PEOPLE,
            estimate="corrected",
            by_formula=True,
            finding=alike,
            row="a mode, metric and pair of truths",
            columns=TRUTH_AGREEMENT,
        ),
        "serial_misreads": Analysis(
            function=serial_misreads,
            title="Misreads in a row",
            note="Bad: worse than the median of all models' turns. Difference: bad turns after a bad turn minus after "
            "a good one, each within its conversation, with Student's t over participants. Back in 3: stretches of bad "
            "turns that are over three turns after the first one; the end of a conversation censors. This interval "
            "resamples participants. The models predict on a fixed transcript: what they misread changes nothing in "
            "it.",
            metrics=READ,
            by_formula=True,
            estimate="difference",
            figure=f"{_ROOM}.following:misread_plot",
            row="a model, mode and metric",
            columns=SERIAL_MISREADS,
        ),
        "after_mismatch": Analysis(
            function=after_mismatch,
            title="After an unwanted or a missing behaviour",
            by_formula=True,
            note="What goes with a behaviour of the original model that the person did not want, or missed: in the "
            "next turn, within the conversation, and in the conversation as a whole. Difference: an association, with "
            "Student's t over participants, without correction for several tests. People who meet such behaviours may "
            "feel otherwise for other reasons.",
            takes_metrics=False,
            needs=("data",),
            estimate="difference",
            figure=f"{_ROOM}.following:mismatch_plot",
            row="a behaviour and outcome",
            columns=AFTER_MISMATCH,
        ),
        "panas_consistency": Analysis(
            function=panas_consistency,
            title="Internal consistency of the PANAS",
            note="Alpha: Cronbach's, omega: McDonald's with one factor, of the participants' forms; 1 where the ten "
            "items of an affect measure one thing without error.",
            metrics=("panas_baseline_adjusted",),
            takes_metrics=False,
            needs=("data",),
            by_formula=True,
            rows_need="conversations with filled PANAS forms",
            estimate="alpha",
            row="a form and affect",
            columns=PANAS_CONSISTENCY,
        ),
        "contamination": Analysis(
            function=contamination,
            title="Contamination",
            note="Reproduced: the share of messages whose second half the model, shown the first half, gives back: at "
            "least half of the second half in one run of words. Controls: second halves of other participants' "
            "messages (shuffled), and paraphrases. Similarity: the mean length of the longest common run, as a share "
            "of the second half.",
            takes_metrics=False,
            needs=("data", "results"),
            rows_need="runs with probes (attune-bench run --probes)",
            estimate="reproduced",
            by_formula=True,
            finding=reproduced_shown,
            figure=f"{_ROOM}.report:contamination_cells",
            row="a model, mode and text",
            columns=CONTAMINATION,
        ),
        "condition_differences": replace(GENERAL["condition_differences"], metrics=IN_COMPOSITE),
        "win_rates": replace(GENERAL["win_rates"], metrics=("avg_pairwise_accuracy",)),
        "ratings": replace(GENERAL["ratings"], metrics=("avg_pairwise_accuracy",)),
        "separation": replace(GENERAL["separation"], metrics=IN_COMPOSITE),
        "skills": replace(GENERAL["skills"], metrics=IN_COMPOSITE),
    }
)
"""By name; an entry of the name of an analysis of any scores takes its place."""
