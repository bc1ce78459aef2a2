"""What is undefined: nan in arithmetic, null in what is written."""

from math import isnan

__all__ = ["null"]


def null(value: float | None) -> float | None:
    """Return the value, None for nan.

    Examples
    --------
    >>> null(0.5), null(float("nan"))
    (0.5, None)
    """
    return None if value is None or isnan(value) else value
