"""Planned looks at a comparison while its data come in: critical values, p-values over all looks, and what looks cost.

With K looks, each after an equal part of the clusters, the standardised differences ``Z_1 ... Z_K`` are jointly normal
with correlations ``sqrt(j / k)``. A difference is found at the first look k with ``|Z_k| >= c_k``. The constant C makes
the error over all looks alpha: ``c_k = C sqrt(K / k)`` (O'Brien and Fleming [1]_) or ``c_k = C`` (Pocock [2]_), by the
recursive integration of Armitage, McPherson and Rowe [3]_. A test by Student's t is compared by its p-value, with the
p-value of ``c_k`` ([4]_, section 3.8).

References
----------
.. [1] O'Brien, Fleming (1979), A multiple testing procedure for clinical trials, Biometrics 35, 549-556.
.. [2] Pocock (1977), Group sequential methods in the design and analysis of clinical trials, Biometrika 64, 191-199.
.. [3] Armitage, McPherson, Rowe (1969), Repeated significance tests on accumulating data, J. R. Stat. Soc. A 132,
   235-244.
.. [4] Jennison, Turnbull (2000), Group Sequential Methods with Applications to Clinical Trials: constants and inflation
   factors in chapter 2, repeated intervals and p-values in chapter 9.
"""

from functools import cache
from math import ceil, isnan, nan, pi, sqrt
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from attune_metrics.metric import MetricInputError, check_level, check_number, check_whole
from attune_metrics.stats.sums import Floats, exponential

MOST_LOOKS = 20
"""The most planned looks."""

MIN_CLUSTERS_OF_LOOK = 12
"""A look at fewer decides nothing: with differences as skewed as an exponential distribution, 10 would err in 7%."""

Boundary = Literal["obrien-fleming", "pocock"]

_NORMAL = NormalDist()
_POWER = 0.8
_PANEL = 0.4  # width of a panel of the integration, in standard deviations of the part between two looks
_FAR = 9.0  # standard deviations beyond which nothing is integrated
_NODES = ((-sqrt(0.6), 5 / 18), (0.0, 8 / 18), (sqrt(0.6), 5 / 18))  # of Gauss and Legendre, in the half panel


def _crossing(critical: Floats, *, drift: float = 0) -> Floats:
    """Return the probability that each look is the first with ``|Z_k| >= c_k``; `drift` is the mean of ``Z_K`` [3]_."""
    from scipy.special import ndtr

    step = drift / sqrt(len(critical))
    found = np.zeros(len(critical))
    places, masses = np.zeros(1), np.ones(1)
    for look, value in enumerate(critical.tolist(), start=1):
        # The sum of k parts, each of standard deviation 1, is Z_k sqrt(k).
        bound, centre, reach = value * sqrt(look), step * look, _FAR * sqrt(look)
        found[look - 1] = sum((masses * ndtr(sign * (places + step) - bound)).sum() for sign in (1, -1))
        if look == len(critical):
            break
        nodes, weights = _grid(max(-bound, centre - reach), min(bound, centre + reach))
        gaps = nodes[:, np.newaxis] - places - step
        density = (masses * exponential(-np.minimum(gaps * gaps, 1_400) / 2)).sum(axis=1) / sqrt(2 * pi)
        places, masses = nodes, weights * density
    return found


def _grid(low: float, high: float) -> tuple[Floats, Floats]:
    """Return the nodes and weights of an integration from `low` to `high`."""
    panels = max(1, ceil((high - low) / _PANEL))
    width = max(high - low, 0) / panels
    middles = low + width * (np.arange(panels) + 0.5)
    nodes = np.concatenate([middles + width / 2 * place for place, _ in _NODES])
    return nodes, np.repeat([width * weight for _, weight in _NODES], panels)


def _shape(looks: int, boundary: str) -> Floats:
    """Return ``c_k / C``."""
    if boundary == "pocock":
        return np.ones(looks)
    if boundary == "obrien-fleming":
        return np.sqrt(looks / np.arange(1, looks + 1))
    raise MetricInputError(f"unknown boundary {boundary!r}; expected obrien-fleming or pocock")


def _error(constant: float, looks: int, boundary: str) -> float:
    """Return the error over all looks with a constant C."""
    return float(_crossing(constant * _shape(looks, boundary)).sum())


def critical_values(looks: int, *, level: float = 0.95, boundary: Boundary = "obrien-fleming") -> Floats:
    """Compute the critical value of each look, so that the error over all of them is 1 - level.

    Parameters
    ----------
    looks : int
        K, from 1 to 20.
    level : float
        1 less the two-sided error over all looks; between 0 and 1.
    boundary : {"obrien-fleming", "pocock"}
        ``C sqrt(K / k)``, with which the last look has nearly the power of a single one, or the same C at every look,
        which decides large differences sooner and needs more clusters in all.

    Returns
    -------
    array of float, shape (looks,)
        Of the standardised difference. The two-sided p-value of ``c_k`` is the nominal level of look k; intervals of
        1 minus the nominal level at each look hold at all looks together, with `level` ([4]_, chapter 9).

    Raises
    ------
    MetricInputError
        If an option is out of its range.

    Examples
    --------
    >>> critical_values(4).round(3).tolist()
    [4.049, 2.863, 2.337, 2.024]
    >>> critical_values(4, boundary="pocock").round(3).tolist()
    [2.361, 2.361, 2.361, 2.361]
    """
    return _constant(check_looks(looks), check_level(level), boundary) * _shape(looks, boundary)


@cache
def _constant(looks: int, level: float, boundary: str) -> float:
    from scipy.optimize import brentq

    alpha = 1 - level
    single = _NORMAL.inv_cdf(1 - alpha / 2)
    if looks == 1:
        return single
    most = _NORMAL.inv_cdf(1 - alpha / (2 * looks))  # Bonferroni's, above every other
    found: float = brentq(lambda constant: _error(constant, looks, boundary) - alpha, single, most, xtol=1e-10)
    return found


def p_over_looks(p: float, look: int, looks: int, *, boundary: Boundary = "obrien-fleming") -> float:
    """Return the p-value over all looks of a p-value at one look: the repeated p-value of [4]_, chapter 9.

    The smallest error over all looks with which the critical value of the look has a p-value of p or more. Without a
    difference, with probability alpha it is at most alpha at any look, so that Holm's method may correct it for a
    family of comparisons.

    Parameters
    ----------
    p : float
        The two-sided p-value of the clusters so far, 0 to 1.
    look : int
        k, from 1 to K.
    looks, boundary
        As for `critical_values`.

    Returns
    -------
    float
        From p to 1; nan for nan.

    Raises
    ------
    MetricInputError
        If a number is out of its range.

    Examples
    --------
    >>> round(p_over_looks(0.0042, 2, 4), 3), p_over_looks(0.03, 1, 1)
    (0.05, 0.03)
    """
    place = check_look(look, looks) - 1
    if isnan(p):
        return nan
    value = check_number(p, "p", 0, 1)
    if looks == 1 or value in {0, 1}:
        return value
    constant = -_NORMAL.inv_cdf(value / 2) / float(_shape(looks, boundary)[place])
    return min(1.0, max(value, _error(constant, looks, boundary)))


class LookPlan(NamedTuple):
    """Clusters with planned looks, at most and as expected, over those of one look with the same power."""

    most: float
    expected: float


def plan_of_looks(
    looks: int, *, level: float = 0.95, boundary: Boundary = "obrien-fleming", first: int = 1
) -> LookPlan:
    """Compute how many clusters planned looks take for a power of 80% ([4]_, chapter 2).

    ``most = (d / (z(1 - alpha / 2) + z(0.8)))^2`` with the drift d at which a comparison crosses the boundary in 80%
    of cases; ``expected`` is ``most`` times the mean of k / K at that drift, where a comparison that no look decides
    counts 1. Looks before the `first` decide nothing, as their clusters are too few.

    Parameters
    ----------
    looks, level, boundary, first
        As for `critical_values`; `first` is from 1 to `looks`.

    Returns
    -------
    LookPlan
        Both above 0; 1 and 1 with a single look.

    Raises
    ------
    MetricInputError
        If an option is out of its range.

    Examples
    --------
    >>> [round(value, 3) for value in plan_of_looks(5)]
    [1.028, 0.818]
    """
    return _plan(check_looks(looks), check_level(level), boundary, check_look(first, looks))


@cache
def _plan(looks: int, level: float, boundary: Boundary, first: int) -> LookPlan:
    from scipy.optimize import brentq

    critical = critical_values(looks, level=level, boundary=boundary)
    if looks == 1:
        return LookPlan(1.0, 1.0)
    single = _NORMAL.inv_cdf((1 + level) / 2) + _NORMAL.inv_cdf(_POWER)
    drift = float(brentq(lambda one: _crossing(critical, drift=one).sum() - _POWER, single, 2 * single, xtol=1e-10))
    numbers, most = np.arange(1, looks + 1), (drift / single) ** 2
    at = _crossing(np.where(numbers < first, 50, critical), drift=drift)
    return LookPlan(most, most * float((at * numbers).sum() / looks + 1 - at.sum()))


def check_looks(value: object) -> int:
    """Return the number of planned looks; raise if it is not a whole number from 1 to 20.

    Examples
    --------
    >>> check_looks(5)
    5
    """
    return check_whole(value, "looks", 1, MOST_LOOKS)


def check_look(value: object, looks: object) -> int:
    """Return the number of a look among the planned ones; raise if it comes after the last.

    Examples
    --------
    >>> check_look(2, 5)
    2
    """
    most, look = check_looks(looks), check_whole(value, "look", 1)
    if look > most:
        raise MetricInputError(f"look {look} of {most} planned; expected a number from 1 to {most}")
    return look
