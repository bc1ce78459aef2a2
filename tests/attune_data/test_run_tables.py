"""Joined tables of runs: schemas, every row against a naive join of the records as JSON, odd keys, queries."""

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from attune_data import Conversation, Conversations, Run, Runs, RunTables, load, load_runs
from attune_data.attunebench.tables import TABLES, Tables
from attune_data.issues import Issue

Json = dict[str, Any]
Row = tuple[Any, ...]

BINARY = [
    "em_binary_om_assessment", "em_binary_human_prediction", "em_binary_om_assessment_hp",
    "em_binary_human_prediction_hp", "em_draft_binary_assessment",
]  # fmt: skip
ANSWER = pl.Enum(["yes", "no", "na"])
MODE = pl.Enum(["default", "verbose", "omniscient", "verbose_omniscient"])
RATING, TEXT, NUMBER = pl.Int8, pl.String, pl.Float64
PREDICTED: dict[str, dict[str, Any]] = {
    "conversations": {
        "source_file": TEXT, "run_timestamp": TEXT, "api_cost": NUMBER, "duration_seconds": NUMBER,
        "em_panas_strategy": pl.Enum(["absolute", "delta", "blind_delta"]),
        "em_post_total_positive_affect": RATING, "em_post_total_negative_affect": RATING,
    },
    "turns": {
        "em_drafted_response": TEXT, "em_response_reasoning": TEXT, "em_emotion_reasoning": TEXT,
        **{f"em_draft_{name}": NUMBER
           for name in ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")},
        "em_continuation": TEXT, "em_paraphrase_continuation": TEXT, "em_paraphrase_end": TEXT,
    },
    "mood_tags": {"em_intensity": RATING},
    "binary": dict.fromkeys(BINARY, ANSWER),
    "pairwise": {"em_winner": pl.Enum(["A", "B"])},
    "panas": {"em_rating": RATING},
    "conversation_wide": {
        "em_q1_looking_for": pl.List(pl.String), "em_q2_emotion_clarity": TEXT, "em_q3_model_fit": TEXT,
        "em_q3_follow_up_what_felt_off": pl.List(pl.String),
        **dict.fromkeys(["em_perceiving", "em_facilitating", "em_understanding", "em_managing"], RATING),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_schema_is_the_documented_one(name: str) -> None:
    keys = {"conversation_id": TEXT, "em_model": TEXT, "mode": MODE, "repeat": pl.Int64}
    sides = {"annotated": pl.Boolean, "predicted": pl.Boolean}
    expected: Json = {**keys, **Tables.schemas()[name], **PREDICTED[name], **sides}
    assert list(RunTables.schemas()[name].items()) == list(expected.items())
    runs = load_runs("demo")
    for tables in (runs.joined(load("demo")), runs[:0].joined([]), runs[:2].joined([])):
        assert dict(getattr(tables, name).schema) == expected


# A naive join: every pair of an annotation and a prediction is looked at.


def last_turns(record: Json | None) -> list[Json]:
    turns = record["turns"] if record else []
    return [t for i, t in enumerate(turns) if all(t["turnNumber"] != u["turnNumber"] for u in turns[i + 1 :])]


def last(items: Sequence[Row]) -> list[Row]:
    """Return the items that no later item with the same key replaces; the key stands first."""
    return [item for i, item in enumerate(items) if all(item[0] != later[0] for later in items[i + 1 :])]


def full_join(truth: Sequence[Row], given: Sequence[Row], width: int, em_width: int) -> list[Row]:
    """Return key, truth, prediction, annotated, predicted of every key."""
    rows: list[Row] = []
    for key, *values in truth:
        found = [others for other, *others in given if other == key]
        rows.append((key, *values, *(found[0] if found else [None] * em_width), True, bool(found)))
    for key, *values in given:
        if all(key != other for other, *_ in truth):
            rows.append((key, *[None] * width, *values, False, True))
    return rows


def tags(items: Sequence[Json]) -> list[Row]:
    return last([(tag["emotion"].strip().lower(), tag["intensity"]) for tag in items])


def answers(turn: Json) -> list[Row]:
    asked = sorted({question for name in BINARY for question in turn.get(name) or {}})
    rows = [(question, *((turn.get(name) or {}).get(question) for name in BINARY)) for question in asked]
    return [row for row in rows if set(row[1:]) != {None}]


def selections(turn: Json) -> list[Row]:
    given = [(key, choice) for key, choice in turn["em_pairwise_selections"].items() if choice is not None]
    return [(int(key) if key in {"0", "1", "99"} else key, choice) for key, choice in given]


def naive(name: str, runs: Sequence[Json], conversations: Sequence[Json]) -> list[Row]:
    rows: list[Row] = []
    for run in runs:
        found = [c for c in conversations if c["conversationId"] == run["conversationId"]]
        truth = found[0] if found else None
        key = run["conversationId"], run["em_model"], run["mode"], run.get("repeat", 1)
        numbers = {turn["turnNumber"] for turn in (*last_turns(truth), *last_turns(run))}
        for number in numbers:
            mine = [turn for turn in last_turns(truth) if turn["turnNumber"] == number]
            theirs = [turn for turn in last_turns(run) if turn["turnNumber"] == number]
            noted = mine[0]["annotations"] if mine else {"binaryJudgements": [], "pairwiseComparisons": []}
            given = theirs[0] if theirs else {"em_emotion_tags": [], "em_pairwise_selections": {}}
            joined: list[Row] = []
            if name == "turns":
                joined = [(bool(mine), bool(theirs))]
            elif name == "mood_tags":
                joined = full_join(tags(mine[0]["moodShiftTags"] if mine else []), tags(given["em_emotion_tags"]), 1, 1)
            elif name == "binary":
                judged = [
                    (j["questionId"], j["observedBehavior"], j["preferredBehavior"], None)
                    for j in noted["binaryJudgements"]
                ]
                joined = full_join(last(judged), answers(given), 3, 5)
            elif name == "pairwise":
                pairs = [(i, c["questionId"], "human", None, c["winner"])
                         for i, c in enumerate(noted["pairwiseComparisons"])]  # fmt: skip
                joined = full_join(pairs, selections(given), 4, 1)
                joined = [(None if isinstance(row[0], str) else row[0], *row[1:]) for row in joined]
            rows += [(*key, number, *row) for row in joined]
        if name == "panas":
            post = run["post_conversation"]
            predicted = [(i.lower(), v) for i, v in (post["predicted_post_panas"]["items"] if post else {}).items()]
            for moment, guess in (("pre", []), ("post", predicted)):
                items = list(truth[f"{moment}Panas"]["responses"].items()) if truth else []
                rows += [(*key, moment, *row) for row in full_join(items, guess, 1, 1)]
    return rows


words = st.sampled_from(["Nervous", " nervous ", "NERVOUS", "Proud", "Upset", "made up"])
tag_lists = st.lists(
    st.builds(lambda e, i: {"emotion": e, "intensity": i}, words, st.sampled_from([None, 1, 7])), max_size=3
)
questions = st.sampled_from(["B1", "B2", "b1", "X"])
answer = st.sampled_from(["yes", "no", "na", None])
numbers = st.sampled_from([1, 2, 2, 5])
ids = st.sampled_from(["a", "b"])
conversation_lists = st.lists(
    st.fixed_dictionaries(
        {
            "conversationId": ids,
            "prePanas": st.fixed_dictionaries({"responses": st.dictionaries(st.just("proud"), st.just(3))}),
            "postPanas": st.fixed_dictionaries(
                {"responses": st.dictionaries(st.sampled_from(["proud", "upset"]), st.integers(1, 7))}
            ),
            "turns": st.lists(
                st.fixed_dictionaries(
                    {
                        "turnNumber": numbers,
                        "moodShiftTags": tag_lists,
                        "annotations": st.fixed_dictionaries(
                            {
                                "binaryJudgements": st.lists(
                                    st.fixed_dictionaries(
                                        {"questionId": questions, "observedBehavior": answer,
                                         "preferredBehavior": answer}
                                    ),
                                    max_size=4,
                                ),
                                "pairwiseComparisons": st.lists(
                                    st.fixed_dictionaries(
                                        {"questionId": st.just("general"), "responseA": st.just("human"),
                                         "winner": st.sampled_from(["A", "B", None])}
                                    ),
                                    max_size=2,
                                ),
                            }
                        ),
                    }
                ),
                max_size=3,
            ),
        }
    ),
    max_size=3,
)  # fmt: skip
run_lists = st.lists(
    st.fixed_dictionaries(
        {
            "conversationId": ids,
            "em_model": st.sampled_from(["m", "n"]),
            "mode": st.sampled_from(["default", "verbose"]),
            "repeat": st.sampled_from([1, 2]),
            "turns": st.lists(
                st.fixed_dictionaries(
                    {
                        "turnNumber": numbers,
                        "em_emotion_tags": tag_lists,
                        "em_pairwise_selections": st.dictionaries(
                            st.sampled_from(["0", "1", "01", "99", "x", "²"]), st.sampled_from(["A", "B", None])
                        ),
                        **{name: st.dictionaries(questions, answer, max_size=3) for name in BINARY},
                    }
                ),
                max_size=3,
            ),
            "post_conversation": st.none()
            | st.fixed_dictionaries(
                {
                    "predicted_post_panas": st.fixed_dictionaries(
                        {"items": st.dictionaries(st.sampled_from(["Proud", "Afraid"]), st.integers(1, 7))}
                    )
                }
            ),
        }
    ),
    max_size=4,
    unique_by=lambda run: (run["conversationId"], run["em_model"], run["mode"], run["repeat"]),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(run_lists, conversation_lists)
def test_rows_are_those_of_a_naive_join(runs: list[Json], conversations: list[Json]) -> None:
    tables = Runs([Run.model_validate(run) for run in runs]).joined(
        [Conversation.model_validate(one) for one in conversations]
    )
    for name in ("turns", "mood_tags", "binary", "pairwise", "panas"):
        frame = getattr(tables, name)
        if name == "turns":
            keys = ("conversation_id", "em_model", "mode", "repeat", "turn_number")
            frame = frame.select(*keys, "annotated", "predicted")
        if name == "mood_tags":
            frame = frame.with_columns(pl.col("emotion").str.strip_chars().str.to_lowercase())
        assert sorted(frame.rows(), key=repr) == sorted(naive(name, runs, conversations), key=repr), name
    assert len(tables) == tables.conversation_wide.height == len(runs)


def test_order_and_spelling_by_hand(make: Callable[..., tuple[Runs, list[Conversation]]]) -> None:
    runs, conversations = make()
    tables = runs.joined(conversations)
    first = tables.mood_tags.filter(pl.col("turn_number") == 1)
    assert first.select("emotion", "intensity", "em_intensity", "annotated", "predicted").rows() == [
        ("Nervous", 5, 4, True, True),
        ("Excited", None, None, True, False),
        ("Proud", None, None, False, True),
    ]
    answers = tables.binary.filter(pl.col("turn_number") == 2)
    assert answers.select("question_id", "observed_behavior", BINARY[0], "annotated").rows() == [
        ("B1", "yes", "yes", True), ("B501", "no", "no", True), ("B7", None, "na", False),
    ]  # fmt: skip
    chosen = tables.pairwise.filter(pl.col("turn_number") == 1)
    assert chosen["em_winner"].to_list() == ["A", "B", None, None, None, None, None, None, "A"]
    row = tables.conversation_wide.row(0, named=True)
    assert (row["perceiving"], row["em_perceiving"], row["em_q1_looking_for"]) == (5, 4, ["Other"])
    run = tables.conversations.row(0, named=True)
    assert (run["country"], run["em_post_total_negative_affect"], run["duration_seconds"]) == ("Chile", 30, 12.5)
    turn = tables.turns.row(1, named=True)
    assert (turn["em_draft_tone_match"], turn["em_draft_helpfulness"], turn["turn_number"]) == (4.5, None, 2)


def test_of_what_repeats_the_first_record_counts(
    make: Callable[..., tuple[Runs, list[Conversation]]],
) -> None:
    runs, conversations = make()
    other = Conversation(conversation_id=conversations[0].id)
    later = Run(conversation_id=runs[0].conversation_id, em_model=runs[0].em_model)
    tables = Runs([runs[0], later]).joined([*conversations, other])
    assert_frame_equal(tables.binary, runs.joined(conversations).binary)
    assert len(tables) == 1


def test_a_missing_conversation_or_ending_leaves_nulls(
    make: Callable[..., tuple[Runs, list[Conversation]]],
) -> None:
    runs, conversations = make(post_conversation=None)
    alone = runs.joined([])
    row = alone.conversations.row(0, named=True)
    assert (row["annotated"], row["predicted"], row["diagnoses"], row["n_turns"]) == (False, False, None, None)
    assert row["diagnosis_groups"] == ["unknown"]
    assert alone.stratify("diagnosis_group").keys() == {"unknown"}
    assert alone.stratify("diagnoses").keys() == alone.stratify("asrs_6_screen").keys() == {"no answer"}
    wide = runs.joined(conversations).conversation_wide.row(0, named=True)
    assert (wide["annotated"], wide["predicted"], wide["q3_follow_up_what_felt_off"]) == (
        True,
        False,
        ["It hurried me."],
    )
    assert (wide["em_q1_looking_for"], wide["em_managing"]) == (None, None)


@pytest.fixture
def make(conversation: Json, run: Json) -> Callable[..., tuple[Runs, list[Conversation]]]:
    return lambda **changes: (
        Runs([Run.model_validate_json(json.dumps({**run, **changes}))]),
        [Conversation.model_validate_json(json.dumps(conversation))],
    )


# Queries.


def test_every_frame_of_a_part_is_that_of_its_runs() -> None:
    runs, conversations = load_runs("demo"), load("demo")
    tables = runs.joined(conversations)
    part = tables.where(em_model="synthetic/hasty", diagnosis="ADHD")
    kept = {c.id for c in conversations.where(diagnosis="ADHD")}
    expected = Runs([r for r in runs if r.em_model == "synthetic/hasty" and r.conversation_id in kept])
    both = part | tables.where(em_model="synthetic/attentive", diagnosis="ADHD")
    reordered = [r for m in ("synthetic/hasty", "synthetic/attentive") for r in runs
                 if r.em_model == m and r.conversation_id in kept]  # fmt: skip
    assert len(part) == len(expected) == len(kept) > 0
    for name in TABLES:
        frame = getattr(expected.joined(conversations), name)
        assert_frame_equal(getattr(part, name), frame)
        assert_frame_equal(getattr(both, name), getattr(Runs(reordered).joined(conversations), name))
    assert repr(part) == "<RunTables of 8 runs, 6 participants; em_model=synthetic/hasty, diagnosis=ADHD>"


def test_participants_stay_whole_also_without_a_name() -> None:
    bare = [Conversation(conversation_id=str(n)) for n in range(6)]
    runs = Runs([Run(conversation_id=str(n), em_model=m) for m in ("m", "n") for n in range(6)])
    parts = runs.joined(bare).split(0.5, 0.5, seed=1)
    assert [len(part) for part in parts] == [6, 6]
    first, second = (set(part.conversations["conversation_id"]) for part in parts)
    assert (len(first), first & second) == (3, set())


def test_issues_of_both_sides_and_frames_built_once() -> None:
    one, two = (Issue(name, "$", "invalid-json", "error", "{", "broken", "left out") for name in ("a", "b"))
    tables = Runs(list(load_runs("demo"))[:2], [one]).joined(Conversations(list(load("demo")), [two, one]))
    assert tables.where(mode="default").found == (one, two)
    assert tables.binary is tables.binary
    assert isinstance(tables.where(mode="default"), RunTables)


def test_runs_by_themselves_are_asked_as_others_are() -> None:
    """A run is a row, with what its file says of how it was made; a conversation is drawn with all of its runs."""
    made: list[dict[str, Any]] = [
        {"em_model": "m1", "provider": "openrouter", "prompt_version": "v2", "api_cost": 0.5},
        {"em_model": "m2", "provider": {"name": "odd"}, "mode": "verbose", "turns": [{"turn_number": 1}]},
        {"em_model": "m1", "conversation_id": "c2", "run_timestamp": "2026-01-01"},
    ]
    runs = Runs([Run(**{"conversation_id": "c1", **one}) for one in made])
    names = ["conversation_id", "em_model", "mode", "provider", "prompt_version", "api_cost", "n_turns", "complete"]
    assert runs.tables.runs.select(names).rows() == [
        ("c1", "m1", "default", "openrouter", "v2", 0.5, 0, False),
        ("c1", "m2", "verbose", None, None, None, 1, False),
        ("c2", "m1", "default", None, None, None, 0, False),
    ]
    assert runs.unit_ids == ["c1", "c1", "c2"]
    assert list(runs.where(em_model="m1", provider=None)) == [runs[2]]
    assert list(runs.filter("n_turns = 1")) == [runs[1]]
    assert {name: len(part) for name, part in runs.stratify("mode").items()} == {"default": 2, "verbose": 1}
    assert {len(runs.sample(1, seed=seed)) for seed in range(20)} == {1, 2}
    assert sorted(len(part) for part in runs.split(0.5, 0.5, seed=0)) == [1, 2]
    assert hasattr(runs, "tables")
    assert dict(inspect.getmembers(runs))["tables"] is runs.tables
    with pytest.raises(ValueError, match="no run has em_model 'm3'; expected one of m1, m2"):
        runs.where(em_model="m3")


def test_only_runs_are_joined_and_only_with_their_kind_united() -> None:
    demo = load("demo")
    with pytest.raises(TypeError, match=r"runs are joined with conversations, .*: runs\.joined\(conversations\)"):
        load_runs("demo").joined(load_runs("demo"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unsupported operand"):
        demo.tables | load_runs("demo").joined(demo)
