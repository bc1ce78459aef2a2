"""Jobs that ask models: what is done stays done, what was paid for is kept, and one run uses a folder at a time."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import asdict
from math import fsum
from pathlib import Path
from typing import Any

from attune_bench.benchmarks.attunebench.run_files import safe_part
from attune_bench.runner.calls import Call, CallFailedError, Role
from attune_bench.runner.client import Client
from attune_bench.runner.desk import Desk
from attune_bench.runner.folder import RunError, explained, locked
from attune_bench.runner.jobs import Job, Options, Outcome, Skipped, Watch
from attune_bench.runner.journal import Journal, key_of
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import Budget, PriceError
from attune_bench.runner.providers import Endpoint
from attune_data.io.files import write_whole
from attune_data.record import Record
from attune_data.text import plural, printable

__all__ = ["work_through"]

_JOURNAL = ".journal.jsonl"
_TICK = 0.5


async def work_through(
    jobs: Sequence[Job],
    endpoints: Mapping[Role, Endpoint],
    folder: Path,
    options: Options,
    watch: Watch | None,
    *,
    within: AbstractContextManager[object] | None = None,
) -> Outcome:
    """Do the jobs whose files are not there yet.

    Parameters
    ----------
    jobs : sequence of Job
        Each of another file.
    endpoints : mapping of str to Endpoint
        Where each is served, by role.
    folder : Path
        Where the files, the journal and the list of what was skipped are; created where it does not exist.
    options : Options
        How.
    watch : callable or None
        Given the meter twice a second, and at the end.
    within : context manager, optional
        Entered before the work and left after it, however it ends, while no other run uses the folder.

    Returns
    -------
    Outcome
        What is done and what is not.

    Raises
    ------
    RunError
        The folder is in use or cannot be written, or holds other files of these names; two jobs have one file.
    PriceError
        The cost is limited and a price, or that of an earlier answer, is not known.
    """
    if len({job.name.casefold() for job in jobs}) < len(jobs):
        raise RunError("two results would have the same file; name each conversation, model and mode once")
    work = _Work(jobs, endpoints, folder, options)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder), within or nullcontext():
            earlier = work.finished()
            async with Journal(folder / _JOURNAL) as journal:
                return await work.do(journal, earlier, watch)


class _Work:
    """The jobs of a run and what they share."""

    def __init__(self, jobs: Sequence[Job], endpoints: Mapping[Role, Endpoint], folder: Path, options: Options) -> None:
        self._endpoints = endpoints
        self._folder = folder
        self._options = options
        self._jobs = {job.name: (job, self._key(job)) for job in jobs}
        self._unread: dict[str, int] = {}
        self._outdated: set[str] = set()

    def _key(self, job: Job) -> str:
        return key_of(
            **job.depends_on,
            conversation=job.conversation_id,
            provenance=dict(job.provenance),
            model=job.model,
            sampling={role: asdict(sampling) for role, sampling in job.sampling.items()},
            providers={role: endpoint.provider for role, endpoint in self._endpoints.items()},
        )

    def finished(self) -> set[str]:
        """Return the names of the files that need not be made again."""
        names = set()
        for name, (_, key) in self._jobs.items():
            path = self._folder / name
            try:
                content = json.loads(path.read_bytes())
            except FileNotFoundError:
                continue
            except (ValueError, RecursionError):
                content = {"run_key": ""}  # Damaged: made anew from the journal.
            if not isinstance(content, dict) or "run_key" not in content:
                raise RunError(f"{path} was not written by this runner; choose another folder")
            if content["run_key"] == key:
                names.add(name)
                self._unread[name] = _unread(content.get("calls"))
            elif content["run_key"]:
                self._outdated.add(name)
        return names

    async def do(self, journal: Journal, earlier: set[str], watch: Watch | None) -> Outcome:
        """Do what is not finished."""
        options = self._options
        budget = None if options.max_cost is None else self._budget(options.max_cost, journal)
        todo = {name: job for name, job in self._jobs.items() if name not in earlier}
        meter = Meter(len(todo), sum(job.calls for job, _ in todo.values()))
        places = asyncio.Semaphore(options.concurrency)
        waiting = iter(todo.values())
        skipped: dict[str, Skipped] = {}
        async with AsyncExitStack() as stack:
            clients = {
                endpoint: await stack.enter_async_context(
                    Client(
                        endpoint,
                        concurrency=options.concurrency,
                        call_timeout=options.call_timeout,
                        prices=options.prices,
                        budget=budget,
                        places=places,
                    )
                )
                for endpoint in dict.fromkeys(self._endpoints.values())
            }
            await stack.enter_async_context(_watched(meter, watch))
            by_role = {role: clients[server] for role, server in self._endpoints.items()}
            desk = Desk(by_role, journal, meter)

            async def work() -> None:
                for job, key in waiting:
                    try:
                        if desk.stopped is not None:
                            raise CallFailedError(desk.stopped)
                        record = await self._one(job, key, desk, meter)
                        path = self._folder / job.name
                        path.parent.mkdir(exist_ok=True)
                        write_whole(path, [record.to_json(indent=2) + b"\n"])
                    except (CallFailedError, ValueError) as error:
                        reason = printable(" ".join(str(error).split()))
                        skipped[job.name] = Skipped(job.conversation_id, job.model, job.mode, reason)
                        meter.failed += 1
                    except OSError as error:
                        desk.end(error)
                    else:
                        self._unread[job.name] = _unread((record.model_extra or {}).get("calls"))
                        meter.done += 1

            try:
                # Each job has a call ready at any time, so that this many keep all places busy.
                await _together(work() for _ in range(min(options.concurrency, len(todo))))
            finally:
                listed = tuple(skipped[name] for name in todo if name in skipped)
                with suppress(OSError) if desk.broken else nullcontext():
                    self._list(listed)
            if desk.broken is not None:
                raise desk.broken
        unread = [count for count in self._unread.values() if count]
        return Outcome(
            finished=len(earlier) + meter.done,
            earlier=len(earlier),
            replaced=len(self._outdated - skipped.keys()),
            skipped=listed,
            stopped=desk.stopped,
            meter=meter,
            unread=sum(unread),
            unread_in=len(unread),
        )

    async def _one(self, job: Job, key: str, desk: Desk, meter: Meter) -> Record:
        """Do one job."""
        costs: dict[Role, list[float | None]] = {}
        begun = 0

        async def complete(call: Call, attempt: int) -> str:
            nonlocal begun
            begun += attempt == 0
            answer = await desk.answer(call, attempt, job.sampling[call.role], job.conversation_id, job.provenance)
            costs.setdefault(call.role, []).append(answer.cost)
            return answer.text

        record = await job.make(complete)
        meter.calls += begun - job.calls  # An episode may end before its last round.
        names: dict[Role, str] = {"model": "api_cost", "judge": "judge_cost", "simulator": "simulator_cost"}
        paid = {name: _sum(costs[role]) for role, name in names.items() if role in costs}
        return record.model_copy(update=paid | {"run_key": key})

    def _budget(self, limit: float, journal: Journal) -> Budget:
        prices = self._options.prices
        asked = dict.fromkeys(model for job, _ in self._jobs.values() for model in job.models)
        if unknown := [model for model in asked if model not in prices]:
            raise PriceError(
                f"the cost is limited, but the price of {', '.join(unknown)} is not known; give it in a file (--prices)"
            )
        paid = [answer.bound if answer.cost is None else answer.cost for answer in journal.answers()]
        if None in paid:
            raise PriceError(
                f"the cost is limited, but {plural(paid.count(None), 'earlier answer')} in {self._folder} cost an "
                "unknown amount; choose another folder, or set no limit"
            )
        spent = fsum(amount for amount in paid if amount is not None)
        return Budget(limit, prices, spent + journal.lost, journal.set_aside)

    def _list(self, skipped: Sequence[Skipped]) -> None:
        """Write what was skipped, a file for each model; where nothing was, remove what an earlier run wrote."""
        for model in dict.fromkeys(job.model for job, _ in self._jobs.values()):
            path = self._folder / f"_skipped_{safe_part(model)[:100]}.json"
            entries = [
                {
                    "conversationId": entry.conversation_id,
                    **({} if entry.mode is None else {"mode": entry.mode}),
                    "reason": entry.reason,
                }
                for entry in skipped
                if entry.model == model
            ]
            if entries:
                content = {"em_model": model, "command": self._options.command, "skipped": entries}
                write_whole(path, [json.dumps(content, indent=2).encode() + b"\n"])
            else:
                path.unlink(missing_ok=True)


def _unread(calls: object) -> int:
    """Count the answers that could not be read among the calls of a file."""
    made = calls.values() if isinstance(calls, Mapping) else ()
    return sum(isinstance(call, Mapping) and call.get("outcome") == "failed" for call in made)


def _sum(costs: Sequence[float | None]) -> float | None:
    """Return a sum that is not known where a part is not; exact, as the order of answers depends on timing."""
    known = [cost for cost in costs if cost is not None]
    return fsum(known) if len(known) == len(costs) else None


async def _together(works: Iterator[Any]) -> None:
    """Do works at the same time; an error of one ends the others and is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _watched(meter: Meter, watch: Watch | None) -> AsyncIterator[None]:
    async def tick() -> None:
        while watch is not None:
            watch(meter)
            await asyncio.sleep(_TICK)

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        if watch is not None:
            watch(meter)
