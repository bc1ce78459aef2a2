"""The commands about records: `show`, `describe`, `validate`, `schema`, `columns`."""

import json
import sys
from dataclasses import asdict
from functools import reduce
from operator import or_
from typing import Any

import click

from attune_bench.benchmarks import benchmark_named
from attune_bench.benchmarks.base import Benchmark
from attune_bench.cli.options import benchmark_option, format_option, results_option, verb
from attune_bench.cli.output import UserError, emit, mistakes, say
from attune_bench.cli.reading import benchmarks_by_kind, kind_of, kind_of_source, load_all, validate_command
from attune_bench.column_list import column_frame, columns_markdown, columns_text, listed_tables, tables_text
from attune_bench.progress import progress
from attune_bench.scoring import score
from attune_data.description import describe as count
from attune_data.description import description_text
from attune_data.display.issues import IssueReport
from attune_data.escaping import to_csv
from attune_data.issues import count_severities
from attune_data.kind import Kind
from attune_data.loading import load_records
from attune_data.schemas import SCHEMA_KINDS, TABLE_SCHEMA_KINDS, json_schema, table_schema
from attune_data.text import columns_of_terminal, has_colours, plural

__all__ = ["columns", "describe", "schema", "show", "validate"]

_benchmark = benchmark_option("A benchmark, or module:NAME; by default the content tells.")
_format = format_option("table", "json")


@verb()
@click.argument("source")
@click.argument("id")
@_benchmark
def show(source: str, id: str, benchmark: str | None) -> None:  # noqa: A002
    """Print one record of SOURCE: a conversation with its annotations, a scenario, a run, an episode, a dialogue.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo; ID is the id of the record, or the beginning of it
    that no other id has.
    """
    records = _load(source, kind_of_source(source, benchmark))
    begun = [record.id for record in records if record.id.startswith(id)]
    if len(begun) > 1 and id not in begun:
        raise UserError(f"{len(begun)} ids begin with {id!r}, for instance {begun[0]!r} and {begun[1]!r}")
    try:
        record = records[begun[0] if len(begun) == 1 else id]
    except KeyError as error:
        raise UserError(f"{error.args[0]}; see: {validate_command([source], forced=benchmark)}") from None
    emit(records.kind.transcript(record, columns_of_terminal()))


def _load(source: str, kind: Kind[Any, Any]) -> Any:
    with progress() as phase:
        return load_records(source, kind, progress=phase(f"reading {kind.plural}", None))


@verb()
@click.argument("source")
@_benchmark
@_format
def describe(source: str, benchmark: str | None, format: str) -> None:  # noqa: A002
    """Count the records of SOURCE by trait, their turns, annotations and issues.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo.
    """
    kind = kind_of_source(source, benchmark)
    records = _load(source, kind)
    if not records:
        raise UserError(f"no usable {kind.noun} in {source}; see: {validate_command([source], forced=benchmark)}")
    counts = count(records)
    emit(json.dumps(counts, indent=2) if format == "json" else description_text(counts, columns_of_terminal()))


@verb()
@click.argument("sources", metavar="SOURCE", nargs=-1, required=True)
@results_option("Check these results of models too, and whether each has its record")
@_benchmark
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings too.")
@_format
def validate(
    sources: tuple[str, ...],
    results: tuple[str, ...],
    benchmark: str | None,
    strict: bool,
    format: str,  # noqa: A002
) -> int:
    """Check the records of SOURCE, or of several together, and list every error and warning, and the first notes.

    SOURCE is a folder, a file, an archive, hf://owner/name, or demo. Exits with 1 where a record had to be left out.
    With --format json, every note is listed too.
    """
    kind = kind_of_source(sources[0], benchmark)
    loaded = [reduce(or_, (_load(source, kind) for source in sources))]
    found = list(loaded[0].found)
    if results:
        of = _benchmark_of(kind, benchmark)
        made = kind_of(of.results)
        with progress() as phase:
            loaded.append(load_all(made, results, phase(f"reading {made.plural}", None)))
        found += loaded[1].found
        if all(loaded):
            with mistakes():
                found += score(*loaded, benchmark=of).provenance.issues
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
    if (found := benchmarks_by_kind("data").get(kind)) is not None:
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
