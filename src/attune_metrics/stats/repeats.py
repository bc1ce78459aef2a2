"""Repeats: how far a score would have moved if the model had been asked again, and the parts of its variance.

How the variance of scores splits between units and what else they differ by: models, repeats.

A score is the mean of its row, plus what its unit adds in every row, plus the rest. With one score in each cell, what a
unit adds in one row only (interaction) cannot be told from error: both are the residual.

Repeats
-------
How far a score would have moved if the model had been asked again.

A model that is asked with another seed, or at a temperature above 0, answers otherwise. The score of a unit in a repeat
is the model's mean, plus what the unit adds in every repeat, plus what the repeat adds to every unit, plus the rest,
which is of this unit in this repeat. Units and repeats are both a sample.

References
----------
.. [1] Searle, Casella, McCulloch (1992), Variance Components, chapter 4: method of moments, two-way crossed.
.. [2] Graybill, Wang (1980), Confidence intervals on nonnegative linear combinations of variances, JASA 75, 869-873;
   Zou, Donner (2008), Construction of confidence limits about effect measures, Stat. Med. 27, 1693-1702: the interval
   of a difference from the intervals of its parts.
.. [3] Williams (1962), A confidence interval for variance components, Biometrika 49, 278-281.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, hypot, inf, isnan, nan, prod, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level, check_whole
from attune_metrics.stats.bootstrap import NO_VARIATION, Interval, Method, Resamples, bootstrap
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    as_floats,
    average_ranks,
    cluster_sums,
    clustered_standard_error,
    jackknife_error,
    rounding_of,
)


def crossed_variances(
    values: ArrayLike, resamples: Resamples, *, method: Method = "percentile-expanded", level: float = 0.95
) -> list[Interval]:
    """Split the variance of scores between units, rows and the residual.

    For k rows, with u the mean of a unit over the rows and y = x - u in each row: residual
    ``E = sum over rows of v(y) / (k - 1)``, unit ``v(u) - E / k``, row
    ``sum over rows of (mean(y)^2 - e(y)^2) / (k - 1)``. Here ``e`` is the
    `attune_metrics.stats.sums.clustered_standard_error` of a mean over units, and ``v``, the mean of squares
    about the mean plus ``e^2``, a variance that clusters do not bias: the units of few clusters differ less from their
    own mean than from the true one. Where each unit is its own cluster, with mean squares MSU of units, MSR of rows and
    MSE of the residual, these are ``(MSU - MSE) / k``, ``(MSR - MSE) / n`` and MSE of n units [1]_.

    Parameters
    ----------
    values : array of float, shape (rows, units)
        Such as of each model for each unit, at least two rows; a unit that is nan in any row is left out.
    resamples : Resamples
        Of the units.
    method, level
        As for `attune_metrics.stats.bootstrap.bootstrap`. By `percentile-expanded`, unit and residual have an interval
        by formula.

    Returns
    -------
    list of Interval
        The variances of unit, row and residual, in the square of the unit of the values. A variance is not biased, and
        so can be below 0 where there is little. The intervals say what other clusters of units would have changed. The
        row has none: a bootstrap adds the noise of the rows' means once more, and its interval would lie too high;
        `attune_metrics.stats.separation.separation` gives the interval of a share between rows. By formula, one has
        the ``method`` ``log-t``: with t the quantile of Student's t with G - 1 degrees of freedom and s the jackknife
        of clusters, the ends of the residual are ``E exp(-+ t s / E)``; so are those of ``v(u)``, and the ends of both
        make the ends of the unit, their difference [2]_. It needs three clusters.

    Raises
    ------
    MetricInputError
        If there are fewer than two rows, and as `bootstrap`.

    Notes
    -----
    Simulated in docs/repeats.md: intervals of 95% for the variance of units, by formula, cover 92 to 95% with 10 to 50
    clusters where scores are normal, and 64 to 78% where what units add is lognormal. No interval that was tried covers
    a variance that comes from a few large values which most data lack.

    Examples
    --------
    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> parts = crossed_variances([[1, 2, 3, 4], [2, 3, 4, 6]], draw_resamples(range(4)))
    >>> [round(part.estimate, 3) for part in parts]
    [2.167, 0.75, 0.125]
    """
    given = as_floats(values, "values")
    if given.ndim != 2 or len(given) < 2:
        raise MetricInputError(f"values of shape {given.shape}; expected (rows, units), two rows or more")
    rows = len(given)
    present = ~np.isnan(given).any(axis=0)
    terms = np.full((2 * rows + 8, given.shape[1]), nan)
    terms[:, present] = variance_terms(given[:, present], resamples.clusters[present])

    # The same sums serve as many series as there are numbers to take from them.
    def statistic(sums: Floats, n: Floats) -> Floats:
        total, row, residual = variances_of_sums(sums[..., 0, :], n[..., 0], rows)
        return np.stack([total - residual / rows, row, residual], axis=-1)

    several = np.broadcast_to(terms, (3, *terms.shape))
    unit, row, residual = bootstrap(several, resamples, statistic=statistic, method=method, level=level)
    row = replace(row, low=nan, high=nan, reason=row.reason or "a bootstrap of the variance between rows is biased")
    if method != "percentile-expanded":
        return [unit, row, residual]
    sums = cluster_sums(terms[np.newaxis], resamples.clusters)[:, 0]
    sums = sums[sums[:, -1] > 0]
    unit, residual = _by_formula(sums, rows, unit, residual)
    return [unit, row, residual]


def variance_terms(values: Floats, clusters: NDArray[np.intp]) -> Floats:
    """Return what `variances_of_sums` takes sums of, of values (rows, units); numbers of a cluster are at one unit."""
    # Centred, so that sums of squares lose no digits.
    centred = values - (values.mean() if values.size else 0)
    unit = centred.mean(axis=0, keepdims=True)
    parts = np.vstack([unit, centred - unit])
    squares = np.vstack([parts[0] ** 2, (parts[1:] ** 2).sum(axis=0)])
    _, first, own, sizes = np.unique(clusters, return_index=True, return_inverse=True, return_counts=True)
    added = np.zeros((len(parts), len(first)))
    np.add.at(added.T, own, parts.T)
    of_clusters = np.zeros((len(parts) + 4, values.shape[1]))
    of_clusters[:, first] = np.vstack(
        [added[0] ** 2, (added[1:] ** 2).sum(axis=0), sizes * added, sizes**2, np.ones(len(first))]
    )
    return np.vstack([parts, squares, of_clusters])


def variances_of_sums(sums: Floats, n: Floats, rows: int) -> tuple[Floats, Floats, Floats]:
    """Return the variance of units' means, between rows, and the residual, from sums of `variance_terms`."""
    means = sums[..., : rows + 1] / n[..., np.newaxis]
    squares, of_clusters, sized = np.split(sums[..., rows + 1 : -2], [2, 4], axis=-1)
    sizes, clusters = sums[..., -2], sums[..., -1]
    found = []
    for part, place in enumerate((slice(0, 1), slice(1, None))):
        square = (means[..., place] ** 2).sum(axis=-1)
        moved = of_clusters[..., part] - 2 * (means[..., place] * sized[..., place]).sum(axis=-1) + square * sizes
        error = clusters / (clusters - 1) * moved / n**2
        found += [squares[..., part] / n - square + error, square - error]
    total, _, within, between = found
    return total, between / (rows - 1), within / (rows - 1)


def _by_formula(sums: Floats, rows: int, unit: Interval, residual: Interval) -> tuple[Interval, Interval]:
    """Return the intervals of unit and residual, from sums of `variance_terms` over each cluster."""
    if not unit.n or isnan(unit.estimate) or len(sums) < 3:
        reason = unit.reason or "fewer than three clusters"
        unit, residual = (replace(one, low=nan, high=nan, method="log-t", reason=reason) for one in (unit, residual))
        return unit, residual
    from scipy.special import stdtrit

    together = sums.sum(axis=0)
    total, _, within = variances_of_sums(together[:-1], together[-1], rows)
    left = together - sums
    without = variances_of_sums(left[:, :-1], left[:, -1], rows)
    errors = [jackknife_error(without[0] - total), jackknife_error(without[2] - within)]
    reach = float(stdtrit(len(sums) - 1, (1 + unit.level) / 2))
    (low, high), (least, most) = (
        _log_ends(float(value), reach * error) for value, error in zip((total, within), errors, strict=True)
    )
    ends = (
        unit.estimate - hypot(total - low, (most - within) / rows),
        unit.estimate + hypot(high - total, (within - least) / rows),
    )
    constant = [max(errors) <= ROUNDING * total, errors[1] <= ROUNDING * total]
    found = [
        replace(one, low=nan, high=nan, method="log-t", reason=NO_VARIATION)
        if is_constant
        else replace(one, low=both[0], high=both[1], method="log-t", reason=None)
        for one, both, is_constant in zip((unit, residual), (ends, (least, most)), constant, strict=True)
    ]
    return found[0], found[1]


def _log_ends(variance: float, reach: float) -> tuple[float, float]:
    """Return the ends of an interval that is symmetric on the scale of logarithms."""
    if variance <= 0:
        return variance, variance
    return variance * exp(-reach / variance), variance * exp(reach / variance)


_MOST_ORDERS = 10_000  # combinations of repeats that are gone through one by one


@dataclass(frozen=True, slots=True)
class RepeatVariance:
    """How the variance of one model's scores splits, and what repeats do for its mean.

    Attributes
    ----------
    unit, repeat, interaction : Interval
        Variance between units, between repeats, and the rest: of one unit in one repeat, and error. Not biased, and so
        below 0 at times where there is little; nan with fewer than two units or repeats, as ``reason`` says.
    mean_error : float
        `attune_metrics.stats.sums.clustered_standard_error` of the units' means over the repeats.
    n, repeats : int
        Units that have a value in every repeat, and repeats.
    """

    unit: Interval
    repeat: Interval
    interaction: Interval
    mean_error: float
    n: int
    repeats: int

    def standard_error(self, repeats: int, *, units: float = 1) -> float:
        """Compute the standard error of the model's mean with a number of repeats of each unit.

        ``sqrt((S - I / (n R)) / u + V / r + I / (u n r))`` with V and I the variances of repeats and interaction, at
        least 0, n units, R repeats, S the squared standard error of the units' means, u times as many units and r
        repeats.

        Parameters
        ----------
        repeats : int
            r, from 1.
        units : float
            u, above 0: more units of more clusters of the same sizes.

        Returns
        -------
        float
            In the unit of the scores; nan where a part is undefined.

        Raises
        ------
        MetricInputError
            If the number of repeats is not whole or below 1, or `units` is not above 0.

        Examples
        --------
        >>> from attune_metrics.stats.bootstrap import draw_resamples
        >>> found = repeat_variance([[1, 2, 3, 4], [2, 2, 4, 3]], draw_resamples(range(4)))
        >>> [round(found.standard_error(repeats), 3) for repeats in (1, 2, 10)]
        [0.568, 0.515, 0.469]
        """
        check_whole(repeats, "repeats", 1)
        if not 0 < units < inf:
            raise MetricInputError(f"units is {units}; expected a finite factor above 0")
        repeat, interaction = np.fmax([self.repeat.estimate, self.interaction.estimate], 0).tolist()
        of_units = max(self.mean_error**2 - interaction / (self.n * self.repeats), 0) if self.n else nan
        return sqrt(of_units / units + repeat / repeats + interaction / (units * self.n * repeats)) if self.n else nan


def repeat_variance(
    values: ArrayLike, resamples: Resamples, *, method: Method = "percentile-expanded", level: float = 0.95
) -> RepeatVariance:
    """Split the variance of one model's scores between units, repeats and the rest.

    `attune_metrics.stats.repeats.crossed_variances`, with repeats as rows, gives the parts and the intervals of unit
    and interaction. The interval of `repeat` has the ends ``((R - 1) MSR / q - MSE) / n``, at least
    0, with R repeats, n units, MSR and MSE the mean squares of repeats and residual, and q the quantiles of chi squared
    with R - 1 degrees of freedom at ``(1 + level) / 2`` and ``(1 - level) / 2`` [3]_: resamples of units say nothing of
    other repeats, and repeats are too few to be resampled.

    Parameters
    ----------
    values : array of float, shape (repeats, units)
        nan where a unit has no value; a unit that lacks one in any repeat is left out.
    resamples : Resamples
        Of the units.
    method, level
        As for `attune_metrics.stats.repeats.crossed_variances`.

    Returns
    -------
    RepeatVariance

    Raises
    ------
    MetricInputError
        If `values` is not of shape (repeats, units), and as `bootstrap`.

    Notes
    -----
    The interval of `repeat` supposes that what repeats add is normally distributed. With few repeats it is very wide:
    with 2 its upper end is about 1,000 times the estimate, with 5 about 8 times.

    Examples
    --------
    Each unit gains 1 in the second repeat, and nothing else changes:

    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> found = repeat_variance([[1, 2, 3, 4], [2, 3, 4, 5]], draw_resamples(range(4)))
    >>> [round(part.estimate, 12) for part in (found.unit, found.repeat, found.interaction)]
    [1.666666666667, 0.5, 0.0]
    """
    check_level(level)
    given = as_floats(values, "values")
    if given.ndim != 2 or given.shape[1] != len(resamples.clusters):
        raise MetricInputError(
            f"values of shape {given.shape} for {len(resamples.clusters)} units; expected (repeats, units)"
        )
    present = ~np.isnan(given).any(axis=0)
    repeats, n = len(given), int(present.sum())
    clusters = resamples.clusters[present]
    if repeats < 2 or n < 2:
        reason = "one repeat" if repeats < 2 else "fewer than 2 units have a value in every repeat"
        none = Interval(nan, nan, nan, level, method, n, len(set(clusters.tolist())), reason)
        return RepeatVariance(none, none, none, nan, n, repeats)
    unit, repeat, interaction = crossed_variances(given, resamples, method=method, level=level)
    from scipy.special import chdtri

    error = interaction.estimate
    between = n * repeats * float(given[:, present].mean(axis=1).var())
    # chdtri takes the share above; the larger quantile gives the lower end.
    low, high = (
        max((between / float(chdtri(repeats - 1, share)) - error) / n, 0)
        for share in ((1 - level) / 2, (1 + level) / 2)
    )
    of_repeats = replace(repeat, low=low, high=high, method="chi-squared", reason=None)
    mean_error = clustered_standard_error(given[:, present].mean(axis=0), clusters)
    return RepeatVariance(unit, of_repeats, interaction, mean_error, n, repeats)


def rank_shares(values: Sequence[ArrayLike], *, seed: int = 0) -> Floats:
    """Compute how often each model would have each rank if every model had been asked once.

    Repeats of different models have nothing in common, so every combination of one repeat each counts: all of them up
    to 10,000, else as many at random.

    Parameters
    ----------
    values : sequence of array of float, shape (repeats,)
        Of each model its value in each repeat, higher better; models may differ in their number of repeats.
    seed : int
        The same seed gives the same combinations.

    Returns
    -------
    array of float, shape (models, models)
        In row m and column r the share of combinations in which model m has rank r + 1. A tie gives equal shares of
        the ranks that it spans to those that tie.

    Raises
    ------
    MetricInputError
        If a model has no repeat, or a value is not finite.

    Examples
    --------
    The second model is better once, where its good repeat meets the first one's bad one:

    >>> rank_shares([[0.5, 0.7], [0.4, 0.6]]).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    each = [as_floats(one, f"values[{place}]") for place, one in enumerate(values)]
    for place, one in enumerate(each):
        if one.ndim != 1 or not len(one) or not np.isfinite(one).all():
            raise MetricInputError(f"values[{place}] of shape {one.shape}; expected finite values, one for each repeat")
    sizes = [len(one) for one in each]
    if prod(sizes) <= _MOST_ORDERS:
        places = np.indices(sizes).reshape(len(each), -1)
    else:
        drawn = np.random.default_rng(check_whole(seed, "seed", 0))
        places = np.stack([drawn.integers(size, size=_MOST_ORDERS) for size in sizes])
    table = np.stack([one[chosen] for one, chosen in zip(each, places, strict=True)], axis=1)
    ranks = average_ranks(-table, rounding_of(table))
    shares = np.zeros((len(each), len(each)))
    for model, of_model in enumerate(ranks.T):
        tied = (ranks == ranks[:, [model]]).sum(axis=1)
        first = of_model - (tied - 1) / 2
        for rank in range(len(each)):
            within = (first <= rank + 1) & (rank + 1 < first + tied)
            shares[model, rank] = float((within / tied).mean())
    return shares
