"""The settings of run files: what each records of how it was made."""

from collections.abc import Iterable, Mapping
from typing import Any

from attune_bench.score_table import GroupSettings
from attune_bench.stats.comparability import group_settings, setting_text
from attune_data import Run

__all__ = ["DECISIVE", "settings_of_runs"]

DECISIVE: Mapping[str, str] = {
    "prompt_version": "version of the prompts",
    "prompt_hash": "prompts",
    "codebook_hash": "codebook",
    "panas_strategy": "PANAS strategy",
    "temperature": "temperature",
    "answer_format": "answer format",
    "judges": "judges",
}
"""The settings in which models that are compared may not differ, and what they are called; ``judges`` counts for the
metrics that rest on a judge."""

_JUDGED = ("em_draft_judge_scores", "em_draft_binary_assessment")


def settings_of_runs(runs: Iterable[Run]) -> tuple[GroupSettings, ...]:
    """Return the settings of run files by model and mode; of their dates the first and the last."""
    given = list(runs)
    # A judge whose answer could not be read is not in the file: files that do not list their judges tell them together.
    judges: dict[tuple[str, str], set[str]] = {}
    for run in given:
        judges.setdefault((run.em_model, run.mode), set()).update(_judges_named(run))
    settings = ((run.em_model, run.mode, _settings(run, judges[run.em_model, run.mode])) for run in given)
    return tuple(one.model_copy(update={"settings": one.settings | _dates(one)}) for one in group_settings(settings))


def _dates(group: GroupSettings) -> dict[str, tuple[Any, ...]]:
    days = group.settings["date"]
    return {"date": tuple(dict.fromkeys((days[0], days[-1])))}


def _settings(run: Run, judges: Iterable[str]) -> dict[str, Any]:
    """Return the settings of one run file: None for one it does not record."""
    given = run.model_extra or {}
    settings = {name: _plain(given.get(name)) for name in ("prompt_version", "prompt_hash", "codebook_hash")}
    settings["temperature"] = _value(given, "temperature")
    settings["answer_format"] = _plain(given.get("answer_format"))
    # A run without its last part was not asked for the PANAS, one without judgements has no judges.
    if "panas_strategy" in given:
        settings["panas_strategy"] = _plain(given["panas_strategy"])
    elif run.post_conversation is not None:
        settings["panas_strategy"] = run.post_conversation.panas_strategy
    if any(turn.em_draft_judge_scores.model_fields_set or turn.em_draft_binary_assessment for turn in run.turns):
        settings["judges"] = _judges(given, judges)
    settings |= {name: _plain(given.get(name)) for name in ("provider", "max_tokens", "seed")}
    settings["date"] = run.run_timestamp and run.run_timestamp[:10]
    return settings


def _judges_named(run: Run) -> set[str]:
    return {judge for turn in run.turns for field in _JUDGED for judge in getattr(turn, f"{field}_by_model")}


def _judges(given: Mapping[str, Any], named: Iterable[str]) -> str | None:
    """Return the judges of a run, with the settings in which they were asked otherwise than the model."""
    listed = given.get("judge_models")
    names = sorted(map(str, listed if isinstance(listed, list) and listed else named))
    own = given.get("judge_settings")
    asked = own if isinstance(own, Mapping) else {}
    others = [
        f"{DECISIVE[name]} {setting_text(_value(asked, name))}"
        for name in ("prompt_hash", "codebook_hash", "temperature", "answer_format")
        if name in asked and asked[name] != given.get(name)
    ]
    if not names:
        return None
    return " + ".join(names) + (f" ({', '.join(others)})" if others else "")


def _value(given: Mapping[str, Any], name: str) -> str | int | float | None:
    """Return a setting; a temperature that is null was left to the server."""
    left = name == "temperature" and name in given and given[name] is None
    return "of the server" if left else _plain(given.get(name))


def _plain(value: Any) -> str | int | float | None:
    """Return a value as a setting can be: a text or a number; anything else as its text."""
    return value if value is None or isinstance(value, str | int | float) else str(value)
