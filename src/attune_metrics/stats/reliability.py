"""How close a judge is to experts, against how close experts are to each other.

Conventions
-----------
Several raters rate the same units; some are experts, the others judges. Agreement of two raters is Cohen's kappa
(`attune_metrics.stats.agreement.cohen_kappa`) on the units that both rated. A judge's is the mean of its kappas with
each expert, the experts' own the mean over every two of them, and their difference, judge minus experts, says whether a
judge could stand in for one more expert. All are computed in the same resamples of units, or of clusters of units, so
that the interval of the difference is that of a paired comparison: units that are hard to rate are hard for both.

An interval that contains 0 does not show that a judge is as close as an expert: data may be few. Only a margin can: the
largest loss of agreement that does not matter, chosen before the data are seen. A judge is then as close where the
whole interval lies above -margin (non-inferiority).

A score that is the mean rating of a judge changes where the judge is exchanged for another rater: by the mean
difference of their ratings of the same units, the *shift*. Kappa falls with a shift, too; the two together say whether
raters differ in the order of units or in the level of the scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level, check_whole
from attune_metrics.stats.agreement import KappaDistances, KappaWeights, cohen_sums
from attune_metrics.stats.bootstrap import (
    Interval,
    Resamples,
    bootstrap_distribution,
    intervals_of,
    mean_of_sums,
    point_estimate,
)
from attune_metrics.stats.equivalence import check_margin
from attune_metrics.stats.sums import Floats, Statistic, check_array, cluster_sums

__all__ = ["Closeness", "JudgeCloseness", "RaterPair", "Reliability", "judge_reliability"]

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
        Mean of `other`'s ratings minus those of `one`, on these units, in the unit of the ratings.
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
    """Compare the agreement of each judge with experts to that of experts among themselves.

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
