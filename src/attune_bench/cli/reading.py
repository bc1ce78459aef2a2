"""Reading for commands: sources of any kind of record, recognised from their content."""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from attune_data.kinds import Kind

from attune_bench.benchmarks import BENCHMARKS, benchmark_named
from attune_bench.benchmarks.base import Benchmark, resolve
from attune_bench.cli.output import UserError, mistakes
from attune_data.collection import Collection
from attune_data.issues import Issue
from attune_data.loading import load_records, recognise
from attune_data.text import plural

__all__ = ["benchmark_of_data", "benchmark_of_results", "first_issue", "issue_notes", "kind_of", "read_all"]


def kind_of(reference: Any) -> Kind[Any]:
    """Return the kind of record that a benchmark's entry names."""
    found: Kind[Any] = resolve(reference)
    return found


def benchmark_of_results(name: str | None, sources: Sequence[str]) -> Benchmark:
    """Return the benchmark whose results sources hold: that named, else as their content tells."""
    return _of(name, sources, "results")


def benchmark_of_data(name: str | None, source: str) -> Benchmark:
    """Return the benchmark whose data a source holds: that named, else as its content tells."""
    return _of(name, [source], "data")


def _of(name: str | None, sources: Sequence[str], side: str) -> Benchmark:
    if name is not None:
        with mistakes():
            return benchmark_named(name)
    if sources[0] == "demo":
        return BENCHMARKS[0]
    kind = recognise(sources[0])
    for benchmark in BENCHMARKS:
        reference = getattr(benchmark, side)
        if reference is not None and kind_of(reference) is kind:
            return benchmark
    expected = ", ".join(
        kind_of(reference).plural for one in BENCHMARKS if (reference := getattr(one, side)) is not None
    )
    raise UserError(f"{sources[0]} holds {kind.plural}; expected {expected}, or name a benchmark with --benchmark")


def read_all(kind: Kind[Any], sources: Sequence[str], progress: Callable[[int], object]) -> Collection[Any]:
    """Return the records of all sources in one collection.

    Raises
    ------
    UserError
        Where no source holds a usable record.
    """
    found = reduce(or_, (load_records(source, kind, progress=progress) for source in sources))
    if not found:
        see = f"attune-bench validate {sources[0]}"
        raise UserError(f"no usable {kind.noun} in {', '.join(sources)}{first_issue(found.found)}; see: {see}")
    return found


def first_issue(found: Sequence[Issue]) -> str:
    """Return the first of the worst findings, as the end of a sentence."""
    first = min((issue for issue in found if issue.severity != "note"), key=lambda issue: issue.severity, default=None)
    return f"; the first: {first.file} {first.path}: {first.message}; {first.consequence}" if first else ""


def issue_notes(found: Sequence[Issue]) -> list[str]:
    """Say how many errors and warnings were found in files, and the first of them."""
    counted = [
        plural(count, severity)
        for severity in ("error", "warning")
        if (count := sum(issue.severity == severity for issue in found))
    ]
    return [f"{' and '.join(counted)} in the files{first_issue(found)}."] if counted else []
