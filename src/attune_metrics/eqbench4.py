"""EQ-Bench 4: tendencies of a model in a role-play, and its margins against its neighbours on the board.

A tendency says how strong something is, and no direction of it is better. A margin is the mean of verdicts on two
models in one scenario, from -5 to 5, over up to four models above and four below on the board [1]_: the margins of two
models are not on one scale, and their means say nothing of level.

References
----------
.. [1] Paech (2026), EQ-Bench 4, repository EQ-bench/EQ-bench-site, folder eqbench4.
"""

from collections.abc import Mapping

from attune_metrics.metric import Metric

TENDENCIES: Mapping[str, str] = {
    "naturalness_authenticity": "Naturalness",
    "analytical": "Analytical",
    "validation_propensity": "Validating",
    "challenge_propensity": "Challenging",
    "interpretive_boldness": "Interpretive boldness",
    "directive_advice_orientation": "Directive advice",
    "escalation_containment": "Escalation containment",
    "yielding": "Yielding",
}
"""The tendencies with their labels."""

MARGINS: Mapping[str, str] = {
    "bond_and_rapport": "Bond and rapport",
    "authenticity": "Authenticity",
    "attunement": "Attunement",
    "meeting_prefs_and_needs": "Preferences and needs",
    "emotion_sensemaking": "Emotion sensemaking",
    "emotion_management": "Emotion management",
}
"""The abilities, by which models are compared in pairs, with their labels."""


def _entry(name: str, label: str, low: float, high: float, source: str, *, relative_to: str = "") -> Metric:
    return Metric(
        name=f"eqbench4_{name}", label=label, low=low, high=high, higher_is_better=None, digits=2, nullable=True,
        depends_on=() if relative_to else ("pointwise_judge_model",),
        family="eqbench4", source=f"{source}; EQ-Bench 4, repository EQ-bench/EQ-bench-site", relative_to=relative_to,
    )  # fmt: skip


METRICS: tuple[Metric, ...] = (
    *(_entry(name, label, 0, 10, "How strong it is, as one judge sees it") for name, label in TENDENCIES.items()),
    *(
        _entry(
            name, f"{label} against neighbours", -5, 5, "Mean margin of comparisons with neighbours on the board",
            relative_to="the model's neighbours on the board",
        )
        for name, label in MARGINS.items()
    ),
)  # fmt: skip
"""The catalogue's entries of this module."""
