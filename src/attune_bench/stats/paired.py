"""Pairs of series on the same units: their difference, its interval, p-values and minimum detectable effect."""

import warnings
from collections.abc import Hashable, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from attune_bench.stats.intervals import interval_ends, null
from attune_bench.stats.options import ALPHA, AnalysisOptions
from attune_bench.stats.series import Draws, Mask, ScoreSeries, group_by_mask
from attune_data.text import plural
from attune_metrics.errors import UndefinedMetricWarning
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.stats.multiplicity import holm
from attune_metrics.stats.power import MDE_FACTOR, minimum_detectable_effect
from attune_metrics.stats.resampling import Resamples, bootstrap_distribution
from attune_metrics.stats.statistics import mean_of_sums, point_estimate
from attune_metrics.stats.sums import Statistic

__all__ = ["TESTED", "Paired", "paired", "tested"]

TESTED: dict[str, Any] = {
    **dict.fromkeys(("low", "high", "p", "p_holm"), pl.Float64),
    "significant": pl.Boolean,
    **dict.fromkeys(("n", "clusters"), pl.Int64),
    "mde": pl.Float64,
    "reason": pl.String,
}
"""The columns that every table of differences ends in."""


class Paired(NamedTuple):
    """Two values on the units that have both, and their difference, the first minus the second."""

    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    clusters: int
    mde: float | None
    reason: str | None
    sampled: bool
    """Whether the p-value is from random exchanges rather than from all."""


def paired(
    series: ScoreSeries,
    one: Floats,
    other: Floats,
    scored: Mask,
    draws: Draws,
    options: AnalysisOptions,
    statistic: Statistic = mean_of_sums,
) -> list[Paired]:
    """Compare `one` with `other` (pairs, terms, units), pair by pair, each on its units `scored` (pairs, units)."""
    found: dict[int, Paired] = {}
    both = np.logical_and.reduce(~np.isnan(one + other), axis=1)
    for mask, places in group_by_mask(scored):
        first, second = one[places][:, :, mask], other[places][:, :, mask]
        resamples, distribution = draws.of(mask), None
        if statistic is not mean_of_sums:
            distribution = _differences(first, second, resamples, statistic)
        intervals = paired_bootstrap(
            first,
            second,
            resamples,
            statistic=statistic,
            method=options.interval,
            level=options.level,
            distribution=distribution,
        )
        tests = paired_permutation_test(
            first,
            second,
            draws.labels(mask),
            statistic=statistic,
            n_permutations=options.resamples,
            seed=options.seed,
        )
        effects = _detectable(first, second, draws.labels(mask), distribution)
        for place, interval, test, mde in zip(places.tolist(), intervals, tests, effects, strict=True):
            common = both[place] & mask
            sides = np.where(common, [one[place], other[place]], np.nan)
            former, latter = map(null, point_estimate(sides, statistic=statistic).tolist())
            clusters = series.count(common)
            low, high, reason = interval_ends(interval, clusters, series.table)
            sampled = bool(test.exchanges) and not test.exact
            found[place] = Paired(
                former,
                latter,
                null(test.difference),
                low,
                high,
                null(test.p_value),
                interval.n,
                clusters,
                mde,
                reason,
                sampled,
            )
    return [found[place] for place in range(len(one))]


def tested(found: Sequence[Paired], families: Sequence[str], options: AnalysisOptions) -> list[tuple[Any, ...]]:
    """Return the columns `TESTED` of each pair, with Holm-corrected p-values; pairs with one label are a family.

    Warns where a family is so large that, with so few random exchanges, no corrected p-value can be below 0.05.
    """
    corrected = np.full(len(found), np.nan)
    for family in dict.fromkeys(families):
        places = [place for place, label in enumerate(families) if label == family]
        values = [np.nan if (p := found[place].p) is None else p for place in places]
        corrected[places] = holm(values)
        tests = sum(not np.isnan(value) for value in values)
        smallest = tests / (options.resamples + 1)
        if smallest >= ALPHA and any(found[place].sampled for place in places):
            warnings.warn(
                f"{options.resamples} resamples are too few for {plural(tests, 'test')} ({family}): no Holm-corrected "
                f"p can be below {smallest:.2g}; use at least {int(tests / ALPHA)}",
                stacklevel=4,
            )
    return [
        (one.low, one.high, one.p, p, None if p is None else p < ALPHA, one.n, one.clusters, one.mde, one.reason)
        for one, p in zip(found, map(null, corrected.tolist()), strict=True)
    ]


def _differences(one: Floats, other: Floats, resamples: Resamples, statistic: Statistic) -> Floats:
    """Return the difference of each pair of series in every resample."""
    terms = one.shape[1]
    return bootstrap_distribution(
        np.concatenate([one, other], axis=1),
        resamples,
        statistic=lambda sums, n: statistic(sums[..., :terms], n) - statistic(sums[..., terms:], n),
    )


def _detectable(
    one: Floats, other: Floats, labels: Sequence[Hashable], distribution: Floats | None
) -> list[float | None]:
    """Return the minimum detectable effect of each pair of series, None where it is undefined.

    Scores of pooled counts have no units whose variance could be taken: their standard error is that of the bootstrap
    `distribution`.
    """
    if distribution is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return [null(minimum_detectable_effect(a[0], b[0], labels)) for a, b in zip(one, other, strict=True)]
    effects: list[float | None] = []
    for both, row in zip(~np.isnan(one[:, 0] + other[:, 0]), distribution, strict=True):
        known, clusters = row[~np.isnan(row)], len({label for label, there in zip(labels, both, strict=True) if there})
        # Resamples of few clusters vary too little, by the factor that a variance over n - 1 has.
        error = float(np.std(known)) * sqrt(clusters / (clusters - 1)) if len(known) and clusters > 1 else 0.0
        effects.append(MDE_FACTOR * error if error > 0 else None)
    return effects
