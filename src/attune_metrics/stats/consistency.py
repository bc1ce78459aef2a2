"""Internal consistency: how far the items of a questionnaire measure one thing together.

References
----------
.. [1] Cronbach (1951), Coefficient alpha and the internal structure of tests, Psychometrika 16, 297-334.
.. [2] McDonald (1999), Test Theory: A Unified Treatment, chapter 6: omega.
.. [3] Harman, Jones (1966), Factor analysis by minimizing residuals (minres), Psychometrika 31, 351-368.
.. [4] Bonett (2002), Sample size requirements for testing and estimating coefficient alpha, Journal of Educational and
   Behavioral Statistics 27, 335-340: the scale log(1 - alpha).
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import exp, inf, log, nan

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.metric import MetricInputError, check_level
from attune_metrics.stats.bootstrap import Interval
from attune_metrics.stats.cluster_means import t_ends
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    as_floats,
    cluster_index,
    coefficient_of_variation,
    effective_freedom,
    jackknife_error,
    ratio,
)

MIN_CLUSTERS = 10
"""With fewer clusters there is no interval: the jackknife of a questionnaire of few people is too narrow."""

MIN_CLUSTERS_OF_OMEGA = 20
"""With fewer clusters omega has no interval: of ten persons and weak items it would cover 90% in place of 95%."""

_STEPS = 5000
_SETTLED = 1e-13


@dataclass(frozen=True, slots=True)
class Consistency:
    """How far the items of a questionnaire measure one thing together.

    Attributes
    ----------
    alpha : Interval
        Cronbach's alpha, at most 1; below 0 where items disagree more than unrelated items would.
    omega : Interval
        McDonald's omega with one factor, 0 to 1.
    loadings : tuple of float
        Standardized loading of each item on the factor, -1 to 1; nan for an item that everybody answers alike.
    """

    alpha: Interval
    omega: Interval
    loadings: tuple[float, ...]


def internal_consistency(items: ArrayLike, clusters: Iterable[Hashable], *, level: float = 0.95) -> Consistency:
    """Estimate the internal consistency of a questionnaire: Cronbach's alpha, and McDonald's omega with one factor.

    Of k items with the covariances S, alpha is ``k / (k - 1) (1 - trace S / sum S)`` [1]_. The factor explains the
    correlations R of the items with the loadings l that minimise the sum of ``(R_ij - l_i l_j)^2`` over the pairs of
    items, with no loading beyond 1 (minres [3]_); brought back to the units of the items, ``L = l s`` with s the
    standard deviation, and ``omega = (sum L)^2 / ((sum L)^2 + sum (s^2 - L^2))`` [2]_. Where all loadings are equal,
    alpha and omega agree; otherwise alpha is lower.

    Parameters
    ----------
    items : array of float, shape (answers, items)
        Each row is a filled form, in the unit of the items; a form with an item missing (nan) does not count. Items
        that are worded the other way round are to be turned.
    clusters : iterable of str or int
        The label of each form's cluster, such as the person; for independent forms the id of the form.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Consistency
        The ends are ``1 - exp(x)`` for ``x = log(1 - value) -+ t e`` [4]_, with e the jackknife error of that logarithm
        over clusters and Student's t with the effective number of clusters minus 1 degrees of freedom. Numbers are nan,
        and ``reason`` says why, with fewer than two forms and where the sum of the items does not vary; the ends with
        fewer than ten clusters (of omega 20), and where leaving out one cluster makes the value 1 or undefined.

    Raises
    ------
    MetricInputError
        If there are fewer than three items, a value is infinite or no number, the labels are not one for each form or
        one is missing, or the level is out of range.

    Notes
    -----
    Simulated in docs/truth.md: intervals of 95% cover 93 to 97%.

    Examples
    --------
    >>> forms = [[2, 3, 3], [4, 4, 5], [1, 2, 2], [5, 4, 4], [3, 3, 2]]
    >>> found = internal_consistency(forms, range(5))
    >>> round(found.alpha.estimate, 3), round(found.omega.estimate, 3), found.alpha.reason
    (0.902, 0.925, 'fewer than 10 clusters')
    """
    check_level(level)
    given, index = as_floats(items, "items"), cluster_index(clusters)
    if given.ndim != 2 or given.shape[1] < 3 or len(given) != len(index):
        raise MetricInputError(
            f"items of shape {given.shape} for {len(index)} labels; expected (answers, items) with three items or more"
        )
    if np.isinf(given).any():
        raise MetricInputError("an item is infinite; expected finite numbers, or nan where there is none")
    complete = ~np.isnan(given).any(axis=1)
    given, index = given[complete], np.unique(index[complete], return_inverse=True)[1]
    sizes = np.bincount(index).astype(np.float64)
    kept = [np.ones(len(given), dtype=bool)]
    if len(sizes) >= MIN_CLUSTERS:
        kept += [index != cluster for cluster in range(len(sizes))]
    alpha, omega, loadings = _consistency(np.stack([_covariances(given[rows]) for rows in kept]), given)
    freedom = effective_freedom(len(sizes), coefficient_of_variation(sizes)) if len(sizes) else nan
    about = level, "jackknife-t", len(given), len(sizes)
    return Consistency(
        _interval(alpha, MIN_CLUSTERS, freedom, about),
        _interval(omega, MIN_CLUSTERS_OF_OMEGA, freedom, about),
        tuple(loadings[0].tolist()),
    )


def _covariances(forms: Floats) -> Floats:
    """Return the covariances of the items over forms; all nan with fewer than two."""
    if len(forms) < 2:
        return np.full((forms.shape[1],) * 2, nan)
    moved = forms - forms.mean(axis=0)
    together: Floats = (moved[:, :, np.newaxis] * moved[:, np.newaxis]).sum(axis=0)
    return together / (len(forms) - 1)


def _consistency(covariances: Floats, forms: Floats) -> tuple[Floats, Floats, Floats]:
    """Return alpha, omega (sets,) and the standardized loadings (sets, items) from covariances (sets, items, items)."""
    items = covariances.shape[-1]
    largest = np.abs(forms).max(axis=0, initial=0)
    variances = covariances.diagonal(axis1=1, axis2=2)
    total = covariances.sum(axis=(1, 2))
    total = np.where(total > ROUNDING * (largest**2).sum() * items, total, nan)
    scale = np.sqrt(np.where(variances > (ROUNDING * largest) ** 2, variances, nan))
    # An item that everybody answers alike is unrelated to the others.
    correlations = np.nan_to_num(covariances / (scale[:, :, np.newaxis] * scale[:, np.newaxis]))
    loadings = np.where(np.isnan(scale), nan, one_factor(correlations))
    raw = np.nan_to_num(loadings * scale)
    common, rest = raw.sum(axis=1) ** 2, (np.nan_to_num(scale) ** 2 - raw**2).sum(axis=1)
    alpha = items / (items - 1) * (1 - variances.sum(axis=1) / total)
    return alpha, ratio(common, common + rest) + 0 * total, loadings


def one_factor(correlations: ArrayLike) -> Floats:
    """Return the loadings of variables on the factor that explains their correlations best, by minres [3]_.

    Minimises the sum of ``(R_ij - l_i l_j)^2`` over the pairs, each loading within -1 and 1, one loading after the
    other: given the others, ``l_i = sum_j R_ij l_j / sum_j l_j^2``. The loadings sum to 0 or more.

    Parameters
    ----------
    correlations : array of float, shape (..., variables, variables)
        Of three variables or more; the diagonal does not count.

    Returns
    -------
    array of float, shape (..., variables)
        Loadings, -1 to 1; all 0 where the variables are unrelated.

    Raises
    ------
    MetricInputError
        If the correlations are not symmetric, or of fewer than three variables, or a value is no finite number.

    Examples
    --------
    >>> [round(one, 6) for one in one_factor([[1, 0.72, 0.63], [0.72, 1, 0.56], [0.63, 0.56, 1]]).tolist()]
    [0.9, 0.8, 0.7]
    """
    given = as_floats(correlations, "correlations")
    size = given.shape[-1] if given.ndim > 1 else 0
    if size < 3 or given.shape[-2] != size or not np.allclose(given, np.swapaxes(given, -1, -2)):
        raise MetricInputError(
            f"correlations of shape {given.shape}; expected symmetric matrices of numbers, of three variables or more"
        )
    pairs = given * (1 - np.eye(size))
    # Begin with the item that is related most to the others.
    related = (pairs**2).sum(axis=-1).argmax(axis=-1)
    found: Floats = np.clip((pairs + np.eye(size))[(*np.indices(related.shape), related)], -1, 1)
    for _ in range(_STEPS):
        before = found.copy()
        for place in range(size):
            others = (found**2).sum(axis=-1) - found[..., place] ** 2
            explained = (pairs[..., place, :] * found).sum(axis=-1)
            found[..., place] = np.clip(np.where(others > 0, ratio(explained, others), 0), -1, 1)
        if np.abs(found - before).max(initial=0) < _SETTLED:
            break
    return np.where(found.sum(axis=-1, keepdims=True) < 0, -found, found)


def _interval(values: Floats, least: int, freedom: float, about: tuple[float, str, int, int]) -> Interval:
    """Return the interval of the first value, from those without each cluster after it; `least` clusters have one."""
    level, method, n, clusters = about
    reason = None
    if np.isnan(values[0]):
        reason = "fewer than two forms" if n < 2 else "the sum of the items does not vary"
    elif clusters < least:
        reason = f"fewer than {least} clusters"
    elif not (values < 1 - ROUNDING).all():
        reason = "without some cluster the value is 1 or undefined"
    if reason is not None:
        return Interval(float(values[0]), nan, nan, level, method, n, clusters, reason)
    scaled = np.array([log(1 - value) for value in values.tolist()])
    error = jackknife_error(scaled[1:] - scaled[0])
    low, high = t_ends(float(scaled[0]), error, freedom, -inf, inf, level)
    return Interval(float(values[0]), 1 - exp(high), 1 - exp(low), level, method, n, clusters)
