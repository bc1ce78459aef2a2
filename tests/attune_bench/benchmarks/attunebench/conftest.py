"""A model that knows the participant's answers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from attune_bench.runner import Call, Complete
from attune_data import Conversation, Turn, load_codebook

Json = dict[str, Any]
Oracle = Callable[..., Complete]


def _turn_of(conversation: Conversation, call: Call) -> Turn:
    number = int(call.id.split("/")[0].removeprefix("turn-"))
    (turn,) = (turn for turn in conversation.turns if turn.turn_number == number)
    return turn


def _asked(call: Call) -> list[str]:
    return list(call.schema["properties"].get("answers", {"properties": {}})["properties"])


def _truth(conversation: Conversation, call: Call) -> Json:
    """Return what the participant answered; where they did not answer, any permitted value."""
    traces = [name for name in call.schema["properties"] if name.endswith("_reasoning")]
    reasoning = dict.fromkeys(traces, f"Reasons for {call.id}.")
    if call.schema_name == "post":
        return _post(conversation, call)
    turn = _turn_of(conversation, call)
    judgements = {judgement.question_id: judgement for judgement in turn.annotations.binary_judgements}
    answers: Json = {}
    for question in _asked(call):
        judgement = judgements[question]
        observed = judgement.observed_behavior or judgement.llm_value or "no"
        preferred = judgement.preferred_behavior or judgement.observed_behavior or "no"
        answers[question] = {"observed": observed.replace("na", "no"), "preferred": preferred.replace("na", "no")}
    if call.schema_name == "draft":
        return {"drafted_response": turn.annotations.alternate_responses.human_edited or "I hear you.", **reasoning}
    if call.schema_name == "judge":
        rated = [name for name in call.schema["properties"] if name != "answers"]
        wanted = {question: answer["preferred"] for question, answer in answers.items()}
        return {**dict.fromkeys(rated, 7), **({"answers": wanted} if answers else {})}
    if call.schema_name == "pairwise":
        comparisons = enumerate(turn.annotations.pairwise_comparisons)
        return {"choices": {str(place): comparison.winner or "A" for place, comparison in comparisons}}
    if call.schema_name == "read_hp":
        return {"answers": answers}
    tags = [{"emotion": tag.emotion, "intensity": tag.intensity or 4} for tag in turn.mood_shift_tags]
    return {"emotions": tags, **reasoning, **({"answers": answers} if answers else {})}


def _post(conversation: Conversation, call: Call) -> Json:
    before, after = conversation.pre_panas.responses, conversation.post_panas.responses
    words = load_codebook().emotions
    is_delta = min(call.schema["properties"]["panas"]["properties"]["Proud"]["enum"]) < 0
    panas = {
        words[word].word: (rating or 4) - ((before[word] or 4) if is_delta else 0) for word, rating in after.items()
    }
    wide = conversation.conversation_wide_questions
    return {
        "panas": panas,
        "q1_lookingFor": list(wide.q1_looking_for),
        "q2_emotionClarity": wide.q2_emotion_clarity,
        "q3_modelFit": wide.q3_model_fit,
        "q3_followUp_whatFeltOff": list(wide.q3_follow_up_what_felt_off),
        "fourBranchScores": {name: getattr(wide.four_branch_scores, name) for name in load_codebook().branches},
    }


@pytest.fixture(scope="session")
def truth() -> Callable[[Conversation, Call], Json]:
    """What the participant answered to what a call asks, as the object that it asks for."""
    return _truth


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """Build a `complete` that answers the truth; `seen` collects the calls, `wrap` changes the text."""

    def build(
        conversation: Conversation,
        seen: list[Call] | None = None,
        wrap: Callable[[str, Call, int], str] = lambda text, _call, _attempt: text,
    ) -> Complete:
        async def complete(call: Call, attempt: int) -> str:
            if seen is not None:
                seen.append(call)
            return wrap(json.dumps(_truth(conversation, call)), call, attempt)

        return complete

    return build
