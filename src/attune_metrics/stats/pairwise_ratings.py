"""ComparisonRatings of models by comparisons in twos, with intervals by resampling clusters of comparisons.

In each resample of clusters all parameters are fitted again, from those of all comparisons.
`attune_metrics.stats.pairwise` has the model and its conventions.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, UnreliableIntervalWarning, check_level
from attune_metrics.stats.bootstrap import NO_VARIATION, Interval, Resamples, intervals_of, symmetric_levels
from attune_metrics.stats.bradley_terry import Counts, chains, drawn_blocks, maximize
from attune_metrics.stats.pairwise import (
    Part,
    Ties,
    check_comparisons,
    check_options,
    fit_parts,
    group_models,
    influence_of,
)
from attune_metrics.stats.sums import ROUNDING, Floats, average_ranks, exponential

RatingMethod = Literal["influence-t", "percentile-expanded", "percentile"]

FEWEST_CLUSTERS = 5
"""With fewer clusters, 95% intervals of terms cover as few as 75% of true values; benchmarks/pair_coverage.py."""

FEW_CLUSTERS = 20
"""With fewer clusters, 95% intervals of strengths cover up to 98% of true values; benchmarks/pair_coverage.py."""

_ROUNDED = 9  # digits of strengths beyond which a difference is rounding, so that ranks are shared


@dataclass(frozen=True, slots=True)
class Rating:
    """The strength of a model within its group.

    Attributes
    ----------
    model : str or int
        Its label.
    strength : Interval
        The log strength with its interval, 0 being the mean of the group; nan for a model alone in its group. ``n`` is
        the number of comparisons with models of its group, ``clusters`` of the clusters that have one. With terms it is
        the strength with the bias removed: of answers whose terms are 0.
    without_terms : float
        The strength of the fit without the terms; the same where there are none.
    probability : float
        The probability, 0 to 1, that it beats an average model of its group, one of strength 0, where they do not tie;
        nan where the strength is.
    wins, ties, losses : float
        Sums of the weights of all its comparisons, those with other groups too.
    group : int
        The number of its group, from 1. A group that beat others comes before them. With a penalty, all models that
        were compared are in group 1.
    rank : float
        Among the models of its group, 1 being the strongest, ties sharing their mean rank; nan where the strength is.
    rank_low, rank_high : float
        The best and the worst rank of its interval, ranks that occur; nan where the strength is, with comparisons in
        one cluster, and where its group falls apart in too many resamples.
    reason : str or None
        Why a number is nan, that there are other groups, or that it rests on the penalty.
    """

    model: str | int
    strength: Interval
    without_terms: float
    probability: float
    wins: float
    ties: float
    losses: float
    group: int
    rank: float
    rank_low: float
    rank_high: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ComparisonRatings:
    """Models rated by comparisons in twos.

    Attributes
    ----------
    models : list of Rating
        In the order of group, rank and label.
    terms : dict of str to Interval
        The coefficient of each term: by how much one unit of it raises the log odds of its side. ``n`` is the number of
        comparisons that it was fitted to.
    tie : Interval or None
        Davidson's nu, from 0: equal models tie in ``nu / (2 + nu)`` of comparisons. None with ties as half wins.
    ties : {"half", "davidson"}
        How ties were treated.
    penalty : float
        That of the fit, 0 for none.
    """

    models: list[Rating]
    terms: dict[str, Interval]
    tie: Interval | None
    ties: Ties
    penalty: float


def bradley_terry_ratings(
    left: ArrayLike,
    right: ArrayLike,
    outcome: ArrayLike,
    resamples: Resamples,
    *,
    weights: ArrayLike | None = None,
    ties: Ties = "half",
    terms: Mapping[str, ArrayLike] | None = None,
    penalty: float | None = None,
    method: RatingMethod = "influence-t",
    level: float = 0.95,
) -> ComparisonRatings:
    """Rate models by comparisons in twos, with bootstrap intervals by clusters of comparisons.

    Parameters
    ----------
    left, right, outcome, weights, ties, terms, penalty
        As for `attune_metrics.stats.pairwise.fit_comparisons`.
    resamples : Resamples
        From `draw_resamples` over the clusters of the comparisons.
    method : {"influence-t", "percentile-expanded", "percentile"}
        How the ends of strengths, terms and nu are found: ``estimate +- t * sqrt(G / (G - 1) * sum of influence^2)``
        with G clusters and t the quantile of Student's t with G - 1 degrees of freedom, of log nu for nu; or as for
        `attune_metrics.stats.bootstrap.bootstrap`. The ends of ranks are from resamples always.
    level : float
        Confidence level of each interval alone, between 0 and 1.

    Returns
    -------
    ComparisonRatings
        The ends of an interval are nan, and ``reason`` says why, as for `bootstrap`; a strength is undefined in a
        resample in which its group falls apart.

    Warns
    -----
    UnreliableIntervalWarning
        If there are fewer than 20 clusters and the method is ``influence-t``, or there are terms and fewer than five
        clusters.

    Raises
    ------
    MetricInputError
        As `fit_comparisons`, and if the method is unknown or the level not between 0 and 1.

    Examples
    --------
    Ada wins three of four comparisons, so that the strengths differ by log(3).

    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> resamples = draw_resamples(range(40), n_resamples=200)
    >>> found = bradley_terry_ratings(["ada"] * 40, ["bob"] * 40, [1, 1, 1, 0] * 10, resamples)
    >>> for one in found.models:
    ...     print(one.model, round(one.strength.estimate, 2), one.wins, one.losses, one.rank, round(one.probability, 2))
    ada 0.55 30.0 10.0 1.0 0.63
    bob -0.55 10.0 30.0 2.0 0.37
    """
    if method not in get_args(RatingMethod):
        raise MetricInputError(f"unknown method {method!r}; expected {', '.join(get_args(RatingMethod))}")
    check_level(level)
    labels, data = check_comparisons(left, right, outcome, resamples.clusters, weights, terms)
    prior = check_options(ties, penalty)
    wins, ties_of = data.wins(len(labels)), data.ties(len(labels))
    groups, reasons = group_models(wins, prior)
    names = [*(terms or {})]
    size, few = len(np.unique(data.clusters)), []
    if method == "influence-t" and 1 < size < FEW_CLUSTERS:
        few.append(f"of fewer than {FEW_CLUSTERS}, 95% intervals of strengths cover up to 98% of true values")
    if names and 1 < size < FEWEST_CLUSTERS:
        few.append(f"of fewer than {FEWEST_CLUSTERS}, 95% intervals of terms cover as few as 75% of true values")
    if few:
        warnings.warn(
            f"comparisons have {size} clusters: {'; '.join(few)}; judge more units",
            UnreliableIntervalWarning,
            stacklevel=2,
        )
    strengths = [Interval(nan, nan, nan, level, method, 0, 0, reason) for reason in reasons]
    ranks, plain = np.full((3, len(labels)), nan), np.full(len(labels), nan)
    others: list[Interval] = []
    for part in fit_parts(data, groups, names, ties, prior):
        units, distribution = _comparisons(part, resamples.counts.shape[1]), _distribution(part, resamples)
        if part.reason:
            intervals = [Interval(nan, nan, nan, level, method, 0, 0, part.reason)] * len(part.parameters)
        elif method == "influence-t":
            intervals = _influence_intervals(part, units, level)
        else:
            estimates = _with_nu(part, part.parameters / part.scales)
            intervals = intervals_of(estimates, units, _with_nu(part, distribution), None, method, level)
        others = intervals[len(part.models) :]
        for place, interval, drawn in zip(part.models, intervals, distribution, strict=False):
            strengths[place] = interval
            if not part.reason and interval.clusters > 1 and np.isnan(drawn).mean() > (1 - level) / 2:
                reasons[place] = f"the rank is undefined in {np.isnan(drawn).sum()} of {len(drawn)} resamples"
        ranks[:, part.models] = _ranks(part, (units > 0).sum(axis=0), distribution, method, level)
    for part in fit_parts(data._replace(terms=data.terms[:0]), groups, (), ties, prior):
        plain[part.models] = part.parameters[: len(part.models)]
    total, lost = wins.sum(axis=1) - ties_of / 2, wins.sum(axis=0) - ties_of / 2
    found = [
        Rating(
            labels[place], strengths[place], float(plain[place]), _chance(strengths[place].estimate),
            float(total[place]), float(ties_of[place]), float(lost[place]), number, float(ranks[0, place]),
            float(ranks[1, place]), float(ranks[2, place]), strengths[place].reason or reasons[place],
        )
        for number, group in enumerate(groups, 1)
        for place in group
    ]  # fmt: skip
    return ComparisonRatings(
        sorted(found, key=lambda one: (one.group, one.rank, one.model)),
        dict(zip(names, others, strict=False)),
        others[-1] if others and ties == "davidson" else None,
        ties,
        prior,
    )


def _distribution(part: Part, resamples: Resamples) -> Floats:
    """Return the parameters (parameters, resamples) of each resample, nan where no finite ones fit best."""
    likelihood, cells = part.likelihood, part.cells
    found = np.full((len(part.parameters), len(resamples.counts)), nan)
    if part.reason:
        return found
    members = np.equal.outer(likelihood.groups, likelihood.groups)
    sizes = len(cells.starts), members.size, resamples.counts.shape[1] // 8  # of the last all are copied
    for rows, weights in drawn_blocks(resamples.counts, max(sizes)):
        counts = cells.drawn(weights)
        joined = (chains(likelihood.wins(counts)) | ~members).all(axis=(1, 2)) | (likelihood.penalty > 0)
        own = Counts(*(one[joined] for one in counts))
        found[:, rows.start + np.flatnonzero(joined)] = maximize(likelihood, own, part.parameters).T
    return found / part.scales[:, np.newaxis]


def _with_nu(part: Part, parameters: Floats) -> Floats:
    """Return parameters (parameters, ...) with nu in place of log nu."""
    if not part.likelihood.davidson:
        return parameters
    nu = np.where(np.isnan(parameters[-1:]), nan, exponential(np.nan_to_num(parameters[-1:])))
    return np.concatenate([parameters[:-1], nu])


def _influence_intervals(part: Part, units: Floats, level: float) -> list[Interval]:
    """Return the interval of each parameter from the influence of the clusters."""
    from scipy.special import stdtrit

    estimates = part.parameters / part.scales
    influence = influence_of(part, len(units))
    clusters = (units > 0).sum(axis=0)
    reach = np.full(len(estimates), nan)
    reasons: list[str | None] = [None] * len(estimates)
    for place, size in enumerate(clusters.tolist()):
        error = sqrt(size / max(size - 1, 1) * float((influence[:, place] ** 2).sum()))
        if size < 2:
            reasons[place] = "all values are in one cluster"
        elif error <= ROUNDING:
            reasons[place] = NO_VARIATION
        else:
            reach[place] = float(stdtrit(size - 1, (1 + level) / 2)) * error
    low, high = _with_nu(part, estimates - reach), _with_nu(part, estimates + reach)
    ends = zip(_with_nu(part, estimates).tolist(), low.tolist(), high.tolist(), strict=True)
    return [
        Interval(*three, level, "influence-t", int(units[:, place].sum()), int(clusters[place]), reasons[place])
        for place, three in enumerate(ends)
    ]


def _comparisons(part: Part, clusters: int) -> Floats:
    """Return how many comparisons (clusters, parameters) of each cluster each parameter is fitted to."""
    likelihood, cells = part.likelihood, part.cells
    found = np.zeros((clusters, len(part.parameters)))
    pair = likelihood.pair_of_design()[cells.design()]
    for models in (likelihood.first, likelihood.second):
        np.add.at(found, (cells.clusters, models[pair]), cells.sizes)
    found[:, len(part.models) :] = np.bincount(cells.clusters, cells.sizes, clusters)[:, np.newaxis]
    return found


def _ranks(part: Part, clusters: NDArray[np.int64], distribution: Floats, method: str, level: float) -> Floats:
    """Return the rank of each model within its group, and the ends of its interval, shape (3, models)."""
    found = np.full((3, len(part.models)), nan)
    for group in np.unique(part.likelihood.groups):
        models = np.flatnonzero(part.likelihood.groups == group)
        found[0, models] = average_ranks(-np.round(part.parameters[models], _ROUNDED))
        drawn = average_ranks(-np.round(distribution[models].T, _ROUNDED)).T
        known = drawn[:, ~np.isnan(drawn).any(axis=0)]
        if drawn.shape[1] - known.shape[1] <= drawn.shape[1] * (1 - level) / 2:
            for model, ranks in zip(models.tolist(), known, strict=True):
                if (size := int(clusters[model])) > 1:
                    levels = symmetric_levels(level, None if method == "percentile" else size)
                    found[1:, model] = np.quantile(ranks, levels, method="inverted_cdf")
    return found


def _chance(strength: float) -> float:
    """Return the probability that a model beats one of strength 0, where they do not tie."""
    return float(1 / (1 + exponential(np.array(-strength)))) if isfinite(strength) else nan
