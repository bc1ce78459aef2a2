"""Agreement of raters and of measures: kappa, alpha, correlations, and their intervals over resamples.

Conventions: agreement
----------------------
Each measure is ``1 - observed / expected``: how much raters disagree, over how much they would by chance. 1 is perfect
agreement, 0 is chance, below 0 is systematic disagreement. Where chance could not disagree, since a single category
is used, it is undefined. A category is a number or a text; weights and levels that measure distance need numbers.

Measures
--------
- Cohen's kappa [1]_, weighted kappa [2]_: two raters, who each keep to their own distribution of categories.
- Fleiss' kappa [3]_: the same number of ratings for every unit, by anybody.
- Krippendorff's alpha [4]_: any number of raters, any level of measurement, ratings may be missing.

Conventions: correlation
------------------------
Equal values share the mean of their ranks. The functions named ``*_rows`` take many pairs of lists at once, a row each.

Statistics
----------
- Spearman's rho [5]_.
- Kendall's tau-b [6]_.

References
----------
.. [1] Cohen (1960), A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20, 37-46.
.. [2] Cohen (1968), Weighted kappa, Psychol. Bull. 70, 213-220.
.. [3] Fleiss (1971), Measuring nominal scale agreement among many raters, Psychol. Bull. 76, 378-382.
.. [4] Krippendorff (2019), Content Analysis, 4th ed., chapter 12.
.. [5] Spearman (1904), The proof and measurement of association between two things, Am. J. Psychol. 15, 72-101.
.. [6] Kendall (1945), The treatment of ties in ranking problems, Biometrika 33, 239-251.
"""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, defined
from attune_metrics.stats.bootstrap import Interval, Method, Resamples, bootstrap, point_estimate
from attune_metrics.stats.sums import (
    Floats,
    Statistic,
    average_ranks,
    check_array,
    check_same_shape,
    ratio,
    weighted_sums,
)


def as_categories(ratings: object, name: str, *shape: str, numeric: str | None = None) -> Floats:
    """Return ratings as floats, nan where missing; texts become their places in alphabetical order.

    `numeric` names what cannot use texts, for the message.
    """
    given = np.asarray(ratings, dtype=object)
    texts = sorted({item for item in given.flat if isinstance(item, str)})
    if texts and numeric:
        raise MetricInputError(f"{name}: {texts[0]!r:.60} is a text; {numeric} needs numbers")
    if texts:
        given = _replace(given, texts, name)
    rated = check_array(given, name, *shape)
    if np.isinf(rated).any():
        raise MetricInputError(f"{name}: {rated[np.isinf(rated)][0]} is infinite; a missing rating is nan")
    return rated


def _replace(given: NDArray[np.object_], texts: list[str], name: str) -> NDArray[np.object_]:
    items: list[object] = given.ravel().tolist()
    for item in items:
        if isinstance(item, Real) and item == item:  # noqa: PLR0124 (nan is the one value unequal to itself)
            raise MetricInputError(f"{name}: texts and numbers are mixed, such as {texts[0]!r:.60} and {item!r}")
    replaced = given.copy()
    for number, text in enumerate(texts):
        replaced[given == text] = number
    return replaced


def tally_units(rated: Floats) -> tuple[Floats, Floats]:
    """Return the values that occur, sorted, and how often each occurs in each unit, shape (units, values)."""
    values = np.unique(rated[~np.isnan(rated)])
    tally = np.zeros((len(rated), len(values)))
    units, _ = present = np.nonzero(~np.isnan(rated))
    np.add.at(tally, (units, np.searchsorted(values, rated[present])), 1)
    return values, tally


KappaWeights = Literal["linear", "quadratic"]
KappaDistances = Literal["value", "rank"]
# ArrayLike does not include a list of texts with None among them.
Ratings = ArrayLike | Sequence[object]
MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]


def cohen_sums(
    reference: Ratings, predicted: Ratings, weights: KappaWeights | None, by: KappaDistances
) -> tuple[Floats, Statistic]:
    """Return the sums of Cohen's kappa, after checking its input; `attune_metrics.stats.agreement.cohen_kappa`."""
    if weights not in (None, "linear", "quadratic"):
        raise MetricInputError(f"unknown weights {weights!r}; known: linear, quadratic, or None")
    if by not in ("value", "rank"):
        raise MetricInputError(f"unknown by {by!r}; known: value, rank")
    if by == "rank" and weights is None:
        raise MetricInputError("by='rank' says how weights measure distance, and there are no weights; give them too")
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
    places = np.arange(len(values)) if by == "rank" else values
    apart = np.abs(places - places[:, np.newaxis]).astype(float)
    distance = {None: np.sign(apart), "linear": apart, "quadratic": apart**2}[weights]
    disagreement = (weighted_sums(one, distance) * other).sum(axis=1)

    def statistic(sums: Floats, n: Floats) -> Floats:
        truths, guesses = np.split(sums[..., 1:], 2, axis=-1)
        kappa: Floats = 1 - sums[..., 0] * n / (weighted_sums(truths, distance) * guesses).sum(axis=-1)
        return kappa

    return np.vstack([disagreement, one.T, other.T]), statistic


def fleiss_sums(ratings: Ratings) -> tuple[Floats, Statistic]:
    """Return the sums of Fleiss' kappa, after checking its input; `attune_metrics.stats.agreement.fleiss_kappa`."""
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


def krippendorff_sums(ratings: Ratings, level: MeasurementLevel) -> tuple[Floats, Statistic]:
    """Return the sums of alpha, after checking its input; `attune_metrics.stats.agreement.krippendorff_alpha`."""
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
    disagreement = (weighted_sums(tally, distance) * tally).sum(axis=1) * share

    def statistic(sums: Floats, _: Floats) -> Floats:
        totals = sums[..., 1:]
        return _alpha(sums[..., 0], (weighted_sums(totals, distance) * totals).sum(axis=-1), totals)

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
        As for `cohen_kappa`; the given ratings have the same ranks in every resample.
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
    >>> from attune_metrics.stats.bootstrap import draw_resamples
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

    Takes `ratings` as `fleiss_kappa`; other parameters, result and errors as for `cohen_kappa_interval`.

    Examples
    --------
    >>> from attune_metrics.stats.bootstrap import draw_resamples
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

    Takes `ratings` and `level` as `krippendorff_alpha`; other parameters, result and errors as for
    `cohen_kappa_interval`. A unit with fewer than two ratings has no value and is not counted in ``n``.

    Notes
    -----
    Krippendorff's own bootstrap draws disagreements of pairs; here units are drawn, with all their ratings, so that
    ratings of one unit stay together.

    Examples
    --------
    >>> from attune_metrics.stats.bootstrap import draw_resamples
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


_UNDEFINED = "it needs values that differ on each side, and none missing"


def spearman_rho(reference: ArrayLike, predicted: ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's correlation of the ranks, ties sharing their mean rank.

    Parameters
    ----------
    reference, predicted : array_like, shape (n,)
        Numbers on any scale; only their order matters.

    Returns
    -------
    float
        -1 to 1, higher is better, 0 is no association. nan, with `UndefinedMetricWarning`, if one side is constant or
        has a missing value.

    Raises
    ------
    MetricInputError
        If a value is not a number or the lengths differ.

    Examples
    --------
    >>> round(spearman_rho([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]), 4)
    0.8208
    """
    rho = spearman_rho_rows(*_rows_of_one(reference, predicted))[0]
    return defined(float(rho), "spearman_rho", _UNDEFINED)


def kendall_tau_b(reference: ArrayLike, predicted: ArrayLike) -> float:
    """Kendall's tau-b: ``(concordant - discordant) / sqrt(untied in reference * untied in predicted)`` over all pairs.

    Takes and raises what `spearman_rho` does.

    Returns
    -------
    float
        -1 to 1, higher is better, 0 is no association. nan, with `UndefinedMetricWarning`, if one side is constant or
        has a missing value.

    Notes
    -----
    `pairwise_kendall_tau` is another statistic: it ranks responses by wins and breaks ties by name.

    Examples
    --------
    >>> round(kendall_tau_b([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]), 4)
    -0.4714
    """
    tau = kendall_tau_b_rows(*_rows_of_one(reference, predicted))[0]
    return defined(float(tau), "kendall_tau_b", _UNDEFINED)


def spearman_rho_rows(reference: ArrayLike, predicted: ArrayLike) -> Floats:
    """Spearman's rho of each row of `reference` with the same row of `predicted`; see `spearman_rho`.

    Parameters
    ----------
    reference, predicted : array_like, shape (rows, n)

    Returns
    -------
    array, shape (rows,)
        nan, without a warning, for a row where one side is constant or has a missing value.

    Raises
    ------
    MetricInputError
        If a value is not a number or the shapes differ.

    Examples
    --------
    >>> spearman_rho_rows([[1, 2, 3], [1, 2, 3]], [[2, 4, 6], [9, 5, 1]]).tolist()
    [1.0, -1.0]
    """
    return correlation_of_ranks(*_ranks_of_both(reference, predicted))


def correlation_of_ranks(reference: Floats, predicted: Floats) -> Floats:
    """Return `spearman_rho_rows` of rows that are ranks already, as `attune_metrics.stats.sums.average_ranks` does."""
    x, y = (ranks - (ranks.shape[-1] + 1) / 2 for ranks in (reference, predicted))
    return ratio((x * y).sum(axis=-1), np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1)))


def kendall_tau_b_rows(reference: ArrayLike, predicted: ArrayLike) -> Floats:
    """Kendall's tau-b of each row of `reference` with the same row of `predicted`; see `kendall_tau_b`.

    Takes, returns and raises what `spearman_rho_rows` does.

    Notes
    -----
    Time grows with the square of the length of a row, memory does not.

    Examples
    --------
    >>> kendall_tau_b_rows([[1, 2, 3], [1, 2, 3]], [[2, 4, 6], [9, 5, 1]]).tolist()
    [1.0, -1.0]
    """
    x, y = _ranks_of_both(reference, predicted)
    balance, untied_x, untied_y = np.zeros((3, len(x)))
    for lag in range(1, x.shape[1]):
        up_x, up_y = (np.sign(ranks[:, lag:] - ranks[:, :-lag]) for ranks in (x, y))
        balance += (up_x * up_y).sum(axis=-1)
        untied_x += np.abs(up_x).sum(axis=-1)
        untied_y += np.abs(up_y).sum(axis=-1)
    return ratio(balance, np.sqrt(untied_x * untied_y))


def _rows_of_one(reference: ArrayLike, predicted: ArrayLike) -> tuple[Floats, Floats]:
    truth = check_array(reference, "reference", "n")
    guess = check_array(predicted, "predicted", "n")
    check_same_shape(truth, guess)
    return truth[np.newaxis], guess[np.newaxis]


def _ranks_of_both(reference: ArrayLike, predicted: ArrayLike) -> tuple[Floats, Floats]:
    truth = check_array(reference, "reference", "rows", "n")
    guess = check_array(predicted, "predicted", "rows", "n")
    check_same_shape(truth, guess)
    return average_ranks(truth), average_ranks(guess)
