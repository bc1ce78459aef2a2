"""Reading for commands: sources of any kind of record, recognised from their content."""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Literal

from attune_bench.benchmarks import BENCHMARKS, benchmark_named
from attune_bench.benchmarks.base import Benchmark, resolve
from attune_bench.cli.output import UserError, mistakes
from attune_data.collection import Collection
from attune_data.issues import Issue
from attune_data.kind import Kind
from attune_data.loading import load_records, recognise

__all__ = ["benchmark_of", "first_issue", "kind_of", "kind_of_source", "read_all"]

Side = Literal["data", "results"]


def kind_of(reference: Any) -> Kind[Any, Any]:
    """Return the kind of record that a benchmark's entry names."""
    found: Kind[Any, Any] = resolve(reference)
    return found


def kind_of_source(source: str, name: str | None) -> Kind[Any, Any]:
    """Return the kind of record that a source holds, one of a benchmark that is named, else any."""
    if name is None:
        return recognise(source)
    with mistakes():
        benchmark = benchmark_named(name)
    return recognise(source, [kind_of(one) for one in (benchmark.data, benchmark.results) if one is not None])


def benchmark_of(name: str | None, source: str, side: Side) -> Benchmark:
    """Return the benchmark that is named, else the one whose data or results a source holds."""
    if name is not None:
        with mistakes():
            return benchmark_named(name)
    if source == "demo":
        return BENCHMARKS[0]
    kinds = {kind_of(one): benchmark for benchmark in BENCHMARKS if (one := getattr(benchmark, side)) is not None}
    kind = recognise(source)
    if kind not in kinds:
        expected = ", ".join(known.plural for known in kinds)
        raise UserError(f"{source} holds {kind.plural}; expected {expected}, or name a benchmark with --benchmark")
    return kinds[kind]


def read_all(kind: Kind[Any, Any], sources: Sequence[str], progress: Callable[[int], object]) -> Collection[Any]:
    """Return the records of all sources in one collection.

    Raises
    ------
    UserError
        Where no source holds a usable record.
    """
    found: Collection[Any] = reduce(or_, (load_records(source, kind, progress=progress) for source in sources))
    if not found:
        see = f"attune-bench validate {sources[0]}"
        raise UserError(f"no usable {kind.noun} in {', '.join(sources)}{first_issue(found.found)}; see: {see}")
    return found


def first_issue(found: Sequence[Issue]) -> str:
    """Return the first of the worst findings, as the end of a sentence."""
    first = min((issue for issue in found if issue.severity != "note"), key=lambda issue: issue.severity, default=None)
    return f"; the first: {first.file} {first.path}: {first.message}; {first.consequence}" if first else ""
