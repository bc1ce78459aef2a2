"""Shares of units that belong to clusters: success in conversations of which a participant has several.

Trials of one cluster are not independent, so that an interval for independent trials (`proportions`) is too narrow. A
resampled interval covers too rarely where the rarer outcome occurs in few clusters: resamples know no cluster in which
it is frequent but those that were seen.

References
----------
.. [1] Korn, Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
   estimated from survey data, Survey Methodology 24, 193-201: the logit transform, and the exact interval of the
   effective number of trials.
.. [2] Kish (1965), Survey Sampling, section 11.7: the effective number of a sample with unequal weights.
"""

from collections.abc import Hashable, Iterable
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.checks import check_level
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.cluster_means import t_ends
from attune_metrics.stats.power import coefficient_of_variation, effective_freedom, jackknife_error
from attune_metrics.stats.proportions import clopper_pearson_interval
from attune_metrics.stats.resampling import Interval
from attune_metrics.stats.sums import cluster_sums, one_term

__all__ = ["share_of_clusters_interval"]


def share_of_clusters_interval(
    values: ArrayLike, clusters: Iterable[Hashable], *, level: float = 0.95
) -> list[Interval]:
    """Confidence interval of the share of units that are 1, for each series.

    Student's t on the logit scale [1]_: with the share p, the ends are ``1 / (1 + exp(-x))`` for
    ``x = log(p / (1 - p)) -+ t s / (p (1 - p))``. Here s is the jackknife of clusters,
    ``sqrt((G - 1) / G sum over clusters of ((k - m p) / (n - m))^2)`` for a cluster with k of its m units, and t the
    quantile with ``G / (1 + CV^2) - 1`` degrees of freedom, at least 2: CV is the coefficient of variation of the
    numbers of units of the G clusters, so that clusters of unequal size count as fewer [2]_.

    Where no unit is 1, or every one, nothing tells how alike the units of a cluster are. Then each cluster is one
    trial: the ends are those of `attune_metrics.stats.proportions.clopper_pearson_interval` of 0 or G in G.

    Parameters
    ----------
    values : array of float, shape (units,) or (series, units)
        0 or 1, nan where a unit has no value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    list of Interval
        One for each series, ends 0 to 1; ``method`` is ``logit-t`` or ``clopper-pearson``, ``n`` counts units. The ends
        are nan, and ``reason`` says why, without values, with one cluster, and where all clusters have one share, such
        as a half.

    Raises
    ------
    MetricInputError
        If a value is neither 0 nor 1 nor nan, the values are not one for each unit, a label is missing, or the level is
        out of range.

    Notes
    -----
    Simulated coverage of 95% is in docs/intervals.md.

    Examples
    --------
    Three of eight conversations of five participants succeed, then none:

    >>> people = ["ann", "ann", "ann", "bob", "bob", "eve", "joe", "kim"]
    >>> some, none = share_of_clusters_interval([[1, 1, 0, 0, 0, 1, 0, 0], [0] * 8], people)
    >>> some.estimate, round(some.low, 3), round(some.high, 3), some.method
    (0.375, 0.03, 0.922, 'logit-t')
    >>> none.estimate, none.low, round(none.high, 3), none.method
    (0.0, 0.0, 0.522, 'clopper-pearson')
    """
    check_level(level)
    terms, index = one_term(values, clusters)
    for wrong in terms[~np.isnan(terms) & (terms != 0) & (terms != 1)][:1].tolist():
        raise MetricInputError(f"value {wrong} is neither 0 nor 1; the interval of other means is that of bootstrap")
    sums = cluster_sums(terms, index)
    return [_interval(sums[:, series], level) for series in range(len(terms))]


def _interval(sums: Floats, level: float) -> Interval:
    """Return the interval of one series from the sums of each cluster (clusters, 2): ones and units."""
    ones, units = sums[sums[:, 1] > 0].T
    size, total, n = len(units), int(ones.sum()), int(units.sum())
    share, method, ends, reason = total / n if n else nan, "logit-t", (nan, nan), None
    if not n:
        reason = "no unit has a value"
    elif size == 1:
        reason = "all values are in one cluster"
    elif total in {0, n}:
        exact = clopper_pearson_interval(size if total else 0, size, level=level)
        method, ends = exact.method, (exact.low, exact.high)
    # Whole numbers, so that equal shares are equal.
    elif not (ones * n - units * total).any():
        reason = "no variation among clusters"
    else:
        error = jackknife_error((ones - units * share) / (n - units))
        freedom = effective_freedom(size, coefficient_of_variation(units))
        ends = t_ends(share, error, freedom, 0, 1, level)
    return Interval(share, *ends, level, method, n, size, reason)
