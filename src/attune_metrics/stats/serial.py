"""What follows within short series: bad values after bad ones, and outcomes after what went before them.

The series, such as a conversation, is its own control: values of one series are compared with each other, as series
differ in level. In a series of T values, the mean of the values after a bad one is then too low by chance alone: the
bad one itself is not among the values that can follow. The correlation within short series is biased by about
-1 / (T - 1) [1]_. Here the product of neighbours is set against its mean over all orders of the series, which has no
such bias, and what dependence adds to this mean is solved for.

References
----------
.. [1] Marriott, Pope (1954), Bias in the estimation of autocorrelations, Biometrika 41, 390-402; Nickell (1981), Biases
   in dynamic models with fixed effects, Econometrica 49, 1417-1426.
.. [2] Fieller (1954), Some problems in interval estimation, J. R. Stat. Soc. B 16, 175-185: the interval of all values
   that a test does not reject.
.. [3] Wald, Wolfowitz (1943), An exact test for randomness in the non-parametric case based on serial correlation, Ann.
   Math. Stat. 14, 378-388: the mean of the product of neighbours over all orders.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level
from attune_metrics.stats.bootstrap import NO_VARIATION, Interval
from attune_metrics.stats.sums import Floats, as_floats, cluster_index

_HALVINGS = 60
_MOST = 0.98
"""Stronger dependence is not told from series that never change."""
_FAR = 1000
"""Values further apart than so many places do not correlate."""
_UNBOUNDED = "values change so rarely, or so often, that nothing bounds the dependence"
FEWEST = 8
"""Series that change have to be of so many clusters; the interval of fewer covers too rarely."""


@dataclass(frozen=True, slots=True)
class Following:
    """What follows a value, within series.

    Attributes
    ----------
    effect : Interval
        How much a step of 1 changes the expected next value, within a series; its clusters are the clusters of the
        series that say something about it.
    uncontrolled : float
        The same over all pairs of neighbours, whatever their series: series that differ in level add to it.
    mean, after, otherwise : float
        The mean of what follows, and its mean after a value of 1 and of 0 in a series of average level.
    pairs : int
        Pairs of neighbours.
    """

    effect: Interval
    uncontrolled: float
    mean: float
    after: float
    otherwise: float
    pairs: int


class _Series:
    """Values in order: the series, neighbours and clusters."""

    def __init__(self, values: Floats, series: Iterable[Hashable], places: ArrayLike, clusters: Iterable[Hashable]):
        of, cluster, place = cluster_index(series), cluster_index(clusters), as_floats(places, "places")
        sizes = {"values": len(values), "series": len(of), "places": len(place), "clusters": len(cluster)}
        if len(set(sizes.values())) > 1:
            raise MetricInputError(f"expected as many of each: {', '.join(f'{n} {name}' for name, n in sizes.items())}")
        self.order: NDArray[np.intp] = np.lexsort((place, of))
        self.of, self.place = of[self.order], place[self.order]
        same = self.of[1:] == self.of[:-1]
        if (same & (np.diff(self.place) == 0)).any():
            raise MetricInputError("two values of a series have one place; give each value a place of its own")
        self.first = np.flatnonzero(same & (np.diff(self.place) == 1))
        self.size = np.bincount(self.of)
        self.pairs = self.sum(np.ones(len(self.first)), self.of[self.first])
        starts = np.flatnonzero(np.append(True, ~same)) if len(of) else np.zeros(0, dtype=np.intp)
        self.cluster = cluster[self.order][starts]
        if (self.cluster[self.of] != cluster[self.order]).any():
            raise MetricInputError("a series has values of two clusters; the cluster is of the whole series")

    def sum(self, values: Floats, of: NDArray[np.intp] | None = None) -> Floats:
        """Return the sum of values by series."""
        return np.bincount(self.of if of is None else of, weights=values, minlength=len(self.size)).astype(np.float64)

    def chosen(self, telling: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the clusters of some series, numbered from 0."""
        return cluster_index(self.cluster[telling])


def serial_dependence(
    values: ArrayLike,
    series: Iterable[Hashable],
    places: ArrayLike,
    clusters: Iterable[Hashable],
    *,
    level: float = 0.95,
) -> Following:
    """Estimate how a value depends on the value before it in the same series, such as errors in a conversation.

    The model: in a series of its own level, values d places apart correlate ``r ** d``; the errors of a Markov chain
    do. With the product of neighbours N minus its mean over all orders [3]_, the squared deviations Q, T values, m
    neighbours and the mean c of ``r ** d`` over the pairs of places, ``N - Q m (r - c) / ((T - 1) (1 - c))`` has the
    mean 0 for each series. The estimate makes its sum 0. The interval has all r for which Student's t of the sums of
    clusters does not reject that [2]_.

    Parameters
    ----------
    values : array of float, shape (n,)
        Finite numbers; 1 and 0 for bad and good.
    series : iterable of str or int
        The series of each value.
    places : array of int, shape (n,)
        The place in the series; neighbours are one apart, so that a gap parts values.
    clusters : iterable of str or int
        The cluster of each value, such as the participant, one for a series.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Following
        ``effect`` is r, from -1 to 1: for 1 and 0, the probability of a bad value after a bad one minus that after a
        good one. nan, with the reason, where no series changes, and the ends where series change in fewer than 8
        clusters or values change so rarely or so often that nothing bounds r.

    Raises
    ------
    MetricInputError
        If sizes differ, a value is not finite, two values have one place, or a series has two clusters.

    Examples
    --------
    Bad values come in runs:

    >>> bad = [1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0]
    >>> talk = [name for name in "abcd" for _ in range(6)]
    >>> found = serial_dependence(bad, talk, [*range(6)] * 4, talk)
    >>> round(found.effect.estimate, 2), found.pairs
    (0.65, 20)
    """
    check_level(level)
    given = _finite(values, "values")
    held = _Series(given, series, places, clusters)
    x, first, size = given[held.order], held.first, held.size
    total, squares = held.sum(x), held.sum(x * x)
    orders = np.maximum(size * (size - 1), 1)
    spread = squares - total**2 / np.maximum(size, 1)
    excess = held.sum(x[first] * x[first + 1], held.of[first]) - held.pairs * (total**2 - squares) / orders
    telling = (held.pairs > 0) & (size > 2) & (spread > 1e-12 * np.maximum(squares, 1))
    distances, counts = _distances(held)
    index = held.chosen(telling)

    def sums(r: float) -> Floats:
        # By products and sums, as powers and matrices differ in the last digit between processors.
        powers = np.cumprod(np.full(_FAR, r))[distances - 1]
        common = 2 * (counts * powers).sum(axis=1) / orders
        share = held.pairs * (r - common) / (np.maximum(size - 1, 1) * (1 - common))
        return _sums(index, (excess - spread * share)[telling])

    reason = _UNBOUNDED if telling.any() else NO_VARIATION
    interval = Interval(nan, nan, nan, level, "t", len(x), len(np.unique(index)), reason)
    if telling.any() and sums(-_MOST).sum() > 0 > sums(_MOST).sum():
        estimate = _root(lambda r: float(sums(r).sum()), -_MOST, _MOST)
        interval = _inverted(sums, replace(interval, estimate=estimate))
    mean = float(x.mean()) if len(x) else nan
    effect = interval.estimate
    return Following(
        interval, _slope(x[first], x[first + 1]), mean, mean + effect * (1 - mean), mean - effect * mean, len(first)
    )


def _distances(held: _Series) -> tuple[NDArray[np.intp], Floats]:
    """Return the distances of two places of a series, and how often each series has each (series, distances)."""
    found = [np.zeros(0)], [np.zeros(0, dtype=np.intp)]
    for lag in range(1, int(held.size.max(initial=1))):
        same = held.of[lag:] == held.of[:-lag]
        found[0].append((held.place[lag:] - held.place[:-lag])[same])
        found[1].append(held.of[lag:][same])
    apart, series = np.concatenate(found[0]), np.concatenate(found[1])
    near = apart <= _FAR
    distances, column = np.unique(apart[near].astype(np.intp), return_inverse=True)
    counts = np.zeros((len(held.size), len(distances)))
    np.add.at(counts, (series[near], column), 1)
    return distances, counts


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls from low to high is 0."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def _inverted(sums: Callable[[float], Floats], found: Interval) -> Interval:
    """Return the interval of all r that Student's t over clusters does not reject."""
    n, estimate = found.clusters, found.estimate
    if n < FEWEST:
        return replace(found, reason=f"fewer than {FEWEST} clusters have a series with different values")
    from scipy.special import stdtrit

    reach = float(stdtrit(n - 1, (1 + found.level) / 2)) * sqrt(n)

    def beyond(r: float, sign: int) -> float:
        at = sums(r)
        return float(at.sum()) - sign * reach * float(at.std(ddof=1))

    own = sums(estimate)
    if own.std() <= 1e-12 * max(float(np.abs(own).max()), 1):
        return replace(found, reason=NO_VARIATION)
    if beyond(-_MOST, 1) <= 0 or beyond(_MOST, -1) >= 0:
        return replace(found, reason=_UNBOUNDED)
    low, high = _root(lambda r: beyond(r, 1), -_MOST, estimate), _root(lambda r: beyond(r, -1), estimate, _MOST)
    return replace(found, low=low, high=high, reason=None)


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
    given, wanted = _finite(values, "values"), _finite(outcomes, "outcomes")
    if len(given) != len(wanted):
        raise MetricInputError(f"{len(given)} values and {len(wanted)} outcomes; expected one outcome a value")
    held = _Series(given, series, places, clusters)
    x, y, first = given[held.order], wanted[held.order], held.first
    product, spread, compared = np.zeros((3, len(held.size)))
    of, place, before, after = held.of[first], held.place[first], x[first], y[first + 1]
    for lag in range(1, int(held.size.max(initial=1))):
        apart = (of[lag:] == of[:-lag]) & (place[lag:] - place[:-lag] > 1)
        step = (before[lag:] - before[:-lag])[apart]
        product += held.sum(step * (after[lag:] - after[:-lag])[apart], of[lag:][apart])
        spread += held.sum(step**2, of[lag:][apart])
        compared += held.sum(np.ones(len(step)), of[lag:][apart])
    telling = spread > 1e-12
    index, weights = held.chosen(telling), (held.pairs / np.maximum(compared, 1))[telling]
    own = _sums(index, product[telling] * weights)
    interval = _ratio(own, _sums(index, spread[telling] * weights), level, len(first))
    of_value, of_outcome = (float(one.mean()) if len(first) else nan for one in (before, after))
    effect = interval.estimate
    return Following(
        interval, _slope(before, after), of_outcome, of_outcome + effect * (1 - of_value),
        of_outcome - effect * of_value, len(first),
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
    x, y, index = _finite(values, "values"), _finite(outcomes, "outcomes"), cluster_index(clusters)
    if not len(x) == len(y) == len(index):
        raise MetricInputError(f"{len(x)} values, {len(y)} outcomes and {len(index)} clusters; expected one of each")
    step = x - x.mean() if len(x) else x
    if not len(x) or not step.any():
        return Interval(nan, nan, nan, level, "t", len(x), len(np.unique(index)), NO_VARIATION)
    return _ratio(_sums(index, step * (y - y.mean())), _sums(index, step**2), level, len(x))


def _sums(index: NDArray[np.intp], weights: Floats) -> Floats:
    """Return sums by position in the index."""
    return np.bincount(index, weights=weights).astype(np.float64)


def _ratio(products: Floats, spreads: Floats, level: float, n: int) -> Interval:
    """Return the ratio of two sums over clusters, with Student's t of its linear part."""
    size = len(products)
    missing = Interval(nan, nan, nan, level, "t", n, size, NO_VARIATION)
    if not size:
        return missing
    estimate = float(products.sum() / spreads.sum())
    if size < 2:
        return replace(missing, estimate=estimate, reason="all values are in one cluster")
    from scipy.special import stdtrit

    error = sqrt(size) * float((products - estimate * spreads).std(ddof=1)) / float(spreads.sum())
    if error <= 1e-12 * max(abs(estimate), 1):
        return replace(missing, estimate=estimate)
    reach = float(stdtrit(size - 1, (1 + level) / 2)) * error
    return replace(missing, estimate=estimate, low=estimate - reach, high=estimate + reach, reason=None)


def _slope(x: Floats, y: Floats) -> float:
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0
    return float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread > 0 else nan


def _finite(values: ArrayLike, name: str) -> Floats:
    found = as_floats(values, name)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise MetricInputError(f"{name} have to be finite numbers in one dimension; leave out places without a value")
    return found
