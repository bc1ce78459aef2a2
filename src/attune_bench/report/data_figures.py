"""The figures of a page of the data: values, two groups beside each other, ends of differences, lines over turns."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from attune_bench.report import drawing
from attune_bench.report.columns import Figure, Row, interval_words, number, p_value
from attune_bench.report.drawing import MUTED, ORANGE, SKY
from attune_bench.report.measures import OF_OTHERS, OTHERS, Family, MeasuredGroup, Place
from attune_bench.report.plots import Axis, Line, LinePanel, LinePlot, Mark, PlotRow, RowPlot, axis_of
from attune_bench.stats.options import AnalysisOptions, too_few
from attune_data.text import listed, width
from attune_metrics.metric import Metric

_MOST_DRAWN = 12
_STEP, _LOW_STEP = 46, 28
"""How high a row is, in pixels: with a sentence, which has up to three lines, and with a short name."""
_GROUP, _REST = ("circle", SKY), ("square", ORANGE)
_APART = 5
"""How far a group's mark is from the middle of its row, in pixels."""
_LONG = 34  # columns of a name that fits one line


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
    if asked.others is not None:
        return _group_figure(asked, family, ordered(family, frame))
    if family.pairs:
        return _pair_figure(asked, family, ordered(family, frame))
    return _value_figure(asked, family, frame)


def intervals(asked: MeasuredGroup) -> str:
    """Return what the intervals are."""
    return interval_words(asked.table, AnalysisOptions(**asked.options))


def _row_plot(
    asked: MeasuredGroup,
    rows: Sequence[tuple[Row, list[Mark]]],
    axis: Axis,
    lines: Mapping[str, float],
    key: Sequence[tuple[Mark, str]] = (),
) -> RowPlot:
    """Return a figure with a row for each measure."""
    labels = [asked.table.metrics[row["metric"]].label for row, _ in rows]
    sentences = any(width(label) > _LONG for label in labels)
    found = [PlotRow(name=label, marks=[marks]) for label, (_, marks) in zip(labels, rows, strict=True)]
    return RowPlot(
        rows=found, axes=[axis], lines=lines, key=key, step=_STEP if sentences else _LOW_STEP, sentences=sentences
    )


def _value_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    known = frame.drop_nulls("value").to_dicts()
    metric = asked.table.metrics[known[0]["metric"]]
    rows = []
    for row in known:
        of = asked.table.metrics[row["metric"]]
        [own] = drawing.scaled([row], metric, "value", "low", "high")
        text = f"{of.label}: {drawing.shown(row, 'value', metric)}"
        rows.append((row, [Mark(at=own["value"], low=own["low"], high=own["high"], text=text)]))
    ends = [row[end] for row in known for end in ("value", "low", "high")]
    axis, lines, words = _axis(family, ends, metric)
    return Figure(_row_plot(asked, rows, axis, lines), f"{_bars(asked)}{words}")


def _axis(family: Family, ends: Sequence[float | None], metric: Metric) -> tuple[Axis, Mapping[str, float], str]:
    """Return the axis of values, its broken line, and what the caption says of the broken line."""
    middle = 0.0 if metric.low < 0 else family.middle
    if middle is None:
        return axis_of(ends, metric, family.axis), {}, ""
    words = family.middle_words if middle == family.middle else "The broken line is 0."
    return axis_of([*ends, middle], metric, family.axis), {"": middle * metric.scale}, f" {words}"


def _bars(asked: MeasuredGroup) -> str:
    return f"Lines through the points are {intervals(asked)}."


def _group_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    """Return the values of the group and of the others, one above the other in the row of a measure."""
    found = frame.drop_nulls("difference")
    known = found.head(_MOST_DRAWN).to_dicts()
    metric = asked.table.metrics[known[0]["metric"]]
    sides = {asked.name: ({key: key for key in OF_OTHERS}, _GROUP, -_APART), OTHERS: (OF_OTHERS, _REST, _APART)}
    rows = []
    for row in known:
        texts, marks = [], []
        for side, (columns, (shape, colour), shift) in sides.items():
            own = {key: row[column] for key, column in columns.items()}
            texts.append(f"{side} {drawing.shown(own, 'value', metric)}")
            [at] = drawing.scaled([own], metric, "value", "low", "high")
            looks: dict[str, Any] = {"shape": shape, "colour": colour, "shift": shift}
            marks.append({"at": at["value"], "low": at["low"], "high": at["high"], **looks})
        apart = {key: row[f"difference{end}"] for key, end in (("value", ""), ("low", "_low"), ("high", "_high"))}
        difference = f"difference {drawing.shown(apart, 'value', metric, signed=True)}, Holm p {p_value(row['p_holm'])}"
        text = f"{asked.table.metrics[row['metric']].label}: {'; '.join([*texts, difference])}"
        rows.append((row, [Mark(text=text, **mark) for mark in marks]))
    ends = [row[column] for row in known for of, *_ in sides.values() for column in list(of.values())[:3]]
    axis, lines, words = _axis(family, ends, metric)
    key = [(Mark(at=0, text="", shape=shape, colour=colour), side) for side, (_, (shape, colour), _) in sides.items()]
    first = (
        f"The {_MOST_DRAWN} largest differences" if found.height > _MOST_DRAWN else "The largest difference is first"
    )
    return Figure(_row_plot(asked, rows, axis, lines, key), f"{first}. {_bars(asked)}{words}")


def _pair_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    found = frame.drop_nulls(["first", "second"])
    first, second = family.ends
    known = found.head(_MOST_DRAWN).to_dicts()
    end = asked.table.metrics[family.pairs[known[0]["metric"]][0]]
    axis = axis_of([row[key] for row in known for key in ("first", "second")], end, family.axis)
    looks: Mapping[str, Any] = {
        "second": {"shape": "circle", "colour": SKY, "is_hollow": True},
        "first": {"shape": "diamond", "colour": ORANGE},
    }
    rows = []
    for row in known:
        metric = asked.table.metrics[row["metric"]]
        text = (
            f"{metric.label}: {first} {number(row['first'], end)}, {second} {number(row['second'], end)}; "
            f"difference {drawing.shown(row, 'value', metric, signed=True)}, Holm p {p_value(row['p_holm'])}"
        )
        at = {key: row[key] * end.scale for key in looks}
        joined = Mark(at=None, low=min(at.values()), high=max(at.values()), text=text, colour=MUTED)
        rows.append((row, [joined, *(Mark(at=at[key], text=text, **look) for key, look in looks.items())]))
    key = [(Mark(at=0, text="", **look), {"first": first, "second": second}[name]) for name, look in looks.items()]
    widest = f"The {_MOST_DRAWN} widest gaps. " if found.height > _MOST_DRAWN else ""
    caption = f"{widest}Intervals and tests of the differences are in the table."
    return Figure(_row_plot(asked, rows, axis, {}, key), caption)


def _line_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    """Return measures as lines over positions; where two groups are compared, a panel for each line."""
    sides = {asked.name or "all": {key: key for key in OF_OTHERS}}
    if asked.others is not None:
        sides[OTHERS] = OF_OTHERS
    positions = sorted({place.position for place in family.places.values()})
    rows = {family.places[row["metric"]]: row for row in frame.to_dicts() if row["metric"] in family.places}

    def line(name: str, side: str, called: str, look: tuple[str, str]) -> Line:
        states: list[float | None] = []
        texts: list[str] = []
        band: list[tuple[float, float] | None] = []
        for position in positions:
            row = rows.get(Place(name, position), {})
            own = {key: row.get(column) for key, column in sides[side].items()}
            if own["value"] is None:
                states.append(None)
                texts.append("")
                band.append(None)
                continue
            metric = asked.table.metrics[row["metric"]]
            texts.append(
                f"{metric.label}, {side}: {drawing.shown(own, 'value', metric)}, {drawing.sizes(asked.table, own)}"
            )
            [scaled] = drawing.scaled([own], metric, "value", "low", "high")
            states.append(scaled["value"])
            band.append(None if scaled["low"] is None else (scaled["low"], scaled["high"]))
        return Line(name=called, states=states, texts=texts, band=band, shape=look[0], colour=look[1])

    names = list(dict.fromkeys(place.line for place in family.places.values()))
    looks = (_GROUP, _REST, ("diamond", MUTED))
    if asked.others is None:
        lines = [line(name, asked.name or "all", name, look) for name, look in zip(names, looks, strict=False)]
        panels = [LinePanel(title=family.axis, lines=lines)]
    else:
        panels = [
            LinePanel(
                title=f"{name}: {family.axis}",
                lines=[line(name, side, side, look) for side, look in zip(sides, looks, strict=False)],
            )
            for name in names
        ]
    plot = LinePlot(panels=panels, first=positions[0], last=positions[-1], height=200)
    known = {
        place.position for place, row in rows.items() if any(row.get(side) is not None for side in ("value", "other"))
    }
    words = f"By {family.position}, from {positions[0]}. Bands are {intervals(asked)}."
    if absent := [position for position in positions if position not in known]:
        words += f" Not shown: {family.position} {listed(list(map(str, absent)))}, of {too_few(asked.table)}."
    return Figure(plot, words)
