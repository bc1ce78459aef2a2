"""The catalogue entries of what scored runs have a number of, in the order of reports."""

from collections.abc import Mapping

from attune_bench.benchmarks.attunebench.aggregates import MEANS, POOLED
from attune_bench.benchmarks.attunebench.records import CELLS, COUNTS
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import Metric

__all__ = ["METRICS"]

_SCORED = {*MEANS, *(f"{name}.{score}" for name in POOLED for score in COUNTS if score not in CELLS), "composite_z"}

METRICS: Mapping[str, Metric] = {name: metric for name, metric in CATALOG.items() if name in _SCORED}
