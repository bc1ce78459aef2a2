"""Figures of published boards that names would make too tall, or that set two judges against each other."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from attune_bench.report import drawing

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

_SIDE = 400


def _places(channel: str, field: str, title: str, last: int) -> Any:
    """Return an axis of ranks, 1 to the last."""
    alt = drawing.altair()
    scale = alt.Scale(domain=[0, last + 1], nice=False)
    return getattr(alt, channel)(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=8, format="d"))


def _equal(last: int) -> Any:
    """Return the line on which two ranks are equal."""
    alt = drawing.altair()
    ends = [{"one": place, "two": place} for place in (1, last)]
    mark = alt.Chart(drawing.data(ends)).mark_line(color=drawing.MUTED, strokeDash=[4, 3], strokeWidth=1, aria=False)
    return mark.encode(alt.X("one:Q"), alt.Y("two:Q"))


def intervals_of_ranks(models: pl.DataFrame) -> "Chart":
    """Draw the interval of each rank above the rank itself, without names, from the frame of `tiers`."""
    alt = drawing.altair()
    rows = models.select("model", one="rank", low="low", high="high").to_dicts()
    base = alt.Chart(drawing.data(rows)).encode(_places("X", "one", "rank on the board", len(rows)))
    bars = base.mark_rule(color=drawing.SKY, strokeWidth=2, aria=False).encode(
        _places("Y", "low", "95% interval of the rank", len(rows)), alt.Y2("high:Q")
    )
    return drawing.styled(alt.layer(_equal(len(rows)), bars).properties(width=_SIDE, height=_SIDE))


def two_judges(ranks: pl.DataFrame, titles: tuple[str, str]) -> "Chart":
    """Draw the rank of each model by one judge and by another, with the names of the three that move most."""
    alt = drawing.altair()
    moved = (pl.col("one") - pl.col("two")).abs()
    found = ranks.select("model", one="rating", two="rating_right").sort(moved, descending=True, maintain_order=True)
    rows = found.to_dicts()
    names = [row | {"name": row["model"].rpartition("/")[2]} for row in rows[:3]]
    x, y = (_places(*each, len(rows)) for each in (("X", "one", titles[0]), ("Y", "two", titles[1])))
    points = alt.Chart(drawing.data(rows)).mark_point(color=drawing.SKY, filled=True, opacity=1, size=50, aria=False)
    said = alt.Chart(drawing.data(names)).mark_text(align="left", dx=8, fontSize=12, color=drawing.INK, aria=False)
    layers = (_equal(len(rows)), points.encode(x, y), said.encode(x, y, text=alt.Text("name:N")))
    return drawing.styled(alt.layer(*layers).properties(width=_SIDE, height=_SIDE))


def people_and_judges(people: Mapping[str, float], judges: Sequence[Mapping[str, float]]) -> "Chart":
    """Draw the mean rating of each responder by people, a cross, and by each judge, circles."""
    alt = drawing.altair()
    order = sorted(people, key=lambda name: -people[name])
    by_judges = [{"name": name, "at": means[name]} for means in judges for name in order]
    by_people = [{"name": name, "at": people[name], "most": max(means[name] for means in judges)} for name in order]
    title = f"mean rating, 1 to 5: people (cross) and {len(judges)} judges (circles)"
    x, y = drawing.axis("X", "at", title), drawing.names("name", order)
    solid = {"filled": True, "opacity": 1, "aria": False}
    own = alt.Chart(drawing.data(by_people))
    layers = (
        own.mark_rule(color=drawing.GRID, strokeWidth=3, aria=False).encode(x, alt.X2("most:Q"), y),
        alt.Chart(drawing.data(by_judges)).mark_point(color=drawing.SKY, size=60, **solid).encode(x, y),
        own.mark_point(color=drawing.ORANGE, shape="cross", size=120, **solid).encode(x, y),
    )
    return drawing.styled(alt.layer(*layers).properties(width=_SIDE, height=30 * len(order)))
