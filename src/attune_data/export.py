"""Frames for other tools: folders of Parquet and CSV files, Arrow, pandas; and the escaping of texts."""

import io
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attune_data.io.documents import whole_folder, write_whole
from attune_data.references import require
from attune_data.text import sanitize

if TYPE_CHECKING:
    import datasets
    import pandas as pd
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # some spreadsheets take full-width signs for formulas too
# A link, an image, a footnote and what one refers to need "](", "][" or "]:"; addresses become links of themselves.
_MARKUP = re.compile(
    r"""[\\`*|~$] | (?<![^\W_])_ | _(?![^\W_]) | \](?=[(\[:]) | <(?=[A-Za-z/!?]) | &(?=\#?\w+;) | :(?=//) | (?<=www)\.
        | ^[\#>] | ^[-+](?=\s)""",
    re.VERBOSE | re.IGNORECASE,
)


def to_csv_text(text: str) -> str:
    """Return a text as a cell of CSV: an apostrophe begins what a spreadsheet takes for a formula, and the text NA.

    R and the readers of this library take NA for a missing value. A text that begins with apostrophes before NA or a
    formula gets one more, so that `from_csv_text` gives every text back. Numbers, negative ones too, stay as they are.

    Examples
    --------
    >>> to_csv_text("=1+1"), to_csv_text("'=1+1"), to_csv_text("-1.5"), to_csv_text("it's"), to_csv_text("NA")
    ("'=1+1", "''=1+1", '-1.5', "it's", "'NA")
    """
    return f"'{text}" if _means_else(text.lstrip("'")) else text


def from_csv_text(text: str) -> str:
    """Return the text of a cell that `to_csv_text` wrote.

    Examples
    --------
    >>> from_csv_text("'=1+1"), from_csv_text("''=1+1"), from_csv_text("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return text[1:] if text.startswith("'") and _means_else(text.lstrip("'")) else text


def _means_else(text: str) -> bool:
    """Tell whether a spreadsheet takes a text for a formula, or R for a missing value."""
    if text == "NA":
        return True
    # Some spreadsheets leave out blanks before a formula.
    if text.startswith(("\t", "\r", "\n")):
        return True
    shown = text.strip()
    return shown.startswith(_FORMULA) and _NUMBER.fullmatch(shown) is None


def flat(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a frame in which each list is its JSON text.

    Examples
    --------
    >>> import polars as pl
    >>> flat(pl.DataFrame({"diagnoses": [["ADHD", "Anxiety"], [], None]}))["diagnoses"].to_list()
    ['["ADHD", "Anxiety"]', '[]', None]
    """
    import polars as pl

    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    texts = (
        [None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in frame[name].to_list()]
        for name in nested
    )
    return frame.with_columns(pl.Series(name, cells, pl.String) for name, cells in zip(nested, texts, strict=True))


def to_csv(frame: "pl.DataFrame", *, missing: str = "") -> str:
    """Return a frame as CSV; no text or name of a column is a formula, and a list is its JSON text.

    A missing value is an empty cell, or the text `missing`.

    Examples
    --------
    >>> import polars as pl
    >>> print(to_csv(pl.DataFrame({"model": ["=cmd()", "a"], "difference": [-0.5, 1.0]})), end="")
    model,difference
    '=cmd(),-0.5
    a,1.0
    """
    import polars as pl

    frame = flat(frame)
    texts = frame.select(pl.col(pl.String, pl.Categorical, pl.Enum)).columns
    safe = [
        pl.Series(
            name, [text if text is None else to_csv_text(text) for text in frame[name].cast(pl.String)], pl.String
        )
        for name in texts
    ]
    return frame.with_columns(safe).rename(to_csv_text).write_csv(null_value=missing)


def to_markdown(text: str) -> str:
    r"""Return text on one line that Markdown shows as it is: no markup, no HTML, no link, no end of a table's cell.

    Examples
    --------
    >>> print(to_markdown("*a*|<b>"), to_markdown("[a](http://b)"), to_markdown("avg_f1 [0.1, 0.2] <0.0001"))
    \*a\*\|&lt;b> [a\](http\://b) avg_f1 [0.1, 0.2] <0.0001
    """
    return _MARKUP.sub(lambda found: {"<": "&lt;", "&": "&amp;"}.get(found[0], f"\\{found[0]}"), sanitize(text))


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u2212": "$-$",
    **{sign: f"${sign}$" for sign in "<>|"},
    **{sign: f"\\{sign}" for sign in "&%_#${}"},
}
_OF_LATEX = re.compile(r"(?<![\w.])-(?=\d)|[" + re.escape("".join(_LATEX)) + "]")


def to_latex(text: str) -> str:
    r"""Return text on one line that LaTeX shows as it is: no command, no end of a table's cell, minus signs as such.

    Examples
    --------
    >>> print(to_latex("a_b & 5% of {x}"), to_latex("-0.5 [-1.0, <0.1]"), to_latex("[few]"))
    a\_b \& 5\% of \{x\} $-$0.5 [$-$1.0, $<$0.1] {}[few]
    """
    shown = _OF_LATEX.sub(lambda found: _LATEX.get(found[0], "$-$"), sanitize(text))
    # At the beginning of a row these would belong to the end of the row before.
    return f"{{}}{shown}" if shown.startswith(("[", "*")) else shown


_ROWS = 2**16
_ROWS_OF_RECORDS = 256


class Exportable(ABC):
    """What consists of named frames, and can be written or handed over as such."""

    @abstractmethod
    def _frames(self) -> "Iterator[tuple[str, pl.DataFrame]]":
        """Return every frame with its name."""

    def to_parquet(self, folder: str | os.PathLike[str]) -> None:
        """Write every table to ``<table>.parquet`` in a new folder.

        A collection also writes ``records.parquet``, one row a record, with the columns ``id``, ``file`` (where it came
        from) and ``record`` (its whole JSON, nothing added or left out): `load` or `load_runs` of the folder or of that
        file gives equal records in the same order. Equal input gives equal bytes.

        Parameters
        ----------
        folder : str or path-like
            Appears when it is complete: it is written beside its place and renamed. It must not exist, or be empty:
            nothing is ever overwritten.

        Raises
        ------
        FileExistsError
            Where there is such a file, or such a folder with something in it.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from attune_data import load
        >>> conversations = load("demo")
        >>> with TemporaryDirectory() as folder:
        ...     conversations.to_parquet(Path(folder, "demo"))
        ...     list(load(Path(folder, "demo"))) == list(conversations)
        True
        """
        with whole_folder(Path(folder)) as written:
            for name, frame in self._frames():
                rows = _ROWS_OF_RECORDS if name == "records" else _ROWS
                write_whole(written / f"{name}.parquet", [parquet_bytes(frame, rows=rows)])

    def to_arrow(self) -> "dict[str, pa.Table]":
        """Return every table, and of a collection ``records`` as in `to_parquet`, as Arrow tables.

        Returns
        -------
        dict of str to pyarrow.Table
            By name of the table.

        Raises
        ------
        ImportError
            Without pyarrow, which the extra ``datasets`` installs.

        Examples
        --------
        >>> from attune_data import load
        >>> load("demo").to_arrow()["mood_tags"].column_names
        ['conversation_id', 'turn_number', 'emotion', 'intensity']
        """
        require("pyarrow", "datasets")
        return {name: frame.to_arrow() for name, frame in self._frames()}

    def to_datasets(self) -> "datasets.DatasetDict":
        """Return every table, and of a collection ``records`` as in `to_parquet`, for the library ``datasets``.

        They are in memory; no file is written. They have columns of their own and are not the splits of one table, so
        that `push_to_hub` of the whole dict refuses them: `attune_data.publish` makes a repository of them.

        Returns
        -------
        datasets.DatasetDict
            By name of the table. Values of closed lists are strings; their order is in `attune_data.table_schema`.

        Raises
        ------
        ImportError
            Without ``datasets``, which the extra ``datasets`` installs.

        Examples
        --------
        >>> from attune_data import load
        >>> load("demo").to_datasets()["turns"].num_rows
        200
        """
        require("pyarrow", "datasets")
        library = require("datasets", "datasets")
        return library.DatasetDict({name: library.Dataset(table) for name, table in self.to_arrow().items()})

    def to_csv(self, folder: str | os.PathLike[str]) -> None:
        """Write every table to ``<table>.csv`` in a new folder, for R, a spreadsheet or a statistics program.

        The files are UTF-8, separated by commas, with one line of names, and have the keys of the records in every
        row, such as ``conversation_id``, by which tables are joined. A missing value is an empty cell, yes and no are
        ``true`` and ``false``. A cell that stands for several texts, such as the diagnoses of a person, is a JSON list,
        ``["ADHD", "Anxiety"]``: one row stays one conversation, a filter for "contains ADHD" finds it, and
        ``jsonlite::fromJSON`` or ``json.loads`` takes it apart. A text that a spreadsheet would take for a formula
        begins with an apostrophe. `attune_data.table_schema` says what every column means. The whole records, which a
        spreadsheet would cut, are written by `to_parquet` and `to_jsonl` only.

        Parameters
        ----------
        folder : str or path-like
            As for `to_parquet`: it must not exist, or be empty, and appears when it is complete.

        Raises
        ------
        FileExistsError
            Where there is such a file, or such a folder with something in it.
        ValueError
            If the name ends in ``.csv``, as the name of a file does.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from attune_data import load
        >>> with TemporaryDirectory() as folder:
        ...     load("demo").to_csv(Path(folder, "demo"))
        ...     print(Path(folder, "demo", "mood_tags.csv").read_text().partition(",")[0])
        conversation_id
        """
        target = Path(folder)
        if target.suffix.lower() == ".csv":
            raise ValueError(f"to_csv writes a folder with a file for each table: give {target.name!r} without .csv")
        with whole_folder(target) as written:
            for name, frame in self._tables():
                write_whole(written / f"{name}.csv", [to_csv(frame).encode()])

    def to_pandas(self) -> "dict[str, pd.DataFrame]":
        """Return every table that `to_csv` writes, as frames of pandas.

        Returns
        -------
        dict of str to pandas.DataFrame
            By name of the table. See `attune_data.to_pandas` for the types of columns.

        Raises
        ------
        ImportError
            Without pandas, which the extra ``pandas`` installs.

        Examples
        --------
        >>> from attune_data import load
        >>> load("demo").to_pandas()["mood_tags"]["intensity"].dtype
        Int8Dtype()
        """
        return {name: to_pandas(frame) for name, frame in self._tables()}

    def _tables(self) -> "Iterator[tuple[str, pl.DataFrame]]":
        """Return every frame that is a table, not the frame of whole records."""
        return self._frames()


def to_pandas(frame: "pl.DataFrame") -> "pd.DataFrame":
    """Return a frame of polars, as tables and analyses are, as a frame of pandas.

    Polars' own method needs pyarrow too, and makes floats of whole numbers among which one is missing.

    Parameters
    ----------
    frame : polars.DataFrame
        Any frame that this library returns.

    Returns
    -------
    pandas.DataFrame
        The same columns and rows. Whole numbers, yes and no, and texts have the types in which pandas can leave out a
        value (``Int64``, ``boolean``, ``string``). Values of closed lists are categories. Other numbers are
        ``float64``, with nan where one is missing. A list is its JSON text, as in CSV files.

    Raises
    ------
    TypeError
        Where this is no frame of polars.
    ImportError
        Without pandas, which the extra ``pandas`` installs.

    Examples
    --------
    >>> import polars as pl
    >>> to_pandas(pl.DataFrame({"n": [40, None], "value": [0.5, None]})).dtypes.astype(str).to_dict()
    {'n': 'Int64', 'value': 'float64'}
    """
    _check_frame(frame)
    pandas = require("pandas", "pandas")
    columns = flat(frame).to_dict()
    return pandas.DataFrame(
        {name: pandas.Series(column.to_list(), dtype=_dtype(column)) for name, column in columns.items()}
    )


def _check_frame(frame: object) -> None:
    import polars as pl

    if not isinstance(frame, pl.DataFrame):
        hint = "; it has a method to_pandas()" if hasattr(frame, "to_pandas") else ""
        raise TypeError(f"to_pandas takes one frame of polars, not {type(frame).__name__}{hint}")


def _dtype(column: "pl.Series") -> Any:
    """Return the type that a column has in pandas; None where pandas finds one."""
    import polars as pl

    dtype = column.dtype
    if isinstance(dtype, pl.Enum):
        return require("pandas", "pandas").CategoricalDtype(dtype.categories.to_list())
    if dtype.is_integer():
        return str(dtype)
    if dtype.is_float():
        return str(dtype).lower()
    return {pl.String: "string", pl.Boolean: "boolean", pl.Categorical: "category"}.get(type(dtype))


def parquet_bytes(frame: "pl.DataFrame", *, rows: int = _ROWS, metadata: dict[str, str] | None = None) -> bytes:
    """Return a table as a Parquet file with so many rows a group; equal tables give equal bytes, in whatever chunks."""
    # Through memory, as polars reports a full disk as a damaged file. In one chunk, as lists show theirs in the bytes,
    # and polars 1.36 panics on lists of booleans.
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, row_group_size=rows, metadata=metadata)
    return buffer.getvalue()
