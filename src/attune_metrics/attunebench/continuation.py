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
    one, other = words(reference), words(predicted)
    low, high = 0, min(len(one), len(other))
    # A shared run holds shared runs of every smaller length.
    while low < high:
        size = (low + high + 1) // 2
        runs = {one[place : place + size] for place in range(len(one) - size + 1)}
        if any(other[place : place + size] in runs for place in range(len(other) - size + 1)):
            low = size
        else:
            high = size - 1
    return low


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
    total = len(words(reference))
    if not total:
        raise MetricInputError("the reference has no word; expected the second half of a message")
    return common_run(reference, predicted) / total


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
    share = run_share(reference, predicted)
    return share >= _HALF and common_run(reference, predicted) >= MIN_RUN


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise MetricInputError(f"{text!r:.60} is no text; expected a message")
    return text
