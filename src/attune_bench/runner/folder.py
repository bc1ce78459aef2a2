"""The folder of a run: one run uses it at a time, and what its disk refuses is told in one line."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attune_bench.runner.journal import JournalError
from attune_data._text import printable

__all__ = ["RunError", "explained", "locked"]

_LOCK = ".lock"


class RunError(Exception):
    """A run cannot begin or go on; the text says why and what to do. What was paid for is in the journal."""


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into one of the run."""
    try:
        yield
    except JournalError as error:
        raise RunError(f"{error}; what was paid for is kept, the same command goes on") from None
    except OSError as error:
        raise RunError(f"{printable(error.filename or folder)}: cannot be written: {error.strerror}") from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
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
