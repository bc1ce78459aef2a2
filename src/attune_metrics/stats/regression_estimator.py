"""The regression estimator of a mean, as a statistic of weighted sums.

j is known of all units and h of a part; `attune_metrics.stats.prediction_powered` has the formula and its sources.
"""

import numpy as np
from numpy.typing import NDArray

from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.sums import ROUNDING, Statistic, exact_sums

__all__ = ["association", "regression_estimate", "regression_terms", "unlikeness"]


def regression_terms(
    scores: Floats, ratings: Floats, labelled: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """Return L, Lh, Lj, Lhj, Lj^2 and j (series, terms, units), what h lost, what j was divided by, and constant j.

    h begins at its least value; j is 0 at its least and 1 at its greatest value among the rated units, so that squares
    lose no digits and equal scores are exactly equal.
    """
    rated_scores = np.where(labelled, scores, np.nan)
    least, most = (_of_known(extreme, rated_scores) for extreme in (np.fmin, np.fmax))
    floor = _of_known(np.fmin, ratings)
    constant = most - least <= ROUNDING * np.maximum(np.abs(least), np.abs(most))
    spread = np.where(constant, 1.0, most - least)
    j = (scores - least[:, np.newaxis]) / spread[:, np.newaxis]
    h = np.where(labelled, ratings - floor[:, np.newaxis], 0.0)
    rated = np.where(labelled, j, 0.0)
    terms = np.stack([labelled.astype(np.float64), h, rated, h * rated, rated * rated, j], axis=1)
    return terms, floor, spread, constant


def _of_known(extreme: np.ufunc, values: Floats) -> Floats:
    """Return the least or greatest known value of each series, 0 without one."""
    found: Floats = extreme.reduce(values, axis=1, initial=np.nan)
    return np.where(np.isnan(found), 0.0, found)


def _moments(sums: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return L, the mean of h and of j, their covariance and the variance of j among the rated, with 1/L each."""
    labels = sums[..., 0]
    h, j, product, square = (sums[..., term] / labels for term in range(1, 5))
    return labels, h, j, product - h * j, square - j * j


def association(total: Floats, ratings: Floats) -> tuple[Floats, Floats]:
    """Return b, of scaled j, and Pearson's correlation of each series, nan where undefined."""
    with np.errstate(all="ignore"):
        labels, h, _, covariance, variance = _moments(total)
        variance = np.where(variance > ROUNDING, variance, np.nan)
        of_ratings = exact_sums(((ratings - h[:, np.newaxis]) ** 2)[:, np.newaxis])[:, 0] / labels
        correlation = np.clip(covariance / np.sqrt(variance * of_ratings), -1, 1)
        flat = np.nan_to_num(np.fmax.reduce(ratings, axis=1)) <= ROUNDING
        return covariance / variance, np.where(flat, np.nan, correlation)


def regression_estimate(fixed: Floats | None) -> Statistic:
    """Return the corrected mean as a statistic; with a fixed b of each series, in the unit of scaled j, if given."""

    def statistic(sums: Floats, n: Floats) -> Floats:
        _, h, j, covariance, variance = _moments(sums)
        # j is between 0 and 1 among the rated: a smaller variance is rounding.
        slope = np.where(variance > ROUNDING, covariance / variance, np.nan) if fixed is None else fixed
        return np.asarray(h + slope * (sums[..., 5] / n - j))

    return statistic


def unlikeness(sums: Floats, n: Floats) -> Floats:
    """Mean of j over the rated minus that over the others, as a statistic."""
    return np.asarray(sums[..., 2] / sums[..., 0] - (sums[..., 5] - sums[..., 2]) / (n - sums[..., 0]))
