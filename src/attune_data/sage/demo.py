"""Synthetic dialogues of SAGE: models and people that are invented, drawn from a seed; strategies for tests.

Synthetic dialogues: invented models talk with invented people, drawn from a seed.

``python -m attune_data.sage.demo > demo_dialogues.jsonl`` writes the embedded demonstration data again.
"""

import sys
from collections.abc import Mapping
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from attune_data.eibench.demo import MODELS, Manner, exchanges
from attune_data.sage import Planning, SageDialogue, SageMessage, emotion_state
from attune_data.testing import Json, filled, from_model

__all__ = ["demo_dialogues", "dialogue_documents", "dialogues"]

_START = 40
_MAX_ROUNDS = 12
_SEED = 3


class _Story(NamedTuple):
    id: str
    topic: str
    player: str
    scene: str
    task: str
    opening: str


_STORIES = (
    _Story(
        "demo_move",
        "Home: leaving a city",
        "Rosa, 34, draughtswoman, moves back to her parents' town.",
        "The van comes on Friday. She hides that she did not want to go.",
        "Say goodbye without being told that it is for the best.",
        "Everybody is so happy for me. I have packed the same box three times.",
    ),
    _Story(
        "demo_choir",
        "Friends: left out",
        "Emre, 27, sings in a choir.",
        "The others went on a trip that he heard of by chance.",
        "Know whether he has done something wrong.",
        "They had matching shirts made. I saw the photo. That is how I know about the trip.",
    ),
    _Story(
        "demo_garden",
        "Family: a sold garden",
        "Wilma, 61, retired teacher.",
        "Her brother sold their mother's garden without a call.",
        "Be angry for once.",
        "He said he did not want to bother me with it. With my own mother's garden.",
    ),
    _Story(
        "demo_exam",
        "Work: a failed test",
        "Jun, 22, apprentice electrician.",
        "Failed the practical test by two points. The uncle paid for the course.",
        "Find words for the uncle.",
        "Two points. I could draw you the circuit now, in my sleep, for nothing.",
    ),
    _Story(
        "demo_cat",
        "Loss: an old cat",
        "Agnes, 45, bookkeeper.",
        "The vet asked her to decide, and she did, in a lunch break.",
        "Hear that it counts, although it was a cat.",
        "I went back to work after. I did the invoices. I do not know why I did the invoices.",
    ),
    _Story(
        "demo_band",
        "Friends: an old quarrel",
        "Theo, 38, once played in a band.",
        "The drummer has written after nine years.",
        "Know what he wants himself.",
        "He writes as if we had spoken last week. 'Hey you.' Nine years, and then hey you.",
    ),
)


def dialogues(models: Mapping[str, Manner] = MODELS, *, seed: int = 0) -> list[SageDialogue]:
    """Generate a dialogue of every simulated model in each of six invented scenarios.

    Parameters
    ----------
    models : mapping of str to Manner
        By name, what a simulated model says and what it is worth to the person.
    seed : int
        The same seed gives the same dialogues.

    Returns
    -------
    list of SageDialogue
        By model, then by scenario.

    Examples
    --------
    >>> dialogue = dialogues(seed=1)[0]
    >>> dialogue.id, dialogue.history[0].emotion_point
    ('demo_move/synthetic/attentive', 40)
    """
    source = Random(seed)  # noqa: S311  # invented data, nothing to guess
    return [_dialogue(source, story, name, manner) for name, manner in models.items() for story in _STORIES]


def demo_dialogues() -> list[SageDialogue]:
    """Generate the embedded demonstration dialogues.

    Examples
    --------
    >>> from attune_data import load_sage
    >>> demo_dialogues()[0] == load_sage("demo")[0]
    True
    """
    return dialogues(seed=_SEED)


def _dialogue(source: Random, story: _Story, model: str, manner: Manner) -> SageDialogue:
    point = _START
    history: list[dict[str, Any]] = [{"role": "user", "content": story.opening, "emotion-point": point}]
    for said, answer, gain in islice(exchanges(source, manner), _MAX_ROUNDS):
        point = max(0, min(100, point + gain))
        history += [
            {"role": "assistant", "content": said},
            {"role": "user", "content": answer, "emotion-point": point, "planning": {"change": gain}},
        ]
        if point in (0, 100):
            break
    document = {
        "id": story.id,
        "model": model,
        "emo_point": point,
        "emo_state": emotion_state(point),
        "target": "eq",
        "player": story.player,
        "scene": story.scene,
        "character": "invented",
        "topic": story.topic,
        "task": story.task,
        "history": history,
        "synthetic": True,
    }
    return SageDialogue.model_validate(document)


@st.composite
def dialogue_documents(draw: st.DrawFn) -> Json:
    """Draw a dialogue of up to three replies, whose emotion moves as it says."""
    point = draw(st.integers(0, 100))
    history = [_person(draw, point, None)]
    for _ in range(draw(st.integers(0, 3))):
        change = draw(st.integers(-10, 10))
        point = min(max(point + change, 0), 100)
        reply = {"role": st.just("assistant"), "content": filled, "emotion_point": st.none(), "planning": st.none()}
        history += [draw(from_model(SageMessage, reply)), _person(draw, point, change)]
    fields = {
        "scenario_id": filled,
        "model": filled,
        "emo_point": st.just(point),
        "emo_state": st.just(emotion_state(point)),
        "history": st.just(history),
    }
    return draw(from_model(SageDialogue, fields))


def _person(draw: st.DrawFn, point: int, change: int | None) -> Json:
    """Draw what the person says, with the emotion after it and how it changed."""
    fields = {
        "role": st.just("user"),
        "content": filled,
        "emotion_point": st.just(point),
        "planning": from_model(Planning, {"change": st.just(change)}),
    }
    return draw(from_model(SageMessage, fields))


if __name__ == "__main__":
    sys.stdout.buffer.writelines(dialogue.to_line() + b"\n" for dialogue in demo_dialogues())
