"""The commands `score` and `demo`."""

import shlex
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from attune_bench.benchmarks import BENCHMARKS, benchmark_named
from attune_bench.cli.options import benchmark_option, data_option, own_options, results_option, verb
from attune_bench.cli.output import (
    UserError,
    check_page,
    emit,
    kind_of,
    mistakes,
    print_document,
    progress,
    say,
    validate_command,
    with_warnings,
    write_page,
)
from attune_bench.cli.reading import benchmark_of, check_usable, read_all
from attune_bench.report.document import report_document
from attune_bench.scores.benchmark import Benchmark
from attune_bench.verbs.scoring import score as score_records
from attune_bench.verbs.streaming import MOST_JOBS, stream
from attune_data.collection import Collection
from attune_data.issues import count_severities
from attune_data.loading import load_records
from attune_data.references import resolve
from attune_data.text import columns_of_terminal, plural


@verb(own="score")
@results_option("What models made", required=True)
@data_option("What the results are of")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Where to write the scores: a name in .parquet, or in .json for a benchmark that has such a file. By default "
    "scores.json of these, else scores.parquet, which alone has repeats.",
)
@benchmark_option("A benchmark, or module:NAME; by default the results tell.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1, max=MOST_JOBS),
    help="How many processes score; by default as many as there are processors, where there is enough to do.",
)
@click.pass_context
def score(
    ctx: click.Context,
    /,
    results: tuple[str, ...],
    data: str | None,
    output: Path | None,
    benchmark: str | None,
    jobs: int | None,
    **given: Any,
) -> None:
    """Score results against the data they are of, and write the scores to a file."""
    chosen = _benchmark(benchmark, results[0], data)
    options = own_options(ctx, chosen, given)
    if jobs is not None and chosen.streaming is None:
        raise UserError(f"{chosen.title} is scored in one process; leave out --jobs")
    target = output or Path(chosen.scores_format.default if chosen.scores_format else "scores.parquet")
    _check_target(target, chosen)
    if chosen.data is None and data is not None:
        raise UserError(f"{chosen.title} is scored from its results alone; leave out --data")
    if chosen.data is not None and data is None:
        raise UserError(f"which {kind_of(chosen.data).plural} are these results of? Name them with --data")
    made = kind_of(chosen.results)
    with progress() as phase:
        sources: list[Collection[Any]] = []
        if chosen.streaming is not None and data is not None:
            phases = phase(f"reading {kind_of(chosen.data).plural}", None), phase(f"scoring {made.plural}", None)
            with mistakes():
                streamed = stream(
                    benchmark or chosen.name, data, results, jobs=jobs, check=check_usable, progress=phases, **options
                )
            sources, scores = [streamed.data, streamed.results], streamed.scores
        else:
            if chosen.data is not None and data is not None:
                kind = kind_of(chosen.data)
                sources.append(read_all(kind, [data], phase(f"reading {kind.plural}", None)))
            sources.append(read_all(made, results, phase(f"reading {made.plural}", None)))
            with mistakes():
                scores = score_records(
                    *sources, benchmark=benchmark or chosen, progress=phase("scoring", len(sources[-1])), **options
                )
    if scores.values.is_empty():
        raise UserError(
            f"none of the {plural(len(sources[-1]), made.noun, made.plural)} in {', '.join(results)} belongs to the "
            f"data in {data}: check that both come from the same data set"
        )
    if scores.repeats is not None and output is None:
        target = target.with_suffix(".parquet")
    try:
        with mistakes():
            scores.write(target)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror}; choose another --output") from None
    said = f", protocol {scores.provenance.protocol}" if scores.provenance.protocol else ""
    models = plural(len(scores.models), "model")
    if scores.conditions != (None,):
        models += f" in {plural(len(scores.conditions), scores.provenance.condition)}"
    # A result is of one repeat where its kind says which, else of all.
    repeats = scores.repeats if "repeat" in made.model.model_fields else None
    scored = scores.values if repeats is None else repeats
    emit(f"{target}: {plural(scored.height, made.noun, made.plural)} of {models}{said}")
    problems = count_severities((*scores.provenance.issues, *(one for source in sources for one in source.found)))
    if problems["error"] or problems["warning"]:
        counts = f"{plural(problems['error'], 'error')} and {plural(problems['warning'], 'warning')}"
        beside = (results, ()) if data is None else ([data], results)
        emit(f"{counts} in the files; see: {validate_command(*beside, benchmark=chosen, forced=benchmark)}")
    forced = () if benchmark is None or chosen in BENCHMARKS else ("--benchmark", benchmark)
    emit(f"next: {shlex.join(('attune-bench', 'report', '--scores', str(target), *forced))}")


def _benchmark(name: str | None, results: str, data: str | None) -> Benchmark:
    """Return the benchmark that is named, else that of the results; of demo, that of the data."""
    if data is not None and results == "demo" != data:
        return benchmark_of(name, data, "data")
    return benchmark_of(name, results, "results")


def _check_target(target: Path, benchmark: Benchmark) -> None:
    if not target.parent.is_dir():
        raise UserError(f"no such folder: {target.parent}; create it or choose another --output")
    known = [".parquet", *([".json"] if benchmark.scores_format else [])]
    if target.suffix.lower() not in known:
        raise UserError(f"--output {target} has to end in {' or '.join(known)}")


@verb(own="demo")
@benchmark_option("Whose demonstration; by default that of the first benchmark.")
@click.option(
    "--html", type=click.Path(path_type=Path), default=Path("attune-demo.html"), show_default=True,
    help="Where to write the page of HTML, where the extra `plots` is installed.",
)  # fmt: skip
def demo(benchmark: str | None, html: Path) -> None:
    """Score the embedded synthetic data, by baselines where there are any; print the report and write it as a page."""
    with mistakes():
        chosen = BENCHMARKS[0] if benchmark is None else benchmark_named(benchmark)
    check_page(html, [])
    data = None if chosen.data is None else load_records("demo", kind_of(chosen.data))
    if chosen.baselines is None:
        results = load_records("demo", kind_of(chosen.results))
    else:
        results = [result for predict in resolve(chosen.baselines).values() for result in predict(data)]
    scores = score_records(*([results] if data is None else [data, results]), benchmark=chosen)
    say(f"SYNTHETIC data of {chosen.title}: {scores!r}\n")
    made, warned = with_warnings(lambda: report_document(scores))
    print_document(replace(made, warnings=warned), "table")
    try:
        text = scores.report(format="html", data=data, results=results)
    except ImportError as error:
        emit(f"No page of HTML: {error}")
    else:
        write_page(html, text)
    of = "" if benchmark is None else f" --benchmark {benchmark}"
    emit("\nNext:")
    for command, what in _NEXT:
        emit(f"  attune-bench {command.format(of=of, data='' if data is None else ' --data demo')}")
        emit(fill(what, columns_of_terminal(), initial_indent=" " * 6, subsequent_indent=" " * 6))


_NEXT = (
    (
        "score --results demo{data} --output scores.parquet{of}",
        "score results of any model; here those of simulated ones",
    ),
    ("compare --scores scores.parquet", "whether the models differ, and how small a difference could show"),
    ("report --scores scores.parquet --format markdown", "the report, for a paper"),
    ("validate FOLDER", "check files of your own; every finding with file, place and value"),
    ("describe demo{of}", "what the synthetic data contain"),
)
