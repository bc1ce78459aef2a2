"""Pieces of JSON schema in the strict form that structured output takes: every key named and required."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["TEXT", "YES_NO", "Schema", "choice_schema", "integer_schema", "list_schema", "object_schema"]

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
"""Any text."""

YES_NO: Schema = {"type": "string", "enum": ["yes", "no"]}
"""``yes`` or ``no``."""


def object_schema(properties: Mapping[str, Schema]) -> Schema:
    """Return the schema of an object with these keys and no others.

    Examples
    --------
    >>> object_schema({"answer": YES_NO})["required"]
    ['answer']
    """
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def integer_schema(low: int, high: int) -> Schema:
    """Return the schema of an integer from low to high."""
    # Not every server knows minimum and maximum.
    return {"type": "integer", "enum": list(range(low, high + 1))}


def choice_schema(options: Iterable[str]) -> Schema:
    """Return the schema of one of some options, or of any text where no options are given."""
    given = list(options)
    return {"type": "string", "enum": given} if given else TEXT


def list_schema(items: Schema, most: int) -> Schema:
    """Return the schema of a list; where no most number of items is known (0), of ten at most.

    Without a limit a small model may write a list without end.
    """
    return {"type": "array", "items": items, "maxItems": most or 10}
