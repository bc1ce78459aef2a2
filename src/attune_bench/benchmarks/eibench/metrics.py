"""The catalogue entries of EIBench's scores."""

from collections.abc import Mapping

from attune_metrics.catalog import CATALOG
from attune_metrics.metric import Metric

__all__ = ["METRICS", "NUMBERS"]

NUMBERS = ("reward", "anger_score", "trust_score", "final_anger", "final_trust")
"""What an episode has a number of."""

METRICS: Mapping[str, Metric] = {name: CATALOG[name] for name in (*NUMBERS, "reward_macro")}
