"""Where files come from: a file, a folder or a JSONL file, as named bytes. Nothing is parsed here."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from attune_data.issues import SourceError

__all__ = ["Choice", "Document", "documents"]

_SUFFIXES = (".json", ".jsonl")


@dataclass(frozen=True, slots=True)
class Document:
    """One record's bytes, or why they could not be read.

    `name` is the file's path within the source, with ``:line`` for a line of JSONL.
    """

    name: str
    data: bytes
    problem: str | None = None


Choice = Callable[[list[str]], list[str]]


def documents(source: str | os.PathLike[str], choose: Choice | None = None) -> Iterator[Document]:
    """Yield every record of a source, in name order.

    Parameters
    ----------
    source : str or path-like
        ``"demo"``; a ``.json`` file, one record; a ``.jsonl`` file, one record a line; or a folder, read
        recursively: its ``conversation_*.json`` files where there are any, else every ``.json`` file, else every
        ``.jsonl`` file. Names that begin with ``.`` or ``_`` are passed over, and so is ``annotation_codebook.json``.
    choose : callable, optional
        Picks among the names of a folder's files before any is read.

    Raises
    ------
    SourceError
        Where there is no such file, or a folder holds none that could be read.
    """
    if source == "demo":
        demo = files("attune_data") / "demo.jsonl"
        yield from _lines("demo.jsonl", demo.read_bytes())
        return
    path = Path(source)
    if path.is_dir():
        yield from _folder(path, choose)
    elif path.exists() or path.is_symlink():
        if path.suffix.lower() not in _SUFFIXES:
            raise SourceError(f"{path} is neither a .json file, a .jsonl file nor a folder")
        yield from _file(path, path.name)
    else:
        raise SourceError(f"no such file or folder: {path}{_nearest(path)}")


def _nearest(path: Path) -> str:
    """Say how far the path exists, which shows where it was misspelt."""
    for parent in path.absolute().parents:
        if parent.is_dir():
            return f" ({parent} exists, {path.absolute().relative_to(parent).parts[0]!r} is not in it)"
    return ""


def _folder(folder: Path, choose: Choice | None) -> Iterator[Document]:
    found: list[tuple[str, Path]] = []
    unreadable: list[OSError] = []
    for root, folders, names in os.walk(folder, onerror=unreadable.append):
        # A folder named like a record is reported by _file, not entered.
        entered = [name for name in folders if not name.lower().endswith(_SUFFIXES)]
        for name in (*names, *(name for name in folders if name not in entered)):
            path = Path(root, name)
            found.append((path.relative_to(folder).as_posix(), path))
        folders[:] = [name for name in entered if not name.startswith(".")]
    for error in unreadable:
        yield Document(str(error.filename), b"", f"the folder cannot be read: {error.strerror}")
    visible = [item for item in sorted(found) if item[1].name[0] not in "._"]
    records = [item for item in visible if item[1].name.lower() != "annotation_codebook.json"]
    chosen = (
        [item for item in records if item[1].match("conversation_*.json")]
        or [item for item in records if item[1].suffix.lower() == ".json"]
        or [item for item in records if item[1].suffix.lower() == ".jsonl"]
    )
    if not chosen and not unreadable:
        raise SourceError(f"{folder} holds no .json or .jsonl file, in itself or below")
    paths = dict(chosen)
    for name in choose(list(paths)) if choose else paths:
        yield from _file(paths[name], name)


def _file(path: Path, name: str) -> Iterator[Document]:
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        yield Document(name, b"", "a folder, not a file")
    except OSError as error:
        yield Document(name, b"", f"the file cannot be read: {error.strerror}")
    else:
        if path.suffix.lower() == ".jsonl":
            yield from _lines(name, data)
        else:
            yield Document(name, data)


def _lines(name: str, data: bytes) -> Iterator[Document]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield Document(f"{name}:{number}", line)
