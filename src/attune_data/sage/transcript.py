"""A dialogue of SAGE as plain text."""

from collections.abc import Iterator

from attune_data.sage.dialogue import SageDialogue, SageMessage
from attune_data.text import labelled, wrapped

__all__ = ["dialogue_transcript"]


def dialogue_transcript(dialogue: SageDialogue, columns: int) -> str:
    """Return a dialogue as text that is safe to print, wrapped to a number of columns.

    Examples
    --------
    >>> said = [{"role": "user", "content": "I lost it.", "emotion_point": 40}]
    >>> print(dialogue_transcript(SageDialogue(scenario_id="s1", model="m", emo_point=40, history=said), 40))
    Dialogue s1/m
      at the end    emotion 40, neither
    <BLANKLINE>
    Person (emotion 40)
      I lost it.
    """
    state = f", {dialogue.emo_state}" if dialogue.emo_state else ""
    facts = {
        "topic": dialogue.topic,
        "at the end": f"emotion {dialogue.emo_point}{state}, {dialogue.outcome}",
        "task": dialogue.task,
        "target": dialogue.target,
        "person": dialogue.player,
        "character": dialogue.character,
        "background": dialogue.scene,
    }
    blocks = [[*wrapped(f"Dialogue {dialogue.id}", columns), *labelled(facts.items(), columns)]]
    blocks += ([*_message(message, columns)] for message in dialogue.history)
    return "\n\n".join("\n".join(block) for block in blocks)


def _message(message: SageMessage, columns: int) -> Iterator[str]:
    state = "" if message.emotion_point is None else f" (emotion {message.emotion_point})"
    yield ("Person" if message.role == "user" else "Model") + state
    yield from (f"  {text}".rstrip() for text in wrapped(message.content, columns - 2) or ["-"])
    planning = message.planning
    change = "" if planning.change is None else f"{planning.change:+d}"
    yield from labelled(
        [
            ("reasoning", message.think or ""),
            ("thought", message.thinking or ""),
            ("change", change),
            ("because", planning.analyse),
        ],
        columns,
    )
