"""What the analyses share: paired differences within a model, intervals of a distribution, Holm families."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attune_bench.benchmarks.attunebench.records import null
from attune_bench.stats.comparison import FEWEST, ends, warn_family
from attune_bench.stats.series import METRICS, Draws, ScoreSeries, Settings
from attune_metrics.catalog import CATALOG
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.stats.multiplicity import holm
from attune_metrics.stats.resampling import symmetric_levels
from attune_metrics.stats.statistics import mean_of_sums
from attune_metrics.stats.sums import ROUNDING, Statistic, evaluate

__all__ = [
    "Paired",
    "aggregates",
    "corrected",
    "direction",
    "distribution_ends",
    "paired",
    "per_conversation",
]


class Paired(NamedTuple):
    """Two values on the units that have both, and their difference, the first minus the second."""

    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    participants: int
    reason: str | None
    sampled: bool  # whether the p-value is from random exchanges, not from all


def aggregates(values: Floats, statistic: Statistic) -> Floats:
    """Return the statistic of each series (series, terms, units), nan where it has no value."""
    present = np.logical_and.reduce(~np.isnan(values), axis=1)
    sums = np.where(present[:, np.newaxis], values, 0).sum(axis=-1)
    return evaluate(statistic, sums, present.sum(axis=-1).astype(np.float64))


def paired(
    series: ScoreSeries,
    one: Floats,
    other: Floats,
    there: NDArray[np.bool_],
    draws: Draws,
    settings: Settings,
    statistic: Statistic = mean_of_sums,
) -> list[Paired]:
    """Compare `one` with `other` (pairs, terms, units), pair by pair, each on its units `there` (pairs, units)."""
    found: dict[int, Paired] = {}
    both = np.logical_and.reduce(~np.isnan(one + other), axis=1)
    for mask, places in series.alike(there):
        first, second = one[places][:, :, mask], other[places][:, :, mask]
        intervals = paired_bootstrap(
            first, second, draws.of(mask), statistic=statistic, method=settings.method, level=settings.level
        )
        tests = paired_permutation_test(
            first,
            second,
            draws.labels(mask),
            statistic=statistic,
            n_permutations=settings.resamples,
            seed=settings.seed,
        )
        for place, interval, test in zip(places.tolist(), intervals, tests, strict=True):
            common = both[place] & mask
            sides = np.where(common, [one[place], other[place]], np.nan)
            former, latter = map(null, aggregates(sides, statistic).tolist())
            participants = series.count(common)
            low, high, reason = ends(interval, participants)
            values = former, latter, null(test.difference), low, high, null(test.p_value)
            sampled = bool(test.exchanges) and not test.exact
            found[place] = Paired(*values, interval.n, participants, reason, sampled)
    return [found[place] for place in range(len(one))]


def corrected(found: Sequence[Paired], families: Sequence[str], settings: Settings) -> list[float | None]:
    """Return Holm-corrected p-values; tests with one label are a family, and one that is too large gives a warning."""
    result: list[float | None] = [None] * len(found)
    for family in dict.fromkeys(families):
        places = [place for place, label in enumerate(families) if label == family]
        values = [np.nan if (p := found[place].p) is None else p for place in places]
        for place, p in zip(places, holm(values).tolist(), strict=True):
            result[place] = null(p)
        if any(found[place].sampled for place in places):
            warn_family(sum(not np.isnan(value) for value in values), settings, family)
    return result


def distribution_ends(
    distribution: Floats, settings: Settings, *, clusters: int, participants: int, of: str, whole: bool = False
) -> tuple[float | None, float | None, str | None]:
    """Return the ends of an interval of what no sums give, or None and the reason.

    `of` names it for the message; with `whole`, ends are values that occur, and a value that never changes has one too.
    """
    if settings.interval == "bca":
        raise MetricInputError(f"there is no BCa interval of {of}; use percentile-expanded or percentile")
    if participants < FEWEST:
        return None, None, f"fewer than {FEWEST} participants"
    if clusters < 2:
        return None, None, "all values are in one cluster"
    known = distribution[~np.isnan(distribution)]
    lost = len(distribution) - len(known)
    if lost > len(distribution) * (1 - settings.level) / 2:
        return None, None, f"the statistic is undefined in {lost} of {len(distribution)} resamples"
    if not whole and len(known) < 2:
        return None, None, "a single resample has no spread"
    if not whole and np.ptp(known) <= ROUNDING * np.abs(known).max():
        return None, None, "no variation among clusters"
    levels = symmetric_levels(settings.level, clusters if settings.method == "expanded" else None)
    low, high = np.quantile(known, levels, method="inverted_cdf" if whole else "linear").tolist()
    return low, high, None


def per_conversation(metric: str, analysis: str) -> str:
    """Return a metric that has one value for each conversation; raise for scores of pooled counts."""
    if "." in metric:
        means = ", ".join(name for name in METRICS if name.startswith("avg_binary"))
        raise MetricInputError(f"{analysis} needs a value of each conversation, {metric!r} has none; use {means}")
    return metric


def direction(metric: str) -> int:
    """Return 1 where higher values are better, -1 where lower ones are; raise where neither is.

    Examples
    --------
    >>> direction("avg_emotion_f1"), direction("four_branch_managing_mae"), direction("pooled_binary_om_metrics.mcc")
    (1, -1, 1)
    """
    key, _, score = metric.partition(".")
    if score:
        name = key.removeprefix("pooled_").replace("_metrics", f"_{score}")
    elif key.startswith("four_branch_") and key.endswith("_mae"):
        name = "four_branch_mae"
    else:
        name = key.removeprefix("avg_").removesuffix("_tagged_only")
    better = CATALOG[name].higher_is_better
    if better is None:
        raise MetricInputError(f"{metric!r} cannot rank models: neither higher nor lower values of it are better")
    return 1 if better else -1
