"""Every model against every other, as a matrix: of a report, and of a leaderboard."""

from collections.abc import Mapping, Sequence

import polars as pl

from attune_bench.report.columns import Folded, Markup, Part, interval, number, p_value, with_note
from attune_bench.report.page import element, scrolled
from attune_bench.report.section_parts import PageScores
from attune_bench.report.standing import rows_under
from attune_bench.report.tables import comparison_note, comparison_tables, label
from attune_bench.report.words import under_condition
from attune_bench.stats.comparison import exchanges_of_all
from attune_bench.stats.options import ALPHA
from attune_data.issues import Html
from attune_data.text import plural, printable

__all__ = ["comparison_parts", "pairs_matrix"]

_LARGE = 40  # models; the cells of their matrix are small
_TABLED = 300  # pairs, whose numbers a page lists; of more, they would be most of the page
_NAMED = 12  # models, whose names each cell says; of more, they are in the heads alone
_SIGNS = {1: ("better", "+"), -1: ("worse", "\u2212"), 0: ("same", "\u00b7"), None: ("none", "?")}


def pairs_matrix(
    models: Sequence[tuple[int, str]],
    signs: Mapping[tuple[str, str], int | None],
    called: str,
    said: Mapping[tuple[str, str], str] | None = None,
) -> Html:
    """Return every model against every other: told apart and better, or worse, or not told apart.

    Parameters
    ----------
    models : sequence of (int, str)
        From the best, with their numbers.
    signs : mapping
        By two models, whether the first is better (1), worse (-1) or not told apart (0); None or nothing where there is
        no comparison.
    called : str
        What the matrix is of.
    said : mapping, optional
        By two models, what the pointer reads.
    """
    heads = [
        element("th", str(place), scope="col", title=printable(model), data_model=printable(model))
        for place, model in models
    ]
    rows = []
    for place, model in models:
        cells = [element("th", f"{place} ", element("bdi", model), scope="row", title=printable(model))]
        for _, other in models:
            kind, shown = ("self", "") if other == model else _SIGNS[signs.get((model, other))]
            title = {"title": said[model, other]} if said and (model, other) in said else {}
            cells.append(element("td", shown, class_=kind, **title))
        rows.append(element("tr", *cells, data_model=printable(model)))
    kind = "pairs large" if len(models) > _LARGE else "pairs"
    top = element("thead", element("tr", element("td", ""), *heads))
    return scrolled(element("table", top, element("tbody", *rows), class_=kind), called)


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
    signs: dict[tuple[str, str], int | None] = {}
    said: dict[tuple[str, str], str] = {}
    better = metric.sign
    for row in pairs:
        a, b = row["model_a"], row["model_b"]
        sign = None if row["significant"] is None else 0
        if row["significant"]:
            sign = better if row["difference"] > 0 else -better
        for one, other, side in ((a, b, 1), (b, a, -1)):
            signs[one, other] = None if sign is None else side * sign
            if row["difference"] is not None:
                low, high = row["low"], row["high"]
                if side == -1 and low is not None:
                    low, high = -high, -low
                difference = number(side * row["difference"] + 0.0, metric, signed=True)
                within = interval(low, high, metric, signed=True)
                names = f"{one} minus {other}: " if len(models) <= _NAMED else ""
                said[one, other] = f"{names}{difference} {within}, Holm p {p_value(row['p_holm'])}"
    under = under_condition(table, condition) if len(table.conditions) > 1 else ""
    caption = f"Which models are told apart by {label(metric)}{under}"
    if len(models) > _LARGE:
        said = {}
    higher = "has higher values" if metric.higher_is_better is None else "is better"
    lower = "has lower values" if metric.higher_is_better is None else "is worse"
    family = pairs[0]["family"]
    exchanges = exchanges_of_all(table, page.chosen.resamples)
    note = (
        f"A row against a column: + the row {higher}, \u2212 it {lower}, \u00b7 the two are not told apart "
        f"(Holm-corrected p of {ALPHA:g} or more, over {plural(family, 'pair')}, with at most {exchanges:,} random "
        "exchanges), ? there is no comparison, or none that may be shown. Columns are numbered as rows are."
    )
    return [
        Markup(element("h3", caption)), Markup(pairs_matrix(models, signs, caption, said)),
        Markup(element("p", note, class_="quiet")),
    ]  # fmt: skip
