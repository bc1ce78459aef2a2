"""Where a codebook is and how its files are read: one error lists the mistakes of a file.

A codebook says in TOML what codes and labels mean. The model of each file belongs to its benchmark and is made of
`attune_data.entries`.
"""

import re
from collections.abc import Collection, Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails

from attune_data.entries import ABSENT, unknown
from attune_data.io.files import check_input
from attune_data.io.toml import SIZE_LIMIT, parse_toml
from attune_data.issues import shown
from attune_data.text import meant, plural

__all__ = ["CodebookError", "checked", "codebook_folder", "read_toml"]

T = TypeVar("T")

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
    >>> from attune_data.entries import Named
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
    >>> from attune_data.entries import Named
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
    """Return one mistake as ``[table] key = value: what is wrong``."""
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
            return meant(str(value), re.findall(r"'([^']*)'", context["expected"]))
        case "string_pattern_mismatch":
            return f"expected to match {context['pattern']}" if str(value).strip() else "the text is blank"
        case "greater_than_equal":
            return f"expected at least {context['ge']:g}; is this another scale?"
        case "less_than_equal":
            return f"expected at most {context['le']:g}; is this another scale?"
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
