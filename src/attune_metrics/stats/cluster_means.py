"""The mean in which each cluster counts once: the mean of the clusters' means.

A mean over units says how a score is on average over conversations, and who talked more counts more. The mean of
clusters' means says how it is on average over participants, however much each of them talked. The two differ where the
number of a participant's units goes with the score [1]_.

References
----------
.. [1] Williamson, Datta, Satten (2003), Marginal analyses of clustered data when cluster size is informative,
   Biometrics 59, 36-42.
.. [2] Korn, Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
   estimated from survey data, Survey Methodology 24, 193-201: the logit transform.
"""

from collections.abc import Hashable, Iterable
from math import fsum, inf, log, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.checks import check_level
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.resampling import Interval
from attune_metrics.stats.sums import ROUNDING, cluster_sums, one_term

__all__ = ["cluster_means", "mean_of_clusters_interval"]


def cluster_means(values: ArrayLike, clusters: Iterable[Hashable]) -> Floats:
    """Compute the mean of each cluster's units, for each series.

    Parameters
    ----------
    values : array of float, shape (units,) or (series, units)
        nan where a unit has no value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Returns
    -------
    array of float, shape (series, clusters)
        In the unit of the values, in the order of the sorted labels; nan for a cluster without a value.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not one for each unit, or a label is missing.

    Examples
    --------
    >>> from math import nan
    >>> cluster_means([[1, 2, 6], [nan, nan, 6]], ["ann", "ann", "bob"]).tolist()
    [[1.5, 6.0], [nan, 6.0]]
    """
    means, _ = _means(values, clusters)
    return means


def _means(values: ArrayLike, clusters: Iterable[Hashable]) -> tuple[Floats, Floats]:
    """Return the means (series, clusters), and the number of units of each series."""
    terms, index = one_term(values, clusters)
    sums = cluster_sums(terms, index)
    total, n = sums[..., 0], sums[..., 1]
    means = np.divide(total, n, out=np.full_like(total, nan), where=n > 0)
    return np.ascontiguousarray(means.T), n.sum(axis=0)


def mean_of_clusters_interval(
    values: ArrayLike, clusters: Iterable[Hashable], *, low: float = -inf, high: float = inf, level: float = 0.95
) -> list[Interval]:
    """Confidence interval of the mean of the clusters' means, for each series.

    With G clusters, the mean m of their means, their standard deviation s (G - 1) and t the quantile of Student's t
    with G - 1 degrees of freedom: ``m -+ t s / sqrt(G)``. Where the range is finite on both sides, the same on the
    logit scale [2]_: with ``p = (m - low) / (high - low)``, the ends are
    ``low + (high - low) / (1 + exp(-x))`` for ``x = log(p / (1 - p)) -+ t e``, where
    ``e = s / sqrt(G) / (high - low) / (p (1 - p))`` is the standard error by the delta method. They are within the
    range, and farther from m on the side where scores have more room.

    For the difference of two series on the same units give their difference, which has no range:
    ``mean_of_clusters_interval(a - b, clusters)`` is Student's paired t over clusters.

    Parameters
    ----------
    values : array of float, shape (units,) or (series, units)
        nan where a unit has no value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.
    low, high : float
        The range of the values, infinite where unbounded.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    list of Interval
        One for each series, in the unit of the values; ``method`` is ``logit-t`` or ``t``, ``n`` counts units. The ends
        are nan, and ``reason`` says why, without values, with one cluster and without variation among clusters; so they
        are where the mean is at an end of the range.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers, outside the range or not one for each unit, a label is missing, `low` is
        not below `high`, or the level is out of range.

    Notes
    -----
    Simulated coverage of 95% is in docs/intervals.md.

    Examples
    --------
    Two participants of mean 0.9, two of 0.7; the one who talked most counts once:

    >>> scores, people = [0.9, 0.9, 0.9, 0.9, 0.9, 0.7, 0.7], ["ann", "ann", "ann", "ann", "bob", "eve", "joe"]
    >>> [one] = mean_of_clusters_interval(scores, people, low=0, high=1)
    >>> round(one.estimate, 3), round(one.low, 3), round(one.high, 3), one.method, one.n, one.clusters
    (0.8, 0.559, 0.927, 'logit-t', 7, 4)
    >>> [plain] = mean_of_clusters_interval(scores, people)
    >>> round(plain.low, 3), round(plain.high, 3), plain.method
    (0.616, 0.984, 't')
    """
    check_level(level)
    if not low < high:
        raise MetricInputError(f"low {low} is not below high {high}")
    means, n = _means(values, clusters)
    slack = ROUNDING * max((abs(end) for end in (low, high) if abs(end) < inf), default=0)
    for outside in means[(means < low - slack) | (means > high + slack)][:1].tolist():
        raise MetricInputError(f"a cluster has the mean {outside}, outside the range {low} to {high}")
    means = np.clip(means, low, high)
    method = "logit-t" if high - low < inf else "t"
    found = []
    for own, units in zip(means, n.astype(int).tolist(), strict=True):
        known = own[~np.isnan(own)]
        size = len(known)
        estimate = fsum(known.tolist()) / size if size else nan
        ends, reason = (nan, nan), None
        if not size:
            reason = "no unit has a value"
        elif size == 1:
            reason = "all values are in one cluster"
        elif np.ptp(known) <= ROUNDING * np.abs(known).max():
            reason = "no variation among clusters"
        else:
            ends = t_ends(estimate, float(known.std(ddof=1)) / sqrt(size), size - 1, low, high, level)
        found.append(Interval(estimate, *ends, level, method, units, size, reason))
    return found


def t_ends(mean: float, error: float, freedom: float, low: float, high: float, level: float) -> tuple[float, float]:
    """Return the two ends by Student's t, on the logit scale where the range is finite."""
    from scipy.special import expit, stdtrit

    reach = float(stdtrit(freedom, (1 + level) / 2)) * error
    span = high - low
    if span == inf:
        return mean - reach, mean + reach
    share = (mean - low) / span
    centre, margin = log(share / (1 - share)), reach / span / (share * (1 - share))
    first, last = (low + span * float(expit(end)) for end in (centre - margin, centre + margin))
    return first, last
