"""Ratings as given, numbers or texts, made countable."""

from numbers import Real

import numpy as np
from numpy.typing import NDArray

from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats, check_array

__all__ = ["as_categories", "tally_units"]


def as_categories(ratings: object, name: str, *shape: str, numeric: str | None = None) -> Floats:
    """Return ratings as floats, nan where missing; texts become their places in alphabetical order.

    `numeric` names what cannot use texts, for the message.
    """
    given = np.asarray(ratings, dtype=object)
    texts = sorted({item for item in given.flat if isinstance(item, str)})
    if texts and numeric:
        raise MetricInputError(f"{name}: {texts[0]!r:.60} is a text; {numeric} needs numbers")
    if texts:
        given = _replace(given, texts, name)
    rated = check_array(given, name, *shape)
    if np.isinf(rated).any():
        raise MetricInputError(f"{name}: {rated[np.isinf(rated)][0]} is infinite; a missing rating is nan")
    return rated


def _replace(given: NDArray[np.object_], texts: list[str], name: str) -> NDArray[np.object_]:
    items: list[object] = given.ravel().tolist()
    for item in items:
        if isinstance(item, Real) and item == item:  # noqa: PLR0124 (nan is the one value unequal to itself)
            raise MetricInputError(f"{name}: texts and numbers are mixed, such as {texts[0]!r:.60} and {item!r}")
    replaced = given.copy()
    for number, text in enumerate(texts):
        replaced[given == text] = number
    return replaced


def tally_units(rated: Floats) -> tuple[Floats, Floats]:
    """Return the values that occur, sorted, and how often each occurs in each unit, shape (units, values)."""
    values = np.unique(rated[~np.isnan(rated)])
    tally = np.zeros((len(rated), len(values)))
    units, _ = present = np.nonzero(~np.isnan(rated))
    np.add.at(tally, (units, np.searchsorted(values, rated[present])), 1)
    return values, tally
