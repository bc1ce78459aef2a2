"""Planning a comparison of two models: participants needed, smallest detectable difference, and p-values of intervals.

Planning
--------
Both models answer the same units. Without a pilot you assume three numbers: the standard deviation s of a unit's score,
the correlation r between the two models' scores on one unit, and the intraclass correlation ICC of the differences
between these scores (the share of the variance that lies between participants). With G participants of m units each,
the standard error of the difference is ``sqrt(2 s^2 (1 - r) (1 + (m - 1) ICC) / (m G))`` [5]_, [6]_. Where participants
have m units on average, with the coefficient of variation CV (standard deviation over mean), the design effect
``1 + (m - 1) ICC`` becomes ``1 + ((CV^2 + 1) m - 1) ICC`` [8]_. From a pilot of g participants with the standard error
SE, G participants of the same kind, with as many units each, have the standard error ``SE sqrt(g / G)``. Power is 80%:
the two-sided `attune_metrics.stats.comparison.paired_permutation_test` at 0.05, for one comparison.

p-values of bootstrap intervals
-------------------------------
An interval of the level 1 - alpha that excludes a value rejects the value at alpha. The smallest such alpha is a
p-value [9]_, which never contradicts the interval. The ends of an interval have the levels of
`attune_metrics.stats.bootstrap.bootstrap`.

References
----------
.. [1] Miller (2024), Adding error bars to evals, arXiv:2411.00640, sections 2.2 and 5.
.. [2] Bloom (1995), Minimum detectable effects, Evaluation Review 19, 547-556.
.. [3] MacKinnon, Nielsen, Webb (2023), Fast and reliable jackknife and bootstrap methods for cluster-robust inference,
   J. Appl. Econometrics 38, 671-694: the jackknife of clusters, CV3J.
.. [4] Kish (1965), Survey Sampling, section 11.7: the effective number of a sample with unequal weights.
.. [5] Kish (1965), Survey Sampling, section 5.4: the design effect of clusters.
.. [6] Miller (2024), Adding error bars to evals, arXiv:2411.00640, section 5.
.. [7] Jennison, Turnbull (2000), Group Sequential Methods with Applications to Clinical Trials, chapter 2.
.. [8] Eldridge, Ashby, Kerry (2006), Sample size for cluster randomized trials: effect of coefficient of variation of
   cluster size and analysis method, Int. J. Epidemiol. 35, 1292-1300.
.. [9] Davison, Hinkley (1997), Bootstrap Methods and their Application, section 5.6.
.. [10] Cochran (1977), Sampling Techniques, 3rd ed., section 12.7: regression estimators in double sampling.
.. [11] Kish (1965), Survey Sampling, section 8.2: the design effect.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from math import ceil, inf, nan, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.metric import (
    MetricInputError,
    check_level,
    check_number,
    check_positive,
    check_whole,
    warn_undefined,
)
from attune_metrics.stats.bootstrap import Interval, Method, bca_correction
from attune_metrics.stats.looks import MIN_CLUSTERS_OF_LOOK, plan_of_looks
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    cluster_deviations,
    cluster_index,
    coefficient_of_variation,
    effective_freedom,
    jackknife_error,
    paired_terms,
    rounding_of,
)

MDE_MIN_CLUSTERS = 7
"""With fewer clusters no effect is detectable: at most the two exchanges that give all differences one sign have a
p-value below 0.05 (2 of 64 with 6 clusters, none with 5)."""

MOST_UNITS = 2**53
"""With more units no comparison is planned: they are beyond the whole numbers that floats are."""

_CONSTANT = "the difference does not vary among clusters"
_LIMIT = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)  # of `mde_factor`, with many clusters


def mde_factor(clusters: int, *, units_cv: float = 0) -> float:
    """Compute how many standard errors of a paired difference make the minimum detectable effect [2]_.

    ``t(1 - alpha / 2) + t(0.8)``, quantiles of Student's t: 80% power of
    `attune_metrics.stats.comparison.paired_permutation_test`, uncorrected. `alpha` is the largest p-value below 0.05
    that a test of all ``2^G`` exchanges can give, from 6 / 128 with 7 clusters to 0.05 with many. The degrees of
    freedom are the effective number of clusters less 1: ``G / (1 + CV^2) - 1`` [4]_, or 2 where that is less.

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
        From 2.80, with many clusters, to 3.40, with 7 of equal size, and to 5.52, with 7, one of them with nearly all
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


def minimum_detectable_effect(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable]) -> float:
    """Compute the smallest true difference of means that a paired comparison of this size finds with 80% power [1]_.

    ``mde_factor(G, units_cv=CV) SE``: a two-sided test at 0.05, uncorrected, of G clusters. CV is the coefficient of
    variation of their numbers of units. SE is the jackknife of clusters [3]_ of the mean of ``a - b``,
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

    ``mde_factor(G, units_cv=units_cv) error sqrt(clusters / G) <= difference``; a cluster has `units` units on
    average, at most 2^53.
    """
    if _LIMIT * error / difference > sqrt(MOST_UNITS / (units * clusters)):
        raise MetricInputError(
            f"difference {difference} needs more than 2^53 units; is it of the same scale as the values?"
        )

    def enough(factor: float) -> int:
        # A cluster more for a difference in the last bits would be rounding.
        return max(MDE_MIN_CLUSTERS, ceil(clusters * (factor * error / difference) ** 2 * (1 - ROUNDING)))

    # The factor falls with the number of clusters, so that no number below the one at its limit is enough.
    low = enough(_LIMIT)
    known = range(low, enough(mde_factor(low, units_cv=units_cv)))
    return low + bisect_left(known, True, key=lambda number: enough(mde_factor(number, units_cv=units_cv)) <= number)


def _of_differences(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable]) -> tuple[float, int, int, float]:
    """Return the standard error of ``a - b``, and the numbers of units and clusters with the former's `units_cv`."""
    index = cluster_index(clusters)
    first, second = paired_terms(a, b, len(index))
    deviations, units = cluster_deviations(first - second, index)
    n, size = float(units.sum()), len(units)
    error = jackknife_error(deviations / (n - units)) if size > 1 else nan
    return error, int(n), size, coefficient_of_variation(units)


_PERFECTLY_CORRELATED = "with a correlation of 1 the difference does not vary"


def fewest_participants(looks: int) -> int:
    """Return with how many participants a comparison with so many looks decides anything.

    Examples
    --------
    >>> fewest_participants(1), fewest_participants(4)
    (7, 12)
    """
    return MDE_MIN_CLUSTERS if looks == 1 else MIN_CLUSTERS_OF_LOOK


def _few(looks: int) -> str:
    return f"no difference is detectable with fewer than {fewest_participants(looks)} participants"


def planned_effect(
    participants: int,
    *,
    sd: float,
    correlation: float,
    icc: float,
    units_per_participant: float = 1,
    units_cv: float = 0,
    looks: int = 1,
) -> float:
    """Compute the smallest true difference that so many participants show with 80% power.

    ``mde_factor(G, units_cv=CV) sqrt(2 s^2 (1 - r) (1 + ((CV^2 + 1) m - 1) ICC) / (m G))``, as
    `minimum_detectable_effect` of a pilot.

    Parameters
    ----------
    participants : int
        G, from 0.
    sd : float
        s, the standard deviation of a unit's score, above 0, in the unit of the scores.
    correlation : float
        r, of the scores of both models on one unit, -1 to 1; 0 is cautious.
    icc : float
        ICC of the difference of both models within participants, 0 to 1; 1 is the most cautious.
    units_per_participant : float
        m, from 1; a mean may be broken.
    units_cv : float
        CV, the coefficient of variation of the number of units of a participant, from 0. With 0, all have equally many;
        0.5 to 1 is usual where people choose how much they take part.
    looks : int
        K, how often the models are compared while participants come in, each time after an equal part of them: 1 to 20.
        The effect is the root of `attune_metrics.stats.looks.plan_of_looks` times larger [7]_, and with several looks
        at least 12 participants are needed.

    Returns
    -------
    float
        Above 0, in the unit of the scores; nan, with a warning, with fewer than 7 participants or a correlation of 1.

    Raises
    ------
    MetricInputError
        If a number is out of its range.

    Examples
    --------
    >>> round(planned_effect(30, sd=20, correlation=0.5, icc=0.3, units_per_participant=4), 2)
    7.3

    With four units of each participant as with one, where all of the variance is between participants:

    >>> [round(planned_effect(30, sd=20, correlation=0.5, icc=1, units_per_participant=m), 2) for m in (1, 4)]
    [10.59, 10.59]

    With five looks:

    >>> round(planned_effect(30, sd=20, correlation=0.5, icc=0.3, units_per_participant=4, looks=5), 2)
    7.4

    With four units on average, where some participants have many:

    >>> round(planned_effect(30, sd=20, correlation=0.5, icc=0.3, units_per_participant=4, units_cv=1), 2)
    9.68
    """
    error = _error_of_one(sd, correlation, icc, units_per_participant, units_cv) * sqrt(plan_of_looks(looks).most)
    if check_whole(participants, "participants", 0, MOST_UNITS) < fewest_participants(looks):
        warn_undefined("planned_effect", _few(looks))
        return nan
    if error == 0:
        warn_undefined("planned_effect", _PERFECTLY_CORRELATED)
        return nan
    return _finite(mde_factor(participants, units_cv=units_cv) * error / sqrt(participants))


def participants_needed(
    difference: float,
    *,
    sd: float,
    correlation: float,
    icc: float,
    units_per_participant: float = 1,
    units_cv: float = 0,
    looks: int = 1,
) -> float:
    """Compute with how many participants a comparison shows `difference` with 80% power.

    The smallest number at which `planned_effect` is at most `difference`.

    Parameters
    ----------
    difference : float
        The difference of means to find, above 0, in the unit of the scores.
    sd, correlation, icc, units_per_participant, units_cv, looks
        As for `planned_effect`.

    Returns
    -------
    float
        A whole number from 7, or 12 with several looks; nan, with a warning, with a correlation of 1.

    Raises
    ------
    MetricInputError
        As `planned_effect`, and if the difference is not above 0, or needs more than 2^53 units.

    Examples
    --------
    >>> participants_needed(5, sd=20, correlation=0.5, icc=0.3, units_per_participant=4)
    62.0
    """
    difference = check_difference(difference)
    error = _error_of_one(sd, correlation, icc, units_per_participant, units_cv) * sqrt(plan_of_looks(looks).most)
    if error == 0:
        warn_undefined("participants_needed", _PERFECTLY_CORRELATED)
        return nan
    needed = clusters_needed(error, 1, difference, units=units_per_participant, units_cv=units_cv)
    return float(max(needed, fewest_participants(looks)))


def effect_after_pilot(
    participants: int, *, mde: float, pilot_participants: int, units_cv: float = 0, looks: int = 1
) -> float:
    """Compute the smallest true difference that so many participants show with 80% power, from a pilot.

    ``mde mde_factor(G, units_cv=CV) / mde_factor(g, units_cv=CV) sqrt(g / G)``.

    Parameters
    ----------
    participants : int
        G, from 0: participants of the planned comparison, with the pilot's if they take part.
    mde : float
        The `attune_metrics.stats.power.minimum_detectable_effect` of the pilot, above 0.
    pilot_participants : int
        g, from 7.
    units_cv : float
        CV of the pilot, as for `planned_effect`; its `mde` has the spread of sizes in its standard error already.
    looks : int
        As for `planned_effect`.

    Returns
    -------
    float
        Above 0, in the unit of the scores; nan, with a warning, with fewer than 7 participants.

    Raises
    ------
    MetricInputError
        If a number is out of its range.

    Examples
    --------
    >>> round(effect_after_pilot(60, mde=10, pilot_participants=12), 2)
    4.14
    >>> effect_after_pilot(12, mde=10, pilot_participants=12)
    10.0
    """
    error = _error_of_pilot(mde, pilot_participants, units_cv) * sqrt(plan_of_looks(looks).most)
    if check_whole(participants, "participants", 0, MOST_UNITS) < fewest_participants(looks):
        warn_undefined("effect_after_pilot", _few(looks))
        return nan
    factor = mde_factor(participants, units_cv=units_cv)
    return _finite(factor * error * sqrt(pilot_participants / participants))


def participants_after_pilot(
    difference: float,
    *,
    mde: float,
    pilot_participants: int,
    units_per_participant: float = 1,
    units_cv: float = 0,
    looks: int = 1,
) -> float:
    """Compute with how many participants a comparison shows `difference` with 80% power, from a pilot.

    The smallest number at which `effect_after_pilot` is at most `difference`.

    Parameters
    ----------
    difference : float
        The difference of means to find, above 0, in the unit of the scores.
    mde, pilot_participants, units_cv, looks
        As for `effect_after_pilot`.
    units_per_participant : float
        Of the pilot, from 1; a mean may be broken.

    Returns
    -------
    float
        A whole number from 7, or 12 with several looks.

    Raises
    ------
    MetricInputError
        As `effect_after_pilot`, and if the difference is not above 0, or needs more than 2^53 units.

    Examples
    --------
    >>> participants_after_pilot(5, mde=10, pilot_participants=12)
    42.0
    >>> participants_after_pilot(10, mde=10, pilot_participants=12)
    12.0
    >>> participants_after_pilot(5, mde=10, pilot_participants=12, looks=5)
    43.0
    """
    difference = check_difference(difference)
    error = _error_of_pilot(mde, pilot_participants, units_cv) * sqrt(plan_of_looks(looks).most)
    units = check_number(units_per_participant, "units_per_participant", 1, inf)
    needed = clusters_needed(error, pilot_participants, difference, units=units, units_cv=units_cv)
    return float(max(needed, fewest_participants(looks)))


def _error_of_one(
    sd: object, correlation: object, icc: object, units_per_participant: object, units_cv: object
) -> float:
    """Return the standard error that one participant would give."""
    spread = check_positive(sd, "sd", "give the standard deviation of a unit's score")
    r = check_number(correlation, "correlation", -1, 1)
    alike = check_number(icc, "icc", 0, 1)
    units = check_number(units_per_participant, "units_per_participant", 1, inf)
    cv = check_number(units_cv, "units_cv", 0, inf)
    return spread * sqrt(2 * (1 - r) * (1 + ((cv * cv + 1) * units - 1) * alike) / units)


def _error_of_pilot(mde: object, pilot_participants: int, units_cv: float) -> float:
    """Return the standard error that the pilot had."""
    effect = check_positive(mde, "mde", "give the minimum detectable effect of the pilot")
    participants = check_whole(pilot_participants, "pilot_participants", MDE_MIN_CLUSTERS, MOST_UNITS)
    return effect / mde_factor(participants, units_cv=units_cv)


def _finite(effect: float) -> float:
    if effect == inf:
        raise MetricInputError(
            "the smallest difference is larger than any float; are sd and mde of the scale of the scores?"
        )
    return effect


class TwoSided(NamedTuple):
    """A p-value, and the smallest that so many resamples could have given."""

    p_value: float
    p_min: float


def p_of_ends(
    drawn: Floats,
    low: float,
    high: float,
    interval: Interval,
    method: Method,
    left_out: Floats | None,
    *,
    largest: float = 0,
) -> tuple[float, float]:
    """Return two alphas: the 1 - 2 alpha interval has its lower end at `low`, or its upper end at `high`.

    `drawn` (resamples,) is the statistic in every resample. `attune_metrics.stats.bootstrap` made `interval` from
    `drawn` by `method`. `left_out` (clusters,) is the statistic without each cluster, for BCa. For differences,
    `largest` is the size of the two values that are subtracted. An alpha is at least the alpha of the level
    1 / (1 + resamples), as more resamples could have reached further, and at least the share of resamples with an
    undefined statistic, as there is no interval below that share.
    """
    known = drawn[~np.isnan(drawn)]
    correction = None if left_out is None else bca_correction(known, interval.estimate, left_out, largest)
    bias, acceleration = correction or (0.0, 0.0)

    def alpha(values: Floats, bound: float, sign: int) -> float:
        level = max(_level_at(values, bound, largest), 1 / (len(known) + 1))
        found = _alpha_of(level, interval.clusters, method, sign * bias, sign * acceleration)
        return max(found, 1 - len(known) / len(drawn))

    # The upper end is the lower one of the distribution turned round, and so are bias and acceleration.
    return alpha(known, low, 1), alpha(-known, -high, -1)


def two_sided_p(drawn: Floats, interval: Interval, method: Method, left_out: Floats | None) -> TwoSided:
    """Return the smallest alpha at which the 1 - alpha interval excludes 0; arguments as for `p_of_ends`."""
    p_value, p_min = (
        min(1.0, 2 * min(p_of_ends(drawn, low, high, interval, method, left_out)))
        for low, high in ((0.0, 0.0), (-inf, inf))
    )
    return TwoSided(p_value, p_min)


def _level_at(known: Floats, bound: float, largest: float) -> float:
    """Return the highest level at which the quantile of `known` is not above `bound`; 0 if there is none."""
    if bound == -inf:
        return 0.0
    bound += rounding_of(known, bound, largest)
    is_below = known <= bound
    number = int(is_below.sum())
    if number in {0, len(known)}:
        return number / len(known)
    below, above = float(known[is_below].max()), float(known[~is_below].min())
    # Between two values the quantile is on the line from one to the other.
    return (number - 1 + (bound - below) / (above - below)) / (len(known) - 1)


def _alpha_of(level: float, clusters: int, method: Method, bias: float, acceleration: float) -> float:
    """Return the alpha at which the 1 - 2 alpha interval has its lower end at a level of the bootstrap distribution."""
    from scipy.special import ndtr, ndtri, stdtr

    if level >= 1 or method == "percentile":
        return level
    quantile = float(ndtri(level))
    if method == "percentile-expanded":
        return float(stdtr(clusters - 1, sqrt((clusters - 1) / clusters) * quantile))
    moved = quantile - bias
    if 1 + acceleration * moved <= 0:  # beyond the levels that an end can have
        return 0.0 if acceleration > 0 else 1.0
    return float(ndtr(moved / (1 + acceleration * moved) - bias))


def corrected_width(
    labels: int, *, spread: float, correlation: float, units: int, design_effect: float = 1.0, level: float = 0.95
) -> float:
    """Compute the expected width of the interval of a mean corrected by ratings; `labels_needed` has the formula.

    Parameters
    ----------
    labels : int
        n, the units that people rate, from 2 to `units`.
    spread, correlation, units, design_effect, level
        As for `labels_needed`.

    Returns
    -------
    float
        From the lower to the upper end, in the unit of the ratings.

    Raises
    ------
    MetricInputError
        If a number is out of range.

    Examples
    --------
    >>> round(corrected_width(27, spread=0.2, correlation=0.8, units=500), 3)
    0.099
    """
    from scipy.special import stdtrit

    for value, name in ((spread, "spread"), (design_effect, "design_effect")):
        if check_number(value, name, 0, inf) == 0:
            raise MetricInputError(f"{name} is 0; expected a number above 0")
    shared = check_number(correlation, "correlation", -1, 1) ** 2
    most = check_whole(units, "units", 2)
    rated = check_whole(labels, "labels", 2, most)
    variance = design_effect * spread**2 * ((1 - shared) / rated + shared / most)
    return 2 * float(stdtrit(rated - 1, (1 + check_level(level)) / 2)) * sqrt(variance)


def labels_needed(
    width: float, *, spread: float, correlation: float, units: int, design_effect: float = 1.0, level: float = 0.95
) -> int:
    """Compute how many units people have to rate for an interval of a width, from a pilot or a guess [10]_.

    Write a rating as its regression on the judge, ``h = a + b j + e``. The corrected mean of n ratings among N units is
    then ``a + b (mean of j over all) + (mean of e over the rated)``: the judge's part varies with all N units, the rest
    with the n rated ones. As ``var(b j) = r^2 var(h)`` and ``var(e) = (1 - r^2) var(h)`` its variance is:

        var(h) (1 - r^2) / n + r^2 var(h) / N

    times the design effect; `attune_metrics.stats.judges` defines the corrected mean. The width is twice the quantile
    of Student's t with n - 1 degrees of freedom times the root. The formula ignores that b is estimated, which adds
    about one part in n to the variance.

    Parameters
    ----------
    width : float
        From the lower to the upper end, in the unit of the ratings; above 0.
    spread : float
        Standard deviation of the ratings, above 0.
    correlation : float
        Of scores and ratings, -1 to 1; 0 where there is no judge.
    units : int
        N, the units that the judge scored, at least 2.
    design_effect : float
        Variance with clusters divided by the variance of independent units; 1 without clusters. Of m units in
        each cluster with the intraclass correlation c it is ``1 + (m - 1) c`` [11]_.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    int
        The smallest n from 2 to N; fewer is cheaper. Below 30, rate 30 all the same: fewer make an interval unreliable.

    Raises
    ------
    MetricInputError
        If a number is out of range, or not even ratings of all units would give so narrow an interval; the text says
        how narrow that would be.

    Examples
    --------
    >>> labels_needed(0.1, spread=0.2, correlation=0.8, units=500)
    27
    >>> labels_needed(0.1, spread=0.2, correlation=0, units=500)
    64
    """
    if check_number(width, "width", 0, inf) == 0:
        raise MetricInputError("width is 0; expected a number above 0")
    most = check_whole(units, "units", 2)

    def reached(labels: int) -> float:
        return corrected_width(
            labels, spread=spread, correlation=correlation, units=most, design_effect=design_effect, level=level
        )

    if (least := reached(most)) > width:
        raise MetricInputError(
            f"width {width:g} cannot be reached: with ratings of all {most:,} units the interval is {least:.3g} wide; "
            "more units, or a wider interval, are needed"
        )
    # The width falls with every label.
    return 2 + bisect_left(range(2, most), True, key=lambda labels: reached(labels) <= width)
