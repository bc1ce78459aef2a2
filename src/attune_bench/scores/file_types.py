"""What tells files of scores and tables from files of records, without reading them."""

import os
from pathlib import Path

from attune_data.io.documents import check_input
from attune_data.record import panics_as_errors

TABLES_ALONE = (".csv", ".tsv", ".xlsx")
"""File endings of tables that are never records."""

KEY = "attune-bench"
"""The key of the metadata that a file of scores has."""


def is_score_file(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is one that `attune_bench.scores.files.write_score_file` wrote."""
    target = Path(path)
    try:
        check_input(target)
        with target.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
    except OSError:
        return False
    import polars as pl

    try:
        with panics_as_errors():
            return KEY in pl.read_parquet_metadata(target)
    except (OSError, pl.exceptions.PolarsError):
        return False
