"""Heat maps of any scores: models against models, metrics against metrics, metrics against models.

`attune_bench.report.figures` names them beside the other figures.
"""

from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from attune_bench.report.columns import number, p_value
from attune_bench.report.drawing import (
    RATIO,
    Rows,
    heatmap,
    labels,
    metric_in,
    named,
    rows_of,
    shown,
    sizes,
    unique,
)
from attune_bench.score_table import ScoreTable
from attune_metrics.metric import Metric

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

__all__ = ["condition_differences", "metric_correlation", "win_rates"]


def win_rates(
    table: ScoreTable, rates: pl.DataFrame, metric: str | None = None, *, condition: str | None = None
) -> "Chart":
    """Draw on which share of units the model of a row does better than that of a column.

    Parameters
    ----------
    table, metric, condition
        As for `attune_bench.report.figures.scores`.
    rates : polars.DataFrame
        What `attune_bench.analyses.win_rates` gives.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.analyses import win_rates as rates_of
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> type(win_rates(given, rates_of(given, resamples=200))).__name__
    'LayerChart'
    """
    rows = rows_of(rates, "rate", condition=condition, metric=metric_in(table, rates, metric).name)
    for row in rows:
        row["shown"] = f"{row['rate']:.2f}"
        against = f"{row['model_a']} against {row['model_b']}"
        row["text"] = f"{against}: {shown(row, 'rate', RATIO)}, {sizes(table, row)}"
    rows = named(rows, "model_a", "model_b")
    won = {model: fmean(row["rate"] for row in rows if row["model_a"] == model) for model in unique(rows, "model_a")}
    order = sorted(won, key=lambda model: (-won[model], model))
    return heatmap(rows, "rate", ("model_b", order), ("model_a", order), middle=0.5, reach=0.5)


def metric_correlation(table: ScoreTable, correlations: pl.DataFrame, *, condition: str | None = None) -> "Chart":
    """Draw Spearman's correlation of metrics across models.

    Parameters
    ----------
    table, condition
        As for `attune_bench.report.figures.scores`.
    correlations : polars.DataFrame
        What `attune_bench.analyses.metric_correlation` gives.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.analyses import metric_correlation as correlation_of
    >>> from attune_bench.benchmarks.attunebench.baselines import chance
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> drawn = [(f"random {seed}", run) for seed in range(6) for run in chance(conversations, seed=seed)]
    >>> given = score(conversations, [run.model_copy(update={"em_model": name}) for name, run in drawn])
    >>> found = correlation_of(given, metrics=["avg_emotion_f1", "avg_emotion_va_score"], resamples=200)
    >>> type(metric_correlation(given, found)).__name__
    'LayerChart'
    """
    rows = rows_of(correlations, "rho", condition=condition)
    places = labels(table, dict.fromkeys([*unique(rows, "metric_a"), *unique(rows, "metric_b")]))
    for row in rows:
        row["first"], row["second"] = places[row["metric_a"]], places[row["metric_b"]]
        row["shown"] = f"{round(row['rho'], 2) + 0.0:.2f}"
        row["text"] = f"{row['second']} and {row['first']}: {shown(row, 'rho', RATIO)}, {row['models']} models"
    # Each pair once: the triangle below the diagonal.
    columns, lines = unique(rows, "first"), unique(rows, "second")
    return heatmap(rows, "rho", ("first", columns), ("second", lines), middle=0, reach=1)


def condition_differences(
    table: ScoreTable, differences: pl.DataFrame, *, condition: str | None = None, reference: str | None = None
) -> "Chart":
    """Draw how far each metric of each model differs between two conditions.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    differences : polars.DataFrame
        What `attune_bench.analyses.condition_differences` gives.
    condition, reference : str, optional
        The two conditions; by default the frame's only ones.

    Returns
    -------
    altair.LayerChart
        Cells print the difference as the metric is reported; the colour is its share of the metric's range, of an
        unbounded metric of its largest value.

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.analyses import condition_differences as differences_of
    >>> from attune_data import load, load_runs
    >>> runs = load_runs("demo")
    >>> again = [run.model_copy(update={"mode": "verbose"}) for run in runs]
    >>> given = score(load("demo"), [*runs, *again])
    >>> found = differences_of(given, metrics=["composite_score"], resamples=200)
    >>> type(condition_differences(given, found)).__name__
    'LayerChart'
    """
    if reference is not None and "reference" in differences.columns:
        differences = differences.filter(reference=reference)
    rows = rows_of(differences, "difference", condition=condition)
    references = unique(rows, "reference")
    if len(references) > 1:
        raise ValueError(f"the references are {', '.join(map(repr, references))}; choose one with reference=...")
    places = labels(table, unique(rows, "metric"))
    widths = {name: _width(table.metrics[name], rows) for name in places}
    for row in rows:
        of = table.metrics[row["metric"]]
        row["share"] = row["difference"] / widths[row["metric"]]
        row["place"] = places[row["metric"]]
        row["shown"] = number(row["difference"], of, signed=True)
        row["text"] = (
            f"{row['model']}, {row['place']}: {shown(row, 'difference', of, signed=True)}, "
            f"Holm p {p_value(row['p_holm'])}, {sizes(table, row)}"
        )
    rows = named(rows, "model")
    reach = max(abs(row["share"]) for row in rows) or 1
    axes = ("model", sorted(unique(rows, "model"))), ("place", unique(rows, "place"))
    return heatmap(rows, "share", *axes, middle=0, reach=reach)


def _width(metric: Metric, rows: Rows) -> float:
    """Return what a difference of a metric is measured by: its range, or its largest value where it is unbounded."""
    if metric.high - metric.low < float("inf"):
        return metric.high - metric.low
    own = [abs(row[key]) for row in rows if row["metric"] == metric.name for key in ("value", "value_reference")]
    return max(own) or 1
