"""Ranks of models, each with the interval in which other units would have put it.

Models are a fixed list, not a sample: the interval of a rank says how far it moves with other units, drawn alike.
"""

from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.intervals import distribution_ends
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions
from attune_bench.stats.series import Draws, Mask, ScoreSeries
from attune_bench.undefined import null
from attune_metrics.metric import Metric, MetricInputError
from attune_metrics.stats.bootstrap import average_ranks, bootstrap_distribution, point_estimate, rounding_of

__all__ = ["direction", "rank"]

_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("condition", "metric", "model"), pl.String),
    **dict.fromkeys(("value", "rank", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "clusters"), pl.Int64),
    "reason": pl.String,
}


def direction(metric: Metric) -> int:
    """Return 1 where higher values are better, -1 where lower ones are.

    Raises
    ------
    MetricInputError
        Where neither is.
    """
    if metric.higher_is_better is None:
        raise MetricInputError(f"{metric.name!r} cannot rank models: neither higher nor lower values of it are better")
    return metric.sign


def rank(table: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return the rank of every model in every condition, the best first.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval`` (no BCa); see
        `AnalysisOptions`. The metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        ``condition, metric, model, value, rank, low, high, n, clusters, reason``. Rank 1 is the best, ties share their
        mean rank; models without a value have none and come last. The ends of the interval are ranks that occur.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no better direction.
    MixedSettingsError
        Where the runs differ in what changes an answer; see `attune_bench.stats.comparability`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = rank(score(load("demo"), load_runs("demo")), resamples=200)
    >>> found.select("model", "rank", "low", "high").rows()
    [('synthetic/attentive', 1.0, 1.0, 1.0), ('synthetic/hasty', 2.0, 2.0, 2.0)]
    """
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(table)
    draws = Draws(series, chosen, weighted=True)
    rows: list[tuple[Any, ...]] = []
    names = chosen.names_of_means(table, [table.primary])
    check_within_conditions(table, names)
    for name in names:
        sign = direction(table.metric(name))
        values, statistic = series.values(name), series.statistic(name)
        counted = values[:, 0]
        if chosen.weighs_clusters(table):
            values = series.once_per_cluster(values)
        for condition, groups in series.by_condition().items():
            points = point_estimate(values[groups], statistic=statistic)
            known = [group for group, value in zip(groups, points, strict=True) if not np.isnan(value)]
            there: Mask = np.logical_or.reduce(~np.isnan(counted[known]), axis=0)
            rounding = rounding_of(values[known])
            ranks = average_ranks(-sign * points[~np.isnan(points)], rounding)
            resamples = draws.of(there)
            drawn = average_ranks(
                -sign * bootstrap_distribution(values[known][:, :, there], resamples, statistic=statistic).T, rounding
            )
            found: list[tuple[Any, ...]] = []
            for place, group in enumerate(known):
                present = ~np.isnan(counted[group])
                clusters = series.count(present)
                low, high, reason = distribution_ends(
                    drawn[:, place],
                    chosen,
                    table,
                    drawn=len(np.unique(resamples.clusters[present[there]])),
                    clusters=clusters,
                    of="a rank",
                    whole=True,
                )
                value = float(points[groups.index(group)])
                found.append(
                    (condition, name, series.groups[group][0], value, float(ranks[place]), low, high,
                     int(present.sum()), clusters, reason)
                )  # fmt: skip
            found.sort(key=lambda row: (row[4], row[2]))
            why = f"no {table.provenance.unit} has a value"
            found += [
                (condition, name, series.groups[group][0], null(np.nan), None, None, None, 0, 0, why)
                for group in groups
                if group not in known
            ]
            rows += found
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")
