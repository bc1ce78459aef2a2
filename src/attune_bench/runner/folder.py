"""The output folder of a run: its lock, its note of the data it was made from, errors of its disk as one line."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attune_bench.runner.cache import CacheError
from attune_data.io.files import write_whole
from attune_data.io.hub_address import is_address
from attune_data.text import printable

__all__ = ["RunError", "disk_errors", "locked", "note_source", "noted_sources"]

_LOCK = ".lock"
_SOURCES = ".sources.json"


class RunError(Exception):
    """A run cannot begin or go on; the text says why and what to do. What was paid for is in the cache file."""


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into a `RunError`."""
    try:
        yield
    except CacheError as error:
        raise RunError(f"{error}; what was paid for is kept, the same command goes on") from None
    except OSError as error:
        raise RunError(f"{printable(error.filename or folder)}: cannot be written: {error.strerror}") from None


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

    A path is noted relative to the folder, so that both can be moved, and the note names nobody's home.
    """
    if _is_path(source):
        source = os.path.realpath(source)
        with suppress(ValueError):  # Of another drive there is no relative path.
            source = os.path.relpath(source, os.path.realpath(folder))
    noted = _read_sources(folder)
    if source not in noted:
        write_whole(folder / _SOURCES, [json.dumps([*noted, source], indent=2).encode() + b"\n"])


def noted_sources(folder: Path) -> list[str]:
    """Return where the data of a folder came from; empty where nothing says it."""
    return [os.path.realpath(folder / source) if _is_path(source) else source for source in _read_sources(folder)]


def _is_path(source: str) -> bool:
    return source != "demo" and not is_address(source)


def _read_sources(folder: Path) -> list[str]:
    try:
        noted = json.loads((folder / _SOURCES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    return [source for source in noted if isinstance(source, str)] if isinstance(noted, list) else []
