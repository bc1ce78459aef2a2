"""The command `score`."""

import shlex
from pathlib import Path
from typing import Any

import click

from attune_bench.benchmarks import BENCHMARKS
from attune_bench.cli.options import (
    benchmark_option,
    data_option,
    option,
    output_option,
    own_options,
    results_option,
    verb,
)
from attune_bench.cli.output import UserError, check_file, command_line, emit, kind_of, mistakes, progress, writing
from attune_bench.cli.sources import (
    Scored,
    baselines_option,
    check_belongs,
    check_usable,
    problems_of,
    scored_benchmark,
    table_columns_option,
)
from attune_bench.cli.stops import with_stops
from attune_bench.verbs.streaming import MOST_JOBS, stream
from attune_bench.verbs.writing import write_scores
from attune_data.text import plural


@verb("score --results demo --data demo", own="score")
@results_option("What models made", required=True)
@data_option("What the results are of")
@output_option(
    "Where to write the scores: a name in .parquet, or in .json for a benchmark that has such a file. By default "
    "scores.json of these, else scores.parquet, which alone has repeats."
)
@benchmark_option("A benchmark, or module:NAME; by default the results tell.")
@option(
    "--jobs",
    "How many processes score; by default as many as there are processors, where there is enough to do.",
    click.IntRange(min=1, max=MOST_JOBS),
    folded=True,
)
@baselines_option
@table_columns_option
@click.pass_context
def score(
    ctx: click.Context,
    /,
    results: tuple[str, ...],
    data: str | None,
    output: Path | None,
    benchmark: str | None,
    jobs: int | None,
    baselines: bool,
    **given: Any,
) -> None:
    """Score results against the data they are of, and write the scores to a file."""
    chosen = scored_benchmark(benchmark, results, data)
    options = own_options(ctx, chosen, given)
    if jobs is not None and chosen.streaming is None:
        raise UserError(f"{chosen.title} is scored in one process; leave out --jobs")
    target = output or Path(chosen.scores_format.default if chosen.scores_format else "scores.parquet")
    check_file(target, [*results, data], "--output")
    endings = [".parquet", *([".json"] if chosen.scores_format else [])]
    if (ending := target.suffix.lower()) not in endings:
        why = f": {chosen.title} has no file of scores in JSON" if ending == ".json" else ""
        prints = shlex.join(["attune-bench", "report", str(target.with_suffix(".parquet")), "--format", ending[1:]])
        then = f"; then {prints} prints them" if ending in {".json", ".csv"} else ""
        raise UserError(f"--output {target} has to end in {' or '.join(endings)}{why}{then}")
    made = kind_of(chosen.results)
    with progress() as phase:
        if chosen.streaming is not None and data is not None and not baselines:
            phases = phase(f"reading {kind_of(chosen.data).plural}", None), phase(f"scoring {made.plural}", None)
            with mistakes():
                streamed = stream(
                    benchmark or chosen.name, data, results, jobs=jobs, check=check_usable, progress=phases, **options
                )
            check_belongs(len(streamed.scores.detail), streamed.results, results, data)
            scored: Scored[Any] = Scored(chosen, with_stops(streamed.scores, results), streamed.data, streamed.results)
        else:
            # Found here, as scoring while reading does without it and what it imports.
            from attune_bench.cli.scoring import score_sources

            scored = score_sources(chosen, results, data, phase, name=benchmark, baselines=baselines, options=options)
    scores = scored.scores
    if scores.repeats is not None and output is None:
        target = target.with_suffix(".parquet")
    with writing(target, "--output"), mistakes():
        write_scores(scores, target)
    said = f", protocol {scores.provenance.protocol}" if scores.provenance.protocol else ""
    models = plural(len(scores.models), "model")
    if scores.conditions != (None,):
        models += f" in {plural(len(scores.conditions), scores.provenance.condition)}"
    # A result is of one repeat where its kind says which, else of all.
    repeats = scores.repeats if "repeat" in made.model.model_fields else None
    rows = scores.values if repeats is None else repeats
    # A result without a row of its own, such as a comparison of two models, is in the rows of several.
    scored_results = len(scored.made) if chosen.row is None else len(rows["unit"])
    emit(f"{target}: {plural(scored_results, made.noun, made.plural)} of {models}{said}")
    if problems := problems_of(scored, results, data, forced=benchmark):
        emit(problems)
    forced = {} if chosen in BENCHMARKS else {"--benchmark": benchmark}
    emit(f"next: {command_line('report', [str(target)], forced)}")
