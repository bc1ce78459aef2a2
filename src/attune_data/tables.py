"""Tables of records: frames with a fixed schema, and the meaning of each column."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from attune_data.columns import RECORDS_TABLE, Column, Question, Schema, columns_of, dtypes_of, frame_of, values_of
from attune_data.display import frames_html
from attune_data.export import Exportable
from attune_data.io.documents import check_input
from attune_data.issues import LEFT_OUT, Issue, SourceError, shown
from attune_data.query import Queryable, Trait, Traits, Unit, either
from attune_data.record import Record, panics_as_errors, repeat_suffix
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl


class Frames(Queryable, Exportable):
    """Frames under the names of properties, the first with a row a unit, joined by keys that every one has.

    A subclass says what its tables are: their `names`, what a row of the first is (`unit`), their columns (`meanings`),
    the traits that are not just a column (`special`); and for the card of a published data set which tables' rows it
    counts (`counted`, by name of the table what a row is).

    Parameters
    ----------
    build : callable
        From the name of a table to its frame.
    found : sequence of Issue, optional
        What loading noticed.
    filters : sequence of str, optional
        What was asked for to come here, for the repr.
    root : Frames, optional
        What these are a part of; its values are those that a query may name.
    """

    names: ClassVar[tuple[str, ...]]
    unit: ClassVar[Unit]
    counted: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        build: "Callable[[str], pl.DataFrame]",
        found: Sequence[Issue] = (),
        filters: Sequence[str] = (),
        root: "Self | None" = None,
    ) -> None:
        self._build = build
        self._found = tuple(found)
        self._filters = tuple(filters)
        self._root = root
        # What these rows are chosen from: a row of filters makes the frames of no part on its way.
        self._whole: Self | None = None

    @classmethod
    @abstractmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return the columns of every table, in order, with their types and what they mean."""

    @classmethod
    @cache
    def schemas(cls) -> Mapping[str, Schema]:
        """Return the columns of every table and their dtypes."""
        return {
            table: {name: column.dtype for name, column in columns.items()} for table, columns in cls.meanings().items()
        }

    @classmethod
    def special(cls) -> Mapping[str, Trait]:
        """Return the traits that are not just a column, by the name they are asked for."""
        return {}

    @classmethod
    def traits_of_clusters(cls) -> Sequence[str]:
        """Return the columns of the first table that are about the cluster of a row, such as its participant."""
        return ()

    @classmethod
    def question_texts(cls) -> Sequence[Question]:
        """Return the questions that values in the tables answer, in the order of the tables."""
        return ()

    @classmethod
    def are_in(cls, folder: Path) -> bool:
        """Tell whether a folder has every table of this class, as `to_parquet` writes them."""
        import polars as pl

        for name, schema in cls.schemas().items():
            try:
                check_input(folder / f"{name}.parquet")
                with panics_as_errors():
                    found = pl.read_parquet_schema(folder / f"{name}.parquet")
            except (OSError, pl.exceptions.PolarsError):
                return False
            if found != schema:
                return False
        return True

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the tables that `to_parquet` wrote to a folder, each read when first asked for."""
        return cls(partial(_read, folder))

    def _frames(self) -> "Iterator[tuple[str, pl.DataFrame]]":
        return ((name, getattr(self, name)) for name in self.names)

    def _keys_of(self, frame: "pl.DataFrame") -> list[str]:
        return [key for key in self.unit.keys if key in frame.columns]

    def _on(self, frame: "pl.DataFrame") -> "list[pl.Expr]":
        """Return what rows of a frame have in common with their unit; a null in a key equals another."""
        import polars as pl

        return [pl.col(key).cast(pl.String).fill_null("") for key in self._keys_of(frame)]

    def _table(self) -> Traits:
        return Traits(getattr(self, self.names[0]), self.unit, self.special())

    def _keep(self, rows: Sequence[int], *labels: str) -> Self:
        whole = self if self._whole is None else self._whole
        build = partial(whole._rows_of, self._traits()[rows])
        part = type(self)(build, self._found, (*self._filters, *labels), self._origin())
        part._whole = whole
        return part

    def _rows_of(self, kept: "pl.DataFrame", name: str) -> "pl.DataFrame":
        if name == self.names[0]:
            return kept
        frame: pl.DataFrame = getattr(self, name)
        return frame.join(kept, on=self._on(frame), how="semi")

    def __or__(self, other: Self) -> Self:
        """Return the units of both tables, the units of `self` first.

        Of two units with one id the unit of `self` counts; where they differ, the other is an issue. Where an id is in
        both and they are not parts of one whole, every table is built to compare them.
        """
        if type(other) is not type(self):
            return NotImplemented
        rule, message = self.unit.duplicate_rule, "the left of | has the same id and counts, and its content differs"
        differing = [
            Issue("the right of |", "$", rule, "error", shown(name), message, LEFT_OUT)
            for name in self._differing(other)
        ]
        found = dict.fromkeys((*self._found, *other._found, *differing))
        filters = either(self._filters, other._filters)
        return type(self)(partial(self._with, other), tuple(found), filters, self._common_origin(other))

    def _differing(self, other: Self) -> list[str]:
        """Return the ids in both tables with different rows."""
        if self._origin() is other._origin():
            return []
        mine, theirs = self._traits(), other._traits()
        both = mine.join(theirs, on=self._on(mine), how="semi")
        unequal: set[str | tuple[str | int | None, ...]] = set()
        for name in self.names if len(both) else ():
            frames = (getattr(tables, name) for tables in (self, other))
            shared = (frame.join(both, on=self._on(frame), how="semi") for frame in frames)
            left, right = (frame.rows_by_key(self._keys_of(frame)) for frame in shared)
            unequal |= {key for key in {*left, *right} if left.get(key) != right.get(key)}
        return sorted(key if isinstance(key, str) else _id_of(key) for key in unequal)

    def _with(self, other: Self, name: str) -> "pl.DataFrame":
        import polars as pl

        own: pl.DataFrame = getattr(self, name)
        new: pl.DataFrame = getattr(other, name).join(self._traits(), on=self._on(own), how="anti")
        return pl.concat([own, new])

    def __len__(self) -> int:
        """Return the number of units: rows of the first table."""
        return self._traits().height

    def _summary(self) -> str:
        return plural(len(self), self.unit.noun)

    def __repr__(self) -> str:
        filters = f"; {self.asked}" if self._filters else ""
        return f"<{type(self).__name__} of {self._summary()}{filters}>"

    def _repr_html_(self) -> str:
        return frames_html(dict(self._frames()), self._summary(), self.asked)


def _read(folder: Path, name: str) -> "pl.DataFrame":
    import polars as pl

    path = folder / f"{name}.parquet"
    try:
        check_input(path)
        with panics_as_errors():
            return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}") from None


def _id_of(key: tuple[str | int | None, ...]) -> str:
    """Return the id that a key stands for: its texts, then the repeat."""
    return "/".join(part for part in key if part and isinstance(part, str)) + "".join(
        repeat_suffix(part) for part in key if isinstance(part, int)
    )


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
        The column of the clusters in which records are drawn and split; by default each record is a cluster of its own.

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


def _frame(model: type[Record], records: Sequence[Any], _name: str) -> "pl.DataFrame":
    import polars as pl

    columns = {**values_of(model, records), "id": [record.id for record in records]}
    return frame_of(columns, {"id": pl.String(), **dtypes_of(model)})
