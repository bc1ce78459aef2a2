"""What every record is, how an object is named by its place, and what an extra installs."""

import gc
import json
import os
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, Strict
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema, from_json, to_json

T = TypeVar("T")

R = TypeVar("R", bound="Record")

_NULL = frozenset(("null",))


class Record(BaseModel):
    """A frozen record with snake_case names in Python and the file's own names in JSON.

    Unknown keys are kept in ``model_extra`` and written back. A null or absent list, object or text reads as an
    empty one; ``to_json`` writes null for null and leaves out what was absent.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
        ser_json_inf_nan="constants",
        defer_build=True,
    )

    # What a loader takes from the place of a file where the record does not say it.
    from_place: ClassVar[frozenset[str]] = frozenset()
    # In tables: the column of a field that is called otherwise, and what the columns of a nested record begin with.
    column_names: ClassVar[Mapping[str, str]] = {}
    column_prefixes: ClassVar[Mapping[str, str]] = {}
    # Properties that are columns too.
    column_properties: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def null(cls) -> Self:
        """Return the empty record that a null in a file reads as."""
        return cast("Self", cls.model_construct(_fields_set=set(_NULL)))

    def __hash__(self) -> int:
        return content_hash(self)

    def __dir__(self) -> list[str]:
        """Return the names that a notebook offers: not those that say something of all records of the class."""
        declared = type(self).__class_vars__.difference(dir(BaseModel))
        shown = [name for name in super().__dir__() if name.startswith("__") or not name.startswith("_")]
        return [name for name in shown if name not in declared]

    def to_json(self, *, indent: int | None = None) -> bytes:
        """Return the record as JSON in current spelling, what was absent left out.

        Parameters
        ----------
        indent : int, optional
            Spaces per level; the default writes one line.

        Returns
        -------
        bytes
            UTF-8 JSON without a final newline.
        """
        return self.model_dump_json(by_alias=True, exclude_unset=True, indent=indent).encode()

    def canonical_json(self) -> bytes:
        """Return the record as JSON in its one form, keys sorted, which tells whether two have the same content."""
        return canonical_parts(self)[0]

    def placed(self, **known: str | None) -> Self:
        """Return the record with what its file's place tells; what it says itself, and None, change nothing.

        `to_json` leaves that out, as the file did; `to_line` does not.
        """
        new = {name: value for name, value in known.items() if value is not None and name not in self.model_fields_set}
        if not new:
            return self
        copied = self.model_copy(update=new)
        copied.model_fields_set.difference_update(new)
        return copied

    def to_line(self) -> bytes:
        """Return the record as JSON in one line, as a collection writes it: with what its file's place told too."""
        return with_place(self).to_json()


def with_place(record: R) -> R:
    """Return a record that says itself what its file's place told."""
    unsaid = record.from_place - record.model_fields_set
    known = {name: value for name in unsaid if (value := getattr(record, name)) is not None}
    return record.model_copy(update=known) if known else record


def content_hash(model: BaseModel) -> int:
    """Return the hash of a frozen model by its fields, which may be mappings: pydantic's own fails at these.

    Examples
    --------
    >>> class Note(BaseModel):
    ...     stars: dict[str, int]
    >>> content_hash(Note(stars={"a": 3, "b": 1})) == content_hash(Note(stars={"b": 1, "a": 3}))
    True
    """
    return hash((type(model), *(_hashable(getattr(model, name)) for name in type(model).model_fields)))


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, tuple | list) else value


def canonical(value: object) -> bytes:
    """Return a JSON value as bytes in its one form: keys sorted, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


HASH_VERSION = 2
"""Of the one form of JSON that hashes are of: 1 is what `canonical` writes."""


def canonical_parts(
    record: Record, apart: Set[str] = frozenset(), *, version: int = HASH_VERSION
) -> tuple[bytes, bytes]:
    """Return a record as JSON in its one form, keys sorted, no blanks: its other keys, and the keys named `apart`.

    Version 2 is UTF-8, as native code writes it. `canonical` writes a part with an integer of more than 64 bits, nan or
    infinity, which that code would change.

    Examples
    --------
    >>> class Note(Record):
    ...     stars: tuple[float, ...]
    >>> canonical_parts(Note.model_validate({"stars": [2.0], "date": "May", "by": "Ann"}), {"date"})
    (b'{"by":"Ann","stars":[2.0]}', b'{"date":"May"}')
    """
    if version > 1:
        with suppress(TypeError):  # JSON has no such value, or native code cannot write it.
            content, split = _split(record.model_dump(by_alias=True, exclude_unset=True), apart)
            return _native(content), _native(split)
    content, split = _split(from_json(record.to_json()), apart)
    return (canonical(content), canonical(split)) if version == 1 else (_written(content), _written(split))


def _split(content: dict[str, Any], apart: Set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    return content, {key: content.pop(key) for key in apart & content.keys()}


def _written(value: object) -> bytes:
    try:
        return _native(value)
    except TypeError:
        return canonical(value)


_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


def _native(value: object) -> bytes:
    written = orjson.dumps(value, option=_SORTED)
    if b"null" in written:  # It may have been nan or infinity.
        named = to_json(value, inf_nan_mode="constants")
        if b"NaN" in named or b"Infinity" in named:
            return canonical(value)
    return written


def says_generated(value: object) -> bool:
    """Tell whether what a record says under ``synthetic`` is that it was generated: true, or what from with its seed.

    Of anything else, such as a text, nobody knows; the licence of its benchmark then counts.

    Examples
    --------
    >>> says_generated(True), says_generated({"arc": "estranged-father", "seed": 1}), says_generated("no")
    (True, True, False)
    """
    return value is True or (isinstance(value, Mapping) and "seed" in value)


def is_generated(record: object) -> bool:
    """Tell whether a record of any kind, somebody else's too, says of itself that it was generated."""
    return says_generated(getattr(record, "synthetic", None))


def same_content(first: Any, second: Any) -> bool:
    """Tell whether two records have the same content, in whatever order the keys of their files are."""
    return first is second or first.canonical_json() == second.canonical_json()


class SnakeCaseRecord(Record):
    """A record with keys in snake case in the file."""

    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=None)


class _NullText(str):
    __slots__ = ()


class _NullItems(tuple[Any, ...]):
    __slots__ = ()


class _NullByKey(dict[str, Any]):
    __slots__ = ()


_EMPTY = (str, tuple, dict)
_PLAIN = frozenset(_EMPTY)
_NULLS = (_NullText, _NullItems, _NullByKey)


@dataclass(frozen=True)
class Expected:
    """Annotation of a union: a value that no branch takes is one error, which says what was expected."""

    what: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Give the union its error."""
        message = {"custom_error_type": "expected", "custom_error_message": f"expected {self.what}"}
        return cast("CoreSchema", {**handler(source), **message})


@dataclass(frozen=True)
class NullAs:
    """Annotation: null in the file reads as `empty`, and what `is_null` tells from an empty one is written as null.

    Without `empty`, for a record, null reads as the empty record.
    """

    empty: Any = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept null beside what the field takes.

        From JSON, as files are read, Python code runs for a null only; from Python objects it runs for every value,
        which keeps the errors of the second stage of loading free of the branches of a union.
        """
        empty = source.null() if self.empty is None else self.empty

        def read(value: Any) -> Any:
            if value is not None:
                return value
            return empty if isinstance(empty, str | tuple) else deepcopy(empty)

        inner = handler(source)
        null = core_schema.no_info_after_validator_function(read, core_schema.none_schema())
        return core_schema.json_or_python_schema(
            json_schema=core_schema.union_schema([inner, null], mode="left_to_right"),
            python_schema=core_schema.no_info_after_validator_function(read, core_schema.nullable_schema(inner)),
            serialization=core_schema.plain_serializer_function_ser_schema(
                _null_as_none, return_schema=core_schema.nullable_schema(inner)
            ),
        )


def is_null(value: Any) -> bool:
    """Tell whether an empty text, list or object was a null in the file; a copy of one was too."""
    # By type first: whether a value is a record is slow to tell, and few values are records.
    if isinstance(value, _EMPTY):
        return isinstance(value, _NULLS)
    return isinstance(value, Record) and value.model_fields_set == _NULL and not value.model_extra


def _null_as_none(value: Any) -> Any:
    # Called for every field that is written; nearly all fields are of a plain type.
    return None if type(value) not in _PLAIN and is_null(value) else value


Text = Annotated[str, NullAs(_NullText())]
Items = Annotated[tuple[T, ...], NullAs(_NullItems())]
ByKey = Annotated[dict[str, T], NullAs(_NullByKey())]
Nested = Annotated[T, NullAs()]

# Numbers without a range of their own; the bound keeps out what arithmetic would fail on.
LARGEST = 10**15
_Bounds = Field(ge=-LARGEST, le=LARGEST)
Integer = Annotated[int, Strict(), _Bounds]
Number = Integer | Annotated[float, Strict(), _Bounds]
_Positive = Field(ge=0, le=LARGEST)
Length = Annotated[int, Strict(), _Positive] | Annotated[float, Strict(), _Positive]
Rating = Annotated[int, Strict(), Field(ge=1, le=7)]
Total = Annotated[int, Strict(), Field(ge=10, le=70)]
Level = Annotated[int, Strict(), Field(ge=0, le=100)]
Repeat = Annotated[int, Strict(), Field(ge=1, le=LARGEST)]


Answer = Literal["yes", "no", "na"]
Label = Literal["original", "alternate", "human"]
Winner = Literal["A", "B"]
Mode = Literal["default", "verbose", "omniscient", "verbose_omniscient"]
Strategy = Literal["absolute", "delta", "blind_delta"]


def repeat_suffix(repeat: int) -> str:
    """Return what the id of a result ends in: nothing for the first time that a model was asked.

    Examples
    --------
    >>> repeat_suffix(1), repeat_suffix(2)
    ('', '/repeat-2')
    """
    return f"/repeat-{repeat}" if repeat > 1 else ""


_STDERR = 2


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of polars as one of its errors; what it prints about the panic is dropped.

    A panic is not an Exception, and native code tells of it on standard error before Python hears of it. So text
    on standard error is held back meanwhile, and written if there was no panic.

    Raises
    ------
    polars.exceptions.ComputeError
        In place of a panic.
    """
    import polars as pl

    try:
        own = os.dup(_STDERR)
    except OSError:  # It is closed.
        own = None
    with TemporaryFile() as written:
        if own is not None:
            os.dup2(written.fileno(), _STDERR)
        try:
            yield
        except pl.exceptions.PanicException as error:
            written.truncate(0)
            raise pl.exceptions.ComputeError(str(error)) from None
        finally:
            if own is not None:
                os.dup2(own, _STDERR)
                os.close(own)
                written.seek(0)
                with suppress(OSError):
                    os.write(_STDERR, written.read())


@contextmanager
def gc_paused() -> Iterator[Callable[[], None]]:
    """Keep the cyclic collector off during a bulk load: it would rescan a growing heap without any garbage.

    Yields what a load calls after each record: a pass over the new objects only, as often as the collector would make
    it. Left to the end, when they are no longer in the processor's cache, it takes five times as long.
    """
    was_on = gc.isenabled()

    def scan_new() -> None:
        if was_on and gc.get_count()[0] > gc.get_threshold()[0] > 0:
            gc.collect(0)

    gc.disable()
    try:
        yield scan_new
    finally:
        if was_on:
            gc.enable()
