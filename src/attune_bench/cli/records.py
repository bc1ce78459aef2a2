"""Read the records of a source for a command: find their kind, choose a subgroup."""

import shlex
from typing import Any

import click

from attune_bench.cli.options import kind_of_source, load_source, where_traits
from attune_bench.cli.output import UserError, mistakes, progress
from attune_data.collection import Collection, Kind
from attune_data.publishing import TABLE_SCHEMA_KINDS
from attune_data.text import plural

kind_option = click.option(
    "--kind",
    type=click.Choice(TABLE_SCHEMA_KINDS),
    help="Type of the records, if the content does not tell it, as for demo.",
)


def call_of(command: str, source: str, benchmark: str | None, kind: str | None, where: tuple[str, ...] = ()) -> str:
    """Return a command line about a source, with the benchmark, the kind and the traits if the user gave them."""
    given = [("--benchmark", benchmark), ("--kind", kind), *(("--where", trait) for trait in where)]
    options = [word for name, value in given if value for word in (name, value)]
    return shlex.join(["attune-bench", command, source, *options])


def load(source: str, kind: Kind[Any, Any]) -> Any:
    """Return the records of a kind in a source; the source may have none."""
    with progress() as phase:
        return load_source(source, kind, phase(f"reading {kind.plural}", None))


def loaded(source: str, benchmark: str | None, name: str | None) -> tuple[Kind[Any, Any], Any]:
    """Return the kind and the records of a source; `name` is the kind if the user gave it. No record is an error."""
    kind = kind_of_source(source, benchmark, name)
    records = load(source, kind)
    if not records:
        see = call_of("validate", source, benchmark, name)
        raise UserError(f"no usable {kind.noun} in {source}; see: {see}")
    return kind, records


def subgroup(kind: Kind[Any, Any], records: Collection[Any], where: tuple[str, ...]) -> Collection[Any]:
    """Return the records with the values that ``--where`` asks for. No such record is an error."""
    if not where:
        return records
    with mistakes():
        part = records.where(**where_traits(where))
    if not part:
        raise UserError(f"none of {plural(len(records), kind.noun, kind.plural)} has {part.asked}")
    return part
