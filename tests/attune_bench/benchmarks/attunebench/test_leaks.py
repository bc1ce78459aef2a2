"""No answer of the participant reaches a model beyond which questions are asked; nothing is seen before its time."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from attune_bench.benchmarks.attunebench import baselines
from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, planned_calls, run_conversation
from attune_bench.runner import Call, Complete
from attune_data import Conversation, Turn

Json = dict[str, Any]
Oracle = Callable[..., Complete]

MODES = ("default", "verbose", "omniscient", "verbose_omniscient")
STRATEGIES = ("absolute", "delta", "blind_delta")
ONCE = [*((mode, "absolute") for mode in MODES), *(("default", strategy) for strategy in STRATEGIES[1:])]
CASES = list(product(MODES, STRATEGIES, [(), ("judge/one", "two")]))
# Each mode and each strategy once, with judges.
each = pytest.mark.parametrize(
    ("mode", "strategy", "judges"),
    [pytest.param(*case, marks=() if case[2] and (case[0], case[1]) in ONCE else pytest.mark.slow) for case in CASES],
)


def _settings(mode: str, strategy: str, judges: tuple[str, ...]) -> AttuneBenchSettings:
    return AttuneBenchSettings("vendor/model", mode=mode, panas_strategy=strategy, judges=judges)  # type: ignore[arg-type]


def _record(conversation: Conversation) -> Json:
    record: Json = json.loads(conversation.to_json())
    return record


def _text(call: Call) -> str:
    return "\n".join(message["content"] for message in call.messages) + json.dumps(call.schema)


def _answers(record: Json) -> Json:
    """Return a conversation with every answer of its participant changed, but not which questions apply."""
    other = {"yes": "no", "no": "yes", "na": "na", None: None}
    for turn in record["turns"]:
        turn["moodShiftTags"] = [{"emotion": "LEAK-mood", "intensity": 1}] * (3 - len(turn["moodShiftTags"][:2]))
        annotations = turn["annotations"]
        for judgement in annotations["binaryJudgements"]:
            for field in ("observedBehavior", "preferredBehavior"):
                judgement[field] = other[judgement.get(field)]
            # Beside a recorded answer it is never the truth, whatever it is.
            judgement["llmValue"] = "yes" if judgement["observedBehavior"] else judgement.get("llmValue")
            judgement["note"] = "LEAK-judgement"
        for comparison in annotations["pairwiseComparisons"]:
            comparison["winner"] = {"A": "B", "B": None, None: "A"}[comparison["winner"]]
            comparison["reason"] = "LEAK-comparison"
        annotations["selectedPairwiseQuestions"] = ["LEAK-selected"]
        annotations["comment"] = turn["comment"] = "LEAK-comment"
    record["postPanas"] = {"totalPositiveAffect": 69, "responses": {"proud": 7, "LEAK-word": 1}}
    record["conversationWideQuestions"] = {
        "fourBranchScores": {"perceiving": 1, "LEAK-branch": "LEAK-rating"},
        "q1_lookingFor": ["LEAK-goal"],
        "q2_emotionClarity": "LEAK-clarity",
        "q3_modelFit": "LEAK-fit",
        "q3_followUp_whatFeltOff": ["LEAK-off"],
    }
    record["metadata"] = {"model": "LEAK-om", "text": "LEAK-topic", "synthetic": {"clarity": "LEAK-latent"}}
    record["conversationNotes"] = "LEAK-notes"
    record["participant_profile"] |= {"participant_id": "LEAK-id"}
    record["prePanas"]["note"] = "LEAK-pre"
    return record


def _profile(record: Json) -> Json:
    """Return a conversation with another profile of its participant."""
    record["participant_profile"]["demographics"] = {
        "country": "LEAK-country",
        "education": "LEAK-education",
        "work_edu_background": ["LEAK-work"],
        "gender": "LEAK-gender",
        "age_range": "LEAK-age",
        "english_proficiency": "LEAK-english",
        "diagnoses": ["LEAK-diagnosis"],
    }
    record["participant_profile"] |= {
        "schema_version": "LEAK-version",
        "computed_scores": {"who_5": 987654321, "LEAK-score": 1},
        "conversation_topic_attitude": "LEAK-attitude",
        "responses": {"q1": "LEAK-response"},
    }
    return record


def _sent(conversation: Conversation, settings: AttuneBenchSettings, oracle: Oracle) -> Iterator[Call]:
    """Yield every call of a whole run, those of judges with the draft, and each call a second time."""
    seen: list[Call] = []
    answer = oracle(conversation, None, lambda text, _, attempt: text if attempt else "no object")

    async def complete(call: Call, attempt: int) -> str:
        seen.append(call)
        # The same draft whatever the annotations are, which an oracle would copy into it.
        return '{"drafted_response": "OWN-draft"}' if call.schema_name == "draft" else await answer(call, attempt)

    asyncio.run(run_conversation(conversation, complete, settings))
    yield from sorted(seen, key=lambda call: call.id)


@each
def test_answers_change_no_request(
    demo: list[Conversation], oracle: Oracle, mode: str, strategy: str, judges: tuple[str, ...]
) -> None:
    settings = _settings(mode, strategy, judges)
    for conversation in demo[:2]:
        changed = _answers(_record(conversation))
        if mode in ("default", "verbose"):
            changed = _profile(changed)
            if strategy == "blind_delta":
                changed["prePanas"] = {"totalPositiveAffect": 12, "totalNegativeAffect": 13, "responses": {"proud": 6}}
        twin = Conversation.model_validate(changed)
        assert "LEAK" in twin.to_json().decode()
        calls, others = _sent(conversation, settings, oracle), _sent(conversation, settings, oracle)
        assert list(calls) == list(others), "a run must be the same each time"
        calls, others = _sent(conversation, settings, oracle), _sent(twin, settings, _blind(oracle, conversation))
        for call, other in zip(calls, others, strict=True):
            assert call == other
            assert "LEAK" not in _text(other)


def _blind(oracle: Oracle, conversation: Conversation) -> Oracle:
    """Answer for another conversation what the participant of this one said."""
    return lambda _, *rest: oracle(conversation, *rest)


@pytest.fixture(scope="module")
def twins(demo: list[Conversation]) -> list[tuple[Conversation, Conversation]]:
    """Return the conversations of the demo, each with one of other answers."""
    return [(one, Conversation.model_validate(_answers(_record(one)))) for one in demo]


# With judges all that is asked without them is asked too, and a strategy asks the last question in other words.
@pytest.mark.parametrize(
    ("mode", "strategy", "judges"),
    [pytest.param(*case, marks=() if case[2] and case[1] == STRATEGIES[0] else pytest.mark.slow) for case in CASES],
)
def test_the_whole_demo_is_asked_without_its_answers(
    twins: list[tuple[Conversation, Conversation]], mode: str, strategy: str, judges: tuple[str, ...]
) -> None:
    settings = _settings(mode, strategy, judges)
    for conversation, twin in twins:
        assert planned_calls(conversation, settings) == planned_calls(twin, settings)


@pytest.mark.parametrize(
    ("mode", "strategy"),
    [pytest.param(*case, marks=() if case in ONCE else pytest.mark.slow) for case in product(MODES, STRATEGIES)],
)
def test_an_answer_that_reached_a_request_would_be_found(
    demo: list[Conversation], monkeypatch: pytest.MonkeyPatch, mode: str, strategy: str
) -> None:
    """Each kind of answer is added in turn to what a request shows of its turn; the twin's request differs then."""
    settings = _settings(mode, strategy, ("judge/one",))
    twins = [(one, Conversation.model_validate(_answers(_record(one)))) for one in demo[:3]]
    plain = baselines._see_turn

    def leaking(kind: str) -> Callable[[Turn], baselines.SeenTurn]:
        def see_turn(turn: Turn) -> baselines.SeenTurn:
            found = {
                "tags": [tag.emotion for tag in turn.mood_shift_tags],
                "observed": [one.observed_behavior for one in turn.annotations.binary_judgements],
                "preferred": [one.preferred_behavior for one in turn.annotations.binary_judgements],
                "winners": [one.winner for one in turn.annotations.pairwise_comparisons],
                "selected": list(turn.annotations.selected_pairwise_questions),
            }
            seen = plain(turn)
            return replace(seen, message=f"{seen.message} {found[kind]}")

        return see_turn

    for kind in ("tags", "observed", "preferred", "winners", "selected"):
        monkeypatch.setattr(baselines, "_see_turn", leaking(kind))
        assert all(planned_calls(one, settings) != planned_calls(twin, settings) for one, twin in twins), kind


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("field", ["post_panas", "conversation_wide_questions"])
def test_an_answer_after_the_conversation_would_be_found(
    demo: list[Conversation], monkeypatch: pytest.MonkeyPatch, field: str, mode: str
) -> None:
    settings = _settings(mode, "absolute", ())
    twins = [(one, Conversation.model_validate(_answers(_record(one)))) for one in demo[:3]]

    def see(conversation: Conversation) -> baselines.Seen:
        seen = baselines.see(conversation)
        first, *others = seen.turns
        first = replace(first, message=getattr(conversation, field).model_dump_json())
        return replace(seen, turns=(first, *others))

    monkeypatch.setattr("attune_bench.benchmarks.attunebench.task.see", see)
    assert all(planned_calls(one, settings) != planned_calls(twin, settings) for one, twin in twins)


def test_what_is_changed_above_is_seen_where_it_may_be(five_turns: Conversation) -> None:
    """The comparison of twins is worth something only if a change of what is shown is a change of requests."""
    for strategy in STRATEGIES:
        settings = _settings("omniscient", strategy, ())
        twin = Conversation.model_validate(_profile(_record(five_turns)))
        words = ("LEAK-country", "LEAK-diagnosis", "987654321", "LEAK-score", "LEAK-attitude", "LEAK-response")
        for call, other in zip(planned_calls(five_turns, settings), planned_calls(twin, settings), strict=True):
            assert call != other
            assert all(word in _text(other) for word in words)
    record = _record(five_turns)
    record["prePanas"] = {"totalPositiveAffect": 12, "totalNegativeAffect": 13, "responses": {}}
    twin = Conversation.model_validate(record)
    for strategy, shown in (("absolute", True), ("delta", True), ("blind_delta", False)):
        settings = _settings("default", strategy, ())
        calls, others = planned_calls(five_turns, settings), planned_calls(twin, settings)
        assert calls[:-1] == others[:-1]
        assert (calls[-1] != others[-1]) == shown


def _marked(conversation: Json) -> Conversation:
    """Return a conversation whose every text says what it is and when."""
    turns = []
    for number in (1, 2, 3):
        turn = json.loads(json.dumps(conversation["turns"][0]))
        turn |= {"turnNumber": number, "userMessage": f"MESSAGE-{number}", "llmResponse": f"RESPONSE-{number}"}
        turn["annotations"]["alternateResponses"] = {
            "llmImproved": f"IMPROVED-{number}",
            "humanEdited": f"EDITED-{number}",
        }
        turns.append(turn)
    return Conversation.model_validate({**conversation, "turns": turns})


@pytest.mark.parametrize("mode", MODES)
def test_everything_is_seen_in_its_time(conversation: Json, oracle: Oracle, mode: str) -> None:
    record = _marked(conversation)
    every = [f"{kind}-{number}" for number in (1, 2, 3) for kind in ("MESSAGE", "RESPONSE", "IMPROVED", "EDITED")]
    every.append("OWN-draft")

    def expected(call: Call) -> set[str]:
        if call.schema_name == "post":
            return {mark for mark in every if mark.startswith(("MESSAGE", "RESPONSE"))}
        number = int(call.id[5])
        # A judge sees one turn only.
        earlier = range(1, number) if call.role == "model" else ()
        seen = {f"{kind}-{before}" for kind in ("MESSAGE", "RESPONSE") for before in earlier}
        seen.add(f"MESSAGE-{number}")
        of_turn = {
            "draft": [],
            "judge": [f"EDITED-{number}", "OWN-draft"],
            "read": [f"RESPONSE-{number}"],
            "read_hp": [f"RESPONSE-{number}"],
            "pairwise": [f"RESPONSE-{number}", f"IMPROVED-{number}", f"EDITED-{number}"],
        }
        return seen.union(of_turn[call.schema_name])

    calls = list(_sent(record, _settings(mode, "absolute", ("judge/one",)), oracle))
    assert len(calls) == 2 * 16 - 3  # the drafts are read at once
    for call in calls:
        assert {mark for mark in every if mark in _text(call)} == expected(call), call.id
        knows_profile = mode in ("omniscient", "verbose_omniscient") and call.role != "judge"
        assert _text(call).count(" profile>>>") == knows_profile
        assert ("profile>>>" in call.messages[1]["content"]) == knows_profile


def test_questions_beside_the_thread_leave_no_trace_in_it(conversation: Json) -> None:
    record = _marked(conversation)
    settings = _settings("default", "absolute", ())
    beside = [settings.codebook.binary["B1"].text, settings.codebook.pairwise["PW7"].text or "", "would you frame"]
    for call in planned_calls(record, settings):
        count = {text: _text(call).count(text) for text in beside}
        own = {"read_hp": [1, 0, 0], "pairwise": [0, 3, 3]}.get(call.schema_name, [0, 0, 0])
        assert list(count.values()) == own, call.id


def test_own_answers_are_placeholders(five_turns: Conversation) -> None:
    settings = _settings("default", "absolute", ())
    for call in planned_calls(five_turns, settings):
        assert [message["role"] for message in call.messages[:2]] == ["system", "user"]
        roles = [message["role"] for message in call.messages[1:]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        own = {message["content"] for message in call.messages if message["role"] == "assistant"}
        assert own <= {"(Answer received. It is not shown.)"}
    post = planned_calls(five_turns, settings)[-1]
    assert len(post.messages) == 1 + 5 * 4 + 1


def test_labels_are_masked_and_sides_are_the_files_own(conversation: Json) -> None:
    comparisons = conversation["turns"][0]["annotations"]["pairwiseComparisons"]
    masks = {"original": "original", "alternate": "alternate1", "human": "alternate2"}
    call = next(c for c in planned_calls(_marked(conversation), _settings("default", "absolute", ())) if "pair" in c.id)
    request = call.messages[-1]["content"]
    texts = {"original": "RESPONSE-1", "alternate1": "IMPROVED-1", "alternate2": "EDITED-1"}
    _, *shown = request.split("### Comparison ")
    assert len(shown) == len(comparisons)
    for place, (comparison, part) in enumerate(zip(comparisons, shown, strict=True)):
        assert part.startswith(f"{place}\n")
        for side in ("A", "B"):
            mask = masks[comparison[f"response{side}"]]
            assert re.search(rf"\n{side} is `{mask}`:\n\n<<<BEGIN \w+ {side}>>>\n{texts[mask]}\n<<<END", part)
    for label, text in texts.items():
        assert f" {label}>>>\n{text}\n<<<END" in request
