"""Finding the emotions that a text tells of, by the words of the lexicon."""

import re
from functools import lru_cache
from itertools import pairwise

from attune_bench.benchmarks.attunebench.baselines._words import load_words

__all__ = ["find_emotions", "words_of"]

_REACH = 3  # how many words a negation or an intensifier acts on, within its clause
_CLAUSE_ENDS = {*".,;:!?", "but"}


@lru_cache(maxsize=20_000)
def _emotions_of(word: str) -> tuple[str, ...]:
    words = load_words()
    stems = (words.stems.get(word[:length], ()) for length in range(2, len(word) + 1))
    return tuple(sorted({*words.entries.get(word, ())}.union(*stems)))


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words and the punctuation that ends a clause.

    Examples
    --------
    >>> words_of("I can't sleep, ok?")
    ['i', "can't", 'sleep', ',', 'ok', '?']
    """
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*|[.,;:!?]", text.lower().replace("\u2019", "'"))


def find_emotions(text: str) -> dict[str, int]:
    """Find the emotions that a text tells of.

    A word after a negation within the same clause does not count; an intensifier raises the intensity, a diminisher
    lowers it, and so does every further word of the same emotion raise it.

    Parameters
    ----------
    text : str
        English.

    Returns
    -------
    dict of str to int
        PANAS word to intensity, 1-7, the strongest first; of equals the one found first.

    Examples
    --------
    >>> find_emotions("I was really scared. Not angry, just a bit ashamed.")
    {'Scared': 5, 'Ashamed': 3}
    """
    words = load_words()
    intensity: dict[str, int] = {}
    negated, emphasised, emphasis = 0, 0, 0  # the first two count down the words still acted on
    for before, word in pairwise(["", *words_of(text)]):
        phrase = words.entries.get(f"{before} {word}", ())
        for emotion in phrase or (() if negated else _emotions_of(word)):
            intensity[emotion] = intensity.get(emotion, 3) + 1 + (emphasis if emphasised else 0)
        negated, emphasised = max(negated - 1, 0), max(emphasised - 1, 0)
        if word in _CLAUSE_ENDS:
            negated = emphasised = 0
        elif word in words.negations or word.endswith("n't"):
            negated = _REACH
        elif word in words.emphasis:
            emphasised, emphasis = _REACH, words.emphasis[word]
    strongest = sorted(intensity, key=lambda emotion: -intensity[emotion])
    return {emotion: min(max(intensity[emotion], 1), 7) for emotion in strongest}
