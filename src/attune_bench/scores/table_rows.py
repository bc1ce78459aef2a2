"""The rows of anybody's table of results or ratings, checked: each has its names, and one value in its range.

Scores are made of these rows, and so is what `attune_bench.stats.judges` compares raters by.
"""

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from operator import and_
from typing import Any, NamedTuple

import polars as pl

from attune_bench.scores.parts import CHANCE, KEYS, REPEAT, UNIT_KEYS
from attune_bench.scores.rating_tables import (
    check_rating_columns,
    rating_columns,
    within_scale,
    without_unrated,
)
from attune_bench.scores.table import metric_entries
from attune_bench.scores.table_columns import (
    OPTIONAL,
    REQUIRED,
    differing_in_units,
    long_layout,
    renamed,
    same_rows,
)
from attune_bench.scores.table_files import ROW, check_no_pattern
from attune_bench.scores.table_numbers import ROUNDING, converted, is_empty, read_numbers
from attune_data.issues import Issue
from attune_data.text import did_you_mean, joined, plural
from attune_metrics.metric import PER_UNIT, Metric, MetricInputError

TAKEN = frozenset((*KEYS, *UNIT_KEYS, "clusters", "detail", "n", "name", "reason", "signature"))
"""Columns of scores, of their files and of reports; a metric of the same name would replace them."""

_NAMES = ("model", "unit", "metric", *OPTIONAL)
_TAKEN_STARTS = ("calls.", CHANCE, "coverage.", "failed.", "trait.", "variant.")


class TableRows(NamedTuple):
    """The checked rows of a table.

    Attributes
    ----------
    frame : polars.DataFrame
        ``model, unit, metric, value, condition, cluster, repeat``, traits of units, and the number of the row in the
        file. Names are texts without blanks around them, and null where there is none; ``value`` is a float, null where
        it is undefined.
    described : dict of str to Metric
        The entries of the metrics that are described.
    notes : list of str
        What was assumed of the table, and which columns were read as what.
    issues : tuple of Issue
        Ratings outside of their scale; their values are null.
    columns : dict of str to str
        Of a table of ratings, the column of each role; empty for other tables.
    """

    frame: pl.DataFrame
    described: dict[str, Metric]
    notes: list[str]
    issues: tuple[Issue, ...]
    columns: dict[str, str]


def table_rows(
    frame: pl.DataFrame,
    *,
    metrics: Mapping[str, Any],
    traits: object = (),
    name: str = "the table",
    first_row: int = 1,
    columns: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
    of_ratings: bool = False,
) -> TableRows:
    """Return the rows of a table, checked.

    Parameters
    ----------
    frame, metrics, name, first_row, columns, assumed
        As for `attune_bench.scores.tables_in.score_table`.
    traits : object
        Names of columns of numbers that are traits, as the description gives them.
    of_ratings : bool
        Whether the table has to be one of ratings; ``model`` is then null where it does not say who is rated.

    Raises
    ------
    MetricInputError
        As `attune_bench.scores.tables_in.score_table`.
    """
    table = frame.with_columns(pl.int_range(pl.len()).alias(ROW) + first_row).filter(~_is_empty_row(frame))
    table, named_metric = renamed(table, columns or {}, name)
    roles = rating_columns(table, name, always=of_ratings)
    if roles or of_ratings:
        check_rating_columns(table, name, of_responders=not of_ratings)
        table = without_unrated(table.rename({column: role for role, column in roles.items()}))
    words = {role: roles.get(role, role) for role in ("model", "unit", "metric", *(["condition"] if roles else []))}
    if of_ratings and "model" not in roles:
        table = table.with_columns(model=pl.lit(None, dtype=pl.String))
        words.pop("model")
    _check_filled(table, words, columns or {}, name)
    table, said = long_layout(
        table, metrics=metrics, traits=_traits_given(traits, table, name), metric=named_metric, name=name
    )
    table, with_commas, left_out = _checked(table, name, roles)
    assumed = [*assumed, *(["decimal commas"] if with_commas else [])]
    if empty := frame.height - table[ROW].n_unique():
        assumed.append(f"{plural(empty, 'empty row')} left out")
    notes = [*([f"Assumed of the table: {'; '.join(assumed)}."] if assumed else []), *said, *left_out]
    described = _described(metrics, table["metric"].unique(maintain_order=True).to_list(), name)
    issues: tuple[Issue, ...] = ()
    if roles:
        table, issues, counted = within_scale(table, described, name)
        raters = plural(table["condition"].n_unique(), "rater")
        within = [] if of_ratings else [f"Ratings by {raters}: models are compared within a rater."]
        notes += [*within, *([counted] if counted else [])]
    _check_ranges(table, described, name)
    return TableRows(table, described, notes, issues, roles)


def _traits_given(given: object, table: pl.DataFrame, name: str) -> list[str]:
    """Return the columns that are said to be traits."""
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise MetricInputError(f"{name}: traits: {given!r:.60} is no list of names of columns")
    columns = [column for column in table.columns if column != ROW]
    for column in given:
        if column not in columns:
            raise MetricInputError(f"{name}: traits: no column {column!r}; {did_you_mean(column, columns)}")
    return [*given]


def _described(metrics: Mapping[str, Any], found: Sequence[str], name: str) -> dict[str, Metric]:
    """Return the entries of the metrics that are described, each of which the table has."""
    known = metric_entries(metrics, place=f"{name}: metrics")
    for metric in known.values():
        if metric.statistic not in PER_UNIT:
            statistics = did_you_mean(metric.statistic, PER_UNIT)
            raise MetricInputError(f"{name}: metrics.{metric.name}.statistic: no {metric.statistic!r}; {statistics}")
        if metric.terms or metric.coverage:
            field = "terms" if metric.terms else "coverage"
            raise MetricInputError(f"{name}: metrics.{metric.name}.{field}: a table has one value a row; leave it out")
    for unknown in known.keys() - set(found):
        raise MetricInputError(
            f"{name}: metrics.{unknown}: the table has no such metric; {did_you_mean(unknown, found)}"
        )
    return known


def _checked(table: pl.DataFrame, name: str, called: Mapping[str, str]) -> tuple[pl.DataFrame, bool, list[str]]:
    """Return the table with text keys and numbers as values, whether it has decimal commas, and what was left out.

    Raise at the first row that is wrong. `called` has the columns of a table of ratings, by role.
    """
    if table.is_empty():
        columns = ", ".join(column for column in table.columns if column != ROW)
        raise MetricInputError(f"{name}: no rows; it has only the names of columns: {columns}")
    traits = [column for column in table.columns if column not in (*REQUIRED, "condition", REPEAT, ROW)]
    for column in OPTIONAL:
        if column not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=pl.String).alias(column))
    for column in _NAMES:
        if table.schema[column].is_nested() or table.schema[column] == pl.Binary:
            raise MetricInputError(f"{name}: {column} is of type {table.schema[column]}; expected text")
    names = pl.col(_NAMES).cast(pl.String).str.strip_chars()
    table = table.with_columns(pl.when(names != "").then(names))
    _check_names(table, name)
    numbers, with_commas = read_numbers(table["value"], table[ROW].to_list(), partial(_called, table, name, called))
    table = table.with_columns(value=numbers)
    _check_twice(table, name, called)
    left_out = []
    if called:
        # Such as what a rater wrote, or how long it took.
        left_out = differing_in_units(table, [column for column in traits if column != "cluster"])
        table, traits = table.drop(left_out), [column for column in traits if column not in left_out]
    for column in traits:
        if column.startswith(CHANCE):
            raise MetricInputError(f"{name}: {column!r} is a column of scores; give the trait another name")
        check_no_pattern(column, name)
        if with_commas and table.schema[column] == pl.String and column != "cluster":
            table = table.with_columns(converted(table[column], with_commas=True))
    _check_of_units(table, traits, name, called.get("unit", "unit"))
    said = [f"Columns left out, as they differ between the ratings of an item: {', '.join(left_out)}."]
    return table, with_commas, said if left_out else []


def _is_empty_row(frame: pl.DataFrame) -> pl.Series:
    """Tell for each row whether all its cells are empty, as at the end of a sheet."""
    columns = frame.get_columns()
    empty = [is_empty(cells) for cells in columns]
    return reduce(and_, empty, pl.repeat(bool(columns), frame.height, eager=True))


def _check_filled(table: pl.DataFrame, words: Mapping[str, str], columns: Mapping[str, str], name: str) -> None:
    """Raise at a row that lacks its model, unit or metric, or its rater, where the table has a column of these.

    `words` are what to call them, by role, and `columns` the names that the file has for some of them.
    """
    named = {role: word for role, word in words.items() if role in table.columns}
    for role, word in named.items():
        for row in table[ROW].filter(is_empty(table[role])).head(1):
            called = f"{columns[word]} ({word})" if columns.get(word, word) != word else word
            listed_words = joined([*named.values()]) if len(named) > 1 else f"its {word}"
            every = f"every row names {listed_words}: fill the cell, or delete the row"
            raise MetricInputError(f"{name}, row {row}: {called} is empty or NA; {every}")


def _check_names(table: pl.DataFrame, name: str) -> None:
    metrics = set(table["metric"].unique())
    for metric, row in table.unique("metric", maintain_order=True).select("metric", ROW).iter_rows():
        counts = metric.endswith("_n") and metric.removesuffix("_n") in metrics
        if counts or metric in TAKEN or metric.startswith(_TAKEN_STARTS):
            raise MetricInputError(f"{name}, row {row}: {metric!r} is a column of scores; give the metric another name")
        check_no_pattern(metric, f"{name}, row {row}")


def _called(table: pl.DataFrame, name: str, called: Mapping[str, str], place: int) -> str:
    """Return what an error about a value begins with; a row of a wide table has several values."""
    cell = table.row(place, named=True)
    value = f"{cell['value']:g}" if isinstance(cell["value"], int | float) else f"{cell['value']!r:.60}"
    words = [called.get(role, role) for role in ("value", "metric", "model")]
    of_model = f", {words[2]} {cell['model']!r}" if table[ROW].is_duplicated().any() else ""
    return f"{name}, row {cell[ROW]}: {words[0]} {value} of {words[1]} {cell['metric']!r}{of_model}"


def _check_ranges(table: pl.DataFrame, known: Mapping[str, Metric], name: str) -> None:
    """Raise at a value that its metric cannot have."""
    value = pl.col("value")
    for metric in known.values():
        # With room for rounding: a mean of ones can come out as 1.0000000000000002.
        outside = (value < metric.low - ROUNDING) | (value > metric.high + ROUNDING)
        wrong = {f"is outside {metric.low:g} to {metric.high:g}; is it on another scale?": outside}
        if metric.statistic == "share":
            no_share = 'is neither 0 nor 1; a share counts these, leave out "statistic"'
            wrong = {no_share: ~value.is_in([0.0, 1.0])} | wrong
        for why, condition in wrong.items():
            for place in table.select((pl.col("metric") == metric.name) & condition).to_series().arg_true()[:1]:
                raise MetricInputError(f"{_called(table, name, {}, place)} {why}")


def _check_twice(table: pl.DataFrame, name: str, called: Mapping[str, str]) -> None:
    """Raise where only some rows name their repeat, and where two rows are of the same value."""
    without = table.filter(pl.col(REPEAT).is_null())
    if 0 < without.height < table.height:
        raise MetricInputError(f"{name}, row {without[ROW][0]}: repeat is empty; every row names its repeat, or none")
    keys = ["model", "unit", "metric", "condition", REPEAT]
    rows = same_rows(table, keys)
    if rows.is_empty():
        return
    first, second = rows.iter_rows(named=True)
    both = ", ".join(f"{called.get(key, key)} {first[key]!r}" for key in keys if first[key] is not None)
    mend = "leave one out" if first[REPEAT] is not None else "leave one out, or number them in a column repeat"
    raise MetricInputError(
        f"{name}, rows {first[ROW]} and {second[ROW]}: both are {both}, with the values "
        f"{first['value']} and {second['value']}; {mend}"
    )


def _check_of_units(table: pl.DataFrame, columns: Sequence[str], name: str, word: str) -> None:
    """Raise if two rows of the same unit have different values in a column that describes the unit."""
    one = f"an {word}" if word == "item" else f"a {word}"
    for column in differing_in_units(table, columns)[:1]:
        unit = table.filter(pl.col(column).n_unique().over("unit") > 1)["unit"].min()
        rows = table.filter(unit=unit).unique(column, keep="first", maintain_order=True).sort(ROW).head(2)
        first, second = rows.select(column, ROW).rows()
        raise MetricInputError(
            f"{name}, rows {first[1]} and {second[1]}: {column} of {word} {unit!r} is {first[0]!r} and {second[0]!r}; "
            f"{f'{one} is in one cluster' if column == 'cluster' else f'a trait is the same in all rows of {one}'}"
        )
