"""Ranks of models: Bradley-Terry strengths, average ranks, tiers, with intervals by clusters.

Conventions: bradley terry
--------------------------
A strength is a natural logarithm: a model of strength a beats one of strength b with probability
``1 / (1 + exp(b - a))`` [1]_. Only differences of strengths mean something, so they are centred at 0 among the models
that can be compared. A tie is half a win for each side; there is no parameter of its own for ties.

Groups
------
Finite strengths fit best only where every model beats every other one through a chain of wins [2]_; a tie is a win both
ways. The largest sets of models with such chains are the groups. Each group has its own strengths, ranks and centre:
models of different groups are not compared. A model alone in its group has no strength: the strength of a model that
won, or lost, every comparison would be infinite.

Conventions: ranking
--------------------
A row has the scores of one model, all rows for the same units in the same order; nan is a unit without a score. Rank
1 is the best, for the highest scores: give the negative of an error.

Statistics
----------
- Ranks of models by mean score, with bootstrap intervals.
- Win rates: share of units on which one model scores higher than another.

Strengths from wins are in `attune_metrics.stats.ranking`.

Conventions: tiers
------------------
A tier begins with its best model and goes on down the ranking, to the last model before the first that is told apart
from that best one. The rest begins the next tier. Members of a tier need not be equal: two of them may be told apart
from each other, and one may not be told apart from models of the next tier, which `tier_spans` shows. So tiers never
contradict the order of the values, and a model of whom little is known does not come to stand above better ones.

References
----------
.. [1] Bradley, Terry (1952), Rank analysis of incomplete block designs I, Biometrika 39, 324-345.
.. [2] Ford (1957), Solution of a ranking problem from binary comparisons, Am. Math. Mon. 64, 28-33; Hunter (2004), MM
   algorithms for generalized Bradley-Terry models, Ann. Stat. 32, 384-406.
"""

from dataclasses import dataclass
from math import nan
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level, check_list, warn_undefined
from attune_metrics.stats.bootstrap import (
    Interval,
    Resamples,
    bootstrap_distribution,
    intervals_of,
    point_estimate,
    symmetric_levels,
)
from attune_metrics.stats.sums import (
    Floats,
    as_terms,
    average_ranks,
    check_array,
    cluster_sums,
    exponential,
    on_grid,
    products,
    ratio,
    rounding_of,
)

_STEP_ROUNDED = 53 - 24  # bits of the largest value of a step that do not count


@dataclass(frozen=True, slots=True)
class Rating:
    """The strength of a model within its group.

    Attributes
    ----------
    model : str or int
        Its label.
    strength : Interval
        The log strength with its interval, 0 being the mean of the group; nan for a model alone in its group. ``n`` is
        the number of comparisons with models of its group, ``clusters`` of the clusters that have one.
    probability : float
        The probability, 0 to 1, that it beats an average model of its group, one of strength 0; nan where the strength
        is.
    wins, ties, losses : float
        Sums of the weights of all its comparisons, those with other groups too.
    group : int
        The number of its group, from 1. A group that beat others comes before them.
    rank : float
        Among the models of its group, 1 being the strongest, ties sharing their mean rank; nan where the strength is.
    reason : str or None
        Why a number is nan, or that there are other groups.
    """

    model: str | int
    strength: Interval
    probability: float
    wins: float
    ties: float
    losses: float
    group: int
    rank: float
    reason: str | None = None


def bradley_terry_ratings(
    left: ArrayLike,
    right: ArrayLike,
    outcome: ArrayLike,
    resamples: Resamples,
    *,
    weights: ArrayLike | None = None,
    method: Literal["percentile-expanded", "percentile"] = "percentile-expanded",
    level: float = 0.95,
) -> list[Rating]:
    """Rate models by comparisons in twos, with bootstrap intervals by clusters of comparisons.

    In each resample of clusters all strengths are fitted again.

    Parameters
    ----------
    left, right : array_like of str or int, shape (comparisons,)
        The labels of the two models of each comparison.
    outcome : array_like of float, shape (comparisons,)
        1 where the left one won, 0 where the right one did, 0.5 for a tie.
    resamples : Resamples
        From `draw_resamples` over the clusters of the comparisons.
    weights : array_like of float, shape (comparisons,), optional
        How much each comparison counts, from 0; by default 1.
    method : {"percentile-expanded", "percentile"}
        As for `attune_metrics.stats.bootstrap.bootstrap`.
    level : float
        Confidence level of each interval alone, between 0 and 1.

    Returns
    -------
    list of Rating
        One for each model, in the order of group, rank and label. The ends of an interval are nan, and ``reason`` says
        why, as for `bootstrap`; a strength is undefined in a resample in which its group falls apart.

    Raises
    ------
    MetricInputError
        If lengths differ, a label is no text or whole number, a model is compared with itself, or an outcome, a weight
        or an option is out of range.

    Examples
    --------
    Ada wins three of four comparisons, so that the strengths differ by log(3).

    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> resamples = draw_resamples(range(40), n_resamples=200)
    >>> for one in bradley_terry_ratings(["ada"] * 40, ["bob"] * 40, [1, 1, 1, 0] * 10, resamples):
    ...     print(one.model, round(one.strength.estimate, 2), one.wins, one.losses, one.rank, round(one.probability, 2))
    ada 0.55 30.0 10.0 1.0 0.63
    bob -0.55 10.0 30.0 2.0 0.37
    """
    if method not in ("percentile-expanded", "percentile"):
        raise MetricInputError(f"unknown method {method!r}; expected percentile-expanded or percentile")
    check_level(level)
    labels, first, second, won, weight = _check_comparisons(left, right, outcome, resamples, weights)
    k = len(labels)
    shape = resamples.counts.shape[1], k, k
    half = np.where(won == 0.5, weight / 2, 0)  # a tie is half a win for each
    wins = _sums(shape, resamples.clusters, first, second, np.where(won == 1, weight, half))
    wins += _sums(shape, resamples.clusters, second, first, np.where(won == 0, weight, half))
    counted = (weight > 0).astype(float)
    met = _sums(shape, resamples.clusters, first, second, counted)
    met += met.transpose(0, 2, 1)
    tied = _sums((1, k, k), np.zeros_like(first), first, second, 2 * half)[0]
    ties = (tied + tied.T).sum(axis=1)
    total = wins.sum(axis=0)
    groups = _groups(total)
    found: dict[int, Rating] = {}
    for number, group in enumerate(groups, 1):
        within = np.ix_(group, group)
        units = met[:, group][:, :, group].sum(axis=2)
        if len(group) > 1:
            own = np.ascontiguousarray(wins[:, group][:, :, group])
            estimates = _fit(total[within][np.newaxis], np.zeros(len(group)))[0]
            distribution = _distribution(own, resamples, estimates)
            intervals = intervals_of(estimates, units, distribution, None, method, level)
            chances = 1 / (1 + exponential(-estimates))
        else:
            chances = np.array([nan])
            intervals = [Interval(nan, nan, nan, level, method, 0, 0, _why_alone(total, group[0]))]
        # Strengths that are equal up to rounding share a rank.
        ranks = average_ranks(-np.round([one.estimate for one in intervals], 9)).tolist()
        others = f"compared within group {number} of {len(groups)} only" if len(groups) > 1 else None
        for place, interval, chance, rank in zip(group, intervals, chances.tolist(), ranks, strict=True):
            lost, tie = total[:, place].sum() - ties[place] / 2, ties[place]
            found[place] = Rating(
                labels[place], interval, chance, float(total[place].sum() - tie / 2), float(tie),
                float(lost), number, rank, interval.reason or others,
            )  # fmt: skip
    return sorted(found.values(), key=lambda one: (one.group, one.rank, one.model))


def bradley_terry(wins: ArrayLike) -> Floats:
    """Bradley-Terry strengths: the most likely ones where i beats j with ``1 / (1 + exp(strength[j] - strength[i]))``.

    Parameters
    ----------
    wins : array_like, shape (items, items)
        ``wins[i, j]`` is how often i beat j, a tie being half a win for each; the diagonal is not used.

    Returns
    -------
    array, shape (items,)
        Log strengths, higher is better, with mean 0: only their differences mean something. All nan, with
        `UndefinedMetricWarning` and the reason, if no finite strengths fit best, that is, if some items never lost to
        the others, or were never compared with them [1]_.

    Raises
    ------
    MetricInputError
        If `wins` is not square, or a number of wins is negative, infinite or missing.
    ArithmeticError
        If the steps below do not end.

    Notes
    -----
    Newton's method reaches the maximum of Zermelo's and Hunter's MM algorithm in fewer steps. Each step d is
    shortened to ``log(1 + r) / r`` of itself, r being ``max(d) - min(d)``, so that it never overshoots [2]_. It ends
    when no strength moves by 1e-10; as a step squares the error, only rounding is left. Each step is
    rounded to 24 bits of its largest value, so that the last digits do not depend on the processor.

    References
    ----------
    .. [1] Ford (1957), Solution of a ranking problem from binary comparisons, Am. Math. Mon. 64, 28-33.
    .. [2] Sun, Tran-Dinh (2019), Generalized self-concordant functions, Math. Program. 178, 145-213.

    Examples
    --------
    >>> bradley_terry([[0, 3], [1, 0]]).round(4).tolist()  # The difference is log(3).
    [0.5493, -0.5493]
    """
    won = _check_wins(wins)
    if len(groups := _groups(won)) > 1:
        top = np.array(groups[0])
        others = "were never compared with" if not np.delete(won[top], top, axis=1).any() else "never lost to"
        warn_undefined("bradley_terry", f"items {groups[0]} {others} the others")
        return np.full(len(won), np.nan)
    return _fit(won[np.newaxis], np.zeros(len(won)))[0] if len(won) else np.zeros(0)


def _fit(wins: Floats, start: Floats) -> Floats:
    """Return the strengths (fits, items) of wins (fits, items, items), all of which have finite ones."""
    strengths: Floats = np.tile(start, (len(wins), 1))
    active = np.arange(len(wins) if wins.shape[1] > 1 else 0)
    for _ in range(1000):
        if not len(active):
            return strengths
        won, now = wins[active], strengths[active]
        lost = won.transpose(0, 2, 1)
        behind = now[:, np.newaxis] - now[..., np.newaxis]
        odds = exponential(-np.abs(behind))
        beats = np.where(behind > 0, odds, 1) / (1 + odds)
        gradient = (won * beats.transpose(0, 2, 1) - lost * beats).sum(axis=2)
        weight = (won + lost) * beats * beats.transpose(0, 2, 1)
        # Minus the Hessian, made regular: the constant vector, along which nothing changes, is added.
        curvature = weight.mean(axis=(1, 2))[:, np.newaxis, np.newaxis] - weight
        diagonal = np.arange(wins.shape[1])
        curvature[:, diagonal, diagonal] += weight.sum(axis=2)
        step = np.linalg.solve(curvature, gradient[..., np.newaxis])[..., 0]
        spread = np.ptp(step, axis=1, keepdims=True)
        step *= np.divide(np.log1p(spread), spread, out=np.ones_like(spread), where=spread > 0)
        # Libraries of linear algebra differ in the last digits of a step. Without these all processors take equal
        # steps, and the next step makes up for them.
        step = on_grid(step.T, _STEP_ROUNDED).T
        strengths[active] += step - step.mean(axis=1, keepdims=True)
        active = active[(np.abs(step) >= 1e-10).any(axis=1)]
    raise ArithmeticError("bradley_terry did not converge in 1000 steps")


def _distribution(wins: Floats, resamples: Resamples, start: Floats) -> Floats:
    """Return the strengths (models, resamples) of wins by cluster, nan where a resample has no finite ones."""
    found = np.full((len(start), len(resamples.counts)), np.nan)
    for rows, [drawn] in products(resamples.counts, wins):
        finite = np.flatnonzero(_chains(drawn).all(axis=(1, 2)))
        found[:, rows.start + finite] = _fit(drawn[finite], start).T
    return found


def _chains(wins: Floats) -> NDArray[np.bool_]:
    """Return whether each item beats each other one through a chain of wins (..., items, items)."""
    k = wins.shape[-1]
    chain: NDArray[np.bool_] = np.eye(k, dtype=bool) | (wins > 0)
    for middle in range(k):
        chain |= chain[..., middle, np.newaxis] & chain[..., np.newaxis, middle, :]
    return chain


def _groups(wins: Floats) -> list[list[int]]:
    """Return the sets of items that beat each other through chains of wins; one that beat others is before them."""
    chain = _chains(wins)
    groups = {tuple(np.flatnonzero(row & chain[:, place]).tolist()) for place, row in enumerate(chain)}
    return [[*group] for group in sorted(groups, key=lambda group: (-chain[group[0]].sum(), group))]


def _why_alone(wins: Floats, place: int) -> str:
    if not wins[:, place].any():
        return "won every comparison" if wins[place].any() else "no comparison counts"
    if not wins[place].any():
        return "lost every comparison"
    return "beat only models that never beat it, and lost only to models that it never beat"


def _sums(
    shape: tuple[int, int, int],
    clusters: NDArray[np.intp],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    values: Floats,
) -> Floats:
    """Return the sums (clusters, models, models) of values of comparisons."""
    places = np.ravel_multi_index((clusters, first, second), shape) if len(values) else first
    # Added in order of size, so that the order of the comparisons does not show in the last bit.
    order = np.argsort(values, kind="stable")
    sums = np.bincount(places[order], weights=values[order], minlength=int(np.prod(shape)))
    return sums.astype(np.float64).reshape(shape)


def _check_comparisons(
    left: ArrayLike, right: ArrayLike, outcome: ArrayLike, resamples: Resamples, weights: ArrayLike | None
) -> tuple[list[Any], NDArray[np.intp], NDArray[np.intp], Floats, Floats]:
    """Return the sorted labels, the places of both sides among them, outcomes and weights."""
    sides = [_check_labels(left, "left"), _check_labels(right, "right")]
    won = check_array(outcome, "outcome", "comparisons")
    weight = np.ones(len(won)) if weights is None else check_array(weights, "weights", "comparisons")
    sizes = {"left": len(sides[0]), "right": len(sides[1]), "outcome": len(won), "weights": len(weight)}
    for name, size in sizes.items():
        if size != len(resamples.clusters):
            raise MetricInputError(f"{name} has {size} comparisons, clusters {len(resamples.clusters)}")
    for place in np.flatnonzero(~np.isin(won, (0, 0.5, 1)))[:1]:
        raise MetricInputError(f"outcome[{place}] is {won[place]:g}; expected 1, 0.5 or 0")
    for place in np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[:1]:
        raise MetricInputError(f"weights[{place}] is {weight[place]:g}; expected a finite number from 0")
    if len(won) and len({one.dtype.kind == "U" for one in sides}) > 1:
        raise MetricInputError("left and right have labels of mixed types; use text for all")
    labels, places = np.unique(np.concatenate(sides), return_inverse=True)
    first, second = places.reshape(2, -1)
    for place in np.flatnonzero(first == second)[:1]:
        raise MetricInputError(f"comparison {place} is of {labels[first[place]].item()!r} with itself")
    return labels.tolist(), first, second, won, weight


def _check_labels(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Return labels as an array of texts or of whole numbers."""
    if not isinstance(labels, np.ndarray):
        given = check_list(labels, name, "labels, one for each comparison")
        kinds = {str if isinstance(label, str) else type(label) for label in given}
        if not (kinds <= {str} or all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)):
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise MetricInputError(f"{name} has labels of the types {names}; expected texts, or whole numbers")
        labels = np.array(given, dtype=None if given else np.int64)
    if labels.ndim != 1 or labels.dtype.kind not in "Uiu":
        raise MetricInputError(f"{name} has shape {labels.shape} of {labels.dtype}; expected texts or whole numbers")
    return labels


def _check_wins(wins: ArrayLike) -> Floats:
    won = check_array(wins, "wins", "items", "items")
    if won.shape[0] != won.shape[1]:
        raise MetricInputError(f"wins has shape {won.shape}; expected one row and one column for each item")
    np.fill_diagonal(won, 0)
    if wrong := np.argwhere(~np.isfinite(won) | (won < 0)).tolist():
        row, column = wrong[0]
        raise MetricInputError(f"wins[{row}, {column}] is {won[row, column]:g}; expected a count from 0")
    return won


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


def tiers(apart: ArrayLike) -> NDArray[np.intp]:
    """Cut a ranking into tiers.

    Parameters
    ----------
    apart : array of bool, shape (models, models)
        Whether two models are told apart, the best model first; symmetric, False on the diagonal.

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
    The first is told apart from the third, the second from neither.

    >>> tiers([[False, False, True], [False, False, False], [True, False, False]]).tolist()
    [1, 1, 2]
    """
    matrix = _matrix(apart)
    found = np.empty(len(matrix), dtype=np.intp)
    best, tier = 0, 1
    for place, row in enumerate(matrix):
        if row[best]:
            best, tier = place, tier + 1
        found[place] = tier
    return found


def tier_spans(apart: ArrayLike) -> NDArray[np.intp]:
    """Say for each model among which tiers the models are that it cannot be told apart from.

    Parameters
    ----------
    apart : array of bool, shape (models, models)
        As for `tiers`.

    Returns
    -------
    array of int, shape (models, 2)
        The first and the last tier with such a model; its own is between them, as it is not told apart from itself.

    Raises
    ------
    MetricInputError
        As `tiers`.

    Examples
    --------
    >>> tier_spans([[False, False, True], [False, False, False], [True, False, False]]).tolist()
    [[1, 1], [1, 2], [1, 2]]
    """
    matrix, of_model = _matrix(apart), tiers(apart)
    ends = [(of_model[~row].min(), of_model[~row].max()) for row in matrix]
    return np.array(ends, dtype=np.intp).reshape(-1, 2)


def _matrix(apart: ArrayLike) -> NDArray[np.bool_]:
    matrix = np.asarray(apart)
    if matrix.size == 0:
        return np.zeros((0, 0), dtype=np.bool_)
    if matrix.dtype != np.bool_ or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise MetricInputError(f"apart has shape {matrix.shape} of {matrix.dtype}; expected booleans (models, models)")
    for first, second in np.argwhere(matrix != matrix.T)[:1].tolist():
        raise MetricInputError(
            f"apart[{first}, {second}] differs from apart[{second}, {first}]; is half of it missing?"
        )
    for place in np.flatnonzero(np.diagonal(matrix))[:1].tolist():
        raise MetricInputError(f"apart[{place}, {place}] is True; no model is told apart from itself")
    return matrix
