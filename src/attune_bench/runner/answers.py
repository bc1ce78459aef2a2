"""Reading answers: the JSON object in a text, which attempt could be read, and what is to be asked again.

The JSON object is the whole answer, a fenced block, or the text from the first brace to the last, line breaks
within strings allowed. Reasoning before it is ignored; of several objects that differ, none counts. Nothing is
guessed.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from attune_bench.runner.calls import Call, attempt_id
from attune_data.text import without_surrogates

__all__ = [
    "TRIES",
    "AnswerFormat",
    "Fields",
    "Found",
    "Reader",
    "Reading",
    "call_to_make",
    "check_answer_format",
    "find_object",
    "read_answer",
]

AnswerFormat = Literal["schema", "free"]
"""Whether the schema of an answer is sent with its call, or left out.

Whether the server holds to a schema that was sent is not checked; the parse outcomes under ``calls`` show it.
"""

TRIES: Mapping[AnswerFormat, int] = {"schema": 2, "free": 3}
"""How often an answer that can be read is asked for at most; freely as often as AttuneBench's published runs did."""

Fields = dict[str, Any]
Reader = Callable[[Fields], tuple[Fields, int]]
"""Reads the JSON object of an answer: the fields of a record, none where it is of no use, and how many values were
dropped."""

_FENCED = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_BEGUN = re.compile(r'\{\s*+"')
_MOST_DIGITS = 300


class Found(NamedTuple):
    """A JSON object found in an answer; `repaired` unless it was the whole answer."""

    value: dict[str, Any]
    repaired: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from the answers to a call.

    Attributes
    ----------
    fields : dict
        Fields of a record; empty where no answer could be read.
    outcome : {"parsed", "repaired", "retried", "failed"}
        Whether the answer was the JSON object, contained it, came only when it was asked for again, or did not come.
    dropped : int
        Values that could not be read.
    """

    fields: Fields
    outcome: Literal["parsed", "repaired", "retried", "failed"]
    dropped: int


def check_answer_format(name: str) -> None:
    """Raise a ValueError where a setting is no `AnswerFormat`.

    Examples
    --------
    >>> check_answer_format("json")
    Traceback (most recent call last):
        ...
    ValueError: answer_format is 'json'; expected one of schema, free
    """
    if name not in TRIES:
        raise ValueError(f"answer_format is {name!r}; expected one of {', '.join(TRIES)}")


def read_answer(answers: Mapping[str, str], call_id: str, read: Reader) -> Reading:
    """Read the answer to a call: the first attempt that can be read.

    Parameters
    ----------
    answers : mapping of str to str
        Texts by the id of the call; those of further attempts under `attempt_id`.
    call_id : str
        Id of the call.
    read : callable
        Reads the JSON object of an answer, see `Reader`.

    Returns
    -------
    Reading
        What was read; without fields, and with the outcome ``failed``, where the answer is missing or unreadable.

    Examples
    --------
    >>> answers = {"q": "Perhaps.", "q#2": '{"answer": "yes"}'}
    >>> read_answer(answers, "q", lambda said: (said, 0))
    Reading(fields={'answer': 'yes'}, outcome='retried', dropped=0)
    """
    attempt, dropped = 0, 0
    while (text := answers.get(attempt_id(call_id, attempt))) is not None:
        fields, dropped, repaired = _read(text, read)
        if fields:
            return Reading(fields, "retried" if attempt else "repaired" if repaired else "parsed", dropped)
        attempt += 1
    return Reading({}, "failed", dropped)


def call_to_make(
    call: Call, answers: Mapping[str, str], read: Reader, *, note: str = "", tries: int = 2
) -> Call | None:
    r"""Return the call that is to be made for an answer that can be read.

    Parameters
    ----------
    call : Call
        The call of the first attempt.
    answers : mapping of str to str
        Texts by the id of the call.
    read : callable
        Reads the JSON object of an answer, see `Reader`.
    note : str
        What is said below the request when it is made again.
    tries : int
        How often the call is made at most; of the answer format of the settings, see `TRIES`.

    Returns
    -------
    Call or None
        The call itself, or the next attempt at it where the last answer cannot be read; None where an answer can be
        read or no try is left.

    Examples
    --------
    >>> call = Call("q", "m", "model", ({"role": "user", "content": "Yes or no?"},))
    >>> read = lambda said: (said, 0)
    >>> [call_to_make(call, answers, read) for answers in ({"q": '{"answer": "no"}'}, {"q": "No", "q#2": "No"})]
    [None, None]
    >>> call_to_make(call, {"q": "No"}, read, note="Answer in JSON.").messages[-1]["content"]
    'Yes or no?\n\nAnswer in JSON.'
    """
    for _ in range(tries):
        if call.id not in answers:
            return call
        if _read(answers[call.id], read)[0]:
            return None
        call = call.again(note)
    return None


def _read(text: str, read: Reader) -> tuple[Fields, int, bool]:
    """Return the fields of an answer, how many values were dropped, and whether it was repaired."""
    found = find_object(text)
    if found is None or not found.value:
        return {}, 0, False
    return *read(found.value), found.repaired


def find_object(answer: str) -> Found | None:
    """Find the JSON object in an answer.

    Parameters
    ----------
    answer : str
        Whatever a model wrote.

    Returns
    -------
    Found or None
        None where the answer contains no such object, or several that differ; nothing is raised, whatever the text.

    Examples
    --------
    >>> find_object('Sure! {"response": "I see."} Anything else?')
    Found(value={'response': 'I see.'}, repaired=True)
    >>> find_object("I see.") is None
    True
    """
    for strict in (True, False):
        whole = _parse(answer, strict=strict)
        if isinstance(whole, dict):
            return Found(whole, repaired=not strict)
    said = _without_reasoning(answer)
    found = [_parse(block) for block in _FENCED.findall(said)]
    fenced = any(isinstance(value, dict) and value for value in found)
    # Apart from a fenced object another may be meant; a fence without one may be a part of the answer's text.
    rest = _FENCED.sub("", said) if fenced else said
    found.append(_parse(rest[rest.find("{") : rest.rfind("}") + 1]))
    objects = [value for value in found if isinstance(value, dict) and value]
    if not objects or any(value != objects[0] for value in objects[1:]):
        return None
    return Found(objects[0], repaired=True)


def _without_reasoning(answer: str) -> str:
    """Leave out the reasoning that a server left in an answer: what it drafts and rejects is not the answer.

    It may lack the tag that opens it, which some servers put into the prompt; without the tag that closes it, it is
    the whole answer. A tag behind what begins an object is taken for text of the answer.
    """
    opened = answer.find("<think>")
    if opened >= 0 and _BEGUN.search(answer, 0, opened):
        return answer
    _, closed, after = answer.rpartition("</think>")
    return after if closed or opened < 0 else ""


def _parse(candidate: str, *, strict: bool = False) -> Any:
    try:
        # Not strict: line breaks and other control characters within strings.
        value = json.loads(candidate.strip().removeprefix("\ufeff"), strict=strict, parse_int=_whole)
        return without_surrogates(value)
    except (ValueError, RecursionError):
        return None


def _whole(digits: str) -> float:
    """Read an integer; one with more digits than Python converts is out of every range anyway."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)
