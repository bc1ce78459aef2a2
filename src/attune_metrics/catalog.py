"""Every metric with range, direction and source, under the name it has in result files.

Each module declares its entries in ``METRICS``; here they are joined, in the order of reports. Breakdowns
(`panas_item_errors`) and building blocks (`token_jaccard`, `emotion_similarity`) are not metrics and not listed.
"""

from collections.abc import Mapping
from types import MappingProxyType

from attune_metrics import comparisons, curves, eibench, emobench, eqbench, eqbench3, eqbench4, sage, spiralbench
from attune_metrics.attunebench import composite, emotion, holistic, panas, preferences, questions
from attune_metrics.metric import Metric

_MODULES = (
    composite,
    emotion,
    questions,
    preferences,
    panas,
    holistic,
    eibench,
    sage,
    emobench,
    eqbench,
    eqbench3,
    eqbench4,
    spiralbench,
    comparisons,
    curves,
)

CATALOG: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for module in _MODULES for metric in module.METRICS}
)
