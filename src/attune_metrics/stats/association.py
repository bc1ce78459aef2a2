"""Which outcome goes with a value: the outcome of the next place in short series, or of the same unit.

References
----------
.. [1] Nickell (1981), Biases in dynamic models with fixed effects, Econometrica 49, 1417-1426.
"""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.metric import MetricInputError, check_level
from attune_metrics.stats.bootstrap import NO_VARIATION, Interval
from attune_metrics.stats.cluster_means import t_ends
from attune_metrics.stats.serial import Following, Neighbours, finite, slope
from attune_metrics.stats.sums import ROUNDING, Floats, cluster_index


def lagged_association(
    values: ArrayLike,
    outcomes: ArrayLike,
    series: Iterable[Hashable],
    places: ArrayLike,
    clusters: Iterable[Hashable],
    *,
    level: float = 0.95,
) -> Following:
    """Estimate how an outcome is associated with the value one place before it in the same series.

    Two places of a series, at least two apart, are compared: how their values differ, and how the outcomes of the next
    places differ. The association is the sum of the products of both differences over the sum of the squared
    differences of the values. The level of a series cancels; as no outcome is at one of the two places, it does not
    matter that the value and the outcome of one place go together, which biases a regression within short series [1]_.
    Each series counts by its neighbours. It needs three neighbours in a series.

    Parameters
    ----------
    values, outcomes : array of float, shape (n,)
        Finite numbers of the same places; 1 and 0 for yes and no.
    series, places, clusters, level
        As for `serial_dependence`.

    Returns
    -------
    Following
        ``effect`` is the difference of the outcome after a value of 1 and after 0, in the unit of the outcome, with an
        interval by Student's t over clusters. It is no effect of a cause: what else was said may make both.

    Raises
    ------
    MetricInputError
        As `serial_dependence`.

    Examples
    --------
    >>> talk = list("aaaabbbb")
    >>> found = lagged_association([1, 0, 0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0, 0, 1], talk, [1, 2, 3, 4] * 2, talk)
    >>> found.effect.estimate, found.pairs
    (1.0, 6)
    """
    check_level(level)
    given, wanted = finite(values, "values"), finite(outcomes, "outcomes")
    if len(given) != len(wanted):
        raise MetricInputError(f"{len(given)} values and {len(wanted)} outcomes; expected one outcome a value")
    held = Neighbours(given, series, places, clusters)
    of, place = held.of[held.first], held.place[held.first]
    before, after = given[held.order][held.first], wanted[held.order][held.first + 1]
    x, y = (one - (held.sum(one, of) / np.maximum(held.pairs, 1))[of] for one in (before, after))
    near = np.flatnonzero((of[1:] == of[:-1]) & (np.diff(place) == 1))

    def apart(one: Floats, other: Floats) -> Floats:
        # Over all pairs of places, minus the pairs that are one apart.
        steps = (one[near + 1] - one[near]) * (other[near + 1] - other[near])
        return held.pairs * held.sum(one * other, of) - held.sum(steps, of[near])

    compared = held.pairs * (held.pairs - 1) / 2 - np.bincount(of[near], minlength=len(held.size))
    product, spread = apart(x, y), apart(x, x)
    telling = spread > ROUNDING * held.pairs * held.sum(before**2, of)
    weights = held.pairs / np.maximum(compared, 1)
    products, spreads = (held.by_cluster(one * weights, telling) for one in (product, spread))
    interval = _ratio(products, spreads, level, len(before))
    of_value, of_outcome = (float(one.mean()) if len(one) else nan for one in (before, after))
    effect = interval.estimate
    return Following(
        interval, slope(before, after), of_outcome, of_outcome + effect * (1 - of_value),
        of_outcome - effect * of_value, len(before),
    )  # fmt: skip


def outcome_association(
    values: ArrayLike, outcomes: ArrayLike, clusters: Iterable[Hashable], *, level: float = 0.95
) -> Interval:
    """Estimate how much a step of 1 in a value goes with in the outcome of the same unit, over units.

    Parameters
    ----------
    values, outcomes : array of float, shape (units,)
        Finite numbers; of 1 and 0 the association is the difference of two means.
    clusters : iterable of str or int
        The cluster of each unit.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Interval
        The slope of least squares with Student's t over clusters; nan, with the reason, where values are equal.

    Raises
    ------
    MetricInputError
        If sizes differ, or a value is not finite.

    Examples
    --------
    >>> outcome_association([0, 0, 1, 1], [1, 3, 4, 6], list("abcd")).estimate
    3.0
    """
    check_level(level)
    x, y, index = finite(values, "values"), finite(outcomes, "outcomes"), cluster_index(clusters)
    if not len(x) == len(y) == len(index):
        raise MetricInputError(f"{len(x)} values, {len(y)} outcomes and {len(index)} clusters; expected one of each")
    step = x - x.mean() if len(x) else x
    if not len(x) or not step.any():
        return Interval(nan, nan, nan, level, "t", len(x), len(np.unique(index)), NO_VARIATION)
    products, spreads = (np.bincount(index, step * one).astype(np.float64) for one in (y - y.mean(), step))
    return _ratio(products, spreads, level, len(x))


def _ratio(products: Floats, spreads: Floats, level: float, n: int) -> Interval:
    """Return the ratio of two sums over clusters, with Student's t of its linear part."""
    size = len(products)
    missing = Interval(nan, nan, nan, level, "t", n, size, NO_VARIATION)
    if not size:
        return missing
    estimate = float(products.sum() / spreads.sum())
    if size < 2:
        return replace(missing, estimate=estimate, reason="all values are in one cluster")
    error = sqrt(size) * float((products - estimate * spreads).std(ddof=1)) / float(spreads.sum())
    if error <= ROUNDING * max(abs(estimate), 1):
        return replace(missing, estimate=estimate)
    low, high = t_ends(estimate, error, size - 1, -inf, inf, level)
    return Interval(estimate, low, high, level, "t", n, size)
