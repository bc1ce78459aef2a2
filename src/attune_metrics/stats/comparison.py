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
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.checks import check_whole
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.resampling import Interval, Method, Resamples, bootstrap
from attune_metrics.stats.statistics import mean_of_sums, point_estimate
from attune_metrics.stats.sums import ROUNDING, Statistic, cluster_index, cluster_sums, evaluate, paired_terms, products

__all__ = ["MAX_EXACT_CLUSTERS", "PermutationTest", "paired_bootstrap", "paired_permutation_test"]

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
    pairs = _pair(a, b, len(resamples.clusters))
    intervals = bootstrap(
        pairs, resamples, statistic=_difference(statistic), method=method, level=level, distribution=distribution
    )
    differ = _differ(cluster_sums(pairs, resamples.clusters))
    return [
        interval
        if np.isnan(interval.estimate) or differ[:, series].any()
        else replace(interval, estimate=0.0, low=0.0, high=0.0, reason=None)
        for series, interval in enumerate(intervals)
    ]


def _pair(a: ArrayLike, b: ArrayLike, units: int) -> Floats:
    """Return both sides as the terms of one series, so that a unit counts where both have a value."""
    return np.concatenate(paired_terms(a, b, units), axis=1)


def _difference(statistic: Statistic) -> Statistic:
    """Return the statistic of the first half of the terms minus that of the second half."""

    def difference(sums: Floats, n: Floats) -> Floats:
        first, second = np.split(sums, 2, axis=-1)
        return statistic(first, n) - statistic(second, n)

    return difference


def _differ(sums: Floats) -> NDArray[np.bool_]:
    """Return whether the sides differ in a cluster by more than rounding (clusters, series)."""
    terms = sums.shape[-1] // 2
    first, second = sums[..., :terms], sums[..., terms:-1]
    largest = np.maximum(np.abs(first), np.abs(second)).max(axis=0, initial=0)
    differ: NDArray[np.bool_] = (np.abs(first - second) > ROUNDING * largest).any(axis=-1)
    return differ


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
    pairs = _pair(a, b, len(index))
    sums = cluster_sums(pairs, index)
    differ = _differ(sums)
    number = differ.sum(axis=0)
    observed = point_estimate(pairs, statistic=_difference(statistic))
    observed[(number == 0) & ~np.isnan(observed)] = 0  # equal up to rounding, as in `paired_bootstrap`
    generator = np.random.default_rng(check_whole(seed, "seed", 0))
    rows = check_whole(n_permutations, "n_permutations", 1)
    many, few = (
        np.flatnonzero(number > MAX_EXACT_CLUSTERS).tolist(),
        np.flatnonzero(number <= MAX_EXACT_CLUSTERS).tolist(),
    )

    tests = {}
    if many:
        swaps = generator.integers(2, size=(rows, len(sums)), dtype=np.uint8)
        found = _test(swaps, sums[:, many], statistic, observed[many], number[many])
        tests = dict(zip(many, found, strict=True))
    for series in few:
        # All patterns of bits, over the clusters that can change something.
        swaps = np.zeros((2 ** number[series], len(sums)), dtype=np.uint8)
        swaps[:, differ[:, series]] = np.arange(len(swaps))[:, np.newaxis] >> np.arange(number[series]) & 1
        one = [series]
        [tests[series]] = _test(swaps, sums[:, one], statistic, observed[one], number[one], exact=True)
    return [tests[series] for series in range(len(number))]


def _test(
    swaps: NDArray[np.uint8],
    sums: Floats,
    statistic: Statistic,
    observed: Floats,
    differing: NDArray[np.intp],
    *,
    exact: bool = False,
) -> list[PermutationTest]:
    """Test each series on the exchanges `swaps` (exchanges, clusters); in `differing` clusters its sides differ."""
    terms = sums.shape[-1] // 2
    total = sums.sum(axis=0)
    first, second, n = total[:, :terms], total[:, terms:-1], total[:, -1]
    clusters = (sums[..., -1] > 0).sum(axis=0).tolist()
    differences = np.empty((len(swaps), len(n)))
    largest = np.zeros(len(n))
    for rows, [moved] in products(swaps, sums[..., terms:-1] - sums[..., :terms]):
        sizes = np.broadcast_to(n, moved.shape[:2])
        one, other = evaluate(statistic, first + moved, sizes), evaluate(statistic, second - moved, sizes)
        differences[rows] = one - other
        largest = np.fmax.reduce(np.abs(np.vstack([largest, one, other])), axis=0)
    np.abs(differences, out=differences)

    def reach(bound: Floats) -> NDArray[np.intp]:
        """Count the exchanges that are as large; an undefined one is."""
        smaller: NDArray[np.intp] = (differences < bound - ROUNDING * largest).sum(axis=0)
        return len(swaps) - smaller

    count = reach(np.abs(observed))
    if exact:
        p_values = count / len(swaps)
        smallest = reach(np.fmax.reduce(differences, axis=0)) / len(swaps)
    else:
        smallest = np.maximum(2.0 ** (1 - differing), 1 / (1 + len(swaps)))
        p_values = np.maximum(smallest, (1 + count) / (1 + len(swaps)))
    tests = []
    for series, difference in enumerate(observed.tolist()):
        reason = None
        if not n[series]:
            reason = "no unit has a value on both sides"
        elif clusters[series] == 1 and len(swaps) > 1:  # the one exchange of equal sides changes nothing
            reason = "all values are in one cluster"
        elif np.isnan(difference):
            reason = "the statistic is undefined"
        tests.append(
            PermutationTest(
                difference,
                nan if reason else float(p_values[series]),
                nan if reason else float(smallest[series]),
                int(n[series]),
                clusters[series],
                int(differing[series]),
                0 if reason else len(swaps),
                exact and not reason,
                reason,
            )
        )
    return tests
