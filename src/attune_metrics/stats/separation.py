"""Separation: how well a metric tells models apart.

References
----------
.. [1] Hoyt (1941), Test reliability estimated by analysis of variance, Psychometrika 6, 153-160; Brennan (2001),
   Generalizability Theory, chapter 2: relative error.
.. [2] Patnaik (1949), The non-central chi-squared and F distributions and their applications, Biometrika 36, 202-232.
.. [3] Box (1954), Annals of Mathematical Statistics 25, 484-498: degrees of freedom where models are unequally noisy.
   The trace of a squared covariance without bias: Bai, Saranadasa (1996), Statistica Sinica 6, 311-329.
.. [4] Zou, Donner (2008), Statistics in Medicine 27, 1693-1702: the interval of a ratio from those of its parts.
.. [5] Spearman (1910), Brown (1910), British Journal of Psychology 3, 271-295 and 296-322.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, hypot, inf, isnan, log, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level, check_number, check_whole
from attune_metrics.stats.bootstrap import Interval
from attune_metrics.stats.cluster_means import t_ends
from attune_metrics.stats.power import mde_factor
from attune_metrics.stats.repeats import variance_terms, variances_of_sums
from attune_metrics.stats.sums import (
    SMALL_SAMPLE,
    Floats,
    cluster_sums,
    coefficient_of_variation,
    complete_units,
    effective_freedom,
    jackknife_error,
    noise_freedom,
    relative_means,
    rounding_of,
)

_MOST_EXACT = 200  # non-centrality; beyond it Patnaik's approximation is as good, and the series are slow


@dataclass(frozen=True, slots=True)
class Separation:
    """How well a metric tells models apart.

    Attributes
    ----------
    reliability : Interval
        Share of the variance between the models' means that other units would show again, at most 1; below 0 where the
        means differ less than their noise alone would make them. Its ends are at least 0.
    model, unit, within : Interval
        Shares of the variance of one score, 0 to 1: between models, between units, and the rest.
    seen : float
        Largest minus smallest mean of a model; noise makes it larger.
    detectable : float
        Minimum detectable difference of two models, as a share of the range seen; nan below 7 clusters.
    """

    reliability: Interval
    model: Interval
    unit: Interval
    within: Interval
    seen: float
    detectable: float


def separation(values: ArrayLike, clusters: Iterable[Hashable], *, level: float = 0.95) -> Separation:
    """Estimate how well a metric tells models apart: the reliability of a model's mean, and the parts of the variance.

    With k models, y a score minus the mean of its unit over the models, m the mean of y of a model and e its
    `attune_metrics.stats.sums.clustered_standard_error`: ``reliability = 1 - sum e^2 / sum m^2`` [1]_. Where each unit
    is its own cluster this is Hoyt's reliability, and Cronbach's alpha with models as persons and units as items. The
    shares are of the variances that `attune_metrics.stats.repeats.crossed_variances` estimates.

    Parameters
    ----------
    values : array of float, shape (models, units)
        nan where a model has no value; only units with a value of every model count.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Separation
        The intervals say what other clusters would have changed; the models stay. With ``F = 1 / (1 - reliability)``
        and G the effective number of clusters, an end of the interval of the reliability is the rho from 0 to below 1
        at which F is the quantile of a non-central F distribution with c and ``d (G - 1)`` degrees of freedom and the
        non-centrality ``c rho / (1 - rho)``, above 200 by Patnaik's approximation [2]_. d are Box's degrees of freedom
        of the noise [3]_, from 1 to k - 1, over ``1 + 3 / (G - 1)``, and ``(1 + rho) / c = (1 - rho) / d + 2 rho / (k
        - 1)``. The share between models has the interval of a ratio [4]_, on the log scale: of the variance between
        models, by that F with the second degrees of freedom over ``(1 - rho)^2``, and of the rest, by Student's t of
        the jackknife of clusters. The other shares have that t with ``(G - 1) / (1 + 3 / (G - 1))`` degrees of
        freedom, on the logit scale between the ends of what they can be where another part is estimated below 0:
        ``-within / k`` to 1 for units, and 0 to ``k / (k - 1)`` within. Numbers are nan, and ``reason`` says why, with
        fewer than two models or two clusters, and where all models have the same mean; ends with fewer than three
        clusters. docs/separation.md simulates how often the intervals cover.

    Raises
    ------
    MetricInputError
        If values are infinite or not of shape (models, units), a label is missing, or the level is out of range.

    Examples
    --------
    >>> found = separation([[1, 3, 2, 4], [2, 4, 4, 5], [5, 6, 5, 6]], range(4))
    >>> round(found.reliability.estimate, 3), round(found.model.estimate, 3), round(found.seen, 3)
    (0.966, 0.648, 3.0)
    """
    check_level(level)
    given, index = complete_units(values, clusters)
    models, n = given.shape
    sizes = np.unique(index, return_counts=True)[1].astype(np.float64)
    size, spread = len(sizes), coefficient_of_variation(sizes)

    def none(reason: str) -> Separation:
        empty = Interval(nan, nan, nan, level, "F", n, size, reason)
        return Separation(empty, empty, empty, empty, nan, nan)

    if models < 2 or size < 2:
        few = "fewer than two clusters" if n else "no unit has a value of every model"
        return none("fewer than two models" if models < 2 else few)
    means, moved = relative_means(given, index)
    between, noise = float((means**2).sum()), float((moved**2).sum())
    if sqrt(between) <= rounding_of(given):
        same = "values" if sqrt(between + noise) <= rounding_of(given) else "mean"
        return none(f"all models have the same {same}")
    reliability, reason, freedom = 1 - noise / between, None, effective_freedom(size, spread)
    low, high, absolute = nan, nan, (nan, nan)
    if sqrt(noise) <= rounding_of(given):
        reliability, reason = 1.0, "no variation among clusters"
    elif size < 3:
        reason = "fewer than three clusters"
    else:
        design = between / noise, models - 1, noise_freedom(moved, freedom), freedom
        low, high = _ends(*design, level)
        absolute = _ends(*design, level, is_absolute=True)
    found = Interval(reliability, low, high, level, "F", n, size, reason)
    of_pairs, seen = sqrt(2 * noise / (models - 1)), float(np.ptp(given.mean(axis=1)))  # root mean square error, range
    detectable = mde_factor(size, units_cv=spread) * of_pairs / seen
    variances = [noise / (models - 1) * rho / (1 - rho) for rho in absolute]
    model, unit, within = _shares(given, index, found, freedom, variances)
    return Separation(found, model, unit, within, seen, detectable)


def _ends(
    ratio: float, most: int, noise: float, freedom: float, level: float, *, is_absolute: bool = False
) -> tuple[float, float]:
    """Return the two ends of the reliability, or, by the same distribution, of the variance between models."""
    from scipy.special import fdtr, ncfdtr

    def below(rho: float) -> float:
        signal = rho / (1 - rho)
        between = (1 + 2 * signal) / (1 / noise + 2 * signal / most)
        within = noise * freedom * ((1 + signal) ** 2 if is_absolute else 1)
        if between * signal < _MOST_EXACT:
            return float(ncfdtr(between, within, between * signal, ratio))
        return float(fdtr(between * (1 + signal) ** 2 / (1 + 2 * signal), within, ratio * (1 - rho)))

    ends = []
    for level_of_end in ((1 + level) / 2, (1 - level) / 2):
        low, high = 0.0, 1.0
        for _ in range(60 if below(0) > level_of_end else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if below(middle) > level_of_end else (low, middle)
        ends.append(low)
    return ends[0], ends[1]


def _shares(
    values: Floats, index: NDArray[np.intp], reliability: Interval, freedom: float, between: Sequence[float]
) -> list[Interval]:
    """Return the shares of the variance between models, of which `between` has the ends, between units and within."""
    sums = cluster_sums(variance_terms(values, index)[np.newaxis], index)[:, 0]
    every = np.vstack([sums.sum(axis=0), *(sums.sum(axis=0) - sums if len(sums) > 2 else ())])
    total, row, residual = variances_of_sums(every[:, :-1], every[:, -1], len(values))
    parts = np.stack([row, total - residual / len(values), residual])
    shown = np.maximum(parts[:, 0], 0)
    found = [
        replace(reliability, estimate=float(share), low=nan, high=nan, method=method)
        for share, method in zip(shown / shown.sum(), ("F", "jackknife-t", "jackknife-t"), strict=True)
    ]
    if isnan(reliability.low):
        return found
    rest, *left = parts[1:].sum(axis=0).tolist()
    _, high = t_ends(0, jackknife_error(np.array(left) / rest - 1), freedom, -inf, inf, reliability.level)
    ends = [_ratio_end(end, float(row[0]), rest, high, side) for end, side in zip(between, (-1, 1), strict=True)]
    found[0] = replace(found[0], low=ends[0], high=ends[1])
    unit, within = (parts / parts.sum(axis=0))[1:].tolist()
    models, freedom = len(values), freedom / (1 + SMALL_SAMPLE / freedom)
    ranges = (unit, -within[0] / models, 1), (within, 0, models / (models - 1))
    for place, ((share, *left), bottom, top) in enumerate(ranges, start=1):
        least, most = (bottom, top) if bottom < share < top else (-inf, inf)
        low, high = t_ends(share, jackknife_error(np.array(left) - share), freedom, least, most, reliability.level)
        estimate = found[place].estimate  # differs from `share` where a part is below 0, and so is 0
        found[place] = replace(found[place], low=max(min(low, estimate), 0.0), high=min(max(high, estimate), 1.0))
    return found


def _ratio_end(end: float, part: float, rest: float, reach: float, side: int) -> float:
    """Return an end of the share of a part, from that end of the part and how far the rest reaches on the log scale."""
    if end <= 0 or part <= 0:
        return end / (end + rest)
    return 1 / (1 + rest / part * exp(-side * hypot(log(end / part), reach)))


def units_for_reliability(reliability: float, units: int, *, target: float = 0.9) -> float:
    """Compute with how many units a metric reaches a reliability: ``n target / (1 - target) (1 - r) / r`` [5]_.

    Parameters
    ----------
    reliability : float
        r, with `units`, at most 1.
    units : int
        n, from 1; more units mean more clusters of the same sizes.
    target : float
        The reliability to reach, above 0 and below 1.

    Returns
    -------
    float
        A whole number from 1; inf where the reliability is not above 0, as no number of units would do.

    Raises
    ------
    MetricInputError
        If a number is out of its range.

    Examples
    --------
    >>> units_for_reliability(0.8, 100), units_for_reliability(-0.1, 100)
    (225.0, inf)
    """
    check_whole(units, "units", 1)
    check_number(reliability, "reliability", -inf, 1)
    if not 0 < target < 1:
        raise MetricInputError(f"target {target} is not between 0 and 1")
    if reliability <= 0:
        return inf
    needed = units * target / (1 - target) * (1 - reliability) / reliability
    return float(max(ceil(needed * (1 - 1e-12)), 1))
