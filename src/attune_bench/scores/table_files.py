"""Files of tables: CSV in its usual dialects, workbooks, JSONL and Parquet, read as frames.

The separator of a CSV file, and its encoding, are found from its content. Cells of a CSV file and of a workbook are
read as text, so that a number is converted once, exactly, and an error can show the cell as it is written.
"""

import csv
import io
import json
import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from attune_bench.scores.file_types import TABLES_ALONE
from attune_bench.scores.table_numbers import converted, has_numbers
from attune_data.codebook import parse_toml
from attune_data.export import from_csv_text
from attune_data.io.documents import check_input, read_input
from attune_data.issues import SourceError, shown
from attune_data.record import panics_as_errors
from attune_data.references import require
from attune_data.text import listed, plural
from attune_metrics.metric import MetricInputError

ENDINGS = (*TABLES_ALONE, ".jsonl", ".ndjson", ".parquet")
"""File endings of tables."""

ROW = "\0row"
"""The column of the number of a row in its file; no column of a file has this name."""

_MISSING = "NA"  # an undefined text; R reads and writes NA; `to_csv_text` escapes the text NA

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_NAMED = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
_NAMED_SEPARATOR = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=([^"\r\n])"?\r?\n', re.IGNORECASE)  # first line, of Excel
_NO_NAMES = ("_duplicated_", "__UNNAMED__", "Unnamed: ")  # polars and pandas name columns so if they have no name
_OTHER_ENDINGS = {
    ".json": "attune_bench.Scores.read reads a benchmark's own file of scores",
    ".txt": "if its cells have a separator, rename it to end in .csv",
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".zst"), "unpack it"),
    **dict.fromkeys((".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), "save it as .xlsx or .csv"),
}
_SAMPLE = 2**16  # bytes from which the separator is found
_SAMPLE_ROWS = 50
_PATTERN = re.compile(r"\*|\^.*\$", re.DOTALL)  # polars reads such a column name as a pattern


class FileTable(NamedTuple):
    """A table as its file has it.

    Attributes
    ----------
    frame : polars.DataFrame
        The columns. In a CSV file and a workbook, names and values are text.
    first_row : int
        The number of the first row in the file: 2 where the file has a header, 3 where ``sep=;`` is above the header.
    assumed : tuple of str
        What the reader concluded because the file does not say it, such as "separated by semicolons".
    """

    frame: pl.DataFrame
    first_row: int
    assumed: tuple[str, ...] = ()


def read_table(path: str | os.PathLike[str], *, names: Collection[str]) -> FileTable:
    """Read a CSV, XLSX, JSONL or Parquet table.

    Parameters
    ----------
    path : path
        The file. A CSV file is separated by commas, semicolons, tabs or vertical bars, and encoded as UTF-8, UTF-16,
        UTF-32 or Windows-1252; its first line may be ``sep=;``, as Excel writes. Of a workbook, the first sheet is
        read.
    names : collection of str
        Columns of a CSV file or workbook that are kept as text, even if they contain numbers.

    Raises
    ------
    SourceError
        If the file cannot be read, has another format, or has a row with more or fewer cells than the header.
    MetricInputError
        If two columns have the same name.
    ImportError
        If the file is a workbook, and the extra ``excel`` is not installed.
    """
    target = Path(path)
    ending = target.suffix.lower()
    try:
        check_input(target)
        with target.open("rb"):  # polars has no message of its own for a folder
            pass
        if ending in {".csv", ".tsv"}:
            return _read_csv(target, names)
        if ending == ".xlsx":
            return _read_workbook(target, names)
        if ending in {".jsonl", ".ndjson"}:
            _check_flat(target)
            with panics_as_errors():
                return FileTable(pl.read_ndjson(target, infer_schema_length=None), 1)
        if ending == ".parquet":
            with panics_as_errors():
                return FileTable(pl.read_parquet(target), 1)
    except OSError as error:
        raise unreadable(target, error) from None
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"{path} cannot be read as a table: {str(error).splitlines()[0]:.200}") from None
    mend = f"; {_OTHER_ENDINGS[ending]}" if ending in _OTHER_ENDINGS else ""
    raise SourceError(f"{path} is no table; expected a name in .csv, .tsv, .xlsx, .jsonl or .parquet{mend}")


def unreadable(path: Path, error: OSError) -> SourceError:
    """Return the error of a file that cannot be read; for a missing file it names the nearest one in the folder."""
    if isinstance(error, IsADirectoryError):
        within = sorted(one for one in path.iterdir() if one.name.lower().endswith(ENDINGS))
        return SourceError(f"{path} is a folder; name a file in it{f', such as {within[0]}' if within else ''}")
    said = f"{path} cannot be read: {error.strerror or error}"
    if not isinstance(error, FileNotFoundError):
        return SourceError(said)
    if not path.parent.is_dir():
        return SourceError(f"{said}; there is no folder {path.parent}")
    with suppress(OSError):
        files = sorted(one.name for one in path.parent.iterdir() if one.is_file())
        tables = [name for name in files if name.lower().endswith(ENDINGS)]
        if near := get_close_matches(path.name, files, n=1) or [one for one in tables if Path(one).stem == path.stem]:
            return SourceError(f"{said}; did you mean {str(path.with_name(near[0]))!r}?")
        if tables:
            return SourceError(f"{said}; the tables in {path.parent.resolve()} are {listed(tables, 8)}")
    return SourceError(f"{said}; there is no table in {path.parent.resolve()}")


def _read_csv(target: Path, names: Collection[str]) -> FileTable:
    text, assumed = _utf8(target)
    if not text.strip():
        raise SourceError(f"{target} is empty; a table has a row of names of columns, and rows of values")
    if b"\n" not in text:  # an older Macintosh ends rows with \r
        text = text.replace(b"\r", b"\n")
    header = 1
    if named := _NAMED_SEPARATOR.match(text):
        text, header, separator = text[named.end() :], 2, named[1].decode()
    elif (separator := _separator(text)) != ",":
        assumed.append(f"separated by {_SEPARATORS[separator]}")
    try:
        with panics_as_errors():
            table = pl.read_csv(text, infer_schema=False, separator=separator)
    except pl.exceptions.PolarsError:
        _check_ragged(target, text, separator, header)
        _check_quotes(target, text, separator, header)
        raise
    if table.width and table[table.columns[-1]].has_nulls():  # polars fills a row that is too short with nulls
        _check_ragged(target, text, separator, header)
    return _typed(table, target, names, assumed, header + 1)


def _utf8(target: Path) -> tuple[bytes, list[str]]:
    """Return the content of a text file as UTF-8, and what was assumed of its encoding."""
    data = target.read_bytes()
    if data.startswith((b"PK\x03\x04", b"PAR1", b"\x1f\x8b")):
        raise SourceError(
            f"{target} is no text but a workbook, an archive or Parquet; give the file the ending of its format"
        )
    # json finds the encoding by the byte order mark or by zero bytes; this works for any text that begins with a
    # Latin letter.
    encoding = json.detect_encoding(data[:4])
    try:
        if not encoding.startswith("utf-8"):
            return data.decode(encoding).encode(), []
        data.decode()
    except UnicodeDecodeError as error:
        if not encoding.startswith("utf-8"):
            raise SourceError(
                f"{target} begins like {encoding.upper()}, but cannot be decoded as {encoding.upper()}: {error.reason}"
            ) from None
        return data.decode("cp1252", "replace").encode(), ["encoded as Windows-1252, because it is not UTF-8"]
    return data, []


def _separator(text: bytes) -> str:
    r"""Return the separator for which the largest share of the first rows has as many cells as the header.

    On a tie, return the separator with the most cells in the header.

    Examples
    --------
    >>> _separator(b"model;unit;value\na;q1;0,5\n"), _separator(b"model,unit,a|b|c|d\nm,q1,x\n")
    (';', ',')
    """
    sample = text[:_SAMPLE].decode("utf-8-sig", "replace")

    def fit(separator: str) -> tuple[float, int]:
        rows: list[list[str]] = []
        with suppress(csv.Error):
            rows += islice(csv.reader(io.StringIO(sample, newline=""), delimiter=separator), _SAMPLE_ROWS)
        width = len(rows[0]) if rows else 0
        # The sample may end within a row.
        whole = [row for row in rows[1:] if row][: None if len(text) <= _SAMPLE else -1]
        return (sum(len(row) == width for row in whole) / max(1, len(whole)) if width > 1 else -1.0), width

    return max(_SEPARATORS, key=fit)


def _lines(text: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8-sig", errors="replace", newline="")


def _check_ragged(target: Path, text: bytes, separator: str, header: int) -> None:
    """Refuse a CSV file in which a row has more or fewer cells than the header, which is in row `header`."""
    called = _NAMED.get(separator, repr(separator))
    with _lines(text) as lines, suppress(csv.Error):
        rows = csv.reader(lines, delimiter=separator)
        width = len(next(rows, ()))
        for number, row in enumerate(rows, start=header + 1):
            if row and len(row) != width:
                found = f"{target}, row {number}: {plural(len(row), 'cell')}, and the header has {width}"
                mend = f"put a text with {called} in quotes"
                if len(row) < width:
                    mend = f"leave the cell of an undefined value empty, and write {called} for it"
                if width == 1:
                    mend = "delete the lines above the names of the columns"
                if number == header + 1 and len(row) == width + 1 and row[0] == "1":
                    mend = "the numbers of rows have no name in the header: in R, write.csv(..., row.names = FALSE)"
                is_cut = separator == "," and len(row) == width + 1 and row[-1].isdigit()
                if is_cut and row[-2].strip("+- ").isdigit():
                    mend = f"write {row[-2]},{row[-1]} as {row[-2]}.{row[-1]}, or in quotes"
                raise SourceError(f"{found}; {mend}")


def _check_quotes(target: Path, text: bytes, separator: str, header: int) -> None:
    """Refuse a CSV file with a quotation mark that is not closed; its header is in row `header`."""
    whole = header - 1
    with _lines(text) as lines:
        try:
            for _ in csv.reader(lines, delimiter=separator, strict=True):
                whole += 1
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise SourceError(f"{target}, row {whole + 1}: a quotation mark is opened and not closed") from None


def _read_workbook(target: Path, names: Collection[str]) -> FileTable:
    library = require("fastexcel", "excel")
    try:
        sheets: list[str] = library.read_excel(target).sheet_names
        texts, numbers = (
            pl.read_excel(
                target, engine="calamine", read_options={"dtypes": dtype}, drop_empty_rows=False, drop_empty_cols=False
            )
            for dtype in ("string", "float")
        )
    except library.FastExcelError as error:
        said = str(error).splitlines()[0]
        mend = "give the file the ending of its format, or save it as .csv"
        raise SourceError(f"{target} cannot be read as a workbook: {said:.200}; {mend}") from None
    if len(named := [name for name in texts.columns if not name.startswith(_NO_NAMES)]) == 1:
        mend = "delete the rows above the names of the columns"
        mend += ", or move the sheet of the table to the front" if len(sheets) > 1 else ""
        raise SourceError(f"{target}: the first row of the sheet {sheets[0]!r} is only {named[0]!r}; {mend}")
    # The workbook reader rounds a number that it reads as text; take it from `numbers`.
    table = texts.with_columns(
        texts[name].zip_with(
            (texts[name].cast(pl.Float64, strict=False) == numbers[name]).fill_null(value=True),
            numbers[name].cast(pl.String),
        )
        for name in texts.columns
    )
    assumed = [f"the sheet {sheets[0]!r}, the first of {len(sheets)}"] if len(sheets) > 1 else []
    return _typed(table, target, names, assumed)


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
            except ValueError:  # polars reports the error
                continue
            for column, cell in row.items() if isinstance(row, dict) else ():
                if isinstance(cell, dict | list):
                    found = f"{target}, row {number}: {column} is {shown(cell)}"
                    raise SourceError(f"{found}; a table has text and numbers only")


def check_no_pattern(name: str, place: str) -> None:
    """Refuse the name of a metric or a trait that polars would read as a pattern for column names."""
    if _PATTERN.fullmatch(name):
        raise MetricInputError(
            f"{place}: polars reads {name!r} as a pattern that matches other columns; give it another name"
        )


def _typed(
    table: pl.DataFrame, path: Path, names: Collection[str], assumed: Sequence[str], first_row: int = 2
) -> FileTable:
    """Convert each column of text to numbers, or to lists of texts, if every cell of it can be converted.

    The columns `names` stay text, so that an error can name the row of the first value that is not a number. In each
    column, NA is undefined.
    """
    # R and pandas write the numbers of rows under no name; spreadsheets write empty columns.
    nameless = [column for column in table.columns if not column.strip() or column.startswith(_NO_NAMES)]
    filled = [column for column in nameless if table[column].count()]
    said = [*assumed, *([f"{plural(len(filled), 'column')} without a name left out"] if filled else [])]
    table = table.drop(nameless).rename(lambda name: from_csv_text(name.strip()))
    undefined: list[str] = []
    for column in table.columns:
        first, renamed, _ = column.partition("_duplicated_")
        if renamed and first in table.columns:
            raise MetricInputError(f"{path}: two columns are called {first!r}; rename one, or leave it out")
        if column not in names:
            check_no_pattern(column, str(path))
        cells = table[column]
        if (is_missing := (cells == _MISSING).fill_null(value=False)).any():
            cells = cells.set(is_missing, None)
            undefined.append(column)
        table = table.with_columns(cells if column in names else converted(cells))
    texts = [column for column in table.select(pl.col(pl.String)).columns if column != "value"]
    said += [
        f"NA in {column} is undefined" for column in undefined if column in texts and not has_numbers(table[column])
    ]
    escaped = [column for column in texts if table[column].str.starts_with("'").any()]
    table = table.with_columns(pl.col(escaped).map_elements(from_csv_text, return_dtype=pl.String))
    return FileTable(table, first_row, tuple(said))


class Description(NamedTuple):
    """What the TOML file beside a table says.

    Attributes
    ----------
    metrics : dict
        Its metrics, by name.
    about : dict
        What its units are called, and other keys.
    columns : dict of str to str
        Columns that have another name.
    file : str
        The name of the TOML file; empty where there is none.
    """

    metrics: dict[str, Any]
    about: dict[str, Any]
    columns: dict[str, str]
    file: str = ""


def description_of(table: str | os.PathLike[str]) -> Description:
    """Read the TOML file of the same name beside a table; empty where there is none.

    Raises
    ------
    SourceError
        Where the file cannot be read; a link to nothing cannot be read either.
    """
    path = Path(table).with_suffix(".toml")
    if not os.path.lexists(path):
        return Description({}, {}, {})
    try:
        content = parse_toml(read_input(path))
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SourceError(f"{path} is no TOML: {error}") from None
    metrics = content.pop("metrics", {})
    if not isinstance(metrics, dict):
        raise SourceError(f"{path}: metrics is {metrics!r:.60}; expected a table [metrics.NAME] for each metric")
    columns = content.pop("columns", {})
    if not isinstance(columns, dict) or not all(isinstance(column, str) for column in columns.values()):
        wanted = 'names of columns, such as columns = {unit = "question_id"}'
        raise SourceError(f"{path}: columns is {columns!r:.60}; expected {wanted}")
    return Description(metrics, content, columns, path.name)
