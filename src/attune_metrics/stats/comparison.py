"""Two models on the same units: the difference of a statistic, its interval, its test, and families of tests.

Conventions
-----------
`a` and `b` have the same units in the same order; a unit counts where both have a value. Units of one cluster stay
together, as in `attune_metrics.stats.bootstrap`, which defines values and statistics. Differences are ``statistic(a) -
statistic(b)``.

References
----------
.. [1] Good (2005), Permutation, Parametric, and Bootstrap Tests of Hypotheses, 3rd ed., chapters 3 and 5.
.. [2] Phipson, Smyth (2010), Permutation P-values should never be zero, Stat. Appl. Genet. Mol. Biol. 9, 39.
.. [3] Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Stat. 6, 65-70.
.. [4] Benjamini, Hochberg (1995), Controlling the false discovery rate, J. R. Stat. Soc. B 57, 289-300.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_whole
from attune_metrics.stats.bootstrap import (
    MOST_RESAMPLES,
    Interval,
    Method,
    Resamples,
    check_method,
    distribution_of_sums,
    intervals_of,
    mean_of_sums,
)
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    Statistic,
    Streamed,
    Weights,
    as_terms,
    check_array,
    cluster_index,
    cluster_sums,
    evaluate,
    exact_sums,
    paired_terms,
    products,
    rounding_of,
    row_blocks,
    series_blocks,
)

MOST_DIFFERENCES = 2**25
"""How many differences, of exchanges and pairs, are kept at one time: 256 MiB."""

_PAIRS = 128  # their means are exchanged at one time, so that a block of exchanges stays in the processor's cache


def random_exchanges(exchanges: int, clusters: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Yield whether each cluster is exchanged, at random, block by block."""
    generator = np.random.default_rng(seed)
    for rows in row_blocks(exchanges, clusters):
        yield generator.integers(2, size=(rows.stop - rows.start, clusters), dtype=np.uint8)


def exchanged_differences(
    swaps: Weights, sums: Floats, total: Floats, pairs: NDArray[np.intp], statistic: Statistic
) -> tuple[Floats, Floats]:
    """Return the size of the difference in each exchange (exchanges, pairs), and each pair's largest value of a side.

    `sums` (clusters, sides, terms) and `total` (sides, terms + 1) belong to the sides that `pairs` numbers.
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
    """Count the exchanges with a difference as large as `bound`, or with an undefined one."""
    return len(differences) - int((differences < bound - ROUNDING * largest).sum())


def count_reached_by_means(
    swaps: Streamed, sums: Floats, total: Floats, pairs: NDArray[np.intp], observed: Floats
) -> NDArray[np.intp]:
    """Count for each pair of means the exchanges with a difference as large as the observed one.

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


class Pairs:
    """Pairs of series, with the sums of each side over every cluster.

    Parameters
    ----------
    values : array of float, shape (series, units) or (series, terms, units)
        nan where a unit has no value; a unit that lacks one term lacks them all.
    pairs : array of int, shape (pairs, 2)
        The positions of both series of each pair.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Attributes
    ----------
    first, second : array of int, shape (pairs,)
        The positions of the sides of each pair.
    sums : array of float, shape (clusters, sides, terms + 1)
        Sums over the units of each cluster: of every term, last the number of units.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not one for each unit, a label is missing, labels are of mixed types,
        or a pair is not of two series.

    Examples
    --------
    >>> from math import nan
    >>> pairs = Pairs([[1, 2], [3, 4], [5, nan]], [(0, 1), (0, 2)], ["ann", "bob"])
    >>> pairs.first.tolist(), pairs.second.tolist(), pairs.sums[..., 0].tolist()
    ([0, 2], [1, 3], [[1.0, 3.0, 1.0, 5.0], [2.0, 4.0, 0.0, 0.0]])

    The second pair is compared on the one unit that both of its series have.
    """

    def __init__(self, values: ArrayLike, pairs: ArrayLike, clusters: Iterable[Hashable]) -> None:
        index = cluster_index(clusters)
        terms = as_terms(values, len(index))
        series = _positions(pairs, len(terms))
        present = np.logical_and.reduce(~np.isnan(terms), axis=1)
        places: dict[tuple[int, bytes], int] = {}
        of_side: list[int] = []
        masks: list[NDArray[np.bool_]] = []
        sides = np.empty(series.shape, dtype=np.intp)
        for pair, both in enumerate(series.tolist()):
            common = present[both[0]] & present[both[1]]
            key = np.packbits(common).tobytes()
            for side, one_series in enumerate(both):
                place = places.setdefault((one_series, key), len(places))
                if place == len(of_side):
                    of_side.append(one_series)
                    masks.append(common)
                sides[pair, side] = place
        self.first: NDArray[np.intp]
        self.second: NDArray[np.intp]
        self.first, self.second = np.ascontiguousarray(sides.T)
        totals, sums = [np.empty((0, terms.shape[1] + 1))], []
        for block in series_blocks(len(of_side), *terms.shape[1:]):
            part = np.where(np.array(masks[block])[:, np.newaxis], terms[of_side[block]], np.nan)
            totals.append(exact_sums(part))
            sums.append(cluster_sums(part, index))
        self._totals = np.concatenate(totals)
        self.sums: Floats = np.concatenate(sums, axis=1) if sums else cluster_sums(terms[:0], index)

    @classmethod
    def joined(cls, parts: "Sequence[Pairs]") -> "Pairs":
        """Join several pairs with the same number of clusters, so that one draw of exchanges serves all.

        Examples
        --------
        >>> one = Pairs([[1, 2], [3, 4]], [(0, 1)], ["ann", "bob"])
        >>> other = Pairs([[5, 6], [7, 8]], [(0, 1)], ["cid", "dan"])
        >>> both = Pairs.joined([one, other])
        >>> both.first.tolist(), both.second.tolist(), both.sums[..., 0].tolist()
        ([0, 2], [1, 3], [[1.0, 3.0, 5.0, 7.0], [2.0, 4.0, 6.0, 8.0]])
        """
        joined = object.__new__(cls)
        before = np.cumsum([0, *(len(part._totals) for part in parts)])[:-1]
        joined.first, joined.second = (
            np.concatenate([getattr(part, side) + start for part, start in zip(parts, before, strict=True)])
            for side in ("first", "second")
        )
        joined.sums = np.concatenate([part.sums for part in parts], axis=1)
        joined._totals = np.concatenate([part._totals for part in parts])
        return joined

    @cached_property
    def units(self) -> Floats:
        """Units of each pair in each cluster, shape (clusters, pairs)."""
        return self.sums[:, self.first, -1]

    @cached_property
    def differ(self) -> NDArray[np.bool_]:
        """Whether the sides differ in a cluster by more than rounding, shape (clusters, pairs)."""
        differ = np.empty((len(self.sums), len(self.first)), dtype=np.bool_)
        for pair, sides in enumerate(zip(self.first, self.second, strict=True)):
            first, second = (self.sums[:, side, :-1] for side in sides)
            largest = np.maximum(np.abs(first), np.abs(second)).max(axis=0, initial=0)
            differ[:, pair] = (np.abs(first - second) > ROUNDING * largest).any(axis=-1)
        return differ

    def estimates(self, statistic: Statistic) -> Floats:
        """Return the statistic of each side, shape (sides,)."""
        return evaluate(statistic, self._totals[:, :-1], self._totals[:, -1])

    def observed(self, statistic: Statistic) -> tuple[Floats, Floats]:
        """Return the difference of each pair, 0 where only rounding separates the sides, and the larger size of both.

        Both of shape (pairs,); the size is 0 where a side is undefined.
        """
        found = self.estimates(statistic)
        sizes = np.nan_to_num(np.abs(found))
        largest: Floats = np.maximum(sizes[self.first], sizes[self.second])
        difference = self.differences(found)
        difference[np.abs(difference) <= ROUNDING * largest] = 0
        return difference, largest

    def left_out(self, statistic: Statistic) -> Floats:
        """Return the difference of each pair without each cluster in turn, shape (clusters, pairs)."""
        left = self.sums.sum(axis=0) - self.sums
        return self.differences(evaluate(statistic, left[..., :-1], left[..., -1]))

    def differences(self, found: Floats, axis: int = -1) -> Floats:
        """Return the first minus the second side of each pair, from values of each side; both along `axis`."""
        with np.errstate(all="ignore"):
            difference = found.take(self.first, axis) - found.take(self.second, axis)
        difference[~np.isfinite(difference)] = np.nan
        return difference


def _positions(pairs: ArrayLike, series: int) -> NDArray[np.intp]:
    """Return the positions of both series of each pair, shape (pairs, 2)."""
    given = np.asarray(pairs)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise MetricInputError(f"pairs has shape {given.shape} of {given.dtype}; expected whole numbers (pairs, 2)")
    for pair, side in np.argwhere((given < 0) | (given >= series))[:1].tolist():
        raise MetricInputError(f"pairs[{pair}, {side}] is {given[pair, side]}; expected a position of {series} series")
    return given.astype(np.intp)


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
    >>> from attune_metrics.stats.bootstrap import draw_resamples
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
    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> pairs = Pairs([[3, 5, 2, 4], [2, 5, 1, 4], [4, 4, 4, 4]], [(0, 1), (0, 2), (1, 2)], range(4))
    >>> distribution_of_pairs(pairs, draw_resamples(range(4), n_resamples=2, seed=1)).tolist()
    [[0.25, 0.5], [-0.25, -0.5], [-0.5, -1.0]]
    """
    of_sides = distribution_of_sums(pairs.sums, resamples, statistic)
    found = pairs.differences(of_sides, axis=0)
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
        As for `paired_bootstrap`; `distribution_of_pairs` makes the distribution.

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
    >>> from attune_metrics.stats.bootstrap import draw_resamples
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
        difference, which is ``2 / 2^k`` for a mean where k clusters differ; of random exchanges the larger of
        ``2 / 2^k`` and ``1 / (1 + n_permutations)``; nan without a test.
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
    """Return the test of a pair: `count` of its exchanges are as large as the observed difference."""
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


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values for the chance of any false rejection, step down [3]_.

    Of m sorted p-values, the i-th becomes ``max over j <= i of min(1, (m - j + 1) p_j)``.

    Parameters
    ----------
    p_values : array of float, shape (tests,)
        One family; nan is a test that could not be made, and does not count in m.

    Returns
    -------
    array of float, shape (tests,)
        0 to 1, in the order given; nan stays nan.

    Raises
    ------
    MetricInputError
        If a p-value is outside 0-1.

    Examples
    --------
    >>> holm([0.01, 0.04, float("nan"), 0.03]).round(12)
    array([0.03, 0.06,  nan, 0.06])
    """
    p, known, order = _family(p_values)
    steps = p[order] * np.arange(len(order), 0, -1)
    known[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return known


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values for the share of false among all rejections, step up [4]_.

    Of m sorted p-values, the i-th becomes ``min over j >= i of min(1, m p_j / j)``.

    Takes and raises what `holm` does.

    Returns
    -------
    array of float, shape (tests,)
        0 to 1, in the order given; nan stays nan.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, float("nan"), 0.02]).round(12)
    array([0.03, 0.04,  nan, 0.03])
    """
    p, known, order = _family(p_values)
    steps = p[order] * len(order) / np.arange(1, len(order) + 1)
    known[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1)
    return known


def _family(p_values: ArrayLike) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return the p-values, a place for the adjusted ones, and the positions of those that count, smallest first."""
    p = check_array(p_values, "p_values", "tests")
    outside = (p < 0) | (p > 1)
    if outside.any():
        place = int(np.flatnonzero(outside)[0])
        raise MetricInputError(f"p_values[{place}] {p[place]} is outside 0-1")
    order = np.argsort(p, kind="stable")
    return p, np.full(p.shape, np.nan), order[: int((~np.isnan(p)).sum())]
