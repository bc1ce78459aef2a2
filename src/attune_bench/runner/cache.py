"""The output folder of a run: its lock, its notes, the cache of answers, errors of its disk."""

import asyncio
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from errno import EACCES, EPERM, EROFS
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, get_args

import orjson

from attune_bench.runner.calls import FinishReason, Message, Response, json_bytes
from attune_data.io.documents import parse_json, read_input, write_whole
from attune_data.io.sources import is_address
from attune_data.text import sanitize


class CacheError(Exception):
    """The cache file cannot be read or written; the text names the file and the cause."""


def cache_key(messages: Iterable[Message] | None = None, **parts: Any) -> str:
    """Return the SHA-256, over JSON, of everything that a response or a file depends on.

    Examples
    --------
    >>> cache_key(model="a", seed=1) == cache_key(seed=1, model="a")
    True
    >>> cache_key(model="a", seed=1) == cache_key(model="a", seed=2)
    False
    """
    texts = {
        name: _scalar_json(value) if value is None or isinstance(value, int) else _SORTED.encode(value)
        for name, value in parts.items()
    }
    if messages is not None:
        texts["messages"] = f"[{', '.join([_message_json(tuple(message.items())) for message in messages])}]"
    written = ", ".join([f"{_text_json(name)}: {text}" for name, text in sorted(texts.items())])
    return sha256(f"{{{written}}}".encode()).hexdigest()


_SORTED = json.JSONEncoder(sort_keys=True)


@lru_cache(maxsize=256, typed=True)
def _scalar_json(value: int | None) -> str:
    return _SORTED.encode(value)


@lru_cache(maxsize=256)  # Many calls about one unit have a message in common.
def _message_json(items: tuple[tuple[str, str], ...]) -> str:
    return f"{{{', '.join(f'{_text_json(name)}: {_text_json(text)}' for name, text in sorted(items))}}}"


def _text_json(text: str) -> str:
    # Of ASCII without the character DEL `orjson` writes the same in a tenth of the time.
    return orjson.dumps(text).decode() if text.isascii() and "\x7f" not in text else json.dumps(text)


_FIELDS = tuple(field.name for field in fields(Response))


class Cache:
    """A file with one line for each response; an asynchronous context, for one process at a time.

    Parameters
    ----------
    path : Path
        The file; created where it does not exist.

    Attributes
    ----------
    unsettled : float
        The most that earlier calls without a response may have cost, in US dollars.

    Raises
    ------
    CacheError
        The file cannot be read or opened for writing.

    Notes
    -----
    An incomplete last line, left by a killed process or a full disk, is removed. Other lines that are not entries are
    ignored and kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._responses: dict[str, Response] = {}
        self._paid: list[Response] = []
        self._reserved: list[float] = []
        self._waiting: list[bytes] = []
        self._next: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._damage: CacheError | None = None
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
            try:
                self._end = self._read()
                os.ftruncate(self._file, self._end)
                self.unsettled: float = max(math.fsum(self._reserved), 0.0)
            except BaseException:
                os.close(self._file)
                raise
        except OSError as error:
            raise self._error(error) from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        # Wait for a write that is under way.
        async with self._turn:
            os.close(self._file)

    def get(self, key: str) -> Response | None:
        """Return the response of a key, None for an unknown one."""
        return self._responses.get(key)

    def responses(self) -> list[Response]:
        """Return all responses, including those that a later response with the same key has replaced."""
        return list(self._paid)

    async def add(self, key: str, response: Response) -> None:
        """Add a response; it is on disk when this returns, even if the caller is cancelled meanwhile.

        Raises
        ------
        CacheError
            It could not be written. What was written before is intact; nothing can be added any more.
        """
        await self._put({"key": key, **{name: getattr(response, name) for name in _FIELDS}})
        self._take(key, response)

    async def reserve(self, amount: float) -> None:
        """Before a call is sent, record the most that it may cost; record the negative amount if nothing was charged.

        A response with this amount as its `Response.bound` cancels the record.
        """
        await self._put({"reserved": amount})

    async def _put(self, entry: dict[str, Any]) -> None:
        self._waiting.append(json_bytes(entry) + b"\n")
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._write())
        await asyncio.shield(self._next)

    async def _write(self) -> None:
        """Write the waiting lines; responses that arrive during one fsync are written together in the next."""
        async with self._turn:
            self._next = None
            if self._damage is not None:
                raise self._damage
            lines, self._waiting = b"".join(self._waiting), []
            try:
                await asyncio.to_thread(self._append, lines)
            except OSError as error:
                self._damage = self._error(error)
                raise self._damage from None

    def _append(self, lines: bytes) -> None:
        rest = memoryview(lines)
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:
            # Keep the whole lines that were written: their responses were paid for.
            self._end += lines.rfind(b"\n", 0, len(lines) - len(rest)) + 1
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(lines)

    def _read(self) -> int:
        """Read the entries; return where the last whole line ends."""
        end = 0
        with os.fdopen(os.dup(self._file), "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                end += len(line)
                try:
                    entry = json.loads(line)
                    if entry.keys() == {"reserved"}:
                        self._reserved.append(_amount(entry["reserved"]))
                        continue
                    key, response = entry.pop("key"), Response(**entry)
                    _check(key, response)
                except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                    continue
                self._take(key, response)
                self._reserved.append(-(response.bound or 0.0))
        return end

    def _take(self, key: str, response: Response) -> None:
        self._responses[key] = response
        self._paid.append(response)

    def _error(self, error: OSError) -> CacheError:
        return CacheError(f"{self._path}: the cache file cannot be written: {error.strerror}")


def _check(key: object, response: Response) -> None:
    """Raise if the values of a line do not have the types that `Cache` writes."""
    if not isinstance(key, str) or not isinstance(response.text, str):
        raise TypeError
    if response.finish_reason not in (None, *get_args(FinishReason)):
        raise ValueError
    for amount in (response.prompt_tokens, response.completion_tokens, response.cost, response.bound, response.seconds):
        if amount is not None and _amount(amount) < 0:
            raise ValueError


def _amount(value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not math.isfinite(value):
        raise ValueError
    return float(value)


_LOCK = ".lock"
_SOURCES = ".sources.json"
_SERVERS = ".servers.json"
_ANSWERED = ".answered"


class RunError(Exception):
    """A run cannot begin or go on; the text says why and what to do. What was paid for is in the cache file."""


class ReplaceError(RunError):
    """A run would replace finished results of other settings; nothing was sent or touched."""


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into a `RunError`."""
    try:
        yield
    except CacheError as error:
        raise RunError(f"{error}; what was paid for is kept, the same command goes on") from None
    except OSError as error:
        said = f"{sanitize(error.filename or folder)}: cannot be written: {error.strerror}"
        if error.errno in (EACCES, EPERM, EROFS):
            said += f"; choose another folder, for instance {Path.home() / folder.name}"
        raise RunError(said) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder; the lock ends with the process that has it."""
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


def note_source(folder: Path, source: str) -> None:
    """Note in a folder where its data came from.

    A path is noted relative to the folder, so that the data and the folder can be moved together and the note does not
    contain a home directory.
    """
    source = source_from(folder, source)
    noted = _read_sources(folder)
    if source not in noted:
        write_whole(folder / _SOURCES, [json.dumps([*noted, source], indent=2).encode() + b"\n"])


def noted_sources(folder: Path) -> list[str]:
    """Return where the data of a folder came from; empty if there is no note."""
    return [source_at(folder, source) for source in _read_sources(folder)]


def source_from(folder: Path, source: str) -> str:
    """Return a source as it is noted in a folder: a path relative to the folder, anything else unchanged."""
    if _is_path(source):
        source = os.path.realpath(source)
        with suppress(ValueError):  # There is no relative path to another drive.
            source = os.path.relpath(source, os.path.realpath(folder))
    return source


def source_at(folder: Path, noted: str) -> str:
    """Return the source that a note in a folder means: for a relative path, the full path."""
    return os.path.realpath(folder / noted) if _is_path(noted) else noted


def _is_path(source: str) -> bool:
    return source != "demo" and not is_address(source)


def read_json(path: Path) -> Any:
    """Read a file of a folder that may come from somebody else.

    Raises
    ------
    OSError
        It cannot be read, or is a pipe or a device.
    ValueError
        It is not JSON, has too many values or is nested too deeply.
    """
    return parse_json(read_input(path))


def _read_sources(folder: Path) -> list[str]:
    try:
        noted = read_json(folder / _SOURCES)
    except (OSError, ValueError):
        return []
    return [source for source in noted if isinstance(source, str)] if isinstance(noted, list) else []


def note_server(folder: Path, provider: str, url: str) -> None:
    """Note in a folder the provider and URL (without secrets) of its judges; a new URL replaces an old one."""
    noted = noted_servers(folder)
    if noted.get(provider) != url:
        write_whole(folder / _SERVERS, [json.dumps({**noted, provider: url}, indent=2).encode() + b"\n"])


def noted_servers(folder: Path) -> dict[str, str]:
    """Return the URLs that served the judges of a folder, by provider; empty if none are noted."""
    return _read_texts(folder / _SERVERS)


def note_answered(folder: Path, files: Iterable[str], url: str) -> None:
    """Note in a folder the URL (without secrets) of the server whose answers some files have."""
    if own := dict.fromkeys(files, url):
        content = noted_answered(folder) | own
        write_whole(folder / _ANSWERED, [json.dumps(content, indent=2).encode() + b"\n"])


def noted_answered(folder: Path) -> dict[str, str]:
    """Return the URL of the server whose answers each file of a folder has, where it is noted."""
    return _read_texts(folder / _ANSWERED)


def _read_texts(path: Path) -> dict[str, str]:
    """Return the texts of a note by their names; empty if there is none."""
    try:
        return {name: str(text) for name, text in read_json(path).items()}
    except (OSError, ValueError, AttributeError):
        return {}
