"""The words of a report: what the scores call their units, clusters and conditions, and how intervals were made."""

import re
from collections.abc import Mapping
from math import isinf

import polars as pl

from attune_bench.score_table import ScoreTable
from attune_bench.stats.intervals import interval_method
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.series import draws_poisson
from attune_metrics.metric import Metric

__all__ = [
    "INTERVALS",
    "RANDOM_ANSWERS",
    "counts_units",
    "drawn",
    "has_clusters",
    "in_words",
    "interval_words",
    "random_words",
    "range_words",
    "under_condition",
    "weight_words",
]

INTERVALS: Mapping[str, str] = {
    "percentile-expanded": "expanded percentile",
    "percentile": "percentile",
    "bca": "BCa",
}
"""What reports call the intervals."""

RANDOM_ANSWERS = "random answers on these data"
"""What reports call the mark at what random answers score on average."""


def range_words(metric: Metric) -> str:
    """Return the range of a metric as reports show its values; empty where it is unbounded.

    Examples
    --------
    >>> range_words(Metric(name="share", label="Share", low=0, high=1, scale=100))
    '0 to 100'
    """
    low, high = (end * metric.scale for end in (metric.low, metric.high))
    if isinf(low) and isinf(high):
        return ""
    return f"{low:g} or more" if isinf(high) else f"{high:g} or less" if isinf(low) else f"{low:g} to {high:g}"


def has_clusters(table: ScoreTable) -> bool:
    """Tell whether some units share a cluster, rather than each being alone."""
    held = table.provenance
    return held.cluster != held.unit and table.units["cluster"].null_count() < table.units.height


def drawn(table: ScoreTable, options: AnalysisOptions) -> str:
    """Return what is resampled, in the singular: what the scores call a cluster, or a unit."""
    held = table.provenance
    return held.cluster if options.draws_clusters(table) and has_clusters(table) else held.unit


def weight_words(table: ScoreTable, options: AnalysisOptions) -> str:
    """Return what a mean is of, where each cluster counts once; nothing where each unit does.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> weight_words(score(load("demo"), load_runs("demo")), AnalysisOptions(weight="participant"))
    "values are means of participants' means: each participant counts once"
    """
    if not options.weighs_clusters(table):
        return ""
    name = drawn(table, options)
    return f"values are means of {name}s' means: each {name} counts once"


def counts_units(table: ScoreTable, options: AnalysisOptions) -> str:
    """Return why an analysis of single units is left out where each cluster counts once; nothing where it is not."""
    return f"counts each {table.provenance.unit} once (--weight unit)" if options.weighs_clusters(table) else ""


def interval_words(
    table: ScoreTable, options: AnalysisOptions, frame: pl.DataFrame | None = None, *, resampled: bool = False
) -> str:
    """Return what the intervals of an analysis are, and what a value is where each cluster counts once.

    Those that are `resampled` are so even then. `frame` has the values of an analysis whose shares have intervals of
    their own, in columns ``metric, low, n, clusters``, as from `attune_bench.stats.summary.summary`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> interval_words(score(load("demo"), load_runs("demo")), AnalysisOptions(level=0.9))
    '90% intervals by resampling participants (expanded percentile)'
    """
    said, weight = f"{100 * options.level:g}% intervals by", weight_words(table, options)
    if weight and not resampled:
        said += f" Student's t over {drawn(table, options)}s (on the logit scale in a finite range); {weight}"
    else:
        kind = INTERVALS[options.interval] + (", Poisson draws" if draws_poisson(table, options) else "")
        said = "; ".join(filter(None, (f"{said} resampling {drawn(table, options)}s ({kind})", weight)))
    return said if frame is None else ". ".join([said, *_share_words(table, options, frame)])


def _share_words(table: ScoreTable, options: AnalysisOptions, frame: pl.DataFrame) -> list[str]:
    """Return what the intervals of shares are, where these are of their own."""
    held = table.provenance
    sizes = frame.drop_nulls("low").select("metric", "n", "clusters").unique().rows()
    methods = {
        interval_method(table.metrics[name], options, table, n=n, clusters=clusters)
        for name, n, clusters in sizes
        if table.metrics[name].statistic == "share"
    }
    wilson, said = "wilson" in methods, []
    if wilson:
        alone = f" of {held.unit}s of as many {held.cluster}s" if len(methods) > 1 else ""
        said.append(f"Shares{alone} have Wilson intervals")
    if "logit-t" in methods:
        said.append(f"Those of {'other ' if wilson else ''}shares are by Student's t on the logit scale")
    return said


def random_words(exchanges: int, options: AnalysisOptions) -> str:
    """Return how many random exchanges were made, where they are not as many as the resamples; else nothing.

    Examples
    --------
    >>> random_words(120, AnalysisOptions(resamples=20)), random_words(500, AnalysisOptions(resamples=500))
    (', at most 120 times at random', '')
    """
    return f", at most {exchanges:,} times at random" if exchanges != options.resamples else ""


def in_words(table: ScoreTable, text: str) -> str:
    """Return a text of ours with the scores' words for unit, cluster and condition.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> in_words(score(load("demo"), load_runs("demo")), "Units within clusters, by condition")
    'Conversations within participants, by mode'
    """
    held = table.provenance
    words = {
        "unit": held.unit,
        "cluster": held.cluster if has_clusters(table) else held.unit,
        "condition": held.condition,
    }

    def word(found: re.Match[str]) -> str:
        own = words[found[1].lower()]
        return f"{own[:1].upper()}{own[1:]}{found[2]}" if found[1][0].isupper() else f"{own}{found[2]}"

    return re.sub(r"\b(unit|cluster|condition)(s?)\b", word, text, flags=re.IGNORECASE)


def under_condition(table: ScoreTable, condition: str | None) -> str:
    """Return the end of a title that names the condition, empty without one."""
    return "" if condition is None else f", {table.provenance.condition} {condition}"
