"""How pages draw scores: a function each, from the frame of an analysis to an altair chart.

`attune_bench.figures` has them for scores alone. `attune_bench.report.drawing` says what they have in common.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from attune_bench.report.columns import RANDOM_ANSWERS, label, number
from attune_bench.report.drawing import (
    MUTED,
    ORANGE,
    SKY,
    STEP,
    WIDTH,
    altair,
    axis,
    best_first,
    data,
    estimates,
    hover,
    labels,
    line,
    metric_in,
    named,
    names,
    rows_of,
    save,
    scaled,
    shown,
    sizes,
    styled,
    unique,
)
from attune_bench.report.heatmaps import condition_differences, metric_correlation, profiled, profiles, win_rates
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.summary import chance_under
from attune_data.text import printable

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

__all__ = [
    "condition_differences",
    "metric_correlation",
    "profile",
    "profiled",
    "profiles",
    "ranks",
    "save",
    "scores",
    "unit_difficulty",
    "win_rates",
]


def scores(
    table: ScoreTable,
    summary: pl.DataFrame,
    metric: str | None = None,
    *,
    condition: str | None = None,
    levels: Mapping[str, float] | None = None,
) -> "Chart":
    """Draw a metric of every model with its interval, the best on top, and what random answers score where it is known.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    summary : polars.DataFrame
        What `attune_bench.stats.summary.summary` gives of them.
    metric : str, optional
        One of its metrics; by default its only one, or the primary one.
    condition : str, optional
        One of its conditions; needed where it has several.
    levels : mapping of str to float, optional
        Name to value of further lines across all models, such as what people score.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError
        Where the frame has no value of the metric, or not under the condition.
    ImportError
        Where the extra ``plots`` is not installed.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> found = given.summary(metrics=["avg_pairwise_accuracy"], resamples=200)
    >>> type(scores(given, found, levels={"people": 0.722})).__name__
    'LayerChart'
    """
    of = metric_in(table, summary, metric)
    rows = best_first(rows_of(summary, "value", condition=condition, metric=of.name), "value", of)
    for row in rows:
        row["text"] = f"{row['model']}: {shown(row, 'value', of)}, {sizes(table, row)}"
    rows = scaled(named(table, rows, "model"), of, "value", "low", "high")
    layers = estimates(rows, axis("X", "value", label(of)), names("model", unique(rows, "model")))
    expected = _chance(table, summary, condition)
    drawn = {RANDOM_ANSWERS: expected[of.name]} if of.name in expected else {}
    drawn.update(levels or {})
    layers[:0] = [line(level * of.scale, name) for name, level in drawn.items()]
    return styled(altair().layer(*layers).properties(width=WIDTH, height=STEP * len(rows)))


def _chance(table: ScoreTable, summary: pl.DataFrame, condition: str | None) -> dict[str, float]:
    """Return what random answers score under the condition that is drawn, by metric."""
    return chance_under(table, summary["condition"][0] if condition is None else condition)


def ranks(
    table: ScoreTable, ranking: pl.DataFrame, metric: str | None = None, *, condition: str | None = None
) -> "Chart":
    """Draw the rank of every model with its interval, the best on top.

    Parameters
    ----------
    table, metric, condition
        As for `scores`.
    ranking : polars.DataFrame
        What `attune_bench.stats.rank.rank` gives.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> type(ranks(given, given.rank(resamples=200))).__name__
    'LayerChart'
    """
    alt = altair()
    of = metric_in(table, ranking, metric)
    rows = rows_of(ranking, "rank", condition=condition, metric=of.name)
    for row in rows:
        ends = "" if row["low"] is None else f" [{row['low']:g}, {row['high']:g}]"
        row["text"] = f"{row['model']}: rank {row['rank']:g}{ends}, {number(row['value'], of)}, {sizes(table, row)}"
    rows = named(table, rows, "model")
    last = max(len(rows), *(row["high"] or 1 for row in rows))
    whole = list(range(1, int(last) + 1))
    x = alt.X(
        "rank:Q",
        title=f"rank by {printable(label(of))}",
        scale=alt.Scale(domain=[0.5, last + 0.5], nice=False),
        axis=alt.Axis(values=whole, format="d", labelOverlap="greedy", grid=len(whole) <= 30),
    )
    layers = estimates(rows, x, names("model", unique(rows, "model")))
    return styled(alt.layer(*layers).properties(width=min(60 * len(whole), WIDTH), height=STEP * len(rows)))


def profile(
    table: ScoreTable,
    summary: pl.DataFrame,
    model: str,
    *,
    metrics: Sequence[str] | None = None,
    condition: str | None = None,
) -> "Chart":
    """Draw the metrics from 0 to 1 of one model, with the other models as ticks and random answers as crosses.

    Parameters
    ----------
    table, summary, condition
        As for `scores`.
    model : str
        One of its models.
    metrics : sequence of str, optional
        Which, from the top; by default those of `profiled` from 0 to 1, which one axis can show.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> chosen = ["avg_emotion_f1", "avg_pairwise_accuracy"]
    >>> found = given.summary(metrics=chosen, resamples=200)
    >>> type(profile(given, found, "synthetic/hasty", metrics=chosen)).__name__
    'LayerChart'
    """
    alt = altair()
    chosen = profiled(table, one_axis=True) if metrics is None else metrics
    places = labels(table, chosen)
    rows = [row for row in rows_of(summary, "value", condition=condition) if row["metric"] in places]
    for row in rows:
        row["place"] = places[row["metric"]]
        of = table.metrics[row["metric"]]
        row["text"] = f"{row['model']}, {row['place']}: {shown(row, 'value', of)}, {sizes(table, row)}"
    own = [row for row in rows if row["model"] == printable(model)]
    if not own:
        raise ValueError(f"nothing to draw: no score of model {model!r} among {', '.join(chosen)}")
    present = {row["place"] for row in own}
    x = axis("X", "value", "score", domain=(0, 1))
    y = names("place", [place for place in places.values() if place in present])
    # Columns that are not drawn would be copied for every layer of every model.
    others = [
        {key: row[key] for key in ("value", "place", "text")}
        for row in rows
        if row["model"] != printable(model) and row["place"] in present
    ]
    ticks = alt.Chart(data(others)).mark_tick(color=MUTED, thickness=1.5, height=12).encode(x, y, **hover())
    expected = _chance(table, summary, condition)
    random = [
        {
            "value": level,
            "place": places[name],
            "text": f"{RANDOM_ANSWERS}, {places[name]}: {number(level, table.metrics[name])}",
        }
        for name, level in expected.items()
        if places.get(name) in present
    ]
    crosses = alt.Chart(data(random)).mark_point(shape="cross", filled=True, color=ORANGE, size=60, opacity=1)
    layers = [
        *([ticks] if others else []),
        *([crosses.encode(x, y, **hover())] if random else []),
        *estimates(own, x, y),
    ]
    return styled(alt.layer(*layers).properties(width=300, height=22 * len(present)))


def unit_difficulty(
    table: ScoreTable, difficulty: pl.DataFrame, metric: str | None = None, *, condition: str | None = None
) -> "Chart":
    """Draw, a point for each unit, the mean of the models on it and how far they differ; units are not named.

    Parameters
    ----------
    table, metric, condition
        As for `scores`.
    difficulty : polars.DataFrame
        What `attune_bench.analyses.unit_difficulty` gives.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.analyses import unit_difficulty as difficulty_of
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> type(unit_difficulty(given, difficulty_of(given))).__name__
    'LayerChart'
    """
    alt = altair()
    of = metric_in(table, difficulty, metric)
    rows = rows_of(difficulty.drop("unit", strict=False), "sd", condition=condition, metric=of.name)
    for row in rows:
        row["text"] = f"mean {number(row['mean'], of)}, SD {number(row['sd'], of)}, {row['models']} models"
    points = alt.Chart(data(scaled(rows, of, "mean", "sd"))).mark_point(color=SKY, size=45, strokeWidth=1.5)
    x, y = axis("X", "mean", f"{label(of)}: mean of models"), axis("Y", "sd", "SD of models")
    return styled(alt.layer(points.encode(x, y, **hover())).properties(width=WIDTH, height=260))
