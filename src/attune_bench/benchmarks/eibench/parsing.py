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
from typing import Any, NamedTuple

from attune_bench.runner.task import Found, find_object
from attune_metrics import MetricInputError
from attune_metrics.eibench import clip_delta

SILENCE = "..."
"""The words of an utterance that has nothing but white space or tags."""

_OPENED = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSED = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
# As some models close it: </think >, </thinki>. No bracket within, so that a search costs linear time.
_CLOSED_SOMEHOW = re.compile(r"</think[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?think[^<>]*>", re.IGNORECASE)
# A string, even one that is cut off: it stays, and nothing within it is taken for something else.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_NOISE = re.compile(rf"({_STRING})|//[^\n]*|(?<=[:,\[\s])\+(?=\.?\d)|,(?=\s*[}}\]])", re.DOTALL)


class Output(NamedTuple):
    """An output of the model: the words said aloud, empty for none, and the thinking before and between them."""

    words: str
    thinking: str


def read_output(text: str) -> Output:
    """Separate what the model says aloud from what it thinks.

    Parameters
    ----------
    text : str
        What the model wrote.

    Returns
    -------
    Output
        Without white space at the ends. The words are empty where there is nothing but thinking between proper tags,
        and ``...`` where there are tags and nothing else.

    Examples
    --------
    >>> read_output("<think>He is hurt.</think> Tell me more.")
    Output(words='Tell me more.', thinking='He is hurt.')
    >>> read_output("He is hurt.</think>Tell me more.").words
    'He is hurt.Tell me more.'
    """
    rest, thoughts = _split(text, _CLOSED)
    _, others = _split(rest, _CLOSED_SOMEHOW)
    return Output(visible(rest.strip()), "\n".join(thought.strip() for thought in (*thoughts, *others)))


def visible(text: str) -> str:
    """Return a text without thinking and tags; ``...`` where nothing else is in it, empty where it is empty.

    Examples
    --------
    >>> visible("I see. <think>What now?</thinki>"), visible("<think>"), visible("")
    ('I see.', '...', '')
    """
    said, _ = _split(text, _CLOSED_SOMEHOW)
    return text and (_TAG.sub("", said).strip() or SILENCE)


def _split(text: str, closed: re.Pattern[str]) -> tuple[str, list[str]]:
    """Return the text outside of the thinking, and the thoughts."""
    outside, thoughts, place = [], [], 0
    while (begin := _OPENED.search(text, place)) and (end := closed.search(text, begin.end())):
        outside.append(text[place : begin.start()])
        thoughts.append(text[begin.end() : end.start()])
        place = end.end()
    return "".join([*outside, text[place:]]), thoughts


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
    said, thoughts = _split(answer, _CLOSED)
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
