"""The statistics that a metric can name: from the sums of its terms over units to the value of a model.

Conventions
-----------
A statistic takes the sums (..., terms) of a metric's terms and the numbers of units (...), as in
`attune_metrics.stats.resampling`, and gives values (...), nan where there is none.

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
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from attune_metrics.stats.resampling import mean_of_sums
from attune_metrics.stats.sums import Floats, Statistic

__all__ = ["STATISTICS", "mean_of_means"]


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
    mean: Floats = (sums[..., 0::2] / sums[..., 1::2]).mean(axis=-1)
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
