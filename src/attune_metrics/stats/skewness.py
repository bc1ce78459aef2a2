"""Whether a mean of skewed scores can be trusted to have the interval and the test that means have.

Intervals and tests of a mean suppose that it would be distributed evenly about the true one in other data sets of this
size. It is not where few scores, far from the others, decide it: data sets that lack these have a mean too far on one
side and too small a spread at once.

References
----------
.. [1] Cochran (1977), Sampling Techniques, 3rd ed., section 2.15: 25 times the squared skewness is the number of units
   from which on the normal approximation holds.
.. [2] Kish (1965), Survey Sampling, section 8.2: the effective number of units of clusters.
"""

from collections.abc import Hashable, Iterable
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.stats.sums import Floats, clustered_standard_error, one_term, rounding_of

__all__ = ["MOST_SKEWNESS", "skewness_of_mean"]

MOST_SKEWNESS = 0.2
"""Where a mean is more skewed than this in either direction, its 95% interval can cover far fewer than 95% of cases.

By Cochran's rule, ``n > 25 skewness^2`` [1]_; docs/intervals.md has what was measured with it."""


def skewness_of_mean(values: ArrayLike, clusters: Iterable[Hashable]) -> Floats:
    """Estimate how skewed the mean of each series would be over data sets of this size.

    ``g SE / SD``: the skewness g of the units' values, their standard deviation SD (n - 1) and the
    `attune_metrics.stats.sums.clustered_standard_error` SE of their mean. As ``(SD / SE)^2`` is the number of
    independent units that they are worth [2]_, this is ``g / sqrt(number)``, which is the skewness of a mean of so
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
