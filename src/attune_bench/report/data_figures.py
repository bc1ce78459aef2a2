"""The figures of a page of the data: values, two groups beside each other, ends of differences, lines over turns."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from attune_bench.report import drawing, plots
from attune_bench.report.columns import Figure, Row, interval_words, number, row_p
from attune_bench.report.drawing import MUTED, ORANGE, SKY
from attune_bench.report.measures import OTHERS, Family, MeasuredGroup, Place, of_side
from attune_bench.stats.options import ALPHA, MIN_CLUSTERS, AnalysisOptions, too_few
from attune_data.text import listed, plural, pluralize
from attune_metrics.metric import Metric

_MOST_DRAWN = 12
_NAMED = 3
_STEP = 28
"""How high a row is at least, in pixels."""
_GROUP, _REST = ("circle", SKY, False), ("square", ORANGE, False)
_PAIR = ("circle", SKY, True), ("diamond", ORANGE, False)
_APART = 5
"""How far a group's mark is from the middle of its row, in pixels."""


def ordered(family: Family, frame: pl.DataFrame) -> pl.DataFrame:
    """Return measures in the order of figures and tables: the largest differences first, positions from the left."""
    if family.places or "p" not in frame.columns:
        return frame
    key = "difference" if "difference" in frame.columns else "value"
    return frame.sort(pl.col(key).abs(), descending=True, nulls_last=True, maintain_order=True)


def figure_of(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    """Return the figure of a family of measures."""
    if family.places:
        return _line_figure(asked, family, frame)
    draw = _pair_figure if family.pairs and asked.others is None else _value_figure
    return draw(asked, family, ordered(family, frame))


def intervals(asked: MeasuredGroup) -> str:
    """Return what the intervals are."""
    return interval_words(asked.table, AnalysisOptions(**asked.options))


POINTS = "points"


def unit_of(metric: Metric) -> str:
    """Return the unit of a share, or of the difference of two shares within records; empty for other measures."""
    return "" if metric.scale != _PERCENT else POINTS if metric.low < 0 else "%"


_PERCENT = 100
"""The scale of a metric that is shown in percent."""


def quoted(label: str) -> str:
    """Return the name of a measure as a part of a sentence."""
    return f'"{label}"' if label.endswith("?") else label


def _corrected(asked: MeasuredGroup, frame: pl.DataFrame) -> str:
    """Return what is corrected in a section with tests, and whose interval alone would say something else."""
    if "p" not in frame.columns or not (tests := frame["p"].count()):
        return ""
    side = "difference" if "difference" in frame.columns else ""
    said = f" Each interval is of one value alone; p-values are corrected for the {plural(tests, 'test')} (Holm)."
    rows = [(row, of_side(row, side)) for row in frame.filter(pl.col("p_holm") >= ALPHA).to_dicts()]
    names = [
        quoted(asked.table.metrics[row["metric"]].label)
        for row, own in rows
        if own["low"] is not None and (own["low"] > 0 or own["high"] < 0)
    ]
    if names:
        which = ", ".join(names) if len(names) <= _NAMED else plural(len(names), "difference")
        said += f" Not significant after this, although the interval of the difference leaves out 0: {which}."
    return said


def _without_interval(asked: MeasuredGroup, ends: Sequence[Row], what: str) -> str:
    """Return why some marks have no interval, where the values are known of enough people."""
    flat = [end for end in ends if end["value"] is not None and end["low"] is None and end["clusters"] >= MIN_CLUSTERS]
    if not flat:
        return ""
    people = pluralize(asked.table.provenance.cluster)
    whose = f"all {people} of the group" if asked.others is not None else f"all {people}"
    return f" A point without a {what}: {whose} have the same value, from which no interval follows."


def _row_plot(
    asked: MeasuredGroup,
    rows: Sequence[tuple[Row, list[plots.Mark]]],
    axis: plots.Axis,
    lines: Mapping[str, float],
    key: Sequence[tuple[plots.Mark, str]] = (),
) -> plots.RowPlot:
    """Return a figure with a row for each measure."""
    labels = [asked.table.metrics[row["metric"]].label for row, _ in rows]
    found = [plots.PlotRow(name=label, marks=[marks]) for label, (_, marks) in zip(labels, rows, strict=True)]
    return plots.RowPlot(rows=found, axes=[axis], lines=lines, key=key, step=_STEP, sentences=True)


def _mark(own: Row, metric: Metric, **look: Any) -> plots.Mark:
    """Return the mark of a value with its interval, in the reported unit."""
    [at] = drawing.scaled([dict(own)], metric, "value", "low", "high")
    return plots.Mark(at=at["value"], low=at["low"], high=at["high"], **look)


def _axis(
    family: Family, rows: Sequence[Row], sides: Sequence[str], metric: Metric
) -> tuple[plots.Axis, Mapping[str, float], str]:
    """Return the axis of the values of sides, its broken line, and what the caption says of the broken line."""
    ends = [of_side(row, side)[end] for row in rows for side in sides for end in ("value", "low", "high")]
    middle = 0.0 if metric.low < 0 else family.middle
    if middle is None:
        return plots.axis_of(ends, metric, family.axis), {}, ""
    words = family.middle_words if middle == family.middle else "The broken line is 0."
    return plots.axis_of([*ends, middle], metric, family.axis), {"": middle * metric.scale}, f" {words}"


def _value_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    """Return the values of the group and, below each where they are compared, of the others."""
    is_compared = asked.others is not None
    found = frame.drop_nulls("difference" if is_compared else "value")
    known = found.head(_MOST_DRAWN if is_compared else found.height).to_dicts()
    metrics = asked.table.metrics
    metric = metrics[known[0]["metric"]]
    sides = {"": ("", _GROUP, 0)}
    if is_compared:
        sides = {"": (asked.name, _GROUP, -_APART), "other": (OTHERS, _REST, _APART)}
    rows = []
    for row in known:
        texts = [drawing.shown(of_side(row, side), "value", metric) for side in sides]
        if is_compared:
            texts = [f"{name} {text}" for (name, *_), text in zip(sides.values(), texts, strict=True)]
            difference = drawing.shown(of_side(row, "difference"), "value", metric, signed=True)
            texts.append(f"difference {difference}, Holm p {row_p(row)}")
        text = f"{metrics[row['metric']].label}: {'; '.join(texts)}"
        rows.append((row, [
            _mark(of_side(row, side), metric, text=text, shape=shape, colour=colour, shift=shift)
            for side, (_, (shape, colour, _), shift) in sides.items()
        ]))  # fmt: skip
    axis, lines, words = _axis(family, known, [*sides], metric)
    ends = [of_side(row, side) for row in known for side in sides]
    caption = f"Lines through the points are {intervals(asked)}.{_corrected(asked, frame)}"
    caption += f"{_without_interval(asked, ends, 'line')}{words}"
    if not is_compared:
        return Figure(_row_plot(asked, rows, axis, lines), caption)
    key = plots.key_of(*zip(*((name, look) for name, look, _ in sides.values()), strict=True))
    first = (
        f"The {_MOST_DRAWN} largest differences" if found.height > _MOST_DRAWN else "The largest difference is first"
    )
    return Figure(_row_plot(asked, rows, axis, lines, key), f"{first}. {caption}")


def _pair_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    found = frame.drop_nulls(["first", "second"])
    first, second = family.ends
    known = found.head(_MOST_DRAWN).to_dicts()
    end = asked.table.metrics[family.pairs[known[0]["metric"]][0]]
    axis = plots.axis_of([row[key] for row in known for key in ("first", "second")], end, family.axis)
    kinds = {"second": second, "first": first}
    rows = []
    for row in known:
        metric = asked.table.metrics[row["metric"]]
        text = (
            f"{metric.label}: {first} {number(row['first'], end)}, {second} {number(row['second'], end)}; "
            f"difference {drawing.shown(row, 'value', metric, signed=True)}, Holm p {row_p(row)}"
        )
        [at] = drawing.scaled([row], end, *kinds)
        rows.append((row, plots.dumbbell([at[kind] for kind in kinds], _PAIR, text)))
    widest = f"The {_MOST_DRAWN} widest gaps. " if found.height > _MOST_DRAWN else ""
    caption = f"{widest}Intervals and tests of the differences are in the table.{_corrected(asked, frame)}"
    return Figure(_row_plot(asked, rows, axis, {}, plots.key_of(kinds.values(), _PAIR)), caption)


def _line_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    """Return measures as lines over positions; where two groups are compared, a panel for each line."""
    sides = {asked.name or "all": "", **({OTHERS: "other"} if asked.others is not None else {})}
    positions = sorted({place.position for place in family.places.values()})
    rows = {family.places[row["metric"]]: row for row in frame.to_dicts() if row["metric"] in family.places}

    def line(name: str, side: str, called: str, look: plots.Look) -> plots.Line:
        texts, marks = [], []
        for position in positions:
            row = rows.get(Place(name, position), {})
            own = of_side(row, sides[side])
            text, mark = "", plots.Mark(at=None, text="")
            if own["value"] is not None:
                metric = asked.table.metrics[row["metric"]]
                shown = f"{drawing.shown(own, 'value', metric)}, {drawing.sizes(asked.table, own)}"
                text, mark = f"{metric.label}, {side}: {shown}", _mark(own, metric, text="")
            texts.append(text)
            marks.append(mark)
        band = [None if one.low is None or one.high is None else (one.low, one.high) for one in marks]
        states = [one.at for one in marks]
        return plots.Line(name=called, states=states, texts=texts, band=band, shape=look[0], colour=look[1])

    names = list(dict.fromkeys(place.line for place in family.places.values()))
    looks = (_GROUP, _REST, ("diamond", MUTED, False))
    if asked.others is None:
        lines = [line(name, asked.name or "all", name, look) for name, look in zip(names, looks, strict=False)]
        panels = [plots.LinePanel(title=family.axis, lines=lines)]
    else:
        panels = [
            plots.LinePanel(
                title=f"{name}: {family.axis}",
                lines=[line(name, side, side, look) for side, look in zip(sides, looks, strict=False)],
            )
            for name in names
        ]
    plot = plots.LinePlot(panels=panels, first=positions[0], last=positions[-1], height=200)
    known = {
        place.position for place, row in rows.items() if any(row.get(side) is not None for side in ("value", "other"))
    }
    ends = [of_side(row, side) for row in rows.values() for side in sides.values()]
    words = f"By {family.position}, from {positions[0]}. Bands are {intervals(asked)}.{_corrected(asked, frame)}"
    words += _without_interval(asked, ends, "band")
    if absent := [position for position in positions if position not in known]:
        side = " on one side" if asked.others is not None else ""
        words += f" Not shown: {family.position} {listed(list(map(str, absent)))}, of {too_few(asked.table)}{side}."
    return Figure(plot, words)
