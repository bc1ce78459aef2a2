"""Dimensions: how many skills metrics share.

References
----------
.. [1] Horn (1965), A rationale and test for the number of factors in factor analysis, Psychometrika 30, 179-185.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.metric import MetricInputError, check_whole
from attune_metrics.stats.sums import Floats, complete_units, relative_means

MIN_MODELS = 6
"""With fewer models, correlations over models say nothing, and are not shown."""


@dataclass(frozen=True, slots=True)
class Dimensions:
    """How many skills metrics share over models.

    Attributes
    ----------
    number : int
        How many of the eigenvalues, from the first on, are above `noise`.
    eigenvalues, noise : tuple of float
        Of the correlations of the metrics over models, the largest first; and the 95% quantile of the same eigenvalue
        of metrics that share no skill and are as unreliable.
    """

    number: int
    eigenvalues: tuple[float, ...]
    noise: tuple[float, ...]


def shared_dimensions(
    values: ArrayLike, clusters: Iterable[Hashable], *, draws: int = 1000, seed: int = 0
) -> Dimensions:
    """Count the skills that metrics share over models, by parallel analysis [1]_ against noise of the same reliability.

    Horn's parallel analysis compares the eigenvalues of the correlation matrix with those of unrelated variables. Here
    these are drawn as independent normal true values, with each metric's variance between models, plus normal errors
    with the covariance that the metrics' errors have on the same units, so that shared noise counts as no skill.

    Parameters
    ----------
    values : array of float, shape (metrics, models, units)
        nan where there is no value; only units with every value count.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.
    draws : int
        How many data sets of unrelated metrics are drawn.
    seed : int
        Of the draws.

    Returns
    -------
    Dimensions
        A number of 0 says that no two metrics share a skill as far as these data show; one that the data show is a
        lower bound, as with few models only strong dimensions rise above noise. Eigenvalues are rounded to 9 digits.

    Raises
    ------
    MetricInputError
        If there are fewer than two metrics, six models or two clusters, or a metric has equal means of all models.

    Examples
    --------
    Four metrics of one skill:

    >>> generator = np.random.default_rng(1)
    >>> skill = 2 * generator.normal(size=12)[:, np.newaxis]
    >>> shared_dimensions([skill + generator.normal(size=(12, 20)) for _ in range(4)], range(20), draws=200).number
    1
    """
    check_whole(draws, "draws", 1)
    given, index = complete_units(values, clusters)
    if given.ndim != 3 or len(given) < 2 or given.shape[1] < MIN_MODELS or len(np.unique(index)) < 2:
        raise MetricInputError(
            f"complete values of shape {given.shape}; expected (metrics, models, units) of two metrics, {MIN_MODELS} "
            "models and two clusters or more"
        )
    parts = [relative_means(one, index) for one in given]
    means, moved = np.stack([part[0] for part in parts]), np.stack([part[1].ravel() for part in parts])
    models = means.shape[1]
    total = (means**2).sum(axis=1) / (models - 1)
    if not total.min() > 0:
        raise MetricInputError("the means of the models do not differ in one of the metrics")
    errors = np.array([[float((one * other).sum()) for other in moved] for one in moved]) / (models - 1)
    covariance = errors + np.diag(np.maximum(total - np.diag(errors), 0))
    levels, axes = np.linalg.eigh(covariance / np.sqrt(total[:, np.newaxis] * total))
    normal = np.random.default_rng(seed).normal(size=(draws, models, len(means)))
    drawn: Floats = normal @ (axes * np.sqrt(np.maximum(levels, 0))).T
    found = _eigenvalues(means.T[np.newaxis])[0]
    noise = np.quantile(_eigenvalues(drawn), 0.95, axis=0)
    above = (found > noise).tolist()
    number = above.index(False) if False in above else len(above)
    return Dimensions(number, tuple(found.tolist()), tuple(np.round(noise, 9).tolist()))


def _eigenvalues(values: Floats) -> Floats:
    """Return the eigenvalues, the largest first, of the correlations of variables (sets, cases, variables)."""
    centred = values - values.mean(axis=1, keepdims=True)
    centred /= np.sqrt((centred**2).sum(axis=1, keepdims=True))
    found: Floats = np.linalg.eigvalsh(centred.transpose(0, 2, 1) @ centred)[:, ::-1].astype(np.float64)
    return found.round(9)
