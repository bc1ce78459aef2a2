"""Two models on the same units: the difference of a statistic, its interval and its test.

Conventions
-----------
`a` and `b` have the same units in the same order; a unit counts where both have a value. Units of one cluster stay
together, as in `resampling`, which says what values and statistics are. Differences are ``statistic(a) -
statistic(b)``.

References
----------
.. [1] Good (2005), Permutation, Parametric, and Bootstrap Tests of Hypotheses, 3rd ed., chapters 3 and 5.
.. [2] Phipson, Smyth (2010), Permutation P-values should never be zero, Stat. Appl. Genet. Mol. Biol. 9, 39.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.checks import check_whole
from attune_metrics.errors import MetricInputError
from attune_metrics.stats._exchanges import (
    MOST_DIFFERENCES,
    count_reached,
    count_reached_by_means,
    exchanged_differences,
    random_exchanges,
)
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.pairs import Pairs
from attune_metrics.stats.resampling import (
    MOST_RESAMPLES,
    Interval,
    Method,
    Resamples,
    check_method,
    distribution_of_sums,
    intervals_of,
)
from attune_metrics.stats.statistics import mean_of_sums
from attune_metrics.stats.sums import (
    Statistic,
    Streamed,
    cluster_index,
    paired_terms,
    rounding_of,
)

__all__ = [
    "MAX_EXACT_CLUSTERS",
    "PermutationTest",
    "bootstrap_of_pairs",
    "distribution_of_pairs",
    "paired_bootstrap",
    "paired_permutation_test",
    "permutation_test_of_pairs",
]

MAX_EXACT_CLUSTERS = 12
"""With more clusters that differ, exchanges are random: 12 have 4,096."""


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    resamples: Resamples,
    *,
    statistic: Statistic = mean_of_sums,
    method: Method = "percentile-expanded",
    level: float = 0.95,
    distribution: Floats | None = None,
) -> list[Interval]:
    """Bootstrap confidence interval of ``statistic(a) - statistic(b)``, for each pair of series.

    Both sides see the same resamples, so what units have in common cancels.

    Parameters
    ----------
    a, b : array of float, shape (units,), (series, units) or (series, terms, units)
        Of one shape; the first series of `a` is compared with the first of `b`, and so on.
    resamples, statistic, method, level
        As for `bootstrap`.
    distribution : array of float, shape (pairs, resamples), optional
        The difference in every resample, where it is known already.

    Returns
    -------
    list of Interval
        One for each pair of series, as from `bootstrap`; ``n`` counts the units that both have. Sides that are equal
        in every cluster differ by 0 for certain: both ends are 0.

    Raises
    ------
    MetricInputError
        As `bootstrap`, and if the shapes differ.

    Examples
    --------
    >>> from attune_metrics.stats.resampling import draw_resamples
    >>> resamples = draw_resamples(range(8), seed=1)
    >>> [gain] = paired_bootstrap([3, 5, 2, 4, 4, 1, 5, 3], [2, 5, 1, 4, 2, 1, 3, 3], resamples)
    >>> gain.estimate, round(gain.low, 1), round(gain.high, 1)
    (0.75, 0.1, 1.5)
    """
    check_method(method, level)
    pairs = in_turn(a, b, resamples.clusters)
    return bootstrap_of_pairs(
        pairs, resamples, statistic=statistic, method=method, level=level, distribution=distribution
    )


def in_turn(a: ArrayLike, b: ArrayLike, index: NDArray[np.intp]) -> Pairs:
    """Return the pairs of the first series of `a` with the first of `b`, and so on."""
    first, second = paired_terms(a, b, len(index))
    places = np.arange(len(first))
    return Pairs(np.concatenate([first, second]), np.column_stack([places, places + len(first)]), index)


def distribution_of_pairs(pairs: Pairs, resamples: Resamples, *, statistic: Statistic = mean_of_sums) -> Floats:
    """Compute the difference of each pair in every resample.

    Parameters
    ----------
    pairs : Pairs
        The pairs.
    resamples : Resamples
        From `draw_resamples` over the same units.
    statistic : callable
        As for `bootstrap`.

    Returns
    -------
    array of float, shape (pairs, resamples)
        nan where the statistic of a side is undefined.

    Examples
    --------
    >>> from attune_metrics.stats.resampling import draw_resamples
    >>> pairs = Pairs([[3, 5, 2, 4], [2, 5, 1, 4], [4, 4, 4, 4]], [(0, 1), (0, 2), (1, 2)], range(4))
    >>> distribution_of_pairs(pairs, draw_resamples(range(4), n_resamples=2, seed=1)).tolist()
    [[0.25, 0.5], [-0.25, -0.5], [-0.5, -1.0]]
    """
    found = pairs.differences(distribution_of_sums(pairs.sums, resamples, statistic).T).T
    for difference, largest in zip(found, pairs.observed(statistic)[1].tolist(), strict=True):
        difference[np.abs(difference) <= rounding_of(difference, largest)] = 0
    return found


def bootstrap_of_pairs(
    pairs: Pairs,
    resamples: Resamples,
    *,
    statistic: Statistic = mean_of_sums,
    method: Method = "percentile-expanded",
    level: float = 0.95,
    distribution: Floats | None = None,
) -> list[Interval]:
    """Compute `paired_bootstrap` of pairs of series.

    Parameters
    ----------
    pairs : Pairs
        The pairs.
    resamples, statistic, method, level, distribution
        As for `paired_bootstrap`; the distribution is that of `distribution_of_pairs`.

    Returns
    -------
    list of Interval
        One for each pair, as from `paired_bootstrap`.

    Raises
    ------
    MetricInputError
        As `paired_bootstrap`.

    Examples
    --------
    >>> from attune_metrics.stats.resampling import draw_resamples
    >>> pairs = Pairs([[3, 5, 2, 4, 4], [2, 5, 1, 4, 2], [4, 4, 4, 4, 4]], [(0, 1), (0, 2), (1, 2)], range(5))
    >>> [round(one.estimate, 2) for one in bootstrap_of_pairs(pairs, draw_resamples(range(5)))]
    [0.8, -0.4, -1.2]
    """
    check_method(method, level)
    estimates, largest = pairs.observed(statistic)
    if distribution is None:
        distribution = distribution_of_pairs(pairs, resamples, statistic=statistic)
    elif distribution.shape != (shape := (len(estimates), len(resamples.counts))):
        raise MetricInputError(f"distribution has shape {distribution.shape}; expected {shape} (pairs, resamples)")
    left_out = pairs.left_out(statistic) if method == "bca" else None
    intervals = intervals_of(estimates, pairs.units, distribution, left_out, method, level, largest=largest)
    return [
        interval
        if np.isnan(interval.estimate) or differ
        else replace(interval, estimate=0.0, low=0.0, high=0.0, reason=None)
        for interval, differ in zip(intervals, np.logical_or.reduce(pairs.differ, axis=0).tolist(), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """A difference with its p-value.

    Attributes
    ----------
    difference : float
        ``statistic(a) - statistic(b)``, the estimate of `paired_bootstrap`; nan where undefined.
    p_value : float
        Two-sided, uncorrected; nan without a test.
    p_min : float
        The smallest p-value that a test of this size could have given: of all exchanges, the share with the largest
        difference, which is ``2 / 2^k`` for a mean of which k clusters differ; of random ones the larger of ``2 / 2^k``
        and ``1 / (1 + n_permutations)``; nan without a test.
    n, clusters, differing : int
        Units that both sides have, clusters with such a unit, and clusters in which the sides differ.
    exchanges : int
        How many exchanges were evaluated; 0 without a test.
    exact : bool
        Whether those were all possible exchanges.
    reason : str or None
        Why the p-value is nan.
    """

    difference: float
    p_value: float
    p_min: float
    n: int
    clusters: int
    differing: int
    exchanges: int
    exact: bool
    reason: str | None = None


def paired_permutation_test(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Iterable[Hashable],
    *,
    statistic: Statistic = mean_of_sums,
    n_permutations: int = 9_999,
    seed: int = 0,
) -> list[PermutationTest]:
    """Test by exchanging `a` and `b` whether they differ, for each pair of series.

    In every cluster, all units of both sides change places or none does, and the statistic is computed again from the
    exchanged sums; for a mean this flips signs of differences. Clusters in which the sides are equal change nothing.
    With at most 12 others all exchanges are evaluated, ``p = #(|difference| >= |observed|) / #exchanges`` [1]_; with
    more, random ones, ``p = (1 + #) / (1 + n_permutations)`` [2]_, but not below ``2 / 2^k``, the share of the observed
    exchange and its opposite among all exchanges of the k clusters that differ.

    Parameters
    ----------
    a, b : array of float, shape (units,), (series, units) or (series, terms, units)
        As for `paired_bootstrap`.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.
    statistic : callable
        As for `bootstrap`.
    n_permutations : int
        How many random exchanges; all series share them.
    seed : int
        The same seed gives the same exchanges, in whatever order the units come.

    Returns
    -------
    list of PermutationTest
        One for each pair of series. `a` against itself: difference 0, p 1. The p-value is nan, and ``reason`` says why,
        without common units, with one cluster that differs, and where the observed difference is undefined. An exchange
        for which the statistic is undefined counts as if it were large.

    Raises
    ------
    MetricInputError
        If the input breaks the rules of `bootstrap` or `draw_resamples`, or the shapes differ.

    Examples
    --------
    Three differences of one sign: of 8 exchanges, this one and its opposite are as large.

    >>> [test] = paired_permutation_test([5, 4, 3], [4, 2, 0], ["x", "y", "z"])
    >>> test.difference, test.p_value, test.p_min, test.exchanges
    (2.0, 0.25, 0.25, 8)
    """
    index = cluster_index(clusters)
    return permutation_test_of_pairs(
        in_turn(a, b, index), statistic=statistic, n_permutations=n_permutations, seed=seed
    )


def permutation_test_of_pairs(
    pairs: Pairs, *, statistic: Statistic = mean_of_sums, n_permutations: int = 9_999, seed: int = 0
) -> list[PermutationTest]:
    """Compute `paired_permutation_test` of pairs of series.

    Parameters
    ----------
    pairs : Pairs
        The pairs.
    statistic, n_permutations, seed
        As for `paired_permutation_test`; all pairs share the exchanges.

    Returns
    -------
    list of PermutationTest
        One for each pair, as from `paired_permutation_test`.

    Raises
    ------
    MetricInputError
        As `paired_permutation_test`.

    Examples
    --------
    >>> pairs = Pairs([[5, 4, 3], [4, 2, 0], [5, 4, 4]], [(0, 1), (0, 2), (1, 2)], ["x", "y", "z"])
    >>> [test.p_value for test in permutation_test_of_pairs(pairs)]
    [0.25, 1.0, 0.25]
    """
    number = pairs.differ.sum(axis=0)
    observed, _ = pairs.observed(statistic)
    observed[(number == 0) & ~np.isnan(observed)] = 0  # equal up to rounding, as in `paired_bootstrap`
    shape = check_whole(n_permutations, "n_permutations", 1, MOST_RESAMPLES), len(pairs.sums)
    random = Streamed(shape, partial(random_exchanges, *shape, check_whole(seed, "seed", 0)))
    sums, total = np.ascontiguousarray(pairs.sums[..., :-1]), pairs.sums.sum(axis=0)
    both = np.column_stack([pairs.first, pairs.second])
    exact = number <= MAX_EXACT_CLUSTERS
    many = np.flatnonzero(~exact)
    tests: dict[int, PermutationTest] = {}

    def add(place: int, count: int, exchanges: int, smallest: float) -> None:
        clusters = int((pairs.units[:, place] > 0).sum())
        tests[place] = _test(
            float(observed[place]), count, exchanges, smallest, int(pairs.units[:, place].sum()), clusters,
            int(number[place]), exact=bool(exact[place]),
        )  # fmt: skip

    def add_random(places: NDArray[np.intp], counts: Iterable[int]) -> None:
        for place, count in zip(places.tolist(), counts, strict=True):
            add(place, count, len(random), max(2.0 ** (1 - int(number[place])), 1 / (1 + len(random))))

    if statistic is mean_of_sums:
        add_random(many, count_reached_by_means(random, sums[..., 0], total, both[many], observed[many]).tolist())
    else:
        step = max(1, MOST_DIFFERENCES // len(random))
        for block in (many[start : start + step] for start in range(0, len(many), step)):
            sides, own = np.unique(both[block], return_inverse=True)
            found = exchanged_differences(random, sums[:, sides], total[sides], own.reshape(-1, 2), statistic)
            add_random(block, map(count_reached, found[0].T, np.abs(observed[block]), found[1]))
    for place in np.flatnonzero(exact):
        # All patterns of bits, over the clusters that can change something.
        patterns = np.arange(2 ** number[place])[:, np.newaxis] >> np.arange(number[place]) & 1
        own = sums[np.ix_(pairs.differ[:, place], both[place])]
        found = exchanged_differences(patterns.astype(np.uint8), own, total[both[place]], np.array([[0, 1]]), statistic)
        differences, largest = found[0][:, 0], found[1][0]
        smallest = count_reached(differences, np.fmax.reduce(differences), largest) / len(differences)
        add(int(place), count_reached(differences, abs(observed[place]), largest), len(differences), smallest)
    return [tests[place] for place in range(len(number))]


def _test(
    observed: float, count: int, exchanges: int, smallest: float, n: int, clusters: int, differing: int, *, exact: bool
) -> PermutationTest:
    """Return the test of a pair, of whose exchanges `count` are as large as the observed one."""
    reason = None
    if not n:
        reason = "no unit has a value on both sides"
    elif clusters == 1 and exchanges > 1:  # the one exchange of equal sides changes nothing
        reason = "all values are in one cluster"
    elif np.isnan(observed):
        reason = "the statistic is undefined"
    if reason:
        return PermutationTest(observed, nan, nan, n, clusters, differing, 0, False, reason)
    p_value = count / exchanges if exact else max(smallest, (1 + count) / (1 + exchanges))
    return PermutationTest(observed, p_value, smallest, n, clusters, differing, exchanges, exact)
