"""Several judges at once: their best linear combination, corrected by people's ratings of a part of the units.

Combination
-----------
Every unit has the scores of k judges; a random part of the units also has a person's rating h on the scale of the
result. The combination predicts the rating of a unit:

    f = c + w_1 j_1 + ... + w_k j_k

with the c that gives f and h one mean over the rated units. Weights that were fitted to a rating would make f follow
the error of that rating, and the interval too narrow. Hence cross-fitting [1]_: the weights of a rated unit are fitted
to the ratings of all *other* clusters, one cluster left out at a time. The weights of a unit that nobody rated are the
mean over these fits, each counted by its ratings. So neither the order of rows nor a seed has a part in the weights. f
then takes the place of the one judge in `attune_metrics.stats.judges.prediction_powered`. Its slope is fixed at 1, as f
is a rating already: where all judges know nothing an estimated slope follows the noise of f, and intervals covered 90%
in simulations.

    corrected mean = mean of h over the rated + (mean of f over all - mean of f over the rated)

The bootstrap over clusters gives its interval. It holds f fixed, and covers although the weights are estimated: the
error of a weight is independent of the rating that it predicts.

Weights
-------
Least squares overfit where ratings are few or judges alike. So the weights are shrunk, in units of each judge's spread,
towards one of three targets: no judge; the judge that correlates best with people; or all judges equally, each with the
sign of its correlation. The last two are scaled to fit best. How much to shrink, and where to, the data say: with
Gaussian errors and weights, each of nine strengths and each target has a marginal likelihood [2]_, divided by the
number of targets that it was chosen from, ``2 k`` judges with their signs or ``2^k`` signs of all judges, and the
weights are the mean over all of them, weighted by it [3]_. A judge that equals the truth gets all the weight, its
negative a negative weight, equal judges share theirs, and judges that know nothing get next to none.

A missing score counts as the judge's mean, so that it says nothing of its unit; a unit that no judge scored is left
out. That is right where scores are missing alike among rated and other units. Of a judge that scored the rated units
more often, the combination would predict these better than the others, and the interval would be too narrow: it covers
73% where the judge scored no other unit. Such a judge is left out, and so is one that gives all units the same score.
The interval is narrower by at most the share of units that are not rated, so that a judge stays where this is at most
a twentieth, even if it scored none of these units.

Coverage
--------
``benchmarks/prediction_powered.py`` simulates 95% intervals with 2 to 6 judges and 20 to 200 ratings; docs/judges.md
has the tables. They cover 92.6 to 97.2%, and are at most 1.03 times as wide as the intervals of the judge that is best
on average: with independent and shared errors, alone, in clusters of 5 and with one cluster of 30% of the units, with a
judge that is the truth or its negative, a constant one, missing scores, a judge that scored rated units first, and
where no judge knows anything. The shortest of the single intervals, chosen afterwards, covers as little as 90.9%.

References
----------
.. [1] Zrnic, Candes (2024), Cross-prediction-powered inference, PNAS 121, e2322083121.
.. [2] MacKay (1992), Bayesian interpolation, Neural Computation 4, 415-447.
.. [3] Hoeting, Madigan, Raftery, Volinsky (1999), Bayesian model averaging, Statistical Science 14, 382-417.
"""

import warnings
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import Method, Resamples, distributions_of_sums
from attune_metrics.stats.judges import PredictionPowered, prediction_powered
from attune_metrics.stats.sums import ROUNDING, Floats, as_floats, check_array, cluster_sums, exponential

MIN_CLUSTERS_RATED = 3
"""With ratings in fewer clusters there is no combination: leaving one out leaves nothing to fit."""

_STRENGTHS = 10.0 ** np.arange(-4, 5)
"""Of shrinkage: what is added to a judge's sum of squares, as a part of it."""


_CONSTANT = "gives all units the same score"
_CHANCE = 1.96  # standard errors: p = 0.05
_FEW_UNRATED = 0.05  # share of the units


@dataclass(frozen=True, eq=False, slots=True)
class JudgeCombination:
    """What several judges say together.

    Attributes
    ----------
    scores : array of float, shape (units,)
        f, the predicted rating of each unit, of which the weights never saw the unit's own rating; nan where no judge
        scored the unit.
    weights : tuple of float
        Of each judge, in rating points for a point of the judge, the mean over the fits; nan for a judge that is left
        out.
    left_out : tuple of str or None
        Why each judge is left out: it gives all units the same score, or scored rated units more often than the others,
        or less often, by a test at 0.05 in which clusters count, or no other unit; None where at most a twentieth of
        the units is not rated.
    reason : str or None
        Why there is no combination; scores and weights are then nan.
    """

    scores: Floats
    weights: tuple[float, ...]
    left_out: tuple[str | None, ...]
    reason: str | None = None


def combine_judges(judged: ArrayLike, rated: ArrayLike, clusters: ArrayLike) -> JudgeCombination:
    """Combine judges linearly, fitted to people's ratings of other clusters than the unit's own.

    Parameters
    ----------
    judged : array of float, shape (judges, units)
        Scores, nan where there is none; on any scales.
    rated : array of float, shape (units,)
        People's ratings, nan where nobody rated.
    clusters : array of int, shape (units,)
        The number of each unit's cluster, as `attune_metrics.stats.bootstrap.Resamples` has it.

    Returns
    -------
    JudgeCombination

    Raises
    ------
    MetricInputError
        If the shapes differ, there is no judge, or a number is infinite.

    Examples
    --------
    Two judges, each right about one half of what people feel: together they are right.

    >>> from math import nan
    >>> warm, wise = [1, 2, 3, 4, 5, 4, 3, 2], [2, 1, 3, 2, 4, 5, 1, 4]
    >>> people = [3, 3, 6, 6, 9, 9, nan, nan]
    >>> found = combine_judges([warm, wise], people, range(8))
    >>> [round(weight, 2) for weight in found.weights], [round(score, 2) for score in found.scores[-2:].tolist()]
    ([1.0, 1.0], [4.0, 6.0])
    """
    scores, ratings = _checked(judged, rated)
    index = np.asarray(clusters, dtype=np.intp)
    if index.shape != ratings.shape:
        raise MetricInputError(f"clusters of shape {index.shape} and rated of shape {ratings.shape} differ")
    left_out = _left_out(np.isnan(scores), scores, ~np.isnan(ratings), index)
    kept = np.array([why is None for why in left_out])
    none = JudgeCombination(np.full(len(ratings), np.nan), (nan,) * len(scores), left_out)
    if not kept.any():
        shared = left_out[0] if len({*left_out}) == 1 else f"{_CONSTANT}, or scored rated and other units unlike often"
        return replace(none, reason=f"every judge {shared}")
    known = ~np.isnan(scores[kept]).all(axis=0)
    labelled = known & ~np.isnan(ratings)
    numbers, own = np.unique(index[labelled], return_inverse=True)
    if not len(numbers):
        return replace(none, reason="no unit is rated")
    if len(numbers) < MIN_CLUSTERS_RATED:
        return replace(none, reason=f"units of fewer than {MIN_CLUSTERS_RATED} clusters are rated")
    level, spread = (np.array([measure(np.sort(row[~np.isnan(row)])) for row in scores[kept]]) for measure in _SCALES)
    # A missing score is the judge's mean.
    scaled = np.nan_to_num((scores[kept] - level[:, np.newaxis]) / spread[:, np.newaxis])
    mean = float(np.sort(ratings[labelled]).mean())
    moments = _moments(np.vstack([scaled[:, labelled], ratings[labelled] - mean]), own)
    fits = _weights(moments.sum(axis=0) - moments)
    overall = (fits * moments[:, :1, 0]).sum(axis=0) / moments[:, 0, 0].sum()
    combined = (overall[:, np.newaxis] * scaled).sum(axis=0)
    combined[labelled] = (fits[own].T * scaled[:, labelled]).sum(axis=0)
    combined += mean - np.sort(combined[labelled]).mean()
    weights = np.full(len(scores), np.nan)
    weights[kept] = overall / spread
    return JudgeCombination(np.where(known, combined, np.nan), tuple(weights.tolist()), left_out)


_SCALES = np.mean, np.std


def _checked(judged: ArrayLike, rated: ArrayLike) -> tuple[Floats, Floats]:
    """Return scores (judges, units) and ratings (units,), or raise."""
    scores, ratings = check_array(judged, "judged", "judges", "units"), as_floats(rated, "rated")
    if not len(scores):
        raise MetricInputError("judged has no judge")
    if scores.shape[1:] != ratings.shape:
        raise MetricInputError(
            f"judged of shape {scores.shape} (judges, units) and rated of shape {ratings.shape} differ in units"
        )
    for values, name in ((scores, "judged"), (ratings, "rated")):
        if np.isinf(values).any():
            raise MetricInputError(f"{name}: {values[np.isinf(values)][0]} is infinite; a missing number is nan")
    return scores, ratings


def _left_out(
    missing: NDArray[np.bool_], scores: Floats, rated: NDArray[np.bool_], clusters: NDArray[np.intp]
) -> tuple[str | None, ...]:
    """Return why each judge is left out, None for a judge that is not."""
    known = ~missing.all(axis=0)
    uneven = [_unevenness(own[known], rated[known], clusters[known]) for own in missing]
    return tuple(
        why if _varies(row[~own]) else _CONSTANT for row, own, why in zip(scores, missing, uneven, strict=True)
    )


def _varies(scores: Floats) -> bool:
    return len(scores) > 0 and bool(np.ptp(scores) > ROUNDING * np.abs(scores).max())


def _unevenness(missing: NDArray[np.bool_], rated: NDArray[np.bool_], clusters: NDArray[np.intp]) -> str | None:
    """Return how the share of missing scores differs between rated and other units, if more than by chance."""
    if np.mean(~rated) <= _FEW_UNRATED or not rated.any() or not missing.any():
        return None
    if missing[~rated].all():
        return "scored no unit that is not rated"
    moved = (rated - rated.mean()) * (missing - missing.mean())
    by_chance = max(rated.var() * missing.var() * len(rated), float((np.bincount(clusters, moved) ** 2).sum()))
    if moved.sum() ** 2 <= _CHANCE**2 * by_chance:
        return None
    return f"scored rated units {'less' if moved.sum() > 0 else 'more'} often than others (p < 0.05)"


def _moments(columns: Floats, clusters: NDArray[np.intp]) -> Floats:
    """Return of each cluster the sums of products of 1 and the columns, shape (clusters, 1 + columns, 1 + columns)."""
    columns = np.vstack([np.ones((1, columns.shape[1])), columns])
    upper = np.triu_indices(len(columns))
    sums = cluster_sums((columns[upper[0]] * columns[upper[1]])[np.newaxis], clusters)[:, 0, :-1]
    found = np.empty((len(sums), len(columns), len(columns)))
    found[:, upper[0], upper[1]] = found[:, upper[1], upper[0]] = sums
    return found


def _weights(moments: Floats) -> Floats:
    """Return the weights (fits, judges) from sums of products of 1, the judges and the ratings."""
    n = moments[:, 0, 0]
    means = moments[:, 0, 1:] / n[:, np.newaxis]
    central = moments[:, 1:, 1:] - n[:, np.newaxis, np.newaxis] * means[:, :, np.newaxis] * means[:, np.newaxis, :]
    squares = np.diagonal(central, axis1=1, axis2=2)[:, :-1]
    # Of a judge that gives the other clusters one score nothing can be learned: its weight is 0.
    size = np.sqrt(np.where(squares > ROUNDING * n[:, np.newaxis], squares, np.inf))
    between = central[:, :-1, :-1] / (size[:, :, np.newaxis] * size[:, np.newaxis, :])
    common = central[:, :-1, -1] / size
    most = np.abs(common).max(axis=1, keepdims=True)
    # Shape (fits, targets, judges), scaled to fit the ratings best.
    target = np.sign(common)[:, np.newaxis] * np.stack(
        [np.zeros_like(common), np.abs(common) >= most, np.ones_like(common)], axis=1
    )
    square = (target[:, :, np.newaxis] * between[:, np.newaxis] * target[..., np.newaxis]).sum(axis=(-2, -1))
    product = (target * common[:, np.newaxis]).sum(axis=-1)
    factor = np.divide(product, square, out=np.zeros_like(square), where=square > ROUNDING)
    target = target * factor[..., np.newaxis]
    # Shape (fits, targets, strengths, ...): what the target leaves, and the ridge solution of that.
    left = common[:, np.newaxis] - (between[:, np.newaxis] * target[:, :, np.newaxis]).sum(axis=-1)
    judges = between.shape[-1]
    ridge = between[:, np.newaxis] + _STRENGTHS[:, np.newaxis, np.newaxis] * np.eye(judges)
    moved, determinant = _solve(ridge[:, np.newaxis], left[:, :, np.newaxis])
    # Where the other clusters have one rating, rounding may leave less than 0.
    of_ratings = np.maximum(central[:, -1, -1, np.newaxis], 0)
    quadratic = (of_ratings - factor * product)[..., np.newaxis] - (left[:, :, np.newaxis] * moved).sum(axis=-1)
    quadratic = np.maximum(quadratic, ROUNDING * of_ratings[..., np.newaxis] + np.finfo(float).tiny)
    freedom = np.maximum(n - 2, 0)[:, np.newaxis, np.newaxis]
    evidence = -(freedom * np.log(quadratic) + np.log(determinant) - judges * np.log(_STRENGTHS)) / 2
    # What the choice of a target costs, which is one of so many: a judge and its sign, or the signs of all judges.
    evidence[:, 1:] -= np.array([[np.log(2 * judges)], [judges * np.log(2)]])
    # Rounded, as the last digit of a logarithm depends on the processor.
    likely = exponential(np.maximum(evidence - evidence.max(axis=(1, 2), keepdims=True), -700).round(9))
    likely /= likely.sum(axis=(1, 2), keepdims=True)
    found: Floats = (likely[..., np.newaxis] * (target[:, :, np.newaxis] + moved)).sum(axis=(1, 2)) / size
    return found


def _solve(matrix: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the solutions and the determinants of positive definite systems, the same digits on every processor."""
    shape = np.broadcast_shapes(matrix.shape[:-1], right.shape)
    rows = np.concatenate(
        [np.broadcast_to(matrix, (*shape, shape[-1])), np.broadcast_to(right, shape)[..., np.newaxis]], axis=-1
    )
    determinant = np.ones(shape[:-1])
    for step in range(shape[-1]):
        pivot = rows[..., step, step]
        determinant = determinant * pivot
        own = rows[..., step, :] / pivot[..., np.newaxis]
        rows = rows - rows[..., step, np.newaxis] * own[..., np.newaxis, :]
        rows[..., step, :] = own
    return rows[..., -1], determinant


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """Several judges together, corrected by people's ratings.

    Attributes
    ----------
    combined : PredictionPowered
        By the combination of the judges. Its ``judge`` is the mean of the predicted ratings, its ``correlation`` of
        predicted and given ratings, its ``slope`` 1.
    combination : JudgeCombination
        The weight of each judge, and which judges are left out.
    ratings_lost : tuple of float
        Equivalent ratings of the combination minus those of the combination without the judge, or of people alone where
        the others cannot be combined: what the judge adds. Below 0 where the combination is as good without it and
        chance decides; nan without an interval.
    """

    combined: PredictionPowered
    combination: JudgeCombination
    ratings_lost: tuple[float, ...]


def prediction_powered_panel(
    judged: ArrayLike,
    rated: ArrayLike,
    resamples: Resamples,
    *,
    method: Method = "percentile-expanded",
    level: float = 0.95,
) -> JudgePanel:
    """Correct the mean of several judges by people's ratings of a random part of the units.

    For the difference of two systems give the differences of scores and of ratings, unit by unit, as
    `attune_metrics.stats.judges.prediction_powered_difference` does for one judge.

    Parameters
    ----------
    judged : array of float, shape (judges, units)
        Scores, nan where there is none; at least two judges.
    rated : array of float, shape (units,)
        People's ratings, nan where nobody rated. They correct for all units only where chance chose the rated ones.
    resamples : Resamples
        From `attune_metrics.stats.bootstrap.draw_resamples` over the same units.
    method, level
        As for `attune_metrics.stats.bootstrap.bootstrap`.

    Returns
    -------
    JudgePanel

    Warns
    -----
    UnreliableIntervalWarning
        As `attune_metrics.stats.judges.prediction_powered`, for the combination.

    Raises
    ------
    MetricInputError
        As `combine_judges` and `attune_metrics.stats.bootstrap.bootstrap`, and with fewer than two judges.

    Examples
    --------
    People rated 60 of 200 units. The second judge only sees the error of the first, and is worth much beside it:

    >>> import numpy as np
    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> generator = np.random.default_rng(1)
    >>> people, error, noise = generator.normal(size=(3, 200))
    >>> judges = [people + error, error + 0.2 * noise]
    >>> rated = np.where(np.arange(200) < 60, people, np.nan)
    >>> found = prediction_powered_panel(judges, rated, draw_resamples(range(200), n_resamples=500))
    >>> [round(weight, 1) for weight in found.combination.weights]
    [1.0, -0.9]
    >>> round(found.combined.equivalent_ratings, -1), [round(lost, -1) for lost in found.ratings_lost]
    (180.0, [120.0, 80.0])
    """
    scores, ratings = _checked(judged, rated)
    if len(scores) < 2:
        raise MetricInputError("a panel has at least two judges; use prediction_powered for one")
    combination = combine_judges(scores, ratings, resamples.clusters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)  # said below
        [found] = prediction_powered(combination.scores, ratings, resamples, slope=1, method=method, level=level)
    if combination.reason is not None:
        corrected = replace(found.corrected, reason=combination.reason)
        found = replace(found, corrected=corrected, slope=nan, cautions=())
    said = (
        one.replace("judge and people correlate", "predicted and given ratings correlate") for one in found.cautions
    )
    found = replace(found, cautions=tuple(said))
    if found.cautions:
        warnings.warn("; ".join(found.cautions), UnreliableIntervalWarning, stacklevel=2)
    lost = np.full(len(scores), np.nan)
    if not isnan(found.equivalent_ratings):
        kept = [place for place, why in enumerate(combination.left_out) if why is None]
        without = [combine_judges(np.delete(scores, place, axis=0), ratings, resamples.clusters) for place in kept]
        alone = np.where(np.isnan(combination.scores), np.nan, 0)
        rest = np.stack([alone if one.reason else one.scores for one in without])
        lost[:] = 0
        lost[kept] = found.equivalent_ratings - _equivalent_ratings(rest, ratings, resamples)
    return JudgePanel(found, combination, tuple(lost.tolist()))


def _equivalent_ratings(predicted: Floats, ratings: Floats, resamples: Resamples) -> Floats:
    """Return how many ratings would be as precise as each row of predicted ratings (rows, units) and the given ones."""
    labelled = ~np.isnan(ratings)
    given = np.where(labelled, ratings - np.nanmean(ratings), 0)
    counted, off = np.broadcast_to(labelled, predicted.shape), np.where(labelled, given - predicted, 0 * predicted)
    terms = np.stack([counted, np.broadcast_to(given, predicted.shape), off, predicted], axis=1)
    sums = cluster_sums(terms, resamples.clusters)
    people, corrected = distributions_of_sums(sums, resamples, [_mean_rating, _corrected_mean])
    found: Floats = sums[..., 0].sum(axis=0) * np.nanvar(people, axis=1) / np.nanvar(corrected, axis=1)
    return found


def _mean_rating(sums: Floats, n: Floats) -> Floats:  # noqa: ARG001 - of the signature of every statistic
    return np.asarray(sums[..., 1] / sums[..., 0])


def _corrected_mean(sums: Floats, n: Floats) -> Floats:
    return np.asarray(sums[..., 2] / sums[..., 0] + sums[..., 3] / n)
