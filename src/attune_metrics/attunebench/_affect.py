"""The twenty PANAS words and where AttuneBench places each in the plane of valence and arousal, both from 0 to 1."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["NEGATIVE_AFFECT", "POSITIVE_AFFECT", "VALENCE_AROUSAL"]

POSITIVE_AFFECT = (
    "Proud", "Alert", "Inspired", "Determined", "Attentive",
    "Active", "Excited", "Strong", "Enthusiastic", "Interested",
)  # fmt: skip
NEGATIVE_AFFECT = (
    "Irritable", "Ashamed", "Nervous", "Jittery", "Distressed",
    "Afraid", "Upset", "Guilty", "Scared", "Hostile",
)  # fmt: skip

VALENCE_AROUSAL: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "afraid": (0.073, 0.84),
        "scared": (0.083, 0.82),
        "nervous": (0.188, 0.72),
        "jittery": (0.196, 0.788),
        "distressed": (0.125, 0.75),
        "upset": (0.167, 0.65),
        "guilty": (0.15, 0.60),
        "ashamed": (0.13, 0.62),
        "hostile": (0.20, 0.70),
        "irritable": (0.22, 0.68),
        "interested": (0.65, 0.60),
        "excited": (0.80, 0.85),
        "strong": (0.75, 0.70),
        "enthusiastic": (0.82, 0.78),
        "proud": (0.85, 0.65),
        "alert": (0.70, 0.75),
        "inspired": (0.90, 0.70),
        "determined": (0.78, 0.72),
        "attentive": (0.68, 0.60),
        "active": (0.72, 0.80),
    }
)
