"""How an analysis of scores is done: metrics, resamples, seed, level, what is drawn, what counts once, interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

from typing_extensions import TypedDict

from attune_bench.score_table import ScoreTable
from attune_data.text import meant
from attune_metrics.metric import MetricInputError, check_level, check_whole
from attune_metrics.stats.bootstrap import MOST_RESAMPLES, PER_UNIT, STATISTICS, Method

__all__ = [
    "ALPHA",
    "FEW",
    "MIN_CLUSTERS",
    "AnalysisKeywords",
    "AnalysisOptions",
    "ComparisonKeywords",
    "Margin",
    "SamplingKeywords",
]

ALPHA = 0.05
"""Two models differ significantly where the Holm-corrected p-value is below this."""

FEW = 20
"""With fewer clusters a result is marked."""

MIN_CLUSTERS = 5
"""With fewer clusters there is no interval."""


class SamplingKeywords(TypedDict, total=False):
    """The keywords of an analysis whose metrics are given; `AnalysisOptions` says what they are."""

    resamples: int
    seed: int
    level: float
    unit: str
    weight: str
    interval: Method


class AnalysisKeywords(SamplingKeywords, total=False):
    """The keywords that every other analysis of scores takes."""

    metrics: Sequence[str] | None


Margin = float | Mapping[str, float] | Literal["declared"]
"""The smallest difference of interest: of all metrics, by metric, or as their entries declare it."""


class ComparisonKeywords(AnalysisKeywords, total=False):
    """The keywords of a comparison."""

    margin: Margin | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOptions:
    """How an analysis of scores is done.

    Attributes
    ----------
    metrics : sequence of str, optional
        Names of metrics; all that the analysis can take where None.
    resamples : int
        How many resamples are drawn, and random exchanges made; at most 10,000,000. A comparison of many models makes
        more exchanges, see `attune_bench.stats.paired.enough_exchanges`.
    seed : int
        The same seed gives the same result to the last digit.
    level : float
        Confidence level of the intervals, between 0 and 1.
    unit : str, optional
        What is drawn: clusters with all their units, the default, or each unit as if it were a cluster of its own.
        ``"cluster"`` or ``"unit"``, or what the scores call these, such as ``"participant"``, ``"conversation"``.
    weight : str
        What counts once in a mean: each unit, the default, or each cluster, whatever the number of its units. Named as
        for `unit`. The mean of the clusters' means is another estimand; only metrics that are means or shares of units
        have it, and its interval and that of a difference are Student's t over clusters, as
        `attune_metrics.stats.cluster_means.mean_of_clusters_interval` defines it; those of ranks, and of differences
        between subgroups, are resampled as ever.
    interval : {"percentile-expanded", "percentile", "bca"}
        Which interval; `attune_metrics.stats.bootstrap.bootstrap` defines them. Not chosen where clusters count once.

    Raises
    ------
    MetricInputError
        Where one of them is unknown or out of range.

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
                raise MetricInputError(f"no option {name!r}; {meant(name, known)}")
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
        """Return the metrics asked for, each once; by default those named, else all of the table.

        Raises
        ------
        MetricInputError
            Where the table has no such metric.
        """
        chosen = self.metrics if self.metrics is not None else default
        return (
            tuple(table.metrics) if chosen is None else tuple(dict.fromkeys(table.metric(name).name for name in chosen))
        )

    def names_of_means(self, table: ScoreTable, default: Sequence[str]) -> tuple[str, ...]:
        """Return what `names` does; where clusters count once, without those that have no mean of clusters' means.

        Raises
        ------
        MetricInputError
            As `names`, and where such a metric was asked for by name, or the default has no other.
        """
        chosen = self.names(table, default)
        lacking = {name: why for name in chosen if (why := self.lacks_weight(table, name))}
        if lacking and (self.metrics is not None or len(lacking) == len(chosen)):
            name, why = next(iter(lacking.items()))
            others = [name for name, metric in table.metrics.items() if metric.statistic in PER_UNIT]
            advice = f"use one such as {', '.join(others[:4])}, or leave out weight" if others else "leave out weight"
            raise MetricInputError(f"{name} has no mean over {table.provenance.cluster}s: {why}; {advice}")
        return tuple(name for name in chosen if name not in lacking)

    def lacks_weight(self, table: ScoreTable, name: str) -> str | None:
        """Return why a metric has no value in which each cluster counts once; None where it has, or units count."""
        statistic = table.metric(name).statistic
        if not self.weighs_clusters(table) or statistic in PER_UNIT:
            return None
        if statistic not in STATISTICS:
            return "depends on all models' results"
        of = "of groups' means" if statistic == "mean_of_means" else "of pooled counts"
        return f"{of}: each {table.provenance.unit} counts"

    def draws_clusters(self, table: ScoreTable) -> bool:
        """Tell whether clusters are drawn, rather than units.

        Raises
        ------
        MetricInputError
            Where `unit` is neither, in the words of the table.
        """
        return _is_cluster(table, "unit", self.unit)

    def weighs_clusters(self, table: ScoreTable) -> bool:
        """Tell whether each cluster counts once, rather than each unit.

        Raises
        ------
        MetricInputError
            Where `weight` is neither, in the words of the table, or `unit` or `interval` does not go with it.
        """
        # A table without clusters calls them what it calls its units.
        if self.weight in {"unit", table.provenance.unit} or not _is_cluster(table, "weight", self.weight):
            return False
        if not self.draws_clusters(table):
            raise MetricInputError(
                f"weight is {self.weight!r}, unit {self.unit!r}; where each counts once, whole "
                f"{table.provenance.cluster}s are drawn: leave out unit"
            )
        if self.interval != AnalysisOptions().interval:
            raise MetricInputError(
                f"weight is {self.weight!r}, interval {self.interval!r}; the interval is Student's t over "
                f"{table.provenance.cluster}s: leave out interval"
            )
        return True


def _is_cluster(table: ScoreTable, option: str, name: str) -> bool:
    """Tell whether an option names the table's clusters, rather than its units."""
    by_name = {"unit": False, table.provenance.unit: False, "cluster": True, table.provenance.cluster: True}
    if name not in by_name:
        raise MetricInputError(f"unknown {option} {name!r}; expected {', '.join(reversed(by_name))}")
    return by_name[name]
