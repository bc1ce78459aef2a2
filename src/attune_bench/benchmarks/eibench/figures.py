"""The figure of this benchmark's own: the person's state, round by round."""

from typing import TYPE_CHECKING

import polars as pl

from attune_bench.report.drawing import ORANGE, SKY, Rows, altair, data, hover, styled, unique
from attune_data.eibench.records import scenes
from attune_data.text import plural, printable

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

__all__ = ["trajectories"]

_LOOKS = {"anger": (ORANGE, "circle"), "trust": (SKY, "square")}


def trajectories(states: pl.DataFrame, model: str, *, last: int) -> "Chart":
    """Draw the mean anger and trust after each round in the conversations of one model, a panel for each scene.

    A shaded band is the interval of the mean.

    Parameters
    ----------
    states : polars.DataFrame
        What `attune_bench.benchmarks.eibench.states.mean_states` gives.
    model : str
        One of its models.
    last : int
        The round that the panels go to: the last that a conversation may have.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    ValueError
        Where the frame has no state of the model.
    ImportError
        Where the extra ``plots`` is not installed.

    Examples
    --------
    >>> from attune_bench.benchmarks.eibench.states import mean_states
    >>> from attune_data import Episode, load_scenarios
    >>> said = {"role": "aggressor", "content": "Oh.", "meta": {"anger": 70, "trust": 25}}
    >>> history = [{"role": "aggressor", "content": "Well?"}, {"role": "defender", "content": "I see."}, said]
    >>> ends = {"final_anger": 70, "final_trust": 25, "history": history}
    >>> states = mean_states([Episode(profile_id="demo_support_01", model="m", **ends)], load_scenarios("demo"))
    >>> type(trajectories(states, "m", last=8)).__name__
    'FacetChart'
    """
    alt = altair()
    rows: Rows = states.filter(model=model).drop_nulls("mean").to_dicts()
    if not rows:
        raise ValueError(f"nothing to draw: no state of model {printable(model)!r}")
    for row in rows:
        ends = "" if row["low"] is None else f" [{row['low']:.1f}, {row['high']:.1f}]"
        where = f"{printable(row['model'])}, {row['scene']}, round {row['round']}"
        row["text"] = f"{where}: mean {row['axis']} {row['mean']:.1f}{ends}, n = {plural(row['n'], 'scenario')}"
        row["title"] = scenes()[row["scene"]].title
    axes = list(_LOOKS)
    colours, shapes = ([_LOOKS[axis][part] for axis in axes] for part in (0, 1))
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=80, symbolOpacity=1)
    rounds = alt.Axis(tickMinStep=1, grid=False, labelFlush=False)
    x = alt.X("round:Q", title="round", scale=alt.Scale(domain=[0, last]), axis=rounds)
    y = alt.Y("mean:Q", title=None, scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5))
    colour = alt.Scale(domain=axes, range=colours)
    base = alt.Chart()
    band = base.mark_area(opacity=0.2, aria=False).transform_filter("isValid(datum.low)")
    lines = base.mark_line(strokeWidth=2, aria=False)
    points = base.mark_point(size=40, filled=True, opacity=1)
    chart = alt.layer(
        band.encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), fill=alt.Fill("axis:N", scale=colour, legend=legend)),
        lines.encode(x, y, stroke=alt.Stroke("axis:N", scale=colour, legend=None)),
        points.encode(
            x,
            y,
            fill=alt.Fill("axis:N", scale=colour, legend=legend),
            shape=alt.Shape("axis:N", scale=alt.Scale(domain=axes, range=shapes), legend=legend),
            **hover(),
        ),
        data=data(rows),
    ).properties(width=215, height=110)
    header = alt.Header(labelAnchor="start", labelFontWeight="bold", title=None)
    panels = alt.Facet("title:N", sort=unique(rows, "title"), header=header)
    return styled(chart.facet(panels, columns=2, spacing=16))
