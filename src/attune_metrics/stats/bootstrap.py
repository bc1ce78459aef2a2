"""Uncertainty by resampling: what a statistic would have been with other participants.

Conventions: statistics
-----------------------
A statistic is a function of two arrays: the sums over units of a metric's terms, shape (..., terms), and the numbers of
units, shape (...). It returns values of shape (...), nan where they are undefined. So the same function serves the
point estimate and every resample.

Statistics
----------
- ``mean``: the mean of one term.
- ``share``: the mean of one term that is 0 or 1, one trial for each unit, so that the interval of a proportion applies.
- ``accuracy``, ``precision``, ``recall``, ``f1``, ``mcc``: computed from the counts TP, TN, FP and FN, pooled over
  units; 0 where the denominator is 0, as `attune_metrics.attunebench.questions.BinaryCounts` defines it.
- ``mean_of_means``: the mean of the groups' means, from two terms for each group, the sum over its units and their
  number; nan if a group is empty.
- ``mean_of_clipped_means``: the weighted mean of the groups' means, each clipped to 0 to 1, from two terms for each
  group, the sum of weight times value and the sum of the weights; nan if a group has no weight.

Conventions: resampling
-----------------------
The unit is what has one value (a conversation, a scenario); units that are not independent, such as the conversations
of one participant, share a cluster, and whole clusters are drawn. Where units are independent the label of the cluster
is the unit's own id. The order of the units never matters, only their labels do.

Resamples are drawn once and shared by all series (models, metrics), which makes their differences comparable. A series
is resampled through sums over units, so a statistic is a function of weighted sums: a mean, a ratio, a correlation. A
unit without a value is nan and counts neither in the sum nor in the number of units of that series.

With n clusters, a resample draws n of them. With more than 20,000 clusters, it draws a Poisson number of them with mean
n, so that how often one cluster is drawn does not depend on the other clusters [4]_. A statistic must then not depend
on the number of clusters drawn: a ratio of sums does not, but a sum does. docs/intervals.md says how much the two ways
of drawing differ.

References
----------
.. [1] Efron, Tibshirani (1993), An Introduction to the Bootstrap, chapters 6, 13 and 14.
.. [2] Hesterberg (2015), What teachers should know about the bootstrap, Am. Stat. 69, 371-386: expanded percentile.
.. [3] Davison, Hinkley (1997), Bootstrap Methods and their Application, section 3.8: clusters.
.. [4] Hanley, MacGibbon (2006), Creating non-parametric bootstrap samples using Poisson frequencies, Comput. Methods
   Programs Biomed. 83, 57-62.
"""

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import fsum, nan, sqrt
from statistics import NormalDist
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import PSEUDO_VALUES, MetricInputError, UnreliableIntervalWarning, check_level, check_whole
from attune_metrics.stats.sums import (
    Floats,
    Statistic,
    Streamed,
    Weights,
    as_terms,
    cluster_index,
    cluster_sums,
    evaluate,
    exact_sums,
    products,
    ratio,
    rounding_of,
    row_blocks,
)


def mean_of_sums(sums: Floats, n: Floats) -> Floats:
    """Mean of the units: ``sums[..., 0] / n``, the default statistic.

    Parameters
    ----------
    sums : array of float, shape (..., terms)
        Weighted sums over units.
    n : array of float, shape (...)
        Weighted numbers of units.

    Returns
    -------
    array of float, shape (...)
        The means, in the unit of the values; nan without units.

    Examples
    --------
    >>> import numpy as np
    >>> mean_of_sums(np.array([[6.0], [5.0]]), np.array([3.0, 2.0]))
    array([2. , 2.5])
    """
    mean: Floats = sums[..., 0] / n
    return mean


class _Counts(NamedTuple):
    tp: Floats
    tn: Floats
    fp: Floats
    fn: Floats


def _of_counts(formula: Callable[[_Counts], tuple[Floats, Floats]]) -> Statistic:
    """Return the statistic of a ratio of pooled counts."""

    def statistic(sums: Floats, n: Floats) -> Floats:
        numerator, denominator = formula(_Counts(*np.moveaxis(sums, -1, 0)))
        ratio = np.divide(numerator, denominator, out=np.zeros_like(n), where=denominator > 0)
        return np.where(n > 0, ratio, np.nan)

    return statistic


def mean_of_means(sums: Floats, n: Floats) -> Floats:  # noqa: ARG001 - of the signature of every statistic
    """Return the mean of the means of groups of units.

    Parameters
    ----------
    sums : array of float, shape (..., 2 * groups)
        For each group, the sum of its units' values, then the number of these units.
    n : array of float, shape (...)
        Numbers of units; not used.

    Returns
    -------
    array of float, shape (...)
        In the unit of the values; nan where a group has no unit.

    Examples
    --------
    Two units of 1 in one group, one unit of 4 in another:

    >>> import numpy as np
    >>> mean_of_means(np.array([2.0, 2.0, 4.0, 1.0]), np.array(3.0))
    np.float64(2.5)
    """
    means = ratio(sums[..., 0::2], sums[..., 1::2])
    mean: Floats = _rounded_once(means) / means.shape[-1]
    return mean


def mean_of_clipped_means(sums: Floats, n: Floats) -> Floats:  # noqa: ARG001 - of the signature of every statistic
    """Return the weighted mean of the means of groups, each clipped to 0 to 1.

    Parameters
    ----------
    sums : array of float, shape (..., 2 * groups)
        For each group, the sum of weight times value over its units, then the sum of the weights, 0 or more.
    n : array of float, shape (...)
        Numbers of units; not used.

    Returns
    -------
    array of float, shape (...)
        0 to 1; nan where a group has no weight.

    Examples
    --------
    Two units with the values 2 and 1 in a group of weight 1, and 0 and 0.5 in a group of weight 3:

    >>> import numpy as np
    >>> mean_of_clipped_means(np.array([3.0, 2.0, 1.5, 6.0]), np.array(2.0)).item()  # (1 * 1 + 3 * 0.25) / 4
    0.4375
    """
    totals, weights = sums[..., 0::2], sums[..., 1::2]
    value = ratio(_rounded_once(np.clip(totals, 0, weights)), _rounded_once(weights))
    return np.where((weights > 0).all(axis=-1), value, np.nan)


def _rounded_once(values: Floats) -> Floats:
    """Return the sums over the last axis, rounded once, so that the order of groups does not show in the last bit."""
    total = np.array([fsum(row) for row in values.reshape(-1, values.shape[-1]).tolist()])
    return total.reshape(values.shape[:-1])


STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {
        "mean": mean_of_sums,
        "share": mean_of_sums,
        PSEUDO_VALUES: mean_of_sums,
        "mean_of_means": mean_of_means,
        "mean_of_clipped_means": mean_of_clipped_means,
        "accuracy": _of_counts(lambda c: (c.tp + c.tn, c.tp + c.tn + c.fp + c.fn)),
        "precision": _of_counts(lambda c: (c.tp, c.tp + c.fp)),
        "recall": _of_counts(lambda c: (c.tp, c.tp + c.fn)),
        "f1": _of_counts(lambda c: (2 * c.tp, 2 * c.tp + c.fp + c.fn)),
        "mcc": _of_counts(
            lambda c: (
                c.tp * c.tn - c.fp * c.fn,
                np.sqrt((c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn)),
            )
        ),
    }
)
"""Every statistic by its name."""


def point_estimate(values: ArrayLike, *, statistic: Statistic = mean_of_sums) -> Floats:
    """Compute the statistic of every series from sums over units that are rounded once.

    A mean equals `statistics.fmean` of the values bit for bit, whatever the order of the units.

    Parameters
    ----------
    values : array of float, shape (units,), (series, units) or (series, terms, units)
        Values to sum, nan where a unit has no value; a unit that lacks one term lacks them all.
    statistic : callable
        ``statistic(sums, n)`` with sums of shape (..., terms) and numbers of units of shape (...), which gives shape
        (...); `STATISTICS` has some by name. The default is the mean of the first term.

    Returns
    -------
    array of float, shape (series,)
        nan where the statistic is undefined.

    Raises
    ------
    MetricInputError
        If the values are infinite or not numbers, or the statistic gives another shape.

    Examples
    --------
    >>> point_estimate([0.1] * 10)  # added one after the other, they make 0.9999999999999999
    array([0.1])
    >>> counts = [[3, 1], [2, 2], [0, 1], [1, 0]]  # TP, TN, FP and FN of two units
    >>> point_estimate([counts], statistic=STATISTICS["accuracy"])
    array([0.8])
    """
    sums = exact_sums(as_terms(values))
    return evaluate(statistic, sums[..., :-1], sums[..., -1])


Method = Literal["percentile-expanded", "percentile", "bca"]
MAX_MULTINOMIAL_CLUSTERS = 20_000
"""With more clusters a resample draws a Poisson number of them."""

MOST_KEPT = 2**27
"""The most bytes of counts that are kept; larger counts are drawn again whenever they are read."""

MOST_RESAMPLES = 10_000_000
"""The most resamples, or random exchanges of a test."""

_AT_ONCE = 2**18  # counts that are drawn at one time: as many as fit into a processor's cache
_NORMAL = NormalDist()
_DOMINANT = 0.2  # the share of units in one cluster above which BCa warns; see docs/intervals.md


@dataclass(frozen=True, eq=False, slots=True)
class Resamples:
    """How often each cluster is drawn in each resample.

    Attributes
    ----------
    clusters : array of int, shape (units,)
        The cluster of each unit, as a column of `counts`; columns are in the order of the sorted labels.
    counts : array of uint8, shape (resamples, clusters), or Streamed of this shape
        How often each cluster is drawn. Each row sums to the number of clusters or, with more than 20,000 clusters, to
        a Poisson number with that mean. Counts above 128 MiB are not kept: ``counts.draw()`` gives them block by block.
    """

    clusters: NDArray[np.intp]
    counts: Weights


NO_VARIATION = "no variation among clusters"
"""The reason why an interval of equal values is not given."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes
    ----------
    estimate, low, high : float
        The statistic and the two ends, nan where they cannot be computed.
    level : float
        Confidence level, such as 0.95.
    method : str
        How the ends were found.
    n, clusters : int
        Units with a value, and clusters with such a unit.
    reason : str or None
        Why the ends are nan.
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str
    n: int
    clusters: int
    reason: str | None = None


def draw_resamples(clusters: Iterable[Hashable], *, n_resamples: int = 10_000, seed: int = 0) -> Resamples:
    """Draw clusters with replacement, `n_resamples` times: as many as there are; above 20,000, a Poisson number.

    Parameters
    ----------
    clusters : iterable of str or int
        The label of each unit's cluster; for independent units the id of the unit.
    n_resamples : int
        How many resamples, at most 10,000,000.
    seed : int
        The same seed and labels give the same draws, in whatever order the units come.

    Returns
    -------
    Resamples
        To be shared by all series over these units. The counts take one byte for each resample and cluster; above 128
        MiB they are not kept.

    Raises
    ------
    MetricInputError
        If a label is missing, labels are of mixed types, or a number is out of range.

    Examples
    --------
    >>> resamples = draw_resamples(["ann", "bob", "ann", "eve"], n_resamples=2, seed=1)
    >>> resamples.clusters.tolist(), resamples.counts.tolist()
    ([0, 1, 0, 2], [[0, 2, 1], [2, 0, 1]])
    """
    index = cluster_index(clusters)
    shape = check_whole(n_resamples, "n_resamples", 1, MOST_RESAMPLES), int(index.max(initial=-1)) + 1
    streamed = Streamed(shape, partial(_draw, *shape, check_whole(seed, "seed", 0)))
    if shape[0] * shape[1] > MOST_KEPT:
        return Resamples(index, streamed)
    counts = np.empty(shape, dtype=np.uint8)
    for rows, block in zip(row_blocks(*shape), streamed.draw(), strict=True):
        counts[rows] = block
    return Resamples(index, counts)


def _draw(resamples: int, clusters: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the counts of each cluster, block by block; whatever the size of the blocks, the counts are the same."""
    generator = np.random.default_rng(seed)
    if clusters > MAX_MULTINOMIAL_CLUSTERS:
        sizes = generator.poisson(clusters, size=resamples)
    else:
        sizes = np.full(resamples, clusters)
    step = max(1, _AT_ONCE // max(clusters, 1))
    for rows in row_blocks(resamples, clusters):
        block = np.empty((rows.stop - rows.start, clusters), dtype=np.uint8)
        for start in range(0, len(block), step):
            part = block[start : start + step]
            first = rows.start + start
            own = sizes[first : first + len(part)]
            drawn = generator.integers(clusters, size=own.sum()) if clusters else np.zeros(0, dtype=np.intp)
            drawn += np.repeat(clusters * np.arange(len(part)), own)
            # A byte is enough for a count: one cluster is drawn 256 times with a chance below 1 in 256!.
            part[:] = np.bincount(drawn, minlength=part.size).reshape(part.shape)
        yield block


def bootstrap_distribution(
    values: ArrayLike, resamples: Resamples, *, statistic: Statistic = mean_of_sums
) -> NDArray[np.float64]:
    """Compute the statistic of every series in every resample.

    Parameters
    ----------
    values : array of float, shape (units,), (series, units) or (series, terms, units)
        Values to sum, nan where a unit has no value; a unit that lacks one term lacks them all.
    resamples : Resamples
        From `draw_resamples` over the same units.
    statistic : callable
        ``statistic(sums, n)`` with sums of shape (..., terms) and numbers of units of shape (...), which gives shape
        (...). The default is the mean of the first term.

    Returns
    -------
    array of float, shape (series, resamples)
        nan where the statistic is undefined. Its standard deviation is the bootstrap standard error.

    Raises
    ------
    MetricInputError
        If the values are infinite, no numbers or not one for each unit, or the statistic gives another shape.

    Examples
    --------
    The standard error of a mean, then of a ratio of two sums:

    >>> resamples = draw_resamples(range(4), seed=1)
    >>> correct, asked = [3, 4, 1, 2], [5, 4, 2, 2]
    >>> bootstrap_distribution(correct, resamples).std().round(2)
    np.float64(0.56)
    >>> ratio = bootstrap_distribution([[correct, asked]], resamples, statistic=lambda s, n: s[..., 0] / s[..., 1])
    >>> ratio.shape, ratio.std().round(2)
    ((1, 10000), np.float64(0.11))
    """
    terms = as_terms(values, len(resamples.clusters))
    return distribution_of_sums(cluster_sums(terms, resamples.clusters), resamples, statistic)


def _check_ratio(sums: Floats, n: Floats, statistic: Statistic) -> None:
    """Raise if a statistic changes with the number of clusters drawn, since this number varies in Poisson draws."""
    once, twice = (evaluate(statistic, (k * sums)[np.newaxis], (k * n)[np.newaxis]) for k in (1, 2))
    # A statistic with a correction such as n - 1 is nearly a ratio, and is accepted.
    if (np.abs(once - twice) > 1e-3 * np.fmax(np.abs(once), np.abs(twice))).any():
        raise MetricInputError(
            f"the statistic is no ratio: it changes where all sums double; above {MAX_MULTINOMIAL_CLUSTERS:,} clusters "
            "the number that is drawn varies, and only ratios of sums can be resampled"
        )


def distribution_of_sums(sums: Floats, resamples: Resamples, statistic: Statistic) -> Floats:
    """Return `bootstrap_distribution` of sums over clusters (clusters, series, terms + 1)."""
    return distributions_of_sums(sums, resamples, [statistic])[0]


def distributions_of_sums(sums: Floats, resamples: Resamples, statistics: Sequence[Statistic]) -> list[Floats]:
    """Return `distribution_of_sums` of several statistics of the same sums, which are resampled once."""
    terms, n = np.ascontiguousarray(sums[..., :-1]), sums[..., -1]
    if len(sums) > MAX_MULTINOMIAL_CLUSTERS:
        for statistic in statistics:
            _check_ratio(terms.sum(axis=0), n.sum(axis=0), statistic)
    # Neighbouring series on the same units share their numbers of units, which halves the work for means.
    kinds = np.append(0, np.cumsum((n[:, 1:] != n[:, :-1]).any(axis=0)))[: n.shape[1]]
    n = np.ascontiguousarray(n[:, np.flatnonzero(np.diff(kinds, prepend=-1))])
    distributions = [np.empty((sums.shape[1], len(resamples.counts))) for _ in statistics]
    for rows, (drawn, sizes) in products(resamples.counts, terms, n):
        for distribution, statistic in zip(distributions, statistics, strict=True):
            distribution[:, rows] = evaluate(statistic, drawn, sizes[:, kinds]).T
    return distributions


def bootstrap(
    values: ArrayLike,
    resamples: Resamples,
    *,
    statistic: Statistic = mean_of_sums,
    method: Method = "percentile-expanded",
    level: float = 0.95,
    distribution: Floats | None = None,
) -> list[Interval]:
    """Bootstrap confidence interval of a statistic, for each series.

    The estimate is `attune_metrics.stats.bootstrap.point_estimate`; the ends are quantiles of
    `bootstrap_distribution`. With ``tail = (1 - level) / 2``, G clusters, t the quantile of
    Student's t with G - 1 degrees of freedom and Phi the normal distribution, the levels of these quantiles are:

    - `percentile-expanded`: ``Phi(sqrt(G / (G - 1)) t(tail))`` and 1 minus that [2]_, wider than `percentile` where
      clusters are few, because the resamples of few clusters vary too little;
    - `percentile`: ``tail`` and ``1 - tail``;
    - `bca`: ``Phi(z0 + (z0 + z) / (1 - a (z0 + z)))`` where z is the normal quantile of ``tail`` or of ``1 - tail``; z0
      is the normal quantile of the share of resamples below the estimate, with ties counted half; and a, the
      acceleration, is computed by leaving out each cluster in turn [1]_.

    Parameters
    ----------
    values, resamples, statistic
        As for `bootstrap_distribution`.
    method : {"percentile-expanded", "percentile", "bca"}
        Which quantiles.
    level : float
        Confidence level, between 0 and 1.
    distribution : array of float, shape (series, resamples), optional
        The result of `bootstrap_distribution` for the same values, resamples and statistic, if it is computed already.

    Returns
    -------
    list of Interval
        One for each series. The ends are nan, and ``reason`` says why, if there are no values, only one cluster, only
        one resample or no variation among clusters, or if the statistic is undefined in a larger share of the resamples
        than ``tail``. If it is undefined in a smaller share, these resamples are left out.

    Warns
    -----
    UnreliableIntervalWarning
        If the method is `bca` and one cluster has more than a fifth of a series' units: such intervals of 95% cover the
        truth in as few as 80% of cases.

    Raises
    ------
    MetricInputError
        As `bootstrap_distribution`, and if the method is unknown, the level not between 0 and 1 or the distribution of
        another shape.

    Notes
    -----
    Sums lose digits if values are large compared with their spread: centre values such as dates before taking squares.

    Examples
    --------
    >>> from math import nan
    >>> resamples = draw_resamples(range(8), seed=1)
    >>> mean, lone = bootstrap([[3, 5, 2, 4, 4, 1, 5, 3], [1, nan, nan, nan, nan, nan, nan, nan]], resamples)
    >>> mean.estimate, round(mean.low, 1), round(mean.high, 1), mean.n
    (3.375, 2.1, 4.5, 8)
    >>> lone.estimate, lone.low, lone.reason
    (1.0, nan, 'all values are in one cluster')
    """
    check_method(method, level)
    terms = as_terms(values, len(resamples.clusters))
    estimates = point_estimate(terms, statistic=statistic)
    sums = cluster_sums(terms, resamples.clusters)
    if distribution is None:
        distribution = distribution_of_sums(sums, resamples, statistic)
    elif distribution.shape != (shape := (len(terms), len(resamples.counts))):
        raise MetricInputError(f"distribution has shape {distribution.shape}; expected {shape} (series, resamples)")
    left_out = None
    if method == "bca":
        left = sums.sum(axis=0) - sums
        left_out = evaluate(statistic, left[..., :-1], left[..., -1])
    return intervals_of(estimates, sums[..., -1], distribution, left_out, method, level)


def intervals_of(
    estimates: Floats,
    units: Floats,
    distribution: Floats,
    left_out: Floats | None,
    method: Method,
    level: float,
    *,
    largest: Floats | None = None,
) -> list[Interval]:
    """Return the interval of each series from its distribution (series, resamples), as `bootstrap` says.

    `units` (clusters, series) is the number of units with a value, `left_out` (clusters, series) the statistic without
    each cluster, which BCa needs. For differences, `largest` (series,) is the larger absolute value of the two sides of
    each difference.
    """
    n, present = units.sum(axis=0), units > 0
    intervals = []
    for series, estimate in enumerate(estimates.tolist()):
        clusters = int(present[:, series].sum())
        known = np.sort(distribution[series])
        known = known[: np.searchsorted(known, nan)]
        size = 0.0 if largest is None else float(largest[series])
        reason = _refuse(n[series], clusters, estimate, known, distribution.shape[1], level, size)
        levels = None
        if reason is None and left_out is not None:
            levels = _bca(known, estimate, left_out[present[:, series], series], level, size)
            reason = None if levels else "the BCa correction is undefined; are there too few clusters?"
        elif reason is None:
            levels = symmetric_levels(level, clusters if method == "percentile-expanded" else None)
        low, high = (quantile_of_sorted(known, one) for one in levels) if levels else (nan, nan)
        intervals.append(Interval(estimate, low, high, level, method, int(n[series]), clusters, reason))
    if method == "bca":
        _warn_of_dominance(units, [interval.reason is None for interval in intervals])
    return intervals


def check_method(method: str, level: float) -> None:
    """Raise unless the method is known and the level is between 0 and 1."""
    if method not in get_args(Method):
        raise MetricInputError(f"unknown method {method!r}; expected {', '.join(get_args(Method))}")
    check_level(level)


def _refuse(
    n: float, clusters: int, estimate: float, known: Floats, drawn: int, level: float, largest: float
) -> str | None:
    """Return the reason why there is no interval, or None; `known` is sorted."""
    if not n:
        return "no unit has a value"
    if clusters == 1:
        return "all values are in one cluster"
    if np.isnan(estimate):
        return "the statistic is undefined"
    if reason := reason_of_undefined(drawn - len(known), drawn, level):
        return reason
    if len(known) == 1:
        return "a single resample has no spread"
    if not _varies(known[[0, -1]], largest):
        return NO_VARIATION
    return None


def quantile_of_sorted(values: Floats, level: float) -> float:
    """Return the same as `numpy.quantile`, which would search, of values that are sorted.

    Examples
    --------
    >>> quantile_of_sorted(np.array([1.0, 2.0, 4.0]), 0.75)
    3.0
    """
    place = (len(values) - 1) * level
    low, high = values[int(place)].item(), values[min(int(place) + 1, len(values) - 1)].item()
    share = place - int(place)
    return high - (high - low) * (1 - share) if share >= 0.5 else low + (high - low) * share  # type: ignore[no-any-return]


def reason_of_undefined(undefined: int, drawn: int, level: float) -> str | None:
    """Return the reason why there is no interval where the statistic is undefined in too many of the resamples drawn.

    Where it is undefined in more resamples than a tail of the interval has, an end of the interval could be anywhere.

    Examples
    --------
    >>> reason_of_undefined(3, 100, 0.95)
    'the statistic is undefined in 3 of 100 resamples, too many for an interval'
    >>> reason_of_undefined(2, 100, 0.95) is None
    True
    """
    if undefined <= drawn * (1 - level) / 2:
        return None
    return f"the statistic is undefined in {undefined} of {drawn} resamples, too many for an interval"


def _warn_of_dominance(units: Floats, given: list[bool]) -> None:
    """Warn once where a cluster has too large a share of the units (clusters, series) of a series with an interval."""
    largest = max((of_series.max() / of_series.sum() for of_series in units[:, given].T), default=0)
    if largest > _DOMINANT:
        warnings.warn(
            f"BCa intervals cover too rarely where one cluster has more than {_DOMINANT:.0%} of the units, and here "
            f"one has {largest:.0%}; use percentile-expanded",
            UnreliableIntervalWarning,
            stacklevel=4,
        )


def _varies(values: Floats, largest: float) -> bool:
    """Tell whether values differ by more than rounding (`largest` as for `intervals_of`); no if one is nan."""
    return bool(np.ptp(values) > rounding_of(values, largest))


@lru_cache  # the series of an analysis have few numbers of clusters, and each takes 100 µs
def symmetric_levels(level: float, clusters: int | None) -> tuple[float, float]:
    """Return the quantile levels of both ends; they are expanded if the number of clusters is given."""
    tail = (1 - level) / 2
    if clusters is not None:
        from scipy.special import stdtrit

        tail = _NORMAL.cdf(sqrt(clusters / (clusters - 1)) * float(stdtrit(clusters - 1, tail)))
    return tail, 1 - tail


def bca_correction(known: Floats, estimate: float, left_out: Floats, largest: float = 0) -> tuple[float, float] | None:
    """Return the bias z0 and the acceleration of BCa, or None where they are undefined.

    For differences, `largest` is the larger absolute value of the two sides of the difference.
    """
    tied = np.abs(known - estimate) <= rounding_of(known, largest)
    share = float((~tied & (known < estimate)).mean() + tied.mean() / 2)
    if not (0 < share < 1 and _varies(left_out, largest)):
        return None
    influence = left_out.mean() - left_out
    influence /= np.abs(influence).max()  # so that no cube is too small or too large for a float
    squares = influence * influence
    total = float(squares.sum())
    # Products, since the last digit of a power depends on the processor.
    return _NORMAL.inv_cdf(share), float((squares * influence).sum()) / (6 * total * sqrt(total))


def _bca(known: Floats, estimate: float, left_out: Floats, level: float, largest: float) -> tuple[float, float] | None:
    """Return the levels of both ends, or None where they are undefined."""
    correction = bca_correction(known, estimate, left_out, largest)
    if correction is None:
        return None
    bias, acceleration = correction
    shifts = [bias + _NORMAL.inv_cdf(tail) for tail in ((1 - level) / 2, (1 + level) / 2)]
    if any(acceleration * shift >= 1 for shift in shifts):
        return None
    low, high = (_NORMAL.cdf(bias + shift / (1 - acceleration * shift)) for shift in shifts)
    return low, high
