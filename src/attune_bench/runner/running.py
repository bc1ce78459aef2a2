"""Runs of many conversations."""

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from attune_bench.run_files import run_file_name
from attune_bench.runner.calls import Complete
from attune_bench.runner.engine import Job, Options, Outcome, Watch, work_through
from attune_bench.runner.flow import planned_calls, run_conversation
from attune_bench.runner.folder import RunError
from attune_bench.runner.providers import Endpoint
from attune_bench.runner.settings import Settings
from attune_data import Conversation, Run

__all__ = ["run", "run_sync"]


def run_sync(*arguments: Any, **options: Any) -> Outcome:
    """Do what `run` does, and return when it is done; not within an event loop."""
    return asyncio.run(run(*arguments, **options))


async def run(
    conversations: Sequence[Conversation],
    settings: Settings | Sequence[Settings],
    endpoint: Endpoint,
    *,
    output: str | Path,
    judge_endpoint: Endpoint | None = None,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Ask a model about conversations and write a run file for each.

    Parameters
    ----------
    conversations : sequence of Conversation
        Each once.
    settings : Settings or sequence of Settings
        Model, mode and the rest; several for several modes.
    endpoint : Endpoint
        Where the model is served.
    output : str or Path
        Folder of the run files; created where it does not exist. It also holds the journal of all answers, by which
        a run goes on where it was stopped. A run file whose conversation, settings and server are unchanged stays;
        any other of its name is made anew, from the journal as far as that has the answers.
    judge_endpoint : Endpoint, optional
        Where the judges are served; by default as the model.
    options : Options, optional
        How the run is made.
    watch : callable, optional
        Given the `Meter` twice a second, and at the end.

    Returns
    -------
    Outcome
        What is finished and what is not. The latter is also in ``_skipped_<model>.json``.

    Raises
    ------
    RunError
        The folder is in use or cannot be written, or holds other files of these names; two runs would have the same
        file. The journal is intact.
    PriceError
        The cost is limited and a price, or that of an earlier answer, is not known.
    ImportError
        httpx2 is not installed.
    """
    each = [settings] if isinstance(settings, Settings) else list(settings)
    if not each or not conversations:
        raise RunError(f"there are no {'conversations' if each else 'settings'} to run")
    files: Mapping[str, str] = getattr(conversations, "files", {})
    jobs = [_job(conversation, one, files.get(conversation.id)) for conversation in conversations for one in each]
    return await work_through(jobs, endpoint, judge_endpoint or endpoint, Path(output), options or Options(), watch)


def _job(conversation: Conversation, settings: Settings, file: str | None) -> Job:
    async def make(complete: Complete) -> Run:
        made = await run_conversation(conversation, complete, settings=settings)
        return made.model_copy(update={"source_file": file and Path(file).name})

    return Job(
        conversation.id,
        settings,
        run_file_name(Run(conversation_id=conversation.id, em_model=settings.model, mode=settings.mode)),
        {"content": sha256(conversation.to_json()).hexdigest()},
        (settings.model, *settings.judges),
        len(planned_calls(conversation, settings)),
        make,
    )
