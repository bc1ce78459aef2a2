"""The settings of run files: what each records of how it was made."""

from collections.abc import Iterable, Mapping
from typing import Any

from attune_bench.score_table import GroupSettings
from attune_bench.stats.comparability import group_settings
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
    groups = group_settings((run.em_model, run.mode, _settings(run)) for run in runs)
    return tuple(one.model_copy(update={"settings": one.settings | _dates(one)}) for one in groups)


def _dates(group: GroupSettings) -> dict[str, tuple[Any, ...]]:
    days = group.settings["date"]
    return {"date": tuple(dict.fromkeys((days[0], days[-1])))}


def _settings(run: Run) -> dict[str, Any]:
    """Return the settings of one run file: None for one it does not record."""
    given = run.model_extra or {}
    settings = {name: _plain(given.get(name)) for name in ("prompt_version", "prompt_hash", "codebook_hash")}
    # A temperature that is null was left to the server.
    temperature = given.get("temperature")
    settings["temperature"] = "of the server" if "temperature" in given and temperature is None else _plain(temperature)
    settings["answer_format"] = _plain(given.get("answer_format"))
    # A run without its last part was not asked for the PANAS, one without judgements has no judges.
    if "panas_strategy" in given:
        settings["panas_strategy"] = _plain(given["panas_strategy"])
    elif run.post_conversation is not None:
        settings["panas_strategy"] = run.post_conversation.panas_strategy
    if any(turn.em_draft_judge_scores.model_fields_set or turn.em_draft_binary_assessment for turn in run.turns):
        settings["judges"] = _judges(run, given)
    settings |= {name: _plain(given.get(name)) for name in ("provider", "max_tokens", "seed")}
    settings["date"] = run.run_timestamp and run.run_timestamp[:10]
    return settings


def _judges(run: Run, given: Mapping[str, Any]) -> str | None:
    """Return the judges of a run by name, with the prompts that they were given where these are not the run's own."""
    names = {judge for turn in run.turns for field in _JUDGED for judge in getattr(turn, f"{field}_by_model")}
    own = given.get("judge_settings")
    prompts = own.get("prompt_hash") if isinstance(own, Mapping) else None
    others = f" (prompts {str(prompts)[:12]})" if prompts not in (None, given.get("prompt_hash")) else ""
    return f"{' + '.join(sorted(names))}{others}" if names else None


def _plain(value: Any) -> str | int | float | None:
    """Return a value as a setting can be: a text or a number; anything else as its text."""
    return value if value is None or isinstance(value, str | int | float) else str(value)
