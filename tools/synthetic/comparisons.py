"""Synthetic comparisons in pairs: four models, a biased judge, a nearly fair one and people, with planted effects."""

from collections.abc import Iterator
from itertools import combinations
from math import exp, log
from random import Random
from typing import NamedTuple

from attune_data.comparisons import Comparison

STRENGTHS = {
    "synthetic/attentive": 0.8,
    "synthetic/thorough": 0.2,
    "synthetic/brief": 0.0,
    "synthetic/hasty": -1.0,
}
"""The models, and their strengths in log odds."""

LENGTHS = {
    "synthetic/attentive": 900,
    "synthetic/thorough": 1600,
    "synthetic/brief": 400,
    "synthetic/hasty": 700,
}
"""The usual length of an answer, in characters."""


class Manner(NamedTuple):
    """How a judge judges.

    Attributes
    ----------
    first : float
        What the position shown first adds, in log odds.
    length : float
        What the natural logarithm of the ratio of lengths adds.
    pairs : int
        How many of the six pairs it judges on each unit.
    orders : int
        1, or 2 for both orders of a pair.
    units : int
        How many units it judges.
    """

    first: float
    length: float
    pairs: int
    orders: int
    units: int


JUDGES = {
    "synthetic/judge-one": Manner(0.5, 0.6, 6, 2, 30),
    "synthetic/judge-two": Manner(0.1, 0.1, 4, 2, 30),
    "human": Manner(0.0, 0.0, 3, 1, 30),
}
"""The judges, with what each of them adds to a verdict."""

_TIE = 0.12


def comparisons(*, seed: int) -> Iterator[Comparison]:
    """Generate the verdicts of all judges on 30 units, whose answers differ in how good they are."""
    rng = Random(seed)
    for number in range(1, 31):
        quality = {model: strength + rng.gauss(0, 0.6) for model, strength in STRENGTHS.items()}
        length = {model: round(usual * exp(rng.gauss(0, 0.2))) for model, usual in LENGTHS.items()}
        for judge, manner in JUDGES.items():
            pairs = rng.sample([*combinations(STRENGTHS, 2)], manner.pairs)
            for one, other in pairs if number <= manner.units else ():
                for a, b in rng.sample([(one, other), (other, one)], manner.orders):
                    odds = quality[a] - quality[b] + manner.first + manner.length * log(length[a] / length[b])
                    chance = 1 / (1 + exp(-odds))
                    is_a, is_tie, size = rng.random() < chance, rng.random() < _TIE, rng.choice((1, 1, 2, 3))
                    won = "tie" if is_tie else a if is_a else b
                    yield Comparison(
                        unit=f"q{number:02}", a=a, b=b, winner=won, first=a, judge=judge,
                        margin={a: size, b: -size}.get(won, 0), length_a=length[a], length_b=length[b], synthetic=True,
                    )  # fmt: skip
