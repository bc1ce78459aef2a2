"""Parquet files of records: one row a record, its JSON text in the column ``record``."""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["record_texts"]

_ROWS = 256
_MOST_NAMED = 8


def record_texts(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the column ``record`` of an open Parquet file, None for null; a few rows are in memory at a time.

    Raises
    ------
    ValueError
        Where the file is damaged, is not Parquet, or has no such column of text.
    """
    import polars as pl

    start = 0
    try:
        file = pl.scan_parquet(stream, glob=False, hive_partitioning=False)
        _check(file.collect_schema())
        column = file.select(pl.col("record").cast(pl.Binary))
        while True:
            texts = column.slice(start, _ROWS).collect().to_series()
            for row in range(texts.len()):
                yield texts[row]
            if texts.len() < _ROWS:
                return
            start += _ROWS
    # A panic of polars, which damaged bytes can cause, is not an Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        place = f" beyond row {start}" if start else ""
        message = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"not whole Parquet{place}: {message}; is the file cut off?") from None


def _check(schema: "pl.Schema") -> None:
    import polars as pl

    kind = schema.get("record")
    if kind is None:
        names = [*schema][:_MOST_NAMED] + ["..."] * (len(schema) > _MOST_NAMED)
        hint = (
            "; is it one of the tables beside a records.parquet?"
            if schema.keys() & {"conversation_id", "scenario_id"}
            else ""
        )
        raise ValueError(f"it has no column 'record' with a record's JSON a row, only {', '.join(names)}{hint}")
    if kind not in (pl.String, pl.Binary):
        raise ValueError(f"its column 'record' is {kind}; expected text, a record's JSON a row")
