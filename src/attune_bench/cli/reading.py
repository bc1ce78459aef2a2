"""Reading for commands: sources of any kind of record, recognised from their content."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Literal

import click

from attune_bench.benchmarks import BENCHMARKS, benchmark_in_use, benchmark_named
from attune_bench.cli.options import (
    ANALYSIS,
    chosen_variant,
)
from attune_bench.cli.output import (
    UserError,
    first_issue,
    kind_of,
    mistakes,
    progress,
    validate_command,
)
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.files import is_score_file
from attune_bench.stats.subgroups import unit_traits
from attune_bench.verbs.scores import Scores
from attune_data.collection import Collection, Kind
from attune_data.issues import SourceError
from attune_data.kinds import KINDS
from attune_data.loading import load_records, recognise
from attune_data.query import Queryable
from attune_metrics.metric import MetricInputError

Side = Literal["data", "results"]

Given = Mapping[str, Any]
"""What a command was given, by parameter."""


def kind_of_source(source: str, name: str | None, noun: str | None = None) -> Kind[Any, Any]:
    """Return the kind of the records in a source: that of a noun, else one of a benchmark that is named, else any.

    Raises
    ------
    UserError
        Where it is a file of scores or a table of results.
    """
    if source.lower().endswith(".csv") or is_score_file(source):
        raise UserError(
            f"{source} is no file of records; if it is one of scores, attune-bench report --scores {source} reads it"
        )
    if noun is not None:
        if name is not None:
            raise UserError("--kind says what the records are, so leave --benchmark out")
        return next(kind for kind in KINDS if kind.noun == noun)
    if name is None:
        return recognise(source)
    with mistakes():
        benchmark = benchmark_named(name)
    return recognise(source, [kind_of(one) for one in (benchmark.data, benchmark.results) if one is not None])


def benchmarks_by_kind(side: Side) -> dict[Kind[Any, Any], Benchmark]:
    """Return the benchmark whose data, or results, are of a kind, by kind."""
    return {kind_of(one): benchmark for benchmark in BENCHMARKS if (one := getattr(benchmark, side)) is not None}


def benchmark_of(name: str | None, source: str, side: Side) -> Benchmark:
    """Return the benchmark that is named, else the one whose data or results a source holds."""
    if name is not None:
        with mistakes():
            return benchmark_named(name)
    if source == "demo":
        return BENCHMARKS[0]
    kinds = benchmarks_by_kind(side)
    kind = kind_of_source(source, None)
    if kind not in kinds:
        expected = ", ".join(known.plural for known in kinds)
        raise UserError(f"{source} contains {kind.plural}; expected {expected}, or name a benchmark with --benchmark")
    return kinds[kind]


def read_scores(path: Path) -> Scores:
    """Return the scores of a file.

    Raises
    ------
    UserError
        Where it has none; of records the text says so.
    """
    if path == Path("demo") and not path.exists():
        raise UserError("demo has records, no scores; first: attune-bench score --results demo --data demo")
    try:
        return Scores.read(path)
    except (SourceError, MetricInputError) as error:
        raise UserError(str(error)) from None


def load_all(kind: Kind[Any, Any], sources: Sequence[str], progress: Callable[[int], object]) -> Collection[Any]:
    """Return the records of all sources in one collection, which may be empty.

    Raises
    ------
    UserError
        Where it is empty, and a source has records of another kind.
    """
    found: Collection[Any] = reduce(or_, (load_records(source, kind, progress=progress) for source in sources))
    for source in () if found else sources:
        with suppress(SourceError):
            if (other := recognise(source)) is not kind:
                raise UserError(f"{source} contains {other.plural} and no {kind.noun}")
    return found


def read_all(kind: Kind[Any, Any], sources: Sequence[str], progress: Callable[[int], object]) -> Collection[Any]:
    """Return the records of all sources in one collection.

    Raises
    ------
    UserError
        Where no source holds a usable record.
    """
    found = load_all(kind, sources, progress)
    check_usable(kind, sources, found)
    return found


def check_usable(kind: Kind[Any, Any], sources: Sequence[str], found: Collection[Any]) -> None:
    """Raise a UserError where sources have no usable record."""
    if not found:
        of_kind = (benchmarks_by_kind("data") | benchmarks_by_kind("results")).get(kind)
        see = validate_command(sources[:1], benchmark=of_kind)
        raise UserError(f"no usable {kind.noun} in {', '.join(sources)}{first_issue(found.found)}; see: {see}")


def read_analysed(path: Path, given: Given) -> Scores:
    """Return the scores of a file, under the variant chosen."""
    with mistakes():
        scores = read_scores(path).variant(**chosen_variant(click.get_current_context()))
    if given.get("allow_mixed"):
        scores = scores.allow_mixed()
    if scores.values.is_empty():
        raise UserError(f"{path} has no score: no model was run on any {scores.provenance.unit}")
    named, own = given["benchmark"], scores.provenance.benchmark
    if named is not None and named != own:
        raise UserError(f"--benchmark is {named}, and the scores are of {own or 'no benchmark'}; leave it out")
    return scores


def sampling_of(given: Given) -> Any:
    """Return the options of every analysis."""
    return {name: given[name] for name in ANALYSIS}


def benchmark_of_scores(scores: Scores) -> Benchmark | None:
    """Return the benchmark that the scores are of; None for a table of somebody else's."""
    return benchmark_in_use(scores.provenance.benchmark)


def records_of(scores: Scores, side: Literal["data", "results"], *sources: str) -> Any:
    """Return the records of sources that belong to the scores' benchmark."""
    benchmark = benchmark_of_scores(scores)
    reference = getattr(benchmark, side) if benchmark else None
    if reference is None:
        of = benchmark.title if benchmark else "a table"
        raise UserError(f"scores of {of} take no --{side}; leave it out")
    kind = kind_of(reference)
    with progress() as phase:
        return read_all(kind, sources, phase(f"reading {kind.plural}", None))


def traits_of(scores: Scores, data: str | None) -> Queryable:
    """Return what is asked for traits: the data, or without them the traits that the scores have."""
    if data is not None:
        found: Queryable = records_of(scores, "data", data)
        return found
    benchmark = benchmark_of_scores(scores)
    if not scores.traits and benchmark is not None and benchmark.data is not None:
        raise UserError(f"these scores have no traits of their {scores.provenance.unit}s; name the data with --data")
    return unit_traits(scores)
