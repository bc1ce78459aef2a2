"""The files of a batch: calls and their manifest, answers and their errors.

A line of calls is a request of OpenAI's batch format, which vLLM's ``run_batch`` reads too. A line of answers has the
``custom_id`` of its call and a ``response`` with ``status_code`` and ``body``, or an ``error``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from attune_bench._version import __version__
from attune_bench.runner.cached_client import Asked
from attune_bench.runner.calls import Response
from attune_bench.runner.client import request_body
from attune_bench.runner.folder import RunError
from attune_bench.runner.prices import Price
from attune_bench.runner.providers import Endpoint
from attune_bench.runner.responses import LARGEST, TOO_LARGE, Fault, read_response
from attune_data.io.documents import check_input, is_nested_too_deeply, read_input, whole_file, write_whole
from attune_data.issues import shown
from attune_data.text import listed, plural, printable, shortened

__all__ = ["CallFiles", "Manifest", "Unanswered", "check_answers", "models_of", "read_manifest", "responses_of"]

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

    def has_room(self, size: int) -> bool:
        """Tell whether a service would take so many bytes more."""
        return self.calls < _MOST_LINES and self.size + size <= _MOST_BYTES

    def write(self, line: bytes) -> None:
        """Write a line."""
        self.file.write(line)
        self.digest.update(line)
        self.calls, self.size = self.calls + 1, self.size + len(line)


@dataclass
class CallFiles:
    """Writes calls to files, each for one model and no larger than services take; all at the end, or none."""

    target: Path
    found: dict[str, tuple[str, str | None, str]] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)
    _files: list[_Open] = field(default_factory=list)
    _latest: dict[tuple[str, str], _Open] = field(default_factory=dict)

    def __enter__(self) -> "CallFiles":
        self._stack.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)

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
        if file is None or not file.has_room(len(line)):
            file = self._latest[provider, call.model] = self._next(provider, call.model)
        file.write(line)
        self.found[asked.key] = asked.job.unit_id, asked.job.condition, call.id

    def _next(self, provider: str, model: str) -> _Open:
        number = len(self._files) + 1
        name = self.target.name if number == 1 else f"{self.target.stem}-{number}{self.target.suffix}"
        file = self._stack.enter_context(whole_file(self.target.with_name(name)))
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
    said = [
        f"{text}: {listed(found, _NAMED)}"
        for found, text in (
            (broken, f"{plural(len(broken), 'line')} without a JSON object, as in a file that is cut off"),
            (unnamed, f"{plural(len(unnamed), 'line')} without a custom_id"),
            (foreign, f"{plural(len(foreign), 'answer')} to no call of {calls.name}"),
            (doubled, f"{plural(len(doubled), 'call')} answered twice"),
            (
                missing,
                f"{plural(len(missing), 'call')} without an answer (give a service's file of errors too, or --partial)",
            ),
        )
        if found
    ]
    if said:
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
    """Read a line: its response as that of a server, or its error."""
    response, error = answer.get("response"), answer.get("error")
    given: Mapping[str, Any] = response if isinstance(response, dict) else {}
    body, status = given.get("body"), given.get("status_code")
    while isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    said = (error.get("code"), error.get("message")) if isinstance(error, dict) else (error,)
    reason = ": ".join(str(one) for one in said if one)
    if reason or (error and not body):
        return Fault(shortened(printable(reason or f"status {status}"), 200))
    if status is not None and status not in range(100, 600):
        return Fault(f"status_code is {shown(status)}; expected a number from 100 to 599")
    failed = 0 if status is None or status in range(200, 300) else int(status)
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(data) > LARGEST:
        return Fault(TOO_LARGE)
    return read_response(data, status=failed, wait=0, endpoint=_OWN, price=price)
