"""Intervals and tests of shares and of skewed scores: how often they cover and err, and how often the output warns.

    python benchmarks/skewed_scores.py

Writes the numbers to `skewed_scores.csv` and prints the tables of
docs/intervals.md and of docs/decisions/0023-intervals-of-shares-and-skewed-scores.md. Designs are those of
`interval_coverage.py`, with other scores: shares of units that are 1, in clusters that are alike by a normal level; the
Beta scores of that file, exponential and lognormal ones. Where scores are not shares, the same values less their mean
are differences of two models with equal means and scores of different shape.
"""

import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import product
from math import exp, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from interval_coverage import MEAN, Design, Floats
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri

from attune_data.io.documents import write_whole
from attune_metrics.stats.bootstrap import bootstrap_distribution, draw_resamples, symmetric_levels
from attune_metrics.stats.cluster_means import share_of_clusters_interval
from attune_metrics.stats.comparison import paired_permutation_test
from attune_metrics.stats.sums import MOST_SKEWNESS, skewness_of_mean

NUMBERS = Path(__file__).with_suffix(".csv")
SIMULATIONS, BATCH = 2_000, 500  # a batch shares its draws, as models do
RESAMPLES = 1_000
BAD = 0.92
"""A design whose default interval covers less than this is one that the output has to warn of."""

_NORMAL = np.linspace(-8, 8, 100_001)
_BETA = betaincinv(3, 0.75, ndtr(_NORMAL))
SHARES = {f"{rate:g}": rate for rate in (0.02, 0.1, 0.3, 0.8)}
SCORES: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "Beta": (lambda level: np.interp(level, _NORMAL, _BETA), MEAN),
    "exponential": (lambda level: -np.log(ndtr(-level)), 1.0),
    "lognormal": (np.exp, exp(0.5)),
}


@dataclass(frozen=True)
class Skewed(Design):
    """A design of `interval_coverage.py` with the scores of a name of `SHARES` or `SCORES`."""

    of: str

    @property
    def mean(self) -> float:
        """The true mean."""
        return SHARES[self.of] if self.of in SHARES else SCORES[self.of][1]

    def values(self, generator: Generator, simulations: int) -> tuple[NDArray[np.intp], Floats]:
        """Return the cluster of each unit, and scores (simulations, units)."""
        clusters = np.repeat(np.arange(self.participants), self.conversations())
        levels = self.levels(generator, simulations)[:, clusters]
        level = sqrt(self.icc) * levels + sqrt(1 - self.icc) * generator.normal(size=levels.shape)
        if self.of in SHARES:
            return clusters, (level > ndtri(1 - self.mean)).astype(np.float64)
        return clusters, SCORES[self.of][0](level)


DESIGNS = [
    Skewed(participants, sizes, icc, of)
    for of, participants, sizes, icc in product(
        (*SHARES, *SCORES), (10, 25, 50), ("equal", "skewed", "dominant"), (0.0, 0.3, 0.7)
    )
]


class Row(NamedTuple):
    """How many of `simulations` data sets of a design have what.

    ``expanded``: an expanded percentile interval, ``covered`` one that covers the mean. Of shares, ``logit`` intervals
    of `share_of_clusters_interval` cover it, and ``width`` is their mean width over that of the expanded ones, where
    both are given. Of other scores ``warned`` data sets have a mean that is too skewed, ``rejected`` ones differ
    significantly from the mean, and ``same`` ones are called practically the same though they differ by the margin, in
    the worse direction.
    """

    of: str
    participants: int
    sizes: str
    icc: float
    simulations: int
    expanded: int
    covered: int
    logit: int
    width: float
    warned: int
    rejected: int
    same: int


def simulate(design: Skewed) -> Row:
    """Return the row of a design."""
    expanded = covered = logit = warned = rejected = 0
    same, widths = np.zeros(2, dtype=int), np.zeros(2)
    for seed in range(SIMULATIONS // BATCH):
        sizes = ("equal", "skewed", "dominant").index(design.sizes)
        generator = np.random.default_rng([seed, design.participants, sizes, round(10 * design.icc)])
        clusters, values = design.values(generator, BATCH)
        resamples = draw_resamples(clusters, n_resamples=RESAMPLES, seed=seed)
        levels = [*symmetric_levels(0.95, design.participants), *symmetric_levels(0.9, design.participants)]
        low, high, lower, upper = np.quantile(bootstrap_distribution(values, resamples), levels, axis=1)
        given = high > low
        expanded += int(given.sum())
        covered += int((given & (low <= design.mean) & (high >= design.mean)).sum())
        if design.of in SHARES:
            others = share_of_clusters_interval(values, clusters)
            logit += sum(one.low <= design.mean <= one.high for one in others)
            both = given & np.array([one.reason is None for one in others])
            widths += (high - low)[both].sum(), np.array([one.high - one.low for one in others])[both].sum()
            continue
        warned += int((np.abs(skewness_of_mean(values, clusters)) > MOST_SKEWNESS).sum())
        differences = values - design.mean
        tests = paired_permutation_test(
            differences, np.zeros_like(differences), clusters, n_permutations=999, seed=seed
        )
        rejected += sum(test.p_value < 0.05 for test in tests)
        # The other end is within a margin that is large.
        same += (lower >= design.mean).sum(), (upper <= design.mean).sum()
    width = round(float(widths[1] / widths[0]), 6) if widths[0] else 0.0
    return Row(
        design.of, design.participants, design.sizes, design.icc, SIMULATIONS, expanded, covered, logit, width, warned,
        rejected, int(same.max()),
    )  # fmt: skip


def read() -> list[Row]:
    """Return the rows of the last complete run."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return [
            Row(
                of,
                int(n),
                sizes,
                float(icc),
                int(simulations),
                int(expanded),
                int(covered),
                int(logit),
                float(width),
                int(warned),
                int(rejected),
                int(same),
            )
            for of, n, sizes, icc, simulations, expanded, covered, logit, width, warned, rejected, same in list(
                csv.reader(file)
            )[1:]
        ]


def write(rows: Sequence[Row]) -> None:
    """Write the rows for `read`, whole or not at all."""
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([Row._fields, *rows])
    write_whole(NUMBERS, [text.getvalue().encode()])


def share_table(rows: Sequence[Row]) -> str:
    """Return how often intervals of shares cover them, before and now."""
    lines = ["share  participants  sizes     ICC   none  expanded  logit-t  width"]
    for row in rows:
        if row.of in SHARES:
            none, before = 1 - row.expanded / row.simulations, row.covered / row.expanded
            lines.append(
                f"{row.of:>5}  {row.participants:12}  {row.sizes:8}  {row.icc:.1f}  {none:5.1%}  {before:8.1%}  "
                f"{row.logit / row.simulations:7.1%}  {row.width:4.2f}x"
            )
    return "\n".join(lines)


def skewed_table(rows: Sequence[Row]) -> str:
    """Return how often intervals of skewed scores cover, tests err, and the output warns."""
    lines = ["scores       participants  sizes     ICC  covered  differ   same  warned"]
    for row in rows:
        if row.of in SCORES:
            shares = [count / row.simulations for count in (row.covered, row.rejected, row.same, row.warned)]
            lines.append(
                f"{row.of:11}  {row.participants:12}  {row.sizes:8}  {row.icc:.1f}  {shares[0]:7.1%}  "
                f"{shares[1]:6.1%}  {shares[2]:5.1%}  {shares[3]:6.1%}"
            )
    return "\n".join(lines)


def main() -> int:
    """Simulate, write, print; return the exit status."""
    rows = []
    for design in DESIGNS:
        rows.append(simulate(design))
        print(rows[-1], file=sys.stderr, flush=True)
    write(rows)
    print(share_table(rows), skewed_table(rows), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
