"""Limits on what one source may unpack to, so that no file fills the memory or takes forever."""

import io
import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from typing import IO, Any

__all__ = [
    "ALL_LIMIT",
    "DEPTH_LIMIT",
    "KEPT_LIMIT",
    "RECORDS_LIMIT",
    "RECORD_LIMIT",
    "VALUES_LIMIT",
    "Budget",
    "TooLargeError",
    "check_json",
    "has_too_many_values",
    "is_nested_too_deeply",
    "may_have_values",
    "parse_json",
]

RECORD_LIMIT = 2**26
"""Bytes of one record."""

ALL_LIMIT = 2**31
"""Bytes that the compressed files of one source unpack to."""

KEPT_LIMIT = 2**28
"""Bytes of an archive that are in memory because they cannot be read where they are."""

RECORDS_LIMIT = 500_000
"""Records of one source."""


VALUES_LIMIT = 200_000
"""Values of one record: of two bytes in a file, each may take a kilobyte in memory."""

DEPTH_LIMIT = 200
"""Lists and objects within each other: as deep as pydantic reads JSON. Other parsers stop elsewhere."""

_TOKENS = re.compile(rb'"[^"]*"?|\[[ \t\r\n]*+\]|\{[ \t\r\n]*+\}|[][{},]')
_CLOSING, _COMMA = b"]}", ord(",")


class TooLargeError(ValueError):
    """Compressed data that unpacks to more than a limit."""


def check_json(data: bytes) -> None:
    """Check that a JSON document can be parsed in little time and memory.

    Raises
    ------
    ValueError
        Where it has too many values, or is nested too deeply.
    """
    if has_too_many_values(data):
        raise ValueError(f"it has more than {VALUES_LIMIT:,} values, the limit of one record")
    if is_nested_too_deeply(data):
        raise ValueError("nested too deeply to be a record")


def parse_json(data: bytes, object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Parse a JSON document, see `check_json`; the hook is that of `json.loads`.

    Raises
    ------
    ValueError
        Where it is no JSON, has too many values, or is nested too deeply.
    """
    check_json(data)
    return json.loads(data, object_pairs_hook=object_pairs_hook)


def has_too_many_values(data: bytes) -> bool:
    """Tell whether a JSON document has more values than a record may have, without parsing it."""
    return may_have_values(data, VALUES_LIMIT) and sum(mark not in _CLOSING for mark in _marks(data)) >= VALUES_LIMIT


def may_have_values(data: bytes, count: int) -> bool:
    """Tell whether a JSON document may have more than so many values, by what bounds their number."""
    # A value takes two bytes, with its comma or closing bracket.
    return len(data) >= 2 * count and sum(map(data.count, (b",", b"[", b"{"))) >= count


def is_nested_too_deeply(data: bytes) -> bool:
    """Tell whether a JSON document is nested more deeply than a record may be, without parsing it."""
    steps = (mark != _COMMA and (-1 if mark in _CLOSING else 1) for mark in _marks(data))
    return may_have_values(data, DEPTH_LIMIT) and any(depth > DEPTH_LIMIT for depth in accumulate(steps))


def _marks(data: bytes) -> Iterator[int]:
    """Yield the commas and brackets of a JSON document, but those of texts and of empty lists and objects."""
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8"):
        data = data.decode(encoding, "replace").encode("utf-8", "surrogatepass")
    data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A record has no more tokens: of each value a comma, two brackets or texts, and its key.
    for token in islice(_TOKENS.finditer(data), 4 * VALUES_LIMIT):
        if token.end() - token.start() == 1:
            yield data[token.start()]


class Budget:
    """How many bytes the compressed files of one source may still unpack to, and how many records it may have."""

    def __init__(self) -> None:
        self._left = ALL_LIMIT
        self._records = 0

    @property
    def is_spent(self) -> bool:
        """Whether the limit was passed: what follows is not read."""
        return self._left < 0

    def spend(self, size: int) -> None:
        """Take off what was unpacked; raise where that is more than was left."""
        self._left -= size
        if self.is_spent:
            raise TooLargeError(
                f"it unpacks to more than {ALL_LIMIT:,} bytes, the limit of one source; the rest is not read"
                " (if that is right, unpack it and load the folder)"
            )

    def allow(self, size: int) -> None:
        """Raise where what is about to be unpacked is more than is left."""
        if size > self._left:
            self.spend(size)

    def count_record(self) -> None:
        """Raise where a source has more records than anyone means to load: lines of two bytes are bombs too."""
        self._records += 1
        if self._records > RECORDS_LIMIT:
            self._left = -1
            raise TooLargeError(
                f"it has more than {RECORDS_LIMIT:,} records, the limit of one source; the rest is not read"
                " (if that is right, load it in parts)"
            )

    def bounded(self, stream: IO[bytes]) -> IO[bytes]:
        """Return the stream, charging what is read from it."""
        return io.BufferedReader(_Charged(stream, self), 2**16)


class _Charged(io.RawIOBase):
    def __init__(self, stream: IO[bytes], budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        self._budget.spend(len(data))
        buffer[: len(data)] = data
        return len(data)
