"""Where files come from: a file, a folder or a JSONL file, as named bytes. Nothing is parsed here."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from attune_data.issues import Severity, SourceError

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
    severity: Severity = "error"


Choice = Callable[[list[str]], list[str]]


def documents(
    source: str | os.PathLike[str],
    choose: Choice | None = None,
    *,
    prefer: str | None = None,
    demo: str = "demo.jsonl",
) -> Iterator[Document]:
    """Yield every record of a source, in name order.

    Parameters
    ----------
    source : str or path-like
        ``"demo"``; a ``.json`` file, one record; a ``.jsonl`` file, one record a line; or a folder, read
        recursively: every ``.json`` file, else every ``.jsonl`` file. Names that begin with ``.`` or ``_`` are passed
        over, and so is ``annotation_codebook.json``. Links are followed, each folder is read once.
    choose : callable, optional
        Picks among the names of a folder's files before any is read.
    prefer : str, optional
        Of a folder only the files whose names match this pattern, where there are any.
    demo : str
        The file of the package that ``"demo"`` stands for.

    Raises
    ------
    SourceError
        Where there is no such file, or a folder holds none that could be read.
    """
    if source == "demo":
        yield from _lines(demo, (files("attune_data") / demo).read_bytes())
        return
    if not os.fspath(source):
        raise SourceError("the source is an empty text; give a file, a folder or demo")
    path = Path(source)
    try:
        is_folder, is_there = path.is_dir(), path.exists() or path.is_symlink()
    except OSError as error:
        raise SourceError(f"no such file or folder: {os.fspath(source)[:80]!r}... ({error.strerror})") from None
    if is_folder:
        yield from _folder(path, choose, prefer)
    elif not is_there:
        raise SourceError(f"no such file or folder: {path}{_nearest(path)}")
    elif path.suffix.lower() not in _SUFFIXES:
        raise SourceError(f"{path} is neither a .json file, a .jsonl file nor a folder")
    else:
        yield from _file(path, _shown(path.name))


def _nearest(path: Path) -> str:
    """Say how far the path exists, which shows where it was misspelt."""
    for parent in path.absolute().parents:
        if parent.is_dir():
            return f" ({parent} exists, {path.absolute().relative_to(parent).parts[0]!r} is not in it)"
    return ""


def _folder(folder: Path, choose: Choice | None, prefer: str | None) -> Iterator[Document]:
    found: dict[str, Path] = {}
    problems: list[Document] = []

    def unreadable(error: OSError) -> None:
        name = _shown(Path(error.filename).relative_to(folder))
        problems.append(Document(name, b"", f"the folder cannot be read: {error.strerror}"))

    entered: set[tuple[int, int]] = set()
    for root, folders, names in os.walk(folder, onerror=unreadable, followlinks=True):
        status = Path(root).stat()
        if (status.st_dev, status.st_ino) in entered:
            folders.clear()
            name = _shown(Path(root).relative_to(folder))
            problems.append(Document(name, b"", "a link to a folder already read", "note"))
            continue
        entered.add((status.st_dev, status.st_ino))
        # A folder named like a record is not entered; reading it as a file reports it.
        like_files = [name for name in folders if name.lower().endswith(_SUFFIXES)]
        folders[:] = sorted(name for name in folders if name not in like_files and name[0] not in "._")
        paths = [Path(root, name) for name in (*names, *like_files) if name[0] not in "._"]
        found |= {path.relative_to(folder).as_posix(): path for path in paths}
    yield from problems
    records = [name for name in sorted(found) if found[name].name.lower() != "annotation_codebook.json"]
    chosen = (
        [name for name in records if prefer and found[name].match(prefer)]
        or [name for name in records if name.lower().endswith(".json")]
        or [name for name in records if name.lower().endswith(".jsonl")]
    )
    if not chosen and not problems:
        raise SourceError(f"{folder} holds no .json or .jsonl file, in itself or below")
    if passed_over := [name for name in records if name not in chosen and name.lower().endswith(_SUFFIXES)]:
        listed = ", ".join(map(_shown, passed_over[:5])) + (", ..." if len(passed_over) > 5 else "")
        yield Document(_shown(folder.name), b"", f"{len(passed_over)} files are not read here: {listed}", "note")
    for name in choose(chosen) if choose else chosen:
        yield from _file(found[name], _shown(name))


def _shown(name: str | Path) -> str:
    """Return a file's name as text that can be written anywhere, also where it is not UTF-8 on disk."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


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
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    for number, line in lines:
        yield Document(f"{name}:{number}", line)
    if not lines:
        yield Document(name, data)
