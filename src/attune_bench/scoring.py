"""Scoring: results against the data they are of, by the benchmark that both belong to."""

import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from math import isfinite
from typing import Any

from attune_bench.benchmarks import BENCHMARKS, benchmark_named
from attune_bench.benchmarks.base import Benchmark
from attune_bench.fingerprint import fingerprint, results_fingerprint
from attune_bench.group_settings import group_settings, sent_where_set
from attune_bench.score_table import ScoreTable
from attune_bench.scored_records import check_records
from attune_bench.scores import Scores
from attune_data.io.sources import frame_code, is_dataset, type_of_table
from attune_data.record import Record, is_generated
from attune_data.references import Reference, resolve
from attune_data.tables import Frames
from attune_data.text import meant
from attune_metrics.metric import MetricInputError

__all__ = ["benchmark_chosen", "benchmark_of", "score"]

_NOT_SET = "not set"
_OF_ALL = ("data", "results", "progress")


def score(
    data: Iterable[Any],
    results: Iterable[Any] | None = None,
    *,
    benchmark: str | Benchmark | None = None,
    progress: Callable[[int], object] | None = None,
    **options: Any,
) -> Scores:
    """Score results of models against the data they are of.

    Parameters
    ----------
    data : iterable of record
        The reference: conversations, scenarios. Of a benchmark whose results hold all there is, the results.
    results : iterable of record, optional
        What models made of it: runs, episodes.
    benchmark : str or Benchmark, optional
        Whose scoring: a name in the registry, ``module:NAME`` of somebody else's, or its entry; by default that of the
        benchmark whose records these are.
    progress : callable, optional
        Called with the number of results scored so far, after some at a time.
    **options
        What the benchmark's own scoring takes, such as ``protocol``.

    Returns
    -------
    Scores
        Every metric of every model and unit; ``.issues`` has what was not scored.

    Raises
    ------
    MetricInputError
        Where the records are of no benchmark, of two, or of the wrong side, or a side is missing or too many; where
        something else than records is given, with what makes records or scores of it.
    ValueError
        Where there is no benchmark of that name, or its scoring refuses the results.
    TypeError
        Where its scoring has no such option.

    Notes
    -----
    It can be called from several threads. Processes of your own are to be started with ``spawn`` or ``forkserver``:
    with ``fork`` one can wait forever (docs/scale.md).

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"), protocol="documented")
    >>> scores.units.height, scores.models
    (40, ('synthetic/attentive', 'synthetic/hasty'))
    """
    given = _records(data, "data")
    made = None if results is None else _records(results, "results")
    named = benchmark if isinstance(benchmark, str) else None
    chosen = benchmark_chosen(benchmark, given, made)
    if chosen.data is None and made is not None:
        raise MetricInputError(f"{chosen.title} scores results alone; give only these, score(results)")
    if chosen.data is not None and made is None:
        raise MetricInputError(f"{chosen.title} scores results against data; give both, score(data, results)")
    sources = [given] if made is None else [given, made]
    references = (chosen.data, chosen.results) if made is not None else (chosen.results,)
    if made and given and _are(given, chosen.results) and _are(made, chosen.data):
        first, second = (resolve(one).plural for one in references)
        found = f"the data have a {type(given[0]).__name__}; {chosen.title} takes {first}"
        raise MetricInputError(f"{found}, then {second}: the arguments are swapped")
    for side, records, reference in zip(("data", "results")[-len(sources) :], sources, references, strict=True):
        check_records(chosen, side, records, reference)
    scorer = resolve(chosen.score)
    known = {name: one.kind for name, one in signature(scorer).parameters.items() if name not in _OF_ALL}
    for name in options.keys() - known if Parameter.VAR_KEYWORD not in known.values() else ():
        raise TypeError(f"{chosen.title} has no option {name!r}; {meant(name, known)}")
    scores: Scores = scorer(*sources, progress=progress, **options)
    held = scores.provenance
    if held.benchmark is not None:
        return scores
    # Of somebody else's benchmark, what its scoring need not say.
    about = {
        "benchmark": named or chosen.name,
        "title": chosen.title,
        "synthetic": any(is_generated(record) for records in sources for record in records),
        "data": None if chosen.data is None else fingerprint(sources[0]),
        "runs": results_fingerprint(sources[-1], resolve(chosen.results)),
    }
    if chosen.decisive:
        row = resolve(chosen.row)
        settings = ((*row(result)[:2], _recorded(result, chosen.decisive)) for result in sources[-1])
        about |= {"settings": group_settings(settings), "decisive": dict(chosen.decisive)}
    return replace(scores, provenance=held.model_copy(update=about))


def _records(given: Any, side: str) -> Sequence[Any]:
    """Return records as a sequence; raise a MetricInputError where they are something else."""
    what, instead = "", ""
    if isinstance(given, str | os.PathLike):
        what, instead = f"the text {str(given)!r:.80}", "; load, load_runs and load_records of attune_data load them"
    elif typed := type_of_table(given):
        frame = frame_code(given)
        takes = f"({frame}) a table of results" if frame else " a polars.DataFrame with columns of models and units"
        what, instead = f"a {typed}", f", Scores.from_table{takes}"
    elif is_dataset(given):
        what, instead = f"a datasets.{type(given).__name__}", "; attune_data.load_records makes records of a Dataset"
    elif isinstance(given, ScoreTable):
        what, instead = "scores", ", of which scores are made"
    elif isinstance(given, Frames):
        what, instead = "tables", "; give the collection that has these tables"
    elif isinstance(given, Record | Mapping):
        what, instead = f"one {type(given).__name__}", "; give a list of them"
    elif not isinstance(given, Iterable) or isinstance(given, bytes | io.IOBase):
        what = f"of type {type(given).__name__}"
    if what:
        raise MetricInputError(f"the {side} are {what}; score takes records{instead}")
    return given if isinstance(given, Sequence) else list(given)


def _are(records: Sequence[Any], reference: Reference) -> bool:
    return isinstance(records[0], resolve(reference).model)


def _recorded(result: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return settings as a result records them: None for one that it does not record, a text for one that is null."""
    given = {name: getattr(result, name) for name in result.model_fields_set} | (result.model_extra or {})
    return {name: _setting(given[name]) if name in given else None for name in names} | sent_where_set(given)


def _setting(value: Any) -> str | float:
    """Return a setting as it is compared: what is neither text nor number, as results of others may have, as JSON."""
    if value is None:
        return _NOT_SET
    is_plain = isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
    plain: str | float = value if is_plain else json.dumps(value, sort_keys=True)
    return plain


def benchmark_chosen(
    benchmark: str | Benchmark | None, data: Sequence[Any], results: Sequence[Any] | None = None
) -> Benchmark:
    """Return the benchmark that was named, else the one that records belong to.

    Raises
    ------
    MetricInputError
        As `benchmark_of`.
    ValueError
        Where there is no benchmark of that name.
    """
    if benchmark is None:
        return benchmark_of(data, results)
    if not isinstance(benchmark, str | Benchmark):
        raise TypeError(f"the benchmark is of type {type(benchmark).__name__}; expected its name, or a Benchmark")
    return benchmark if isinstance(benchmark, Benchmark) else benchmark_named(benchmark)


def benchmark_of(data: Sequence[Any], results: Sequence[Any] | None) -> Benchmark:
    """Return the benchmark that records belong to.

    Raises
    ------
    MetricInputError
        Where they are of no benchmark, or of two.
    """
    found = None
    for records in (data, results):
        if records is None or not len(records):
            continue
        own = next((benchmark for benchmark in BENCHMARKS if _has(benchmark, records[0])), None)
        if own is None:
            kind = type(records[0]).__name__
            hint = "load them with attune_data" if isinstance(records[0], dict) else "name one with benchmark=..."
            raise MetricInputError(f"{kind} is a record of no benchmark; {hint}")
        if found is not None and own is not found:
            raise MetricInputError(
                f"the data are of {found.title}, the results of {own.title}; score each with its own"
            )
        found = own
    if found is None:
        raise MetricInputError("nothing to score: neither data nor results")
    return found


def _has(benchmark: Benchmark, record: object) -> bool:
    kinds = [resolve(reference) for reference in (benchmark.data, benchmark.results) if reference is not None]
    return any(isinstance(record, kind.model) for kind in kinds)
