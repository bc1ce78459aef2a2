"""The warning of means whose scores are too skewed, for so few participants, for their intervals and tests."""

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from attune_data.text import plural
from attune_metrics.errors import SkewedScoresWarning
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.skewness import MOST_SKEWNESS, skewness_of_mean

__all__ = ["DIFFERENCES", "MEANS", "VARIANCES", "warn_of_skewness", "warn_of_variance"]

# The figures are the worst of the tables in docs/intervals.md and docs/repeats.md.
MEANS = "in simulations intervals of such means missed the true one in up to 15% of cases instead of 5%"
DIFFERENCES = (
    "in simulations intervals of such differences missed the true one in up to 15% of cases instead of 5%, tests at "
    "0.05 found one where there was none in up to 14%, and models that differed by the margin were called the same in "
    "up to 20%"
)
VARIANCES = "in simulations intervals of such variances missed the true one in up to 36% of cases instead of 5%"


def warn_of_skewness(
    series: Iterable[Floats],
    clusters: NDArray[np.intp],
    consequence: str,
    *,
    of: str,
    drawn: str,
    most: float = MOST_SKEWNESS,
) -> None:
    """Warn of the means of several series that are more skewed than `most`.

    Parameters
    ----------
    series : iterable of array of float, shape (units,)
        Series whose interval is shown, nan where a unit has no value.
    clusters : array of int, shape (units,)
        The cluster of each unit.
    consequence : str
        What is then wrong: `MEANS`, `DIFFERENCES` or `VARIANCES`.
    of, drawn : str
        What the values are of, such as a metric, and what is resampled, in the singular.
    most : float
        The most skewness that does no harm.

    Warns
    -----
    SkewedScoresWarning
        Where a mean is that skewed.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for scores in ([0, 0, 1, 1], [0, 0, 0, 1]):
    ...         warn_of_skewness(np.array([scores]), np.arange(4), "beware", of="points", drawn="person")
    >>> [str(warning.message) for warning in caught]
    ['points: few far scores decide 1 of 1 mean of so few persons (skewness up to 0.58, above 0.2): beware']
    """
    found = [float(np.abs(skewness_of_mean(values, clusters))[0]) for values in series]
    skewed = [one for one in found if one > most]
    if skewed:
        warnings.warn(
            f"{of}: few far scores decide {len(skewed)} of {plural(len(found), 'mean')} of so few {drawn}s "
            f"(skewness up to {max(skewed):.2f}, above {most:g}): {consequence}",
            SkewedScoresWarning,
            stacklevel=3,
        )


def warn_of_variance(values: Floats, clusters: NDArray[np.intp], *, of: str, drawn: str) -> None:
    """Warn where few far units decide the variance of units, of values (rows, units): a mean of squared deviations.

    The interval of a variance is symmetric on the scale of logarithms, which allows for twice the skewness.
    """
    units = values.mean(axis=0)
    squares = (units - units.mean()) ** 2
    warn_of_skewness(
        [squares], clusters, VARIANCES, of=f"squared deviations of {of}", drawn=drawn, most=2 * MOST_SKEWNESS
    )
