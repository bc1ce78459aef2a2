"""The two functions that any harness can drive: the calls that are to be made, and the run made of their answers."""

import asyncio
import json
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest

from attune_bench import score
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, assemble, planned_calls, run_conversation
from attune_bench.runner import Call, Complete
from attune_data import Conversation, Run

Json = dict[str, Any]
Truth = Callable[[Conversation, Call], Json]

JUDGES = ("judge/one", "two")
SETTINGS = AttuneBenchSettings("vendor/model", judges=JUDGES)
CASES = list(product(("default", "verbose_omniscient"), ("absolute", "delta", "blind_delta")))


def timeless(run: Run) -> Json:
    record: Json = json.loads(run.to_json())
    del record["run_timestamp"]
    return record


def driven(conversation: Conversation, settings: AttuneBenchSettings, answer: Callable[[Call], str]) -> dict[str, str]:
    """Make calls as a batch service does: all that can be made, then those that follow."""
    answers: dict[str, str] = {}
    while calls := planned_calls(conversation, settings, answers=answers):
        assert not {call.id for call in calls} & answers.keys()
        assert len({call.id for call in calls}) == len(calls)
        answers |= {call.id: answer(call) for call in reversed(calls)}
    return answers


def mixed(conversation: Conversation, truth: Truth) -> Callable[[Call], str]:
    """Answer the truth, in every form that answers come in, some of them of no use."""

    def answer(call: Call) -> str:
        text = json.dumps(truth(conversation, call))
        place = sum(call.id.partition("#")[0].encode()) % 5
        if place == 0:
            return f"Here:\n```json\n{text}\n```"
        if place == 1 and not call.attempt:
            return "I would rather not."
        if place == 2:
            return '{"answers": {"B999": 3}, "choices": {"0": "neither"}}'
        return text

    return answer


@pytest.mark.parametrize(
    ("mode", "strategy"),
    [pytest.param(*case, marks=() if case in (CASES[0], CASES[-1]) else pytest.mark.slow) for case in CASES],
)
def test_what_is_assembled_is_what_a_run_gives(
    mode: str, strategy: str, demo: list[Conversation], truth: Truth
) -> None:
    settings = AttuneBenchSettings("vendor/model", mode, JUDGES, strategy, seed=3)  # type: ignore[arg-type] # parameters
    outcomes: set[str] = set()
    for conversation in demo[:6]:
        answer = mixed(conversation, truth)
        seen: dict[str, str] = {}

        async def complete(call: Call, attempt: int, answer: Any = answer, seen: dict[str, str] = seen) -> str:
            assert attempt == call.attempt
            seen[call.id] = answer(call)
            return seen[call.id]

        run = asyncio.run(run_conversation(conversation, complete, settings))
        answers = driven(conversation, settings, answer)
        assert answers == seen, "the calls of a run are those that are planned"
        assert timeless(run) == timeless(assemble(conversation, answers, settings))
        assert json.dumps(timeless(run)) == json.dumps(timeless(assemble(conversation, _stored(answers), settings)))
        outcomes |= {made["outcome"] for made in (run.model_extra or {})["calls"].values()}
    assert outcomes == {"parsed", "repaired", "retried", "failed"}


def _stored(answers: Mapping[str, str]) -> dict[str, str]:
    """Return answers as a file of them gives them back, in another order."""
    stored: dict[str, str] = json.loads(json.dumps(dict(sorted(answers.items(), reverse=True))))
    return stored


def test_the_first_calls_are_all_but_those_of_judges(five_turns: Conversation) -> None:
    every, first = planned_calls(five_turns, SETTINGS), planned_calls(five_turns, SETTINGS, answers={})
    assert first == [call for call in every if call.role != "judge"]
    assert [call.pending for call in every if call.role == "judge"] == [1] * 10


def test_judges_are_asked_about_the_drafts_that_were_given(five_turns: Conversation, truth: Truth) -> None:
    first = planned_calls(five_turns, SETTINGS, answers={})
    answers = {call.id: json.dumps(truth(five_turns, call)) for call in first}
    answers["turn-2/draft"] = '{"drafted_response": "DRAFT-2"}'
    answers["turn-3/draft"] = "no object"
    # An answer to something that nobody asked changes nothing.
    answers["turn-9/draft"] = '{"drafted_response": "DRAFT-9"}'
    calls = planned_calls(five_turns, SETTINGS, answers=answers)
    judged = [call.id for call in calls if call.role == "judge"]
    assert judged == [f"turn-{turn}/judge/{judge}" for turn in (1, 2, 4, 5) for judge in JUDGES]
    assert all(call.pending == 0 for call in calls)
    assert [call.id for call in calls if call.role == "model"] == ["turn-3/draft#2"]
    quoting = [call.id for call in calls if "DRAFT-2" in call.messages[-1]["content"]]
    assert quoting == [f"turn-2/judge/{judge}" for judge in JUDGES]
    # Once the draft is there its judges are asked, of two tries at a draft about the one that can be read.
    answers["turn-3/draft#2"] = '{"drafted_response": "DRAFT-3"}'
    later = planned_calls(five_turns, SETTINGS, answers=answers)
    assert {call.id for call in later} - {call.id for call in calls} == {f"turn-3/judge/{judge}" for judge in JUDGES}


def test_no_call_is_planned_a_third_time(five_turns: Conversation) -> None:
    answers = driven(five_turns, SETTINGS, lambda _call: "I would rather not.")
    # 21 calls twice; no draft, so that nobody judges.
    assert len(answers) == 42
    assert sorted(answers) == sorted(f"{name}{n}" for name in answers if "#" not in name for n in ("", "#2"))


@pytest.mark.parametrize("given", [{}, {"turn-1/read": "no object", "turn-1/read#2": ""}, {"other": '{"a": 1}'}])
def test_what_is_missing_is_failed_and_absent(given: dict[str, str], five_turns: Conversation) -> None:
    run = assemble(five_turns, given, SETTINGS)
    calls = (run.model_extra or {})["calls"]
    assert list(calls) == [call.id for call in planned_calls(five_turns, SETTINGS, answers={})]
    assert {call["outcome"] for call in calls.values()} == {"failed"}
    assert all(turn.model_fields_set == {"turn_number", "pairwise_assignment"} for turn in run.turns)
    assert not run.complete


def test_one_missing_answer_leaves_its_own_fields_out(five_turns: Conversation, truth: Truth) -> None:
    answers = driven(five_turns, SETTINGS, lambda call: json.dumps(truth(five_turns, call)))
    whole = timeless(assemble(five_turns, answers, SETTINGS))
    expected = {
        "turn-2/read-hp": ("em_binary_om_assessment_hp", "em_binary_human_prediction_hp"),
        "turn-2/pairwise": ("em_pairwise_selections",),
        "turn-2/read": ("em_emotion_tags", "em_binary_om_assessment", "em_binary_human_prediction"),
    }
    for name, fields in expected.items():
        part = timeless(assemble(five_turns, {key: text for key, text in answers.items() if key != name}, SETTINGS))
        assert part["calls"].pop(name) == {"outcome": "failed", "dropped": 0}
        assert part["calls"] == {key: call for key, call in whole["calls"].items() if key != name}
        assert {key for key in whole["turns"][1] if key not in part["turns"][1]} == set(fields)
        others = [(old, new) for n, (old, new) in enumerate(zip(whole["turns"], part["turns"], strict=True)) if n != 1]
        assert all(old == new for old, new in others)
        assert part["post_conversation"] == whole["post_conversation"]


def test_a_run_that_another_harness_made_is_scored_as_ours(
    demo: list[Conversation], oracle: Callable[..., Complete], truth: Truth
) -> None:
    conversations = demo[:4]
    ours = [asyncio.run(run_conversation(one, oracle(one), SETTINGS)) for one in conversations]
    theirs = []
    for one in conversations:
        answers = driven(one, SETTINGS, lambda call, one=one: json.dumps(truth(one, call)))  # type: ignore[misc] # a default
        theirs.append(assemble(one, answers, SETTINGS))
    assert records_of(score(conversations, theirs)) == records_of(score(conversations, ours))
