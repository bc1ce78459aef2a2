"""How often looking early errs, what it finds, and how many participants it takes, beside a comparison with one look.

    python benchmarks/early_looks.py [--simulations 2000]

Two models differ by an effect of 0, or by the effect that the planned number of participants finds with 80% power at
one look. They are compared by the permutation test when all participants are there; at 4 planned looks, each after a
quarter of them; or at any time, here after every participant (after every fifth of 50 and of 200). The differences of
units are normal, one of each participant; normal, with an exponentially distributed number of units and an intraclass
correlation of 0.3 (unequal); -1, 0 or 1 (three values); or exponential, which is more skewed than differences of models
are as a rule. Families have all pairs of so many models, with Holm's correction, 50 participants.

Prints the tables of docs/metrics/early.md. Ten minutes on one core.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attune_metrics.stats.comparison import Pairs, paired_permutation_test
from attune_metrics.stats.early import EarlyDifference, early_differences
from attune_metrics.stats.looking import Looking
from attune_metrics.stats.looks import MIN_CLUSTERS_OF_LOOK
from attune_metrics.stats.power import mde_factor
from attune_metrics.stats.sums import coefficient_of_variation

Floats = NDArray[np.float64]
PARTICIPANTS, LOOKS = (10, 25, 50, 200), 4
KINDS = ("normal", "unequal", "three values", "exponential")
FAMILIES = (4, 11, 40)
BATCH, ICC, UNITS = 200, 0.3, 4


class Found(NamedTuple):
    """Shares of the data sets: decided, an interval of a look missed the effect; and the mean participants used."""

    decided: float
    missed: float
    used: float


def sizes_of(participants: int, kind: str) -> NDArray[np.intp]:
    """Return how many units each participant has."""
    if kind != "unequal":
        return np.ones(participants, dtype=np.intp)
    drawn = np.random.default_rng(participants).permutation(participants)
    return np.ceil([-UNITS * log(1 - (one + 0.5) / participants) for one in drawn.tolist()]).astype(np.intp)


def differences(sizes: NDArray[np.intp], kind: str, rows: int, generator: Generator) -> Floats:
    """Return differences of units (rows, units) of mean 0."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    shape = (rows, len(clusters))
    if kind == "three values":
        return generator.choice([-1.0, 0.0, 1.0], p=[0.25, 0.5, 0.25], size=shape)
    if kind == "exponential":
        return generator.exponential(size=shape) - 1
    if kind == "normal":
        return generator.normal(size=shape)
    levels = generator.normal(size=(rows, len(sizes)))[:, clusters]
    return sqrt(ICC) * levels + sqrt(1 - ICC) * generator.normal(size=shape)


def effect_of(sizes: NDArray[np.intp], kind: str) -> float:
    """Return the effect that one look at all participants finds with 80% power."""
    error = 1 / sqrt(len(sizes))
    if kind == "unequal":
        shares = sizes / sizes.sum()
        error = sqrt(float((shares**2 * (ICC + (1 - ICC) / sizes)).sum()))
    return mde_factor(len(sizes), units_cv=coefficient_of_variation(sizes.astype(np.float64))) * error


def look_at(values: Floats, sizes: NDArray[np.intp], participants: int, looking: Looking) -> list[EarlyDifference]:
    """Return the comparison of each row of `values` with 0, for the first participants."""
    clusters = np.repeat(np.arange(participants), sizes[:participants])
    shown = np.vstack([values[:, : len(clusters)], np.zeros((1, len(clusters)))])
    pairs = Pairs(shown, [(row, len(values)) for row in range(len(values))], clusters)
    return early_differences(pairs, looking)


def looks_of(participants: int, design: str) -> Iterator[tuple[int, Looking]]:
    """Yield the participants of each look that decides anything."""
    if design == "any":
        step = 1 if participants < 50 else 5
        looks = [(number, Looking()) for number in range(step, participants + 1, step)]
    else:
        looks = [(round(participants * look / LOOKS), Looking(look, LOOKS)) for look in range(1, LOOKS + 1)]
    yield from (one for one in looks if one[0] >= MIN_CLUSTERS_OF_LOOK)


def batch(values: Floats, sizes: NDArray[np.intp], effect: float, design: str) -> tuple[Floats, Floats, Floats]:
    """Return for each row whether it was decided, whether an interval missed, and the participants used."""
    decided, missed = np.zeros(len(values), dtype=np.bool_), np.zeros(len(values), dtype=np.bool_)
    used = np.full(len(values), float(len(sizes)))
    if design == "one look":
        clusters = np.repeat(np.arange(len(sizes)), sizes)
        tests = paired_permutation_test(values, np.zeros_like(values), clusters, n_permutations=999)
        decided = np.array([test.p_value < 0.05 for test in tests])
        return decided.astype(np.float64), np.full(len(values), np.nan), used
    for participants, looking in looks_of(len(sizes), design):
        for row, one in enumerate(look_at(values, sizes, participants, looking)):
            missed[row] |= one.low > effect or one.high < effect
            if not decided[row] and one.p_value < 0.05:
                decided[row], used[row] = True, participants
    return decided.astype(np.float64), missed.astype(np.float64), used


def simulated(participants: int, kind: str, design: str, *, has_effect: bool, simulations: int) -> Found:
    """Return what a design does."""
    sizes = sizes_of(participants, kind)
    effect = effect_of(sizes, kind) if has_effect else 0.0
    generator = np.random.default_rng([participants, KINDS.index(kind), has_effect])
    rows = [min(BATCH, simulations - start) for start in range(0, simulations, BATCH)]
    made = [batch(differences(sizes, kind, own, generator) + effect, sizes, effect, design) for own in rows]
    return Found(*(float(np.concatenate(column).mean()) for column in zip(*made, strict=True)))


def family_error(models: int, design: str, simulations: int, participants: int = 50) -> float:
    """Return the share of data sets in which any of all pairs of equal models is found to differ.

    That is where Holm's first step finds the pair with the largest t: its p-value times the number of pairs.
    """
    generator, sides = np.random.default_rng(models), np.array(list(combinations(range(models), 2)))
    count = 0
    for _ in range(simulations):
        values = generator.normal(size=(models, participants))
        for number, looking in looks_of(participants, design):
            gaps = values[sides[:, 0], :number] - values[sides[:, 1], :number]
            most = int(np.argmax(np.abs(gaps.mean(axis=1)) / gaps.std(axis=1)))
            [found] = early_differences(Pairs(values[:, :number], sides[most : most + 1], range(number)), looking)
            if found.p_value * len(sides) < 0.05:
                count += 1
                break
    return count / simulations


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=2_000)
    simulations = parser.parse_args(argv).simulations
    designs = ("one look", "4 looks", "any")
    print("| differences | participants | " + " | ".join(designs) + " | missed, 4 looks | missed, any |")
    print("| --- " * 7 + "|")
    for kind in KINDS:
        for participants in PARTICIPANTS:
            found = [
                simulated(participants, kind, design, has_effect=False, simulations=simulations) for design in designs
            ]
            cells = [f"{100 * one.decided:.1f}%" for one in found] + [f"{100 * one.missed:.1f}%" for one in found[1:]]
            if participants < MIN_CLUSTERS_OF_LOOK:
                cells[1:] = ["refused"] * 4
            print(f"| {kind} | {participants} | {' | '.join(cells)} |", flush=True)
    print("\n| differences | participants | power, " + " | power, ".join(designs) + " | used, 4 looks | used, any |")
    print("| --- " * 7 + "|")
    for kind in KINDS[:2]:
        for participants in PARTICIPANTS:
            found = [
                simulated(participants, kind, design, has_effect=True, simulations=simulations) for design in designs
            ]
            cells = [f"{100 * one.decided:.0f}%" for one in found]
            cells += [f"{one.used:.0f} ({100 * one.used / participants:.0f}%)" for one in found[1:]]
            if participants < MIN_CLUSTERS_OF_LOOK:
                cells[1:] = ["refused"] * 4
            print(f"| {kind} | {participants} | {' | '.join(cells)} |", flush=True)
    print("\n| models | pairs | error, 4 looks | error, any |")
    print("| --- " * 4 + "|")
    for models in FAMILIES:
        errors = [f"{100 * family_error(models, design, simulations):.1f}%" for design in designs[1:]]
        print(f"| {models} | {models * (models - 1) // 2} | {' | '.join(errors)} |", flush=True)


if __name__ == "__main__":
    main()
