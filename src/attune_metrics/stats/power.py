"""How small a difference the data can show, and how much data a difference needs.

References
----------
.. [1] Liang, Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73, 13-22.
.. [2] Miller (2024), Adding error bars to evals, arXiv:2411.00640, sections 2.2 and 5.
"""

from collections.abc import Hashable, Iterable
from math import ceil, inf, nan, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.checks import check_number, warn_undefined
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.sums import ROUNDING, as_terms, cluster_index, cluster_sums, paired_terms

__all__ = ["MDE_FACTOR", "clustered_standard_error", "minimum_detectable_effect", "units_needed"]

MDE_FACTOR = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
"""A minimum detectable effect in standard errors, for 80% power at an uncorrected, two-sided 0.05."""


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
    error, _ = _standard_error(as_terms(values, len(index)), index)
    if np.isnan(error):
        warn_undefined("clustered_standard_error", "fewer than two clusters have a value")
    return error


def _standard_error(terms: Floats, index: NDArray[np.intp]) -> tuple[float, int]:
    """Return the standard error, 0 if it is mere rounding, and the number of units with a value."""
    if terms.shape[:2] != (1, 1):
        raise MetricInputError(f"{terms.shape[0]} series of {terms.shape[1]} terms; expected one, shape (units,)")
    sums = cluster_sums(terms, index)[:, 0]
    total, n = sums.sum(axis=0).tolist()
    size = int((sums[:, 1] > 0).sum())
    if size < 2:
        return nan, int(n)
    error = sqrt(size / (size - 1) * float(((sums[:, 0] - sums[:, 1] * total / n) ** 2).sum())) / n
    return (0.0 if error <= ROUNDING * np.nanmax(np.abs(terms)) else error), int(n)


def minimum_detectable_effect(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable]) -> float:
    """Compute the smallest true difference of means that a paired comparison of this size finds with 80% power [2]_.

    ``(z(0.975) + z(0.8)) SE``: a two-sided test at 0.05, uncorrected, with SE the `clustered_standard_error` of
    ``a - b``.

    Parameters
    ----------
    a, b : array of float, shape (units,)
        The same units in the same order; one counts where both have a value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Returns
    -------
    float
        Above 0, in the unit of the values; nan, with a warning, with fewer than two clusters or without variation of
        the difference.

    Raises
    ------
    MetricInputError
        As `clustered_standard_error`, and if the shapes differ.

    Examples
    --------
    Differences 1, 3, 2, 2 of independent units: standard error sqrt(2 / 3) / 2.

    >>> round(minimum_detectable_effect([5, 4, 3, 4], [4, 1, 1, 2], range(4)), 4)
    1.1437
    """
    return _effect("minimum_detectable_effect", a, b, clusters)[0]


def units_needed(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable], *, difference: float) -> float:
    """Compute with how many units a paired comparison finds `difference` with 80% power.

    ``n (minimum detectable effect / difference)^2``, rounded up: more clusters of the same sizes, since more units
    from the same participants narrow an interval less.

    Parameters
    ----------
    a, b, clusters
        As for `minimum_detectable_effect`: a pilot.
    difference : float
        The difference of means to find, above 0.

    Returns
    -------
    float
        A whole number of units, fewer is cheaper; nan, with a warning, where `minimum_detectable_effect` is.

    Raises
    ------
    MetricInputError
        As `minimum_detectable_effect`, and if the difference is not above 0.

    Examples
    --------
    >>> units_needed([5, 4, 3, 4], [4, 1, 1, 2], range(4), difference=0.5)
    21.0
    """
    if check_number(difference, "difference", -inf, inf) <= 0:
        raise MetricInputError(f"difference {difference} is not above 0; give its size, whatever the direction")
    effect, n = _effect("units_needed", a, b, clusters)
    # A unit more for a difference in the last bits would be rounding.
    return effect if np.isnan(effect) else float(ceil(n * (effect / difference) ** 2 * (1 - ROUNDING)))


def _effect(name: str, a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable]) -> tuple[float, int]:
    index = cluster_index(clusters)
    first, second = paired_terms(a, b, len(index))
    error, n = _standard_error(first - second, index)
    if not error > 0:
        why = "the difference does not vary among clusters" if error == 0 else "fewer than two clusters have a value"
        warn_undefined(name, why, stacklevel=4)
        return nan, n
    return MDE_FACTOR * error, n
