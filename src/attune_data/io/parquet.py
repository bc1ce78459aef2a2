"""Parquet files of records: one row a record, its JSON text in the column ``record``."""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from attune_data.io._parquet_pages import groups
from attune_data.io.documents import RECORD_LIMIT, Budget
from attune_data.text import listed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["record_texts"]

_COLUMN = "record"
_MOST_ROWS = 2**14


def record_texts(stream: IO[bytes], budget: Budget) -> Iterator[bytes | None]:
    """Yield the column ``record`` of an open Parquet file, None for null; a few rows are in memory at a time.

    Raises
    ------
    ValueError
        Where the file is damaged, is not Parquet, or has no such column of text.
    TooLargeError
        Before a group of rows is unpacked that is larger than what is left.
    """
    import polars as pl

    start = 0
    try:
        file = pl.scan_parquet(stream, glob=False, hive_partitioning=False)
        _check(file.collect_schema())
        column = file.select(pl.col(_COLUMN).cast(pl.Binary))
        for rows, size, is_more in groups(stream, _COLUMN):
            budget.allow(size)
            step = 1 if is_more else max(1, min(_MOST_ROWS, rows * RECORD_LIMIT // max(size, 1)))
            end = start + rows
            while start < end:
                texts = column.slice(start, min(step, end - start)).collect().to_series()
                if not texts.len():
                    raise ValueError("it holds fewer rows than it states")
                yield from (texts[row] for row in range(texts.len()))
                start += texts.len()
    # A panic of polars, which damaged bytes can cause, is not an Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        place = f" beyond row {start}" if start else ""
        message = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"not whole Parquet{place}: {message}; is the file cut off?") from None


def _check(schema: "pl.Schema") -> None:
    import polars as pl

    kind = schema.get(_COLUMN)
    if kind is None:
        hint = (
            "; is it one of the tables beside a records.parquet?"
            if schema.keys() & {"conversation_id", "scenario_id"}
            else ""
        )
        raise ValueError(f"it has no column 'record' with a record's JSON a row, only {listed([*schema])}{hint}")
    if kind not in (pl.String, pl.Binary):
        raise ValueError(f"its column 'record' is {kind}; expected text, a record's JSON a row")
