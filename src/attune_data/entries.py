"""What models of a codebook's files are made of: entries, tables by name, references between tables, lists."""

import difflib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    Strict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, PydanticKnownError, core_schema

from attune_data.text import meant

__all__ = [
    "ABSENT",
    "NOT_IN_FILE",
    "OWN_NAME",
    "Entry",
    "Finding",
    "Items",
    "Keys",
    "Named",
    "Number",
    "RefersTo",
    "Text",
    "UniqueSet",
    "refuse",
    "unknown",
]

T = TypeVar("T")

# Aliases of fields that no file gives. Files are read by alias only, and no key of ours has a bracket.
OWN_NAME = "[name]"
NOT_IN_FILE = "[none]"
# The value of a mistake about something missing.
ABSENT = object()


class Named(Mapping[str, T]):
    """A read-only mapping whose `KeyError` names the nearest known key.

    As the type of a model's field it reads a table. An entry with a field of the alias `OWN_NAME` gets its key there.

    Examples
    --------
    >>> colours = Named({"red": 1, "green": 2})
    >>> colours["gren"]
    Traceback (most recent call last):
    KeyError: "the codebook has no 'gren'; the nearest is 'green'"
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, T]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: str) -> T:
        try:
            return self._entries[key]
        except KeyError:
            known = {name.lower(): name for name in self._entries}
            near = difflib.get_close_matches(str(key).lower(), known, n=1, cutoff=0)
            hint = "".join(f"; the nearest is {known[name]!r}" for name in near)
            raise KeyError(f"the codebook has no {key!r}{hint}") from None

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return f"Named({', '.join(self._entries)})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate a table and each of its entries."""
        (kind,) = get_args(source) or (Any,)
        table = core_schema.dict_schema(core_schema.str_schema(), handler.generate_schema(kind))
        names = partial(_with_names, _has_own_name(kind))
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.no_info_before_validator_function(names, table),
            serialization=core_schema.plain_serializer_function_ser_schema(dict, return_schema=table),
        )


def _has_own_name(kind: Any) -> bool:
    is_entry = isinstance(kind, type) and issubclass(kind, Entry)
    return is_entry and any(field.alias == OWN_NAME for field in kind.model_fields.values())


def _with_names(needed: bool, table: Any) -> Any:
    """Return a table as a dict; where that is needed, with the key of each row in the row."""
    if isinstance(table, Named):
        table = dict(table)
    if not needed or not isinstance(table, dict):
        return table
    return {name: {**row, OWN_NAME: name} if isinstance(row, dict) else row for name, row in table.items()}


class Entry(BaseModel):
    """What every table of a codebook is: frozen and strict, unknown keys refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Leave out the fields that no file gives."""
        described = handler.resolve_ref_schema(handler(schema))
        hidden = {OWN_NAME, NOT_IN_FILE}
        described["properties"] = {k: v for k, v in described.get("properties", {}).items() if k not in hidden}
        if required := [name for name in described.pop("required", ()) if name not in hidden]:
            described["required"] = required
        return described


# A mistake: where in the checked value, the wrong value there, and what is wrong.
Finding = tuple[tuple[str | int, ...], Any, str]
_OURS = "codebook"


def refuse(findings: Iterable[Finding]) -> None:
    """Raise a pydantic error with these findings about the value that is being validated, if there are any."""
    errors = [_error(_OURS, place, value, {"message": message}) for place, value, message in findings]
    if errors:
        raise ValidationError.from_exception_data(_OURS, errors)


def _error(kind: str, place: tuple[str | int, ...], value: Any, context: dict[str, Any]) -> InitErrorDetails:
    custom = PydanticCustomError(_OURS, "{message}", context) if kind == _OURS else kind
    return InitErrorDetails(type=custom, loc=place, input=value, ctx=context)


def _validated(value: Any, handler: ValidatorFunctionWrapHandler, findings: Iterable[Finding]) -> Any:
    """Validate a value; raise the mistakes that are known already together with all others."""
    try:
        result = handler(value)
    except ValidationError as error:
        others = [_error(one["type"], one["loc"], one["input"], one.get("ctx", {})) for one in error.errors()]
        raise ValidationError.from_exception_data(
            _OURS, [*others, *(_error(_OURS, at, item, {"message": message}) for at, item, message in findings)]
        ) from None
    refuse(findings)
    return result


@dataclass(frozen=True, slots=True)
class RefersTo:
    """Annotation: the text is the name of an entry in another table of the same file."""

    table: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the name against the file that is read; a model made in Python is not checked."""
        return core_schema.with_info_after_validator_function(self._check, handler(source))

    def _check(self, name: str, info: ValidationInfo) -> str:
        known = (info.context or {}).get(self.table)
        if isinstance(known, dict) and name not in known:
            refuse([((), name, f"not in [{self.table}]; {meant(name, known)}")])
        return name


@dataclass(frozen=True, slots=True)
class Keys:
    """Annotation of a table: its keys are these names, all of them and no others."""

    known: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the names beside the entries."""
        return core_schema.no_info_wrap_validator_function(self._check, handler(source))

    def _check(self, table: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(table, dict | Named):
            return handler(table)
        others: list[Finding] = [
            ((name,), entry, unknown("name", name, self.known))
            for name, entry in table.items()
            if name not in self.known
        ]
        missing: list[Finding] = [((name,), ABSENT, "the entry is missing") for name in self.known if name not in table]
        known = {name: entry for name, entry in table.items() if name in self.known}
        return _validated(known, handler, [*others, *missing])

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the names to the schema."""
        return {**handler(schema), "propertyNames": {"enum": list(self.known)}, "required": list(self.known)}


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PydanticKnownError("float_type")
    return value


def _without_repeats(items: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    given = items if isinstance(items, list) else []
    again: list[Finding] = [
        ((place,), item, "twice in the list") for place, item in enumerate(given) if item in given[:place]
    ]
    return _validated(items, handler, again)


Text = Annotated[str, Field(pattern=r"\S")]
# Left as it is, an integer or a float.
Number = Annotated[float, PlainValidator(_number), WithJsonSchema({"type": "number"})]
Items = Annotated[
    tuple[T, ...], Strict(False), WrapValidator(_without_repeats), Field(json_schema_extra={"uniqueItems": True})
]
UniqueSet = Annotated[frozenset[T], Strict(False), WrapValidator(_without_repeats)]


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """Return the message about a name that is none of the known ones, with the nearest of them.

    Examples
    --------
    >>> unknown("key", "hgih", ["low", "high"])
    "unknown key; did you mean 'high'?"
    """
    return f"unknown {what}; {meant(name, known)}"
