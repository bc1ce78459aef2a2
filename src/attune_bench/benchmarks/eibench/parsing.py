"""What the two sides of an episode said: the words of the model, and the judgement of the simulator.

`find_object` finds the simulator's JSON object; where it does not, repairs come first: comments, plus signs before
numbers and commas before a closing bracket are taken out, then what was cut off is closed. Unlike in the benchmark's
own code, repairs leave the texts alone, and what can be read without them is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attune_bench.runner.answers import Found, find_object
from attune_metrics import MetricInputError
from attune_metrics.eibench import clip_delta

__all__ = ["Reaction", "read_reaction", "visible"]

# Possessive: white space that could be taken in two ways would cost quadratic time.
_TAG = re.compile(r"<\s*+(/?)\s*+think(?:ing)?\s*+>", re.IGNORECASE)
# A string, even one that is cut off: it stays, and nothing within it is taken for something else.
_STRING = r'"(?:[^"\\]|\\.)*+("|\\?\Z)'
_TEXT = re.compile(_STRING, re.DOTALL)
_NOISE = re.compile(rf"({_STRING})|//[^\n]*|\+(?=\.?\d)|,(?=\s*[}}\]])", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)


def visible(text: str) -> str:
    """Return the words of an output, without the reflection.

    Blocks between ``<think>`` and ``</think>`` go, and so does what follows a tag that is never closed, and what
    stands before one that was never opened, as servers leave it that open it in the prompt.

    Parameters
    ----------
    text : str
        What the model wrote.

    Returns
    -------
    str
        What was said aloud, without white space at its ends; empty where that is nothing.

    Examples
    --------
    >>> visible("<think>He is hurt.</think> Tell me more.")
    'Tell me more.'
    >>> visible("I see. <think>What now?"), visible("He is hurt.</think>Tell me more.")
    ('I see.', 'Tell me more.')
    """
    first, *rest = _TAG.split(text)
    aloud, thinks = [first], False
    for slash, piece in zip(rest[::2], rest[1::2], strict=True):
        if slash and not thinks:
            aloud.clear()
        thinks = not slash
        if not thinks:
            aloud.append(piece)
    return "".join(aloud).strip()


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
        The person's words; empty for none.
    reflection : str
        What the person thought before.
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
    is listed. Where neither change is there, ``anger`` and ``trust`` are read as the new state. Only a ``continue``
    that is ``no``, in any letter case, stops: a ``false``, or a blank behind the word, does not, as in the
    benchmark's code.

    Parameters
    ----------
    answer : str
        Whatever it wrote.
    anger, trust : int
        The state before.

    Returns
    -------
    Reaction or None
        None where there is no JSON object, or an empty one.

    Examples
    --------
    >>> read_reaction('{"anger_delta": "+12", "reply": "Fine.", "continue": "No"}', 50, 20)
    ... # doctest: +NORMALIZE_WHITESPACE
    Reaction(anger=60, trust=20, anger_delta=10, trust_delta=0, reply='Fine.', reflection='', stops=True,
             stop_reason='', continues='No', repaired=False, unreadable=())
    """
    found = _find(answer)
    if found is None or not found.value:
        return None
    given = found.value
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
    reply = _text(given.get("reply"))
    continues = given.get("continue")
    return Reaction(
        anger=after["anger"],
        trust=after["trust"],
        anger_delta=changes["anger"],
        trust_delta=changes["trust"],
        # Tags alone are a silence that the conversation goes on after, nothing at all is not.
        reply=reply and (visible(reply) or "..."),
        reflection=_text(given.get("reflection")),
        stops=isinstance(continues, str) and continues.lower() == "no",
        stop_reason=_text(given.get("stop_reason")),
        continues=continues if isinstance(continues, str | bool | None) else str(continues)[:100],
        repaired=found.repaired,
        unreadable=tuple(unreadable),
    )


def _find(answer: str) -> Found | None:
    """Find the object, mending the text step by step where there is none."""
    found = find_object(answer)
    # A tag within a string ends no reasoning. Tried second, as an odd quote in the reasoning makes strings of no text.
    for text in (answer, _TEXT.sub(lambda match: match[0].replace("<", r"\u003c"), answer)):
        behind = _TAG.split(text)[-1]
        mended = behind if "{" in behind else text
        for mend in (_without_noise, _closed):
            if found is None:
                mended = mend(mended)
                found = find_object(mended)
                found = found and Found(found.value, repaired=True)
    return found


def _without_noise(text: str) -> str:
    # Twice, as a comma may stand before a comment that stands before the bracket.
    for _ in range(2):
        text = _NOISE.sub(lambda match: match[1] or "", text)
    return text


def _closed(text: str) -> str:
    """Close what is open at the end of an object that was cut off."""
    text = text[text.find("{") :] if "{" in text else ""
    missing: list[str] = []
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            missing.append({"{": "}", "[": "]"}[token[0]])
        elif token[0] in "}]":
            del missing[-1:]
        elif token[1] != '"':
            missing.append('"')
    # A backslash at the end would take the quote for its own.
    whole = text.removesuffix("\\") if '"' in missing else text
    return _without_noise(whole + "".join(reversed(missing)))


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
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
