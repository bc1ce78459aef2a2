"""What the figures share: palette, marks, heat maps, saving."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from attune_bench.benchmarks.attunebench.analyses._common import direction
from attune_bench.report.text import GROUPS, Line
from attune_bench.stats_tables import interval, number
from attune_data.extras import require
from attune_data.io.files import write_whole
from attune_data.text import plural, printable
from attune_metrics.catalog import CATALOG
from attune_metrics.errors import MetricInputError

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    Figure: TypeAlias = alt.LayerChart | alt.HConcatChart | alt.FacetChart

__all__ = [
    "GRID",
    "INK",
    "LINES",
    "MUTED",
    "ORANGE",
    "PAPER",
    "PROFILED",
    "SKY",
    "STEP",
    "WIDTH",
    "altair",
    "axis",
    "data",
    "dumbbell",
    "estimates",
    "heatmap",
    "hover",
    "label",
    "line",
    "names",
    "printed",
    "ranked",
    "rows_of",
    "save",
    "shown",
    "sizes",
    "styled",
    "svg",
    "unique",
]

INK, MUTED, GRID, PAPER, SKY, ORANGE = "#1b1f24", "#5f6872", "#e2e5e9", "#ffffff", "#0072b2", "#d55e00"
WIDTH, STEP = 300, 26
LINES: Mapping[str, Line] = {line.key or line.metric: line for lines in GROUPS.values() for line in lines}
PROFILED = [key for key, line in LINES.items() if (CATALOG[line.metric].low, CATALOG[line.metric].high) == (0, 1)]

Rows = list[dict[str, Any]]


def altair() -> Any:
    """Return the module, or raise what to install."""
    return require("altair", "plots")


def label(metric: str) -> str:
    """Return how reports call a metric; its own name where no report shows it.

    Examples
    --------
    >>> label("avg_emotion_va_score"), label("panas_mae")
    ('Emotion VA', 'panas_mae')
    """
    return LINES[metric].label if metric in LINES else metric


def rows_of(frame: "pl.DataFrame", mode: str | None, value: str, *, metric: str | None = None) -> Rows:
    """Return the rows of one mode that have a value, of one metric where it is given; text is made printable.

    Raises
    ------
    ValueError
        Where there is none, the frame is of something else, or `mode` does not say which of several.
    """
    if lacking := {"mode", value}.difference(frame.columns):
        raise ValueError(f"the frame has no column {min(lacking)!r}: is it of the analysis that this figure draws?")
    modes = sorted(frame["mode"].unique())
    if mode is None and len(modes) > 1:
        raise ValueError(f"there are the modes {', '.join(map(repr, modes))}; choose one with mode=...")
    if mode is not None and mode not in modes:
        raise ValueError(f"no mode {mode!r}; there are {', '.join(map(repr, modes)) or 'none'}")
    rows = [
        printed(row)
        for row in frame.iter_rows(named=True)
        if mode in (None, row["mode"]) and metric in (None, row.get("metric")) and row[value] is not None
    ]
    if not rows:
        raise ValueError(f"nothing to draw: no {value}{f' of {metric!r}' if metric else ''}")
    return rows


def printed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose text is printable."""
    return {key: printable(item) if isinstance(item, str) else item for key, item in row.items()}


def ranked(rows: Rows, key: str, metric: str) -> Rows:
    """Return rows, the best value first; the greatest where no direction is better."""
    try:
        sign = direction(metric)
    except MetricInputError:
        sign = 1
    return sorted(rows, key=lambda row: (-sign * row[key], row["model"]))


def unique(rows: Rows, key: str) -> list[str]:
    """Return the distinct values of a key in their order."""
    return list(dict.fromkeys(row[key] for row in rows))


def shown(row: Mapping[str, Any], key: str, metric: str = "", *, signed: bool = False) -> str:
    """Return a value with its interval."""
    ends = f" {interval(row['low'], row['high'], metric, signed=signed)}" if row["low"] is not None else ""
    return f"{number(row[key], metric, signed=signed)}{ends}"


def sizes(row: Mapping[str, Any]) -> str:
    """Return what a number rests on."""
    return f"n = {row['n']} ({plural(row['participants'], 'participant')})"


def data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as the data of a chart."""
    return altair().Data(values=list(rows))


def axis(
    channel: Literal["X", "Y"], field: str, title: str, *, domain: tuple[float, float] | None = None, ticks: int = 5
) -> Any:
    """Return a quantitative axis that need not begin at 0."""
    alt = altair()
    scale = alt.Scale(domain=domain) if domain else alt.Scale(zero=False, padding=8)
    marks = alt.Axis(tickCount=ticks, labelFlush=False, labelOverlap="greedy")
    return getattr(alt, channel)(f"{field}:Q", title=title, scale=scale, axis=marks)


def names(field: str, order: Sequence[str]) -> Any:
    """Return the vertical axis of names, from the top."""
    alt = altair()
    text = alt.Axis(labelLimit=250, domain=False, ticks=False, labelPadding=8)
    return alt.Y(f"{field}:N", title=None, scale=alt.Scale(domain=list(order)), axis=text)


def hover() -> dict[str, Any]:
    """Return the channels by which a mark says its numbers."""
    return {"tooltip": "text:N", "description": "text:N"}


def estimates(rows: Rows, x: Any, y: Any) -> list[Any]:
    """Return the layers of values with their intervals."""
    alt = altair()
    found = [row for row in rows if row["low"] is not None]
    bars = alt.Chart(data(found)).mark_rule(color=SKY, strokeWidth=2)
    points = alt.Chart(data(rows)).mark_point(color=SKY, filled=True, size=80, opacity=1)
    drawn = [bars.encode(alt.X("low:Q"), alt.X2("high:Q"), y, **hover())] if found else []
    return [*drawn, points.encode(x, y, **hover())]


def line(x: float, text: str = "") -> Any:
    """Return a broken vertical line, with its name above it."""
    alt = altair()
    base = alt.Chart(data([{"x": x, "name": text}]))
    rule = base.mark_rule(color=MUTED, strokeDash=[4, 3], strokeWidth=1.5, aria=False).encode(alt.X("x:Q"))
    if not text:
        return rule
    return rule + base.mark_text(color=MUTED, dy=-8, fontSize=13, aria=False).encode(
        alt.X("x:Q"), y=alt.value(0), text=alt.Text("name:N")
    )


def dumbbell(rows: Rows, kinds: Mapping[str, str], y: Any, title: str) -> Any:
    """Return two or three values a row, from the first to the last of `kinds`, joined by a line."""
    alt = altair()
    ends = list(kinds)
    points = [{**row, "kind": kinds[kind], "at": row[kind]} for row in rows for kind in kinds if row[kind] is not None]
    shapes, colours, fills = ["circle", "stroke", "diamond"], [SKY, MUTED, ORANGE], [PAPER, PAPER, ORANGE]
    if len(ends) == 2:
        shapes, colours, fills = (list(them[::2]) for them in (shapes, colours, fills))
    domain = list(kinds.values())
    legend = alt.Legend(title=None, orient="top", direction="horizontal", labelLimit=260, symbolSize=90)
    joined = alt.Chart(data(rows)).mark_rule(color=MUTED, strokeWidth=1.5)
    marks = alt.Chart(data(points)).mark_point(size=90, opacity=1, strokeWidth=2)
    return alt.layer(
        joined.encode(alt.X(f"{ends[0]}:Q"), alt.X2(f"{ends[-1]}:Q"), y, **hover()),
        marks.encode(
            axis("X", "at", title),
            y,
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=domain, range=shapes), legend=legend),
            stroke=alt.Stroke("kind:N", scale=alt.Scale(domain=domain, range=colours), legend=legend),
            fill=alt.Fill("kind:N", scale=alt.Scale(domain=domain, range=fills), legend=legend),
            **hover(),
        ),
    )


def heatmap(
    rows: Rows, value: str, x: tuple[str, Sequence[str]], y: tuple[str, Sequence[str]], *, middle: float, reach: float
) -> "Figure":
    """Return cells whose colour goes from orange, `reach` below the middle, to blue, as far above it.

    A cell prints ``shown`` of its row. `x` and `y` are each a field and the order of its values.
    """
    alt = altair()
    side = 52
    horizontal = alt.X(
        f"{x[0]}:N",
        title=None,
        scale=alt.Scale(domain=list(x[1])),
        axis=alt.Axis(orient="top", labelAngle=-45, labelLimit=250, domain=False, ticks=False),
    )
    vertical = names(y[0], y[1])
    base = alt.Chart(data(rows)).encode(horizontal, vertical)
    # Pale at the middle and of one darkness at both ends; the sign is printed, so that it can be read in grey.
    colours = alt.Scale(
        domain=[middle - reach, middle, middle + reach],
        range=["#b34d09", "#f7f7f5", "#1f6fb4"],
        clamp=True,
        interpolate="lab",
    )
    # Black is at least 4.5 to 1 up to here, as is white from here on.
    far = f"abs(datum['{value}'] - {middle}) > {0.92 * reach}"
    cells = base.mark_rect(stroke=PAPER, strokeWidth=1.5).encode(
        color=alt.Color(f"{value}:Q", scale=colours, legend=None), **hover()
    )
    text = base.mark_text(fontSize=13).encode(
        text="shown:N", color=alt.condition(far, alt.value("white"), alt.value("black")), **hover()
    )
    return styled(alt.layer(cells, text).properties(width=side * len(x[1]), height=30 * len(y[1])))


def styled(chart: Any) -> "Figure":
    """Return a chart in the report's type and colours."""
    text = {"labelFontSize": 14, "titleFontSize": 14, "labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"}
    return cast(
        "Figure",
        chart.configure(background=PAPER, font="Arial, 'Liberation Sans', Helvetica, sans-serif", padding=8)
        .configure_axis(**text, gridColor=GRID, domainColor=GRID, tickColor=GRID, titlePadding=8)
        .configure_header(**text)
        .configure_legend(**text, columnPadding=28)
        .configure_view(stroke=None),
    )


def save(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG, PNG, PDF or HTML, by the ending of the name.

    Parameters
    ----------
    figure : altair chart
        What a function of this module gives, or any other chart.
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
        content = figure.to_html(inline=True).encode()
    elif ending == "svg":
        content = svg(figure).encode()
    else:
        convert = require("vl_convert", "plots")
        specification = _specification(figure)
        if ending == "png":
            content = convert.vegalite_to_png(specification, scale=2)
        else:
            content = convert.vegalite_to_pdf(specification)
    write_whole(target, [content])


def svg(figure: "Figure") -> str:
    """Return a figure as SVG."""
    return str(require("vl_convert", "plots").vegalite_to_svg(_specification(figure)))


def _specification(figure: "Figure") -> dict[str, Any]:
    # altair refuses to draw more than 5,000 rows unless told.
    with altair().data_transformers.disable_max_rows():
        return dict(figure.to_dict())
