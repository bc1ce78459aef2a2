"""The folder of a run: one run uses it at a time, it notes what it is of, and what its disk refuses is one line."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attune_bench.runner.journal import JournalError
from attune_data.io.files import write_whole
from attune_data.io.hub_address import is_address
from attune_data.text import printable

__all__ = ["RunError", "explained", "locked", "note_source", "noted_sources"]

_LOCK = ".lock"
_SOURCES = ".sources.json"


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


def note_source(folder: Path, source: str) -> None:
    """Add where the conversations came from to what the folder notes.

    A path is noted as it lies from the folder, so that both can be moved, and the note names nobody's home.
    """
    if _is_path(source):
        source = os.path.realpath(source)
        with suppress(ValueError):  # Of another drive there is no relative path.
            source = os.path.relpath(source, os.path.realpath(folder))
    noted = _read_sources(folder)
    if source not in noted:
        write_whole(folder / _SOURCES, [json.dumps([*noted, source], indent=2).encode() + b"\n"])


def noted_sources(folder: Path) -> list[str]:
    """Return where the conversations of the runs of a folder came from; empty where nothing says it."""
    return [os.path.realpath(folder / source) if _is_path(source) else source for source in _read_sources(folder)]


def _is_path(source: str) -> bool:
    return source != "demo" and not is_address(source)


def _read_sources(folder: Path) -> list[str]:
    try:
        noted = json.loads((folder / _SOURCES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    return [source for source in noted if isinstance(source, str)] if isinstance(noted, list) else []
