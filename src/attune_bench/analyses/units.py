"""Metrics that have a value of each unit."""

from collections.abc import Iterable

from attune_bench.score_table import ScoreTable
from attune_metrics.errors import MetricInputError

__all__ = ["having_units", "per_unit"]

_STATISTICS = ("mean", "share")


def having_units(scores: ScoreTable, names: Iterable[str]) -> list[str]:
    """Return those of some metrics that have a value of each unit."""
    return [name for name in names if scores.metric(name).statistic in _STATISTICS]


def per_unit(scores: ScoreTable, metric: str, analysis: str) -> str:
    """Return a metric that has one value for each unit.

    Raises
    ------
    MetricInputError
        For scores of pooled counts, and for what depends on all models' results; the text names metrics that do.
    """
    if not having_units(scores, [metric]):
        means = having_units(scores, scores.metrics)
        raise MetricInputError(
            f"{analysis} needs a value of each {scores.provenance.unit}, {metric!r} has none; use one such as "
            f"{', '.join(means[:4])}"
        )
    return metric
