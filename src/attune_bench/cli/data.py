"""The commands about records: `show`, `describe`, `validate`, `schema`, `columns`."""

import json
import shlex
import sys
from dataclasses import asdict
from functools import reduce
from operator import or_
from typing import Any

import click

from attune_bench.benchmarks import benchmark_named
from attune_bench.cli.column_list import column_frame, columns_markdown, columns_text, listed_tables, tables_text
from attune_bench.cli.options import benchmark_option, format_option, results_option, verb
from attune_bench.cli.output import UserError, emit, kind_of, mistakes, progress, say
from attune_bench.cli.reading import benchmark_of_kind, kind_of_source, load_all
from attune_bench.scores.benchmark import Benchmark
from attune_bench.verbs.scoring import score
from attune_data.collection import Kind
from attune_data.description import describe as count
from attune_data.description import description_text
from attune_data.display import collection_text
from attune_data.export import to_csv
from attune_data.issues import IssueReport, count_severities
from attune_data.loading import load_records
from attune_data.publishing import SCHEMA_KINDS, TABLE_SCHEMA_KINDS, json_schema, table_schema
from attune_data.text import columns_of_terminal, has_colours, plural

_benchmark = benchmark_option("A benchmark, or module:NAME; by default the content tells.")
_kind = click.option(
    "--kind",
    type=click.Choice(TABLE_SCHEMA_KINDS),
    help="What the records are, where the content does not tell, as of demo.",
)
_format = format_option("table", "json")


@verb()
@click.argument("source")
@click.argument("id", required=False)
@results_option("Show beside the record what models made of it, from these results")
@_benchmark
@_kind
def show(source: str, id: str | None, results: tuple[str, ...], benchmark: str | None, kind: str | None) -> None:  # noqa: A002
    """Print one record of SOURCE: a conversation with its annotations, a scenario, a run, an episode, a dialogue.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo; ID is the id of the record, or the beginning of it
    that no other id has. Without ID, the ids are listed, a line each.
    """
    of = kind_of_source(source, benchmark, kind)
    records, columns = _load(source, of), columns_of_terminal()
    if not records:
        raise UserError(_nothing_usable(of, source, benchmark, kind))
    listing = _call("show", source, benchmark, kind)
    if id is None:
        if results:
            raise UserError(f"--results needs the ID of one {of.noun}; {listing} lists them")
        emit(collection_text(records, of.shown, columns))
        return
    try:
        record = records[id]
    except KeyError as error:
        raise UserError(f"{error.args[0]}; all of them: {listing}") from None
    if not results:
        emit(of.transcript(record, columns))
        return
    made = _results(of, results, benchmark)
    with mistakes():
        emit(of.with_results(record, made.kind, made, columns))


def _results(kind: Kind[Any, Any], sources: tuple[str, ...], benchmark: str | None) -> Any:
    """Return the results of models on records of a kind."""
    made = kind_of(_benchmark_of(kind, benchmark).results)
    with progress() as phase:
        return load_all(made, sources, phase(f"reading {made.plural}", None))


def _call(command: str, source: str, benchmark: str | None, kind: str | None) -> str:
    """Return a command about a source, which says what the content alone may not tell."""
    options = [
        word for name, value in (("--benchmark", benchmark), ("--kind", kind)) if value for word in (name, value)
    ]
    return shlex.join(["attune-bench", command, source, *options])


def _nothing_usable(of: Kind[Any, Any], source: str, benchmark: str | None, kind: str | None) -> str:
    return f"no usable {of.noun} in {source}; see: {_call('validate', source, benchmark, kind)}"


def _load(source: str, kind: Kind[Any, Any]) -> Any:
    with progress() as phase:
        return load_records(source, kind, progress=phase(f"reading {kind.plural}", None))


@verb()
@click.argument("source")
@_benchmark
@_kind
@_format
def describe(source: str, benchmark: str | None, kind: str | None, format: str) -> None:  # noqa: A002
    """Count the records of SOURCE by trait, their turns, annotations and issues.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo.
    """
    of = kind_of_source(source, benchmark, kind)
    records = _load(source, of)
    if not records:
        raise UserError(_nothing_usable(of, source, benchmark, kind))
    counts = count(records)
    emit(json.dumps(counts, indent=2) if format == "json" else description_text(counts, columns_of_terminal()))


@verb()
@click.argument("sources", metavar="SOURCE", nargs=-1, required=True)
@results_option("Check these results of models too, and whether each has its record")
@_benchmark
@_kind
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings too.")
@_format
def validate(
    sources: tuple[str, ...],
    results: tuple[str, ...],
    benchmark: str | None,
    kind: str | None,
    strict: bool,
    format: str,  # noqa: A002
) -> int:
    """Check the records of SOURCE, or of several together, and list every error and warning, and the first notes.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo. Exits with 1 where a record had to be left out.
    With --format json, every note is listed too.
    """
    of = kind_of_source(sources[0], benchmark, kind)
    loaded = [reduce(or_, (_load(source, of) for source in sources))]
    found = list(loaded[0].found)
    if results:
        loaded.append(_results(of, results, benchmark))
        found += loaded[1].found
        if all(loaded):
            with mistakes():
                found += score(*loaded, benchmark=_benchmark_of(of, benchmark)).provenance.issues
    severities = count_severities(found)
    if format == "json":
        counts = {records.kind.plural: len(records) for records in loaded}
        emit(json.dumps({**counts, "issues": [asdict(issue) for issue in found]}, indent=2))
    else:
        if found:
            emit(f"{IssueReport(found).text(every=True, colours=has_colours(sys.stdout))}\n\n")
        listed = ", ".join(plural(severities[severity], severity) for severity in ("error", "warning", "note"))
        counted = " and ".join(plural(len(records), records.kind.noun, records.kind.plural) for records in loaded)
        say(f"{counted} loaded; {listed}")
    return int(bool(severities["error"] or (strict and severities["warning"])))


def _benchmark_of(kind: Kind[Any, Any], name: str | None) -> Benchmark:
    """Return the benchmark whose results are made of records of a kind."""
    if name is not None:
        with mistakes():
            return benchmark_named(name)
    if (found := benchmark_of_kind(kind, "data")) is not None:
        return found
    raise UserError(f"no results are made of {kind.plural}; give the data that models were asked about as SOURCE")


@verb()
@click.argument("kind", required=False)
@click.option("--tables", is_flag=True, help="The columns of its tables instead, by table.")
def schema(kind: str | None, tables: bool) -> None:
    """Print the JSON Schema of a kind of record or of a file of the codebook.

    KIND is a kind of record, such as conversation, run or episode, or a file of the codebook, such as subsets. Without
    it, all of them are listed.
    """
    if kind is None:
        emit("\n".join(TABLE_SCHEMA_KINDS if tables else SCHEMA_KINDS))
        return
    with mistakes():
        emit(json.dumps(table_schema(kind) if tables else json_schema(kind), indent=2, ensure_ascii=False))


@verb()
@click.argument("name", required=False)
@format_option()
def columns(name: str | None, format: str) -> None:  # noqa: A002
    """Print what columns mean: of the tables of records, and of what analyses print and write.

    NAME is a kind of record, such as conversation; a table, such as mood_tags; a command, such as compare; an analysis,
    such as win_rates; or a column or metric, such as p_holm. Without it, all tables are listed; with --format markdown,
    csv or json every column of all of them.

    CSV and JSON: a row a column, with chapter, table, origin, column, meaning, type, low, high, missing, source.
    """
    with mistakes():
        found = listed_tables(name)
    match format:
        case "csv":
            emit(to_csv(column_frame(found)))
        case "json":
            emit(json.dumps({"columns": column_frame(found).to_dicts()}, indent=2, ensure_ascii=False))
        case "markdown":
            emit(columns_markdown(found))
        case _:
            emit(tables_text(found) if name is None else columns_text(found))
