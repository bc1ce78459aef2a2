"""Repeats: how far a score would have moved if the model had been asked again.

A model that is asked with another seed, or at a temperature above 0, answers otherwise. The score of a unit in a repeat
is the model's mean, plus what the unit adds in every repeat, plus what the repeat adds to every unit, plus the rest,
which is of this unit in this repeat. Units and repeats are both a sample.

References
----------
.. [1] Williams (1962), A confidence interval for variance components, Biometrika 49, 278-281.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nan, prod, sqrt

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.checks import check_level, check_whole
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats, as_floats, average_ranks
from attune_metrics.stats.power import clustered_standard_error
from attune_metrics.stats.resampling import Interval, Method, Resamples
from attune_metrics.stats.sums import rounding_of
from attune_metrics.stats.variance_parts import crossed_variances

__all__ = ["RepeatVariance", "rank_shares", "repeat_variance"]

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
        `attune_metrics.stats.power.clustered_standard_error` of the units' means over the repeats.
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
        >>> from attune_metrics.stats.resampling import draw_resamples
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

    The parts are those of `attune_metrics.stats.variance_parts.crossed_variances`, with repeats as rows, and so are the
    intervals of unit and interaction. The interval of `repeat` has the ends ``((R - 1) MSR / q - MSE) / n``, at least
    0, with R repeats, n units, MSR and MSE the mean squares of repeats and residual, and q the quantiles of chi squared
    with R - 1 degrees of freedom at ``(1 + level) / 2`` and ``(1 - level) / 2`` [1]_: resamples of units say nothing of
    other repeats, and repeats are too few to be resampled.

    Parameters
    ----------
    values : array of float, shape (repeats, units)
        nan where a unit has no value; a unit that lacks one in any repeat is left out.
    resamples : Resamples
        Of the units.
    method, level
        As for `attune_metrics.stats.variance_parts.crossed_variances`.

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

    >>> from attune_metrics.stats.resampling import draw_resamples
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
    unit, repeat, interaction = crossed_variances(given, resamples, method=method, level=level)[:3]
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
