"""Judging drafts again that are there."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from attune_bench.benchmarks.attunebench.calls import Script
from attune_bench.benchmarks.attunebench.flow import judge_draft
from attune_bench.benchmarks.attunebench.model_view import SeenTurn
from attune_bench.benchmarks.attunebench.parsing import merge_judgements
from attune_bench.benchmarks.attunebench.run_files import run_file_name
from attune_bench.benchmarks.attunebench.running import job_of, synchronous
from attune_bench.benchmarks.attunebench.settings import Settings
from attune_bench.runner.calls import Complete
from attune_bench.runner.engine import work_through
from attune_bench.runner.folder import RunError
from attune_bench.runner.jobs import Job, Options, Outcome, Watch
from attune_bench.runner.providers import Endpoint
from attune_data import Conversation, Run

__all__ = ["rejudge", "rejudge_sync"]

_JUDGED = ("em_draft_judge_scores", "em_draft_binary_assessment")


async def rejudge(
    runs: Iterable[Run],
    conversations: Sequence[Conversation],
    settings: Settings,
    endpoint: Endpoint,
    *,
    output: str | Path,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Let other judges judge the drafts of runs, and write the runs with their judgements to another folder.

    Parameters
    ----------
    runs : iterable of Run
        The runs; those without a draft, or without their conversation, cannot be judged.
    conversations : sequence of Conversation
        What they predict.
    settings : Settings
        The judges, temperature and seed; model and mode are those of each run.
    endpoint : Endpoint
        Where the judges are served.
    output : str or Path
        Folder of the new run files and of the journal, as of `run`.
    options, watch
        As of `run`.

    Returns
    -------
    Outcome
        What is finished and what is not.

    Raises
    ------
    RunError
        As of `run`; no judge is named, or nothing can be judged.
    PriceError
        As of `run`.
    """
    if not settings.judges:
        raise RunError("there is no judge to judge again")
    by_id = {conversation.id: conversation for conversation in conversations}
    how = options or Options()
    jobs = [
        _job(run, by_id[run.conversation_id], settings, how)
        for run in runs
        if run.conversation_id in by_id and any(turn.em_drafted_response.strip() for turn in run.turns)
    ]
    if not jobs:
        if any(run.conversation_id in by_id for run in runs):
            raise RunError("no run of these conversations has a draft to judge")
        raise RunError("no run is of any of these conversations; are they of the same data set?")
    return await work_through(jobs, {"judge": endpoint}, Path(output), how, watch)


rejudge_sync = synchronous(rejudge)


def _job(run: Run, conversation: Conversation, settings: Settings, options: Options) -> Job:
    own = replace(settings, model=run.em_model, mode=run.mode)
    drafts = {turn.turn_number: turn.em_drafted_response for turn in run.turns}

    def planned(script: Script) -> list[tuple[SeenTurn, str]]:
        judged = [turn for turn in script.turns if drafts.get(turn.number, "").strip() and script.is_judged(turn)]
        return [(turn, judge) for turn in judged for judge in own.judges]

    async def make(complete: Complete) -> Run:
        # Made anew, as the requests of all runs at once would take much memory.
        script = Script(conversation, own)
        pairs = planned(script)
        replies = await asyncio.gather(
            *(judge_draft(script, turn, judge, drafts[turn.number], complete) for turn, judge in pairs),
            return_exceptions=True,
        )
        by_turn: dict[int, dict[str, dict[str, Any]]] = {}
        calls = {}
        for (turn, judge), reply in zip(pairs, replies, strict=True):
            if isinstance(reply, BaseException):
                raise reply
            calls[f"turn-{turn.number}/judge/{judge}"] = {"outcome": reply.outcome, "dropped": reply.dropped}
            by_turn.setdefault(turn.number, {})[judge] = reply.fields
        content = run.model_dump(by_alias=True, exclude_unset=True)
        for turn in content["turns"]:
            for field in _JUDGED:
                turn.pop(field, None)
                turn.pop(f"{field}_by_model", None)
            turn.update(merge_judgements(by_turn.get(turn["turnNumber"], {})))
        earlier = content.get("calls")
        others = earlier.items() if isinstance(earlier, dict) else ()
        content["calls"] = {name: call for name, call in others if "/judge/" not in name} | calls
        return Run.model_validate(content | {"judge_settings": own.provenance()})

    return job_of(
        run.conversation_id,
        own,
        options,
        run_file_name(run),
        {"content": sha256(conversation.to_json()).hexdigest(), "run": sha256(run.to_json()).hexdigest()},
        own.judges,
        len(planned(Script(conversation, own))),
        make,
    )
