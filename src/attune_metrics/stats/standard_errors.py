"""Standard errors of means whose units share clusters, and whether a mean of skewed scores can be trusted to have one.

Intervals and tests of a mean suppose that it would be distributed evenly about the true one in other data sets of this
size. It is not where few scores, far from the others, decide it: data sets that lack these have a mean too far on one
side and too small a spread at once.

References
----------
.. [1] Liang, Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73, 13-22.
.. [2] MacKinnon, Nielsen, Webb (2023), Fast and reliable jackknife and bootstrap methods for cluster-robust inference,
   J. Appl. Econometrics 38, 671-694: the jackknife of clusters, CV3J.
.. [3] Kish (1965), Survey Sampling, section 11.7: the effective number of a sample with unequal weights.
.. [4] Cochran (1977), Sampling Techniques, 3rd ed., section 2.15: 25 times the squared skewness is the number of units
   from which on the normal approximation holds.
.. [5] Kish (1965), Survey Sampling, section 8.2: the effective number of units of clusters.
"""

from collections.abc import Hashable, Iterable
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, warn_undefined
from attune_metrics.stats.sums import ROUNDING, Floats, as_terms, cluster_index, cluster_sums, one_term, rounding_of

__all__ = ["MOST_SKEWNESS", "clustered_standard_error", "skewness_of_mean"]


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
    deviations, units = cluster_deviations(as_terms(values, len(index)), index)
    size = len(units)
    if size < 2:
        warn_undefined("clustered_standard_error", "fewer than two clusters have a value")
        return nan
    return sqrt(size / (size - 1) * float((deviations**2).sum())) / float(units.sum())


def cluster_deviations(terms: Floats, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
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


def effective_freedom(clusters: int, units_cv: float) -> float:
    """Return the degrees of freedom of a standard error over clusters whose numbers of units have a variation [3]_.

    ``G / (1 + CV^2) - 1``, at least 2.

    Examples
    --------
    >>> effective_freedom(10, 0), effective_freedom(10, 1), effective_freedom(10, 3)
    (9.0, 4.0, 2.0)
    """
    return max(clusters / (1 + units_cv * units_cv) - 1, 2.0)


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
    """Return the standard error of a statistic from how far leaving out each cluster in turn moves it [2]_.

    ``sqrt((G - 1) / G sum of squares)``; nan with fewer than two clusters.

    Examples
    --------
    >>> import numpy as np
    >>> jackknife_error(np.array([1.0, -1.0]))  # the mean of -1 and 1, of either alone
    1.0
    """
    size = len(moved)
    return sqrt((size - 1) / size * float((moved**2).sum())) if size > 1 else nan


MOST_SKEWNESS = 0.2
"""Where a mean is more skewed than this in either direction, its 95% interval can cover far fewer than 95% of cases.

By Cochran's rule, ``n > 25 skewness^2`` [4]_; docs/intervals.md has what was measured with it."""


def skewness_of_mean(values: ArrayLike, clusters: Iterable[Hashable]) -> Floats:
    """Estimate how skewed the mean of each series would be over data sets of this size.

    ``g SE / SD``: the skewness g of the units' values, their standard deviation SD (n - 1) and the
    `attune_metrics.stats.standard_errors.clustered_standard_error` SE of their mean. As ``(SD / SE)^2`` is the number
    of independent units that they are worth [5]_, this is ``g / sqrt(number)``, which is the skewness of a mean of so
    many.

    Parameters
    ----------
    values : array of float, shape (units,) or (series, units)
        nan where a unit has no value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Returns
    -------
    array of float, shape (series,)
        0 where values are even about their mean, above 0 where the far ones are high, below 0 where they are low; nan
        with fewer than two clusters and without any spread.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not one for each unit, or a label is missing.

    Examples
    --------
    Ten units, then the same in five clusters of two that are equal, as good as five:

    >>> values = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    >>> [float(skewness_of_mean(values, labels)[0].round(3)) for labels in (range(10), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])]
    [0.474, 0.712]
    """
    terms, index = one_term(values, clusters)
    return np.array([_skewness(own, index) for own in terms[:, 0]])


def _skewness(values: Floats, index: NDArray[np.intp]) -> float:
    present = ~np.isnan(values)
    known, labels = values[present], index[present]
    if not len(known) or (labels == labels[0]).all():
        return nan
    centred = known - known.mean()
    largest = float(np.abs(centred).max())
    if largest <= rounding_of(known):
        return nan
    centred /= largest
    error = clustered_standard_error(centred, labels)
    if not error > 0:
        return nan
    squares = centred * centred
    spread = sqrt(float(squares.mean()))
    skewness = float((squares * centred).mean()) / spread**3
    return skewness * error / (spread * sqrt(len(known) / (len(known) - 1)))
