"""Scoring the results in sources as a whole, and what commands print of the scores."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from attune_bench import Scores, score
from attune_bench.cli.output import Phase, emit, kind_of, mistakes, say
from attune_bench.cli.sources import Scored, check_baselines, check_belongs, is_table, is_table_of_comparisons, read
from attune_bench.cli.stops import with_stops
from attune_bench.report.document import render
from attune_bench.report.text import ranking_document
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.pairwise import described
from attune_bench.scores.table_files import description_of
from attune_data.collection import Collection
from attune_data.references import resolve
from attune_data.text import columns_of_terminal, has_blocks, has_colours


def as_described(scores: Scores, found: Collection[Any], results: Sequence[str]) -> Scores:
    """Return scores with what TOML files beside tables of comparisons say of them."""
    for source in filter(is_table, results):
        if (beside := description_of(source)).file and is_table_of_comparisons(source):
            scores = Scores.of(described(scores, found, beside.metrics, beside.about, source))
    return scores


def say_alone(scored: Scored[Scores]) -> None:
    """If the page has one model, say that --baselines adds others."""
    if len(scored.scores.models) == 1 and scored.benchmark.baselines is not None:
        say("One model stands alone on the page; --baselines adds models to compare it with")


_RANKING_WIDTH = 80


def print_ranking(scores: Scores) -> None:
    """Print what the scores are of, how the models compare and their ranking, in lines of at most 80 columns."""
    made = ranking_document(scores, blocks=has_blocks(sys.stdout))
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
) -> Scored[Scores]:
    """Read results and data, and score them.

    Parameters
    ----------
    benchmark : Benchmark
        As `scored_benchmark` returns it.
    results : sequence of str
        Where the results are.
    data : str, optional
        Where the data are; not read for a benchmark without data.
    phase : callable
        Begins a phase of the progress.
    name : str, optional
        The import path of a benchmark outside the library, which the scores record.
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
    given = None if data is None or benchmark.data is None else read(kind_of(benchmark.data), [data], phase)
    found = read(kind_of(benchmark.results), results, phase)
    predicted = _baselines(benchmark, given, found) if baselines else []
    made = [*found, *predicted] if predicted else found
    with mistakes():
        scores = score(
            *((made,) if given is None else (given, made)),
            benchmark=name or benchmark,
            progress=phase("scoring", len(made)),
            **(options or {}),
        )
        scores = with_stops(as_described(scores, found, results), results)
    models = pl.col("model").is_in([*_models(benchmark, found)]) if predicted else True
    check_belongs(scores.values.filter(models).height, found, results, data)
    return Scored(benchmark, scores, given, found, predicted)


def _baselines(benchmark: Benchmark, data: Collection[Any] | None, results: Sequence[Any]) -> list[Any]:
    """Return the baselines' answers to the units in the results; leave out baselines that the results contain."""
    row = resolve(benchmark.row)
    units, models = {row(result)[2] for result in results}, _models(benchmark, results)
    every = (result for predict in resolve(benchmark.baselines).values() for result in predict(data))
    return [result for result in every if row(result)[2] in units and row(result)[0] not in models]


def _models(benchmark: Benchmark, results: Sequence[Any]) -> set[str]:
    return {resolve(benchmark.row)(result)[0] for result in results}
