"""Ranks of models by mean score, with intervals by clusters, win rates and tiers.

Conventions: ranking
--------------------
A row has the scores of one model, all rows for the same units in the same order; nan is a unit without a score. Rank
1 is the best, for the highest scores: give the negative of an error.

Statistics
----------
- Ranks of models by mean score, with bootstrap intervals.
- Win rates: share of units on which one model scores higher than another.

Strengths from wins are in `attune_metrics.stats.pairwise_ratings`.

Conventions: tiers
------------------
A tier begins with its best model and ends before the first model that is significantly different from this best model;
that model begins the next tier. Members of a tier need not be equal: two members may be significantly different, and a
member need not be significantly different from models of the next tier, which `tier_spans` shows. Tiers therefore never
contradict the order of the values, and a model with a wide interval never stands above better models.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level, warn_undefined
from attune_metrics.stats.bootstrap import (
    Interval,
    Resamples,
    bootstrap_distribution,
    point_estimate,
    symmetric_levels,
)
from attune_metrics.stats.sums import (
    Floats,
    as_terms,
    average_ranks,
    check_array,
    cluster_sums,
    ratio,
    rounding_of,
)


@dataclass(frozen=True, slots=True)
class WinRates:
    """How often each model scores higher than each other one.

    Attributes
    ----------
    rates : array, shape (models, models)
        ``rates[i, j]`` is the share of units on which model i scores higher than model j, ties counted half; 0.5 on the
        diagonal; nan where the two share no unit. ``rates[i, j] + rates[j, i]`` is 1.
    n : array of int, shape (models, models)
        Units that both have.
    """

    rates: Floats
    n: NDArray[np.int64]


def win_rates(scores: ArrayLike) -> WinRates:
    """Share of units on which model i scores higher than model j, ties counted half, on the units that both have.

    Parameters
    ----------
    scores : array_like, shape (models, units)
        Higher is better; nan where a model has no score for a unit.

    Returns
    -------
    WinRates
        ``rates`` and ``n``. A rate is nan, with `UndefinedMetricWarning`, where two models share no unit.

    Raises
    ------
    MetricInputError
        If a score is not a number or the rows have unequal lengths.

    Examples
    --------
    >>> win_rates([[0.9, 0.5, 0.7], [0.1, 0.5, float("nan")]]).rates.tolist()
    [[0.5, 0.75], [0.25, 0.5]]
    """
    rows = check_array(scores, "scores", "models", "units")
    # Comparisons with nan are false: a unit that one of the two lacks counts for neither.
    wins = np.array([(row > rows).sum(axis=-1) + (row == rows).sum(axis=-1) / 2 for row in rows])
    present = (~np.isnan(rows)).astype(np.int64)
    n = present @ present.T
    rates = ratio(wins.reshape(n.shape), n.astype(float))
    if np.isnan(rates).any():
        first, second = np.argwhere(np.isnan(rates))[0]
        warn_undefined("win_rates", f"models {first} and {second} share no unit")
    return WinRates(rates, n)


def rank_intervals(
    scores: ArrayLike,
    resamples: Resamples,
    *,
    method: Literal["percentile-expanded", "percentile"] = "percentile-expanded",
    level: float = 0.95,
) -> list[Interval]:
    """Rank of each model by its mean score, with a bootstrap interval of the rank.

    In each resample all models are ranked by their means over the same drawn units. The ends are ranks that occur, at
    the levels of `bootstrap`.

    Parameters
    ----------
    scores : array_like, shape (models, units)
        Higher is better; nan where a model has no score for a unit: its mean is over the others.
    resamples : Resamples
        From `draw_resamples` over the same units.
    method : {"percentile-expanded", "percentile"}
        As for `bootstrap`; expanded for the number of clusters of the model that has the fewest.
    level : float
        Confidence level of each interval alone, between 0 and 1.

    Returns
    -------
    list of Interval
        One for each model, rank 1 being the highest mean, ties sharing their mean rank. A rank that never changes is an
        interval of one rank. The ends are nan, and ``reason`` says why, for all models if one of them has values in
        fewer than two clusters, or none in too many resamples.

    Raises
    ------
    MetricInputError
        If the scores are infinite, no numbers or not one for each unit, or an option is unknown.

    Examples
    --------
    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> scores = [[3, 4, 3, 4, 3, 4], [7, 9, 8, 9, 7, 8], [4, 3, 3, 4, 4, 3]]
    >>> [(i.estimate, i.low, i.high) for i in rank_intervals(scores, draw_resamples(range(6), seed=1))]
    [(2.5, 2.0, 3.0), (1.0, 1.0, 1.0), (2.5, 2.0, 3.0)]
    """
    if method not in ("percentile-expanded", "percentile"):
        raise MetricInputError(f"unknown method {method!r}; expected percentile-expanded or percentile")
    check_level(level)
    rows = check_array(scores, "scores", "models", "units")
    if not len(rows):
        return []
    sums = cluster_sums(as_terms(rows, len(resamples.clusters), "scores"), resamples.clusters)
    clusters = (sums[..., -1] > 0).sum(axis=0)
    n = sums[..., -1].sum(axis=0)
    rounding = rounding_of(rows)
    estimates = average_ranks(-point_estimate(rows), rounding)
    ranks = average_ranks(-bootstrap_distribution(rows, resamples).T, rounding)
    known = ranks[~np.isnan(ranks).any(axis=1)]
    fewest = int(clusters.min())
    reason = None
    if fewest < 2:
        reason = "a model has values in fewer than two clusters"
    elif len(ranks) - len(known) > len(ranks) * (1 - level) / 2:
        reason = f"a model has no value in {len(ranks) - len(known)} of {len(ranks)} resamples"
    low, high = np.full((2, len(rows)), np.nan)
    if reason is None:
        levels = symmetric_levels(level, fewest if method == "percentile-expanded" else None)
        low, high = np.quantile(known, levels, axis=0, method="inverted_cdf")
    return [
        Interval(
            float(estimates[model]), float(low[model]), float(high[model]), level, method,
            int(n[model]), int(clusters[model]), reason,
        )
        for model in range(len(rows))
    ]  # fmt: skip


def tiers(significant: ArrayLike) -> NDArray[np.intp]:
    """Cut a ranking into tiers.

    Parameters
    ----------
    significant : array of bool, shape (models, models)
        Whether two models are significantly different, the best model first; symmetric, False on the diagonal.

    Returns
    -------
    array of int, shape (models,)
        The tier of each model, 1 for the best.

    Raises
    ------
    MetricInputError
        If the array is not such a matrix.

    Examples
    --------
    The first model is significantly different from the third, the second from neither.

    >>> tiers([[False, False, True], [False, False, False], [True, False, False]]).tolist()
    [1, 1, 2]
    """
    matrix = _matrix(significant)
    found = np.empty(len(matrix), dtype=np.intp)
    best, tier = 0, 1
    for place, row in enumerate(matrix):
        if row[best]:
            best, tier = place, tier + 1
        found[place] = tier
    return found


def tier_spans(significant: ArrayLike) -> NDArray[np.intp]:
    """Return for each model the first and the last tier with a model that is not significantly different from it.

    Parameters
    ----------
    significant : array of bool, shape (models, models)
        As for `tiers`.

    Returns
    -------
    array of int, shape (models, 2)
        The first and the last tier of each model; its own tier is one of these tiers or between them.

    Raises
    ------
    MetricInputError
        As `tiers`.

    Examples
    --------
    >>> tier_spans([[False, False, True], [False, False, False], [True, False, False]]).tolist()
    [[1, 1], [1, 2], [1, 2]]
    """
    matrix, of_model = _matrix(significant), tiers(significant)
    ends = [(of_model[~row].min(), of_model[~row].max()) for row in matrix]
    return np.array(ends, dtype=np.intp).reshape(-1, 2)


def _matrix(significant: ArrayLike) -> NDArray[np.bool_]:
    matrix = np.asarray(significant)
    if matrix.size == 0:
        return np.zeros((0, 0), dtype=np.bool_)
    if matrix.dtype != np.bool_ or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = f"shape {matrix.shape} of {matrix.dtype}"
        raise MetricInputError(f"significant has {shape}; expected booleans (models, models)")
    for first, second in np.argwhere(matrix != matrix.T)[:1].tolist():
        raise MetricInputError(
            f"significant[{first}, {second}] differs from significant[{second}, {first}]; is half of it missing?"
        )
    for place in np.flatnonzero(np.diagonal(matrix))[:1].tolist():
        raise MetricInputError(f"significant[{place}, {place}] is True; no model differs from itself")
    return matrix
