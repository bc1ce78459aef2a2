"""Running jobs: resumable, within one folder, by one process at a time."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from math import fsum
from pathlib import Path
from typing import Any

from attune_bench.runner.budget import Budget, check_limited
from attune_bench.runner.cache import Cache, cache_key
from attune_bench.runner.cached_client import CachedCalls, CachedClient
from attune_bench.runner.calls import (
    WHERE_SET,
    Call,
    CallFailedError,
    FinishReason,
    IncompleteAnswerError,
    Role,
    attempt_id,
)
from attune_bench.runner.client import Client
from attune_bench.runner.file_names import safe_part
from attune_bench.runner.folder import ReplaceError, RunError, disk_errors, locked, noted_refusals, read_json
from attune_bench.runner.jobs import Job, RunOptions, RunOutcome, Skipped, Watch
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import PriceError
from attune_bench.runner.providers import Endpoint
from attune_data.io.documents import write_whole
from attune_data.record import Record
from attune_data.text import plural, printable, shortened, without_surrogates

__all__ = ["CACHE", "check_results", "execute"]

CACHE = ".cache.jsonl"
"""The file of all responses, in the folder of a run."""

_TICK = 0.5
_DURATION = "duration_seconds"
_NAMED = 5  # of the settings that differ
_SWITCHED = ("schema", "free")
_COSTS: dict[Role, str] = {"model": "api_cost", "judge": "judge_cost", "simulator": "simulator_cost"}


async def execute(
    jobs: Sequence[Job],
    endpoints: Mapping[Role, Endpoint],
    folder: Path,
    options: RunOptions,
    watch: Watch | None = None,
    *,
    unit: str = "unit",
    within: AbstractContextManager[object] | None = None,
    offline: Callable[[Cache, Meter], CachedCalls] | None = None,
) -> RunOutcome:
    """Run the jobs whose files are not complete.

    Parameters
    ----------
    jobs : sequence of Job
        Each with a file name of its own.
    endpoints : mapping of str to Endpoint
        Where each role is served.
    folder : Path
        Of the files, the cache file and the list of what was skipped; created where it does not exist.
    options : RunOptions
        How the run is made.
    watch : callable, optional
        Given the meter twice a second, and at the end.
    unit : str
        What a unit is called in messages.
    within : context manager, optional
        Entered before the first job and left after the last, however the run ends, while the folder is locked.
    offline : callable, optional
        Returns what takes the place of connections to the endpoints; without it calls are sent.

    Returns
    -------
    RunOutcome
        What is complete and what is not.

    Raises
    ------
    RunError
        The folder is in use or cannot be written, or contains other files of these names; two jobs have one file name.
        `ReplaceError` where it has finished results of other settings, which are to stay.
    PriceError
        The cost is limited and a price, or the cost of an earlier response, is not known.
    SchemaRefusedError
        A server takes calls without their schemas only, which is noted in the folder. Calls that were under way then
        have been answered, and no job was finished since.
    """
    if len({job.file_name.casefold() for job in jobs}) < len(jobs):
        raise RunError(f"two results would have the same file; name each {unit}, model and condition once")
    execution = _Execution(jobs, endpoints, folder, options, unit, offline)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder), within or nullcontext():
            earlier = execution.complete_files()
            async with Cache(folder / CACHE) as cache:
                return await execution.run(cache, earlier, watch)


def check_results(jobs: Sequence[Job], folder: Path, options: RunOptions) -> None:
    """Raise a `RunError` where a folder has results that the jobs must not replace, before anything is written."""
    _Execution(jobs, {}, folder, options, "", None).complete_files()


class _Execution:
    """The jobs of a run and what they share."""

    def __init__(
        self,
        jobs: Sequence[Job],
        endpoints: Mapping[Role, Endpoint],
        folder: Path,
        options: RunOptions,
        unit: str,
        offline: Callable[[Cache, Meter], CachedCalls] | None,
    ) -> None:
        self._jobs = {job.file_name: (job, cache_key(**job.file_inputs)) for job in jobs}
        self._endpoints = endpoints
        self._folder = folder
        self._options = options
        self._unit = unit
        self._offline = offline
        self._unread: dict[str, int] = {}
        self._outdated: dict[str, Mapping[str, Any]] = {}

    def complete_files(self) -> set[str]:
        """Return the names of the files that need not be made again."""
        names = set()
        for name, (_, key) in self._jobs.items():
            path = self._folder / name
            try:
                content = read_json(path)
            except FileNotFoundError:
                continue
            except (ValueError, RecursionError):
                content = {"run_key": ""}  # Damaged: made again from the cache.
            if not isinstance(content, dict) or "run_key" not in content:
                raise RunError(f"{path} was not written by this runner; choose another folder")
            if content["run_key"] == key:
                names.add(name)
                self._unread[name] = _unread(content.get("calls"))
            elif content["run_key"]:
                self._outdated[name] = content
        if not self._options.replace:
            self._check_settings()
        return names

    def _check_settings(self) -> None:
        """Refuse to replace files of other settings."""
        refused = {model for _, model in noted_refusals(self._folder)}
        found = []
        for name, content in self._outdated.items():
            job, _ = self._jobs[name]
            differing = _differences(content, job.recorded)
            if differing.get("answer_format") == _SWITCHED and refused.intersection(job.models):
                del differing["answer_format"]  # The run goes on without the schemas that its server refused.
            found.append(differing)
        if found := [one for one in found if one]:
            said = [
                f"{name} {shortened(repr(then), 40)}, here {shortened(repr(now), 40)}"
                for one in found
                for name, (then, now) in one.items()
            ]
            said = list(dict.fromkeys(said))
            raise ReplaceError(
                f"{plural(len(found), 'finished result')} in {self._folder} would be replaced by results of other "
                f"settings ({', '.join(said[:_NAMED])}{', ...' if len(said) > _NAMED else ''})"
            )

    async def run(self, cache: Cache, earlier: set[str], watch: Watch | None) -> RunOutcome:
        """Run the other jobs."""
        options = self._options
        budget = self._budget(cache)
        pending = {name: job for name, job in self._jobs.items() if name not in earlier}
        meter = Meter(len(pending), sum(job.calls for job, _ in pending.values()), self._unit)
        skipped: dict[str, Skipped] = {}
        async with AsyncExitStack() as stack:
            if self._offline is not None:
                client = self._offline(cache, meter)
            else:
                client = await stack.enter_async_context(self._connected(cache, meter, budget))
            await stack.enter_async_context(_watched(meter, watch))
            queue = iter(pending.values())
            try:
                # Each job has a call ready at any time, so that this many keep all places busy.
                workers = min(options.concurrency, len(pending))
                await _together(self._work(queue, client, meter, skipped) for _ in range(workers))
            finally:
                listed = tuple(skipped[name] for name in pending if name in skipped)
                with suppress(OSError) if client.disk_error else nullcontext():
                    self._list(listed)
            if (refusal := client.schema_refusal) is not None:
                if answers := client.of_schemas.responses:
                    refusal.unused = f"{plural(answers, 'answer')} with schemas ({client.of_schemas.spent()})"
                raise refusal
            if client.disk_error is not None:
                raise client.disk_error
        unread = [count for count in self._unread.values() if count]
        return RunOutcome(
            folder=self._folder,
            finished=len(earlier) + meter.done,
            earlier=len(earlier),
            replaced=len(self._outdated.keys() - skipped.keys()),
            skipped=listed,
            stopped=client.stopped,
            meter=meter,
            unread=sum(unread),
            unread_in=len(unread),
        )

    @asynccontextmanager
    async def _connected(self, cache: Cache, meter: Meter, budget: Budget) -> AsyncIterator[CachedCalls]:
        """Connect to each endpoint."""
        options, shared = self._options, asyncio.Semaphore(self._options.concurrency)
        async with AsyncExitStack() as stack:
            clients = {
                endpoint: await stack.enter_async_context(
                    Client(
                        endpoint,
                        concurrency=options.concurrency,
                        call_timeout=options.call_timeout,
                        prices=options.prices,
                        budget=budget,
                        shared=shared,
                        folder=self._folder,
                    )
                )
                for endpoint in dict.fromkeys(self._endpoints.values())
            }
            yield CachedClient({role: clients[endpoint] for role, endpoint in self._endpoints.items()}, cache, meter)

    async def _work(
        self, queue: Iterator[tuple[Job, str]], client: CachedCalls, meter: Meter, skipped: dict[str, Skipped]
    ) -> None:
        """Run jobs of a queue, one after another."""
        for job, key in queue:
            try:
                if client.stopped is not None:
                    raise CallFailedError(client.stopped)
                record = await self._make(job, key, client, meter)
                if client.schema_refusal is not None:
                    return
                path = self._folder / job.file_name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, [record.to_json(indent=2) + b"\n"])
            except (CallFailedError, ValueError) as error:
                if client.schema_refusal is not None:
                    return  # All jobs are begun anew, without schemas.
                reason = printable(" ".join(str(error).split()))
                skipped[job.file_name] = Skipped(job.unit_id, job.model, job.condition, job.repeat, reason)
                meter.failed += 1
            except OSError as error:
                client.stop_for(error)
            else:
                self._unread[job.file_name] = _unread((record.model_extra or {}).get("calls"))
                meter.done += 1

    async def _make(self, job: Job, key: str, client: CachedCalls, meter: Meter) -> Record:
        """Run one job."""
        costs: dict[Role, list[float | None]] = {}
        seconds: list[float | None] = []
        incomplete: dict[str, FinishReason] = {}
        begun = 0

        async def complete(call: Call, attempt: int) -> str:
            nonlocal begun
            begun += attempt == 0
            response = await client.request(call, attempt, job)
            costs.setdefault(call.role, []).append(response.cost)
            seconds.append(response.seconds)
            if response.finish_reason is not None:
                name = attempt_id(call.id, attempt - call.attempt)
                incomplete[name] = response.finish_reason
                said = f"{name}: the answer ended early (finish_reason {response.finish_reason})"
                raise CallFailedError(said) if job.fails_for(response, attempt) else IncompleteAnswerError(said)
            text: str = without_surrogates(response.text)  # Half of a pair can be in no file.
            return text

        record = await job.make(complete)
        meter.calls += begun - job.calls  # A conversation with a simulator may end before its last round.
        noted: dict[str, Any] = {name: _sum(costs[role]) for role, name in _COSTS.items() if role in costs}
        # Of a record that has this field, unless it is made of another whose duration it keeps.
        if _DURATION in type(record).model_fields.keys() - record.model_fields_set:
            total = _sum(seconds)
            noted[_DURATION] = total and round(total, 3)
        # What is judged again has those of the run before.
        if every := (record.model_extra or {}).get("incomplete_answers", {}) | incomplete:
            noted["incomplete_answers"] = every
        return record.model_copy(update=noted | {"run_key": key})

    def _budget(self, cache: Cache) -> Budget:
        limit, prices = self._options.max_cost, self._options.prices
        if limit is None:
            return Budget()
        check_limited(limit, (own for job, _ in self._jobs.values() for own in job.decoding.values()))
        asked = dict.fromkeys(model for job, _ in self._jobs.values() for model in job.models)
        if unknown := [model for model in asked if model not in prices]:
            raise PriceError(
                f"the cost is limited, but the price of {', '.join(unknown)} is not known; give it in a file (--prices)"
            )
        paid = [response.bound if response.cost is None else response.cost for response in cache.responses()]
        if None in paid:
            raise PriceError(
                f"the cost is limited, but {plural(paid.count(None), 'earlier response')} in {self._folder} cost an "
                "unknown amount; choose another folder, or set no limit"
            )
        spent = fsum(amount for amount in paid if amount is not None)
        return Budget(limit, prices, spent + cache.unsettled, cache.reserve)

    def _list(self, skipped: Sequence[Skipped]) -> None:
        """Write what was skipped, a file for each model; where nothing was, remove what an earlier run wrote."""
        for model in dict.fromkeys(job.model for job, _ in self._jobs.values()):
            path = self._folder / f"_skipped_{safe_part(model)[:100]}.json"
            entries = [
                {
                    "unit": entry.unit_id,
                    **({} if entry.condition is None else {"condition": entry.condition}),
                    **({} if entry.repeat == 1 else {"repeat": entry.repeat}),
                    "reason": entry.reason,
                }
                for entry in skipped
                if entry.model == model
            ]
            if entries:
                content = {"model": model, "command": self._options.command, "skipped": entries}
                write_whole(path, [json.dumps(content, indent=2).encode() + b"\n"])
            else:
                path.unlink(missing_ok=True)


def _differences(said: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return what a file says otherwise of its settings, and what was expected, by name.

    A value that it does not say is not compared, unless it says it only where it is set; values below a name, of which
    it has none, are another setting.
    """
    found: dict[str, tuple[Any, Any]] = {}
    for name, value in recorded.items():
        if name in WHERE_SET:
            if said.get(name) != value:
                found[name] = said.get(name), value
        elif isinstance(value, Mapping) and isinstance(said.get(name), Mapping):
            found |= _differences(said[name], value)
        elif isinstance(value, Mapping):
            found[name] = None, dict(value)  # Made in another way, such as a run in place of a rejudged one.
        elif name in said and said[name] != value:
            found[name] = said[name], value
    return found


def _unread(calls: object) -> int:
    """Count the answers that could not be read among the calls of a file."""
    made = calls.values() if isinstance(calls, Mapping) else ()
    return sum(isinstance(call, Mapping) and call.get("outcome") == "failed" for call in made)


def _sum(amounts: Sequence[float | None]) -> float | None:
    """Return a sum that is not known where a part is not; exact, as the order of responses depends on timing."""
    known = [amount for amount in amounts if amount is not None]
    return fsum(known) if len(known) == len(amounts) else None


async def _together(works: Iterator[Any]) -> None:
    """Run coroutines at the same time; an error of one ends the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:  # It cancels each once, whatever else happens.
            for work in works:
                group.create_task(work)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


@asynccontextmanager
async def _watched(meter: Meter, watch: Watch | None) -> AsyncIterator[None]:
    """Give the meter to a function twice a second, and at the end."""

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
