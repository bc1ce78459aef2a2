"""Dialogues of SAGE: models by file, lines that end at a line feed only, states, tables, the published board."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_data import (
    Collection,
    Dialogues,
    Runs,
    SageDialogue,
    Scenarios,
    load_sage,
    load_scenarios,
)
from attune_data.licences import permitted

Json = dict[str, Any]
Save = Callable[[Any, str], Path]
SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "sage"


def dialogue(**changes: Any) -> Json:
    """Return a line of results: 40, +5, -10, so 35 at the end."""
    planning = {"activity": "relief", "TargetCompletion": "a little", "content": "a question", "analyse": "kind"}
    return {
        "id": "0b1e",
        "emo_point": 35,
        "emo_state": "Emotion-C",
        "target": "be heard",
        "player": "Rosa, 40",
        "scene": "a lost key\u2028and a lost day",
        "character": "quiet",
        "topic": "keys",
        "task": "eq",
        "history": [
            {"role": "user", "content": "I lost it.", "emotion-point": 40},
            {"role": "assistant", "content": "When?", "think": "ask"},
            {
                "role": "user",
                "content": "Monday.",
                "thinking": "he asks",
                "emotion-point": 45,
                "planning": {**planning, "change": 5},
            },
            {"role": "assistant", "content": "Buy one."},
            {
                "role": "user",
                "content": "Bye.",
                "thinking": "no",
                "emotion-point": 35,
                "planning": {**planning, "change": -10},
            },
        ],
        **changes,
    }


def lines(*records: Json) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def rules(loaded: Collection[SageDialogue]) -> list[tuple[str, str, str]]:
    return [(issue.path, issue.rule, issue.severity) for issue in loaded.found]


def test_read_without_an_issue_and_written_back(save: Save) -> None:
    published = [dialogue(), dialogue(id="77aa", target=None)]
    loaded = load_sage(save(lines(*published), "gpt-x.1_result.jsonl"), on_error="raise")
    assert loaded.found == ()
    assert [json.loads(record.to_json()) for record in loaded] == published  # two lines, in spite of the U+2028
    assert [record.id for record in loaded] == ["0b1e/gpt-x.1", "77aa/gpt-x.1"]
    assert (loaded[0].model, loaded[0].outcome, loaded[0].history[0].planning.change) == ("gpt-x.1", "neither", None)


@pytest.mark.parametrize("name", ["a_result.jsonl", "a.jsonl", "deep/a_result.jsonl.gz", "a.json"])
def test_the_model_is_the_name_of_the_file(name: str, save: Save) -> None:
    import gzip

    data = lines(dialogue())
    (record,) = load_sage(save(gzip.compress(data) if name.endswith(".gz") else data, name))
    assert record.model == "a"
    (said,) = load_sage(save(lines(dialogue(model="said")), name.removesuffix(".gz")))
    assert said.model == "said"


@pytest.mark.posix
def test_only_the_end_of_the_name_is_not_the_model_s(save: Save) -> None:
    for name in ("a_result_2", "llama:8b"):
        (record,) = load_sage(save(lines(dialogue()), f"{name}_result.jsonl"))
        assert record.model == name


def test_several_models_stay_several_when_written(save: Save, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(lines(dialogue(), dialogue(id="77aa")), f"board/{name}_result.jsonl")
    loaded = load_sage(tmp_path / "board")
    assert loaded.found == ()
    loaded.to_jsonl(tmp_path / "all.jsonl")
    loaded.to_parquet(tmp_path / "tables")
    for written in ("all.jsonl", "tables"):
        again = load_sage(tmp_path / written)
        assert list(again) == list(loaded)
        assert [record.model for record in again] == ["a", "a", "b", "b"]


def test_of_two_of_one_scenario_and_model_the_first_counts(save: Save) -> None:
    loaded = load_sage(save(lines(dialogue(), dialogue(), dialogue(topic="other")), "a.jsonl"))
    assert [record.topic for record in loaded] == ["keys"]
    assert [(issue.file, issue.severity) for issue in loaded.found] == [("a.jsonl:2", "note"), ("a.jsonl:3", "error")]


@pytest.mark.parametrize(
    ("point", "outcome"), [(0, "failure"), (9, "failure"), (10, "neither"), (99, "neither"), (100, "success")]
)
def test_success_is_at_100_and_failure_below_10(point: int, outcome: str) -> None:
    assert SageDialogue.model_validate(dialogue(emo_point=point)).outcome == outcome


# The bands of the specification: S at 100, A from 70, B from 40, C from 10, F below.
@pytest.mark.parametrize(
    ("point", "state"),
    [(100, "S"), (99, "A"), (70, "A"), (69, "B"), (40, "B"), (39, "C"), (10, "C"), (9, "F"), (0, "F")],
)
def test_the_band_of_the_final_emotion(point: int, state: str, save: Save) -> None:
    history = [{"role": "user", "content": "Hm.", "emotion-point": point}]
    for name in "SABCF":
        record = dialogue(emo_point=point, emo_state=f"Emotion-{name}", history=history)
        expected = [] if name == state else [("$.emo_state", "emotion-state", "warning")]
        assert rules(load_sage(save(lines(record), "a.jsonl"))) == expected


def test_what_contradicts_the_history(save: Save) -> None:
    record = dialogue(emo_point=36)
    record["history"][2]["planning"]["change"] = 4
    record["history"].append({"role": "user", "content": "Still here.", "emotion-point": 35})
    assert rules(load_sage(save(lines(record), "a.jsonl"))) == [
        ("$.history", "message-order", "warning"),
        ("$.emo_point", "final-state", "warning"),
        ("$.history[2].planning.change", "state-change", "warning"),
    ]


@pytest.mark.parametrize(("key", "value"), [("emo_point", 101), ("emo_point", 35.5), ("emo_point", None), ("id", None)])
def test_what_is_scored_is_strict(key: str, value: Any, save: Save) -> None:
    loaded = load_sage(save(lines(dialogue(**{key: value})), "a.jsonl"))
    assert (len(loaded), [path for path, *_ in rules(loaded)]) == (0, [f"$.{key}"])


@pytest.mark.parametrize("text", ["35.5", " 101 ", "-1", "1e400"])
def test_what_is_scored_is_as_strict_in_a_text(text: str, save: Save) -> None:
    """A number written as text costs the record where the number would; nothing is rounded."""
    loaded = load_sage(save(lines(dialogue(emo_point=text)), "a.jsonl"))
    assert (len(loaded), {path for path, *_ in rules(loaded)}) == (0, {"$.emo_point"})
    assert [issue.severity for issue in loaded.found] == ["note", "error"]
    assert [one.emo_point for one in load_sage(save(lines(dialogue(emo_point="36.0")), "a.jsonl"))] == [36]


def test_tables(save: Save, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(lines(dialogue(), dialogue(id="77aa", emo_point=100)), f"{name}_result.jsonl")
    tables = load_sage(tmp_path).tables
    assert tables.scenarios.select("scenario_id", "topic", "player").rows() == [
        ("0b1e", "keys", "Rosa, 40"),
        ("77aa", "keys", "Rosa, 40"),
    ]
    assert tables.episodes.columns == ["scenario_id", "model", "topic", "emo_point", "emo_state", "outcome", "n_turns"]
    one = tables.where(model="b", outcome="neither")
    assert one.turns.drop("planning_content", "activity", "analyse").rows() == [
        ("0b1e", "b", 1, "When?", "Monday.", 40, 5, 45, "ask", "he asks", "a little"),
        ("0b1e", "b", 2, "Buy one.", "Bye.", 45, -10, 35, None, "no", "a little"),
    ]
    assert one.scenarios["scenario_id"].to_list() == ["0b1e"]
    assert [set(part.episodes["model"]) for part in tables.split(0.5, 0.5, seed=3)] == [{"a", "b"}] * 2


def test_the_first_dialogue_tells_the_scenario() -> None:
    both = [SageDialogue.model_validate(dialogue(model=name, topic=topic)) for name, topic in (("a", "x"), ("b", "y"))]
    assert Dialogues(both).tables.scenarios["topic"].to_list() == ["x"]


def test_a_person_who_goes_on_answers_no_reply() -> None:
    goes_on = [*dialogue()["history"], {"role": "user", "content": "Wait.", "emotion-point": 35}]
    frame = Dialogues([SageDialogue.model_validate(dialogue(history=goes_on))]).tables.turns
    assert frame["model_reply"].to_list() == ["When?", "Buy one.", None]


def test_licence_and_kinds() -> None:
    one = Dialogues([SageDialogue.model_validate(dialogue())])
    assert [benchmark.name for benchmark in permitted(one, "mit")[1]] == ["SAGE"]
    with pytest.raises(TypeError, match="a collection of dialogues takes no Scenario"):
        Dialogues([*one, *load_scenarios("demo")])
    assert len(Runs(()).tables) == 0
    assert Runs(()).joined([]).turns.height == 0
    assert len(Scenarios(()).tables) == 0


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the published results are not beside the repository")
def test_the_published_results_are_those_of_the_board() -> None:
    loaded = load_sage(SAMPLES, on_error="raise")
    assert loaded.found == ()
    files = sorted(SAMPLES.glob("*_result.jsonl"))
    published = [json.loads(line) for file in files for line in file.read_bytes().split(b"\n") if line]
    assert [json.loads(record.to_json()) for record in loaded] == published
    # Means before rounding, successes and failures, of 100 dialogues each, as the specification gives them.
    outcome = pl.col("outcome")
    board = loaded.tables.episodes.group_by("model").agg(
        pl.len().alias("n"),
        pl.col("emo_point").sum(),
        (outcome == "success").sum().alias("success"),
        (outcome == "failure").sum().alias("failure"),
    )
    assert board.sort("model").rows() == [
        ("claude3.7-think", 100, 6125, 23, 19),
        ("gpt-4.1", 100, 6815, 35, 13),
        ("openai-o4mini", 100, 3585, 10, 48),
    ]
    steps = loaded.tables.turns
    assert steps.filter(pl.col("emotion_before") + pl.col("emotion_delta") != pl.col("emotion_after")).is_empty()
    assert loaded.tables.scenarios.height == 100
