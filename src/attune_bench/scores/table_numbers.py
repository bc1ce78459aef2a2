"""Cells of text as numbers: decimal points and commas, true and false, and what programs write for no number."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from math import isinf

import polars as pl

from attune_data.text import plural
from attune_metrics.metric import MetricInputError

ROUNDING = 1e-9
"""Room for rounding at the ends of a range: a mean of ones can come out as 1.0000000000000002."""

UNDEFINED = ("NA", "N/A", "#N/A", "#NV", "n.a.", "NaN", "nan")
"""Texts that R, spreadsheets and Python write where there is no number."""

_WRITTEN: dict[str, str | None] = {**dict.fromkeys(("", "null", *map(str.lower, UNDEFINED))), "true": "1", "false": "0"}
# Words, lower case, and the number (as text) that each word stands for; None if undefined.
_VERDICTS = ("yes", "y", "correct", "right", "pass", "passed", "no", "n", "incorrect", "wrong", "fail", "failed")
_NUMBER = r"^\s*[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?\s*$"
_CODE = r"^\s*[+-]?0\d"
# Numbers with a comma: as a decimal comma, and as one that may as well group thousands.
_WITH_COMMA = r"^[+-]?(\d+,\d*|,\d+)(e[+-]?\d+)?$"
_OF_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"


def is_empty(cells: pl.Series) -> pl.Series:
    """Tell for each cell whether it is null or has only blanks."""
    cells = cells.alias("")  # polars may read the name of a column as a pattern.
    is_text = cells.dtype in (pl.String, pl.Categorical, pl.Enum)
    blank = cells.cast(pl.String).str.strip_chars() == "" if is_text else cells.is_null()
    return blank.fill_null(value=True)


def has_numbers(cells: pl.Series) -> bool:
    """Tell whether a column is of numbers or of true and false.

    A column of text is, if at least half of its filled cells are and no cell is a code such as 007.
    """
    if cells.dtype != pl.String:
        return (cells.dtype.is_numeric() or cells.dtype == pl.Boolean) and cells.count() > 0
    texts = cells.str.strip_chars().str.to_lowercase()
    filled = texts.filter(~texts.is_in([text for text, number in _WRITTEN.items() if number is None]))
    if filled.is_empty() or filled.str.contains(_CODE).any():
        return False
    numbers = filled.str.contains(_NUMBER) | filled.is_in(["true", "false"])
    return 2 * int(numbers.sum()) >= filled.len()


def converted(cells: pl.Series, *, with_commas: bool = False) -> pl.Series:
    """Return cells of text as numbers, or as lists of texts, if every cell can be converted; otherwise as they are.

    A column with codes such as 007 stays text, because 007 as a number would become 7.

    Parameters
    ----------
    cells : polars.Series
        A column of text.
    with_commas : bool
        Whether numbers have decimal commas.
    """
    if (lists := _lists(cells)) is not None:
        return lists
    if cells.str.contains(_CODE).any():
        return cells
    defined = cells.set(cells.is_in(UNDEFINED).fill_null(value=False), None)
    if with_commas:
        defined = _with_points(defined.str.strip_chars())
    for dtype in (pl.Int64, pl.Float64):
        with suppress(pl.exceptions.InvalidOperationError):
            return defined.cast(dtype)
    return cells


def _lists(cells: pl.Series) -> pl.Series | None:
    """Return the cells as lists if every filled cell is a JSON list of texts, as `to_csv` writes a trait; else None."""
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


def read_numbers(cells: pl.Series, rows: Sequence[int], called: Callable[[int], str]) -> tuple[pl.Series, bool]:
    """Return cells as floats, null where a number is undefined, and whether they have decimal commas.

    Parameters
    ----------
    cells : polars.Series
        Numbers, true and false, or one of these as text, with a decimal point or comma.
    rows : sequence of int
        The number of each row in its file.
    called : callable
        From the place of a cell to what an error begins with: the file, the row and the value.

    Raises
    ------
    MetricInputError
        If the cells are of another type, a cell is no number or is infinite, a comma may as well group thousands, or
        some numbers have a decimal comma and others a decimal point.

    Examples
    --------
    >>> numbers, with_commas = read_numbers(pl.Series(["0,5", "NA", "1"]), [2, 3, 4], str)
    >>> numbers.to_list(), with_commas
    ([0.5, None, 1.0], True)
    """
    if cells.len() and not (cells.dtype.is_numeric() or cells.dtype in (pl.String, pl.Boolean, pl.Null)):
        raise MetricInputError(f"{called(0)} is of type {cells.dtype}; expected numbers")
    text, with_commas = cells, False
    if cells.dtype == pl.String:
        text = cells.str.strip_chars()
        if text.cast(pl.Float64, strict=False).null_count() > text.null_count():
            text = text.str.to_lowercase().replace(_WRITTEN)
        with_commas = _has_decimal_commas(cells, text, rows, called)
        numbers = (_with_points(text) if with_commas else text).cast(pl.Float64, strict=False)
    else:
        numbers = cells.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & text.is_not_null()) | numbers.is_infinite().fill_null(value=False)
    for row in wrong.arg_true().head(1).to_list():
        number = numbers[row]
        why = "is infinite" if number is not None and isinf(number) else "is no number"
        mend = "leave it empty where it is undefined"
        if str(cells[row]).rstrip().endswith("%"):
            mend = "write it without the percent sign"
        elif text[row] in _VERDICTS:
            mend = "write 1 for right and 0 for wrong"
        raise MetricInputError(f"{called(row)} {why}; {mend}")
    return numbers.fill_nan(None), with_commas


def with_numbers(table: pl.DataFrame, column: str, rows: Sequence[int], name: str) -> pl.DataFrame:
    """Return a table with a column as `read_numbers` reads it; `name` is what errors call the table."""
    cells = table[column]
    numbers, _ = read_numbers(cells, rows, lambda place: f"{name}, row {rows[place]}: {column} {cells[place]!r:.60}")
    return table.with_columns(numbers.alias(column))


def _has_decimal_commas(cells: pl.Series, text: pl.Series, rows: Sequence[int], called: Callable[[int], str]) -> bool:
    """Tell whether numbers are written with a decimal comma.

    Raise where a comma may as well group thousands, and where some numbers have a decimal point.
    """
    if not text.str.contains(",", literal=True).any():
        return False
    decimal, thousands = (text.str.contains(form).fill_null(value=False) for form in (_WITH_COMMA, _OF_THOUSANDS))
    commas = (decimal & ~thousands).arg_true()
    points = (text.str.contains(".", literal=True) & text.cast(pl.Float64, strict=False).is_not_null()).arg_true()
    if commas.len() and points.len():
        # The fewer are the mistake.
        forms = (("comma", ",", commas), ("point", ".", points))
        (mark, written, few), (other, wanted, many) = sorted(forms, key=lambda form: form[2].len())
        have = f"{plural(many.len(), 'value')} {'has' if many.len() == 1 else 'have'} a decimal {other}"
        example = f"as {cells[many[0]]!r} in row {rows[many[0]]}"
        mend = f"write {cells[few[0]].strip().replace(written, wanted)}"
        if few.len() > 1:
            mend = f"write this and {plural(few.len() - 1, 'other value')} with a {other}"
        raise MetricInputError(f"{called(few[0])} has a decimal {mark}, and {have}, {example}; {mend}")
    for row in [] if commas.len() else thousands.arg_true().head(1).to_list():
        plain = text[row].replace(",", "")
        or_else = "" if text[row].count(",") > 1 else f", or {text[row].replace(',', '.')} if it is a decimal comma"
        raise MetricInputError(f"{called(row)} has a comma: write {plain} if the comma groups thousands{or_else}")
    return bool(commas.len())


def _with_points(text: pl.Series) -> pl.Series:
    return text.str.replace(",", ".", literal=True)
