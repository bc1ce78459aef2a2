"""EIBench records: what the second stage of loading fixes in them, and the rules that check them."""

from itertools import pairwise
from typing import Any, Literal

from attune_data.eibench.scenario import OUTCOMES, SCENES, Episode, Scenario
from attune_data.eibench.scenes import scenes
from attune_data.fixes import (
    Choose,
    Findings,
    Fix,
    Reversible,
    closed,
    each,
    number,
    record,
    respelled,
    scored,
    text,
    texts,
)
from attune_data.states import check_change

__all__ = ["check_episode", "check_scenario", "fix_episode", "fix_scenario"]


LEVEL = number(0, 100)
_SCORED = scored(0, 100)


def _anchor(value: Any, path: str, findings: Findings) -> Any:
    """Fix an anchor; what is no number stays, to be refused: only a missing one has a meaning."""
    found = _SCORED(value, path, findings)
    return value if found is None else found


_ANCHOR = Reversible(_anchor, lambda value, choose: respelled(_SCORED, value, choose))
_SCENE = closed({name: name for name in SCENES}, f"one of {', '.join(SCENES)}")
_CALIBRATION = record(dict.fromkeys(("initial_anger", "initial_trust"), _ANCHOR))
_PROFILE = record({"system_prompt": text, "opening_line": text})

_scenario = record(
    {
        **dict.fromkeys(("id", "split", "title", "goal_one_liner", "data_source"), text),
        "scene_tag": _SCENE,
        "aggressor_profile": _PROFILE,
        "defender_profile": _PROFILE,
        **dict.fromkeys(("success_criteria", "must_avoid"), texts),
        "success_criteria_weights": each(number(whole=False)),
        "initial_calibration": _CALIBRATION,
        "rub_goals": record(dict.fromkeys(("target_anger", "target_trust"), _ANCHOR)),
        "worst_case": record(
            {**dict.fromkeys(("worst_anger_min", "worst_trust_min"), _ANCHOR), "reason": text},
        ),
        "prompt": each(record({"role": text, "content": text})),
    }
)


def _fix_scenario(value: Any, path: str, findings: Findings) -> Any:
    """Fix a scenario, which may be wrapped, or have its start at an older place."""
    # As the Hub's viewer gives rows, beside their number and what it cut off.
    if isinstance(value.get("row"), dict) and "id" not in value:
        findings.add(f"{path}.row", "old-spelling", "note", list(value), "a record in a wrapper", "taken out of it")
        return _fix_scenario(value["row"], path, findings)
    older = value.get("meta_config")
    if "initial_calibration" not in value and isinstance(older, dict) and "initial_calibration" in older:
        place = f"{path}.meta_config.initial_calibration"
        start = older["initial_calibration"]
        findings.add(place, "old-spelling", "note", start, "the start belongs at the top", "read from here")
        value = {**value, "initial_calibration": start}
    return _scenario(value, path, findings)


def _wrapped(value: Any, choose: Choose) -> Any:
    spelt = respelled(_scenario, value, choose)
    return choose([spelt, {"row_idx": 0, "row": spelt, "truncated_cells": []}])


fix_scenario: Reversible = Reversible(_fix_scenario, _wrapped)
"""Fix a scenario, which may be wrapped, or have its start at an older place."""


_ORDERS: tuple[tuple[Literal["anger", "trust"], str], ...] = (
    ("anger", "target < initial < worst"),
    ("trust", "worst < initial < target"),
)


def check_scenario(scenario: Scenario, findings: Findings) -> None:
    """Report anchors that are missing or out of order, and texts without which an episode starts badly."""
    for place in (missing := scenario.missing_anchors):
        message = "the scenario lacks this anchor; EIBench's evaluation fills it in without a message"
        consequence = "kept; it can neither be played nor scored, unless as published"
        findings.add(f"$.{place}", "missing-anchor", "warning", None, message, consequence)
    for axis, order in () if missing else _ORDERS:
        initial, target, worst = scenario.anchors(axis)
        told = {"initial": initial, "target": target, "worst": worst}
        low, middle, high = (told[name] for name in order.split(" < "))
        if not low < middle < high:
            message = f"expected {axis} {order}; the official score takes its direction from initial and target"
            consequence = "kept; the scoring rules may differ"
            findings.add("$", "anchor-order", "warning", told, message, consequence)
    person = scenario.aggressor_profile
    needed = {
        "aggressor_profile.system_prompt": person.system_prompt,
        "defender_profile.system_prompt": scenario.defender_profile.system_prompt,
    }
    if scenes()[scenario.scene].opens == "person":
        needed["aggressor_profile.opening_line"] = person.opening_line or ""
    for place, found in needed.items():
        if not found.strip():
            message = f"a {scenario.scene} scenario needs this text to be played"
            findings.add(f"$.{place}", "missing-text", "warning", found, message, "kept; it can be scored")


def _flag(value: Any, path: str, findings: Findings) -> Any:
    return value if value is None or isinstance(value, bool) else findings.unknown(path, value, "true or false")


_NULLABLE_LEVELS = dict.fromkeys(("initial_anger", "initial_trust"), LEVEL)
_ROLES = {"aggressor": "aggressor", "user": "aggressor", "defender": "defender", "assistant": "defender"}
_STATE = record(
    {
        **dict.fromkeys(("anger", "trust"), LEVEL),
        **dict.fromkeys(("anger_delta", "trust_delta"), number()),
        "parse_failed": _flag,
        **dict.fromkeys(("reflection", "parse", "raw_preview", "stop_reason", "quadrant"), text),
    }
)
_TEXTS = (
    *("model", "profile_id", "scene_tag", "ended_by", "goal_reason", "stop_reason", "error"),
    *("simulator", "prompt_version", "config_hash", "scenario_hash"),
)

fix_episode: Fix = record(
    {
        **dict.fromkeys(_TEXTS, text),
        **dict.fromkeys(("n_rounds", "max_rounds"), number()),
        **dict.fromkeys(("final_anger", "final_trust"), _SCORED),
        **_NULLABLE_LEVELS,
        **dict.fromkeys(("reward", "anger_score", "trust_score", "goal_score"), number(whole=False)),
        "history": each(
            record(
                {"role": closed(_ROLES, "aggressor or defender"), "content": text, "thinking": text, "meta": _STATE}
            ),
            needed=True,
        ),
    }
)


_WHY = {
    "error": "the record says that the episode failed",
    "parse_failed": "the simulator's answer could not be read",
    "empty_reply": "the model gave no reply; did its endpoint fail?",
    "empty_simulator_reply": "the simulated person said nothing",
}


def check_episode(episode: Episode, findings: Findings) -> None:
    """Report failures, an end without a state, and states that contradict each other."""
    if episode.scene not in SCENES:
        message = f"expected one of {', '.join(SCENES)}"
        findings.add("$.scene_tag", "unknown-scene", "warning", episode.scene, message, "kept under this name")
    outcome = episode.outcome
    if outcome in _WHY:
        said = episode.error if outcome == "error" else episode.ended_by
        findings.add("$", "failed-episode", "warning", said, _WHY[outcome], f"kept, as {outcome}")
    elif outcome not in OUTCOMES:
        message = "expected max_rounds, simulator_stop or parse_failed"
        findings.add("$.ended_by", "unknown-outcome", "warning", episode.ended_by, message, "kept under this name")
    if outcome == "error":
        return
    final = {"anger": episode.final_anger, "trust": episode.final_trust}
    for axis, value in final.items():
        if value is None:
            message = "the episode has no state at its end"
            findings.add(f"$.final_{axis}", "missing-final-state", "warning", None, message, "kept; cannot be scored")
    states = [(number, line.meta) for number, line in enumerate(episode.history) if line.meta is not None]
    # A person who said nothing had judged before, and that state is in no message.
    if states and outcome != "empty_simulator_reply":
        last = states[-1][1]
        for axis, value in final.items():
            recorded = getattr(last, axis)
            if None not in (value, recorded) and value != recorded:
                message = f"the last state in the history has {axis} {recorded}"
                findings.add(
                    f"$.final_{axis}", "final-state", "warning", value, message, "kept; the final one is scored"
                )
    for (_, before), (place, after) in pairwise(states):
        for axis in final:
            check_change(
                (getattr(before, axis), getattr(after, f"{axis}_delta"), getattr(after, axis)),
                f"$.history[{place}].meta.{axis}_delta",
                findings,
            )
