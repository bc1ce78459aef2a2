"""The cache file of a run: every response that was paid for, on disk the moment it arrives."""

import asyncio
import json
import math
import os
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, get_args

from attune_bench.runner.calls import FinishReason, Response

__all__ = ["Cache", "CacheError", "cache_key"]


class CacheError(Exception):
    """The cache file cannot be read or written; the text names the file and the cause."""


def cache_key(**parts: Any) -> str:
    """Return the SHA-256 of everything that a response or a file depends on, given as JSON.

    Examples
    --------
    >>> cache_key(model="a", seed=1) == cache_key(seed=1, model="a")
    True
    >>> cache_key(model="a", seed=1) == cache_key(model="a", seed=2)
    False
    """
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


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
        What calls of earlier runs that were sent and gave no response may have cost, in US dollars.

    Raises
    ------
    CacheError
        The file cannot be read or opened for writing.

    Notes
    -----
    A last line that was cut off, by a kill or a full disk, is removed. Lines that are no entries are ignored and stay.
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
        # After whatever is being written.
        async with self._turn:
            os.close(self._file)

    def get(self, key: str) -> Response | None:
        """Return the response of a key, None for an unknown one."""
        return self._responses.get(key)

    def responses(self) -> list[Response]:
        """Return all responses, those that others of their key took the place of included."""
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
        """Add the most that a call may cost before it is sent, or minus that where nothing was charged.

        A response with that `Response.bound` settles it.
        """
        await self._put({"reserved": amount})

    async def _put(self, entry: dict[str, Any]) -> None:
        self._waiting.append(json.dumps(entry).encode() + b"\n")
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._write())
        await asyncio.shield(self._next)

    async def _write(self) -> None:
        """Write what waits; responses that arrive during one fsync share the next."""
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
            # What fits stays: it was paid for.
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
    """Raise where a line is of other types than this class writes."""
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
