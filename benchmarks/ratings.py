"""How often the intervals of Bradley-Terry strengths cover, and how often strengths are undefined.

    python benchmarks/ratings.py [--simulations 1000]

Four models have grades from 1 to 5 on the units of 25 clusters: a mean of the model, a level of the model in the
cluster, which is the intraclass correlation (ICC) of the design, and noise, rounded. Clusters have four units, *equal*,
or one of them has 30% of all, *dominant*. The true strengths are those that all units of a population of such clusters
have. About two minutes on two quiet cores.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations, product
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.bradley_terry import bradley_terry
from attune_metrics.stats.pairwise_ratings import bradley_terry_ratings

CLUSTERS, RESAMPLES, POPULATION = 25, 2_000, 200_000
MEANS = np.array([3.4, 3.2, 3.0, 2.6])
PAIRS = np.array([*combinations(range(len(MEANS)), 2)])
DESIGNS = [*product(("equal", "dominant"), (0.0, 0.3, 0.6))]


class Row(NamedTuple):
    """How many intervals of a design there are, how many cover, their mean width, and how many were undefined."""

    sizes: str
    icc: float
    intervals: int
    covered: int
    width: float
    undefined: int


def grades(generator: Generator, sizes: NDArray[np.intp], icc: float) -> NDArray[np.float64]:
    """Return grades (models, units)."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    levels = generator.normal(size=(len(MEANS), len(sizes)))[:, clusters]
    own = generator.normal(size=levels.shape)
    rounded: NDArray[np.float64] = np.clip(
        np.round(MEANS[:, np.newaxis] + sqrt(icc) * levels + sqrt(1 - icc) * own), 1, 5
    )
    return rounded


def outcomes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the outcome of each pair on each unit (pairs, units)."""
    first, second = values[PAIRS[:, 0]], values[PAIRS[:, 1]]
    found: NDArray[np.float64] = (first > second) + (first == second) / 2
    return found


def true_strengths(icc: float) -> NDArray[np.float64]:
    """Return the strengths in a population of clusters."""
    shares = outcomes(grades(np.random.default_rng(1), np.full(POPULATION, 4), icc)).mean(axis=1)
    wins = np.zeros((len(MEANS), len(MEANS)))
    wins[PAIRS[:, 0], PAIRS[:, 1]] = shares
    wins[PAIRS[:, 1], PAIRS[:, 0]] = 1 - shares
    return bradley_terry(wins)


def simulate(simulations: int, design: tuple[str, float]) -> Row:
    """Return how often the intervals of a design cover."""
    kind, icc = design
    sizes = np.full(CLUSTERS, 4)
    if kind == "dominant":
        sizes[0] = round(0.3 / 0.7 * 4 * (CLUSTERS - 1))
    units = sizes.sum()
    clusters = np.tile(np.repeat(np.arange(CLUSTERS), sizes), len(PAIRS))
    left, right = np.repeat(PAIRS, units, axis=0).T
    truth = true_strengths(icc)
    covered, undefined, widths = 0, 0, []
    for seed in range(simulations):
        won = outcomes(grades(np.random.default_rng([seed, int(10 * icc)]), sizes, icc))
        resamples = draw_resamples(clusters, n_resamples=RESAMPLES, seed=seed)
        for one in bradley_terry_ratings(left, right, won.ravel(), resamples).models:
            if np.isnan(one.strength.low):
                undefined += 1
                continue
            covered += one.strength.low <= truth[int(one.model)] <= one.strength.high
            widths.append(one.strength.high - one.strength.low)
    return Row(kind, icc, len(widths), covered, float(np.mean(widths)), undefined)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description="Simulate intervals of strengths.")
    parser.add_argument("--simulations", type=int, default=1_000)
    simulations = parser.parse_args().simulations
    print(f"{simulations} simulations of {CLUSTERS} clusters and {len(MEANS)} models, {RESAMPLES} resamples each:\n")
    print("sizes     ICC  coverage of 95%  mean width  undefined")
    with ProcessPoolExecutor(2) as pool:
        for row in pool.map(partial(simulate, simulations), DESIGNS):
            share = row.covered / row.intervals
            print(f"{row.sizes:<8}  {row.icc:.1f}  {share:>15.1%}  {row.width:>10.3f}  {row.undefined:>9}")


if __name__ == "__main__":
    main()
