"""Emotion tags: did the model see what the participant felt at this turn, and how strongly.

Conventions
-----------
A turn carries a list of tags, empty for a neutral or stable turn. A tag is a word, or a pair of a word and an
intensity from 1 to 7 (None if not given). Words are compared trimmed and in lower case. Any word may be tagged; one
outside the twenty PANAS words takes part in the set metrics and is similar to nothing, itself included; one that a
model predicts and the participant did not tag can only lose, which is an `UnknownEmotionWarning`. Where a word is
tagged twice, the valence-arousal scores use both tags, the set metrics use the last tag's intensity, even None.

Metrics
-------
- Hit rate, precision, recall, F1: exact words, as sets [1]_.
- F1 with intensity, intensity MAE: how close the intensities of the shared words are.
- VA score, VA score with intensity: partial credit for a near miss, by distance in the valence-arousal plane [2]_
  under the best one-to-one assignment [3]_.

References
----------
.. [1] AttuneBench, arXiv:2605.21739, turn metrics.
.. [2] Russell (1980), A circumplex model of affect, J. Pers. Soc. Psychol. 39, 1161-1178.
.. [3] Kuhn (1955), The Hungarian method for the assignment problem, Nav. Res. Logist. Q. 2, 83-97.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache, partial
from itertools import permutations
from math import dist, fsum, isnan, nan, perm, sqrt
from operator import getitem
from types import MappingProxyType
from typing import NamedTuple

from attune_metrics.attunebench import turn_entry, with_mean
from attune_metrics.metric import (
    Metric,
    MetricInputError,
    UnknownEmotionWarning,
    check_list,
    check_number,
    defined,
    mean_over_turns,
    warn_undefined,
)

POSITIVE_AFFECT = (
    "Proud", "Alert", "Inspired", "Determined", "Attentive",
    "Active", "Excited", "Strong", "Enthusiastic", "Interested",
)  # fmt: skip
NEGATIVE_AFFECT = (
    "Irritable", "Ashamed", "Nervous", "Jittery", "Distressed",
    "Afraid", "Upset", "Guilty", "Scared", "Hostile",
)  # fmt: skip

VALENCE_AROUSAL: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "afraid": (0.073, 0.84),
        "scared": (0.083, 0.82),
        "nervous": (0.188, 0.72),
        "jittery": (0.196, 0.788),
        "distressed": (0.125, 0.75),
        "upset": (0.167, 0.65),
        "guilty": (0.15, 0.60),
        "ashamed": (0.13, 0.62),
        "hostile": (0.20, 0.70),
        "irritable": (0.22, 0.68),
        "interested": (0.65, 0.60),
        "excited": (0.80, 0.85),
        "strong": (0.75, 0.70),
        "enthusiastic": (0.82, 0.78),
        "proud": (0.85, 0.65),
        "alert": (0.70, 0.75),
        "inspired": (0.90, 0.70),
        "determined": (0.78, 0.72),
        "attentive": (0.68, 0.60),
        "active": (0.72, 0.80),
    }
)


# Rounded to 4 decimals by definition, and used rounded everywhere.
SIMILARITY = {
    first: {second: round(1 - dist(place, other) / sqrt(2), 4) for second, other in VALENCE_AROUSAL.items()}
    for first, place in VALENCE_AROUSAL.items()
}
_UNRELATED: Mapping[str, float] = {}


class PreparedTags(NamedTuple):
    """One turn's tags, ready to be scored many times.

    Attributes
    ----------
    words : tuple of str
        Trimmed and in lower case, repeats kept.
    intensities : tuple of float or None
        One per word, 1 to 7.
    last : dict
        Each word once, with the intensity of its last tag.
    """

    words: tuple[str, ...]
    intensities: tuple[float | None, ...]
    last: dict[str, float | None]


class EmotionScores(NamedTuple):
    """All emotion metrics of one turn; each is described at the function of its name (`emotion_...`)."""

    hit_rate: float
    precision: float
    recall: float
    f1: float
    f1_intensity: float
    intensity_mae: float
    va_score: float
    va_intensity_score: float


_BOTH_EMPTY = EmotionScores(1.0, 1.0, 1.0, 1.0, 1.0, nan, 1.0, 1.0)
_ONE_EMPTY = EmotionScores(0.0, 0.0, 0.0, 0.0, 0.0, nan, 0.0, 0.0)


def prepare_tags(tags: Iterable[tuple[str, float | None]]) -> PreparedTags:
    """Prepare pairs of word and intensity for `score_tags`; intensities are clamped to 1-7, nothing is checked."""
    words, intensities = [], []
    for word, intensity in tags:
        words.append(word.strip().lower())
        intensities.append(intensity if intensity is None or 1 <= intensity <= 7 else min(max(intensity, 1), 7))
    return PreparedTags(tuple(words), tuple(intensities), dict(zip(words, intensities, strict=True)))


def score_tags(reference: PreparedTags, predicted: PreparedTags) -> EmotionScores:
    """Score prepared tags: the same values as `emotion_scores`, without checks and without warnings."""
    if not reference.words or not predicted.words:
        return _ONE_EMPTY if reference.words or predicted.words else _BOTH_EMPTY

    truth, guess = reference.last, predicted.last
    shared = truth.keys() & guess.keys()
    gaps = [abs(a - b) for word in shared if (a := truth[word]) is not None and (b := guess[word]) is not None]
    recall = len(shared) / len(truth)
    f1 = 2 * len(shared) / (len(truth) + len(guess))
    mae = fsum(gaps) / len(gaps) if gaps else nan

    # Mean over the matched pairs times coverage min/max is the matched sum over the longer list.
    few, many = (reference, predicted) if len(reference.words) <= len(predicted.words) else (predicted, reference)
    similar, blended = [], []
    for word, i in zip(few.words, few.intensities, strict=True):
        of_word = SIMILARITY.get(word, _UNRELATED)
        row = [of_word.get(other, 0.0) for other in many.words]
        similar.append(row)
        blended.append(
            [
                0.7 * value + (0.0 if i is None or j is None else 0.3 * (1 - abs(i - j) / 6))
                for value, j in zip(row, many.intensities, strict=True)
            ]
        )
    return EmotionScores(
        hit_rate=recall,
        precision=len(shared) / len(guess),
        recall=recall,
        f1=f1,
        f1_intensity=f1 * (1 - mae / 6) if gaps else 0.0,
        intensity_mae=mae,
        va_score=_best_assignment(similar) / len(many.words),
        va_intensity_score=_best_assignment(blended) / len(many.words),
    )


def _best_assignment(values: list[list[float]]) -> float:
    """Largest sum of one value per row, no column twice; there are at least as many columns as rows."""
    if len(values) == 1:
        return max(values[0])
    choices = _choices(len(values[0]), len(values))
    if len(values) == 2 and choices:
        # The sum of two is rounded once, as fsum does.
        first, second = values
        return max([first[i] + second[j] for i, j in choices])
    if choices:
        return max([fsum(map(getitem, values, columns)) for columns in choices])
    from scipy.optimize import linear_sum_assignment  # slow to import, rarely needed

    rows, columns = linear_sum_assignment(values, maximize=True)
    return fsum(values[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True))


@cache
def _choices(columns: int, rows: int) -> tuple[tuple[int, ...], ...]:
    """Return every choice of a column for each row; none where there are too many to try."""
    return tuple(permutations(range(columns), rows)) if perm(columns, rows) <= 24 else ()


Tag = str | tuple[str, float | None]
_WORDS = (*POSITIVE_AFFECT, *NEGATIVE_AFFECT)
_REMEMBERED = 1024  # words of models; the nearest of the twenty costs more than the score
_NO_SHARED_INTENSITY = "no shared emotion has an intensity on both sides"


def emotion_similarity(first: str, second: str) -> float:
    """Similarity of two emotion words in the valence-arousal plane.

    ``1 - euclidean distance / sqrt(2)``, rounded to 4 decimals (the plane is the unit square).

    Parameters
    ----------
    first, second : str
        Emotion words, any letter case.

    Returns
    -------
    float
        0 to 1, higher is more alike; 0 where either is not one of the twenty PANAS words.

    Examples
    --------
    >>> emotion_similarity("Distressed", "Upset")
    0.9233
    """
    return SIMILARITY.get(first.strip().lower(), _UNRELATED).get(second.strip().lower(), 0.0)


def _check_tags(tags: object, side: str) -> PreparedTags:
    return prepare_tags(
        [_check_tag(tag, side) for tag in check_list(tags, f"{side} tags", "words or (word, intensity) pairs")]
    )


def _check_tag(tag: object, side: str) -> tuple[str, float | None]:
    match tag:
        case str(word) | [str(word), None]:
            intensity = None
        case [str(word), number]:
            intensity = check_number(number, "intensity", 1, 7)
        case _:
            raise MetricInputError(f"{side} tag {tag!r} is neither a word nor a (word, intensity) pair")
    if not word.strip():
        raise MetricInputError(f"{side} tag {tag!r} has a blank word; a neutral turn has an empty list of tags")
    return word, intensity


def _score(reference: Sequence[Tag], predicted: Sequence[Tag]) -> EmotionScores:
    truth, guess = _check_tags(reference, "reference"), _check_tags(predicted, "predicted")
    for word in sorted({*guess.words}.difference(truth.words, VALENCE_AROUSAL)):
        warnings.warn(_unknown(word), UnknownEmotionWarning, stacklevel=3)
    return score_tags(truth, guess)


@lru_cache(_REMEMBERED)
def _unknown(word: str) -> str:
    near = get_close_matches(word, VALENCE_AROUSAL, n=1)
    expected = f"the nearest in spelling is {near[0].title()!r}" if near else f"they are {', '.join(_WORDS)}"
    return f"{word!r} was predicted and can only lose: it is none of the twenty emotions; {expected}"


def emotion_scores(reference: Sequence[Tag], predicted: Sequence[Tag]) -> EmotionScores:
    """All emotion metrics of a turn in one pass.

    Parameters
    ----------
    reference, predicted : sequence of str or (str, float or None)
        The participant's tags and the model's; intensities 1 to 7.

    Returns
    -------
    EmotionScores
        ``hit_rate, precision, recall, f1, f1_intensity, intensity_mae, va_score, va_intensity_score``.

    Raises
    ------
    MetricInputError
        If a tag is neither a word nor a pair, a word is blank, or an intensity is outside 1-7.

    Warns
    -----
    UndefinedMetricWarning
        If ``intensity_mae`` is nan.
    UnknownEmotionWarning
        If a predicted word is none of the twenty and not among the reference's, so that it can only lose.

    Examples
    --------
    >>> scores = emotion_scores([("Upset", 5)], [("Distressed", 5), ("Upset", 3)])
    >>> scores.recall, scores.precision, scores.intensity_mae, scores.va_score
    (1.0, 0.5, 2.0, 0.5)
    """
    scores = _score(reference, predicted)
    if isnan(scores.intensity_mae):
        warn_undefined("intensity_mae", _NO_SHARED_INTENSITY)
    return scores


def emotion_hit_rate(reference: Sequence[Tag], predicted: Sequence[Tag]) -> float:
    """Share of the participant's emotions that the model named: ``|G & P| / |G|``.

    Takes the tags of one turn, as `emotion_scores`, and raises as it does.

    Returns
    -------
    float
        0 to 1, higher is better. A turn without tags: 1 if none were predicted, else 0.

    Examples
    --------
    >>> emotion_hit_rate(["Upset", "Afraid"], ["afraid", "Guilty"])
    0.5
    """
    return _score(reference, predicted).hit_rate


def emotion_precision(reference: Sequence[Tag], predicted: Sequence[Tag]) -> float:
    """Share of the named emotions that the participant had: ``|G & P| / |P|``.

    Takes the tags of one turn, as `emotion_scores`, and raises as it does.

    Returns
    -------
    float
        0 to 1, higher is better. Both sides empty: 1; one side empty: 0.

    Examples
    --------
    >>> emotion_precision(["Upset"], ["Upset", "Guilty", "Afraid", "Nervous"])
    0.25
    """
    return _score(reference, predicted).precision


def emotion_recall(reference: Sequence[Tag], predicted: Sequence[Tag]) -> float:
    """Share of the participant's emotions that the model named: ``|G & P| / |G|``.

    The same number as `emotion_hit_rate`; AttuneBench reports both. Takes and raises what `emotion_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better. Both sides empty: 1; one side empty: 0.

    Examples
    --------
    >>> emotion_recall(["Upset", "Afraid"], ["Upset", "Guilty", "Nervous"])
    0.5
    """
    return _score(reference, predicted).recall


def emotion_f1(reference: Sequence[Tag], predicted: Sequence[Tag]) -> float:
    """F1 of the two sets of words: ``2 |G & P| / (|G| + |P|)``.

    The harmonic mean of precision and recall. Takes and raises what `emotion_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better. Both sides empty: 1; one side empty: 0.

    Examples
    --------
    >>> emotion_f1(["Upset", "Afraid"], ["afraid", "Guilty"])
    0.5
    """
    return _score(reference, predicted).f1


def emotion_f1_intensity(reference: Sequence[Tag], predicted: Sequence[Tag]) -> float:
    """F1 discounted by the error of intensity: ``F1 * mean(1 - |a - b| / 6)``.

    The mean runs over the shared words with two known intensities a and b.
    Takes `reference` and `predicted` as `emotion_scores`, with the same errors.

    Returns
    -------
    float
        0 to 1, higher is better. Both sides empty: 1; no shared word with both intensities: 0.

    Examples
    --------
    >>> emotion_f1_intensity([("Upset", 6)], [("Upset", 3)])
    0.5
    """
    return _score(reference, predicted).f1_intensity


def emotion_intensity_mae(reference: Sequence[Tag], predicted: Sequence[Tag]) -> float:
    """Mean absolute error of intensity over the shared words: ``mean |a - b|``.

    Takes and raises what `emotion_scores` does.

    Returns
    -------
    float
        0 to 6 scale points, lower is better; nan, with `UndefinedMetricWarning`, if no shared word has both
        intensities.

    Examples
    --------
    >>> emotion_intensity_mae([("Upset", 6), "Afraid"], [("Upset", 3), ("Afraid", 2)])
    3.0
    """
    mae = _score(reference, predicted).intensity_mae
    return defined(mae, "emotion_intensity_mae", _NO_SHARED_INTENSITY)


def emotion_va_score(reference: Sequence[Tag], predicted: Sequence[Tag]) -> float:
    """Valence-arousal score: similarity under the best matching, times coverage.

    With n and m tags: the mean `emotion_similarity` over the min(n, m) matched pairs, times ``min(n, m) / max(n, m)``.
    The matching is the one-to-one assignment with the largest sum. Takes and raises what `emotion_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better. Both sides empty: 1; one side empty: 0. Tags are lists: repeats count each.

    Examples
    --------
    >>> emotion_va_score(["Distressed"], ["Upset"])
    0.9233
    >>> emotion_va_score(["Distressed"], ["Upset", "Proud"])
    0.46165
    """
    return _score(reference, predicted).va_score


def emotion_va_intensity_score(reference: Sequence[Tag], predicted: Sequence[Tag]) -> float:
    """Valence-arousal score with pairs that also compare intensity.

    As `emotion_va_score` with the value ``0.7 similarity + 0.3 (1 - |a - b| / 6)`` for a pair of tags with intensities
    a and b, the second term 0 where one is unknown; the best matching is sought anew for these values.
    Takes and raises what `emotion_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better. Both sides empty: 1; one side empty: 0.

    Examples
    --------
    >>> round(emotion_va_intensity_score([("Upset", 6)], [("Upset", 3)]), 12)
    0.85
    """
    return _score(reference, predicted).va_intensity_score


_entry = partial(turn_entry, family="emotion")
_HIT_RATE = _entry("emotion_hit_rate", "Emotion hit rate", function=emotion_hit_rate)

METRICS: tuple[Metric, ...] = (
    *with_mean(_HIT_RATE),
    mean_over_turns(
        _HIT_RATE,
        name="avg_emotion_hit_rate_tagged_only",
        label="Emotion hit rate, tagged turns",
        over="the turns with a reference tag",
    ),
    _entry("emotion_precision", "Emotion precision", function=emotion_precision),
    _entry("emotion_recall", "Emotion recall", function=emotion_recall),
    *with_mean(_entry("emotion_f1", "Emotion F1", function=emotion_f1, symmetric=True), short="emo F1"),
    *with_mean(
        _entry("emotion_f1_intensity", "Emotion F1 with intensity", function=emotion_f1_intensity, symmetric=True)
    ),
    *with_mean(_entry("emotion_va_score", "Emotion VA", function=emotion_va_score, symmetric=True), short="emo VA"),
    *with_mean(
        _entry(
            "emotion_va_intensity_score",
            "Emotion VA with intensity",
            function=emotion_va_intensity_score,
            symmetric=True,
        )
    ),
    *with_mean(
        _entry(
            "emotion_intensity_mae",
            "Emotion intensity MAE",
            high=6,
            higher_is_better=False,
            function=emotion_intensity_mae,
            symmetric=True,
            nullable=True,
        ),
        short="int MAE",
    ),
)
"""The catalogue's entries of this module."""
