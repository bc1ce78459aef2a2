"""Loading: a source into a collection of checked records, with an issue for everything that was noticed."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.run import Run
from attune_data.attunebench.subsets import subset_choice
from attune_data.attunebench.tables import TABLES, Tables, build_table
from attune_data.collection import Collection
from attune_data.io.sources import Document, Source, documents
from attune_data.issues import Issue, Severity, shown
from attune_data.loading import OnError, collect, counted, gc_paused, strictness
from attune_data.reading import CONVERSATION, LEFT_OUT, RUN, read_document

__all__ = ["load", "load_runs", "load_tables"]

_PREFERRED = "conversation_*.json"


def load(
    source: Source,
    *,
    subset: str | None = None,
    on_error: OnError = "report",
    progress: Callable[[int], object] | None = None,
) -> Collection[Conversation]:
    """Load annotated conversations.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        ``"demo"``, a ``.json`` file, a ``.jsonl`` or ``.jsonl.gz`` file, a ``.parquet`` file with a column ``record``,
        a folder (read recursively, in name order; also one that ``to_parquet`` wrote), a ``.zip``, ``.tar``,
        ``.tar.gz``, ``.tgz``, ``.tar.bz2`` or ``.tar.xz`` archive, read as a folder,
        ``hf://owner/name[@revision][/path]``, a data set on the Hugging Face Hub, read as a folder (``HF_TOKEN``,
        ``HF_ENDPOINT``, ``HF_HOME`` and ``HF_HUB_OFFLINE`` are honoured), or a ``datasets.Dataset`` with one record a
        row, as JSON text in a column ``record`` or as its columns, whose nulls count as absent.
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
    Collection of Conversation
        The good records; ``.issues`` says what was wrong, changed or contradictory.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached or holds nothing to read.
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
    strict = strictness(on_error)
    found: list[Issue] = []
    choose = None if subset is None else subset_choice(source, subset, found)
    records: dict[str, tuple[Conversation, Document]] = {}
    with gc_paused():
        for document in counted(documents(source, choose, prefer=_PREFERRED), progress):
            conversation = read_document(CONVERSATION, document, found=found, strict=strict)
            if conversation is None:
                continue
            first, where = records.setdefault(conversation.id, (conversation, document))
            if where is not document:
                found.append(_duplicate(document, conversation.id, where.name, same=first == conversation))
    return collect(CONVERSATION, list(records.values()), found, strict)


def load_tables(source: Source, *, chunk: int = 1000, cache: bool = False) -> Tables:
    """Load annotated conversations as frames, without keeping the records.

    Gives what ``load(source).tables`` gives, for data that does not fit into memory as records.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        As for `load`.
    chunk : int
        How many records are held at a time.
    cache : bool
        Whether to keep the tables and the issues as Parquet in the user's cache folder, and to take them from there
        when the same source is loaded again, which gives the same. The folder is ``ATTUNE_CACHE``, else
        ``attune-bench`` in ``XDG_CACHE_HOME`` or in the system's usual place, and may be deleted at any time. A source
        whose content or file names have changed, or another version of the library, makes a new entry.

    Returns
    -------
    Tables
        ``.issues`` says what was wrong, changed or contradictory; a repeated id is an error whatever its content, which
        is not kept for comparison.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached or holds nothing to read.
    ValueError
        Where `chunk` is no number from 1.

    Examples
    --------
    >>> load_tables("demo").turns.equals(load("demo").tables.turns)
    True
    """
    if not hasattr(chunk, "__index__") or chunk < 1:
        raise ValueError(f"chunk is {chunk!r}; expected a number of records from 1")
    read, build = partial(documents, source, prefer=_PREFERRED), partial(_tables, chunk=chunk)
    if not cache:
        return build(read())

    from attune_data._tables_cache import cached_tables

    return cached_tables(read, build)


def _tables(read: Iterable[Document], chunk: int) -> Tables:
    import polars as pl

    found: list[Issue] = []
    parts: dict[str, list[pl.DataFrame]] = {name: [build_table(name, ())] for name in TABLES}
    records = _first_of_each(read, found)
    while True:
        with gc_paused():
            held = list(islice(records, chunk))
            for name, frames in parts.items():
                frames.append(build_table(name, held))
        if len(held) < chunk:
            break
    frames_of = {name: pl.concat(frames, rechunk=False) for name, frames in parts.items()}
    return Tables(frames_of.__getitem__, found)


def _first_of_each(read: Iterable[Document], found: list[Issue]) -> Iterator[Conversation]:
    """Yield the good conversations, the first of each id; findings go to `found`."""
    names: dict[str, str] = {}
    for document in read:
        conversation = read_document(CONVERSATION, document, found=found)
        if conversation is None:
            continue
        if conversation.id in names:
            found.append(_duplicate(document, conversation.id, names[conversation.id], same=False))
        else:
            names[conversation.id] = document.name
            yield conversation


def _duplicate(document: Document, conversation_id: str, before: str, *, same: bool) -> Issue:
    message = f"{before} was read before and has the same id" + (", and the same content" if same else "")
    severity: Severity = "note" if same else "error"
    value, place = shown(conversation_id), "$.conversationId"
    return Issue(document.name, place, "duplicate-conversation", severity, value, message, LEFT_OUT)


def load_runs(
    source: Source, *, on_error: OnError = "report", progress: Callable[[int], object] | None = None
) -> Collection[Run]:
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
    Collection of Run
        One per conversation, model and mode, in the order in which each was first read.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached or holds nothing to read.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where `on_error` is neither choice.

    Examples
    --------
    >>> load_runs("demo")
    <Collection of 80 runs, no issues>
    """
    strict = strictness(on_error)
    found: list[Issue] = []
    records: dict[tuple[str, str, str], tuple[Run, Document]] = {}
    with gc_paused():
        for document in counted(documents(source, demo="attunebench/demo_runs.jsonl"), progress):
            run = read_document(RUN, document, found=found, strict=strict)
            if run is None:
                continue
            earlier = records.get(run.key)
            records[run.key] = (run, document) if earlier is None else _later(earlier, (run, document), found)
    return collect(RUN, list(records.values()), found, strict)


def _later(first: tuple[Run, Document], second: tuple[Run, Document], found: list[Issue]) -> tuple[Run, Document]:
    """Return the run that counts, of two with one key read in this order; the other is an issue."""
    before, after = _instant(first[0].run_timestamp), _instant(second[0].run_timestamp)
    counts, other, why = second, first, "its timestamp is later"
    if before == after:
        why = "its name is later, the timestamps do not tell"
    elif before is None or after is None:
        counts, other = (second, first) if before is None else (first, second)
        why = "it alone has a timestamp that can be read"
    elif before > after:
        counts, other = first, second
    message = f"{counts[1].name} holds the same conversation, model and mode, and counts: {why}"
    value = shown(other[0].run_timestamp)
    found.append(Issue(other[1].name, "$", "duplicate-run", "error", value, message, LEFT_OUT))
    return counts


def _instant(timestamp: str | None) -> datetime | None:
    """Return when a run ended, or None; a number is seconds since 1970, a time without a zone is UTC."""
    try:
        instant = datetime.fromisoformat(timestamp or "")
    except ValueError:
        try:
            return datetime.fromtimestamp(float(timestamp or ""), UTC)
        except (ValueError, OverflowError, OSError):
            return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
