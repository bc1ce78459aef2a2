"""Anybody's table of comparisons in pairs: which table is one, and its rows as records.

A row is a verdict: ``unit, a, b`` and ``winner`` or ``margin``; optional are the other fields of
`attune_data.comparisons.Comparison`. Any other column is a trait of the unit.
"""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import polars as pl
from pydantic import ValidationError

from attune_bench.scores.columns import misspelt_columns
from attune_bench.scores.table_files import ROW, FileTable, read_table
from attune_bench.scores.table_numbers import has_numbers, with_numbers
from attune_data.collection import Collection
from attune_data.comparisons import COMPARISON, Comparison
from attune_data.issues import SourceError
from attune_data.repair import IssueCollector
from attune_data.text import did_you_mean, joined, plural
from attune_metrics.metric import MetricInputError

PAIR_COLUMNS = tuple(name for name in Comparison.model_fields if name != "synthetic")
"""The columns of a table of comparisons."""

_NUMBERS = ("margin", "length_a", "length_b", "repeat")
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "a": ("model_a", "model_1", "model1", "left", "response_a", "system_a"),
    "b": ("model_b", "model_2", "model2", "right", "response_b", "system_b"),
    "winner": ("preference", "preferred", "vote", "verdict", "label", "choice", "better"),
    "unit": ("question_id", "prompt_id", "item_id", "item", "question", "prompt", "id", "instruction", "scenario"),
}

_SPELLING, _SPELLING_OF_LETTER = 0.8, 0.6  # how much alike a name and its misspelling are, of 1


def guessed_columns(columns: Iterable[str], given: Mapping[str, str]) -> dict[str, str] | None:
    """Return which further columns likely have the names of a table of comparisons; None if a table is none.

    Parameters
    ----------
    columns : iterable of str
        The columns of the table.
    given : mapping of str to str
        Names that were mapped already, as for `read_comparisons`.

    Examples
    --------
    >>> guessed_columns(["unit", "a", "b", "winner"], {})
    {}
    >>> guessed_columns(["question_id", "model_a", "model_b", "winner"], {})
    {'unit': 'question_id', 'a': 'model_a', 'b': 'model_b'}
    >>> guessed_columns(["unit", "model", "metric", "value"], {}) is None
    True
    """
    free = {column.lower(): column for column in columns if column not in given.values()}
    known = {*given, *(name for name in PAIR_COLUMNS if name in free.values())}
    guesses: dict[str, str] = {}
    for name in ("unit", "a", "b", *(() if "margin" in known else ("winner",))):
        others = [one for one in free if free[one] not in {*known, *guesses.values()}]
        near = get_close_matches(name, others, 1, _SPELLING if len(name) > 1 else _SPELLING_OF_LETTER)
        meant = [free[other] for other in (*_OTHER_NAMES[name], *near) if other in free]
        if name not in known and meant:
            guesses[name] = meant[0]
    named = {*known, *guesses}
    return guesses if {"a", "b"} <= named and not named.isdisjoint({"winner", "margin"}) else None


def is_comparisons(table: FileTable, columns: Mapping[str, str] | None) -> bool:
    """Tell whether a table is one of comparisons, perhaps with other names of its columns, or without one of them."""
    if guessed_columns(table.frame.columns, columns or {}) is not None:
        return True
    of_pairs = [column for column in table.frame if column.name in ("a", "b", "winner")]
    could_be_meant = {*table.frame.columns} - {*PAIR_COLUMNS}
    return "model" not in could_be_meant and bool(could_be_meant) and sum(not has_numbers(one) for one in of_pairs) > 1


def is_comparison_file(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> bool:
    """Tell whether a file is a table of comparisons; any file that cannot be read is none."""
    try:
        return is_comparisons(read_table(path, names=()), columns)
    except (SourceError, MetricInputError, ImportError):
        return False


def read_comparisons(
    path: str | os.PathLike[str], *, columns: Mapping[str, str] | None = None
) -> tuple[Collection[Comparison], tuple[str, ...]]:
    """Read a table of comparisons: CSV, XLSX, JSONL or Parquet.

    Parameters
    ----------
    path : path
        The file.
    columns : mapping of str to str, optional
        Columns of another name, from a field of `attune_data.comparisons.Comparison`, as in ``{"a": "model_a"}``.
        ``first`` may be mapped to the column of a side, whose answer then was shown first in every row.

    Returns
    -------
    comparisons : Collection
        The records in the order of the rows; `files` has the place of each, such as ``votes.csv:17``.
    assumed : tuple of str
        What was concluded from the content of the file.

    Raises
    ------
    MetricInputError
        If the table is wrong; the text names row, column and value.
    SourceError
        If the file cannot be read.
    """
    name, typed = os.fspath(path), read_table(path, names=())
    text = read_table(path, names=typed.frame.columns)  # every cell as it is written
    if text.frame.is_empty():
        raise MetricInputError(f"{name}: no rows")
    frame = _renamed(text.frame, columns or {}, name)
    traits = [column for column in frame.columns if column not in PAIR_COLUMNS]
    frame = frame.with_columns(typed.frame.select(traits)).with_row_index(ROW, text.first_row)
    frame = frame.filter(~pl.all_horizontal(pl.exclude(ROW).is_null()))
    for column in (column for column in _NUMBERS if column in frame.columns):
        frame = with_numbers(frame, column, frame[ROW].to_list(), name)
    findings = IssueCollector(name)
    records: list[tuple[Comparison, str]] = []
    for row, cells in _rows(frame):
        place = f"{name}, row {row}"
        try:
            record = Comparison.model_validate(cells)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = str(first["loc"][0])
            column = (columns or {}).get(field, field)
            given = f"{first['input']!r:.60}: {first['msg']}" if field in cells else "empty"
            raise MetricInputError(f"{place}: {column} is {given}") from None
        findings.file = place
        COMPARISON.check(record, findings)
        records.append((record, f"{name}:{row}"))
    _check_twice(records, name)
    assumed = list(text.assumed)
    if empty := text.frame.height - frame.height:
        assumed.append(f"{plural(empty, 'empty row')} left out")
    files = {record.id: place for record, place in records}
    found = COMPARISON.collection([record for record, _ in records], [*findings.issues], files=files)
    return found, tuple(assumed)


def _renamed(frame: pl.DataFrame, columns: Mapping[str, str], name: str) -> pl.DataFrame:
    """Return a table with the columns of comparisons under their own names."""
    for role, column in columns.items():
        if role not in PAIR_COLUMNS:
            raise MetricInputError(f"columns: no {role!r}; {did_you_mean(role, PAIR_COLUMNS)}")
        if column not in frame.columns:
            known = frame.columns
            raise MetricInputError(f"{name}: no column {column!r} for {role}; {did_you_mean(column, known)}")
    sides = {columns.get(side, side) for side in ("a", "b")}
    always = columns.get("first") if columns.get("first") in sides else None
    moved = {column: role for role, column in columns.items() if not (role == "first" and always)}
    guesses = guessed_columns(frame.columns, columns)
    if guesses:
        missing, meant = (joined([repr(one) for one in each]) for each in (guesses, guesses.values()))
        noun = "column" if len(guesses) == 1 else "columns"
        given = shlex.quote(",".join(f"{role}={column}" for role, column in {**columns, **guesses}.items()))
        raise MetricInputError(f"{name}: no {noun} {missing}; did you mean {meant}? If so, give --columns {given}")
    frame = frame.rename(moved)
    if always:
        frame = frame.with_columns(first=pl.col(moved.get(always, always)))
    wanted = "unit", "a", "b", "margin" if "margin" in frame.columns else "winner"
    for role in (role for role in wanted if role not in frame.columns):
        raise MetricInputError(f"{name}: no column {role!r} of comparisons; the table has {joined(frame.columns)}")
    return frame


def _rows(frame: pl.DataFrame) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each row, and its cells by column: numbers as numbers, an empty cell left out."""
    for row in frame.iter_rows(named=True):
        number = row.pop(ROW)
        cells: dict[str, Any] = {}
        for column, cell in row.items():
            given = cell.strip() if isinstance(cell, str) else cell
            if given is None or given == "":
                continue
            if column in _NUMBERS:
                given = int(given) if float(given).is_integer() else given
            elif column in PAIR_COLUMNS:
                given = str(given)
            cells[column] = given
        yield number, cells


def _check_twice(records: Sequence[tuple[Comparison, str]], name: str) -> None:
    """Raise where two rows are the same comparison."""
    first: dict[object, str] = {}
    for record, place in records:
        key = COMPARISON.key(record)
        if (before := first.setdefault(key, place)) != place:
            rows = " and ".join(one.rpartition(":")[2] for one in (before, place))
            mend = (
                "; ".join(misspelt_columns([one for one, _ in records]))
                or "leave one out, or number them in a column repeat"
            )
            raise MetricInputError(f"{name}, rows {rows}: both are {record.id}; {mend}")
