"""What figures share: palette, marks, axes, heat maps, saving.

Conventions
-----------
A figure shows one condition of one metric. Null values are left out. A line through a mark is its interval.

Colours are of Okabe and Ito's palette, which colour-blind readers can tell apart; marks that differ in colour differ in
shape too, and heat maps print their values. Every mark says its numbers where the pointer rests on it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import polars as pl

from attune_bench.report.columns import has_clusters, interval, label, number, row_p
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import sorted_groups
from attune_data.references import require
from attune_data.text import cut_in_middle, plural, sanitize, shortened, width, wrapped
from attune_metrics.metric import Metric


def short_names(texts: Iterable[str], most: int = 34, numbers: Mapping[str, int] | None = None) -> dict[str, str]:
    """Return by name what an axis says: names beyond `most` columns without their owner, or without their middle.

    Names that become equal lose the words that all of them begin with instead. Where they still become equal, every
    name gets a number: its number in `numbers`, or its position.

    Examples
    --------
    >>> short_names(["lab/short", "lab/a-rather-long-name-of-a-model-with-thinking-2026"])["lab/short"]
    'lab/short'
    >>> short_names(["lab/a-rather-long-name-of-a-model-with-thinking-2026"]).popitem()[1]
    'a-rather-long-na...h-thinking-2026'
    >>> short_names(["lab-a/model-with-thinking", "lab-b/model-without-thinking"], 24)["lab-a/model-with-thinking"]
    'model-with-thinking'
    >>> [*short_names(f"lab/a-rather-long-name-of-{size}-with-thinking-2026" for size in ("big", "small")).values()]
    ['...big-with-thinking-2026', '...small-with-thinking-2026']
    """
    given = list(dict.fromkeys(texts))
    places = numbers or {text: place for place, text in enumerate(given, start=1)}
    owned = {text: _OWNER.sub("", text) if width(text) > most else text for text in given}
    found = owned if len(set(owned.values())) == len(given) else {text: text for text in given}
    return _cut_apart(found, most) or {text: f"{places[text]}. {cut_in_middle(text, most)}" for text in given}


_OWNER = re.compile(r"^[^\s/]+/(?=[^\s/]+$)")


def _cut_apart(names: Mapping[str, str], most: int) -> dict[str, str]:
    """Return names cut so that they differ; none where they do not."""
    found = {text: cut_in_middle(name, most) for text, name in names.items()}
    alike: dict[str, list[str]] = {}
    for text, cut in found.items():
        alike.setdefault(cut, []).append(text)
    for group in alike.values():
        if len(group) > 1:
            prefix = commonprefix([names[text] for text in group])  # noqa: RUF071 - of characters
            shared = len(re.sub(r"[^\W_]*$", "", prefix))  # whole words
            found |= {text: shortened(f"...{names[text][shared:]}", most) for text in group}
    return found if len(set(found.values())) == len(found) else {}


if TYPE_CHECKING:
    import altair as alt

    Chart: TypeAlias = alt.LayerChart | alt.HConcatChart | alt.FacetChart


INK = "#1b1f24"
MUTED = "#5f6872"
GRID = "#e2e5e9"
PAPER = "#ffffff"
SKY = "#0072b2"
ORANGE = "#c25100"
WIDTH = 300
STEP = 26
RATIO = Metric(name="", label="", digits=3)
"""How a share or a correlation is written, which is of no metric."""

Rows = list[dict[str, Any]]


def altair() -> Any:
    """Return the module, or raise what to install."""
    return require("altair", "plots")


# Rows.


def rows_of(frame: pl.DataFrame, value: str, *, condition: str | None = None, metric: str | None = None) -> Rows:
    """Return the rows of one condition that have a value, of one metric where it is given.

    Text is made printable, but for the names of metrics, which are keys.

    Raises
    ------
    ValueError
        Where no row has a value, with the reason where all rows have the same, the frame is of something else, or
        `condition` does not say which of several.
    """
    if lacking := {"condition", value}.difference(frame.columns):
        raise ValueError(f"the frame has no column {min(lacking)!r}: is it of the analysis that this figure draws?")
    conditions = sorted(frame["condition"].unique().to_list(), key=lambda one: (one is not None, one or ""))
    if condition is None and len(conditions) > 1:
        raise ValueError(f"the conditions are {', '.join(map(repr, conditions))}; choose one with condition=...")
    if condition is not None and condition not in conditions:
        raise ValueError(f"no condition {condition!r}; expected one of {', '.join(map(repr, conditions))}")
    rows = [
        {key: sanitize(item) if isinstance(item, str) and key != "metric" else item for key, item in row.items()}
        for row in frame.iter_rows(named=True)
        if condition in (None, row["condition"]) and metric in (None, row.get("metric")) and row[value] is not None
    ]
    if not rows:
        raise nothing_to_draw(frame, f"{value}{f' of {metric!r}' if metric else ''}")
    return rows


def nothing_to_draw(frame: pl.DataFrame, value: str) -> ValueError:
    """Return an error for a frame without a value, with the reason where all rows have the same."""
    reasons = {*frame["reason"]} if "reason" in frame.columns else {None}
    why = reasons.pop() if len(reasons) == 1 else None
    return ValueError(f"nothing to draw: no {value}{f': {why}' if why else ''}")


def best_first(rows: Rows, key: str, metric: Metric) -> Rows:
    """Return rows, the best value first; the greatest where no direction is better; by name where none is greater."""
    return sorted(rows, key=lambda row: (0 if metric.own_scale else -metric.sign * row[key], row["model"]))


def scaled(rows: Rows, metric: Metric, *keys: str) -> Rows:
    """Return rows with values in the reported unit: multiplied by the scale of the metric."""
    return [row | {key: None if row[key] is None else row[key] * metric.scale for key in keys} for row in rows]


def unique(rows: Rows, key: str) -> list[str]:
    """Return the distinct values of a key in their order."""
    return list(dict.fromkeys(row[key] for row in rows))


def labels(table: ScoreTable, metrics: Iterable[str]) -> dict[str, str]:
    """Return by metric what reports call it; metrics of one label with their names, too."""
    found = {name: sanitize(label(table.metric(name))) for name in metrics}
    said = list(found.values())
    return {name: text if said.count(text) == 1 else f"{text} ({sanitize(name)})" for name, text in found.items()}


# What marks say.


def shown(row: Mapping[str, Any], key: str, metric: Metric, *, signed: bool = False) -> str:
    """Return a value with its interval."""
    ends = interval(row["low"], row["high"], metric, signed=signed)
    return f"{number(row[key], metric, signed=signed)} {ends}".rstrip()


def tested(table: ScoreTable, row: Mapping[str, Any], key: str, metric: Metric) -> str:
    """Return a difference with its interval, its corrected p-value, and what it rests on."""
    return f"{shown(row, key, metric, signed=True)}, Holm p {row_p(row)}, {sizes(table, row)}"


def sizes(table: ScoreTable, row: Mapping[str, Any]) -> str:
    """Return what a number rests on."""
    held = table.provenance
    clusters = f" ({sanitize(plural(row['clusters'], held.cluster))})" if has_clusters(table) else ""
    return f"n = {row['n']}{clusters}"


# Marks and axes.


def data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as the data of a chart."""
    # altair copies the items of a list whenever a chart is put into another, but never the items of a tuple.
    return altair().Data(values=tuple(rows))


def axis(
    channel: Literal["X", "Y"], field: str, title: str, *, domain: tuple[float, float] | None = None, ticks: int = 5
) -> Any:
    """Return a quantitative axis that need not begin at 0."""
    alt = altair()
    scale = alt.Scale(domain=domain) if domain else alt.Scale(zero=False, padding=8)
    marks = alt.Axis(tickCount=ticks, labelFlush=False, labelOverlap="greedy")
    return getattr(alt, channel)(f"{field}:Q", title=sanitize(title), scale=scale, axis=marks)


def names(field: str, order: Sequence[str]) -> Any:
    """Return the vertical axis of names, from the top; a line break in a name is one on the axis."""
    alt = altair()
    lines = r"split(datum.label, '\n')"
    # Two lines are set from the first on.
    offset = -8 if any("\n" in name for name in order) else 0
    text = alt.Axis(labelLimit=440, labelExpr=lines, labelOffset=offset, domain=False, ticks=False, labelPadding=8)
    return alt.Y(f"{field}:N", title=None, scale=alt.Scale(domain=list(order)), axis=text)


def hover() -> dict[str, Any]:
    """Return the channels by which a mark says its numbers."""
    alt = altair()
    # As channels, not texts: for a text altair looks through its whole schema for the channel that is meant.
    return {"tooltip": alt.Tooltip("text:N"), "description": alt.Description("text:N")}


def line(x: float, text: str = "") -> Any:
    """Return a broken vertical line, with its name above it."""
    alt = altair()
    base = alt.Chart(data([{"x": x, "name": text}]))
    rule = base.mark_rule(color=MUTED, strokeDash=[4, 3], strokeWidth=1.5, aria=False).encode(alt.X("x:Q"))
    if not text:
        return rule
    return rule + base.mark_text(color=MUTED, dy=-8, fontSize=12, aria=False).encode(
        alt.X("x:Q"), alt.YValue(0), text=alt.Text("name:N")
    )


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Rows against columns, coloured from orange, `reach` below the middle, to blue, as far above it.

    Attributes
    ----------
    rows : list of dict
        A dict a cell: its row, column and value, ``shown``, which is printed, ``text``, which the pointer reads,
        ``numbers``, which it reads of one of many cells, and at times ``small``, which is printed below.
    value : str
        The key of the coloured value.
    x, y : (str, sequence of str)
        A key, and the order of its values, of the columns and of the rows.
    middle, reach : float
        The value of the middle, and how far from it the colour no longer changes.
    numbers : mapping of str to int
        The number of each name that is a model's.
    """

    rows: Rows
    value: str
    x: tuple[str, Sequence[str]]
    y: tuple[str, Sequence[str]]
    middle: float
    reach: float
    numbers: Mapping[str, int] = field(default_factory=dict)


_ROW_WIDTH = 60
"""How wide the text of a row may be before it is cut into lines, in columns."""


_LETTER = 7
"""How wide a letter of a cell is, in pixels."""


def heatmap(cells: Cells) -> "Chart":
    """Return cells as a chart."""
    alt = altair()
    side = max(52, _LETTER * max(len(row[key]) for row in cells.rows for key in ("shown", "small") if key in row))
    below = any(row.get("small") for row in cells.rows)
    given = [cells.x[0], cells.y[0]]
    short = short_names([name for name in (*cells.x[1], *cells.y[1]) if name in cells.numbers], numbers=cells.numbers)
    others = [name for name in cells.y[1] if name not in cells.numbers]
    short |= {name: "\n".join(wrapped(name, _ROW_WIDTH)) for name in others}
    rows = [row | {key: short.get(row[key], row[key]) for key in given} for row in cells.rows]
    columns, lines = ([short.get(name, name) for name in order] for _, order in (cells.x, cells.y))
    horizontal = alt.X(
        f"{cells.x[0]}:N",
        title=None,
        scale=alt.Scale(domain=columns),
        axis=alt.Axis(orient="top", labelAngle=-45, labelLimit=320, domain=False, ticks=False),
    )
    base = alt.Chart(data(rows)).encode(horizontal, names(cells.y[0], lines))
    middle, reach = cells.middle, cells.reach
    # Pale at the middle and of one darkness at both ends; the sign is printed, so that it can be read in grey.
    colours = alt.Scale(
        domain=[middle - reach, middle, middle + reach],
        range=["#b34d09", "#f7f7f5", "#1f6fb4"],
        clamp=True,
        interpolate="lab",
    )
    # Black is at least 4.5 to 1 up to here, as is white from here on.
    far = f"abs(datum['{cells.value}'] - {middle}) > {0.92 * reach}"
    drawn = base.mark_rect(stroke=PAPER, strokeWidth=1.5).encode(
        color=alt.Color(f"{cells.value}:Q", scale=colours, legend=None), **hover()
    )
    colour = alt.ColorValue("black", condition={"test": far, "value": "white"})
    # Where a line is printed below, the first one is above the middle.
    dy = {"dy": alt.ExprRef("datum.small ? -7 : 0")} if below else {}
    texts = [base.mark_text(fontSize=12, **dy).encode(text=alt.Text("shown:N"), color=colour, **hover())]
    if below:
        texts.append(base.mark_text(fontSize=10, dy=8).encode(text=alt.Text("small:N"), color=colour, **hover()))
    height = (36 if below else 30) * len(lines)
    return styled(alt.layer(drawn, *texts).properties(width=side * len(columns), height=height))


def numbered(table: ScoreTable, rows: Rows, *keys: str, numbers: Mapping[Any, int] | None = None) -> dict[str, int]:
    """Return the models that rows name by one of the keys, from the best, each with its number on a page.

    `numbers` is by model and condition; without it, models are numbered by `attune_bench.report.tables.sorted_groups`.
    """
    ranked = sorted_groups(table) if table.primary in table.values.columns else []
    given = numbers or {group: place for place, group in enumerate(ranked, start=1)}
    there = {(row[key], row["condition"]) for row in rows for key in keys}
    found = {(sanitize(model), condition and sanitize(condition)): place for (model, condition), place in given.items()}
    others = sorted(there.difference(found), key=str)
    places = found | {group: place for place, group in enumerate(others, start=len(found) + 1)}
    return {group[0]: place for group, place in places.items() if group in there}


def styled(chart: Any) -> "Chart":
    """Return a chart in the report's type and colours."""
    alt = altair()
    text = {"labelFontSize": 14, "titleFontSize": 14, "labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"}
    # At once, as altair copies the whole chart for each part of a configuration.
    return _self_contained(
        chart.configure(
            background=PAPER,
            font="system-ui, sans-serif",
            padding=8,
            axis=alt.AxisConfig(**text, gridColor=GRID, domainColor=GRID, tickColor=GRID, titlePadding=8),
            header=alt.HeaderConfig(**text),
            legend=alt.LegendConfig(**text, columnPadding=28),
            view=alt.ViewConfig(stroke=None),
        )
    )


def _self_contained(chart: Any) -> "Chart":
    """Return a chart that a notebook displays as SVG: altair's own display loads its script from the network."""
    # A chart takes what is set for a part of its specification.
    object.__setattr__(chart, "__class__", _shown_as_svg(type(chart)))
    return cast("Chart", chart)


def _shown_as_svg(base: Any) -> type:
    """Return a class like one of altair's, with a display of its own."""

    def bundle(self: Any, *_: Any, **__: Any) -> dict[str, str]:
        return {"image/svg+xml": svg(self)}

    own = {"__doc__": base.__doc__, "__module__": base.__module__, "_repr_mimebundle_": bundle}
    return type(base.__name__, (base,), own)


# Specifications.


def svg(figure: "Chart") -> str:
    """Return a figure as SVG."""
    return str(require("vl_convert", "plots").vegalite_to_svg(specification(figure)))


def specification(figure: "Chart") -> dict[str, Any]:
    """Return a figure as a specification of Vega-Lite."""
    # altair refuses to draw more than 5,000 rows unless told. Its parts were validated when they were made.
    with altair().data_transformers.disable_max_rows():
        return dict(figure.to_dict(validate=False))
