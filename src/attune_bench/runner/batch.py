"""Batches: the files of calls and answers, and making results of them.

A line of calls is a request of OpenAI's batch format, which vLLM's ``run_batch`` reads too. A line of answers has the
``custom_id`` of its call and a ``response`` with ``status_code`` and ``body``, or an ``error``.

Answers go into the cache file of a folder of results, so that the results equal those that `attune_bench.runner.run`
makes of the same answers, which can go on from there.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from attune_bench._version import __version__
from attune_bench.runner.cache import Cache, RunError, cache_key, disk_errors, locked
from attune_bench.runner.cached import Asked, CachedCalls
from attune_bench.runner.calls import Call, CallFailedError, Endpoint, Response, Role
from attune_bench.runner.client import LARGEST, TOO_LARGE, Fault, read_response, request_body
from attune_bench.runner.cost import Job, Meter, Price, RunOptions, RunOutcome, Skipped
from attune_bench.runner.running import CACHE, check_results, execute, plan_jobs
from attune_bench.runner.task import S, Task, U
from attune_data.io.documents import check_input, is_nested_too_deeply, read_input, whole_file, write_whole
from attune_data.issues import shown
from attune_data.text import listed, plural, sanitize, shortened

_MOST_LINES, _MOST_BYTES = 50_000, 200_000_000  # what services take
_NAMED = 3
_OWN = Endpoint("", "")


class _File(BaseModel):
    """A file of calls: its name, its SHA-256, the provider and the model that it is for, its number of calls."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    name: str
    provider: str
    model: str
    calls: int = 0
    sha256: str = ""


class Manifest(BaseModel):
    """What belongs to files of calls.

    Attributes
    ----------
    format : int
        1.
    library_version : str
        The version that wrote them.
    jobs : str
        The hash of all that results depend on apart from answers: content of the data, settings, requests, providers.
    command : dict of str to Any
        What was asked for, from which a command makes the task's settings again.
    files : tuple
        The files of calls, each with its name, provider, model, number of calls and SHA-256.
    calls : dict of str to tuple
        By ``custom_id``: the unit, the condition or None, and the id of the call.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    format: Literal[1] = 1
    library_version: str = __version__
    jobs: str
    command: dict[str, Any] = {}
    files: tuple[_File, ...]
    calls: dict[str, tuple[str, str | None, str]]


class Unanswered(NamedTuple):
    """A line of an answers file that is an error: where it is, which call it is about, and what it says."""

    place: str
    call: str
    reason: str


def read_manifest(calls: Path) -> Manifest:
    """Return the manifest of a file of calls.

    Raises
    ------
    RunError
        There is none beside it, or it is damaged or does not name the file; the calls are a folder.
    """
    if calls.is_dir():
        raise RunError(f"{calls} is a folder; name the file of calls")
    name, number = calls.stem, calls.stem.rpartition("-")[2]
    stems = [name, name.removesuffix(f"-{number}")] if number.isdecimal() else [name]
    paths = [_manifest_of(calls.with_name(f"{stem}.jsonl")) for stem in stems]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise RunError(f"{paths[0]} is missing; keep it beside the calls that it was written with")
    try:
        manifest = Manifest.model_validate_json(read_input(path))
    except (OSError, ValidationError):
        raise RunError(f"{path} is damaged, or of a later version of attune-bench; export the calls again") from None
    if calls.name not in (one.name for one in manifest.files):
        raise RunError(f"{path} does not name {calls.name}; was the file renamed?")
    return manifest


@dataclass
class _Open:
    """A file that is being written."""

    file: IO[bytes]
    name: str
    provider: str
    model: str
    calls: int = 0
    size: int = 0
    digest: Any = field(default_factory=sha256)

    def write(self, line: bytes) -> None:
        """Write a line."""
        self.file.write(line)
        self.digest.update(line)
        self.calls, self.size = self.calls + 1, self.size + len(line)


@dataclass
class CallFiles:
    """Writes calls to files, each for one model and no larger than services take; all at the end, or none."""

    target: Path
    stack: ExitStack
    found: dict[str, tuple[str, str | None, str]] = field(default_factory=dict)
    _files: list[_Open] = field(default_factory=list)
    _latest: dict[tuple[str, str], _Open] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(self.target.with_name(one.name) for one in self._files)

    def add(self, asked: Asked) -> None:
        """Write a call, once."""
        if asked.key in self.found:
            return
        call, provider = asked.call, asked.job.file_inputs["providers"][asked.call.role]
        body = request_body(call, asked.decoding, provider)
        request = {"custom_id": asked.key, "method": "POST", "url": "/v1/chat/completions", "body": body}
        line = json.dumps(request).encode() + b"\n"
        file = self._latest.get((provider, call.model))
        if file is None or file.calls == _MOST_LINES or file.size + len(line) > _MOST_BYTES:
            file = self._latest[provider, call.model] = self._next(provider, call.model)
        file.write(line)
        self.found[asked.key] = asked.job.unit_id, asked.job.condition, call.id

    def _next(self, provider: str, model: str) -> _Open:
        number = len(self._files) + 1
        name = self.target.name if number == 1 else f"{self.target.stem}-{number}{self.target.suffix}"
        file = self.stack.enter_context(whole_file(self.target.with_name(name)))
        self._files.append(_Open(file, name, provider, model))
        return self._files[-1]

    def write_manifest(self, jobs: str, command: Mapping[str, Any]) -> None:
        """Write the manifest, see `Manifest`, once the files are there."""
        files = tuple(
            _File(name=one.name, provider=one.provider, model=one.model, calls=one.calls, sha256=one.digest.hexdigest())
            for one in self._files
        )
        manifest = Manifest(jobs=jobs, command=dict(command), files=files, calls=self.found)
        write_whole(_manifest_of(self.target), [manifest.model_dump_json(indent=1).encode() + b"\n"])


def _manifest_of(calls: Path) -> Path:
    return calls.with_suffix(".manifest.json")


def _lines(path: Path, *, blank: bool = False) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, those that are blank only where asked for."""
    try:
        check_input(path)
        with path.open("rb") as file:
            yield from ((number, line) for number, line in enumerate(file, 1) if blank or line.strip())
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from None


def _object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line; None for anything else."""
    if is_nested_too_deeply(line):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def models_of(calls: Path, manifest: Manifest) -> dict[str, str]:
    """Return the model of each call of a file, by its custom_id.

    Raises
    ------
    RunError
        The file has changed since it was written.
    """
    models: dict[str, str] = {}
    digest = sha256()
    for _, line in _lines(calls, blank=True):
        digest.update(line)
        request = _object(line) or {}
        with suppress(KeyError, TypeError):
            models[str(request["custom_id"])] = str(request["body"]["model"])
    [expected] = [one.sha256 for one in manifest.files if one.name == calls.name]
    if digest.hexdigest() != expected:
        raise RunError(
            f"{calls} has changed since it was written, so that its answers would be to other requests; hand out the "
            "file as it was, or export the calls again with the options you mean"
        )
    return models


def check_answers(
    calls: Path, models: Mapping[str, str], answers: Sequence[Path], manifest: Manifest, *, partial: bool
) -> None:
    """Raise one error where answers and calls are not one to one.

    Where answers are `partial`, calls may have none, and the last line of a file may be cut off.
    """
    places: dict[str, list[str]] = {}
    broken, unnamed, foreign = [], [], []
    for path in answers:
        for number, line in _lines(path):
            place, answer = f"line {number} of {path.name}", _object(line)
            if answer is None:
                if line.endswith(b"\n") or not partial:
                    broken.append(place)
            elif not isinstance(answer.get("custom_id"), str):
                unnamed.append(place)
            elif answer["custom_id"] not in models:
                foreign.append(f"{place} ({shortened(answer['custom_id'], 80)!r})")
            else:
                places.setdefault(answer["custom_id"], []).append(place)
    doubled = [" and ".join(found[:2]) for found in places.values() if len(found) > 1]
    missing = [] if partial else [_call_text(manifest, one) for one in models if one not in places]
    without = f"{plural(len(missing), 'call')} without an answer (give a service's file of errors too, or --partial)"
    faults = {
        f"{plural(len(broken), 'line')} without a JSON object, as in a file that is cut off": broken,
        f"{plural(len(unnamed), 'line')} without a custom_id": unnamed,
        f"{plural(len(foreign), 'answer')} to no call of {calls.name}": foreign,
        f"{plural(len(doubled), 'call')} answered twice": doubled,
        without: missing,
    }
    if said := [f"{fault}: {listed(found, _NAMED)}" for fault, found in faults.items() if found]:
        raise RunError(f"the answers do not fit {calls.name}, and none is taken: {'; '.join(said)}")


def _call_text(manifest: Manifest, custom_id: str) -> str:
    unit, condition, call = manifest.calls.get(custom_id, ("", None, custom_id))
    return " ".join(filter(None, (unit, condition, call)))


def responses_of(
    answers: Iterable[Path],
    models: Mapping[str, str],
    manifest: Manifest,
    prices: Mapping[str, Price],
    errors: list[Unanswered],
) -> Iterator[tuple[str, Response]]:
    """Yield the responses with their keys; note the lines that are errors."""
    for path in answers:
        for number, line in _lines(path):
            answer = _object(line)
            if answer is None:  # The last line of an engine that was stopped.
                continue
            key = answer["custom_id"]
            found = _response(answer, prices.get(models[key]))
            if isinstance(found, Response):
                yield key, found
            else:
                place = f"{path.name}, line {number}"
                errors.append(Unanswered(place, _call_text(manifest, key), found.reason))


def _response(answer: Mapping[str, Any], price: Price | None) -> Response | Fault:
    """Read a line: the response of a server, or an error."""
    response, error = answer.get("response"), answer.get("error")
    given: Mapping[str, Any] = response if isinstance(response, dict) else {}
    body, status = given.get("body"), given.get("status_code")
    while isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    said = (error.get("code"), error.get("message")) if isinstance(error, dict) else (error,)
    reason = ": ".join(str(one) for one in said if one)
    if reason or (error and not body):
        return Fault(shortened(sanitize(reason or f"status {status}"), 200))
    if status is not None and status not in range(100, 600):
        return Fault(f"status_code is {shown(status)}; expected a number from 100 to 599")
    failed = 0 if status is None or status in range(200, 300) else int(status)
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(data) > LARGEST:
        return Fault(TOO_LARGE)
    return read_response(data, status=failed, wait=0, endpoint=_OWN, price=price)


_AT_ONCE = 1_000  # answers that are written to the disk together


@dataclass(frozen=True, slots=True)
class Exported:
    """What `export_batch` has written.

    Attributes
    ----------
    files : tuple of Path
        The files of calls.
    calls : int
        How many calls they have.
    failed : tuple of Skipped
        What could not be finished although no call of it is left, and why.
    """

    files: tuple[Path, ...]
    calls: int
    failed: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """What `import_batch` has made.

    Attributes
    ----------
    outcome : RunOutcome
        As of a run.
    errors : tuple of Unanswered
        Lines that are errors, in order.
    left : Counter
        Calls that are still to be made, by role: calls of judges, and second attempts at unreadable answers.
    waiting : int
        Calls that are in other files of the same export.
    failed : tuple of Skipped
        What could not be finished although no call of it is left, and why.
    """

    outcome: RunOutcome
    errors: tuple[Unanswered, ...]
    left: Counter[Role]
    waiting: int
    failed: tuple[Skipped, ...]


def export_batch(
    task: Task[U, S],
    units: Sequence[U],
    settings: S | Sequence[S],
    providers: Mapping[Role, str],
    *,
    calls: Path,
    again: Path | None = None,
    command: Mapping[str, Any] | None = None,
) -> Exported:
    """Write the calls that can be made now; it cannot be called within an event loop.

    Parameters
    ----------
    task, units, settings
        As of `attune_bench.runner.run`.
    providers : mapping of str to str
        Who serves each role; a role that is left out is served as the model is.
    calls : Path
        The file to write, with the name of a ``.jsonl`` file. Where calls are of several models, or more than services
        take in one file (50,000 lines, 200 MB), further ones are called ``<name>-2.jsonl`` and so on.
    again : Path, optional
        A folder of results: calls that it has answers to are left out; calls of judges that quote answers, and
        further attempts where an answer cannot be read, are written. Results that are complete by then are written
        to it, and its list of what was skipped is.
    command : mapping of str to Any, optional
        For `Manifest.command`.

    Returns
    -------
    Exported
        What was written; no file where there is no call.

    Raises
    ------
    RunError
        The calls are not known beforehand, as each depends on answers; nothing can be asked; a file cannot be written;
        the folder is in use or has other files of these names.
    """
    check_batch(task)
    if again is not None and not again.is_dir():
        raise RunError(f"no such folder of results: {again}")
    if not calls.parent.is_dir():
        raise RunError(f"there is no folder {calls.parent} to write {calls.name} to")
    if not os.access(calls.parent, os.W_OK):
        raise RunError(f"{calls} cannot be written; choose another file, for instance {Path.home() / calls.name}")
    with TemporaryDirectory() as empty, disk_errors(calls.parent):
        folder, served, jobs = plan_jobs(task, units, settings, providers, again or Path(empty))
        with ExitStack() as stack:
            files = CallFiles(calls, stack)
            _, failed = asyncio.run(_go_through(jobs, served, folder, files.add, task.unit))
        if files.found:
            files.write_manifest(_hash(jobs), command or {})
    return Exported(files.paths, len(files.found), failed)


def check_batch(task: Task[Any, Any]) -> None:
    """Raise a `RunError` where the calls of a task are not known beforehand."""
    if task.assemble is None:
        raise RunError(f"the calls of {task.name} depend on the answers before them, so that no batch can have them")


def import_batch(
    task: Task[U, S],
    units: Sequence[U],
    settings: S | Sequence[S],
    providers: Mapping[Role, str],
    *,
    calls: Path,
    answers: Sequence[Path],
    output: Path,
    prices: Mapping[str, Price] | None = None,
    partial: bool = False,
) -> Imported:
    """Take the answers to a file of calls into a folder of results, and make the results that are complete.

    It cannot be called within an event loop.

    Parameters
    ----------
    task, units, settings, providers
        As of `export_batch`, which wrote the calls.
    calls : Path
        The file of calls, its manifest beside it.
    answers : sequence of Path
        Files with a line for each call, in any order: what a service gave, its file of errors too.
    output : Path
        The folder of results; created where it does not exist.
    prices : mapping of str to Price, optional
        By the name of the model, where answers do not say their cost.
    partial : bool
        Whether calls without an answer are left, as where an engine was stopped; else they are an error.

    Returns
    -------
    Imported
        What came of it.

    Raises
    ------
    RunError
        A call has no answer or two, an answer is to no call of the file, or a line is no JSON: nothing is taken then.
        The data, the settings, the library's requests or the file of calls have changed since it was written; as of
        `attune_bench.runner.run`.
    """
    manifest = read_manifest(calls)
    folder, served, jobs = plan_jobs(task, units, settings, providers, output)
    if _hash(jobs) != manifest.jobs:
        raise RunError(
            f"the data, the prompts or attune-bench have changed since {calls.name} was written (version "
            f"{manifest.library_version} then, {__version__} now), so that its answers are to other requests; export "
            "the calls again"
        )
    models = models_of(calls, manifest)
    check_answers(calls, models, answers, manifest, partial=partial)
    errors: list[Unanswered] = []
    responses = responses_of(answers, models, manifest, prices or {}, errors)
    left: Counter[Role] = Counter()
    waiting = 0

    def unanswered(asked: Asked) -> None:
        nonlocal waiting
        if asked.key in manifest.calls and asked.key not in models:
            waiting += 1
        else:
            left[asked.call.role] += 1

    async def take() -> tuple[RunOutcome, tuple[Skipped, ...]]:
        with disk_errors(folder):
            check_results(jobs, folder, RunOptions())
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder):
                async with Cache(folder / CACHE) as cache:
                    while group := list(islice(responses, _AT_ONCE)):
                        await asyncio.gather(*(cache.add(*one) for one in group if _is_new(cache, *one)))
        return await _go_through(jobs, served, folder, unanswered, task.unit)

    outcome, failed = asyncio.run(take())
    return Imported(outcome, tuple(errors), left, waiting, failed)


def _is_new(cache: Cache, key: str, response: Response) -> bool:
    """Tell whether a response is not in the cache, or takes the place of one that broke off."""
    known = cache.get(key)
    return known is None or (known.finish_reason == "error" and response.finish_reason != "error")


async def _go_through(
    jobs: Sequence[Job], providers: Mapping[Role, str], folder: Path, unanswered: Callable[[Asked], object], unit: str
) -> tuple[RunOutcome, tuple[Skipped, ...]]:
    """Make what the answers of a folder are enough for; give each call that is to be made to a function.

    Returns the outcome, and what failed for another reason than that an answer is missing.
    """
    waiting: set[tuple[str, str | None]] = set()

    def note(asked: Asked) -> None:
        waiting.add((asked.job.unit_id, asked.job.condition))
        unanswered(asked)

    offline = partial(_Unsent, providers, unanswered=note)
    # One after another, so that the calls are in the order of the units.
    outcome = await execute(jobs, {}, folder, RunOptions(concurrency=1), unit=unit, offline=offline)
    failed = tuple(one for one in outcome.skipped if (one.unit_id, one.condition) not in waiting)
    outcome.meter.failed = len(failed)
    return outcome, failed


class _Unsent(CachedCalls):
    """Returns cached responses; gives other calls to a function and sends none."""

    def __init__(
        self, providers: Mapping[Role, str], cache: Cache, meter: Meter, unanswered: Callable[[Asked], object]
    ) -> None:
        super().__init__(providers, cache, meter)
        self._unanswered = unanswered

    async def request(self, call: Call, attempt: int, job: Job) -> Response:
        """Return the response to a call of a job."""
        asked, response = self._look_up(call, attempt, job)
        if response is None:
            self._unanswered(asked)
            raise CallFailedError(f"{call.id}: no answer yet; it is in a batch, or attune-bench run asks for it")
        self._meter.count(response, role=call.role, is_new=False)
        return response


def _hash(jobs: Sequence[Job]) -> str:
    return cache_key(jobs=[job.file_inputs for job in jobs])
