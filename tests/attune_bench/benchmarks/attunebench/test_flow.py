"""Which calls are made about a conversation, in what order and how they depend on one another; what becomes of them."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from attune_bench import score
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, planned_calls, run_conversation, write_runs
from attune_bench.runner import Call, CallFailedError, Complete
from attune_data import Conversation, Run, load_runs

Json = dict[str, Any]
Oracle = Callable[..., Complete]

SETTINGS = AttuneBenchSettings("vendor/model", judges=("judge/one",))
MODES = ("default", "verbose", "omniscient", "verbose_omniscient")
PERFECT = """avg_emotion_hit_rate avg_emotion_f1 avg_emotion_f1_intensity avg_emotion_va_score avg_binary_om_accuracy
    avg_binary_human_accuracy avg_binary_om_accuracy_hp avg_binary_human_accuracy_hp avg_pairwise_accuracy
    avg_response_similarity_human_edited avg_draft_judge_score avg_draft_binary_alignment turn_level_average""".split()
STRATEGIES = ("absolute", "delta", "blind_delta")


def settings(**changes: Any) -> AttuneBenchSettings:
    return AttuneBenchSettings(**{"model": "vendor/model", "judges": ("judge/one",), **changes})


def ask(conversation: Conversation, complete: Complete, **changes: Any) -> Run:
    return asyncio.run(run_conversation(conversation, complete, settings=settings(**changes)))


def timeless(run: Run) -> Json:
    record: Json = json.loads(run.to_json())
    del record["run_timestamp"]
    return record


def extra(run: Run, name: str) -> Any:
    return (run.model_extra or {})[name]


def test_order_is_that_of_the_benchmark(five_turns: Conversation) -> None:
    kinds = ("draft", "judge/judge/one", "read", "read-hp", "pairwise")
    expected = [f"turn-{number}/{kind}" for number in range(1, 6) for kind in kinds] + ["post"]
    assert [call.id for call in planned_calls(five_turns, SETTINGS)] == expected
    assert len(expected) == 26


def test_what_a_turn_lacks_is_not_asked(conversation: Json) -> None:
    # The one question of turn 2 has na beside null; that of turn 3 has na beside yes, that of turn 4 no truth.
    turns = [dict(conversation["turns"][0], turnNumber=number) for number in range(1, 6)]
    for turn, answers in zip(turns[1:4], [("na", None), ("na", "yes"), (None, None)], strict=True):
        question = {"questionId": "B1", "observedBehavior": answers[0], "preferredBehavior": answers[1]}
        turn["annotations"] = {**turn["annotations"], "binaryJudgements": [question]}
    turns[1]["annotations"]["pairwiseComparisons"] = []
    turns[1]["annotations"]["alternateResponses"] = None
    turns[4]["annotations"] = {**turns[4]["annotations"], "binaryJudgements": []}
    record = Conversation.model_validate({**conversation, "turns": turns})
    by_turn = {
        number: [call.id.split("/")[1] for call in planned_calls(record, SETTINGS) if f"turn-{number}/" in call.id]
        for number in range(1, 6)
    }
    everything = ["draft", "judge", "read", "read-hp", "pairwise"]
    no_questions = ["draft", "judge", "read", "pairwise"]
    assert by_turn == {1: everything, 2: ["draft", "read"], 3: everything, 4: everything, 5: no_questions}
    schemas = {call.id: call.schema["properties"] for call in planned_calls(record, SETTINGS)}
    assert "answers" not in schemas["turn-2/read"]
    assert list(schemas["turn-5/judge/judge/one"]) == [
        "overall_score",
        "emotional_appropriateness",
        "helpfulness",
        "tone_match",
    ]


def test_without_an_edited_response_a_judge_only_answers_questions(conversation: Json) -> None:
    conversation["turns"][0]["annotations"]["alternateResponses"]["humanEdited"] = " \n"
    record = Conversation.model_validate(conversation)
    judged = next(call for call in planned_calls(record, SETTINGS) if call.role == "judge")
    assert list(judged.schema["properties"]) == ["answers"]
    assert "overall_score" not in judged.messages[-1]["content"]


def test_a_truth_that_only_a_model_gave_makes_a_question_apply(conversation: Json) -> None:
    # The observed truth is the recorded llmValue, yes; it is scored, so it is asked.
    question = {"questionId": "B7", "observedBehavior": None, "preferredBehavior": "na", "llmValue": "yes"}
    conversation["turns"][0]["annotations"]["binaryJudgements"] = [question]
    record = Conversation.model_validate(conversation)
    read = next(call for call in planned_calls(record, SETTINGS) if call.id == "turn-1/read")
    assert list(read.schema["properties"]["answers"]["properties"]) == ["B7"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("mode", MODES)
def test_the_calls_made_are_those_planned(five_turns: Conversation, oracle: Oracle, mode: str, strategy: str) -> None:
    seen: list[Call] = []
    changes = {"mode": mode, "panas_strategy": strategy, "judges": ("judge/one", "two")}
    ask(five_turns, oracle(five_turns, seen), **changes)
    planned = {call.id: call for call in planned_calls(five_turns, settings(**changes))}
    assert sorted(call.id for call in seen) == sorted(planned)
    assert len(seen) == 31
    for call in seen:
        if call.role == "judge":
            assert (call.model, call.schema) == (planned[call.id].model, planned[call.id].schema)
            assert call.size > planned[call.id].size
        else:
            assert call == planned[call.id]


@pytest.mark.slow
def test_an_oracle_scores_100_and_its_runs_load_without_issue(
    demo: list[Conversation], oracle: Oracle, tmp_path: Any
) -> None:
    runs = [ask(conversation, oracle(conversation)) for conversation in demo]
    write_runs(runs, tmp_path)
    loaded = load_runs(tmp_path)
    assert loaded.issues.filter(loaded.issues["severity"] != "note").height == 0
    assert {run.id: run for run in loaded} == {run.id: run for run in runs}
    scores = score(demo, loaded)
    (aggregate,) = aggregates(scores)
    assert {name: aggregate[name] for name in PERFECT} == pytest.approx(dict.fromkeys(PERFECT, 1.0), abs=1e-12)
    # Where no PANAS total changed, panas01 is 0.5 instead of 1, and the composite 100 (1 - 0.27 x 0.4 x 0.5) = 94.6.
    unchanged = {c.id for c in demo if _totals(c.pre_panas) == _totals(c.post_panas)}
    composites = {record["conversationId"]: record["composite_score"] for record in records_of(scores)}
    assert composites == {conversation.id: 94.6 if conversation.id in unchanged else 100 for conversation in demo}
    assert len(unchanged) < 3


def _totals(panas: Any) -> tuple[int, int]:
    return panas.total_positive_affect, panas.total_negative_affect


def test_a_run_file_says_how_it_was_made(five_turns: Conversation, oracle: Oracle) -> None:
    run = ask(five_turns, oracle(five_turns), mode="verbose", seed=3, temperature=0.5)
    assert (run.conversation_id, run.em_model, run.mode) == (five_turns.id, "vendor/model", "verbose")
    assert [extra(run, name) for name in ("seed", "temperature", "max_tokens")] == [3, 0.5, 4096]
    assert extra(run, "prompt_version") == "v2"
    assert [len(extra(run, name)) for name in ("prompt_hash", "codebook_hash")] == [64, 64]
    assert run.turns[1].response_reasoning == "Reasons for turn-2/draft."
    assert run.turns[1].emotion_reasoning == "Reasons for turn-2/read."
    comparison = five_turns.turns[0].annotations.pairwise_comparisons[2]
    assert run.turns[0].pairwise_assignment["2"] == {"A": comparison.response_a, "B": comparison.response_b}
    assert list(extra(run, "calls")) == [call.id for call in planned_calls(five_turns, settings(mode="verbose"))]
    assert all(call == {"outcome": "parsed", "dropped": 0} for call in extra(run, "calls").values())


@pytest.mark.parametrize(
    ("mode", "strategy", "shown"),
    [
        ("default", "absolute", ["totalPositiveAffect", "totalNegativeAffect"]),
        ("default", "delta", ["totalPositiveAffect", "totalNegativeAffect"]),
        ("default", "blind_delta", None),
        ("omniscient", "absolute", ["totalPositiveAffect", "totalNegativeAffect"]),
        ("omniscient", "blind_delta", ["totalPositiveAffect", "totalNegativeAffect"]),
    ],
)
def test_a_run_records_what_was_shown_of_the_panas(
    five_turns: Conversation, oracle: Oracle, mode: str, strategy: str, shown: list[str] | None
) -> None:
    post = ask(five_turns, oracle(five_turns), mode=mode, panas_strategy=strategy).post_conversation
    assert post is not None
    assert post.panas_strategy == strategy
    assert (post.pre_panas_shown and list(post.pre_panas_shown)) == shown


def test_a_run_records_the_totals_that_were_shown(conversation: Json, oracle: Oracle) -> None:
    # Ten positive items of 3 are 30, whatever the file says.
    conversation["prePanas"]["totalPositiveAffect"] = 44
    record = Conversation.model_validate(conversation)
    seen: list[Call] = []
    post = ask(record, oracle(record, seen), mode="omniscient", panas_strategy="absolute").post_conversation
    assert post is not None
    assert post.pre_panas_shown is not None
    assert post.pre_panas_shown["totalPositiveAffect"] == 30
    shown = "\n".join(message["content"] for call in seen for message in call.messages)
    # After the profile, in each of the 2 x 4 + 1 calls of the model, and once more in the last one.
    assert shown.count("positive feelings add up to 30,") == 10
    assert "add up to 44" not in shown


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_predicts_the_same_ratings(five_turns: Conversation, oracle: Oracle, strategy: str) -> None:
    post = ask(five_turns, oracle(five_turns), panas_strategy=strategy).post_conversation
    assert post is not None
    items = {word.lower(): rating for word, rating in post.predicted_post_panas.items.items()}
    assert items == five_turns.post_panas.responses
    assert post.predicted_post_panas.total_positive_affect == five_turns.post_panas.total_positive_affect
    assert bool(post.predicted_panas_delta) == (strategy != "absolute")


def test_everything_but_judges_is_started_together(five_turns: Conversation, oracle: Oracle) -> None:
    answer, waiting = oracle(five_turns), 0

    async def run() -> Run:
        everyone_is_there = asyncio.Event()

        async def complete(call: Call, attempt: int) -> str:
            nonlocal waiting
            waiting += call.role != "judge"
            if waiting == 21:
                everyone_is_there.set()
            await everyone_is_there.wait()
            return await answer(call, attempt)

        return await asyncio.wait_for(run_conversation(five_turns, complete, SETTINGS), 30)

    assert asyncio.run(run()).complete


def test_timing_does_not_change_a_run(five_turns: Conversation, oracle: Oracle) -> None:
    answer, count = oracle(five_turns), 0

    async def late_ones_first(call: Call, attempt: int) -> str:
        nonlocal count
        count += 1
        for _ in range(10 * (40 - count)):
            await asyncio.sleep(0)
        return await answer(call, attempt)

    slow, fast = ask(five_turns, late_ones_first), ask(five_turns, answer)
    assert json.dumps(timeless(slow)) == json.dumps(timeless(fast))


def test_an_endpoint_that_fails_fails_the_conversation_after_all_other_calls(
    five_turns: Conversation, oracle: Oracle
) -> None:
    answer, answered = oracle(five_turns), []

    async def complete(call: Call, attempt: int) -> str:
        if call.id in ("turn-4/read", "turn-2/draft"):
            raise CallFailedError(f"no answer to {call.id}")
        await asyncio.sleep(0.01)
        text = await answer(call, attempt)
        answered.append(call.id)
        return text

    with pytest.raises(CallFailedError, match="no answer to turn-2/draft"):
        ask(five_turns, complete)
    # All 26 but the two that failed and the judgement of the draft that is not there.
    assert len(answered) == 23


def test_cancelling_leaves_no_call_behind(five_turns: Conversation) -> None:
    async def never(call: Call, attempt: int) -> str:
        await asyncio.Event().wait()
        return f"{call.id} {attempt}"

    async def run() -> set[asyncio.Task[Any]]:
        task = asyncio.create_task(run_conversation(five_turns, never, SETTINGS))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(run()) == set()


# Answers that are not as they were asked for.


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(five_turns: Conversation, oracle: Oracle) -> None:
    seen: list[Call] = []

    def wrap(text: str, call: Call, attempt: int) -> str:
        if call.id.startswith("turn-1/read") and "-hp" not in call.id:
            return text if attempt else "I would rather not."
        return f"Here it is:\n```json\n{text}\n```" if call.id == "turn-1/draft" else text

    run = ask(five_turns, oracle(five_turns, seen, wrap))
    outcomes = {name: call["outcome"] for name, call in extra(run, "calls").items()}
    assert outcomes.pop("turn-1/draft") == "repaired"
    assert outcomes.pop("turn-1/read") == "retried"
    assert set(outcomes.values()) == {"parsed"}
    first, second = (call for call in seen if call.id.startswith("turn-1/read") and "-hp" not in call.id)
    assert (second.id, first.attempt, second.attempt) == ("turn-1/read#2", 0, 1)
    assert second.messages[:-1] == first.messages[:-1]
    assert second.messages[-1]["content"].startswith(first.messages[-1]["content"])
    assert "could not be read" in second.messages[-1]["content"]


@pytest.mark.parametrize("garbage", ["", "No.", "{}", "null", "[]", '{"error": "overloaded"}', "{" * 100_000])
def test_nothing_readable_is_nothing_predicted(five_turns: Conversation, oracle: Oracle, garbage: str) -> None:
    seen: list[Call] = []
    run = ask(five_turns, oracle(five_turns, seen, lambda *_: garbage))
    # 21 calls twice; the drafts that are not there are not judged.
    assert len(seen) == 42
    assert {call["outcome"] for call in extra(run, "calls").values()} == {"failed"}
    assert [call for call in extra(run, "calls") if "judge" in call] == []
    assert not run.complete
    for turn in run.turns:
        assert turn.model_fields_set == {"turn_number", "pairwise_assignment"}
    (record,) = records_of(score([five_turns], [run]))
    assert record["composite_score"] is None


def test_what_is_good_of_an_answer_is_kept(five_turns: Conversation, oracle: Oracle) -> None:
    def wrap(text: str, call: Call, attempt: int) -> str:
        if call.id != "turn-1/pairwise":
            return text
        choices = {"0": "B", "1": "response_1", "2": "neither", "3": None, "4": second.response_b, "99": "A"}
        return json.dumps({"choices": choices, "attempt": attempt})

    second = five_turns.turns[0].annotations.pairwise_comparisons[4]
    run = ask(five_turns, oracle(five_turns, None, wrap))
    assert run.turns[0].em_pairwise_selections == {"0": "B", "1": "A", "4": "B"}
    # Dropped: the answer "neither", and that to a comparison which was not asked about. Null is no answer.
    assert extra(run, "calls")["turn-1/pairwise"] == {"outcome": "parsed", "dropped": 2}


def test_judges_are_averaged_and_a_tie_is_yes(conversation: Json, oracle: Oracle) -> None:
    record = Conversation.model_validate(conversation)
    ratings = {"one": (7, "no", "no"), "two": (4, "yes", "no"), "three": (4, "no", "na"), "four": (None, "yes", "yes")}

    def wrap(text: str, call: Call, attempt: int) -> str:
        if call.id != f"turn-1/judge/{call.model}":
            return text
        rating, b1, b501 = ratings[call.model]
        return json.dumps({"overall_score": rating, "answers": {"B1": b1, "B501": b501}, "attempt": attempt})

    turn = ask(record, oracle(record, None, wrap), judges=tuple(ratings)).turns[0]
    # (7 + 4 + 4) / 3 = 5; B1 two against two, hence yes; B501 one yes against two no.
    assert turn.em_draft_judge_scores.overall_score == 5
    assert turn.em_draft_judge_scores.tone_match is None
    assert turn.em_draft_binary_assessment == {"B1": "yes", "B501": "no"}
    assert list(turn.em_draft_binary_assessment_by_model) == list(ratings)
    assert turn.em_draft_binary_assessment_by_model["three"] == {"B1": "no", "B501": "na"}
    assert turn.em_draft_judge_scores_by_model == {
        "one": {"overall_score": 7},
        "two": {"overall_score": 4},
        "three": {"overall_score": 4},
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "loud"}, "mode is 'loud'; expected one of default"),
        ({"panas_strategy": "guess"}, "panas_strategy is 'guess'; expected one of absolute"),
        ({"judges": ("a", "a")}, "a judge is named twice among a, a"),
        ({"model": ""}, "the name of a model is empty"),
        ({"judges": ("",)}, "the name of a model is empty"),
    ],
)
def test_settings_are_checked_at_once(changes: Json, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings(**changes)
