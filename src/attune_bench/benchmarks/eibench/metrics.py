"""The catalogue entries of EIBench's scores, and the terms of the mean over scenes."""

from collections.abc import Mapping
from dataclasses import replace

from attune_data.eibench.scenario import SCENES
from attune_metrics.catalog import CATALOG, Metric

__all__ = ["MACRO_TERMS", "METRICS", "NUMBERS"]

NUMBERS = ("reward", "anger_score", "trust_score", "final_anger", "final_trust")
MACRO_TERMS: Mapping[str, tuple[str, str]] = {scene: (f"reward.{scene}.sum", f"reward.{scene}.n") for scene in SCENES}
"""The columns of each scene's sum of rewards and number of episodes."""

METRICS: Mapping[str, Metric] = {
    **{name: CATALOG[name] for name in NUMBERS},
    "reward_macro": replace(
        CATALOG["reward_macro"], terms=tuple(term for terms in MACRO_TERMS.values() for term in terms)
    ),
}
