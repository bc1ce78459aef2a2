"""Repeats: what would have come out if the models had been asked once, or more often; how hard units are."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, nan
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, text, whole
from attune_bench.scores.parts import REPEAT
from attune_bench.scores.table import ScoreTable, metrics_per_unit
from attune_bench.stats.comparability import check_one_scale, check_within_conditions
from attune_bench.stats.options import (
    MIN_CLUSTERS,
    AnalysisKeywords,
    AnalysisOptions,
    Mask,
    ResampleCache,
    ScoreSeries,
    begin,
    direction,
    interval_ends,
)
from attune_bench.stats.summary import per_unit
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.repeats import RepeatVariance, rank_shares, repeat_variance
from attune_metrics.stats.sums import Floats, average_ranks, rounding_of

_NUMBERS = (1, 2, 3, 5, 10)


_VARIANCE = FrameColumn(
    "The variance, in the squared unit of the metric; a small one may come out below 0.", shown="square"
)
REPEAT_VARIANCES = columns(
    "condition metric model source variance low high n repeats clusters reason",
    source=text("`unit`, `repeat`, or `interaction`: what one unit adds in one repeat only, and error."),
    variance=_VARIANCE,
    n="How many units have a value in every repeat.",
)


def repeat_variances(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how the variance of each model's scores splits between units, repeats and their interaction.

    Parameters
    ----------
    scores : ScoreTable
        Scores with repeats.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. By default the metrics of the board that have a value of
        each unit.

    Returns
    -------
    polars.DataFrame
        The columns `REPEAT_VARIANCES`. ``source`` is ``unit``, ``repeat`` or ``interaction``, as
        `attune_metrics.stats.repeats.repeat_variance` defines them, of the ``n`` units that have a value in every one
        of the ``repeats``. A model that was asked once has no row.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no value of each unit.

    Warns
    -----
    UnreliableIntervalWarning
        Where few far units decide the variance of units, so that its interval covers too rarely.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> rows = [("m", f"u{u}", "points", str(r), float(u + r + (u * r) % 3)) for u in range(8) for r in range(2)]
    >>> frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "repeat", "value"], orient="row")
    >>> found = repeat_variances(Scores.from_table(frame), resamples=200)
    >>> [(row["source"], round(row["variance"], 2)) for row in found.iter_rows(named=True)]
    [('unit', 6.21), ('repeat', 1.71), ('interaction', 0.35)]
    """
    rows: list[tuple[Any, ...]] = []
    board = [name for name in scores.headline if name in metrics_per_unit(scores)]
    for condition, metric, model, found in _split(scores, "repeat_variances", AnalysisOptions(**options), board):
        parts = {"unit": found.unit, "repeat": found.repeat, "interaction": found.interaction}
        for source, part in parts.items():
            low, high, reason = interval_ends(part, part.clusters, scores)
            named = (condition, metric, model, source)
            rows.append((*named, nan_to_none(part.estimate), low, high, found.n, found.repeats, part.clusters, reason))
    return build_frame(REPEAT_VARIANCES, rows)


REPEATS_WORTH = columns(
    "condition metric model repeats error error_of_units",
    repeats=whole("How many repeats, as planned.", 1),
    error=FrameColumn("Standard error of the mean with so many repeats of each unit.", low=0, head="error by repeats"),
    error_of_units=FrameColumn(
        "Standard error of the mean with one repeat of so many times as many units.", low=0, head="error by units"
    ),
)


def repeats_worth(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return the standard error of each model's mean with 1 to 10 repeats, and with as many calls on other units.

    Parameters
    ----------
    scores, **options
        As for `repeat_variances`; the metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        The columns `REPEATS_WORTH`. ``error`` is the standard error with so many repeats of each unit,
        ``error_of_units`` with one repeat of so many times as many units, from more clusters of the same sizes, which
        takes as many calls. Null where the parts of the variance are not defined.

    Raises
    ------
    MetricInputError
        As `repeat_variances`.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> rows = [("m", f"u{u}", "points", str(r), float(u + r + (u * r) % 3)) for u in range(8) for r in range(2)]
    >>> frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "repeat", "value"], orient="row")
    >>> found = repeats_worth(Scores.from_table(frame))
    >>> found.select("repeats", pl.col("error", "error_of_units").round(3)).rows()[:2]
    [(1, 1.592, 1.592), (2, 1.287, 1.458)]
    """
    # Of the parts of the variance only the estimates count: intervals of one resample cost nothing.
    chosen = replace(AnalysisOptions(**options), resamples=1)
    rows: list[tuple[Any, ...]] = []
    for condition, metric, model, found in _split(scores, "repeats_worth", chosen, [scores.primary]):
        for number in _NUMBERS:
            errors = found.standard_error(number), found.standard_error(1, units=number)
            rows.append((condition, metric, model, number, *map(nan_to_none, errors)))
    return build_frame(REPEATS_WORTH, rows)


REPEAT_RANKS = columns(
    "condition metric model value rank best worst same repeats n",
    value="Mean over the repeats.",
    rank="Rank of that mean, 1 is the best.",
    best=whole("Best rank in any combination of one repeat of each model.", 1),
    worst=whole("Worst rank in any combination.", 1),
    same=share("Share of the combinations that give the same rank as the means."),
    n="How many units every model has in every repeat.",
)


def repeat_ranks(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how often each model would have its rank if every model had been asked once.

    Parameters
    ----------
    scores, **options
        As for `repeat_variances`; the metric is by default the primary one, and ``seed`` chooses among combinations.

    Returns
    -------
    polars.DataFrame
        The columns `REPEAT_RANKS`. ``value`` is the mean over the repeats, ``best`` and ``worst`` are the best and the
        worst rank in any combination of one repeat of each model, ``same`` is the share of combinations in which the
        rank is the same, see `attune_metrics.stats.repeats.rank_shares`; on the ``n`` units that every model has in
        every one of its ``repeats``. No row with fewer than two models, or where none was asked twice.

    Raises
    ------
    MetricInputError
        As `repeat_variances`, and where a metric has no better direction.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> values = {"a": [[3.0, 5.0], [2.0, 4.0]], "b": [[2.0, 4.0], [1.0, 4.0]]}
    >>> rows = [(model, f"u{u}", "points", str(r), value) for model, repeats in values.items()
    ...         for r, each in enumerate(repeats) for u, value in enumerate(each)]
    >>> frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "repeat", "value"], orient="row")
    >>> repeat_ranks(Scores.from_table(frame)).select("model", "rank", "best", "worst", "same").rows()
    [('a', 1.0, 1, 2, 0.875), ('b', 2.0, 1, 2, 0.875)]
    """
    chosen = AnalysisOptions(**options)
    grids = _Grids(scores, chosen)
    rows: list[tuple[Any, ...]] = []
    metrics = chosen.names(scores, [scores.primary])
    check_within_conditions(scores, metrics)
    for condition, groups in grids.series.by_condition().items():
        for metric in metrics:
            sign = direction(scores.metric(metric))
            each = [grids.of(per_unit(scores, metric, "repeat_ranks"), group) for group in groups]
            if len(each) < 2 or all(len(one) < 2 for one in each):
                continue
            common = np.logical_and.reduce([~np.isnan(one).any(axis=0) for one in each])
            if not common.any():
                continue
            means = [one[:, common].mean(axis=1) for one in each]
            values = np.array([one.mean() for one in means])
            ranks = average_ranks(-sign * values, max(map(rounding_of, each)))
            shares = rank_shares([sign * one for one in means], seed=chosen.seed)
            for place in np.lexsort((np.array(groups), ranks)).tolist():
                reached = np.flatnonzero(shares[place]) + 1
                # A tied rank is between two ranks.
                own = shares[place, [int(np.floor(ranks[place])) - 1, int(np.ceil(ranks[place])) - 1]]
                rows.append(
                    (condition, metric, grids.series.groups[groups[place]][0], float(values[place]),
                     float(ranks[place]), int(reached[0]), int(reached[-1]),
                     float(own.sum() if ranks[place] % 1 else own[0]), len(each[place]), int(common.sum()))
                )  # fmt: skip
    return build_frame(REPEAT_RANKS, rows)


def _split(
    scores: ScoreTable, analysis: str, options: AnalysisOptions, default: Sequence[str]
) -> list[tuple[str | None, str, str, RepeatVariance]]:
    """Return condition, metric, model and the split of each model that was asked several times."""
    grids = _Grids(scores, options)
    draws, found = grids.draws, []
    for condition, groups in grids.series.by_condition().items():
        for metric in options.names(scores, default):
            for group in groups:
                values = grids.of(per_unit(scores, metric, analysis), group)
                if len(values) < 2:
                    continue
                complete: Mask = np.logical_and.reduce(~np.isnan(values), axis=0)
                split = draws.intervals(repeat_variance, values[:, complete], complete)
                if analysis == "repeat_variances" and split.unit.clusters >= MIN_CLUSTERS:
                    labels = draws.labels(complete)
                    draws.skewed.add_variance(values[:, complete], labels, of=metric, drawn=draws.drawn)
                found.append((condition, metric, grids.series.groups[group][0], split))
    draws.skewed.warn_of_variances(scores.metrics)
    return found


class _Grids:
    """The values of a model's repeats, in the order of the units of `series`."""

    def __init__(self, scores: ScoreTable, options: AnalysisOptions) -> None:
        self.series = ScoreSeries(scores)
        self.draws = ResampleCache(self.series, options)
        self._repeats = scores.repeats
        self._places = {unit: place for place, unit in enumerate(self.series.units)}

    def of(self, metric: str, group: int) -> Floats:
        """Return the values (repeats, units) of a metric; one row of the means where there are no repeats."""
        if self._repeats is None:
            means: Floats = self.series.values(metric)[group]
            return means
        model, condition = self.series.groups[group]
        rows = self._repeats.filter(pl.col("model") == model, pl.col("condition").eq_missing(condition))
        names = {name: place for place, name in enumerate(rows[REPEAT].unique().sort())}
        found = np.full((len(names), len(self.series.units)), np.nan)
        for repeat, unit, value in rows.select(REPEAT, "unit", pl.col(metric).cast(pl.Float64)).iter_rows():
            found[names[repeat], self._places[unit]] = np.nan if value is None else value
        return found


UNIT_DIFFICULTY = columns(
    "condition metric unit mean sd models",
    mean="Mean over the models.",
    sd=FrameColumn("Standard deviation over the models (n - 1).", low=0),
)


def unit_difficulty(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how hard each unit is, and how far the models differ on it.

    Parameters
    ----------
    scores, **options
        ``metrics``, by default the primary one; see `attune_bench.stats.options.AnalysisOptions`. Nothing is drawn at
        random.

    Returns
    -------
    polars.DataFrame
        The columns `UNIT_DIFFICULTY`. ``mean`` and ``sd`` (n - 1) are over the models that have a value on the unit;
        ``sd`` is null for one model, and either where it is beyond the largest float. No row for a unit without a
        value.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no value of each unit.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> hardest = unit_difficulty(scores).sort("mean").row(0, named=True)
    >>> round(hardest["mean"], 2), round(hardest["sd"], 2), hardest["models"]
    (49.38, 7.9, 2)
    """
    chosen, series, _ = begin(scores, options)
    rows: list[tuple[Any, ...]] = []
    metrics = chosen.names(scores, [scores.primary])
    check_one_scale(scores, metrics)
    for condition, groups in series.by_condition().items():
        for metric in metrics:
            values = series.values(per_unit(scores, metric, "unit_difficulty"))[groups, 0]
            for unit, column in zip(series.units, values.T, strict=True):
                found = column[~np.isnan(column)]
                if len(found):
                    with np.errstate(over="ignore", invalid="ignore"):
                        both = float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else nan
                    finite = (value if isfinite(value) else None for value in both)
                    rows.append((condition, metric, unit, *finite, len(found)))
    return build_frame(UNIT_DIFFICULTY, rows)
