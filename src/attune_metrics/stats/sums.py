"""What statistics are made of: checked arrays, and sums over clusters that are exact in any order of addition."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from math import factorial, fsum, inf, prod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import (
    MetricInputError,
    check_list,
)

__all__ = [
    "ROUNDING",
    "Floats",
    "Statistic",
    "Streamed",
    "Weights",
    "as_floats",
    "as_terms",
    "average_ranks",
    "check_array",
    "check_same_shape",
    "cluster_index",
    "cluster_sums",
    "evaluate",
    "exact_sums",
    "exponential",
    "on_grid",
    "one_term",
    "paired_terms",
    "products",
    "ratio",
    "rounding_of",
    "row_blocks",
    "series_blocks",
    "weighted_sums",
]

Floats = NDArray[np.float64]


_LOG_2 = 0x162E42FEE / 2**33, 1.90821492927058770002e-10  # in two parts, so that multiples of the first are exact


_SERIES = [1 / factorial(power) for power in range(13, -1, -1)]


def as_floats(value: ArrayLike, name: str) -> Floats:
    """Return a copy of `value` as floats, None and masked values as nan; raise for any other value than a number.

    A text such as '0.5' is not a number.
    """
    if isinstance(value, np.ma.MaskedArray):
        value = value.tolist()  # None where it is masked
    try:
        array = np.asarray(value)
    except ValueError:
        raise MetricInputError(f"{name} has rows of unequal length; fill up with nan") from None
    if array.dtype.kind not in "biuf":
        # As objects, since numpy turns numbers beside a text into texts.
        array = np.asarray(value, dtype=object)
        for item in array.flat:
            if isinstance(item, list | tuple):
                raise MetricInputError(f"{name} has rows of unequal length; fill up with nan")
            if item is not None and not isinstance(item, Real):
                guess = "; convert text to a number first" if isinstance(item, str) else ""
                raise MetricInputError(f"{name} value {item!r:.60} is not a number{guess}")
    try:
        return array.astype(float)
    except OverflowError:
        raise MetricInputError(f"{name} has a whole number that is too large for a float") from None


def check_array(value: ArrayLike, name: str, *shape: str) -> Floats:
    """Return `value` as `as_floats` does if it has as many axes as `shape` names, for the message."""
    array = as_floats(value, name)
    if array.ndim != len(shape):
        raise MetricInputError(f"{name} has shape {array.shape}; expected ({', '.join(shape)})")
    return array


def check_same_shape(reference: NDArray[Any], predicted: NDArray[Any]) -> None:
    """Raise unless the two have the same shape."""
    if reference.shape != predicted.shape:
        raise MetricInputError(f"reference has shape {reference.shape}, predicted {predicted.shape}")


def average_ranks(values: Floats, rounding: float = 0) -> Floats:
    """Rank along the last axis, lowest first and from 1, ties sharing their mean rank; all nan where one is nan.

    Neighbours in that order tie where they are no further apart than `rounding`.
    """
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    place = np.arange(1.0, values.shape[-1] + 1)
    differs = ordered[..., 1:] > ordered[..., :-1] + rounding
    edge = np.ones((*values.shape[:-1], 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, differs], axis=-1), place, 0), axis=-1)
    ends = np.where(np.concatenate([differs, edge], axis=-1), place, np.inf)
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, (first + last) / 2, axis=-1)
    ranks[np.isnan(values).any(axis=-1)] = np.nan
    return ranks


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide, nan where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator != 0)


def exponential(values: Floats) -> Floats:
    """Return e to the power of values from -1000 to 700, to 1e-15 of itself and the same on every processor.

    `numpy.exp` is not: its last digit depends on the instructions that a processor has. Sums and products do not.
    """
    power = np.rint(values / sum(_LOG_2))
    rest = values - power * _LOG_2[0] - power * _LOG_2[1]  # at most log(2) / 2
    series = np.zeros_like(rest)
    for coefficient in _SERIES:
        series = series * rest + coefficient
    return np.ldexp(series, power.astype(np.int64))


Statistic = Callable[[Floats, Floats], Floats]


ROUNDING = 1e-12  # what differs by less than this part of the largest value is equal up to rounding


_BLOCK = 512  # resamples that are worked on at one time, where clusters are few


_CELLS = _BLOCK * 20_000  # numbers that are worked on at one time


@dataclass(frozen=True, eq=False, slots=True)
class Streamed:
    """Weights too many to keep: they are drawn again, block by block, whenever they are read.

    Attributes
    ----------
    shape : tuple of (int, int)
        Rows and clusters.
    draw : callable
        Gives the blocks of rows from the first on, arrays of uint8, the same at every call.
    """

    shape: tuple[int, int]
    draw: Callable[[], Iterator[NDArray[np.uint8]]]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: None = None, copy: bool | None = None) -> NDArray[np.uint8]:
        return np.concatenate(list(self.draw()))


Weights = NDArray[np.uint8] | Streamed
"""How often each cluster counts (columns) in each resample or exchange (rows)."""


def cluster_index(clusters: Iterable[Hashable]) -> NDArray[np.intp]:
    """Return the position of each unit's cluster among the sorted labels."""
    if isinstance(clusters, np.ndarray) and clusters.ndim == 1 and clusters.dtype.kind in "iu":
        return np.unique(clusters, return_inverse=True)[1]
    given = clusters.tolist() if isinstance(clusters, np.ndarray) else clusters
    labels = check_list(given, "clusters", "labels, one for each unit")
    for place, label in enumerate(labels):
        if _is_missing(label):
            raise MetricInputError(f"clusters[{place}] is {label!r}; a unit of no cluster is given a label of its own")
    try:
        position = {label: index for index, label in enumerate(sorted(set(labels)))}  # type: ignore[type-var]
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise MetricInputError(f"clusters cannot be sorted, they are of the types {kinds}; use text for all") from error
    return np.array([position[label] for label in labels], dtype=np.intp)


def _is_missing(label: Hashable) -> bool:
    """Tell whether a label is None, nan, which is not equal to itself, or NA of pandas, which is neither."""
    try:
        return label is None or bool(label != label)  # noqa: PLR0124
    except TypeError:
        return True


def as_terms(values: ArrayLike, units: int | None = None, name: str = "values") -> Floats:
    """Return `values` as floats of shape (series, terms, units); one or two dimensions are series of one term.

    `units` is the number that the clusters demand, None without clusters.
    """
    terms = as_floats(values, name)
    if terms.ndim not in {1, 2, 3}:
        raise MetricInputError(
            f"{name} has {terms.ndim} dimensions; expected (series, units) or (series, terms, units)"
        )
    if units is not None and terms.shape[-1] != units:
        guess = "; is it transposed?" if units in terms.shape else ""
        raise MetricInputError(f"{name} of shape {terms.shape} has {terms.shape[-1]} units, clusters {units}{guess}")
    if np.isinf(terms).any():
        place = [int(index[0]) for index in np.nonzero(np.isinf(terms))]
        raise MetricInputError(f"{name}{place} is {terms[tuple(place)]}; a missing value is nan")
    return terms if terms.ndim == 3 else np.atleast_2d(terms)[:, np.newaxis, :]


def one_term(values: ArrayLike, clusters: Iterable[Hashable]) -> tuple[Floats, NDArray[np.intp]]:
    """Return series of one term (series, 1, units) and `cluster_index`; raise where a series has several terms."""
    index = cluster_index(clusters)
    terms = as_terms(values, len(index))
    if terms.shape[1] != 1:
        raise MetricInputError(f"values has {terms.shape[1]} terms; expected one, shape (units,) or (series, units)")
    return terms, index


def paired_terms(a: ArrayLike, b: ArrayLike, units: int) -> tuple[Floats, Floats]:
    """Return both sides of a comparison as `as_terms` does; raise unless they have one shape."""
    first, second = as_terms(a, units, "a"), as_terms(b, units, "b")
    if first.shape != second.shape:
        raise MetricInputError(f"a of shape {first.shape} and b of shape {second.shape} (series, terms, units) differ")
    return first, second


def cluster_sums(terms: Floats, clusters: NDArray[np.intp]) -> Floats:
    """Return the sums (clusters, series, terms + 1): of every term, last the number of units with a value.

    A unit that misses any term of a series counts for nothing in that series.
    """
    starts = np.flatnonzero(np.diff(np.sort(clusters), prepend=-1))
    sums = np.empty((len(starts), len(terms), terms.shape[1] + 1))
    for block in series_blocks(*terms.shape):
        columns = _columns(terms[block])
        # Added in order of size, so that the order of the units does not show in the last bit.
        order = np.lexsort((columns, np.broadcast_to(clusters, columns.shape)), axis=-1)
        added = np.add.reduceat(np.take_along_axis(columns, order, axis=-1), starts, axis=-1)
        sums[:, block] = np.moveaxis(added, -1, 0)
    return sums


def exact_sums(terms: Floats) -> Floats:
    """Return the sums (series, terms + 1) over all units, as `cluster_sums`, each rounded once."""
    sums = [[_fsum(column.tolist()) for column in _columns(series[np.newaxis])[0]] for series in terms]
    return np.array(sums).reshape(len(terms), terms.shape[1] + 1)


def _columns(terms: Floats) -> Floats:
    """Return the terms, and 1 for each unit with a value; 0 for a unit without."""
    present = ~np.isnan(terms).any(axis=1, keepdims=True)
    return np.concatenate([np.where(present, terms, 0), present], axis=1)


def _fsum(values: list[float]) -> float:
    try:
        return fsum(values)
    except OverflowError:
        return inf  # which `evaluate` makes nan


def rounding_of(values: ArrayLike, *others: ArrayLike) -> float:
    """Return how far two averages of such values can be apart and yet be equal up to rounding; nan does not count.

    Of differences, the others are what they are differences of.
    """
    return ROUNDING * max(float(np.nan_to_num(np.abs(part)).max(initial=0)) for part in (values, *others))


def row_blocks(rows: int, clusters: int) -> Iterator[slice]:
    """Yield the slices in which rows of weights are drawn and multiplied: fewer rows where clusters are many."""
    # Multiples of four: numpy draws bits by four, so that the rows are the same whatever the size of the blocks.
    step = max(4, min(_BLOCK, _CELLS // max(clusters, 1) // 4 * 4))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def series_blocks(series: int, terms: int, units: int) -> Iterator[slice]:
    """Yield the slices in which so many series are summed: fewer where units are many."""
    step = max(1, _CELLS // max((terms + 1) * units, 1))
    for start in range(0, series, step):
        yield slice(start, min(start + step, series))


def products(weights: Weights, *parts: Floats) -> Iterator[tuple[slice, list[Floats]]]:
    """Yield rows of `weights` and the weighted sums of each part (clusters, ...), block by block.

    Each sum is rounded once, so that it is the same whatever the order of addition, which a library of linear algebra
    chooses by processor, threads and shape. A row of weights adds up to at most twice the number of clusters.
    """
    source = weights.draw() if isinstance(weights, Streamed) else weights
    split = [_split(part, 2 * len(part)) for part in parts]
    for rows in row_blocks(*weights.shape):
        block = next(source) if isinstance(source, Iterator) else source[rows]
        numbers = block.astype(np.float64)
        sums = []
        for part, (both, lower) in zip(parts, split, strict=True):
            sums.append(_multiplied(numbers, both, lower).reshape(len(numbers), *part.shape[1:]))
        yield rows, sums


def weighted_sums(counts: Floats, values: Floats) -> Floats:
    """Return ``counts @ values`` for whole numbers (..., n) and values (n, columns), each sum rounded once.

    As from `products`, the sums do not depend on the order of addition.

    Examples
    --------
    >>> weighted_sums(np.array([3.0, 1.0, 6.0]), np.array([[0.1], [0.7], [0.5]]))
    array([4.])
    """
    rows = counts.reshape(prod(counts.shape[:-1]), counts.shape[-1])
    found = _multiplied(rows, *_split(values, int(rows.sum(axis=1).max(initial=0))))
    return found.reshape(*counts.shape[:-1], values.shape[1])


def _multiplied(counts: Floats, both: Floats, lower: NDArray[np.intp]) -> Floats:
    """Return the weighted sums (rows, columns) of what `_split` made."""
    found = counts @ both
    size = both.shape[1] - len(lower)
    found[:, lower] += found[:, size:]
    kept: Floats = found[:, :size]
    return kept


def _split(part: Floats, total: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return columns (clusters, ...) rounded to what weighted sums of are exact, then the rest of those that have one.

    A column is rounded to multiples of a power of two that is so coarse that no partial sum has more than 53 bits where
    weights add up to at most `total`; the rest, which is at most half of that power, likewise. Last the positions of
    the columns that have a rest.
    """
    columns = part.reshape(len(part), prod(part.shape[1:]))
    most = total.bit_length()
    upper = on_grid(columns, most)
    rest = columns - upper
    lower = np.flatnonzero(rest.any(axis=0))
    return np.concatenate([upper, on_grid(rest[:, lower], most)], axis=1), lower


def on_grid(columns: Floats, most: int) -> Floats:
    """Round each column to multiples of a power of two, of which its largest value has 53 bits less `most`."""
    _, exponents = np.frexp(np.abs(columns).max(axis=0, initial=0))
    shift = 53 - most - exponents
    rounded: Floats = np.ldexp(np.rint(np.ldexp(columns, shift)), -shift)
    return rounded


def evaluate(statistic: Statistic, sums: Floats, n: Floats) -> Floats:
    """Return `statistic` of sums (..., terms) and numbers of units (...), nan where it is undefined."""
    with np.errstate(all="ignore"):
        value = np.asarray(statistic(sums, n), dtype=np.float64)
    if value.shape != n.shape:
        raise MetricInputError(
            f"the statistic made shape {value.shape} of sums of shape {sums.shape}; expected {n.shape}: "
            "pick terms by sums[..., 0], sums[..., 1]"
        )
    return np.where(np.isfinite(value), value, np.nan)
