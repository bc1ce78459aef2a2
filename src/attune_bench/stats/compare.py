"""Compare pairs of models on the same units: the difference, its interval, p-values and minimum detectable effect.

p-values are corrected by Holm's method. The family of a correction is all pairs of models for one metric in one
condition. Two models differ significantly where the corrected p-value is below 0.05.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, count, islice
from math import ceil, comb, nan
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, text
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.options import (
    ALPHA,
    MIN_CLUSTERS,
    AnalysisOptions,
    ComparisonKeywords,
    Margin,
    Mask,
    ResampleCache,
    SamplingKeywords,
    ScoreSeries,
    SkewedMeans,
    group_by_mask,
    have_values,
    interval_ends,
    sorted_groups,
    warn_once,
    warn_out_of_reach,
)
from attune_data.text import did_you_mean, listed, plural, pluralize
from attune_metrics.metric import Metric, MetricInputError, UndefinedMetricWarning, nan_to_none
from attune_metrics.stats.bootstrap import MOST_RESAMPLES, NO_VARIATION, STATISTICS, Interval, mean_of_sums
from attune_metrics.stats.cluster_means import cluster_means, mean_of_clusters_interval
from attune_metrics.stats.comparison import (
    Pairs,
    PermutationTest,
    bootstrap_of_pairs,
    distribution_of_pairs,
    holm,
    permutation_test_of_pairs,
)
from attune_metrics.stats.early import early_differences
from attune_metrics.stats.equivalence import check_margin, equivalence_of_pairs, verdict
from attune_metrics.stats.looking import Looking
from attune_metrics.stats.looks import MIN_CLUSTERS_OF_LOOK, check_looks
from attune_metrics.stats.power import MDE_MIN_CLUSTERS, mde_factor, minimum_detectable_effect
from attune_metrics.stats.sums import Floats, Statistic, coefficient_of_variation, jackknife_error

_MOST_DIFFERENCES = 2**25  # in memory at once: 256 MiB
_MOST_CELLS = 2**23  # the most cells (clusters times sides) that are tested at once: 64 MiB for each term

# What columns mean that are not described here: `COMMON_COLUMNS` in scores/columns.py.
TESTED = columns(
    "low high p p_min p_holm significant n clusters mde reason",
    low="Lower end of the interval of the difference.",
    high="Upper end of the interval of the difference.",
)
"""The columns that every table of differences ends in."""

EQUAL = "the two are equal in every"
"""The beginning of the reason of a pair that differs by exactly 0; the name of the resampling unit follows."""

SAME = columns(
    "margin p_same p_same_holm verdict",
    margin=FrameColumn("The smallest difference that matters, from `--margin` or declared by the metric.", low=0),
    p_same=share("p-value of the two one-sided tests; small where the difference is within the margin.", "p-value"),
    p_same_holm=share("`p_same` with Holm's correction for all tests of the family.", "p-value"),
    verdict=text(
        "`practically the same` if `p_same_holm` is at most 0.05; else `different` if `p_holm` is below 0.05; else "
        "`undecided`."
    ),
)
"""The further columns of a table of differences with a margin."""

LOOK = columns("look", look=text("Which look at the data this is: `2 of 4`, or `any`."))
"""The further column of differences that are looked at while the data come in."""


class Paired(NamedTuple):
    """Two values over the units that have both values, and their difference: the first minus the second."""

    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_min: float | None
    n: int
    clusters: int
    mde: float | None
    reason: str | None
    differing: int
    """Clusters in which the two differ."""
    exact: bool
    """Whether the permutation test evaluated all possible exchanges, not random ones."""
    p_same: float | None = None
    """p-value of the test that the difference is within the margin; None without a margin or without an interval."""


def enough_exchanges(pairs: int, resamples: int) -> int:
    """Return the number of random exchanges of a test: `resamples`, or 40 for each pair of a family if that is more.

    Holm's method multiplies the smallest of `pairs` p-values by `pairs`. With N random exchanges, no p-value is below
    ``1 / (N + 1)``. So with 40 exchanges for each pair, the smallest possible corrected p-value is below 0.025, half of
    0.05.

    Raises
    ------
    MetricInputError
        If that is more than `MOST_RESAMPLES`, the most that a test makes.

    Examples
    --------
    >>> enough_exchanges(3_655, 10_000), enough_exchanges(55, 10_000)
    (146200, 10000)
    """
    enough = ceil(2 * pairs / ALPHA)
    if enough > MOST_RESAMPLES:
        most = int(MOST_RESAMPLES * ALPHA / 2)
        raise MetricInputError(
            f"{pairs:,} pairs of models are more than the {most:,} that can be compared at once; leave models out"
        )
    return max(resamples, enough)


def paired(
    draws: ResampleCache,
    values: Floats,
    places: ArrayLike,
    families: Sequence[str],
    statistic: Statistic = mean_of_sums,
    *,
    margin: float | None = None,
    of: str = "scores",
    checked_from: int = MIN_CLUSTERS,
    only_tests: bool = False,
) -> list[Paired]:
    """Compare two series of `values` (series, terms, units) for each pair in `places`; test a given margin.

    A pair is compared on the units on which both series have a value. If each cluster counts once, the values are
    cluster means over these units. Pairs with the same label in `families` are one family; `enough_exchanges` gives the
    number of random exchanges that the largest family needs. `of` names the values in a warning. Mean differences over
    at least `checked_from` clusters are added to ``draws.skewed``, from which the caller warns of skewed ones. With
    `only_tests`, the pairs have no interval and no minimum detectable effect, and nothing is added.
    """
    found: dict[int, Paired] = {}
    series, options = draws.series, draws.options
    both = np.asarray(places, dtype=np.intp).reshape(-1, 2)
    present = have_values(values)
    n_permutations = enough_exchanges(max(Counter(families).values(), default=0), options.resamples)
    weighs = options.weighs_clusters(series.table)
    common: Mask = present[both[:, 0]] & present[both[:, 1]]
    blocks = _blocks(draws.parts(common, present), common, draws, None if weighs else len(values))
    parts = (
        [_part(values, both, mask, rows, draws, statistic, weighs=weighs, has_effects=not only_tests)
         for mask, rows in one]
        for one in blocks
    )  # fmt: skip
    equal = f"all {pluralize(draws.drawn)} have the same difference"
    for (mask, rows, part, labels, sides, pairs, effects), tests in _tests(
        parts, statistic, n_permutations, options.seed
    ):
        if statistic is mean_of_sums and not only_tests:
            shown = [
                (a, b)
                for (a, b), place in zip(sides.tolist(), rows, strict=True)
                if series.count(common[place]) >= checked_from
            ]
            draws.skewed.add(
                (part[a, 0] - part[b, 0] for a, b in shown), labels, of=of, drawn=draws.drawn, checked_from=checked_from
            )
        intervals: Sequence[Interval | None]
        same: list[float | None] = [None] * len(tests)
        if only_tests:
            intervals = [None] * len(tests)
        elif weighs:
            intervals = _by_student(part[:, 0], sides, pairs, labels, options.level)
        else:
            intervals, same = _by_resampling(part, sides, mask, draws, statistic, tests, margin)
        points = pairs.estimates(statistic)
        former, latter = points[pairs.first].tolist(), points[pairs.second].tolist()
        for place, first, second, interval, test, mde, p_same in zip(
            rows.tolist(), former, latter, intervals, tests, effects, same, strict=True
        ):
            clusters = series.count(common[place])
            low, high, reason = (
                (None, None, None)
                if interval is None
                else interval_ends(interval, clusters, series.table, where_equal=equal)
            )
            undetectable = _undetectable(test, draws.drawn)
            if test.exact and test.differing == 0:
                reason = f"{EQUAL} {draws.drawn}"
            elif undetectable and reason is None:
                reason = f"no minimum detectable effect with {undetectable}"
            found[place] = Paired(
                nan_to_none(first),
                nan_to_none(second),
                nan_to_none(test.difference),
                low,
                high,
                nan_to_none(test.p_value),
                nan_to_none(test.p_min),
                int(common[place].sum()),
                clusters,
                None if undetectable else mde,
                reason,
                test.differing,
                test.exact,
                None if low is None else p_same,
            )
    return [found[place] for place in range(len(both))]


def paired_early(
    draws: ResampleCache, values: Floats, places: ArrayLike, looking: Looking, statistic: Statistic, *, of: str
) -> list[Paired]:
    """Compare two series of `values` for each pair in `places` at a look; arguments as for `paired`.

    p-values and intervals hold at all looks together. An effect is detectable by this look alone.
    """
    series, options = draws.series, draws.options
    both = np.asarray(places, dtype=np.intp).reshape(-1, 2)
    present = have_values(values)
    labels = draws.labels(np.ones(len(series.units), dtype=np.bool_))
    sides, shown = both, values
    if options.weighs_clusters(series.table):
        shown, labels, sides = _means_of_clusters(values[both, 0], labels)
    drawn, found = pluralize(draws.drawn), []
    tested = early_differences(Pairs(shown, sides, labels), looking, statistic=statistic, level=options.level)
    for (first, second), one in zip(both.tolist(), tested, strict=True):
        common = present[first] & present[second]
        clusters = series.count(common)
        reason = f"all {drawn} have the same difference" if one.reason == NO_VARIATION else one.reason
        low, high, mde = nan_to_none(one.low), nan_to_none(one.high), nan_to_none(one.mde)
        if one.differing == 0 and one.difference == 0:
            reason = f"{EQUAL} {draws.drawn}"
        elif 0 < one.clusters < MIN_CLUSTERS_OF_LOOK:
            reason = f"fewer than {MIN_CLUSTERS_OF_LOOK} {drawn}"
        elif mde is None and reason is None:
            reason = f"no minimum detectable effect with {plural(one.differing, draws.drawn)} that differ"
        if statistic is mean_of_sums and low is not None:
            gap = np.where(common, values[first, 0] - values[second, 0], np.nan)
            draws.skewed.add([gap[common]], draws.labels(common), of=of, drawn=draws.drawn)
        first_value, second_value, difference = map(nan_to_none, (one.first, one.second, one.difference))
        p, p_min = nan_to_none(one.p_value), nan_to_none(one.p_min)
        size = int(common.sum())
        found.append(
            Paired(
                first_value, second_value, difference, low, high, p, p_min, size, clusters, mde, reason, one.differing,
                exact=True,
            )
        )  # fmt: skip
    return found


class _Part(NamedTuple):
    """Pairs that share their resamples: the units drawn, the pairs' positions, their values and detectable effects."""

    mask: Mask
    rows: NDArray[np.intp]
    values: Floats
    labels: NDArray[np.intp]
    sides: NDArray[np.intp]
    pairs: Pairs
    effects: list[float | None]


def _part(
    values: Floats,
    both: NDArray[np.intp],
    mask: Mask,
    rows: NDArray[np.intp],
    draws: ResampleCache,
    statistic: Statistic,
    *,
    weighs: bool,
    has_effects: bool,
) -> _Part:
    """Return the pairs numbered `rows` of `both` (pairs, 2), which has the positions of both series of every pair.

    Without `has_effects`, no pair has a minimum detectable effect.
    """
    compared, own = np.unique(both[rows], return_inverse=True)
    part, labels, sides = values[compared][:, :, mask], draws.labels(mask), own.reshape(-1, 2)
    if weighs:
        part, labels, sides = _means_of_clusters(part[sides, 0], labels)
    pairs = Pairs(part, sides, labels)
    effects: list[float | None]
    if not has_effects:
        effects = [None] * len(sides)
    elif statistic is mean_of_sums:
        effects = [_detectable(part[a, 0], part[b, 0], labels) for a, b in sides]
    else:
        effects = _detectable_of_counts(pairs, statistic)
    return _Part(mask, rows, part, labels, sides, pairs, effects)


def _blocks(
    parts: Sequence[tuple[Mask, NDArray[np.intp]]], common: Mask, draws: ResampleCache, series: int | None
) -> Iterator[list[tuple[Mask, NDArray[np.intp]]]]:
    """Yield blocks of parts, which are split where necessary so that the sums of a block's sides fit in memory.

    `common` (pairs, units) has the units of each pair. Pairs with the same units share sides, at most `series` of them;
    if `series` is None, each pair has two sides of its own.
    """
    block: list[tuple[Mask, NDArray[np.intp]]] = []
    cells = 0
    for mask, rows in parts:
        clusters = len(np.unique(draws.labels(mask)))
        piece: list[NDArray[np.intp]] = []
        for _, places in group_by_mask(common[rows]):
            step = len(places) if series is not None else max(1, _MOST_CELLS // max(1, 2 * clusters))
            for own in (places[start : start + step] for start in range(0, len(places), step)):
                size = clusters * (2 * len(own) if series is None else min(2 * len(own), series))
                if cells and cells + size > _MOST_CELLS:
                    yield [*block, (mask, rows[np.sort(np.concatenate(piece))])] if piece else block
                    block, piece, cells = [], [], 0
                piece.append(own)
                cells += size
        block.append((mask, rows[np.sort(np.concatenate(piece))]))
    yield block


def _tests(
    blocks: Iterable[Sequence[_Part]], statistic: Statistic, n_permutations: int, seed: int
) -> Iterator[tuple[_Part, list[PermutationTest]]]:
    """Yield each part with the tests of its pairs; pairs of a block with the same number of clusters share one draw."""
    for parts in blocks:
        sizes = [len(one.pairs.sums) for one in parts]
        tests: dict[int, Iterator[PermutationTest]] = {}
        for size in dict.fromkeys(sizes):
            joined = Pairs.joined([one.pairs for one, own in zip(parts, sizes, strict=True) if own == size])
            tests[size] = iter(
                permutation_test_of_pairs(joined, statistic=statistic, n_permutations=n_permutations, seed=seed)
            )
        for one, size in zip(parts, sizes, strict=True):
            yield one, list(islice(tests[size], len(one.pairs.first)))


def _by_resampling(
    values: Floats,
    sides: NDArray[np.intp],
    mask: Mask,
    draws: ResampleCache,
    statistic: Statistic,
    tests: Sequence[PermutationTest],
    margin: float | None,
) -> tuple[list[Interval], list[float | None]]:
    """Return the bootstrap interval of each pair, and its p-value against the margin (None without a margin).

    Only some pairs are computed at a time: with many models, the resamples of all pairs do not fit in memory.
    """
    labels, resamples, options = draws.labels(mask), draws.of(mask), draws.options
    intervals: list[Interval] = []
    same: list[float | None] = []
    step = max(1, _MOST_DIFFERENCES // options.resamples)
    for start in range(0, len(sides), step):
        block = slice(start, start + step)
        pairs = Pairs(values, sides[block], labels)
        distribution = distribution_of_pairs(pairs, resamples, statistic=statistic)
        with warn_once(draws.warned):
            intervals += bootstrap_of_pairs(
                pairs,
                resamples,
                statistic=statistic,
                method=options.interval,
                level=options.level,
                distribution=distribution,
            )
        if margin is None:
            continue
        with warn_once(draws.warned):
            made = equivalence_of_pairs(
                pairs,
                resamples,
                tests[block],
                margin=margin,
                alpha=ALPHA,
                statistic=statistic,
                method=options.interval,
                distribution=distribution,
            )
        same += [nan_to_none(one.p_same) for one in made]
    return intervals, same or [None] * len(sides)


def _means_of_clusters(both: Floats, labels: NDArray[np.intp]) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Return cluster means of pairs (pairs, 2, units), over the units that both sides have; clusters become the units.

    The three values are the series (2 * pairs, 1, clusters), a label for each cluster, and the positions of the sides.
    """
    common = np.where(np.isnan(both).any(axis=1, keepdims=True), np.nan, both)
    means = cluster_means(common.reshape(2 * len(both), len(labels)), labels)
    return means[:, np.newaxis], np.arange(means.shape[1]), np.arange(len(means)).reshape(-1, 2)


def _by_student(
    values: Floats, sides: NDArray[np.intp], pairs: Pairs, labels: NDArray[np.intp], level: float
) -> list[Interval]:
    """Return each pair's interval by Student's paired t over clusters; if its sides are equal, the interval is 0."""
    intervals = mean_of_clusters_interval(values[sides[:, 0]] - values[sides[:, 1]], labels, level=level)
    return [
        interval if differ or not interval.n else replace(interval, estimate=0.0, low=0.0, high=0.0, reason=None)
        for interval, differ in zip(intervals, np.logical_or.reduce(pairs.differ, axis=0).tolist(), strict=True)
    ]


def _undetectable(test: PermutationTest, drawn: str) -> str | None:
    """Return why no effect could be significant with so few clusters, None if an effect could be."""
    if test.clusters < MDE_MIN_CLUSTERS:
        return f"fewer than {MDE_MIN_CLUSTERS} {pluralize(drawn)}"
    # There are always enough random exchanges for some effect to be significant.
    if not test.p_min >= ALPHA:
        return None
    return f"only {plural(test.differing, drawn)} that {'differs' if test.differing == 1 else 'differ'}"


def tested(
    found: Sequence[Paired],
    families: Sequence[str],
    draws: ResampleCache,
    looking: Looking | None = None,  # noqa: PT028 - no test of pytest
) -> list[tuple[Any, ...]]:
    """Return the columns `TESTED` of each pair, with Holm-corrected p-values; pairs with the same label are one family.

    Warns of a family in which no corrected p-value could have been below 0.05, at the look `looking`.
    """
    corrected = holm_by_family([one.p for one in found], families)
    for family in dict.fromkeys(families):
        _warn([one for one, label in zip(found, families, strict=True) if label == family], family, draws, looking)
    return [
        (one.low, one.high, one.p, one.p_min, p, None if p is None else p < ALPHA, one.n, one.clusters, one.mde,
         one.reason)
        for one, p in zip(found, map(nan_to_none, corrected), strict=True)
    ]  # fmt: skip


def tested_same(found: Sequence[Paired], families: Sequence[str], margin: float) -> list[tuple[Any, ...]]:
    """Return the columns `SAME` of each pair; the verdict follows from both Holm-corrected p-values."""
    different = holm_by_family([one.p for one in found], families)
    same = holm_by_family([one.p_same for one in found], families)
    return [
        (margin, one.p_same, nan_to_none(p_same), verdict(p_same, p, alpha=ALPHA))
        for one, p_same, p in zip(found, same, different, strict=True)
    ]


def family_of_pairs(table: ScoreTable, condition: str | None) -> str:
    """Return the name, in messages, of the family of all pairs of models in a condition."""
    return f"all pairs of models{'' if condition is None else f', {table.provenance.condition} {condition!r}'}"


def holm_by_family(p_values: Sequence[float | None], families: Sequence[str]) -> list[float]:
    """Return Holm-corrected p-values, nan where there is no p-value; values with the same label are one family.

    Examples
    --------
    >>> holm_by_family([0.01, 0.04, None, 0.03], ["a", "a", "a", "b"])
    [0.02, 0.04, nan, 0.03]
    """
    corrected = np.full(len(p_values), np.nan)
    for family in dict.fromkeys(families):
        places = [place for place, label in enumerate(families) if label == family]
        corrected[places] = holm([np.nan if (p := p_values[place]) is None else p for place in places])
    return corrected.tolist()


def _warn(found: Sequence[Paired], family: str, draws: ResampleCache, looking: Looking | None) -> None:
    """Warn if a family's smallest possible p-value times its size is 0.05 or more, unless all pairs are equal."""
    made = [one for one in found if one.p is not None]
    smallest = len(made) * min((one.p_min for one in made if one.p_min is not None), default=0)
    if smallest < ALPHA or all(one.differing == 0 for one in made):
        return
    most = max(one.differing for one in made)
    # Each further cluster that differs halves the smallest possible p-value.
    more = next(number for number in count(1) if smallest / 2**number < ALPHA)
    limit = f"{plural(most, draws.drawn)} with a difference {'is' if most == 1 else 'are'}"
    advice = f"{more} more would be needed"
    if looking is not None and looking.looks is not None:
        is_last = looking.look == looking.looks
        advice = f"more {pluralize(draws.drawn)} are needed" if is_last else "a later look can decide more"
    elif not all(one.exact for one in made):
        advice += "; more resamples do not help"
    warn_out_of_reach(limit, len(made), family, smallest, advice, stacklevel=5)


def _detectable(one: Floats, other: Floats, labels: NDArray[np.intp]) -> float | None:
    """Return the minimum detectable effect of the means of two series, None where it is undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return nan_to_none(minimum_detectable_effect(one, other, labels))


def _detectable_of_counts(pairs: Pairs, statistic: Statistic) -> list[float | None]:
    """Return each pair's minimum detectable effect for scores of pooled counts, None where it is undefined.

    It is also undefined if the statistic is undefined when one of the clusters is left out.
    """
    moved = pairs.left_out(statistic) - pairs.differences(pairs.estimates(statistic))
    found: list[float | None] = []
    for units, own in zip(pairs.units.T, moved.T, strict=True):
        error = jackknife_error(own[units > 0])
        factor = mde_factor(int((units > 0).sum()), units_cv=coefficient_of_variation(units)) if error > 0 else nan
        found.append(nan_to_none(factor * error))
    return found


def margins_of(table: ScoreTable, margin: Margin | None, names: Sequence[str]) -> dict[str, float]:
    """Return the margin of each metric, in the unit of its values; an empty dict without a margin.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    margin : float, mapping of str to float, "declared" or None
        One number for all metrics; a number by the name of the metric; or, for "declared", each metric's
        `attune_metrics.metric.Metric.smallest_difference`.
    names : sequence of str
        The metrics that are compared.

    Raises
    ------
    MetricInputError
        If a margin is missing, is not a finite number above 0 or is as large as the range of its metric, or if `margin`
        names a metric that is not compared.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> margins_of(scores, 2, ["composite_score"])
    {'composite_score': 2.0}
    """
    if margin is None:
        return {}
    if isinstance(margin, Mapping):
        given = {table.metric(name).name: value for name, value in margin.items()}
        for name in given:
            if name not in names:
                raise MetricInputError(f"margin of {name!r}, which is not compared; {did_you_mean(name, names)}")
    found = {}
    for name in names:
        metric = table.metric(name)
        if isinstance(margin, Mapping):
            value: object = given.get(name)
        else:
            value = metric.smallest_difference if margin == "declared" else margin
        if value is None:
            declares = "" if isinstance(margin, Mapping) else ", and its entry declares no smallest difference"
            raise MetricInputError(f"no margin of {name!r}{declares}; give the smallest difference that matters")
        found[name] = check_margin(value)
        check_below_range("margin", found[name], metric)
    return found


def check_below_range(what: str, size: float, metric: Metric) -> None:
    """Raise where a margin or another difference is as large as the range of its metric.

    Examples
    --------
    >>> check_below_range("margin", 2, Metric(name="points", label="Points", low=0, high=100))
    """
    if size >= metric.high - metric.low:
        raise MetricInputError(
            f"{what} {size:g} of {metric.name!r} is as large as its range, {metric.low:g} to {metric.high:g}; it is in "
            "the unit of the values as files of scores have them"
        )


COMPARISONS = columns("model_a model_b condition metric difference") | TESTED
"""The columns of a comparison without strata and without a margin, which would add `SAME`."""

Pair = tuple[str, str, str | None]


def compare(table: ScoreTable, a: str, b: str, **options: Unpack[ComparisonKeywords]) -> pl.DataFrame:
    """Compare two models on the units that both were run on, in each condition that both have.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    a, b : str
        Models. A model compared with itself differs by exactly 0.
    **options
        As for `attune_bench.stats.summary.summary`; and ``margin``, the smallest difference of interest in the unit of
        the values: a number for all metrics, a mapping by metric, or ``"declared"`` for what their entries state. Where
        the models are compared while the data come in, ``looks`` is the number of planned looks, 1 to 20, each after an
        equal part of the clusters, and ``look`` which of them this is; or ``looks`` is ``"any"``, for any number of
        looks at any time. See `attune_metrics.stats.early`.

    Returns
    -------
    polars.DataFrame
        The columns `COMPARISONS`. ``difference`` is `a` minus `b`. ``p`` is from
        `attune_metrics.stats.comparison.paired_permutation_test`, ``p_min`` is the smallest p-value that this test
        could have given, ``p_holm`` is ``p`` corrected for the family, and ``significant`` says whether ``p_holm`` is
        below 0.05. ``mde`` is the minimum detectable effect: the smallest true difference that a comparison of this
        size finds with 80% power at an uncorrected 0.05. It is null with fewer than 7 clusters and where ``p_min`` is
        0.05 or more. ``reason`` says why there is no interval or no ``mde``, or that the two are equal everywhere. With
        a margin, the table also has the columns `SAME`: ``p_same`` is from
        `attune_metrics.stats.equivalence.equivalence`, null without an interval, and ``verdict`` (``different``,
        ``practically the same`` or ``undecided``) follows from both corrected p-values. With ``looks``, ``p`` and
        ``p_min`` are over all looks, of Student's t over clusters; the intervals of all looks hold together; ``mde`` is
        of this look alone; and the table also has the column `LOOK`.

    Raises
    ------
    MetricInputError
        As `summary`, and if a model is not in the scores, or if the two models have no condition or no unit in common.
        With a margin, if the margin of a metric is missing, is not a number above 0 or is as large as the range of the
        metric, if it names a metric that is not compared, or if ``weight`` is a cluster: a test against a margin counts
        each unit once. With ``looks``, if there is also a margin, or if the look is missing or out of range.
    MixedSettingsError
        If the runs differ in a setting that changes answers; see `attune_bench.stats.comparability`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import chance, prior
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> scores = score(conversations, [*prior(conversations), *chance(conversations)])
    >>> found = compare(scores, "baseline/prior", "baseline/chance", metrics=["avg_binary_om_accuracy"])
    >>> found["p"].item() < 0.01, found["difference"].item() > found["mde"].item()
    (True, True)
    """
    chosen, margin, looking = comparison_options(options)
    skewed = SkewedMeans()
    found = compare_pairs(table, pairs_of(table, a, b), chosen, margin, skewed, looking=looking)
    skewed.warn_of_differences(table.metrics, between="models", has_margin=margin is not None)
    return found


def compare_all(table: ScoreTable, **options: Unpack[ComparisonKeywords]) -> pl.DataFrame:
    """Compare every two models of a condition.

    Parameters
    ----------
    table, **options
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        As from `compare`, with each pair once; `count_significant` counts the pairs that differ. ``model_a`` is the
        better model by the primary metric, and the best models come first, see
        `attune_bench.stats.options.sorted_groups`.

    Raises
    ------
    MetricInputError, MixedSettingsError
        As `compare`.

    Warns
    -----
    UserWarning
        If no corrected p-value of a family can be below 0.05, because the family is large and few clusters differ.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = compare_all(scores, metrics=["composite_score"], resamples=200).row(0, named=True)
    >>> found["model_a"], found["model_b"], round(found["difference"], 2), found["significant"]
    ('synthetic/attentive', 'synthetic/hasty', 17.17, True)
    """
    chosen, margin, looking = comparison_options(options)
    skewed = SkewedMeans()
    found = compare_pairs(table, all_pairs(table, chosen), chosen, margin, skewed, looking=looking)
    skewed.warn_of_differences(table.metrics, between="models", has_margin=margin is not None)
    return found


def all_pairs_tested(table: ScoreTable, metric: str, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Test every two models of a condition, without intervals.

    Returns
    -------
    polars.DataFrame
        As from `compare_all`, in a third of the time: ``low``, ``high`` and ``mde`` are null.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> all_pairs_tested(scores, "composite_score", resamples=200)["significant"].to_list()
    [True]
    """
    chosen = AnalysisOptions(**options, metrics=[metric])
    return compare_pairs(table, all_pairs(table, chosen), chosen, None, SkewedMeans(), only_tests=True)


def exchanges_of_all(table: ScoreTable, resamples: int) -> int:
    """Return how many random exchanges `compare_all` makes: `enough_exchanges` of the condition with most models."""
    models = Counter(condition for _, condition in table.groups).values()
    return enough_exchanges(comb(max(models, default=0), 2), resamples)


def check_shared_units(table: ScoreTable, models: Sequence[str] | None = None) -> None:
    """Raise if some condition has two or more models, but no two models of a condition have a unit in common.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    models : sequence of str, optional
        The models that are compared; by default all.

    Raises
    ------
    MetricInputError
        If no two models share a unit; the text names one unit of each model.
    """
    rows = table.values if models is None else table.values.filter(pl.col("model").is_in(list(models)))
    sharing = rows.group_by("condition", "unit").agg(pl.col("model").n_unique())
    if (sharing["model"] > 1).any():
        return
    examples = rows.group_by("condition", "model").agg(pl.col("unit").cast(pl.String).min()).sort("condition", "model")
    together = examples.filter(pl.len().over("condition") > 1)
    if together.is_empty():
        return
    of_one = together.filter(pl.col("condition").eq_missing(pl.lit(together["condition"][0])))
    said = listed([f"{model!r} has {unit!r}" for model, unit in of_one.select("model", "unit").iter_rows()], 6)
    unit = table.provenance.unit
    raise MetricInputError(
        f"no two models have a {unit} in common ({said}); give a {unit} the same name in the rows of every model"
    )


def comparison_options(options: ComparisonKeywords) -> tuple[AnalysisOptions, Margin | None, Looking | None]:
    """Split the keywords of a comparison into the options that every analysis has, the margin, and the look."""
    others: dict[str, Any] = {**options}
    margin, looking = others.pop("margin", None), looking_at(others.pop("looks", None), others.pop("look", None))
    if margin is not None and looking is not None:
        raise MetricInputError("a test against a margin is made once, of all data; leave out margin or looks")
    return AnalysisOptions(**others), margin, looking


def looking_at(looks: int | Literal["any"] | None, look: int | None) -> Looking | None:
    """Return which look at the data a comparison is; None where the data are looked at once.

    Raises
    ------
    MetricInputError
        If only one of them is given, or one is out of range.

    Examples
    --------
    >>> str(looking_at(4, 2)), str(looking_at("any", None)), looking_at(1, 1), looking_at(None, None)
    ('2 of 4', 'any', None, None)
    """
    if looks == "any":
        if look is not None:
            raise MetricInputError(f"look {look} of any number of looks; leave out look")
        return Looking()
    if looks is None and look is None:
        return None
    if looks is None:
        raise MetricInputError(f"look {look} of how many? Give looks, the planned number")
    if look is None and looks != 1:
        raise MetricInputError(f"looks {looks}: which of them is this? Give look (--look), a number from 1")
    found = Looking(1 if look is None else look, check_looks(looks))
    return None if found.looks == 1 else found


def all_pairs(table: ScoreTable, options: AnalysisOptions) -> list[Pair]:
    """Return every two models of each condition, the better one first."""
    groups = sorted_groups(table, options)
    return [
        (one, other, condition)
        for condition in table.conditions
        for one, other in combinations([model for model, under in groups if under == condition], 2)
    ]


def pairs_of(table: ScoreTable, a: str, b: str) -> list[Pair]:
    """Return the pair of two models in each condition that both have; raise if they share no condition."""
    conditions: dict[str, list[str | None]] = {model: [] for model in table.models}
    for model, condition in table.groups:
        conditions[model].append(condition)
    for model in (a, b):
        if model not in conditions:
            raise MetricInputError(f"no scores of model {model!r}; {did_you_mean(model, conditions)}")
    common = [one for one in table.conditions if one in conditions[a] and one in conditions[b]]
    if not common:
        raise MetricInputError(
            f"{a!r} and {b!r} have no {table.provenance.condition} in common: "
            f"{', '.join(map(str, conditions[a]))} and {', '.join(map(str, conditions[b]))}"
        )
    check_shared_units(table, (a, b))
    return [(a, b, one) for one in common]


def compare_pairs(
    table: ScoreTable,
    pairs: Sequence[Pair],
    options: AnalysisOptions,
    margin: Margin | None,
    skewed: SkewedMeans,
    *,
    within: str = "",
    checked_from: int = MIN_CLUSTERS,
    only_tests: bool = False,
    looking: Looking | None = None,
) -> pl.DataFrame:
    """Compare pairs (model, model, condition), given in the order of their conditions.

    `within` names the stratum of the units in messages. `checked_from` and `only_tests` are as for `paired`, which adds
    the mean differences to `skewed`. `looking` is the look, None where there is only one.
    """
    series = ScoreSeries(table)
    draws = ResampleCache(series, options, weighted=True)
    draws.skewed = skewed
    place = {group: place for place, group in enumerate(series.groups)}
    sides = np.array([(place[a, one], place[b, one]) for a, b, one in pairs], dtype=np.intp).reshape(-1, 2)
    families = [f"{family_of_pairs(table, condition)}{within}" for *_, condition in pairs]
    rows: dict[tuple[str | None, str], list[tuple[Any, ...]]] = {}
    # A metric that depends on all models' results has no units to compare on, one that is relative no common scale;
    # both are refused if they are asked for by name.
    shared = (one for one in table.metrics.values() if one.statistic in STATISTICS and not one.own_scale)
    comparable = [metric.name for metric in shared]
    names = options.names_of_means(table, comparable)
    compared = [(model, condition) for *both, condition in pairs for model in both]
    check_within_conditions(table, names, groups=compared)
    if margin is not None and options.weighs_clusters(table):
        raise MetricInputError(
            f"in a comparison with a margin each unit counts once; leave out weight={options.weight!r}"
        )
    margins = margins_of(table, margin, names)
    for name in names:
        of_metric = margins.get(name)
        values, statistic = series.values(name), series.statistic(name)
        if looking is None:
            found = paired(
                draws, values, sides, families, statistic, margin=of_metric, of=name, checked_from=checked_from,
                only_tests=only_tests,
            )  # fmt: skip
        else:
            found = paired_early(draws, values, sides, looking, statistic, of=name)
        columns_of = tested(found, families, draws, looking)
        if of_metric is not None:
            same = tested_same(found, families, of_metric)
            columns_of = [(*first, *more) for first, more in zip(columns_of, same, strict=True)]
        for pair, one, cells in zip(pairs, found, columns_of, strict=True):
            rows.setdefault((pair[2], name), []).append((*pair, name, one.difference, *cells))
    ordered = [rows[condition, name] for condition in table.conditions for name in names if (condition, name) in rows]
    frame = build_frame(COMPARISONS | (SAME if margins else {}), [row for family in ordered for row in family])
    return frame if looking is None else frame.with_columns(look=pl.lit(str(looking)))


def count_significant(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Count the pairs of models that differ, by the corrected p-value and by the interval.

    Parameters
    ----------
    comparisons : polars.DataFrame
        The table from `compare_all`. If pairs were removed from it, a column ``family`` must have the size of each
        pair's whole family.

    Returns
    -------
    polars.DataFrame
        One row for each condition and metric (and stratum), with these columns after ``condition, metric``: ``pairs``
        counts all pairs, ``family`` the pairs with a p-value (the family of the correction), ``significant`` the pairs
        with a corrected p-value below 0.05, and ``interval_excludes_0`` the pairs with an uncorrected interval that
        excludes 0; ``p_holm_min`` is the smallest corrected p-value that any pair could have had, null if no pair has a
        p-value.

    Examples
    --------
    >>> rows = {"condition": ["m", "m"], "metric": ["x", "x"], "p": [0.01, None], "p_min": [0.01, None],
    ...         "significant": [True, None], "low": [1.0, None], "high": [2.0, None]}
    >>> count_significant(pl.DataFrame(rows)).row(0)
    ('m', 'x', 2, 1, 1, 1, 0.01)
    """
    excludes = (pl.col("low") > 0) | (pl.col("high") < 0)
    keys = [name for name in ("stratum", "condition", "metric") if name in comparisons.columns]
    family = pl.col("family").first() if "family" in comparisons.columns else pl.col("p").count()
    return comparisons.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        family.cast(pl.Int64).alias("family"),
        pl.col("significant").sum().cast(pl.Int64).alias("significant"),
        excludes.sum().cast(pl.Int64).alias("interval_excludes_0"),
        pl.min_horizontal(family * pl.col("p_min").min(), 1.0).alias("p_holm_min"),
    )
