"""SAGE dialogues: what the second stage of loading fixes in them, and the rules that check them."""

from itertools import pairwise

from attune_data.fixes import Findings, Fix, closed, each, number, record, scored, text
from attune_data.sage.dialogue import SageDialogue, emotion_state
from attune_data.states import check_change

__all__ = ["check_dialogue", "fix_dialogue"]

_TEXTS = ("id", "model", "emo_state", "target", "player", "scene", "character", "topic", "task")
_ROLES = {"user": "user", "assistant": "assistant"}
_PLANNING = record({**dict.fromkeys(("activity", "TargetCompletion", "content", "analyse"), text), "change": number()})

fix_dialogue: Fix = record(
    {
        **dict.fromkeys(_TEXTS, text),
        "emo_point": scored(0, 100),
        "history": each(
            record(
                {
                    "role": closed(_ROLES, "user or assistant"),
                    **dict.fromkeys(("content", "think", "thinking"), text),
                    "emotion-point": number(0, 100),
                    "planning": _PLANNING,
                }
            ),
            needed=True,
        ),
    }
)


def check_dialogue(dialogue: SageDialogue, findings: Findings) -> None:
    """Report what contradicts the final emotion, the changes or the order of the messages."""
    if dialogue.emo_state != emotion_state(dialogue.emo_point):
        message = f"an emotion of {dialogue.emo_point} is {emotion_state(dialogue.emo_point)}"
        findings.add("$.emo_state", "emotion-state", "warning", dialogue.emo_state, message, "kept; not scored")
    roles = [message.role for message in dialogue.history]
    if roles != [("user", "assistant")[place % 2] for place in range(len(roles))]:
        message = "expected person and model in turn, the person first"
        findings.add("$.history", "message-order", "warning", roles, message, "kept; changes are told by the person's")
    points = [(place, message) for place, message in enumerate(dialogue.history) if message.emotion_point is not None]
    if points and points[-1][1].emotion_point != dialogue.emo_point:
        message = f"the last emotion in the history is {points[-1][1].emotion_point}"
        findings.add(
            "$.emo_point", "final-state", "warning", dialogue.emo_point, message, "kept; the final one is scored"
        )
    for (_, before), (place, after) in pairwise(points):
        step = (before.emotion_point, after.planning.change, after.emotion_point)
        check_change(step, f"$.history[{place}].planning.change", findings)
