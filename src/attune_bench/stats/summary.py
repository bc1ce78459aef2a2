"""The value of every metric for every model, with its interval, n, coverage and chance."""

from dataclasses import replace
from math import inf, isnan
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, text
from attune_bench.scores.parts import CHANCE, KEYS, standard_scores
from attune_bench.scores.table import ScoreTable, coverage, metrics_per_unit
from attune_bench.stats.options import (
    MIN_CLUSTERS,
    AnalysisKeywords,
    Mask,
    ResampleCache,
    SamplingKeywords,
    ScoreSeries,
    begin,
    have_values,
    interval_ends,
    interval_method,
    points,
    warn_once,
)
from attune_data.text import pluralize
from attune_metrics.metric import PSEUDO_VALUES, Metric, MetricInputError, nan_to_none
from attune_metrics.stats.bootstrap import STATISTICS, Interval, bootstrap
from attune_metrics.stats.cluster_means import mean_of_clusters_interval, share_of_clusters_interval, wilson_interval
from attune_metrics.stats.sums import Floats

SUMMARY = columns("model condition metric value low high n clusters coverage excluded reason")


def summary(table: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return every metric of every model with its interval.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see `AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `SUMMARY`, in the order of model, condition and metric. ``n`` counts the units with a value, in so
        many ``clusters``; ``excluded`` the other units that the model was run on. ``coverage`` is the share of its
        questions that have a prediction; of a metric that asks none, the share of all units that have a value, null
        where their number is not known. A share of independent trials has Wilson's interval, a share of clustered units
        the interval of `attune_metrics.stats.cluster_means.share_of_clusters_interval`, unless ``interval`` names
        another. Where there is no interval ``reason`` says why. Where each cluster counts once, ``value`` is the mean
        of the clusters' means, null for a metric that is no mean of units.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range.

    Warns
    -----
    UnreliableIntervalWarning
        Where a few clusters far from the rest decide a mean, so that its interval covers too rarely, see
        `attune_metrics.stats.sums.skewness_of_mean`; where `bootstrap` warns. One warning of each.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import prior
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> scores = score(conversations, prior(conversations))
    >>> row = summary(scores, metrics=["avg_pairwise_accuracy"]).row(0, named=True)
    >>> row["low"] < row["value"] < row["high"], row["n"], row["clusters"]
    (True, 40, 24)
    """
    chosen, series, draws = begin(table, options, weighted=True)
    covered, expected = coverage(table), table.provenance.expected
    rows: list[tuple[Any, ...]] = []
    names = chosen.names(table)
    found = {name: intervals_of(draws, name, series.scored) for name in names}
    draws.skewed.warn_of_means(table.metrics)
    for place, group in enumerate(series.groups):
        for name in names:
            value, low, high, n, clusters, reason = found[name][place]
            tasks = [task for task in table.metric(name).coverage if task in covered[group]]
            of_units = [n / expected] if expected else []
            share = min((covered[group][task] for task in tasks), default=min(of_units, default=None))
            excluded = int(series.scored[place].sum()) - n
            rows.append((*group, name, value, low, high, n, clusters, share, excluded, reason))
    return build_frame(SUMMARY, rows)


Summarised = tuple[float | None, float | None, float | None, int, int, str | None]


def intervals_of(
    draws: ResampleCache, name: str, scored: Mask, *, checked_from: int = MIN_CLUSTERS
) -> list[Summarised]:
    """Return value, low, high, n, clusters and reason of a metric for each series on its units (groups, units).

    Means of so many clusters, `checked_from`, are added to those that `draws` warns of where they are too skewed.
    """
    series, options = draws.series, draws.options
    table = series.table
    metric = table.metric(name)
    why = options.lacks_weight(table, name)
    if metric.statistic not in STATISTICS:
        rows = _of_models(series, metric)
        return [(None, *row[1:]) for row in rows] if why else rows
    values, statistic = series.values(name), series.statistic(name)
    defined = have_values(values)
    present = scored & defined
    if why:
        return [(None, None, None, int(own.sum()), series.count(own), why) for own in present]
    found: dict[int, Summarised] = {}
    counted = series.counted(np.where(scored[:, np.newaxis], values, np.nan), options)
    for mask, groups in draws.parts(present, defined):
        part = counted[groups][:, :, mask]
        sizes = [series.count(present[group]) for group in groups]
        methods = [
            interval_method(metric, options, table, n=int(present[group].sum()), clusters=size)
            for group, size in zip(groups, sizes, strict=True)
        ]
        with warn_once(draws.warned):
            if {*methods} <= {"wilson", "logit-t"}:
                intervals = share_of_clusters_interval(part, draws.labels(mask), level=options.level)
            elif "t" in methods:
                intervals = mean_of_clusters_interval(
                    part[:, 0], draws.labels(mask), low=metric.low, high=metric.high, level=options.level
                )
            else:
                intervals = bootstrap(
                    part, draws.of(mask), statistic=statistic, method=options.interval, level=options.level
                )
        if metric.statistic in ("mean", PSEUDO_VALUES) and intervals[0].method != "logit-t":
            given = [size >= checked_from and not isnan(one.low) for size, one in zip(sizes, intervals, strict=True)]
            draws.skewed.add(
                part[given, 0], draws.labels(mask), of=name, drawn=draws.drawn, as_share=_can_be_share(table, values),
                checked_from=checked_from,
            )  # fmt: skip
        for group, clusters, method, interval, terms in zip(
            groups.tolist(), sizes, methods, intervals, part, strict=True
        ):
            if method == "wilson":
                interval = _trials(terms[0], options.level)  # noqa: PLW2901
            equal = f"all {pluralize(draws.drawn)} have the same value"
            low, high, reason = interval_ends(interval, clusters, table, where_equal=equal)
            found[group] = (nan_to_none(interval.estimate), low, high, int(present[group].sum()), clusters, reason)
    return [found[group] for group in range(len(series.groups))]


def _can_be_share(table: ScoreTable, values: Floats) -> bool:
    """Tell whether the metric of all `values` is from a user's table, in which a description can call it a share."""
    is_own = table.provenance.benchmark is None and table.repeats is None
    return is_own and bool(np.isin(values[~np.isnan(values)], (0, 1)).all())


def _trials(values: Floats, level: float) -> Interval:
    """Return Wilson's interval of a share of independent trials."""
    known = values[~np.isnan(values)]
    return wilson_interval(int(known.sum()), len(known), level=level)


def _of_models(series: ScoreSeries, metric: Metric) -> list[Summarised]:
    """Return the values of a metric that depends on all models' results; it has no interval."""
    why = "depends on all models' results"
    return [
        (value, None, None, int(scored.sum()), series.count(scored), why)
        for value, scored in zip(z_scores(series, metric), series.scored, strict=True)
    ]


def z_scores(series: ScoreSeries, metric: Metric) -> list[float | None]:
    """Return each series' standard score (n - 1) of the metric that `metric` is of; 0 without any spread."""
    [of] = metric.terms
    return standard_scores(points(series, of))


DISTRIBUTION = columns(
    "model condition metric n mean sd lowest median highest",
    mean="Mean over the units.",
    sd=FrameColumn("Standard deviation over the units (n - 1).", low=0),
    lowest="The lowest value of a unit.",
    median="The median.",
    highest="The highest value of a unit.",
)


def distribution(table: ScoreTable, metrics: list[str] | None = None) -> pl.DataFrame:
    """Return how the values of units spread, by model, condition and metric.

    Returns
    -------
    polars.DataFrame
        The columns `DISTRIBUTION`; ``sd`` (n - 1) is null for one unit. Metrics without a value of each unit, and those
        without any value, are left out.

    Raises
    ------
    MetricInputError
        Where none of the metrics that are named has a value of each unit.
    """
    own = metrics_per_unit(table)
    chosen = [name for name in (metrics or own) if table.metric(name).name in own]
    if metrics and not chosen:
        per_unit(table, metrics[0], "distribution")
    long = (
        table.values.select("model", "condition", *chosen)
        # A metric may be called value.
        .unpivot(chosen, index=["model", "condition"], variable_name="metric", value_name="number")
        .drop_nulls("number")
        .filter(pl.col("number").is_not_nan())
    )
    value = pl.col("number")
    order = pl.DataFrame(
        {"metric": chosen, "place": range(len(chosen))}, schema={"metric": pl.String, "place": pl.Int64}
    )
    return (
        long.group_by("model", "condition", "metric")
        .agg(
            value.count().cast(pl.Int64).alias("n"),
            # The sum is rounded once, as in `summary`.
            value.implode().map_elements(fmean, return_dtype=pl.Float64).alias("mean"),
            value.std().alias("sd"),
            value.min().alias("lowest"),
            value.median().alias("median"),
            value.max().alias("highest"),
        )
        .join(order, on="metric")
        .sort("model", "condition", "place")
        .select(*DISTRIBUTION)
    )


RANDOM_ANSWERS = columns(
    "condition metric chance low high n how",
    chance="What answering at random scores on average, in the unit of the metric.",
    low="Lower end of the range of 95% of the repeats; empty where nothing is simulated, or too few repeats are.",
    high="Upper end of this range.",
    n="How many units have a value.",
    how=text("`exact`: an expected value. `simulated`: a mean over repeats of random answers."),
)
EXPECTED_CHANCE = columns(
    "condition metric chance n clusters",
    chance="What random answers to these units score on average, in the unit of the metric.",
)


def chance_of_units(table: ScoreTable) -> pl.DataFrame:
    """Return what random answers score on average, by condition and metric, where the units say it.

    Parameters
    ----------
    table : ScoreTable
        The scores. `Scores.units` has a column ``chance.<metric>`` for each metric with a known expected value.

    Returns
    -------
    polars.DataFrame
        The columns `EXPECTED_CHANCE`. ``chance`` is the mean over the ``n`` units of the condition for which the metric
        is defined, in so many ``clusters``. Empty where the units do not say it.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> chance_of_units(scores).row(by_predicate=pl.col("metric") == "avg_pairwise_accuracy")
    ('default', 'avg_pairwise_accuracy', 0.5, 40, 24)
    """
    chances = {name: column for name in table.metrics if (column := f"{CHANCE}{name}") in table.units.columns}
    of_condition = table.values.select("condition", "unit").unique().join(table.units, on="unit").sort("unit")
    rows = []
    for condition in table.conditions:
        units = of_condition.filter(pl.col("condition").eq_missing(pl.lit(condition)))
        for name, column in chances.items():
            known = units.drop_nulls(column)
            if known.height:
                clusters = known["cluster"].drop_nulls().n_unique() + known["cluster"].null_count()
                rows.append((condition, name, fmean(known[column]), known.height, clusters))
    return build_frame(EXPECTED_CHANCE, rows)


def above_chance(table: ScoreTable, metric: str, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return by how much every model scores more in a metric than random answers to the same units do on average.

    Returns
    -------
    polars.DataFrame
        The columns `SUMMARY`, with the difference as the value: the mean over the units of the model's value minus the
        expected value of random answers. Empty where the units do not say what random answers score.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = above_chance(scores, "avg_pairwise_accuracy", resamples=500)
    >>> (found["low"] > 0).to_list()  # both models
    [True, True]
    """
    column = f"{CHANCE}{metric}"
    if column not in table.units.columns:
        return build_frame(SUMMARY, [])
    values = table.values.join(table.units.select("unit", column), on="unit", how="left", maintain_order="left")
    entry = replace(table.metric(metric), low=-inf, high=inf, statistic="mean", coverage=())
    differences = ScoreTable(
        values=values.select(*KEYS, pl.col(metric) - pl.col(column)),
        units=table.units,
        metrics={metric: entry},
        provenance=table.provenance,
    )
    return summary(differences, **options, metrics=[metric])


def chance_under(table: ScoreTable, condition: str | None) -> dict[str, float]:
    """Return what random answers score on average under one condition, by metric; empty where the units do not say it.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> chance_under(score(load("demo"), load_runs("demo")), "default")["avg_pairwise_accuracy"]
    0.5
    """
    found = chance_of_units(table).filter(pl.col("condition").eq_missing(pl.lit(condition)))
    return dict(found.select("metric", "chance").rows())


def per_unit(scores: ScoreTable, metric: str, analysis: str) -> str:
    """Return a metric that has one value for each unit.

    Raises
    ------
    MetricInputError
        For scores of pooled counts, and for what depends on all models' results; the text names metrics that do.
    """
    known = metrics_per_unit(scores)
    if scores.metric(metric).name not in known:
        raise MetricInputError(
            f"{analysis} needs a value of each {scores.provenance.unit}, {metric!r} has none; use one such as "
            f"{', '.join(known[:4])}"
        )
    return metric
