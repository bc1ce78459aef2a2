"""Where records come from: files, folders, archives, the Hub, a Dataset, rows."""

import io
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from errno import ELOOP, ENOENT, ENOTDIR
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from attune_data.io.documents import (
    ARCHIVES,
    FILES,
    OTHER_ARCHIVES,
    WHOLE,
    Budget,
    Choice,
    Document,
    document,
    matches,
    reason,
    records,
    select,
    shown_name,
)
from attune_data.issues import SourceError, shown
from attune_data.text import listed

if TYPE_CHECKING:
    import datasets

_RECORD = "record"


def is_dataset(source: object) -> bool:
    """Tell whether a source comes from the library datasets, without importing it."""
    return type(source).__module__.partition(".")[0] == "datasets"


# By package and type of a table: the code that makes a frame of polars of it.
_FRAMES = {
    ("polars", "DataFrame"): "frame",
    ("polars", "LazyFrame"): "frame.collect()",
    ("pandas", "DataFrame"): "polars.from_pandas(frame)",
    ("pyarrow", "Table"): "polars.from_arrow(table)",
}


def frame_code(given: object) -> str | None:
    """Return the code that makes a frame of polars of a table of some library, for messages; None of anything else."""
    kind = type(given)
    return _FRAMES.get((kind.__module__.partition(".")[0], kind.__name__))


def type_of_table(given: object) -> str:
    """Return the type and the library of a table, a column or an array, for messages; empty of anything else.

    Examples
    --------
    >>> import numpy as np
    >>> type_of_table(np.zeros(3)), type_of_table([0, 0, 0])
    ('numpy.ndarray', '')
    """
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    # A number of numpy is no array.
    is_one = package in {"polars", "pandas", "pyarrow"} or (package == "numpy" and getattr(given, "ndim", 0) > 0)
    return f"{package}.{kind.__name__}" if is_one else ""


def rows(source: Any, raw: Sequence[Sequence[str]]) -> Iterator[Document]:
    """Yield the records of a Dataset, named ``row 0`` and so on, as it counts; it needs all columns of one of `raw`.

    Raises
    ------
    SourceError
        Where it is not one table, has no row, or its rows are not records.
    """
    import datasets

    if isinstance(source, dict):
        splits = ", ".join(map(str, source)) or "none"
        first = next(iter(source), "train")
        raise SourceError(
            f"the source is a datasets.{type(source).__name__}; give one of its splits ({splits}): source[{first!r}]"
        )
    if not isinstance(source, datasets.Dataset):
        made = "datasets.Dataset.from_list(list(source))" if hasattr(source, "__iter__") else "a datasets.Dataset"
        raise SourceError(f"the source is a datasets.{type(source).__name__}; give {made}")
    columns = source.column_names
    if _RECORD in columns:
        source = source.select_columns([_RECORD])
    elif any(needed and set(needed) <= set(columns) for needed in raw):
        yield Document("rows", b"", _NULLS, "note", rule="nulls-dropped", consequence="nulls count as absent")
    else:
        raise SourceError(
            f"the Dataset has neither a column {_RECORD!r}, a record as JSON text, nor the columns of a record,"
            f" {' or '.join(' and '.join(map(repr, needed)) for needed in raw)}; it has: {listed(columns) or 'none'}."
            " Records cannot be made of tidy tables: give the table of the records"
        )
    if not len(source):
        raise SourceError("the Dataset has no row")
    number = 0
    try:
        for number, row in enumerate(source.with_format(None)):
            yield row_document(f"row {number}", row)
    except ValueError as error:  # Arrow's own errors are of this class.
        raise SourceError(f"the Dataset cannot be read from about row {number} on: {error}") from None


_NULLS = "in the columns of a Dataset a key that a record lacks is a null, as is one that was null"


def row_document(name: str, row: Mapping[str, Any]) -> Document:
    """Return the record of a row: the text or the bytes in its column ``record``, else all columns."""
    if _RECORD not in row:
        return document(name, json.dumps(_without_nulls(row), default=str).encode())
    found = row[_RECORD]
    if isinstance(found, str):
        return document(name, found.encode("utf-8", "surrogatepass"))
    if isinstance(found, bytes):
        return document(name, found)
    return Document(name, b"", f"the column {_RECORD!r} has no text but {type(found).__name__}")


def _without_nulls(value: Any) -> Any:
    """Drop the keys that Arrow fills in where other rows have them; a null in a list is one."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


Source: TypeAlias = "str | os.PathLike[str] | datasets.Dataset"


def documents(
    source: Source,
    choose: Choice | None = None,
    *,
    prefer: Sequence[str] = (),
    demo: str | None = None,
    columns: Sequence[Sequence[str]] = (),
) -> Iterator[Document]:
    """Yield every record of a source, in name order.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        ``"demo"``; a ``.json`` or ``.json.gz`` file, one record; a ``.jsonl`` or ``.jsonl.gz`` file, one record
        a line; a ``.parquet`` file with a column ``record``, one record's JSON a row; a folder, read
        recursively: every ``.json`` and ``.json.gz`` file, else every ``.jsonl`` and ``.jsonl.gz`` file, else
        every ``records.parquet``, else every ``.parquet`` file; or an archive (``.zip``, ``.tar``, ``.tar.gz``,
        ``.tgz``), read as a folder and not unpacked to disk. Names that begin with ``.`` or ``_`` are passed
        over, and so are ``annotation_codebook.json`` and the tables beside a ``records.parquet``. In a folder
        links are followed, each folder is read once; in an archive links, devices and names that lead out of it
        are reported. One record may have 64 MiB and 200,000 values in 200 levels, compressed data may unpack to
        2 GiB in all, and JSONL and Parquet may have 500,000 records.

        ``hf://owner/name[@revision][/path]`` is a data set on the Hugging Face Hub, read as a folder, or what lies in
        it at that path; only the files that are chosen are downloaded, into the cache that the ``hf`` tools share,
        which serves where the Hub cannot be reached. Files have the size that the Hub lists, and 2 GiB in all may be
        downloaded. A revision is a branch, a tag or a
        commit, with ``/`` written ``%2F``. ``HF_TOKEN``, ``HF_ENDPOINT``, ``HF_HOME`` and ``HF_HUB_OFFLINE`` are
        honoured.

        A ``datasets.Dataset`` has one record a row: as JSON text in its column ``record``, or as its columns. In such
        columns Arrow has a null for every key that a row lacks, so that nulls count as absent.
    choose : callable, optional
        Picks among the names of a folder's or an archive's files before any is read.
    prefer : sequence of str, optional
        Patterns of names: of a folder or an archive only the matching files are read, where there are any.
    demo : str, optional
        The file of the package that ``"demo"`` means, if any.
    columns : sequence of sequences of str, optional
        A Dataset with the columns of records has all of one of these.

    Raises
    ------
    SourceError
        Where there is no such file, an archive is damaged from its start, or no file in it could be read; where the
        Hub does not give the data, with the remedy.
    TypeError
        Where the source is of another type.
    """
    if is_dataset(source):
        yield from rows(source, columns)
        return
    text = source_text(source)
    if source == "demo":
        if demo is None:
            raise SourceError("this kind of record has no demo; give a file or a folder")
        stream = io.BufferedReader(io.BytesIO(_of_package(demo)))
        yield from records(PurePosixPath(demo).name.removesuffix(".bz2"), stream, Budget())
        return
    if not text:
        raise SourceError("the source is an empty text; give a file, a folder or demo")
    if is_address(text):
        yield from _hub(text, choose, prefer)
        return
    path = Path(text)
    try:
        # Not is_dir and exists: from Python 3.14 on they take a folder that may not be entered for one that is missing.
        is_folder, is_there = stat.S_ISDIR(path.stat().st_mode), True
    except PermissionError as error:
        raise SourceError(f"{path} cannot be reached: {error.strerror}") from None
    except OSError as error:
        if error.errno in (ENOENT, ENOTDIR, ELOOP):
            is_folder, is_there = False, path.is_symlink()
        else:
            raise SourceError(f"no such file or folder: {text[:80]!r}... ({error.strerror})") from None
    except ValueError:  # a name that no file can have
        is_folder = is_there = False
    if is_folder:
        yield from _folder(path, choose, prefer)
    elif not is_there:
        raise SourceError(f"no such file or folder: {path}{_nearest(path)}")
    elif archive_stem(path) is not None:
        from attune_data.io.archives import members

        yield from members(path, choose, prefer)
    elif path.name.lower().endswith((*FILES, ".js")) or matches(path.name, prefer):
        yield from _file(path, shown_name(path.name), Budget())
    elif path.name.lower().endswith(OTHER_ARCHIVES):
        raise SourceError(
            f"{path} is an archive of another kind than {', '.join(ARCHIVES)}; unpack it and load the folder"
        )
    else:
        is_table = path.suffix.lower() in {".csv", ".tsv", ".xlsx"}
        hint = "; attune_bench.Scores.from_table reads a table of results" if is_table else ""
        raise SourceError(
            f"{path} is neither a .json, .jsonl or .parquet file, an archive ({', '.join(ARCHIVES)}) nor a folder{hint}"
        )


@cache
def _of_package(name: str) -> bytes:
    """Return a file of the package, unpacked once: the large files take half the bytes of gzip, and long to unpack."""
    data = (files("attune_data") / name).read_bytes()
    if not name.endswith(".bz2"):
        return data
    import bz2

    return bz2.decompress(data)


def source_text(source: Source) -> str:
    """Return a source that is a path or an address as text.

    Raises
    ------
    TypeError
        Where it is neither.
    """
    text = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if isinstance(text, str):
        return text
    if typed := type_of_table(source):
        raise TypeError(f"the source is a {typed}{_instead_of_table(frame_code(source))}")
    raise TypeError(
        f"the source is {shown(source)}, of type {type(source).__name__}; expected a path, 'demo', an address hf://..."
        f" or a datasets.Dataset{_instead(source)}"
    )


def _instead_of_table(frame: str | None) -> str:
    scores = "attune_bench.Scores.from_table"
    if frame is None:
        return f", in which no value has a model and a unit; {scores} takes a polars.DataFrame with columns of both"
    return (
        f"; {scores}({frame}) takes a table of results, datasets.Dataset.from_polars({frame}) makes a source of a table"
        " of records"
    )


def _instead(source: object) -> str:
    """Return a hint for a value that is no source, where there is one."""
    if type(source).__module__.startswith("attune_"):
        is_kind = hasattr(source, "loader")
        return "; the kind comes second: load_records(source, kind)" if is_kind else "; it is loaded already"
    if isinstance(source, list | tuple | set):
        of_records = any(isinstance(one, dict) for one in source)
        return "; write each record as a line of JSON to a file in .jsonl" if of_records else _SEVERAL
    if isinstance(source, dict):
        return "; write the record as JSON to a file in .json"
    if isinstance(source, bytes):
        return "; os.fsdecode makes a path of bytes"
    return "; give the path of the file" if isinstance(source, io.IOBase) else ""


_SEVERAL = "; load each of several and join what comes with |"


def is_address(source: str) -> bool:
    """Tell whether a source is meant as an address on the Hub, well formed or not."""
    return re.match(r"\s*(?:hf:|https?:/)", source, re.IGNORECASE) is not None


def archive_stem(path: Path) -> str | None:
    """Return an archive's name without its suffix, or None where the name is not an archive's."""
    name = path.name
    return next((name[: -len(suffix)] for suffix in ARCHIVES if name.lower().endswith(suffix)), None)


def _nearest(path: Path) -> str:
    """Say how far the path exists, which shows where it was misspelt; or what else it may be that was given."""
    if str(path).lstrip()[:1] in ("{", "["):
        return "; JSON itself is no source: write it to a file in .json"
    if re.fullmatch(r"[\w.-]+/[\w.-]+", str(path)) and not path.parent.exists():
        return f"; a data set of that name on the Hub is hf://{path}"
    for parent in path.absolute().parents:
        if parent.is_dir():
            missing = path.absolute().relative_to(parent).parts[0]
            near = get_close_matches(missing, [one.name for one in parent.iterdir()], n=1)
            mend = f"; did you mean {near[0]!r}?" if near else ""
            return f" ({parent} exists, {missing!r} is not in it{mend})"
    return ""


def _folder(folder: Path, choose: Choice | None, prefer: Sequence[str]) -> Iterator[Document]:
    found: list[str] = []
    problems: list[Document] = []

    def unreadable(error: OSError) -> None:
        name = shown_name(Path(error.filename).relative_to(folder))
        problems.append(Document(name, b"", f"the folder cannot be read: {error.strerror}"))

    entered: set[tuple[int, int]] = set()
    for root, folders, names in os.walk(folder, onerror=unreadable, followlinks=True):
        try:
            status = Path(root).stat()
        except OSError as error:  # It has vanished since it was listed.
            folders.clear()
            unreadable(error)
            continue
        if (status.st_dev, status.st_ino) in entered:
            folders.clear()
            name = shown_name(Path(root).relative_to(folder))
            problems.append(Document(name, b"", "a link to a folder already read", "note", "passed-over"))
            continue
        entered.add((status.st_dev, status.st_ino))
        # A folder named like a record is not entered; reading it as a file reports it.
        like_files = [name for name in folders if name.lower().endswith(FILES)]
        folders[:] = sorted(name for name in folders if name not in like_files and name[0] not in "._")
        below = "".join(f"{part}/" for part in Path(root).relative_to(folder).parts)
        found += [f"{below}{name}" for name in (*names, *like_files) if name[0] not in "._"]
    yield from problems
    selected, notes = select(folder, found, prefer, may_be_empty=bool(problems))
    yield from notes
    yield from _files({name: folder / name for name in (choose(selected) if choose else selected)})


def _hub(text: str, choose: Choice | None, prefer: Sequence[str]) -> Iterator[Document]:
    from attune_data.io.hub import listing, parse_address

    found = listing(parse_address(text))
    if found.note:
        yield Document(text, b"", found.note, "note", rule="hub-cache", consequence="the cached files are read")
    if "" in found.files:
        yield from documents(found.fetch([""])[""], choose, prefer=prefer)
        return
    selected, notes = select(text, found.files, prefer, may_be_empty=False)
    yield from notes
    yield from _files(found.fetch(choose(selected) if choose else selected))


def _files(paths: Mapping[str, Path]) -> Iterator[Document]:
    budget = Budget()
    for name, path in paths.items():
        yield from _file(path, shown_name(name), budget)
        if budget.is_spent:
            return


def _file(path: Path, name: str, budget: Budget) -> Iterator[Document]:
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            with path.open("rb") as stream:
                found = records(name, stream, budget)
                if path.name.lower().endswith(WHOLE):
                    found = (replace(one, path=path) if one.problem is not None else one for one in found)
                yield from found
        else:
            yield Document(name, b"", f"a {'folder' if stat.S_ISDIR(mode) else 'device or pipe'}, not a file")
    except (OSError, EOFError, ValueError, zlib.error) as error:
        yield Document(name, b"", f"the file cannot be read: {reason(error)}")
