"""Tables that a command is given: of comparisons, or of results; and the option that names their columns."""

import re
from typing import Any

import click

from attune_bench.cli.output import UserError, mistakes
from attune_bench.scores.pair_tables import PAIR_COLUMNS, is_comparison_file, read_comparisons
from attune_bench.scores.rating_tables import RATER, rating_columns
from attune_bench.scores.table_columns import COLUMNS, long_layout
from attune_bench.scores.table_files import ROW, description_of, read_table
from attune_data.collection import Collection
from attune_data.issues import SourceError
from attune_metrics.metric import MetricInputError


def columns_of(given: str | None) -> dict[str, str] | None:
    """Return the names of a table's columns that are given, by the names of a table of scores.

    Examples
    --------
    >>> columns_of("unit=item_id,model=system, version")
    {'unit': 'item_id', 'model': 'system, version'}
    """
    if given is None:
        return None
    found: dict[str, str] = {}
    known = tuple(dict.fromkeys((*COLUMNS, RATER, *PAIR_COLUMNS)))
    for part in re.split(rf",\s*(?=(?:{'|'.join(known)})=)", given):
        name, equals, column = part.partition("=")
        if not equals or not column or name not in known:
            names = f"{', '.join(COLUMNS)}; of ratings {RATER}; of comparisons in pairs {', '.join(PAIR_COLUMNS)}"
            raise UserError(f"--columns {given!r}: expected NAME=COLUMN, with a NAME of {names}")
        if name in found:
            raise UserError(f"--columns {given!r}: {name} is named twice")
        found[name] = column
    return found


def _columns(source: str) -> dict[str, str]:
    """Return the columns of a table that have another name: what --columns says, else the TOML file beside it."""
    with mistakes():
        return {**description_of(source).columns, **(_given() or {})}


def _given() -> dict[str, str] | None:
    """Return what --columns says; None without it, and for a command that does not take it."""
    return columns_of(click.get_current_context().params.get("columns"))


def has_comparisons(source: str) -> bool:
    """Tell whether a table is one of comparisons."""
    return is_comparison_file(source, _columns(source))


def comparisons_of(source: str) -> Collection[Any]:
    """Return the records of a table of comparisons."""
    with mistakes():
        return read_comparisons(source, columns=_columns(source))[0]


def has_results(source: str) -> bool:
    """Tell whether a file is a table of results."""
    try:
        frame = read_table(source, names=COLUMNS).frame.with_row_index(ROW)
        long_layout(frame.rename({column: role for role, column in rating_columns(frame).items()}))
    except (SourceError, MetricInputError):
        return False
    return True
