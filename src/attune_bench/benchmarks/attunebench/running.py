"""Runs of many conversations."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, ParamSpec

from attune_bench.benchmarks.attunebench.flow import planned_calls, run_conversation
from attune_bench.benchmarks.attunebench.run_files import run_file_name
from attune_bench.benchmarks.attunebench.settings import Settings
from attune_bench.runner.calls import Complete, Role
from attune_bench.runner.client import Sampling
from attune_bench.runner.engine import work_through
from attune_bench.runner.folder import RunError
from attune_bench.runner.jobs import Job, Options, Outcome, Watch
from attune_bench.runner.providers import Endpoint
from attune_data import Conversation, Run
from attune_data.record import Record

__all__ = ["job_of", "run", "run_sync", "synchronous"]

P = ParamSpec("P")


def synchronous(run: Callable[P, Coroutine[Any, Any, Outcome]]) -> Callable[P, Outcome]:
    """Return the function that does what a coroutine function does, and returns when it is done.

    It cannot be called within an event loop.
    """

    @wraps(run)
    def run_sync(*arguments: P.args, **options: P.kwargs) -> Outcome:
        return asyncio.run(run(*arguments, **options))

    run_sync.__name__ = run_sync.__qualname__ = f"{run.__name__}_sync"
    return run_sync


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
        a run goes on where it was stopped. A run file whose conversation, settings and provider are unchanged stays;
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
    how = options or Options()
    jobs = [_job(conversation, one, how, files.get(conversation.id)) for conversation in conversations for one in each]
    servers: dict[Role, Endpoint] = {"model": endpoint, "judge": judge_endpoint or endpoint}
    return await work_through(jobs, servers, Path(output), how, watch)


run_sync = synchronous(run)


def _job(conversation: Conversation, settings: Settings, options: Options, file: str | None) -> Job:
    async def make(complete: Complete) -> Run:
        made = await run_conversation(conversation, complete, settings=settings)
        return made.model_copy(update={"source_file": file and Path(file).name})

    return job_of(
        conversation.id,
        settings,
        options,
        run_file_name(Run(conversation_id=conversation.id, em_model=settings.model, mode=settings.mode)),
        {"content": sha256(conversation.to_json()).hexdigest()},
        (settings.model, *settings.judges),
        len(planned_calls(conversation, settings)),
        make,
    )


def job_of(
    conversation_id: str,
    settings: Settings,
    options: Options,
    name: str,
    depends_on: Mapping[str, Any],
    models: tuple[str, ...],
    calls: int,
    make: Callable[[Complete], Awaitable[Record]],
) -> Job:
    """Return a job of these settings; `depends_on` is what its result depends on beside them."""
    provenance = settings.provenance() | {"mode": settings.mode}
    sampling = Sampling(settings.temperature, settings.seed, options.max_tokens)
    return Job(
        conversation_id=conversation_id,
        model=settings.model,
        mode=settings.mode,
        name=name,
        provenance=provenance,
        depends_on={**depends_on, "judges": settings.judges, "strategy": settings.panas_strategy},
        sampling={"model": sampling, "judge": sampling},
        models=models,
        calls=calls,
        make=make,
    )
