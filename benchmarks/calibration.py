"""How often intervals cover the truth, and how often the paired test rejects where there is no difference.

    python benchmarks/calibration.py

Prints each figure with its bound, and exits with 1 where one does not hold. Scores are simulated between 0 and 1: each
participant has a level of their own, around which their conversations scatter, and the true mean is known. Simulations
come in batches; a batch shares the clusters and the draws, as models do.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attune_metrics.stats.comparison import paired_permutation_test
from attune_metrics.stats.resampling import Method, bootstrap, draw_resamples

SIMULATIONS, BATCH = 4_000, 100
COVERAGE = 0.935, 0.965
REJECTION = 0.04, 0.06
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


def _scores(generator: Generator, clusters: NDArray[np.intp], participants: int, sides: int) -> NDArray[np.float64]:
    # Each side has levels of its own, so that differences, too, keep to their participant.
    levels = generator.beta(_BETWEEN * _MEAN, _BETWEEN * (1 - _MEAN), size=(sides, BATCH, participants))[..., clusters]
    return generator.beta(_WITHIN * levels, _WITHIN * (1 - levels))


def coverage(design: Design, methods: tuple[Method, ...]) -> list[float]:
    """Return the share of simulations whose interval holds the true mean, for each method."""
    held = np.zeros(len(methods))
    for seed, clusters, [values] in design.batches(1):
        resamples = draw_resamples(clusters, seed=seed)
        for place, method in enumerate(methods):
            found = bootstrap(values, resamples, method=method)
            held[place] += sum(interval.low <= _MEAN <= interval.high for interval in found)
    return [float(share) for share in held / SIMULATIONS]


def rejection(design: Design) -> float:
    """Return the share of simulations with p below 0.05, of two sides that differ by chance only."""
    rejected = 0
    for seed, clusters, [a, b] in design.batches(2):
        rejected += sum(test.p_value < 0.05 for test in paired_permutation_test(a, b, clusters, seed=seed))
    return rejected / SIMULATIONS


def main() -> int:
    """Simulate, print; return the exit status."""
    holds: list[bool] = []
    methods: tuple[Method, ...] = ("percentile-expanded", "percentile", "bca")
    print(
        f"{SIMULATIONS} simulations; the standard error of a coverage of 95% is {sqrt(0.95 * 0.05 / SIMULATIONS):.2%}"
    )
    print("coverage of 95% intervals:")
    for design, bound in [
        (Design(200, 1), COVERAGE),
        (Design(120, 3), COVERAGE),
        (Design(60, 6), None),
        (Design(20, 6), None),
        (Design(10, 6), None),
    ]:
        default, *others = coverage(design, methods)
        text = ", ".join(f"{name} {share:.1%}" for name, share in zip(methods[1:], others, strict=True))
        print(f"  {design}: expanded {default:.1%} ({_verdict(default, bound, holds)}); {text}")
    print("paired permutation test at 0.05, no difference:")
    for design in [Design(200, 1), Design(120, 3), Design(20, 6), Design(10, 6)]:
        share = rejection(design)
        print(f"  {design}: rejects {share:.1%} ({_verdict(share, REJECTION, holds)})")
    return int(not all(holds))


def _verdict(share: float, bound: tuple[float, float] | None, holds: list[bool]) -> str:
    if bound is None:
        return "no bound"
    holds.append(bound[0] <= share <= bound[1])
    return f"bound {bound[0]:.1%}-{bound[1]:.1%} {'holds' if holds[-1] else 'DOES NOT HOLD'}"


if __name__ == "__main__":
    sys.exit(main())
