"""How small a difference the data can show, and how much data a difference needs.

References
----------
.. [1] Liang, Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73, 13-22.
.. [2] Miller (2024), Adding error bars to evals, arXiv:2411.00640, sections 2.2 and 5.
.. [3] Bloom (1995), Minimum detectable effects, Evaluation Review 19, 547-556.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from math import ceil, nan, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.checks import check_positive, check_whole, warn_undefined
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.sums import ROUNDING, as_terms, cluster_index, cluster_sums, paired_terms

__all__ = [
    "MDE_MIN_CLUSTERS",
    "MOST_UNITS",
    "check_difference",
    "clustered_standard_error",
    "mde_factor",
    "minimum_detectable_effect",
    "units_needed",
]

MDE_MIN_CLUSTERS = 7
"""With fewer clusters no effect is detectable: at most the two exchanges that give all differences one sign have a
p-value below 0.05 (2 of 64 with 6 clusters, none with 5)."""

MOST_UNITS = 2**53
"""With more units no comparison is planned: they are beyond the whole numbers that floats are."""

_CONSTANT = "the difference does not vary among clusters"
_LIMIT = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)  # of `mde_factor`, with many clusters


def mde_factor(clusters: int) -> float:
    """Compute how many standard errors of a paired difference make the minimum detectable effect [3]_.

    ``t(1 - alpha / 2) + t(0.8)``, quantiles of Student's t with G - 1 degrees of freedom: 80% power of
    `attune_metrics.stats.comparison.paired_permutation_test`, uncorrected. `alpha` is the largest p-value below 0.05
    that a test of all ``2^G`` exchanges can give, from 6 / 128 with 7 clusters to 0.05 with many.

    Parameters
    ----------
    clusters : int
        G, the number of clusters that have a value on both sides.

    Returns
    -------
    float
        From 2.80, with many clusters, to 3.40, with 7; nan with fewer.

    Raises
    ------
    MetricInputError
        If the number is not whole or below 0.

    Examples
    --------
    >>> [round(mde_factor(clusters), 2) for clusters in (6, 7, 12, 24, 200)]
    [nan, 3.4, 3.08, 2.93, 2.82]
    """
    if check_whole(clusters, "clusters", 0) < MDE_MIN_CLUSTERS:
        return nan
    from scipy.special import stdtrit

    # An exchange and its opposite are equally large, so that p-values are multiples of 2 / 2^G.
    pairs = 2.0 ** min(clusters - 1, 50)
    alpha = (ceil(0.05 * pairs) - 1) / pairs
    return float(stdtrit(clusters - 1, 1 - alpha / 2) + stdtrit(clusters - 1, 0.8))


def clustered_standard_error(values: ArrayLike, clusters: Iterable[Hashable]) -> float:
    """Compute the standard error of a mean of units that share clusters [1]_.

    ``sqrt(G / (G - 1) sum over clusters of (sum of (x - mean))^2) / n`` with G clusters and n units; where each unit is
    its own cluster, the standard deviation with n - 1, over the root of n.

    Parameters
    ----------
    values : array of float, shape (units,)
        nan where a unit has no value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Returns
    -------
    float
        From 0, in the unit of the values; nan, with a warning, with fewer than two clusters.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not one for each unit, or a label is missing.

    Examples
    --------
    >>> clustered_standard_error([1, 2, 3, 6], ["ann", "ann", "bob", "bob"])
    1.5
    """
    index = cluster_index(clusters)
    error, _, _ = _standard_error(as_terms(values, len(index)), index)
    if np.isnan(error):
        warn_undefined("clustered_standard_error", "fewer than two clusters have a value")
    return error


def _standard_error(terms: Floats, index: NDArray[np.intp]) -> tuple[float, int, int]:
    """Return the standard error, 0 if it is mere rounding, and the numbers of units and clusters with a value."""
    if terms.shape[:2] != (1, 1):
        raise MetricInputError(f"{terms.shape[0]} series of {terms.shape[1]} terms; expected one, shape (units,)")
    sums = cluster_sums(terms, index)[:, 0]
    total, n = sums.sum(axis=0).tolist()
    size = int((sums[:, 1] > 0).sum())
    if size < 2:
        return nan, int(n), size
    error = sqrt(size / (size - 1) * float(((sums[:, 0] - sums[:, 1] * total / n) ** 2).sum())) / n
    return (0.0 if error <= ROUNDING * np.nanmax(np.abs(terms)) else error), int(n), size


def minimum_detectable_effect(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable]) -> float:
    """Compute the smallest true difference of means that a paired comparison of this size finds with 80% power [2]_.

    ``mde_factor(G) SE``: a two-sided test at 0.05, uncorrected, of G clusters of about equal size, with SE the
    `clustered_standard_error` of ``a - b``.

    Parameters
    ----------
    a, b : array of float, shape (units,)
        The same units in the same order; one counts where both have a value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Returns
    -------
    float
        Above 0, in the unit of the values; nan, with a warning, with fewer than 7 clusters or without variation of the
        difference.

    Raises
    ------
    MetricInputError
        As `clustered_standard_error`, and if the shapes differ.

    Examples
    --------
    Differences 1, 3, 2, 2, 1, 3, 2, 2 of independent units: standard error sqrt(4 / 7 / 8).

    >>> round(minimum_detectable_effect([5, 4, 3, 4, 5, 4, 3, 4], [4, 1, 1, 2, 4, 1, 1, 2], range(8)), 4)
    0.8832
    """
    error, _, size = _of_differences(a, b, clusters)
    if size < MDE_MIN_CLUSTERS:
        warn_undefined("minimum_detectable_effect", f"fewer than {MDE_MIN_CLUSTERS} clusters have a value")
        return nan
    if error == 0:
        warn_undefined("minimum_detectable_effect", _CONSTANT)
        return nan
    return mde_factor(size) * error


def units_needed(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable], *, difference: float) -> float:
    """Compute with how many units a paired comparison finds `difference` with 80% power.

    The units of the smallest number G of clusters with ``mde_factor(G) SE sqrt(g / G) <= difference``, where the pilot
    has g clusters and the standard error SE: more clusters of the same sizes, since more units from the same
    participants narrow an interval less.

    Parameters
    ----------
    a, b, clusters
        As for `minimum_detectable_effect`: a pilot, of two clusters or more.
    difference : float
        The difference of means to find, above 0.

    Returns
    -------
    float
        A whole number of units, fewer is cheaper; nan, with a warning, with fewer than two clusters or without
        variation of the difference.

    Raises
    ------
    MetricInputError
        As `minimum_detectable_effect`, and if the difference is not above 0, or needs more than 2^53 units.

    Examples
    --------
    >>> units_needed([5, 4, 3, 4], [4, 1, 1, 2], range(4), difference=0.5)
    23.0
    """
    difference = check_difference(difference)
    error, n, size = _of_differences(a, b, clusters)
    if not error > 0:
        warn_undefined("units_needed", _CONSTANT if error == 0 else "fewer than two clusters have a value")
        return nan

    return float(ceil(n * clusters_needed(error, size, difference, units=n / size) / size))


def check_difference(value: object) -> float:
    """Return the difference to find `value`, a finite number above 0.

    Raises
    ------
    MetricInputError
        If it is not.

    Examples
    --------
    >>> check_difference(2)
    2.0
    """
    return check_positive(value, "difference", "give its size, whatever the direction")


def clusters_needed(error: float, clusters: int, difference: float, *, units: float) -> int:
    """Return the smallest number of clusters that finds a difference, where `clusters` give a standard error.

    ``mde_factor(G) error sqrt(clusters / G) <= difference``; a cluster has so many `units`, of which 2^53 are the most.
    """
    if _LIMIT * error / difference > sqrt(MOST_UNITS / (units * clusters)):
        raise MetricInputError(
            f"difference {difference} needs more than 2^53 units; is it of the same scale as the values?"
        )

    def enough(factor: float) -> int:
        # A cluster more for a difference in the last bits would be rounding.
        return max(MDE_MIN_CLUSTERS, ceil(clusters * (factor * error / difference) ** 2 * (1 - ROUNDING)))

    # The factor falls with the number of clusters, so that no number below that of its limit is enough.
    low = enough(_LIMIT)
    known = range(low, enough(mde_factor(low)))
    return low + bisect_left(known, True, key=lambda number: enough(mde_factor(number)) <= number)


def _of_differences(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable]) -> tuple[float, int, int]:
    """Return the standard error of ``a - b``, and the numbers of units and clusters that both have."""
    index = cluster_index(clusters)
    first, second = paired_terms(a, b, len(index))
    return _standard_error(first - second, index)
