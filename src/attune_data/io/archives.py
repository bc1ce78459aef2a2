"""Archives as sources: the members of a zip or tar as named bytes, in memory, within limits, never written to disk.

Members are not trusted: a link, a device, or a name that leads out of the archive is reported and not read.
"""

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Generic, TypeVar, cast

from attune_data.io import documents
from attune_data.io.documents import FILES, Budget, Choice, Document, TooLargeError, reason, records, select, shown_name
from attune_data.issues import SourceError

MEMBERS_LIMIT = 100_000
_HEADER_LIMIT = 2**16
_CHUNK = 2**20

_ENCRYPTED = 0x1
_ZIP_END = struct.Struct("<4s6xH10x")
_IN_ZIP64 = 0xFFFF
_END_MARK = bytes(tarfile.BLOCKSIZE)
_OUTSIDE = "its name leads out of the archive; not read"
_TWICE = "a later member has the same name and counts"

# Whatever zipfile, tarfile and the decompressors raise on bytes that are damaged or made to harm.
_DAMAGE = (
    OSError,
    EOFError,
    LookupError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)

T = TypeVar("T")


def members(path: Path, choose: Choice | None, prefer: Sequence[str]) -> Iterator[Document]:
    """Yield the records of an archive in the same choice and order as from a folder.

    Raises
    ------
    SourceError
        Where it is not an archive, or has no record.
    """
    if not path.is_file():
        raise SourceError(f"{path} is not a regular file")
    return (_zip if path.suffix.lower() == ".zip" else _tar)(path, choose, prefer)


class _Listing(Generic[T]):
    """The readable members of an archive, each with its place, and the problems of the others."""

    def __init__(self, path: Path, entries: Iterable[tuple[str, str | None, T]]) -> None:
        self.path = path
        self.places: dict[str, T] = {}
        self.problems: list[Document] = []
        count = 0
        try:
            for count, (name, problem, place) in enumerate(entries, start=1):
                if count > MEMBERS_LIMIT:
                    raise TooLargeError(f"it has more than {MEMBERS_LIMIT:,} members, the limit; the rest is not read")
                self._add(name, problem, place)
        except _DAMAGE as error:
            if not count:
                raise _unreadable(path, error) from None
            self._report(path.name, f"the archive cannot be read beyond {shown_name(name)}: {reason(error)}")

    def _add(self, name: str, problem: str | None, place: T) -> None:
        if name.endswith("/"):
            return
        path = PurePosixPath(name.replace("\\", "/"))
        if PureWindowsPath(path).anchor or ".." in path.parts:
            self._report(name, _OUTSIDE)
        elif any(part[0] in "._" for part in path.parts):
            return
        elif problem:
            self._report(name, problem)
        else:
            if str(path) in self.places and path.name.lower().endswith(FILES):
                self._report(name, _TWICE)
            self.places[str(path)] = place

    def _report(self, name: str, problem: str) -> None:
        self.problems.append(Document(shown_name(name), b"", problem))

    def select(self, prefer: Sequence[str]) -> tuple[list[str], list[Document]]:
        return select(self.path, self.places, prefer, may_be_empty=bool(self.problems))


def _unreadable(path: Path, error: Exception) -> SourceError:
    return SourceError(f"{path} cannot be read as a {path.suffix[1:]} archive: {reason(error)}")


def _problem(mode: int) -> str | None:
    """Return the problem of a member of this file type, as `stat` codes it; 0 is unknown."""
    if stat.S_ISLNK(mode):
        return "a link, not a file; not read"
    return None if stat.S_IFMT(mode) in (0, stat.S_IFREG) else "a device or pipe, not a file; not read"


# Zip: members are read in any order.


def _zip(path: Path, choose: Choice | None, prefer: Sequence[str]) -> Iterator[Document]:
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise _unreadable(path, error) from None
    with archive:
        listing = _Listing(path, _zip_entries(path, archive))
        yield from listing.problems
        names, notes = listing.select(prefer)
        yield from notes
        chosen = choose(names) if choose else names
        locked = [name for name in chosen if listing.places[name].flag_bits & _ENCRYPTED]
        if locked:
            what = f"{len(locked)} of {len(chosen)} files are encrypted, first {locked[0]}"
            yield Document(path.name, b"", f"{what}; unpack it with its password and load the folder")
        budget = Budget()

        def opened(name: str) -> IO[bytes]:
            return budget.bounded(archive.open(listing.places[name]))

        for name in chosen:
            if name not in locked:
                yield from _records(name, opened, budget)


def _zip_entries(path: Path, archive: zipfile.ZipFile) -> Iterator[tuple[str, str | None, zipfile.ZipInfo]]:
    entries = archive.infolist()
    for info in entries:
        yield info.filename, _problem(info.external_attr >> 16), info
    # zipfile does not compare the number of members that the archive states with those it found.
    with path.open("rb") as file:
        file.seek(-_ZIP_END.size - len(archive.comment), os.SEEK_END)
        mark, stated = _ZIP_END.unpack(file.read(_ZIP_END.size))
    if mark == b"PK\5\6" and stated not in (len(entries), _IN_ZIP64):
        raise EOFError(f"it states {stated} members and lists {len(entries)}")


def _records(name: str, opened: Callable[[str], IO[bytes]], budget: Budget) -> Iterator[Document]:
    """Yield the records of a member, or why it cannot be read; nothing once the budget is spent."""
    if budget.is_spent:
        return
    try:
        yield from records(shown_name(name), opened(name), budget)
    except _DAMAGE as error:
        yield Document(shown_name(name), b"", f"the member cannot be read: {reason(error)}")


# Tar: a compressed one can only be read forwards, so it is read for the names first, then for the chosen members. What
# comes before its turn is kept, as much as may be in memory, and the archive is read again for the rest.


def _tar(path: Path, choose: Choice | None, prefer: Sequence[str]) -> Iterator[Document]:
    listing = _Listing(path, _tar_entries(path))
    yield from listing.problems
    names, notes = listing.select(prefer)
    yield from notes
    names = choose(names) if choose else names
    numbers = {listing.places[name].offset: number for number, name in enumerate(names)}
    ends = [*accumulate((listing.places[name].size for name in names), initial=0)]
    budget = Budget()
    turn = 0
    while turn < len(names):
        began = turn
        kept: dict[str, IO[bytes]] = {}
        try:
            for offset, member in _tar_contents(path, max(numbers)):
                number = numbers.get(offset, -1)
                if number == turn:
                    kept[names[number]] = member
                elif number > turn and ends[number + 1] - ends[turn] <= documents.KEPT_LIMIT:
                    kept[names[number]] = io.BufferedReader(io.BytesIO(member.read()))
                while turn < len(names) and names[turn] in kept:
                    yield from _records(names[turn], kept.pop, budget)
                    turn += 1
                if budget.is_spent:
                    return
            changed = turn == began
        except _DAMAGE:
            changed = True
        if changed:
            yield Document(path.name, b"", "the archive has changed since its members were listed")
            return


def _tar_entries(path: Path) -> Iterator[tuple[str, str | None, tarfile.TarInfo]]:
    """Yield name, problem and header of each member that is there to its end."""
    with _unpacked(path) as unpacked:
        stream = _Forwards(unpacked)
        archive = tarfile.TarFile(fileobj=cast("IO[bytes]", stream))
        member = archive.next()
        while member is not None:
            following = archive.next()
            yield member.name + "/" * member.isdir(), _tar_problem(member), member
            member = following
        if stream.last_read != _END_MARK:
            raise EOFError("no end mark; is it cut off?")
        while stream.take(_CHUNK):  # The checksum of compressed data is at its end.
            pass


def _tar_problem(member: tarfile.TarInfo) -> str | None:
    if member.issparse():
        return "a sparse file; not read"
    if member.isreg() or member.isdir():
        return None
    return _problem(stat.S_IFLNK if member.issym() or member.islnk() else stat.S_IFCHR)


def _tar_contents(path: Path, last: int) -> Iterator[tuple[int, IO[bytes]]]:
    """Yield offset and content of each member to the last, in the archive's own order, each to be read at once."""
    with _unpacked(path) as unpacked:
        stream = _Forwards(unpacked)
        archive = tarfile.TarFile(fileobj=cast("IO[bytes]", stream))
        while (member := archive.next()) is not None and member.offset <= last:
            yield member.offset, io.BufferedReader(_Member(stream, member.size), 2**16)


def _unpacked(path: Path) -> IO[bytes]:
    return path.open("rb") if path.suffix.lower() == ".tar" else cast("IO[bytes]", gzip.open(path))


class _Member(io.RawIOBase):
    """So many bytes from where a stream is."""

    def __init__(self, stream: "_Forwards", size: int) -> None:
        self._stream = stream
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.take(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)


class _Forwards:
    """What `tarfile` reads from: it goes forwards only, and neither a header nor the whole may be too large."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._position = 0
        self.last_read = b""

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        if position < self._position:
            raise ValueError("a member of negative size")
        self._allow(position)
        while self._position < position and self.take(min(position - self._position, _CHUNK)):
            pass
        return self._position

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _HEADER_LIMIT:
            raise TooLargeError(f"a header of more than {_HEADER_LIMIT:,} bytes")
        self.last_read = self.take(size)
        return self.last_read

    def take(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._position += len(data)
        self._allow(self._position)
        return data

    def _allow(self, position: int) -> None:
        if position > documents.ALL_LIMIT:
            Budget().spend(position)
