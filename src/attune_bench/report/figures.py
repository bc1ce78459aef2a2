"""Figures of scores: a function each, from `attune_bench.Scores` to an altair chart that can be changed further.

Each does the analysis that it draws, with the options of that analysis: ``resamples``, ``seed``, ``level``, ``unit``,
``weight`` and ``interval``, as `attune_bench.stats.options.AnalysisOptions` says; or it draws a ``frame`` that the
analysis gave before. A figure shows one condition; where the scores have several, ``condition`` names it. `save` writes
a figure to a file.

Pages draw heat maps as tables, from the functions that give `attune_bench.report.drawing.Cells`.

Examples
--------
>>> from attune_bench import figures, score
>>> from attune_data import load, load_runs
>>> given = score(load("demo"), load_runs("demo"))
>>> type(figures.ranks(given, "avg_emotion_f1", resamples=200)).__name__
'LayerChart'
>>> type(figures.ranks(given, frame=given.rank(resamples=200))).__name__
'LayerChart'
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
from typing_extensions import Unpack

from attune_bench import analyses
from attune_bench.analyses.separation import TARGET
from attune_bench.report import drawing
from attune_bench.report.columns import OVERLAP, RANDOM_ANSWERS, any_overlap, interval, label, number, profiled, row_p
from attune_bench.report.drawing import Cells, Rows
from attune_bench.report.plots import Axis, Look, Mark, PlotRow, PointPlot, RowPlot, axis_of, looks, whole_axis
from attune_bench.report.privacy import hide_small_cells
from attune_bench.scores.columns import Analysis
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import ALPHA, AnalysisKeywords, AnalysisOptions, SamplingKeywords
from attune_bench.stats.rank import rank
from attune_bench.stats.summary import chance_of_units, summary
from attune_data.io.documents import write_whole
from attune_data.record import Record
from attune_data.references import require, resolve
from attune_data.text import did_you_mean, plural, pluralize, sanitize, wrapped
from attune_metrics.metric import Metric, MetricInputError

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

Numbers: TypeAlias = Mapping[tuple[str, str | None], int]


def scores(
    scores: ScoreTable,
    metric: str | None = None,
    *,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    levels: Mapping[str, float] | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw a metric of every model with its interval, the best on top, and what random answers score where it is known.

    Parameters
    ----------
    scores : Scores
        The scores.
    metric : str, optional
        One of their metrics; by default the primary one, or the only one of the frame.
    frame : polars.DataFrame, optional
        What the analysis that is drawn gave of these scores: `attune_bench.Scores.summary`. By default it is done anew,
        with the options.
    condition : str, optional
        One of their conditions; needed where they have several.
    levels : mapping of str to float, optional
        Name to value of further lines across all models, such as what people score.
    **options
        Options of the analysis.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    TypeError
        Where `scores` are not Scores, or a frame and options are given.
    MetricInputError
        Where they have no such metric, or an option is unknown or out of range.
    ValueError
        Where there is nothing to draw, no such condition, or the frame is of another analysis.
    ImportError
        Where the extra ``plots`` is not installed.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> type(given.plot("avg_pairwise_accuracy", levels={"people": 0.722}, resamples=200)).__name__
    'LayerChart'
    """
    of, found = _of_metric(summary, scores, metric, frame, options)
    plot = score_plot(scores, found, of.name, condition=condition, levels=levels)
    x = drawing.axis("X", "at", _with_interval(label(of), plot, frame, options))
    return _row_chart(plot, x, note="" if of.own_scale else _overlap_note(scores, plot))


_ENDS = ("value", "low", "high")


def score_plot(
    table: ScoreTable,
    found: pl.DataFrame,
    metric: str,
    *,
    condition: str | None = None,
    levels: Mapping[str, float] | None = None,
) -> RowPlot:
    """Return what `scores` draws of the frame of `attune_bench.Scores.summary`."""
    of = table.metric(metric)
    rows = drawing.best_first(drawing.rows_of(found, "value", condition=condition, metric=of.name), "value", of)
    for row in rows:
        row["text"] = f"{row['model']}: {drawing.shown(row, 'value', of)}, {drawing.sizes(table, row)}"
    expected = _chance(table, found, condition)
    lines = {**({RANDOM_ANSWERS: expected[of.name]} if of.name in expected else {}), **(levels or {})}
    axis = axis_of([*(row[end] for row in rows for end in _ENDS), *lines.values()], of, label(of))
    models = drawing.numbered(table, rows, "model")
    rows = drawing.scaled(rows, of, *_ENDS)
    lines = {name: level * of.scale for name, level in lines.items()}
    drawn = [PlotRow(name=row["model"], marks=[[estimate(row, "value")]]) for row in rows]
    return RowPlot(rows=drawn, axes=[axis], lines=lines, numbers=models)


def _overlap_note(table: ScoreTable, plot: RowPlot) -> str:
    """Return that models can differ although their intervals overlap; nothing where no intervals do."""
    overlaps = any_overlap((mark.low, mark.high) for row in plot.rows for mark in row.marks[0])
    return OVERLAP.format(pluralize(table.provenance.unit)) if overlaps and table.units.height > 1 else ""


def _row_chart(
    plot: RowPlot, x: Any, *, width: int = drawing.WIDTH, step: int = drawing.STEP, note: str = ""
) -> "Chart":
    """Return rows of marks on one axis as a chart: broken lines, ticks, crosses, values with their intervals.

    The `note` stands below the axis.
    """
    alt = drawing.altair()
    chart = _row_layers(plot, x, names=True).properties(width=width, height=step * len(plot.rows))
    if note:
        lines = wrapped(sanitize(note), _NOTE_WIDTH)
        given = {"fontSize": 12, "fontWeight": "normal", "color": drawing.MUTED, "offset": 10}
        chart = chart.properties(title=alt.TitleParams(lines, orient="bottom", anchor="start", frame="bounds", **given))
    return drawing.styled(chart)


def _row_layers(plot: RowPlot, x: Any, *, names: bool) -> Any:
    """Return the layers of rows of marks on one axis, with the names of rows or without."""
    alt = drawing.altair()
    order = [row.name for row in plot.rows]
    short = drawing.short_names(order, numbers=plot.numbers) if plot.numbers else {name: name for name in order}
    rows: dict[str, Rows] = {"tick": [], "cross": [], "circle": []}
    for row in plot.rows:
        for mark in row.marks[0]:
            at = {"at": mark.at, "low": mark.low, "high": mark.high, "text": mark.text}
            rows[mark.shape].append({"name": short[row.name], **at})
    y, bars = drawing.names("name", [*short.values()]), [row for row in rows["circle"] if row["low"] is not None]
    y = y if names else y.axis(None)
    kinds = (
        (rows["tick"], {"type": "tick", "color": drawing.MUTED, "thickness": 1.5, "height": 12}, [x]),
        (rows["cross"], {"type": "point", "shape": "cross", "color": drawing.ORANGE, "size": 60, **_SOLID}, [x]),
        (bars, {"type": "rule", "color": drawing.SKY, "strokeWidth": 2}, [alt.X("low:Q"), alt.X2("high:Q")]),
        (rows["circle"], {"type": "point", "color": drawing.SKY, "size": 80, **_SOLID}, [x]),
    )
    layers = [drawing.line(value, name) for name, value in plot.lines.items()]
    layers += [
        alt.Chart(drawing.data(found), mark=alt.MarkDef(**mark)).encode(*places, y, **drawing.hover())
        for found, mark, places in kinds
        if found
    ]
    return alt.layer(*layers)


_NOTE_WIDTH = 60
"""Letters in a line of a note."""

_SOLID = {"filled": True, "opacity": 1}


def _with_interval(title: str, plot: RowPlot, frame: pl.DataFrame | None, options: SamplingKeywords) -> str:
    """Return the title of an axis with what the bars are, if any row has one; a frame does not tell their level."""
    if all(mark.low is None for row in plot.rows for mark in row.marks[0]):
        return title
    level = "" if frame is not None else f"{100 * AnalysisOptions(**options).level:g}% "
    return f"{title}, {level}interval"


def estimate(row: Mapping[str, Any], key: str, look: Look = ("circle", drawing.SKY, False)) -> Mark:
    """Return the mark of a value of a model, and of its interval."""
    shape, colour, hollow = look
    return Mark(
        at=row[key], low=row["low"], high=row["high"], text=row["text"], model=row["model"], shape=shape,
        colour=colour, is_hollow=hollow,
    )  # fmt: skip


def _of_metric(
    analysis: Callable[..., pl.DataFrame],
    scores: ScoreTable,
    metric: str | None,
    frame: pl.DataFrame | None,
    options: Mapping[str, Any],
) -> tuple[Metric, pl.DataFrame]:
    """Return the metric that is drawn, and the frame of the analysis; see `_found`."""
    _check(scores)
    name = metric
    if name is None and frame is not None:
        if "metric" not in frame.columns:
            raise ValueError("the frame has no column 'metric': is it of the analysis that this figure draws?")
        known = frame["metric"].unique(maintain_order=True).to_list()
        if len(known) > 1 and scores.primary not in known:
            raise ValueError(f"the frame has the metrics {', '.join(known)}; choose one with metric=...")
        name = known[0] if len(known) == 1 else None
    of = scores.metric(scores.primary if name is None else name)
    return of, _found(analysis, scores, frame, options, metrics=[of.name])


def _found(
    analysis: Callable[..., pl.DataFrame],
    scores: ScoreTable,
    frame: pl.DataFrame | None,
    options: Mapping[str, Any],
    **given: Any,
) -> pl.DataFrame:
    """Return the frame if there is one, else what the analysis gives."""
    _check(scores)
    if frame is None:
        return analysis(scores, **given, **options)
    if options:
        raise TypeError(f"the frame was made with options of its own; leave out {', '.join(options)}, or the frame")
    return frame


def _check(scores: object) -> None:
    """Raise a TypeError unless these are scores; before anything is computed, an ImportError without the extra."""
    if not isinstance(scores, ScoreTable):
        made = "score(data, results) makes Scores"
        if isinstance(scores, pl.DataFrame):
            made = "Scores.from_table(frame) makes Scores of a table of results; figures do each analysis themselves"
        elif isinstance(scores, str | os.PathLike):
            made = "Scores.read(path) reads Scores"
        raise TypeError(f"figures draw Scores, not {type(scores).__name__}: {made}")
    drawing.altair()


def _chance(
    table: ScoreTable, summary: pl.DataFrame, condition: str | None, chance: pl.DataFrame | None = None
) -> dict[str, float]:
    """Return what random answers score under the condition that is drawn, by metric; from a frame that knows it."""
    known = (chance_of_units(table) if chance is None else chance).drop_nulls("chance")
    own = summary["condition"][0] if condition is None else condition
    return dict(known.filter(pl.col("condition").eq_missing(pl.lit(own))).select("metric", "chance").iter_rows())


def ranks(
    scores: ScoreTable,
    metric: str | None = None,
    *,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw the rank of every model with its interval, the best on top.

    Parameters, results and errors as for `scores`; the analysis is `attune_bench.Scores.rank`.
    """
    of, found = _of_metric(rank, scores, metric, frame, options)
    alt = drawing.altair()
    plot = rank_plot(scores, found, of.name, condition=condition)
    last = max(len(plot.rows), *(mark.high or 1 for row in plot.rows for mark in row.marks[0]))
    whole = list(range(1, int(last) + 1))
    x = alt.X(
        "at:Q",
        title=sanitize(_with_interval(f"rank by {label(of)}", plot, frame, options)),
        scale=alt.Scale(domain=[0.5, last + 0.5], nice=False),
        axis=alt.Axis(values=whole, format="d", labelOverlap="greedy", grid=len(whole) <= 30),
    )
    note = _overlap_note(scores, plot)
    return _row_chart(plot, x, width=min(60 * len(whole), drawing.WIDTH), note=note)


def rank_plot(table: ScoreTable, found: pl.DataFrame, metric: str, *, condition: str | None = None) -> RowPlot:
    """Return what `ranks` draws of the frame of `attune_bench.Scores.rank`."""
    of = table.metric(metric)
    rows = drawing.rows_of(found, "rank", condition=condition, metric=of.name)
    for row in rows:
        ends = "" if row["low"] is None else f" [{row['low']:g}, {row['high']:g}]"
        row["text"] = (
            f"{row['model']}: rank {row['rank']:g}{ends}, {number(row['value'], of)}, {drawing.sizes(table, row)}"
        )
    last = max(len(rows), *(int(row["high"] or 1) for row in rows))
    axis = whole_axis(1, last, f"rank by {label(of)}")
    numbers = drawing.numbered(table, rows, "model")
    drawn = [PlotRow(name=row["model"], marks=[[estimate(row, "rank")]]) for row in rows]
    return RowPlot(rows=drawn, axes=[axis], numbers=numbers)


def profile(
    scores: ScoreTable,
    model: str,
    *,
    metrics: Sequence[str] | None = None,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw the metrics from 0 to 1 of one model, with the other models as ticks and random answers as crosses.

    Parameters, results and errors as for `scores`; besides, `model`, the name of the model, and `metrics`, from the
    top, by default every metric with the range 0 to 1.
    """
    _check(scores)
    if model not in scores.models:
        raise ValueError(f"no scores of model {model!r}; {did_you_mean(model, scores.models)}")
    chosen = profiled(scores, one_axis=True) if metrics is None else metrics
    if not chosen:
        raise ValueError(_no_profile(scores, "from 0 to 1"))
    found = _found(summary, scores, frame, options, metrics=chosen)
    rows = []
    for _, place, models, random in _profiled_rows(scores, found, chosen, condition):
        others = [row for row in models if row["model"] != sanitize(model)]
        marks = [Mark(at=row["value"], text=row["text"], shape="tick") for row in others]
        marks += [Mark(at=row["value"], text=row["text"], shape="cross") for row in random]
        if len(others) < len(models):
            [own] = (row for row in models if row["model"] == sanitize(model))
            rows.append(PlotRow(name=place, marks=[[*marks, estimate(own, "value")]]))
    if not rows:
        under = "" if condition is None else f" under {condition!r}"
        raise ValueError(f"nothing to draw: model {model!r} has no value{under} of {', '.join(chosen)}")
    plot = RowPlot(rows=rows, axes=[])
    x = drawing.axis("X", "at", _with_interval("score", plot, frame, options), domain=(0, 1))
    return _row_chart(plot, x, step=22)


def _profiled_rows(
    table: ScoreTable,
    summary: pl.DataFrame,
    metrics: Sequence[str],
    condition: str | None,
    chance: pl.DataFrame | None = None,
) -> Iterator[tuple[Metric, str, Rows, Rows]]:
    """Yield the metrics with a value: each with its label, the rows of models, and the row of random answers if any."""
    known, expected = drawing.rows_of(summary, "value", condition=condition), _chance(table, summary, condition, chance)
    for name, place in drawing.labels(table, metrics).items():
        of, rows = table.metrics[name], [row for row in known if row["metric"] == name]
        for row in rows:
            shown = drawing.shown(row, "value", of)
            row |= {"place": place, "shown": number(row["value"], of), "numbers": shown}
            row["text"] = f"{row['model']}, {place}: {shown}, {drawing.sizes(table, row)}"
        random = {"model": _RANDOM, "place": place, "value": expected.get(name)}
        if name in expected:
            random["shown"] = number(expected[name], of)
            random["text"] = f"{RANDOM_ANSWERS}, {place}: {random['shown']}"
        if rows:
            yield of, place, rows, [random] if name in expected else []


def _no_profile(scores: ScoreTable, drawn: str) -> str:
    """Say that no metric is described as one of those that are drawn, and how to describe one."""
    name = scores.primary
    said = f"a profile draws metrics {drawn}, and none is described as such"
    if scores.provenance.benchmark is not None:
        return f"{said}; name some with metrics=[...]"
    return (
        f"{said}; write low = 0 and high = 1 below [metrics.{name}] in the TOML file beside the table, or give "
        f"Scores.from_table(table, metrics={{{name!r}: {{'low': 0, 'high': 1}}}})"
    )


def unit_difficulty(
    scores: ScoreTable, metric: str | None = None, *, frame: pl.DataFrame | None = None, condition: str | None = None
) -> "Chart":
    """Draw, a point for each unit, the mean of the models on it and how far they differ; units are not named.

    Parameters, results and errors as for `scores`; the analysis is `attune_bench.analyses.unit_difficulty`, and
    nothing is drawn at random.
    """
    of, found = _of_metric(analyses.unit_difficulty, scores, metric, frame, {})
    alt = drawing.altair()
    rows = _difficulty_rows(found, of, condition)
    points = alt.Chart(drawing.data(rows)).mark_point(color=drawing.SKY, size=45, strokeWidth=1.5)
    x, y = drawing.axis("X", "mean", f"{label(of)}: mean of models"), drawing.axis("Y", "sd", "SD of models")
    return drawing.styled(alt.layer(points.encode(x, y, **drawing.hover())).properties(width=drawing.WIDTH, height=260))


def _difficulty_rows(found: pl.DataFrame, of: Metric, condition: str | None) -> Rows:
    """Return the units, which are not named, with what a mark says of each."""
    rows = drawing.rows_of(found.drop("unit", strict=False), "sd", condition=condition, metric=of.name)
    for row in rows:
        row["text"] = f"mean {number(row['mean'], of)}, SD {number(row['sd'], of)}, {row['models']} models"
    return drawing.scaled(rows, of, "mean", "sd")


def difficulty_plot(table: ScoreTable, found: pl.DataFrame, metric: str) -> PointPlot:
    """Return what `unit_difficulty` draws, for a page: `found` has one condition of that analysis."""
    of = table.metric(metric)
    rows = _difficulty_rows(found, of, None)
    spread = Metric(name="sd", label="sd", low=0)
    return PointPlot(
        points=[(row["mean"], row["sd"], row["text"]) for row in rows],
        x=axis_of([row["mean"] / of.scale for row in rows], of, f"{label(of)}: mean of models"),
        y=axis_of([0, *(row["sd"] for row in rows)], spread, "SD of models"),
    )


def win_rates(
    scores: ScoreTable,
    metric: str | None = None,
    *,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw the share of units on which the model of the row scores better than the model of the column.

    Parameters, results and errors as for `scores`; the analysis is `attune_bench.analyses.win_rates`.
    """
    of, found = _of_metric(analyses.win_rates, scores, metric, frame, options)
    return drawing.heatmap(win_rate_cells(scores, found, of.name, condition=condition))


def win_rate_cells(
    table: ScoreTable,
    rates: pl.DataFrame,
    metric: str,
    *,
    condition: str | None = None,
    numbers: Numbers | None = None,
) -> Cells:
    """Return what `win_rates` draws; `numbers` is as for `attune_bench.report.drawing.numbered`."""
    rows = drawing.rows_of(rates, "rate", condition=condition, metric=metric)
    for row in rows:
        row["shown"] = f"{row['rate']:.2f}"
        against = f"{row['model_a']} against {row['model_b']}"
        row["numbers"] = drawing.shown(row, "rate", drawing.RATIO)
        row["text"] = f"{against}: {row['numbers']}, {drawing.sizes(table, row)}"
    models = drawing.numbered(table, rows, "model_a", "model_b", numbers=numbers)
    return Cells(
        rows=rows, value="rate", x=("model_b", [*models]), y=("model_a", [*models]), middle=0.5, reach=0.5,
        numbers=models,
    )  # fmt: skip


def cost_front(
    scores: ScoreTable,
    metric: str | None = None,
    *,
    results: Iterable[Record] = (),
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw cost and score of every model with their intervals; filled where no other is as good at the same cost.

    Parameters, results and errors as for `scores`; the analysis is `attune_bench.analyses.cost_front`, which takes the
    `results` that were scored.
    """
    of, found = _of_metric(partial(analyses.cost_front, results=results), scores, metric, frame, options)
    alt = drawing.altair()
    rows = drawing.rows_of(found, "cost", condition=condition, metric=of.name)
    for row in rows:
        of_cost = drawing.shown(row | {"low": row["cost_low"], "high": row["cost_high"]}, "cost", _DOLLARS)
        value = drawing.shown(row, "value", of)
        row["text"] = f"{row['model']}: {of_cost} US dollars, {value}, {drawing.sizes(scores, row)}"
    rows = drawing.scaled(rows, of, "value", "low", "high")
    x, y = drawing.axis("X", "cost", _cost_title(scores)), drawing.axis("Y", "value", label(of))
    drawn = alt.Chart(drawing.data(rows))
    bars = drawn.mark_rule(color=drawing.SKY, strokeWidth=2)
    layers = [
        bars.encode(alt.X("cost_low:Q"), alt.X2("cost_high:Q"), y).transform_filter("isValid(datum.cost_low)"),
        bars.encode(x, alt.Y("low:Q"), alt.Y2("high:Q")).transform_filter("isValid(datum.low)"),
        drawn.mark_point(color=drawing.SKY, size=80, fillOpacity=1).encode(
            x,
            y,
            fill=alt.condition("datum.front == 'no'", alt.value("white"), alt.value(drawing.SKY)),
            **drawing.hover(),
        ),
        drawn.mark_text(align="left", dx=8, dy=-8).encode(x, y, text="model:N"),
    ]
    return drawing.styled(alt.layer(*layers).properties(width=drawing.WIDTH, height=260))


_DOLLARS = Metric(name="cost", label="US dollars", low=0)


def _cost_title(table: ScoreTable) -> str:
    return f"US dollars for 1,000 {pluralize(table.provenance.unit)}"


def cost_plot(table: ScoreTable, found: pl.DataFrame, metric: str) -> RowPlot:
    """Return cost and score of each model, for a page; `found` has one condition of `analyses.cost_front`."""
    of = table.metric(metric)
    rows = sorted(drawing.rows_of(found, "cost", metric=metric), key=lambda row: (row["cost"], row["model"]))
    of_cost = [row | {"low": row["cost_low"], "high": row["cost_high"]} for row in rows]
    sides = [
        ("cost", _DOLLARS, of_cost, _cost_title(table)),
        ("value", of, rows, label(of)),
    ]
    marks: list[list[Mark]] = []
    axes = []
    for key, own, side, name in sides:
        texts = [f"{row['model']}: {name} {drawing.shown(row, key, own)}, {drawing.sizes(table, row)}" for row in side]
        axes.append(axis_of([*(row[end] for row in side for end in (key, "low", "high"))], own, name))
        scaled = drawing.scaled(side, own, key, "low", "high")
        marks.append(
            [
                estimate(row | {"text": text}, key, ("circle", drawing.SKY, row["front"] == "no"))
                for row, text in zip(scaled, texts, strict=True)
            ]
        )
    lines = [PlotRow(name=row["model"], marks=[[one], [two]]) for row, one, two in zip(rows, *marks, strict=True)]
    return RowPlot(rows=lines, axes=axes, numbers=drawing.numbered(table, rows, "model"))


def separation(
    scores: ScoreTable,
    *,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    **options: Unpack[AnalysisKeywords],
) -> "Chart":
    """Draw how reliably each metric orders the models, the most reliable metric on top.

    Parameters, results and errors as for `scores`, but with ``metrics``, by default the metrics of the board that have
    a value of each unit; the analysis is `attune_bench.analyses.separation`. A cross is a reliability below 0.
    """
    found = _found(analyses.separation, scores, frame, options)
    plot = separation_plot(scores, found, condition=condition)
    return _row_chart(plot, drawing.axis("X", "at", _with_interval(_RELIABILITY, plot, frame, options), domain=(0, 1)))


_RELIABILITY = "reliability of a model's mean"


def separation_plot(table: ScoreTable, found: pl.DataFrame, *, condition: str | None = None) -> RowPlot:
    """Return what `separation` draws."""
    rows = drawing.rows_of(found, "reliability", condition=condition)
    names = drawing.labels(table, drawing.unique(rows, "metric"))
    lines = []
    for row in rows:
        name = names[row["metric"]]
        text = f"{name}: {drawing.shown(row, 'reliability', drawing.RATIO)}, {drawing.sizes(table, row)}"
        if row["units_needed"] is not None:
            text += f"; {plural(row['units_needed'], table.provenance.unit)} for {TARGET}"
        mark = Mark(
            at=max(row["reliability"], 0), low=row["low"], high=row["high"], text=text,
            shape="circle" if row["reliability"] >= 0 else "cross",
        )  # fmt: skip
        lines.append(PlotRow(name=name.replace(", lower is better", ""), marks=[[mark]]))
    ratio = Metric(name="", label="", low=0, high=1)
    return RowPlot(rows=lines, axes=[axis_of([0, 1], ratio, _RELIABILITY)], lines={str(TARGET): TARGET})


def skills(
    scores: ScoreTable,
    *,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    **options: Unpack[AnalysisKeywords],
) -> "Chart":
    """Draw how alike every two of the metrics order at least six models: without noise below the diagonal, as is above.

    Parameters, results and errors as for `separation`; the analysis is `attune_bench.analyses.skills`.
    """
    return drawing.heatmap(skill_cells(scores, _found(analyses.skills, scores, frame, options), condition=condition))


_TWO_DIGITS = replace(drawing.RATIO, digits=2)


def skill_cells(table: ScoreTable, found: pl.DataFrame, *, condition: str | None = None) -> Cells:
    """Return what `skills` draws."""
    cells: Rows = []
    rows = drawing.rows_of(found, "observed", condition=condition)
    places = drawing.labels(table, dict.fromkeys([row[side] for side in ("metric_a", "metric_b") for row in rows]))
    for row in rows:
        pair = places[row["metric_a"]], places[row["metric_b"]]
        without = {"first": pair[0], "second": pair[1], "correlation": row["corrected"]}
        without["numbers"] = f"{drawing.shown(row, 'corrected', drawing.RATIO)} without noise"
        observed = {"first": pair[1], "second": pair[0], "correlation": row["observed"]}
        observed["numbers"] = f"{number(row['observed'], drawing.RATIO)} observed"
        for cell in (without, observed):
            if cell["correlation"] is not None:
                cell["shown"] = f"{round(cell['correlation'], 2) + 0.0:.2f}"
                cell["small"] = interval(row["low"], row["high"], _TWO_DIGITS) if cell is without else ""
                cells.append(cell | {"text": f"{' and '.join(pair)}: {cell['numbers']}, {row['models']} models"})
    order = [*places.values()]
    return Cells(rows=cells, value="correlation", x=("first", order), y=("second", order), middle=0, reach=1)


def condition_differences(
    scores: ScoreTable,
    *,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    reference: str | None = None,
    **options: Unpack[AnalysisKeywords],
) -> "Chart":
    """Draw how far each metric of each model differs between two conditions.

    Parameters, results and errors as for `scores`, but with ``metrics``, by default the metrics of the board, and
    `reference`, the condition to compare with: the models' reference condition or their first. Give `reference` where
    models have several. The analysis is `attune_bench.analyses.condition_differences`.

    Cells print the difference as the metric is reported; the colour is its share of the metric's range, of an unbounded
    metric of its largest value.
    """
    found = _found(analyses.condition_differences, scores, frame, options)
    return drawing.heatmap(condition_cells(scores, found, condition=condition, reference=reference))


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
    rows = drawing.rows_of(differences, "difference", condition=condition)
    references = drawing.unique(rows, "reference")
    if len(references) > 1:
        raise ValueError(f"the references are {', '.join(map(repr, references))}; choose one with reference=...")
    places = drawing.labels(table, drawing.unique(rows, "metric"))
    widths = {name: _width(table.metrics[name], rows) for name in places}
    for row in rows:
        of = table.metrics[row["metric"]]
        row["share"] = row["difference"] / widths[row["metric"]]
        row["place"] = places[row["metric"]]
        row["shown"] = number(row["difference"], of, signed=True)
        row["text"] = f"{row['model']}, {row['place']}: {drawing.tested(table, row, 'difference', of)}"
    reach = max(abs(row["share"]) for row in rows) or 1
    models = drawing.numbered(table, rows, "model", numbers=numbers)
    return Cells(
        rows=rows, value="share", x=("model", [*models]), y=("place", drawing.unique(rows, "place")), middle=0,
        reach=reach, numbers=models,
    )  # fmt: skip


def _width(metric: Metric, rows: Rows) -> float:
    """Return the width that scales a difference: the range of the metric, or its largest value if it is unbounded."""
    if metric.high - metric.low < float("inf"):
        return metric.high - metric.low
    own = [abs(row[key]) for row in rows if row["metric"] == metric.name for key in ("value", "value_reference")]
    return max(own) or 1


def profiles(
    scores: ScoreTable,
    *,
    metrics: Sequence[str] | None = None,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw the metrics of a finite range against the models, and random answers beside them.

    Parameters, results and errors as for `scores`; besides, `metrics`, from the top, by default the ones that
    `profiled` returns.

    Cells print the value; the colour says by which part of the metric's range it is better or worse than the median of
    the models, of one model than random answers. A metric without a better direction has no colour.
    """
    _check(scores)
    chosen = profiled(scores) if metrics is None else metrics
    if not chosen:
        raise ValueError(_no_profile(scores, "of a finite range"))
    found = _found(summary, scores, frame, options, metrics=chosen)
    return drawing.heatmap(profile_cells(scores, found, metrics=chosen, condition=condition))


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

    `chance` is the frame of `attune_bench.stats.summary.chance_of_units` after suppression; by default all of it.
    """
    chosen = profiled(table) if metrics is None else metrics
    rows: Rows = []
    found = [*_profiled_rows(table, summary, chosen, condition, chance)]
    if not found:
        raise ValueError(f"nothing to draw: no value of {', '.join(chosen)}")
    several = len({row["model"] for _, _, own, _ in found for row in own}) > 1
    for of, _, own, random in found:
        middle = median(row["value"] for row in (own if several else random or own))
        is_coloured = of.higher_is_better is not None and (several or random)
        for row in own:
            row["share"] = of.sign * (row["value"] - middle) / (of.high - of.low) if is_coloured else None
        rows += [*own, *(row | {"share": None} for row in random)]
    models = drawing.numbered(table, [row for _, _, own, _ in found for row in own], "model", numbers=numbers)
    reach = max((abs(row["share"]) for row in rows if row["share"] is not None), default=0)
    random_column = [_RANDOM] if any(row["model"] == _RANDOM for row in rows) else []
    return Cells(
        rows=rows, value="share", x=("model", [*models, *random_column]),
        y=("place", [place for _, place, _, _ in found]), middle=0, reach=max(reach, 0.1), numbers=models,
    )  # fmt: skip


_RANDOM = "random answers"


def profile_plot(
    table: ScoreTable,
    summary: pl.DataFrame,
    *,
    metrics: Sequence[str],
    numbers: Numbers | None = None,
    chance: pl.DataFrame | None = None,
) -> RowPlot:
    """Return the metrics of a few models with their intervals, for a page; random answers are crosses.

    The axis is the range of each metric, from its worse end at the left to its better end; the lowest value is at the
    left where neither end is better. `numbers` and `chance` are as for `profile_cells`.
    """
    found = [*_profiled_rows(table, summary, metrics, None, chance)]
    models = [*drawing.numbered(table, [row for _, _, own, _ in found for row in own], "model", numbers=numbers)]
    look = dict(zip(models, looks(len(models)), strict=True))
    step, rows = 8, []
    for of, place, own, random in found:
        marks = []
        for row in sorted(own, key=lambda row: models.index(row["model"])):
            model = row["model"]
            ends = sorted(_part(row[end], of) for end in ("low", "high")) if row["low"] is not None else (None, None)
            marks.append(Mark(
                at=_part(row["value"], of), low=ends[0], high=ends[1], text=row["text"], colour=look[model][0],
                shape=look[model][1], shift=step * (models.index(model) - (len(models) - 1) / 2), model=model,
            ))  # fmt: skip
        marks += [
            Mark(at=_part(row["value"], of), text=row["text"], colour=drawing.MUTED, shape="cross") for row in random
        ]
        rows.append(PlotRow(name=place.replace(", lower is better", ""), marks=[marks]))
    key = [(Mark(at=0, low=0, text="", colour=colour, shape=shape), model) for model, (colour, shape) in look.items()]
    if any(random for *_, random in found):
        key.append((Mark(at=0, text="", colour=drawing.MUTED, shape="cross"), RANDOM_ANSWERS))
    ticks = tuple((place / 4, f"{25 * place}%") for place in range(5))
    has_better = any(of.higher_is_better is not None for of, *_ in found)
    axis = Axis(low=0, high=1, ticks=ticks, title=f"part of the range{', the better end at the right' * has_better}")
    return RowPlot(rows=rows, axes=[axis], key=key, step=max(24, 12 + step * len(models)))


def _part(value: float, metric: Metric) -> float:
    """Return which part of the range of a metric a value is, from the worse end."""
    part = (value - metric.low) / (metric.high - metric.low)
    return 1 - part if metric.higher_is_better is False else part


def subgroup_cells(
    table: ScoreTable, strata: pl.DataFrame, *, condition: str | None = None, numbers: Numbers | None = None
) -> Cells:
    """Return the strata of a trait against the models, side by side.

    Parameters
    ----------
    table, condition
        As for `scores`.
    strata : polars.DataFrame
        Of one metric, with differences, as from `attune_bench.stats.subgroups.subgroups`.
    numbers : mapping, optional
        As for `attune_bench.report.drawing.numbered`.
    """
    rows = drawing.rows_of(strata, "value", condition=condition)
    of = table.metrics[rows[0]["metric"]]
    for row in rows:
        apart = row["p_holm"] is not None and row["p_holm"] < ALPHA
        row["shown"] = f"{number(row['value'], of)}{'*' if apart else ''}"
        row["better"] = None if row["difference"] is None else of.sign * row["difference"] * (1 if apart else _PALE)
        against = "" if row["difference"] is None else (
            f"; minus the others {number(row['difference'], of, signed=True)}, Holm p {row_p(row)}"
        )  # fmt: skip
        row["numbers"] = f"{drawing.shown(row, 'value', of)}{against}"
        row["text"] = (
            f"{row['model']}, {row['stratum']}: {drawing.shown(row, 'value', of)}, {drawing.sizes(table, row)}{against}"
        )
    models = drawing.numbered(table, rows, "model", numbers=numbers)
    reach = max((abs(row["difference"]) for row in rows if row["difference"] is not None), default=0) or 1
    return Cells(
        rows=rows, value="better", x=("model", [*models]), y=("stratum", drawing.unique(rows, "stratum")), middle=0,
        reach=reach, numbers=models,
    )  # fmt: skip


_PALE = 0.35
"""How strongly a difference that is not significant is coloured, so that chance does not catch the eye."""


def of_analysis(
    scores: ScoreTable,
    analysis: Analysis,
    metric: str | None = None,
    *,
    frame: pl.DataFrame | None = None,
    condition: str | None = None,
    small_cells: bool = True,
    **given: Any,
) -> "Chart":
    """Draw an analysis that names its figure, such as a benchmark's own.

    Parameters, results and errors as for `scores`; besides, `analysis`, whose ``figure`` is drawn. `metric` is by
    default the primary one where the analysis is about it, else its first. Without `small_cells`, what rests on fewer
    than 5 clusters is not drawn. **given has the data or results that the analysis needs, and its options.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.analyses import ANALYSES
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> type(of_analysis(given, ANALYSES["branches"], resamples=200)).__name__
    'LayerChart'
    """
    _check(scores)
    chosen: dict[str, Any] = {}
    if analysis.takes_metrics:
        own = analysis.metrics or (scores.primary,)
        chosen["metrics"] = [metric or (scores.primary if scores.primary in own else own[0])]
    elif metric is not None:
        raise MetricInputError(f"the analysis {analysis.title!r} is of its own metrics; leave out {metric!r}")
    found = hide_small_cells(scores, _found(analysis.function, scores, frame, given, **chosen), small_cells=small_cells)
    if chosen and frame is not None:
        found = found.filter(pl.col("metric").is_in(chosen["metrics"]))
    if condition is not None and "condition" in found.columns:
        found = found.filter(condition=condition)
    shown = found.drop_nulls(analysis.estimate)
    if shown.is_empty() and not found.is_empty():
        raise drawing.nothing_to_draw(found, analysis.estimate)
    plot = resolve(analysis.figure)(scores, shown)
    if isinstance(plot, Cells):
        return drawing.heatmap(plot)
    options: Any = {name: value for name, value in given.items() if name not in analysis.needs}
    sides = []
    for place, axis in enumerate(plot.axes):
        rows = [replace(row, marks=[row.marks[place]]) for row in plot.rows]
        side = replace(plot, rows=rows, lines=plot.lines if axis is plot.axes[-1] else {})
        title = _with_interval(axis.title, side, frame, options)
        x = drawing.axis("X", "at", title, domain=(axis.low, axis.high))
        height = drawing.STEP * len(rows)
        sides.append(_row_layers(side, x, names=not place).properties(width=drawing.WIDTH, height=height))
    return drawing.styled(sides[0] if len(sides) == 1 else drawing.altair().hconcat(*sides))


def save(figure: "Chart", path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG, PNG, PDF or HTML, by the ending of the name.

    Parameters
    ----------
    figure : altair chart
        What a function of `attune_bench.report.figures` gives, or any other chart.
    path : path
        Ending in ``.svg``, ``.png``, ``.pdf`` or ``.html``. A page of HTML carries its scripts and makes no request.

    Raises
    ------
    ValueError
        Where the name ends in anything else.
    ImportError
        Where the extra ``plots`` is not installed.

    Examples
    --------
    >>> import altair
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(altair.Chart().mark_point(), Path(folder, "point.svg"))
    ...     Path(folder, "point.svg").read_text()[:4]
    '<svg'
    """
    target = Path(path)
    ending = target.suffix.lower().removeprefix(".")
    if ending not in {"svg", "png", "pdf", "html"}:
        raise ValueError(f"{target.name!r} does not say its format; expected a name in .svg, .png, .pdf or .html")
    if ending == "html":
        require("vl_convert", "plots")
        content = figure.to_html(inline=True, json_kwds={"cls": _ScriptEncoder}).encode()
    elif ending == "svg":
        content = drawing.svg(figure).encode()
    else:
        convert = require("vl_convert", "plots")
        made = drawing.specification(figure)
        content = convert.vegalite_to_png(made, scale=2) if ending == "png" else convert.vegalite_to_pdf(made)
    write_whole(target, [content])


class _ScriptEncoder(json.JSONEncoder):
    """JSON within a script of HTML, which a name with ``</script>`` would end."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")
