"""Every model against every other on a page: the matrix of who is told apart."""

from collections.abc import Mapping, Sequence
from typing import Any

from attune_bench.report.columns import interval, number, p_value
from attune_bench.report.page import scrolled
from attune_bench.report.tables import signs_of
from attune_bench.stats.options import ALPHA
from attune_data.issues import Html, element
from attune_data.text import plural, sanitize
from attune_metrics.metric import Metric

LARGE = 40  # models; the cells of their matrix are small
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
        element("th", str(place), scope="col", title=sanitize(model), data_model=sanitize(model))
        for place, model in models
    ]
    rows = []
    for place, model in models:
        cells = [element("th", f"{place} ", element("bdi", model), scope="row", title=sanitize(model))]
        for _, other in models:
            kind, shown = ("self", "") if other == model else _SIGNS[signs.get((model, other))]
            title = {"title": said[model, other]} if (model, other) in said else {}
            cells.append(element("td", shown, class_=kind, **title))
        rows.append(element("tr", *cells, data_model=sanitize(model)))
    kind = "pairs large" if len(models) > LARGE else "pairs"
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
