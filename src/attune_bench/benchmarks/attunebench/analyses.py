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

Judges of drafts
----------------
How far several agree, and how each alone would rank the models.

Scores keep the judges' mean; what each said is in the run files, under ``em_draft_judge_scores_by_model`` and
``em_draft_binary_assessment_by_model``.

Question agreement
------------------
Which binary questions a model answers as the participants did.

Scores of whole turns do not say which question was missed, so this needs the conversations and the run files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from math import fsum, isnan
from operator import itemgetter
from statistics import fmean
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.analyses import ANALYSES as GENERAL
from attune_bench.benchmarks.attunebench.conversation_score import (
    BINARY_TASKS,
    CELLS,
    IN_COMPOSITE,
    POOLED,
    hp_asked,
    prepare_truth,
)
from attune_bench.benchmarks.attunebench.scores_json import TURN_KEYS, record_grid
from attune_bench.scores.columns import Analysis, Columns, FrameColumn, build_frame, columns, share, text, whole
from attune_bench.scores.table import KEYS, ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.compare import TESTED, paired, tested
from attune_bench.stats.options import (
    AnalysisKeywords,
    AnalysisOptions,
    ResampleCache,
    SamplingKeywords,
    ScoreSeries,
    interval_ends,
)
from attune_bench.stats.rank import rank
from attune_bench.stats.subgroups import strata_of, subgroups
from attune_bench.stats.summary import summary
from attune_data import Conversation, Run
from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.profile import NO_DIAGNOSIS, UNKNOWN
from attune_data.attunebench.spellings import ANSWER
from attune_data.query import Queryable
from attune_data.repair import IssueCollector
from attune_metrics.attunebench.composite import DOCUMENTED, get_protocol
from attune_metrics.attunebench.holistic import BRANCHES
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS, score_draft_judge
from attune_metrics.metric import MetricInputError, nan_to_none
from attune_metrics.stats.agreement import MeasurementLevel, krippendorff_alpha_interval
from attune_metrics.stats.bootstrap import Interval, bootstrap, draw_resamples, point_estimate
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
    chosen = AnalysisOptions(**options)
    metrics = chosen.names(scores, DRIFTING)
    for metric in metrics:
        if metric not in TURN_KEYS:
            raise MetricInputError(f"turns do not have {metric!r}; expected one of {', '.join(TURN_KEYS)}")
    series = ScoreSeries(scores)
    grid = record_grid(scores, series)
    draws = ResampleCache(series, chosen)
    thirds = [_thirds(of_group[unit] for of_group in grid) for unit in range(len(series.units))]
    families = [f"the models of mode {mode!r}" for _, mode in series.groups]
    rows: dict[tuple[int, str], tuple[Any, ...]] = {}
    for metric in metrics:
        statistic = series.statistic(metric)
        early, middle, late = _values(grid, thirds, metric)
        thirds_of = np.concatenate([late, early]), [(group, len(late) + group) for group in range(len(late))]
        found = paired(series, *thirds_of, families, draws, chosen, statistic, of=metric)
        tests = tested(found, families, draws)
        between = point_estimate(np.where(np.isnan(early + late), np.nan, middle), statistic=statistic).tolist()
        for group, (identity, pair, own) in enumerate(zip(series.groups, found, tests, strict=True)):
            values = pair.second, nan_to_none(between[group]), pair.first, pair.difference
            rows[group, metric] = (*identity, metric, *values, *own)
    draws.skewed.warn_of_differences()
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
                    terms[third, group, 0, unit] = sum(values) / len(values)
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
        ``avg_binary_human_accuracy``, ``gap`` is `om` minus `hp`; ``p`` is that of
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
    return _gap(scores, metrics, PERSPECTIVE_GAP, AnalysisOptions(**options))


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
    return _gap(scores, metrics, PHRASING_GAP, AnalysisOptions(**options))


def _gap(scores: ScoreTable, metrics: tuple[str, str], of: Columns, options: AnalysisOptions) -> pl.DataFrame:
    """Return the frame, with the columns `of`, that compares two metrics of the same models."""
    series = ScoreSeries(scores)
    draws = ResampleCache(series, options, weighted=True)
    both = np.concatenate([series.values(metric) for metric in metrics])
    groups = len(series.groups)
    families = [f"the models of mode {mode!r}" for _, mode in series.groups]
    found = paired(series, both, [(one, groups + one) for one in range(groups)], families, draws, options)
    tests = tested(found, families, draws)
    draws.skewed.warn_of_differences()
    rows = [(*group, *pair[:3], *own) for group, pair, own in zip(series.groups, found, tests, strict=True)]
    return build_frame(of, rows)


BRANCH_ERRORS = columns(
    "model condition branch mae low high n clusters reason",
    branch=text("Branch of emotional intelligence."),
    mae=FrameColumn("Mean absolute error on the scale of 1 to 7; lower is better.", low=0, high=6),
)


def branch_errors(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return each model's mean absolute error at each of the four branches, on their scale of 1 to 7.

    Parameters
    ----------
    scores, **options
        As for `perspective_gap`.

    Returns
    -------
    polars.DataFrame
        The columns `BRANCH_ERRORS`; a lower ``mae`` is better. A missing prediction counts as 4, as in scoring.

    Raises
    ------
    MetricInputError
        As `perspective_gap`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = branch_errors(scores, resamples=200).filter(model="synthetic/hasty")
    >>> [(row["branch"], round(row["mae"], 2)) for row in found.iter_rows(named=True)][:2]
    [('perceiving', 2.08), ('facilitating', 1.5)]
    """
    names = {f"four_branch_{branch}_mae": branch for branch in BRANCHES}
    branch = pl.col("metric").replace_strict(names, return_dtype=pl.String)
    found = summary(scores, **options, metrics=list(names))
    return found.with_columns(branch.alias("branch"), mae="value").select(*BRANCH_ERRORS)


ANY = "any"


DIAGNOSIS_GROUPS = columns(
    "group n clusters metric model condition value value_none difference low high p p_min p_holm significant mark "
    "reason",
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


def scored_runs(scores: ScoreTable, runs: Iterable[Run]) -> Iterator[Run]:
    """Yield the runs that were scored, each once.

    Raises
    ------
    MetricInputError
        Where the scores are means over repeats, so that no single run was scored; where runs are several
        repeats of one that was scored; at the end, where a run that was scored is not among the runs.
    """
    if scores.repeats is not None:
        raise MetricInputError("these scores are means over repeats, which have no answers; score one repeat alone")
    missing = {(unit, model, mode) for model, mode, unit in scores.values.select(KEYS).iter_rows()}
    repeat_of: dict[tuple[str, str, str], int] = {}
    for run in runs:
        of_row = run.conversation_id, run.em_model, run.mode
        if repeat_of.get(of_row, run.repeat) != run.repeat:
            raise MetricInputError(
                f"the runs are repeats {repeat_of[of_row]} and {run.repeat} of model {run.em_model!r}, mode "
                f"{run.mode!r} on conversation {run.conversation_id!r}; give only the repeat that was scored"
            )
        if of_row in missing:
            missing.remove(of_row)
            repeat_of[of_row] = run.repeat
            yield run
    if missing:
        conversation_id, model, mode = min(missing)
        raise MetricInputError(
            f"the run of model {model!r}, mode {mode!r} on conversation {conversation_id!r} was scored and is not "
            "among the runs; are these the runs of these scores?"
        )


ALL = "all"
"""What stands for the judges together."""

JUDGED = "avg_draft_judge_score"
_ANSWERS = "binary answers"
_CODES = {"yes": 0.0, "no": 1.0, "na": 2.0}
_Judgement = tuple[str, Mapping[str, float]]  # The conversation of a draft, and what each judge gave.


JUDGE_AGREEMENT = columns(
    "condition rated judge_a judge_b alpha low high shift judged n clusters reason",
    rated=text("A dimension of the ratings, or `binary answers`."),
    judge_a=text("The first judge; `all` where it is of more than two together.", "A"),
    judge_b=text("The second judge; empty where it is of all.", "B"),
    alpha=FrameColumn("Krippendorff's alpha: 1 is perfect agreement, 0 is chance.", high=1),
    shift=FrameColumn("Mean rating of the second judge minus the first judge's, on what both rated.", signed=True),
    judged=whole("How many drafts, or answers, at least two judges gave."),
    n="How many conversations these are from.",
)


def judge_agreement(scores: ScoreTable, *, results: Iterable[Run], **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how far the judges of drafts agree, all of them and every two, in each mode.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    results : iterable of Run
        The runs that were scored; others do not count.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `JUDGE_AGREEMENT`. ``rated`` is a dimension of the ratings, or ``binary answers``; ``alpha`` is
        Krippendorff's, at interval level for ratings, whose mean is scored, and nominal for answers. ``judge_a`` is
        ``all`` where it is of more than two judges together. ``shift`` is the mean rating of ``judge_b`` minus that of
        ``judge_a`` on what both rated. ``judged`` counts the drafts, or the answers, that at least two judges gave, in
        ``n`` conversations. No rows where no draft has two judges.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a run that was scored is not there.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> runs = load_runs("demo")  # one judge, whose name is not recorded
    >>> judge_agreement(score(load("demo"), runs), results=runs).height
    0
    """
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    ResampleCache(series, chosen)  # refuses what this analysis does not do
    judgements: dict[tuple[str, str], list[_Judgement]] = {}
    for mode, rated, conversation, said in sorted(_judgements(scores, results), key=itemgetter(0, 2)):
        judgements.setdefault((mode, rated), []).append((conversation, said))
    rows: list[dict[str, Any]] = []
    for mode, rated in product(dict.fromkeys(mode for mode, _ in judgements), (*JUDGE_DIMENSIONS, _ANSWERS)):
        found = judgements.get((mode, rated), [])
        judges = sorted({judge for _, said in found for judge in said})
        groups = [*([judges] if len(judges) > 2 else []), *combinations(judges, 2)]
        about = {"condition": mode, "rated": rated}
        rows += [about | _agreement(found, group, rated, series, chosen) for group in groups]
    return build_frame(JUDGE_AGREEMENT, rows)


JUDGE_RANKS = columns(
    "judge model condition value rank low high n clusters reason",
    judge=text("The judge; `all` as scored."),
    value="Draft judge score by this judge's ratings alone.",
    low=FrameColumn("Best rank of the interval.", low=1),
    high=FrameColumn("Worst rank of the interval.", low=1),
)


def judge_ranks(scores: ScoreTable, *, results: Iterable[Run], **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how each judge alone ranks the models, by the score of drafts, beside the ranks by all judges.

    Parameters
    ----------
    scores, results
        As for `judge_agreement`.
    **options
        As for `judge_agreement`, and ``weight``; no BCa.

    Returns
    -------
    polars.DataFrame
        The columns `JUDGE_RANKS`, as from `attune_bench.stats.rank.rank`, of ``avg_draft_judge_score`` from the ratings
        of one judge, or of ``all``, as scored. No rows where no run names its judges.

    Raises
    ------
    MetricInputError, MixedSettingsError
        As `judge_agreement` and `attune_bench.stats.rank.rank`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> runs = load_runs("demo")
    >>> judge_ranks(score(load("demo"), runs), results=runs).height
    0
    """
    chosen = AnalysisOptions(**options)
    ResampleCache(ScoreSeries(scores), chosen, weighted=True)
    clusters = dict(scores.units.select("unit", "cluster").iter_rows())
    by_judge: dict[str, list[tuple[str, str, str, float]]] = {}
    for run in scored_runs(scores, results):
        of_turns: dict[str, list[float]] = {}
        for turn in run.turns:
            for judge, said in turn.em_draft_judge_scores_by_model.items():
                if isinstance(said, Mapping) and not isnan(value := score_draft_judge(said)):
                    of_turns.setdefault(judge, []).append(value)
        for judge, values in of_turns.items():
            by_judge.setdefault(judge, []).append((run.em_model, run.conversation_id, run.mode, fmean(values)))
    if not by_judge:
        return build_frame(JUDGE_RANKS, [])
    check_within_conditions(scores, [JUDGED])
    as_scored = scores.values.select("model", "unit", "condition", JUDGED).drop_nulls().rows()
    # The metrics of a table of scores: one for each judge, under a name that no other column has.
    judges = {f"judge {place}": judge for place, judge in enumerate((ALL, *sorted(by_judge)))}
    rows = [
        (model, unit, mode, clusters[unit], name, value)
        for name, judge in judges.items()
        for model, unit, mode, value in (by_judge[judge] if name != "judge 0" else as_scored)
    ]
    schema = {**dict.fromkeys(("model", "unit", "condition", "cluster", "metric"), pl.String), "value": pl.Float64}
    held = scores.provenance
    about = {"unit": held.unit, "condition": held.condition}
    if any(cluster is not None for cluster in clusters.values()):
        about["cluster"] = held.cluster
    table = score_table(pl.DataFrame(rows, schema=schema, orient="row"), about=about)
    found = rank(table, **options, metrics=list(judges))
    named = pl.col("metric").replace_strict(judges, return_dtype=pl.String)
    return found.with_columns(named.alias("judge")).select(*JUDGE_RANKS)


def _judgements(scores: ScoreTable, results: Iterable[Run]) -> Iterator[tuple[str, str, *_Judgement]]:
    """Yield what judges with a recorded name said of each draft: its mode, what is rated, and the judgement."""
    for run in scored_runs(scores, results):
        for turn in run.turns:
            ratings: dict[str, dict[str, float]] = {}
            answers: dict[str, dict[str, float]] = {}
            for judge, said in turn.em_draft_judge_scores_by_model.items():
                for dimension in JUDGE_DIMENSIONS:
                    rating = said.get(dimension) if isinstance(said, Mapping) else None
                    if isinstance(rating, int | float) and not isinstance(rating, bool) and not isnan(rating):
                        ratings.setdefault(dimension, {})[judge] = min(max(float(rating), 1.0), 7.0)
            for judge, said in turn.em_draft_binary_assessment_by_model.items():
                for question, answer in said.items() if isinstance(said, Mapping) else ():
                    code = _CODES.get(ANSWER(answer, "", IssueCollector("")))
                    if code is not None:
                        answers.setdefault(question, {})[judge] = code
            for rated, given in [*ratings.items(), *((_ANSWERS, of_question) for of_question in answers.values())]:
                yield run.mode, rated, run.conversation_id, given


def _agreement(
    found: Sequence[_Judgement],
    judges: Sequence[str],
    rated: str,
    series: ScoreSeries,
    options: AnalysisOptions,
) -> dict[str, Any]:
    """Return the columns of a group of judges."""
    both = [(conversation, said) for conversation, said in found if sum(judge in said for judge in judges) > 1]
    table = np.array([[said.get(judge, np.nan) for judge in judges] for _, said in both]).reshape(-1, len(judges))
    conversations = {conversation for conversation, _ in both}
    drawn = dict(zip(series.units, series.clusters(options), strict=True))
    clusters_of = [drawn[conversation] for conversation, _ in both]
    draws = draw_resamples(clusters_of, n_resamples=options.resamples, seed=options.seed)
    level: MeasurementLevel = "nominal" if rated == _ANSWERS else "interval"
    interval = krippendorff_alpha_interval(table, draws, level=level, method=options.interval, confidence=options.level)
    clusters = len({label for unit, label in zip(series.units, series.labels, strict=True) if unit in conversations})
    low, high, reason = interval_ends(interval, clusters, series.table)
    pair = len(judges) == 2
    shift = fsum(table[:, 1] - table[:, 0]) / len(both) if pair and rated != _ANSWERS and both else None
    return {
        "judge_a": judges[0] if pair else ALL, "judge_b": judges[1] if pair else None,
        "alpha": nan_to_none(interval.estimate), "low": low, "high": high, "shift": shift,
        "judged": len(both), "n": len(conversations), "clusters": clusters, "reason": reason,
    }  # fmt: skip


_RIGHT, _ASKED, _PRESENT = range(3)


QUESTION_AGREEMENT = columns(
    "task question model condition agreement low high answers n clusters coverage reason",
    task=text("The task: what the model predicts, and from whose view."),
    question=text("Question of the codebook, such as B7."),
    agreement=share("Share of the answers that are the participant's; a missing one counts as no."),
    answers=whole("How many turns the participant answered yes or no."),
    coverage="Share of these turns that have a prediction.",
)


def question_agreement(
    scores: ScoreTable, *, data: Iterable[Conversation], results: Iterable[Run], **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return on which share of its turns each model answers each binary question as the participant did.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    data : iterable of Conversation
        The conversations that were scored.
    results : iterable of Run
        The runs that were scored; others do not count.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `QUESTION_AGREEMENT`; questions in the order of the codebook. Truth and predictions count as in
        scoring, where a missing prediction is a no, so that the mean of a task's agreements, weighted by ``answers``,
        is its pooled accuracy. ``answers`` counts the turns whose truth is yes or no, in ``n`` conversations;
        ``coverage`` is the share of them with a prediction.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, records contradict each other, a conversation or run that was
        scored is not there, the scores are means over repeats, or runs are several repeats of one that was scored.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> found = question_agreement(score(conversations, runs), data=conversations, results=runs)
    >>> found.select("task", "question", "answers", "n").rows()[0]
    ('binary_om', 'B1', 147, 38)
    """
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    counts = _counts(scores, series, data, results)
    draws = ResampleCache(series, chosen)
    rows: list[tuple[Any, ...]] = []
    known = {question: place for place, question in enumerate(load_codebook().binary)}
    for task in BINARY_TASKS:
        questions = sorted((q for t, q in counts if t == task), key=lambda q: (known.get(q, len(known)), q))
        if not questions:
            continue
        # (questions x groups, terms, units), questions slowest.
        values = np.concatenate([counts[task, question] for question in questions])
        present = ~np.isnan(values[:, _ASKED])
        intervals: dict[int, Interval] = {}
        for mask, places in draws.parts(present, present):
            of_part = values[places][:, [_RIGHT, _ASKED]][:, :, mask]
            found_of: list[Interval] = draws.intervals(
                bootstrap, of_part, mask, statistic=lambda sums, _: sums[..., _RIGHT] / sums[..., _ASKED]
            )
            intervals |= zip(places.tolist(), found_of, strict=True)
        for place, (found, there) in enumerate(zip(values, present, strict=True)):
            question, group = divmod(place, len(series.groups))
            interval = intervals[place]
            clusters = series.count(there)
            asked = int(found[_ASKED, there].sum())
            low, high, reason = interval_ends(interval, clusters, scores)
            coverage = float(found[_PRESENT, there].sum()) / asked if asked else None
            identity = task, questions[question], *series.groups[group]
            estimate = nan_to_none(interval.estimate), low, high
            rows.append((*identity, *estimate, asked, interval.n, clusters, coverage, reason))
    return build_frame(QUESTION_AGREEMENT, rows)


def _counts(
    scores: ScoreTable, series: ScoreSeries, data: Iterable[Conversation], runs: Iterable[Run]
) -> dict[tuple[str, str], Any]:
    """Return by task and question the number right, asked and predicted (groups, 3, units), nan where not asked."""
    protocol = get_protocol(scores.provenance.protocol or DOCUMENTED)
    place_of = {unit: place for place, unit in enumerate(series.units)}
    known = {one.id: one for one in reversed(list(data))}
    truths = {unit: prepare_truth(known[unit], protocol) for unit in place_of if unit in known}
    group_of = {group: place for place, group in enumerate(series.groups)}
    shape = len(series.groups), 3, len(series.units)
    counts: dict[tuple[str, str], Any] = {}
    for run in scored_runs(scores, runs):
        if run.conversation_id not in truths:
            raise MetricInputError(f"conversation {run.conversation_id!r} was scored and is not in the data")
        group, unit = group_of[run.em_model, run.mode], place_of[run.conversation_id]
        turns = {turn.turn_number: turn for turn in run.turns}
        asks_hp = hp_asked(run)
        tallies: dict[tuple[str, str], list[int]] = {}
        for number, truth in truths[run.conversation_id].turns.items():
            for task, sides in BINARY_TASKS.items():
                if number not in turns or (task.endswith("_hp") and not asks_hp):
                    continue
                answered, answers = sides(truth, turns[number])
                for expected, questions in (("yes", answered.yes), ("no", answered.no)):
                    for question in questions:
                        answer = answers.get(question)
                        tally = tallies.setdefault((task, question), [0, 0, 0])
                        tally[_RIGHT] += (answer == "yes") == (expected == "yes")
                        tally[_ASKED] += 1
                        tally[_PRESENT] += answer is not None
        for key, tally in tallies.items():
            if key not in counts:
                counts[key] = np.full(shape, np.nan)
            counts[key][group, :, unit] = tally
    return counts


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
        "branch_errors": Analysis(
            function=branch_errors,
            title="Errors by branch",
            note="MAE on the scale of 1 to 7; lower is better.",
            metrics=tuple(f"four_branch_{branch}_mae" for branch in BRANCHES),
            takes_metrics=False,
            estimate="mae",
            row="a model, mode and branch",
            columns=BRANCH_ERRORS,
        ),
        "metric_correlation": replace(GENERAL["metric_correlation"], metrics=IN_COMPOSITE),
        "condition_differences": replace(GENERAL["condition_differences"], metrics=IN_COMPOSITE),
        "win_rates": replace(GENERAL["win_rates"], metrics=("avg_pairwise_accuracy",)),
        "ratings": replace(GENERAL["ratings"], metrics=("avg_pairwise_accuracy",)),
        "variance_split": replace(GENERAL["variance_split"], metrics=IN_COMPOSITE),
    }
)
"""By name; an entry of the name of an analysis of any scores takes its place."""
