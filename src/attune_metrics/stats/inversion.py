"""P-values of bootstrap intervals: the level at which an end of the interval is at a value.

An interval of the level 1 - alpha that excludes a value rejects it at alpha, so that the smallest such alpha is a
p-value [1]_, which never contradicts the interval. Levels of ends are those of
`attune_metrics.stats.resampling.bootstrap`.

References
----------
.. [1] Davison, Hinkley (1997), Bootstrap Methods and their Application, section 5.6.
"""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.resampling import Interval, Method, bca_correction
from attune_metrics.stats.sums import rounding_of

__all__ = ["TwoSided", "p_of_ends", "two_sided_p"]


class TwoSided(NamedTuple):
    """A p-value, and the smallest that so many resamples could have given."""

    p_value: float
    p_min: float


def p_of_ends(
    drawn: Floats,
    low: float,
    high: float,
    interval: Interval,
    method: Method,
    left_out: Floats | None,
    *,
    largest: float = 0,
) -> tuple[float, float]:
    """Return the alpha whose 1 - 2 alpha interval has its lower end at `low`, and that of the upper end at `high`.

    `drawn` (resamples,) is the statistic in every resample, `interval` one that `attune_metrics.stats.resampling` made
    of it by `method`, and `left_out` (clusters,) the statistic without each cluster, which BCa needs. Of differences,
    `largest` is the size of what they are differences of. An alpha is not
    below that of the level 1 / (1 + resamples), as more resamples could have reached further, nor below the share of
    resamples in which the statistic is undefined, as there is no interval below it.
    """
    known = drawn[~np.isnan(drawn)]
    correction = None if left_out is None else bca_correction(known, interval.estimate, left_out, largest)
    bias, acceleration = correction or (0.0, 0.0)

    def alpha(values: Floats, bound: float, sign: int) -> float:
        level = max(_level_at(values, bound, largest), 1 / (len(known) + 1))
        found = _alpha_of(level, interval.clusters, method, sign * bias, sign * acceleration)
        return max(found, 1 - len(known) / len(drawn))

    # The upper end is the lower one of the distribution turned round, and so are bias and acceleration.
    return alpha(known, low, 1), alpha(-known, -high, -1)


def two_sided_p(drawn: Floats, interval: Interval, method: Method, left_out: Floats | None) -> TwoSided:
    """Return the smallest alpha whose 1 - alpha interval excludes 0, of what `p_of_ends` takes."""
    p_value, p_min = (
        min(1.0, 2 * min(p_of_ends(drawn, low, high, interval, method, left_out)))
        for low, high in ((0.0, 0.0), (-inf, inf))
    )
    return TwoSided(p_value, p_min)


def _level_at(known: Floats, bound: float, largest: float) -> float:
    """Return the highest level at which the quantile of `known` is not above `bound`; 0 if there is none."""
    if bound == -inf:
        return 0.0
    bound += rounding_of(known, bound, largest)
    is_below = known <= bound
    number = int(is_below.sum())
    if number in {0, len(known)}:
        return number / len(known)
    below, above = float(known[is_below].max()), float(known[~is_below].min())
    # Between two values the quantile is on the line from one to the other.
    return (number - 1 + (bound - below) / (above - below)) / (len(known) - 1)


def _alpha_of(level: float, clusters: int, method: Method, bias: float, acceleration: float) -> float:
    """Return the alpha whose 1 - 2 alpha interval has its lower end at a level of the bootstrap distribution."""
    from scipy.special import ndtr, ndtri, stdtr

    if level >= 1 or method == "percentile":
        return level
    quantile = float(ndtri(level))
    if method == "percentile-expanded":
        return float(stdtr(clusters - 1, sqrt((clusters - 1) / clusters) * quantile))
    moved = quantile - bias
    if 1 + acceleration * moved <= 0:  # beyond the levels that an end can have
        return 0.0 if acceleration > 0 else 1.0
    return float(ndtr(moved / (1 + acceleration * moved) - bias))
