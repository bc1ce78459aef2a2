"""What every source yields: named bytes of one record each, chosen among its files and kept within limits."""

import gzip
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from attune_data.io import limits
from attune_data.io.limits import Budget, TooLargeError
from attune_data.io.parquet import record_texts
from attune_data.issues import Severity, SourceError
from attune_data.text import listed, plural

__all__ = [
    "ARCHIVES",
    "FILES",
    "Choice",
    "Document",
    "Selection",
    "document",
    "reason",
    "records",
    "select",
    "shown_name",
]

_LINES = (".jsonl", ".jsonl.gz")
FILES = (".json", *_LINES, ".parquet")
_RECORDS = "/records.parquet"
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

_USUAL = 2**18
_BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Document:
    """One record's bytes, or why they could not be read.

    `name` is the file's path within the source, with ``:line`` for a line of JSONL, ``:row`` for a row of Parquet.
    Where there is a `problem`, `severity`, `rule` and `consequence` say how it is reported.
    """

    name: str
    data: bytes
    problem: str | None = None
    severity: Severity = "error"
    rule: str = "unreadable"
    consequence: str | None = None


Choice = Callable[[list[str]], list[str]]


def records(name: str, stream: IO[bytes], budget: Budget) -> Iterator[Document]:
    """Yield the records of an open file: one a line of JSONL or a row of Parquet, else one."""
    lower = name.lower()
    if lower.endswith(".json"):
        data = stream.read(_USUAL)  # Room for the limit at once would cost more than reading.
        yield document(name, data if len(data) < _USUAL else data + stream.read(limits.RECORD_LIMIT + 1 - _USUAL))
    elif lower.endswith(".gz"):
        with gzip.open(stream) as unpacked:
            yield from _lines(name, budget.bounded(cast("IO[bytes]", unpacked)), budget)
    elif lower.endswith(".parquet"):
        yield from _rows(name, stream if stream.seekable() else _in_memory(stream), budget)
    else:
        yield from _lines(name, stream, budget)


def _in_memory(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream that can be read in any order, as Parquet is."""
    parts, size = [], 0
    while part := stream.read(_USUAL):
        parts.append(part)
        size += len(part)
        if size > limits.KEPT_LIMIT:
            what = f"Parquet of more than {limits.KEPT_LIMIT:,} bytes in an archive"
            raise TooLargeError(f"{what}; unpack it and load the folder")
    return io.BytesIO(b"".join(parts))


def document(name: str, data: bytes) -> Document:
    """Return the document of a record, or of what is too large to be one."""
    if len(data) > limits.RECORD_LIMIT:
        return Document(name, b"", f"larger than {limits.RECORD_LIMIT:,} bytes, the limit of one record")
    if limits.has_too_many_values(data):
        return Document(name, b"", f"it has more than {limits.VALUES_LIMIT:,} values, the limit of one record")
    return Document(name, data)


def _lines(name: str, stream: IO[bytes], budget: Budget) -> Iterator[Document]:
    buffered = cast("io.BufferedReader", stream)
    encoding = json.detect_encoding(head) if (head := buffered.peek(4)[:4]).strip(b"\0") else "utf-8"
    if not encoding.startswith("utf-8"):
        yield Document(name, b"", f"its lines are {encoding.upper()}; expected UTF-8: save it so")
        return
    number, is_empty = 0, True
    while line := buffered.readline(limits.RECORD_LIMIT + 1):
        number += 1
        if not line.strip(_BLANK):
            number += _skip_blank(buffered)
            continue
        is_empty = False
        budget.count_record()
        yield document(f"{name}:{number}", line.removesuffix(b"\n"))
        while line and not line.endswith(b"\n"):
            line = buffered.readline(limits.RECORD_LIMIT)
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


@dataclass(frozen=True, slots=True)
class Selection:
    """The names of the files with records, in name order, and a note on those that are passed over."""

    names: list[str]
    notes: list[Document]

    def chosen_by(self, choose: Choice | None) -> list[str]:
        """Return the names that `choose` picks, or all."""
        return choose(self.names) if choose else self.names


def select(source: Path | str, names: Iterable[str], prefer: Sequence[str], *, may_be_empty: bool) -> Selection:
    """Select the files of a folder, an archive or an address on the Hub that have records.

    These are the files that match one of `prefer`, else every JSON file, else every JSONL file, else every
    ``records.parquet``, else every Parquet file. What lies beside a ``records.parquet`` are tables of those records.

    Raises
    ------
    SourceError
        Where there is none, unless there may be none.
    """
    every = sorted(names)
    candidates = [name for name in every if PurePosixPath(name).name.lower() != "annotation_codebook.json"]
    kinds = (".json", _LINES, _RECORDS, ".parquet")
    of_kinds = ([name for name in candidates if f"/{name}".lower().endswith(kind)] for kind in kinds)
    preferred = [name for name in candidates if any(map(PurePosixPath(name.lower()).match, prefer))]
    selected = preferred or next(filter(None, of_kinds), [])
    if not selected and not may_be_empty:
        packed = [name for name in every if name.lower().endswith(ARCHIVES)]
        hint = f"; an archive in it is not entered, load it by itself: {shown_name(packed[0])}" if packed else ""
        raise SourceError(f"{source} has no .json, .jsonl or .parquet file, in itself or below{hint}")
    taken = set(selected)
    with_tables = {PurePosixPath(name).parent for name in selected if f"/{name}".lower().endswith(_RECORDS)}
    passed_over = [
        name
        for name in candidates
        if name not in taken
        and name.lower().endswith((*FILES, *ARCHIVES))
        and not (name.lower().endswith(".parquet") and PurePosixPath(name).parent in with_tables)
    ]
    if not passed_over:
        return Selection(selected, [])
    names = listed([*map(shown_name, passed_over)], 5)
    message = f"{plural(len(passed_over), 'file is', 'files are')} not read here: {names}"
    where = source if isinstance(source, str) else source.name
    return Selection(selected, [Document(shown_name(where), b"", message, "note", rule="passed-over")])


def shown_name(name: str | Path) -> str:
    """Return a file's name as text that can be written anywhere, also where it is not UTF-8 on disk."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def reason(error: Exception) -> str:
    """Return what an error of reading says, without the path."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
