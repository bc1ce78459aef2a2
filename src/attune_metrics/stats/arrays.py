"""Arrays that the statistics share: checked input, ranks, ratios, an exponential."""

from math import factorial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.errors import MetricInputError

__all__ = ["Floats", "as_floats", "average_ranks", "check_array", "check_same_shape", "exponential", "ratio"]

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
