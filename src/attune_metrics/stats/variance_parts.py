"""How the variance of scores splits between units and what else they differ by: models, repeats.

A score is the mean of its row, plus what its unit adds in every row, plus the rest. With one score in each cell, what a
unit adds in one row only (interaction) cannot be told from error: both are the residual.

References
----------
.. [1] Searle, Casella, McCulloch (1992), Variance Components, chapter 4: method of moments, two-way crossed.
"""

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats, as_floats
from attune_metrics.stats.resampling import Interval, Method, Resamples, bootstrap

__all__ = ["PARTS", "crossed_variances"]

PARTS = ("unit", "row", "residual")
"""The parts of the variance, in the order of `crossed_variances`."""


def crossed_variances(
    values: ArrayLike, resamples: Resamples, *, method: Method = "percentile-expanded", level: float = 0.95
) -> list[Interval]:
    """Split the variance of scores between units, rows and the residual.

    For n units and k rows with mean squares MSU of units, MSR of rows and MSE of the residual [1]_: unit ``(MSU - MSE)
    / k``, row ``(MSR - MSE) / n``, residual MSE. The intervals say what other clusters of units would have changed;
    rows are as they are.

    Parameters
    ----------
    values : array of float, shape (rows, units)
        Such as of each model for each unit, at least two rows; a unit that is nan in any row is left out.
    resamples : Resamples
        Of the units.
    method, level
        As for `attune_metrics.stats.resampling.bootstrap`.

    Returns
    -------
    list of Interval
        Six: the variance of each of `PARTS`, in the square of the unit of the values; then the share of each, from 0
        to 1. A variance is not biased, and so can be below 0 where there is little; a share takes that as 0.

    Raises
    ------
    MetricInputError
        If there are fewer than two rows, and as `bootstrap`.

    Examples
    --------
    >>> from attune_metrics.stats.resampling import draw_resamples
    >>> parts = crossed_variances([[1, 2, 3, 4], [2, 3, 4, 6]], draw_resamples(range(4)))
    >>> [round(part.estimate, 3) for part in parts]
    [2.167, 0.75, 0.125, 0.712, 0.247, 0.041]
    """
    given = as_floats(values, "values")
    if given.ndim != 2 or len(given) < 2:
        raise MetricInputError(f"values of shape {given.shape}; expected (rows, units), two rows or more")
    rows = len(given)
    complete = given[:, ~np.isnan(given).any(axis=0)]
    # Centred, so that sums of squares lose no digits.
    centred = given - (complete.mean() if complete.size else 0)
    terms = np.vstack([centred, (centred**2).sum(axis=0), centred.sum(axis=0) ** 2])

    def variances(sums: Floats, n: Floats) -> Floats:
        of_row, squares, of_unit = sums[..., :rows], sums[..., rows], sums[..., rows + 1]
        mean = of_row.sum(axis=-1) ** 2 / (n * rows)
        between_rows = (of_row**2).sum(axis=-1) / n - mean
        between_units = of_unit / rows - mean
        residual = (squares - mean - between_rows - between_units) / ((n - 1) * (rows - 1))
        unit = (between_units / (n - 1) - residual) / rows
        return np.stack([unit, (between_rows / (rows - 1) - residual) / n, residual], axis=-1)

    # The same sums serve as many series as there are numbers to take from them.
    def statistic(sums: Floats, n: Floats) -> Floats:
        found = variances(sums[..., 0, :], n[..., 0])
        parts = np.maximum(found, 0)
        return np.concatenate([found, parts / parts.sum(axis=-1, keepdims=True)], axis=-1)

    several = np.broadcast_to(terms, (2 * len(PARTS), *terms.shape))
    return bootstrap(several, resamples, statistic=statistic, method=method, level=level)
