"""What a page answers first: who leads, who is not told apart, what a good score is; the ranking, and pairs."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from math import isfinite
from typing import Any

import polars as pl

from attune_bench.report.columns import (
    Folded,
    Markup,
    Part,
    drawn,
    interval,
    interval_words,
    number,
    p_value,
    range_words,
    under_condition,
    with_note,
)
from attune_bench.report.page import PageScores, breakable, scrolled
from attune_bench.report.tables import (
    TIERS,
    Verdicts,
    called,
    comparison_note,
    comparison_tables,
    label,
    rows_under,
    under,
    verdicts,
)
from attune_bench.scores.settings import CHANCE_BASELINE, kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import differences
from attune_bench.stats.compare import exchanges_of_all
from attune_bench.stats.options import ALPHA
from attune_data.issues import Html, element
from attune_data.text import plural, printable
from attune_metrics.metric import Metric
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = [
    "answer_element",
    "chance_sentence",
    "chances",
    "comparison_parts",
    "good_score",
    "leader_sentence",
    "other_sentences",
    "pairs_matrix",
    "sentence",
    "without_value_sentence",
]

_MOST_NAMED = 4
_MOST_BELOW = 2
_MOST_METRICS = 4

Rows = Sequence[Mapping[str, Any]]


def chances(page: PageScores, condition: str | None) -> dict[str, float]:
    """Return what random answers score on average, by metric, as far as it is known and may be shown."""
    return {row["metric"]: row["chance"] for row in rows_under(page.chance.drop_nulls("chance"), condition)}


def leader_sentence(page: PageScores, condition: str | None) -> str:
    """Say who leads under one condition, who is not told apart from it and who is below."""
    table = page.table
    metric = table.metric(table.primary)
    rows = _with_value(page, condition)
    if not rows:
        return f"No model has a value of {metric.label}{_under(table, condition)} that can be shown."
    if metric.higher_is_better is None:
        return (
            f"No model leads: neither higher nor lower values of {metric.label} are better. They go from "
            f"{_ends(_of_models(rows), metric)}."
        )
    models = _of_models(rows)
    leader, *others = models
    name, value = _called(leader["model"]), f"{_estimate(leader, metric)} in {metric.label}{_under(table, condition)}"
    if table.provenance.mixed and differences(table):
        return (
            f"{name} has the best value, {value}, but the runs differ in what changes an answer, so no model can be "
            "said to lead."
        )
    if not others:
        everyone = rows_under(page.standing, condition)
        alone = (
            "the only model here" if len(_of_models(everyone)) == 1 else "the only model with a value that can be shown"
        )
        return f"{name} scores {value}; it is {alone}."
    best = [row["model"] for row in models if row["value"] == leader["value"]]
    if metric.statistic not in STATISTICS or page.pairs.is_empty():
        why = f"{metric.label} depends on all models' results" if metric.statistic not in STATISTICS else "not compared"
        return f"{_listed(best)} {_have(best)} the best value, {value}; {why}, so no test tells models apart."
    found = _against(page, leader["model"], [row["model"] for row in others], condition)
    if len(best) > 1:
        return f"{_listed(best)} share the best value, {value}; {_verdicts(found, page, f'{name} is ')}."
    begin = f"{name} leads with {value}" if found.worse else f"{name} has the best value, {value}"
    return f"{begin}; {_verdicts(found, page)}."


def _verdicts(found: Verdicts, page: PageScores, begin: str = "") -> str:
    """Say of the others how they are told apart from the leader."""
    table = page.table
    unclear, others = len(found.same) + len(found.unknown), sum(map(len, found[:4]))
    if found.powerless and unclear == others:
        return f"no two models differ on enough {drawn(table, page.chosen)}s to be told apart"
    if len(found.worse) == others:
        below = {1: f"{_other(page)} is below", 2: "both others are below"}
        return below.get(others, f"all {others} others are below")
    said = []
    if found.same:
        every = _other(page) if others == 1 else f"any of the {others} others"
        said.append(f"{begin}not told apart from {every if len(found.same) == others else _listed(found.same)}")
    if len(found.worse) > _MOST_BELOW:
        which = "others" if unclear + len(found.worse) == others else "more"
        said.append(f"{len(found.worse)} {which} are below")
    elif found.worse:
        said.append(f"{_listed(found.worse)} {_be(found.worse)} below")
    if found.better:
        said.append(f"{_listed(found.better)} {_be(found.better)} better on the {table.provenance.unit}s of both")
    if found.unknown:
        listed = _listed(found.unknown)
        said.append(
            f"{begin}not compared with {listed}" if begin else f"{listed} {_be(found.unknown)} not compared with it"
        )
    return "; ".join(said)


def _other(page: PageScores) -> str:
    return "the other model" if any(kind_of_group(name) == "model" for name in page.table.models) else "the other one"


def other_sentences(page: PageScores, condition: str | None) -> list[str]:
    """Say where people and baselines stand against the model that leads, where some are among models."""
    table = page.table
    metric = table.metric(table.primary)
    rows = _with_value(page, condition)
    models = _of_models(rows)
    others = [row for row in rows if row not in models]
    if not others or metric.higher_is_better is None or (table.provenance.mixed and differences(table)):
        return []
    leader = models[0]
    found = _against(page, leader["model"], [row["model"] for row in others], condition)
    it = _called(leader["model"]) if _share_the_lead(models) else "the best model" if len(models) > 1 else "the model"
    said = []
    for row in others:
        value = f"{_called(row['model'])} scores {_estimate(row, metric)}"
        if row["model"] in found.worse:
            said.append(f"{value}, below {it}.")
        elif row["model"] in found.better:
            is_above = metric.sign * (row["value"] - leader["value"]) > 0
            place = "above" if is_above else "better on what both answered than"
            said.append(f"{value}, {place} {it}.")
        elif row["model"] in found.same:
            said.append(f"{value}, not told apart from {it}.")
        else:
            said.append(f"{value}, and is not compared with {it}.")
    return said[:_MOST_NAMED]


def without_value_sentence(page: PageScores, condition: str | None) -> str:
    """Name what the other sentences leave out: models, people and baselines without a value that can be shown."""
    found = rows_under(page.standing, condition)
    without = [row["model"] for row in found if row["value"] is None]
    if not without or len(without) == len(found):
        return ""
    return f"{_listed(without)} {_have(without)} no value that can be shown."


def chance_sentence(page: PageScores, condition: str | None) -> str:
    """Say by how much the leader beats random answers, and which models do not.

    A model beats them where the whole interval of its value is better than what they score on average.
    """
    table = page.table
    metric, known = table.metric(table.primary), chances(page, condition)
    rows = _with_value(page, condition)
    if not rows:
        return ""
    leader = _of_models(rows)[0]
    if metric.higher_is_better is None:
        # Without a leader there is nobody to compare with them.
        return f"Random answers score {number(known[metric.name], metric)} on average." if metric.name in known else ""
    if metric.name in known:
        return _beaten(metric, known[metric.name], _of_models(rows))
    of_leader = {row["metric"]: row for row in rows_under(page.summary, condition) if row["model"] == leader["model"]}
    metrics = [
        table.metric(name)
        for name in table.headline
        if name in known and name in of_leader and table.metric(name).higher_is_better is not None
    ]
    # The row of the baseline says what they score where their average is not known.
    has_row = any(row["model"] == CHANCE_BASELINE for row in rows)
    unknown = "" if has_row else f"What random answers score on average in {metric.label} is not known."
    metrics = [one for one in metrics if of_leader[one.name]["low"] is not None]
    if not metrics:
        return unknown
    beaten = [one for one in metrics if _beats(of_leader[one.name], known[one.name], one)]
    others = [f"not clearly in {label(one)}" for one in metrics if one not in beaten]
    if not beaten:
        found = f"{_subject(rows)} clearly beats random answers in no metric where theirs are known."
        return " ".join(filter(None, (found, unknown)))
    said = [
        f"by {number(abs(of_leader[one.name]['value'] - known[one.name]), one)} in {one.label} "
        f"({number(of_leader[one.name]['value'], one)} against {number(known[one.name], one)})"
        for one in beaten[:_MOST_METRICS]
    ]
    more = [f"in {plural(len(beaten) - len(said), 'more metric')}"] if len(beaten) > len(said) else []
    found = f"{_subject(rows)} beats random answers {_joined([*said, *more, *others])}."
    return " ".join(filter(None, (found, unknown)))


def _beats(row: Mapping[str, Any], expected: float, metric: Metric) -> bool:
    """Tell whether the whole interval of a value is better than another value; without one nothing is known."""
    end = row["low" if metric.sign > 0 else "high"]
    return end is not None and metric.sign * (end - expected) > 0


def _subject(rows: Rows) -> str:
    """Return how a sentence after the first one calls the best model: by its name where several share its value."""
    models = _of_models(rows)
    return _called(models[0]["model"]) if _share_the_lead(models) else "It"


def _share_the_lead(models: Rows) -> bool:
    return len(models) > 1 and models[1]["value"] == models[0]["value"]


def _beaten(metric: Metric, expected: float, models: Rows) -> str:
    leader = models[0]
    apart = number(abs(leader["value"] - expected), metric)
    end = leader["high" if metric.sign > 0 else "low"]
    if _beats(leader, expected, metric):
        found = f"better by {apart}"
    elif end is not None and metric.sign * (end - expected) < 0:
        found = f"worse by {apart}"
    else:
        found = "not clearly better"
    begin = f"Random answers score {number(expected, metric)} on average: {_called(leader['model'])} is {found}"
    near = [row["model"] for row in models if not _beats(row, expected, metric)]
    if not near:
        every = "its interval is" if len(models) == 1 else f"the intervals of all {len(models)} are"
        return f"{begin}, and {every} better than that."
    if len(near) < len(models):
        return f"{begin}; not clearly better: {_listed(near)}."
    return f"{begin}; no model is clearly better." if len(models) > 1 else f"{begin}."


def good_score(page: PageScores, condition: str | None) -> list[tuple[str, str]]:
    """Return what tells a good score from a poor one: (term, value) of direction, range, and what is seen."""
    table = page.table
    metric = table.metric(table.primary)
    better = {True: "higher", False: "lower", None: "neither higher nor lower"}[metric.higher_is_better]
    if better == "higher" and not _is_described(table):
        better = "higher (taken to be: the table does not say)"
    rows = _with_value(page, condition)
    models = _of_models(rows)
    found = [("better", better), ("possible", range_words(metric) or "any number")]
    if len(models) > 1:
        found.append(("seen here", _ends(models, metric)))
    random = chances(page, condition).get(metric.name)
    if random is not None:
        found.append(("random answers, on average", number(random, metric)))
    elif not any(row["model"] == CHANCE_BASELINE for row in rows):
        found.append(("random answers, on average", "not known"))
    found += [
        (kind_of_group(row["model"]) + " " + row["model"].partition("/")[2], number(row["value"], metric))
        # Random answers first, so that they are among the few.
        for row in sorted(rows, key=lambda row: row["model"] != CHANCE_BASELINE)
        if kind_of_group(row["model"]) != "model"
    ][:_MOST_NAMED]
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


def _against(page: PageScores, leader: str, others: Sequence[str], condition: str | None) -> Verdicts:
    pairs = page.pairs
    if not pairs.is_empty():
        pairs = under(pairs, condition)
    return verdicts(leader, others, pairs, page.table.metric(page.table.primary).sign)


def _estimate(row: Mapping[str, Any], metric: Metric) -> str:
    return f"{number(row['value'], metric)} {interval(row['low'], row['high'], metric)}".rstrip()


def _ends(rows: Rows, metric: Metric) -> str:
    values = [row["value"] for row in rows]
    return f"{number(min(values), metric)} to {number(max(values), metric)}"


_BEGIN, _END = "\ue000", "\ue001"  # of a name in a sentence; not of any script


def _called(model: str) -> str:
    """Return a name as a sentence has it: between marks, and with what it is of."""
    plain = printable(model).replace(_BEGIN, "\ufffd").replace(_END, "\ufffd")
    return f"{_BEGIN}{plain}{_END}{called(model).removeprefix(model)}"


def sentence(text: str) -> Html:
    """Return a sentence of this module as markup, in which the names of models stand out."""
    found = []
    for piece in text.split(_BEGIN):
        name, marked, rest = piece.partition(_END)
        found += [element("strong", breakable(name)), escape(printable(rest))] if marked else [escape(printable(name))]
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


def _be(models: Sequence[str]) -> str:
    return "is" if len(models) == 1 else "are"


def _have(models: Sequence[str]) -> str:
    return "has" if len(models) == 1 else "have"


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


_LARGE = 40  # models; the cells of their matrix are small
_TABLED = 300  # pairs, whose numbers a page lists; of more, they would be most of the page
_NAMED = 12  # models, whose names each cell says; of more, they are in the heads alone
_SIGNS = {1: ("better", "+"), -1: ("worse", "\u2212"), 0: ("same", "\u00b7"), None: ("none", "?")}


def pairs_matrix(
    models: Sequence[tuple[int, str]],
    pairs: Rows,
    metric: Metric,
    called: str,
    *,
    family: int,
    exchanges: int,
    numbers: bool,
) -> Html:
    """Return every model against every other, told apart and better, or worse, or not told apart; and how it is read.

    Parameters
    ----------
    models : sequence of (int, str)
        From the best, with their numbers.
    pairs : sequence of mapping
        A row a pair, as of `attune_bench.stats.compare.compare_all`.
    metric : Metric
        What they are compared by.
    called : str
        What the matrix is of.
    family, exchanges : int
        Over how many pairs p-values are corrected, and how many random exchanges were made at most.
    numbers : bool
        Whether the pointer reads the numbers of a pair.
    """
    signs: dict[tuple[str, str], int | None] = {}
    said: dict[tuple[str, str], str] = {}
    for row in pairs:
        better = None if row["significant"] is None else 0
        if row["significant"]:
            better = metric.sign if row["difference"] > 0 else -metric.sign
        for one, other, side in ((row["model_a"], row["model_b"], 1), (row["model_b"], row["model_a"], -1)):
            signs[one, other] = None if better is None else side * better
            if row["difference"] is not None and numbers:
                low, high = row["low"], row["high"]
                if side == -1 and low is not None:
                    low, high = -high, -low
                difference = number(side * row["difference"] + 0.0, metric, signed=True)
                within = interval(low, high, metric, signed=True)
                names = f"{one} minus {other}: " if len(models) <= _NAMED else ""
                said[one, other] = f"{names}{difference} {within}, Holm p {p_value(row['p_holm'])}, n = {row['n']}"
    heads = [
        element("th", str(place), scope="col", title=printable(model), data_model=printable(model))
        for place, model in models
    ]
    rows = []
    for place, model in models:
        cells = [element("th", f"{place} ", element("bdi", model), scope="row", title=printable(model))]
        for _, other in models:
            kind, shown = ("self", "") if other == model else _SIGNS[signs.get((model, other))]
            title = {"title": said[model, other]} if (model, other) in said else {}
            cells.append(element("td", shown, class_=kind, **title))
        rows.append(element("tr", *cells, data_model=printable(model)))
    kind = "pairs large" if len(models) > _LARGE else "pairs"
    top = element("thead", element("tr", element("td", ""), *heads))
    higher = "has higher values" if metric.higher_is_better is None else "is better"
    lower = "has lower values" if metric.higher_is_better is None else "is worse"
    note = (
        f"A row against a column: + the row {higher}, \u2212 it {lower}, \u00b7 the two are not told apart "
        f"(Holm-corrected p of {ALPHA:g} or more, over {plural(family, 'pair')}, with at most {exchanges:,} random "
        "exchanges), ? there is no comparison, or none that may be shown. Columns are numbered as rows are."
    )
    matrix = scrolled(element("table", top, element("tbody", *rows), class_=kind), called)
    return Html(matrix + element("p", note, class_="quiet"))


def comparison_parts(page: PageScores, name: str) -> list[Part]:
    """Return the comparisons of every two models of a metric, as matrices and, folded, as tables; none of one model."""
    table = page.table
    is_primary = name == table.primary
    frame = page.pairs if is_primary else page.compared(name)
    if frame.is_empty():
        return []
    matrices = [part for condition in table.conditions for part in _of_condition(page, name, frame, condition)]
    if frame.height > _TABLED:
        command = element("code", f"attune-bench compare --metric {name} --format csv")
        listed = element(
            "p", f"The numbers of all {frame.height:,} pairs are what ", command, " prints.", class_="quiet"
        )
        return [*matrices, Markup(listed)]
    exchanges = exchanges_of_all(table, page.chosen.resamples)
    note = comparison_note(table, page.chosen, exchanges, margin=is_primary and page.margin is not None)
    return [*matrices, Folded("All pairs, with their numbers", with_note(comparison_tables(table, frame), note))]


def _of_condition(page: PageScores, name: str, frame: pl.DataFrame, condition: str | None) -> list[Markup]:
    """Return the matrix of a metric under one condition, and how it is read."""
    table = page.table
    metric = table.metric(name)
    models = [(page.numbers[row["model"], condition], row["model"]) for row in rows_under(page.standing, condition)]
    pairs = rows_under(frame, condition)
    if not pairs:
        return []
    under = under_condition(table, condition) if len(table.conditions) > 1 else ""
    caption = f"Which models are told apart by {label(metric)}{under}"
    exchanges = exchanges_of_all(table, page.chosen.resamples)
    matrix = pairs_matrix(
        models, pairs, metric, caption, family=pairs[0]["family"], exchanges=exchanges, numbers=len(models) <= _LARGE
    )
    return [Markup(element("h3", caption)), Markup(matrix)]
