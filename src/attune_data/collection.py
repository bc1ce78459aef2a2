"""Collections of records, which loading returns, and kinds of record.

A `Kind` says how records are recognised, loaded, tabulated, described and published. The kinds of the library are in
`attune_data.kinds.KINDS`, each defined beside its records. Your own kind is made in the same way and passed to
`attune_data.load_records`. Defaults follow from the class of the records: the table, the reading of older spellings,
the counts.
"""

import os
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from operator import attrgetter, index
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, Self, SupportsIndex, TypeVar, cast, overload

from attune_data.columns import choices_of, column_paths
from attune_data.description import description, grouped
from attune_data.display import Part, collection_html, fields_parts, one_turn, parts_text, titled, turn_parts
from attune_data.export import Exportable
from attune_data.io.documents import FILES, write_whole
from attune_data.issues import LEFT_OUT, Issue, Severity, count_severities, shown
from attune_data.query import Queryable, Traits, count_people, either
from attune_data.record import Record, same_content
from attune_data.repair import Fix, IssueCollector, fix_of
from attune_data.tables import Frames, record_builder, record_table
from attune_data.text import listed, plural, ruled

if TYPE_CHECKING:
    import polars as pl
    from hypothesis.strategies import SearchStrategy

R = TypeVar("R", bound=Record)
C = TypeVar("C", covariant=True)  # noqa: PLC0105  # as in every other module

Messages = list[tuple[Literal["user", "assistant"], str]]
"""The messages of a dialogue in order, each its role and text; the user is the person, the assistant the model."""

NOTED = frozenset(
    {"api_cost", "judge_cost", "simulator_cost", "usage"}
    | {"run_timestamp", "timestamp", "started_at", "finished_at", "duration_seconds", "latency"}
    | {"run_key", "request_id"}
)
"""Keys under which results note the cost of their answers, the time and duration of a run, and the request."""


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A document that lies beside records but is not one: it has all of `keys`, and `hint` says what reads it."""

    noun: str
    keys: frozenset[str]
    hint: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record was read: its file within the source, and the name of the folder of this file."""

    file: PurePosixPath
    folder: str

    @property
    def stem(self) -> str:
        """The name of the file without its ending, for instance ``gpt-4.1_result``."""
        name = self.file.name
        ending = next((ending for ending in FILES if name.lower().endswith(ending)), "")
        return name[: len(name) - len(ending)]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Which of two records with the same key counts, and why.

    `why` continues the message "... and counts"; `severity` is the severity of leaving out the other record.
    """

    second_counts: bool = False
    why: str = ""
    severity: Severity = "error"


def first_counts(first: Record, second: Record) -> Duplicate:
    """Decide that the first of two records counts; leaving out the second is only a note if both are equal."""
    if same_content(first, second):
        return Duplicate(why="; the content is the same", severity="note")
    return Duplicate()


_id = attrgetter("id")


def _text_at(get: Callable[[Any], Any], record: Any) -> str:
    value = get(record)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)


def _count(collection: Any) -> dict[str, Any]:
    """Count records by model and by every field that has a choice."""
    kind = collection.kind
    traits = {
        name: grouped(collection, attrgetter(path), order) for name, (path, order) in choices_of(kind.model).items()
    }
    return description(collection, kind.plural, traits=traits)


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind(Generic[R, C]):
    """One kind of record. `R` is the class of the records, `C` the class of their collections.

    Attributes
    ----------
    noun, plural : str
        What a record is called.
    model : type
        The record's class, which has an ``id``.
    collection : type
        The collection's class.
    keys : frozenset of str
        A document without any of these keys, as files spell them, is no record of this kind.
    loader : str
        The public function that loads such records, for messages.
    docs : str, optional
        The page in ``docs`` about the benchmark.
    is_other : callable
        Tells whether a document that has one of the keys is a record of another kind.
    other_files : tuple of ForeignFile
        Documents that lie beside such records.
    unpack : callable, optional
        Takes a document with many records and returns the documents of these records; None for any other document.
    fix : callable
        Brings a document in an older spelling into current form; by default `attune_data.repair.fix_of` the model.
    is_old : callable
        Tells whether a valid record has an older spelling and needs `fix`.
    check : callable
        The rules beyond types: reports what a valid record gets wrong.
    check_all : callable, optional
        Rules on all records of a source: takes the records, the number of their files, and an `IssueCollector`.
    place : callable, optional
        Fills in fields from the place of a record; the place of a row of a Dataset is None.
    key : callable
        The key of a record: no two records of a collection have the same key.
    identity : str
        The key in words.
    duplicate : callable
        Says which of two records with one key counts.
    duplicate_rule : str
        The rule of the issue that reports the record that does not count.
    unhashed : frozenset of str
        Keys of a result, as files spell them, that the hash of results leaves out: they say nothing about the answer,
        the question, the model or its settings. By default, the keys of `NOTED` that are not fields of `model`.
    prefer : str, optional
        A pattern of file names. If files in a folder match it, only these files are read.
    demo : str, optional
        The demonstration data, a file below ``attune_data``.
    columns : tuple of str
        Columns that a `datasets.Dataset` of these records must have; by default the keys that `model` requires.
    tables, joined : type
        The class of the collection's tables, and the class of the tables of `joined`, if any. By default `tables` is
        `attune_data.tables.record_table` of the model.
    build : callable
        Takes records and returns a function that makes the frame of a table from the table's name. Give it together
        with `tables`, or neither.
    cluster : str, optional
        The column of the clusters in which records are drawn and split, for the default table; by default each record
        is a cluster of its own.
    codebook_files : mapping
        By name, the model of each codebook file that these records use.
    request : str, optional
        A request of the authors to users of the data, for the card of a published data set.
    overview : mapping
        The columns that a list of records shows: for each heading, a function that returns the text of a record. By
        default the id and the columns of the table, without ``synthetic``.
    parts : callable
        Takes a record and returns its parts, the first about the whole record; by default its fields.
    of : callable, optional
        Takes a result and returns the id of the record that it answers.
    beside : callable, optional
        Takes a record and results of models and returns the record's parts after the first, with each model's answer
        beside the reference. By default the parts of the results follow below the record.
    reference : str
        Who gave the answers that count, for instance ``participant``.
    messages : callable, optional
        From a record to the `Messages` of its dialogue, where records have one.
    describe : callable
        Takes a collection and returns counts, which `attune_data.describe` explains. By default, counts by model and by
        every field that has a choice.
    documents : callable or str, optional
        Gives the hypothesis strategy of documents of this kind that load without an issue; or its ``module:name``. By
        default documents of the demonstration data, changed in ways that the model and the rules accept.
    """

    noun: str
    plural: str
    model: type[R]
    collection: Callable[..., C]
    keys: frozenset[str]
    loader: str = "load_records"
    docs: str | None = None
    is_other: Callable[[Mapping[str, Any]], bool] = lambda _: False
    other_files: tuple[ForeignFile, ...] = ()
    unpack: Callable[[Mapping[str, Any]], Sequence[Any] | None] | None = None
    fix: Fix = None  # type: ignore[assignment]  # filled in below
    is_old: Callable[[R], bool] = lambda _: False
    check: Callable[[R, IssueCollector], None] = lambda _record, _findings: None
    check_all: Callable[[Sequence[R], int, IssueCollector], None] | None = None
    place: Callable[[R, Place | None], R] | None = None
    key: Callable[[R], object] = _id
    identity: str = "id"
    duplicate: Callable[[R, R], Duplicate] = first_counts
    duplicate_rule: str = "duplicate-record"
    unhashed: frozenset[str] = None  # type: ignore[assignment]  # filled in below, as are columns, fix, tables and build
    prefer: str | None = None
    demo: str | None = None
    columns: tuple[str, ...] = ()
    tables: type[Frames] = None  # type: ignore[assignment]
    joined: type[Frames] | None = None
    build: "Callable[[Sequence[R]], Callable[[str], pl.DataFrame]]" = None  # type: ignore[assignment]
    cluster: str | None = None
    codebook_files: Mapping[str, Any] = field(default_factory=dict)
    request: str | None = None
    overview: Mapping[str, Callable[[R], str]] = field(default_factory=dict)
    parts: Callable[[R], Iterable[Part]] = fields_parts
    of: Callable[[R], str] | None = None
    beside: Callable[[R, Sequence[Any]], Iterable[Part]] | None = None
    reference: str = "reference"
    messages: Callable[[R], Messages] | None = None
    describe: Callable[[Any], dict[str, Any]] = _count
    documents: "Callable[[], SearchStrategy[dict[str, Any]]] | str | None" = None

    def __post_init__(self) -> None:
        if (self.tables is None) != (self.build is None):
            raise TypeError(f"the kind {self.noun} has tables or build, not both")
        model = self.model
        keys = {info.alias or name: info for name, info in model.model_fields.items()}
        defaults: Mapping[str, Callable[[], Any]] = {
            "fix": lambda: fix_of(model),
            "tables": lambda: record_table(model, self.noun, self.plural, self.cluster),
            "build": lambda: record_builder(model),
            "columns": lambda: tuple(key for key, info in keys.items() if info.is_required()),
            "unhashed": lambda: NOTED - keys.keys(),
        }
        for name, default in defaults.items():
            if getattr(self, name) in (None, ()):
                object.__setattr__(self, name, default())

    @cached_property
    def shown(self) -> Mapping[str, Callable[[R], str]]:
        """The columns that a list of records shows: `overview`, by default the id and the columns of the table."""
        paths = {"id": "id", **column_paths(self.model)}
        return self.overview or {
            name: partial(_text_at, attrgetter(path)) for name, path in paths.items() if name != "synthetic"
        }

    def transcript(self, record: R, columns: int, *, turn: int | None = None) -> str:
        """Return a record, or one of its turns, as text that is safe to print, wrapped to a number of columns.

        Raises
        ------
        ValueError
            If the record has no turn of this number.
        """
        if turn is None:
            return parts_text(titled(self.noun, record), self.parts(record), columns)
        parts = turn_parts(self.parts(one_turn(self.noun, record, turn)))
        return parts_text(titled(self.noun, record), parts, columns)

    def with_results(
        self, record: R, made: "Kind[Any, Any]", results: Sequence[Any], columns: int, *, turn: int | None = None
    ) -> str:
        """Return a record, or one of its turns, as text, together with the results of models for it.

        A kind with `beside` shows each result next to the part of the record that it answers; other kinds show the
        results below the record.

        Parameters
        ----------
        record : record
            A record of this kind.
        made : Kind
            The kind of the results. Its `of` says which record a result belongs to.
        results : sequence of record
            Results for any records; results for other records, and of other kinds, are not shown.
        columns : int
            The width of the text, in characters.
        turn : int, optional
            The number of the only turn to show; by default all turns are shown.

        Returns
        -------
        str
            The text, several lines.

        Raises
        ------
        ValueError
            If `made` has no `of`, no result belongs to the record, or the record, or a result below it, has no turn of
            this number.

        Examples
        --------
        >>> from attune_data import load, load_runs
        >>> from attune_data.kinds import CONVERSATION, RUN
        >>> first = load("demo")[0]
        >>> text = CONVERSATION.with_results(first, RUN, load_runs("demo"), 100, turn=1)
        >>> "synthetic/attentive" in text and "synthetic/hasty" in text
        True
        """
        whole = record
        if turn is not None:
            record = one_turn(self.noun, record, turn)
        of, name = made.of, _id(record)
        if of is None:
            raise ValueError(f"cannot match {made.plural} to {self.plural}: set Kind(of=...) of the kind {made.noun}")
        own = [one for one in results if isinstance(one, made.model) and of(one) == name]
        if not own:
            counted = plural(len(results), made.noun, made.plural)
            raise ValueError(f"none of {counted} is of the {self.noun} {name!r}")
        if self.beside is None:
            below = (
                f"{ruled(made.noun.upper(), columns)}\n\n{made.transcript(one, columns, turn=turn)}" for one in own
            )
            return "\n\n".join([self.transcript(whole, columns, turn=turn), *below])
        names = [one.id.removeprefix(f"{name}/") for one in own]
        first, *_ = self.parts(record)
        beside = self.beside(record, own)
        parts = [first, *(beside if turn is None else turn_parts(beside))]
        return parts_text(titled(self.noun, record), parts, columns, reference=self.reference, names=names)

    def reads(self, document: Mapping[str, Any]) -> bool:
        """Tell whether a document may be a record of this kind, or contain many such records."""
        is_one = not self.keys.isdisjoint(document) and not self.is_other(document)
        return is_one or (self.unpack is not None and self.unpack(document) is not None)

    def left_out(self, duplicate: Duplicate, record: R, file: str, counting: str) -> Issue:
        """Return the issue for a record that does not count, as one with the same key in the file `counting` does."""
        message = f"{counting} has the same {self.identity}, and counts{duplicate.why}"
        value = shown(_id(record))
        return Issue(file, "$", self.duplicate_rule, duplicate.severity, value, message, LEFT_OUT)

    def __repr__(self) -> str:
        return f"<Kind {self.noun}>"


class _Writable(Protocol):
    @property
    def id(self) -> str: ...
    def to_line(self) -> bytes: ...


T = TypeVar("T", bound=_Writable)
F = TypeVar("F", bound=Frames)
M = TypeVar("M")
_NAMED = 3
_PART = re.compile(r"[^\W_]+|[\W_]+")
_NUMBERED = re.compile(r"[^\W\d_]*\d+")


class Collection(Queryable, Exportable, Sequence[T], Generic[T]):
    """An immutable sequence of records of one kind that also finds them by id, and by trait.

    Each kind has a subclass, which says its `kind`: `Conversations`, `Runs`, `Scenarios`, `Episodes`, `Dialogues`.

    Two collections of a kind are equal where they have equal records in the same order, wherever these come from:
    issues, files and filters do not count. Equal collections have the same hash.

    Parameters
    ----------
    records : sequence
        The records, in order.
    found : sequence of Issue, optional
        What loading noticed.
    files : mapping of str to str, optional
        Id of a record to the file that it came from.
    filters : sequence of str, optional
        The queries that led to this collection, for the repr.
    root : Collection, optional
        The whole that this is a part of; a query may name the values of the whole.

    Raises
    ------
    TypeError
        Where a record is of another kind.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> len(conversations), len(conversations.issues)
    (40, 0)
    >>> conversations[conversations[3].id] is conversations[3]
    True
    >>> conversations["4efd4f90"] is conversations[0]
    True
    >>> conversations == load("demo"), conversations[[0, 2]] == conversations[:3:2]
    (True, True)
    """

    def __init__(
        self,
        records: Sequence[T],
        found: Sequence[Issue] = (),
        *,
        files: Mapping[str, str] | None = None,
        filters: Sequence[str] = (),
        root: Self | None = None,
    ) -> None:
        self._records = tuple(records)
        kind = self.kind
        for other in {type(record) for record in self._records}:
            if not issubclass(other, kind.model):
                raise TypeError(f"a collection of {kind.plural} takes no {other.__name__}; each kind has its own")
        self._found = tuple(found)
        self._files = dict(files or {})
        self._filters = tuple(filters)
        self._root = root

    @property
    @abstractmethod
    def kind(self) -> Kind[Any, Any]:
        """What the records are."""

    @property
    def files(self) -> Mapping[str, str]:
        """The file that each record came from, by id."""
        return MappingProxyType(self._files)

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> T: ...
    @overload
    def __getitem__(self, key: slice | Iterable[SupportsIndex]) -> Self: ...
    def __getitem__(self, key: SupportsIndex | str | slice | Iterable[SupportsIndex]) -> T | Self:
        """Return the record at a position or with an id, or a collection of several, which keeps all issues.

        An id may be shortened to a beginning that no other id has, but not in the middle of a number: ``S1`` does not
        find ``S10``. Several records are chosen by a slice, a list of positions, or a mask (true or false for each
        record). A list may also be an array of numpy or a series of polars or pandas.

        Raises
        ------
        KeyError
            If no record has the id, or several ids begin with it.
        IndexError
            If a position does not exist or is given twice, or if a mask has another length than the collection.
        TypeError
            Where a list has anything but whole numbers, or anything but true and false.
        """
        if isinstance(key, slice):
            return self._part(self._records[key], self._filters)
        if not isinstance(key, str):
            places = chosen_places(key, len(self), self.kind.plural)
            if isinstance(places, int):
                return self._records[places]
            for place, count in Counter(places).items():
                if count > 1:
                    raise IndexError(f"the list names position {place} twice; a collection has each record once")
            return self._part([self._records[place] for place in places], self._filters)
        if (name := self._whole_id(key)) is None:
            raise KeyError(f"no record with id {key!r}{self._near(key)}")
        return self._by_id[name]

    @overload
    def get(self, key: str, default: None = None) -> T | None: ...
    @overload
    def get(self, key: str, default: M) -> T | M: ...
    def get(self, key: str, default: object = None) -> object:
        """Return the record with exactly this id, or `default` if there is none; so records can be joined by their ids.

        Examples
        --------
        >>> from attune_data import load
        >>> demo = load("demo")
        >>> demo.get(demo[0].id) is demo[0], demo.get("nobody"), demo.get("4efd4f90")
        (True, None, None)
        """
        return self._by_id.get(key, default)

    def _whole_id(self, key: str) -> str | None:
        """Return `key` if it is an id, else the only id that begins with it; None if there is no such id."""
        if key in self._by_id:
            return key
        begun = [name for name in self._by_id if key and name.startswith(key)]
        if len(begun) > 1:
            raise KeyError(f"{len(begun)} ids begin with {key!r}: {listed(begun, _NAMED)}; give more of one")
        return begun[0] if begun and not _within_number(key, begun[0]) else None

    def _near(self, key: str) -> str:
        """Return the end of an error message, which asks whether an id with a similar beginning was meant."""
        begun = {name[: max(len(key), 1)]: name for name in reversed(self._by_id)}
        near = [repr(begun[one]) for one in get_close_matches(key, begun, n=3)]
        return f"; did you mean {' or '.join(near)}?" if near else f" among {len(self)} records"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        if self is other or len(self) != len(other):
            return self is other
        # A record with nan among its unknown keys does not equal its copy.
        return all(one is its or one == its or same_content(one, its) for one, its in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((type(self), tuple(record.id for record in self._records)))

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[T]:
        return iter(self._records)

    def __contains__(self, item: object) -> bool:
        """Tell whether a record, or a record with this whole id, is in the collection."""
        return item in self._by_id if isinstance(item, str) else item in self._records

    @cached_property
    def _by_id(self) -> dict[str, T]:
        return {record.id: record for record in self._records}

    @cached_property
    def tables(self) -> Frames:
        """The records as tidy frames, each built once, when first asked for."""
        return self._made(self.kind.tables)

    def _made(self, frames: type[F]) -> F:
        """Return the tables of the records, for the property of a subclass."""
        root = None if self._root is None else cast("F", self._root.tables)
        return frames(self.kind.build(self._records), self._found, self._filters, root)

    def _beside(self, others: Iterable[M], model: type[M], plural: str) -> tuple[list[M], tuple[Issue, ...]]:
        """Return the other records as a list, and the issues of these and of the collection's own records."""
        given: list[Any] = list(others) if hasattr(others, "__iter__") else [others]
        if not all(isinstance(other, model) for other in given):
            what = self.kind.plural
            raise TypeError(f"{what} are joined with {plural}, as their loader gives them: {what}.joined({plural})")
        noticed = others.found if isinstance(others, Collection) else ()
        return given, tuple(dict.fromkeys((*self._found, *noticed)))

    def _frames(self) -> "Iterator[tuple[str, pl.DataFrame]]":
        import polars as pl

        columns = {
            "id": [record.id for record in self],
            "file": [self.files.get(record.id) for record in self],
            "record": [record.to_line().decode() for record in self],
        }
        yield "records", pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        yield from self._tables()

    def _tables(self) -> "Iterator[tuple[str, pl.DataFrame]]":
        return self.tables._frames()

    def _table(self) -> Traits:
        return self.tables._table()

    def _keep(self, rows: Sequence[int], *labels: str) -> Self:
        records = [self._records[row] for row in rows]
        return self._part(records, (*self._filters, *labels))

    def _part(self, records: Sequence[T], filters: Sequence[str]) -> Self:
        return type(self)(records, self._found, files=self.files, filters=filters, root=self._origin())

    def __or__(self, other: Self) -> Self:
        """Return the records of both collections, the records of `self` first.

        If two records have the same key and differ, only one counts, as if both were read from one folder in this
        order: the later of two runs, a result rather than a failed episode, else the record of `self`. The other record
        becomes an issue.
        """
        if type(other) is not type(self):
            return NotImplemented
        kind = self.kind
        records = list(self)
        places = {kind.key(record): place for place, record in enumerate(records)}
        taken: list[T] = []
        differing: list[Issue] = []
        for record in other:
            place = places.setdefault(kind.key(record), len(records))
            if place == len(records):
                records.append(record)
                taken.append(record)
                continue
            first = records[place]
            if same_content(first, record):
                continue
            before, later = self.files.get(first.id, "the left of |"), other.files.get(record.id, "the right of |")
            when = (" of the source given before", " of the source given later") if before == later else ("", "")
            duplicate = kind.duplicate(first, record)
            if duplicate.second_counts:
                records[place] = record
                taken.append(record)
                differing.append(kind.left_out(duplicate, first, before, later + when[1]))
            else:
                differing.append(kind.left_out(duplicate, record, later, before + when[0]))
        files = {**self.files, **{record.id: other.files[record.id] for record in taken if record.id in other.files}}
        found = tuple(dict.fromkeys((*self._found, *other._found, *differing)))
        filters = either(self._filters, other._filters)
        return type(self)(records, found, files=files, filters=filters, root=self._common_origin(other))

    def to_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Write the records to a JSONL file, which their loader reads back as equal records.

        The file appears only when it is complete: it is written to a temporary file in the same folder, which is then
        renamed. So nobody reads half of it, and a failure leaves an older file unchanged.

        Parameters
        ----------
        path : str or path-like
            A name that ends in ``.jsonl``, in a folder that exists.

        Raises
        ------
        ValueError
            If the name has another ending, so that the file could not be loaded as JSONL.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from attune_data import load
        >>> conversations = load("demo")
        >>> with TemporaryDirectory() as folder:
        ...     conversations[:3].to_jsonl(Path(folder, "three.jsonl"))
        ...     list(load(Path(folder, "three.jsonl"))) == list(conversations[:3])
        True
        """
        target = Path(path)
        if target.suffix.lower() != ".jsonl":
            raise ValueError(f"to_jsonl writes one record a line: {target.name!r} has to end in .jsonl")
        write_whole(target, (record.to_line() + b"\n" for record in self))

    def _summary(self) -> str:
        kind = self.kind
        people = count_people(getattr(record, "participant_id", None) for record in self._records)
        participants = [plural(people, "participant")] if people else []
        counts = count_severities(self._found)
        listed = [plural(counts[severity], severity) for severity in ("error", "warning", "note") if counts[severity]]
        noted = listed or ["no issues"]
        return ", ".join([plural(len(self), kind.noun, kind.plural) + self._detail(), *participants, *noted])

    def _detail(self) -> str:
        """Return what the summary of a kind's collections says in addition to the number of records."""
        return ""

    def __repr__(self) -> str:
        filters = f"; {self.asked}" if self._filters else ""
        return f"<Collection of {self._summary()}{filters}>"

    def _repr_html_(self) -> str:
        return collection_html(self._records, self.kind.shown, self._summary(), self.asked)


def chosen_places(key: object, length: int, plural: str) -> int | list[int]:
    """Return the position, or the positions that a list or a mask chooses, counted from the beginning of a sequence.

    Parameters
    ----------
    key : object
        The value in brackets: one whole number, or several, or true or false for each item. Several are in a list, an
        array of numpy, or a series of polars or pandas. Negative numbers count from the end.
    length : int
        How many items there are.
    plural : str
        What they are called.

    Raises
    ------
    IndexError
        Where there is no such position, or a mask has another length.
    TypeError
        Where a list has anything but whole numbers, or anything but true and false.

    Examples
    --------
    >>> chosen_places([0, -1], 3, "records"), chosen_places([True, False, True], 3, "records")
    ([0, 2], [0, 2])
    """
    kind = type(key).__name__
    if not isinstance(key, Iterable) or isinstance(key, str | bytes) or getattr(key, "ndim", 1) == 0:
        if isinstance(key, SupportsIndex):
            return _place(index(key), length, plural)
        hint = "; filter of a collection, or of a frame, takes a condition" if kind == "Expr" else ""
        raise TypeError(
            f"{plural} are chosen by a position, a slice, a list of positions or a mask, not by {kind}{hint}"
        )
    if isinstance(key, Set | Mapping) or getattr(key, "ndim", 1) > 1:
        raise TypeError(f"{plural} are chosen by a list in one dimension and in order, not by {kind}")
    values = [one.item() if type(one).__module__ == "numpy" and one.ndim == 0 else one for one in key]
    odd = next((place for place, one in enumerate(values) if not isinstance(one, SupportsIndex)), None)
    if odd is not None:
        hint = "; look up each id alone" if isinstance(values[odd], str) else ""
        raise TypeError(
            f"a list that chooses {plural} has positions, or true and false for each; item {odd} is"
            f" {shown(values[odd])}{hint}"
        )
    masks = {isinstance(one, bool) for one in values} or {str(getattr(key, "dtype", "")).lower().startswith("bool")}
    if len(masks) > 1:
        raise TypeError(f"a list that chooses {plural} has positions, or true and false for each, and not both")
    if masks == {True}:
        if len(values) != length:
            raise IndexError(f"the mask has {len(values)} values for {length} {plural}; give one for each")
        return [place for place, one in enumerate(values) if one]
    return [_place(index(one), length, plural) for one in values]


def _place(given: int, length: int, plural: str) -> int:
    if not -length <= given < length:
        raise IndexError(f"position {given} is out of range: there are {length} {plural}")
    return given % length


def _within_number(key: str, name: str) -> bool:
    """Tell whether `key`, the beginning of an id, ends within a number, as S1 does in S10; UUID parts are none."""
    around = next(part for part in _PART.finditer(name) if part.end() > len(key) - 1)
    return around.end() > len(key) and _NUMBERED.fullmatch(around[0]) is not None and key[-1].isdigit()


def record_kind(model: type[T], **about: Any) -> Kind[Any, Collection[T]]:
    """Return the kind of the records of a model, with a class for its collections.

    Collections and tables can be pickled, if the module that defines the model also makes the kind.

    Parameters
    ----------
    model : type
        The records' class.
    **about
        ``noun``, ``plural``, ``keys``, and whatever else `attune_data.Kind` takes.

    Examples
    --------
    >>> from attune_data.record import Record
    >>> class Note(Record):
    ...     id: str
    ...     stars: int
    >>> notes = record_kind(Note, noun="note", plural="notes", keys=frozenset(["stars"]))
    >>> notes.collection([Note(id="a", stars=3)]).where(stars=3)
    <Collection of 1 note, no issues; stars=3>
    """

    class Records(Collection[T]):
        @property
        def kind(self) -> Kind[Any, Collection[T]]:
            return kind

        def __reduce__(self) -> tuple[Any, ...]:
            return _empty_collection, (model,), self.__getstate__()

    Records.__name__ = Records.__qualname__ = f"{model.__name__}s"
    kind: Kind[Any, Collection[T]] = Kind(model=model, collection=Records, **about)
    _COLLECTIONS[model] = Records
    return kind


# These classes are attributes of no module. Another process gets them when it imports the module that makes the kind.
_COLLECTIONS: dict[type[Any], type[Collection[Any]]] = {}


def _empty_collection(model: type[Any]) -> Collection[Any]:
    """Return a collection without its state, to which pickle or copy adds the state."""
    made = _COLLECTIONS[model]
    return made.__new__(made)
