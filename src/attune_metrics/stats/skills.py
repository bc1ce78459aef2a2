"""Skills: how alike two metrics order the models once their noise is taken out.

References
----------
.. [1] Spearman (1904), American Journal of Psychology 15, 72-101: the correction for attenuation.
.. [2] Brennan (2001), Generalizability Theory, chapter 10: the correlation of universe scores, where the errors of two
   metrics are correlated, as both are computed on the same units.
.. [3] Fisher (1921), On the probable error of a coefficient of correlation, Metron 1, 3-32.
.. [4] Wilks (1938), Annals of Mathematical Statistics 9, 60-62.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import atanh, cosh, exp, inf, isnan, log, nan, sqrt, tanh
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level
from attune_metrics.stats.bootstrap import Interval
from attune_metrics.stats.dimensions import MIN_MODELS
from attune_metrics.stats.separation import Separation, separation
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    as_floats,
    coefficient_of_variation,
    complete_units,
    effective_freedom,
    jackknife_error,
    noise_freedom,
    relative_means,
)

MIN_RELIABILITY = 0.3
"""Below it the correlation of a metric is not corrected: the estimate would be noise, magnified."""

_MOST_STEPS, _CONVERGED = 100, 1e-7


@dataclass(frozen=True, slots=True)
class Correlation:
    """How alike two metrics are: over models, with and without their noise, and over units within models.

    Attributes
    ----------
    observed : float
        Pearson's correlation of the models' means, -1 to 1.
    corrected : Interval
        The same without the noise of both metrics, beyond 1 or below -1 at times.
    within : Interval
        Correlation of the two metrics over the units of a model, all models together, -1 to 1.
    reliabilities : (float, float)
        Of the means of both metrics.
    """

    observed: float
    corrected: Interval
    within: Interval
    reliabilities: tuple[float, float]


def disattenuated(a: ArrayLike, b: ArrayLike, clusters: Iterable[Hashable], *, level: float = 0.95) -> Correlation:
    """Correlate two metrics over models, corrected for the noise of the models' means.

    With r the correlation of the means, R and Q their reliabilities and c the part of r that comes from errors on the
    same units, ``(r - c) / sqrt(R Q)`` [2]_: Spearman's correction for attenuation [1]_ where the errors of the two
    metrics are independent, and c 0. In the terms of `attune_metrics.stats.separation.separation`, c is
    ``sum f g / sqrt(sum m^2 sum l^2)`` over models and clusters, with f and g what a cluster adds to the errors of the
    means m and l.

    Parameters
    ----------
    a, b : array of float, shape (models, units)
        Both metrics of the same models on the same units; units with a nan are left out.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Correlation
        The interval of `corrected` takes models and clusters as samples, from normal distributions: all correlations
        from -1 to 1 at which the likelihood ratio [4]_ of the means of k models, ``2 log L / (k - 1)``, is at most
        ``2 log cosh(z w / sqrt(k - 3))``. Without noise this is Fisher's interval [3]_. w^2 is 1, plus the share that
        the estimated noise, with `attune_metrics.stats.sums.noise_freedom`, adds to the variance of `corrected`
        over its sampling variance. `corrected` is not clipped; where it is beyond -1 or 1, its interval is from there
        to -1 or 1 at least. docs/separation.md simulates the coverage. `corrected` is nan, and its ``reason`` says
        why, with fewer than six models or three clusters, and with a reliability below 0.3. `within` has Student's t
        of the jackknife of clusters, on Fisher's scale.

    Raises
    ------
    MetricInputError
        As `attune_metrics.stats.separation.separation`, and if the shapes differ.

    Examples
    --------
    Both metrics order the six models alike, but for noise:

    >>> noise = [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
    >>> a = [[model + one for one in row] for model, row in enumerate(noise)]
    >>> b = [[model + one for one in row] for model, row in enumerate(noise[3:] + noise[:3])]
    >>> found = disattenuated(a, b, range(4))
    >>> round(found.observed, 3), round(found.corrected.estimate, 3), round(found.reliabilities[0], 3)
    (1.0, 1.029, 0.971)
    """
    check_level(level)
    one, other = as_floats(a, "a"), as_floats(b, "b")
    if one.shape != other.shape:
        raise MetricInputError(f"shapes {one.shape} and {other.shape} differ; expected the same models and units")
    both, index = complete_units(np.stack([one, other]), clusters)
    return correlation_of(both, index, [separation(values, index, level=level) for values in both], level)


def correlation_of(both: Floats, index: NDArray[np.intp], parts: Sequence[Separation], level: float) -> Correlation:
    """Return `disattenuated` of two metrics (2, models, units) without nan, from the separation of each."""
    models, n, size = both.shape[1], both.shape[2], parts[0].reliability.clusters
    reliabilities = parts[0].reliability.estimate, parts[1].reliability.estimate
    observed, corrected, ends = nan, nan, (nan, nan)
    reason = f"fewer than {MIN_MODELS} models" if models < MIN_MODELS else None
    reason = reason or _reason([part.reliability.reason for part in parts if isnan(part.reliability.estimate)])
    if reason is None:
        (m, f), (other_m, g) = (relative_means(values, index) for values in both)
        scale = sqrt(float((m**2).sum()) * float((other_m**2).sum()))
        observed = min(max(float((m * other_m).sum()) / scale, -1.0), 1.0)
        reason = _reason([part.reliability.reason for part in parts if isnan(part.reliability.low)])
        if reason is None and min(reliabilities) < MIN_RELIABILITY:
            reason = f"one of the two has a reliability below {MIN_RELIABILITY}"
        if reason is None:
            freedom = effective_freedom(size, coefficient_of_variation(np.bincount(index).astype(np.float64)))
            freedom *= min(noise_freedom(moved, freedom) for moved in (f, g))
            means = _Means(observed, 1 - reliabilities[0], 1 - reliabilities[1], float((f * g).sum()) / scale)
            corrected, ends = means.corrected, means.ends(models, freedom, level)
    over_models = Interval(corrected, *ends, level, "likelihood ratio", n, size, reason)
    return Correlation(observed, over_models, _within(both, index, level), reliabilities)


def _reason(reasons: Sequence[str | None]) -> str | None:
    """Return why one of two metrics, or both, have no reliability; None where both have one."""
    return f"in one of the two, {reasons[0]}" if len(reasons) == 1 else next(iter(reasons), None)


@dataclass(frozen=True, slots=True)
class _Means:
    """Correlation of the models' means in two metrics, and the noise in means of variance 1: variances, covariance."""

    correlation: float
    noise: float
    other_noise: float
    shared_noise: float

    @property
    def kept(self) -> float:
        """Return the square root of the product of the reliabilities."""
        return sqrt((1 - self.noise) * (1 - self.other_noise))

    @property
    def corrected(self) -> float:
        """Return the correlation without the noise."""
        return (self.correlation - self.shared_noise) / self.kept

    def ends(self, models: int, freedom: float, level: float) -> tuple[float, float]:
        """Return the ends of the interval of `corrected`, with the degrees of freedom of the noise."""
        from scipy.optimize import brentq

        estimate = self.corrected
        if abs(self.correlation) >= 1 - ROUNDING:
            return estimate, estimate
        reach = NormalDist().inv_cdf((1 + level) / 2) * sqrt(self._excess_variance(models, freedom) / (models - 3))
        most = 2 * log(cosh(reach))
        # Models that do not differ in one of the two go with any correlation.
        without_models = min(
            log(noise) + 1 / noise + log(1 - 2 * self.correlation * slope + slope**2) - log(1 - self.correlation**2) - 1
            for noise in (self.noise, self.other_noise)
            for slope in (self.shared_noise / noise,)
        )

        def end(side: int) -> float:
            if side * estimate >= 1:
                return estimate
            if min(without_models, self._ratio(side)) <= most:
                return float(side)
            return float(brentq(lambda rho: min(self._ratio(rho), most + 1) - most, estimate, side))

        return min(end(-1), 1.0), max(end(1), -1.0)

    def _excess_variance(self, models: int, freedom: float) -> float:
        """Return by which factor it adds to the variance of `corrected` that the noise is estimated."""
        rho = min(max(self.corrected, -1), 1)

        def variance(one: float, other: float, both: float) -> float:
            own = (one**2 + other**2) / 2 + both**2
            return one * other + both**2 + rho**2 * own - 2 * rho * both * (one + other)

        one, other, both = 1 / (1 - self.noise), 1 / (1 - self.other_noise), self.shared_noise / self.kept
        return 1 + (models - 1) / freedom * variance(one - 1, other - 1, both) / variance(one, other, rho + both)

    def _ratio(self, rho: float) -> float:
        """Return twice the log of the likelihood ratio of `corrected` and rho, of one model.

        Fisher's scoring finds the spreads a and b of the models that make rho most likely.
        """
        a, b, size, trace = sqrt(1 - self.noise), sqrt(1 - self.other_noise), 1.0, 2.0
        for _ in range(_MOST_STEPS):
            x, y, true = a * a + self.noise, b * b + self.other_noise, rho * a * b
            both = true + self.shared_noise
            size = (a * b) ** 2 * (1 - rho**2) + a * a * self.other_noise + b * b * self.noise
            size += self.noise * self.other_noise - self.shared_noise * (2 * true + self.shared_noise)  # x y - both^2
            if size <= 0:
                return inf
            trace = (x + y - 2 * self.correlation * both) / size
            one, other = 2 * (a * a * y - true * both) / size, 2 * (b * b * x - true * both) / size
            slope = one * (1 - trace) + 2 * (a * a - self.correlation * true) / size
            other_slope = other * (1 - trace) + 2 * (b * b - self.correlation * true) / size
            curve, other_curve = one**2 + 2 * true**2 / size, other**2 + 2 * true**2 / size
            mixed = one * other + (2 * true**2 - 4 * (a * b) ** 2) / size
            scale = curve * other_curve - mixed**2
            steps = (mixed * other_slope - other_curve * slope) / scale, (mixed * slope - curve * other_slope) / scale
            a, b = (spread * exp(min(max(step, -0.5), 0.5)) for spread, step in zip((a, b), steps, strict=True))
            if max(map(abs, steps)) < _CONVERGED:
                break
        return log(size) + trace - log(1 - self.correlation**2) - 2


def _within(both: Floats, index: NDArray[np.intp], level: float) -> Interval:
    """Return the correlation over units of two metrics (2, models, units), from deviations from each model's mean."""
    n, size = both.shape[2], len(np.unique(index))

    def correlation(values: Floats) -> float:
        if values.shape[2] < 2 or not values.size:
            return nan
        x, y = values - values.mean(axis=2, keepdims=True)
        scale = sqrt(float((x**2).sum()) * float((y**2).sum()))
        largest = float(np.abs(values).max()) ** 2 * values[0].size
        return nan if scale <= ROUNDING * largest else float((x * y).sum()) / scale

    found = correlation(both)
    left = [correlation(both[..., index != cluster]) for cluster in range(size)] if size > 2 else [nan]
    if isnan(found) or any(map(isnan, left)):
        reason = "no variation within models" if isnan(found) else "fewer than three clusters"
        return Interval(found, nan, nan, level, "jackknife-t", n, size, reason)
    from scipy.special import stdtrit

    scaled = [atanh(min(max(one, -1 + ROUNDING), 1 - ROUNDING)) for one in (found, *left)]
    freedom = effective_freedom(size, coefficient_of_variation(np.bincount(index).astype(np.float64)))
    reach = float(stdtrit(freedom, (1 + level) / 2)) * jackknife_error(np.array(scaled[1:]) - scaled[0])
    return Interval(found, tanh(scaled[0] - reach), tanh(scaled[0] + reach), level, "jackknife-t", n, size)
