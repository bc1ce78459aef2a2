"""Pairwise preferences: which of two responses the participant prefers.

Conventions
-----------
A turn has comparisons, each of two responses by their labels (`original`, `alternate`, `human`, or any other) with a
winner: "A" is the first response, "B" the second, None is no answer. Predictions are keyed by the position of the
comparison, from 0. A label may be open (None) in prepared comparisons only; the checked functions demand two labels.

Metrics
-------
- Accuracy: share of comparisons predicted as answered [1]_.
- Kendall's tau-a between the rankings of the responses by wins [2]_.

References
----------
.. [1] AttuneBench, arXiv:2605.21739, turn metrics.
.. [2] Kendall (1938), A new measure of rank correlation, Biometrika 30, 81-93.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from math import comb, fsum, nan
from typing import NamedTuple

from attune_metrics.attunebench._entries import turn_entry, with_mean
from attune_metrics.checks import check_list, defined
from attune_metrics.errors import MetricInputError
from attune_metrics.metric import Metric

__all__ = [
    "METRICS",
    "Choices",
    "Comparison",
    "PairwiseScores",
    "PreparedComparisons",
    "pairwise_accuracy",
    "pairwise_kendall_tau",
    "pairwise_wins",
    "prepare_comparisons",
    "score_comparisons",
    "score_random_choices",
]


class Comparison(NamedTuple):
    """Two responses by label, and which of them won.

    Attributes
    ----------
    first, second : str or None
        Labels of response A and response B. A file may leave one open (None): the comparison counts for the accuracy,
        but the win of an open label goes to no response.
    winner : {"A", "B", None}
        None where the participant gave no answer.
    """

    first: str | None
    second: str | None
    winner: str | None


Choices = Mapping[int, str | None] | Mapping[str, str | None] | Sequence[str | None]


@dataclass(frozen=True, slots=True)
class PreparedComparisons:
    """One turn's comparisons, ready to be scored many times.

    Attributes
    ----------
    keyed : tuple of (str, Comparison)
        The comparisons with their positions as text.
    wins : dict
        Label -> number of wins, labels sorted by name.
    ranking : tuple of str
        Labels by wins, most first, ties in order of name.
    """

    keyed: tuple[tuple[str, Comparison], ...]
    wins: dict[str, int]
    ranking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairwiseScores:
    """Both pairwise metrics of one turn; see `pairwise_accuracy` and `pairwise_kendall_tau`."""

    accuracy: float
    kendall_tau: float


def prepare_comparisons(reference: Sequence[Comparison]) -> PreparedComparisons:
    """Prepare comparisons for `score_comparisons`; winners are "A", "B" or None, nothing is checked."""
    wins = dict.fromkeys(sorted({label for pair in reference for label in pair[:2] if label is not None}), 0)
    for first, second, winner in reference:
        label = first if winner == "A" else second
        if winner is not None and label is not None:
            wins[label] += 1
    keyed = tuple((str(position), comparison) for position, comparison in enumerate(reference))
    return PreparedComparisons(keyed, wins, _rank(wins))


def _rank(wins: Mapping[str, int]) -> tuple[str, ...]:
    # The labels come sorted by name and sorting keeps the order of equals, also in reverse.
    return tuple(sorted(wins, key=wins.__getitem__, reverse=True))


def score_comparisons(reference: PreparedComparisons, predicted: Mapping[str, str | None]) -> PairwiseScores:
    """Score prepared comparisons, without checks and without warnings.

    `predicted` is keyed by position as text ("0", "1", ...); another value than "A" and "B" counts as missing. An open
    label takes part in the accuracy only: Kendall's tau ranks named labels, nan if fewer than two or if none is
    predicted to win.
    """
    if not reference.keyed:
        return PairwiseScores(1.0, nan)
    correct = 0
    wins = dict.fromkeys(reference.wins, 0)
    for position, (first, second, winner) in reference.keyed:
        choice = predicted.get(position)
        if choice == "A":
            label = first
        elif choice == "B":
            label = second
        else:
            continue
        if label is not None:
            wins[label] += 1
        correct += choice == winner
    tau = _tau(reference.ranking, _rank(wins)) if any(wins.values()) else nan
    return PairwiseScores(correct / len(reference.keyed), tau)


def _tau(reference: tuple[str, ...], predicted: tuple[str, ...]) -> float:
    pairs = comb(len(reference), 2)
    if not pairs:
        return nan
    discordant = sum([a > b for a, b in combinations(map(predicted.index, reference), 2)])
    return (pairs - 2 * discordant) / pairs


def score_random_choices(reference: PreparedComparisons) -> PairwiseScores:
    """Return the expected scores of random choices: A or B with equal probability, each comparison apart.

    Parameters
    ----------
    reference : PreparedComparisons
        One turn's comparisons.

    Returns
    -------
    PairwiseScores
        Accuracy is half the share of comparisons that have a winner; 1 without comparisons. Kendall's tau is the mean
        over all outcomes with a win of a named label, by enumeration; nan with fewer than two labels. Random choices
        without any such win are possible only where every comparison has an open label.

    Examples
    --------
    >>> turn = prepare_comparisons([Comparison("original", "human", "B"), Comparison("alternate", "human", None)])
    >>> score_random_choices(turn)
    PairwiseScores(accuracy=0.25, kendall_tau=0.3333333333333333)
    """
    if not reference.keyed:
        return PairwiseScores(1.0, nan)
    compared = [comparison for _, comparison in reference.keyed]
    decided = sum(comparison.winner is not None for comparison in compared)
    # An open label is None, which is neither before nor after a text.
    pairs = sorted((tuple(sorted(pair[:2], key=str)) for pair in compared), key=str)
    rankings = _random_rankings(tuple(reference.wins), tuple(pairs))
    tau = fsum(share * _tau(reference.ranking, ranking) for ranking, share in rankings.items()) if rankings else nan
    return PairwiseScores(decided / (2 * len(compared)), tau)


@lru_cache(maxsize=256)
def _random_rankings(
    labels: tuple[str, ...], pairs: tuple[tuple[str | None, ...], ...]
) -> dict[tuple[str, ...], float]:
    """Return the probability of each ranking of labels under random choices, given that any label wins."""
    drawn = {(0,) * len(labels): 1.0}
    for pair in pairs:
        after: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for wins, share in drawn.items():
            for winner in pair:
                after[tuple(n + (label == winner) for label, n in zip(labels, wins, strict=True))] += share / 2
        drawn = after
    won = {wins: share for wins, share in drawn.items() if any(wins)}
    whole = sum(won.values())
    rankings: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for wins, share in won.items():
        rankings[_rank(dict(zip(labels, wins, strict=True)))] += share / whole
    return dict(rankings)


def _check_comparisons(reference: object) -> PreparedComparisons:
    items = check_list(reference, "reference", "comparisons (first, second, winner)")
    return prepare_comparisons([_check_comparison(item) for item in items])


def _check_comparison(item: object) -> Comparison:
    match item:
        case [str(first), str(second), winner] if first != second:
            return Comparison(first, second, _check_winner(winner, "reference"))
        case [str(first), str(), _]:
            raise MetricInputError(f"comparison {item!r} compares {first!r} with itself")
        case _:
            raise MetricInputError(f"comparison {item!r} is not (first label, second label, winner)")


def _check_winner(winner: object, side: str) -> str | None:
    choice = winner.strip().upper() if isinstance(winner, str) else winner
    if choice not in ("A", "B", None):
        guess = "; is this a label? A is the first response, B the second" if isinstance(winner, str) else ""
        raise MetricInputError(f"{side} winner {winner!r} is not A, B or None{guess}")
    return choice


def _check_choices(predicted: object, n: int) -> dict[str, str | None]:
    if isinstance(predicted, Mapping):
        items = list(predicted.items())
    else:
        items = list(enumerate(check_list(predicted, "predicted", "A, B or None, or a mapping position -> choice")))
    choices: dict[str, str | None] = {}
    for key, winner in items:
        is_position = isinstance(key, int) and not isinstance(key, bool)
        if not is_position and not (isinstance(key, str) and key.isdecimal()):
            raise MetricInputError(f"predicted position {key!r} is not a whole number")
        position = int(key)
        if not 0 <= position < n:
            raise MetricInputError(
                f"predicted position {position} is beyond the {n} comparisons; positions count from 0"
            )
        if str(position) in choices:
            raise MetricInputError(f"predicted position {position} is given twice, as number and as text")
        choices[str(position)] = _check_winner(winner, "predicted")
    return choices


def _score(reference: object, predicted: object) -> PairwiseScores:
    truth = _check_comparisons(reference)
    return score_comparisons(truth, _check_choices(predicted, len(truth.keyed)))


def pairwise_accuracy(reference: Sequence[Comparison | tuple[str, str, str | None]], predicted: Choices) -> float:
    """Share of the comparisons whose winner was predicted: ``mean(prediction == winner)``.

    Parameters
    ----------
    reference : sequence of Comparison or (str, str, str or None)
        First label, second label, winner ("A", "B" or None).
    predicted : mapping of int or str to {"A", "B", None}, or sequence of these
        Keyed by position from 0. Missing positions are allowed.

    Returns
    -------
    float
        0 to 1, higher is better. All comparisons count: a missing prediction is wrong, a None winner is never matched.
        No comparisons: 1.

    Raises
    ------
    MetricInputError
        If a comparison is not a triple of two different labels and a winner, a winner is not A, B or None, or a
        prediction's position is beyond the comparisons.

    Examples
    --------
    >>> turn = [("original", "human", "B"), ("original", "alternate", "A")]
    >>> pairwise_accuracy(turn, {"0": "B", "1": "B"})
    0.5
    """
    return _score(reference, predicted).accuracy


def pairwise_kendall_tau(reference: Sequence[Comparison | tuple[str, str, str | None]], predicted: Choices) -> float:
    """Kendall's tau-a between the responses ranked by true wins and by predicted wins.

    ``(concordant - discordant) / pairs`` over all pairs of labels. Takes and raises what `pairwise_accuracy` does.

    Returns
    -------
    float
        -1 to 1, higher is better, 0 if as many pairs of labels are in the opposite order as in the same. nan, with
        `UndefinedMetricWarning`, if there are fewer than two labels or no prediction is A or B.

    Notes
    -----
    True and predicted wins are counted independently, each over the comparisons where it is A or B. Equal wins are
    ranked by name of label, so the rankings have no ties: with three labels the value is -1, -1/3, 1/3 or 1.
    For this reason random answers do not score 0 on average. With twelve comparisons, four of each pair of
    `original`, `alternate` and `human`, their expected value is 0.158 where the true order is the order of names
    (alternate, human, original), -0.158 where it is the reverse, 0.053 where it is alternate, original, human or human,
    alternate, original, and -0.053 for the other two. So where `alternate` always wins, and the four comparisons of
    the other two are random, it is 0.125; where `original` always wins, -0.085.

    Examples
    --------
    >>> turn = [("original", "human", "B"), ("original", "alternate", "A"), ("alternate", "human", "B")]
    >>> pairwise_kendall_tau(turn, ["B", "A", "B"])
    1.0
    """
    tau = _score(reference, predicted).kendall_tau
    return defined(tau, "pairwise_kendall_tau", "it needs two labels and one prediction")


def pairwise_wins(reference: Sequence[Comparison | tuple[str, str, str | None]]) -> dict[str, int]:
    """Count the wins of each response.

    Takes and raises what `pairwise_accuracy` does for `reference`.

    Returns
    -------
    dict
        Label -> wins, labels sorted by name; every label that occurs, 0 included.

    Examples
    --------
    >>> pairwise_wins([("original", "human", "B"), ("original", "alternate", None)])
    {'alternate': 0, 'human': 1, 'original': 0}
    """
    return _check_comparisons(reference).wins


_entry = partial(turn_entry, family="pairwise", coverage=("pairwise",))

METRICS: tuple[Metric, ...] = (
    *with_mean(
        _entry(name="pairwise_accuracy", label="Pairwise accuracy", function=pairwise_accuracy), short="pair acc"
    ),
    *with_mean(
        _entry(
            name="pairwise_kendall_tau",
            label="Pairwise Kendall tau",
            low=-1,
            function=pairwise_kendall_tau,
            nullable=True,
        ),
        short="pair tau",
    ),
)
"""The catalogue's entries of this module."""
