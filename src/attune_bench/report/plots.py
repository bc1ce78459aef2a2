"""Figures of pages, drawn as SVG: rows of marks on an axis, lines over rounds, points on two axes.

A page needs no library of charts, and its figures have the typeface and the colours of its text. Colours are of Okabe
and Ito's palette, which colour-blind readers can tell apart, darkened where they would be pale on white; marks that
differ in colour differ in shape too. Style sheets find colours by the attributes ``fill`` and ``stroke``, and change
them in the dark.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from itertools import accumulate, groupby
from math import ceil, floor, isfinite, log10
from statistics import fmean
from typing import TypeAlias

from attune_bench.report.drawing import GRID, INK, MUTED, ORANGE, PAPER, SKY, short_names
from attune_data.issues import Html
from attune_data.text import sanitize, width, wrapped
from attune_metrics.metric import Metric

COLOURS = (SKY, ORANGE, "#008059", "#b0508a", "#8a7000", INK)
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")
FONT = "system-ui, sans-serif"
TEXT, SMALL = 14, 12
"""Sizes of letters, in pixels."""

_LINE = 14
"""How high a line of a sentence is, in pixels."""

WIDE, NARROW, _PANEL = 760, 360, 370
_STEPS = 5
_WHOLE = 0.5
"""The part of the range of a metric that values cover where the axis shows the whole range."""

_RADIUS = 4.5
_LETTER = 0.56
"""Width of a letter, on average, as a part of its size."""


def looks(number: int) -> list[tuple[str, str]]:
    """Return the colour and the shape of each of a number of models: two of one colour differ in shape.

    Examples
    --------
    >>> looks(2)
    [('#0072b2', 'circle'), ('#c25100', 'square')]
    """
    places = [(place % len(COLOURS), place // len(COLOURS)) for place in range(number)]
    return [(COLOURS[colour], SHAPES[(colour + turn) % len(SHAPES)]) for colour, turn in places]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis of values in the unit that reports show.

    Attributes
    ----------
    low, high : float
        The two ends.
    ticks : tuple of (float, str)
        Round values between the ends, and how they are written.
    title : str
        What the values are.
    broken : tuple of bool
        Whether the range goes on below `low`, and above `high`.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    title: str = ""
    broken: tuple[bool, bool] = (False, False)

    def part(self, value: float) -> float:
        """Return the part of the axis that is below a value."""
        return (value - self.low) / (self.high - self.low)

    def at(self, value: float) -> str:
        """Return where a value is, in percent of the width."""
        return f"{100 * self.part(value):.1f}%"


def axis_of(values: Iterable[float | None], metric: Metric, title: str = "") -> Axis:
    """Return the axis of values of a metric: its whole range where they cover half of it, else a part of it.

    Parameters
    ----------
    values : iterable of float or None
        What the axis has to show, in the unit of the metric.
    metric : Metric
        Its range and scale.
    title : str
        What the values are.

    Examples
    --------
    >>> share = Metric(name="share", label="Share", low=0, high=1)
    >>> [text for _, text in axis_of([0.2, 0.71], share).ticks]
    ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']
    >>> near = axis_of([0.61, 0.64], share)
    >>> [text for _, text in near.ticks], near.broken
    (['0.61', '0.62', '0.63', '0.64'], (True, True))
    """
    known = [value * metric.scale for value in values if value is not None and isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    first, last = metric.low * metric.scale, metric.high * metric.scale
    if isfinite(last - first) and high - low >= _WHOLE * (last - first):
        low, high = first, last
    step = _step((high - low) or abs(high) or 1.0)
    low, high = max(floor(low / step + 1e-9) * step, first), min(ceil(high / step - 1e-9) * step, last)
    if low >= high:
        low, high = max(low - step, first), min(low + step, last)
    digits = max(0, -floor(log10(step)))
    places = [place * step for place in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    ticks = tuple((value, f"{value + 0.0:.{digits}f}") for value in (round(place, digits) for place in places))
    broken = (isfinite(first) and low > first, isfinite(last) and high < last)
    return Axis(low=low, high=high, ticks=ticks, title=title, broken=broken)


def _step(span: float) -> float:
    """Return the round number, 1, 2 or 5 times a power of ten, that divides a span into about five."""
    power = 10.0 ** floor(log10(span / _STEPS))
    return next(times * power for times in (1, 2, 5, 10) if span <= 1.001 * _STEPS * times * power)


def whole_axis(low: int, high: int, title: str = "") -> Axis:
    """Return an axis of whole numbers.

    Examples
    --------
    >>> [text for _, text in whole_axis(1, 40).ticks]
    ['1', '5', '10', '15', '20', '25', '30', '35', '40']
    """
    high = max(high, low + 1)
    step = next(one for one in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if high - low <= 8 * one or one == 1000)
    inner = [place for place in range(step * (low // step), high + 1, step) if low < place < high]
    kept = [place for place in inner if place - low >= step / 2 and high - place >= step / 2]
    ticks = tuple((float(place), str(place)) for place in sorted({low, *kept, high}))
    return Axis(low=low, high=high, ticks=ticks, title=title)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A value of a row: a shape, and a line from `low` to `high`.

    Attributes
    ----------
    at : float or None
        Where the shape is; None for a line alone.
    text : str
        What the pointer reads.
    low, high : float or None
        The two ends of the line; None for a shape alone.
    shape : str
        One of `SHAPES`, or ``tick``.
    colour : str
        Of both.
    is_hollow : bool
        Whether the shape is an outline.
    shift : float
        How far from the middle of its row, in pixels.
    model : str
        The model that it is of, for the script of the page.
    """

    at: float | None
    text: str
    low: float | None = None
    high: float | None = None
    shape: str = "circle"
    colour: str = SKY
    is_hollow: bool = False
    shift: float = 0
    model: str = ""


Look: TypeAlias = tuple[str, str, bool]
"""Shape, colour, and whether the shape is an outline."""


def dumbbell(values: Sequence[float | None], looks: Sequence[Look], text: str, model: str = "") -> list[Mark]:
    """Return the marks of a row of several values: a line from the first value to the last, and a shape for each."""
    ends = sorted(value for value in (values[0], values[-1]) if value is not None)
    line = [Mark(at=None, low=ends[0], high=ends[1], text=text, colour=MUTED, model=model)] if len(ends) == 2 else []
    points = [
        Mark(at=value, text=text, shape=shape, colour=colour, is_hollow=hollow, model=model)
        for value, (shape, colour, hollow) in zip(values, looks, strict=True)
        if value is not None
    ]
    return [*line, *points]


def key_of(names: Iterable[str], looks: Iterable[Look]) -> list[tuple[Mark, str]]:
    """Return what the shapes of a figure mean."""
    shapes = (Mark(at=0, text="", shape=shape, colour=colour, is_hollow=hollow) for shape, colour, hollow in looks)
    return list(zip(shapes, names, strict=True))


@dataclass(frozen=True, kw_only=True)
class PlotRow:
    """A row: its name and, for each axis, its marks; a row without marks is a heading."""

    name: str
    marks: Sequence[Sequence[Mark]] = ()


@dataclass(frozen=True, kw_only=True)
class RowPlot:
    """Rows of marks on one or more axes, side by side.

    Attributes
    ----------
    rows : sequence of PlotRow
        From the top.
    axes : sequence of Axis
        The axes, from the left.
    lines : mapping of str to float
        Broken lines across all rows, by name; a line without one is not named. They are on the last axis.
    key : sequence of (Mark, str)
        What marks mean.
    step : int
        How high a row is, in pixels; a row with a sentence of many lines is higher.
    numbers : mapping of str to int
        The number on the page of each name, for names that are equal once they are cut.
    sentences : bool
        Whether names are sentences, which are broken into lines.
    """

    rows: Sequence[PlotRow]
    axes: Sequence[Axis]
    lines: Mapping[str, float] = field(default_factory=dict)
    key: Sequence[tuple[Mark, str]] = ()
    step: int = 24
    numbers: Mapping[str, int] = field(default_factory=dict)
    sentences: bool = False


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line over rounds.

    Attributes
    ----------
    name : str
        Whose line it is.
    states : sequence of float or None
        Its value at the first round, the next and so on; None where none is known.
    texts : sequence of str
        What the pointer reads of each.
    band : sequence of (float, float) or None
        The interval of each.
    colour, shape : str
        Its look; without a shape it has no marks.
    is_named : bool
        Whether its name stands beside it.
    """

    name: str
    states: Sequence[float | None]
    texts: Sequence[str] = ()
    band: Sequence[tuple[float, float] | None] = ()
    colour: str = SKY
    shape: str = "circle"
    is_named: bool = True

    @property
    def known(self) -> list[tuple[int, float]]:
        """The places and values of the states that are known."""
        return [(place, state) for place, state in enumerate(self.states) if state is not None]


@dataclass(frozen=True, kw_only=True)
class LinePanel:
    """Lines on one pair of axes, and named values as broken lines."""

    title: str
    lines: Sequence[Line]
    levels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LinePlot:
    """Panels of lines over rounds `first` to `last`, with values from 0 to 100; each `height` pixels high."""

    panels: Sequence[LinePanel]
    last: int
    height: int = 170
    first: int = 0


@dataclass(frozen=True, kw_only=True)
class PointPlot:
    """Points on two axes: (x, y, what the pointer reads)."""

    points: Sequence[tuple[float, float, str]]
    x: Axis
    y: Axis


Plot: TypeAlias = RowPlot | LinePlot | PointPlot


def drawn(plot: Plot, caption: str) -> Html:
    """Return a figure as SVG; `caption` names it for screen readers.

    Rows and points are drawn twice, for wide screens and for narrow ones, by their class ``wide`` or ``narrow``; for
    narrow ones, which are touched, without the texts that a pointer reads. Panels of lines fit both, and are a drawing
    each.

    Examples
    --------
    >>> row = PlotRow(name="m", marks=[[Mark(at=0.5, low=0.4, high=0.6, text="m: 0.5")]])
    >>> plot = RowPlot(rows=[row], axes=[axis_of([0, 1], Metric(name="x", label="x", low=0, high=1), "score")])
    >>> made = drawn(plot, "Scores")
    >>> made.startswith("<svg"), made.count("<title>m: 0.5</title>")
    (True, 1)
    """
    if isinstance(plot, LinePlot):
        panels = [_svg(f"{panel.title}: {caption}", _PANEL, *_panel(panel, plot)) for panel in plot.panels]
        return Html(f'<div class="panels">{"".join(panels)}</div>')
    draw = partial(_rows, plot) if isinstance(plot, RowPlot) else partial(_points, plot)
    narrow = re.sub("<title>.*?</title>", "", _svg(caption, NARROW, *draw(NARROW), "narrow"))
    return Html(_svg(caption, WIDE, *draw(WIDE), "wide") + narrow)


def _svg(name: str, total: int, height: int, inside: Sequence[str], kind: str = "") -> str:
    """Return a drawing of a width and a height in pixels."""
    named = f' class="{kind}"' if kind else ""
    # As attributes, so that a copy of the figure alone looks the same.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" role="img" '
        f'aria-label="{_plain(name)}"{named} style="max-width: {total}px" font-family="{FONT}" font-size="{TEXT}" '
        f'fill="{INK}">{"".join(inside)}</svg>'
    )


def _plain(text: str) -> str:
    return escape(sanitize(text))


def _said(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _length(text: str, size: int = TEXT) -> float:
    """Return about how wide a text is, in pixels."""
    return _LETTER * size * width(text)


def _label(
    x: float, y: float, text: str, *, anchor: str = "", size: int = TEXT, colour: str = "", more: str = ""
) -> str:
    given = "".join([
        f' text-anchor="{anchor}"' if anchor else "", f' font-size="{size}"' if size != TEXT else "",
        f' fill="{colour}"' if colour else "", more,
    ])  # fmt: skip
    return f'<text x="{_said(x)}" y="{_said(y)}"{given}>{_plain(text)}</text>'


def _numbers(labels: Sequence[tuple[float, float, str]], anchor: str) -> str:
    """Return the numbers along an axis."""
    inside = "".join(_label(x, y, text) for x, y, text in labels)
    return f'<g text-anchor="{anchor}" font-size="{SMALL}" fill="{MUTED}">{inside}</g>'


def _grid(lines: Iterable[tuple[float, float, str]]) -> str:
    """Return lines of a grid: each with its begin, and a command of paths that draws it."""
    outline = "".join(f"M{_said(x)} {_said(y)}{line}" for x, y, line in lines)
    return f'<path d="{outline}" stroke="{GRID}"/>'


_HALO = f' stroke="{PAPER}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str, *, wide: float = 1, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    thick = "" if wide == 1 else f' stroke-width="{wide:g}"'
    ends = f'x1="{_said(x1)}" y1="{_said(y1)}" x2="{_said(x2)}" y2="{_said(y2)}"'
    return f'<line {ends} stroke="{colour}"{thick}{dashes}/>'


_OUTLINES: Mapping[str, str] = {
    "square": "M{l} {t}h{side}v{side}h-{side}z",
    "diamond": "M{x} {T}l{far} {far}-{far} {far}-{far}-{far}z",
    "triangle-up": "M{x} {T}L{R} {b}H{L}Z",
    "triangle-down": "M{x} {B}L{R} {t}H{L}Z",
    "triangle-right": "M{R} {y}L{l} {B}V{T}Z",
    "cross": "M{l} {t}L{r} {b}M{r} {t}L{l} {b}",
    "tick": "M{x} {T}V{B}",
}


def _shape(shape: str, x: float, y: float, *, radius: float = _RADIUS, paint: str = "", text: str = "") -> str:
    """Return a shape, painted by itself or by what is around it, with what the pointer reads."""
    near, far = 0.85 * radius, 1.25 * radius
    at = {
        "x": x, "y": y, "l": x - near, "r": x + near, "t": y - near, "b": y + near, "L": x - far, "R": x + far,
        "T": y - far, "B": y + far, "side": 2 * near, "far": far,
    }  # fmt: skip
    tag, made = "circle", f'cx="{_said(x)}" cy="{_said(y)}" r="{radius:g}"'
    if shape != tag:
        outline = _OUTLINES[shape].format(**{name: _said(value) for name, value in at.items()})
        tag, made = "path", f'd="{outline}"'
    return f"<{tag} {made}{paint}>{_title(text)}</{tag}>" if text else f"<{tag} {made}{paint}/>"


def _title(text: str) -> str:
    return f"<title>{_plain(text)}</title>"


def _paint(shape: str, colour: str, *, hollow: bool = False) -> str:
    """Return the attributes that paint a shape."""
    line = shape in ("cross", "tick")
    stroke = f' stroke="{colour}" stroke-width="2"' if hollow or line else ""
    return f' fill="{"none" if line else PAPER if hollow else colour}"{stroke}'


def _key(key: Sequence[tuple[Mark, str]], total: int) -> tuple[int, list[str]]:
    """Return the height of what marks mean, and its drawing."""
    found, x, y = [], 2.0, 12
    for mark, text in key:
        needed = 20 + _length(text)
        if x > 2 and x + needed > total:
            x, y = 2.0, y + 20
        if mark.low is not None:
            found.append(_rule(x, y, x + 14, y, mark.colour, wide=2))
        if mark.at is not None:
            found.append(_shape(mark.shape, x + 7, y, paint=_paint(mark.shape, mark.colour, hollow=mark.is_hollow)))
        found.append(_label(x + 20, y + 5, text))
        x += needed + 24
    return (y + 16 if key else 0), found


# Rows.


def _row_names(plot: RowPlot, total: int) -> tuple[list[list[str]], float]:
    """Return the lines of each name, and how wide the column of names is."""
    most = 34 if total >= WIDE else 18
    rows = plot.rows
    if plot.sentences:
        broken = [wrapped(sanitize(row.name), 48 if total >= WIDE else 24) for row in rows]
        return broken, max((_length(line, SMALL) for lines in broken for line in lines), default=0) + 12
    models = [sanitize(row.name) for row in rows if row.marks]
    short = short_names(models, most, plot.numbers or None)
    found = [[short[sanitize(row.name)]] if row.marks else wrapped(sanitize(row.name), total // 9) for row in rows]
    texts = (line for lines, row in zip(found, rows, strict=True) if row.marks for line in lines)
    return found, max(map(_length, texts), default=0) + 12


def _rows(plot: RowPlot, total: int) -> tuple[int, list[str]]:
    names, left = _row_names(plot, total)
    top, found = _key(plot.key, total)
    named = {name: value for name, value in plot.lines.items() if name}
    top += 20 if named else 6
    heights = [max(plot.step, _LINE * len(lines) + 6) if plot.sentences else plot.step for lines in names]
    _, *ends = edges = [*accumulate(heights, initial=top)]
    bottom = edges[-1]
    gap, edge = 44, 16
    each = (total - left - edge - gap * (len(plot.axes) - 1)) / len(plot.axes)
    starts = [left + place * (each + gap) for place in range(len(plot.axes))]

    def at(panel: int, value: float) -> float:
        return starts[panel] + each * plot.axes[panel].part(value)

    columns = max(12, int((each + gap) / (_LETTER * TEXT)))
    titles = [wrapped(axis.title, columns) if axis.title else [] for axis in plot.axes]
    for panel, (axis, title) in enumerate(zip(plot.axes, titles, strict=True)):
        ticks = _thinned(axis.ticks, each)
        found.append(_grid((at(panel, tick), top, f"V{bottom}") for tick, _ in ticks))
        found.append(_numbers([(at(panel, tick), bottom + 16, text) for tick, text in ticks], "middle"))
        where = starts[panel] + each / 2
        found += [_label(where, bottom + 36 + 17 * line, text, anchor="middle") for line, text in enumerate(title)]
    last = len(plot.axes) - 1
    for name, value in plot.lines.items():
        x = at(last, value)
        found.append(_rule(x, top, x, bottom, MUTED, wide=1.5, dashed=True))
        if name:
            middle = min(max(x, starts[last] + _length(name, SMALL) / 2), total - _length(name, SMALL) / 2)
            found.append(_label(middle, top - 6, name, anchor="middle", size=SMALL, colour=MUTED))
    for row, lines, end, height in zip(plot.rows, names, ends, heights, strict=True):
        y = end - height / 2
        if not row.marks:
            found.append(_label(0, y + 5, " ".join(lines), more=' font-weight="bold"' + _HALO))
            continue
        if plot.sentences:
            begin = y + 4 - _LINE / 2 * (len(lines) - 1)
            inside = "".join(_label(0, begin + _LINE * line, text, size=SMALL) for line, text in enumerate(lines))
        else:
            inside = _label(0, y + 5, lines[0])
        for panel, marks in enumerate(row.marks):
            for text, same in groupby(marks, lambda mark: mark.text):
                shapes = [_mark(mark, y + mark.shift, partial(at, panel)) for mark in same]
                inside += f"<g>{_title(text)}{''.join(shapes)}</g>"
        of_row = {mark.model for marks in row.marks for mark in marks}
        found.append(f'<g data-model="{_plain(of_row.pop())}">{inside}</g>' if len(of_row) == 1 else inside)
    return int(bottom + 24 + 17 * max(map(len, titles))), found


def _mark(mark: Mark, y: float, at: Callable[[float], float]) -> str:
    inside = ""
    if mark.low is not None and mark.high is not None:
        inside += _rule(at(mark.low), y, at(mark.high), y, mark.colour, wide=2)
    if mark.at is not None:
        inside += _shape(mark.shape, at(mark.at), y, paint=_paint(mark.shape, mark.colour, hollow=mark.is_hollow))
    return inside


def _thinned(ticks: Sequence[tuple[float, str]], space: float) -> Sequence[tuple[float, str]]:
    """Return ticks, every second or fewer of them where all do not fit."""
    needed = sum(_length(text, SMALL) + 10 for _, text in ticks)
    return ticks[:: max(1, ceil(needed / max(space, 1)))]


# Lines over rounds.


def _panel(panel: LinePanel, plot: LinePlot) -> tuple[int, list[str]]:
    height, last = plot.height, plot.last - plot.first  # places of states are counted from the first round
    named = [(line, *line.known[-1]) for line in panel.lines if line.is_named and line.known]
    short = short_names([sanitize(line.name) for line, _, _ in named], 15)
    levels = {f"{name} {level:.4g}": level for name, level in panel.levels.items()}
    left, top = 30.0, 26.0
    wide = _PANEL - 58 - max((_length(text, SMALL) for text in [*short.values(), *levels]), default=0.0)

    def across(place: float) -> float:
        return left + wide * place / max(last, 1)

    def down(state: float) -> float:
        return top + height * (1 - state / 100)

    found = [_label(0, 15, panel.title, more=' font-weight="bold"')]
    found.append(_grid((left, down(mark), f"h{_said(wide)}") for mark in (0, 50, 100)))
    found.append(_numbers([(left - 6, down(mark) + 4, str(mark)) for mark in (0, 50, 100)], "end"))
    ticks = _thinned(whole_axis(plot.first, plot.last).ticks, wide)
    found.append(_numbers([(across(tick - plot.first), top + height + 16, text) for tick, text in ticks], "middle"))
    places = map(down, levels.values())
    found += [_rule(left, y, left + wide, y, MUTED, wide=1.5, dashed=True) for y in places]
    # Those with a name lie on top.
    found += [_path(line, across, down) for line in sorted(panel.lines, key=lambda one: one.is_named)]
    # Beside the lines, so that no label lies over them: each with where it begins, and how high it would be.
    labels = [(text, across(last), down(level), MUTED, "") for text, level in levels.items()]
    for line, place, state in named:
        model = f' data-model="{_plain(line.name)}"'
        labels.append((short[sanitize(line.name)], across(place), down(state), line.colour, model))
    spread = _spread([label[2] for label in labels], 14, top + 4, top + height)
    for (text, x, y, colour, model), where in zip(labels, spread, strict=True):
        if abs(where - y) > 3 or x < across(last):
            found.append(_rule(x + 5, y, left + wide + 15, where, colour))
        found.append(_label(left + wide + 17, where + 4, text, size=SMALL, colour=colour, more=model))
    return height + 56, found


def _path(line: Line, across: Callable[[float], float], down: Callable[[float], float]) -> str:
    inside = ""
    for is_known, run in groupby(enumerate(line.band), key=lambda one: one[1] is not None):
        ends = [(across(place), *map(down, of)) for place, of in run if of is not None]
        if len(ends) == 1:
            [(x, low, high)] = ends
            inside += _rule(x, low, x, high, line.colour, wide=2)
        elif is_known:
            there = [f"{_said(x)} {_said(high)}" for x, _, high in ends]
            back = [f"{_said(x)} {_said(low)}" for x, low, _ in reversed(ends)]
            inside += f'<path d="M{"L".join([*there, *back])}Z" fill="{line.colour}" opacity=".2"/>'
    points = [(place, across(place), down(state)) for place, state in line.known]
    there = [f"{_said(x)} {_said(y)}" for _, x, y in points]
    thick = 2 if line.is_named else 1
    inside += f'<path d="M{"L".join(there)}" fill="none" stroke="{line.colour}" stroke-width="{thick}"/>'
    if not line.is_named:
        inside += _title(line.name)
    elif line.shape:
        texts = line.texts or [""] * len(line.states)
        marks = (_shape(line.shape, x, y, radius=3.5, text=texts[place]) for place, x, y in points)
        inside += f"<g{_paint(line.shape, line.colour)}>{''.join(marks)}</g>"
    return f'<g data-model="{_plain(line.name)}">{inside}</g>'


def _spread(places: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Return places moved as little as it takes for them to be apart, within two ends if there is room.

    Examples
    --------
    >>> _spread([10, 12, 50], 14, 0, 100)
    [4.0, 18.0, 50.0]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    free = [places[place] - apart * step for step, place in enumerate(order)]
    found = [0.0] * len(places)
    for step, place in enumerate(order):
        # Isotonic regression, by its formula of means.
        ends = range(step + 1, len(order) + 1)
        fitted = max(min(fmean(free[begin:end]) for end in ends) for begin in range(step + 1))
        found[place] = max(low, min(fitted, high - apart * (len(order) - 1))) + apart * step
    return found


# Points.


def _points(plot: PointPlot, total: int) -> tuple[int, list[str]]:
    total = min(total, 560)
    height, left, top = 240, 56, 28
    wide, bottom = total - left - 20, top + height

    def across(value: float) -> float:
        return left + wide * plot.x.part(value)

    def down(value: float) -> float:
        return bottom - height * plot.y.part(value)

    found = [_label(0, 14, plot.y.title)]
    found.append(_grid((left, down(tick), f"h{wide}") for tick, _ in plot.y.ticks))
    found.append(_numbers([(left - 6, down(tick) + 4, text) for tick, text in plot.y.ticks], "end"))
    ticks = _thinned(plot.x.ticks, wide)
    found.append(_grid((across(tick), top, f"V{bottom}") for tick, _ in ticks))
    found.append(_numbers([(across(tick), bottom + 16, text) for tick, text in ticks], "middle"))
    found.append(_label(left + wide / 2, bottom + 38, plot.x.title, anchor="middle"))
    found.append(f'<g fill="none" stroke="{SKY}" stroke-width="1.5">')
    together: dict[tuple[float, float], list[str]] = {}
    for x, y, text in plot.points:
        together.setdefault((round(across(x), 1), round(down(y), 1)), []).append(text)
    for (x, y), texts in together.items():
        text = texts[0] if len(texts) == 1 else f"{len(texts)} of: {texts[0]}"
        found.append(_shape("circle", x, y, radius=4, text=text))
    found.append("</g>")
    return bottom + 48, found
