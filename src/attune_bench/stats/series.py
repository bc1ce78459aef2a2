"""Scores as arrays of models by units, which is what every statistic is computed from.

Units are in the order of their names, series in the order of model, then condition, so that the order of the rows never
shows in a result. A unit without a value is nan.
"""

from collections.abc import Collection, Sequence
from math import inf

import numpy as np
import polars as pl
from numpy.typing import NDArray

from attune_bench.score_table import ScoreTable, term_columns
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.remarks import OneWarning
from attune_bench.stats.skewed import SkewedMeans
from attune_metrics.metric import Metric, MetricInputError
from attune_metrics.stats.bootstrap import (
    MAX_MULTINOMIAL_CLUSTERS,
    MOST_KEPT,
    STATISTICS,
    Floats,
    Interval,
    Resamples,
    Statistic,
    Weights,
    cluster_index,
    draw_resamples,
)
from attune_metrics.stats.cluster_means import cluster_means, mean_of_clusters_interval

__all__ = ["Draws", "Mask", "ScoreSeries", "draws_poisson", "group_by_mask", "have_values"]

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
        The cluster of each unit; one without a cluster is alone in its own.
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
            Where there is no such metric, its value is not made of units, or a term is infinite.
        """
        columns = term_columns(self._comparable(metric))
        terms = np.full((len(self.groups), len(columns), len(self.units)), np.nan)
        terms[self._group, :, self._unit] = self.table.values.select(pl.col(columns).cast(pl.Float64)).to_numpy()
        for group, _, unit in np.argwhere(np.isinf(terms))[:1]:
            model, condition = self.groups[group]
            under = "" if condition is None else f", {self.table.provenance.condition} {condition!r}"
            raise MetricInputError(
                f"{metric} of model {model!r}{under} on {self.table.provenance.unit} {self.units[unit]!r} is infinite; "
                "expected a finite number, or null where it is undefined"
            )
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
        """Return the label of what each unit is drawn with: its cluster, or itself."""
        return self.labels if options.draws_clusters(self.table) else tuple(("", unit) for unit in self.units)

    def once_per_cluster(self, values: Floats) -> Floats:
        """Return values (groups, 1, units) in which each cluster has its mean, at one of its units, and nan elsewhere.

        So that a mean over units is the mean of the clusters' means.
        """
        means = cluster_means(values[:, 0], self._clusters)
        found = np.full_like(values, np.nan)
        for group, own in enumerate(values[:, 0]):
            known = np.flatnonzero(~np.isnan(own))
            clusters, first = np.unique(self._clusters[known], return_index=True)
            found[group, 0, known[first]] = means[group, clusters]
        return found

    def intervals_of_clusters(
        self, values: Floats, level: float, *, low: float = -inf, high: float = inf
    ) -> list[Interval]:
        """Return the interval of the mean of clusters' means, of values (series, units)."""
        return mean_of_clusters_interval(values, self._clusters, low=low, high=high, level=level)

    def count(self, present: Mask) -> int:
        """Return the number of clusters of the units that are present (units,)."""
        return int(np.count_nonzero(np.bincount(self._clusters[present])))

    def mask(self, units: Sequence[str] | set[str]) -> Mask:
        """Return which units are among some names (units,)."""
        wanted = set(units)
        return np.array([unit in wanted for unit in self.units], dtype=np.bool_)

    def by_condition(self) -> dict[str | None, list[int]]:
        """Return the series of each condition, the reference condition first."""
        return {
            condition: [place for place, group in enumerate(self.groups) if group[1] == condition]
            for condition in self.table.conditions
        }


def have_values(terms: Floats) -> Mask:
    """Return where series (series, terms, units) have a value (series, units): every term of it."""
    present: Mask = np.logical_and.reduce(~np.isnan(terms), axis=1)
    return present


def group_by_mask(rows: Mask) -> list[tuple[Mask, NDArray[np.intp]]]:
    """Return the distinct rows of a mask (rows, units), each with the positions of the rows that equal it."""
    found: dict[bytes, list[int]] = {}
    for place, bits in enumerate(np.packbits(rows, axis=1)):
        found.setdefault(bits.tobytes(), []).append(place)
    return [(rows[places[0]], np.array(places)) for _, places in sorted(found.items())]


def draws_poisson(table: ScoreTable, options: AnalysisOptions, *, within: Collection[str] | None = None) -> bool:
    """Tell whether the resamples of the units of any model, or of those among them, are Poisson draws.

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


class Draws:
    """Resamples of the units of a question; questions on the same clusters have the same.

    Parameters
    ----------
    series : ScoreSeries
        Whose units are drawn.
    options : AnalysisOptions
        The number of resamples, the seed, and what is drawn.
    weighted : bool
        Whether the analysis can count each cluster once; another one refuses to.

    Attributes
    ----------
    drawn : str
        What is drawn, in the singular: what the scores call a cluster, or a unit.
    warning : OneWarning
        Under which intervals are made.
    skewed : SkewedMeans
        The means with an interval, of which the analysis warns at its end.
    """

    def __init__(self, series: ScoreSeries, options: AnalysisOptions, *, weighted: bool = False) -> None:
        held = series.table.provenance
        if options.weighs_clusters(series.table) and not weighted:
            raise MetricInputError(f"this counts each {held.unit} once, not each {held.cluster}; leave out weight")
        self.drawn: str = held.cluster if options.draws_clusters(series.table) else held.unit
        self._labels = cluster_index(series.clusters(options))
        self._options = options
        self._drawn: dict[int, Weights] = {}
        self.warning: OneWarning = OneWarning()
        self.skewed: SkewedMeans = SkewedMeans()

    def labels(self, mask: Mask) -> NDArray[np.intp]:
        """Return the clusters of the units of a mask (units,), numbered in the order of their labels."""
        return self._labels[mask]

    def parts(self, present: Mask, defined: Mask) -> list[tuple[Mask, NDArray[np.intp]]]:
        """Return the units to draw for questions, each with the positions of the questions that share their resamples.

        Parameters
        ----------
        present : array of bool, shape (questions, units)
            The units on which each question has a value.
        defined : array of bool, shape (series, units)
            Where each model has a value of the metric.

        Notes
        -----
        Questions share resamples where their units form the same clusters: a unit without a value adds nothing. Where
        clusters are so many that draws are Poisson, draws of clusters are independent, and draws of all units with a
        value of the metric serve every question.
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
        return [*few, (np.logical_or.reduce(defined, axis=0), np.sort(np.concatenate(many)))] if many else few

    def of(self, mask: Mask) -> Resamples:
        """Return the resamples of the units of a mask (units,)."""
        labels = cluster_index(self.labels(mask))
        size = int(labels.max(initial=-1)) + 1
        # What is drawn are positions among the sorted clusters, so that all sets of one size share their counts.
        if size not in self._drawn:
            held = [counts.nbytes for counts in self._drawn.values() if isinstance(counts, np.ndarray)]
            if sum(held) > MOST_KEPT:
                self._drawn.clear()
            self._drawn[size] = draw_resamples(
                np.arange(size), n_resamples=self._options.resamples, seed=self._options.seed
            ).counts
        return Resamples(labels, self._drawn[size])
