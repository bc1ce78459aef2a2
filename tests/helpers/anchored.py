"""Scenarios of known anchors and episodes of known ends, of which every score is derived by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

from attune_data import Episode, Scenario

SCENES = {"s": "support", "d": "defense", "r": "repair", "c": "charm"}
STATES = {1.0: (25, 50), 0.5: (25, 15), 0.0: (70, 15), -0.5: (90, 15), -1.0: (90, 0)}
"""A final state of each reward, to the last digit, under the anchors of `scenario`."""


def scenario(
    name: str, scene: str = "", *, anger: Sequence[int] = (70, 25, 90), trust: Sequence[int] = (15, 50, 0), **more: Any
) -> Scenario:
    """Return a scenario with these anchors: start, target, worst; its scene is that of its id's first letter."""
    return Scenario.model_validate(
        {
            "id": name,
            "scene_tag": scene or SCENES.get(name[0], "support"),
            "initial_calibration": {"initial_anger": anger[0], "initial_trust": trust[0]},
            "rub_goals": {"target_anger": anger[1], "target_trust": trust[1]},
            "worst_case": {"worst_anger_min": anger[2], "worst_trust_min": trust[2]},
            **more,
        }
    )


def scenarios(names: Sequence[str]) -> list[Scenario]:
    """Return a scenario of each name."""
    return [scenario(name) for name in names]


def ended(name: str, state: tuple[int | None, int | None], model: str = "lab/m", **changes: Any) -> Episode:
    """Return an episode that ended in this anger and trust, with a recorded reward that is not theirs."""
    line = {"model": model, "profile_id": name, "scene_tag": "support", "ended_by": "max_rounds", "n_rounds": 8}
    ends: dict[str, Any] = {"final_anger": state[0], "final_trust": state[1], "reward": 0.77, "history": []}
    return Episode.model_validate({**line, **ends, **changes})


def failure(name: str, model: str = "lab/m") -> Episode:
    """Return an episode that says why it has no result."""
    return Episode.model_validate({"model": model, "profile_id": name, "scene_tag": "support", "error": "refused"})


def played(rewards: Mapping[str, Sequence[float]], names: Sequence[str], **changes: Any) -> list[Episode]:
    """Return an episode of each model and scenario, of these rewards."""
    return [
        ended(name, STATES[reward], model, **changes)
        for model, values in rewards.items()
        for name, reward in zip(names, values, strict=True)
    ]


# Three of four scenes are in the data, two were played; the rewards are those of the specification's vectors.
DATA = scenarios(["s1", "r1", "r2", "c1"])
EPISODES = [ended("s1", (50, 30)), ended("r1", (80, 10)), ended("r2", (20, 60))]
# (70 - 50) / (70 - 25) and (30 - 15) / (50 - 15); (70 - 80) / (90 - 70) and (10 - 15) / 15; both targets reached.
S1, R1, R2 = (4 / 9 + 3 / 7) / 2, (-1 / 2 - 1 / 3) / 2, 1.0

# One good episode, at +1, and every kind of failure; what the last state would score is beside it.
FIVE = [scenario(name, "support") for name in "abcde"]
FAILED = [
    ended("a", (20, 60)),
    ended("b", (70, 14), ended_by="parse_failed"),  # 0 and -1/15
    ended("c", (80, 15), ended_by="simulator_stop"),  # an empty history: no reply of the model; -1/2 and 0
    ended("d", (None, None)),
    failure("e"),
]
