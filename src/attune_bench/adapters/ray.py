"""Scoring on a Ray cluster: results read by Ray Data, scored where they are, aggregated as its columns."""

import os
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from attune_bench.adapters.arrow import BatchScorer, packed_data
from attune_data.io.sources import Source
from attune_data.references import require

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from ray.data import Dataset  # type: ignore[import-not-found]  # it is an extra

__all__ = ["read_results", "score_dataset"]

_BATCH = 256


def read_results(path: str | os.PathLike[str]) -> "Dataset":
    """Return results as rows that `score_dataset` takes, read by Ray's own readers.

    Parameters
    ----------
    path : str or path-like
        A folder of ``.json`` files, one result each, read recursively; a ``.jsonl`` file, one a line; or a ``.parquet``
        file, or folder of that name, with a column ``record``. Also an address of a file system that Ray reads.

    Returns
    -------
    ray.data.Dataset
        With the column ``record``, and ``file`` where the results have names.

    Raises
    ------
    ImportError
        Without Ray, which the extra ``ray`` installs.
    """
    data = require("ray.data", "ray")
    text = os.fspath(path)
    ending = PurePath(text).suffix.lower()
    if ending == ".parquet":
        read: Dataset = data.read_parquet(text)
        return read.select_columns([name for name in ("record", "file") if name in read.columns()])
    if ending == ".jsonl":
        # Ray's reader of text ends lines at U+2028 too, which JSON may have within a text.
        return data.read_binary_files(text).flat_map(_lines)
    found = data.read_binary_files(text, include_paths=True, file_extensions=["json"])
    return found.rename_columns({"bytes": "record", "path": "file"})


def _lines(file: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"record": line} for line in file["bytes"].split(b"\n") if line.strip()]


def score_dataset(
    results: "Dataset", data: Source, *, benchmark: str | None = None, workers: int | None = None, **options: Any
) -> "Dataset":
    """Score results where they are; the data are read once and sent to each worker once.

    Parameters
    ----------
    results : ray.data.Dataset
        As `read_results` gives them, or the columns that `attune_bench.adapters.arrow` says.
    data : str, path-like or datasets.Dataset
        What the results are of, as for the benchmark's loader.
    benchmark : str, optional
        A name in the registry, or ``module:NAME``; by default the first benchmark that scores its results one by one.
    workers : int, optional
        How many processes score at most; by default as many as Ray finds room for.
    **options
        What the benchmark's own scoring takes, such as ``protocol``.

    Returns
    -------
    ray.data.Dataset
        A row a result, with the columns that `attune_bench.adapters.arrow` says: Ray aggregates them, and
        `attune_bench.adapters.arrow.scores_of` makes scores of them. A result that a worker lost is scored again.

    Raises
    ------
    SourceError
        Where the data cannot be read.
    ImportError
        Without Ray, which the extra ``ray`` installs.
    """
    ray, streams = require("ray", "ray"), require("ray.data", "ray")
    scored: Dataset = results.map_batches(
        _score,
        batch_format="pyarrow",
        batch_size=_BATCH,
        compute=streams.TaskPoolStrategy(size=workers),
        fn_kwargs={
            "data": ray.put(packed_data(data, benchmark=benchmark)),
            "benchmark": benchmark,
            "options": tuple(sorted(options.items())),
        },
    )
    return scored


def _score(
    results: "pa.Table", *, data: Any, benchmark: str | None, options: tuple[tuple[str, Any], ...]
) -> "pa.Table":
    return _scorer(data, benchmark, options)(results)


@lru_cache(maxsize=2)
def _scorer(data: Any, benchmark: str | None, options: tuple[tuple[str, Any], ...]) -> BatchScorer:
    """Return what scores, once in each process; `data` refers to the cluster's copy of what `packed_data` gave."""
    return BatchScorer(require("ray", "ray").get(data), benchmark=benchmark, **dict(options))
