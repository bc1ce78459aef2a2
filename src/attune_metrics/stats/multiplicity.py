"""Many tests at once: p-values adjusted for the size of their family.

References
----------
.. [1] Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Stat. 6, 65-70.
.. [2] Benjamini, Hochberg (1995), Controlling the false discovery rate, J. R. Stat. Soc. B 57, 289-300.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats, check_array

__all__ = ["benjamini_hochberg", "holm"]


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values for the chance of any false rejection, step down [1]_.

    Of m sorted p-values, the i-th becomes ``max over j <= i of min(1, (m - j + 1) p_j)``.

    Parameters
    ----------
    p_values : array of float, shape (tests,)
        One family; nan is a test that could not be made, and does not count in m.

    Returns
    -------
    array of float, shape (tests,)
        0 to 1, in the order given; nan stays nan.

    Raises
    ------
    MetricInputError
        If a p-value is outside 0-1.

    Examples
    --------
    >>> holm([0.01, 0.04, float("nan"), 0.03]).round(12)
    array([0.03, 0.06,  nan, 0.06])
    """
    p, known, order = _family(p_values)
    steps = p[order] * np.arange(len(order), 0, -1)
    known[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return known


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values for the share of false among all rejections, step up [2]_.

    Of m sorted p-values, the i-th becomes ``min over j >= i of min(1, m p_j / j)``.

    Takes and raises what `holm` does.

    Returns
    -------
    array of float, shape (tests,)
        0 to 1, in the order given; nan stays nan.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, float("nan"), 0.02]).round(12)
    array([0.03, 0.04,  nan, 0.03])
    """
    p, known, order = _family(p_values)
    steps = p[order] * len(order) / np.arange(1, len(order) + 1)
    known[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1)
    return known


def _family(p_values: ArrayLike) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return the p-values, a place for the adjusted ones, and the positions of those that count, smallest first."""
    p = check_array(p_values, "p_values", "tests")
    outside = (p < 0) | (p > 1)
    if outside.any():
        place = int(np.flatnonzero(outside)[0])
        raise MetricInputError(f"p_values[{place}] {p[place]} is outside 0-1")
    order = np.argsort(p, kind="stable")
    return p, np.full(p.shape, np.nan), order[: int((~np.isnan(p)).sum())]
