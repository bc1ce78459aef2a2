"""What the two sides of an episode said: the words of the model, and the judgement of the simulator.

Thinking is the text between ``<think>`` and ``</think>``. It is taken out as in the benchmark's own code, by which text
outside of a complete pair of tags is said aloud: behind a tag that is never closed, before one that was never opened.

The simulator's JSON object is what `find_object` finds once the thinking is out; where it finds none, comments, plus
signs before numbers and commas before a closing bracket are taken out. Unlike in the benchmark's own code, repairs
leave the texts alone, and nothing is added to an object that was cut off.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attune_bench.runner.episodes import visible, without_thinking
from attune_bench.runner.task import Found, find_object
from attune_metrics import MetricInputError
from attune_metrics.eibench import clip_delta

# A string, even one that is cut off: it stays, and nothing within it is taken for something else.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_NOISE = re.compile(rf"({_STRING})|//[^\n]*|(?<=[:,\[\s])\+(?=\.?\d)|,(?=\s*[}}\]])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reaction:
    """What the simulator answered.

    Attributes
    ----------
    anger, trust : int
        The state after it.
    anger_delta, trust_delta : int or None
        The changes, -10 to 10; None where the answer gave the state itself.
    reply : str
        The person's words; empty for none, ``...`` for white space.
    reflection : str
        What the person thought before: ``reflection`` as it was answered, else the thinking before the object.
    stops : bool
        Whether the person ends the conversation.
    stop_reason : str
        Why; empty where nothing is said of it.
    continues : str, bool or None
        ``continue`` as it was answered, as text where it was anything else; None for nothing.
    repaired : bool
        Whether the answer was not the JSON object alone.
    unreadable : tuple of str
        The values that were no numbers.
    """

    anger: int
    trust: int
    anger_delta: int | None
    trust_delta: int | None
    reply: str
    reflection: str
    stops: bool
    stop_reason: str
    continues: str | bool | None
    repaired: bool
    unreadable: tuple[str, ...]


def read_reaction(answer: str, anger: int, trust: int) -> Reaction | None:
    """Read the simulator's answer.

    A change is truncated towards zero and clipped to -10..10, the state to 0-100. One that is no number counts 0 and
    is listed. Where neither change is there, ``anger`` and ``trust`` are read as the new state; one that is no number
    is listed and leaves it as it was. Only a ``continue`` that is ``no``, in any letter case, stops: a ``false``, or a
    blank behind the word, does not, as in the benchmark's code.

    Parameters
    ----------
    answer : str
        Whatever it wrote.
    anger, trust : int
        The state before.

    Returns
    -------
    Reaction or None
        None where there is no JSON object, an empty one, one that was cut off, or a ``reply`` that is no text: a null,
        a number or a list says nothing of what the person would have said. One that is missing is empty.

    Examples
    --------
    >>> read_reaction('{"anger_delta": "+12", "reply": "Fine.", "continue": "No"}', 50, 20)
    ... # doctest: +NORMALIZE_WHITESPACE
    Reaction(anger=60, trust=20, anger_delta=10, trust_delta=0, reply='Fine.', reflection='', stops=True,
             stop_reason='', continues='No', repaired=False, unreadable=())
    """
    said, thoughts = without_thinking(answer)
    found = _find(said)
    if found is None or not found.value:
        return None
    given = found.value
    reply = given.get("reply", "")
    if not isinstance(reply, str):
        return None
    before = {"anger": anger, "trust": trust}
    unreadable: list[str] = []
    changes: dict[str, int | None] = dict.fromkeys(before)
    after = {}
    if "anger_delta" in given or "trust_delta" in given:
        for axis, value in before.items():
            changes[axis] = change = _change(given, f"{axis}_delta", unreadable)
            after[axis] = min(max(value + change, 0), 100)
    else:
        after = {axis: _state(given, axis, value, unreadable) for axis, value in before.items()}
    continues = given.get("continue")
    return Reaction(
        anger=after["anger"],
        trust=after["trust"],
        anger_delta=changes["anger"],
        trust_delta=changes["trust"],
        reply=visible(reply),
        reflection=str(given.get("reflection") or "".join(thoughts[:1])).strip(),
        stops=isinstance(continues, str) and continues.lower() == "no",
        stop_reason=_text(given.get("stop_reason")).strip(),
        continues=continues if isinstance(continues, str | bool | None) else str(continues)[:100],
        repaired=found.repaired or said != answer,
        unreadable=tuple(unreadable),
    )


def _find(said: str) -> Found | None:
    """Find the object in an answer without thinking, mending the text step by step where there is none."""
    # To the last brace: what comes before the first may be half of a pair of tags.
    whole = said[said.find("{") : said.rfind("}") + 1]
    for text in (said, whole, _without_noise(whole)):
        if found := find_object(text):
            return Found(found.value, repaired=found.repaired or text != said)
    return None


def _without_noise(text: str) -> str:
    # Twice, as a comma may precede a comment that precedes the bracket.
    for _ in range(2):
        text = _NOISE.sub(lambda match: match[1] or "", text)
    return text


def _change(given: Mapping[str, Any], name: str, unreadable: list[str]) -> int:
    try:
        return clip_delta(given.get(name, 0))
    except MetricInputError:
        unreadable.append(name)
        return 0


def _state(given: Mapping[str, Any], name: str, before: int, unreadable: list[str]) -> int:
    try:
        return min(max(int(float(given.get(name, before))), 0), 100)
    except (TypeError, ValueError, OverflowError):
        unreadable.append(name)
        return before


def _text(value: Any) -> str:
    """Return a text, a number as one; anything else is none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
