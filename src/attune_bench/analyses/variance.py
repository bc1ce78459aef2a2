"""Variance: how much of the spread of scores is between units, how much between models.

A score is the mean of its model, plus what its unit adds for every model, plus the rest. Models are fixed, units a
sample. With one score in each cell, what a unit adds for one model only (interaction) cannot be told from error: both
are the residual.
"""

from math import isfinite, nan
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.intervals import interval_ends
from attune_bench.stats.options import MIN_CLUSTERS, AnalysisKeywords, AnalysisOptions
from attune_bench.stats.series import Draws, ScoreSeries
from attune_bench.stats.summary import metrics_per_unit
from attune_bench.stats.units import per_unit
from attune_bench.undefined import null
from attune_metrics.stats.repeats import crossed_variances

__all__ = ["SOURCES", "unit_difficulty", "variance_split"]

SOURCES = ("unit", "model", "residual")


def variance_split(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how the variance of each metric splits between units, models and the rest.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. The metrics are by default those of the board that have a value of
        each unit.

    Returns
    -------
    polars.DataFrame
        ``condition, metric, source, variance, low, high, share, share_low, share_high, n, models, clusters, reason``.
        ``source`` is ``unit``, ``model`` or ``residual``. Only the ``n`` units on which every model of the condition
        has a value count. A variance is not biased, and so can be negative where there is little; a share takes that as
        0.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no value of each unit.

    Warns
    -----
    UnreliableIntervalWarning
        Where few far units decide the variance of units, whose interval then covers too rarely.

    Notes
    -----
    The parts are those of `attune_metrics.stats.repeats.crossed_variances`. As models are fixed, theirs is the
    sum of squared differences from their mean over k - 1.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = variance_split(scores, metrics=["composite_score"], resamples=200)
    >>> [(row["source"], round(row["share"], 2)) for row in found.iter_rows(named=True)]
    [('unit', 0.02), ('model', 0.85), ('residual', 0.14)]
    """
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    draws = Draws(series, chosen)
    metrics = chosen.names(scores, [name for name in scores.headline if name in metrics_per_unit(scores)])
    check_within_conditions(scores, metrics)
    rows: list[tuple[Any, ...]] = []
    for condition, groups in series.by_condition().items():
        for metric in metrics:
            values = series.values(per_unit(scores, metric, "variance_split"))[groups, 0]
            complete = np.logical_and.reduce(~np.isnan(values), axis=0)
            sizes = int(complete.sum()), len(groups), series.count(complete)
            few = f"fewer than 2 {scores.provenance.unit}s"
            why = "one model" if len(groups) < 2 else few if sizes[0] < 2 else None
            if why:
                rows += [(condition, metric, source, *[None] * 6, *sizes, why) for source in SOURCES]
                continue
            with draws.warning.of_all():
                intervals = crossed_variances(
                    values[:, complete], draws.of(complete), method=chosen.interval, level=chosen.level
                )
            if sizes[2] >= MIN_CLUSTERS:
                labels = draws.labels(complete)
                draws.skewed.add_variance(values[:, complete], labels, of=metric, drawn=draws.drawn)
            for place, source in enumerate(SOURCES):
                cells, reasons = [], []
                for interval in (intervals[place], intervals[len(SOURCES) + place]):
                    low, high, reason = interval_ends(interval, sizes[2], scores)
                    cells += [null(interval.estimate), low, high]
                    reasons.append(reason)
                rows.append((condition, metric, source, *cells, *sizes, reasons[0] or reasons[1]))
    draws.skewed.warn_of_variances()
    schema: dict[str, Any] = {
        **dict.fromkeys(("condition", "metric", "source"), str),
        **dict.fromkeys(("variance", "low", "high", "share", "share_low", "share_high"), float),
        **dict.fromkeys(("n", "models", "clusters"), int),
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def unit_difficulty(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how hard each unit is, and how far the models differ on it.

    Parameters
    ----------
    scores, **options
        As for `variance_split`; nothing is drawn at random. The metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        ``condition, metric, unit, mean, sd, models``: mean and standard deviation (n - 1) over the models that have a
        value on the unit; ``sd`` is null for one model, and either where it is beyond the largest float. No row
        for a unit without a value.

    Raises
    ------
    MetricInputError
        As `variance_split`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> hardest = unit_difficulty(scores).sort("mean").row(0, named=True)
    >>> round(hardest["mean"], 2), round(hardest["sd"], 2), hardest["models"]
    (49.38, 7.9, 2)
    """
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    Draws(series, chosen)  # refuses options as every analysis does
    rows: list[tuple[Any, ...]] = []
    for condition, groups in series.by_condition().items():
        for metric in chosen.names(scores, [scores.primary]):
            values = series.values(per_unit(scores, metric, "unit_difficulty"))[groups, 0]
            for unit, column in zip(series.units, values.T, strict=True):
                found = column[~np.isnan(column)]
                if len(found):
                    with np.errstate(over="ignore", invalid="ignore"):
                        both = float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else nan
                    finite = (value if isfinite(value) else None for value in both)
                    rows.append((condition, metric, unit, *finite, len(found)))
    schema: dict[str, Any] = {
        **dict.fromkeys(("condition", "metric", "unit"), str),
        **dict.fromkeys(("mean", "sd"), float),
        "models": int,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
