"""Every metric with range, direction and source, under the name it has in result files.

Each module declares its entries in ``METRICS``; here they are joined, in the order of reports. Breakdowns
(`panas_item_errors`) and building blocks (`token_jaccard`, `emotion_similarity`) are not metrics and not listed.
"""

from collections.abc import Mapping
from types import MappingProxyType

from attune_metrics import curves, eibench, emobench, eqbench, sage
from attune_metrics.attunebench import (
    binary,
    composite,
    emotion,
    holistic,
    pairwise,
    panas,
    phrasing,
    response,
)
from attune_metrics.metric import Metric

__all__ = ["CATALOG"]

_MODULES = (
    composite, emotion, binary, phrasing, pairwise, response, panas, holistic, eibench, sage, emobench, eqbench, curves,
)  # fmt: skip

CATALOG: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for module in _MODULES for metric in module.METRICS}
)
