"""Several judges rated the same units and nobody knows the truth: what their agreement says of units and of judges.

Dawid and Skene [1]_ give every unit an unknown true level and every judge a confusion matrix: how likely each rating is
at each level. Judges err independently once the level is known. So two judges who often agree are probably both near
the level, and the expectation-maximisation algorithm (EM) finds levels and matrices together: from the matrices it
computes how likely each level of each unit is (E-step), and from these the matrices (M-step).

A free matrix of five levels has 20 numbers, too many for 50 units. Ratings have an order, so here a judge has two: a
unit at level ``t`` makes an impression ``t + shift`` plus logistic noise of a scale, and the judge gives the level that
is nearest to the impression [2]_. Each model (or whatever the units are of) has its own shares of levels.

What ratings cannot show, however many there are [3]_:

- With one judge nothing, and with two not which of the two errs: at least three judges have to follow each other, and
  every two of the three have to have units in common. Such triangles have to be joined to each other, by a judge of
  both or by two judges with common units.
- Which end of the scale is the good one: most judges are taken to rise with the level.
- The zero. It is set by the average judge: the shifts of the judges sum to 0. So if all are lenient, the levels are too
  high.
- Errors that judges share, such as those of one family of models: the levels then follow the majority.

References
----------
.. [1] Dawid, Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
   Statistics 28, 20-28.
.. [2] McCullagh (1980), Regression models for ordinal data, Journal of the Royal Statistical Society B 42, 109-142: the
   proportional odds model. Raykar et al. (2010), Learning from crowds, Journal of Machine Learning Research 11,
   1297-1322, section 6, has ordinal ratings by one binary model for each threshold.
.. [3] Goodman (1974), Exploratory latent structure analysis using both identifiable and unidentifiable models,
   Biometrika 61, 215-231: with two judges the latent classes are not identified.
.. [4] Louis (1982), Finding the observed information matrix when using the EM algorithm, Journal of the Royal
   Statistical Society B 44, 226-233.
.. [5] Spearman (1904), General intelligence, American Journal of Psychology 15, 201-293: with one common cause, the
   covariance of two variables follows from those with any other two (tetrads).
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import atanh, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_level
from attune_metrics.stats.bootstrap import Interval
from attune_metrics.stats.bradley_terry import find_groups
from attune_metrics.stats.cluster_means import t_ends
from attune_metrics.stats.comparison import holm
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    as_floats,
    check_array,
    cluster_index,
    coefficient_of_variation,
    effective_freedom,
    jackknife_error,
    ratio,
)

MIN_JUDGES = 3
"""Fewer judges that follow each other do not show who errs."""

MIN_JUDGED_CLUSTERS = 10
"""With fewer clusters a mean has no interval."""

MOST_LEVELS = 21
"""A scale with more levels is refused."""

FOLLOWS = 2.5
"""A judge follows the others where its correlation with their mean is so many standard errors above 0."""

_COMMON = 4  # units that two judges need to be compared
_RIDGE = 1e-4  # keeps the numbers of a judge that never errs finite
_PERFECT, _SHORTEST = 1 - 1e-9, 1e-9
_MOST_STEPS, _NEAR, _CONVERGED, _DIGITS = 10_000, 1e-4, 1e-8, 8


@dataclass(frozen=True, eq=False, slots=True)
class JudgeErrors:
    """How one judge errs, by the estimated levels of the units.

    Attributes
    ----------
    accuracy : float
        Probability that a rating is the level, 0 to 1.
    leniency : float
        Mean of the rating minus the level, in points of the scale; above 0 the judge is more lenient than the average
        judge.
    spread : float
        Standard deviation of the rating minus the level, in points of the scale.
    confusion : array of float, shape (levels, levels)
        Probability of each rating (column) at each level (row).
    falls : bool
        Whether the judge falls where most others rise.
    reason : str or None
        Why the judge is left out; its numbers are nan.
    """

    accuracy: float
    leniency: float
    spread: float
    confusion: Floats
    falls: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SharedErrors:
    """Whether two judges agree with each other more than the others explain.

    Attributes
    ----------
    one, other : int
        The judges, as columns of the ratings.
    excess : float
        Correlation of their ratings minus the correlation that the other judges lead to expect.
    p, p_holm : float
        One-sided, that the excess is no more than chance; corrected for the number of pairs.
    reason : str or None
        Why there is no p-value.
    """

    one: int
    other: int
    excess: float
    p: float
    p_holm: float
    reason: str | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Consensus:
    """What several judges say together.

    Attributes
    ----------
    levels : array of float, shape (levels,)
        The scale: evenly spaced, from the lowest rating to the highest.
    judges : tuple of JudgeErrors
        In the order of the ratings' columns.
    models : tuple
        Labels of the models, sorted.
    means : tuple of Interval
        Mean level of each model.
    plain_means : array of float, shape (models,)
        Mean over units of the mean rating, by the judges that are not left out, for comparison.
    shares : array of float, shape (models, levels)
        Share of each model's units at each level.
    unit_levels : array of float, shape (units,)
        Expected level of each unit, given its ratings; nan where no judge rated it that is not left out.
    pairs : tuple of SharedErrors
        Of judges that are not left out; none where these are three, which always explain each other.
    log_likelihood : float
        Of the ratings, at the last step.
    steps : int
        How many steps EM took.
    reason : str or None
        Why nothing is estimated: all other numbers are nan.
    """

    levels: Floats
    judges: tuple[JudgeErrors, ...]
    models: tuple[Hashable, ...]
    means: tuple[Interval, ...]
    plain_means: Floats
    shares: Floats
    unit_levels: Floats
    pairs: tuple[SharedErrors, ...]
    log_likelihood: float
    steps: int
    reason: str | None = None


def ordinal_consensus(
    ratings: ArrayLike,
    clusters: Iterable[Hashable],
    *,
    models: Iterable[Hashable] | None = None,
    level: float = 0.95,
) -> Consensus:
    """Estimate the level of each unit, the mean level of each model and the errors of each judge, without any truth.

    With the rating r of a judge at the level t, both counted in steps of the scale, and F the logistic function::

        P(r at most k | t) = F((k + 1/2 - t - shift) / scale)

    The likelihood of a unit is the sum over levels of its model's share of the level times the product of these over
    the judges that rated it. EM maximises it, from several starts: the mean of the judges as the levels, and each judge
    alone. A step never lowers the likelihood.

    Parameters
    ----------
    ratings : array of float, shape (units, judges)
        On an evenly spaced scale of at most 21 levels; nan where a judge did not rate a unit.
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.
    models : iterable of str or int, optional
        The label of each unit's model; by default all units are of one.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Consensus
        `means` have Student's t, on a logit scale, of how each cluster moves the mean level in one Newton step from the
        estimate (the information is Louis' [4]_), so that the interval counts that judges' errors are estimated too.
        The ends are nan, and ``reason`` says why, with fewer than ten clusters, and where all units of a model are at
        one end of the scale. `pairs` compare the covariance of two judges with those of all others [5]_, minus the
        same from the estimated model; p is from how the clusters move it.

    Raises
    ------
    MetricInputError
        If the ratings are not on such a scale or infinite, labels are not one for each unit or one is missing, or the
        level is out of range.

    Notes
    -----
    A judge is left out that gives all units one rating, or does not follow the others: its correlation with their mean
    is less than 2.5 standard errors above 0. So is one that has no triangle: two other judges that have four units in
    common with it and with each other. Where fewer than three judges are left, triangles have neither a judge in common
    nor two judges with four common units, half of the judges fall where the others rise, or EM does not converge in
    10,000 steps, nothing is estimated and ``reason`` says so. A judge that falls is turned round. On a scale of two
    levels shifts are free: this is the model of Dawid and Skene itself. A ridge of 0.0001 on shift and on 1 over the
    scale keeps a judge that never errs finite. docs/judges.md simulates coverage.

    Examples
    --------
    Three judges see the level with an error of 0.4, 0.6 and 0.8; the first sees 0.5 too much, the third 0.5 too little:

    >>> generator = np.random.default_rng(1)
    >>> levels = generator.integers(1, 6, size=200)
    >>> seen = levels[:, np.newaxis] + generator.normal([0.5, 0, -0.5], [0.4, 0.6, 0.8], size=(200, 3))
    >>> found = ordinal_consensus(np.clip(np.rint(seen), 1, 5), range(200))
    >>> [round(judge.accuracy, 2) for judge in found.judges], [round(judge.leniency, 2) for judge in found.judges]
    ([0.52, 0.66, 0.46], [0.48, 0.09, -0.5])
    >>> [round(float(mean), 1) for mean in (levels.mean(), found.means[0].estimate, found.plain_means[0])]
    [3.1, 3.1, 3.1]
    """
    check_level(level)
    given, index = check_array(ratings, "ratings", "units", "judges"), cluster_index(clusters)
    labels = [0] * len(given) if models is None else [*models]
    of_models, names = cluster_index(labels), tuple(sorted(set(labels)))  # type: ignore[type-var]
    if len(index) != len(given) or len(labels) != len(given):
        raise MetricInputError(
            f"ratings of shape {given.shape} for {len(index)} labels of clusters and {len(labels)} of models; "
            "expected (units, judges) with one label for each unit"
        )
    if np.isinf(given).any():
        raise MetricInputError("a rating is infinite; expected finite numbers, or nan where a judge did not rate")
    levels = rating_levels(given)
    signs, reasons = _directions(given)
    groups = _joined(given, signs, reasons)
    if reason := _why_unknown(signs, reasons, groups):
        reasons = [one or (_FALLS if sign < 0 else None) for one, sign in zip(reasons, signs.tolist(), strict=True)]
        return _unknown(levels, reasons, names, (len(given), level), reason)
    kept = np.flatnonzero(signs)
    places = np.rint((given[:, kept] - levels[0]) / (levels[1] - levels[0]))
    turned = np.where(signs[kept] < 0, len(levels) - 1 - places, places)
    data = _tally(turned, of_models, len(names), len(levels))
    fits = (_maximize(data, *_start(data, start), _NEAR) for start in _starts(data))
    best = max(fits, key=lambda fit: round(fit.objective, 3))
    fit = _maximize(data, best.parts, best.shares, _CONVERGED)
    if fit.steps == _MOST_STEPS:
        reason = f"the estimate did not converge in {_MOST_STEPS:,} steps"
        unknown = _unknown(levels, reasons, names, (len(given), level), reason)
        return replace(unknown, log_likelihood=round(fit.log_likelihood, _DIGITS), steps=fit.steps)

    matrices: Floats = np.exp(_log_confusions(fit.parts, len(levels))[:, :, :-1]).round(_DIGITS)
    shares: Floats = fit.shares.round(_DIGITS)
    overall: Floats = (data.counts.sum(axis=1, keepdims=True) * shares).sum(axis=0) / data.counts.sum()
    errors = [_no_errors(levels, reason) for reason in reasons]
    for judge, matrix in zip(kept, matrices, strict=True):
        errors[judge] = _errors(levels, overall, matrix, falls=bool(signs[judge] < 0))

    rated = data.of_units >= 0
    unit_levels = np.full(len(given), nan)
    expected = (fit.posterior * levels).sum(axis=-1)
    unit_levels[rated] = np.round(expected[of_models[rated], data.of_units[rated]], _DIGITS)
    of_units, index, of_models = given[rated][:, kept], index[rated], of_models[rated]
    moves = _influences(data, fit) * (levels[1] - levels[0])
    means, plain_means = [], np.full(len(names), nan)
    for model in range(len(names)):
        own_units = of_models == model
        means.append(_mean(levels, shares[model], moves[:, model], index, own_units, level))
        if own_units.any():
            plain_means[model] = np.nanmean(of_units[own_units], axis=1).mean()
    pairs = _shared_errors(turned[rated], index, matrices, overall) if len(kept) > MIN_JUDGES else []
    return Consensus(
        levels, tuple(errors), names, tuple(means), plain_means, shares, unit_levels,
        tuple(replace(pair, one=int(kept[pair.one]), other=int(kept[pair.other])) for pair in pairs),
        round(fit.log_likelihood, _DIGITS), fit.steps,
    )  # fmt: skip


_METHOD = "one-step jackknife-t"
_NO_RATING, _FALLS = "no rating", "falls where others rise"


def _joined(ratings: Floats, signs: NDArray[np.int64], reasons: list[str | None]) -> int:
    """Leave out judges in no triangle, three judges every two of whom have units in common; return how many groups.

    Triangles with a judge in common, or two judges with units in common, are one group: each knows its own errors.
    """
    if np.count_nonzero(signs) < MIN_JUDGES:
        return 0
    given = (~np.isnan(ratings) & (signs != 0)).astype(np.float64)
    share = (given.T @ given >= _COMMON) & ~np.eye(len(signs), dtype=np.bool_)
    triangles = share & (share.astype(np.float64) @ share > 0)
    known = triangles.any(axis=0)
    groups = [group for group in find_groups((share & known & known[:, np.newaxis]).astype(float)) if len(group) > 1]
    for judge in np.flatnonzero(signs):
        if not known[judge]:
            signs[judge] = 0
            reasons[judge] = f"no two other judges have {_COMMON} units in common with it and with each other"
    if len(groups) > 1:
        for number, group in enumerate(groups, 1):
            for one in group:
                reasons[one] = f"in group {number} of {len(groups)}"
    return len(groups)


def _why_unknown(signs: NDArray[np.int64], reasons: list[str | None], groups: int) -> str | None:
    """Return why the ratings say nothing of levels, if so."""
    kept, falling = np.count_nonzero(signs), np.count_nonzero(signs < 0)
    rating = sum(reason != _NO_RATING for reason in reasons)
    if rating == 1:
        return f"one judge rated; with one, nothing shows how often it errs: at least {MIN_JUDGES} are needed"
    if kept < MIN_JUDGES:
        if kept == rating:
            return f"two judges rated; with two, nothing shows which of them errs: at least {MIN_JUDGES} are needed"
        few = "two" if kept else f"fewer than {MIN_JUDGES}"
        usable = f"{kept or 'none'} of {rating} judges can be used; with {few}, nothing shows which of them errs"
        return f"{usable}: at least {MIN_JUDGES} are needed"
    if groups > 1:
        return (
            f"the judges are in {groups} groups; no two judges of different groups have {_COMMON} units in common, and "
            "nothing shows how lenient one group is beside the other"
        )
    if 2 * falling == kept:
        return f"{falling} of {kept} judges fall where the others rise; nothing shows which half is right"
    return None


def _unknown(
    levels: Floats, reasons: list[str | None], names: tuple[Hashable, ...], about: tuple[int, float], reason: str
) -> Consensus:
    """Return that nothing is known of so many units, at a level."""
    units, level = about
    return Consensus(
        levels, tuple(_no_errors(levels, one) for one in reasons), names,
        tuple(Interval(nan, nan, nan, level, _METHOD, 0, 0, reason) for _ in names), np.full(len(names), nan),
        np.full((len(names), len(levels)), nan), np.full(units, nan), (), nan, 0, reason,
    )  # fmt: skip


def _no_errors(levels: Floats, reason: str | None) -> JudgeErrors:
    return JudgeErrors(nan, nan, nan, np.full((len(levels), len(levels)), nan), reason=reason)


def rating_levels(ratings: ArrayLike) -> Floats:
    """Return the levels of a scale: evenly spaced, from the lowest rating to the highest, with those that nobody gave.

    The step is the smallest difference of two ratings.

    Parameters
    ----------
    ratings : array of float
        nan where there is none.

    Raises
    ------
    MetricInputError
        If there is no rating, ratings are not evenly spaced, or there are more than 21 levels.

    Examples
    --------
    >>> rating_levels([1, 2, 5, 4]), rating_levels([0.5, 1.5, 1])
    (array([1., 2., 3., 4., 5.]), array([0.5, 1. , 1.5]))
    """
    given = as_floats(ratings, "ratings")
    values: Floats = np.unique(given[~np.isnan(given)])
    if not len(values):
        raise MetricInputError("no rating; expected at least one number")
    if len(values) == 1:
        return values
    gaps = (values - values[0]) / np.diff(values).min()
    if np.abs(gaps - np.rint(gaps)).max() > 1e-6 or gaps[-1] > MOST_LEVELS - 1:
        listed = ", ".join(f"{value:g}" for value in values[:5])
        raise MetricInputError(
            f"{len(values)} different ratings, {listed}{', ...' if len(values) > 5 else ''}; expected an evenly spaced "
            f"scale of at most {MOST_LEVELS} levels: round the ratings"
        )
    return np.linspace(values[0], values[-1], int(np.rint(gaps[-1])) + 1)


def _directions(ratings: Floats) -> tuple[NDArray[np.int64], list[str | None]]:
    """Return of each judge 1 where it rises with the others, -1 where it falls, 0 where it is left out, and why.

    Each judge is compared with the mean of the others' standardized ratings of the units that it rated; the one that
    falls most is turned round, then the one that follows least is left out, until all that are left follow.
    """
    judges = ratings.shape[1]
    signs = np.ones(judges, dtype=np.int64)
    reasons: list[str | None] = [None] * judges
    given = ~np.isnan(ratings)
    standard = np.full(ratings.shape, nan)
    for judge in range(judges):
        own = ratings[given[:, judge], judge]
        if not len(own):
            signs[judge], reasons[judge] = 0, _NO_RATING
        elif np.ptp(own) == 0:
            signs[judge], reasons[judge] = 0, "the same rating for every unit, which says nothing about the level"
        else:
            standard[given[:, judge], judge] = (own - own.mean()) / own.std()
    for _ in range(2 * judges * judges):
        used = np.flatnonzero(signs)
        if len(used) < 2:
            for alone in used:
                signs[alone], reasons[alone] = 0, "no other judge is left to compare with"
            break
        found = [_with_others(standard[:, used] * signs[used], place) for place in range(len(used))]
        # Fisher's transformation: standard errors from 0.
        follows = np.array([atanh(correlation) * sqrt(max(units - 3, 0)) for correlation, units in found])
        last = int(follows.argmin())
        if follows[last] >= FOLLOWS:
            break
        judge = int(used[last])
        if follows[last] <= -FOLLOWS:
            signs[judge] *= -1
            continue
        correlation, units = found[last]
        signs[judge], reasons[judge] = (
            0,
            (
                f"does not follow the other judges beyond chance: r = {correlation:.2f} with their mean, {units} units"
                if units
                else "fewer than four units that another judge rated too"
            ),
        )
    if 2 * np.count_nonzero(signs < 0) > np.count_nonzero(signs):
        signs = -signs
    return signs, reasons


def _with_others(standard: Floats, place: int) -> tuple[float, int]:
    """Return the correlation of a judge with the mean of the others, and of how many units; 0 and 0 of too few."""
    others = np.delete(standard, place, axis=1)
    both = ~np.isnan(standard[:, place]) & ~np.isnan(others).all(axis=1)
    if np.count_nonzero(both) < _COMMON:
        return 0.0, 0
    own, mean = standard[both, place], np.nanmean(others[both], axis=1)
    own, mean = own - own.mean(), mean - mean.mean()
    size = sqrt(float((own**2).sum() * (mean**2).sum()))
    found = float((own * mean).sum()) / size if size > ROUNDING else 0.0
    return min(max(found, -_PERFECT), _PERFECT), int(np.count_nonzero(both))


class _Tally(NamedTuple):
    """Units with the same ratings are counted together.

    Attributes
    ----------
    patterns : array of int, shape (patterns, judges)
        Different rows of ratings, as places on the scale; its number of levels where a judge did not rate.
    counts : array of float, shape (models, patterns)
        How many units of each model have these ratings.
    of_units : array of int, shape (units,)
        The pattern of each unit; -1 without a rating.
    of_models : array of int, shape (units,)
        The model of each unit.
    size : int
        How many levels the scale has.
    """

    patterns: NDArray[np.int64]
    counts: Floats
    of_units: NDArray[np.int64]
    of_models: NDArray[np.intp]
    size: int


class _Fit(NamedTuple):
    """Estimates: parts (judges, 2), shares (models, levels), posterior (models, patterns, levels)."""

    parts: Floats
    shares: Floats
    posterior: Floats
    log_likelihood: float
    objective: float
    steps: int


def _tally(places: Floats, of_models: NDArray[np.intp], models: int, size: int) -> _Tally:
    filled = np.where(np.isnan(places), size, places).astype(np.int64)
    rated = (filled < size).any(axis=1)
    patterns, index = np.unique(filled[rated], axis=0, return_inverse=True)
    counts = np.zeros((models, len(patterns)))
    np.add.at(counts, (of_models[rated], index.ravel()), 1)
    of_units = np.full(len(places), -1)
    of_units[rated] = index.ravel()
    return _Tally(patterns, counts, of_units, of_models, size)


def _starts(data: _Tally) -> list[Floats]:
    """Return levels (patterns,) to begin with: the mean of the judges, and each judge's own where it rated."""
    known = np.where(data.patterns < data.size, data.patterns, nan)
    mean = np.nanmean(known, axis=1)
    return [mean, *(np.where(np.isnan(own), mean, own) for own in known.T)]


def _start(data: _Tally, places: Floats) -> tuple[Floats, Floats]:
    """Return parts and shares where each pattern is mostly at a place (patterns,) on the scale."""
    posterior = np.full((len(data.counts), len(data.patterns), data.size), 0.1 / data.size)
    posterior[:, np.arange(len(data.patterns)), np.rint(places).astype(int)] += 0.9
    judges = data.patterns.shape[1]
    rated, shares = _expected(data, posterior)
    return _improve(np.tile([0.0, 2.0], (judges, 1)), rated, steps=20), shares


def _maximize(data: _Tally, parts: Floats, shares: Floats, tolerance: float) -> _Fit:
    """Maximise the likelihood by EM until no probability moves by more than the tolerance."""
    matrices = np.exp(_log_confusions(parts, data.size))
    steps = 0
    while True:
        steps += 1
        posterior, log_likelihood = _posterior(data, parts, shares)
        objective = log_likelihood - float(_penalty(parts).sum())
        rated, new_shares = _expected(data, posterior)
        new = _improve(parts, rated, steps=1)
        new_matrices = np.exp(_log_confusions(new, data.size))
        moved = max(np.abs(new_matrices - matrices).max(), np.abs(new_shares - shares).max())
        if moved < tolerance or steps == _MOST_STEPS:
            return _Fit(parts, shares, posterior, log_likelihood, objective, steps)
        parts, shares, matrices = new, new_shares, new_matrices


def _penalty(parts: Floats) -> Floats:
    """Return the penalty of each judge's parts."""
    penalty: Floats = _RIDGE / 2 * (parts**2).sum(axis=-1)
    return penalty


def _log_confusions(parts: Floats, size: int) -> Floats:
    """Return the log-probability of each rating at each level (judges, levels, ratings); last 0 for no rating.

    Parts are the shift, and 1 over the scale. ``F(u) - F(v) = F(u) F(-v) (1 - exp(v - u))`` loses no digits.
    """
    steps = _thresholds(parts, size)
    found = np.zeros((len(parts), size, size + 1))
    found[:, :, : size - 1] -= np.logaddexp(0, -steps)
    found[:, :, 1:size] -= np.logaddexp(0, steps)
    if size > 2:
        found[:, :, 1 : size - 1] += np.log(-np.expm1(-parts[:, 1]))[:, np.newaxis, np.newaxis]
    return found


def _thresholds(parts: Floats, size: int) -> Floats:
    """Return the logits that a rating is at most each level but the last (judges, levels, levels - 1)."""
    apart = _apart(size) - parts[:, 0, np.newaxis, np.newaxis]
    return apart * parts[:, 1, np.newaxis, np.newaxis]


@cache
def _apart(size: int) -> Floats:
    """Return how far each threshold is above each level (levels, levels - 1)."""
    return np.arange(0.5, size - 1) - np.arange(size, dtype=np.float64)[:, np.newaxis]


def _scores(parts: Floats, size: int) -> Floats:
    """Return the derivatives of `_log_confusions` by the parts (judges, levels, ratings, 2)."""
    below, above = _below_and_above(parts, size)
    by_parts = _by_parts(parts, size)
    found = np.zeros((len(parts), size, size + 1, 2))
    found[:, :, : size - 1] += above[..., np.newaxis] * by_parts
    found[:, :, 1:size] -= below[..., np.newaxis] * by_parts
    if size > 2:
        found[:, :, 1 : size - 1, 1] += (1 / np.expm1(parts[:, 1]))[:, np.newaxis, np.newaxis]
    return found


def _by_parts(parts: Floats, size: int) -> Floats:
    """Return the derivatives of `_thresholds` by the parts (judges, levels, levels - 1, 2)."""
    shift, precision = parts.T[:, :, np.newaxis, np.newaxis]
    return np.stack([np.broadcast_to(-precision, (len(parts), size, size - 1)), _apart(size) - shift], axis=-1)


def _below_and_above(parts: Floats, size: int) -> tuple[Floats, Floats]:
    """Return the probabilities that a rating is at most, and above, each level but the last."""
    steps = _thresholds(parts, size)
    return np.exp(-np.logaddexp(0, -steps)), np.exp(-np.logaddexp(0, steps))


def _posterior(data: _Tally, parts: Floats, shares: Floats) -> tuple[Floats, float]:
    """Return how likely each level is (models, patterns, levels), and the log-likelihood: the E-step."""
    logs = _log_confusions(parts, data.size)
    by_judge = [logs[judge][:, data.patterns[:, judge]] for judge in range(len(parts))]
    with np.errstate(divide="ignore"):
        joint = np.log(shares)[:, np.newaxis] + np.sum(by_judge, axis=0).T
    top = joint.max(axis=-1, keepdims=True)
    relative = np.exp(joint - top)
    total = relative.sum(axis=-1, keepdims=True)
    return relative / total, float((data.counts * (top + np.log(total))[..., 0]).sum())


def _expected(data: _Tally, posterior: Floats) -> tuple[Floats, Floats]:
    """Return how often each judge gives each rating at each level (judges, levels, ratings), and shares of levels."""
    units = data.counts[..., np.newaxis] * posterior
    of_patterns = units.sum(axis=0)
    is_rating = data.patterns.T[:, :, np.newaxis] == np.arange(data.size)
    rated = np.einsum("pt,jpr->jtr", of_patterns, is_rating)
    of_models = units.sum(axis=1)
    total = of_models.sum(axis=-1, keepdims=True)
    return rated, np.divide(of_models, total, out=np.full_like(of_models, 1 / data.size), where=total > 0)


def _improve(parts: Floats, rated: Floats, steps: int) -> Floats:
    """Return parts that make the ratings likelier: the M-step, for the shifts and then for the scales.

    The likelihood is concave in either. Each is one Newton step, halved until it gains, of a judge's scale alone, of
    all shifts together, as these sum to 0.
    """
    size = rated.shape[1]

    def gains(at: Floats) -> Floats:
        likely = (rated * _log_confusions(at, size)[:, :, :size]).sum(axis=(1, 2)) - _penalty(at)
        return np.where(at[:, 1] > 0, likely, -np.inf)

    for _ in range(steps):
        gradient, information = _slopes(parts, rated)
        pull = gradient[:, 0]
        if size > 2:
            pull = pull - (pull / information[:, 0, 0]).sum() / (1 / information[:, 0, 0]).sum()
        move = np.stack([pull / information[:, 0, 0], np.zeros(len(parts))], axis=-1)
        now, length = gains(parts).sum(), 1.0
        while gains(parts + length * move).sum() < now and length > _SHORTEST:
            length /= 2
        parts = parts + length * move if length > _SHORTEST else parts

        gradient, information = _slopes(parts, rated)
        move = np.stack([np.zeros(len(parts)), gradient[:, 1] / information[:, 1, 1]], axis=-1)
        move[:, 1] = np.maximum(move[:, 1], -0.9 * parts[:, 1])
        before = gains(parts)
        while (worse := gains(parts + move) < before).any():
            move[worse] = np.where(np.abs(move[worse]) > _SHORTEST, move[worse] / 2, 0)
            if not move[worse].any():
                break
        parts = parts + move
    return parts


def _slopes(parts: Floats, rated: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of the penalized likelihood, given levels, by the parts (judges, 2), and the information.

    The information (judges, 2, 2) has the ridge; it is without the derivative of a threshold by both parts.
    """
    size = rated.shape[1]
    by_parts = _by_parts(parts, size)
    below, above = _below_and_above(parts, size)
    gradient = np.einsum("jtk,jtkc->jc", rated[:, :, :-1] * above - rated[:, :, 1:] * below, by_parts) - _RIDGE * parts
    weights = (rated[:, :, :-1] + rated[:, :, 1:]) * below * above
    information = np.einsum("jtk,jtkc,jtkd->jcd", weights, by_parts, by_parts) + _RIDGE * np.eye(2)
    if size > 2:
        inner = rated[:, :, 1:-1].sum(axis=(1, 2))
        gradient[:, 1] += inner / np.expm1(parts[:, 1])
        information[:, 1, 1] += inner / (4 * np.sinh(parts[:, 1] / 2) ** 2)
    return gradient, information


def _influences(data: _Tally, fit: _Fit) -> Floats:
    """Return how each rated unit moves the mean place of each model (units, models): one Newton step.

    The information of the ratings is the information of ratings and levels together, minus the part that is lost as
    levels are not known (Louis). Shares are logits here; each model's are eliminated before the parts are solved for.
    """
    size, posterior, counts = data.size, fit.posterior, data.counts
    judges = len(fit.parts)
    units = counts[..., np.newaxis] * posterior
    first = _scores(fit.parts, size)
    scores = np.concatenate([first[judge][:, data.patterns[:, judge]] for judge in range(judges)], axis=-1)
    scores = scores.transpose(1, 0, 2)  # (patterns, levels, parts)
    expected = np.einsum("mpt,ptc->mpc", posterior, scores)
    rated, _ = _expected(data, posterior)
    of_parts = _information(fit.parts, rated)
    of_parts -= np.einsum("pt,ptc,ptd->cd", units.sum(axis=0), scores, scores, optimize=True)
    of_parts += np.einsum("mp,mpc,mpd->cd", counts, expected, expected, optimize=True)
    of_both = np.einsum("mpt,mpc->mct", units, expected) - np.einsum("mpt,ptc->mct", units, scores)
    of_shares = np.einsum("mpt,mpu->mtu", units, posterior)
    of_shares -= (
        counts.sum(axis=1)[:, np.newaxis, np.newaxis] * fit.shares[:, :, np.newaxis] * fit.shares[:, np.newaxis]
    )
    inverse = _inverse(of_shares)
    eliminated = of_both @ inverse
    rest = of_parts - np.einsum("mct,mdt->cd", eliminated, of_both)
    moved = posterior - fit.shares[:, np.newaxis]
    free = _free_directions(judges, size)
    solved = free @ _inverse(free.T @ rest @ free) @ free.T
    of_patterns = (expected - np.einsum("mct,mpt->mpc", eliminated, moved)) @ solved
    places = np.arange(size)
    gradient = fit.shares * (places - (fit.shares @ places)[:, np.newaxis])
    through_shares = np.einsum("mt,mtu->mu", gradient, inverse)
    found = -np.einsum("gpc,mct,mt->gpm", of_patterns, of_both, through_shares, optimize=True)
    models = np.arange(len(counts))
    found[models, :, models] += np.einsum("mt,mpt->mp", through_shares, moved)
    known = data.of_units >= 0
    return np.asarray(found[data.of_models[known], data.of_units[known]])


def _information(parts: Floats, rated: Floats) -> Floats:
    """Return the information of ratings about all parts where levels are known, as a matrix."""
    judges, size = rated.shape[:2]
    of_judges = _slopes(parts, rated)[1]
    below, above = _below_and_above(parts, size)
    # A threshold's derivative by both parts is -1.
    both = (rated[:, :, :-1] * above - rated[:, :, 1:] * below).sum(axis=(1, 2))
    of_judges += both[:, np.newaxis, np.newaxis] * np.array([[0, 1], [1, 0]])
    found = np.zeros((judges, 2, judges, 2))
    found[np.arange(judges), :, np.arange(judges)] = of_judges
    return found.reshape(2 * judges, 2 * judges)


def _free_directions(judges: int, size: int) -> Floats:
    """Return orthogonal directions (judges * 2, free) in which parts may move: those in which shifts sum to 0.

    Of two levels, with one threshold between them, the zero is known.
    """
    fixed = np.zeros((judges, 2))
    fixed[:, 0] = 1
    return np.eye(2 * judges) if size == 2 else np.linalg.qr(fixed.reshape(-1, 1), mode="complete")[0][:, 1:]


def _inverse(information: Floats) -> Floats:
    """Return the inverse of symmetric matrices (..., n, n), 0 in directions of which the ratings say nothing."""
    values, vectors = np.linalg.eigh(information)
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 1e-6)
    found: Floats = (vectors * inverse[..., np.newaxis, :]) @ np.swapaxes(vectors, -1, -2)
    return found


def _mean(
    levels: Floats, shares: Floats, moves: Floats, clusters: NDArray[np.intp], own: NDArray[np.bool_], level: float
) -> Interval:
    """Return the mean level of a model from its shares, and the interval from how units move it."""
    sizes = np.bincount(clusters[own])
    held = int(np.count_nonzero(sizes))
    estimate = float((levels * shares).sum()) if held else nan
    reason = None
    if not held:
        reason = "no unit that a judge rated"
    elif held < MIN_JUDGED_CLUSTERS:
        reason = f"fewer than {MIN_JUDGED_CLUSTERS} clusters"
    elif not levels[0] < round(estimate, 6) < levels[-1]:
        reason = "every unit is at one end of the scale"
    ends = nan, nan
    if reason is None:
        by_cluster = np.bincount(clusters, weights=moves)[np.bincount(clusters) > 0]
        count = len(by_cluster)
        error = jackknife_error((by_cluster - by_cluster.mean()) * count / (count - 1))
        freedom = effective_freedom(held, coefficient_of_variation(sizes.astype(float)))
        ends = t_ends(estimate, round(error, _DIGITS), freedom, levels[0], levels[-1], level)
    return Interval(estimate, *ends, level, _METHOD, int(np.count_nonzero(own)), held, reason)


def _errors(levels: Floats, shares: Floats, confusion: Floats, *, falls: bool) -> JudgeErrors:
    """Return how a judge errs, in the mix of levels of all units; the matrix of one that falls is turned back."""
    confusion = confusion[:, ::-1] if falls else confusion
    joint = shares[:, np.newaxis] * confusion
    error = levels - levels[:, np.newaxis]
    leniency = float((joint * error).sum())
    spread = sqrt(max(float((joint * error**2).sum()) - leniency**2, 0.0))
    return JudgeErrors(float(joint.trace()), leniency, spread, confusion, falls)


def _shared_errors(places: Floats, clusters: NDArray[np.intp], matrices: Floats, shares: Floats) -> list[SharedErrors]:
    """Return the excess of every two judges; judges are columns of the places."""
    from scipy.special import ndtr

    given = (~np.isnan(places)).astype(np.float64)
    moved = np.nan_to_num(places - np.nanmean(places, axis=0))
    groups = clusters.max() + 1
    judges = places.shape[1]
    sums, sizes = np.zeros((groups, judges, judges)), np.zeros((groups, judges, judges))
    np.add.at(sums, clusters, moved[:, :, np.newaxis] * moved[:, np.newaxis])
    np.add.at(sizes, clusters, given[:, :, np.newaxis] * given[:, np.newaxis])
    total, size = sums.sum(axis=0), sizes.sum(axis=0)
    observed = ratio(total, size)
    impressions = matrices @ np.arange(len(shares))
    centred = impressions - (impressions @ shares)[:, np.newaxis]
    modelled = np.einsum("t,jt,kt->jk", shares, centred, centred)
    modelled[np.isnan(observed)] = nan
    beyond = _beyond_others(observed)
    moves = _beyond_others(ratio(total - sums, size - sizes))[np.bincount(clusters) > 0] - beyond
    excess, spread = beyond - _beyond_others(modelled), np.sqrt(observed.diagonal())
    rows = []
    for one, other in combinations(range(judges), 2):
        error = jackknife_error(moves[:, one, other])
        reason = None
        if not size[one, other]:
            reason = "the two have no common units"
        elif np.isnan(excess[one, other]):
            reason = "no other two judges to compare with"
        elif len(moves) < MIN_JUDGED_CLUSTERS:
            reason = f"there are fewer than {MIN_JUDGED_CLUSTERS} clusters"
        elif not error > 0:
            reason = "clusters do not show how far chance moves the excess"
        p = nan if reason else float(ndtr(-excess[one, other] / error))
        correlation = float(excess[one, other] / (spread[one] * spread[other]))
        rows.append(SharedErrors(one, other, round(correlation, _DIGITS), round(p, _DIGITS), nan, reason))
    corrected = holm([row.p for row in rows])
    return [replace(row, p_holm=float(value)) for row, value in zip(rows, corrected, strict=True)]


def _beyond_others(covariances: Floats) -> Floats:
    """Return covariances (..., judges, judges) minus what all other judges lead to expect of each pair.

    For judges i and j and any others k and l, ``c_ij = c_ik c_jl / c_kl`` where one cause explains all. Products and
    divisors are summed over all k and l whose three covariances are known before they are divided; nan where
    there are no such k and l, which only a count shows: sums of covariances leave a rounding error.
    """
    off_diagonal = 1 - np.eye(covariances.shape[-1])
    known = ~np.isnan(covariances) * off_diagonal
    apart = np.nan_to_num(covariances) * off_diagonal
    expected = ratio(_over_others(apart, known), _over_others(known, apart))
    return np.where(known * _over_others(known, known) > 0, apart - expected, nan)


def _over_others(outer: Floats, inner: Floats) -> Floats:
    """Return the sum of outer_ik inner_kl outer_lj over all k and l but i and j, for each i and j."""
    both = outer * inner
    sums = both.sum(axis=-1)
    # Without k is j, or l is i.
    either = sums[..., :, np.newaxis] + sums[..., np.newaxis, :] - both
    return np.asarray(outer @ inner @ outer - outer * either)
