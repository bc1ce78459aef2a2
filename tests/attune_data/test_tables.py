"""The tables: their schemas, every cell against the records, eager against lazy, and loading them in chunks."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from synthetic.conversations import conversations

from attune_data import Conversation, Conversations, Tables, load, load_tables
from attune_data.attunebench.tables import TABLES

Json = dict[str, Any]
Save = Callable[[Any, str], Path]
ODD = Path(__file__).parents[1] / "golden" / "vectors" / "odd" / "data"

ANSWER = pl.Enum(["yes", "no", "na"])
LABEL = pl.Enum(["original", "alternate", "human"])
BAND = pl.Enum(["within normal limits", "mild", "moderate", "severe"])
TEXT, TEXTS, WHOLE, RATING = pl.String, pl.List(pl.String), pl.Int64, pl.Int8
IN_TURN = {"conversation_id": TEXT, "turn_number": WHOLE}
SCHEMAS: dict[str, dict[str, Any]] = {
    "conversations": {
        **dict.fromkeys(["conversation_id", "om_model", "category", "subtopic", "topic", "schema_version"], TEXT),
        **dict.fromkeys(["participant_id", "profile_type", "country", "education"], TEXT),
        "work_edu_background": TEXTS,
        **dict.fromkeys(["gender", "age_range", "english_proficiency"], TEXT),
        "diagnoses": TEXTS,
        **dict.fromkeys(["who_5", "asrs_6", "aq_10"], WHOLE),
        **{name: kind for d in ("anxiety", "depression", "sleep")
           for name, kind in ((f"promis_{d}", WHOLE), (f"promis_{d}_t", pl.Float64))},
        **{f"tipi_{name}": WHOLE
           for name in ("extraversion", "agreeableness", "conscientiousness", "stability", "openness")},
        "attitude": TEXT,
        **{f"{moment}_total_{sign}_affect": RATING for moment in ("pre", "post") for sign in ("positive", "negative")},
        "diagnosis_groups": TEXTS,
        **dict.fromkeys(["who_5_screen", "asrs_6_screen", "aq_10_screen"], pl.Boolean),
        **{f"promis_{d}_t_band": BAND for d in ("anxiety", "depression", "sleep")},
        "n_turns": WHOLE,
    },
    "turns": {
        **IN_TURN,
        **dict.fromkeys(["user_message", "llm_response", "llm_improved", "human_edited"], TEXT),
        "selected_pairwise_questions": TEXTS,
    },
    "mood_tags": {**IN_TURN, "emotion": TEXT, "intensity": RATING},
    "binary": {**IN_TURN, "question_id": TEXT, **dict.fromkeys(["observed_behavior", "preferred_behavior"], ANSWER),
               "llm_value": ANSWER},
    "pairwise": {**IN_TURN, "position": WHOLE, "question_id": TEXT, "response_a": LABEL, "response_b": LABEL,
                 "winner": pl.Enum(["A", "B"])},
    "panas": {"conversation_id": TEXT, "moment": pl.Enum(["pre", "post"]), "item": TEXT, "rating": RATING},
    "conversation_wide": {
        "conversation_id": TEXT,
        **dict.fromkeys(["perceiving", "facilitating", "understanding", "managing"], RATING),
        "q1_looking_for": TEXTS,
        **dict.fromkeys(["q2_emotion_clarity", "q3_model_fit"], TEXT),
        "q3_follow_up_what_felt_off": TEXTS,
    },
}  # fmt: skip


def assert_same(first: Tables, second: Tables) -> None:
    for name in TABLES:
        assert_frame_equal(getattr(first, name), getattr(second, name))


def expected_rows(name: str, records: list[Json]) -> list[tuple[Any, ...]]:
    """Return the rows of a table from the records as JSON."""
    rows: list[tuple[Any, ...]] = []
    for record in records:
        key = record["conversationId"]
        if name == "panas":
            for moment in ("pre", "post"):
                rows += [(key, moment, *item) for item in record[f"{moment}Panas"]["responses"].items()]
        elif name == "conversation_wide":
            wide = record["conversationWideQuestions"]
            branches = [
                wide["fourBranchScores"][b] for b in ("perceiving", "facilitating", "understanding", "managing")
            ]
            q1, q2, q3 = wide["q1_lookingFor"], wide["q2_emotionClarity"], wide["q3_modelFit"]
            rows.append((key, *branches, q1, q2, q3, wide["q3_followUp_whatFeltOff"]))
        for turn in record["turns"]:
            at, noted = (key, turn["turnNumber"]), turn["annotations"]
            if name == "turns":
                other = noted["alternateResponses"]
                texts = (turn["userMessage"], turn["llmResponse"], other["llmImproved"], other["humanEdited"])
                rows.append((*at, *texts, noted["selectedPairwiseQuestions"]))
            elif name == "mood_tags":
                rows += [(*at, tag["emotion"], tag["intensity"]) for tag in turn["moodShiftTags"]]
            elif name == "binary":
                rows += [
                    (*at, j["questionId"], j["observedBehavior"], j["preferredBehavior"], j.get("llmValue"))
                    for j in noted["binaryJudgements"]
                ]
            elif name == "pairwise":
                rows += [
                    (*at, n, c["questionId"], c["responseA"], c["responseB"], c["winner"])
                    for n, c in enumerate(noted["pairwiseComparisons"])
                ]
    return rows


@pytest.mark.parametrize("name", TABLES)
def test_schema_is_the_documented_one(name: str) -> None:
    assert list(Tables.schemas()[name].items()) == list(SCHEMAS[name].items())
    for tables in (load("demo").tables, Conversations(()).tables):
        assert dict(getattr(tables, name).schema) == SCHEMAS[name]


def test_every_table_is_a_documented_property_of_both_kinds() -> None:
    assert set(Tables.schemas()) == set(TABLES) == set(SCHEMAS)
    for name in TABLES:
        assert getattr(Tables, name).__doc__


@pytest.mark.parametrize("name", [name for name in TABLES if name != "conversations"])
def test_rows_are_what_the_records_hold(name: str) -> None:
    records = Conversations(conversations(8, seed=4))
    rows = expected_rows(name, [json.loads(record.to_json()) for record in records])
    assert len(rows) >= 8
    assert getattr(records.tables, name).rows() == rows


def test_a_conversation_row_holds_every_trait(conversation: Json, save: Save) -> None:
    row = load(save(conversation, "a.json")).tables.conversations.row(0, named=True)
    absent = {"aq_10", "promis_depression", "promis_depression_t", "promis_sleep", "promis_sleep_t"}
    absent |= {"aq_10_screen", "promis_depression_t_band", "promis_sleep_t_band"}
    assert {name for name, value in row.items() if value is None} == absent | {n for n in row if n[:4] == "tipi"}
    profile = conversation["participant_profile"]
    for name, value in {**profile["demographics"], **profile["computed_scores"]}.items():
        assert row[name] == value, name
    assert (row["om_model"], row["topic"], row["attitude"]) == ("kiln-mini", "Leisure: New hobby", "Excited/Optimistic")
    assert (row["participant_id"], row["diagnosis_groups"], row["n_turns"]) == ("A90001", ["none"], 2)
    totals = [row[f"{moment}_total_{sign}_affect"] for moment in ("pre", "post") for sign in ("positive", "negative")]
    assert totals == [30, 20, 40, 10]


def test_nulls_and_odd_values_are_rows_too() -> None:
    record = Conversation.model_validate_json(
        '{"conversationId": "a", "participant_profile": null, "prePanas": {"responses": {"proud": null}},'
        '"turns": [{"turnNumber": 1000000000000000, "userMessage": null, "annotations": null}]}'
    )

    tables = Conversations([record]).tables
    assert tables.turns.rows() == [("a", 10**15, "", "", "", "", [])]
    assert tables.panas.rows() == [("a", "pre", "proud", None)]
    row = tables.conversations.row(0, named=True)
    assert (row["diagnoses"], row["diagnosis_groups"], row["participant_id"]) == ([], ["unknown"], None)


def test_frames_are_built_once() -> None:
    demo = load("demo")
    assert demo.tables is demo.tables
    assert demo.tables.binary is demo.tables.binary


@pytest.mark.parametrize("chunk", [1, 7, 20, 40, 1000])
def test_load_tables_is_load_then_tables(chunk: int) -> None:
    assert_same(load_tables("demo", chunk=chunk), load("demo").tables)


def test_load_tables_reports_what_load_reports(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(conversation, "conversation_1.json")
    save({**conversation, "turns": [{"turnNumber": 1}]}, "conversation_2.json")
    save(b"{", "conversation_3.json")
    save({**conversation}, "conversation_4.json")
    tables, records = load_tables(tmp_path, chunk=1), load(tmp_path)
    assert tables.issues.select("rule", "severity").rows() == [
        ("duplicate-conversation", "error"),
        ("invalid-json", "error"),
        ("duplicate-conversation", "note"),  # the content is the same
    ]
    assert tables.found == records.found
    assert_same(tables, records.tables)


def test_load_tables_of_odd_files() -> None:
    tables = load_tables(ODD, chunk=5)
    assert tables.found == load(ODD).found
    assert len(tables) > 20
    assert_same(tables, load(ODD).tables)


def test_load_tables_needs_a_chunk() -> None:
    with pytest.raises(ValueError, match="chunk is 0; expected a number of records from 1"):
        load_tables("demo", chunk=0)


def test_lines_of_jsonl_end_at_line_feeds_only(conversation: Json, save: Save) -> None:
    lines = []
    for number, text in enumerate(("a\u2028b", "a\x85b\r", "\x0b\x0c")):
        record = {**conversation, "conversationId": str(number), "metadata": {"category": text}}
        lines.append(json.dumps(record, ensure_ascii=False).encode())
    path = save(b"\n\n".join(lines), "a.jsonl")
    assert load_tables(path).conversations["category"].to_list() == ["a\u2028b", "a\x85b\r", "\x0b\x0c"]


@pytest.mark.slow
def test_import_does_not_load_polars() -> None:
    code = (
        "import attune_data, attune_data.attunebench.tables, attune_data.query, sys; sys.exit('polars' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
