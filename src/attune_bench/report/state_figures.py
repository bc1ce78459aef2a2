"""The figure of how the state of a simulated person moves in the dialogues of several models."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attune_bench.report.drawing import INK, MUTED, ORANGE, SKY, Rows, altair, data, hover, styled
from attune_bench.report.fitting import short_names
from attune_data.text import printable

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

__all__ = ["state_paths"]

# Mid-tones that read on a light and on a dark page; a shape is added, so that colour alone tells nothing.
_COLOURS = (SKY, ORANGE, "#008a62", "#b5578e", "#8a7000", INK)
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")
_PANEL, _HEIGHT, _LEGEND_COLUMNS = 330, 200, 3


def state_paths(
    paths: Mapping[str, Mapping[str, Sequence[float | None]]],
    *,
    anchors: Mapping[str, Mapping[str, float | None]],
    last: int,
) -> "Chart":
    """Draw the states of a person round by round, a panel for each axis, with a line for each model.

    A line ends with its dialogue; the panel goes on to the last round that a dialogue may have.

    Parameters
    ----------
    paths : mapping
        By axis, which titles its panel, and model the states, 0 to 100: at the start, then after each round; None where
        none is known.
    anchors : mapping
        By axis what is drawn as a broken line: the state, 0 to 100, by its name.
    last : int
        The last round that a dialogue may have.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    ValueError
        Where no state is known.
    ImportError
        Where the extra ``plots`` is not installed.

    Examples
    --------
    >>> chart = state_paths({"anger": {"m": [60, 50]}}, anchors={"anger": {"target": 20, "worst": None}}, last=8)
    >>> type(chart).__name__
    'FacetChart'
    """
    alt = altair()
    known = {axis: {name: path for name, path in of_axis.items() if any(s is not None for s in path)}
             for axis, of_axis in paths.items()}  # fmt: skip
    order = list(dict.fromkeys(name for of_axis in known.values() for name in of_axis))
    if not order:
        raise ValueError("nothing to draw: no state is known")
    short = short_names(map(printable, order))
    domain = list(short.values())
    colours = [_COLOURS[place % len(_COLOURS)] for place in range(len(domain))]
    # Two models of one colour differ in shape.
    shapes = [_SHAPES[(place % len(_COLOURS) + place // len(_COLOURS)) % len(_SHAPES)] for place in range(len(domain))]
    legend = alt.Legend(title=None, orient="bottom", columns=_LEGEND_COLUMNS, labelLimit=320, symbolSize=80)
    rows: Rows = [
        {"axis": printable(axis), "name": short[printable(name)], "round": place, "state": state,
         "text": f"{printable(name)}, round {place}: {printable(axis)} {state:.4g}"}
        for axis, of_axis in known.items()
        for name, path in of_axis.items()
        for place, state in enumerate(path)
        if state is not None
    ]  # fmt: skip
    rows += [
        {"axis": printable(axis), "anchor": f"{name} {state:.4g}", "state": state}
        for axis in known
        for name, state in anchors.get(axis, {}).items()
        if state is not None
    ]
    x = alt.X("round:Q", title="round", scale=alt.Scale(domain=[0, last]), axis=alt.Axis(tickMinStep=1, grid=False))
    y = alt.Y("state:Q", title=None, scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5))
    colour = alt.Scale(domain=domain, range=colours)
    anchored = alt.Chart().transform_filter("isValid(datum.anchor)")
    drawn = alt.Chart().transform_filter("isValid(datum.round)")
    rules = anchored.mark_rule(color=MUTED, strokeDash=[4, 3], strokeWidth=1.5, aria=False).encode(y)
    texts = anchored.mark_text(color=MUTED, fontSize=12, align="right", dy=-6, aria=False).encode(
        y, x=alt.value("width"), text="anchor:N"
    )
    lines = drawn.mark_line(strokeWidth=2, aria=False).encode(
        x, y, stroke=alt.Stroke("name:N", scale=colour, legend=legend), order="round:Q"
    )
    points = drawn.mark_point(size=55, filled=True, opacity=1).encode(
        x,
        y,
        fill=alt.Fill("name:N", scale=colour, legend=legend),
        shape=alt.Shape("name:N", scale=alt.Scale(domain=domain, range=shapes), legend=legend),
        **hover(),
    )
    chart = alt.layer(rules, lines, points, texts, data=data(rows)).properties(width=_PANEL, height=_HEIGHT)
    header = alt.Header(labelAnchor="start", labelFontWeight="bold", title=None)
    panels = alt.Facet("axis:N", sort=list(map(printable, known)), header=header)
    return styled(chart.facet(panels, columns=2, spacing=24))
