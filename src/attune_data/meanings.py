"""What the columns of tables mean: a description of each, and whether null occurs in it, as the record models say."""

from types import NoneType
from typing import NamedTuple, cast, get_args, get_type_hints

from attune_data.columns import column_paths
from attune_data.record import Record

__all__ = ["RECORDS_TABLE", "Column", "columns_of", "nullable"]


class Column(NamedTuple):
    """A column of a table: what it means, and whether null occurs in it."""

    description: str
    null: bool = False


RECORDS_TABLE = {
    "id": Column("Id of the record."),
    "file": Column("The file that it was loaded from.", null=True),
    "record": Column("The whole record as JSON; a key that was absent is absent."),
}
"""The columns of the table ``records``, which a collection of any kind has."""


def columns_of(model: type[Record]) -> dict[str, Column]:
    """Return the columns of a model's plain fields, by name.

    Examples
    --------
    >>> from attune_data.attunebench.parts import MoodShiftTag
    >>> columns_of(MoodShiftTag)["intensity"]
    Column(description='Intensity, 1-7, or null where it was not given.', null=True)
    """
    return {name: _column(model, path) for name, path in column_paths(model).items()}


def _column(model: type[Record], path: str) -> Column:
    first, *inner = path.split(".")
    if first in model.column_properties:
        found = getattr(model, first)
        text = (found.__doc__ or "").partition("\n")[0].replace("``", "`")
        return Column(text, NoneType in get_args(get_type_hints(found.fget)["return"]))
    field = model.model_fields[first]
    text = field.description or ""
    if not inner:
        return Column(text, NoneType in get_args(field.annotation))
    below = _column(cast("type[Record]", field.annotation), ".".join(inner))
    # Where a prefix tells apart the columns of two records of one model, so does the text.
    return Column(f"{text} {below.description}", below.null) if first in model.column_prefixes else below


def nullable(columns: dict[str, Column]) -> dict[str, Column]:
    """Return the columns of what may be missing as a whole.

    Examples
    --------
    >>> nullable({"n_turns": Column("Number of turns.")})
    {'n_turns': Column(description='Number of turns.', null=True)}
    """
    return {name: column._replace(null=True) for name, column in columns.items()}
