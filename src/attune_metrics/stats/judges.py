"""Judges against people: a judge's mean corrected by people's ratings, and a judge's agreement with experts.

Corrected mean
--------------
Every unit has a judge's score j. A random part of the units also has a person's rating h on the same scale; h is nan
elsewhere. A unit without a judge's score is left out. The corrected mean is:

    mean of h over the rated + b (mean of j over all - mean of j over the rated)

with ``b = cov(h, j) / var(j)`` over the rated units. This is prediction-powered inference [1]_ with a slope estimated
from the data [2]_, the regression estimator of survey statistics [3]_. It estimates the mean of h however good or bad
the judge is; a judge that follows people makes the estimate precise. The corrected mean is a function of weighted sums
(of L, which is 1 for a rated unit and 0 otherwise, and of L h, L j, L h j, L j^2 and j), so the bootstrap over clusters
of `attune_metrics.stats.bootstrap` gives its interval. Quantiles are expanded by the number of clusters with a rating:
few ratings limit the precision, not few scores.

Agreement with experts
----------------------
Several raters rate the same units; some raters are experts, the others judges. Two raters agree by Cohen's kappa
(`attune_metrics.stats.agreement.cohen_kappa`) on the units that both rated. A judge's agreement is the mean of its
kappas with each expert. The experts' agreement is the mean kappa over all pairs of experts. The difference, judge minus
experts, says whether the judge could replace one more expert. All three come from the same resamples of units, or of
clusters of units, so the interval of the difference is a paired one: units that are hard to rate are hard for both.

An interval that contains 0 does not show that a judge agrees as well as an expert: there may be too few data. Choose a
margin, the largest loss of agreement that does not matter, before you see the data. The judge is non-inferior where the
whole interval lies above -margin.

The *shift* is the mean difference between the ratings of two raters of the same units. A score that averages a judge's
ratings changes by the shift if the judge is exchanged for another rater. A shift lowers kappa too; together they say
whether raters differ in the order of the units or in the level of the scale.

Coverage
--------
``benchmarks/prediction_powered.py`` simulates 95% intervals, of 200 units with 6 to 100 ratings; docs/judges.md has
the table. Where chance chose the rated units they cover 93.3 to 98.5%, alone, in clusters of 5 and with one cluster of
30% of the units, rated unit by unit or as whole clusters, of means and of differences. They cover less than 93% only
where chance did not choose:

- units that people like best: 0%; the warning that rated units are unlike the others comes in 97.5% of cases;
- none of a kind of unit, a fifth of all, that people like less and the judge as well as any: 68%, and nothing in the
  data can warn of it.

p-values of differences between systems that people like alike are below 0.05 in 4.1 to 5.9% of 2,000 simulations where
drafts are rated, balanced or with a dominant cluster, and in 3.3 to 3.9% where whole clusters are, mostly 12 of them.

References
----------
.. [1] Angelopoulos, Bates, Fannjiang, Jordan, Zrnic (2023), Prediction-powered inference, Science 382, 669-674.
.. [2] Angelopoulos, Duchi, Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453.
.. [3] Cochran (1977), Sampling Techniques, 3rd ed., sections 7.1 to 7.4 and 12.7.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, isnan, nan
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, UnreliableIntervalWarning, check_level, check_number, check_whole
from attune_metrics.stats.agreement import KappaDistances, KappaWeights, cohen_sums
from attune_metrics.stats.bootstrap import (
    Interval,
    Method,
    Resamples,
    bootstrap,
    bootstrap_distribution,
    check_method,
    distributions_of_sums,
    intervals_of,
    mean_of_sums,
    point_estimate,
)
from attune_metrics.stats.equivalence import check_margin
from attune_metrics.stats.power import TwoSided, two_sided_p
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    Statistic,
    as_terms,
    check_array,
    cluster_sums,
    evaluate,
    exact_sums,
    paired_terms,
)


def regression_terms(
    scores: Floats, ratings: Floats, labelled: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """Return L, Lh, Lj, Lhj, Lj^2 and j (series, terms, units), what h lost, what j was divided by, and constant j.

    h begins at its least value; j is 0 at its least and 1 at its greatest value among the rated units, so that squares
    lose no digits and equal scores are exactly equal.
    """
    rated_scores = np.where(labelled, scores, np.nan)
    least, most = (_of_known(extreme, rated_scores) for extreme in (np.fmin, np.fmax))
    floor = _of_known(np.fmin, ratings)
    constant = most - least <= ROUNDING * np.maximum(np.abs(least), np.abs(most))
    spread = np.where(constant, 1.0, most - least)
    j = (scores - least[:, np.newaxis]) / spread[:, np.newaxis]
    h = np.where(labelled, ratings - floor[:, np.newaxis], 0.0)
    rated = np.where(labelled, j, 0.0)
    terms = np.stack([labelled.astype(np.float64), h, rated, h * rated, rated * rated, j], axis=1)
    return terms, floor, spread, constant


def _of_known(extreme: np.ufunc, values: Floats) -> Floats:
    """Return the least or greatest known value of each series, 0 without one."""
    found: Floats = extreme.reduce(values, axis=1, initial=np.nan)
    return np.where(np.isnan(found), 0.0, found)


def _moments(sums: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return L, the mean of h and of j, their covariance and the variance of j among the rated, with 1/L each."""
    labels = sums[..., 0]
    h, j, product, square = (sums[..., term] / labels for term in range(1, 5))
    return labels, h, j, product - h * j, square - j * j


def association(total: Floats, ratings: Floats) -> tuple[Floats, Floats]:
    """Return b, of scaled j, and Pearson's correlation of each series, nan where undefined."""
    with np.errstate(all="ignore"):
        labels, h, _, covariance, variance = _moments(total)
        variance = np.where(variance > ROUNDING, variance, np.nan)
        of_ratings = exact_sums(((ratings - h[:, np.newaxis]) ** 2)[:, np.newaxis])[:, 0] / labels
        correlation = np.clip(covariance / np.sqrt(variance * of_ratings), -1, 1)
        flat = np.nan_to_num(np.fmax.reduce(ratings, axis=1)) <= ROUNDING
        return covariance / variance, np.where(flat, np.nan, correlation)


def regression_estimate(fixed: Floats | None) -> Statistic:
    """Return the corrected mean as a statistic; with a fixed b of each series, in the unit of scaled j, if given."""

    def statistic(sums: Floats, n: Floats) -> Floats:
        _, h, j, covariance, variance = _moments(sums)
        # j is between 0 and 1 among the rated: a smaller variance is rounding.
        slope = np.where(variance > ROUNDING, covariance / variance, np.nan) if fixed is None else fixed
        return np.asarray(h + slope * (sums[..., 5] / n - j))

    return statistic


def unlikeness(sums: Floats, n: Floats) -> Floats:
    """Mean of j over the rated minus that over the others, as a statistic."""
    return np.asarray(sums[..., 2] / sums[..., 0] - (sums[..., 5] - sums[..., 2]) / (n - sums[..., 0]))


def _mean_rating(sums: Floats, n: Floats) -> Floats:  # noqa: ARG001 - of the signature of every statistic
    return np.asarray(sums[..., 6] / sums[..., 0])


def _mean_score(sums: Floats, n: Floats) -> Floats:
    return np.asarray(sums[..., 7] / n)


MIN_LABELS = 30
"""With fewer rated units there is a warning."""

MIN_CORRELATION = 0.5
"""With a weaker correlation of judge and people, of either sign, there is a warning."""

UNLIKE_LEVEL = 0.95
"""Rated units are unlike the others where the interval of this level, of the difference of the judge's mean, excludes
0: of ratings drawn at random, about 5% are warned of."""


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """A judge's mean corrected by people's ratings, beside what either says alone.

    Attributes
    ----------
    corrected : Interval
        The corrected mean in the unit of the ratings, over the units with a score and a rating, which are counted. The
        estimate is never the judge's or the people's mean in disguise: where there is no correction it is nan.
    judge : Interval
        The mean of the judge's scores, of all units, uncorrected.
    people : Interval
        The mean of the ratings, of the rated units alone.
    slope : float
        b, by how much a rating rises with a point of the judge; nan where undefined.
    correlation : float
        Pearson's, of score and rating among the rated units, -1 to 1; nan where either is constant.
    equivalent_ratings : float
        Number of ratings that would give as narrow an interval without a judge: the variance of people's mean divided
        by the variance of the corrected mean, both over resamples, times the number of ratings. Higher is better; the
        number of ratings itself where the judge adds nothing; nan without intervals.
    p_value : float
        Two-sided, uncorrected, that the corrected mean, for instance of a difference, is 0: the smallest alpha at which
        the 1 - alpha interval excludes 0 (`attune_metrics.stats.power`); nan without an interval.
    p_min : float
        The smallest p-value that so many resamples could have given; nan without an interval.
    cautions : tuple of str
        Why the interval may not be worth its name, as the warning says.
    """

    corrected: Interval
    judge: Interval
    people: Interval
    slope: float
    correlation: float
    equivalent_ratings: float
    p_value: float
    p_min: float
    cautions: tuple[str, ...] = ()


def prediction_powered(
    judged: ArrayLike,
    rated: ArrayLike,
    resamples: Resamples,
    *,
    slope: float | None = None,
    method: Method = "percentile-expanded",
    level: float = 0.95,
) -> list[PredictionPowered]:
    """Correct the mean of a judge's scores by people's ratings of a random part, for each series [1]_ [2]_.

    Parameters
    ----------
    judged : array of float, shape (units,) or (series, units)
        The judge's scores, nan where there is none.
    rated : array of float, of the same shape
        People's ratings, nan where nobody rated. They correct for all units only where chance chose the rated ones.
    resamples : Resamples
        From `attune_metrics.stats.bootstrap.draw_resamples` over the same units.
    slope : float, optional
        A fixed b instead of the one from the data: 1 is the first form [1]_, 0 takes people's ratings alone.
    method, level
        As for `attune_metrics.stats.bootstrap.bootstrap`.

    Returns
    -------
    list of PredictionPowered
        One for each series. The corrected estimate is nan, and its ``reason`` says why, with fewer than two ratings,
        and, unless `slope` is given, where the judge's scores of the rated units are equal, so that b is undefined.

    Warns
    -----
    UnreliableIntervalWarning
        For each series: below 30 ratings; where the correlation is below 0.5, or with the slope from the data between
        -0.5 and 0.5; and where rated units are unlike the others: the bootstrap interval of 95% of the difference of
        the judge's means, rated minus other units, over the same resamples of clusters, excludes 0. Of random ratings
        about 5% are.

    Raises
    ------
    MetricInputError
        As `attune_metrics.stats.bootstrap.bootstrap`, and if the shapes differ or `slope` is no finite number.

    Notes
    -----
    With the same b the packages ppi-python and truescore give the same estimate. They treat the units that nobody
    rated as a second sample: their ``lam`` and ``lambda_`` are b times the share of these units.

    Examples
    --------
    A judge that is lenient by 1 on every unit: people rated three of six.

    >>> import warnings
    >>> from math import nan
    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnreliableIntervalWarning)  # three are few
    ...     [found] = prediction_powered(
    ...         [2, 4, 6, 3, 5, 7], [1, 3, 5, nan, nan, nan], draw_resamples(range(6)), slope=1
    ...     )
    >>> found.judge.estimate, found.people.estimate, found.corrected.estimate, found.corrected.n
    (4.5, 3.0, 3.5, 3)
    """
    check_method(method, level)
    fixed = None if slope is None else check_number(slope, "slope", -inf, inf)
    scores, ratings = _series(judged, rated, resamples)
    ratings = np.where(np.isnan(scores), np.nan, ratings)
    labelled = ~np.isnan(ratings)
    terms, floor, spread, constant = regression_terms(scores, ratings, labelled)
    statistic = regression_estimate(None if fixed is None else fixed * spread)
    terms = np.concatenate([terms, np.where(labelled, ratings, 0)[:, np.newaxis], scores[:, np.newaxis]], axis=1)
    sums, total = cluster_sums(terms, resamples.clusters), exact_sums(terms)
    rated_units = sums[..., 0]
    reasons = _refusals(labelled.sum(axis=1), constant & (fixed is None))
    estimates = evaluate(statistic, total[..., :-1], total[..., -1]) + floor
    estimates[[reason is not None for reason in reasons]] = np.nan
    drawn, unlike, alone, of_judge = distributions_of_sums(
        sums, resamples, [statistic, unlikeness, _mean_rating, _mean_score]
    )
    drawn += floor[:, np.newaxis]
    left_out = None
    if method == "bca":
        left = sums.sum(axis=0) - sums
        left_out = evaluate(statistic, left[..., :-1], left[..., -1]) + floor
    intervals = intervals_of(estimates, rated_units, drawn, left_out, method, level)
    judge = bootstrap(scores, resamples, method=method, level=level, distribution=of_judge)
    people = bootstrap(ratings, resamples, method=method, level=level, distribution=alone)
    slopes, correlations = association(total, ratings - floor[:, np.newaxis])
    slopes = slopes / spread if fixed is None else np.full(len(terms), fixed)
    differs = _is_unlike(total, rated_units, unlike)
    found = []
    for place, interval in enumerate(intervals):
        refused, correlation = reasons[place], float(correlations[place])
        follows = abs(correlation) if fixed is None else correlation  # a negative b makes use of a judge that errs
        cautions = () if refused else _cautions(interval.n, correlation, follows, differs=differs[place])
        test = TwoSided(nan, nan)
        if interval.reason is None:
            without = None if left_out is None else left_out[rated_units[:, place] > 0, place]
            test = two_sided_p(drawn[place], interval, method, without)
        equivalent_ratings = nan
        if interval.reason is None and people[place].reason is None:
            equivalent_ratings = interval.n * float(np.nanvar(alone[place]) / np.nanvar(drawn[place]))
        found.append(
            PredictionPowered(
                corrected=replace(interval, reason=refused or interval.reason),
                judge=judge[place],
                people=people[place],
                slope=nan if refused else float(slopes[place]),
                correlation=correlation,
                equivalent_ratings=equivalent_ratings,
                p_value=test.p_value,
                p_min=test.p_min,
                cautions=cautions,
            )
        )
        if cautions:
            warnings.warn("; ".join(cautions), UnreliableIntervalWarning, stacklevel=2)
    return found


def prediction_powered_difference(
    judged_a: ArrayLike,
    judged_b: ArrayLike,
    rated_a: ArrayLike,
    rated_b: ArrayLike,
    resamples: Resamples,
    *,
    slope: float | None = None,
    method: Method = "percentile-expanded",
    level: float = 0.95,
) -> list[PredictionPowered]:
    """Correct the difference of two systems' means, A minus B, for each pair of series.

    The correction is applied to the differences of units: it is `prediction_powered` of ``judged_a - judged_b`` with
    ``rated_a - rated_b``. A unit is rated where people rated both systems on it, and counts where the judge scored
    both. Points that a judge gives both systems too much cancel before the correction. `correlation` is taken
    between the differences; it is often lower than the correlation between scores.

    Parameters
    ----------
    judged_a, judged_b, rated_a, rated_b : array of float, shape (units,) or (series, units)
        As for `prediction_powered`, of the same units in the same order.
    resamples, slope, method, level
        As for `prediction_powered`.

    Returns
    -------
    list of PredictionPowered
        Of differences, in the unit of the ratings.

    Warns
    -----
    UnreliableIntervalWarning
        As `prediction_powered`, of the differences.

    Raises
    ------
    MetricInputError
        As `prediction_powered`.

    Examples
    --------
    >>> import warnings
    >>> from math import nan
    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnreliableIntervalWarning)
    ...     [found] = prediction_powered_difference(
    ...         [5, 6, 7, 6], [3, 5, 5, 3], [4, 5, 6, nan], [3, 5, 5, nan], draw_resamples(range(4))
    ...     )
    >>> found.judge.estimate, round(found.people.estimate, 2), round(found.corrected.estimate, 2)
    (2.0, 0.67, 1.0)
    """
    units = len(resamples.clusters)
    scores_a, scores_b = paired_terms(judged_a, judged_b, units)
    ratings_a, ratings_b = paired_terms(rated_a, rated_b, units)
    scores, ratings = _only_term(scores_a - scores_b), _only_term(ratings_a - ratings_b)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = prediction_powered(scores, ratings, resamples, slope=slope, method=method, level=level)
    for one in caught:
        warnings.warn(str(one.message), one.category, stacklevel=2)
    return found


def _series(judged: ArrayLike, rated: ArrayLike, resamples: Resamples) -> tuple[Floats, Floats]:
    """Return scores and ratings of shape (series, units); raise unless they have one shape."""
    units = len(resamples.clusters)
    scores, ratings = as_terms(judged, units, "judged"), as_terms(rated, units, "rated")
    if scores.shape != ratings.shape:
        raise MetricInputError(f"judged of shape {scores.shape} and rated of shape {ratings.shape} differ")
    return _only_term(scores), _only_term(ratings)


def _only_term(terms: Floats) -> Floats:
    if terms.shape[1] != 1:
        raise MetricInputError(f"{terms.shape[1]} terms of a unit; expected one value, shape (series, units)")
    return terms[:, 0]


def _is_unlike(total: Floats, rated_units: Floats, drawn: Floats) -> list[bool]:
    """Tell of each series whether the interval of `unlikeness` excludes 0."""
    estimates = evaluate(unlikeness, total[..., :-1], total[..., -1])
    intervals = intervals_of(estimates, rated_units, drawn, None, "percentile-expanded", UNLIKE_LEVEL)
    return [one.low > 0 or one.high < 0 for one in intervals]


def _refusals(labels: Floats, constant: NDArray[np.bool_]) -> list[str | None]:
    """Return of each series why it has no estimate, None where it has one."""
    why = []
    for number, same in zip(labels.tolist(), constant.tolist(), strict=True):
        few = "no unit is rated" if number == 0 else "fewer than 2 units are rated"
        equal = "the judge scores all rated units the same, so that the slope is undefined"
        why.append(few if number < 2 else equal if same else None)
    return why


def _cautions(labels: int, correlation: float, follows: float, *, differs: bool) -> tuple[str, ...]:
    """Return why an interval may not be worth its name."""
    found = []
    if labels < MIN_LABELS:
        found.append(f"{labels} ratings, fewer than {MIN_LABELS}: slope and interval are themselves uncertain")
    if isnan(correlation):
        found.append("the ratings do not vary: whether the judge follows people is unknown")
    elif follows < MIN_CORRELATION:
        found.append(
            f"judge and people correlate by {correlation:.2f}, below {MIN_CORRELATION}: these scores add little by "
            "themselves"
        )
    if differs:
        found.append(
            "the judge scores rated units unlike the others (p < 0.05): were they drawn at random? If not, the "
            "corrected value may be wrong"
        )
    return tuple(found)


Closeness = Literal["closer", "less close", "as close", "undecided"]


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters.

    Attributes
    ----------
    one, other : int
        Their columns of the ratings.
    kappa : Interval
        Cohen's kappa on the units that both rated.
    shift : Interval
        Mean of `other`'s ratings minus `one`'s, on these units, in the unit of the ratings.
    """

    one: int
    other: int
    kappa: Interval
    shift: Interval


@dataclass(frozen=True, slots=True)
class JudgeCloseness:
    """A judge against the experts.

    Attributes
    ----------
    judge : int
        Its column of the ratings.
    with_experts, among_experts : Interval
        Mean kappa of the judge with each expert, and of every two experts.
    difference : Interval
        The first minus the second: above 0 the judge is closer to an expert than another expert is.
    verdict : {"closer", "less close", "as close", "undecided"} or None
        ``closer`` where the interval of the difference is above 0, ``less close`` where it is below; else ``as close``
        where there is a margin and the interval is above -margin, and ``undecided`` otherwise. None without an
        interval.
    shift : Interval
        Mean over the experts of the judge's mean rating minus the expert's: how far a score moves that rested on an
        expert and now rests on the judge.
    """

    judge: int
    with_experts: Interval
    among_experts: Interval
    difference: Interval
    verdict: Closeness | None
    shift: Interval


@dataclass(frozen=True, slots=True)
class Reliability:
    """Agreement of every two raters, and how close each judge is to the experts.

    Attributes
    ----------
    pairs : tuple of RaterPair
        Every two columns.
    judges : tuple of JudgeCloseness
        Every column that is no expert.
    """

    pairs: tuple[RaterPair, ...]
    judges: tuple[JudgeCloseness, ...]


def judge_reliability(
    ratings: ArrayLike,
    experts: Sequence[int],
    resamples: Resamples,
    *,
    weights: KappaWeights | None = "quadratic",
    by: KappaDistances = "value",
    margin: float | None = None,
    level: float = 0.95,
) -> Reliability:
    """Compare the agreement of each judge with experts to the agreement of the experts among themselves.

    Parameters
    ----------
    ratings : array of float, shape (units, raters)
        nan where a rater did not rate a unit.
    experts : sequence of int
        The columns of experts, at least two; the others are judges.
    resamples : Resamples
        From `attune_metrics.stats.bootstrap.draw_resamples` over the same units.
    weights : {"linear", "quadratic"}, optional
        As for `attune_metrics.stats.agreement.cohen_kappa`; None for categories without an order.
    by : {"value", "rank"}
        As for `attune_metrics.stats.agreement.cohen_kappa`; a rank is among the levels that either of two raters uses.
    margin : float, optional
        The largest loss of kappa that does not matter, above 0 and below 1.
    level : float
        Confidence level of the intervals (expanded percentile), between 0 and 1.

    Returns
    -------
    Reliability
        Intervals count the units that two raters, or any two raters of a mean, both rated. Where a kappa is undefined
        (two raters without a common unit, or both always the same level), so are the means that it enters, and
        ``reason`` says so.

    Raises
    ------
    MetricInputError
        If the ratings are no table of numbers or one is infinite, fewer than two experts are named, one is no column or
        named twice, none of the raters is a judge, or an option is unknown or out of range.

    Examples
    --------
    The judge follows the first expert, and is closer to the second than the first is:

    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> ratings = [[1, 1, 1], [2, 3, 2], [3, 2, 3], [4, 5, 4], [5, 4, 4], [2, 2, 2], [1, 2, 1], [4, 3, 4]]
    >>> found = judge_reliability(ratings, experts=[0, 1], resamples=draw_resamples(range(8)))
    >>> [judge] = found.judges
    >>> round(judge.with_experts.estimate, 3), round(judge.among_experts.estimate, 3), judge.verdict
    (0.875, 0.778, 'closer')
    >>> [(pair.one, pair.other, round(pair.kappa.estimate, 3)) for pair in found.pairs]
    [(0, 1, 0.778), (0, 2, 0.964), (1, 2, 0.787)]
    """
    table = check_array(ratings, "ratings", "units", "raters")
    if np.isinf(table).any():
        raise MetricInputError(f"ratings: {table[np.isinf(table)][0]} is infinite; a missing rating is nan")
    check_level(level)
    raters = table.shape[1]
    chosen = sorted(check_whole(expert, "experts", 0, raters - 1) for expert in experts)
    if len(set(chosen)) < len(chosen) or len(chosen) < 2:
        raise MetricInputError(f"experts is {list(experts)}; name at least two columns, each once")
    judges = [rater for rater in range(raters) if rater not in chosen]
    if not judges:
        raise MetricInputError("every rater is an expert, and none is a judge; give the judges' ratings too")
    limit = None if margin is None else check_margin(margin)
    if limit is not None and limit >= 1:
        raise MetricInputError(f"margin {margin} is of kappa, which is at most 1; expected a number below 1")
    kappas, shifts = {}, {}
    for one, other in combinations(range(raters), 2):
        kappas[one, other] = _kappa(table[:, one], table[:, other], resamples, weights, by)
        shifts[one, other] = _sampled(table[:, other] - table[:, one], resamples, mean_of_sums)
    among = _mean_of([kappas[pair] for pair in combinations(chosen, 2)])
    found = []
    for judge in judges:
        between = [(min(judge, expert), max(judge, expert)) for expert in chosen]
        agreed = _mean_of([kappas[pair] for pair in between])
        difference = agreed.plus(among, -1).interval(resamples, level)
        # The shift of a pair is the later column minus the earlier.
        moved = _mean_of([shifts[one, other].times(1 if other == judge else -1) for one, other in between])
        found.append(
            JudgeCloseness(
                judge=judge,
                with_experts=agreed.interval(resamples, level),
                among_experts=among.interval(resamples, level),
                difference=difference,
                verdict=_verdict(difference, limit),
                shift=moved.interval(resamples, level),
            )
        )
    pairs = tuple(
        RaterPair(*pair, kappas[pair].interval(resamples, level), shifts[pair].interval(resamples, level))
        for pair in kappas
    )
    return Reliability(pairs, tuple(found))


class _Sampled(NamedTuple):
    """A number, what it is in each resample, and which units it is of."""

    estimate: float
    distribution: Floats
    units: NDArray[np.bool_]

    def times(self, factor: float) -> "_Sampled":
        return _Sampled(factor * self.estimate, factor * self.distribution, self.units)

    def plus(self, other: "_Sampled", factor: float) -> "_Sampled":
        estimate, distribution, units = other.times(factor)
        return _Sampled(self.estimate + estimate, self.distribution + distribution, self.units | units)

    def interval(self, resamples: Resamples, level: float) -> Interval:
        units = cluster_sums(np.where(self.units, 1.0, np.nan)[np.newaxis, np.newaxis], resamples.clusters)[..., -1]
        distribution = self.distribution[np.newaxis]
        [found] = intervals_of(np.array([self.estimate]), units, distribution, None, "percentile-expanded", level)
        return found


def _sampled(terms: Floats, resamples: Resamples, statistic: Statistic) -> _Sampled:
    """Return a statistic of terms (units,) or (terms, units), nan where a unit has none."""
    series = np.atleast_2d(terms)[np.newaxis]
    [distribution] = bootstrap_distribution(series, resamples, statistic=statistic)
    [estimate] = point_estimate(series, statistic=statistic)
    return _Sampled(float(estimate), distribution, ~np.isnan(series[0]).any(axis=0))


def _kappa(
    one: Floats, other: Floats, resamples: Resamples, weights: KappaWeights | None, by: KappaDistances
) -> _Sampled:
    """Return the kappa of two raters on the units that both rated."""
    both = ~(np.isnan(one) | np.isnan(other))
    sums, statistic = cohen_sums(one[both], other[both], weights, by)
    terms = np.full((len(sums), len(one)), np.nan)
    terms[:, both] = sums
    return _sampled(terms, resamples, statistic)


def _mean_of(parts: Sequence[_Sampled]) -> _Sampled:
    """Return the mean of several numbers, undefined where one of them is."""
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part, 1)
    return total.times(1 / len(parts))


def _verdict(difference: Interval, margin: float | None) -> Closeness | None:
    if difference.reason is not None:
        return None
    if difference.low > 0:
        return "closer"
    if difference.high < 0:
        return "less close"
    return "as close" if margin is not None and difference.low > -margin else "undecided"
