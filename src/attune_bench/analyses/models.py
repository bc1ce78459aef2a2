"""Models and conditions against each other: win rates, agreement of metrics on the order, differences.

Models are a fixed list here, not a sample: intervals say what other clusters of units would have changed.

Conditions
----------
Differences of conditions say what another way of asking the same model changes. Each condition is set against the
model's reference: the reference condition of the scores where the model has it, else its first condition in the
alphabet.
"""

from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, text
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import check_comparable, check_within_conditions
from attune_bench.stats.compare import TESTED, paired, tested
from attune_bench.stats.options import (
    AnalysisKeywords,
    Mask,
    ScoreSeries,
    begin,
    direction,
    distribution_ends,
    interval_ends,
)
from attune_bench.stats.summary import per_unit
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.bootstrap import bootstrap, bootstrap_distribution, point_estimate
from attune_metrics.stats.sums import average_ranks, rounding_of

WIN_RATES = columns(
    "condition metric model_a model_b rate low high n clusters reason",
    rate=share("Share of the units on which A is better than B, ties half."),
    n="How many units both have.",
)


def win_rates(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return on which share of units each model is better than each other one, ties counting half.

    Parameters
    ----------
    scores, **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. The metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        The columns `WIN_RATES`: every ordered pair, on the units that both have; 0.5 is as often as the other.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no better direction or no value of each unit.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = win_rates(score(load("demo"), load_runs("demo")), metrics=["avg_pairwise_accuracy"])
    >>> found.select("model_a", "model_b", "rate").rows()[0]
    ('synthetic/attentive', 'synthetic/hasty', 0.95)
    """
    chosen, series, draws = begin(scores, options)
    rows: list[tuple[Any, ...]] = []
    pairs = [
        (condition, a, b) for condition, groups in series.by_condition().items() for a, b in permutations(groups, 2)
    ]
    first, second = np.array([pair[1:] for pair in pairs], dtype=np.intp).reshape(-1, 2).T
    metrics = chosen.names(scores, [scores.primary])
    check_within_conditions(scores, metrics)
    for metric in metrics:
        values = direction(scores.metrics[metric]) * series.values(per_unit(scores, metric, "win_rates"))[:, 0]
        found: dict[int, tuple[Any, ...]] = {}
        known: Mask = ~np.isnan(values)
        common = known[first] & known[second]
        for mask, places in draws.parts(common, known):
            one, other = values[first[places]][:, mask], values[second[places]][:, mask]
            won = np.where(np.isnan(one + other), np.nan, (one > other) + (one == other) / 2)
            intervals = draws.intervals(bootstrap, won, mask)
            for place, interval in zip(places.tolist(), intervals, strict=True):
                clusters = series.count(common[place])
                low, high, reason = interval_ends(interval, clusters, scores)
                found[place] = (nan_to_none(interval.estimate), low, high, interval.n, clusters, reason)
        for place, (condition, a, b) in enumerate(pairs):
            rows.append((condition, metric, series.groups[a][0], series.groups[b][0], *found[place]))
    return build_frame(WIN_RATES, rows)


_MIN_MODELS_OF_CONDITIONS = 2


def _pairs(series: ScoreSeries) -> list[tuple[int, int]]:
    """Return each group under another condition than its model's reference, with the group under that."""
    conditions = list(series.by_condition())
    pairs = []
    for model in series.table.models:
        groups = sorted(
            (place for place, group in enumerate(series.groups) if group[0] == model),
            key=lambda place: conditions.index(series.groups[place][1]),
        )
        pairs += [(place, groups[0]) for place in groups[1:]]
    return pairs


CONDITION_DIFFERENCES = (
    columns(
        "model condition reference metric value value_reference difference",
        reference=text("The condition that it is compared with."),
        value="The value under the condition, on the units of both.",
        value_reference=FrameColumn("The value under the reference, on the units of both.", head="reference"),
        difference="The condition minus the reference.",
    )
    | TESTED
)


def condition_differences(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how much each condition changes each model's scores, on the units that were run under both.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. By default the metrics of the board.

    Returns
    -------
    polars.DataFrame
        The columns `CONDITION_DIFFERENCES`; no row where every model has one condition. ``difference`` is `condition`
        minus `reference`; ``p`` is from `attune_metrics.stats.comparison.paired_permutation_test`, ``p_holm`` Holm's
        over the models for one metric and two conditions.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> runs = load_runs("demo")
    >>> again = [run.model_copy(update={"mode": "verbose"}) for run in runs]
    >>> scores = score(load("demo"), [*runs, *again])
    >>> found = condition_differences(scores, metrics=["composite_score"], resamples=200)
    >>> found.select("model", "condition", "reference", "difference").rows()
    [('synthetic/attentive', 'verbose', 'default', 0.0), ('synthetic/hasty', 'verbose', 'default', 0.0)]
    """
    chosen, series, draws = begin(scores, options, weighted=True)
    metrics = chosen.names_of_means(scores, scores.headline)
    check_comparable(scores, metrics=metrics)
    pairs = _pairs(series)
    called = scores.provenance.condition
    families = [f"{called} {series.groups[a][1]!r} against {series.groups[b][1]!r}" for a, b in pairs]
    rows: dict[tuple[int, str], tuple[Any, ...]] = {}
    for metric in metrics:
        found = paired(draws, series.values(metric), pairs, families, series.statistic(metric), of=metric)
        for place, ((a, b), pair, own) in enumerate(zip(pairs, found, tested(found, families, draws), strict=True)):
            rows[place, metric] = (*series.groups[a], series.groups[b][1], metric, *pair[:3], *own)
    draws.skewed.warn_of_differences(scores.metrics)
    ordered = [rows[place, metric] for place in range(len(pairs)) for metric in metrics]
    return build_frame(CONDITION_DIFFERENCES, ordered)


RANK_SHIFTS = columns(
    "metric reference condition model rank_reference rank shift low high models clusters reason",
    reference=text("The condition that it is compared with."),
    rank_reference=FrameColumn(
        "Rank under the reference, of the models that have both conditions.", low=1, shown="rank"
    ),
    rank="Rank under the condition, of the models that have both conditions.",
    shift=FrameColumn(
        "Places won against the reference: its rank minus the rank under the condition.", shown="rank", signed=True
    ),
    low="Lower end of the interval of the shift.",
    high="Upper end of the interval of the shift.",
)


def rank_shifts(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return each model's rank under each condition against its rank under the reference, among models that have both.

    Parameters
    ----------
    scores, **options
        As for `condition_differences`; no BCa interval. The metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        The columns `RANK_SHIFTS`. Rank 1 is the best, ties share their mean rank; ``shift`` is `rank_reference` minus
        `rank`, places won. Its interval ends at shifts that occur; models without a value under one of the conditions
        are left out. No row where no two models have the same two conditions.

    Raises
    ------
    MetricInputError
        As `condition_differences`, and where neither higher nor lower values of a metric are better.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> runs = load_runs("demo")
    >>> again = [run.model_copy(update={"mode": "verbose"}) for run in runs]
    >>> scores = score(load("demo"), [*runs, *again])
    >>> rank_shifts(scores, resamples=200).select("model", "condition", "rank_reference", "rank", "shift").rows()
    [('synthetic/attentive', 'verbose', 1.0, 1.0, 0.0), ('synthetic/hasty', 'verbose', 2.0, 2.0, 0.0)]
    """
    chosen, series, draws = begin(scores, options)
    by_conditions: dict[tuple[str | None, str | None], list[tuple[int, int]]] = {}
    for a, b in _pairs(series):
        by_conditions.setdefault((series.groups[b][1], series.groups[a][1]), []).append((b, a))
    rows: list[tuple[Any, ...]] = []
    metrics = chosen.names(scores, [scores.primary])
    check_comparable(scores, metrics=metrics)
    for metric in metrics:
        values, statistic, sign = series.values(metric), series.statistic(metric), direction(scores.metrics[metric])
        for conditions, pairs in by_conditions.items():
            sides = np.array(pairs, dtype=np.intp).T
            points = sign * np.array([point_estimate(values[side], statistic=statistic) for side in sides])
            sides, points = sides[:, (known := ~np.isnan(points).any(axis=0))], points[:, known]
            if len(sides[0]) < _MIN_MODELS_OF_CONDITIONS:
                continue
            present = ~np.isnan(values[sides, 0]).all(axis=(0, 1))
            resamples, clusters = draws.of(present), series.count(present)
            rounding = rounding_of(values[sides])
            ranks = average_ranks(-points, rounding)
            drawn = [
                average_ranks(
                    -sign * bootstrap_distribution(values[side][:, :, present], resamples, statistic=statistic).T,
                    rounding,
                )
                for side in sides
            ]
            shifts = drawn[0] - drawn[1]
            for place, group in enumerate(sides[0].tolist()):
                before, after = ranks[:, place].tolist()
                low, high, reason = distribution_ends(
                    shifts[:, place],
                    chosen,
                    scores,
                    drawn=resamples.counts.shape[1],
                    clusters=clusters,
                    of="a shift of ranks",
                    whole=True,
                )
                found = before, after, before - after, low, high, len(sides[0]), clusters, reason
                rows.append((metric, *conditions, series.groups[group][0], *found))
    return build_frame(RANK_SHIFTS, rows)
