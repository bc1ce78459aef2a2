"""A `datasets.Dataset` as a source: one record a row, as JSON text in a column of its own or as the columns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attune_data.io.documents import Document, document
from attune_data.issues import SourceError
from attune_data.text import listed

__all__ = ["frame_code", "is_dataset", "row_document", "rows", "type_of_table"]

_RECORD = "record"


def is_dataset(source: object) -> bool:
    """Tell whether a source comes from the library datasets, without importing it."""
    return type(source).__module__.partition(".")[0] == "datasets"


# By package and type of a table: the code that makes a frame of polars of it.
_FRAMES = {
    ("polars", "DataFrame"): "frame",
    ("polars", "LazyFrame"): "frame.collect()",
    ("pandas", "DataFrame"): "polars.from_pandas(frame)",
    ("pyarrow", "Table"): "polars.from_arrow(table)",
}


def frame_code(given: object) -> str | None:
    """Return the code that makes a frame of polars of a table of some library, for messages; None of anything else."""
    kind = type(given)
    return _FRAMES.get((kind.__module__.partition(".")[0], kind.__name__))


def type_of_table(given: object) -> str:
    """Return the type and the library of a table, a column or an array, for messages; empty of anything else.

    Examples
    --------
    >>> import numpy as np
    >>> type_of_table(np.zeros(3)), type_of_table([0, 0, 0])
    ('numpy.ndarray', '')
    """
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    # A number of numpy is no array.
    is_one = package in {"polars", "pandas", "pyarrow"} or (package == "numpy" and getattr(given, "ndim", 0) > 0)
    return f"{package}.{kind.__name__}" if is_one else ""


def rows(source: Any, raw: Sequence[Sequence[str]]) -> Iterator[Document]:
    """Yield the records of a Dataset, named ``row 0`` and so on, as it counts; it needs all columns of one of `raw`.

    Raises
    ------
    SourceError
        Where it is not one table, has no row, or its rows are not records.
    """
    import datasets

    if isinstance(source, dict):
        splits = ", ".join(map(str, source)) or "none"
        first = next(iter(source), "train")
        raise SourceError(
            f"the source is a datasets.{type(source).__name__}; give one of its splits ({splits}): source[{first!r}]"
        )
    if not isinstance(source, datasets.Dataset):
        made = "datasets.Dataset.from_list(list(source))" if hasattr(source, "__iter__") else "a datasets.Dataset"
        raise SourceError(f"the source is a datasets.{type(source).__name__}; give {made}")
    columns = source.column_names
    if _RECORD in columns:
        source = source.select_columns([_RECORD])
    elif any(needed and set(needed) <= set(columns) for needed in raw):
        yield Document("rows", b"", _NULLS, "note", rule="nulls-dropped", consequence="nulls count as absent")
    else:
        raise SourceError(
            f"the Dataset has neither a column {_RECORD!r}, a record as JSON text, nor the columns of a record,"
            f" {' or '.join(' and '.join(map(repr, needed)) for needed in raw)}; it has: {listed(columns) or 'none'}."
            " Records cannot be made of tidy tables: give the table of the records"
        )
    if not len(source):
        raise SourceError("the Dataset has no row")
    number = 0
    try:
        for number, row in enumerate(source.with_format(None)):
            yield row_document(f"row {number}", row)
    except ValueError as error:  # Arrow's own errors are of this class.
        raise SourceError(f"the Dataset cannot be read from about row {number} on: {error}") from None


_NULLS = "in the columns of a Dataset a key that a record lacks is a null, as is one that was null"


def row_document(name: str, row: Mapping[str, Any]) -> Document:
    """Return the record of a row: the text or the bytes in its column ``record``, else all columns."""
    if _RECORD not in row:
        return document(name, json.dumps(_without_nulls(row), default=str).encode())
    found = row[_RECORD]
    if isinstance(found, str):
        return document(name, found.encode("utf-8", "surrogatepass"))
    if isinstance(found, bytes):
        return document(name, found)
    return Document(name, b"", f"the column {_RECORD!r} has no text but {type(found).__name__}")


def _without_nulls(value: Any) -> Any:
    """Drop the keys that Arrow fills in where other rows have them; a null in a list is one."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
