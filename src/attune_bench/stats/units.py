"""Whether a metric suits an analysis of single units."""

from attune_bench.score_table import ScoreTable
from attune_bench.stats.summary import metrics_per_unit
from attune_metrics.metric import MetricInputError

__all__ = ["per_unit"]


def per_unit(scores: ScoreTable, metric: str, analysis: str) -> str:
    """Return a metric that has one value for each unit.

    Raises
    ------
    MetricInputError
        For scores of pooled counts, and for what depends on all models' results; the text names metrics that do.
    """
    known = metrics_per_unit(scores)
    if scores.metric(metric).name not in known:
        raise MetricInputError(
            f"{analysis} needs a value of each {scores.provenance.unit}, {metric!r} has none; use one such as "
            f"{', '.join(known[:4])}"
        )
    return metric
