"""Columns of frames from the plain fields of records: their names, dtypes and values.

The columns follow from the models. `Record.column_names` and `Record.column_prefixes` say where a column is called
otherwise than its field, `Record.column_properties` which properties are columns too.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from attune_data.record import Level, Rating, Record, Total

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Columns", "choices_of", "column_paths", "dtypes_of", "frame_of", "spread", "values_of"]

T = TypeVar("T")

Columns = dict[str, Sequence[Any]]
"""Values by the name of their column."""


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

    Nested records give columns too; a list of records or an object whose keys are data gives none.

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
    if not (columns := _columns(model)):
        return {}
    names, paths = zip(*((name, path) for name, (path, _) in columns.items()), strict=True)
    # One walk over the records, each of which is then in the processor's cache, is faster than one a column.
    rows = (
        map(attrgetter(*paths), records) if len(paths) > 1 else ((value,) for value in map(attrgetter(*paths), records))
    )
    return dict(zip(names, zip(*rows, strict=True), strict=True)) if records else dict.fromkeys(names, ())


def spread(values: Iterable[T], places: Iterable[object]) -> list[T | None]:
    """Return the values, in order, at the places that are not None."""
    following = iter(values)
    return [None if place is None else next(following) for place in places]


@functools.cache
def _columns(model: type[Record]) -> "dict[str, tuple[str, pl.DataType]]":
    """Return path and dtype of every plain field by column name, those of nested records included.

    What is a list of records or goes by key has a table of its own.
    """
    found: dict[str, tuple[str, pl.DataType]] = {}
    for name in model.column_properties:
        if (dtype := _dtype(get_type_hints(getattr(model, name).fget, include_extras=True)["return"])) is not None:
            found[name] = (name, dtype)
    hints = get_type_hints(model, include_extras=True)
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
