"""Exchanges of the two sides of pairs: drawn, evaluated, and counted where the difference is as large as observed."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.sums import ROUNDING, Statistic, Streamed, Weights, evaluate, products, row_blocks

__all__ = ["MOST_DIFFERENCES", "count_reached", "count_reached_by_means", "exchanged_differences", "random_exchanges"]

MOST_DIFFERENCES = 2**25
"""How many differences, of exchanges and pairs, are kept at one time: 256 MiB."""

_PAIRS = 128  # whose means are exchanged at one time, so that a block of exchanges stays in the processor's cache


def random_exchanges(exchanges: int, clusters: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Yield whether each cluster is exchanged, at random, block by block."""
    generator = np.random.default_rng(seed)
    for rows in row_blocks(exchanges, clusters):
        yield generator.integers(2, size=(rows.stop - rows.start, clusters), dtype=np.uint8)


def exchanged_differences(
    swaps: Weights, sums: Floats, total: Floats, pairs: NDArray[np.intp], statistic: Statistic
) -> tuple[Floats, Floats]:
    """Return the size of the difference in each exchange (exchanges, pairs), and each pair's largest value of a side.

    `sums` (clusters, sides, terms) and `total` (sides, terms + 1) are of the sides whose positions `pairs` has.
    """
    first, second = pairs.T
    n = total[first, -1]
    differences = np.empty((len(swaps), len(pairs)))
    largest = np.zeros(len(pairs))
    for rows, [drawn] in products(swaps, sums):
        with np.errstate(all="ignore"):
            moved = drawn[:, second] - drawn[:, first]  # what one side of a pair gets and the other one gives
            sides = total[first, :-1] + moved, total[second, :-1] - moved
        sizes = np.broadcast_to(n, moved.shape[:2])
        one, other = (evaluate(statistic, side, sizes) for side in sides)
        differences[rows] = one - other
        largest = np.fmax.reduce(np.abs(np.vstack([largest, one, other])), axis=0)
    return np.abs(differences, out=differences), largest


def count_reached(differences: Floats, bound: float, largest: float) -> int:
    """Count the exchanges whose difference is as large as `bound`; an undefined one is."""
    return len(differences) - int((differences < bound - ROUNDING * largest).sum())


def count_reached_by_means(
    swaps: Streamed, sums: Floats, total: Floats, pairs: NDArray[np.intp], observed: Floats
) -> NDArray[np.intp]:
    """Count for each pair of means the exchanges whose difference is as large as the observed one.

    `sums` (clusters, sides) and `total` (sides, terms + 1) are as for `exchanged_differences`. No difference is kept.
    """
    first, second = pairs.T
    gap = total[first, 0] - total[second, 0]
    largest = np.array([np.maximum(*np.abs(sums[:, both].T)).sum() for both in pairs])
    # Differences of sums: both sides of a pair have the same units.
    bound = np.abs(observed) * total[first, -1] - ROUNDING * largest
    counts = np.zeros(len(pairs), dtype=np.intp)
    for rows, [drawn] in products(swaps, sums):
        by_side = np.ascontiguousarray(drawn.T)
        for start in range(0, len(pairs), _PAIRS):
            block = slice(start, start + _PAIRS)
            moved = by_side[second[block]]
            moved -= by_side[first[block]]
            moved *= 2
            moved += gap[block, np.newaxis]
            below = np.abs(moved, out=moved) < bound[block, np.newaxis]
            counts[block] += rows.stop - rows.start - np.count_nonzero(below, axis=1)
    return counts
