"""Models against each other: how far metrics agree on their order, and which is better on how many units.

Models are a fixed list here, not a sample: intervals say what other clusters of units would have changed.
"""

from itertools import combinations, permutations
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.group_settings import kind_of_group
from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.intervals import distribution_ends, interval_ends
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions
from attune_bench.stats.ranking import direction
from attune_bench.stats.series import Draws, Mask, ScoreSeries
from attune_bench.stats.units import per_unit
from attune_bench.undefined import null
from attune_metrics.stats.agreement import spearman_rho_rows
from attune_metrics.stats.bootstrap import Floats, bootstrap, bootstrap_distribution, point_estimate

__all__ = ["metric_correlation", "win_rates"]

# Of five models, unrelated metrics have a correlation of 0.6 or more, either way, in 35% of all orders.
_MIN_MODELS = 6


def metric_correlation(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return Spearman's correlation between every two metrics, across the models of a condition.

    Baselines and people, see `attune_bench.group_settings.kind_of_group`, are no models and left out.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval`` (no BCa); see
        `attune_bench.stats.options.AnalysisOptions`. The metrics are by default those of the board.

    Returns
    -------
    polars.DataFrame
        ``condition, metric_a, metric_b, rho, low, high, models, clusters, reason``: each pair once. ``rho`` is of the
        models' values as they are, so that an error and a score correlate negatively. Models that lack one of the two
        metrics are left out; with fewer than six others ``rho`` is null, for the ``reason``.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = metric_correlation(scores, metrics=["avg_emotion_f1", "avg_emotion_va_score"], resamples=200)
    >>> found.select("metric_a", "metric_b", "rho", "models", "reason").row(0)
    ('avg_emotion_f1', 'avg_emotion_va_score', None, 2, 'fewer than 6 models')
    """
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    draws = Draws(series, chosen)
    metrics = chosen.names(scores, scores.headline)
    check_within_conditions(scores, metrics)
    values = {metric: series.values(metric) for metric in metrics}
    rows: list[tuple[Any, ...]] = []
    for condition, present_groups in series.by_condition().items():
        groups = [group for group in present_groups if kind_of_group(series.groups[group][0]) == "model"]
        points = {
            metric: point_estimate(values[metric][groups], statistic=series.statistic(metric)) for metric in metrics
        }
        drawn: dict[tuple[str, bytes], Floats] = {}
        for a, b in combinations(metrics, 2):
            known = np.flatnonzero(~np.isnan(points[a] + points[b]))
            of_both = values[a][groups, 0] + values[b][groups, 0]
            present: Mask = np.logical_or.reduce(~np.isnan(of_both[known]), axis=0)
            clusters = series.count(present)
            empty: tuple[Any, ...] = (None, None, None, len(known), clusters)
            if len(known) < _MIN_MODELS:
                rows.append((condition, a, b, *empty, f"fewer than {_MIN_MODELS} models"))
                continue
            rho = null(float(spearman_rho_rows(points[a][known][np.newaxis], points[b][known][np.newaxis])[0]))
            if rho is None:
                rows.append((condition, a, b, *empty, "one of the two is the same for all models"))
                continue
            sides = [(metric, present.tobytes()) for metric in (a, b)]
            for metric, units in sides:
                if (metric, units) not in drawn:
                    drawn[metric, units] = bootstrap_distribution(
                        values[metric][groups][:, :, present], draws.of(present), statistic=series.statistic(metric)
                    )
            low, high, reason = distribution_ends(
                spearman_rho_rows(*(drawn[side][known].T for side in sides)),
                chosen,
                scores,
                drawn=len(np.unique(draws.labels(present))),
                clusters=clusters,
                of="a rank correlation",
            )
            rows.append((condition, a, b, rho, low, high, len(known), clusters, reason))
    schema: dict[str, Any] = {
        **dict.fromkeys(("condition", "metric_a", "metric_b"), str),
        **dict.fromkeys(("rho", "low", "high"), float),
        **dict.fromkeys(("models", "clusters"), int),
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def win_rates(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return on which share of units each model is better than each other one, ties counting half.

    Parameters
    ----------
    scores, **options
        As for `metric_correlation`, BCa intervals too; the metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        ``condition, metric, model_a, model_b, rate, low, high, n, clusters, reason``: every ordered pair, on the units
        that both have; 0.5 is as often as the other.

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
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    draws = Draws(series, chosen)
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
            with draws.warning.of_all():
                intervals = bootstrap(won, draws.of(mask), method=chosen.interval, level=chosen.level)
            for place, interval in zip(places.tolist(), intervals, strict=True):
                clusters = series.count(common[place])
                low, high, reason = interval_ends(interval, clusters, scores)
                found[place] = (null(interval.estimate), low, high, interval.n, clusters, reason)
        for place, (condition, a, b) in enumerate(pairs):
            rows.append((condition, metric, series.groups[a][0], series.groups[b][0], *found[place]))
    schema: dict[str, Any] = {
        **dict.fromkeys(("condition", "metric", "model_a", "model_b"), str),
        **dict.fromkeys(("rate", "low", "high"), float),
        **dict.fromkeys(("n", "clusters"), int),
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
