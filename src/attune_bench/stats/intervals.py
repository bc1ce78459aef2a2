"""How intervals are made, and their ends as reports state them: two numbers, or none and the reason."""

import numpy as np

from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import MIN_CLUSTERS, AnalysisOptions
from attune_bench.undefined import null
from attune_metrics.metric import Metric, MetricInputError
from attune_metrics.stats.bootstrap import ROUNDING, Floats, Interval, symmetric_levels

__all__ = ["Ends", "distribution_ends", "interval_ends", "interval_method", "too_few"]

Ends = tuple[float | None, float | None, str | None]


def interval_method(metric: Metric, options: AnalysisOptions, table: ScoreTable, *, n: int, clusters: int) -> str:
    """Return the method of the interval of a metric's value over `n` units in so many clusters.

    ``wilson`` of a share of independent trials, otherwise ``t`` where each cluster counts once, ``logit-t`` of a share
    of clustered units unless another interval than the default was asked for, or else the one that `options` name.

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
    return f"fewer than {MIN_CLUSTERS} {table.provenance.cluster}s"


def interval_ends(interval: Interval, clusters: int, table: ScoreTable) -> Ends:
    """Return the two ends of an interval over units in a number of clusters, or None and the reason."""
    if interval.n == 0:
        return None, None, f"no {table.provenance.unit} has a value"
    if interval.low == interval.high == interval.estimate == 0:
        # Two equal models differ by 0 for certain.
        return 0.0, 0.0, None
    if clusters < MIN_CLUSTERS:
        return None, None, too_few(table)
    return null(interval.low), null(interval.high), interval.reason


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
    """Return the ends of an interval of a number that no sums of terms give, or None and the reason.

    `drawn` clusters were resampled, `clusters` is their number as the table counts them. `of` names the number for the
    message. With `whole`, the ends are values that occur, and a value that never changes has an interval too.
    """
    if options.interval == "bca":
        raise MetricInputError(f"there is no BCa interval of {of}; use percentile-expanded or percentile")
    if clusters < MIN_CLUSTERS:
        return None, None, too_few(table)
    if drawn < 2:
        return None, None, "all values are in one cluster"
    known = distribution[~np.isnan(distribution)]
    lost = len(distribution) - len(known)
    if lost > len(distribution) * (1 - options.level) / 2:
        return None, None, f"the statistic is undefined in {lost} of {len(distribution)} resamples"
    if not whole and len(known) < 2:
        return None, None, "a single resample has no spread"
    if not whole and np.ptp(known) <= ROUNDING * np.abs(known).max():
        return None, None, "no variation among clusters"
    levels = symmetric_levels(options.level, drawn if options.interval == "percentile-expanded" else None)
    low, high = np.quantile(known, levels, method="inverted_cdf" if whole else "linear").tolist()
    return low, high, None
