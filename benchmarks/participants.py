"""Coverage of intervals of the mean of participants' means, and type I error of differences of such means.

Prints the tables of docs/intervals.md, *Whose mean?*, and writes their numbers to `participants.csv`. Scores are those
of `interval_coverage.py`. The estimand is the mean over participants of their expected score: 0.8 in every design,
since participants are drawn alike. In the designs ``informative`` sizes are skewed, and those with higher scores mostly
talk more (the level behind the scores correlates with the order of sizes by 0.6): the mean over conversations is then
another number.
"""

import csv
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from io import StringIO
from itertools import chain, product
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from interval_coverage import MEAN, Design, Ends, Floats
from numpy.random import Generator
from numpy.typing import NDArray

from attune_data.io.documents import write_whole
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import Interval, Method, bootstrap, draw_resamples
from attune_metrics.stats.cluster_means import cluster_means, mean_of_clusters_interval
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test

NUMBERS = Path(__file__).with_suffix(".csv")
SIMULATIONS, BATCH = 2_000, 100
BOOTSTRAPS: dict[str, Method] = {"expanded": "percentile-expanded", "BCa": "bca"}
MEANS = ("logit-t", "t", *BOOTSTRAPS, "of units")
DIFFERENCES = ("paired t", "expanded", "permutation")
SIZES = ("equal", "skewed", "dominant", "informative")
_AGREEMENT = 0.9  # of the mean of a participant's two levels with the order of sizes


@dataclass(frozen=True)
class Participants(Design):
    """A design of `interval_coverage.py`, or ``informative``: skewed sizes that go with the scores."""

    def conversations(self) -> NDArray[np.intp]:
        """Return the number of each participant's conversations."""
        skewed = Design(self.participants, "skewed", self.icc)
        return skewed.conversations() if self.sizes == "informative" else super().conversations()

    def levels(self, generator: Generator, simulations: int) -> Floats:
        """Return the level of each participant, of the first side in one half of the rows and the second in the other.

        Informative ones are in the order of a number that goes with both, so that participants are drawn alike.
        """
        levels = super().levels(generator, simulations)
        if self.sizes != "informative":
            return levels
        sides = np.stack(np.split(levels, 2))
        both = sides.sum(axis=0) / sqrt(2)
        noise = generator.normal(size=both.shape)
        order = np.argsort(_AGREEMENT * both + sqrt(1 - _AGREEMENT**2) * noise, axis=1)
        return np.take_along_axis(sides, order[np.newaxis], axis=2).reshape(levels.shape)


DESIGNS = [
    Participants(participants, sizes, icc)
    for participants, sizes, icc in product((5, 10, 25, 60), SIZES, (0.0, 0.3, 0.7))
    if sizes != "informative" or icc
]


class Row(NamedTuple):
    """Of `simulations` of a design, how many intervals of a mean cover it, or differences of 0 are found to differ."""

    participants: int
    sizes: str
    icc: float
    kind: str
    method: str
    simulations: int
    found: int
    width: float


def simulate(design: Participants) -> list[Row]:
    """Return the row of each method."""
    counts: dict[tuple[str, str], int] = {}
    widths: dict[tuple[str, str], float] = {}

    def add(kind: str, method: str, count: int, width: float = 0.0) -> None:
        counts[kind, method] = counts.get((kind, method), 0) + count
        widths[kind, method] = widths.get((kind, method), 0.0) + width

    for seed in range(SIMULATIONS // BATCH):
        key = [seed, design.participants, SIZES.index(design.sizes), round(10 * design.icc)]
        generator = np.random.default_rng(key)
        clusters, sides = design.scores(generator, 2 * BATCH)
        values, others = np.split(sides, 2)
        for method, (low, high) in _mean_ends(values, clusters, seed).items():
            add("mean", method, int(((low <= MEAN) & (high >= MEAN)).sum()), float((high - low).sum()))
        first, second = cluster_means(values, clusters), cluster_means(others, clusters)
        labels = range(design.participants)
        drawn = draw_resamples(labels, seed=seed)
        for method, (low, high) in {
            "paired t": _ends(mean_of_clusters_interval(first - second, labels)),
            "expanded": _ends(paired_bootstrap(first, second, drawn)),
        }.items():
            add("difference", method, int(((low > 0) | (high < 0)).sum()), float((high - low).sum()))
        tests = paired_permutation_test(first, second, labels, seed=seed)
        add("difference", "permutation", sum(test.p_value < 0.05 for test in tests))
    return [
        Row(design.participants, design.sizes, design.icc, kind, method, SIMULATIONS, count,
            round(widths[kind, method] / SIMULATIONS, 6))
        for (kind, method), count in counts.items()
    ]  # fmt: skip


def _mean_ends(values: Floats, clusters: NDArray[np.intp], seed: int) -> dict[str, Ends]:
    """Return the ends of each method; ``of units`` is the default interval of the mean over conversations."""
    means = cluster_means(values, clusters)
    drawn = draw_resamples(range(means.shape[1]), seed=seed)
    found = {
        "logit-t": _ends(mean_of_clusters_interval(values, clusters, low=0, high=1)),
        "t": _ends(mean_of_clusters_interval(values, clusters)),
        "of units": _ends(bootstrap(values, draw_resamples(clusters, seed=seed))),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)  # a participant of five is a fifth
        for name, method in BOOTSTRAPS.items():
            found[name] = _ends(bootstrap(means, drawn, method=method))
    return found


def _ends(intervals: Sequence[Interval]) -> Ends:
    return np.array([one.low for one in intervals]), np.array([one.high for one in intervals])


def read() -> list[Row]:
    """Return the rows of the last complete run."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return [
            Row(int(n), sizes, float(icc), kind, method, int(simulations), int(found), float(width))
            for n, sizes, icc, kind, method, simulations, found, width in list(csv.reader(file))[1:]
        ]


def write(rows: Sequence[Row]) -> None:
    """Write the rows for `read`, whole or not at all."""
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([Row._fields, *rows])
    write_whole(NUMBERS, [text.getvalue().encode()])


def table(rows: Sequence[Row], kind: str, methods: Sequence[str]) -> str:
    """Return the share of each design and method: of means that are covered, or of differences that are found."""
    lines = [f"participants  sizes        ICC{''.join(f'{name:>12}' for name in methods)}"]
    for design in DESIGNS:
        own = {row.method: row for row in rows if row[:4] == (design.participants, design.sizes, design.icc, kind)}
        shares = "".join(f"{own[name].found / own[name].simulations:>12.1%}" for name in methods)
        lines.append(f"{design.participants:>12}  {design.sizes:<11}  {design.icc:.1f}{shares}")
    return "\n".join(lines)


def width_line(rows: Sequence[Row]) -> str:
    """Return the mean width of intervals of the mean over all designs, as multiples of the first method's."""
    width = {name: np.mean([row.width for row in rows if row[3:5] == ("mean", name)]) for name in MEANS}
    return ", ".join(f"{name} {width[name] / width[MEANS[0]]:.2f}" for name in MEANS)


def main() -> int:
    """Simulate, write, print; return the exit status."""
    with ProcessPoolExecutor(2) as pool:
        rows = [*chain.from_iterable(pool.map(simulate, DESIGNS))]
    write(rows)
    print("coverage of 95% intervals:", table(rows, "mean", MEANS), f"mean width: {width_line(rows)}", sep="\n\n")
    print("\ndifferences of 0 that are found at 0.05:", table(rows, "difference", DIFFERENCES), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
