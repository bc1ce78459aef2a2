"""The table of records whose model says all of it: a row a record, a column a plain field."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from attune_data.columns import dtypes_of, frame_of, values_of
from attune_data.frames import Frames, Schema
from attune_data.meanings import RECORDS_TABLE, Column, columns_of
from attune_data.record import Record
from attune_data.traits import Unit

if TYPE_CHECKING:
    import polars as pl

__all__ = ["record_builder", "record_table"]


@cache
def record_table(model: type[Record], noun: str, plural: str, cluster: str | None = None) -> type[Frames]:
    """Return the class of the one table of the records of a model.

    Parameters
    ----------
    model : type
        The records' class. Its table has ``id``, then what `attune_data.columns.dtypes_of` gives.
    noun, plural : str
        What a record is called; the table has the name of the plural.
    cluster : str, optional
        The column of what is drawn and split as a whole, by which it is called; by default each record by itself.

    Raises
    ------
    ValueError
        The plural is what tables call something else.

    Examples
    --------
    >>> class Note(Record):
    ...     id: str
    ...     stars: int | None = None
    >>> record_table(Note, "note", "notes").schemas()
    {'notes': {'id': String, 'stars': Int64}}
    """
    name = re.sub(r"\W", "_", plural)
    if name in {*dir(Frames), *Frames.__annotations__}:
        raise ValueError(f"{plural} is what tables call something else; records need another plural")

    class RecordTable(Frames):
        names = (name,)
        unit = Unit(noun, ("id",), cluster or noun, own="id", named_by=cluster)

        @classmethod
        def schemas(cls) -> Mapping[str, Schema]:
            return {name: _schema(model)}

        @classmethod
        def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
            return {name: {"id": RECORDS_TABLE["id"], **columns_of(model)}}

        def __reduce__(self) -> tuple[Any, ...]:
            return _empty_table, (model, noun, plural, cluster), self.__getstate__()

    def rows(self: RecordTable) -> "pl.DataFrame":
        return self._build(name)

    table = cached_property(rows)
    table.__set_name__(RecordTable, name)
    table.__doc__ = f"One row {'an' if noun[0] in 'aeiou' else 'a'} {noun}: its plain fields."
    setattr(RecordTable, name, table)
    RecordTable.__name__ = RecordTable.__qualname__ = f"{model.__name__}Table"
    return RecordTable


def _empty_table(*about: Any) -> Frames:
    """Return tables without their state: what a copy in another process begins with, as no module has their class."""
    table = record_table(*about)
    return table.__new__(table)


def record_builder(model: type[Record]) -> "Callable[[Sequence[Any]], Callable[[str], pl.DataFrame]]":
    """Return the function from records of a model to that from the name of their table to its frame."""
    return lambda records: partial(_frame, model, records)


def _schema(model: type[Record]) -> Schema:
    import polars as pl

    return {"id": pl.String(), **dtypes_of(model)}


def _frame(model: type[Record], records: Sequence[Any], _name: str) -> "pl.DataFrame":
    return frame_of({**values_of(model, records), "id": [record.id for record in records]}, _schema(model))
