"""Agreement of raters beyond chance: Cohen's kappa, Fleiss' kappa, Krippendorff's alpha, with their intervals.

Conventions
-----------
Each measure is ``1 - observed / expected``: how much raters disagree, over how much they would by chance. 1 is perfect
agreement, 0 is chance, below 0 is systematic disagreement. Where chance could not disagree, since a single category
is used, it is undefined. A category is a number or a text; weights and levels that measure distance need numbers.

Measures
--------
- Cohen's kappa [1]_, weighted kappa [2]_: two raters, who each keep to their own distribution of categories.
- Fleiss' kappa [3]_: the same number of ratings for every unit, by anybody.
- Krippendorff's alpha [4]_: any number of raters, any level of measurement, ratings may be missing.

References
----------
.. [1] Cohen (1960), A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20, 37-46.
.. [2] Cohen (1968), Weighted kappa, Psychol. Bull. 70, 213-220.
.. [3] Fleiss (1971), Measuring nominal scale agreement among many raters, Psychol. Bull. 76, 378-382.
.. [4] Krippendorff (2019), Content Analysis, 4th ed., chapter 12.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.checks import defined
from attune_metrics.errors import MetricInputError
from attune_metrics.stats._ratings import as_categories, tally_units
from attune_metrics.stats.arrays import Floats, check_same_shape
from attune_metrics.stats.resampling import Interval, Method, Resamples, bootstrap
from attune_metrics.stats.statistics import point_estimate
from attune_metrics.stats.sums import Statistic

__all__ = [
    "KappaWeights",
    "MeasurementLevel",
    "Ratings",
    "cohen_kappa",
    "cohen_kappa_interval",
    "fleiss_kappa",
    "fleiss_kappa_interval",
    "krippendorff_alpha",
    "krippendorff_alpha_interval",
]

KappaWeights = Literal["linear", "quadratic"]
# ArrayLike does not include a list of texts with None among them.
Ratings = ArrayLike | Sequence[object]
MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]

_CONSTANT = "it needs units that are rated twice, and two different categories"


def cohen_kappa(reference: Ratings, predicted: Ratings, *, weights: KappaWeights | None = None) -> float:
    """Cohen's kappa of two raters: ``1 - observed / expected`` disagreement.

    Expected is the mean disagreement of every rating of one side with every rating of the other.

    Parameters
    ----------
    reference, predicted : array_like, shape (units,)
        The category that each side gives a unit, a number or a text; no missing ones.
    weights : {"linear", "quadratic"}, optional
        How far two categories disagree: by the distance of the numbers, or its square. Without weights, every two
        different categories disagree by 1.

    Returns
    -------
    float
        At most 1, higher is better, 0 is chance; symmetric. nan, with `UndefinedMetricWarning`, without units or
        where both sides use only one and the same category.

    Raises
    ------
    MetricInputError
        If the weights are unknown, the lengths differ, a category is missing, or it is a text and has weights.

    Notes
    -----
    Distances are those of the numbers themselves. Where categories are not an evenly spaced scale, give their
    positions; then the value is that of scikit-learn, which takes positions among the categories that occur.

    Examples
    --------
    >>> cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
    0.5
    >>> cohen_kappa([1, 2, 3, 3], [1, 2, 3, 1], weights="quadratic")
    0.3846153846153846
    """
    return _value("cohen_kappa", *_cohen(reference, predicted, weights))


def cohen_kappa_interval(
    reference: Ratings,
    predicted: Ratings,
    resamples: Resamples,
    *,
    weights: KappaWeights | None = None,
    method: Method = "percentile-expanded",
    confidence: float = 0.95,
) -> Interval:
    """Bootstrap interval of Cohen's kappa, over units or whole clusters of them.

    Parameters
    ----------
    reference, predicted, weights
        As for `cohen_kappa`.
    resamples : Resamples
        From `draw_resamples` over the same units.
    method : {"percentile-expanded", "percentile", "bca"}
        As for `bootstrap`.
    confidence : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Interval
        The ends are nan, and its ``reason`` says why, where `bootstrap` gives none; no warning.

    Raises
    ------
    MetricInputError
        As `cohen_kappa` and `bootstrap`.

    Examples
    --------
    >>> from attune_metrics.stats.resampling import draw_resamples
    >>> resamples = draw_resamples(range(8), seed=1)
    >>> interval = cohen_kappa_interval([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 1], resamples)
    >>> interval.estimate, interval.n, interval.low < 0.5 < interval.high
    (0.5, 8, True)
    """
    return _interval(resamples, method, confidence, *_cohen(reference, predicted, weights))


def fleiss_kappa(ratings: Ratings) -> float:
    """Fleiss' kappa: ``1 - observed / expected`` disagreement, all raters sharing one distribution of categories.

    Observed is the share of pairs of ratings of one unit that differ, expected is ``1 - sum(share**2)`` over the
    shares of the categories.

    Parameters
    ----------
    ratings : array_like, shape (units, raters)
        Categories, numbers or texts; nan or None where a rater did not rate a unit. Every unit needs the same number of
        ratings, not the same raters.

    Returns
    -------
    float
        At most 1, higher is better, 0 is chance. nan, with `UndefinedMetricWarning`, without units, with
        one rating a unit, or with one category only.

    Raises
    ------
    MetricInputError
        If units have different numbers of ratings (see `krippendorff_alpha`), or texts and numbers are mixed.

    Examples
    --------
    >>> round(fleiss_kappa([["yes", "yes"], ["yes", "no"], ["no", "no"]]), 4)
    0.3333
    """
    return _value("fleiss_kappa", *_fleiss(ratings))


def fleiss_kappa_interval(
    ratings: Ratings, resamples: Resamples, *, method: Method = "percentile-expanded", confidence: float = 0.95
) -> Interval:
    """Bootstrap interval of Fleiss' kappa, over units or whole clusters of them.

    Takes `ratings` as `fleiss_kappa`; for the rest, what is returned and what is raised see `cohen_kappa_interval`.

    Examples
    --------
    >>> from attune_metrics.stats.resampling import draw_resamples
    >>> ratings = [["yes", "yes"], ["yes", "no"], ["no", "no"], ["no", "no"], ["yes", "yes"], ["no", "yes"]]
    >>> interval = fleiss_kappa_interval(ratings, draw_resamples(range(6)), method="percentile")
    >>> round(interval.estimate, 4), interval.high
    (0.3333, 1.0)
    """
    return _interval(resamples, method, confidence, *_fleiss(ratings))


def krippendorff_alpha(ratings: Ratings, *, level: MeasurementLevel) -> float:
    """Krippendorff's alpha: ``1 - observed / expected`` disagreement, over all pairs of ratings.

    Observed pairs are of one unit, each unit with the weight of its ratings; expected pairs are any two ratings.

    Parameters
    ----------
    ratings : array_like, shape (units, raters)
        Numbers, at nominal level also texts; nan or None where a rater did not rate a unit. Units with fewer than two
        ratings are left out.
    level : {"nominal", "ordinal", "interval", "ratio"}
        What the disagreement of two values is: 1 if they differ; the squared number of ratings from the one to the
        other, the ends counted half; the squared difference; the squared difference over the squared sum.

    Returns
    -------
    float
        At most 1, higher is better, 0 is chance. nan, with `UndefinedMetricWarning`, if no unit has two ratings or all
        ratings are equal.

    Raises
    ------
    MetricInputError
        If the level is unknown, a text is rated at a level other than nominal, a number is infinite, or it is negative
        at ratio level.

    Notes
    -----
    Memory grows with the square of the number of different values, at ordinal level times the number of units.

    Examples
    --------
    >>> krippendorff_alpha([[1, 1, None], [2, 2, 3], [3, 3, 3]], level="nominal")
    0.65
    """
    return _value("krippendorff_alpha", *_krippendorff(ratings, level))


def krippendorff_alpha_interval(
    ratings: Ratings,
    resamples: Resamples,
    *,
    level: MeasurementLevel,
    method: Method = "percentile-expanded",
    confidence: float = 0.95,
) -> Interval:
    """Bootstrap interval of Krippendorff's alpha, over units or whole clusters of them.

    Takes `ratings` and `level` as `krippendorff_alpha`; for the rest, what is returned and what is raised see
    `cohen_kappa_interval`. A unit with fewer than two ratings has no value and is not counted in ``n``.

    Notes
    -----
    Krippendorff's own bootstrap draws disagreements of pairs; here units are drawn, with all their ratings, so that
    ratings of one unit stay together.

    Examples
    --------
    >>> from attune_metrics.stats.resampling import draw_resamples
    >>> ratings = [[1, 1, None], [2, 2, 3], [3, 3, 3], [1, None, None], [1, 2, 1], [5, 4, 5]]
    >>> interval = krippendorff_alpha_interval(ratings, draw_resamples(range(6)), level="ordinal")
    >>> interval.n, interval.low < interval.estimate < interval.high
    (5, True)
    """
    return _interval(resamples, method, confidence, *_krippendorff(ratings, level))


def _value(name: str, terms: Floats, statistic: Statistic) -> float:
    return defined(float(point_estimate(terms[np.newaxis], statistic=statistic)[0]), name, _CONSTANT)


def _interval(resamples: Resamples, method: Method, confidence: float, terms: Floats, statistic: Statistic) -> Interval:
    [interval] = bootstrap(terms[np.newaxis], resamples, statistic=statistic, method=method, level=confidence)
    return interval


# Each measure as sums over units, of shape (terms, units), and the statistic of these sums.


def _cohen(reference: Ratings, predicted: Ratings, weights: KappaWeights | None) -> tuple[Floats, Statistic]:
    if weights not in (None, "linear", "quadratic"):
        raise MetricInputError(f"unknown weights {weights!r}; known: linear, quadratic, or None")
    truth, guess = (np.asarray(side, dtype=object) for side in (reference, predicted))
    check_same_shape(truth, guess)
    if truth.ndim != 1:
        raise MetricInputError(f"reference has shape {truth.shape}; expected one rating for each unit")
    numeric = f"{weights} weighting" if weights else None
    pairs = as_categories(
        np.stack([truth, guess], axis=1), "reference or predicted", "units", "raters", numeric=numeric
    )
    if (missing := np.flatnonzero(np.isnan(pairs).any(axis=1))).size:
        raise MetricInputError(f"unit {missing[0]} lacks a rating; leave it out on both sides")
    values, codes = np.unique(pairs, return_inverse=True)
    one, other = np.eye(len(values))[codes.reshape(pairs.shape)].swapaxes(0, 1)
    apart = np.abs(values - values[:, np.newaxis])
    distance = {None: (apart > 0).astype(float), "linear": apart, "quadratic": apart**2}[weights]
    disagreement = ((one @ distance) * other).sum(axis=1)

    def statistic(sums: Floats, n: Floats) -> Floats:
        truths, guesses = np.split(sums[..., 1:], 2, axis=-1)
        kappa: Floats = 1 - sums[..., 0] * n / ((truths @ distance) * guesses).sum(axis=-1)
        return kappa

    return np.vstack([disagreement, one.T, other.T]), statistic


def _fleiss(ratings: Ratings) -> tuple[Floats, Statistic]:
    _, tally = tally_units(as_categories(ratings, "ratings", "units", "raters"))
    m = tally.sum(axis=1)
    if (odd := np.flatnonzero(m != m[:1])).size:
        raise MetricInputError(
            f"unit {odd[0]} has {m[odd[0]]:g} ratings and unit 0 has {m[0]:g}; Fleiss' kappa needs equal numbers, "
            "krippendorff_alpha does not"
        )
    # Ordered pairs of ratings that differ: of one unit, and of all.
    differ = m**2 - (tally**2).sum(axis=1)

    def statistic(sums: Floats, n: Floats) -> Floats:
        totals = sums[..., 1:]
        each = totals.sum(axis=-1) / n
        expected = (n * each) ** 2 - (totals**2).sum(axis=-1)
        kappa: Floats = 1 - sums[..., 0] * n * each / ((each - 1) * expected)
        return kappa

    return np.vstack([differ, tally.T]), statistic


def _krippendorff(ratings: Ratings, level: MeasurementLevel) -> tuple[Floats, Statistic]:
    if level not in ("nominal", "ordinal", "interval", "ratio"):
        raise MetricInputError(f"unknown level {level!r}; known: nominal, ordinal, interval, ratio")
    numeric = None if level == "nominal" else f"the {level} level"
    values, tally = tally_units(as_categories(ratings, "ratings", "units", "raters", numeric=numeric))
    if level == "ratio" and (values < 0).any():
        raise MetricInputError(f"rating {values[0]:g} is negative; a ratio scale starts at 0")
    # Each rating is paired with the m - 1 others of its unit; a lone rating leaves its unit without a value.
    m = tally.sum(axis=1)
    share = np.divide(1, m - 1, out=np.full_like(m, np.nan), where=m > 1)

    if level == "ordinal":
        # The distance depends on how often values occur, hence on the resample: so the pairs themselves are summed.
        k = len(values)
        pairs = tally[:, :, np.newaxis] * tally[:, np.newaxis, :] - tally[:, :, np.newaxis] * np.eye(k)
        pairs *= share[:, np.newaxis, np.newaxis]

        def ordinal(sums: Floats, _: Floats) -> Floats:
            observed = sums[..., 1:].reshape(*sums.shape[:-1], k, k)
            totals = observed.sum(axis=-1)
            ranks = np.cumsum(totals, axis=-1) - totals / 2
            distance = (ranks[..., np.newaxis] - ranks[..., np.newaxis, :]) ** 2
            expected = totals[..., np.newaxis] * totals[..., np.newaxis, :]
            return _alpha((observed * distance).sum(axis=(-1, -2)), (expected * distance).sum(axis=(-1, -2)), totals)

        return np.vstack([share, pairs.reshape(len(pairs), k * k).T]), ordinal

    distance = _DISTANCES[level](values[:, np.newaxis], values)
    disagreement = ((tally @ distance) * tally).sum(axis=1) * share

    def statistic(sums: Floats, _: Floats) -> Floats:
        totals = sums[..., 1:]
        return _alpha(sums[..., 0], ((totals @ distance) * totals).sum(axis=-1), totals)

    return np.vstack([disagreement, tally.T]), statistic


def _alpha(observed: Floats, expected: Floats, totals: Floats) -> Floats:
    alpha: Floats = 1 - observed * (totals.sum(axis=-1) - 1) / expected
    return alpha


def _ratio_distance(one: Floats, other: Floats) -> Floats:
    both = one + other
    # Two zeros do not differ.
    return np.divide(one - other, both, out=np.zeros_like(both), where=both != 0) ** 2


_DISTANCES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "nominal": lambda one, other: (one != other).astype(float),
    "interval": lambda one, other: (one - other) ** 2,
    "ratio": _ratio_distance,
}
