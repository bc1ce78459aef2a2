"""The commands `show`, `describe` and `validate` about records, and `demo`."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attune_bench.benchmarks import BENCHMARKS, benchmark_named
from attune_bench.cli.analysis_options import format_option, kind_option, sampling_options
from attune_bench.cli.options import benchmark_option, option, results_option, verb, where_option, where_traits
from attune_bench.cli.output import (
    UserError,
    check_page,
    command_line,
    emit,
    kind_of,
    mistakes,
    page_progress,
    say,
    validate_command,
    write_page,
)
from attune_bench.cli.scoring import as_described, print_ranking
from attune_bench.cli.sources import (
    benchmark_of_kind,
    check_kind,
    kind_of_source,
    load,
    loaded,
    named_benchmark,
    subgroup,
    table_columns_option,
)
from attune_bench.scores.benchmark import Benchmark
from attune_bench.verbs.scoring import score as score_records
from attune_data.collection import Collection, Kind
from attune_data.comparisons import COMPARISON
from attune_data.description import describe as count
from attune_data.description import description_text
from attune_data.display import collection_text
from attune_data.issues import IssueReport, count_severities
from attune_data.loading import load_records
from attune_data.references import resolve
from attune_data.text import columns_of_terminal, has_colours, plural

if TYPE_CHECKING:
    from attune_bench.report.measures import MeasuredGroup

_benchmark = benchmark_option("A benchmark, or module:NAME; by default the content tells.")
_format = format_option("table", "json")


@verb("show demo", "show demo 4efd4f90 --results demo")
@click.argument("source")
@click.argument("id", required=False)
@table_columns_option
@where_option
@option("--turn", "Number of the turn to show, where the record has numbered turns.", int)
@results_option("Show beside the record what models made of it, from these results")
@_benchmark
@kind_option
def show(
    source: str,
    id: str | None,  # noqa: A002
    where: tuple[str, ...],
    turn: int | None,
    results: tuple[str, ...],
    benchmark: str | None,
    kind: str | None,
    **_: Any,
) -> None:
    """Print one record of SOURCE: a conversation with its annotations, a scenario, a run, an episode, a dialogue.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo; ID is the id of the record, or the beginning of it
    that no other id has. Without ID, the ids are listed, a line each.
    """
    of, records = loaded(source, benchmark, kind)
    part = subgroup(of, records, where)
    options, columns = {"--benchmark": benchmark, "--kind": kind, "--where": where or None}, columns_of_terminal()
    listing = command_line("show", [source], options)
    if id is None:
        for name, value in {"--results": results or None, "--turn": turn}.items():
            if value is not None:
                raise UserError(f"{name} needs the ID of one {of.noun}; {listing} lists them")
        emit(collection_text(part, of.shown, columns))
        return
    try:
        record = part[id]
    except KeyError as error:
        if part is not records and (other := _found(records, id)) is not None:
            chosen = plural(len(part), of.noun, of.plural)
            raise UserError(f"the {of.noun} {other.id} is not among the {chosen} with {part.asked}") from None
        raise UserError(f"{error.args[0]}; all of them: {listing}") from None
    made = _results(of, results, benchmark) if results else None
    with mistakes():
        if made is None:
            emit(of.transcript(record, columns, turn=turn))
        else:
            emit(of.with_results(record, made.kind, made, columns, turn=turn))


def _found(records: Collection[Any], name: str) -> Any:
    """Return the record with an id, None where there is none."""
    with suppress(KeyError):
        return records[name]
    return None


def _results(kind: Kind[Any, Any], sources: tuple[str, ...], benchmark: str | None) -> Any:
    """Return the results of models on records of a kind."""
    made = kind_of(_benchmark_of(kind, benchmark).results)
    found = load(made, sources)
    check_kind(made, sources, found)
    return found


@verb("describe demo --where diagnosis=ADHD", "describe demo --where diagnosis=ADHD --compare --html page.html")
@click.argument("source")
@where_option
@option("--html", "Write a page about the records, or about the subgroup.", Path)
@option("--compare", "Compare the subgroup with the other records, by each measure.", bool)
@option("--small-cells", "Show values that rest on fewer than 5 people, too.", bool)
@_benchmark
@kind_option
@table_columns_option
@_format
@sampling_options("seed", "resamples")
def describe(
    source: str,
    where: tuple[str, ...],
    html: Path | None,
    compare: bool,
    small_cells: bool,
    benchmark: str | None,
    kind: str | None,
    format: str,  # noqa: A002
    **given: Any,
) -> None:
    """Count the records of SOURCE by trait, their turns, annotations and issues; with --html, write a page about them.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo. The page of conversations has topics, emotions
    from turn to turn, what replies did and what people wanted, and preferences, with intervals by participant; with
    --compare, the subgroup that --where chooses against the others. Values of fewer than 5 people are hidden.
    """
    del given["columns"]  # which `loaded` reads
    of, records = loaded(source, benchmark, kind)
    part = subgroup(of, records, where)
    if html is not None or compare:
        # Found here, as the other commands of this file make no page of data.
        from attune_bench.report.data_page import data_document, data_html

        if html is not None:
            check_page(html, [source])
        asked = _asked(of, records, benchmark, where_traits(where), compare=compare, small_cells=small_cells, **given)
        if html is not None:
            write_page(html, data_html(asked))
        else:
            from attune_bench.cli.documents import print_document

            print_document(data_document(asked), "json" if format == "json" else "table")
        return
    if small_cells:
        raise UserError("--small-cells is for --html and --compare; leave it out")
    counts = count(part)
    if format == "json":
        emit(json.dumps(counts, indent=2))
        return
    if where:
        say(f"{plural(len(part), of.noun, of.plural)} of {len(records)}: {part.asked}")
        emit("")
    emit(description_text(counts, columns_of_terminal()))
    if part.found:
        emit("")
        say(f"The issues: {validate_command([source])}")


def _asked(
    kind: Kind[Any, Any], records: Collection[Any], benchmark: str | None, traits: dict[str, list[str]], **options: Any
) -> "MeasuredGroup":
    """Return what a page of records is made of."""
    from attune_bench.report.measures import measured_group

    with mistakes():
        of = benchmark_of_kind(kind, "data", "results") if benchmark is None else benchmark_named(benchmark)
        is_data = of is not None and of.data is not None and kind_of(of.data) is kind
        measured = resolve(of.measures)(records) if of is not None and is_data and of.measures else None
        return measured_group(records, traits, measures=measured, **options)


@verb("validate demo --results demo")
@click.argument("sources", metavar="SOURCE", nargs=-1, required=True)
@results_option("Check these results of models too, and whether each has its record")
@_benchmark
@kind_option
@option("--strict", "Exit with 1 on warnings too.", bool)
@table_columns_option
@_format
def validate(
    sources: tuple[str, ...],
    results: tuple[str, ...],
    benchmark: str | None,
    kind: str | None,
    strict: bool,
    format: str,  # noqa: A002
    **_: Any,
) -> int:
    """Check the records of SOURCE, or of several together, and list every error and warning, and the first notes.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo. Exits with 1 where a record had to be left out.
    With --format json, every note is listed too.
    """
    of = kind_of_source(sources[0], benchmark, kind)
    loaded = [load(of, sources)]
    found = list(loaded[0].found)
    notes: Sequence[str] = ()
    if results:
        loaded.append(_results(of, results, benchmark))
        found += loaded[1].found
        if all(loaded):
            with mistakes():
                found += score_records(*loaded, benchmark=_benchmark_of(of, benchmark)).provenance.issues
    elif of is COMPARISON and not count_severities(found)["error"]:
        with mistakes():  # what no comparison tells alone, such as a judge in some rows only
            notes = as_described(score_records(loaded[0]), loaded[0], sources).provenance.notes
    severities = count_severities(found)
    if format == "json":
        counts = {records.kind.plural: len(records) for records in loaded}
        told = {"notes": [*notes]} if notes else {}
        emit(json.dumps({**counts, "issues": [asdict(issue) for issue in found], **told}, indent=2))
    else:
        if found:
            emit(f"{IssueReport(found).text(every=True, colours=has_colours(sys.stdout))}\n\n")
        listed = ", ".join(plural(severities[severity], severity) for severity in ("error", "warning", "note"))
        counted = " and ".join(plural(len(records), records.kind.noun, records.kind.plural) for records in loaded)
        say(f"{counted} loaded; {listed}")
        for note in notes:
            say(f"\n{note}")
    return int(bool(severities["error"] or (strict and severities["warning"])))


def _benchmark_of(kind: Kind[Any, Any], name: str | None) -> Benchmark:
    """Return the benchmark that has records of a kind as its data."""
    if name is not None:
        return named_benchmark(name)
    if (found := benchmark_of_kind(kind, "data")) is not None:
        return found
    raise UserError(f"no results are scored against {kind.plural}; give the data that models answered as SOURCE")


@verb("demo", own="demo")
@benchmark_option("The benchmark to demonstrate; by default the first.")
@option("--html", "Where to write the page of HTML.", Path, default=Path("attune-demo.html"))
def demo(benchmark: str | None, html: Path) -> None:
    """Score simulated models, and baselines where there are any, on embedded synthetic data; write the page.

    What is printed has at most 25 lines: who leads, the ranking, the page, and what to do next.
    """
    chosen = BENCHMARKS[0] if benchmark is None else named_benchmark(benchmark)
    check_page(html, [])
    data = None if chosen.data is None else load_records("demo", kind_of(chosen.data))
    results = [*load_records("demo", kind_of(chosen.results))]
    if chosen.baselines is not None:
        results += [result for predict in resolve(chosen.baselines).values() for result in predict(data)]
    scores = score_records(*([results] if data is None else [data, results]), benchmark=chosen)
    print_ranking(scores)
    emit("\n")
    with page_progress() as begin:
        text = scores.report(format="html", data=data, results=results, progress=begin)
    write_page(html, text)
    of = "" if benchmark is None else f" --benchmark {benchmark}"
    own = f"run local MODEL demo --base-url URL{of}" if chosen.task else "score --results FOLDER"
    emit("Next, with your own:")
    for what, command in (("table", "compare results.csv"), ("model", own), ("data", "describe FOLDER")):
        emit(f"  {what:<7} attune-bench {command}")
