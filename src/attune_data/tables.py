"""Tables of records: frames with a fixed schema, and the meaning of each column.

Columns of frames from the plain fields of records: their names, dtypes and values.

The columns follow from the models. `Record.column_names` and `Record.column_prefixes` say where a column is called
otherwise than its field, `Record.column_properties` which properties are columns too.
"""

import functools
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from operator import attrgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from attune_data.display import frames_html
from attune_data.export import Exportable
from attune_data.io.documents import check_input
from attune_data.issues import LEFT_OUT, Issue, SourceError, shown
from attune_data.query import Queryable, Trait, Traits, Unit, either
from attune_data.record import LARGEST, Level, Rating, Record, Total, panics_as_errors, repeat_suffix
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "RECORDS_TABLE",
    "Column",
    "Columns",
    "Frames",
    "Schema",
    "choices_of",
    "column_paths",
    "columns_of",
    "dtypes_of",
    "frame_of",
    "nullable",
    "record_builder",
    "record_table",
    "spread",
    "values_of",
]

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
    >>> from attune_data.attunebench.records import MoodShiftTag
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


Schema = dict[str, "pl.DataType"]
"""The columns of a table and their dtypes."""


class Frames(Queryable, Exportable):
    """Frames under the names of properties, the first with a row a unit, joined by keys that every one has.

    A subclass says what its tables are: their `names`, what a row of the first is (`unit`), their columns (`schemas`),
    their meanings (`meanings`), the traits that are not just a column (`special`); and for the card of a published data
    set which tables' rows it counts (`counted`, by name of the table what a row is).

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
    def schemas(cls) -> Mapping[str, Schema]:
        """Return the columns of every table and their dtypes."""

    @classmethod
    @abstractmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return what every column of every table means."""

    @classmethod
    def special(cls) -> Mapping[str, Trait]:
        """Return the traits that are not just a column, by the name they are asked for."""
        return {}

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

    def _origin(self) -> Self:
        return self if self._root is None else self._root

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
        """Return the units of both, those of `self` first.

        Of two with one id that of `self` counts; where they differ, the other is an issue. To compare them, every table
        is built where an id is in both and the two are not parts of one whole.
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
        """Return the ids in both whose rows are not the same."""
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
        The records' class. Its table has ``id``, then what `attune_data.tables.dtypes_of` gives.
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
