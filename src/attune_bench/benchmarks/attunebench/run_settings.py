"""The settings of run files: what each records of how it was made."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic_core import from_json, to_json

from attune_bench.scores.provenance import (
    SENT_WHERE_SET,
    GroupSettings,
    group_settings,
    of_server,
    sent_where_set,
    setting_text,
)
from attune_data import Run
from attune_data.record import is_generated

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


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of one run file.

    Attributes
    ----------
    recorded : dict
        By name; None for one that it does not record. ``judges`` is there where drafts were judged, None where the file
        does not list who did.
    judges : list of str
        The judges whose answers the file has.
    judged_otherwise : str
        The settings in which the judges were asked otherwise than the model.
    synthetic : bool
        Whether the run says of itself that it was generated.
    """

    recorded: dict[str, Any]
    judges: list[str]
    judged_otherwise: str
    synthetic: bool

    def to_json(self) -> str:
        """Return the settings as JSON."""
        return to_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what was written by `to_json`."""
        return cls(**from_json(text))


def settings_of_run(run: Run) -> RunSettings:
    """Return the settings that a run file records."""
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
        listed = given.get("judge_models")
        settings["judges"] = _joined(map(str, listed)) if isinstance(listed, list) and listed else None
    settings |= {name: _plain(given.get(name)) for name in ("provider", "max_tokens", "seed")}
    if of_server(given, "max_tokens"):
        del settings["max_tokens"]  # It is the limit of tokens below, which counts.
    settings |= sent_where_set(given)
    settings["date"] = run.run_timestamp and run.run_timestamp[:10]
    return RunSettings(settings, sorted(_judges_named(run)), _judged_otherwise(given), is_generated(run))


def settings_of_groups(runs: Sequence[tuple[str, str, RunSettings]]) -> tuple[GroupSettings, ...]:
    """Return the settings of models and modes from those of their runs; of the dates the first and the last."""
    # A judge whose answer could not be read is not in the file: files that do not list their judges tell them together.
    judges: dict[tuple[str, str], set[str]] = {}
    for model, mode, run in runs:
        judges.setdefault((model, mode), set()).update(run.judges)
    settings = ((model, mode, _complete(run, judges[model, mode])) for model, mode, run in runs)
    return tuple(one.model_copy(update={"settings": one.settings | _dates(one)}) for one in group_settings(settings))


def _complete(run: RunSettings, judges: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a run with its judges, where its file does not list them those of its model and mode."""
    if "judges" not in run.recorded:
        return run.recorded
    named = run.recorded["judges"] or _joined(judges)
    return run.recorded | {"judges": named and named + run.judged_otherwise}


def _dates(group: GroupSettings) -> dict[str, tuple[Any, ...]]:
    days = group.settings["date"]
    return {"date": tuple(dict.fromkeys((days[0], days[-1])))}


def _joined(judges: Iterable[str]) -> str | None:
    return " + ".join(sorted(judges)) or None


def _judges_named(run: Run) -> set[str]:
    return {judge for turn in run.turns for field in _JUDGED for judge in getattr(turn, f"{field}_by_model")}


def _judged_otherwise(given: Mapping[str, Any]) -> str:
    own = given.get("judge_settings")
    asked = own if isinstance(own, Mapping) else {}
    # Judges of a run are not sent what its model is sent where it is set.
    others = [f"{SENT_WHERE_SET[name][0]} {value}" for name, value in sent_where_set(asked).items()]
    others += [
        f"{DECISIVE[name]} {setting_text(_value(asked, name))}"
        for name in ("prompt_hash", "codebook_hash", "temperature", "answer_format")
        if name in asked and asked[name] != given.get(name)
    ]
    return f" ({', '.join(others)})" if others else ""


def _value(given: Mapping[str, Any], name: str) -> str | int | float | None:
    """Return a setting; a temperature that is null was left to the server."""
    left = name == "temperature" and of_server(given, name)
    return "of the server" if left else _plain(given.get(name))


def _plain(value: Any) -> str | int | float | None:
    """Return a value as a setting can be: a text or a number; anything else as its text."""
    return value if value is None or isinstance(value, str | int | float) else str(value)
