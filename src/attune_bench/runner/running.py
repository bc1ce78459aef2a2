"""Runs of many conversations: what is done stays done, and one run of them uses a folder at a time."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from math import fsum
from pathlib import Path
from typing import Any

from attune_bench.run_files import run_file_name, safe_part, write_runs
from attune_bench.runner.calls import Call, CallFailedError
from attune_bench.runner.client import Client, Sampling
from attune_bench.runner.flow import planned_calls, run_conversation
from attune_bench.runner.journal import Answer, Journal, JournalError, key_of
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import Budget, BudgetSpentError, Price, PriceError
from attune_bench.runner.providers import Endpoint
from attune_bench.runner.settings import Settings
from attune_data import Conversation, Run
from attune_data._files import write_whole
from attune_data._text import plural, printable

__all__ = ["Options", "Outcome", "RunError", "Skipped", "run", "run_sync"]

_JOURNAL = ".journal.jsonl"
_LOCK = ".lock"
_TICK = 0.5


class RunError(Exception):
    """A run cannot begin or go on; the text says why and what to do. What was paid for is in the journal."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is made; none of it changes an answer, apart from `max_tokens`.

    Attributes
    ----------
    concurrency : int
        The most calls under way at once, over all conversations and endpoints.
    call_timeout : float
        Seconds for one try of a call.
    max_tokens : int
        The most tokens of an answer.
    max_cost : float, optional
        US dollars that answers in the folder, earlier runs included, may cost at most; needs `prices`.
    prices : mapping of str to Price
        By the name of the model.
    command : str
        The command line that repeats the run, for the file of what was skipped; without keys.
    """

    concurrency: int = 8
    call_timeout: float = 120.0
    max_tokens: int = 4096
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    command: str = ""

    def __post_init__(self) -> None:
        for name in ("concurrency", "call_timeout", "max_tokens"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a positive number")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A conversation without a run file, and why."""

    conversation_id: str
    mode: str
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    finished : int
        Run files that are there now.
    earlier : int
        Of these, those that were there before.
    skipped : tuple of Skipped
        What failed or was not begun, in order.
    stopped : str or None
        Why the run stopped before its end.
    meter : Meter
        Calls, tokens and costs.
    """

    finished: int
    earlier: int
    skipped: tuple[Skipped, ...]
    stopped: str | None
    meter: Meter


@dataclass(frozen=True, slots=True)
class _Job:
    """One conversation in one mode."""

    conversation: Conversation
    settings: Settings
    key: str
    name: str


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
    watch: Callable[[Meter], object] | None = None,
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
        a run goes on where it was stopped. A run file whose conversation, settings and server are unchanged stays.
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
    """
    options = options or Options()
    each = [settings] if isinstance(settings, Settings) else list(settings)
    if len({one.model for one in each}) != 1:
        raise RunError("a run is of one model, in one mode or several")
    runner = _Runner(conversations, each, endpoint, judge_endpoint or endpoint, Path(output), options)
    with _explained(runner.folder):
        runner.folder.mkdir(parents=True, exist_ok=True)
        with _locked(runner.folder):
            earlier = runner.finished()
            async with Journal(runner.folder / _JOURNAL) as journal:
                return await runner.run(journal, earlier, watch)


class _Runner:
    """What all conversations of a run share."""

    def __init__(
        self,
        conversations: Sequence[Conversation],
        settings: Sequence[Settings],
        endpoint: Endpoint,
        judge_endpoint: Endpoint,
        folder: Path,
        options: Options,
    ) -> None:
        self.folder = folder
        self._options = options
        self._endpoints = {False: endpoint, True: judge_endpoint}
        self._files: Mapping[str, str] = getattr(conversations, "files", {})
        self._model = settings[0].model
        self._asked = dict.fromkeys([self._model, *(judge for each in settings for judge in each.judges)])
        self._provenance = {id(each): each.provenance() for each in settings}
        self._jobs = [self._job(conversation, each) for conversation in conversations for each in settings]
        names = {job.name.casefold() for job in self._jobs}
        if len(names) < len(self._jobs):
            raise RunError("two runs would have the same file; name each conversation, model and mode once")

    def _job(self, conversation: Conversation, settings: Settings) -> _Job:
        stub = Run(conversation_id=conversation.id, em_model=settings.model, mode=settings.mode)
        key = key_of(
            conversation=sha256(conversation.to_json()).hexdigest(),
            settings=self._provenance[id(settings)],
            model=settings.model,
            mode=settings.mode,
            judges=settings.judges,
            strategy=settings.panas_strategy,
            max_tokens=self._options.max_tokens,
            servers=[endpoint.url for endpoint in self._endpoints.values()],
        )
        return _Job(conversation, settings, key, run_file_name(stub))

    def finished(self) -> set[str]:
        """Return the names of the run files that need not be made again."""
        names = set()
        for job in self._jobs:
            try:
                content = json.loads((self.folder / job.name).read_bytes())
            except FileNotFoundError:
                continue
            except ValueError:
                content = {"run_key": ""}  # Damaged: made anew from the journal.
            if not isinstance(content, dict) or "run_key" not in content:
                raise RunError(f"{self.folder / job.name} was not written by this runner; choose another folder")
            if content["run_key"] == job.key:
                names.add(job.name)
        return names

    async def run(self, journal: Journal, earlier: set[str], watch: Callable[[Meter], object] | None) -> Outcome:
        """Run what is not finished."""
        options = self._options
        budget = None if options.max_cost is None else self._budget(options.max_cost, journal)
        jobs = [job for job in self._jobs if job.name not in earlier]
        meter = Meter(len(jobs), sum(len(planned_calls(job.conversation, job.settings)) for job in jobs))
        places = asyncio.Semaphore(options.concurrency)
        waiting = iter(jobs)
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
            desk = _Desk({role: clients[server] for role, server in self._endpoints.items()}, journal, meter, options)

            async def work() -> None:
                for job in waiting:
                    try:
                        if desk.stopped is not None:
                            raise CallFailedError(desk.stopped)
                        write_runs([await self._one(job, desk)], self.folder)
                    except (CallFailedError, ValueError) as error:
                        reason = printable(" ".join(str(error).split()))
                        skipped[job.name] = Skipped(job.conversation.id, job.settings.mode, reason)
                        meter.failed += 1
                    else:
                        meter.done += 1

            try:
                # Each conversation has a call ready at any time, so that this many keep all places busy.
                await _together(work() for _ in range(min(options.concurrency, len(jobs))))
            finally:
                listed = [skipped[job.name] for job in jobs if job.name in skipped]
                self._list(listed)
            if desk.broken is not None:
                raise desk.broken
        return Outcome(len(earlier) + meter.done, len(earlier), tuple(listed), desk.stopped, meter)

    async def _one(self, job: _Job, desk: "_Desk") -> Run:
        """Run one conversation."""
        costs: dict[bool, list[float | None]] = {False: [], True: []}
        provenance = self._provenance[id(job.settings)]

        async def complete(call: Call, attempt: int) -> str:
            answer = await desk.answer(call, attempt, job, provenance)
            costs[call.is_judge].append(answer.cost)
            return answer.text

        made = await run_conversation(job.conversation, complete, settings=job.settings)
        file = self._files.get(job.conversation.id)
        return made.model_copy(
            update={
                "source_file": file and Path(file).name,
                "api_cost": _sum(costs[False]),
                "judge_cost": _sum(costs[True]),
                "run_key": job.key,
            }
        )

    def _budget(self, limit: float, journal: Journal) -> Budget:
        prices = self._options.prices
        if unknown := [model for model in self._asked if model not in prices]:
            raise PriceError(
                f"the cost is limited, but the price of {', '.join(unknown)} is not known; give a file of prices"
            )
        paid = [answer.bound if answer.cost is None else answer.cost for answer in journal.answers()]
        if None in paid:
            raise PriceError(
                f"the cost is limited, but {plural(paid.count(None), 'earlier answer')} in {self.folder} cost an "
                "unknown amount; choose another folder, or set no limit"
            )
        return Budget(limit, prices, sum(amount for amount in paid if amount is not None))

    def _list(self, skipped: Sequence[Skipped]) -> None:
        """Write what was skipped; where nothing was, remove what an earlier run wrote."""
        path = self.folder / f"_skipped_{safe_part(self._model)[:100]}.json"
        if not skipped:
            path.unlink(missing_ok=True)
            return
        entries = [
            {"conversationId": entry.conversation_id, "mode": entry.mode, "reason": entry.reason} for entry in skipped
        ]
        content = {"em_model": self._model, "command": self._options.command, "skipped": entries}
        write_whole(path, [json.dumps(content, indent=2).encode() + b"\n"])


class _Desk:
    """Answers calls: from the journal, or by a client and into the journal."""

    def __init__(self, clients: Mapping[bool, Client], journal: Journal, meter: Meter, options: Options) -> None:
        self.stopped: str | None = None
        self.broken: JournalError | None = None
        self._clients = clients
        self._journal = journal
        self._meter = meter
        self._max_tokens = options.max_tokens

    async def answer(self, call: Call, attempt: int, job: _Job, provenance: Mapping[str, Any]) -> Answer:
        """Answer a call of a conversation."""
        client, settings = self._clients[call.is_judge], job.settings
        sampling = Sampling(settings.temperature, settings.seed, self._max_tokens)
        key = key_of(
            conversation=job.conversation.id,
            provenance=dict(provenance),
            server=[client.endpoint.provider, client.endpoint.url],
            model=call.model,
            mode=settings.mode,
            call=call.id,
            attempt=attempt,
            messages=list(call.messages),
            schema=call.schema,
            max_tokens=self._max_tokens,
        )
        found = self._journal.get(key)
        answer = found
        if answer is None:
            if self.stopped is not None:
                raise CallFailedError(self.stopped)
            try:
                answer = await client.ask(call, sampling)
                await self._journal.add(key, answer)
            except BudgetSpentError as error:
                self.stopped = str(error)
                raise
            except JournalError as error:
                # No more may be paid for; what is under way is waited for.
                self.broken, self.stopped = error, str(error)
                raise CallFailedError(self.stopped) from None
            finally:
                self.stopped = self.stopped or client.stopped
        self._meter.count(answer, is_judge=call.is_judge, is_new=found is None)
        return answer


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
async def _watched(meter: Meter, watch: Callable[[Meter], object] | None) -> AsyncIterator[None]:
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


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into one of the run."""
    try:
        yield
    except JournalError as error:
        raise RunError(f"{error}; what was paid for is kept, the same command goes on") from None
    except OSError as error:
        raise RunError(f"{printable(error.filename or folder)}: cannot be written: {error.strerror}") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; it is gone with the process that holds it."""
    with (folder / _LOCK).open("ab") as file:
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise RunError(f"another run is using {folder}; wait for it, or choose another folder") from None
        yield
