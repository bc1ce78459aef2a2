"""Results of as many models as asked for, of different skill: what large pages are measured with."""

from typing import Any

from attune_data import Conversations, Runs, load_scenarios
from synthetic.conversations import conversations
from synthetic.runs import SimulatedModel, runs
from synthetic.talks import MODELS, Manner, episodes


def names(models: int) -> list[str]:
    """Return the names of so many models."""
    return [f"vendor-{place % 7}/model-{place:02}-instruct" for place in range(models)]


def attunebench(models: int) -> dict[str, Any]:
    """Return 60 conversations and the runs of so many models on them, as `attune_bench.score` takes them."""
    told = conversations(60, participants=30, seed=3)
    skills = ["emotion", "binary_om", "binary_human", "pairwise", "response", "panas", "wide"]
    simulated = [
        SimulatedModel(name, **dict.fromkeys(skills, 0.3 + 0.4 * (1 - place / models)))
        for place, name in enumerate(names(models))
    ]
    return {"data": Conversations(told), "results": Runs(runs(told, simulated, seed=3))}


def eibench(models: int) -> dict[str, Any]:
    """Return the scenarios of the demo and the episodes of so many models, as `attune_bench.score` takes them."""
    lines = MODELS["synthetic/attentive"].lines
    manners = {name: Manner(lines, round(6 - 9 * place / models)) for place, name in enumerate(names(models))}
    return {"data": load_scenarios("demo"), "results": episodes(load_scenarios("demo"), manners, seed=11)}
