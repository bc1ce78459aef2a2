"""Loading conversations and runs of AttuneBench, the published subsets, and the tables of either."""

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, overload

from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.kinds import CONVERSATION, RUN, Conversations, Runs
from attune_data.attunebench.show import Conversation
from attune_data.attunebench.tables import TABLES, Tables, build_table
from attune_data.io.documents import FILES, Choice
from attune_data.io.hub import parse_address
from attune_data.io.sources import Source, archive_stem, is_address, is_dataset, source_text
from attune_data.issues import Issue, IssueLog, SourceError, shown
from attune_data.kinds import KINDS
from attune_data.loading import OnError, Progress, Reader, kinds_meant, load_chosen, load_records, records_of
from attune_data.record import gc_paused
from attune_data.tables import Frames
from attune_data.text import did_you_mean


def subset_choice(source: Source, subset: str, found: IssueLog) -> Choice:
    """Return the choice of a subset's files among the files of a source; missing and extra numbers go to `found`.

    Raises
    ------
    ValueError
        No subset has that name.
    SourceError
        The source is neither a folder nor an archive nor an address on the Hub.
    """
    subsets = load_codebook().subsets
    if subset not in subsets:
        raise ValueError(f"unknown subset {subset!r}; {did_you_mean(subset, subsets)}")
    named = _named(source)
    if named is None:
        given = "a Dataset" if is_dataset(source) else source
        raise SourceError(f"subset={subset!r} needs a folder or archive of conversation_<n>.json files, not {given}")
    name, folder = named
    wanted = subsets[subset]

    def choose(names: list[str]) -> list[str]:
        """Choose from the subset's own folder if it exists, else by file number from all; each number once."""
        own = [one for one in names if subset in PurePosixPath(folder, one).parts[:-1]]
        by_number: dict[int, str] = {}
        for one in own or names:
            if numbered := re.fullmatch(r"conversation_([0-9]+)\.json", PurePosixPath(one).name, re.IGNORECASE):
                by_number.setdefault(int(numbered[1]), one)
        missing = sorted(wanted - by_number.keys())
        chosen = sorted(by_number[number] for number in wanted & by_number.keys())
        if not chosen:
            raise SourceError(f"{name} has none of the {len(wanted)} files conversation_<n>.json of {subset}")
        extra = sorted(set(own) - set(chosen))
        if missing:
            message = f"{len(missing)} files of {subset} are missing: {', '.join(map(str, missing))}"
            found.append(Issue(name, "$", "subset-missing", "warning", shown(missing), message, "loaded without them"))
        if extra:
            message = f"{len(extra)} files are not part of {subset}: {', '.join(extra)}"
            found.append(Issue(name, "$", "subset-extra", "warning", shown(extra), message, "left out"))
        return chosen

    return choose


def _named(source: Source) -> tuple[str, str] | None:
    """Return what issues call a source of many files, and the name of its folder; None for any other source."""
    if is_dataset(source):
        return None
    text = source_text(source)
    if is_address(text):
        address = parse_address(text)
        path, name, is_folder = Path(address.path or address.repo), text, not address.path.lower().endswith(FILES)
    else:
        path = Path(text)
        # A path that does not exist is reported where it is read.
        is_folder = path.is_dir() or (text != "demo" and not path.exists())
        name = path.resolve().name if is_folder else path.name
    stem = archive_stem(path)
    if stem is not None and not path.is_dir():
        return name, stem
    return (name, path.resolve().name) if is_folder else None


F = TypeVar("F", bound=Frames)


def load(
    source: Source, *, subset: str | None = None, on_error: OnError = "report", progress: Progress = None
) -> Conversations:
    """Load annotated conversations.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        ``"demo"``, a ``.json`` file, a ``.jsonl`` or ``.jsonl.gz`` file, a ``.parquet`` file with a column ``record``,
        a folder (read recursively, in name order; also one that ``to_parquet`` wrote), a ``.zip``, ``.tar``,
        ``.tar.gz`` or ``.tgz`` archive, read as a folder,
        ``hf://owner/name[@revision][/path]``, a data set on the Hugging Face Hub, read as a folder (``HF_TOKEN``,
        ``HF_ENDPOINT``, ``HF_HOME`` and ``HF_HUB_OFFLINE`` are honoured), or a ``datasets.Dataset`` with one record a
        row, as JSON text in a column ``record`` or as its columns; a null in a column counts as absent.
    subset : str, optional
        ``Sample200``, ``Subsample100``, ``Subsample50``, ``Subsample25`` or ``Subsample20``: only these file numbers
        of a folder, an archive or a data set on the Hub, from the folder of that name where there is one. Missing
        numbers and extra files are issues.
    on_error : {"report", "raise"}
        ``"report"`` leaves a bad record out, clamps a number outside its range, and lists both in ``.issues``;
        ``"raise"`` raises one error that lists all of it, and rejects a record with a number outside its range.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Conversations
        The good records; ``.issues`` says what was wrong, changed or contradictory.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached, has nothing to read or only records of another kind.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where there is no subset of that name, or `on_error` is neither choice.

    Examples
    --------
    >>> conversations = load("demo")
    >>> conversations[0].metadata.category
    'Family'
    """
    if subset is None:
        return load_records(source, CONVERSATION, on_error=on_error, progress=progress)
    issues = IssueLog()
    choose = subset_choice(source, subset, issues)
    return load_chosen(source, CONVERSATION, choose=choose, issues=issues, on_error=on_error, progress=progress)


def load_runs(source: Source, *, on_error: OnError = "report", progress: Progress = None) -> Runs:
    """Load the run files of evaluated models.

    Numbers outside their range are clamped and reported. Of two runs of one conversation, model and mode the later
    ``run_timestamp`` counts, then the later file name; the other is an issue.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        ``"demo"``, a file, a folder, an archive, an address on the Hub or a Dataset, as in `load`.
    on_error : {"report", "raise"}
        ``"raise"`` raises one error where any record had to be left out.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Runs
        One per conversation, model and mode, in the order in which each was first read.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached, has nothing to read or only records of another kind.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where `on_error` is neither choice.

    Examples
    --------
    >>> load_runs("demo")
    <Collection of 80 runs, no issues>
    """
    return load_records(source, RUN, on_error=on_error, progress=progress)


@overload
def load_tables(source: Source, *, chunk: int = 1000) -> Tables: ...
@overload
def load_tables(source: Source, frames: type[F]) -> F: ...
def load_tables(source: Source, frames: type[Frames] | None = None, *, chunk: int = 1000) -> Any:
    """Load tables without keeping the records, for data that do not fit into memory as these.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        A folder that ``to_parquet`` wrote: its tables, each read when first asked for. Else conversations, as for
        `load`: the result equals ``load(source).tables``. ``"demo"`` has the tables of every kind.
    frames : type, optional
        Which tables such a folder has: `Tables`, `RunList`, `RunTables`, `ScenarioTables`, `EpisodeTables` or
        `SageTables`, or the ``tables`` of a kind; by default `Tables`.
    chunk : int
        How many conversations are in memory at a time.

    Returns
    -------
    Tables
        ``.issues`` says what was wrong, changed or contradictory in conversations; where an id is repeated, the source
        is read twice. A written folder has no issues.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached, has nothing to read, or has other tables.
    ValueError
        Where `chunk` is below 1.

    Examples
    --------
    >>> load_tables("demo").turns.equals(load("demo").tables.turns)
    True
    """
    if not hasattr(chunk, "__index__") or chunk < 1:
        raise ValueError(f"chunk is {chunk!r}; expected a number of records from 1")
    wanted: Any = Tables if frames is None else frames
    if not (isinstance(wanted, type) and issubclass(wanted, Frames)):
        names = [_name(kind.tables) for kind in kinds_meant(wanted)] or [*map(_name, _classes())]
        raise TypeError(f"frames is {shown(wanted)}; expected a class of tables: {' or '.join(names)}")
    folder = None if is_dataset(source) else Path(source_text(source))
    if folder is not None and source != "demo" and folder.is_dir():
        written = next((known for known in _classes() if known.are_in(folder)), None)
        if written is not None and issubclass(written, wanted):
            return written.read(folder)
        if written is not None:
            raise SourceError(f"{folder} has the tables of {written.__name__}: load_tables(folder, {_name(written)})")
    if not issubclass(Tables, wanted):
        kind = next((kind for kind in KINDS if kind.tables is wanted), None)
        if source == "demo" and kind is not None:
            return load_records("demo", kind).tables
        raise SourceError(f"{source} is not a folder with the tables of {wanted.__name__}, as to_parquet writes them")
    return _built(source, chunk)


def _classes() -> list[type[Frames]]:
    """Return every class of tables."""
    found = [frames for kind in KINDS for frames in (kind.tables, kind.joined)]
    return list(dict.fromkeys(frames for frames in found if frames is not None))


def _name(frames: type[Frames]) -> str:
    """Return what a user passes for a class of tables: its kind has one that no module does."""
    if hasattr(sys.modules[frames.__module__], frames.__name__):
        return frames.__name__
    return next(f"attune_data.kinds.{kind.noun.upper()}.tables" for kind in KINDS if kind.tables is frames)


def _built(source: Source, chunk: int) -> Tables:
    import polars as pl

    reader = Reader(CONVERSATION)
    parts: dict[str, list[pl.DataFrame]] = {name: [build_table(name, ())] for name in TABLES}
    records = _first_of_each(source, reader)
    while True:
        with gc_paused():
            part = list(islice(records, chunk))
            for name, frames in parts.items():
                frames.append(build_table(name, part))
        if len(part) < chunk:
            break
    frames_of = {name: pl.concat(frames, rechunk=False) for name, frames in parts.items()}
    return Tables(frames_of.__getitem__, [*reader.issues])


def _first_of_each(source: Source, reader: Reader[Conversation]) -> Iterator[Conversation]:
    """Yield the good conversations, the first of each id."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for conversation, _ in records_of(source, reader):
        if conversation.id in seen:
            repeated.add(conversation.id)
        else:
            seen.add(conversation.id)
            yield conversation
    if repeated:
        # What the others are compared with has gone by; read again, it gives these issues among the same ones.
        again = load_chosen(source, CONVERSATION, keep=lambda conversation, _: conversation.id in repeated)
        reader.issues = IssueLog()
        reader.issues.extend(again.found)
