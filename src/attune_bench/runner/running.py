"""Running a benchmark: the one way for all of them."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from attune_bench.runner.calls import Call, Complete, Role, SchemaRefusedError
from attune_bench.runner.console import warn
from attune_bench.runner.execution import execute
from attune_bench.runner.file_names import in_repeat
from attune_bench.runner.folder import RunError, noted_refusals
from attune_bench.runner.jobs import Job, RunOptions, RunOutcome, Watch
from attune_bench.runner.providers import SHORTEST_SECRET, Endpoint
from attune_bench.runner.task import RunSettings, S, Source, Task, U, answer_format_of, as_sent, condition_of
from attune_data.record import Record
from attune_data.text import plural

__all__ = ["askable", "for_roles", "jobs_of", "listed_settings", "prepare", "roles_of", "run", "run_sync"]

T = TypeVar("T")

_NAMED = 10  # of the units that cannot be run
_BETWEEN_REPEATS = 1_000  # An answer that is asked for again has the next seed.


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
        What is asked about, each once; for instance a `Collection` of conversations. Those about which nothing can
        be asked are left out, and a line on standard error names them.
    settings : RunSettings or sequence of RunSettings
        The model and how it is asked; several for several conditions.
    endpoints : Endpoint or mapping of str to Endpoint
        Where all models are served, or where by role; a role that is left out is served as the model is.
    output : str or Path
        Folder of the files; created where it does not exist. It also contains the cache file of all responses, by
        which a run goes on where it was stopped. A file whose unit, settings, requests and providers are unchanged
        stays; any other of its name is made anew, from the cache as far as that has the responses; one of other
        settings only with `RunOptions.replace`. Where a server
        refuses the schema of an answer, the folder notes it: this run, and later ones that ask the same model, go on
        with ``answer_format="free"`` in all settings, and a line on standard error says so.
    repeats : int
        How often everything is asked. The files of further repeats name it, ``repeat``, and are in folders
        ``repeat-2`` and so on. A seed is that of the first repeat; that of each further one is 1,000 higher.
    options : RunOptions, optional
        How the run is made.
    watch : callable, optional
        Given the `Meter` twice a second, and at the end.

    Returns
    -------
    RunOutcome
        What is complete and what is not. The latter is also in ``_skipped_<model>.json``.

    Raises
    ------
    RunError
        The folder is in use or cannot be written, or contains other files of these names; two units would have the
        same file; no settings, endpoint or units are given, or none about which anything can be asked; a server
        refuses schemas, and the settings have no ``answer_format``. The cache file is intact. `ReplaceError` where the
        folder has finished results of other settings, and `RunOptions.replace` is not set.
    PriceError
        The cost is limited and a price, or the cost of an earlier response, is not known.
    """
    each = listed_settings(settings)
    if repeats < 1:
        raise RunError(f"repeats is {repeats}; expected 1 or more")
    files: Mapping[str, str] = getattr(units, "files", {})
    servers = for_roles(each, {"model": endpoints} if isinstance(endpoints, Endpoint) else endpoints)
    providers = {role: server.provider for role, server in servers.items()}
    _check_secrets(each, servers)
    folder, units, each = prepare(task, units, each, providers, Path(output))
    of_model = [own.decoding["model"] for own in each]
    if repeats > 1 and any((one.temperature, one.seed) == (0, None) for one in of_model):
        warn("at temperature 0 without a seed, answers of repeats differ only as far as the server's own do")

    async def execution() -> RunOutcome:
        jobs = jobs_of(task, units, each, providers, files, repeats)
        within = _results(task, folder, units, each[0], servers, repeats)
        called = task.unit if len(each) * repeats == 1 else "result"  # of several a unit
        return await execute(jobs, servers, folder, options or RunOptions(), watch, unit=called, within=within)

    try:
        return await execution()
    except SchemaRefusedError as error:
        unused = f"; not used: {error.unused}" if error.unused else ""
        each = _free(each, f"the schemas of answers are refused ({error})", unused)
    return await execution()


def prepare(
    task: Task[U, S], units: Sequence[U], each: Sequence[S], providers: Mapping[Role, str], output: Path
) -> tuple[Path, list[U], list[S]]:
    """Return the folder of a run, its units and its settings, and say what is left out of them before any call.

    Parameters
    ----------
    task, units, output
        As of `run`.
    each : sequence of RunSettings
        The settings, as of `run`.
    providers : mapping of str to str
        Who serves each role.

    Returns
    -------
    tuple of Path, list and list
        Units without those about which nothing can be asked; settings without schemas, where the folder notes that
        they were refused.

    Raises
    ------
    RunError
        Nothing is left to run, or the settings would need several folders.
    """
    if not each or not units:
        raise RunError(f"no {task.unit}s to run" if each else "no settings to run")
    folders = {task.folder(output, own) for own in each}
    if len(folders) > 1 or (task.results is not None and len(each) > 1):
        raise RunError(f"{task.name} is run with one settings at a time; here are {len(each)}")
    (folder,) = folders
    used = askable(task, units)
    if (refusal := _noted_refusal(task, used, each, providers, folder)) is not None:
        return folder, used, _free(each, f"an earlier run in {folder} was refused its schemas ({refusal})")
    return folder, used, list(each)


def askable(task: Task[U, S], units: Sequence[U]) -> list[U]:
    """Return the units about which something can be asked; a line on standard error names the others.

    Raises
    ------
    RunError
        There is none.
    """
    reasons = [task.unusable(unit) for unit in units]
    if unusable := [why for why in reasons if why]:
        more = f"; and {len(unusable) - _NAMED} more" if len(unusable) > _NAMED else ""
        said = f"{plural(len(unusable), task.unit)} cannot be run ({'; '.join(unusable[:_NAMED])}{more})"
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
        What is complete and what is not.

    Raises
    ------
    RunError, PriceError
        As of `run`.
    """
    with suppress(RuntimeError):  # which says that no loop runs, as it should be
        asyncio.get_running_loop()
        raise RunError("an event loop is running, as in a notebook; use: await run(...)")
    return asyncio.run(
        run(task, units, settings, endpoints, output=output, repeats=repeats, options=options, watch=watch)
    )


def listed_settings(settings: S | Sequence[S]) -> list[S]:
    """Return settings as a list, also where one alone is given."""
    return list(settings) if isinstance(settings, Sequence) else [settings]


def roles_of(each: Sequence[RunSettings]) -> list[Role]:
    """Return the roles that settings ask."""
    return list(dict.fromkeys(role for settings in each for role in settings.decoding))


def for_roles(each: Sequence[RunSettings], given: Mapping[Role, T]) -> dict[Role, T]:
    """Return what is given for each role that settings ask: an endpoint, a provider; for others that of the model."""
    found: dict[Role, T] = {}
    for role in roles_of(each):
        own = given.get(role)
        own = given.get("model") if own is None else own
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


def _noted_refusal(
    task: Task[U, S], units: Sequence[U], each: Sequence[S], providers: Mapping[Role, str], folder: Path
) -> str | None:
    """Return what a server said that, as the folder notes, refused schemas for a model that is asked; else None."""
    if not (noted := noted_refusals(folder)):
        return None
    calls = (call for unit in units for own in each for call in task.planned(unit, own) if call.schema)
    asked = {(providers[call.role], call.model) for call in calls}
    return next((reason for served, reason in noted.items() if served in asked), None)


def _free(each: Sequence[S], why: str, unused: str = "") -> list[S]:
    """Return the settings without schemas, and say why."""
    if not all(hasattr(own, "answer_format") for own in each):
        raise RunError(f"{why}, and these settings have no answer_format that could be free")
    warn(f"{why}; the run asks for JSON without them, as with --free-json{unused}")
    changed: list[S] = [replace(own, answer_format="free") for own in each]  # type: ignore[type-var]  # A dataclass, see RunSettings.
    return changed


def jobs_of(
    task: Task[U, S],
    units: Sequence[U],
    each: Sequence[S],
    providers: Mapping[Role, str],
    files: Mapping[str, str],
    repeats: int = 1,
) -> list[Job]:
    """Return what is to be done about units: a job for each repeat, unit and settings.

    `files` says where units are from.
    """
    return [
        _job(task, unit, own, providers, files.get(unit.id), repeat)
        for repeat in range(1, repeats + 1)
        for unit in units
        for own in each
    ]


def _of_repeat(settings: S, repeat: int) -> S:
    """Return the settings of a repeat, which has a seed of its own where there is one."""
    seed: int | None = getattr(settings, "seed", None)
    if seed is None or repeat == 1:
        return settings
    changed: S = replace(settings, seed=seed + _BETWEEN_REPEATS * (repeat - 1))  # type: ignore[type-var]  # A dataclass, see RunSettings.
    return changed


@contextmanager
def _results(
    task: Task[U, S],
    folder: Path,
    units: Sequence[U],
    settings: S,
    servers: Mapping[Role, Endpoint],
    repeats: int,
) -> Iterator[None]:
    """Enter the results of a task in the folder of each repeat."""
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
    # Not kept, as the requests of all units at once would take much memory.
    calls = task.planned(unit, settings)
    own_providers = {role: providers[role] for role in own.decoding}
    source = Source(own_providers, file)
    # What was asked once, and was made before there were repeats, is the first of several.
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
        asked_once=task.tries(own) == 1,
    )


def _hash(calls: Sequence[Call]) -> str:
    """Return the SHA-256 of all requests that are planned."""
    digest = sha256()
    for call in calls:
        texts = [text for message in call.messages for text in message.values()]
        for text in (call.id, call.model, call.role, *texts, json.dumps(call.schema)):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
