"""Every model against every other on a page: the matrix of who is told apart, and the table of differences."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from attune_bench.report.columns import (
    Folded,
    Markup,
    Part,
    interval,
    label,
    number,
    p_value,
    under_condition,
    with_note,
)
from attune_bench.report.page import PageScores, scrolled
from attune_bench.report.tables import (
    comparison_note,
    comparison_tables,
    rows_under,
    signs_of,
)
from attune_bench.stats.compare import exchanges_of_all
from attune_bench.stats.options import ALPHA
from attune_data.issues import Html, element
from attune_data.text import plural, printable
from attune_metrics.metric import Metric

__all__ = ["comparison_parts", "pairs_matrix"]


_LARGE = 40  # models; the cells of their matrix are small
_TABLED = 300  # pairs, whose numbers a page lists; of more, they would be most of the page


_NAMED = 12  # models, whose names each cell says; of more, they are in the heads alone


_SIGNS = {1: ("better", "+"), -1: ("worse", "\u2212"), 0: ("same", "\u00b7"), None: ("none", "?")}


def pairs_matrix(
    models: Sequence[tuple[int, str]],
    pairs: Sequence[Mapping[str, Any]],
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
    signs = signs_of(pairs, metric)
    said: dict[tuple[str, str], str] = {}
    for row in pairs if numbers else ():
        for one, other, side in ((row["model_a"], row["model_b"], 1), (row["model_b"], row["model_a"], -1)):
            if row["difference"] is not None:
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
