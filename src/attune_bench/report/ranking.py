"""The ranking at the top of a page: models in their tiers, each with its value and interval on one axis."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from attune_bench.report.columns import OVERLAP, Row, any_overlap, interval, interval_words, label, number, words_under
from attune_bench.report.elements import breakable
from attune_bench.report.notes import ONE_SET
from attune_bench.report.plots import Axis, axis_of
from attune_bench.report.tables import called, under
from attune_bench.scores.provenance import CHANCE_BASELINE, kind_of_group
from attune_data.issues import Html, element
from attune_data.text import plural, pluralize, sanitize
from attune_metrics.metric import Metric

if TYPE_CHECKING:
    from attune_bench.report.answer import Answer


def shared_axis(answers: "Iterable[Answer]", metric: Metric) -> Axis:
    """Return the axis of the rankings of all conditions, which are compared by eye."""
    rows = [row for answer in answers for row in answer.rows]
    random = [answer.chances.get(metric.name) for answer in answers]
    return axis_of([*(row[end] for row in rows for end in ("value", "low", "high")), *random], metric)


def ranking_element(answer: "Answer", axis: Axis) -> Html:
    """Return the models in their tiers, each with its value and interval on the axis; `answer` has a row at least."""
    rows, metric, random = answer.rows, answer.metric, answer.chances.get(answer.metric.name)
    lines = [] if random is None else [(random, "random")]
    lines += [(row["value"], "baseline") for row in rows if _is_baseline(row)]
    tiers = max((row["tier"] or 0 for row in rows), default=0)
    heads = [element("th", name, scope="col") for name in (*(["tier"] if tiers else []), "rank", "model")]
    key = [] if random is None else [element("span", f"\u2506 random answers {number(random, metric)}", class_="key")]
    top = element("span", element("span", label(metric)), _top(axis), class_="at")
    heads.append(element("th", *key, top, scope="col", class_="bar"))
    unit = answer.page.table.provenance.unit
    body = element("tbody", *(_row(unit, row, metric, axis, lines, tiers) for row in rows))
    shown = "Values of" if metric.higher_is_better is None else "Ranking by"
    caption = element("caption", f"{shown} {label(metric)}{words_under(answer.page.table, answer.condition)}")
    return element("table", caption, element("thead", element("tr", *heads)), body, class_="ranking")


def ranking_notes(answer: "Answer", axis: Axis, meanings: Mapping[str, str]) -> Html:
    """Return how a ranking is read, and what baselines do: `meanings` by their names after ``baseline/``."""
    said = [element("p", " ".join(_said(answer, axis)), class_="quiet")]
    names = [row["model"].partition("/")[2] for row in answer.rows if _is_baseline(row)]
    if found := [f"{name}: {meanings[name]}" for name in names if name in meanings]:
        said.append(element("p", f"Baselines, which use no model. {' '.join(found)}", class_="quiet"))
    return Html("".join(said))


def _is_baseline(row: Row) -> bool:
    return kind_of_group(row["model"]) == "baseline"


def _said(answer: "Answer", axis: Axis) -> list[str]:
    """Return sentences: what the metric is, the bars, the axis, the lines, and how a rank differs from a tier."""
    page, rows, metric = answer.page, answer.rows, answer.metric

    def some(key: str) -> bool:
        return any(row[key] is not None for row in rows)

    found = [f"{metric.label}: {metric.meaning}."] if metric.meaning else []
    if some("low"):
        found.append(f"Bars: {interval_words(page.table, page.chosen, under(page.ranking, answer.condition))}.")
    if _overlap_though_different(answer):
        found.append(OVERLAP.format(pluralize(page.table.provenance.unit)))
    if any(axis.broken):
        found.append(f"The axis shows a part of the possible range: {axis.low:g} to {axis.high:g}.")
    if any(map(_is_baseline, rows)):
        found.append("Hollow marks and dotted lines: baselines.")
    if metric.name in answer.chances and any(row["model"] == CHANCE_BASELINE for row in rows):
        found.append(ONE_SET)
    if some("rank_low") or some("tier"):
        own = " (in brackets: the interval of the rank, by resampling)" if some("rank_low") else ""
        found.append(f"A rank orders models by value alone{own}.")
    if some("tier"):
        found.append(
            "A tier (the band at the left) begins with its best model. The first model that is significantly worse "
            "than this best model begins the next tier (paired test, Holm-corrected over all pairs)."
        )
    if any(row["tier_first"] != row["tier_last"] for row in rows):
        found.append(
            "The bands of a row reach from the first to the last tier with a model that does not differ significantly "
            "from the model of the row."
        )
    return found


def _overlap_though_different(answer: "Answer") -> bool:
    """Tell whether the intervals of two models overlap, and the two differ significantly."""
    ends = {row["model"]: (row["low"], row["high"]) for row in answer.rows}
    different = (pair for pair, sign in answer.signs.items() if sign and ends.keys() >= {*pair})
    return any(any_overlap(map(ends.__getitem__, pair)) for pair in different)


def _top(axis: Axis) -> Html:
    """Return the numbers along the axis, and a mark at each end beyond which values are possible."""
    numbers = [element("span", text, style=f"left: {axis.at(value)}") for value, text in axis.ticks]
    breaks = [
        element("span", "//", class_=f"break {end}")
        for end, broken in zip(("first", "last"), axis.broken, strict=True)
        if broken
    ]
    return element("span", *numbers, *breaks, class_="plot", aria_hidden="true")


def _row(unit: str, row: Row, metric: Metric, axis: Axis, lines: Sequence[tuple[float, str]], tiers: int) -> Html:
    rank = "-" if row["rank"] is None else f"{row['rank']:g}"
    span = "" if row["rank_low"] is None else f"[{row['rank_low']:g}, {row['rank_high']:g}]"
    value, within = number(row["value"], metric), interval(row["low"], row["high"], metric)
    kind = called(row["model"]).removeprefix(row["model"])
    marks = [Html(" "), element("small", kind.strip())] if kind else []
    why = [Html(" "), element("small", row["reason"])] if row["low"] is None and row["reason"] else []
    said = f"{called(row['model'])}: {value} {within}, n = {plural(row['n'], unit)}"
    shown = element("span", value, Html(" "), element("small", within), *why)
    cells = [
        *([_tier(row, tiers)] if tiers else []),
        element("td", rank, *([Html(" "), element("small", span)] if span else []), class_="rank"),
        element("th", breakable(row["model"]), *marks, scope="row"),
        element("td", element("span", shown, _bar(row, metric, axis, lines), class_="at"), class_="bar"),
    ]
    return element("tr", *cells, data_model=sanitize(row["model"]), title=said)


def _tier(row: Row, tiers: int) -> Html:
    """Return the tier of a model with its band, and thin bands for the others from `tier_first` to `tier_last`."""
    tier, first, last = row["tier"], row["tier_first"], row["tier_last"]
    if tier is None:
        return element("td", "", class_="tier")
    also = [Html(" "), element("small", f"{first}\u2013{last}")] if first != last else []

    def band(place: int) -> Html:
        x = f"{100 * (place - 0.5) / tiers:.1f}%"
        return element("line", x1=x, x2=x, y1="0", y2="100%", class_="own" if place == tier else "near")

    bands = element("svg", *map(band, range(first, last + 1)), aria_hidden="true")
    return element("td", bands, str(tier), *also, class_="tier")


def _bar(row: Row, metric: Metric, axis: Axis, lines: Sequence[tuple[float, str]]) -> Html:
    def at(value: float) -> str:
        return axis.at(value * metric.scale)

    marks = [
        element("line", x1=axis.at(tick), x2=axis.at(tick), y1="0", y2="100%", class_="grid") for tick, _ in axis.ticks
    ]
    marks += [element("line", x1=at(one), x2=at(one), y1="0", y2="100%", class_=kind) for one, kind in lines]
    if row["low"] is not None:
        marks.append(element("line", x1=at(row["low"]), x2=at(row["high"]), y1="50%", y2="50%"))
    if isfinite(row["value"]):
        hollow = {"class_": "hollow"} if _is_baseline(row) else {}
        marks.append(element("circle", cx=at(row["value"]), cy="50%", r="4.5", **hollow))
    return element("span", element("svg", *marks, class_="interval", aria_hidden="true"), class_="plot")
