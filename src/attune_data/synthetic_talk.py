"""Invented talk for demonstration data: what two simulated models say, and how a simulated person takes it."""

from collections.abc import Iterator, Mapping
from itertools import cycle
from random import Random
from typing import NamedTuple

__all__ = ["MODELS", "Exchange", "Manner", "exchanges"]


class Manner(NamedTuple):
    """What a simulated model says, and the mean gain of a round for the person, in points of their state."""

    lines: tuple[str, ...]
    gain: int


MODELS: Mapping[str, Manner] = {
    "synthetic/attentive": Manner(
        (
            "I hear you. What part of it stays with you the most?",
            "That would hurt me too. You had every reason to expect something else.",
            "You do not have to sort it out tonight. Tell me as much as you like.",
            "So it is not the thing itself, it is that nobody asked you. Is that right?",
            "I got that wrong just now, sorry. Say it again and I will listen properly.",
            "It sounds as if you have been alone with this for a while.",
            "What would you want somebody to say to you now?",
            "Thank you for telling me. I can see why you waited.",
        ),
        5,
    ),
    "synthetic/hasty": Manner(
        (
            "Try to look at it from the other side.",
            "Here are three steps that will help you to feel better.",
            "I am sure it was not meant like that.",
            "You should get some sleep and think about it tomorrow.",
            "Everybody goes through this. It passes.",
            "Have you thought of making a list?",
            "Stay positive, every setback is a chance.",
            "Perhaps you expect too much.",
        ),
        -1,
    ),
}
"""The simulated models by name; the first is clearly the better one."""

_BETTER = (
    "Yes. That is it.",
    "Nobody has asked me that yet.",
    "All right. I can say it to you.",
    "Hm. That helps a little.",
    "You listen. I had not expected that.",
    "I think I am less angry than I was.",
    "It is good to hear that aloud.",
)
_SAME = ("Maybe.", "I do not know.", "It is not so simple.", "If you say so.", "Go on.")
_WORSE = (
    "You are not listening.",
    "I did not ask for advice.",
    "That is what they all say.",
    "Forget it.",
    "It is my fault now, is it?",
)
_LARGEST = 10
_NOISE = 4


class Exchange(NamedTuple):
    """What the model says, what the person answers, and by how much their state is better, -10 to 10."""

    said: str
    answer: str
    gain: int


def exchanges(source: Random, manner: Manner) -> Iterator[Exchange]:
    """Yield exchanges without end, drawn at random; no line comes again before the others of its sort.

    Examples
    --------
    >>> next(exchanges(Random(1), MODELS["synthetic/hasty"]))
    Exchange(said='I am sure it was not meant like that.', answer='I did not ask for advice.', gain=-5)
    """
    lines, *answers = (cycle(source.sample(sort, len(sort))) for sort in (manner.lines, _BETTER, _SAME, _WORSE))
    better, same, worse = answers
    for said in lines:
        gain = max(-_LARGEST, min(_LARGEST, manner.gain + source.randint(-_NOISE, _NOISE)))
        yield Exchange(said, next(better if gain > 1 else worse if gain < -1 else same), gain)
