"""Means and shares of units in clusters: their intervals, and means that count each cluster once.

A mean over units describes the average conversation: a participant with more conversations counts more. The mean of
the clusters' means describes the average participant: each participant counts once. The two differ where the number of
a participant's units depends on the score [1]_.

Trials of one cluster are not independent. An interval for independent trials (`wilson_interval`,
`clopper_pearson_interval`) is then too narrow. A resampled interval of a share covers too rarely where the rarer
outcome occurs in few clusters: the resamples contain no other cluster in which that outcome is frequent.

References
----------
.. [1] Williamson, Datta, Satten (2003), Marginal analyses of clustered data when cluster size is informative,
   Biometrics 59, 36-42.
.. [2] Wilson (1927), Probable inference, the law of succession, and statistical inference, J. Am. Stat. Assoc. 22,
   209-212.
.. [3] Clopper, Pearson (1934), The use of confidence or fiducial limits, Biometrika 26, 404-413.
.. [4] McNemar (1947), Note on the sampling error of the difference between correlated proportions, Psychometrika 12,
   153-157.
.. [5] Korn, Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
   estimated from survey data, Survey Methodology 24, 193-201: the logit transform, and the exact interval of the
   effective number of trials.
.. [6] Kish (1965), Survey Sampling, section 11.7: the effective number of a sample with unequal weights.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import erfc, fsum, inf, log, nan, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.metric import MetricInputError, check_level, check_whole, warn_undefined
from attune_metrics.stats.bootstrap import NO_VARIATION, Interval
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    cluster_sums,
    coefficient_of_variation,
    effective_freedom,
    jackknife_error,
    one_term,
)


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
    logit scale [5]_: with ``p = (m - low) / (high - low)``, the ends are
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
            reason = NO_VARIATION
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


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Score interval of a proportion [2]_: ``(p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)``.

    Parameters
    ----------
    successes, trials : int
        How many of how many.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Interval
        Ends 0 to 1; nan, with the reason, without trials.

    Raises
    ------
    MetricInputError
        If there are more successes than trials, a number is negative or not whole, or the level is out of range.

    Examples
    --------
    >>> interval = wilson_interval(8, 10)
    >>> interval.estimate, round(interval.low, 4), round(interval.high, 4)
    (0.8, 0.4902, 0.9433)
    """
    _check(successes, trials)
    z = NormalDist().inv_cdf((1 + check_level(level)) / 2)
    if not trials:
        return _no_trials(level, "wilson")
    # Exact at 0 and 1, where centre and margin would cancel but for rounding.
    share = successes / trials
    centre = share + z * z / (2 * trials)
    margin = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low = (centre - margin) / (1 + z * z / trials) if successes else 0.0
    high = (centre + margin) / (1 + z * z / trials) if successes < trials else 1.0
    return Interval(share, low, high, level, "wilson", trials, trials)


def clopper_pearson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Exact interval of a proportion [3]_, from quantiles of the beta distribution.

    ``low = B(tail; k, n - k + 1)`` and ``high = B(1 - tail; k + 1, n - k)`` with ``tail = (1 - level) / 2``; it
    covers at least `level`, and mostly more.

    Takes and raises what `wilson_interval` does.

    Returns
    -------
    Interval
        Ends 0 to 1; nan, with the reason, without trials.

    Examples
    --------
    >>> interval = clopper_pearson_interval(0, 10)
    >>> interval.low, round(interval.high, 4)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    _check(successes, trials)
    tail = (1 - check_level(level)) / 2
    if not trials:
        return _no_trials(level, "clopper-pearson")
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Interval(successes / trials, low, high, level, "clopper-pearson", trials, trials)


def _check(successes: object, trials: object) -> None:
    if check_whole(successes, "successes", 0) > check_whole(trials, "trials", 0):
        raise MetricInputError(f"{successes} successes in {trials} trials; is the order successes, trials?")


def _no_trials(level: float, method: str) -> Interval:
    return Interval(nan, nan, nan, level, method, 0, 0, "no trials")


@dataclass(frozen=True, slots=True)
class McNemarTest:
    """McNemar's chi-square with one degree of freedom and its p-value."""

    chi_square: float
    p_value: float


def mcnemar_test(only_a: int, only_b: int) -> McNemarTest:
    """Test whether two models succeed equally often on the same trials [4]_.

    ``chi2 = (only_a - only_b)^2 / (only_a + only_b)``, without continuity correction.

    Parameters
    ----------
    only_a, only_b : int
        Trials in which only the one or only the other succeeded; those where both or neither did do not matter.

    Returns
    -------
    McNemarTest
        ``chi_square`` from 0, ``p_value`` 0 to 1, two-sided; nan, with a warning, if the models never differ.

    Raises
    ------
    MetricInputError
        If a number is negative or not a whole number.

    Examples
    --------
    >>> test = mcnemar_test(121, 59)
    >>> round(test.chi_square, 4), f"{test.p_value:.1e}"
    (21.3556, '3.8e-06')
    """
    differ = check_whole(only_a, "only_a", 0) + check_whole(only_b, "only_b", 0)
    if not differ:
        warn_undefined("mcnemar_test", "the models never differ")
        return McNemarTest(nan, nan)
    chi_square = (only_a - only_b) ** 2 / differ
    return McNemarTest(chi_square, erfc(sqrt(chi_square / 2)))


def share_of_clusters_interval(
    values: ArrayLike, clusters: Iterable[Hashable], *, level: float = 0.95
) -> list[Interval]:
    """Confidence interval of the share of units that are 1, for each series.

    Student's t on the logit scale [5]_: with the share p, the ends are ``1 / (1 + exp(-x))`` for
    ``x = log(p / (1 - p)) -+ t s / (p (1 - p))``. Here s is the jackknife of clusters,
    ``sqrt((G - 1) / G sum over clusters of ((k - m p) / (n - m))^2)`` for a cluster with k of its m units, and t the
    quantile with ``G / (1 + CV^2) - 1`` degrees of freedom, at least 2: CV is the coefficient of variation of the
    numbers of units of the G clusters, so that clusters of unequal size count as fewer [6]_.

    Where no unit is 1, or every one, nothing tells how alike the units of a cluster are. Then each cluster is one
    trial: the ends are those of `attune_metrics.stats.cluster_means.clopper_pearson_interval` of 0 or G in G.

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
        reason = NO_VARIATION
    else:
        error = jackknife_error((ones - units * share) / (n - units))
        freedom = effective_freedom(size, coefficient_of_variation(units))
        ends = t_ends(share, error, freedom, 0, 1, level)
    return Interval(share, *ends, level, method, n, size, reason)
