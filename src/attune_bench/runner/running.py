"""Run jobs in one folder, by one process at a time; a run that was stopped can be resumed."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Set
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import replace
from hashlib import sha256
from itertools import product
from math import fsum
from pathlib import Path
from typing import Any, TypeVar

from pydantic_core import from_json

from attune_bench.runner.cache import (
    Cache,
    ReplaceError,
    RunError,
    cache_key,
    disk_errors,
    locked,
    note_answered,
    noted_answered,
    read_json,
)
from attune_bench.runner.cached import CachedCalls, CachedClient
from attune_bench.runner.calls import (
    SHORTEST_SECRET,
    WHERE_SET,
    Call,
    CallFailedError,
    Complete,
    Endpoint,
    FinishReason,
    IncompleteAnswerError,
    Response,
    Role,
    attempt_id,
    in_repeat,
    provider_name,
    safe_part,
)
from attune_bench.runner.client import Client
from attune_bench.runner.cost import (
    Budget,
    Job,
    Meter,
    PriceError,
    RunOptions,
    RunOutcome,
    Skipped,
    Watch,
    check_limited,
)
from attune_bench.runner.task import RunSettings, S, Source, Task, U, answer_format_of, as_sent, condition_of
from attune_bench.runner.terminal import warn
from attune_data.io.documents import write_whole
from attune_data.record import Record
from attune_data.text import plural, pluralize, sanitize, shortened, without_surrogates

CACHE = ".cache.jsonl"
"""The file of all responses, in the folder of a run."""

_TICK = 0.5
_DURATION = "duration_seconds"
_COUNTED = ("prompt_tokens", "completion_tokens", "cost")
_EXAMPLE = 100  # columns of an answer that a message quotes
_NAMED_SETTINGS = 5  # how many of the differing settings a message names


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
    """Run the jobs that have no complete file.

    Parameters
    ----------
    jobs : sequence of Job
        Each with a file name of its own.
    endpoints : mapping of str to Endpoint
        Where each role is served.
    folder : Path
        The folder of the result files, the cache file and the list of skipped units; it is created if it does not
        exist.
    options : RunOptions
        How the run is made.
    watch : callable, optional
        Given the meter twice a second, and at the end.
    unit : str
        What a unit is called in messages.
    within : context manager, optional
        Entered before the first job and left after the last, however the run ends, while the folder is locked.
    offline : callable, optional
        Returns the object that answers calls instead of connections to the endpoints. If it is not given, calls are
        sent.

    Returns
    -------
    RunOutcome
        The complete files, and the units without one.

    Raises
    ------
    RunError
        The folder is in use, cannot be written, or contains files with these names that no run wrote; or two jobs have
        the same file name. `ReplaceError` if it has finished results of other settings and `RunOptions.replace` is not
        set.
    PriceError
        The cost is limited and a price, or the cost of an earlier response, is not known.
    """
    if len({job.file_name.casefold() for job in jobs}) < len(jobs):
        raise RunError(f"two results would have the same file; name each {unit}, model and condition once")
    execution = _Execution(jobs, folder, options)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder), within or nullcontext():
            earlier = execution.complete_files()
            async with Cache(folder / CACHE) as cache:
                return await execution.run(cache, earlier, endpoints, watch, unit, offline)


def check_results(jobs: Sequence[Job], folder: Path, options: RunOptions) -> None:
    """Raise a `RunError` where a folder has results that the jobs must not replace, before anything is written."""
    _Execution(jobs, folder, options).complete_files()


class _Execution:
    """The jobs of a run and what they share."""

    def __init__(self, jobs: Sequence[Job], folder: Path, options: RunOptions) -> None:
        self._jobs = {job.file_name: (job, cache_key(**job.file_inputs)) for job in jobs}
        self._folder = folder
        self._options = options
        self._read: dict[str, list[bool]] = {}  # of each answer of a file, whether it could be read
        self._unread_example = ""
        self._outdated: dict[str, Mapping[str, Any]] = {}
        self._made: list[str] = []
        self._extended = 0

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
                self._read[name] = _answers_read(self._jobs[name][0], content)
            elif content["run_key"]:
                self._outdated[name] = content
        if not self._options.replace:
            self._check_settings()
        return names

    def _check_settings(self) -> None:
        """Refuse to replace files of other settings."""
        differing = (_differences(content, self._jobs[name][0].recorded) for name, content in self._outdated.items())
        if found := [one for one in differing if one]:
            settings = [(name, *values) for one in found for name, values in one.items()]
            said = [
                f"{name} {shortened(repr(then), 40)}, here {shortened(repr(now), 40)}" for name, then, now in settings
            ]
            said = list(dict.fromkeys(said))
            raise ReplaceError(
                f"{plural(len(found), 'finished result')} in {self._folder} would be replaced by results of other "
                f"settings ({', '.join(said[:_NAMED_SETTINGS])}{', ...' if len(said) > _NAMED_SETTINGS else ''})"
            )

    async def run(
        self,
        cache: Cache,
        earlier: set[str],
        endpoints: Mapping[Role, Endpoint],
        watch: Watch | None,
        unit: str,
        offline: Callable[[Cache, Meter], CachedCalls] | None,
    ) -> RunOutcome:
        """Run the jobs that are not among the `earlier` complete files."""
        options = self._options
        budget = self._budget(cache)
        pending = {name: job for name, job in self._jobs.items() if name not in earlier}
        meter = Meter(len(pending), sum(job.calls for job, _ in pending.values()), unit)
        skipped: dict[str, Skipped] = {}
        url = endpoints["model"].url if offline is None and "model" in endpoints else ""
        noted = noted_answered(self._folder)
        async with AsyncExitStack() as stack:
            if offline is not None:
                client = offline(cache, meter)
            else:
                shared = asyncio.Semaphore(options.concurrency)
                clients = {
                    endpoint: await stack.enter_async_context(Client(endpoint, options, budget, shared))
                    for endpoint in dict.fromkeys(endpoints.values())
                }
                client = CachedClient({role: clients[endpoint] for role, endpoint in endpoints.items()}, cache, meter)
            await stack.enter_async_context(_watched(meter, watch))
            queue = iter(pending.values())
            try:
                # Each job has a call ready at any time, so this number of workers uses the full concurrency.
                workers = min(options.concurrency, len(pending))
                await _together(self._work(queue, client, meter, skipped) for _ in range(workers))
            finally:
                listed = tuple(skipped[name] for name in pending if name in skipped)
                with suppress(OSError) if client.disk_error else nullcontext():
                    self._list(listed)
                    if url:
                        note_answered(self._folder, self._made, url)
            if client.disk_error is not None:
                raise client.disk_error
        unread = [count for answers in self._read.values() if (count := answers.count(False))]
        return RunOutcome(
            folder=self._folder,
            finished=len(earlier) + meter.done,
            earlier=len(earlier),
            replaced=len(self._outdated.keys() - skipped.keys()) - self._extended,
            extended=self._extended,
            skipped=listed,
            stopped=client.stopped,
            meter=meter,
            unread=sum(unread),
            unread_in=len(unread),
            answers=sum(map(len, self._read.values())),
            unread_example=self._unread_example,
            elsewhere=Counter(noted[name] for name in earlier if url and noted.get(name, url) != url),
            sends_schema=any(job.sends_schema for job, _ in self._jobs.values()),
        )

    async def _work(
        self, queue: Iterator[tuple[Job, str]], client: CachedCalls, meter: Meter, skipped: dict[str, Skipped]
    ) -> None:
        """Run jobs of a queue, one after another."""
        for job, key in queue:
            try:
                if client.stopped is not None:
                    raise CallFailedError(client.stopped)
                record = await self._make(job, key, client, meter)
                path = self._folder / job.file_name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, [record.to_json(indent=2) + b"\n"])
            except (CallFailedError, ValueError) as error:
                reason = sanitize(" ".join(str(error).split()))
                skipped[job.file_name] = Skipped(job.unit_id, job.model, job.condition, job.repeat, reason)
                meter.failed += 1
            except OSError as error:
                client.stop_for(error)
            else:
                meter.done += 1
                self._made.append(job.file_name)
                before, sent = self._outdated.get(job.file_name, {}), client.sent.get(job.file_name, set())
                self._extended += _adds_to(before, record.model_extra or {}, sent)

    async def _make(self, job: Job, key: str, client: CachedCalls, meter: Meter) -> Record:
        """Run one job."""
        costs: dict[Role, list[float | None]] = {}
        seconds: list[float | None] = []
        taken: dict[str, list[Response]] = {}
        incomplete: dict[str, FinishReason] = {}
        begun = 0
        last: tuple[str, Response] | None = None

        async def complete(call: Call, attempt: int) -> str:
            nonlocal begun, last
            begun += attempt == 0
            response = await client.request(call, attempt, job)
            last = call.model, response
            costs.setdefault(call.role, []).append(response.cost)
            seconds.append(response.seconds)
            taken.setdefault(f"{call.role}/{call.schema_name}", []).append(response)
            if response.finish_reason is not None:
                name = attempt_id(call.id, attempt - call.attempt)
                incomplete[name] = response.finish_reason
                said = f"{name}: the answer ended early (finish_reason {response.finish_reason})"
                raise CallFailedError(said) if job.fails_for(response, attempt) else IncompleteAnswerError(said)
            text: str = without_surrogates(response.text)  # A file cannot hold half of a surrogate pair.
            return text

        record = await job.make(complete)
        meter.calls += begun - job.calls  # A conversation with a simulator may end before its last round.
        fields = {role: "api_cost" if role == "model" else f"{role}_cost" for role in job.decoding}
        noted: dict[str, Any] = {name: _sum(costs[role]) for role, name in fields.items() if role in costs}
        # A rejudged run keeps what its drafts took; where that is not known, the judges alone would be too little.
        before = None if "usage" in type(record).model_fields else (record.model_extra or {}).get("usage", {})
        if isinstance(before, dict):
            noted["usage"] = dict(sorted((before | {part: _usage(own) for part, own in taken.items()}).items()))
        # Only if records have this field, and this record does not already have the duration of the record it was made
        # from.
        if _DURATION in type(record).model_fields.keys() - record.model_fields_set:
            noted[_DURATION] = _milliseconds(seconds)
        # A rejudged run keeps the incomplete answers of the run before.
        if every := (record.model_extra or {}).get("incomplete_answers", {}) | incomplete:
            noted["incomplete_answers"] = every
        answers = self._read[job.file_name] = _answers_read(job, from_json(record.to_json()))
        if not any(answers):
            self._unread_example = _beginning(*last) if last else ""
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
        """Write the skipped units, one file for each model; if a model has none, remove the file of an earlier run."""
        for model in dict.fromkeys(job.model for job, _ in self._jobs.values()):
            path = self._folder / f"_skipped_{safe_part(model)[:100]}.json"
            entries = []
            for one in (one for one in skipped if one.model == model):
                condition = {} if one.condition is None else {"condition": one.condition}
                repeat = {} if one.repeat == 1 else {"repeat": one.repeat}
                entries.append({"unit": one.unit_id, **condition, **repeat, "reason": one.reason})
            if entries:
                content = {"model": model, "command": self._options.command, "skipped": entries}
                write_whole(path, [json.dumps(content, indent=2).encode() + b"\n"])
            else:
                path.unlink(missing_ok=True)


def _differences(said: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the settings in which a file (`said`) and a job (`recorded`) differ: by name, the values of both.

    A setting that is missing in the file is not compared, except the settings in `WHERE_SET`, which files name only if
    they are set. A mapping that is missing in the file counts as a difference.
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


def _adds_to(before: Mapping[str, Any], content: Mapping[str, Any], sent: Set[str]) -> bool:
    """Tell whether a result has further calls than the result before, and none from before was sent again."""
    then, now = before.get("calls"), content.get("calls")
    if not isinstance(then, Mapping) or not isinstance(now, Mapping):
        return False
    return then.keys() < now.keys() and then.keys().isdisjoint(sent)


def _answers_read(job: Job, content: Mapping[str, Any]) -> list[bool]:
    """Return whether each answer of a result could be read; nothing where somebody has changed the file."""
    try:
        return list(job.answers_read(content))
    except (AttributeError, KeyError, TypeError):
        return []


def _beginning(model: str, response: Response) -> str:
    """Return which model answered, and how its answer begins."""
    text = shortened(sanitize(" ".join(response.text.split())), _EXAMPLE)
    early = f" (finish_reason {response.finish_reason})" if response.finish_reason else ""
    return f"{model} answered {text!r}{early}" if text else f"{model} answered nothing{early}"


def _sum(amounts: Sequence[float | None]) -> float | None:
    """Return the sum, None if an amount is unknown; it is exact, because the order of responses depends on timing."""
    known = [amount for amount in amounts if amount is not None]
    return fsum(known) if len(known) == len(amounts) else None


def _milliseconds(seconds: Sequence[float | None]) -> float | None:
    """Return a sum of seconds, rounded as each of them is."""
    total = _sum(seconds)
    return total and round(total, 3)


def _usage(responses: Sequence[Response]) -> dict[str, float | None]:
    """Return what calls of one kind took; None for what one of them does not tell."""
    counted = {name: _sum([getattr(one, name) for one in responses]) for name in _COUNTED}
    return {"calls": len(responses), **counted, "seconds": _milliseconds([one.seconds for one in responses])}


async def _together(works: Iterator[Any]) -> None:
    """Run coroutines at the same time; an error of one ends the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:  # The group cancels each task once, whatever else happens.
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


T = TypeVar("T")

_NAMED_UNITS = 10  # how many of the units that cannot be run a message names
_BETWEEN_REPEATS = 1_000  # Leaves room between repeats, since an answer that is asked for again has the next seed.


async def run(
    task: Task[U, S],
    units: Sequence[U],
    settings: S | Sequence[S],
    endpoints: Endpoint | Mapping[Role, Endpoint],
    *,
    output: str | Path,
    repeats: int = 1,
    options: RunOptions | None = None,
    watch: Watch | None = None,
) -> RunOutcome:
    """Ask models what a benchmark asks about units, and write a file for each.

    Parameters
    ----------
    task : Task
        The benchmark.
    units : sequence
        The units to ask about, each once; for instance a `Collection` of conversations. Units about which nothing can
        be asked are left out, and a line on standard error names them.
    settings : RunSettings or sequence of RunSettings
        The model and how it is asked; several for several conditions.
    endpoints : Endpoint or mapping of str to Endpoint
        One endpoint for all models, or one for each role; a role that is left out uses the endpoint of the model.
    output : str or Path
        Folder of the files; it is created if it does not exist. It also contains the cache file of all responses, with
        which a stopped run continues where it was. A file is kept if its unit, settings, requests and providers are
        still the same. Otherwise it is made again, from cached responses as far as possible. A file of other settings
        is replaced only with `RunOptions.replace`.
    repeats : int
        How often everything is asked. From the second repeat on, files have the number of their repeat in a field
        ``repeat``, and are in folders ``repeat-2`` and so on. The seed applies to the first repeat; each further repeat
        adds 1,000 to it.
    options : RunOptions, optional
        How the run is made.
    watch : callable, optional
        Given the `Meter` twice a second, and at the end.

    Returns
    -------
    RunOutcome
        The complete files, and the units without a complete file, which are also listed in ``_skipped_<model>.json``.

    Raises
    ------
    RunError
        The folder is in use or cannot be written, or contains other files of these names; two units would have the same
        file; settings, an endpoint or units are missing; `repeats` is above 1 for a task that is not `repeatable`; or
        nothing can be asked about any of the units. The cache file is intact. `ReplaceError` if the folder has finished
        results of other settings and `RunOptions.replace` is not set.
    PriceError
        The cost is limited and a price, or the cost of an earlier response, is not known.
    """
    each = listed_settings(settings)
    if repeats < 1:
        raise RunError(f"repeats is {repeats}; expected 1 or more")
    if repeats > 1 and not task.repeatable:
        raise RunError(f"results of {task.name} have no field repeat; each repeat needs a folder of its own")
    files: Mapping[str, str] = getattr(units, "files", {})
    servers = for_roles(each, {"model": endpoints} if isinstance(endpoints, Endpoint) else endpoints)
    providers = {role: server.provider for role, server in servers.items()}
    _check_secrets(each, servers)
    folder, units = prepare(task, units, each, Path(output))
    of_model = [own.decoding["model"] for own in each]
    if repeats > 1 and any((one.temperature, one.seed) == (0, None) for one in of_model):
        warn("at temperature 0 without a seed, answers of repeats differ only as far as the server's own do")

    jobs = jobs_of(task, units, each, providers, files, repeats)
    within = _results(task, folder, units, each[0], servers, repeats)
    called = task.unit if len(each) * repeats == 1 else "result"  # with several for each unit
    return await execute(jobs, servers, folder, options or RunOptions(), watch, unit=called, within=within)


def prepare(task: Task[U, S], units: Sequence[U], each: Sequence[S], output: Path) -> tuple[Path, list[U]]:
    """Return the folder of a run and its units; a line on standard error names the units that are left out.

    Parameters
    ----------
    task, units, output
        As of `run`.
    each : sequence of RunSettings
        The settings, as of `run`.

    Returns
    -------
    tuple of Path and list
        The folder, and the units about which something can be asked.

    Raises
    ------
    RunError
        Nothing is left to run, or the settings would need several folders.
    """
    if not each or not units:
        raise RunError(f"no {pluralize(task.unit)} to run" if each else "no settings to run")
    folders = {task.folder(output, own) for own in each}
    if len(folders) > 1 or (task.results is not None and len(each) > 1):
        raise RunError(f"{task.name} is run with one settings at a time; here are {len(each)}")
    (folder,) = folders
    return folder, askable(task, units)


def askable(task: Task[U, S], units: Sequence[U]) -> list[U]:
    """Return the units about which something can be asked; a line on standard error names the others.

    Raises
    ------
    RunError
        There is none.
    """
    reasons = [task.unusable(unit) for unit in units]
    if unusable := [why for why in reasons if why]:
        more = f"; and {len(unusable) - _NAMED_UNITS} more" if len(unusable) > _NAMED_UNITS else ""
        said = f"{plural(len(unusable), task.unit)} cannot be run ({'; '.join(unusable[:_NAMED_UNITS])}{more})"
        if len(unusable) == len(units):
            raise RunError(f"{said}, and no other is given")
        warn(f"left out: {said}")
    return [unit for unit, why in zip(units, reasons, strict=True) if not why]


def run_sync(
    task: Task[U, S],
    units: Sequence[U],
    settings: S | Sequence[S],
    endpoints: Endpoint | Mapping[Role, Endpoint],
    *,
    output: str | Path,
    repeats: int = 1,
    options: RunOptions | None = None,
    watch: Watch | None = None,
) -> RunOutcome:
    """Run a benchmark as `run` does, and return when it is done; it cannot be called within an event loop.

    Parameters
    ----------
    task, units, settings, endpoints, output, repeats, options, watch
        As of `run`.

    Returns
    -------
    RunOutcome
        The complete files, and the units without one.

    Raises
    ------
    RunError, PriceError
        As of `run`.
    """
    with suppress(RuntimeError):  # raised if no loop is running, as it should be
        asyncio.get_running_loop()
        raise RunError("an event loop is running, as in a notebook; use: await run(...)")
    return asyncio.run(
        run(task, units, settings, endpoints, output=output, repeats=repeats, options=options, watch=watch)
    )


def listed_settings(settings: S | Sequence[S]) -> list[S]:
    """Return settings as a list, even if only one is given."""
    return list(settings) if isinstance(settings, Sequence) else [settings]


def roles_of(each: Sequence[RunSettings]) -> list[Role]:
    """Return the roles that are asked with these settings."""
    return list(dict.fromkeys(role for settings in each for role in settings.decoding))


def for_roles(each: Sequence[RunSettings], given: Mapping[Role, T]) -> dict[Role, T]:
    """Return the endpoint (or provider) of each role in the settings: the one given for it, else the model's."""
    found: dict[Role, T] = {}
    for role in roles_of(each):
        own = given.get(role, given.get("model"))
        if own is None:
            raise RunError(f"no endpoint for the {role}; name one")
        found[role] = own
    return found


def _check_secrets(each: Sequence[RunSettings], servers: Mapping[Role, Endpoint]) -> None:
    """Refuse settings that contain a key or another secret of a server, as results would contain it."""
    texts = [json.dumps(one.where_set(), ensure_ascii=False) for own in each for one in own.decoding.values()]
    for server in servers.values():
        if any(server.redact(text, min_length=SHORTEST_SECRET) != text for text in texts):
            raise RunError("extra_body or reasoning_effort contains a key of a server, and results would contain it")


def jobs_of(
    task: Task[U, S],
    units: Sequence[U],
    each: Sequence[S],
    providers: Mapping[Role, str],
    files: Mapping[str, str],
    repeats: int = 1,
) -> list[Job]:
    """Return the jobs of a run: one for each repeat, unit and settings.

    `files` has the file of each unit, by the id of the unit.
    """
    every = product(range(1, repeats + 1), units, each)
    return [_job(task, unit, own, providers, files.get(unit.id), repeat) for repeat, unit, own in every]


def plan_jobs(
    task: Task[U, S], units: Sequence[U], settings: S | Sequence[S], providers: Mapping[Role, str], output: Path
) -> tuple[Path, dict[Role, str], list[Job]]:
    """Return the folder of a run without connections, who serves each role as results record it, and the jobs."""
    each = listed_settings(settings)
    served = {role: provider_name(provider) for role, provider in for_roles(each, providers).items()}
    folder, used = prepare(task, units, each, output)
    return folder, served, jobs_of(task, used, each, served, getattr(units, "files", {}))


def _of_repeat(settings: S, repeat: int) -> S:
    """Return the settings of a repeat; if there is a seed, each repeat has its own."""
    seed: int | None = getattr(settings, "seed", None)
    if seed is None or repeat == 1:
        return settings
    changed: S = replace(settings, seed=seed + _BETWEEN_REPEATS * (repeat - 1))  # type: ignore[type-var]  # A dataclass, see RunSettings.
    return changed


@contextmanager
def _results(
    task: Task[U, S], folder: Path, units: Sequence[U], settings: S, servers: Mapping[Role, Endpoint], repeats: int
) -> Iterator[None]:
    """Enter the context manager ``task.results``, if the task has it, in the folder of each repeat."""
    with ExitStack() as stack:
        if task.results is not None:
            for repeat in range(1, repeats + 1):
                own = folder / in_repeat(".", repeat)
                own.mkdir(exist_ok=True)
                stack.enter_context(task.results(own, units, _of_repeat(settings, repeat), servers))
        yield


def _job(task: Task[U, S], unit: U, given: S, providers: Mapping[Role, str], file: str | None, repeat: int) -> Job:
    settings = _of_repeat(given, repeat)
    own = task.unit_settings(unit, settings)
    # The job does not keep these calls, because the requests of all units together would take much memory.
    calls = task.planned(unit, settings)
    own_providers = {role: providers[role] for role in own.decoding}
    source = Source(own_providers, file)
    # The first repeat has no such field, so that a file of a single run, even an old one, counts as the first repeat.
    of_repeat = {"repeat": repeat} if repeat > 1 else {}
    fields = dict(task.fields(unit, own, source)) | of_repeat

    async def make(complete: Complete) -> Record:
        record = await task.make(unit, lambda call, attempt: complete(as_sent(call, settings), attempt), own)
        return record.model_copy(update=fields)

    return Job(
        unit_id=unit.id,
        model=own.model,
        condition=condition_of(own),
        repeat=repeat,
        file_name=in_repeat(task.file_name(unit, own), repeat),
        decoding=own.decoding,
        models=tuple(dict.fromkeys(call.model for call in calls)),
        calls=len(calls),
        # A response to a call without a schema is the same in both formats; the schema is in the key itself.
        cache_inputs={name: value for name, value in own.provenance().items() if name != "answer_format"} | of_repeat,
        file_inputs={
            "task": task.name,
            "unit": unit.id,
            "content": sha256(unit.to_json()).hexdigest(),
            "model": own.model,
            "provenance": own.provenance(),
            "answer_format": answer_format_of(settings),
            "decoding": {role: decoding.content() for role, decoding in own.decoding.items()},
            "providers": own_providers,
            "calls": _hash(calls),
            **of_repeat,
        },
        recorded=task.recorded(own, source),
        make=make,
        answers_read=task.answers_read,
        asked_once=task.tries(own) == 1,
        sends_schema=any(call.schema for call in calls),
    )


def _hash(calls: Sequence[Call]) -> str:
    """Return the SHA-256 of all requests that are planned."""
    digest = sha256()
    for call in calls:
        texts = [text for message in call.messages for text in message.values()]
        own = [json.dumps(call.decoding, sort_keys=True)] if call.decoding else []
        every = (call.id, call.model, call.role, *texts, json.dumps(call.schema), *own, "")
        digest.update("\0".join(every).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
