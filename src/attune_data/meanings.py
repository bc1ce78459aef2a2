"""What the columns of tables mean: a description of each, its range and its source, as the record models say."""

from collections.abc import Iterable
from types import NoneType
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from attune_data.columns import column_paths
from attune_data.record import LARGEST, Record

__all__ = ["RECORDS_TABLE", "Column", "columns_of", "nullable"]


class Column(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    description : str
        What it means; it names the unit of a number.
    null : bool
        Whether null occurs in it.
    low, high : float, optional
        The range of its numbers, both ends included; None where there is no bound.
    source : str
        Where it comes from: the key in the JSON of what the row is of, within nested objects with points; or what it is
        computed of. Empty where it only names or counts what the row is of.
    """

    description: str
    null: bool = False
    low: float | None = None
    high: float | None = None
    source: str = ""


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
    >>> found = columns_of(MoodShiftTag)["intensity"]
    >>> found.description, found.null, found.low, found.high, found.source
    ('Intensity, 1-7, or null where it was not given.', True, 1, 7, 'intensity')
    """
    return {name: _column(model, path) for name, path in column_paths(model).items()}


def _column(model: type[Record], path: str) -> Column:
    first, *inner = path.split(".")
    if first in model.column_properties:
        found = getattr(model, first)
        text = (found.__doc__ or "").partition("\n")[0].replace("``", "`")
        return Column(text, NoneType in get_args(get_type_hints(found.fget)["return"]))
    field = model.model_fields[first]
    text, key = field.description or "", field.alias or first
    if not inner:
        low, high = _bounds(get_type_hints(model, include_extras=True)[first], field.metadata)
        return Column(text, NoneType in get_args(field.annotation), low, high, key)
    below = _column(cast("type[Record]", field.annotation), ".".join(inner))
    below = below._replace(source=f"{key}.{below.source}")
    # Where a prefix tells apart the columns of two records of one model, so does the text.
    return below._replace(description=f"{text} {below.description}") if first in model.column_prefixes else below


def _bounds(annotation: Any, metadata: Iterable[Any] = ()) -> tuple[float | None, float | None]:
    """Return the least and the greatest number of a field; None for what merely keeps arithmetic from failing."""
    low, high = None, None
    stated = [*metadata, *(annotation.__metadata__ if get_origin(annotation) is Annotated else ())]
    for one in [inner for outer in stated for inner in (outer.metadata if isinstance(outer, FieldInfo) else [outer])]:
        if isinstance(one, Ge) and one.ge != -LARGEST:
            low = cast("float", one.ge)
        if isinstance(one, Le) and one.le != LARGEST:
            high = cast("float", one.le)
    for inner in get_args(annotation):
        if low is None and high is None:
            low, high = _bounds(inner)
    return low, high


def nullable(columns: dict[str, Column]) -> dict[str, Column]:
    """Return the columns of what may be missing as a whole.

    Examples
    --------
    >>> nullable({"n_turns": Column("Number of turns.")})["n_turns"].null
    True
    """
    return {name: column._replace(null=True) for name, column in columns.items()}
