"""The top of a page: the sentences that answer, what a good score is, and the ranking in its tiers."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isfinite
from typing import Any

from attune_bench.report.answer import (
    chance_sentence,
    chances,
    good_score,
    leader_sentence,
    other_sentences,
    sentence,
    without_value_sentence,
)
from attune_bench.report.columns import interval, number
from attune_bench.report.page import breakable, element
from attune_bench.report.section_parts import PageScores
from attune_bench.report.standing import TIERS, called, rows_under, under
from attune_bench.report.tables import label
from attune_bench.report.words import interval_words, under_condition
from attune_bench.score_table import ScoreTable
from attune_data.issues import Html
from attune_data.text import plural, printable
from attune_metrics.metric import Metric

__all__ = ["answer_element"]

Rows = Sequence[Mapping[str, Any]]
_MARGIN = 0.04


def answer_element(page: PageScores) -> Html:
    """Return what a page says first, a block a condition."""
    table = page.table
    blocks = []
    for condition in table.conditions:
        sentences = [
            leader_sentence(page, condition),
            chance_sentence(page, condition),
            *other_sentences(page, condition),
            without_value_sentence(page, condition),
        ]
        first, *others = [sentence for sentence in sentences if sentence]
        terms = [element("div", element("dt", term), element("dd", said)) for term, said in good_score(page, condition)]
        parts = [element("p", sentence(first), class_="lead")]
        parts += [element("p", sentence(" ".join(others)))] if others else []
        parts.append(element("dl", *terms, class_="good"))
        rows = [row for row in rows_under(page.standing, condition) if row["value"] is not None]
        if rows:
            parts.append(_ranking(page, condition, rows))
        blocks.append(element("div", *parts, class_="answer"))
    return Html("".join(blocks))


def _ranking(page: PageScores, condition: str | None, rows: Rows) -> Html:
    """Return the models in their tiers, each with its value and interval as a bar."""
    table = page.table
    metric = table.metric(table.primary)
    random = chances(page, condition).get(metric.name)
    low, high = _axis(rows, metric, random)
    titled = under_condition(table, condition) if len(table.conditions) > 1 else ""
    has_tiers = any(row["tier"] is not None for row in rows)
    key = [] if random is None else [
        Html(" "), element("span", f"\u2506 random answers {number(random, metric)}", class_="random-key")
    ]  # fmt: skip
    ends = [element("span", number(end, metric)) for end in (low, high)]
    axis = element("span", element("span", ""), element("span", *ends, class_="ends"), class_="at", aria_hidden="true")
    heads = [
        element("th", "rank", scope="col"),
        element("th", "model", scope="col"),
        element("th", label(metric), *key, axis, scope="col", class_="text"),
    ]
    bodies = []
    for tier, group in groupby(rows, lambda row: row["tier"]):
        inside = [_row(table, row, metric, (low, high), random) for row in group]
        if tier is not None:
            inside.insert(0, element("tr", element("th", f"Tier {tier}", colspan="3", scope="rowgroup"), class_="tier"))
        bodies.append(element("tbody", *inside))
    caption = element("caption", f"Ranking by {label(metric)}{titled}")
    drawn = element("table", caption, element("thead", element("tr", *heads)), *bodies, class_="ranking")
    has_ranks = any(row["rank_low"] is not None for row in rows)
    of_ranks = " In brackets beside a rank: its own, resampled." if has_ranks else ""
    words = interval_words(table, page.chosen, under(page.standing, condition))
    said = f"Bars: {words}.{of_ranks} {TIERS if has_tiers else ''}"
    return Html(drawn + element("p", said.strip(), class_="quiet"))


def _row(
    table: ScoreTable, row: Mapping[str, Any], metric: Metric, ends: tuple[float, float], random: float | None
) -> Html:
    rank = "-" if row["rank"] is None else f"{row['rank']:g}"
    span = "" if row["rank_low"] is None else f"[{row['rank_low']:g}, {row['rank_high']:g}]"
    value, within = number(row["value"], metric), interval(row["low"], row["high"], metric)
    near = []
    if row["tier"] is not None and row["tier_first"] != row["tier_last"]:
        near = [element("small", f"not told apart: tiers {row['tier_first']}\u2013{row['tier_last']}")]
    kind = called(row["model"]).removeprefix(row["model"])
    marks = [Html(" "), element("small", kind.strip())] if kind else []
    why = [Html(" "), element("small", row["reason"])] if row["low"] is None and row["reason"] else []
    said = f"{called(row['model'])}: {value} {within}, n = {plural(row['n'], table.provenance.unit)}"
    return element(
        "tr",
        element("td", rank, *([Html(" "), element("small", span)] if span else [])),
        element("th", breakable(row["model"]), *marks, *near, scope="row"),
        element(
            "td",
            element(
                "span",
                element("span", value, Html(" "), element("small", within), *why),
                _bar(row, ends, random),
                class_="at",
            ),
            class_="bar",
        ),
        data_model=printable(row["model"]),
        title=said,
    )


def _axis(rows: Rows, metric: Metric, random: float | None) -> tuple[float, float]:
    """Return between which values the bars are drawn, none of them beyond what is possible."""
    found = [row[end] for row in rows for end in ("value", "low", "high")] + [random]
    known = [value for value in found if value is not None and isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    margin = _MARGIN * ((high - low) or abs(high) or 1.0)
    begin, end = max(low - margin, metric.low), min(high + margin, metric.high)
    # All models may be at one end of what is possible.
    return (begin, end) if begin < end else (low - margin, high + margin)


def _bar(row: Mapping[str, Any], ends: tuple[float, float], random: float | None) -> Html:
    low, high = ends

    def at(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.1f}%"

    marks = []
    if random is not None:
        marks.append(element("line", x1=at(random), x2=at(random), y1="0", y2="100%", class_="random"))
    if row["low"] is not None:
        marks.append(element("line", x1=at(row["low"]), x2=at(row["high"]), y1="50%", y2="50%"))
    if isfinite(row["value"]):
        marks.append(element("circle", cx=at(row["value"]), cy="50%", r="4.5"))
    return element("svg", *marks, class_="interval", aria_hidden="true")
