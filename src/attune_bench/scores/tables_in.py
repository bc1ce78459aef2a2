"""Anybody's per-item results as scores: a table with the columns ``model, unit, metric, value``.

Optional columns are ``condition``, ``cluster``, ``repeat`` (if models were asked several times), and any number of
traits of the units. A TOML file of the same name beside the table says what its metrics and units are called:

.. code-block:: toml

    unit = "question"
    private = false
    primary = "accuracy"

    [metrics.accuracy]
    label = "Accuracy"
    low = 0
    high = 1

`long_table` and `description_toml` do the reverse: they give scores as a long table, with one row for each model,
condition, unit and metric, and the text of the TOML file that describes it.

`write_long_table` writes both files, which can be read as a table of scores again.
"""

import csv
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from math import isinf
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from attune_bench.scores.table import (
    CHANCE,
    KEYS,
    REPEAT,
    UNIT_KEYS,
    Provenance,
    ScoreTable,
    entry_fields,
    metric_entries,
    metrics_per_unit,
)
from attune_data.codebook import parse_toml
from attune_data.export import from_csv_text, to_csv
from attune_data.io.documents import check_input, read_input, write_whole
from attune_data.issues import SourceError, shown
from attune_data.record import panics_as_errors
from attune_data.text import did_you_mean, plural
from attune_metrics.metric import Metric, MetricInputError
from attune_metrics.stats.bootstrap import PER_UNIT

T = TypeVar("T", bound=ScoreTable)


def means_over_repeats(rows: pl.DataFrame, by: Sequence[str] = KEYS) -> pl.DataFrame:
    """Return each column's mean over the repeats with a value; rows are in the order in which their keys first occur.

    Examples
    --------
    >>> rows = [("m", None, "u", "1", 3.0), ("m", None, "u", "2", 4.0), ("m", None, "v", "1", None)]
    >>> frame = pl.DataFrame(rows, schema=[*KEYS, "repeat", "points"], orient="row")
    >>> means_over_repeats(frame)["points"].to_list()
    [3.5, None]
    """
    columns = [name for name in rows.columns if name != REPEAT]
    means = rows.group_by(by, maintain_order=True).agg(pl.exclude(*by, REPEAT).mean())
    return means.select(columns)


def as_means(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return entries for metrics averaged over repeats: a share becomes a mean, as a mean of trials is no trial."""
    return {
        name: replace(metric, statistic="mean") if metric.statistic == "share" else metric
        for name, metric in metrics.items()
    }


def note_on_repeats(unit: str) -> str:
    """Return the sentence that stands under tables of means over repeats."""
    return f"Values are means over the repeats of each {unit}; a repeat counts nowhere as another {unit}."


def over_repeats(table: T) -> T:
    """Return the scores averaged over repeats, from scores in which every row names its repeat.

    Parameters
    ----------
    table : ScoreTable
        Scores with one row for each repeat in `values`, and in `variants` if there are any; a column ``repeat`` has the
        number of the repeat as text. If nothing was asked twice, the scores returned have no repeats.

    Returns
    -------
    ScoreTable
        Without `detail` if there are several repeats, because a value then comes from several results.
    """
    variants = table.variants
    if table.values.select(KEYS).is_unique().all():
        once = None if variants is None else variants.drop(REPEAT)
        return replace(table, values=table.values.drop(REPEAT), variants=once)
    if variants is not None:
        means = means_over_repeats(variants, [*KEYS, *table.choices])
        variants = pl.concat([means, variants], how="diagonal").select(variants.columns)
    joined = replace(
        table,
        values=means_over_repeats(table.values),
        variants=variants,
        repeats=table.values,
        detail=None,
        metrics=as_means(table.metrics),
    )
    return joined.note(note_on_repeats(table.provenance.unit))


_REQUIRED = ("model", "unit", "metric", "value")
_OPTIONAL = ("condition", "cluster", REPEAT)
_NAMES = ("model", "unit", "metric", *_OPTIONAL)
_WORDS = ("title", "unit", "cluster", "condition", "primary")
_ABOUT = (*_WORDS, "private", "synthetic")
# Columns of scores, of their files and of reports; a metric of the same name would replace them.
_TAKEN = frozenset((*KEYS, *UNIT_KEYS, "clusters", "detail", "n", "name", "reason", "signature"))
_ROUNDING = 1e-9
_PATTERN = re.compile(r"\*|\^.*\$", re.DOTALL)  # of names of columns
_CODE = r"^\s*[+-]?0\d"
_WRITTEN = {"": None, "true": "1", "false": "0"}
_ROW = "\0row"  # no column of a file has this name
_TAKEN_STARTS = ("calls.", CHANCE, "coverage.", "failed.", "trait.", "variant.")


def score_table(
    frame: pl.DataFrame,
    *,
    metrics: Mapping[str, Any] | None = None,
    about: Mapping[str, str | bool] | None = None,
    name: str = "the table",
    first_row: int = 1,
) -> ScoreTable:
    """Return the scores of anybody's per-item results.

    Parameters
    ----------
    frame : polars.DataFrame
        ``model, unit, metric, value``, optional ``condition, cluster, repeat``, and traits of units. ``value`` is a
        number, true or false, or one of these as text; null, empty text and nan mean undefined. Blanks around names are
        removed; an empty condition or cluster means that there is none. With ``repeat`` in every row, the values are
        the means of each unit over the repeats in which the metric is defined.
    metrics : mapping of str to mapping or Metric, optional
        As for `attune_bench.scores.table.metric_entries`. A metric that is not named here is a mean, and higher is
        better.
    about : mapping, optional
        ``title``, ``unit``, ``cluster``, ``condition``: the words for these; ``primary``: the main metric; ``private``:
        true if clusters are people, so that a page shows no value that rests on few of them; ``synthetic``: true if
        units are invented, which every output then says.
    name : str
        What errors call the table.
    first_row : int
        The number of the first row, as the file counts.

    Raises
    ------
    MetricInputError
        If a column is missing; ``value`` is no number or is infinite; a row names no model, unit or metric; a metric
        has the name of a column that scores use themselves; a value is outside the range of its metric; two rows have
        the same model, unit, metric, condition and repeat; only some rows name a repeat; or a unit has two clusters or
        two values of a trait. The text names the row, the column and the value.
    """
    checked = _checked(frame, name, first_row)
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
    notes: list[str] = []
    if repeated:
        repeats = values
        values, entries = means_over_repeats(repeats), as_means(entries)
        notes.append(note_on_repeats(named.get("unit", "unit")))
    traits = [column for column in checked.columns if column not in (*_REQUIRED, *_OPTIONAL, _ROW)]
    units = checked.select(*UNIT_KEYS, *traits).unique("unit", maintain_order=True).sort("unit")
    assumed = [metric for metric in found if metric not in known]
    if assumed:
        known_by = f"{plural(len(assumed), 'metric')} without a description ({', '.join(assumed)})"
        notes.append(f"{known_by}: mean, higher is better.")
    if units["cluster"].is_null().all():
        # Each unit is a cluster of its own.
        named.setdefault("cluster", named.get("unit", "unit"))
    elif named.get("cluster", "cluster") == named.get("unit", "unit"):
        raise MetricInputError(f"{name}: unit and cluster are both called {named['unit']!r}; call one otherwise")
    provenance = Provenance(**{"title": "Scores", **named}, notes=tuple(notes))
    return ScoreTable(values=values, units=units, metrics=entries, provenance=provenance, repeats=repeats)


def _checked_about(about: Mapping[str, Any], metrics: Mapping[str, Metric], name: str) -> dict[str, Any]:
    for key, value in about.items():
        if key not in _ABOUT:
            raise MetricInputError(f"{name}: {key}: no such key; {did_you_mean(key, ('metrics', *_ABOUT))}")
        if key in _WORDS and (not isinstance(value, str) or not value.strip()):
            raise MetricInputError(f"{name}: {key}: {value!r:.60} is no text")
        if key not in _WORDS and not isinstance(value, bool):
            raise MetricInputError(f"{name}: {key}: {value!r:.60} is neither true nor false")
    # The word for a condition is the heading of a column in every output.
    if (called := about.get("condition", "condition")) != "condition" and called in {*_TAKEN, *_REQUIRED, *metrics}:
        raise MetricInputError(f"{name}: condition: {called!r} is a column of scores; call it otherwise")
    return dict(about)


def _checked(frame: pl.DataFrame, name: str, first_row: int) -> pl.DataFrame:
    """Return the table with text keys and numbers as values; raise at the first row that is wrong."""
    for column in _REQUIRED:
        if column not in frame.columns:
            raise MetricInputError(f"{name}: no column {column!r}; {_likely_column(column, frame.columns)}")
    if frame.is_empty():
        raise MetricInputError(f"{name}: no rows")
    table = frame.with_columns(pl.int_range(pl.len()).alias(_ROW) + first_row)
    for column in _OPTIONAL:
        if column not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=pl.String).alias(column))
    for column in _NAMES:
        if table.schema[column].is_nested() or table.schema[column] == pl.Binary:
            raise MetricInputError(f"{name}: {column} is of type {table.schema[column]}; expected text")
    names = pl.col(_NAMES).cast(pl.String).str.strip_chars()
    table = table.with_columns(pl.when(names != "").then(names))
    for column in ("model", "unit", "metric"):
        empty = table.filter(pl.col(column).is_null())
        for row in empty.head(1).iter_rows(named=True):
            raise MetricInputError(
                f"{name}, row {row[_ROW]}: {column} is empty; every row names model, unit and metric"
            )
    _check_names(table, name)
    table = _numbers(table, name)
    _check_repeats(table, name)
    _check_twice(table, name)
    traits = [column for column in frame.columns if column not in (*_REQUIRED, "condition", REPEAT)]
    for column in traits:
        if column.startswith(CHANCE):
            raise MetricInputError(f"{name}: {column!r} is a column of scores; give the trait another name")
        _check_no_pattern(column, name)
        _check_of_unit(table, column, name)
    return table


def _likely_column(column: str, columns: Sequence[str]) -> str:
    """Return a guess at why a column is missing."""
    near = get_close_matches(column, [other for other in columns if other not in (*_REQUIRED, *_OPTIONAL)], n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    separated = "; is the file separated by commas?" if len(columns) == 1 else ""
    return f"the table has {', '.join(columns)}{separated}"


def _check_names(table: pl.DataFrame, name: str) -> None:
    metrics = set(table["metric"])
    for metric, row in table.unique("metric", maintain_order=True).select("metric", _ROW).iter_rows():
        counts = metric.endswith("_n") and metric.removesuffix("_n") in metrics
        if counts or metric in _TAKEN or metric.startswith(_TAKEN_STARTS):
            raise MetricInputError(f"{name}, row {row}: {metric!r} is a column of scores; give the metric another name")
        _check_no_pattern(metric, f"{name}, row {row}")


def _check_no_pattern(name: str, place: str) -> None:
    """Refuse the name of a metric or a trait that polars would read as a pattern for column names."""
    if _PATTERN.fullmatch(name):
        raise MetricInputError(f"{place}: {name!r} would stand for columns of other names; give it another name")


def _numbers(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the table with ``value`` as floats, null where it is empty or nan."""
    given = table["value"]
    if given.dtype == pl.String:
        text = given.str.strip_chars()
        given = pl.Series("value", [_WRITTEN.get((value or "").lower(), value) for value in text], pl.String)
    elif not (given.dtype.is_numeric() or given.dtype in (pl.Boolean, pl.Null)):
        raise MetricInputError(f"{name}: value is of type {given.dtype}; expected numbers")
    numbers = given.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & given.is_not_null()) | numbers.is_infinite().fill_null(value=False)
    for row in wrong.arg_true().head(1).to_list():
        value, number = given[row], numbers[row]
        why = "is infinite" if number is not None and isinf(number) else "is no number"
        raise MetricInputError(
            f"{name}, row {table[_ROW][row]}: value {value!r:.60} of metric {table['metric'][row]!r} {why}; "
            "leave it empty where it is undefined"
        )
    return table.with_columns(numbers.fill_nan(None).alias("value"))


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
            for row in table.filter(pl.col("metric") == metric.name, condition).head(1).iter_rows(named=True):
                found = f"value {row['value']:g} of metric {metric.name!r}"
                raise MetricInputError(f"{name}, row {row[_ROW]}: {found} {why}")


def _check_repeats(table: pl.DataFrame, name: str) -> None:
    """Raise where some rows name their repeat, and others none."""
    without = table.filter(pl.col(REPEAT).is_null())
    if 0 < without.height < table.height:
        raise MetricInputError(f"{name}, row {without[_ROW][0]}: repeat is empty; every row names its repeat, or none")


def _check_twice(table: pl.DataFrame, name: str) -> None:
    keys = ["model", "condition", "unit", "metric", REPEAT]
    repeated = table.filter(pl.struct(keys).is_duplicated()).sort(*keys, _ROW)
    if repeated.is_empty():
        return
    first, second = repeated.head(2).iter_rows(named=True)
    under = "".join(f", {key} {first[key]!r}" for key in ("condition", REPEAT) if first[key] is not None)
    mend = "leave one out" if first[REPEAT] is not None else "leave one out, or number them in a column repeat"
    raise MetricInputError(
        f"{name}, rows {first[_ROW]} and {second[_ROW]}: both are model {first['model']!r}, unit "
        f"{first['unit']!r}, metric {first['metric']!r}{under}, with the values "
        f"{first['value']} and {second['value']}; {mend}"
    )


def _check_of_unit(table: pl.DataFrame, column: str, name: str) -> None:
    """Raise if two rows of the same unit have different values in a column that describes the unit."""
    kinds = table.group_by("unit").agg(pl.col(column).n_unique().alias("kinds")).filter(pl.col("kinds") > 1)
    if kinds.is_empty():
        return
    unit = kinds["unit"].min()
    rows = table.filter(unit=unit).unique(column, keep="first", maintain_order=True).sort(_ROW).head(2)
    first, second = rows.select(column, _ROW).rows()
    raise MetricInputError(
        f"{name}, rows {first[1]} and {second[1]}: {column} of unit {unit!r} is {first[0]!r} and {second[0]!r}; "
        f"{'a unit is in one cluster' if column == 'cluster' else 'a trait is the same in all rows of a unit'}"
    )


def read_table(path: str | os.PathLike[str], *, names: Sequence[str] = _NAMES) -> tuple[pl.DataFrame, int]:
    """Read a CSV, JSONL or Parquet table; return it, and its first row's number in the file (2 for CSV).

    In a CSV file the columns `names` are read as text, even if they contain numbers.

    Raises
    ------
    SourceError
        If the file cannot be read, or has another format.
    """
    target = Path(path)
    ending = target.suffix.lower()
    try:
        check_input(target)
        with target.open("rb"):  # polars has no message of its own for a folder
            pass
        if ending == ".csv":
            try:
                with panics_as_errors():
                    table = pl.read_csv(target, infer_schema=False)
            except pl.exceptions.PolarsError:
                _check_ragged(target)
                raise
            if table.width and table[table.columns[-1]].has_nulls():  # polars fills a row that is too short with nulls
                _check_ragged(target)
            return _typed(table, path, names), 2
        if ending in {".jsonl", ".ndjson"}:
            _check_flat(target)
            with panics_as_errors():
                return pl.read_ndjson(target, infer_schema_length=None), 1
        if ending == ".parquet":
            with panics_as_errors():
                return pl.read_parquet(target), 1
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}") from None
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"{path} cannot be read as a table: {str(error).splitlines()[0]:.200}") from None
    hint = "; attune_bench.Scores.read reads a benchmark's own file of scores" if ending == ".json" else ""
    raise SourceError(f"{path} is no table of scores; expected a name in .csv, .jsonl or .parquet{hint}")


def _check_ragged(target: Path) -> None:
    """Refuse a CSV file in which a row has more or fewer cells than the header."""
    with target.open(encoding="utf-8-sig", errors="replace", newline="") as file, suppress(csv.Error):
        rows = csv.reader(file)
        width = len(next(rows, ()))
        for number, row in enumerate(rows, start=2):
            if row and len(row) != width:
                found = f"{target}, row {number}: {plural(len(row), 'cell')}, and the header has {width}"
                raise SourceError(f"{found}; a text with a comma is in quotes, an undefined value is an empty cell")


def _check_flat(target: Path) -> None:
    """Refuse rows that contain lists or objects: polars would spend minutes on finding one type that fits all rows."""
    with target.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.count(b"{") < 2 and b"[" not in line:
                continue
            try:
                row = json.loads(line)
            except RecursionError:
                raise SourceError(f"{target}, row {number}: nested deeply; a table has text and numbers only") from None
            except ValueError:  # polars says what it is
                continue
            for column, cell in row.items() if isinstance(row, dict) else ():
                if isinstance(cell, dict | list):
                    found = f"{target}, row {number}: {column} is {shown(cell)}"
                    raise SourceError(f"{found}; a table has text and numbers only")


def _typed(table: pl.DataFrame, path: str | os.PathLike[str], names: Sequence[str]) -> pl.DataFrame:
    """Return a table of text with a trait converted to numbers, or to lists of texts, if all its values can be.

    The other columns stay text, so that an error can name the row of the first value that is not a number. A trait with
    codes such as 007 stays text too, because 007 as a number would become 7.
    """
    table = table.rename(from_csv_text)
    for column in table.columns:
        first, renamed, _ = column.partition("_duplicated_")
        if renamed and first in table.columns:
            raise MetricInputError(f"{path}: two columns are called {first!r}; rename one, or leave it out")
        if column in (*names, "value"):
            continue
        _check_no_pattern(column, str(path))
        if (lists := _lists(table[column])) is not None:
            table = table.with_columns(lists)
            continue
        if table[column].str.contains(_CODE).any():
            continue
        for dtype in (pl.Int64, pl.Float64):
            if table[column].dtype == pl.String:
                with suppress(pl.exceptions.InvalidOperationError):
                    table = table.with_columns(pl.col(column).cast(dtype))
    texts = [column for column in table.select(pl.col(pl.String)).columns if column != "value"]
    escaped = [column for column in texts if table[column].str.starts_with("'").any()]
    return table.with_columns(pl.col(escaped).map_elements(from_csv_text, return_dtype=pl.String))


def _lists(cells: pl.Series) -> pl.Series | None:
    """Return a trait's cells as lists of texts if all are such lists in JSON, as `to_csv` writes them; otherwise None.

    An empty cell is allowed and stays null.
    """
    given = cells.drop_nulls()
    if given.is_empty() or not given.str.starts_with("[").all():
        return None
    try:
        found = [None if cell is None else json.loads(cell) for cell in cells]
    except (ValueError, RecursionError):
        return None
    if any(not isinstance(one, str) for one in chain.from_iterable(one or () for one in found)):
        return None
    return pl.Series(cells.name, found, pl.List(pl.String))


def read_description(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the TOML file that describes a table: its metrics, and what its units are called.

    Raises
    ------
    SourceError
        Where the file cannot be read.
    """
    try:
        content = parse_toml(read_input(path))
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SourceError(f"{path} is no TOML: {error}") from None
    metrics = content.pop("metrics", {})
    if not isinstance(metrics, dict):
        raise SourceError(f"{path}: metrics is {metrics!r:.60}; expected a table [metrics.NAME] for each metric")
    return metrics, content


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_OF_A_VALUE = ("metric", "value")


def long_table(table: ScoreTable, metrics: Sequence[str] | None = None) -> pl.DataFrame:
    """Return every unit's values: one row for each model, condition, unit, metric, and repeat if there are several.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    metrics : sequence of str, optional
        The metrics to include, of those that have one value for each unit; by default all of these.

    Returns
    -------
    polars.DataFrame
        ``model, condition, unit, cluster``, the traits of units, ``repeat`` where models were asked several times, and
        ``metric, value``. ``value`` is null where the metric is undefined. Metrics of pooled counts, which have no
        value for a unit, are left out.

    Raises
    ------
    MetricInputError
        Where no metric has a value for each unit, or a trait has the name of another column.
    """
    of_units = [name for name in metrics_per_unit(table) if metrics is None or name in metrics]
    if not of_units:
        raise MetricInputError("none of the metrics has one value for each unit, so there is no table of units")
    repeated = table.repeats is not None
    rows = table.values if table.repeats is None else table.repeats
    keys = [*KEYS, "cluster", *table.traits, *([REPEAT] if repeated else [])]
    for name in table.traits:
        if keys.count(name) > 1 or name in (REPEAT, *_OF_A_VALUE):
            raise MetricInputError(f"{name!r} is a column of tables of scores; give the trait another name")
    units = table.units.select("unit", "cluster", *table.traits)
    joined = rows.join(units, on="unit", how="left", maintain_order="left").select(*keys, *of_units)
    long = joined.unpivot(of_units, index=keys, variable_name="metric", value_name="value")
    return long.with_columns(pl.col("value").fill_nan(None))


def description_toml(table: ScoreTable, long: pl.DataFrame) -> str:
    """Return the text of the TOML file that describes a long table: its units, and each metric's range and direction.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> print(description_toml(scores, long_table(scores)).partition("[")[0].strip())
    title = "AttuneBench"
    unit = "conversation"
    condition = "mode"
    cluster = "participant"
    primary = "composite_score"
    private = true
    synthetic = true
    """
    held = table.provenance
    metrics = long["metric"].unique(maintain_order=True).to_list()
    about: dict[str, Any] = {"title": held.title, "unit": held.unit, "condition": held.condition}
    if held.cluster != held.unit:
        about["cluster"] = held.cluster
    about["primary"] = table.primary if table.primary in metrics else metrics[0]
    about |= {name: True for name in ("private", "synthetic") if getattr(held, name)}
    lines = [*_pairs(about)]
    for name in metrics:
        fields = {key: value for key, value in entry_fields(table.metrics[name]).items() if key not in _OF_BENCHMARKS}
        lines += ["", f"[metrics.{_key(name)}]", *_pairs(fields)]
    return "\n".join(lines) + "\n"


# Fields of an entry for which a table with one value in each row has no columns.
_OF_BENCHMARKS = ("terms", "coverage")


def _pairs(values: Mapping[str, Any]) -> list[str]:
    # TOML has no null.
    return [f"{_key(name)} = {_literal('neither' if value is None else value)}" for name, value in values.items()]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _literal(name)


def _literal(value: Any) -> str:
    """Return a value as TOML, which writes texts, numbers and lists as JSON does but must escape one more character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_long_table(table: ScoreTable, path: str | os.PathLike[str]) -> None:
    """Write the table of `long_table` as CSV, and beside it the TOML file of the same name.

    Raises
    ------
    ValueError
        Where the name does not end in ``.csv``.
    MetricInputError
        As `long_table`.
    OSError
        Where a file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() != ".csv":
        raise ValueError(f"to_csv writes one table: {target.name!r} has to end in .csv")
    long = long_table(table)
    # The description is written first, so that nobody finds a table without it.
    write_whole(target.with_suffix(".toml"), [description_toml(table, long).encode()])
    write_whole(target, [to_csv(long).encode()])
