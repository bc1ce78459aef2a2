"""Columns of tables, from the plain fields of records: their names, dtypes, values, ranges and meanings.

The columns follow from the models. `Record.column_names` and `Record.column_prefixes` say where a column is called
otherwise than its field, `Record.column_properties` which properties are columns too.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from attune_data.record import LARGEST, Level, Rating, Record, Total

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

Columns = dict[str, Sequence[Any]]
"""Values by the name of their column."""

_FEW = 256


def frame_of(columns: Mapping[str, Sequence[Any]], schema: "Mapping[str, pl.DataType]") -> "pl.DataFrame":
    """Return columns as a frame with a schema; a value that does not fit its dtype is null."""
    import polars as pl

    return pl.DataFrame([_series(name, columns[name], dtype) for name, dtype in schema.items()])


def _series(name: str, values: Sequence[Any], dtype: "pl.DataType") -> "pl.Series":
    import polars as pl

    if not isinstance(dtype, pl.List) or None in values:
        return pl.Series(name, values, dtype, strict=False)
    # Polars converts one long list much faster than many short ones; a null marks the place of an empty one.
    rows = [row for row, items in enumerate(values) for _ in items or (None,)]
    flat = pl.Series(name, [item for items in values for item in items or (None,)], dtype.inner)
    return (
        pl.DataFrame([pl.Series("row", rows), flat])
        .group_by("row", maintain_order=True)
        .agg(pl.col(name).drop_nulls())[name]
    )


def dtypes_of(model: type[Record]) -> "dict[str, pl.DataType]":
    """Return the columns of a record's plain fields and their dtypes.

    Nested records give columns too; a list of records, or an object with data as keys, gives none.

    Examples
    --------
    >>> from attune_data.record import Rating, Record
    >>> class Tag(Record):
    ...     emotion: str
    ...     intensity: Rating | None = None
    >>> dtypes_of(Tag)
    {'emotion': String, 'intensity': Int8}
    """
    return {name: dtype for name, (_, dtype) in _columns(model).items()}


def values_of(model: type[Record], records: Sequence[Record]) -> Columns:
    """Return the columns of the plain fields of some records of one model."""
    found: dict[str, list[Any]] = {name: [] for name in _columns(model)}
    columns = [(found[name], attrgetter(path)) for name, (path, _) in _columns(model).items()]
    # Few records at a time stay in the processor's cache while each column is read from them.
    for start in range(0, len(records), _FEW):
        part = records[start : start + _FEW]
        for values, read in columns:
            values.extend(map(read, part))
    return dict(found)


def at_rows(values: Sequence[Any], rows: list[int], dtype: "pl.DataType") -> Any:
    """Return a column with one of some values in each row, by its place among them, without an object for each row.

    Examples
    --------
    >>> import polars as pl
    >>> at_rows(["a", "b"], [0, 0, 1], pl.String()).to_list()
    ['a', 'a', 'b']
    """
    import polars as pl

    return pl.Series(values, dtype=dtype, strict=False).gather(rows)


def spread(values: Iterable[T], places: Iterable[object]) -> list[T | None]:
    """Return the values, in order, at the places that are not None."""
    following = iter(values)
    return [None if place is None else next(following) for place in places]


@functools.cache
def _hints(model: type[Record]) -> dict[str, Any]:
    return get_type_hints(model, include_extras=True)


@functools.cache
def _columns(model: type[Record]) -> "dict[str, tuple[str, pl.DataType]]":
    """Return path and dtype of every plain field, also of nested records, by column name.

    A list of records, or an object by key, has a table of its own.
    """
    found: dict[str, tuple[str, pl.DataType]] = {}
    for name in model.column_properties:
        if (dtype := _dtype(get_type_hints(getattr(model, name).fget, include_extras=True)["return"])) is not None:
            found[name] = (name, dtype)
    hints = _hints(model)
    for field, info in model.model_fields.items():
        # Pydantic takes the bounds off a number that may not be null.
        kind = hints[field] if info.annotation is int else info.annotation
        if isinstance(kind, type) and issubclass(kind, Record):
            prefix = model.column_prefixes.get(field, "")
            found |= {prefix + name: (f"{field}.{path}", dtype) for name, (path, dtype) in _columns(kind).items()}
        elif (dtype := _dtype(kind)) is not None:
            found[model.column_names.get(field, field)] = (field, dtype)
    return found


def _dtype(annotation: Any) -> "pl.DataType | None":
    """Return the dtype of a field's annotation; None for a list of records and for what goes by key."""
    import polars as pl

    if isinstance(annotation, pl.DataType):
        return annotation
    union = get_origin(annotation) in (Union, UnionType)
    kinds = [kind for kind in (get_args(annotation) if union else (annotation,)) if kind is not NoneType]
    if len(kinds) > 1:  # an integer or a float
        return pl.Float64()
    kind = get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]
    if kind is bool:
        return pl.Boolean()
    if kind is float:
        return pl.Float64()
    if kind is int:
        return pl.Int8() if kinds[0] in (Level, Rating, Total) else pl.Int64()
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        of = {*map(type, choices)}
        return pl.Enum(choices) if of == {str} else pl.Int64() if of == {int} else None
    if get_origin(kind) is tuple:
        return pl.List(pl.String()) if get_args(kind)[0] is str else None
    return pl.String() if kind is str else None


def choices_of(model: type[Record]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the path and the choices, in order, of every column that has some; of the column ``model`` the path."""
    import polars as pl

    return {
        name: (path, tuple(dtype.categories) if isinstance(dtype, pl.Enum) else ())
        for name, (path, dtype) in _columns(model).items()
        if isinstance(dtype, pl.Enum) or name == "model"
    }


def column_paths(model: type[Record]) -> dict[str, str]:
    """Return the path in a record of every column that its table takes from it, by the column's name."""
    return {name: path for name, (path, _) in _columns(model).items()}


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
    kind : type or polars.DataType
        The type of its values, as a field of a record is annotated, or the dtype itself.
    """

    description: str
    null: bool = False
    low: float | None = None
    high: float | None = None
    source: str = ""
    kind: Any = str

    @property
    def dtype(self) -> "pl.DataType":
        """The dtype of the column."""
        return cast("pl.DataType", _dtype(self.kind))


class Question(NamedTuple):
    """A question that values in the tables answer.

    Attributes
    ----------
    table : str
        The table with the answers.
    question_id : str
        The question in the column ``question_id`` of that table, or the column with the answers.
    text : str
        The words of the question; empty where they are not known.
    answers : tuple of str
        The possible answers; empty where a person answers in words of their own.
    """

    table: str
    question_id: str
    text: str
    answers: tuple[str, ...]


def type_words(dtype: "pl.DataType") -> str:
    """Return what a column of a table holds, in words.

    Examples
    --------
    >>> import polars as pl
    >>> type_words(pl.Int8()), type_words(pl.Enum(["A", "B"]))
    ('whole number', 'one of A, B')
    """
    import polars as pl

    match dtype:
        case pl.Enum():
            return f"one of {', '.join(dtype.categories)}"
        case pl.List():
            return "list of texts"
        case pl.Boolean():
            return "true or false"
        case pl.String():
            return "text"
    return "number" if dtype.is_float() else "whole number"


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
    >>> from attune_data.attunebench.records import MoodShiftTag
    >>> found = columns_of(MoodShiftTag)["intensity"]
    >>> found.description, found.null, found.low, found.high, found.source
    ('Intensity, 1-7, or null where it was not given.', True, 1, 7, 'intensity')
    """
    return {name: _column(model, path)._replace(kind=dtype) for name, (path, dtype) in _columns(model).items()}


def _column(model: type[Record], path: str) -> Column:
    first, *inner = path.split(".")
    if first in model.column_properties:
        found = getattr(model, first)
        text = (found.__doc__ or "").partition("\n")[0].replace("``", "`")
        return Column(text, NoneType in get_args(get_type_hints(found.fget)["return"]))
    field = model.model_fields[first]
    text, key = field.description or "", field.alias or first
    if not inner:
        low, high = _bounds(_hints(model)[first], field.metadata)
        return Column(text, NoneType in get_args(field.annotation), low, high, key)
    below = _column(cast("type[Record]", field.annotation), ".".join(inner))
    below = below._replace(source=f"{key}.{below.source}")
    # If a prefix distinguishes the columns of two records of one model, so does the text.
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
    """Return columns that may be null, because all of them may be missing.

    Examples
    --------
    >>> nullable({"n_turns": Column("Number of turns.")})["n_turns"].null
    True
    """
    return {name: column._replace(null=True) for name, column in columns.items()}


Schema = dict[str, "pl.DataType"]
"""The columns of a table and their dtypes."""


_MOMENTS = {"before": "before, 0-100", "delta": "after less before, -100 to 100", "after": "after, 0-100"}


def step_columns(axis: str, paths: Iterable[Sequence[int | None]]) -> Columns:
    """Return before, change and after of every step of paths of states, 0-100, of a simulated person.

    Examples
    --------
    >>> step_columns("anger", [[40, 50, 45]])
    {'anger_before': [40, 50], 'anger_delta': [10, -5], 'anger_after': [50, 45]}
    """
    steps = [step for path in paths for step in pairwise(path)]
    return {
        f"{axis}_before": [before for before, _ in steps],
        f"{axis}_delta": [None if before is None or after is None else after - before for before, after in steps],
        f"{axis}_after": [after for _, after in steps],
    }


def step_meanings(axes: Iterable[str]) -> dict[str, Column]:
    """Return the meanings of the columns of `step_columns`."""
    return {
        f"{axis}_{moment}": Column(
            f"{axis.title()} {words}.",
            null=True,
            low=-100 if moment == "delta" else 0,
            high=100,
            source="computed of the states in the history",
            kind=Level,
        )
        for axis in axes
        for moment, words in _MOMENTS.items()
    }
