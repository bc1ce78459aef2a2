"""Reading what is a file; writing a file or a folder so that it appears whole or not at all."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EINVAL
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import IO

__all__ = ["check_input", "read_input", "whole_file", "whole_folder", "write_whole"]


def check_input(path: str | os.PathLike[str]) -> None:
    """Refuse what may never begin or end: a pipe, a socket, a device.

    Raises
    ------
    OSError
        Where the path is one, or nothing is there.
    """
    mode = Path(path).stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # Opening a folder says what it is.
        raise OSError(EINVAL, "a device or pipe, not a file", os.fspath(path))


def read_input(path: str | os.PathLike[str]) -> bytes:
    """Read a file that a user names.

    Raises
    ------
    OSError
        Where it cannot be read, or is a pipe, a socket or a device.
    """
    check_input(path)
    return Path(path).read_bytes()


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write to a temporary file in the same folder, then rename; what was there before stays until then.

    Raises
    ------
    FileNotFoundError
        Where there is no such folder.
    """
    with whole_file(path) as file:
        file.writelines(parts)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a temporary file in the same folder to write to, then rename it, as `write_whole`."""
    # In a hidden name, so that loading the folder passes over what a killed process leaves. Processes in containers
    # may have one number and one folder.
    _check_parent(path)
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    except OSError as error:
        if error.filename not in (None, os.fspath(temporary)):
            raise  # Of another file.
        # That of a full disk names no file, that of a rename two.
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give a temporary folder to write into, then rename it; an empty folder there gives way, to `replace` any folder.

    A folder that is replaced comes back where the new one cannot take its place.

    Raises
    ------
    FileExistsError
        Where there is a file, or a folder with something in it that is not to be replaced.
    FileNotFoundError
        Where the folder that it is to be in is not there.
    """
    path = path.resolve()
    if path.exists() and not (path.is_dir() and (replace or not any(path.iterdir()))):
        raise FileExistsError(f"{path} exists and is not an empty folder; remove it, or give another name")
    _check_parent(path)
    # The outer folder is hidden, as in write_whole, and private; the inner one has the usual permissions.
    with TemporaryDirectory(prefix=".attune-", suffix=".tmp", dir=path.parent) as outer:
        inner = Path(outer, path.name)
        inner.mkdir()
        yield inner
        old = Path(outer, f"{path.name}.old")
        with suppress(FileNotFoundError):  # Windows renames onto no folder.
            if replace:
                path.rename(old)
            else:
                path.rmdir()
        try:
            inner.rename(path)
        except BaseException:
            if old.exists():
                old.rename(path)
            raise


def _check_parent(path: Path) -> None:
    """Name the folder that is missing, where the system would name the temporary file."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to")
