"""Documents: named bytes of one record each, chosen among files, kept within limits, or rows of Parquet.

Parquet files of records
------------------------
One row a record, its JSON text in the column ``record``.

What protects from files that unpack to too much is what the file's footer states, and only pyarrow reads that: without
it a group of rows is unpacked before its size is known. A file with a false footer can end the process.
"""

import gzip
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EINVAL
from fnmatch import fnmatchcase
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, cast

from attune_data.issues import Severity, SourceError
from attune_data.record import panics_as_errors
from attune_data.text import listed, plural

if TYPE_CHECKING:
    import polars as pl

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
    """Parse a JSON document, see `check_json`; `hook` is the `object_pairs_hook` of `json.loads`.

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
    """Yield the commas and brackets of a JSON document outside texts, and not of empty lists and objects."""
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
        """Raise if the next part would unpack to more bytes than are left."""
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
        """Return the stream; every byte read from it is charged."""
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


_COLUMN = "record"
_ROWS = 256
_MOST_ROWS = 2**14


def record_texts(stream: IO[bytes], budget: Budget) -> Iterator[bytes | None]:
    """Yield the column ``record`` of an open Parquet file, None for null; a few rows are in memory at a time.

    Raises
    ------
    ValueError
        Where the file is damaged, is not Parquet, or has no such column of text.
    TooLargeError
        Before a group of rows is unpacked that is larger than the bytes left, if pyarrow is installed.
    """
    import polars as pl

    start = 0
    try:
        file = pl.scan_parquet(stream, glob=False, hive_partitioning=False)
        with panics_as_errors():
            _check(file.collect_schema())
            stated = file.select(pl.len()).collect().item()
        column = file.select(pl.col(_COLUMN).cast(pl.Binary))
        groups = _groups(stream)
        for rows, size, step in [(stated, 0, _ROWS)] if groups is None else groups:
            budget.allow(size)
            end = start + rows
            while start < end:
                with panics_as_errors():
                    texts = column.slice(start, min(step, end - start)).collect().to_series()
                if not texts.len():
                    raise ValueError("it has fewer rows than it states")
                yield from (texts[row] for row in range(texts.len()))
                start += texts.len()
    except pl.exceptions.PolarsError as error:
        place = f" beyond row {start}" if start else ""
        message = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"not whole Parquet{place}: {message}; is the file cut off?") from None


def _groups(stream: IO[bytes]) -> list[tuple[int, int, int]] | None:
    """Return rows, unpacked bytes and rows to read at a time of every group of rows; None without pyarrow."""
    try:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        return None
    footer = pq.read_metadata(stream)
    found = []
    for place in range(footer.num_row_groups):
        group = footer.row_group(place)
        chunks = (group.column(number) for number in range(group.num_columns))
        chunk = next((chunk for chunk in chunks if chunk.path_in_schema == _COLUMN), None)
        if chunk is None or group.num_rows < 0 or chunk.total_uncompressed_size < 0:
            raise ValueError("its footer is damaged")
        rows, size = group.num_rows, chunk.total_uncompressed_size
        step = max(1, min(_MOST_ROWS, rows * RECORD_LIMIT // max(size, 1)))
        # Each text is kept as its difference from the one before, and may be longer than the size says.
        found.append((rows, size, 1 if "DELTA_BYTE_ARRAY" in chunk.encodings else step))
    return found


def _check(schema: "pl.Schema") -> None:
    import polars as pl

    kind = schema.get(_COLUMN)
    if kind is None:
        hint = ""
        if schema.keys() & {"conversation_id", "scenario_id"}:
            hint = "; is it one of the tables beside a records.parquet?"
        elif schema.keys() >= {"model", "unit"}:
            hint = "; attune_bench.Scores.read reads scores, and tables of results"
        raise ValueError(f"it has no column 'record' with a record's JSON a row, only {listed([*schema])}{hint}")
    if kind not in (pl.String, pl.Binary):
        raise ValueError(f"its column 'record' is {kind}; expected text, a record's JSON a row")


_LINES = (".jsonl", ".jsonl.gz")
WHOLE = (".json", ".json.gz")
"""Files that are one JSON document."""

FILES = (*WHOLE, *_LINES, ".parquet")
_RECORDS = "/records.parquet"
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
OTHER_ARCHIVES = (".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".7z", ".rar")

_USUAL = 2**18
_BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Document:
    """One record's bytes, or why they could not be read.

    `name` is the file's path within the source, with ``:line`` for a line of JSONL, ``:row`` for a row of Parquet.
    Where there is a `problem`, `severity`, `rule` and `consequence` say how it is reported. A JSON file that is too
    large for one record has its `path`, where it is a file of its own: it may have many records.
    """

    name: str
    data: bytes
    problem: str | None = None
    severity: Severity = "error"
    rule: str = "unreadable"
    consequence: str | None = None
    path: Path | None = None


Choice = Callable[[list[str]], list[str]]


def records(name: str, stream: IO[bytes], budget: Budget) -> Iterator[Document]:
    """Yield the records of an open file: one a line of JSONL or a row of Parquet, else one.

    A text is the record of one key, ``text``; a script is the JSON value that it assigns to a constant.
    """
    lower = name.lower()
    if lower.endswith(".json"):
        yield document(name, _whole(stream))
    elif lower.endswith(".json.gz"):
        with gzip.open(stream) as unpacked:
            yield document(name, _whole(budget.bounded(cast("IO[bytes]", unpacked))))
    elif lower.endswith(".js"):
        yield document(name, _assigned(_whole(stream)))
    elif lower.endswith(".txt"):
        text = _whole(stream).decode("utf-8-sig", "replace")
        yield document(name, json.dumps({"text": text}).encode())
    elif lower.endswith(".gz"):
        with gzip.open(stream) as unpacked:
            yield from _lines(name, budget.bounded(cast("IO[bytes]", unpacked)), budget)
    elif lower.endswith(".parquet"):
        yield from _rows(name, stream if stream.seekable() else _in_memory(stream), budget)
    else:
        yield from _lines(name, stream, budget)


def _whole(stream: IO[bytes]) -> bytes:
    """Return a file up to the limit of one record, and a byte more where it is longer."""
    data, size = b"", 2**16  # Room for the limit at once would cost more than reading.
    while part := stream.read(min(size, RECORD_LIMIT + 1 - len(data))):
        data += part
        size *= 2
    return data


def _assigned(script: bytes) -> bytes:
    """Return the JSON value of a script that only assigns it, as ``const DATA = {...};``; any other script as it is."""
    found = re.match(rb"(?:\s*//[^\n]*\n)*\s*(?:const|let|var)\s+\w+\s*=\s*", script)
    return script[found.end() :].rstrip(b"; \t\r\n") if found else script


def _in_memory(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream that can be read in any order, as Parquet is."""
    parts, size = [], 0
    while part := stream.read(_USUAL):
        parts.append(part)
        size += len(part)
        if size > KEPT_LIMIT:
            what = f"Parquet of more than {KEPT_LIMIT:,} bytes in an archive"
            raise TooLargeError(f"{what}; unpack it and load the folder")
    return io.BytesIO(b"".join(parts))


def document(name: str, data: bytes) -> Document:
    """Return the document of a record, or of a file too large to be a record."""
    if len(data) > RECORD_LIMIT:
        return Document(name, b"", f"larger than {RECORD_LIMIT:,} bytes, the limit of one record")
    if has_too_many_values(data):
        return Document(name, b"", f"it has more than {VALUES_LIMIT:,} values, the limit of one record")
    return Document(name, data)


def _lines(name: str, stream: IO[bytes], budget: Budget) -> Iterator[Document]:
    buffered = cast("io.BufferedReader", stream)
    encoding = json.detect_encoding(head) if (head := buffered.peek(4)[:4]).strip(b"\0") else "utf-8"
    if not encoding.startswith("utf-8"):
        yield Document(name, b"", f"its lines are {encoding.upper()}; expected UTF-8: save it so")
        return
    number, is_empty = 0, True
    while line := buffered.readline(RECORD_LIMIT + 1):
        number += 1
        if not line.strip(_BLANK):
            number += _skip_blank(buffered)
            continue
        is_empty = False
        budget.count_record()
        yield document(f"{name}:{number}", line.removesuffix(b"\n"))
        while line and not line.endswith(b"\n"):
            line = buffered.readline(RECORD_LIMIT)
    if is_empty:
        yield Document(name, b"")


def _skip_blank(stream: io.BufferedReader) -> int:
    """Read on to the next line with something in it; return how many lines that passes over.

    Line by line, two billion of them would take half an hour.
    """
    lines = 0
    while blank := len(ahead := stream.peek()) - len(ahead.lstrip(_BLANK)):
        lines += stream.read(blank).count(b"\n")
    return lines


def _rows(name: str, stream: IO[bytes], budget: Budget) -> Iterator[Document]:
    for number, text in enumerate(record_texts(stream, budget), start=1):
        budget.count_record()
        if text is None:
            yield Document(f"{name}:{number}", b"", "the record is null; expected its JSON")
        else:
            budget.spend(len(text))
            yield document(f"{name}:{number}", text)


def select(
    source: Path | str, names: Iterable[str], prefer: Sequence[str], *, may_be_empty: bool
) -> tuple[list[str], list[Document]]:
    """Return the files with records of a folder, an archive or an address on the Hub, and a note on the others.

    The names are in order: the files that match one of `prefer`, else every JSON file, else every JSONL file, else
    every ``records.parquet``, else every Parquet file. What lies beside a ``records.parquet`` are tables of those
    records.

    Raises
    ------
    SourceError
        Where there is none, unless there may be none.
    """
    every = sorted(names)
    candidates = [name for name in every if not f"/{name}".lower().endswith("/annotation_codebook.json")]
    kinds = (WHOLE, _LINES, _RECORDS, ".parquet")
    of_kinds = ([name for name in candidates if f"/{name}".lower().endswith(kind)] for kind in kinds)
    preferred = [name for name in candidates if matches(name, prefer)]
    selected = preferred or next(filter(None, of_kinds), [])
    if not selected and not may_be_empty:
        packed = [name for name in every if name.lower().endswith((*ARCHIVES, *OTHER_ARCHIVES))]
        hint = f"; an archive in it is not entered, load it by itself: {shown_name(packed[0])}" if packed else ""
        raise SourceError(f"{source} has no .json, .jsonl or .parquet file, in itself or below{hint}")
    taken = set(selected)
    with_tables = {PurePosixPath(name).parent for name in selected if f"/{name}".lower().endswith(_RECORDS)}
    passed_over = [
        name
        for name in candidates
        if name not in taken
        and name.lower().endswith((*FILES, *ARCHIVES, *OTHER_ARCHIVES))
        and not (name.lower().endswith(".parquet") and PurePosixPath(name).parent in with_tables)
    ]
    if not passed_over:
        return selected, []
    names = listed([*map(shown_name, passed_over)], 5)
    message = f"{plural(len(passed_over), 'file is', 'files are')} not read here: {names}"
    where = source if isinstance(source, str) else source.name
    return selected, [Document(shown_name(where), b"", message, "note", rule="passed-over")]


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a file's name, its last part or as many as a pattern has, matches one of them in any letter case."""
    parts = name.lower().split("/")
    return any(
        len(parts) >= len(wanted) and all(map(fnmatchcase, parts[-len(wanted) :], wanted))
        for wanted in (pattern.split("/") for pattern in patterns)
    )


def shown_name(name: str | Path) -> str:
    """Return a file's name as text that can be written anywhere, also where it is not UTF-8 on disk."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def reason(error: Exception) -> str:
    """Return what an error of reading says, without the path."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


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


def hidden_beside(path: Path) -> Path:
    """Return a new path in the same folder, for a file that is renamed to `path` when it is whole."""
    # In a hidden name, so that loading the folder passes over what a killed process leaves. Processes in containers
    # may have one number and one folder.
    return path.with_name(f".{path.name}.{token_hex(4)}.tmp")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a temporary file in the same folder to write to, then rename it, as `write_whole`."""
    _check_parent(path)
    temporary = hidden_beside(path)
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    except OSError as error:
        if error.filename not in (None, os.fspath(temporary)):
            raise  # Of another file.
        # The error of a full disk names no file, the error of a rename two.
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
