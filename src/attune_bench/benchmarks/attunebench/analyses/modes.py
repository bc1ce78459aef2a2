"""Modes: what another way of asking the same model changes.

Each mode is set against the model's reference mode: ``default`` where the model was run in it, else its first mode in
the alphabet.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.aggregates import IN_COMPOSITE
from attune_bench.benchmarks.attunebench.analyses._common import (
    aggregates,
    corrected,
    direction,
    distribution_ends,
    paired,
)
from attune_bench.stats.series import Draws, Options, ScoreSeries, Settings, by_mode, statistic_of
from attune_metrics.stats.arrays import average_ranks
from attune_metrics.stats.resampling import bootstrap_distribution

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.scores import Scores

__all__ = ["mode_differences", "rank_shifts"]

_FEWEST_MODELS = 2


def _pairs(series: ScoreSeries) -> list[tuple[int, int]]:
    """Return each group in another mode than its model's reference, with the group in that."""
    modes = list(by_mode(series))
    pairs = []
    for model in dict.fromkeys(model for model, _ in series.groups):
        groups = sorted(
            (place for place, group in enumerate(series.groups) if group[0] == model),
            key=lambda place: modes.index(series.groups[place][1]),
        )
        pairs += [(place, groups[0]) for place in groups[1:]]
    return pairs


def mode_differences(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Return how much each mode changes each model's scores, on the conversations that were run in both modes.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.series.Settings`. The metrics are by default the composite and those that enter it.

    Returns
    -------
    polars.DataFrame
        ``model, mode, reference, metric, value, value_reference, difference, low, high, p, p_holm, n, participants,
        reason``; no row where every model has one mode. ``difference`` is that of `mode` minus `reference`; ``p`` is
        that of `attune_metrics.stats.comparison.paired_permutation_test`, ``p_holm`` Holm's over the
        models for one metric and two modes.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or records contradict each other.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> runs = load_runs("demo")
    >>> again = [run.model_copy(update={"mode": "verbose"}) for run in runs]
    >>> scores = score(load("demo"), [*runs, *again])
    >>> found = mode_differences(scores, metrics=["composite_score"], resamples=200)
    >>> found.select("model", "mode", "reference", "difference").rows()
    [('synthetic/attentive', 'verbose', 'default', 0.0), ('synthetic/hasty', 'verbose', 'default', 0.0)]
    """
    import polars as pl

    settings = Settings(**options)
    series = ScoreSeries(scores)
    draws = Draws(series.clusters(settings.unit), settings)
    metrics = settings.names if settings.metrics is not None else IN_COMPOSITE
    pairs = _pairs(series)
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    rows: dict[tuple[int, str], tuple[Any, ...]] = {}
    for metric in metrics:
        values, there = series.values(metric), series.scored[first] & series.scored[second]
        found = paired(series, values[first], values[second], there, draws, settings, statistic_of(metric))
        families = [f"mode {series.groups[a][1]!r} against {series.groups[b][1]!r}" for a, b in pairs]
        holm = corrected(found, families, settings)
        for place, ((a, b), pair, p) in enumerate(zip(pairs, found, holm, strict=True)):
            identity = *series.groups[a], series.groups[b][1], metric
            rows[place, metric] = (*identity, *pair[:6], p, pair.n, pair.participants, pair.reason)
    schema = {
        **dict.fromkeys(("model", "mode", "reference", "metric"), str),
        **dict.fromkeys(("value", "value_reference", "difference", "low", "high", "p", "p_holm"), float),
        **dict.fromkeys(("n", "participants"), int),
        "reason": str,
    }
    ordered = [rows[place, metric] for place in range(len(pairs)) for metric in metrics]
    return pl.DataFrame(ordered, schema=schema, orient="row")


def rank_shifts(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Return each model's rank in each mode against its rank in the reference mode, among the models that have both.

    Parameters
    ----------
    scores, **options
        As for `mode_differences`; no BCa interval. The metric is by default ``composite_score``.

    Returns
    -------
    polars.DataFrame
        ``metric, reference, mode, model, rank_reference, rank, shift, low, high, models, participants, reason``. Rank 1
        is the best, ties share their mean rank; ``shift`` is `rank_reference` minus `rank`, places won. Its interval
        ends at shifts that occur; models without a value in one of the modes are left out. No row where no two models
        have the same two modes.

    Raises
    ------
    MetricInputError
        As `mode_differences`, and where neither higher nor lower values of a metric are better.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> runs = load_runs("demo")
    >>> again = [run.model_copy(update={"mode": "verbose"}) for run in runs]
    >>> scores = score(load("demo"), [*runs, *again])
    >>> rank_shifts(scores, resamples=200).select("model", "mode", "rank_reference", "rank", "shift").rows()
    [('synthetic/attentive', 'verbose', 1.0, 1.0, 0.0), ('synthetic/hasty', 'verbose', 2.0, 2.0, 0.0)]
    """
    import polars as pl

    settings = Settings(**options)
    series = ScoreSeries(scores)
    draws = Draws(series.clusters(settings.unit), settings)
    metrics = settings.names if settings.metrics is not None else ("composite_score",)
    by_modes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for a, b in _pairs(series):
        by_modes.setdefault((series.groups[b][1], series.groups[a][1]), []).append((b, a))
    rows: list[tuple[Any, ...]] = []
    for metric in metrics:
        values, statistic, sign = series.values(metric), statistic_of(metric), direction(metric)
        for modes, pairs in by_modes.items():
            sides = np.array(pairs, dtype=np.intp).T
            points = sign * np.array([aggregates(values[side], statistic) for side in sides])
            sides, points = sides[:, (known := ~np.isnan(points).any(axis=0))], points[:, known]
            if len(sides[0]) < _FEWEST_MODELS:
                continue
            there = ~np.isnan(values[sides, 0]).all(axis=(0, 1))
            resamples, participants = draws.of(there), series.count(there)
            ranks = average_ranks(-points)
            drawn = [
                average_ranks(
                    -sign * bootstrap_distribution(values[side][:, :, there], resamples, statistic=statistic).T
                )
                for side in sides
            ]
            shifts = drawn[0] - drawn[1]
            for place, group in enumerate(sides[0].tolist()):
                before, after = ranks[:, place].tolist()
                low, high, reason = distribution_ends(
                    shifts[:, place],
                    settings,
                    clusters=resamples.counts.shape[1],
                    participants=participants,
                    of="a shift of ranks",
                    whole=True,
                )
                found = before, after, before - after, low, high, len(sides[0]), participants, reason
                rows.append((metric, *modes, series.groups[group][0], *found))
    schema = {
        **dict.fromkeys(("metric", "reference", "mode", "model"), str),
        **dict.fromkeys(("rank_reference", "rank", "shift", "low", "high"), float),
        **dict.fromkeys(("models", "participants"), int),
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
