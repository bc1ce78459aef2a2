"""Codebooks: what their entries are made of, how a file of them is read, and where it is.

A codebook says in TOML what codes and labels mean. The model of each file belongs to its benchmark and is made of
`attune_data.codebook`.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    Strict,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import (
    CoreSchema,
    ErrorDetails,
    InitErrorDetails,
    PydanticCustomError,
    PydanticKnownError,
    core_schema,
)

from attune_data.io.documents import check_input
from attune_data.issues import shown
from attune_data.text import did_you_mean, plural

T = TypeVar("T")

# Aliases of fields that no file gives. Files are read by alias only, and no key of ours has a bracket.
OWN_NAME = "[name]"
NOT_IN_FILE = "[none]"
# The value of a mistake about something missing.
ABSENT = object()


class Named(Mapping[str, T]):
    """A read-only mapping; its `KeyError` names the nearest known key.

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
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, validate_by_name=True, validate_by_alias=True
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


# A mistake: the place in the checked value, the wrong value, and the message.
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
            refuse([((), name, f"not in [{self.table}]; {did_you_mean(name, known)}")])
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
    return f"unknown {what}; {did_you_mean(name, known)}"


SIZE_LIMIT = 2**20
"""Bytes of a TOML file."""

# The time that tomllib takes grows with the square of the number of parts of a key.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:"[^"\n]*"|'[^'\n]*'|[\w-]++)[ \t]*\.[ \t]*){100}""")


def parse_toml(data: bytes) -> dict[str, Any]:
    """Parse TOML.

    Parameters
    ----------
    data : bytes
        UTF-8, of 1 MiB at most.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        Where it is not TOML in UTF-8, is too large, or is nested too deeply.

    Examples
    --------
    >>> parse_toml(b'red = "warm"')
    {'red': 'warm'}
    """
    if len(data) > SIZE_LIMIT:
        raise ValueError(f"larger than {SIZE_LIMIT:,} bytes, the limit of a TOML file")
    text = data.decode("utf-8-sig")
    if _LONG_KEY.search(text):
        raise ValueError("a key of more than 100 parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


_MOST_MISTAKES = 100


class CodebookError(ValueError):
    """A file that cannot be read as a codebook; the message lists the first 100 mistakes."""


def codebook_folder() -> Traversable:
    """Return the folder of the bundled codebooks: the packaged copy, else the repository's.

    Raises
    ------
    FileNotFoundError
        Neither exists.

    Examples
    --------
    >>> (codebook_folder() / "publishing.toml").is_file()
    True
    """
    packaged = resources.files("attune_data") / "codebook"
    repository = Path(__file__).parents[2] / "codebook"
    for folder in (packaged, repository):
        if (folder / "publishing.toml").is_file():
            return folder
    raise FileNotFoundError(f"no publishing.toml in {packaged} or {repository}; is the installation whole?")


def read_toml(file: Traversable, kind: type[T]) -> T:
    """Read a file of a codebook as a model or a table.

    Parameters
    ----------
    file : Traversable
        A TOML file, UTF-8, of 1 MiB at most.
    kind : type
        An `Entry`, or a `Named` of something.

    Returns
    -------
    object
        Of that type.

    Raises
    ------
    CodebookError
        The file is not TOML, or does not say what the type asks for; each mistake with its table, key and value.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from attune_data.codebook import Named
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "colours.toml")
    ...     _ = file.write_text('red = "warm"')
    ...     read_toml(file, Named[str])["red"]
    'warm'
    """
    if isinstance(file, Path):  # no member of a package
        check_input(file)
    with file.open("rb") as stream:
        raw = stream.read(SIZE_LIMIT + 1)
    try:
        document = parse_toml(raw)
    except ValueError as error:
        hint = "; is it JSON? Then its name has to end in .json" if raw.lstrip()[:1] in (b"{", b"[") else ""
        raise CodebookError(f"{file}: not TOML in UTF-8: {error}{hint}") from None
    return checked(document, kind, str(file))


def checked(document: Any, kind: type[T], name: str) -> T:
    """Return a parsed document as a model or a table.

    Parameters
    ----------
    document
        What a TOML or JSON parser gives.
    kind : type
        As for `read_toml`.
    name : str
        What the error calls the file.

    Returns
    -------
    object
        Of that type.

    Raises
    ------
    CodebookError
        As for `read_toml`.

    Examples
    --------
    >>> from attune_data.codebook import Named
    >>> checked({"red": 1}, Named[str], "colours.json")
    Traceback (most recent call last):
    attune_data.codebook.CodebookError: colours.json: 1 mistake
    red = 1: expected text; put it in quotes
    """
    adapter: TypeAdapter[T] = TypeAdapter(kind)
    try:
        return adapter.validate_python(document, by_alias=True, by_name=False, context=document)
    except ValidationError as error:
        details = error.errors(include_url=False)
    findings = [_line(detail, adapter) for detail in details[:_MOST_MISTAKES]]
    if len(details) > _MOST_MISTAKES:
        findings.append(f"... and {len(details) - _MOST_MISTAKES:,} more")
    raise CodebookError("\n".join([f"{name}: {plural(len(details), 'mistake')}", *findings]))


def _line(detail: ErrorDetails, adapter: TypeAdapter[Any]) -> str:
    """Return one mistake as ``[table] key = value: problem``."""
    names: list[str] = []
    for part in detail["loc"]:
        if isinstance(part, int) and names:
            names[-1] += f"[{part}]"
        else:
            names.append(str(part) if re.fullmatch(r"[\w-]+", str(part), re.ASCII) else shown(part))
    table = f"[{'.'.join(names[:-1])}] " if names[1:] else ""
    absent = detail["type"] == "missing" or detail["input"] is ABSENT
    value = "" if absent else f" = {shown(detail['input'])}"
    return f"{table}{names[-1] if names else 'the file'}{value}: {_message(detail, adapter)}"


# By the type of pydantic's error: what was expected.
_EXPECTED = {
    "missing": "the key is missing",
    "string_type": "expected text",
    "float_type": "expected a number",
    "int_type": "expected a whole number",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list",
    "frozen_set_type": "expected a list",
    "dict_type": "expected a table",
    "model_type": "expected a table",
}


def _message(detail: ErrorDetails, adapter: TypeAdapter[Any]) -> str:
    value, context = detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            *table, key = detail["loc"]
            return unknown("key", str(key), _known_keys(adapter.json_schema(), table))
        case "literal_error":
            return did_you_mean(str(value), re.findall(r"'([^']*)'", context["expected"]))
        case "string_pattern_mismatch":
            return f"expected to match {context['pattern']}" if str(value).strip() else "the text is blank"
        case "greater_than_equal":
            return f"expected at least {context['ge']:g}; is this another scale?"
        case "less_than_equal":
            return f"expected at most {context['le']:g}; is this another scale?"
        case "too_short":
            return f"expected at least {context['min_length']} values"
        case kind:
            return _EXPECTED.get(kind, detail["msg"]) + _likely_mistake(kind, value)


def _likely_mistake(kind: str, value: Any) -> str:
    if kind == "string_type" and isinstance(value, bool | int | float):
        return "; put it in quotes"
    if kind in ("float_type", "int_type", "bool_type") and isinstance(value, str):
        return "; remove the quotes"
    return "; put it in [ ]" if kind in ("tuple_type", "frozen_set_type") and not isinstance(value, dict) else ""


def _known_keys(schema: JsonSchemaValue, place: Iterable[str | int]) -> Collection[str]:
    """Return the keys that the JSON Schema of a file knows at a place."""

    def resolved(node: Any) -> Any:
        (node,) = [one for one in node.get("anyOf", [node]) if one.get("type") != "null"]
        return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node

    node = resolved(schema)
    for part in place:
        inner = node.get("items") if isinstance(part, int) else node.get("properties", {}).get(part)
        node = resolved(inner or node["additionalProperties"])
    return list(node.get("properties", ()))
