"""Parquet files of records: one row a record, its JSON text in the column ``record``.

What protects from files that unpack to too much is what the file's footer states, and only pyarrow reads that: without
it a group of rows is unpacked before its size is known. A file whose footer is untrue can end the process.
"""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from attune_data.io import limits
from attune_data.io.limits import Budget
from attune_data.panics import panics_as_errors
from attune_data.text import listed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["record_texts"]

_COLUMN = "record"
_ROWS = 256
_MOST_ROWS = 2**14


def record_texts(stream: IO[bytes], budget: Budget) -> Iterator[bytes | None]:
    """Yield the column ``record`` of an open Parquet file, None for null; a few rows are in memory at a time.

    Raises
    ------
    ValueError
        Where the file is damaged, is not Parquet, or has no such column of text.
    TooLargeError
        Before a group of rows is unpacked that is larger than what is left, where pyarrow is installed.
    """
    import polars as pl

    start = 0
    try:
        file = pl.scan_parquet(stream, glob=False, hive_partitioning=False)
        with panics_as_errors():
            _check(file.collect_schema())
            stated = file.select(pl.len()).collect().item()
        column = file.select(pl.col(_COLUMN).cast(pl.Binary))
        groups = _groups(stream)
        for rows, size, step in [(stated, 0, _ROWS)] if groups is None else groups:
            budget.allow(size)
            end = start + rows
            while start < end:
                with panics_as_errors():
                    texts = column.slice(start, min(step, end - start)).collect().to_series()
                if not texts.len():
                    raise ValueError("it has fewer rows than it states")
                yield from (texts[row] for row in range(texts.len()))
                start += texts.len()
    except pl.exceptions.PolarsError as error:
        place = f" beyond row {start}" if start else ""
        message = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"not whole Parquet{place}: {message}; is the file cut off?") from None


def _groups(stream: IO[bytes]) -> list[tuple[int, int, int]] | None:
    """Return rows, unpacked bytes and rows to read at a time of every group of rows; None without pyarrow."""
    try:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        return None
    footer = pq.read_metadata(stream)
    found = []
    for place in range(footer.num_row_groups):
        group = footer.row_group(place)
        chunks = (group.column(number) for number in range(group.num_columns))
        chunk = next((chunk for chunk in chunks if chunk.path_in_schema == _COLUMN), None)
        if chunk is None or group.num_rows < 0 or chunk.total_uncompressed_size < 0:
            raise ValueError("its footer is damaged")
        rows, size = group.num_rows, chunk.total_uncompressed_size
        step = max(1, min(_MOST_ROWS, rows * limits.RECORD_LIMIT // max(size, 1)))
        # Each text is kept as its difference from the one before, and may be longer than the size says.
        found.append((rows, size, 1 if "DELTA_BYTE_ARRAY" in chunk.encodings else step))
    return found


def _check(schema: "pl.Schema") -> None:
    import polars as pl

    kind = schema.get(_COLUMN)
    if kind is None:
        hint = ""
        if schema.keys() & {"conversation_id", "scenario_id"}:
            hint = "; is it one of the tables beside a records.parquet?"
        elif schema.keys() >= {"model", "unit"}:
            hint = "; attune_bench.Scores.read reads scores, and tables of results"
        raise ValueError(f"it has no column 'record' with a record's JSON a row, only {listed([*schema])}{hint}")
    if kind not in (pl.String, pl.Binary):
        raise ValueError(f"its column 'record' is {kind}; expected text, a record's JSON a row")
