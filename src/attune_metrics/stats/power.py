"""How small a difference the data can show, and how much data a difference needs.

References
----------
.. [1] Liang, Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73, 13-22.
.. [2] Miller (2024), Adding error bars to evals, arXiv:2411.00640, sections 2.2 and 5.
.. [3] Bloom (1995), Minimum detectable effects, Evaluation Review 19, 547-556.
.. [4] MacKinnon, Nielsen, Webb (2023), Fast and reliable jackknife and bootstrap methods for cluster-robust inference,
   J. Appl. Econometrics 38, 671-694: the jackknife of clusters, CV3J.
.. [5] Kish (1965), Survey Sampling, section 11.7: the effective number of a sample with unequal weights.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from math import ceil, inf, nan, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.checks import check_number, check_positive, check_whole, warn_undefined
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


def mde_factor(clusters: int, *, units_cv: float = 0) -> float:
    """Compute how many standard errors of a paired difference make the minimum detectable effect [3]_.

    ``t(1 - alpha / 2) + t(0.8)``, quantiles of Student's t: 80% power of
    `attune_metrics.stats.comparison.paired_permutation_test`, uncorrected. `alpha` is the largest p-value below 0.05
    that a test of all ``2^G`` exchanges can give, from 6 / 128 with 7 clusters to 0.05 with many. The degrees of
    freedom are the effective number of clusters less 1: ``G / (1 + CV^2) - 1`` [5]_, or 2 where that is less.

    Parameters
    ----------
    clusters : int
        G, the number of clusters that have a value on both sides.
    units_cv : float
        CV, the coefficient of variation of the number of units of a cluster: their standard deviation (over G) over
        their mean, from 0; 0 where all clusters have equally many.

    Returns
    -------
    float
        From 2.80, with many clusters, to 3.40, with 7 of equal size, and to 5.52, with 7 of which one has nearly all
        units; nan with fewer.

    Raises
    ------
    MetricInputError
        If the number is not whole or below 0, or the coefficient of variation is not finite or below 0.

    Examples
    --------
    >>> [round(mde_factor(clusters), 2) for clusters in (6, 7, 12, 24, 200)]
    [nan, 3.4, 3.08, 2.93, 2.82]
    >>> round(mde_factor(24, units_cv=1), 2)
    3.08
    """
    spread = check_number(units_cv, "units_cv", 0, inf)
    if check_whole(clusters, "clusters", 0) < MDE_MIN_CLUSTERS:
        return nan
    from scipy.special import stdtrit

    # An exchange and its opposite are equally large, so that p-values are multiples of 2 / 2^G.
    pairs = 2.0 ** min(clusters - 1, 50)
    alpha = (ceil(0.05 * pairs) - 1) / pairs
    freedom = effective_freedom(clusters, spread)
    return float(stdtrit(freedom, 1 - alpha / 2) + stdtrit(freedom, 0.8))


def effective_freedom(clusters: int, units_cv: float) -> float:
    """Return the degrees of freedom of a standard error over clusters whose numbers of units have a variation [5]_.

    ``G / (1 + CV^2) - 1``, at least 2.

    Examples
    --------
    >>> effective_freedom(10, 0), effective_freedom(10, 1), effective_freedom(10, 3)
    (9.0, 4.0, 2.0)
    """
    return max(clusters / (1 + units_cv * units_cv) - 1, 2.0)


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
    deviations, units = _deviations(as_terms(values, len(index)), index)
    size = len(units)
    if size < 2:
        warn_undefined("clustered_standard_error", "fewer than two clusters have a value")
        return nan
    return sqrt(size / (size - 1) * float((deviations**2).sum())) / float(units.sum())


def _deviations(terms: Floats, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the sum of deviations from the mean, and the number of units, of each cluster with a value.

    Sums of deviations that are mere rounding are 0.
    """
    if terms.shape[:2] != (1, 1):
        raise MetricInputError(f"{terms.shape[0]} series of {terms.shape[1]} terms; expected one, shape (units,)")
    sums = cluster_sums(terms, index)[:, 0]
    sums, units = sums[sums[:, 1] > 0].T
    if not len(units):
        return sums, units
    deviations = sums - units * (sums.sum() / units.sum())
    rounding = ROUNDING * float(np.nanmax(np.abs(terms))) * float(units.sum())
    return (np.zeros_like(units) if sqrt(float((deviations**2).sum())) <= rounding else deviations), units


def minimum_detectable_effect(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable]) -> float:
    """Compute the smallest true difference of means that a paired comparison of this size finds with 80% power [2]_.

    ``mde_factor(G, units_cv=CV) SE``: a two-sided test at 0.05, uncorrected, of G clusters whose numbers of units have
    the coefficient of variation CV. SE is the jackknife of clusters [4]_ of the mean of ``a - b``,
    ``sqrt((G - 1) / G sum over clusters of (sum of (x - mean) / (n - m))^2)`` for a cluster with m of the n units. With
    clusters of equal size SE is the `clustered_standard_error`, which is too small where some are much larger.

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

    Notes
    -----
    The standard error is an estimate, and so is the effect. Power at the printed value, on average over data sets, is
    therefore somewhat below 80%, as simulated in docs/intervals.md.

    Examples
    --------
    Differences 1, 3, 2, 2, 1, 3, 2, 2 of independent units: standard error sqrt(4 / 7 / 8).

    >>> round(minimum_detectable_effect([5, 4, 3, 4, 5, 4, 3, 4], [4, 1, 1, 2, 4, 1, 1, 2], range(8)), 4)
    0.8832
    """
    error, _, size, units_cv = _of_differences(a, b, clusters)
    if size < MDE_MIN_CLUSTERS:
        warn_undefined("minimum_detectable_effect", f"fewer than {MDE_MIN_CLUSTERS} clusters have a value")
        return nan
    if error == 0:
        warn_undefined("minimum_detectable_effect", _CONSTANT)
        return nan
    return mde_factor(size, units_cv=units_cv) * error


def units_needed(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable], *, difference: float) -> float:
    """Compute with how many units a paired comparison finds `difference` with 80% power.

    The units of the smallest number G of clusters with ``mde_factor(G, units_cv=CV) SE sqrt(g / G) <= difference``,
    where the pilot has g clusters, with CV and SE as for `minimum_detectable_effect`: more clusters of the same sizes,
    since more units from the same participants narrow an interval less.

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
    error, n, size, units_cv = _of_differences(a, b, clusters)
    if not error > 0:
        warn_undefined("units_needed", _CONSTANT if error == 0 else "fewer than two clusters have a value")
        return nan

    needed = clusters_needed(error, size, difference, units=n / size, units_cv=units_cv)
    return float(ceil(n * needed / size))


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


def clusters_needed(error: float, clusters: int, difference: float, *, units: float, units_cv: float) -> int:
    """Return the smallest number of clusters that finds a difference, where `clusters` give a standard error.

    ``mde_factor(G, units_cv=units_cv) error sqrt(clusters / G) <= difference``; a cluster has so many `units` on
    average, of which 2^53 are the most.
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
    known = range(low, enough(mde_factor(low, units_cv=units_cv)))
    return low + bisect_left(known, True, key=lambda number: enough(mde_factor(number, units_cv=units_cv)) <= number)


def coefficient_of_variation(units: Floats) -> float:
    """Return the coefficient of variation of the numbers of units of clusters, those with none left out; nan if none.

    Examples
    --------
    >>> import numpy as np
    >>> coefficient_of_variation(np.array([1.0, 3.0, 0.0]))
    0.5
    """
    known = units[units > 0]
    return float(known.std() / known.mean()) if len(known) else nan


def jackknife_error(moved: Floats) -> float:
    """Return the standard error of a statistic from how far leaving out each cluster in turn moves it [4]_.

    ``sqrt((G - 1) / G sum of squares)``; nan with fewer than two clusters.

    Examples
    --------
    >>> import numpy as np
    >>> jackknife_error(np.array([1.0, -1.0]))  # the mean of -1 and 1, of either alone
    1.0
    """
    size = len(moved)
    return sqrt((size - 1) / size * float((moved**2).sum())) if size > 1 else nan


def _of_differences(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable]) -> tuple[float, int, int, float]:
    """Return the standard error of ``a - b``, and the numbers of units and clusters with the former's `units_cv`."""
    index = cluster_index(clusters)
    first, second = paired_terms(a, b, len(index))
    deviations, units = _deviations(first - second, index)
    n, size = float(units.sum()), len(units)
    error = jackknife_error(deviations / (n - units)) if size > 1 else nan
    return error, int(n), size, coefficient_of_variation(units)
