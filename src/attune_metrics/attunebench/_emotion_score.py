"""The scores of two prepared lists of emotion tags: all metrics in one pass, unchecked."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from math import dist, fsum, nan, perm, sqrt
from operator import getitem

from attune_metrics.attunebench._affect import VALENCE_AROUSAL

__all__ = ["SIMILARITY", "EmotionScores", "PreparedTags", "prepare_tags", "score_tags"]

# Rounded to 4 decimals by definition, and used rounded everywhere.
SIMILARITY = {
    (first, second): round(1 - dist(VALENCE_AROUSAL[first], VALENCE_AROUSAL[second]) / sqrt(2), 4)
    for first, second in product(VALENCE_AROUSAL, repeat=2)
}


@dataclass(frozen=True, slots=True)
class PreparedTags:
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


@dataclass(frozen=True, slots=True)
class EmotionScores:
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
    pairs = [
        (word.strip().lower(), None if intensity is None else min(max(intensity, 1), 7)) for word, intensity in tags
    ]
    return PreparedTags(tuple(word for word, _ in pairs), tuple(intensity for _, intensity in pairs), dict(pairs))


def score_tags(reference: PreparedTags, predicted: PreparedTags) -> EmotionScores:
    """Score prepared tags: the same values as `emotion_scores`, without checks and without warnings."""
    if not reference.words or not predicted.words:
        return _ONE_EMPTY if reference.words or predicted.words else _BOTH_EMPTY

    truth, guess = reference.last, predicted.last
    shared = [word for word in truth if word in guess]
    gaps = [abs(a - b) for word in shared if (a := truth[word]) is not None and (b := guess[word]) is not None]
    recall = len(shared) / len(truth)
    f1 = 2 * len(shared) / (len(truth) + len(guess))
    mae = sum(gaps) / len(gaps) if gaps else nan

    # Mean over the matched pairs times coverage min/max is the matched sum over the longer list.
    few, many = sorted((reference, predicted), key=lambda tags: len(tags.words))
    similar = [[SIMILARITY.get((a, b), 0.0) for b in many.words] for a in few.words]
    blended = [
        [
            0.7 * value + (0.0 if i is None or j is None else 0.3 * (1 - abs(i - j) / 6))
            for value, j in zip(row, many.intensities, strict=True)
        ]
        for row, i in zip(similar, few.intensities, strict=True)
    ]
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
    if perm(len(values[0]), len(values)) <= 24 or len(values) == 1:
        choices = _choices(len(values[0]), len(values))
        return max([fsum(map(getitem, values, columns)) for columns in choices])
    from scipy.optimize import linear_sum_assignment  # slow to import, rarely needed

    rows, columns = linear_sum_assignment(values, maximize=True)
    return fsum(values[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True))


@cache
def _choices(columns: int, rows: int) -> tuple[tuple[int, ...], ...]:
    return tuple(permutations(range(columns), rows))
