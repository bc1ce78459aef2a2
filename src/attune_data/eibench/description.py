"""Counts of scenarios and episodes by scene, model, outcome and the like."""

from collections.abc import Iterable
from typing import Any

from attune_data.collection import Collection
from attune_data.description import description, grouped
from attune_data.eibench.scenario import OUTCOMES, SCENES, Episode, Scenario

__all__ = ["describe_episodes", "describe_scenarios"]


def describe_scenarios(scenarios: Collection[Scenario]) -> dict[str, Any]:
    """Count scenarios by scene and split.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> describe_scenarios(load_scenarios("demo"))["traits"]["scene"]["charm"]
    {'scenarios': 4}
    """
    return description(
        scenarios,
        "scenarios",
        traits={
            "scene": grouped(scenarios, lambda scenario: scenario.scene, SCENES),
            "split": grouped(scenarios, lambda scenario: scenario.split),
        },
        counts={
            "success criteria": lambda scenario: len(scenario.success_criteria),
            "things to avoid": lambda scenario: len(scenario.must_avoid),
        },
    )


def _scenarios(episodes: Iterable[Episode]) -> int:
    return len({episode.scenario_id for episode in episodes})


def describe_episodes(episodes: Collection[Episode]) -> dict[str, Any]:
    """Count episodes by scene, model, outcome and simulator, and their messages."""
    return description(
        episodes,
        "episodes",
        of={"scenarios": _scenarios},
        traits={
            "scene": grouped(episodes, lambda episode: episode.scene, SCENES),
            "model": grouped(episodes, lambda episode: episode.model),
            "outcome": grouped(episodes, lambda episode: episode.outcome, OUTCOMES),
            "simulator": grouped(episodes, lambda episode: episode.simulator),
        },
        counts={
            "replies of the model": lambda episode: sum(line.role == "defender" for line in episode.history),
            "utterances of the person": lambda episode: sum(line.role == "aggressor" for line in episode.history),
        },
    )
