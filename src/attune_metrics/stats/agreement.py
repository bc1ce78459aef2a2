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

import numpy as np

from attune_metrics.checks import defined
from attune_metrics.stats._agreement_sums import (
    KappaDistances,
    KappaWeights,
    MeasurementLevel,
    Ratings,
    cohen_sums,
    fleiss_sums,
    krippendorff_sums,
)
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.resampling import Interval, Method, Resamples, bootstrap
from attune_metrics.stats.statistics import point_estimate
from attune_metrics.stats.sums import Statistic

__all__ = [
    "KappaDistances",
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

_CONSTANT = "it needs units that are rated twice, and two different categories"


def cohen_kappa(
    reference: Ratings, predicted: Ratings, *, weights: KappaWeights | None = None, by: KappaDistances = "value"
) -> float:
    """Cohen's kappa of two raters: ``1 - observed / expected`` disagreement.

    Expected is the mean disagreement of every rating of one side with every rating of the other.

    Parameters
    ----------
    reference, predicted : array_like, shape (units,)
        The category that each side gives a unit, a number or a text; no missing ones.
    weights : {"linear", "quadratic"}, optional
        How far two categories disagree: by their distance, or its square. Without weights, every two different
        categories disagree by 1.
    by : {"value", "rank"}
        Between what weights measure distance: the numbers, or their ranks among those that either side uses.

    Returns
    -------
    float
        At most 1, higher is better, 0 is chance; symmetric. nan, with `UndefinedMetricWarning`, without units or
        where both sides use only one and the same category.

    Raises
    ------
    MetricInputError
        If `weights` or `by` is unknown, ranks are asked for without weights, the lengths differ, a category is
        missing, or it is a text and has weights.

    Notes
    -----
    Publications use both distances, and they differ where a level of the scale is not used, or ratings are fractions:
    of 1, 2 and 5 the numbers 2 and 5 are 3 apart, their ranks 1. scikit-learn measures between ranks. A scale that is
    evenly spaced has its distances by value, whichever levels occur; by rank, kappa depends on them.

    Examples
    --------
    >>> cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
    0.5
    >>> cohen_kappa([1, 2, 3, 3], [1, 2, 3, 1], weights="quadratic")
    0.3846153846153846
    >>> one, other = [1, 2, 5, 5], [1, 2, 5, 1]  # no 3 or 4: the ranks are those above
    >>> cohen_kappa(one, other, weights="quadratic", by="rank")
    0.3846153846153846
    >>> round(cohen_kappa(one, other, weights="quadratic"), 4)
    0.4182
    """
    return _value("cohen_kappa", *cohen_sums(reference, predicted, weights, by))


def cohen_kappa_interval(
    reference: Ratings,
    predicted: Ratings,
    resamples: Resamples,
    *,
    weights: KappaWeights | None = None,
    by: KappaDistances = "value",
    method: Method = "percentile-expanded",
    confidence: float = 0.95,
) -> Interval:
    """Bootstrap interval of Cohen's kappa, over units or whole clusters of them.

    Parameters
    ----------
    reference, predicted, weights, by
        As for `cohen_kappa`; ranks are those of the ratings given, in every resample.
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
    return _interval(resamples, method, confidence, *cohen_sums(reference, predicted, weights, by))


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
    return _value("fleiss_kappa", *fleiss_sums(ratings))


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
    return _interval(resamples, method, confidence, *fleiss_sums(ratings))


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
    return _value("krippendorff_alpha", *krippendorff_sums(ratings, level))


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
    return _interval(resamples, method, confidence, *krippendorff_sums(ratings, level))


def _value(name: str, terms: Floats, statistic: Statistic) -> float:
    return defined(float(point_estimate(terms[np.newaxis], statistic=statistic)[0]), name, _CONSTANT)


def _interval(resamples: Resamples, method: Method, confidence: float, terms: Floats, statistic: Statistic) -> Interval:
    [interval] = bootstrap(terms[np.newaxis], resamples, statistic=statistic, method=method, level=confidence)
    return interval
