"""Limits on what one source may unpack to, so that no file fills the memory or takes forever."""

import io
from typing import IO

__all__ = ["ALL_LIMIT", "RECORDS_LIMIT", "RECORD_LIMIT", "Budget", "TooLargeError"]

RECORD_LIMIT = 2**26
"""Bytes of one record."""

ALL_LIMIT = 2**31
"""Bytes that the compressed files of one source unpack to."""

RECORDS_LIMIT = 500_000
"""Records of one source."""


class TooLargeError(ValueError):
    """Compressed data that unpacks to more than a limit."""


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
