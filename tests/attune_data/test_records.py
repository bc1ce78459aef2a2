"""Records write back what they read: absent stays absent, null stays null, unknown keys are kept."""

import copy
import json
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from attune_data import Conversation, Conversations, Run, Runs, Turn
from attune_data.record import Record

Json = dict[str, Any]
Read = Callable[[Any], tuple[Json, list[tuple[str, str, str]]]]
Put = Callable[[Json, str, Any], Json]


def test_conversation_is_written_as_it_was_read(conversation: Json, read_conversation: Read) -> None:
    assert read_conversation(conversation) == (conversation, [])


def test_run_is_written_as_it_was_read(run: Json, read_run: Read) -> None:
    assert read_run(run) == (run, [])


Drop = Callable[[Json, str], Json]
Change = Callable[[Json, str, Put, Drop], Json]
changes = pytest.mark.parametrize(
    "change",
    [lambda record, path, put, _: put(record, path, None), lambda record, path, _, drop: drop(record, path)],
    ids=["null", "absent"],
)


@changes
def test_null_stays_null_and_absent_stays_absent_in_a_conversation(
    change: Change, conversation: Json, conversation_paths: list[str], put: Put, drop: Drop, read_conversation: Read
) -> None:
    for path in conversation_paths:
        changed = change(copy.deepcopy(conversation), path, put, drop)
        assert read_conversation(changed)[0] == changed, path


@changes
def test_null_stays_null_and_absent_stays_absent_in_a_run(
    change: Change, run: Json, run_paths: list[str], put: Put, drop: Drop, read_run: Read
) -> None:
    for path in run_paths:
        changed = change(copy.deepcopy(run), path, put, drop)
        assert read_run(changed)[0] == changed, path


EXTRA_PLACES = [
    "$",
    "$.metadata",
    "$.participant_profile",
    "$.participant_profile.demographics",
    "$.participant_profile.computed_scores",
    "$.prePanas",
    "$.conversationWideQuestions",
    "$.conversationWideQuestions.fourBranchScores",
    "$.turns[0]",
    "$.turns[0].moodShiftTags[0]",
    "$.turns[0].annotations",
    "$.turns[0].annotations.binaryJudgements[0]",
    "$.turns[0].annotations.alternateResponses",
    "$.turns[0].annotations.pairwiseComparisons[0]",
]
RUN_EXTRA_PLACES = [
    "$",
    "$.turns[0]",
    "$.turns[0].em_emotion_tags[0]",
    "$.turns[0].em_draft_judge_scores",
    "$.post_conversation",
    "$.post_conversation.predicted_post_panas",
    "$.post_conversation.predicted_conversation_wide",
    "$.post_conversation.predicted_conversation_wide.fourBranchScores",
]
EXTRA = {"deep": [{"er": None}, [], {}, "", 10**30, 0.1, True]}


@pytest.mark.parametrize("place", EXTRA_PLACES)
def test_unknown_keys_of_a_conversation_are_kept(
    place: str, conversation: Json, put: Put, read_conversation: Read
) -> None:
    put(conversation, f"{place}.reviewer note", EXTRA)
    assert read_conversation(conversation) == (conversation, [])


@pytest.mark.parametrize("place", RUN_EXTRA_PLACES)
def test_unknown_keys_of_a_run_are_kept(place: str, run: Json, put: Put, read_run: Read) -> None:
    put(run, f"{place}.reviewer note", EXTRA)
    assert read_run(run) == (run, [])


@pytest.mark.parametrize(
    "key",
    ["id", "to_json", "model_extra", "model_config", "__class__", "", "conversation_id", "turns_"],
)
def test_unknown_key_named_like_a_python_attribute_is_only_a_key(
    key: str, conversation: Json, read_conversation: Read
) -> None:
    del conversation["prePanas"]
    conversation[key] = 7
    assert read_conversation(conversation) == (conversation, [])


def test_numbers_that_json_has_no_word_for_are_kept_in_unknown_keys(
    load_conversation: Callable[[Any], Conversations],
) -> None:
    text = b'{"conversationId":"c","turns":[{"turnNumber":1,"z":NaN}],"y":[Infinity,-Infinity,-0.0]}'
    written = json.loads(load_conversation(text)[0].to_json())
    assert math.isnan(written["turns"][0]["z"])
    assert [str(number) for number in written["y"]] == ["inf", "-inf", "-0.0"]


def test_nested_unknown_key_that_could_be_read_can_be_written(
    load_conversation: Callable[[Any], Conversations],
) -> None:
    depth = 300
    nested = b"[" * depth + b"]" * depth
    loaded = load_conversation(b'{"conversationId":"c","turns":[{"turnNumber":1}],"nested":' + nested + b"}")
    for record in loaded:
        assert nested in record.to_json()
    assert len(loaded) == 1 or [issue.severity for issue in loaded.found] == ["error"]


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda record: pickle.loads(pickle.dumps(record))],  # noqa: S301
    ids=["copy", "deepcopy", "pickle"],
)
def test_copy_writes_the_same_as_the_record(
    copied: Callable[[Conversation], Conversation],
    load_conversation: Callable[[Any], Conversations],
) -> None:
    empty = {"turnNumber": 1, "userMessage": None, "moodShiftTags": None, "annotations": None}
    record = load_conversation({"conversationId": "c", "metadata": None, "turns": [empty]})[0]
    assert copied(record).to_json() == record.to_json()


def test_null_and_absent_both_read_as_empty(
    load_conversation: Callable[[Any], Conversations],
) -> None:
    null = {"turnNumber": 1, "userMessage": None, "moodShiftTags": None, "annotations": None}
    loaded = load_conversation({"conversationId": "c", "turns": [null, {"turnNumber": 2}]})
    for turn in loaded[0].turns:
        assert (turn.user_message, turn.mood_shift_tags) == ("", ())
        assert turn.annotations.binary_judgements == ()
        assert turn.annotations.alternate_responses.human_edited == ""
    assert loaded[0].participant_id is None


def test_indented_json_is_the_same_json(conversation: Json, load_conversation: Callable[[Any], Conversations]) -> None:
    record = load_conversation(conversation)[0]
    assert b"\n    " in record.to_json(indent=4)
    assert b"\n" not in record.to_json()
    assert json.loads(record.to_json(indent=4)) == conversation


def test_record_is_frozen(conversation: Json, load_conversation: Callable[[Any], Conversations]) -> None:
    record = load_conversation(conversation)[0]
    with pytest.raises(ValidationError, match="frozen"):
        record.conversation_id = "other"  # type: ignore[misc]


def test_records_can_be_built_with_python_names() -> None:
    turn = Turn(turn_number=1, user_message="Good morning.")
    assert json.loads(turn.to_json()) == {"turnNumber": 1, "userMessage": "Good morning."}
    with pytest.raises(ValidationError, match="turnNumber"):
        Turn()  # type: ignore[call-arg]


def test_python_names_are_unknown_keys_in_a_file(
    load_conversation: Callable[[Any], Conversations],
) -> None:
    turn = load_conversation({"conversationId": "c", "turns": [{"turnNumber": 1, "user_message": "x"}]})[0].turns[0]
    assert turn.user_message == ""
    assert turn.model_extra == {"user_message": "x"}
    loaded = load_conversation({"conversation_id": "c", "turns": [{"turnNumber": 1}]})
    assert [(issue.path, issue.severity) for issue in loaded.found] == [("$.conversationId", "error")]


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), (None, False)])
def test_synthetic_says_what_the_metadata_say(
    value: bool | None,
    expected: bool,
    conversation: Json,
    put: Put,
    load_conversation: Callable[[Any], Conversations],
) -> None:
    if value is not None:
        put(conversation, "$.metadata.synthetic", value)
    assert load_conversation(conversation)[0].synthetic is expected


@pytest.mark.parametrize(
    ("post", "expected"),
    [(None, False), ({}, False), ({"panas_strategy": None}, True), ({"remark": 1}, True)],
    ids=["null", "empty", "a null field", "an unknown key"],
)
def test_run_is_complete_when_its_last_part_holds_anything(
    post: Json | None, expected: bool, run: Json, load_run: Callable[[Any], Runs]
) -> None:
    run["post_conversation"] = post
    assert load_run(run)[0].complete is expected


def _properties(schema: Json) -> Iterator[tuple[str, str, Json]]:
    for name, model in {schema["title"]: schema, **schema["$defs"]}.items():
        for field, content in model.get("properties", {}).items():
            yield name, field, content


@pytest.mark.parametrize("model", [Conversation, Run])
def test_schema_describes_every_field(model: type[Record]) -> None:
    properties = list(_properties(model.model_json_schema()))
    assert len(properties) > 40
    assert [(name, field) for name, field, content in properties if not content.get("description")] == []


def test_schema_uses_the_names_of_the_files(conversation_paths: list[str]) -> None:
    fields = {field for _, field, _ in _properties(Conversation.model_json_schema())}
    names = {path.rpartition(".")[2] for path in conversation_paths if "responses." not in path}
    assert names - fields == set()


def test_the_one_form_of_a_record_does_not_depend_on_the_order_of_its_keys() -> None:
    about = {"participant_id": "p", "note": {"b": 1, "a": [2]}}
    one, other = (
        Conversation.model_validate({"conversationId": "c", "extra": dict(pairs)})
        for pairs in (about.items(), reversed(about.items()))
    )
    assert one.canonical_json() == other.canonical_json()
    assert one.canonical_json() == b'{"conversationId":"c","extra":{"note":{"a":[2],"b":1},"participant_id":"p"}}'
