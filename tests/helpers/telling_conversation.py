"""A conversation of which every text says what it is, and the calls about it, for facts about what is asked."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, Strategy, planned_calls
from attune_bench.runner import Call
from attune_data import Conversation, load_codebook
from attune_data.record import Mode

Json = dict[str, Any]

MODES = get_args(Mode)
STRATEGIES = get_args(Strategy)
BOOK = load_codebook()
WORDS = [emotion.word for emotion in BOOK.emotions.values()]

# In the order of the file: not that of the codebook, and two that do not apply.
JUDGED = {"B501": ("no", "yes"), "B5": ("na", "na"), "B11": ("yes", "no"), "B1": ("yes", None), "B16": ("na", None)}
ASKED, SKIPPED = ["B501", "B11", "B1"], "B5, B16"
PAIRS = [("general", "original", "human"), ("PW1", "alternate", "original"), ("custom:Warmer?", "human", "alternate")]
PROFILE = {
    "schema_version": "2.0",
    "participant_id": "A-PARTICIPANT",
    "profile_type": "",
    "demographics": {"country": "A-COUNTRY", "diagnoses": ["A-DIAGNOSIS"], "education": None, "own": "AN-OWN-KEY"},
    "computed_scores": {"who_5": 13},
    "conversation_topic_attitude": "AN-ATTITUDE",
    "responses": [{"q7": "A-RESPONSE", "participant_id": "A-PARTICIPANT"}],
    "notes": [],
}


def _turn(number: int) -> Json:
    return {
        "turnNumber": number,
        "userMessage": f"MESSAGE-{number}",
        "llmResponse": f"REPLY-{number}",
        "annotations": {
            "binaryJudgements": [
                {"questionId": name, "observedBehavior": observed, "preferredBehavior": preferred}
                for name, (observed, preferred) in JUDGED.items()
            ],
            # In turn 3 nothing was edited.
            "alternateResponses": {
                "llmImproved": f"IMPROVED-{number}",
                "humanEdited": f"EDITED-{number}" if number < 3 else "",
            },
            "pairwiseComparisons": [
                {"questionId": question, "responseA": a, "responseB": b, "winner": "B"} for question, a, b in PAIRS
            ],
        },
    }


def _items(positive: int, negative: int) -> dict[str, int]:
    return {word: positive if emotion.affect == "positive" else negative for word, emotion in BOOK.emotions.items()}


CONVERSATION = Conversation.model_validate(
    {
        "conversationId": "c1",
        "participant_profile": PROFILE,
        "prePanas": {"totalPositiveAffect": 30, "totalNegativeAffect": 20, "responses": _items(3, 2)},
        "turns": [_turn(1), _turn(2), _turn(3)],
    }
)


@cache
def calls(mode: Mode, strategy: Strategy) -> Mapping[str, Call]:
    """Return the calls of a run with a judge, by id."""
    settings = AttuneBenchSettings("vendor/model", mode, ("judge",), strategy)
    return {call.id: call for call in planned_calls(CONVERSATION, settings)}


def request(call: Call) -> str:
    """Return the last message of a call."""
    return call.messages[-1]["content"]
