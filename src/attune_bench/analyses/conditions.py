"""Conditions: what another way of asking the same model changes.

Each condition is set against the model's reference: the reference condition of the scores where the model has it, else
its first condition in the alphabet.
"""

from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparability import check_comparable
from attune_bench.stats.intervals import distribution_ends
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions
from attune_bench.stats.paired import TESTED, paired, tested
from attune_bench.stats.ranking import direction
from attune_bench.stats.series import Draws, ScoreSeries
from attune_metrics.stats.bootstrap import average_ranks, bootstrap_distribution, point_estimate, rounding_of

__all__ = ["condition_differences", "rank_shifts"]

_MIN_MODELS = 2


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


def condition_differences(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how much each condition changes each model's scores, on the units that were run under both.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. The metrics are by default those of the board.

    Returns
    -------
    polars.DataFrame
        ``model, condition, reference, metric, value, value_reference, difference, low, high, p, p_min, p_holm,
        significant, n, clusters, mde, reason``; no row where every model has one condition.
        ``difference`` is that of `condition` minus `reference`; ``p`` is that of
        `attune_metrics.stats.comparison.paired_permutation_test`, ``p_holm`` Holm's over the models for one metric and
        two conditions.

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
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    draws = Draws(series, chosen, weighted=True)
    metrics = chosen.names_of_means(scores, scores.headline)
    check_comparable(scores, metrics=metrics)
    pairs = _pairs(series)
    called = scores.provenance.condition
    families = [f"{called} {series.groups[a][1]!r} against {series.groups[b][1]!r}" for a, b in pairs]
    rows: dict[tuple[int, str], tuple[Any, ...]] = {}
    for metric in metrics:
        found = paired(
            series, series.values(metric), pairs, families, draws, chosen, series.statistic(metric), of=metric
        )
        columns = tested(found, families, draws)
        for place, ((a, b), pair, own) in enumerate(zip(pairs, found, columns, strict=True)):
            rows[place, metric] = (*series.groups[a], series.groups[b][1], metric, *pair[:3], *own)
    draws.skewed.warn_of_differences()
    schema: dict[str, Any] = {
        **dict.fromkeys(("model", "condition", "reference", "metric"), str),
        **dict.fromkeys(("value", "value_reference", "difference"), float),
        **TESTED,
    }
    ordered = [rows[place, metric] for place in range(len(pairs)) for metric in metrics]
    return pl.DataFrame(ordered, schema=schema, orient="row")


def rank_shifts(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return each model's rank under each condition against its rank under the reference, among models that have both.

    Parameters
    ----------
    scores, **options
        As for `condition_differences`; no BCa interval. The metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        ``metric, reference, condition, model, rank_reference, rank, shift, low, high, models, clusters, reason``. Rank
        1 is the best, ties share their mean rank; ``shift`` is `rank_reference` minus `rank`, places won. Its interval
        ends at shifts that occur; models without a value under one of the conditions are left out. No row where no two
        models have the same two conditions.

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
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    draws = Draws(series, chosen)
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
            if len(sides[0]) < _MIN_MODELS:
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
    schema: dict[str, Any] = {
        **dict.fromkeys(("metric", "reference", "condition", "model"), str),
        **dict.fromkeys(("rank_reference", "rank", "shift", "low", "high"), float),
        **dict.fromkeys(("models", "clusters"), int),
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
