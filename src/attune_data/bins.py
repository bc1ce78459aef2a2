"""Halves and thirds of the rows of a table by a number, each cluster counting once towards the cut."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from statistics import median
from typing import Literal

__all__ = ["Bins", "bin_rows"]

Bins = Literal["median", "tertile"]
_PARTS = {"median": 2, "tertile": 3}


def bin_rows(values: Sequence[float | None], clusters: Sequence[Sequence[int]], bins: Bins) -> dict[str, list[int]]:
    """Return the positions of the rows on each side of the median or of the tertiles, lowest first.

    Parameters
    ----------
    values : sequence of float or None
        The number of each row; None is in no bin.
    clusters : sequence of sequences of int
        The positions of the rows of each cluster, which counts with the median of its rows.
    bins : {"median", "tertile"}
        Where to cut; tertiles interpolate linearly.

    Returns
    -------
    dict of str to list of int
        By the cut, such as ``<= 8``. A value equal to a cut is below it; a bin without a row is left out.

    Raises
    ------
    ValueError
        Where `bins` is neither choice.

    Examples
    --------
    >>> bin_rows([4, 6, 8, 8, None], [[0], [1], [2, 3], [4]], "median")
    {'<= 6': [0, 1], '> 6': [2, 3]}
    """
    if bins not in _PARTS:
        raise ValueError(f"bins is {bins!r}; expected 'median' or 'tertile'")
    given = [[value for row in rows if (value := values[row]) is not None] for rows in clusters]
    ordered = sorted(median(own) for own in given if own)
    parts = _PARTS[bins]
    cuts = [_quantile(ordered, part, parts) for part in range(1, parts)] if ordered else []
    found: dict[str, list[int]] = {}
    for low, high in pairwise([-inf, *cuts, inf]):
        rows = [row for row, value in enumerate(values) if value is not None and low < value <= high]
        if rows:
            found[_between(low, high)] = rows
    return found


def _quantile(ordered: Sequence[float], part: int, parts: int) -> float:
    """Return a quantile by linear interpolation; between two equal values it is that value to the last digit."""
    below, rest = divmod(part * (len(ordered) - 1), parts)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return low + (high - low) * rest / parts


def _between(low: float, high: float) -> str:
    """Return ``> 6, <= 9``, without a side that is open."""
    sides = [f"> {low:.12g}"] if low > -inf else []
    return ", ".join([*sides, f"<= {high:.12g}"] if high < inf else sides)
