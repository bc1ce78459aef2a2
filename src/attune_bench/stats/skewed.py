"""The warning of means whose scores are too skewed, for so few participants, for their intervals and tests."""

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from attune_data.text import listed, plural
from attune_metrics.metric import SkewedScoresWarning
from attune_metrics.stats.bootstrap import Floats
from attune_metrics.stats.skewness import MOST_SKEWNESS, skewness_of_mean

__all__ = ["DIFFERENCES", "MEANS", "VARIANCES", "SkewedMeans"]

# The figures are the worst of the tables in docs/intervals.md and docs/repeats.md.
MEANS = "in simulations intervals of such means missed the true one in up to 15% of cases instead of 5%"
DIFFERENCES = (
    "in simulations intervals of such differences missed the true one in up to 15% of cases instead of 5%, tests at "
    "0.05 found one where there was none in up to 14%, and models that differed by the margin were called the same in "
    "up to 20%"
)
VARIANCES = "in simulations intervals of such variances missed the true one in up to 36% of cases instead of 5%"


class SkewedMeans:
    """The skewness of every mean of an analysis that has an interval, by metric, to warn of all at once.

    Examples
    --------
    >>> found = SkewedMeans()
    >>> found.add(np.array([[0, 0, 1, 1], [0, 0, 0, 1]]), np.arange(4), of="points", drawn="person")
    >>> found.add(np.array([[0, 0, 0, 9]]), np.arange(4), of="seconds", drawn="person")
    >>> found.add(np.array([[1, 2, 3, 4]]), np.arange(4), of="words", drawn="person")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found.warn_of_means()
    >>> str(caught[0].message).partition(" (")[0]
    'points, seconds: few far scores decide 2 of 3 means of so few persons'
    """

    def __init__(self) -> None:
        self._by_metric: dict[str, list[float]] = {}
        self._drawn = ""

    def add(self, series: Iterable[Floats], clusters: NDArray[np.intp], *, of: str, drawn: str) -> None:
        """Add means of a metric.

        Parameters
        ----------
        series : iterable of array of float, shape (units,)
            Series whose interval is shown, nan where a unit has no value.
        clusters : array of int, shape (units,)
            The cluster of each unit.
        of, drawn : str
            The metric, and what is resampled, in the singular.
        """
        found = self._by_metric.setdefault(of, [])
        found += [float(np.abs(skewness_of_mean(values, clusters))[0]) for values in series]
        self._drawn = drawn

    def add_variance(self, values: Floats, clusters: NDArray[np.intp], *, of: str, drawn: str) -> None:
        """Add the variance of units, of values (rows, units): a mean of squared deviations."""
        units = values.mean(axis=0)
        self.add([(units - units.mean()) ** 2], clusters, of=of, drawn=drawn)

    def warn_of_means(self) -> None:
        """Warn where few far scores decide means."""
        self._warn(MEANS)

    def warn_of_differences(self) -> None:
        """Warn where few far differences decide mean differences."""
        self._warn(DIFFERENCES, of="differences of ")

    def warn_of_variances(self) -> None:
        """Warn where few far units decide variances.

        The interval of a variance is symmetric on the scale of logarithms, which allows for twice the skewness.
        """
        self._warn(VARIANCES, of="squared deviations of ", most=2 * MOST_SKEWNESS)

    def _warn(self, consequence: str, *, of: str = "", most: float = MOST_SKEWNESS) -> None:
        """Warn of the metrics of which a mean is more skewed than `most`, counting the means of these metrics."""
        skewed = {name: means for name, means in self._by_metric.items() if any(one > most for one in means)}
        if not skewed:
            return
        means = [one for own in skewed.values() for one in own]
        above = [one for one in means if one > most]
        warnings.warn(
            f"{of}{listed(list(skewed))}: few far scores decide {len(above)} of {plural(len(means), 'mean')} of so few "
            f"{self._drawn}s (skewness up to {max(above):.2f}, above {most:g}): {consequence}",
            SkewedScoresWarning,
            stacklevel=4,
        )
