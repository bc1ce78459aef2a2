"""The output folder of a run: its lock, its notes of data, servers and refused schemas, errors of its disk."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from attune_bench.runner.cache import CacheError
from attune_data.io.documents import parse_json, read_input, write_whole
from attune_data.io.hub import is_address
from attune_data.text import printable

__all__ = [
    "ReplaceError",
    "RunError",
    "disk_errors",
    "locked",
    "note_refusal",
    "note_server",
    "note_source",
    "noted_refusals",
    "noted_servers",
    "noted_sources",
    "read_json",
    "remove_refusal",
    "source_at",
    "source_from",
]

_LOCK = ".lock"
_SOURCES = ".sources.json"
_SERVERS = ".servers.json"
_REFUSALS = ".schema_refused.json"

Served = tuple[str, str]
"""A provider and the name of a model that it serves."""


class _Refusal(NamedTuple):
    """What a server said, and whether it has answered the same call without its schema."""

    reason: str
    confirmed: bool


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
    source = source_from(folder, source)
    noted = _read_sources(folder)
    if source not in noted:
        write_whole(folder / _SOURCES, [json.dumps([*noted, source], indent=2).encode() + b"\n"])


def noted_sources(folder: Path) -> list[str]:
    """Return where the data of a folder came from; empty where nothing says it."""
    return [source_at(folder, source) for source in _read_sources(folder)]


def source_from(folder: Path, source: str) -> str:
    """Return a source as it is noted in a folder: a path relative to that, anything else as it is."""
    if _is_path(source):
        source = os.path.realpath(source)
        with suppress(ValueError):  # Of another drive there is no relative path.
            source = os.path.relpath(source, os.path.realpath(folder))
    return source


def source_at(folder: Path, noted: str) -> str:
    """Return a source that is noted in a folder."""
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
        It is no JSON, or too much of it.
    """
    return parse_json(read_input(path))


def _read_sources(folder: Path) -> list[str]:
    try:
        noted = read_json(folder / _SOURCES)
    except (OSError, ValueError):
        return []
    return [source for source in noted if isinstance(source, str)] if isinstance(noted, list) else []


def note_server(folder: Path, provider: str, url: str) -> None:
    """Note in a folder who served its judges, or would have; the URL, of a provider the latest, is without secrets."""
    noted = noted_servers(folder)
    if noted.get(provider) != url:
        write_whole(folder / _SERVERS, [json.dumps({**noted, provider: url}, indent=2).encode() + b"\n"])


def noted_servers(folder: Path) -> dict[str, str]:
    """Return the URLs that served the judges of a folder, by provider; empty where nothing says it."""
    try:
        noted = read_json(folder / _SERVERS)
        return {provider: str(url) for provider, url in noted.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def noted_refusals(folder: Path) -> dict[Served, str]:
    """Return which models' servers refused a schema in a folder, with what they said; those confirmed alone."""
    return {served: refusal.reason for served, refusal in _read_refusals(folder).items() if refusal.confirmed}


def note_refusal(folder: Path, served: Served, reason: str, *, confirmed: bool = False) -> None:
    """Note in a folder that the server of a model refused a schema, and what it said.

    It is confirmed once the server has answered the same call without the schema.
    """
    _write_refusals(folder, _read_refusals(folder) | {served: _Refusal(reason, confirmed)})


def remove_refusal(folder: Path, served: Served) -> None:
    """Remove the note of a refusal that was not the schema's."""
    _write_refusals(folder, {other: refusal for other, refusal in _read_refusals(folder).items() if other != served})


def _read_refusals(folder: Path) -> dict[Served, _Refusal]:
    try:
        noted = read_json(folder / _REFUSALS)
        return {
            (entry["provider"], entry["model"]): _Refusal(str(entry["reason"]), entry["confirmed"] is True)
            for entry in noted
        }
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _write_refusals(folder: Path, noted: Mapping[Served, _Refusal]) -> None:
    if not noted:
        (folder / _REFUSALS).unlink(missing_ok=True)
        return
    entries = [
        {"provider": provider, "model": model, "reason": refusal.reason, "confirmed": refusal.confirmed}
        for (provider, model), refusal in noted.items()
    ]
    write_whole(folder / _REFUSALS, [json.dumps(entries, indent=2).encode() + b"\n"])
