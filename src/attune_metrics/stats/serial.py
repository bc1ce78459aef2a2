"""What follows within short series: bad values after bad ones.

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

_MOST = 0.98
"""Stronger dependence is not told from series that never change."""
_FAR = 1000
"""Values further apart than so many places do not correlate."""
_UNBOUNDED = "values change so rarely, or so often, that nothing bounds the dependence"
_PRECISE = 1e-14
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


class Neighbours:
    """Places of short series in order: the series of each, which of them have a neighbour, and the clusters."""

    def __init__(self, values: Floats, series: Iterable[Hashable], places: ArrayLike, clusters: Iterable[Hashable]):
        of, cluster, place = cluster_index(series), cluster_index(clusters), as_floats(places, "places")
        sizes = {"values": len(values), "series": len(of), "places": len(place), "clusters": len(cluster)}
        if len(set(sizes.values())) > 1:
            raise MetricInputError(f"expected as many of each: {', '.join(f'{n} {name}' for name, n in sizes.items())}")
        self.order: NDArray[np.intp] = np.lexsort((place, of))
        self.of: NDArray[np.intp] = of[self.order]
        self.place: Floats = place[self.order]
        same = self.of[1:] == self.of[:-1]
        if (same & (np.diff(self.place) == 0)).any():
            raise MetricInputError("two values of a series have one place; give each value a place of its own")
        self.first: NDArray[np.intp] = np.flatnonzero(same & (np.diff(self.place) == 1))
        self.size: NDArray[np.intp] = np.bincount(self.of)
        self.pairs: Floats = self.sum(np.ones(len(self.first)), self.of[self.first])
        starts = np.flatnonzero(np.append(True, ~same)) if len(of) else np.zeros(0, dtype=np.intp)
        self.cluster: NDArray[np.intp] = cluster[self.order][starts]
        if (self.cluster[self.of] != cluster[self.order]).any():
            raise MetricInputError("a series has values of two clusters; the cluster is of the whole series")

    def sum(self, values: Floats, of: NDArray[np.intp] | None = None) -> Floats:
        """Return the sum of values by series."""
        return np.bincount(self.of if of is None else of, weights=values, minlength=len(self.size)).astype(np.float64)

    def by_cluster(self, values: Floats, telling: NDArray[np.bool_]) -> Floats:
        """Return the sums of values of some series by cluster."""
        index = cluster_index(self.cluster[telling])
        return np.bincount(index, weights=values[telling]).astype(np.float64)


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
    given = finite(values, "values")
    held = Neighbours(given, series, places, clusters)
    x, first, size = given[held.order], held.first, held.size
    total, squares = held.sum(x), held.sum(x * x)
    orders = np.maximum(size * (size - 1), 1)
    spread = squares - total**2 / np.maximum(size, 1)
    excess = held.sum(x[first] * x[first + 1], held.of[first]) - held.pairs * (total**2 - squares) / orders
    telling = (held.pairs > 0) & (size > 2) & (spread > 1e-12 * np.maximum(squares, 1))
    distances, counts = _distances(held)

    def sums(r: float) -> Floats:
        # By products and sums, as powers and matrices differ in the last digit between processors.
        powers = np.cumprod(np.full(_FAR, r))[distances - 1]
        common = 2 * (counts * powers).sum(axis=1) / orders
        share = held.pairs * (r - common) / (np.maximum(size - 1, 1) * (1 - common))
        return held.by_cluster(excess - spread * share, telling)

    reason = _UNBOUNDED if telling.any() else NO_VARIATION
    interval = Interval(nan, nan, nan, level, "t", len(x), len(sums(0)), reason)
    if telling.any() and sums(-_MOST).sum() > 0 > sums(_MOST).sum():
        from scipy.optimize import brentq

        estimate = float(brentq(lambda r: sums(r).sum(), -_MOST, _MOST, xtol=_PRECISE))
        interval = _inverted(sums, replace(interval, estimate=estimate))
    mean = float(x.mean()) if len(x) else nan
    effect = interval.estimate
    return Following(
        interval, slope(x[first], x[first + 1]), mean, mean + effect * (1 - mean), mean - effect * mean, len(first)
    )


def _distances(held: Neighbours) -> tuple[NDArray[np.intp], Floats]:
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


def _inverted(sums: Callable[[float], Floats], found: Interval) -> Interval:
    """Return the interval of all r that Student's t over clusters does not reject."""
    n, estimate = found.clusters, found.estimate
    if n < FEWEST:
        return replace(found, reason=f"fewer than {FEWEST} clusters have a series with different values")
    from scipy.optimize import brentq
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
    low = float(brentq(beyond, -_MOST, estimate, args=(1,), xtol=_PRECISE))
    high = float(brentq(beyond, estimate, _MOST, args=(-1,), xtol=_PRECISE))
    return replace(found, low=low, high=high, reason=None)


def slope(x: Floats, y: Floats) -> float:
    """Return the slope of least squares; nan where x does not vary."""
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0
    return float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread > 0 else nan


def finite(values: ArrayLike, name: str) -> Floats:
    """Return values as floats of shape (n,); raise unless they are finite."""
    found = as_floats(values, name)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise MetricInputError(f"{name} have to be finite numbers in one dimension; leave out places without a value")
    return found
