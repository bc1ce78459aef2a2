"""Scores that a command makes of results and data, with baselines beside them where they are wanted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import click
import polars as pl

from attune_bench import Scores, score
from attune_bench.cli.options import benchmark_of, read_all, scores_instead
from attune_bench.cli.output import Phase, UserError, kind_of, mistakes, say, validate_command
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.files import is_score_file
from attune_data.collection import Collection
from attune_data.issues import count_severities
from attune_data.references import resolve
from attune_data.text import plural

baselines_option = click.option(
    "--baselines", is_flag=True, help="Add the benchmark's baselines, such as random answers, to compare models with."
)


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores, and the records that they were made of.

    Attributes
    ----------
    benchmark : Benchmark
        What the results are of.
    scores : Scores
        Of the results, and of the baselines where they were wanted.
    data : Collection or None
        What the results are of; None for a benchmark that is scored from its results alone.
    results : Collection
        What models made.
    baselines : sequence of record
        What baselines made of the same units; empty where they were not wanted.
    """

    benchmark: Benchmark
    scores: Scores
    data: Collection[Any] | None
    results: Collection[Any]
    baselines: Sequence[Any] = ()

    @property
    def made(self) -> Sequence[Any]:
        """Everything that was scored."""
        return [*self.results, *self.baselines] if self.baselines else self.results


def scored_benchmark(name: str | None, results: Sequence[str], data: str | None) -> Benchmark:
    """Return the benchmark named, else the benchmark of the results, or of the data where the results are demo.

    Raises
    ------
    UserError
        The benchmark is scored against data and none are given, or from its results alone and there are some.
    """
    for source in results:
        if is_score_file(source):
            raise UserError(scores_instead(source))
    of_data = data is not None and results[0] == "demo" != data
    found = benchmark_of(name, data, "data") if of_data and data else benchmark_of(name, results[0], "results")
    if found.data is None and data is not None:
        raise UserError(f"{found.title} is scored from its results alone; leave out --data")
    if found.data is not None and data is None:
        raise UserError(f"which {kind_of(found.data).plural} are these results of? Name them with --data")
    return found


def check_baselines(benchmark: Benchmark) -> None:
    """Raise a UserError where a benchmark has no baselines, or does not say which unit a result is of."""
    if benchmark.baselines is None:
        raise UserError(f"{benchmark.title} has no baselines; leave out --baselines")
    if benchmark.row is None:
        raise UserError(f"{benchmark.title} does not name the units of results (row); leave out --baselines")


def check_belongs(values: pl.DataFrame, results: Collection[Any], sources: Sequence[str], data: str | None) -> None:
    """Raise a UserError where none of the results has a value."""
    if values.is_empty():
        kind = results.kind
        raise UserError(
            f"none of the {plural(len(results), kind.noun, kind.plural)} in {', '.join(sources)} belongs to the data "
            f"in {data}: check that both come from the same data set"
        )


def problems_of(scored: Scored, results: Sequence[str], data: str | None, *, forced: str | None) -> str:
    """Return how many errors and warnings the sources have, and the command that lists them; empty for none."""
    read = [one.found for one in (scored.data, scored.results) if one is not None]
    counts = count_severities((*scored.scores.provenance.issues, *chain.from_iterable(read)))
    if not counts["error"] and not counts["warning"]:
        return ""
    said = f"{plural(counts['error'], 'error')} and {plural(counts['warning'], 'warning')}"
    beside = (results, ()) if data is None else ([data], results)
    return f"{said} in the files; see: {validate_command(*beside, benchmark=scored.benchmark, forced=forced)}"


def say_alone(scored: Scored) -> None:
    """Say of a page with one model how others come beside it."""
    if len(scored.scores.models) == 1 and scored.benchmark.baselines is not None:
        say("One model stands alone on the page; --baselines adds models to compare it with")


def score_sources(
    benchmark: Benchmark,
    results: Sequence[str],
    data: str | None,
    phase: Phase,
    *,
    name: str | None = None,
    baselines: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Scored:
    """Read results and data, and score them.

    Parameters
    ----------
    benchmark : Benchmark
        As `scored_benchmark` returns it.
    results : sequence of str
        Where the results are.
    data : str, optional
        What they are of.
    phase : callable
        Begins a phase of the progress.
    name : str, optional
        The import path of somebody else's benchmark, which the scores record.
    baselines : bool
        Whether to score the benchmark's baselines on the units of the results too.
    options : mapping, optional
        What the benchmark's scoring takes.

    Raises
    ------
    UserError
        A source has no usable record, no result belongs to the data, or the benchmark has no baselines.
    """
    if baselines:
        check_baselines(benchmark)
    given = None if data is None else _read(benchmark.data, [data], phase)
    found = _read(benchmark.results, results, phase)
    predicted = _baselines(benchmark, given, found) if baselines else []
    made = [*found, *predicted] if predicted else found
    with mistakes():
        scores = score(
            *((made,) if given is None else (given, made)),
            benchmark=name or benchmark,
            progress=phase("scoring", len(made)),
            **(options or {}),
        )
    models = pl.col("model").is_in([*_models(benchmark, found)]) if predicted else True
    check_belongs(scores.values.filter(models), found, results, data)
    return Scored(benchmark, scores, given, found, predicted)


def _read(side: Any, sources: Sequence[str], phase: Phase) -> Collection[Any]:
    kind = kind_of(side)
    return read_all(kind, sources, phase(f"reading {kind.plural}", None))


def _baselines(benchmark: Benchmark, data: Collection[Any] | None, results: Sequence[Any]) -> list[Any]:
    """Return what baselines make of the units of results, but for baselines that are among the results."""
    row = resolve(benchmark.row)
    units, models = {row(result)[2] for result in results}, _models(benchmark, results)
    every = (result for predict in resolve(benchmark.baselines).values() for result in predict(data))
    return [result for result in every if row(result)[2] in units and row(result)[0] not in models]


def _models(benchmark: Benchmark, results: Sequence[Any]) -> set[str]:
    return {resolve(benchmark.row)(result)[0] for result in results}
