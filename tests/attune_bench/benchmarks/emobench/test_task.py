"""Asking EmoBench: what the model sees, orders and samples, what is read, and whole runs against a local server."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, answer_to

from attune_bench import score
from attune_bench.benchmarks.emobench import TASK, EmoBenchSettings
from attune_bench.runner import RunOptions, RunOutcome, endpoint, run_sync
from attune_data import load_records
from attune_data.kinds import ITEM, PREDICTION

ITEMS = load_records("demo", ITEM)
EU, EA, ZH = ITEMS["EU/1/en"], ITEMS["EA/2/en"], ITEMS["EU/1/zh"]
SETTINGS = EmoBenchSettings("vendor/model", orders=2, samples_per_order=2)


def user_text(item: Any, settings: EmoBenchSettings = SETTINGS, place: int = 0) -> str:
    return TASK.calls(item, settings, None)[place].messages[1]["content"]


def test_what_a_model_is_asked() -> None:
    calls = TASK.calls(EU, SETTINGS, None)
    assert [call.id for call in calls] == [
        "order-0/sample-0", "order-0/sample-1", "order-1/sample-0", "order-1/sample-1",
    ]  # fmt: skip
    assert [call.sample for call in calls] == [0, 1, 0, 1]
    text = user_text(EU)
    assert EU.scenario in text
    for choices, _ in EU.questions.values():
        lines = [line[3:] for line in text.splitlines() if line[1:3] == ") "]
        assert {*choices} <= {*lines}
    assert "Which emotion or emotions would Mira feel" in text
    told_by_one = user_text(EU.model_copy(update={"subject": "I"}))  # as items of the benchmark are
    assert "would I feel in the end?" in told_by_one
    assert "Why would I feel this?" in told_by_one
    assert "Which response is the most effective one for Asha?" in user_text(EA)
    assert "问题一" in user_text(ZH)
    assert "correct" not in text
    system = calls[0].messages[0]["content"]
    assert '{"answer_q1": "letter", "answer_q2": "letter"}' in system
    assert list(calls[0].schema["properties"]) == ["answer_q1", "answer_q2"]
    assert calls[0].schema["properties"]["answer_q1"]["enum"] == [*"ABCDEF"]


def test_a_line_within_a_choice_is_no_choice_of_its_own() -> None:
    choices = [f"{choice}\nB) Stay" for choice in EA.choices]
    text = user_text(EA.model_copy(update={"choices": tuple(choices), "label": choices[0]}))
    lines = [line for line in text.splitlines() if line[1:3] == ") "]
    assert [line[0] for line in lines] == [*"ABCD"]
    assert {line[3:] for line in lines} == {f"{choice} B) Stay" for choice in EA.choices}


def test_reasoning_comes_before_the_answer() -> None:
    settings = replace(SETTINGS, reasoning=True)
    call = TASK.calls(EA, settings, None)[0]
    assert list(call.schema["properties"]) == ["reasoning", "answer"]
    assert "step by step" in call.messages[0]["content"]
    assert (settings.condition, SETTINGS.condition) == ("reasoning", "plain")


def test_orders_are_those_of_the_seed_and_the_same_in_both_languages() -> None:
    def letters(item: Any, **changes: Any) -> list[Any]:
        settings = replace(SETTINGS, orders=4, **changes)
        answers = {call.id: "{}" for call in TASK.calls(item, settings, None)}
        assert TASK.assemble is not None
        return [answer["shown"] for answer in json.loads(TASK.assemble(item, answers, settings).to_json())["answers"]]

    assert letters(EU) == letters(ZH) == letters(EU, model="other")
    assert letters(EU) != letters(EU, shuffle=1)
    assert len({json.dumps(one) for one in letters(EU)}) == 4


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ('{"answer": "B"}', "B"),
        ('I think so: {"reasoning": "...", "answer": "C"}', "C"),
        ('{"answer": "b"}', None),
        ('{"answer": "E"}', None),  # four choices
        ('{"answer": "AB"}', None),
        ('{"answer": ""}', None),
        ('{"answer": ["A"]}', None),
        ('{"answer": 1}', None),
        ('{"answer_q1": "A"}', None),
        ("B", None),
        ("", None),
    ],
)
def test_an_answer_is_one_capital_letter_of_those_shown(text: str, letter: str | None) -> None:
    settings = replace(SETTINGS, orders=1, samples_per_order=1)
    assert TASK.assemble is not None
    record: Any = TASK.assemble(EA, {"order-0/sample-0": text}, settings)
    assert record.answers[0].predictions == {"answer": (letter,)}


@pytest.mark.parametrize("change", [{"orders": 0}, {"samples_per_order": 0}, {"temperature": -1}])
def test_settings_that_make_no_sense(change: Any) -> None:
    with pytest.raises(ValueError, match=r"orders and samples_per_order|temperature"):
        replace(SETTINGS, **change)


def test_an_item_without_a_right_choice_is_not_asked() -> None:
    assert TASK.unusable(EU) == ""
    assert TASK.unusable(EU.model_copy(update={"cause_label": "?"})) == "not one right choice of A to G: cause"


# Whole runs.


def run(server: ModelServer, output: Path, settings: EmoBenchSettings, items: Any = ITEMS[:4]) -> RunOutcome:
    servers: Any = {"model": endpoint("local", base_url=server.url)}
    return run_sync(TASK, list(items), settings, servers, output=output, options=RunOptions())


def test_a_run_is_scored_and_goes_on_without_calls(tmp_path: Path) -> None:
    with ModelServer() as server:
        outcome = run(server, tmp_path, SETTINGS)
        assert (outcome.finished, outcome.skipped, server.calls) == (4, (), 4 * 2 * 2)
        run(server, tmp_path, SETTINGS)
        run(server, tmp_path, replace(SETTINGS, reasoning=True))
        assert server.calls == 2 * 4 * 2 * 2
    results = load_records(tmp_path, PREDICTION)
    assert results.found == ()
    assert len(results) == 8
    for one in results:
        assert [len(answer.predictions["emotion"]) for answer in one.answers] == [2, 2]
    scores = score(ITEMS, results)
    (plain, reasoning) = scores.provenance.settings
    assert (plain.condition, reasoning.condition) == ("plain", "reasoning")
    assert plain.settings["samples_per_order"] == (2,)
    assert None not in {value for group in (plain, reasoning) for found in group.settings.values() for value in found}
    assert scores.values.height == 8


def test_samples_of_one_order_have_seeds_of_their_own(tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, tmp_path, replace(SETTINGS, seed=5), ITEMS[:1])
        assert sorted(body["seed"] for body in server.bodies) == [5, 5, 6, 6]


def test_a_model_that_knows_is_right_in_every_order(tmp_path: Path) -> None:
    def answer(body: Any) -> str:
        asked = body["messages"][1]["content"]
        (item,) = [item for item in ITEMS if item.scenario in asked]
        lines = [line for line in asked.splitlines() if line[1:3] == ") "]
        letters = [line[0] for line in lines if line[3:] in {label for _, label in item.questions.values()}]
        keys = ["answer"] if item.task == "EA" else ["answer_q1", "answer_q2"]
        return json.dumps(dict(zip(keys, letters, strict=True)))

    items = [*ITEMS[:3], *ITEMS.where(task="EA")[:3]]
    with ModelServer(answer=answer) as server:
        run(server, tmp_path, SETTINGS, items)
    scores = score(ITEMS, load_records(tmp_path, PREDICTION))
    assert scores.values["item_accuracy"].to_list() == [1.0] * 6


def test_a_server_without_schemas_and_answers_that_cannot_be_read(tmp_path: Path) -> None:
    with ModelServer(answer=lambda body: "I cannot say." if "Mira" in str(body) else answer_to(body)) as server:
        assert run(server, tmp_path, replace(SETTINGS, answer_format="free"), ITEMS[:2]).skipped == ()
        # What cannot be read is not asked for again.
        assert server.calls == 2 * 2 * 2
    one = load_records(tmp_path, PREDICTION)["EU/1/en/vendor/model/plain"]
    assert one.answers[0].predictions == {"emotion": (None, None), "cause": (None, None)}
