"""Subgroups: any metric on a part of the units, and what sets the part apart from the rest.

Conventions
-----------
A stratum is the units with one value of a trait; a unit with two values (two diagnoses) is in both strata, so that
strata can overlap. The complement of a stratum is all other scored units of the data, but for units without a known
value: they are in no complement.

Stratum and complement have different units, often of the same clusters, so nothing is paired: clusters are drawn with
their units in both. The p-value belongs to the expanded percentile interval of that difference: ``1 - p`` is the level
at which the interval ends at 0. Where no resample has the other sign, a normal distribution with the spread of the
resamples says how rare the other sign is, so that the number of resamples does not limit p. Corrected p-values are
Holm's, over the strata of the trait, for each metric, model and condition apart.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import nan, sqrt
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import build_frame, columns
from attune_bench.scores.pairwise import is_fitted, on_units
from attune_bench.scores.parts import UNIT_KEYS
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.compare import all_pairs, compare_pairs, comparison_options, pairs_of
from attune_bench.stats.options import (
    ALPHA,
    FEW,
    MIN_CLUSTERS,
    AnalysisKeywords,
    AnalysisOptions,
    ComparisonKeywords,
    Mask,
    ResampleCache,
    ScoreSeries,
    SkewedMeans,
    begin,
    have_values,
    too_few,
    warn_once,
)
from attune_bench.stats.summary import Summarised, intervals_of
from attune_data.columns import Column
from attune_data.query import Queryable, Unit
from attune_data.tables import Frames
from attune_data.text import plural, pluralize
from attune_metrics.metric import MetricInputError, nan_to_none
from attune_metrics.stats.bootstrap import (
    STATISTICS,
    Interval,
    bootstrap,
    bootstrap_distribution,
    quantile_of_sorted,
    symmetric_levels,
)
from attune_metrics.stats.comparison import holm
from attune_metrics.stats.sums import Floats, Statistic, rounding_of

_UNKNOWN = ("no answer", "unknown")


class UnitTraits(Frames):
    """The units of scores as a frame that is asked for subgroups."""

    names: ClassVar[tuple[str, ...]] = ("units",)
    unit: ClassVar[Unit] = Unit("unit", ("unit",), "cluster", own="unit", named_by="cluster")

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return no column: which there are depends on the scores."""
        return {}

    @cached_property
    def units(self) -> pl.DataFrame:
        """One row a unit: its cluster and its traits."""
        return self._build("units")


def unit_traits(table: ScoreTable) -> UnitTraits:
    """Return the traits that the scores have of their units."""
    # In a condition the name of a unit is a text.
    units = table.units.select(*UNIT_KEYS, *table.traits).cast({"unit": pl.String})
    return UnitTraits(partial(_units, units))


def asked(table: ScoreTable, data: Queryable | None) -> Queryable:
    """Return the source of traits: the data, or without data the traits of the scores.

    Raises
    ------
    ValueError
        Where there are neither.
    """
    if data is None and not table.traits:
        raise ValueError(
            f"these scores have no traits of their {pluralize(table.provenance.unit)}; give what was scored against: "
            "data=..."
        )
    return unit_traits(table) if data is None else data


def _units(frame: pl.DataFrame, _: str) -> pl.DataFrame:
    return frame


def strata_of(data: Queryable, trait: str) -> dict[str, list[str]]:
    """Return the units with each value of a trait; they overlap where a unit has two."""
    return {name: part.unit_ids for name, part in data.stratify(trait).items()}


def strata_and_known(data: Queryable, trait: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the strata of a trait, and the units with a known value; complements are taken among these."""
    strata = strata_of(data, trait)
    unknown = {unit for name in _UNKNOWN for unit in strata.get(name, ())}
    return strata, [unit for unit in data.unit_ids if unit not in unknown]


_NORMAL = NormalDist()
SUBGROUPS = columns("stratum n clusters metric model condition value low high mark reason")
COMPARED = columns(
    "difference difference_low difference_high p p_holm significant",
    difference="Stratum minus its complement: all other units with a known value of the trait.",
    difference_low="Lower end of the interval of the difference.",
    difference_high="Upper end of the interval of the difference.",
    p="p-value of the difference, by resampling the clusters of both sides.",
)
"""The further columns of strata that are set against their complements."""


def by(
    table: ScoreTable,
    trait: str,
    *,
    data: Queryable | None = None,
    compare: bool = False,
    **options: Unpack[AnalysisKeywords],
) -> pl.DataFrame:
    """Return every metric per stratum of a trait of the units.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    trait : str
        A column of the data's first table, or a grouping that the data know, such as ``diagnosis_group``.
    data : Collection or Tables, optional
        The units' records; ``where(...)`` before to stay within a part of them. By default the traits that the scores
        have of their units.
    compare : bool
        Whether to set each stratum against its complement.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see `AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        ``stratum, n, clusters, metric, model, condition, value, low, high, mark, reason``. ``mark`` is ``few`` below 20
        clusters, ``too few`` below 5, where there is no interval. With `compare` also ``difference, difference_low,
        difference_high, p, p_holm, significant``, of the stratum minus its complement.

    Raises
    ------
    ValueError
        Where there is no such trait.
    MetricInputError
        Where an option is unknown or out of range, or no unit of the data was scored.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import prior
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> scores = score(conversations, prior(conversations))
    >>> found = by(scores, "diagnosis_group", data=conversations, metrics=["avg_emotion_va_score"])
    >>> found.select("stratum", "n", "clusters", "mark").rows()[0]
    ('AnxDep', 10, 6, 'few')
    """
    strata, known = strata_and_known(asked(table, data), trait)
    return subgroups(table, strata, known=known, compare=compare, **options)


def overlap(strata: Mapping[str, Iterable[str]]) -> int:
    """Return how many units are in more than one stratum.

    Examples
    --------
    >>> overlap({"ADHD": ["c1", "c2"], "ASD": ["c2", "c3"]})
    1
    """
    counts = Counter(unit for units in strata.values() for unit in set(units))
    return sum(count > 1 for count in counts.values())


def subgroups(
    table: ScoreTable,
    strata: Mapping[str, Iterable[str]],
    *,
    known: Iterable[str],
    compare: bool = False,
    **options: Unpack[AnalysisKeywords],
) -> pl.DataFrame:
    """Return every metric on each of several sets of units; `by` takes them from a trait.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    strata : mapping of str to iterable of str
        Name to units; they may overlap.
    known : iterable of str
        The units among which complements are taken.
    compare, **options
        As for `by`.

    Returns
    -------
    polars.DataFrame
        As from `by`.

    Raises
    ------
    MetricInputError
        As `by`, and where no unit of the strata or of `known` was scored.

    Warns
    -----
    UnreliableIntervalWarning
        As `attune_bench.stats.summary.summary`, of strata that are not marked.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> ids = list(scores.units["unit"])
    >>> found = subgroups(scores, {"half": ids[:20]}, known=ids, metrics=["composite_score"], resamples=200)
    >>> found.select("stratum", "model", "n").row(0)
    ('half', 'synthetic/attentive', 20)
    """
    chosen, series, draws = begin(table, options, weighted=True)
    among = series.mask(set(known))
    masks = {name: series.mask(set(units)) for name, units in strata.items()}
    if not any(mask.any() for mask in (among, *masks.values())):
        unit = table.provenance.unit
        raise MetricInputError(
            f"none of the {plural(len(series.units), unit)} scored is in the data; do both belong to one data set?"
        )
    rows: list[tuple[Any, ...]] = []
    made_of_units = [name for name, metric in table.metrics.items() if metric.statistic in STATISTICS]
    names = chosen.names_of_means(table, made_of_units)
    named = [table.metrics[name] for name in names]
    refitted = [_Refitted(draws, mask) for mask in masks.values()] if any(map(is_fitted, named)) else []
    for name, metric in zip(names, named, strict=True):
        values, statistic = series.values(name), series.statistic(name)
        if is_fitted(metric):
            cells = [part.intervals_of(name) for part in refitted]
            gaps = [[_APART] * len(series.groups) for _ in masks if compare]
        else:
            cells = [
                # Smaller ones are marked.
                intervals_of(draws, name, series.scored & mask, checked_from=FEW)
                for mask in masks.values()
            ]
            gaps = [
                _differences(draws, values, series.scored & (among | mask), mask, statistic)
                for mask in masks.values()
                if compare
            ]
        for group, (model, condition) in enumerate(series.groups):
            family = [of_stratum[group] for of_stratum in gaps]
            corrected = holm([gap.p for gap in family]).tolist()
            for place, stratum in enumerate(masks):
                value, low, high, n, clusters, reason = cells[place][group]
                row = (stratum, n, clusters, name, model, condition, value, low, high, _mark(clusters))
                if not compare:
                    rows.append((*row, reason))
                    continue
                gap = family[place]
                why = reason or (gap.reason and f"no difference: {gap.reason}")
                p_holm = nan_to_none(corrected[place])
                significant = None if p_holm is None else p_holm < ALPHA
                rows.append((*row, why, gap.difference, gap.low, gap.high, nan_to_none(gap.p), p_holm, significant))
    draws.skewed.warn_of_means(table.metrics)
    return build_frame(SUBGROUPS | (COMPARED if compare else {}), rows)


def _mark(clusters: int) -> str:
    return "too few" if clusters < MIN_CLUSTERS else "few" if clusters < FEW else ""


@dataclass(frozen=True, slots=True)
class _Difference:
    difference: float | None
    low: float | None
    high: float | None
    p: float
    reason: str | None


_APART = _Difference(None, None, None, nan, "the ratings of two sets of units are fitted apart")


class _Refitted:
    """Fitted metrics on a part of the units, from a fit of their own."""

    def __init__(self, draws: ResampleCache, mask: Mask) -> None:
        self._all = draws.series
        units = [unit for unit, is_in in zip(self._all.units, mask, strict=True) if is_in]
        self._draws = ResampleCache(ScoreSeries(on_units(self._all.table, units)), draws.options, weighted=True)
        self._draws.warned, self._draws.skewed = draws.warned, draws.skewed  # one warning of each kind

    def intervals_of(self, name: str) -> list[Summarised]:
        """Return what `attune_bench.stats.summary.intervals_of` does, for the series of all units."""
        series = self._draws.series
        found = dict(zip(series.groups, intervals_of(self._draws, name, series.scored, checked_from=FEW), strict=True))
        why = f"no finite fit to these {pluralize(self._all.table.provenance.unit)}"
        without: Summarised = (None, None, None, 0, 0, why)
        return [found[group] if group in found and found[group][3] else without for group in self._all.groups]


def _differences(
    draws: ResampleCache, values: Floats, scored: Mask, stratum: Mask, statistic: Statistic
) -> list[_Difference]:
    """Return each group's difference between its units `scored` (groups, units) inside and outside a stratum."""
    series, options = draws.series, draws.options
    rounding = [rounding_of(own) for own in values]
    known = np.where(scored[:, np.newaxis], values, np.nan)
    if options.weighs_clusters(series.table):
        # A cluster with units on both sides counts once on each.
        mine, others = (np.where((scored & side)[:, np.newaxis], values, np.nan) for side in (stratum, ~stratum))
        values = np.where(stratum, series.counted(mine, options), series.counted(others, options))
    terms = values.shape[1] + 1
    # A side's values and its number of units; a unit adds nothing to the other side.
    one = np.ones_like(values[:, :1])
    inside = np.concatenate([np.where(stratum, values, 0), np.where(stratum, one, 0)], axis=1)
    outside = np.concatenate([np.where(stratum, 0, values), np.where(stratum, 0, one)], axis=1)
    sides = np.concatenate([inside, outside], axis=1)

    def difference(sums: Floats, _: Floats) -> Floats:
        mine, others = sums[..., :terms], sums[..., terms:]
        return statistic(mine[..., :-1], mine[..., -1]) - statistic(others[..., :-1], others[..., -1])

    found: dict[int, _Difference] = {}
    sides = np.where(scored[:, np.newaxis], sides, np.nan)
    defined = have_values(values)
    for mask, groups in draws.parts(scored & defined, defined):
        part, resamples = sides[groups][:, :, mask], draws.of(mask)
        distributions = bootstrap_distribution(part, resamples, statistic=difference)
        intervals = draws.intervals(bootstrap, part, mask, statistic=difference, distribution=distributions)
        for group, interval, distribution in zip(groups.tolist(), intervals, distributions, strict=True):
            present = defined[group] & scored[group]
            sizes = [series.count(present & side) for side in (stratum, ~stratum)]
            drawn = [len(np.unique(resamples.clusters[(present & side)[mask]])) for side in (stratum, ~stratum)]
            # Equal up to rounding is equal.
            exact = np.where(np.abs(distribution) <= rounding[group], 0, distribution)
            is_flat = [_spread(known[group][:, present & side]) <= rounding[group] for side in (stratum, ~stratum)]
            found[group] = _difference(interval, exact, min(sizes), min(drawn), is_flat, options, series.table)
    return [found[group] for group in range(len(series.groups))]


def _difference(
    interval: Interval,
    distribution: Floats,
    clusters: int,
    drawn: int,
    is_flat: list[bool],
    options: AnalysisOptions,
    table: ScoreTable,
) -> _Difference:
    """Return a difference with its ends and p-value; `clusters` and `drawn` count the smaller side.

    `is_flat` tells of each side whether its values are all equal. How far they would spread among other people is then
    unknown, and a p-value from the spread of the other side alone would be too small.
    """
    estimate = nan_to_none(interval.estimate)
    if clusters < MIN_CLUSTERS:
        side = f"{too_few(table)} on one side" if clusters else f"no {table.provenance.unit} on one side"
        return _Difference(estimate, None, None, nan, side)
    if interval.reason or any(is_flat):
        sides = "each side" if all(is_flat) else "one side"
        equal = f"on {sides} all {pluralize(table.provenance.cluster)} have the same value" if any(is_flat) else None
        return _Difference(estimate, None, None, nan, equal or interval.reason)
    known = distribution[~np.isnan(distribution)]
    low, high = interval.low, interval.high
    if options.interval == "percentile-expanded":
        ordered = np.sort(known)
        low, high = (quantile_of_sorted(ordered, one) for one in symmetric_levels(options.level, drawn))
    return _Difference(estimate, low, high, _p_value(interval.estimate, known, drawn), None)


def _spread(values: Floats) -> float:
    return float(np.ptp(values, axis=-1).max()) if values.shape[-1] else 0.0


def _p_value(estimate: float, resamples: Floats, clusters: int) -> float:
    """Return the p-value of a difference; the few clusters of the smaller side limit how well its spread is known."""
    from scipy.special import stdtr

    beyond = min(np.count_nonzero(resamples <= 0), np.count_nonzero(resamples >= 0))
    z = _NORMAL.inv_cdf(min((1 + beyond) / (1 + len(resamples)), 0.5))
    if not beyond:
        z = min(z, -abs(estimate) / float(resamples.std()))
    return 2 * float(stdtr(clusters - 1, z / sqrt(clusters / (clusters - 1))))


def compare_by(
    table: ScoreTable,
    trait: str,
    *,
    data: Queryable | None = None,
    models: Sequence[str] | None = None,
    **options: Unpack[ComparisonKeywords],
) -> pl.DataFrame:
    """Compare models on all units, then within each stratum of a trait; each stratum is a family of its own.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    trait : str
        As for `attune_bench.stats.subgroups.by`.
    data : Collection or Tables, optional
        The units' records; by default the traits that the scores have of their units.
    models : pair of str, optional
        Two models; by default every two.
    **options
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        ``stratum``, ``overall`` or a value of the trait, then the columns of `compare`. A pair has no row in a stratum
        on which one of the two was not run.

    Raises
    ------
    ValueError
        As `compare`, and where there is no such trait.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> conversations = load("demo")
    >>> scores = score(conversations, load_runs("demo"))
    >>> found = compare_by(scores, "category", data=conversations, metrics=["composite_score"], resamples=200)
    >>> found.select("stratum", "n").rows()[:2]
    [('overall', 40), ('Family', 8)]
    """
    chosen, margin, looking = comparison_options(options)
    pairs = all_pairs(table, chosen) if models is None else pairs_of(table, *models)
    strata = strata_of(asked(table, data), trait)
    parts, warned, skewed = [], set[type[Warning]](), SkewedMeans()
    for name, units in {"overall": None, **strata}.items():
        part = table if units is None else on_units(table, units)
        common = [(a, b, one) for a, b, one in pairs if {(a, one), (b, one)} <= {*part.groups}]
        within, fewest = ("", MIN_CLUSTERS) if units is None else (f", {trait} {name!r}", FEW)
        with warn_once(warned):
            found = compare_pairs(
                part, common, chosen, margin, skewed, within=within, checked_from=fewest, looking=looking
            )
        parts.append(found.select(pl.lit(name).alias("stratum"), pl.all()))
    skewed.warn_of_differences(table.metrics, between="models", has_margin=margin is not None)
    return pl.concat(parts)
