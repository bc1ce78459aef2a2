"""Schemas to take away: JSON Schema of files, and the columns of tables, for readers in any language."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from attune_data.kinds import KINDS
from attune_data.licences import Publishing
from attune_data.meanings import RECORDS_TABLE, Column
from attune_data.text import meant

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SCHEMA_KINDS", "TABLE_SCHEMA_KINDS", "json_schema", "table_schema"]

_MODELS: Mapping[str, Any] = {
    **{kind.noun: kind.model for kind in KINDS},
    **{name: model for kind in KINDS for name, model in kind.codebook_files.items()},
    "publishing": Publishing,
}

SCHEMA_KINDS = tuple(_MODELS)
"""What `json_schema` describes: kinds of record, then files of the codebook."""

TABLE_SCHEMA_KINDS = tuple(kind.noun for kind in KINDS)
"""What `table_schema` describes."""


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of record, or of a file of the codebook.

    It describes files in current spelling: the names that they use, null where null is read, unknown keys allowed in a
    record. Older spellings, which loading translates, are not in it, nor is what compares one value with another, such
    as a reference to another table.

    Parameters
    ----------
    kind : str
        One of `SCHEMA_KINDS`: a kind of record, such as ``conversation``, ``run`` or ``scenario``, or a file of the
        codebook (``codebook``, ``subsets``, ``instruments``, ``diagnoses``, ``scenes``, ``publishing``).

    Returns
    -------
    dict
        A schema of JSON Schema 2020-12, a description at every field.

    Raises
    ------
    ValueError
        The kind is not one of these.

    Examples
    --------
    >>> schema = json_schema("run")
    >>> schema["required"]
    ['conversationId', 'em_model']
    >>> schema["properties"]["api_cost"]["description"]
    'Cost of all calls, USD.'
    """
    if kind not in SCHEMA_KINDS:
        raise ValueError(f"no schema of {kind!r}; {meant(kind, SCHEMA_KINDS)}")
    schema = TypeAdapter(_MODELS[kind]).json_schema(schema_generator=_Generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, **_plain(schema)}


class _Generator(GenerateJsonSchema):
    """Leaves out what only Python needs: titles made of names, defaults of absent keys, examples of code."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  # what the base class asks
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if not isinstance(described.get("default"), str) or not described["default"]:
            described.pop("default", None)
        return described

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        described = super().model_schema(schema)
        if "description" in described:
            first = described["description"].partition("\n\n")[0]
            described["description"] = " ".join(first.replace("``", "`").split())
        return described


def _plain(node: Any) -> Any:
    """Return a schema with alternatives as types: validators word errors of a type better than of an alternative."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _plain(value) for key, value in node.items()}
    choices = node.pop("anyOf", None)
    if choices is None:
        return node
    # An integer is a number.
    choices = [one for one in choices if one.get("type") != "integer" or {**one, "type": "number"} not in choices]
    null = {"type": "null"}
    match [one for one in choices if one != null]:
        case [{"type": kind} as only] if null in choices:
            values = {"enum": [*only["enum"], None]} if "enum" in only else {}
            return {**node, **only, "type": [kind, "null"], **values}
        case [only] if null not in choices:
            return {**node, **only}
    return {**node, "anyOf": choices}


def table_schema(kind: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the columns of every table of a kind of record, as `to_arrow` and `to_parquet` write them.

    Parameters
    ----------
    kind : str
        One of `TABLE_SCHEMA_KINDS`, such as ``conversation``. Runs have the table ``runs``, and the others beside their
        conversations: ``runs.joined(conversations)``.

    Returns
    -------
    dict of str to dict
        By table and column, in order: ``type``, the Arrow type; ``values``, those of a closed list; ``low`` and
        ``high``, where numbers have a range; ``null``, whether null occurs; ``description``; ``source``, the key in the
        record's JSON, or what the column is computed of.

    Raises
    ------
    ValueError
        The kind is not one of these.

    Examples
    --------
    >>> intensity = table_schema("conversation")["mood_tags"]["intensity"]
    >>> intensity["type"], intensity["low"], intensity["high"], intensity["null"], intensity["description"]
    ('int8', 1, 7, True, 'Intensity, 1-7, or null where it was not given.')
    """
    if kind not in TABLE_SCHEMA_KINDS:
        raise ValueError(f"no tables of {kind!r}; {meant(kind, TABLE_SCHEMA_KINDS)}")
    import polars as pl

    records = {name: _described(pl.String(), column) for name, column in RECORDS_TABLE.items()}
    (known,) = [one for one in KINDS if one.noun == kind]
    tables = {
        table: {name: _described(dtype, meanings[table][name]) for name, dtype in dtypes.items()}
        for of in (known.tables, known.joined)
        if of is not None
        for meanings in (of.meanings(),)
        for table, dtypes in of.schemas().items()
    }
    return {"records": records, **tables}


def _described(dtype: "pl.DataType", column: Column) -> dict[str, Any]:
    import polars as pl

    values = {"values": dtype.categories.to_list()} if isinstance(dtype, pl.Enum) else {}
    range_ = {name: value for name in ("low", "high") if (value := getattr(column, name)) is not None}
    source = {"source": column.source} if column.source else {}
    return {
        "type": _arrow_type(dtype),
        **values,
        **range_,
        "null": column.null,
        "description": column.description,
        **source,
    }


def _arrow_type(dtype: "pl.DataType") -> str:
    """Return the name that Arrow has for what polars exports a dtype as."""
    import polars as pl

    match dtype:
        case pl.List():
            return f"large_list<{_arrow_type(dtype.inner)}>"  # type: ignore[arg-type]  # an instance, never a class
        case pl.Enum():
            return "dictionary<large_string>"  # The type of the indices depends on the version of polars.
    return {pl.String: "large_string", pl.Float64: "double", pl.Boolean: "bool"}.get(type(dtype)) or str(dtype).lower()
