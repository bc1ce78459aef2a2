"""Continuations of a message that was cut in half: whether a model gives the other half back [1]_.

Conventions
-----------
Words are runs of letters and digits in lower case; an apostrophe within a word stays, other punctuation goes. The two
halves of a message of n words have ``ceil(n / 2)`` words and the rest. A message of fewer than `MIN_WORDS` words is not
cut.

References
----------
.. [1] Golchin, Surdeanu (2024), Time travel in LLMs: tracing data contamination in large language models, ICLR: a
   model is given the first part of an instance and asked for the rest.
.. [2] Carlini et al. (2023), Quantifying memorization across neural language models, ICLR: a text is memorized where
   the model continues it verbatim.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from attune_metrics.metric import MetricInputError

MIN_WORDS = 12
"""Messages of fewer words are not cut."""

MIN_RUN = 5
"""A half is reproduced by a run of at least so many words."""

_HALF = 0.5
_WORD = re.compile(r"\w+(?:['\N{RIGHT SINGLE QUOTATION MARK}]\w+)*")


class Halves(NamedTuple):
    """A message cut in the middle: the text that is shown, and the text that follows."""

    begin: str
    end: str


@lru_cache(maxsize=2**14)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case.

    Examples
    --------
    >>> words("I don't know - really!")
    ('i', "don't", 'know', 'really')
    """
    return tuple(_WORD.findall(_checked(text).lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")))


def halves(message: str) -> Halves | None:
    """Cut a message in the middle, behind its word number ``ceil(n / 2)`` of n.

    Parameters
    ----------
    message : str
        The message.

    Returns
    -------
    Halves or None
        Begin and end of the message, without white space around them; None for fewer than `MIN_WORDS` words.

    Raises
    ------
    MetricInputError
        If it is no text.

    Examples
    --------
    >>> halves("My sister moved out last week, and since then the house is so quiet.")
    Halves(begin='My sister moved out last week, and', end='since then the house is so quiet.')
    >>> halves("I am fine.") is None
    True
    """
    found = list(_WORD.finditer(_checked(message)))
    if len(found) < MIN_WORDS:
        return None
    cut = found[(len(found) + 1) // 2].start()
    return Halves(message[:cut].strip(), message[cut:].strip())


def common_run(reference: str, predicted: str) -> int:
    """Count the words of the longest run of consecutive words that two texts share [2]_.

    Parameters
    ----------
    reference, predicted : str
        Texts, such as the second half of a message and a model's continuation of the first half.

    Returns
    -------
    int
        0 to the number of words of the shorter text; more is more alike; symmetric. 0 where a text has no word.

    Raises
    ------
    MetricInputError
        If either is no text.

    Examples
    --------
    >>> common_run("since then the house is so quiet.", "and then the house was so quiet")
    3
    """
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words(reference)):
        places.setdefault(word, []).append(place)
    longest = 0
    ends: dict[int, int] = {}  # by place in the reference, the length of the run that ends there
    for word in words(predicted):
        if word in places:
            ends = {place: ends.get(place - 1, 0) + 1 for place in places[word]}
            longest = max(longest, *ends.values())
        else:
            ends = {}
    return longest


def is_long_run(run: int, size: int) -> bool:
    """Tell whether a run of so many words gives back a text of `size` words: at least half of them, and 5 words.

    Examples
    --------
    >>> is_long_run(5, 10), is_long_run(5, 11), is_long_run(4, 6)
    (True, False, False)
    """
    return run >= max(_HALF * size, MIN_RUN)


def run_share(reference: str, predicted: str) -> float:
    """Compute which share of a text the longest common run is: ``common_run / words of the reference`` [2]_.

    Parameters
    ----------
    reference : str
        The second half of a message.
    predicted : str
        A model's continuation of the first half. It may begin with the first half again, or go on for longer.

    Returns
    -------
    float
        0 to 1, higher is more alike; 1 where the whole reference stands in the continuation.

    Raises
    ------
    MetricInputError
        If either is no text, or the reference has no word.

    Examples
    --------
    >>> round(run_share("since then the house is so quiet.", "and then the house was so quiet"), 3)
    0.429
    """
    return common_run(reference, predicted) / _size(reference)


def is_reproduced(reference: str, predicted: str) -> bool:
    """Tell whether a continuation gives a text back: a common run of at least half of it, and of 5 words.

    Parameters, errors and source are those of `run_share`.

    Examples
    --------
    >>> is_reproduced("since then the house is so quiet.", "Since then the house is very quiet")
    True
    >>> is_reproduced("since then the house is so quiet.", "and then the house was so quiet")
    False
    """
    return is_long_run(common_run(reference, predicted), _size(reference))


def _size(reference: str) -> int:
    """Return the number of words, at least one."""
    size = len(words(reference))
    if not size:
        raise MetricInputError("the reference has no word; expected the second half of a message")
    return size


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise MetricInputError(f"{text!r:.60} is no text; expected a message")
    return text
