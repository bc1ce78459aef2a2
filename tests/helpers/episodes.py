"""Synthetic episodes of invented models, drawn from a seed: what a run of EIBench leaves behind."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from attune_data import Episode, Scenario

DRIFTS: Mapping[str, tuple[int, int]] = {"invented/calm": (-5, 4), "invented/plain": (-2, 2), "invented/rash": (2, -1)}
"""By model, the mean change of anger and of trust a round."""


def scenarios_of(demo: Iterable[Scenario], copies: int) -> list[Scenario]:
    """Return copies of scenarios, each under an id of its own, so that there are enough for intervals."""
    return [
        scenario.model_copy(update={"scenario_id": f"{scenario.id}_{copy}"})
        for scenario in demo
        for copy in range(copies)
    ]


def episodes_of(
    scenarios: Iterable[Scenario],
    drifts: Mapping[str, tuple[int, int]] = DRIFTS,
    *,
    seed: int = 0,
    failures: Sequence[str] = (),
    **settings: Any,
) -> list[Episode]:
    """Return an episode a model and scenario; of the models in `failures` every seventh fails."""
    source = Random(seed)
    known = list(scenarios)
    return [
        _episode(source, scenario, model, drift, fails=model in failures and place % 7 == 6, settings=settings)
        for model, drift in drifts.items()
        for place, scenario in enumerate(known)
    ]


def _episode(
    source: Random, scenario: Scenario, model: str, drift: tuple[int, int], *, fails: bool, settings: dict[str, Any]
) -> Episode:
    anger, trust = scenario.anchors("anger")[0], scenario.anchors("trust")[0]
    history: list[dict[str, Any]] = [
        {"role": "aggressor", "content": "Well?", "meta": {"anger": anger, "trust": trust, "stop_reason": ""}}
    ]
    for _ in range(source.randint(4, 8)):
        changes = [max(-10, min(10, mean + source.randint(-4, 4))) for mean in drift]
        anger, trust = (max(0, min(100, a + b)) for a, b in zip((anger, trust), changes, strict=True))
        state = {"anger": anger, "trust": trust, "anger_delta": changes[0], "trust_delta": changes[1]}
        history += [
            {"role": "defender", "content": "I see."},
            {"role": "aggressor", "content": "Hm.", "meta": {**state, "stop_reason": ""}},
        ]
    common = {"model": model, "profile_id": scenario.id, "scene_tag": scenario.scene, "history": history}
    return Episode(
        **common,
        ended_by="parse_failed" if fails else "max_rounds",
        n_rounds=len(history) // 2,
        final_anger=anger,
        final_trust=trust,
        **settings,
    )


def write_episodes(folder: Path, episodes: Iterable[Episode]) -> list[Path]:
    """Write the episodes of each model into a folder of its own, as a run does; return these folders."""
    lines: dict[str, list[bytes]] = {}
    for episode in episodes:
        lines.setdefault(episode.model, []).append(episode.to_line() + b"\n")
    folders = []
    for model, own in lines.items():
        folders.append(folder / model.replace("/", "_"))
        folders[-1].mkdir(parents=True)
        (folders[-1] / "results.jsonl").write_bytes(b"".join(own))
        (folders[-1] / "summary.json").write_text(json.dumps({"model": model}))
    return folders
