"""Synthetic episodes: invented models in the demonstration scenarios, drawn from a seed.

``python -m attune_data.eibench.synthetic > demo_episodes.jsonl`` writes the embedded demonstration data again.
"""

import sys
from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import islice
from random import Random
from typing import Any

from attune_data.eibench.scenario import Episode, Scenario
from attune_data.synthetic_talk import MODELS, Manner, exchanges

__all__ = ["demo_episodes", "episodes"]

_MAX_ROUNDS = 8
_SEED = 11


def episodes(
    scenarios: Iterable[Scenario],
    models: Mapping[str, Manner] = MODELS,
    *,
    seed: int = 0,
    max_rounds: int = _MAX_ROUNDS,
) -> list[Episode]:
    """Generate an episode of every simulated model in every scenario.

    Parameters
    ----------
    scenarios : iterable of Scenario
        Where the simulated person begins, and at which state they stop.
    models : mapping of str to Manner
        By name, what a simulated model says and what it is worth to the person.
    seed : int
        The same seed gives the same episodes.
    max_rounds : int
        How often the person answers at most.

    Returns
    -------
    list of Episode
        By model, then in the order of the scenarios.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> [episode] = episodes(load_scenarios("demo")[:1], {"m": MODELS["synthetic/attentive"]}, seed=1)
    >>> episode.outcome, episode.final_anger < 75
    ('max_rounds', True)
    """
    known = list(scenarios)
    source = Random(seed)  # noqa: S311  # invented data, nothing to guess
    return [
        _episode(source, scenario, name, manner, max_rounds) for name, manner in models.items() for scenario in known
    ]


def demo_episodes() -> list[Episode]:
    """Generate the embedded demonstration episodes: two simulated models in each of the demonstration scenarios.

    Examples
    --------
    >>> from attune_data import load_episodes
    >>> demo_episodes()[0] == load_episodes("demo")[0]
    True
    """
    lines = (files("attune_data.eibench") / "demo_scenarios.jsonl").read_bytes().splitlines()
    scenarios = [Scenario.model_validate_json(line, by_alias=True, by_name=False) for line in lines]
    return episodes(scenarios, seed=_SEED)


def _episode(source: Random, scenario: Scenario, model: str, manner: Manner, max_rounds: int) -> Episode:
    first_anger, target_anger, _ = scenario.anchors("anger")
    first_trust, target_trust, _ = scenario.anchors("trust")
    anger, trust = first_anger, first_trust
    opening = scenario.aggressor_profile.opening_line
    history: list[dict[str, Any]] = []
    # Where the model speaks first, no line of the person has the state at the start.
    if opening is not None:
        history.append({"role": "aggressor", "content": opening, "meta": {"anger": anger, "trust": trust}})
    reached = False
    for said, answer, gain in islice(exchanges(source, manner), max_rounds):
        before = anger, trust
        anger, trust = (max(0, min(100, level)) for level in (anger - gain, trust + gain))
        reached = anger <= target_anger and trust >= target_trust
        state = {"anger": anger, "trust": trust, "anger_delta": anger - before[0], "trust_delta": trust - before[1]}
        stop = {"stop_reason": "the goal is reached"} if reached else {}
        history += [
            {"role": "defender", "content": said},
            {"role": "aggressor", "content": answer, "meta": {**state, **stop}},
        ]
        if reached:
            break
    document = {
        "model": model,
        "profile_id": scenario.id,
        "scene_tag": scenario.scene,
        "ended_by": "simulator_stop" if reached else "max_rounds",
        "n_rounds": len(history) // 2,
        "final_anger": anger,
        "final_trust": trust,
        "history": history,
        "simulator": "synthetic/person",
        "max_rounds": max_rounds,
        "initial_anger": first_anger,
        "initial_trust": first_trust,
        "synthetic": True,
    }
    return Episode.model_validate(document)


if __name__ == "__main__":
    sys.stdout.buffer.writelines(episode.to_line() + b"\n" for episode in demo_episodes())
