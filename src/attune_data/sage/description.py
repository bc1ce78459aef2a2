"""Counts of SAGE's dialogues by model, outcome and state, and of their messages."""

from typing import Any

from attune_data.collection import Collection
from attune_data.description import description, grouped
from attune_data.sage.dialogue import SageDialogue

__all__ = ["describe_dialogues"]

_STATES = tuple(f"Emotion-{letter}" for letter in "SABCF")


def describe_dialogues(dialogues: Collection[SageDialogue]) -> dict[str, Any]:
    """Count dialogues by model, outcome and final state, and their messages."""
    return description(
        dialogues,
        "dialogues",
        of={"scenarios": lambda part: len({dialogue.scenario_id for dialogue in part})},
        traits={
            "model": grouped(dialogues, lambda dialogue: dialogue.model),
            "outcome": grouped(dialogues, lambda dialogue: dialogue.outcome, ("success", "neither", "failure")),
            "emo_state": grouped(dialogues, lambda dialogue: dialogue.emo_state, _STATES),
        },
        counts={
            "replies of the model": lambda dialogue: sum(line.role == "assistant" for line in dialogue.history),
            "utterances of the person": lambda dialogue: sum(line.role == "user" for line in dialogue.history),
        },
    )
