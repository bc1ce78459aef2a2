"""Heat maps of any scores: models against models, metrics against metrics, metrics against models.

`attune_bench.report.figures` names them beside the other figures.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from attune_bench.report.columns import RANDOM_ANSWERS, number, p_value
from attune_bench.report.drawing import (
    RATIO,
    Cells,
    Rows,
    heatmap,
    labels,
    metric_in,
    numbered,
    rows_of,
    shown,
    sizes,
    unique,
)
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import ALPHA
from attune_bench.stats.summary import chance_of_units
from attune_metrics.metric import Metric
from attune_metrics.stats.bootstrap import STATISTICS

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

__all__ = [
    "Numbers",
    "condition_cells",
    "condition_differences",
    "correlation_cells",
    "metric_correlation",
    "profile_cells",
    "profiled",
    "profiles",
    "subgroup_cells",
    "win_rate_cells",
    "win_rates",
]

Numbers: TypeAlias = Mapping[tuple[str, str | None], int]


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
    return heatmap(win_rate_cells(table, rates, metric, condition=condition))


def win_rate_cells(
    table: ScoreTable,
    rates: pl.DataFrame,
    metric: str | None = None,
    *,
    condition: str | None = None,
    numbers: Numbers | None = None,
) -> Cells:
    """Return what `win_rates` draws; `numbers` is as for `attune_bench.report.drawing.numbered`."""
    rows = rows_of(rates, "rate", condition=condition, metric=metric_in(table, rates, metric).name)
    for row in rows:
        row["shown"] = f"{row['rate']:.2f}"
        against = f"{row['model_a']} against {row['model_b']}"
        row["text"] = f"{against}: {shown(row, 'rate', RATIO)}, {sizes(table, row)}"
    models = numbered(table, rows, "model_a", "model_b", numbers=numbers)
    return Cells(
        rows=rows, value="rate", x=("model_b", [*models]), y=("model_a", [*models]), middle=0.5, reach=0.5,
        numbers=models,
    )  # fmt: skip


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
    return heatmap(correlation_cells(table, correlations, condition=condition))


def correlation_cells(table: ScoreTable, correlations: pl.DataFrame, *, condition: str | None = None) -> Cells:
    """Return what `metric_correlation` draws."""
    rows = rows_of(correlations, "rho", condition=condition)
    places = labels(table, dict.fromkeys([*unique(rows, "metric_a"), *unique(rows, "metric_b")]))
    for row in rows:
        row["first"], row["second"] = places[row["metric_a"]], places[row["metric_b"]]
        row["shown"] = f"{round(row['rho'], 2) + 0.0:.2f}"
        row["text"] = f"{row['second']} and {row['first']}: {shown(row, 'rho', RATIO)}, {row['models']} models"
    # Each pair once: the triangle below the diagonal.
    columns, lines = unique(rows, "first"), unique(rows, "second")
    return Cells(rows=rows, value="rho", x=("first", columns), y=("second", lines), middle=0, reach=1)


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
    return heatmap(condition_cells(table, differences, condition=condition, reference=reference))


def condition_cells(
    table: ScoreTable,
    differences: pl.DataFrame,
    *,
    condition: str | None = None,
    reference: str | None = None,
    numbers: Numbers | None = None,
) -> Cells:
    """Return what `condition_differences` draws; `numbers` is as for `attune_bench.report.drawing.numbered`."""
    if reference is not None and "reference" in differences.columns:
        known = differences["reference"].unique(maintain_order=True).to_list()
        if reference not in known:
            raise ValueError(f"nothing is set against {reference!r}; expected one of {', '.join(map(repr, known))}")
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
    reach = max(abs(row["share"]) for row in rows) or 1
    models = numbered(table, rows, "model", numbers=numbers)
    return Cells(
        rows=rows, value="share", x=("model", [*models]), y=("place", unique(rows, "place")), middle=0, reach=reach,
        numbers=models,
    )  # fmt: skip


def _width(metric: Metric, rows: Rows) -> float:
    """Return what a difference of a metric is measured by: its range, or its largest value where it is unbounded."""
    if metric.high - metric.low < float("inf"):
        return metric.high - metric.low
    own = [abs(row[key]) for row in rows if row["metric"] == metric.name for key in ("value", "value_reference")]
    return max(own) or 1


def profiles(
    table: ScoreTable,
    summary: pl.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    condition: str | None = None,
) -> "Chart":
    """Draw the metrics of a finite range against the models, and random answers beside them.

    Parameters
    ----------
    table, condition
        As for `attune_bench.report.figures.scores`.
    summary : polars.DataFrame
        What `attune_bench.stats.summary.summary` gives.
    metrics : sequence of str, optional
        Which, from the top; by default `profiled`.

    Returns
    -------
    altair.LayerChart
        Cells print the value; the colour says by which part of the metric's range it is better or worse than the median
        of the models, of one model than random answers. A metric without a better direction has no colour.

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> chosen = ["avg_emotion_f1", "avg_pairwise_accuracy"]
    >>> type(profiles(given, given.summary(metrics=chosen, resamples=200), metrics=chosen)).__name__
    'LayerChart'
    """
    return heatmap(profile_cells(table, summary, metrics=metrics, condition=condition))


def profile_cells(
    table: ScoreTable,
    summary: pl.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    condition: str | None = None,
    numbers: Numbers | None = None,
    chance: pl.DataFrame | None = None,
) -> Cells:
    """Return what `profiles` draws; `numbers` is as for `attune_bench.report.drawing.numbered`.

    `chance` is what `attune_bench.stats.summary.chance_of_units` gives, without what must not be shown; by default all.
    """
    places = labels(table, profiled(table) if metrics is None else metrics)
    rows = [row for row in rows_of(summary, "value", condition=condition) if row["metric"] in places]
    if not rows:
        raise ValueError(f"nothing to draw: no value of {', '.join(places)}")
    known = (chance_of_units(table) if chance is None else chance).drop_nulls("chance")
    own_condition = summary["condition"][0] if condition is None else condition
    known = known.filter(pl.col("condition").eq_missing(pl.lit(own_condition)))
    expected = dict(known.select("metric", "chance").iter_rows())
    models = numbered(table, rows, "model", numbers=numbers)
    random = []
    several = len({row["model"] for row in rows}) > 1
    for name, place in places.items():
        own = [row for row in rows if row["metric"] == name]
        of = table.metrics[name]
        middle = median(row["value"] for row in own) if own and several else expected.get(name)
        if of.higher_is_better is None:
            middle = None
        for row in own:
            row["place"], row["shown"] = place, number(row["value"], of)
            row["share"] = None if middle is None else of.sign * (row["value"] - middle) / (of.high - of.low)
            row["text"] = f"{row['model']}, {place}: {shown(row, 'value', of)}, {sizes(table, row)}"
        if own and name in expected:
            said = number(expected[name], of)
            random.append(
                {
                    "model": _RANDOM,
                    "place": place,
                    "shown": said,
                    "share": None,
                    "text": f"{RANDOM_ANSWERS}, {place}: {said}",
                }
            )
    reach = max((abs(row["share"]) for row in rows if row["share"] is not None), default=0)
    present = unique(rows, "metric")
    return Cells(
        rows=[*rows, *random], value="share", x=("model", [*models, *([_RANDOM] if random else [])]),
        y=("place", [place for name, place in places.items() if name in present]), middle=0, reach=max(reach, 0.1),
        numbers=models,
    )  # fmt: skip


_RANDOM = "random answers"


def profiled(table: ScoreTable, *, one_axis: bool = False) -> tuple[str, ...]:
    """Return the metrics of which a value is a part of a range: those of a finite range that reports list.

    With `one_axis`, only those from 0 to 1: one axis can show them.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> rows = {"model": ["m"] * 2, "unit": ["u"] * 2, "metric": ["hit", "error"], "value": [1.0, 3.0]}
    >>> profiled(Scores.from_table(pl.DataFrame(rows), metrics={"hit": {"low": 0, "high": 1}, "error": {"low": 0}}))
    ('hit',)
    """
    grouped = any(metric.group for metric in table.metrics.values())
    return tuple(
        name
        for name, metric in table.metrics.items()
        if isfinite(metric.high - metric.low)
        and metric.statistic in STATISTICS
        and (metric.group or not grouped)
        and (not one_axis or (metric.low, metric.high, metric.scale) == (0, 1, 1))
    )


def subgroup_cells(
    table: ScoreTable, strata: pl.DataFrame, *, condition: str | None = None, numbers: Numbers | None = None
) -> Cells:
    """Return the strata of a trait against the models, side by side.

    Parameters
    ----------
    table, condition
        As for `attune_bench.report.figures.scores`.
    strata : polars.DataFrame
        Of one metric, with differences, as from `attune_bench.stats.subgroups.subgroups`.
    numbers : mapping, optional
        As for `attune_bench.report.drawing.numbered`.
    """
    rows = rows_of(strata, "value", condition=condition)
    of = table.metrics[rows[0]["metric"]]
    sign = of.sign
    for row in rows:
        apart = row["p_holm"] is not None and row["p_holm"] < ALPHA
        row["shown"] = f"{number(row['value'], of)}{'*' if apart else ''}"
        row["better"] = None if row["difference"] is None else sign * row["difference"]
        against = "" if row["difference"] is None else (
            f"; minus the others {number(row['difference'], of, signed=True)}, Holm p {p_value(row['p_holm'])}"
        )  # fmt: skip
        row["text"] = f"{row['model']}, {row['stratum']}: {shown(row, 'value', of)}, {sizes(table, row)}{against}"
    models = numbered(table, rows, "model", numbers=numbers)
    reach = max((abs(row["better"]) for row in rows if row["better"] is not None), default=0) or 1
    return Cells(
        rows=rows, value="better", x=("model", [*models]), y=("stratum", unique(rows, "stratum")), middle=0,
        reach=reach, numbers=models,
    )  # fmt: skip
