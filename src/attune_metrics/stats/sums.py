"""Checked arrays, sums over clusters that are exact in any order of addition, and the standard errors of such sums.

Intervals and tests of a mean assume that means of other data sets of this size spread evenly around the true mean. They
do not where a few scores, far from the rest, decide the mean. Data sets without such scores have a mean that is too far
to one side and, at the same time, a standard error that is too small.

References
----------
.. [1] Liang, Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73, 13-22.
.. [2] MacKinnon, Nielsen, Webb (2023), Fast and reliable jackknife and bootstrap methods for cluster-robust inference,
   J. Appl. Econometrics 38, 671-694: the jackknife of clusters, CV3J.
.. [3] Kish (1965), Survey Sampling, section 11.7: the effective number of a sample with unequal weights.
.. [4] Cochran (1977), Sampling Techniques, 3rd ed., section 2.15: the normal approximation holds from 25 times the
   squared skewness units on.
.. [5] Kish (1965), Survey Sampling, section 8.2: the effective number of units in clusters.
.. [6] Box (1954), Annals of Mathematical Statistics 25, 484-498: degrees of freedom where models are unequally noisy.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from math import factorial, fsum, inf, isfinite, nan, prod, sqrt
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_list, warn_undefined

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
        series *= rest
        series += coefficient
    return np.ldexp(series, power.astype(np.int32))  # of 64 bits, this takes longer than the series


Statistic = Callable[[Floats, Floats], Floats]


ROUNDING = 1e-12  # what differs by less than this part of the largest value is equal up to rounding


_BLOCK = 512  # resamples that are worked on at one time, where clusters are few


_CELLS = _BLOCK * 20_000  # numbers that are worked on at one time


_IN_CACHE = 2**17  # numbers that fit into a processor's cache


_ONE_THREAD = 2**18  # multiplications in one product


_ROWS = 32  # the fewest rows of a part of a product


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
    return ROUNDING * max(map(_largest, (values, *others)))


def _largest(values: ArrayLike) -> float:
    """Return the largest absolute value, at most the largest float; nan does not count."""
    sizes = np.abs(values)
    largest = float(sizes.max(initial=0))
    return largest if isfinite(largest) else float(np.nan_to_num(sizes).max(initial=0))


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
    split = [_split(part, 2 * len(part)) for part in parts]
    blocks: Iterable[tuple[slice, NDArray[np.uint8]]]
    if isinstance(weights, Streamed):
        blocks = zip(row_blocks(*weights.shape), weights.draw(), strict=True)
    else:
        step = max(_ROWS, _IN_CACHE // (weights.shape[1] + sum(both.shape[1] for both, _ in split) + 1))
        starts = range(0, len(weights), step)
        blocks = ((slice(at, min(at + step, len(weights))), weights[at : at + step]) for at in starts)
    for rows, block in blocks:
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
    # In parts that are so small that a library of linear algebra keeps to one thread: several threads would wait for
    # each other for longer than they work. Where clusters are so many that parts would be narrow, they do not.
    width = _ONE_THREAD // (_ROWS * max(len(both), 1))
    if width < 4:
        found: Floats = counts @ both
    else:
        found = np.empty((len(counts), both.shape[1]))
        step = _ONE_THREAD // (max(len(both), 1) * max(min(width, both.shape[1]), 1))
        for row in range(0, len(counts), step):
            for column in range(0, both.shape[1], width):
                part = slice(row, row + step), slice(column, column + width)
                found[part] = counts[part[0]] @ both[:, part[1]]
    size = both.shape[1] - len(lower)
    if len(lower) == size:  # Which is much faster than by places.
        found[:, :size] += found[:, size:]
    else:
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


def clustered_standard_error(values: ArrayLike, clusters: Iterable[Hashable]) -> float:
    """Compute the standard error of a mean of units that share clusters [1]_.

    ``sqrt(G / (G - 1) sum over clusters of (sum of (x - mean))^2) / n`` with G clusters and n units; where each unit is
    its own cluster, the standard deviation with n - 1, over the root of n.

    Parameters
    ----------
    values : array of float, shape (units,)
        nan where a unit has no value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Returns
    -------
    float
        From 0, in the unit of the values; nan, with a warning, with fewer than two clusters.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not one for each unit, or a label is missing.

    Examples
    --------
    >>> clustered_standard_error([1, 2, 3, 6], ["ann", "ann", "bob", "bob"])
    1.5
    """
    index = cluster_index(clusters)
    deviations, units = cluster_deviations(as_terms(values, len(index)), index)
    size = len(units)
    if size < 2:
        warn_undefined("clustered_standard_error", "fewer than two clusters have a value")
        return nan
    return sqrt(size / (size - 1) * float((deviations**2).sum())) / float(units.sum())


def cluster_deviations(terms: Floats, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the sum of deviations from the mean, and the number of units, of each cluster with a value.

    Sums of deviations that are mere rounding are 0.
    """
    if terms.shape[:2] != (1, 1):
        raise MetricInputError(f"{terms.shape[0]} series of {terms.shape[1]} terms; expected one, shape (units,)")
    sums = cluster_sums(terms, index)[:, 0]
    sums, units = sums[sums[:, 1] > 0].T
    if not len(units):
        return sums, units
    deviations = sums - units * (sums.sum() / units.sum())
    rounding = ROUNDING * float(np.nanmax(np.abs(terms))) * float(units.sum())
    return (np.zeros_like(units) if sqrt(float((deviations**2).sum())) <= rounding else deviations), units


def effective_freedom(clusters: int, units_cv: float) -> float:
    """Return the degrees of freedom of a standard error over clusters of unequal size [3]_.

    ``G / (1 + CV^2) - 1``, at least 2.

    Examples
    --------
    >>> effective_freedom(10, 0), effective_freedom(10, 1), effective_freedom(10, 3)
    (9.0, 4.0, 2.0)
    """
    return max(clusters / (1 + units_cv * units_cv) - 1, 2.0)


def coefficient_of_variation(units: Floats) -> float:
    """Return the coefficient of variation of the clusters' numbers of units, without empty ones; nan without a unit.

    Examples
    --------
    >>> import numpy as np
    >>> coefficient_of_variation(np.array([1.0, 3.0, 0.0]))
    0.5
    """
    known = units[units > 0]
    return float(known.std() / known.mean()) if len(known) else nan


def jackknife_error(moved: Floats) -> float:
    """Return the standard error of a statistic from how far leaving out each cluster in turn moves it [2]_.

    ``sqrt((G - 1) / G sum of squares)``; nan with fewer than two clusters.

    Examples
    --------
    >>> import numpy as np
    >>> jackknife_error(np.array([1.0, -1.0]))  # the mean of -1 and 1, of either alone
    1.0
    """
    size = len(moved)
    return sqrt((size - 1) / size * float((moved**2).sum())) if size > 1 else nan


MOST_SKEWNESS = 0.2
"""Where a mean is more skewed than this in either direction, its 95% interval can cover far fewer than 95% of cases.

By Cochran's rule, ``n > 25 skewness^2`` [4]_; docs/intervals.md has what was measured with it."""


def skewness_of_mean(values: ArrayLike, clusters: Iterable[Hashable]) -> Floats:
    """Estimate how skewed the mean of each series would be over data sets of this size.

    ``g SE / SD``: the skewness g of the units' values, their standard deviation SD (n - 1) and the
    `attune_metrics.stats.sums.clustered_standard_error` SE of their mean. As ``(SD / SE)^2`` is the number
    of independent units that they are worth [5]_, this is ``g / sqrt(number)``, which is the skewness of a mean of so
    many.

    Parameters
    ----------
    values : array of float, shape (units,) or (series, units)
        nan where a unit has no value.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.

    Returns
    -------
    array of float, shape (series,)
        0 where values are even about their mean, above 0 where the far ones are high, below 0 where they are low; nan
        with fewer than two clusters and without any spread.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not one for each unit, or a label is missing.

    Examples
    --------
    Ten units, then the same in five clusters of two that are equal, as good as five:

    >>> values = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    >>> [float(skewness_of_mean(values, labels)[0].round(3)) for labels in (range(10), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])]
    [0.474, 0.712]
    """
    terms, index = one_term(values, clusters)
    return np.array([_skewness(own, index) for own in terms[:, 0]])


def _skewness(values: Floats, index: NDArray[np.intp]) -> float:
    present = ~np.isnan(values)
    known, labels = values[present], index[present]
    if not len(known) or (labels == labels[0]).all():
        return nan
    centred = known - known.mean()
    largest = float(np.abs(centred).max())
    if largest <= rounding_of(known):
        return nan
    centred /= largest
    error = clustered_standard_error(centred, labels)
    if not error > 0:
        return nan
    squares = centred * centred
    spread = sqrt(float(squares.mean()))
    skewness = float((squares * centred).mean()) / spread**3
    return skewness * error / (spread * sqrt(len(known) / (len(known) - 1)))


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


SMALL_SAMPLE = 3
"""How fast the degrees of freedom of noise come near their limit: by the simulation in docs/separation.md."""


def noise_freedom(moved: Floats, freedom: float) -> float:
    """Estimate Box's degrees of freedom of the models' noise [6]_, over ``1 + 3 / freedom``.

    Parameters
    ----------
    moved : array of float, shape (models, clusters)
        What each cluster adds to the error of each model's mean, as `relative_means` has it.
    freedom : float
        Degrees of freedom of the clusters.

    Returns
    -------
    float
        From 1 to the number of models minus 1, which is that of equally noisy models.

    Examples
    --------
    >>> import numpy as np
    >>> noise_freedom(np.array([[1.0, -1, 1, -1], [-1, 1, -1, 1]]), 3)
    1.0
    """
    total = float((moved**2).sum())
    squares = fsum(float(((row * moved).sum(axis=1) ** 2).sum()) for row in moved)
    unbiased = freedom**2 / ((freedom - 1) * (freedom + 2)) * (squares - total**2 / freedom)
    most = len(moved) - 1
    found = total**2 / unbiased / (1 + SMALL_SAMPLE / freedom) if unbiased > 0 else most
    return min(max(found, 1.0), most)
