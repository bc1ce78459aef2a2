"""Scoring Arrow tables of results on many machines: with Ray, `datasets.Dataset.map` or Spark.

A table of results has a row a result: a column ``record`` with its JSON, as text or bytes, and optionally ``file`` with
its name, or else the columns of the record. A table of scores has a row for each, in the same order:

- ``model``, ``condition``, ``unit``, and a column for each term, as in `attune_bench.Scores.values`; null where the
  result was not scored;
- ``detail``, what the benchmark keeps of it beyond this, and ``record``, the result without its content, as JSON;
- ``digest``, the hash of the result; ``settings``, how it was made; ``problem``, why it was not scored;
- ``file``, its name, if it has one, and ``issues``, what was noticed while it was read, as JSON;
- ``data``, the hash of what the result is of, and ``options``, how it was scored, as JSON, so that `scores_of` takes no
  other.

`scores_of` makes scores of such a table: the same, to the last digit and hash, as scoring the results in one place.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from attune_bench.benchmarks import BENCHMARKS, benchmark_named
from attune_bench.scores.benchmark import TEXT_COLUMNS, Benchmark
from attune_bench.scores.parts import ScoredRow
from attune_bench.verbs.streaming import PackedRecords, PartScorer, pack
from attune_data.collection import Kind
from attune_data.io.sources import Source, row_document
from attune_data.issues import IssueLog, SourceError
from attune_data.loading import collect
from attune_data.record import Record
from attune_data.references import require, resolve
from attune_data.text import listed
from attune_metrics.metric import MetricInputError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from ray.data import Dataset  # type: ignore[import-not-found]  # it is an extra

    from attune_bench.verbs.scores import Scores


def packed_data(data: Source, *, benchmark: str | None = None) -> PackedRecords:
    """Return the data that results are scored against, read once and small enough to be sent to every worker.

    Parameters
    ----------
    data : str, path-like or datasets.Dataset
        As for the benchmark's loader.
    benchmark : str, optional
        As for `score_batch`.

    Raises
    ------
    SourceError
        Where it cannot be read, or has no usable record.

    Examples
    --------
    >>> len(packed_data("demo"))
    40
    """
    chosen = _benchmark(benchmark)
    kind = resolve(chosen.data)
    packed = PackedRecords(kind.model)
    if not pack(data, chosen, packed, int):
        raise SourceError(f"no usable {kind.noun} in {data}")
    return packed


class BatchScorer:
    """Scores tables of results: a class for what makes an object on each worker once, such as Ray.

    Parameters
    ----------
    data : mapping of str to Record
        The data that results are scored against, by id, from `packed_data`.
    benchmark : str, optional
        As for `score_batch`.
    **options
        As for `score_batch`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from attune_data import load_runs
    >>> table = pa.table({"record": [run.to_line() for run in load_runs("demo")[:2]]})
    >>> BatchScorer(packed_data("demo"))(table)["model"].to_pylist()
    ['synthetic/attentive', 'synthetic/attentive']
    """

    def __init__(self, data: Mapping[str, Record], *, benchmark: str | None = None, **options: Any) -> None:
        chosen = _benchmark(benchmark)
        self._scorer = PartScorer(chosen, data, options)
        self._options = _options_text(chosen, options)
        self._digest = cache(self._scorer.digest)

    def __call__(self, results: "pa.Table") -> "pa.Table":
        """Return the scores of a table of results."""
        pa = require("pyarrow", "datasets")
        if not isinstance(results, pa.Table):
            kind = type(results).__name__
            raise TypeError(f"the results are a {kind}; give a pyarrow.Table, of a Dataset .with_format('arrow')")
        _check_columns(results.column_names, self._scorer.kind)
        given = results.to_pylist()
        files = [row.get("file") for row in given]
        if "record" not in results.column_names:
            given = [{name: value for name, value in row.items() if name != "file"} for row in given]
        documents = [
            row_document(str(name or f"row {place}"), row)
            for place, (name, row) in enumerate(zip(files, given, strict=True))
        ]
        part = self._scorer.read(documents)
        rows = [place for place, (_, _, record) in enumerate(part.read) if record is not None]
        columns: dict[str, Any] = {}
        for name, values in part.scored.items():
            whole: list[Any] = [None] * len(given)
            for place, value in zip(rows, values, strict=True):
                whole[place] = value
            columns[name] = pa.array(whole, pa.string() if name in TEXT_COLUMNS else pa.float64())
        columns["record"] = pa.array([record and record.to_json().decode() for _, _, record in part.read], pa.string())
        columns["file"] = pa.array(files, pa.string())
        columns["data"] = pa.array([unit and self._digest(unit) for unit in columns["unit"].to_pylist()], pa.string())
        columns["options"] = pa.array([self._options] * len(given), pa.string())
        columns["issues"] = pa.array(
            [json.dumps([asdict(one) for one in issues]) if issues else None for _, issues, _ in part.read], pa.string()
        )
        return pa.table(columns)


def score_batch(results: "pa.Table", *, data: str, benchmark: str | None = None, **options: Any) -> "pa.Table":
    """Score a table of results: a plain function that can be pickled; each process prepares the data once.

    Parameters
    ----------
    results : pyarrow.Table
        A row a result; this module says which columns.
    data : str
        The path or address of the data, which every worker can read.
    benchmark : str, optional
        A name in the registry, or ``module:NAME``; by default the first benchmark that scores its results one by one.
    **options
        What the benchmark's own scoring takes, such as ``protocol``.

    Returns
    -------
    pyarrow.Table
        The scores, a row a result; this module says which columns.

    Raises
    ------
    SourceError
        Where the data cannot be read.
    ImportError
        Without pyarrow, which the extra ``datasets`` installs.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from attune_data import load_runs
    >>> table = pa.table({"record": [run.to_line() for run in load_runs("demo")]})
    >>> scored = score_batch(table, data="demo")
    >>> scored.num_rows, scored["problem"].null_count
    (80, 80)
    """
    return _cached_scorer(os.fspath(data), benchmark, tuple(sorted(options.items())))(results)


@lru_cache(maxsize=2)
def _cached_scorer(data: Any, benchmark: str | None, options: tuple[tuple[str, Any], ...]) -> BatchScorer:
    """Return the scorer of this process; `data` is a path, or a reference to a cluster's copy of the packed data."""
    packed = packed_data(data, benchmark=benchmark) if isinstance(data, str) else require("ray", "ray").get(data)
    return BatchScorer(packed, benchmark=benchmark, **dict(options))


def scores_of(
    scored: "pa.Table", *, data: "Source | Mapping[str, Record]", benchmark: str | None = None, **options: Any
) -> "Scores":
    """Return the scores of a table that `score_batch` made, whole or put together from many.

    If several results have one key, the result counts that the benchmark's loader would keep, in the order of the rows.

    Parameters
    ----------
    scored : pyarrow.Table
        The table.
    data : str, path-like or mapping of str to Record
        The data, as for `score_batch`, or from `packed_data`.
    benchmark, **options
        As for `score_batch`, the same as there.

    Returns
    -------
    Scores
        Equal to what `attune_bench.score` gives for the same records; what was noticed while they were read is in the
        column ``issues``.

    Raises
    ------
    MetricInputError
        Where columns are missing, or the table was scored with other options or against other data.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from attune_data import load_runs
    >>> table = pa.table({"record": [run.to_line() for run in load_runs("demo")]})
    >>> scores_of(score_batch(table, data="demo"), data="demo")
    <Scores of 2 models, 1 mode, 40 conversations, 76 metrics; protocol documented>
    """
    chosen = _benchmark(benchmark)
    packed = data if isinstance(data, Mapping) else packed_data(data, benchmark=benchmark)
    scorer = PartScorer(chosen, packed, options)
    names = [*scorer.scorer.score([])]
    if missing := {*names, *_BESIDE} - {*scored.column_names}:
        raise MetricInputError(f"the table lacks the columns {listed(sorted(missing), 5)}; did score_batch make it?")
    _check_same(scored, scorer, _options_text(chosen, options))
    columns = {name: scored[name].to_pylist() for name in names}
    rows: dict[int, ScoredRow] = {}

    def found() -> Iterator[tuple[Record, str]]:
        read = zip(scored["record"].to_pylist(), scored["file"].to_pylist(), strict=True)
        for place, (text, name) in enumerate(read):
            if text is not None:
                record = scorer.kind.model.model_validate_json(text, by_alias=True, by_name=False)
                rows[id(record)] = (columns, place)
                yield record, name or f"row {place}"

    # Found here, as processes that score parts do without it.
    from attune_bench.scores.table import table_of
    from attune_bench.verbs.scores import Scores

    return Scores.of(table_of(scorer.join(collect("the table", scorer.kind, found(), IssueLog()), rows)))


_BESIDE = ("record", "file", "issues", "data", "options")


def _check_columns(names: Sequence[str], kind: Kind[Any, Any]) -> None:
    """Raise a SourceError if the columns of a table hold no results."""
    if "record" not in names and not set(kind.columns) <= set(names):
        needed = " and ".join(map(repr, kind.columns))
        raise SourceError(
            f"the table has neither a column 'record', a {kind.noun} as JSON, nor the columns of one, {needed}; "
            f"it has: {listed(list(names), 8) or 'none'}"
        )


def _check_same(scored: "pa.Table", scorer: PartScorer, options: str) -> None:
    """Raise a MetricInputError where a table was scored otherwise, or against other data."""
    for found in sorted(set(scored["options"].to_pylist()) - {options}):
        raise MetricInputError(f"the table was scored with {found}, not with {options}; give the same options")
    pairs = zip(scored["unit"].to_pylist(), scored["data"].to_pylist(), strict=True)
    for unit, own in sorted({(unit, own) for unit, own in pairs if own is not None}):
        if scorer.digest(unit) != own:
            raise MetricInputError(
                f"the table was scored against another text of {unit!r} than the data have; give the same data"
            )


def _options_text(benchmark: Benchmark, options: Mapping[str, Any]) -> str:
    return json.dumps({"benchmark": benchmark.name, **options}, sort_keys=True, default=str)


def _benchmark(name: str | None) -> Benchmark:
    if name is not None:
        return benchmark_named(name)
    return next(benchmark for benchmark in BENCHMARKS if benchmark.streaming is not None)


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
        The data that results are scored against, as for the benchmark's loader.
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
    return _cached_scorer(data, benchmark, options)(results)
