"""Metrics that have a value of each unit."""

from attune_bench.score_table import ScoreTable
from attune_metrics.errors import MetricInputError

__all__ = ["per_unit"]


def per_unit(scores: ScoreTable, metric: str, analysis: str) -> str:
    """Return a metric that has one value for each unit.

    Raises
    ------
    MetricInputError
        For scores of pooled counts, and for what depends on all models' results; the text names metrics that do.
    """
    if scores.metric(metric).statistic not in ("mean", "share"):
        means = [name for name, entry in scores.metrics.items() if entry.statistic in ("mean", "share")]
        raise MetricInputError(
            f"{analysis} needs a value of each {scores.provenance.unit}, {metric!r} has none; use one such as "
            f"{', '.join(means[:4])}"
        )
    return metric
