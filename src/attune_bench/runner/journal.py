"""Every answer that was paid for, on disk the moment it arrives."""

import asyncio
import json
import math
import os
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

__all__ = ["Answer", "Journal", "JournalError", "key_of"]


class JournalError(Exception):
    """The journal cannot be read or written; the text names the file and the cause."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered to one request.

    Attributes
    ----------
    text : str
        The text of the answer; empty where the model said nothing.
    prompt_tokens, answer_tokens : int or None
        As the server counted them.
    cost : float or None
        US dollars; None where neither the server nor a price tells.
    bound : float or None
        The most that it may have cost, where the cost was limited.
    """

    text: str
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    cost: float | None = None
    bound: float | None = None


def key_of(**parts: Any) -> str:
    """Return the SHA-256 of everything that an answer depends on.

    Examples
    --------
    >>> key_of(model="a", seed=1) == key_of(seed=1, model="a")
    True
    >>> key_of(model="a", seed=1) == key_of(model="a", seed=2)
    False
    """
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Journal:
    """A file with one line for each answer; use it as an asynchronous context, within one process at a time.

    Its `lost` is what calls of earlier runs may have cost, in US dollars, that were sent and gave no answer.

    Parameters
    ----------
    path : Path
        The file; created where it does not exist.

    Raises
    ------
    JournalError
        The file cannot be read or opened for writing.

    Notes
    -----
    A last line that was cut off, as by a kill or a full disk, is taken off. Lines that are no entries are passed
    over and stay.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, Answer] = {}
        self._aside: list[float] = []
        self._waiting: list[bytes] = []
        self._turn = asyncio.Lock()
        self._damage: JournalError | None = None
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
            try:
                self._end = self._read()
                os.ftruncate(self._file, self._end)
                self.lost = max(math.fsum(self._aside), 0.0)
            except BaseException:
                os.close(self._file)
                raise
        except OSError as error:
            raise self._error(error) from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        # Behind whatever is being written.
        async with self._turn:
            os.close(self._file)

    def get(self, key: str) -> Answer | None:
        """Return the answer of a key, None where there is none."""
        return self._entries.get(key)

    def answers(self) -> list[Answer]:
        """Return all answers."""
        return list(self._entries.values())

    async def add(self, key: str, answer: Answer) -> None:
        """Add an answer; it is on the disk when this returns, even if the caller is cancelled meanwhile.

        Raises
        ------
        JournalError
            It could not be written. What was written before is intact; nothing can be added any more.
        """
        await self._put({"key": key, **asdict(answer)})
        self._entries[key] = answer

    async def set_aside(self, amount: float) -> None:
        """Add the most that a call may cost before it is sent, or minus that where nothing was charged.

        An answer of that `Answer.bound` settles it.
        """
        await self._put({"aside": amount})

    async def _put(self, entry: dict[str, Any]) -> None:
        self._waiting.append(json.dumps(entry).encode() + b"\n")
        await asyncio.shield(self._write())

    async def _write(self) -> None:
        """Write what waits; answers that arrive during one fsync share the next."""
        async with self._turn:
            if self._damage is not None:
                raise self._damage
            lines, self._waiting = b"".join(self._waiting), []
            if not lines:
                return
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
                    if entry.keys() == {"aside"}:
                        self._aside.append(_amount(entry["aside"]))
                        continue
                    key, answer = entry.pop("key"), Answer(**entry)
                    _check(key, answer)
                except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                    continue
                self._entries[key] = answer
                self._aside.append(-(answer.bound or 0.0))
        return end

    def _error(self, error: OSError) -> JournalError:
        return JournalError(f"{self._path}: the journal cannot be written: {error.strerror}")


def _check(key: object, answer: Answer) -> None:
    """Raise where a line is of other types than this class writes."""
    if not isinstance(key, str) or not isinstance(answer.text, str):
        raise TypeError
    for amount in (answer.prompt_tokens, answer.answer_tokens, answer.cost, answer.bound):
        if amount is not None and _amount(amount) < 0:
            raise ValueError


def _amount(value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not math.isfinite(value):
        raise ValueError
    return float(value)
