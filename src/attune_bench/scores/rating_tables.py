"""Tables of ratings: several raters rate the same responses, such as experts and judge models.

Such a table has a column ``rater`` or ``judge``. As scores, a rater is a condition, so that responders are compared
within a rater; the other columns are those of any long table, or have the usual names of ratings: ``responder`` for
``model``, ``item`` for ``unit``, ``dimension`` for ``metric``, ``rating`` or ``score`` for ``value``.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from attune_bench.scores.table_files import ROW
from attune_bench.scores.table_numbers import ROUNDING, has_numbers, is_empty
from attune_data.issues import Issue, IssueLog, shown
from attune_data.text import joined, plural
from attune_metrics.metric import Metric, MetricInputError

RATER = "rater"
"""What a condition is called in scores of ratings."""

# What a column can be called, by its role in a long table.
_COLUMNS = {
    "model": ("model", "responder"),
    "unit": ("unit", "item"),
    "condition": (RATER, "judge"),
    "metric": ("metric", "dimension"),
    "value": ("value", "rating", "score"),
}

RATING_NAMES = ("responder", "item", RATER, "judge", "dimension")
"""The columns of a table of ratings that have names, beside those of a long table."""

_PEOPLE = frozenset("people person human humans expert experts annotator annotators participant participants".split())
_NAMED = 3  # places in the note; the issues have the others


def rating_columns(frame: pl.DataFrame, name: str = "the table", *, always: bool = False) -> dict[str, str]:
    """Return which column of a table of ratings has which role of a long table; nothing for another table.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    name : str
        What errors call the table.
    always : bool
        Whether the rater is the condition even where every unit has one of several raters. Such a rater is else a
        trait of the unit, so that models are compared over all units.

    Raises
    ------
    MetricInputError
        If units have several raters, and the table has a column ``condition`` too.

    Examples
    --------
    >>> rows = [("q1", "gpt", "ann", 3), ("q1", "gpt", "bob", 4)]
    >>> frame = pl.DataFrame(rows, schema=["item", "responder", "rater", "rating"], orient="row")
    >>> rating_columns(frame)
    {'model': 'responder', 'unit': 'item', 'condition': 'rater', 'value': 'rating'}
    >>> rating_columns(frame.with_columns(item=pl.col("rater")))
    {}
    """
    columns = {
        role: next(column for column in names if column in frame.columns)
        for role, names in _COLUMNS.items()
        if not {*names}.isdisjoint(frame.columns)
    }
    if not {"unit", "condition"} <= columns.keys():
        return {}
    unit, rater = columns["unit"], columns["condition"]
    if "value" not in columns and has_numbers(frame[rater]):
        return {}  # a judge's scores, in a table with a column for each metric
    if frame[rater].n_unique() == 1:
        return columns if "condition" not in frame.columns else {}
    if not always and not (frame.group_by(unit).agg(pl.col(rater).n_unique())[rater] > 1).any():
        return {}
    if "condition" in frame.columns:
        raise MetricInputError(
            f"{name}: the columns {rater!r} and 'condition'; a rater is the condition of a rating: keep the rows of "
            "one condition, and leave the column out"
        )
    return columns


def people_among(raters: Iterable[str]) -> str | None:
    """Return the rater whose name has only words for people; None where no rater has such a name, or several have.

    Examples
    --------
    >>> people_among(["claude", "Human experts", "gpt"]), people_among(["human-1", "human-2"])
    ('Human experts', None)
    >>> people_among(["gpt-4", "mixture-of-experts"]) is None
    True
    """
    words = {rater: {*re.findall(r"[^\W\d_]+", rater.casefold())} for rater in raters}
    found = [rater for rater, own in words.items() if own and own <= _PEOPLE]
    return found[0] if len(found) == 1 else None


def check_rating_columns(frame: pl.DataFrame, name: str, *, of_responders: bool) -> None:
    """Raise if a table of ratings names no item, no rater, no rating or, where it has to, no responder."""
    # A table with a column for each responder, or for each dimension, has no ratings in one column.
    is_long = not {*_COLUMNS["value"]}.isdisjoint(frame.columns)
    for role in ("unit", "condition", *(["model"] if of_responders and is_long else [])):
        if {*_COLUMNS[role]}.isdisjoint(frame.columns):
            called, other = sorted(_COLUMNS[role], key=lambda column: column in (role, "judge"))
            who = ", which says who is rated; attune-bench judge agree compares raters without it"
            columns = ", ".join(column for column in frame.columns if column != ROW)
            raise MetricInputError(
                f"{name}: no column {called!r}, or {other!r}{who if role == 'model' else ''}; the table has {columns}"
            )


def without_unrated(table: pl.DataFrame) -> pl.DataFrame:
    """Return ratings without the rows that name no rater and have no rating, as of a sheet that is filled in partly."""
    if "value" not in table.columns:
        return table
    return table.filter(~(is_empty(table["condition"]) & is_empty(table["value"])))


def within_scale(
    table: pl.DataFrame, metrics: Mapping[str, Metric], name: str
) -> tuple[pl.DataFrame, tuple[Issue, ...], str]:
    """Return ratings without those outside of their scale, the issues of these, and a sentence that counts them.

    Parameters
    ----------
    table : polars.DataFrame
        Rows with ``condition, metric, value``, and their numbers in the file.
    metrics : mapping of str to Metric
        The range of each metric that has one.
    name : str
        What errors call the table.

    Raises
    ------
    MetricInputError
        Where more than half of a rater's ratings of a metric are outside: these are on another scale.
    """
    low, high = (
        pl.col("metric").replace_strict(
            {one.name: getattr(one, end) for one in metrics.values()}, default=None, return_dtype=pl.Float64
        )
        for end in ("low", "high")
    )
    is_outside = ((pl.col("value") < low - ROUNDING) | (pl.col("value") > high + ROUNDING)).fill_null(value=False)
    outside = table.filter(is_outside)
    if outside.is_empty():
        return table, (), ""
    keys = ["condition", "metric"]
    counts = table.group_by(keys).agg(outside=is_outside.sum(), given=pl.col("value").count())
    on_another = outside.join(counts.filter(2 * pl.col("outside") > pl.col("given")), on=keys, nulls_equal=True)
    for row in on_another.sort(ROW).head(1).iter_rows(named=True):
        raise MetricInputError(
            f"{name}, row {row[ROW]}: {_outside(row, metrics)}, as are {row['outside']:,} of {row['given']:,} ratings "
            "by this rater; is it on another scale?"
        )
    log, said = IssueLog(), []
    for row in outside.iter_rows(named=True):
        why = _outside(row, metrics)
        said += [f"row {row[ROW]} ({why})"]
        log.append(
            Issue(
                f"{name}:{row[ROW]}",
                f"$.{row['metric']}",
                "outside-scale",
                "warning",
                shown(row["value"]),
                why,
                "left out",
            )
        )
    more = [f"{len(said) - _NAMED:,} more"] if len(said) > _NAMED else []
    counted = f"{plural(len(said), 'rating')} of {table['value'].count():,} left out"
    sentence = f"{name}: {counted}, outside of the scale: {joined([*said[:_NAMED], *more])}."
    kept = table.with_columns(value=pl.when(~is_outside).then("value"))
    return kept, tuple(log), sentence


def _outside(row: Mapping[str, Any], metrics: Mapping[str, Metric]) -> str:
    metric = metrics[row["metric"]]
    of = f"{row['value']:g} of {row['metric']!r} by {row['condition']!r}"
    return f"{of} is outside {metric.low:g} to {metric.high:g}"
