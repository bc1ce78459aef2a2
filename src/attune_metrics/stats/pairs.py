"""Pairs of series on the units that both have, where the work is that of the series and not of the pairs.

A side of a pair is a series on the units that its partner has too. Pairs whose series lack the same units share their
sides, so that all pairs of k complete series need the sums of k sides.
"""

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.sums import (
    ROUNDING,
    Statistic,
    as_terms,
    cluster_index,
    cluster_sums,
    evaluate,
    exact_sums,
    series_blocks,
)

__all__ = ["Pairs"]


class Pairs:
    """Pairs of series, with the sums of each side over every cluster.

    Parameters
    ----------
    values : array of float, shape (series, units) or (series, terms, units)
        nan where a unit has no value; a unit that lacks one term lacks them all.
    pairs : array of int, shape (pairs, 2)
        The positions of both series of each pair.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Attributes
    ----------
    first, second : array of int, shape (pairs,)
        The positions of the sides of each pair.
    sums : array of float, shape (clusters, sides, terms + 1)
        Sums over the units of each cluster: of every term, last the number of units.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not one for each unit, a label is missing, labels are of mixed types,
        or a pair is not of two series.

    Examples
    --------
    >>> from math import nan
    >>> pairs = Pairs([[1, 2], [3, 4], [5, nan]], [(0, 1), (0, 2)], ["ann", "bob"])
    >>> pairs.first.tolist(), pairs.second.tolist(), pairs.sums[..., 0].tolist()
    ([0, 2], [1, 3], [[1.0, 3.0, 1.0, 5.0], [2.0, 4.0, 0.0, 0.0]])

    The second pair is compared on the one unit that both of its series have.
    """

    def __init__(self, values: ArrayLike, pairs: ArrayLike, clusters: Iterable[Hashable]) -> None:
        index = cluster_index(clusters)
        terms = as_terms(values, len(index))
        series = _positions(pairs, len(terms))
        present = np.logical_and.reduce(~np.isnan(terms), axis=1)
        places: dict[tuple[int, bytes], int] = {}
        of_side: list[int] = []
        masks: list[NDArray[np.bool_]] = []
        sides = np.empty(series.shape, dtype=np.intp)
        for pair, both in enumerate(series.tolist()):
            common = present[both[0]] & present[both[1]]
            key = np.packbits(common).tobytes()
            for side, one_series in enumerate(both):
                place = places.setdefault((one_series, key), len(places))
                if place == len(of_side):
                    of_side.append(one_series)
                    masks.append(common)
                sides[pair, side] = place
        self.first: NDArray[np.intp]
        self.second: NDArray[np.intp]
        self.first, self.second = np.ascontiguousarray(sides.T)
        totals, sums = [np.empty((0, terms.shape[1] + 1))], []
        for block in series_blocks(len(of_side), *terms.shape[1:]):
            part = np.where(np.array(masks[block])[:, np.newaxis], terms[of_side[block]], np.nan)
            totals.append(exact_sums(part))
            sums.append(cluster_sums(part, index))
        self._totals = np.concatenate(totals)
        self.sums: Floats = np.concatenate(sums, axis=1) if sums else cluster_sums(terms[:0], index)

    @classmethod
    def joined(cls, parts: "Sequence[Pairs]") -> "Pairs":
        """Return the pairs of several, each of as many clusters: one draw of exchanges is then that of all.

        Examples
        --------
        >>> one = Pairs([[1, 2], [3, 4]], [(0, 1)], ["ann", "bob"])
        >>> other = Pairs([[5, 6], [7, 8]], [(0, 1)], ["cid", "dan"])
        >>> both = Pairs.joined([one, other])
        >>> both.first.tolist(), both.second.tolist(), both.sums[..., 0].tolist()
        ([0, 2], [1, 3], [[1.0, 3.0, 5.0, 7.0], [2.0, 4.0, 6.0, 8.0]])
        """
        joined = object.__new__(cls)
        before = np.cumsum([0, *(len(part._totals) for part in parts)])[:-1]
        joined.first, joined.second = (
            np.concatenate([getattr(part, side) + start for part, start in zip(parts, before, strict=True)])
            for side in ("first", "second")
        )
        joined.sums = np.concatenate([part.sums for part in parts], axis=1)
        joined._totals = np.concatenate([part._totals for part in parts])
        return joined

    @cached_property
    def units(self) -> Floats:
        """Units of each pair in each cluster, shape (clusters, pairs)."""
        return self.sums[:, self.first, -1]

    @cached_property
    def differ(self) -> NDArray[np.bool_]:
        """Whether the sides differ in a cluster by more than rounding, shape (clusters, pairs)."""
        differ = np.empty((len(self.sums), len(self.first)), dtype=np.bool_)
        for pair, sides in enumerate(zip(self.first, self.second, strict=True)):
            first, second = (self.sums[:, side, :-1] for side in sides)
            largest = np.maximum(np.abs(first), np.abs(second)).max(axis=0, initial=0)
            differ[:, pair] = (np.abs(first - second) > ROUNDING * largest).any(axis=-1)
        return differ

    def estimates(self, statistic: Statistic) -> Floats:
        """Return the statistic of each side, shape (sides,)."""
        return evaluate(statistic, self._totals[:, :-1], self._totals[:, -1])

    def observed(self, statistic: Statistic) -> tuple[Floats, Floats]:
        """Return the difference of each pair, 0 where only rounding separates the sides, and the larger size of both.

        Both of shape (pairs,); the size is 0 where a side is undefined.
        """
        found = self.estimates(statistic)
        sizes = np.nan_to_num(np.abs(found))
        largest: Floats = np.maximum(sizes[self.first], sizes[self.second])
        difference = self.differences(found)
        difference[np.abs(difference) <= ROUNDING * largest] = 0
        return difference, largest

    def left_out(self, statistic: Statistic) -> Floats:
        """Return the difference of each pair without each cluster in turn, shape (clusters, pairs)."""
        left = self.sums.sum(axis=0) - self.sums
        return self.differences(evaluate(statistic, left[..., :-1], left[..., -1]))

    def differences(self, found: Floats) -> Floats:
        """Return the first minus the second side of each pair (..., pairs), from values of each side (..., sides)."""
        with np.errstate(all="ignore"):
            difference = found[..., self.first] - found[..., self.second]
        difference[~np.isfinite(difference)] = np.nan
        return difference


def _positions(pairs: ArrayLike, series: int) -> NDArray[np.intp]:
    """Return the positions of both series of each pair, shape (pairs, 2)."""
    given = np.asarray(pairs)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise MetricInputError(f"pairs has shape {given.shape} of {given.dtype}; expected whole numbers (pairs, 2)")
    for pair, side in np.argwhere((given < 0) | (given >= series))[:1].tolist():
        raise MetricInputError(f"pairs[{pair}, {side}] is {given[pair, side]}; expected a position of {series} series")
    return given.astype(np.intp)
