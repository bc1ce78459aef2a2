"""The statistics that a metric can name: from the sums of its terms over units to the value of a model.

Conventions
-----------
A statistic is a function of the sums (..., terms) of a metric's terms over units and of the numbers of units (...);
it gives values (...), nan where they are undefined. So the same function serves the point estimate and every resample.

Statistics
----------
- ``mean``: the mean of one term.
- ``share``: the same of a term that is 0 or 1, one trial a unit, so that the interval of a proportion applies.
- ``accuracy``, ``precision``, ``recall``, ``f1``, ``mcc``: of the counts TP, TN, FP and FN, pooled over units; 0 where
  the denominator is 0, as `attune_metrics.attunebench.binary.BinaryCounts` defines it.
- ``mean_of_means``: of pairs of terms, sum and number of units of a group, the mean of the groups' means; nan where a
  group is empty.
"""

from collections.abc import Callable, Mapping
from math import fsum
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.stats.arrays import Floats, ratio
from attune_metrics.stats.sums import Statistic, as_terms, evaluate, exact_sums

__all__ = ["PER_UNIT", "STATISTICS", "mean_of_means", "mean_of_sums", "point_estimate"]


def mean_of_sums(sums: Floats, n: Floats) -> Floats:
    """Mean of the units: ``sums[..., 0] / n``, the statistic taken where none is named.

    Parameters
    ----------
    sums : array of float, shape (..., terms)
        Weighted sums over units.
    n : array of float, shape (...)
        Weighted numbers of units.

    Returns
    -------
    array of float, shape (...)
        The means, in the unit of the values; nan without units.

    Examples
    --------
    >>> import numpy as np
    >>> mean_of_sums(np.array([[6.0], [5.0]]), np.array([3.0, 2.0]))
    array([2. , 2.5])
    """
    mean: Floats = sums[..., 0] / n
    return mean


class _Counts(NamedTuple):
    tp: Floats
    tn: Floats
    fp: Floats
    fn: Floats


def _of_counts(formula: Callable[[_Counts], tuple[Floats, Floats]]) -> Statistic:
    """Return the statistic of a ratio of pooled counts."""

    def statistic(sums: Floats, n: Floats) -> Floats:
        numerator, denominator = formula(_Counts(*np.moveaxis(sums, -1, 0)))
        ratio = np.divide(numerator, denominator, out=np.zeros_like(n), where=denominator > 0)
        return np.where(n > 0, ratio, np.nan)

    return statistic


def mean_of_means(sums: Floats, n: Floats) -> Floats:  # noqa: ARG001 - of the signature of every statistic
    """Return the mean of the means of groups of units.

    Parameters
    ----------
    sums : array of float, shape (..., 2 * groups)
        Of each group the sum of its units' values, then their number.
    n : array of float, shape (...)
        Numbers of units; not used.

    Returns
    -------
    array of float, shape (...)
        In the unit of the values; nan where a group has no unit.

    Examples
    --------
    Two units of 1 in one group, one unit of 4 in another:

    >>> import numpy as np
    >>> mean_of_means(np.array([2.0, 2.0, 4.0, 1.0]), np.array(3.0))
    np.float64(2.5)
    """
    means = ratio(sums[..., 0::2], sums[..., 1::2])
    # Rounded once, so that the order of the groups does not show in the last bit.
    total = np.array([fsum(row) for row in means.reshape(-1, means.shape[-1]).tolist()])
    mean: Floats = total.reshape(means.shape[:-1]) / means.shape[-1]
    return mean


STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {
        "mean": mean_of_sums,
        "share": mean_of_sums,
        "mean_of_means": mean_of_means,
        "accuracy": _of_counts(lambda c: (c.tp + c.tn, c.tp + c.tn + c.fp + c.fn)),
        "precision": _of_counts(lambda c: (c.tp, c.tp + c.fp)),
        "recall": _of_counts(lambda c: (c.tp, c.tp + c.fn)),
        "f1": _of_counts(lambda c: (2 * c.tp, 2 * c.tp + c.fp + c.fn)),
        "mcc": _of_counts(
            lambda c: (
                c.tp * c.tn - c.fp * c.fn,
                np.sqrt((c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn)),
            )
        ),
    }
)
"""Every statistic by its name."""

PER_UNIT = ("mean", "share")
"""The names of those of which each unit has a value of its own."""


def point_estimate(values: ArrayLike, *, statistic: Statistic = mean_of_sums) -> Floats:
    """Compute the statistic of every series from sums over units that are rounded once.

    A mean equals `statistics.fmean` of the values bit for bit, whatever the order of the units.

    Parameters
    ----------
    values : array of float, shape (units,), (series, units) or (series, terms, units)
        What is summed, nan where a unit has no value; a unit that lacks one term lacks them all.
    statistic : callable
        ``statistic(sums, n)`` with sums of shape (..., terms) and numbers of units of shape (...), which gives shape
        (...); `STATISTICS` has some by name. The default is the mean of the first term.

    Returns
    -------
    array of float, shape (series,)
        nan where the statistic is undefined.

    Raises
    ------
    MetricInputError
        If the values are infinite or not numbers, or the statistic gives another shape.

    Examples
    --------
    >>> point_estimate([0.1] * 10)  # added one after the other, they make 0.9999999999999999
    array([0.1])
    >>> counts = [[3, 1], [2, 2], [0, 1], [1, 0]]  # TP, TN, FP and FN of two units
    >>> point_estimate([counts], statistic=STATISTICS["accuracy"])
    array([0.8])
    """
    sums = exact_sums(as_terms(values))
    return evaluate(statistic, sums[..., :-1], sums[..., -1])
