"""How often intervals cover the truth, how often the paired test rejects, and with what power.

    python benchmarks/calibration.py

Simulates scores of which the truth is known; a few minutes on two cores. Prints each figure, with its bound where it
has one. Where all bounds hold it writes the coverage to `interval_coverage.csv`, else it exits with 1. Simulations come
in batches; a batch shares the clusters and the draws, as models do.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from math import isnan, sqrt

import interval_coverage
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attune_metrics.stats.bootstrap import bootstrap, draw_resamples
from attune_metrics.stats.comparison import paired_permutation_test
from attune_metrics.stats.power import MDE_MIN_CLUSTERS, mde_factor

SIMULATIONS, BATCH = 4_000, 100
COVERAGE = 0.935, 0.965
REJECTION = 0.04, 0.06
POWER = 0.75, 0.85
_MEAN, _BETWEEN, _WITHIN = 0.7, 12, 6  # mean, and how closely participants and their conversations keep to it


@dataclass(frozen=True)
class Design:
    """How many participants, with how many conversations each at most (unequal numbers, 1 upwards)."""

    participants: int
    most: int

    def batches(self, sides: int) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.float64]]]:
        """Yield a seed, the clusters and the values (sides, simulations, units) of each batch."""
        for seed in range(SIMULATIONS // BATCH):
            generator = np.random.default_rng([seed, self.participants, self.most, sides])
            sizes = generator.integers(1, self.most + 1, self.participants)
            clusters = np.repeat(np.arange(self.participants), sizes)
            yield seed, clusters, _scores(generator, clusters, self.participants, sides)

    def __str__(self) -> str:
        if self.most == 1:
            return f"{self.participants} conversations, one for each participant"
        return f"{self.participants} participants with 1 to {self.most} conversations"


LARGE = [Design(200, 1), Design(120, 3)]
TESTED = [*LARGE, Design(20, 6), Design(10, 6)]
POWERED = (7, 8, 9, 10, 12, 13, 20, 50, 100, 200)


def _scores(generator: Generator, clusters: NDArray[np.intp], participants: int, sides: int) -> NDArray[np.float64]:
    # Each side has levels of its own, so that differences, too, keep to their participant.
    levels = generator.beta(_BETWEEN * _MEAN, _BETWEEN * (1 - _MEAN), size=(sides, BATCH, participants))[..., clusters]
    return generator.beta(_WITHIN * levels, _WITHIN * (1 - levels))


def coverage(design: Design) -> float:
    """Return the share of simulations whose default interval covers the true mean."""
    covered = 0
    for seed, clusters, [values] in design.batches(1):
        found = bootstrap(values, draw_resamples(clusters, seed=seed))
        covered += sum(interval.low <= _MEAN <= interval.high for interval in found)
    return covered / SIMULATIONS


def rejection(design: Design) -> float:
    """Return the share of simulations with p below 0.05, of two sides that differ by chance only."""
    rejected = 0
    for seed, clusters, [a, b] in design.batches(2):
        rejected += sum(test.p_value < 0.05 for test in paired_permutation_test(a, b, clusters, seed=seed))
    return rejected / SIMULATIONS


def power(participants: int) -> float:
    """Return the share of simulations with p below 0.05 where the true difference is the minimum detectable effect.

    Each participant has four conversations, of skewed scores that correlate by 0.3 on each side.
    """
    design = interval_coverage.Design(participants, "equal", 0.3)
    # Of equal clusters the standard error is that of the mean of their means.
    _, many = interval_coverage.Design(100_000, "equal", 0.3).scores(np.random.default_rng(1), 2)
    spread = float((many[0] - many[1]).reshape(-1, 4).mean(axis=1).std())
    effect = mde_factor(participants) * spread / sqrt(participants)
    rejected = 0
    for seed in range(SIMULATIONS // BATCH):
        clusters, scores = design.scores(np.random.default_rng([seed, participants]), 2 * BATCH)
        tests = paired_permutation_test(scores[:BATCH] + effect, scores[BATCH:], clusters, seed=seed)
        rejected += sum(test.p_value < 0.05 for test in tests)
    return rejected / SIMULATIONS


def main() -> int:
    """Simulate, print; return the exit status."""
    holds: list[bool] = []
    with ProcessPoolExecutor(2) as pool:
        covered = pool.map(interval_coverage.simulate, interval_coverage.DESIGNS)
        large, rejected = pool.map(coverage, LARGE), pool.map(rejection, TESTED)
        powers = pool.map(power, POWERED)
        rows = [*chain.from_iterable(covered)]
        print(
            f"coverage of 95% intervals, {_simulated(interval_coverage.SIMULATIONS)}:",
            interval_coverage.coverage_table(rows),
            "candidates: coverage, and width as a multiple of the default's:",
            interval_coverage.candidate_table(rows),
            sep="\n\n",
        )
        print(f"\ncoverage of the default with many participants, {_simulated(SIMULATIONS)}:")
        for design, share in zip(LARGE, large, strict=True):
            print(f"  {design}: {share:.1%} ({_verdict(share, COVERAGE, holds)})")
        print("paired permutation test at 0.05, no difference:")
        for design, share in zip(TESTED, rejected, strict=True):
            print(f"  {design}: rejects {share:.1%} ({_verdict(share, REJECTION, holds)})")
        print("the same, where the difference is the minimum detectable effect, in standard errors:")
        for participants, share in zip(POWERED, powers, strict=True):
            effect = mde_factor(participants)
            print(f"  {participants} participants: {effect:.2f}, power {share:.1%} ({_verdict(share, POWER, holds)})")
    holds.append(isnan(mde_factor(MDE_MIN_CLUSTERS - 1)))
    print(f"  {MDE_MIN_CLUSTERS - 1} participants: {mde_factor(MDE_MIN_CLUSTERS - 1)}")
    if not all(holds):
        return 1
    interval_coverage.write(rows)
    return 0


def _simulated(number: int) -> str:
    at_95, at_80 = (sqrt(share * (1 - share) / number) for share in (0.95, 0.8))
    return f"{number} simulations with a standard error of {at_95:.2%} at 95% and {at_80:.2%} at 80%"


def _verdict(share: float, bound: tuple[float, float], holds: list[bool]) -> str:
    holds.append(bound[0] <= share <= bound[1])
    return f"bound {bound[0]:.1%}-{bound[1]:.1%} {'holds' if holds[-1] else 'DOES NOT HOLD'}"


if __name__ == "__main__":
    sys.exit(main())
