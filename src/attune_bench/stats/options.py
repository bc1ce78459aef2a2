"""The options of every statistic, the scores as arrays (models by units), resamples of the scores, and warnings.

Units are sorted by name, series by model and then by condition, so that the order of the rows never changes a result. A
unit without a value is nan.
"""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from typing_extensions import TypedDict

from attune_bench.scores.parts import infinite_value
from attune_bench.scores.table import ScoreTable, term_columns
from attune_data.text import did_you_mean, listed, plural, pluralize
from attune_metrics.metric import (
    OF_GROUPS,
    PER_UNIT,
    PSEUDO_VALUES,
    Metric,
    MetricInputError,
    SkewedScoresWarning,
    UnreliableIntervalWarning,
    check_level,
    check_whole,
    nan_to_none,
)
from attune_metrics.stats.bootstrap import (
    MAX_MULTINOMIAL_CLUSTERS,
    MOST_KEPT,
    MOST_RESAMPLES,
    NO_VARIATION,
    STATISTICS,
    Interval,
    Method,
    Resamples,
    draw_resamples,
    point_estimate,
    reason_of_undefined,
    symmetric_levels,
)
from attune_metrics.stats.cluster_means import cluster_means
from attune_metrics.stats.sums import (
    MOST_SKEWNESS,
    ROUNDING,
    Floats,
    Statistic,
    Weights,
    average_ranks,
    cluster_index,
    rounding_of,
    skewness_of_mean,
)

ALPHA = 0.05
"""Two models differ significantly where the Holm-corrected p-value is below this."""

FEW = 20
"""With fewer clusters a result is marked."""

MIN_CLUSTERS = 5
"""With fewer clusters there is no interval."""


class SamplingKeywords(TypedDict, total=False):
    """The keywords of an analysis of fixed metrics; `AnalysisOptions` explains them."""

    resamples: int
    seed: int
    level: float
    unit: str
    weight: str
    interval: Method


class AnalysisKeywords(SamplingKeywords, total=False):
    """The keywords of an analysis in which the metrics can be chosen."""

    metrics: Sequence[str] | None


Margin = float | Mapping[str, float] | Literal["declared"]
"""The smallest difference of interest: one for all metrics, one by metric, or what the entries declare."""


class ComparisonKeywords(AnalysisKeywords, total=False):
    """The keywords of a comparison."""

    margin: Margin | None
    looks: int | Literal["any"] | None
    look: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOptions:
    """How an analysis of scores is done.

    Attributes
    ----------
    metrics : sequence of str, optional
        Names of metrics; None for all metrics that the analysis can use.
    resamples : int
        How many resamples are drawn, and how many random exchanges a permutation test makes; at most 10,000,000. A
        comparison of many models makes more exchanges, see `attune_bench.stats.compare.enough_exchanges`.
    seed : int
        The same seed gives the same result to the last digit.
    level : float
        Confidence level of the intervals, between 0 and 1.
    unit : str, optional
        Resampling unit: clusters with all their units, the default, or each unit as if it were a cluster of its own.
        ``"cluster"`` or ``"unit"``, or what the scores call these, such as ``"participant"``, ``"conversation"``.
    weight : str
        What counts once in a mean: each unit (the default) or each cluster, however many units it has. The values are
        as for `unit`. The mean of cluster means is another estimand, which only metrics that are means or shares of
        units have. Its interval, and the interval of a difference of two models, is Student's t over clusters, as
        `attune_metrics.stats.cluster_means.mean_of_clusters_interval` defines it; intervals of ranks and of differences
        between subgroups still come from resamples.
    interval : {"percentile-expanded", "percentile", "bca"}
        The kind of interval; `attune_metrics.stats.bootstrap.bootstrap` defines the kinds. It cannot be chosen where
        each cluster counts once.

    Raises
    ------
    MetricInputError
        If an option is unknown or its value is out of range.

    Examples
    --------
    >>> AnalysisOptions(unit="unit", interval="percentile").resamples
    10000
    """

    metrics: Sequence[str] | None = None
    resamples: int = 10_000
    seed: int = 0
    level: float = 0.95
    unit: str = "cluster"
    weight: str = "unit"
    interval: Method = "percentile-expanded"

    def __new__(cls, **options: object) -> "AnalysisOptions":
        """Refuse an unknown option by its name."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise MetricInputError(f"no option {name!r}; {did_you_mean(name, known)}")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        if isinstance(self.metrics, str):
            raise MetricInputError(f"metrics is the text {self.metrics!r:.60}; expected a list of names")
        if self.metrics is not None and not len(self.metrics):
            raise MetricInputError("metrics is empty; name some, or leave it out")
        if self.interval not in get_args(Method):
            raise MetricInputError(f"unknown interval {self.interval!r}; expected {', '.join(get_args(Method))}")
        check_whole(self.resamples, "resamples", 1, MOST_RESAMPLES)
        check_whole(self.seed, "seed", 0)
        check_level(self.level)

    def names(self, table: ScoreTable, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the metrics asked for, each once; if none were, those in `default`, or without it all of the table.

        Raises
        ------
        MetricInputError
            Where the table has no such metric.
        """
        chosen = default if self.metrics is None else self.metrics
        names = table.metrics if chosen is None else (table.metric(name).name for name in chosen)
        return tuple(dict.fromkeys(names))

    def names_of_means(self, table: ScoreTable, default: Sequence[str]) -> tuple[str, ...]:
        """Return the same as `names`, but where clusters count once only the metrics that have a mean of cluster means.

        Raises
        ------
        MetricInputError
            As `names`, and if a metric asked for by name has no mean of cluster means, or no metric of the default has
            one.
        """
        chosen = self.names(table, default)
        lacking = {name: why for name in chosen if (why := self.lacks_weight(table, name))}
        if lacking and (self.metrics is not None or len(lacking) == len(chosen)):
            name, why = next(iter(lacking.items()))
            others = [name for name, metric in table.metrics.items() if metric.statistic in PER_UNIT]
            advice = f"use one such as {', '.join(others[:4])}, or leave out weight" if others else "leave out weight"
            raise MetricInputError(f"{name} has no mean over {pluralize(table.provenance.cluster)}: {why}; {advice}")
        return tuple(name for name in chosen if name not in lacking)

    def lacks_weight(self, table: ScoreTable, name: str) -> str | None:
        """Return why a metric has no value in which each cluster counts once; None if it has one or if units count."""
        statistic = table.metric(name).statistic
        if not self.weighs_clusters(table) or statistic in PER_UNIT:
            return None
        if statistic not in STATISTICS:
            return "depends on all models' results"
        if statistic == PSEUDO_VALUES:
            return f"fitted to all {pluralize(table.provenance.unit)} together"
        of = "of groups' means" if statistic in OF_GROUPS else "of pooled counts"
        return f"{of}: each {table.provenance.unit} counts"

    def draws_clusters(self, table: ScoreTable) -> bool:
        """Tell whether clusters are drawn, rather than units.

        Raises
        ------
        MetricInputError
            If `unit` means neither clusters nor units in the words of the table.
        """
        return _is_cluster(table, "unit", self.unit)

    def weighs_clusters(self, table: ScoreTable) -> bool:
        """Tell whether each cluster counts once, rather than each unit.

        Raises
        ------
        MetricInputError
            If `weight` means neither clusters nor units in the words of the table, or if `unit` or `interval` conflicts
            with it.
        """
        # A table without clusters has the same word for its clusters and its units.
        if self.weight in {"unit", table.provenance.unit} or not _is_cluster(table, "weight", self.weight):
            return False
        if not self.draws_clusters(table):
            raise MetricInputError(
                f"weight is {self.weight!r}, unit {self.unit!r}; where each counts once, whole "
                f"{pluralize(table.provenance.cluster)} are drawn: leave out unit"
            )
        if self.interval != AnalysisOptions().interval:
            raise MetricInputError(
                f"weight is {self.weight!r}, interval {self.interval!r}; the interval is Student's t over "
                f"{pluralize(table.provenance.cluster)}: leave out interval"
            )
        return True


def _is_cluster(table: ScoreTable, option: str, name: str) -> bool:
    """Tell whether an option names the table's clusters, rather than its units."""
    by_name = {"unit": False, table.provenance.unit: False, "cluster": True, table.provenance.cluster: True}
    if name not in by_name:
        raise MetricInputError(f"unknown {option} {name!r}; expected {', '.join(reversed(by_name))}")
    return by_name[name]


def warn_out_of_reach(limit: str, tests: int, family: str, smallest: float, advice: str, *, stacklevel: int) -> None:
    """Warn that no Holm-corrected p-value of a family can be below `smallest`; say what limits it and what would help.

    `stacklevel` is counted from the caller.
    """
    warnings.warn(
        f"{limit} too few for {plural(tests, 'test')} ({family}): no Holm-corrected p can be below "
        f"{min(smallest, 1):.3g}; {advice}",
        stacklevel=stacklevel + 1,
    )


@contextmanager
def warn_once(warned: set[type[Warning]]) -> Iterator[None]:
    """Show only one warning of each kind of unreliable interval, however many series an analysis has.

    Parameters
    ----------
    warned : set of type
        The kinds that the analysis has warned of so far; new ones are added.

    Examples
    --------
    >>> warned = set()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for share in ("30%", "40%"):
    ...         with warn_once(warned):
    ...             warnings.warn(f"one cluster has {share}", UnreliableIntervalWarning)
    >>> [str(warning.message) for warning in caught]
    ['one cluster has 30%']
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnreliableIntervalWarning)
        yield
    for one in caught:
        if one.category in warned:
            continue
        if issubclass(one.category, UnreliableIntervalWarning):
            warned.add(one.category)
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


# The figures are the worst of the tables in docs/intervals.md and docs/repeats.md.
MEANS = "In simulations intervals of such means missed the true mean in up to 15% of cases, not 5%"
DIFFERENCES = (
    "In simulations intervals of such differences missed the true difference in up to 15% of cases, not 5%, and "
    "tests at 0.05 found a difference where there was none in up to 14%"
)
MARGINS = "; models that differed by the margin were called the same in up to 20%"
VARIANCES = "In simulations intervals of such variances missed the true variance in up to 36% of cases, not 5%"


def advice_on_skewed(drawn: str, *, tested: bool) -> str:
    """Return what to do about skewed numbers of few clusters, named in the singular; `tested` if some have p-values.

    Examples
    --------
    >>> advice_on_skewed("person", tested=False)
    'Use more people, or read these intervals as too narrow'
    """
    also = " and these p-values as too small" if tested else ""
    return f"Use more {pluralize(drawn)}, or read these intervals as too narrow{also}"


class SkewedMeans:
    """The skewness of every mean with an interval in an analysis, by metric, so that one warning can name all metrics.

    Examples
    --------
    >>> found = SkewedMeans()
    >>> found.add(np.array([[0, 0, 1, 1], [0, 0, 0, 1]]), np.arange(4), of="points", drawn="person")
    >>> found.add(np.array([[0, 0, 0, 9]]), np.arange(4), of="seconds", drawn="person")
    >>> found.add(np.array([[1, 2, 3, 4]]), np.arange(4), of="words", drawn="person")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found.warn_of_means({"points": Metric(name="points", label="Points")})
    >>> str(caught[0].message).partition(" (")[0]
    'Points, seconds: 2 of 3 means depend on a few people far from the rest'
    """

    def __init__(self) -> None:
        self._by_metric: dict[str, list[float]] = {}
        self._drawn = ""
        self._as_shares: set[str] = set()
        self._checked_from = MIN_CLUSTERS

    def add(
        self,
        series: Iterable[Floats],
        clusters: NDArray[np.intp],
        *,
        of: str,
        drawn: str,
        as_share: bool = False,
        checked_from: int = MIN_CLUSTERS,
    ) -> None:
        """Add means of a metric.

        Parameters
        ----------
        series : iterable of array of float, shape (units,)
            Series with a shown interval, nan where a unit has no value.
        clusters : array of int, shape (units,)
            The cluster of each unit.
        of, drawn : str
            The metric, and the resampling unit in the singular.
        as_share : bool
            Whether a user can describe the metric as a share, which the warning then advises.
        checked_from : int
            Means of fewer clusters were left out by the caller; the warning says so, as such means have an interval.
        """
        found = self._by_metric.setdefault(of, [])
        found += [float(np.abs(skewness_of_mean(values, clusters))[0]) for values in series]
        self._drawn = drawn
        self._checked_from = max(self._checked_from, checked_from)
        if as_share:
            self._as_shares.add(of)

    def add_variance(self, values: Floats, clusters: NDArray[np.intp], *, of: str, drawn: str) -> None:
        """Add the variance among units of the means of `values` (rows, units): a mean of squared deviations."""
        units = values.mean(axis=0)
        self.add([(units - units.mean()) ** 2], clusters, of=of, drawn=drawn)

    def warn_of_means(self, metrics: Mapping[str, Metric]) -> None:
        """Warn where few far clusters decide means; `metrics` has the labels, by name."""
        self._warn(metrics, "mean", MEANS)

    def warn_of_differences(
        self, metrics: Mapping[str, Metric], *, between: str = "", has_margin: bool = False
    ) -> None:
        """Warn where few far clusters decide mean differences: `between` models, and tested against a margin."""
        said = f"{DIFFERENCES}{MARGINS if has_margin else ''}"
        self._warn(metrics, "difference", said, between=between and f" between {between}", tested=True)

    def warn_of_variances(self, metrics: Mapping[str, Metric]) -> None:
        """Warn where few far clusters decide variances.

        The interval of a variance is symmetric on a logarithmic scale; therefore twice the skewness is allowed.
        """
        self._warn(metrics, "variance", VARIANCES, most=2 * MOST_SKEWNESS)

    def _warn(
        self,
        metrics: Mapping[str, Metric],
        noun: str,
        consequence: str,
        *,
        between: str = "",
        tested: bool = False,
        most: float = MOST_SKEWNESS,
    ) -> None:
        """Warn of the metrics with a number more skewed than `most`, and say how many of their numbers are that skewed.

        `noun` is what the numbers are, in the singular.
        """
        skewed = {name: means for name, means in self._by_metric.items() if any(one > most for one in means)}
        if not skewed:
            return
        every = [one for own in skewed.values() for one in own]
        above = [one for one in every if one > most]
        if shares := [name for name in skewed if name in self._as_shares]:
            consequence += (
                f'; all values of {listed(shares)} are 0 or 1: statistic = "share" in a description gives the interval '
                "of a share, which needs no such warning"
            )
        people = pluralize(self._drawn)
        counted = (
            f"; those of fewer than {self._checked_from} {people} in a subgroup are not counted"
            if self._checked_from > MIN_CLUSTERS
            else ""
        )
        labels = [metrics[name].label if name in metrics else name for name in skewed]
        depend = f"{between} {'depends' if len(above) == 1 else 'depend'} on a few {people} far from the rest"
        message = (
            f"{listed(labels)}: {len(above)} of {plural(len(every), noun)}{depend} (skewness up to {max(above):.2f}, "
            f"above {most:g}{counted}). {consequence}. {advice_on_skewed(self._drawn, tested=tested)}"
        )
        warning = SkewedScoresWarning(message, of=pluralize(noun), metrics=list(skewed), consequence=consequence)
        warnings.warn(warning, stacklevel=4)


T = TypeVar("T")
Mask = NDArray[np.bool_]
Label = tuple[str, str]


class ScoreSeries:
    """The terms of every model and condition on the same units.

    Parameters
    ----------
    table : ScoreTable
        The scores.

    Attributes
    ----------
    groups : tuple of (str, str or None)
        Model and condition of each series, sorted.
    units : tuple of str
        The units, sorted.
    labels : tuple of (str, str)
        The cluster of each unit; a unit without a cluster is a cluster of its own.
    scored : array of bool, shape (groups, units)
        Whether the model was run on the unit.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> frame = pl.DataFrame({"model": ["a", "a"], "unit": ["u", "v"], "metric": ["hit"] * 2, "value": [1.0, None]})
    >>> series = ScoreSeries(Scores.from_table(frame))
    >>> series.groups, series.values("hit").tolist()
    ((('a', None),), [[[1.0, nan]]])
    """

    def __init__(self, table: ScoreTable) -> None:
        self.table = table
        self.groups: tuple[tuple[str, str | None], ...] = table.groups
        units = table.units.sort("unit")
        self.units: tuple[str, ...] = tuple(units["unit"])
        self.labels: tuple[Label, ...] = tuple(
            ("", unit) if cluster is None else (cluster, "") for unit, cluster in units.select("unit", "cluster").rows()
        )
        self._clusters = cluster_index(self.labels)
        groups = pl.DataFrame(self.groups, schema={"model": pl.String, "condition": pl.String}, orient="row")
        rows = table.values.select("model", "condition", "unit")
        rows = rows.join(
            groups.with_row_index("place"), on=("model", "condition"), how="left", nulls_equal=True,
            maintain_order="left",
        ).join(
            units.select("unit").with_row_index("column"), on="unit", how="left", maintain_order="left"
        )  # fmt: skip
        self._group = rows["place"].to_numpy().astype(np.intp)
        self._unit = rows["column"].to_numpy().astype(np.intp)
        self.scored: Mask = np.zeros((len(self.groups), len(self.units)), dtype=np.bool_)
        self.scored[self._group, self._unit] = True

    def values(self, metric: str) -> Floats:
        """Return the terms of a metric, shape (groups, terms, units).

        Raises
        ------
        MetricInputError
            If there is no such metric, if it has no values for units, or if a term is infinite.
        """
        columns = term_columns(self._comparable(metric))
        terms = np.full((len(self.groups), len(columns), len(self.units)), np.nan)
        terms[self._group, :, self._unit] = self.table.values.select(pl.col(columns).cast(pl.Float64)).to_numpy()
        for group, _, unit in np.argwhere(np.isinf(terms))[:1]:
            model, condition = self.groups[group]
            raise infinite_value(self.table.provenance, metric, model, condition, self.units[unit])
        return terms

    def statistic(self, metric: str) -> Statistic:
        """Return the function from sums of a metric's terms to the value of a model."""
        return STATISTICS[self._comparable(metric).statistic]

    def _comparable(self, name: str) -> Metric:
        metric = self.table.metric(name)
        if metric.statistic not in STATISTICS:
            raise MetricInputError(
                f"{name} depends on all models' results; it has no value of each {self.table.provenance.unit}"
            )
        return metric

    def clusters(self, options: AnalysisOptions) -> tuple[Label, ...]:
        """Return for each unit the label of its resampling unit: its cluster, or the unit itself."""
        return self.labels if options.draws_clusters(self.table) else tuple(("", unit) for unit in self.units)

    def counted(self, values: Floats, options: AnalysisOptions) -> Floats:
        """Return values (series, terms, units) in which each unit, or each cluster, counts once, as `options` say.

        If clusters count once, one unit of each cluster has the mean of the cluster and its other units are nan. A mean
        over units is then a mean of cluster means.
        """
        if not options.weighs_clusters(self.table):
            return values
        means = cluster_means(values[:, 0], self._clusters)
        found = np.full_like(values, np.nan)
        for group, own in enumerate(values[:, 0]):
            known = np.flatnonzero(~np.isnan(own))
            clusters, first = np.unique(self._clusters[known], return_index=True)
            found[group, 0, known[first]] = means[group, clusters]
        return found

    def count(self, present: Mask) -> int:
        """Return the number of clusters that the units of a mask (units,) belong to."""
        return int(np.count_nonzero(np.bincount(self._clusters[present])))

    def mask(self, units: Sequence[str] | set[str]) -> Mask:
        """Return a mask (units,) of the units with one of these names."""
        wanted = set(units)
        return np.array([unit in wanted for unit in self.units], dtype=np.bool_)

    def by_condition(self) -> dict[str | None, list[int]]:
        """Return the series of each condition, the reference condition first."""
        return {
            condition: [place for place, group in enumerate(self.groups) if group[1] == condition]
            for condition in self.table.conditions
        }


def have_values(terms: Floats) -> Mask:
    """Return a mask (series, units) of where series (series, terms, units) have a value, which means every term."""
    present: Mask = np.logical_and.reduce(~np.isnan(terms), axis=1)
    return present


def group_by_mask(rows: Mask) -> list[tuple[Mask, NDArray[np.intp]]]:
    """Return the distinct rows of a mask (rows, units), each with the positions of the rows that equal it."""
    found: dict[bytes, list[int]] = {}
    for place, bits in enumerate(np.packbits(rows, axis=1)):
        found.setdefault(bits.tobytes(), []).append(place)
    return [(rows[places[0]], np.array(places)) for _, places in sorted(found.items())]


def draws_poisson(table: ScoreTable, options: AnalysisOptions, *, within: Collection[str] | None = None) -> bool:
    """Tell whether any model has so many clusters (among the units in `within`) that draws are Poisson.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> units = [str(unit) for unit in range(20_001)]
    >>> frame = pl.DataFrame({"model": "a", "unit": units, "metric": "hit", "value": 1.0})
    >>> draws_poisson(Scores.from_table(frame), AnalysisOptions())
    True
    """
    if table.units.height <= MAX_MULTINOMIAL_CLUSTERS:
        return False
    rows = table.values.select("model", "condition", "unit")
    if within is not None:
        rows = rows.filter(pl.col("unit").is_in(list(within)))
    cluster = pl.col("cluster")
    drawn = cluster.drop_nulls().n_unique() + cluster.null_count() if options.draws_clusters(table) else pl.len()
    counts = rows.join(table.units.select("unit", "cluster"), on="unit").group_by("model", "condition").agg(drawn)
    return bool((counts[counts.columns[-1]] > MAX_MULTINOMIAL_CLUSTERS).any())


_SHARED: ContextVar[dict[tuple[int, int, int], Weights] | None] = ContextVar("_SHARED", default=None)


@contextmanager
def shared_resamples() -> Iterator[None]:
    """Let all analyses within, such as those of a page, share resamples; else each draws its own."""
    before = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(before)


class ResampleCache:
    """Resamples of the units of a question, such as one comparison; questions on the same clusters share them.

    Parameters
    ----------
    series : ScoreSeries
        The series with the units to draw.
    options : AnalysisOptions
        The number of resamples, the seed, and the resampling unit.
    weighted : bool
        Whether the analysis can count each cluster once; if not, options that ask for it are refused.

    Attributes
    ----------
    series, options
        As given.
    drawn : str
        The resampling unit, in the singular: the scores' word for a cluster, or for a unit.
    warned : set of type
        The kinds of warnings given so far; see `warn_once`.
    skewed : SkewedMeans
        The means with an interval; the analysis warns of skewed means at its end.
    """

    def __init__(self, series: ScoreSeries, options: AnalysisOptions, *, weighted: bool = False) -> None:
        held = series.table.provenance
        if options.weighs_clusters(series.table) and not weighted:
            raise MetricInputError(f"this counts each {held.unit} once, not each {held.cluster}; leave out weight")
        self.drawn: str = held.cluster if options.draws_clusters(series.table) else held.unit
        self.series = series
        self.options = options
        self._labels = cluster_index(series.clusters(options))
        self._drawn = {} if (shared := _SHARED.get()) is None else shared
        self.warned: set[type[Warning]] = set()
        self.skewed: SkewedMeans = SkewedMeans()

    def labels(self, mask: Mask) -> NDArray[np.intp]:
        """Return the clusters of the units of a mask (units,), numbered in the order of their labels."""
        return self._labels[mask]

    def parts(self, present: Mask, defined: Mask) -> list[tuple[Mask, NDArray[np.intp]]]:
        """Return masks of units to draw, each with the positions of the questions that share its resamples.

        Parameters
        ----------
        present : array of bool, shape (questions, units)
            The units on which each question has a value.
        defined : array of bool, shape (series, units)
            Where each model has a value of the metric.

        Notes
        -----
        Questions share resamples if their units belong to the same clusters: a unit without a value adds nothing to a
        sum. With so many clusters that draws are Poisson, each cluster is drawn independently. Then resamples of all
        units with a value of the metric serve every question.
        """
        size = self._labels.max(initial=-1) + 1
        clusters: Mask = np.zeros((len(present), size), dtype=np.bool_)
        for row, own in zip(clusters, present, strict=True):
            row[self._labels[own]] = True
        few: list[tuple[Mask, NDArray[np.intp]]] = []
        many: list[NDArray[np.intp]] = []
        for drawn, rows in group_by_mask(clusters):
            if np.count_nonzero(drawn) > MAX_MULTINOMIAL_CLUSTERS:
                many.append(rows)
            else:
                few.append((np.logical_or.reduce(present[rows], axis=0), rows))
        few.sort(key=lambda part: np.count_nonzero(part[0]))  # Those that share draws follow one another.
        return [*few, (np.logical_or.reduce(defined, axis=0), np.sort(np.concatenate(many)))] if many else few

    def of(self, mask: Mask) -> Resamples:
        """Return the resamples of the units of a mask (units,)."""
        labels = cluster_index(self.labels(mask))
        size = int(labels.max(initial=-1)) + 1
        # Counts are drawn by the position of a cluster in sorted order, so sets with the same number of clusters share
        # them.
        kept, key = self._drawn, (size, self.options.resamples, self.options.seed)
        counts = kept.pop(key, None)
        if counts is None:
            counts = draw_resamples(np.arange(size), n_resamples=key[1], seed=key[2]).counts
        kept[key] = counts  # The last one is the one used last.
        while sum(one.nbytes for one in kept.values() if isinstance(one, np.ndarray)) > 2 * MOST_KEPT:
            del kept[next(iter(kept))]
        return Resamples(labels, counts)

    def intervals(self, of: Callable[..., T], values: Floats, mask: Mask, **more: Any) -> T:
        """Return the result of `of` for values (..., units of the mask) and their resamples; warn once of each kind.

        Parameters
        ----------
        of : callable
            ``of(values, resamples, *, method, level, **more)``, such as `attune_metrics.stats.bootstrap.bootstrap`.
        """
        with warn_once(self.warned):
            return of(values, self.of(mask), method=self.options.interval, level=self.options.level, **more)


def begin(
    table: ScoreTable, options: SamplingKeywords, *, weighted: bool = False
) -> tuple[AnalysisOptions, ScoreSeries, ResampleCache]:
    """Return what an analysis begins with: its options, checked, the series of the scores, and their resamples.

    `weighted` is as for `ResampleCache`.
    """
    chosen, series = AnalysisOptions(**options), ScoreSeries(table)
    return chosen, series, ResampleCache(series, chosen, weighted=weighted)


Ends = tuple[float | None, float | None, str | None]


def interval_method(metric: Metric, options: AnalysisOptions, table: ScoreTable, *, n: int, clusters: int) -> str:
    """Return the method of the interval of a metric's value over `n` units in a number of clusters.

    A share of independent trials has ``wilson``. Otherwise, if each cluster counts once, the method is ``t``. A share
    of clustered units has ``logit-t`` if `options` have the default interval. In all other cases it is the interval
    that `options` name.

    Examples
    --------
    >>> import polars as pl
    >>> from attune_bench import Scores
    >>> frame = pl.DataFrame({"model": "a", "unit": ["u", "v"], "metric": "hit", "value": [1.0, 0.0]})
    >>> table, hit = Scores.from_table(frame), Metric(name="hit", label="Hit", low=0, high=1, statistic="share")
    >>> [interval_method(hit, AnalysisOptions(), table, n=40, clusters=clusters) for clusters in (40, 8)]
    ['wilson', 'logit-t']
    """
    share = metric.statistic == "share"
    if share and n == clusters:
        return "wilson"
    if options.weighs_clusters(table):
        return "t"
    return "logit-t" if share and options.interval == AnalysisOptions().interval else options.interval


def too_few(table: ScoreTable) -> str:
    """Return why there is no interval where clusters are few."""
    return f"fewer than {MIN_CLUSTERS} {pluralize(table.provenance.cluster)}"


def interval_ends(interval: Interval, clusters: int, table: ScoreTable, *, where_equal: str = "") -> Ends:
    """Return the two ends of an interval over units in a number of clusters, or None and the reason.

    `where_equal` is the reason where all clusters have the same value; by default that nothing varies among them.
    """
    if interval.n == 0:
        return None, None, f"no {table.provenance.unit} has a value"
    if interval.low == interval.high == interval.estimate == 0:
        # Two equal models differ by 0 for certain.
        return 0.0, 0.0, None
    if clusters < MIN_CLUSTERS:
        return None, None, too_few(table)
    reason = interval.reason
    if reason == NO_VARIATION:
        reason = where_equal or f"no variation among {pluralize(table.provenance.cluster)}"
    return nan_to_none(interval.low), nan_to_none(interval.high), reason


def distribution_ends(
    distribution: Floats,
    options: AnalysisOptions,
    table: ScoreTable,
    *,
    drawn: int,
    clusters: int,
    of: str,
    whole: bool = False,
) -> Ends:
    """Return the ends of an interval of a number that is not computed from sums of terms, or None and the reason.

    `drawn` is the number of clusters (or units) that were resampled, `clusters` the number of the table's clusters.
    `of` names the number in the message. With `whole`, the ends are values that occur in `distribution`, and a number
    that never changes has an interval too.
    """
    if options.interval == "bca":
        raise MetricInputError(f"there is no BCa interval of {of}; use percentile-expanded or percentile")
    if clusters < MIN_CLUSTERS:
        return None, None, too_few(table)
    if drawn < 2:
        return None, None, "all values are in one cluster"
    known = distribution[~np.isnan(distribution)]
    lost = len(distribution) - len(known)
    if reason := reason_of_undefined(lost, len(distribution), options.level):
        return None, None, reason
    if not whole and len(known) < 2:
        return None, None, "a single resample has no spread"
    if not whole and np.ptp(known) <= ROUNDING * np.abs(known).max():
        return None, None, f"no variation among {pluralize(table.provenance.cluster)}"
    levels = symmetric_levels(options.level, drawn if options.interval == "percentile-expanded" else None)
    low, high = np.quantile(known, levels, method="inverted_cdf" if whole else "linear").tolist()
    return low, high, None


def direction(metric: Metric) -> int:
    """Return 1 where higher values are better, -1 where lower ones are.

    Raises
    ------
    MetricInputError
        If neither higher nor lower values are better, or values of two models are not on one scale.
    """
    if metric.own_scale:
        raise MetricInputError(f"{metric.name!r} cannot rank or compare models: {metric.own_scale}")
    if metric.higher_is_better is None:
        raise MetricInputError(f"{metric.name!r} cannot rank models: neither higher nor lower values of it are better")
    return metric.sign


def points(series: ScoreSeries, name: str, options: AnalysisOptions | None = None) -> list[float | None]:
    """Return the value of a metric for each series, None where it is undefined; `options` say what counts once."""
    values = series.values(name)
    if options is not None:
        if options.lacks_weight(series.table, name):
            return [None] * len(values)
        values = series.counted(values, options)
    estimates = point_estimate(values, statistic=series.statistic(name))
    return [nan_to_none(value) for value in estimates.tolist()]


def sorted_groups(table: ScoreTable, options: AnalysisOptions | None = None) -> list[tuple[str, str | None]]:
    """Return every model and condition, the best of the primary metric first; `options` say what counts once.

    Values of two fits, such as ratings under two judges, are not in one order: there a condition follows the other.
    """
    series = ScoreSeries(table)
    metric = table.metric(table.primary)
    values = dict(zip(series.groups, points(series, metric.name, options), strict=True))
    # Values on scales of their own are in no order: models are sorted by name.
    known = [group for group in series.groups if values[group] is not None and not metric.own_scale]
    means = metric.sign * np.array([values[group] for group in known], dtype=np.float64)
    # Models that differ only by rounding are sorted by name.
    ranks = dict(zip(known, average_ranks(-means, rounding_of(means)).tolist(), strict=True))

    fits = table.conditions if metric.statistic == PSEUDO_VALUES else ()

    def place(group: tuple[str, str | None]) -> tuple[int, bool, float, str, str]:
        fit = fits.index(group[1]) if fits else 0
        return fit, group not in ranks, ranks.get(group, 0.0), group[0], group[1] or ""

    return sorted(series.groups, key=place)
