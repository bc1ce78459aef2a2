"""With what power a planned comparison finds the difference, where participants have unequally many units.

    python benchmarks/planning.py

A few minutes on one core; prints the tables of docs/intervals.md. *before* plans as if all participants had equally
many units: without their spread, and for `mde` by the clustered standard error. Differences are normal.
"""

from collections.abc import Iterator
from math import sqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attune_metrics.stats.comparison import paired_permutation_test
from attune_metrics.stats.power import mde_factor, minimum_detectable_effect, participants_needed
from attune_metrics.stats.sums import clustered_standard_error, coefficient_of_variation

Floats = NDArray[np.float64]

SIMULATIONS, BATCH = 4_000, 100  # a batch shares its exchanges
UNITS = 4


def sizes_of(participants: int, kind: str) -> NDArray[np.intp]:
    """Return how many units each participant has, 4 on average.

    ``equal``; ``skewed``, quantiles of an exponential distribution; ``two kinds``, a quarter with 13 and the others
    with 1; or ``dominant``, 4 each but for one who has 30% of all.
    """
    sizes = np.full(participants, UNITS, dtype=np.intp)
    if kind == "skewed":
        sizes[:] = np.ceil(-UNITS * np.log(1 - (np.arange(participants) + 0.5) / participants))
    elif kind == "two kinds":
        sizes[:] = np.where(np.arange(participants) % 4 == 0, 13, 1)
    elif kind == "dominant":
        sizes[0] = round(0.3 / 0.7 * UNITS * (participants - 1))
    return sizes


def differences(clusters: NDArray[np.intp], icc: float, generator: Generator) -> Floats:
    """Return differences of units (simulations, units) with the mean 0 and the variance 1."""
    levels = generator.normal(size=(BATCH, int(clusters.max()) + 1))[:, clusters]
    return sqrt(icc) * levels + sqrt(1 - icc) * generator.normal(size=levels.shape)


def found(values: Floats, clusters: NDArray[np.intp], seed: int) -> int:
    """Return how many series differ significantly from 0."""
    tests = paired_permutation_test(values, np.zeros_like(values), clusters, n_permutations=999, seed=seed)
    return sum(test.p_value < 0.05 for test in tests)


def power_as_planned(participants: int, kind: str, icc: float, effect: float) -> float:
    """Return the share of comparisons that find a difference."""
    clusters = np.repeat(np.arange(participants), sizes_of(participants, kind))
    count = 0
    for seed in range(SIMULATIONS // BATCH):
        generator = np.random.default_rng([seed, participants, len(kind), round(10 * icc)])
        count += found(differences(clusters, icc, generator) + effect, clusters, seed)
    return count / SIMULATIONS


def power_at_mde(participants: int, kind: str, icc: float) -> tuple[float, float]:
    """Return the power at the minimum detectable effect that a data set prints, before and now.

    The effect is that of one data set, and the power that of another one with this true difference.
    """
    sizes = sizes_of(participants, kind)
    clusters, counts = np.repeat(np.arange(participants), sizes), np.zeros(2)
    zeros = np.zeros(len(clusters))
    for seed in range(SIMULATIONS // BATCH):
        generator = np.random.default_rng([seed, participants, len(kind), round(10 * icc), 1])
        first, second = (differences(clusters, icc, generator) for _ in range(2))
        before = [mde_factor(participants) * clustered_standard_error(one, clusters) for one in first]
        now = [minimum_detectable_effect(one, zeros, clusters) for one in first]
        counts += [found(second + np.array(effects)[:, np.newaxis], clusters, seed) for effects in (before, now)]
    before_share, share = (counts / SIMULATIONS).tolist()
    return before_share, share


def plans() -> Iterator[str]:
    """Yield the lines of the table of planned numbers of participants."""
    yield "sizes      CV    ICC  effect  before   power     now   power"
    for kind in ("equal", "skewed", "two kinds"):
        # Of many participants, so that all plans of a kind have one.
        spread = coefficient_of_variation(sizes_of(1_000, kind).astype(float))
        units = float(sizes_of(1_000, kind).mean())
        for icc in (0.0, 0.3, 0.7):
            for effect in (0.5, 0.25):
                line = f"{kind:9}  {spread:.2f}  {icc:.1f}  {effect:6.2f}"
                for units_cv in (0.0, spread):
                    # A standard deviation of sqrt(1/2) of each side, uncorrelated, is one of 1 of the difference.
                    needed = int(
                        participants_needed(
                            effect, sd=sqrt(0.5), correlation=0, icc=icc, units_per_participant=units,
                            units_cv=units_cv,
                        )
                    )  # fmt: skip
                    line += f"  {needed:6}  {power_as_planned(needed, kind, icc, effect):6.1%}"
                yield line


def effects() -> Iterator[str]:
    """Yield the lines of the table of minimum detectable effects."""
    yield "participants  sizes      ICC  before     now"
    for participants in (10, 24, 60):
        for kind in ("equal", "skewed", "two kinds", "dominant"):
            for icc in (0.0, 0.7):
                before, now = power_at_mde(participants, kind, icc)
                yield f"{participants:12}  {kind:9}  {icc:.1f}  {before:6.1%}  {now:6.1%}"


def main() -> None:
    """Simulate, print."""
    for line in (*plans(), "", *effects()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
