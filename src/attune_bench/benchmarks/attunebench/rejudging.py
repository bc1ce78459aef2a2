"""Re-running judges on the drafts of existing runs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from attune_bench.benchmarks.attunebench.calls import ConversationCalls
from attune_bench.benchmarks.attunebench.flow import Step, judgement
from attune_bench.benchmarks.attunebench.parsing import merge_judgements
from attune_bench.benchmarks.attunebench.run_files import run_file_name
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings
from attune_bench.runner.answers import TRIES, Fields, call_to_make
from attune_bench.runner.calls import Call
from attune_bench.runner.folder import RunError
from attune_bench.runner.task import Source, Task, recorded_settings
from attune_data import Conversation, Run

__all__ = ["REJUDGE", "DraftedRun", "drafted_runs"]

_JUDGED = ("em_draft_judge_scores", "em_draft_binary_assessment")


@dataclass(frozen=True, slots=True)
class DraftedRun:
    """A run with drafts, and the conversation that it predicts."""

    run: Run
    conversation: Conversation

    @property
    def id(self) -> str:
        """Id of the conversation."""
        return self.run.conversation_id

    def to_json(self) -> bytes:
        """Return run and conversation as JSON."""
        return self.run.to_json() + self.conversation.to_json()


def drafted_runs(runs: Iterable[Run], conversations: Iterable[Conversation]) -> list[DraftedRun]:
    """Return the runs that can be judged: those with a draft whose conversation is given.

    Parameters
    ----------
    runs : iterable of Run
        The runs.
    conversations : iterable of Conversation
        What they predict.

    Returns
    -------
    list of DraftedRun
        Run and conversation, in the order of the runs.

    Raises
    ------
    RunError
        No run can be judged; the text says why.
    """
    by_id = {conversation.id: conversation for conversation in conversations}
    known = [DraftedRun(run, by_id[run.conversation_id]) for run in runs if run.conversation_id in by_id]
    if not known:
        raise RunError("no run is of any of these conversations; are they of the same data set?")
    drafted = [one for one in known if any(turn.em_drafted_response.strip() for turn in one.run.turns)]
    if not drafted:
        raise RunError("no run of these conversations has a draft to judge")
    return drafted


def _steps(drafted: DraftedRun, settings: AttuneBenchSettings) -> Iterator[Step]:
    calls = ConversationCalls(drafted.conversation, settings)
    drafts = {turn.turn_number: turn.em_drafted_response for turn in drafted.run.turns}
    for turn in calls.turns:
        draft = drafts.get(turn.number, "")
        if draft.strip() and calls.is_judged(turn):
            for judge in settings.judges:
                yield judgement(calls, turn, judge, draft)


def _calls(drafted: DraftedRun, settings: AttuneBenchSettings, answers: Mapping[str, str] | None = None) -> list[Call]:
    note, tries = settings.prompts.render("retry"), TRIES[settings.answer_format]
    known, steps = answers or {}, _steps(drafted, settings)
    calls = (call_to_make(step.call, known, step.read, note=note, tries=tries) for step in steps)
    return [call for call in calls if call is not None]


def _assemble(drafted: DraftedRun, answers: Mapping[str, str], settings: AttuneBenchSettings) -> Run:
    """Return the run with these judgements in place of its own."""
    by_turn: dict[int, dict[str, Fields]] = {}
    calls = {}
    for step in _steps(drafted, settings):
        reading = step.reading(answers)
        calls[step.call.id] = {"outcome": reading.outcome, "dropped": reading.dropped}
        if step.turn is not None:
            by_turn.setdefault(step.turn.number, {})[step.call.model] = reading.fields
    content = drafted.run.model_dump(by_alias=True, exclude_unset=True)
    for turn in content["turns"]:
        for field in _JUDGED:
            turn.pop(field, None)
            turn.pop(f"{field}_by_model", None)
        turn.update(merge_judgements(by_turn.get(turn["turnNumber"], {})))
    content.setdefault("duration_seconds", None)  # That of the judges alone would be too short.
    content["calls"] = _of_the_model(content.get("calls")) | calls
    if incomplete := _of_the_model(content.pop("incomplete_answers", None)):
        content["incomplete_answers"] = incomplete
    return Run.model_validate(content)


def _of_the_model(by_call: object) -> Fields:
    """Return what a run file says of the calls that are not a judge's."""
    entries = by_call.items() if isinstance(by_call, dict) else ()
    return {name: entry for name, entry in entries if "/judge/" not in name}


def _judged_by(settings: AttuneBenchSettings, source: Source, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a run file says of its judges, who were asked with some settings."""
    judge_settings = {"provider": source.providers["judge"], **asked}
    return {"judge_models": list(settings.judges), "judge_settings": judge_settings}


def _recorded(settings: AttuneBenchSettings, source: Source) -> Mapping[str, Any]:
    """Return what a run file says of its settings."""
    return {"em_model": settings.model, **_judged_by(settings, source, recorded_settings(settings))}


def _unit_settings(drafted: DraftedRun, settings: AttuneBenchSettings) -> AttuneBenchSettings:
    if not settings.judges:
        raise RunError("the settings name no judge")
    return replace(settings, model=drafted.run.em_model, mode=drafted.run.mode, judges_alone=True)


REJUDGE: Task[DraftedRun, AttuneBenchSettings] = Task(
    name="attunebench-rejudge",
    calls=_calls,
    assemble=_assemble,
    unit="run",
    file_name=lambda drafted, _settings: run_file_name(drafted.run),
    fields=lambda _drafted, settings, source: _judged_by(settings, source, settings.provenance()),
    recorded=_recorded,
    unit_settings=_unit_settings,
)
"""Runs with drafts, and the same runs with other judgements; model and mode of the settings are those of each run."""
