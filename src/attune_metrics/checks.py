"""Checks of input: each returns the checked value or raises `MetricInputError`; and the warning of undefined values."""

import warnings
from collections.abc import Iterable, Mapping
from math import inf, isfinite, isnan, nan
from numbers import Integral, Real

from attune_metrics.errors import MetricInputError, UndefinedMetricWarning

__all__ = [
    "check_level",
    "check_list",
    "check_mapping",
    "check_number",
    "check_positive",
    "check_text",
    "check_whole",
    "defined",
    "warn_undefined",
]


def check_number(value: object, name: str, low: float, high: float) -> float:
    """Return `value` if it is a finite number from `low` to `high`."""
    try:
        number = nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        raise MetricInputError(f"{name} has more digits than any float") from None
    if not isfinite(number):
        guess = "; convert text to a number first" if isinstance(value, str) else ""
        raise MetricInputError(f"{name} {value!r} is not a finite number{guess}")
    if not low <= number <= high:
        raise MetricInputError(f"{name} {value} is outside {low:g}-{high:g}{_guess_scale(number, low, high)}")
    return number


def check_positive(value: object, name: str, hint: str) -> float:
    """Return `value` if it is a finite number above 0; `hint` ends the error: what to give."""
    number = check_number(value, name, -inf, inf)
    if number <= 0:
        raise MetricInputError(f"{name} {value} is not above 0; {hint}")
    return number


def _guess_scale(number: float, low: float, high: float) -> str:
    if number < 0:
        return "; is this a difference?"
    for top in (1, 10, 100):
        if number <= top and (low, high) != (0, top):
            return f"; is this a 0-{top} scale?"
    return ""


def check_whole(value: object, name: str, low: int, high: float = inf) -> int:
    """Return `value` if it is a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low or int(value) > high:
        to = f" to {high:,}" if high < inf else ""
        # Python writes no number of more than 4,300 digits.
        text = "of hundreds of digits" if isinstance(value, int) and value.bit_length() > 1_000 else repr(value)
        raise MetricInputError(f"{name} {text:.60} is not a whole number from {low}{to}")
    return int(value)


def check_level(value: object) -> float:
    """Return the confidence level `value` if it is between 0 and 1."""
    level = check_number(value, "level", 0, 1)
    if level in {0, 1}:
        raise MetricInputError(f"level {value} is not between 0 and 1; 0.95 is usual")
    return level


def check_mapping(value: object, name: str, content: str) -> Mapping[object, object]:
    """Return `value` if it is a mapping; `content` says what of, for the message."""
    if not isinstance(value, Mapping):
        raise MetricInputError(f"{name} is {_describe(value)}; expected a mapping {content}")
    return value


def check_list(value: object, name: str, content: str) -> list[object]:
    """Return the items of `value` if it is a collection of several things, not one text or a mapping."""
    # A numpy array without an axis calls itself iterable.
    single = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    if single or not isinstance(value, Iterable):
        raise MetricInputError(f"{name} is {_describe(value)}; expected a list of {content}")
    return list(value)


def check_text(value: object, name: str) -> str | None:
    """Return `value` if it is a text or None."""
    if value is not None and not isinstance(value, str):
        raise MetricInputError(f"{name} is {_describe(value)}; expected a text or None")
    return value


def _describe(value: object) -> str:
    return "None" if value is None else f"{value!r:.60} ({type(value).__name__})"


def warn_undefined(what: str, why: str, *, stacklevel: int = 3) -> None:
    """Warn that `what` is nan; the default `stacklevel` points at the caller of the metric."""
    warnings.warn(f"undefined: {what}; {why}", UndefinedMetricWarning, stacklevel=stacklevel)


def defined(value: float, what: str, why: str) -> float:
    """Return `value`, with a warning if it is nan."""
    if isnan(value):
        warn_undefined(what, why, stacklevel=4)
    return value
