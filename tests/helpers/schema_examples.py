"""Documents made from a JSON Schema: one with every key, and its variants with a value dropped or changed."""

import copy
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Path = tuple[str | int, ...]


def example(schema: Json, node: Json | None = None) -> Any:
    """Return a value that a schema accepts: every key of an object, one item of a list, null nowhere."""
    node = schema if node is None else node
    if "$ref" in node:
        return example(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
    if "anyOf" in node:
        return example(schema, next(one for one in node["anyOf"] if one.get("type") != "null"))
    if "enum" in node:
        return node["enum"][0]
    kind = node.get("type")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            inner = node.get("additionalProperties")
            known = {name: example(schema, one) for name, one in node.get("properties", {}).items()}
            return known or ({"0": example(schema, inner)} if isinstance(inner, dict) else {})
        case "array":
            return [example(schema, node["items"])]
        case "integer" | "number":
            return max(1, node.get("minimum", 1))
        case "boolean":
            return True
    return "text"


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every value in a document."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield (*path, key)
        yield from places(item, (*path, key))


def without(document: Any, path: Path) -> Any:
    """Return a copy of a document without the value at a path."""
    return _changed(document, path, lambda parent, key: parent.pop(key))


def replaced(document: Any, path: Path, value: Any) -> Any:
    """Return a copy of a document with another value at a path."""
    return _changed(document, path, lambda parent, key: parent.__setitem__(key, value))


def _changed(document: Any, path: Path, change: Any) -> Any:
    document = copy.deepcopy(document)
    *way, last = path
    parent = document
    for step in way:
        parent = parent[step]
    change(parent, last)
    return document
