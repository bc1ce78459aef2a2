"""The columns of tables are those that are exported, in type and order; null occurs where the schema says only."""

import re
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no types
import pytest
from episodes import episodes_of
from pydantic import ValidationError
from schema_examples import example, places, replaced, without

from attune_data import json_schema, load, load_records, load_runs, load_scenarios, table_schema
from attune_data.export import Exportable
from attune_data.kinds import EPISODE, KINDS, RUN
from attune_data.publishing import TABLE_SCHEMA_KINDS
from attune_data.record import Record

Json = dict[str, Any]
Tables = dict[str, dict[str, Json]]

KIND_OF = {kind.noun: kind for kind in KINDS}


def types(schema: pa.Schema) -> dict[str, str]:
    """Return the types of a schema by column, in order, without what depends on versions or means nothing.

    That is the type of the indices of a dictionary, and the name of the items of a list.
    """
    found = {field.name: str(field.type) for field in schema}
    found = {name: re.sub(r"dictionary<values=(\w+), .*>", r"dictionary<\1>", text) for name, text in found.items()}
    return {name: re.sub(r"list<\w+: ", "list<", text) for name, text in found.items()}


def described(tables: Tables) -> dict[str, dict[str, str]]:
    return {table: {name: column["type"] for name, column in columns.items()} for table, columns in tables.items()}


# Two replies to the person, who answers one of them; what the schema alone gives is one message.
MESSAGES = {
    "episode": ("aggressor", "defender", "aggressor", "aggressor"),
    "dialogue": ("user", "assistant", "user", "user"),
}


def full(kind: str) -> Json:
    """Return a document with every key."""
    document: Json = example(json_schema(kind))
    if kind in MESSAGES:
        (message,) = document["history"]
        document["history"] = [{**message, "role": role} for role in MESSAGES[kind]]
    return document


def variants(kind: str, **ids: str) -> list[Any]:
    """Return a record with every key, and one for each key without it, and with null there, that the model reads.

    The last has no optional key, but for the role of messages. Each has an id of its own under the keys of `ids`, whose
    texts have a place for a number.
    """
    whole = full(kind)
    bare = {name: whole[name] for name in json_schema(kind)["required"]}
    if kind in MESSAGES:
        bare["history"] = [{"role": role} for role in MESSAGES[kind]]
    documents = [whole]
    for path in places(whole):
        if isinstance(path[-1], str):
            documents += [without(whole, path), replaced(whole, path, None)]
    found: list[Any] = []
    for document in [*documents, bare]:
        try:
            record: Record = KIND_OF[kind].model.model_validate(document, by_alias=True, by_name=False)
        except ValidationError:
            continue
        found.append(record.model_copy(update={name: text.format(len(found)) for name, text in ids.items()}))
    assert len(found) > 3
    return found


def exported(kind: str) -> list[Exportable]:
    """Return what is exported of records with gaps of every sort."""
    if kind == "run":
        conversations = variants("conversation", conversation_id="c{}")
        runs = variants("run", em_model="m{}", conversation_id="c0")
        first = runs[0]
        runs += [first.model_copy(update={"conversation_id": record.id}) for record in conversations[1:]]
        runs += [first.model_copy(update={"conversation_id": "none"})]
        # A selection under a key that no comparison can have.
        odd = first.turns[0].model_copy(update={"em_pairwise_selections": {"first": "A"}})
        runs += [first.model_copy(update={"em_model": "odd", "turns": (odd,)})]
        both = RUN.collection(runs)
        return [both, both.joined(conversations)]
    if kind == "episode":
        scenarios = variants("scenario", scenario_id="s{}")
        episodes = variants("episode", model="m{}", scenario_id="s0")
        episodes += [episodes[0].model_copy(update={"scenario_id": f"s{place}"}) for place in range(1, len(scenarios))]
        whole = EPISODE.collection(episodes)
        return [whole, whole.joined(scenarios)]
    name = {"conversation": "conversation_id", "scenario": "scenario_id", "dialogue": "scenario_id"}.get(kind, "model")
    return [KIND_OF[kind].collection(variants(kind, **{name: "r{}"}))]


def frames(kind: str) -> list[tuple[str, pl.DataFrame]]:
    return [named for one in exported(kind) for named in one._frames()]


@pytest.mark.parametrize("kind", TABLE_SCHEMA_KINDS)
def test_arrow_tables_have_the_types_of_the_schema_in_order(kind: str) -> None:
    expected = described(table_schema(kind))
    tables = {name: table for one in exported(kind) for name, table in one.to_arrow().items()}
    assert {name: list(types(table.schema).items()) for name, table in tables.items()} == {
        name: list(columns.items()) for name, columns in expected.items()
    }


@pytest.mark.parametrize("kind", TABLE_SCHEMA_KINDS)
def test_parquet_files_have_the_types_of_the_schema_in_order(kind: str, tmp_path: Path) -> None:
    expected = described(table_schema(kind))
    found = {}
    for place, one in enumerate(exported(kind)):
        one.to_parquet(tmp_path / str(place))
        for file in (tmp_path / str(place)).iterdir():
            found[file.stem] = list(types(pq.read_schema(file)).items())
    # Parquet knows one kind of text for the values of a closed list.
    written = {
        table: [
            (name, text.replace("dictionary<large_string>", "dictionary<string>")) for name, text in columns.items()
        ]
        for table, columns in expected.items()
    }
    assert found == written


@pytest.mark.parametrize("kind", TABLE_SCHEMA_KINDS)
def test_null_occurs_where_the_schema_says_and_nowhere_else(kind: str) -> None:
    schema = table_schema(kind)
    said = {(table, name) for table, columns in schema.items() for name, column in columns.items() if column["null"]}
    found = {(table, name) for table, frame in frames(kind) for name in frame.columns if frame[name].null_count()}
    assert found == said


@pytest.mark.parametrize("kind", TABLE_SCHEMA_KINDS)
def test_values_of_closed_lists_are_those_of_the_column(kind: str) -> None:
    tables = dict(frames(kind))
    lists = 0
    for table, columns in table_schema(kind).items():
        for name, column in columns.items():
            dtype = tables[table].schema[name]
            assert ("values" in column) == isinstance(dtype, pl.Enum)
            if isinstance(dtype, pl.Enum):
                lists += 1
                assert column["values"] == dtype.categories.to_list()
    without = "episode profile dialogue question answer transcript comparison chatlog roleplay entry"
    assert lists or kind in without.split()


def test_the_demo_has_no_null_where_none_occurs() -> None:
    conversations, runs, scenarios = load("demo"), load_runs("demo"), load_scenarios("demo")
    episodes = EPISODE.collection(episodes_of(scenarios, failures=["invented/rash"]))
    demo: Mapping[str, list[Exportable]] = {
        "conversation": [conversations],
        "run": [runs, runs.joined(conversations)],
        "scenario": [scenarios],
        "episode": [episodes, episodes.joined(scenarios)],
    }
    for kind, given in demo.items():
        schema = table_schema(kind)
        for one in given:
            for table, frame in one._frames():
                assert [
                    name for name in frame.columns if frame[name].null_count() and not schema[table][name]["null"]
                ] == []


@pytest.mark.parametrize("kind", TABLE_SCHEMA_KINDS)
def test_every_column_is_described(kind: str) -> None:
    for table, columns in table_schema(kind).items():
        for name, column in columns.items():
            assert len(column["description"]) > 5, (table, name)
            assert column["description"][0].isupper() or column["description"][0] == "`", (table, name)
            assert column["description"].endswith((".", "?")), (table, name)


def test_columns_of_two_records_of_one_model_are_told_apart() -> None:
    columns = table_schema("conversation")["conversations"]
    assert columns["pre_total_positive_affect"]["description"].startswith("PANAS before the conversation. Recorded")
    assert columns["post_total_positive_affect"]["description"].startswith("PANAS after the conversation. Recorded")
    assert columns["om_model"]["description"].startswith("The original model")


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="no tables of 'runs'; did you mean 'run'"):
        table_schema("runs")
    with pytest.raises(ValueError, match="no tables of 'zzz'; expected one of conversation, run"):
        table_schema("zzz")


@pytest.mark.parametrize("kind", TABLE_SCHEMA_KINDS)
def test_a_range_in_words_is_the_range_of_the_column(kind: str) -> None:
    tables = dict(frames(kind))
    for table, columns in table_schema(kind).items():
        for name, column in columns.items():
            numbers = tables[table][name]
            if not numbers.dtype.is_numeric():
                assert not {"low", "high"} & column.keys(), (table, name)
                continue
            stated = re.search(r"(-?[\d.]+)(?:-| to )(\d+)\b", column["description"])
            if stated and "a number or its text" not in column["description"]:
                assert (column.get("low"), column.get("high")) == tuple(map(float, stated.groups())), (table, name)


@pytest.mark.parametrize("kind", TABLE_SCHEMA_KINDS)
def test_numbers_of_the_demonstration_are_in_their_range(kind: str) -> None:
    tables = dict(load_records("demo", KIND_OF[kind])._frames())
    for table, columns in table_schema(kind).items():
        for name, column in columns.items():
            if table in tables and tables[table][name].dtype.is_numeric():
                low, high = column.get("low", -inf), column.get("high", inf)
                assert tables[table][name].drop_nulls().is_between(low, high).all(), (table, name)
