"""Score results for a command, with baselines if --baselines is given; print their ranking."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import click
import polars as pl

from attune_bench import Scores, score
from attune_bench.cli.options import benchmark_of, read_all, scores_instead
from attune_bench.cli.output import Phase, UserError, emit, kind_of, mistakes, say, validate_command
from attune_bench.report.document import render
from attune_bench.report.text import ranking_document
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.files import is_score_file
from attune_data.collection import Collection
from attune_data.issues import count_severities
from attune_data.references import resolve
from attune_data.text import columns_of_terminal, has_blocks, has_colours, plural

baselines_option = click.option(
    "--baselines", is_flag=True, help="Add the benchmark's baselines, such as random answers, to compare models with."
)


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores, and the records that they were made of.

    Attributes
    ----------
    benchmark : Benchmark
        The benchmark that the results belong to.
    scores : Scores
        The scores of the results and of the baselines.
    data : Collection or None
        The data that the models answered; None if the benchmark takes no data.
    results : Collection
        The models' answers.
    baselines : sequence of record
        The baselines' answers to the same units; empty without --baselines.
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
    """Return the benchmark `name`; without a name, the benchmark of the first source of results.

    If this source is demo and other data are given, return the benchmark of the data.

    Raises
    ------
    UserError
        The benchmark needs data and none are given; the benchmark takes no data and data are given; or a source is a
        file of scores.
    """
    for source in results:
        if is_score_file(source):
            raise UserError(scores_instead(source))
    of_data = data is not None and results[0] == "demo" != data
    found = benchmark_of(name, data, "data") if of_data and data else benchmark_of(name, results[0], "results")
    if found.data is None and data is not None:
        raise UserError(f"{found.title} takes no data; leave out --data")
    if found.data is not None and data is None:
        raise UserError(f"give --data: the {kind_of(found.data).plural} that the models answered")
    return found


def check_baselines(benchmark: Benchmark) -> None:
    """Raise a UserError if a benchmark has no baselines, or no function `row`, which names the unit of a result."""
    if benchmark.baselines is None:
        raise UserError(f"{benchmark.title} has no baselines; leave out --baselines")
    if benchmark.row is None:
        raise UserError(
            f"{benchmark.title} has no function row, which names the unit of a result; leave out --baselines"
        )


def check_belongs(values: pl.DataFrame, results: Collection[Any], sources: Sequence[str], data: str | None) -> None:
    """Raise a UserError if none of the results has a value."""
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
    """If the page has one model, say that --baselines adds others."""
    if len(scored.scores.models) == 1 and scored.benchmark.baselines is not None:
        say("One model stands alone on the page; --baselines adds models to compare it with")


_RANKING_WIDTH = 80


def print_ranking(scores: Scores, *, head: Sequence[str] = ()) -> None:
    """Print how the models compare and their ranking, below the sentences of `head`, in lines of at most 80 columns."""
    made = ranking_document(scores, blocks=has_blocks(sys.stdout))
    made = replace(made, answer=[*head, *made.answer])
    emit(render(made, columns=min(columns_of_terminal(), _RANKING_WIDTH), colours=has_colours(sys.stdout)))


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
        Where the data are.
    phase : callable
        Begins a phase of the progress.
    name : str, optional
        The import path of somebody else's benchmark, which the scores record.
    baselines : bool
        Whether to score the benchmark's baselines on the units of the results too.
    options : mapping, optional
        Options of the benchmark's scoring.

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
    """Return the baselines' answers to the units in the results; leave out baselines that the results contain."""
    row = resolve(benchmark.row)
    units, models = {row(result)[2] for result in results}, _models(benchmark, results)
    every = (result for predict in resolve(benchmark.baselines).values() for result in predict(data))
    return [result for result in every if row(result)[2] in units and row(result)[0] not in models]


def _models(benchmark: Benchmark, results: Sequence[Any]) -> set[str]:
    return {resolve(benchmark.row)(result)[0] for result in results}
