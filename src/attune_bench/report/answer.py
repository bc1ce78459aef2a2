"""What a page answers first: who leads, who is not told apart, what a good score is; the ranking, and pairs."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from math import isfinite
from typing import Any

from attune_bench.report.columns import (
    drawn,
    interval,
    interval_words,
    label,
    number,
    range_words,
    under_condition,
)
from attune_bench.report.page import breakable
from attune_bench.report.page_scores import PageScores
from attune_bench.report.tables import (
    TIERS,
    called,
    rows_under,
    signs_of,
    under,
)
from attune_bench.scores.provenance import CHANCE_BASELINE, kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import differences
from attune_bench.stats.options import ALPHA
from attune_data.issues import Html, element
from attune_data.text import plural, sanitize
from attune_metrics.metric import Metric

_MOST_NAMED = 4

Rows = Sequence[Mapping[str, Any]]


def chances(page: PageScores, condition: str | None) -> dict[str, float]:
    """Return what random answers score on average, by metric, as far as it is known and may be shown."""
    return {row["metric"]: row["chance"] for row in rows_under(page.chance.drop_nulls("chance"), condition)}


def sentences(page: PageScores, condition: str | None) -> list[str]:
    """Return what a page says of one condition: the best model, how it compares, random answers, and what is lacking.

    The model is the best of the models; people and baselines are among those that it is compared with.
    """
    table = page.table
    metric = table.metric(table.primary)
    rows = _with_value(page, condition)
    if not rows:
        return [f"No model has a value of {metric.label}{_under(table, condition)} that can be shown."]
    models = _of_models(rows)
    best = [row["model"] for row in models if row["value"] == models[0]["value"]]
    if metric.higher_is_better is None:
        found = [f"No model is the best: neither higher nor lower values of {metric.label} are better."]
    else:
        which = "the value" if len(models) == 1 else "the best value"
        value = f"{_estimate(models[0], metric)} in {metric.label}{_under(table, condition)}"
        found = [f"{_listed(best)} {_have(best)} {which} {value}.", *_compared(page, best[0], rows, condition)]
    lacking = [row["model"] for row in rows_under(page.standing, condition) if row["value"] is None]
    without = [f"{_listed(lacking)} {_have(lacking)} no value that can be shown."] if lacking else []
    return [*found, *_random_answers(page, condition, models), *without]


def _compared(page: PageScores, best: str, rows: Rows, condition: str | None) -> list[str]:
    """Say how all others compare with the best model."""
    table = page.table
    others = [row["model"] for row in rows if row["model"] != best]
    if not others:
        return []
    if table.provenance.mixed and differences(table):
        return ["The runs differ in what changes an answer, so no model can be said to lead."]
    pairs = [] if page.pairs.is_empty() else rows_under(page.pairs, condition)
    if not pairs:
        return ["No test compares the models."]
    signs = signs_of(pairs, table.metric(table.primary))
    verdicts = {
        1: "significantly worse", -1: "significantly better", 0: "not significantly different", None: "not compared",
    }  # fmt: skip
    groups = [([one for one in others if signs.get((best, one)) == sign], said) for sign, said in verdicts.items()]
    said = "; ".join(f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {said}" for names, said in groups if names)
    found = [f"Compared with {_called(best)} on the {table.provenance.unit}s that both have: {said}."]
    smallest = min((row["p_min"] for row in pairs if row["p_min"] is not None), default=0)
    if smallest * pairs[0]["family"] >= ALPHA:
        found.append(f"No two models differ on enough {drawn(table, page.chosen)}s for a significant difference.")
    return found


def _random_answers(page: PageScores, condition: str | None, models: Rows) -> list[str]:
    """Say where the whole interval of a value is better than what random answers score on average."""
    table = page.table
    metric, known = table.metric(table.primary), chances(page, condition)
    if metric.higher_is_better is None:
        return []
    if metric.name in known:
        above = [row["model"] for row in models if _beats(row, known[metric.name], metric)]
        found = _listed(above) if above else "no model"
        return [f"The whole interval of {found} is better than what random answers score on average."]
    best = models[0]["model"]
    compared = [
        (one, row)
        for row in rows_under(page.summary, condition)
        if row["model"] == best and row["metric"] in known and row["metric"] in table.headline
        if row["low"] is not None and (one := table.metric(row["metric"])).higher_is_better is not None
    ]
    if not compared:
        return []
    beaten = [label(one) for one, row in compared if _beats(row, known[one.name], one)]
    return [
        f"{_called(best)} can be compared with random answers in {plural(len(compared), 'metric')}; its whole interval "
        f"is better in {_joined(beaten) if beaten else 'none'}."
    ]


def _beats(row: Mapping[str, Any], expected: float, metric: Metric) -> bool:
    """Tell whether the whole interval of a value is better than another value; without one nothing is known."""
    end = row["low" if metric.sign > 0 else "high"]
    return end is not None and metric.sign * (end - expected) > 0


def good_score(page: PageScores, condition: str | None) -> list[tuple[str, str]]:
    """Return what tells a good score from a poor one: (term, value) of direction, range and random answers."""
    table = page.table
    metric = table.metric(table.primary)
    better = {True: "higher", False: "lower", None: "neither higher nor lower"}[metric.higher_is_better]
    if better == "higher" and not _is_described(table):
        better = "higher (taken to be: the table does not say)"
    found = [("better", better), ("possible", range_words(metric) or "any number")]
    random = chances(page, condition).get(metric.name)
    # Else the row of the baseline says what they score.
    if random is not None or not any(row["model"] == CHANCE_BASELINE for row in _with_value(page, condition)):
        found.append(("random answers, on average", "not known" if random is None else number(random, metric)))
    return found


def _is_described(table: ScoreTable) -> bool:
    """Tell whether anything is known of the primary metric of anybody's table beside its name."""
    metric = table.metric(table.primary)
    return table.provenance.benchmark is not None or metric != Metric(name=metric.name, label=metric.name)


def _with_value(page: PageScores, condition: str | None) -> Rows:
    return [row for row in rows_under(page.standing, condition) if row["value"] is not None]


def _of_models(rows: Rows) -> list[Mapping[str, Any]]:
    """Return the rows of models; all, where none is a model's."""
    return [row for row in rows if kind_of_group(row["model"]) == "model"] or list(rows)


def _estimate(row: Mapping[str, Any], metric: Metric) -> str:
    return f"{number(row['value'], metric)} {interval(row['low'], row['high'], metric)}".rstrip()


_BEGIN, _END = "\ue000", "\ue001"  # of a name in a sentence; not of any script


def _called(model: str) -> str:
    """Return a name as a sentence has it: between marks, and with what it is of."""
    plain = sanitize(model).replace(_BEGIN, "\ufffd").replace(_END, "\ufffd")
    return f"{_BEGIN}{plain}{_END}{called(model).removeprefix(model)}"


def sentence(text: str) -> Html:
    """Return a sentence of this module as markup, in which the names of models stand out."""
    found = []
    for piece in text.split(_BEGIN):
        name, marked, rest = piece.partition(_END)
        found += [element("strong", breakable(name)), escape(sanitize(rest))] if marked else [escape(sanitize(name))]
    return Html("".join(found))


def _under(table: ScoreTable, condition: str | None) -> str:
    return under_condition(table, condition) if len(table.conditions) > 1 else ""


def _listed(models: Sequence[str]) -> str:
    """Return names as a sentence has them, those beyond a few as their number."""
    names = [_called(model) for model in models]
    if len(names) > _MOST_NAMED + 1:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    return _joined(names)


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _have(models: Sequence[str]) -> str:
    return "has" if len(models) == 1 else "have"


_MARGIN = 0.04


def answer_element(page: PageScores) -> Html:
    """Return what a page says first, a block a condition."""
    table = page.table
    blocks = []
    for condition in table.conditions:
        first, *others = sentences(page, condition)
        terms = [element("div", element("dt", term), element("dd", said)) for term, said in good_score(page, condition)]
        parts = [element("p", sentence(first), class_="lead")]
        parts += [element("p", sentence(" ".join(others)))] if others else []
        parts.append(element("dl", *terms, class_="good"))
        if rows := _with_value(page, condition):
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
        data_model=sanitize(row["model"]),
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
