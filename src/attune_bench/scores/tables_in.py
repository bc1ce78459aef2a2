"""Anybody's per-item results as scores: a table with the columns ``model, unit, metric, value``.

Optional columns are ``condition``, ``cluster``, ``repeat`` (if models were asked several times), and any number of
traits of the units. A TOML file of the same name beside the table says what its metrics and units are called:

.. code-block:: toml

    columns = {unit = "question_id"}
    unit = "question"
    private = false
    primary = "accuracy"

    [metrics.accuracy]
    label = "Accuracy"
    low = 0
    high = 1

`attune_bench.scores.tables_out` does the reverse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial, reduce
from operator import and_
from typing import Any

import polars as pl

from attune_bench.scores.table import (
    CHANCE,
    KEYS,
    REPEAT,
    UNIT_KEYS,
    Provenance,
    ScoreTable,
    as_means,
    means_over_repeats,
    metric_entries,
    note_on_repeats,
)
from attune_bench.scores.table_columns import (
    COLUMNS,
    OPTIONAL,
    REQUIRED,
    ROW,
    differing_in_units,
    long_layout,
    renamed,
    same_rows,
)
from attune_bench.scores.table_files import check_no_pattern
from attune_bench.scores.table_numbers import converted, read_numbers
from attune_data.text import did_you_mean, plural
from attune_metrics.metric import Metric, MetricInputError
from attune_metrics.stats.bootstrap import PER_UNIT

_NAMES = ("model", "unit", "metric", *OPTIONAL)
_WORDS = ("title", "unit", "cluster", "condition", "primary")
_ABOUT = (*_WORDS, "private", "synthetic", "traits")
# Columns of scores, of their files and of reports; a metric of the same name would replace them.
_TAKEN = frozenset((*KEYS, *UNIT_KEYS, "clusters", "detail", "n", "name", "reason", "signature"))
_ROUNDING = 1e-9
_TAKEN_STARTS = ("calls.", CHANCE, "coverage.", "failed.", "trait.", "variant.")


def score_table(
    frame: pl.DataFrame,
    *,
    metrics: Mapping[str, Any] | None = None,
    about: Mapping[str, str | bool] | None = None,
    name: str = "the table",
    first_row: int = 1,
    columns: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
    description: str = "",
) -> ScoreTable:
    """Return the scores of anybody's per-item results.

    Parameters
    ----------
    frame : polars.DataFrame
        ``model, unit, metric, value``, optional ``condition, cluster, repeat``, and traits of units. ``value`` is a
        number, true or false, or one of these as text, with a decimal point or comma; null, empty text, nan and NA mean
        undefined. Blanks around names are removed; an empty condition or cluster means that there is none. With
        ``repeat`` in every row, the values are the means of each unit over the repeats in which the metric is defined.
        Or a wide table, see `attune_bench.scores.table_columns.long_layout`.
    metrics : mapping of str to mapping or Metric, optional
        As for `attune_bench.scores.table.metric_entries`. A metric that is not named here is a mean, and higher is
        better.
    about : mapping, optional
        ``title``, ``unit``, ``cluster``, ``condition``: the words for these; ``primary``: the main metric; ``private``:
        true if clusters are people, so that a page shows no value that rests on few of them; ``synthetic``: true if
        units are invented, which every output then says; ``traits``: columns of numbers of a wide table that are
        neither metrics nor models.
    name : str
        What errors call the table.
    first_row : int
        The number of the first row, as the file counts.
    columns : mapping of str to str, optional
        Columns that have another name, see `attune_bench.scores.table_columns.renamed`.
    assumed : sequence of str
        What was concluded from the content of the file, for a note.
    description : str
        The name of the TOML file that can describe the table, for a note on metrics that have no description.

    Raises
    ------
    MetricInputError
        If a column is missing; ``value`` is no number or is infinite; a row names no model, unit or metric; a metric
        has the name of a column that scores use themselves; a value is outside the range of its metric; two rows have
        the same model, unit, metric, condition and repeat; only some rows name a repeat; or a unit has two clusters or
        two values of a trait. The text names the row, the column and the value.
    """
    notes: list[str] = []
    table = frame.with_columns(pl.int_range(pl.len()).alias(ROW) + first_row).filter(~_is_empty_row(frame))
    table, named_metric = renamed(table, columns or {}, name)
    _check_filled(table, columns or {}, name)
    names_models = {"model", "metric"}.isdisjoint(table.columns)
    traits_given = _traits_given(about or {}, table, name)
    table, said = long_layout(table, metrics=metrics or {}, traits=traits_given, metric=named_metric, name=name)
    checked, with_commas = _checked(table, name)
    assumed = [*assumed, *(["decimal commas"] if with_commas else [])]
    if empty := frame.height - table[ROW].n_unique():
        assumed.append(f"{plural(empty, 'empty row')} left out")
    notes += [f"Assumed of the table: {'; '.join(assumed)}."] if assumed else []
    notes += said
    known = metric_entries(metrics or {}, place=f"{name}: metrics")
    for metric in known.values():
        if metric.statistic not in PER_UNIT:
            statistics = did_you_mean(metric.statistic, PER_UNIT)
            raise MetricInputError(f"{name}: metrics.{metric.name}.statistic: no {metric.statistic!r}; {statistics}")
        if metric.terms or metric.coverage:
            field = "terms" if metric.terms else "coverage"
            raise MetricInputError(f"{name}: metrics.{metric.name}.{field}: a table has one value a row; leave it out")
    found = checked["metric"].unique(maintain_order=True).to_list()
    for unknown in known.keys() - set(found):
        raise MetricInputError(
            f"{name}: metrics.{unknown}: the table has no such metric; {did_you_mean(unknown, found)}"
        )
    _check_ranges(checked, known, name)
    entries = {metric: known.get(metric) or Metric(name=metric, label=metric) for metric in [*known, *found]}
    named = _checked_about(about or {}, entries, name)
    primary = named.get("primary", "")
    if primary and primary not in entries:
        raise MetricInputError(f"{name}: primary: no metric {primary!r}; {did_you_mean(primary, entries)}")
    repeated = checked[REPEAT].null_count() == 0
    index = [*KEYS, REPEAT] if repeated else [*KEYS]
    values = checked.pivot(on="metric", index=index, values="value", maintain_order=True).select(*index, *entries)
    repeats = None
    if repeated:
        repeats = values
        values, entries = means_over_repeats(repeats), as_means(entries)
        notes.append(note_on_repeats(named.get("unit", "unit")))
    traits = [column for column in checked.columns if column not in (*COLUMNS, ROW)]
    units = checked.select(*UNIT_KEYS, *traits).unique("unit", maintain_order=True).sort("unit")
    assumed = [metric for metric in found if metric not in known]
    if assumed:
        known_by = f"{plural(len(assumed), 'metric')} without a description ({', '.join(assumed)})"
        to = "name it, give --columns value=NAME, or" if names_models and assumed == ["value"] else "say more,"
        more = f" To {to} write {description} beside the table: docs/own-results.md." if description else ""
        notes.append(f"{known_by}: mean, higher is better.{more}")
    if units["cluster"].is_null().all():
        # Each unit is a cluster of its own.
        named.setdefault("cluster", named.get("unit", "unit"))
    elif named.get("cluster", "cluster") == named.get("unit", "unit"):
        raise MetricInputError(f"{name}: unit and cluster are both called {named['unit']!r}; call one otherwise")
    provenance = Provenance(**{"title": "Scores", **named}, notes=tuple(notes))
    return ScoreTable(values=values, units=units, metrics=entries, provenance=provenance, repeats=repeats)


def _traits_given(about: Mapping[str, Any], table: pl.DataFrame, name: str) -> list[str]:
    """Return the columns that are said to be traits."""
    given = about.get("traits", [])
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise MetricInputError(f"{name}: traits: {given!r:.60} is no list of names of columns")
    columns = [column for column in table.columns if column != ROW]
    for column in given:
        if column not in columns:
            raise MetricInputError(f"{name}: traits: no column {column!r}; {did_you_mean(column, columns)}")
    return [*given]


def _checked_about(about: Mapping[str, Any], metrics: Mapping[str, Metric], name: str) -> dict[str, Any]:
    for key, value in about.items():
        if key not in _ABOUT:
            of_metric = key in {one.name for one in fields(Metric)}
            hint = "write it under [metrics.NAME]" if of_metric else did_you_mean(key, ("metrics", "columns", *_ABOUT))
            raise MetricInputError(f"{name}: {key}: no such key; {hint}")
        if key in _WORDS and (not isinstance(value, str) or not value.strip()):
            raise MetricInputError(f"{name}: {key}: {value!r:.60} is no text")
        if key in {"private", "synthetic"} and not isinstance(value, bool):
            raise MetricInputError(f"{name}: {key}: {value!r:.60} is neither true nor false")
    # The word for a condition is the heading of a column in every output.
    if (called := about.get("condition", "condition")) != "condition" and called in {*_TAKEN, *REQUIRED, *metrics}:
        raise MetricInputError(f"{name}: condition: {called!r} is a column of scores; call it otherwise")
    return {key: value for key, value in about.items() if key != "traits"}


def _checked(table: pl.DataFrame, name: str) -> tuple[pl.DataFrame, bool]:
    """Return the table with text keys and numbers as values, and whether it has decimal commas.

    Raise at the first row that is wrong.
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
    numbers, with_commas = read_numbers(table["value"], table[ROW].to_list(), partial(_called, table, name))
    table = table.with_columns(value=numbers)
    _check_twice(table, name)
    for column in traits:
        if column.startswith(CHANCE):
            raise MetricInputError(f"{name}: {column!r} is a column of scores; give the trait another name")
        check_no_pattern(column, name)
        if with_commas and table.schema[column] == pl.String and column != "cluster":
            table = table.with_columns(converted(table[column], with_commas=True))
    _check_of_units(table, traits, name)
    return table, with_commas


def _is_empty_row(frame: pl.DataFrame) -> pl.Series:
    """Tell for each row whether all its cells are empty, as at the end of a sheet."""
    columns = frame.get_columns()
    empty = [_is_empty(cells) for cells in columns]
    return reduce(and_, empty, pl.repeat(bool(columns), frame.height, eager=True))


def _is_empty(cells: pl.Series) -> pl.Series:
    cells = cells.alias("")  # polars may read the name of a column as a pattern.
    is_text = cells.dtype in (pl.String, pl.Categorical, pl.Enum)
    blank = cells.cast(pl.String).str.strip_chars() == "" if is_text else cells.is_null()
    return blank.fill_null(value=True)


def _check_filled(table: pl.DataFrame, columns: Mapping[str, str], name: str) -> None:
    """Raise at a row that lacks its model, unit or metric, where the table has a column of these."""
    roles = [role for role in ("model", "unit", "metric") if role in table.columns]
    for role in roles:
        for row in table[ROW].filter(_is_empty(table[role])).head(1):
            column = columns.get(role, role)
            called = column if column == role else f"{column} ({role})"
            listed_roles = f"{', '.join(roles[:-1])} and {roles[-1]}" if len(roles) > 1 else f"its {role}"
            every = f"every row names {listed_roles}: fill the cell, or delete the row"
            raise MetricInputError(f"{name}, row {row}: {called} is empty or NA; {every}")


def _check_names(table: pl.DataFrame, name: str) -> None:
    metrics = set(table["metric"].unique())
    for metric, row in table.unique("metric", maintain_order=True).select("metric", ROW).iter_rows():
        counts = metric.endswith("_n") and metric.removesuffix("_n") in metrics
        if counts or metric in _TAKEN or metric.startswith(_TAKEN_STARTS):
            raise MetricInputError(f"{name}, row {row}: {metric!r} is a column of scores; give the metric another name")
        check_no_pattern(metric, f"{name}, row {row}")


def _called(table: pl.DataFrame, name: str, place: int) -> str:
    """Return what an error about a value begins with; a row of a wide table has several values."""
    cell = table.row(place, named=True)
    value = f"{cell['value']:g}" if isinstance(cell["value"], int | float) else f"{cell['value']!r:.60}"
    of_model = f", model {cell['model']!r}" if table[ROW].is_duplicated().any() else ""
    return f"{name}, row {cell[ROW]}: value {value} of metric {cell['metric']!r}{of_model}"


def _check_ranges(table: pl.DataFrame, known: Mapping[str, Metric], name: str) -> None:
    """Raise at a value that its metric cannot have."""
    value = pl.col("value")
    for metric in known.values():
        # With room for rounding: a mean of ones can come out as 1.0000000000000002.
        outside = (value < metric.low - _ROUNDING) | (value > metric.high + _ROUNDING)
        wrong = {f"is outside {metric.low:g} to {metric.high:g}; is it on another scale?": outside}
        if metric.statistic == "share":
            no_share = 'is neither 0 nor 1; a share counts these, leave out "statistic"'
            wrong = {no_share: ~value.is_in([0.0, 1.0])} | wrong
        for why, condition in wrong.items():
            for place in table.select((pl.col("metric") == metric.name) & condition).to_series().arg_true()[:1]:
                raise MetricInputError(f"{_called(table, name, place)} {why}")


def _check_twice(table: pl.DataFrame, name: str) -> None:
    """Raise where only some rows name their repeat, and where two rows are of the same value."""
    without = table.filter(pl.col(REPEAT).is_null())
    if 0 < without.height < table.height:
        raise MetricInputError(f"{name}, row {without[ROW][0]}: repeat is empty; every row names its repeat, or none")
    rows = same_rows(table, ["model", "condition", "unit", "metric", REPEAT])
    if rows.is_empty():
        return
    first, second = rows.iter_rows(named=True)
    under = "".join(f", {key} {first[key]!r}" for key in ("condition", REPEAT) if first[key] is not None)
    mend = "leave one out" if first[REPEAT] is not None else "leave one out, or number them in a column repeat"
    raise MetricInputError(
        f"{name}, rows {first[ROW]} and {second[ROW]}: both are model {first['model']!r}, unit "
        f"{first['unit']!r}, metric {first['metric']!r}{under}, with the values "
        f"{first['value']} and {second['value']}; {mend}"
    )


def _check_of_units(table: pl.DataFrame, columns: Sequence[str], name: str) -> None:
    """Raise if two rows of the same unit have different values in a column that describes the unit."""
    for column in differing_in_units(table, columns)[:1]:
        unit = table.filter(pl.col(column).n_unique().over("unit") > 1)["unit"].min()
        rows = table.filter(unit=unit).unique(column, keep="first", maintain_order=True).sort(ROW).head(2)
        first, second = rows.select(column, ROW).rows()
        raise MetricInputError(
            f"{name}, rows {first[1]} and {second[1]}: {column} of unit {unit!r} is {first[0]!r} and {second[0]!r}; "
            f"{'a unit is in one cluster' if column == 'cluster' else 'a trait is the same in all rows of a unit'}"
        )
