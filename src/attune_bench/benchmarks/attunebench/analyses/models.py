"""Models against each other: how far metrics agree on their order, and who is nearer the truth how often.

Models are a fixed list here, not a sample: intervals say what other participants would have changed.
"""

from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.aggregates import IN_COMPOSITE
from attune_bench.benchmarks.attunebench.analyses._common import (
    aggregates,
    direction,
    distribution_ends,
    per_conversation,
)
from attune_bench.benchmarks.attunebench.records import null
from attune_bench.stats.comparison import ends
from attune_bench.stats.series import Draws, Options, ScoreSeries, Settings, by_mode, statistic_of
from attune_metrics.stats.correlation import spearman_rho_rows
from attune_metrics.stats.resampling import bootstrap, bootstrap_distribution

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.scores import Scores

__all__ = ["metric_correlation", "win_rates"]

_FEWEST_MODELS = 3


def metric_correlation(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Return Spearman's correlation between every two metrics, across the models of a mode.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval`` (no BCa); see
        `attune_bench.stats.series.Settings`. The metrics are by default the composite and those that enter it.

    Returns
    -------
    polars.DataFrame
        ``mode, metric_a, metric_b, rho, low, high, models, participants, reason``: each pair once. ``rho`` is of the
        models' aggregates as they are, so that an error and a score correlate negatively; it needs three models,
        and a mode with fewer has no row. Models that lack one of the two metrics are left out.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or records contradict each other.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import baselines
    >>> conversations = load("demo")
    >>> scores = score(conversations, [*load_runs("demo"), *baselines.prior(conversations)])
    >>> found = metric_correlation(scores, metrics=["avg_emotion_f1", "avg_emotion_va_score"], resamples=200)
    >>> found.select("metric_a", "metric_b", "rho", "models").row(0)
    ('avg_emotion_f1', 'avg_emotion_va_score', 0.5, 3)
    """
    import polars as pl

    settings = Settings(**options)
    series = ScoreSeries(scores)
    draws = Draws(series.clusters(settings.unit), settings)
    metrics = settings.names if settings.metrics is not None else IN_COMPOSITE
    values = {metric: series.values(metric) for metric in metrics}
    rows: list[tuple[Any, ...]] = []
    for mode, groups in by_mode(series).items():
        if len(groups) < _FEWEST_MODELS:
            continue
        mask = np.logical_or.reduce(series.scored[groups], axis=0)
        resamples = draws.of(mask)
        points = {metric: aggregates(values[metric][groups], statistic_of(metric)) for metric in metrics}
        drawn = {
            metric: bootstrap_distribution(
                values[metric][groups][:, :, mask], resamples, statistic=statistic_of(metric)
            )
            for metric in metrics
        }
        for a, b in combinations(metrics, 2):
            there = np.flatnonzero(~np.isnan(points[a] + points[b]))
            values_of_both = values[a][groups, 0] + values[b][groups, 0]
            found = np.logical_or.reduce(~np.isnan(values_of_both[there]), axis=0)
            participants = series.count(found)
            row: tuple[Any, ...] = (None, None, None, len(there), participants)
            if len(there) < _FEWEST_MODELS:
                rows.append((mode, a, b, *row, f"fewer than {_FEWEST_MODELS} models"))
                continue
            rho = null(float(spearman_rho_rows(points[a][there][np.newaxis], points[b][there][np.newaxis])[0]))
            if rho is None:
                rows.append((mode, a, b, *row, "one of the two is the same for all models"))
                continue
            low, high, reason = distribution_ends(
                spearman_rho_rows(drawn[a][there].T, drawn[b][there].T),
                settings,
                clusters=len(np.unique(resamples.clusters[found[mask]])),
                participants=participants,
                of="a rank correlation",
            )
            rows.append((mode, a, b, rho, low, high, len(there), participants, reason))
    schema = {
        **dict.fromkeys(("mode", "metric_a", "metric_b"), str),
        **dict.fromkeys(("rho", "low", "high"), float),
        **dict.fromkeys(("models", "participants"), int),
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def win_rates(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Return on which share of conversations each model is nearer the truth than each other one, ties half.

    Parameters
    ----------
    scores, **options
        As for `metric_correlation`, BCa intervals too; the metric is by default ``avg_pairwise_accuracy``, how well a
        model predicts which response the participant preferred.

    Returns
    -------
    polars.DataFrame
        ``mode, metric, model_a, model_b, rate, low, high, n, participants, reason``: every ordered pair, on the
        conversations that both have; 0.5 is as often as the other.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, a metric has no better direction or no value of each conversation,
        or records contradict each other.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> found = win_rates(score(load("demo"), load_runs("demo")))
    >>> found.select("model_a", "model_b", "rate").rows()[0]
    ('synthetic/attentive', 'synthetic/hasty', 0.95)
    """
    import polars as pl

    settings = Settings(**options)
    series = ScoreSeries(scores)
    draws = Draws(series.clusters(settings.unit), settings)
    metrics = settings.names if settings.metrics is not None else ("avg_pairwise_accuracy",)
    rows: list[tuple[Any, ...]] = []
    pairs = [(mode, a, b) for mode, groups in by_mode(series).items() for a, b in permutations(groups, 2)]
    first, second = np.array([pair[1:] for pair in pairs], dtype=np.intp).reshape(-1, 2).T
    for metric in metrics:
        values = direction(metric) * series.values(per_conversation(metric, "win_rates"))[:, 0]
        found: dict[int, tuple[Any, ...]] = {}
        for mask, places in series.alike(series.scored[first] & series.scored[second]):
            one, other = values[first[places]][:, mask], values[second[places]][:, mask]
            won = np.where(np.isnan(one + other), np.nan, (one > other) + (one == other) / 2)
            intervals = bootstrap(won, draws.of(mask), method=settings.method, level=settings.level)
            for place, of_pair, interval in zip(places.tolist(), won, intervals, strict=True):
                present = mask.copy()
                present[mask] = ~np.isnan(of_pair)
                participants = series.count(present)
                low, high, reason = ends(interval, participants)
                found[place] = (null(interval.estimate), low, high, interval.n, participants, reason)
        for place, (mode, a, b) in enumerate(pairs):
            rows.append((mode, metric, series.groups[a][0], series.groups[b][0], *found[place]))
    schema = {
        **dict.fromkeys(("mode", "metric", "model_a", "model_b"), str),
        **dict.fromkeys(("rate", "low", "high"), float),
        **dict.fromkeys(("n", "participants"), int),
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
