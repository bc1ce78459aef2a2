"""A collection is an immutable sequence that also finds records by id and shows what loading noticed."""

import pickle
import re
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from slow_cases import slow_after

from attune_data import Collection, Conversation, Conversations, Issue, Kind, load, load_records, load_runs
from attune_data.kinds import KINDS

Json = dict[str, Any]
Save = Callable[[Any, str], Path]


def record(name: str) -> Conversation:
    return Conversation(conversation_id=name)


def issue(severity: str, rule: str = "a-rule") -> Issue:
    return Issue("a.json", "$.x", rule, severity, "[1]", "is odd", "kept")  # type: ignore[arg-type]


@pytest.fixture
def records() -> list[Conversation]:
    """Return three records, with the ids kiln, vase and bowl."""
    return [record(name) for name in ("kiln", "vase", "bowl")]


def test_sequence(records: list[Conversation]) -> None:
    collection = Conversations(records)
    assert isinstance(collection, Sequence)
    assert len(collection) == 3
    assert list(collection) == records
    assert collection[0] is records[0]
    assert collection[-1] is records[2]
    assert collection.index(records[1]) == 1
    assert list(reversed(collection)) == records[::-1]
    with pytest.raises(IndexError, match="out of range"):
        collection[3]


def test_records_are_found_by_id(records: list[Conversation]) -> None:
    collection = Conversations(records)
    assert collection["vase"] is records[1]
    inside: list[object] = ["vase", records[1]]
    outside: list[object] = ["jar", record("jar"), None, 3]
    assert [item for item in inside if item not in collection] == []
    assert [item for item in outside if item in collection] == []


def test_an_id_may_be_shortened(records: list[Conversation]) -> None:
    collection = Conversations([*records, record("vases"), record("vault")])
    assert collection["k"] is records[0]
    assert collection["vase"] is records[1]
    assert collection["vaul"] is collection[4]
    with pytest.raises(KeyError, match="3 ids begin with 'va': vase, vases, vault; give more of one"):
        collection["va"]
    with pytest.raises(KeyError, match="no record with id ''"):
        collection[""]
    with pytest.raises(KeyError, match="no record with id 'vautl'; did you mean 'vault'"):
        collection["vautl"]
    with pytest.raises(KeyError, match="did you mean 'vases' or 'vase'"):
        collection["vasess"]


def test_records_are_joined_by_whole_ids(records: list[Conversation]) -> None:
    collection = Conversations(records)
    begun: object = "vas"
    assert begun not in collection
    assert (collection.get("vase"), collection.get("vas"), collection.get("", "none")) == (records[1], None, "none")


@pytest.mark.parametrize(("name", "short"), [("S10", "S1"), ("10", "1"), ("demo-12/x", "demo-1"), ("EU/12/en", "EU/1")])
def test_an_id_is_not_shortened_within_its_number(name: str, short: str) -> None:
    collection = Conversations([record(name), record("other")])
    with pytest.raises(KeyError, match=f"no record with id '{short}'"):
        collection[short]


@pytest.mark.parametrize(
    ("name", "short"),
    [("S10", "S"), ("EU/12/en", "EU/12"), ("4efd4f90-903b", "4ef"), ("42b16c51-d8", "42b1"), ("a1b", "a1")],
)
def test_an_id_is_shortened_around_its_number(name: str, short: str) -> None:
    collection = Conversations([record(name), record("other")])
    assert collection[short] is collection[0]


@pytest.mark.parametrize(("wrong", "hint"), [("vasse", "did you mean 'vase'"), ("qqqq", "among 3 records")])
def test_unknown_id_names_the_nearest(wrong: str, hint: str, records: list[Conversation]) -> None:
    with pytest.raises(KeyError, match=hint):
        Conversations(records)[wrong]


def test_runs_are_found_by_conversation_model_and_mode(run: Json, save: Save) -> None:
    runs = load_runs(save(run, "run.json"))
    assert runs[f"{run['conversationId']}/kiln/glaze-1/default"] is runs[0]


def test_slice_is_a_collection_with_the_same_issues(records: list[Conversation]) -> None:
    part = Conversations(records, [issue("note")])[1:]
    assert isinstance(part, Collection)
    assert list(part) == records[1:]
    with pytest.raises(KeyError, match="no record with id 'kiln'"):
        part["kiln"]
    assert part.found == (issue("note"),)


def test_later_changes_of_the_list_do_not_reach_it(records: list[Conversation]) -> None:
    collection = Conversations(records)
    records.clear()
    assert len(collection) == 3


def test_issues_are_a_frame_of_their_fields(conversation: Json, save: Save) -> None:
    conversation["turns"][0]["moodShiftTags"] = [{"emotion": "Calm", "intensity": "2"}]
    issues = load(save(conversation, "a.json")).issues
    assert issues.columns == ["file", "path", "rule", "severity", "value", "message", "consequence", "count"]
    assert issues.filter(pl.col("severity") == "warning").select("file", "path", "rule", "value").rows() == [
        ("a.json", "$.turns[0].moodShiftTags[0].emotion", "unknown-emotion", '"Calm"')
    ]
    assert issues["rule"].to_list() == ["number-as-text", "unknown-emotion"]


def test_frame_without_issues_has_the_same_columns(conversation: Json, save: Save) -> None:
    issues = load(save(conversation, "a.json")).issues
    assert issues.height == 0
    assert issues.schema == dict.fromkeys(issues.columns, pl.String) | {"count": pl.Int64}
    assert len(issues.columns) == 8


@pytest.mark.parametrize(
    ("names", "severities", "expected"),
    [
        ("", (), "<Collection of 0 conversations, no issues>"),
        ("a", (), "<Collection of 1 conversation, no issues>"),
        ("ab", ("note", "note"), "<Collection of 2 conversations, 2 notes>"),
        ("ab", ("note", "error", "warning"), "<Collection of 2 conversations, 1 error, 1 warning, 1 note>"),
    ],
)
def test_representation_counts_records_and_issues(names: str, severities: tuple[str, ...], expected: str) -> None:
    assert repr(Conversations([record(name) for name in names], [issue(s) for s in severities])) == expected


def test_issue_reads_as_a_sentence() -> None:
    assert str(issue("warning")) == "warning: a.json $.x: is odd (found [1]); kept [a-rule]"


@pytest.mark.parametrize("value", ["x" * 100_000, list(range(10_000)), {"k" * 500: 1}, "line\nbreak\u2028", 10**200])
def test_value_of_an_issue_is_one_short_line(value: Any, conversation: Json, save: Save) -> None:
    conversation["turns"][0]["moodShiftTags"][0]["intensity"] = value
    shown = load(save(conversation, "a.json")).found[0].value
    assert 0 < len(shown) <= 80
    assert "\n" not in shown


# Equal content.


@pytest.mark.parametrize("kind", slow_after(4, KINDS), ids=repr)
def test_collections_are_equal_where_their_records_are(kind: Kind[Any, Any]) -> None:
    one, other = load_records("demo", kind), load_records("demo", kind)
    assert one == other
    assert one != one[:-1]
    assert one[:3] != one[2::-1]
    assert one != list(one)
    assert {one: 1}[other] == 1
    assert len({*one, *other}) == len(one)
    for copied in (pickle.loads(pickle.dumps(one)), deepcopy(one), copy(one)):  # noqa: S301  # its own
        assert (copied == one, hash(copied) == hash(one)) == (True, True)


def test_where_records_come_from_does_not_count(tmp_path: Path, records: list[Conversation]) -> None:
    found = Conversations(records, [issue("note")], files={"vase": "a.json"}, filters=["x"])
    assert found == Conversations(records)
    assert hash(found) == hash(Conversations(records))
    load("demo").to_jsonl(tmp_path / "demo.jsonl")
    assert load(tmp_path / "demo.jsonl") == load("demo")
    assert load("demo") != load_runs("demo")


def test_nan_equals_nan(conversation: Json, save: Save) -> None:
    path = save({**conversation, "strength": float("nan")}, "a.json")
    assert load(path)[0] != load(path)[0]  # as pydantic compares
    assert load(path) == load(path)
    assert load(path) != load(save(conversation, "b.json"))


# Several at once.

MASK = [True, False, True]


@pytest.mark.parametrize(
    "key",
    [
        MASK,
        np.array(MASK),
        [np.bool_(one) for one in MASK],
        pl.Series(MASK),
        pd.Series(MASK, index=[7, 8, 9]),
        [0, 2],
        (0, -1),
        np.array([0, 2], np.int8),
        [np.int64(0), 2],
        pl.Series([-3, 2]),
        pd.Series([0, 2]),
        iter([0, 2]),
    ],
    ids=lambda key: f"{type(key).__module__}.{type(key).__name__}",
)
def test_a_list_or_a_mask_chooses_several(key: Any, records: list[Conversation]) -> None:
    found = Conversations(records, [issue("note")])[key]
    assert list(found) == [records[0], records[2]]
    assert found == Conversations(records)[::2]
    assert found.found == (issue("note"),)


def test_positions_keep_their_order_and_may_be_none(records: list[Conversation]) -> None:
    found = Conversations(records)
    assert list(found[[2, 0]]) == [records[2], records[0]]
    for nothing in ([], np.array([]), pl.Series([], dtype=pl.Int64), [False] * 3):
        assert found[nothing] == found[:0]
    assert found[np.int64(1)] is found[np.array(1)] is found[1]
    demo = load("demo")
    assert demo[demo.tables.conversations["n_turns"] > 5] == demo.filter("n_turns > 5")


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ([True], IndexError, "the mask has 1 values for 3 conversations; give one for each"),
        (pl.Series([], dtype=pl.Boolean), IndexError, "the mask has 0 values for 3 conversations"),
        ([0, 3], IndexError, "position 3 is out of range: there are 3 conversations"),
        (-4, IndexError, "position -4 is out of range"),
        ([1, -2], IndexError, "the list names position 1 twice"),
        ([True, 1, 0], TypeError, "has positions, or true and false for each, and not both"),
        ([True, None, False], TypeError, "item 1 is null"),
        (pl.Series([True, None, False]), TypeError, "item 1 is null"),
        ([0.0, 1.0, 1.0], TypeError, "item 0 is 0.0"),
        (["kiln"], TypeError, 'item 0 is "kiln"; look up each id alone'),
        (np.ones((3, 1), bool), TypeError, "in one dimension and in order, not by ndarray"),
        ({0, 1}, TypeError, "in one dimension and in order, not by set"),
        (pl.col("n_turns") > 5, TypeError, "not by Expr; filter of a collection, or of a frame, takes a condition"),
        (1.0, TypeError, "by a position, a slice, a list of positions or a mask, not by float"),
        (None, TypeError, "not by NoneType"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_what_chooses_nothing(key: Any, error: type[Exception], message: str, records: list[Conversation]) -> None:
    with pytest.raises(error, match=re.escape(message)):
        Conversations(records)[key]
