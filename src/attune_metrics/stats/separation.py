"""Separation: how well a metric tells models apart.

A score is the mean of its model, plus what its unit adds for every model, plus the rest. The rest makes the means of
models differ where the models do not: this noise lowers the reliability of the means.

References
----------
.. [1] Hoyt (1941), Test reliability estimated by analysis of variance, Psychometrika 6, 153-160; Brennan (2001),
   Generalizability Theory, chapter 2: relative error.
.. [2] Patnaik (1949), The non-central chi-squared and F distributions and their applications, Biometrika 36, 202-232.
.. [3] Box (1954), Some theorems on quadratic forms, II, Annals of Mathematical Statistics 25, 484-498: degrees of
   freedom where models are unequally noisy. The trace of a squared covariance without bias: Bai, Saranadasa (1996),
   Effect of high dimension, Statistica Sinica 6, 311-329.
.. [4] Spearman (1910), Correlation calculated from faulty data, British Journal of Psychology 3, 271-295; Brown (1910),
   Some experimental results in the correlation of mental abilities, ibid., 296-322.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from math import ceil, inf, isnan, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level, check_number, check_whole
from attune_metrics.stats.bootstrap import Interval
from attune_metrics.stats.cluster_means import t_ends
from attune_metrics.stats.power import mde_factor
from attune_metrics.stats.repeats import variance_terms, variances_of_sums
from attune_metrics.stats.sums import (
    Floats,
    as_floats,
    cluster_index,
    cluster_sums,
    coefficient_of_variation,
    effective_freedom,
    jackknife_error,
    rounding_of,
)

_HALVINGS = 60
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
    error : float
        Standard error of the difference between two models' means, the root mean square over all pairs.
    seen : float
        Largest minus smallest mean of a model; noise makes it larger.
    units_cv : float
        Coefficient of variation of the number of units of a cluster.
    """

    reliability: Interval
    model: Interval
    unit: Interval
    within: Interval
    error: float
    seen: float
    units_cv: float

    @property
    def detectable(self) -> float:
        """The minimum detectable difference of two models, as a share of the range seen; nan below 7 clusters.

        Examples
        --------
        >>> values = [[1, 3, 2, 4, 2, 3, 1], [2, 4, 4, 5, 3, 3, 2], [5, 6, 5, 6, 6, 6, 4]]
        >>> round(separation(values, range(7)).detectable, 2)
        0.3
        """
        return mde_factor(self.reliability.clusters, units_cv=self.units_cv) * self.error / self.seen


def separation(values: ArrayLike, clusters: Iterable[Hashable], *, level: float = 0.95) -> Separation:
    """Estimate how well a metric tells models apart: the reliability of a model's mean, and the parts of the variance.

    With k models, y a score minus the mean of its unit over the models, m the mean of y of a model and e its
    `attune_metrics.stats.sums.clustered_standard_error`: ``reliability = 1 - sum e^2 / sum m^2`` [1]_. Where each unit
    is its own cluster this is Hoyt's reliability, and Cronbach's alpha with models as persons and units as items. The
    shares are those of `attune_metrics.stats.repeats.crossed_variances`.

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
        The intervals say what other clusters would have changed; the models stay. With ``F = 1 / (1 - reliability)``,
        an end of the interval of the reliability is the rho from 0 to below 1 at which F is the quantile of a
        non-central F distribution with d and ``d (G - 1)`` degrees of freedom and the non-centrality
        ``d rho / (1 - rho)``, above 200 by Patnaik's approximation [2]_: ``d = (k - 1) b``, where b, from
        ``1 / (k - 1)`` to 1, is Box's factor for models that are unequally noisy [3]_, and G the effective number of
        clusters. The shares have Student's t of the jackknife of clusters, on the logit scale; the share between models
        has no interval where the interval of the reliability reaches 0. Numbers are nan, and ``reason`` says why, with
        fewer than two models or two clusters, and where all models have the same mean; the ends with fewer than three
        clusters.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not of shape (models, units), a label is missing, or the level is out
        of range.

    Notes
    -----
    Simulated in docs/separation.md: intervals of 95% cover 91 to 97% with 4 to 40 models and 10 to 200 clusters; of the
    reliability up to 100% where models are unequally noisy.

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
        return Separation(empty, empty, empty, empty, nan, nan, spread)

    if models < 2 or size < 2:
        return none("fewer than two models" if models < 2 else "fewer than two clusters")
    means, moved = relative_means(given, index)
    between, noise = float((means**2).sum()), float((moved**2).sum())
    if sqrt(between + noise) <= rounding_of(given):
        return none("all models have the same values")
    if sqrt(between) <= rounding_of(given):
        return none("all models have the same mean")
    reliability, reason = 1 - noise / between, None
    low, high = nan, nan
    if sqrt(noise) <= rounding_of(given):
        reliability, reason = 1.0, "no variation among clusters"
    elif size < 3:
        reason = "fewer than three clusters"
    else:
        freedom = effective_freedom(size, spread)
        low, high = _reliability_ends(between / noise, (models - 1) * _evenness(moved, freedom), freedom, level)
    found = Interval(reliability, low, high, level, "F", n, size, reason)
    model, unit, within = _shares(given, index, found, effective_freedom(size, spread))
    seen = float(np.ptp(given.mean(axis=1)))
    return Separation(found, model, unit, within, sqrt(2 * noise / (models - 1)), seen, spread)


def complete_units(values: ArrayLike, clusters: Iterable[Hashable]) -> tuple[Floats, NDArray[np.intp]]:
    """Return the columns without nan of values (..., models, units), and the cluster of each."""
    given, index = as_floats(values, "values"), cluster_index(clusters)
    if given.ndim < 2 or given.shape[-1] != len(index):
        raise MetricInputError(f"values of shape {given.shape} for {len(index)} units; expected (models, units)")
    if np.isinf(given).any():
        raise MetricInputError("a value is infinite; expected finite numbers, or nan where there is none")
    present = ~np.isnan(given).any(axis=tuple(range(given.ndim - 1)))
    return given[..., present], np.unique(index[present], return_inverse=True)[1]


def relative_means(values: Floats, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return each model's mean against the mean of all, and what each cluster adds to its error (models, clusters).

    The squares of what clusters add sum to the squared clustered standard error.
    """
    relative = values - values.mean(axis=0)
    means = relative.mean(axis=1)
    size = int(index.max()) + 1
    added = np.zeros((size, len(values)))
    np.add.at(added, index, (relative - means[:, np.newaxis]).T)
    return means, sqrt(size / (size - 1)) / values.shape[1] * added.T


def _evenness(moved: Floats, freedom: float) -> float:
    """Return Box's factor: 1 where the means of all models are equally noisy and their noise is independent."""
    total = float((moved**2).sum())
    squares = sum(float(((row * moved).sum(axis=1) ** 2).sum()) for row in moved)
    unbiased = freedom**2 / ((freedom - 1) * (freedom + 2)) * (squares - total**2 / freedom)
    most = len(moved) - 1
    return min(max(total**2 / (most * unbiased), 1 / most), 1.0) if unbiased > 0 else 1.0


def _reliability_ends(ratio: float, between: float, within: float, level: float) -> tuple[float, float]:
    """Return the two ends by the non-central F distribution of a ratio with these degrees of freedom."""
    from scipy.special import fdtr, ncfdtr

    def below(rho: float) -> float:
        more = between * rho / (1 - rho)
        if more < _MOST_EXACT:
            return float(ncfdtr(between, between * within, more, ratio))
        freedom = (between + more) ** 2 / (between + 2 * more)
        return float(fdtr(freedom, between * within, ratio * (1 - rho)))

    ends = []
    for level_of_end in ((1 + level) / 2, (1 - level) / 2):
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS if below(0) > level_of_end else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if below(middle) > level_of_end else (low, middle)
        ends.append(low)
    return ends[0], ends[1]


def _shares(values: Floats, index: NDArray[np.intp], reliability: Interval, freedom: float) -> list[Interval]:
    """Return the shares of the variance between models, between units and within."""
    sums = cluster_sums(variance_terms(values, index)[np.newaxis], index)[:, 0]
    together = sums.sum(axis=0)
    left_out = () if isnan(reliability.low) else together - sums
    every = np.vstack([together, *left_out])
    total, row, residual = variances_of_sums(every[:, :-1], every[:, -1], len(values))
    parts = np.stack([row, total - residual / len(values), residual])
    raw = parts / parts.sum(axis=0)
    shown = np.maximum(parts[:, 0], 0)
    found = []
    for place, (share, *left) in enumerate(raw.tolist()):
        ends, reason = (nan, nan), reliability.reason
        if place == 0 and reliability.low == 0:
            reason = "the models do not differ reliably"
        elif not isnan(reliability.low):
            error = jackknife_error(np.array(left) - share)
            least, most = (0, 1) if 0 < share < 1 else (-inf, inf)
            low, high = t_ends(share, error, freedom, least, most, reliability.level)
            ends = max(low, 0.0), min(max(high, 0.0), 1.0)
        estimate = float(shown[place] / shown.sum())
        low, high = ends
        found.append(replace(reliability, estimate=estimate, low=low, high=high, method="jackknife-t", reason=reason))
    return found


def units_for_reliability(reliability: float, units: int, *, target: float = 0.9) -> float:
    """Compute with how many units a metric would have a reliability: the formula of Spearman and Brown [4]_.

    ``n target / (1 - target) (1 - r) / r``, rounded up, with r the reliability with n units.

    Parameters
    ----------
    reliability : float
        The reliability with `units`, at most 1.
    units : int
        n, from 1; with clusters, more units mean more clusters of the same sizes.
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
