"""What generic code knows of one kind of record: how it is recognised, loaded, tabulated, described and published.

The kinds of the library are in `attune_data.kinds.KINDS`, each defined beside its records. A kind of one's own is made
in the same way and passed to `attune_data.load_records`. What a kind does not say for itself follows from the class of
its records: its table, how older spellings are read, its counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from attune_data.columns import choices_of, column_paths
from attune_data.description import description, grouped
from attune_data.display.beside import Beside
from attune_data.display.fields import fields_text
from attune_data.fixes import Findings, Fix
from attune_data.frames import Frames
from attune_data.io.documents import FILES
from attune_data.issues import LEFT_OUT, Issue, Severity, shown
from attune_data.model_fixes import fix_of
from attune_data.record import Record, same_content
from attune_data.record_table import record_builder, record_table

if TYPE_CHECKING:
    import polars as pl
    from hypothesis.strategies import SearchStrategy

__all__ = ["NOTED", "Duplicate", "Kind", "Messages", "OtherFile", "Place", "first_counts"]

R = TypeVar("R", bound=Record)
C = TypeVar("C", covariant=True)  # noqa: PLC0105  # as in every other module

Messages = list[tuple[Literal["user", "assistant"], str]]
"""The messages of a dialogue in order, each its role and text; the user is the person, the assistant the model."""

NOTED = frozenset(
    {"api_cost", "judge_cost", "simulator_cost", "usage"}
    | {"run_timestamp", "timestamp", "started_at", "finished_at", "duration_seconds", "latency"}
    | {"run_key", "request_id"}
)
"""Keys under which results note what their answers cost, when and how long they were made, and by which request."""


@dataclass(frozen=True, slots=True)
class OtherFile:
    """A document that lies beside records and is none: it has all of `keys`, and `hint` says what reads it."""

    noun: str
    keys: frozenset[str]
    hint: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record was read: its file within the source, and the name of the folder that the file is in."""

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
    """Of two records that are the same thing, whether the second one counts, and why.

    `why` goes on from "... and counts"; `severity` is that of leaving out the other.
    """

    second_counts: bool = False
    why: str = ""
    severity: Severity = "error"


def first_counts(first: Record, second: Record) -> Duplicate:
    """Return that the first of two records counts; leaving out an equal one is a note."""
    if same_content(first, second):
        return Duplicate(why="; the content is the same", severity="note")
    return Duplicate()


def _never(_: Any) -> bool:
    return False


def _no_rule(_record: Any, _findings: Findings) -> None:
    pass


def _id(record: Any) -> Any:
    return record.id


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
    """One kind of record. `R` is the record's class, `C` that of a collection of them.

    Attributes
    ----------
    noun, plural : str
        What a record is called.
    model : type
        The record's class, which has an ``id``.
    collection : type
        The collection's class.
    keys : frozenset of str
        A document that has none of these keys, in a file's spelling, is no record of this kind.
    loader : str
        The public function that loads it, for messages.
    docs : str, optional
        The page in ``docs`` about the benchmark.
    is_other : callable
        Tells of a document that has one of the keys whether it is all the same a record of another kind.
    other_files : tuple of OtherFile
        Documents that lie beside such records.
    unpack : callable, optional
        From a document that has many records to the documents of these, None from any other.
    fix : callable
        Brings a document in an older spelling into current form; by default `attune_data.model_fixes.fix_of` the model.
    is_old : callable
        Tells that a valid record is to be fixed all the same.
    check : callable
        The rules beyond types: reports what a valid record gets wrong.
    check_all : callable, optional
        Rules on all records of a source: takes them, from how many files they are, and a `Findings`.
    place : callable, optional
        Fills in what a record's place tells; the place of a row of a Dataset is None.
    key : callable
        What no two records of a collection share.
    identity : str
        The key in words.
    duplicate : callable
        Says which of two records with one key counts.
    duplicate_rule : str
        The rule of the issue that reports the other.
    unhashed : frozenset of str
        Keys of a result, in a file's spelling, that the hash of results leaves out: they tell neither what was answered
        nor what was asked, of whom, and with which settings. By default those of `NOTED` that are no field of `model`.
    prefer : str, optional
        Pattern of the names of the files of a folder that are read where there are any.
    demo : str, optional
        The demonstration data, a file below ``attune_data``.
    columns : tuple of str
        Columns that a `datasets.Dataset` with the columns of these records has; by default the keys that its model
        needs.
    tables, joined : type
        The class of the collection's tables, and, where there is one, of those of `joined`. By default the first is
        `attune_data.record_table.record_table` of the model.
    build : callable
        From records to the function from the name of a table to its frame; given where `tables` is.
    cluster : str, optional
        The column of what is drawn and split as a whole, for the default table; by default each record by itself.
    codebook_files : mapping
        By name, what the files of the codebook are read as that these records go by.
    request : str, optional
        What the authors ask of whoever has the data, for the card of a published data set.
    overview : mapping
        The columns that a list of records shows, from heading to the text of a record; by default the id and the
        columns of the table that say more than it.
    transcript : callable
        From a record and a number of columns to its text; by default its fields.
    of : callable, optional
        The id of the record that a record is about, for what models made of others.
    beside : callable, optional
        From a record and what models made of it to its parts, with each answer beside the one that counts; by default
        the texts of all of them stand below each other.
    reference : str
        Whose the answers that count are.
    messages : callable, optional
        From a record to the `Messages` of its dialogue, where records have one.
    describe : callable
        From a collection to counts; `attune_data.describe` says which. By default those by model and by every field
        that has a choice.
    documents : callable or str, optional
        Gives the hypothesis strategy of documents of this kind that load without an issue; or its ``module:name``. By
        default they are those of the demonstration data, with whatever else the model and the rules accept.
    synthetic : callable or str, optional
        The generator of synthetic records, with options of its own; or its ``module:name``.
    """

    noun: str
    plural: str
    model: type[R]
    collection: Callable[..., C]
    keys: frozenset[str]
    loader: str = "load_records"
    docs: str | None = None
    is_other: Callable[[Mapping[str, Any]], bool] = _never
    other_files: tuple[OtherFile, ...] = ()
    unpack: Callable[[Mapping[str, Any]], Sequence[Any] | None] | None = None
    fix: Fix = None  # type: ignore[assignment]  # filled in below
    is_old: Callable[[R], bool] = _never
    check: Callable[[R, Findings], None] = _no_rule
    check_all: Callable[[Sequence[R], int, Findings], None] | None = None
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
    transcript: Callable[[R, int], str] = fields_text
    of: Callable[[R], str] | None = None
    beside: Callable[[R, Sequence[Any]], Iterable[Beside]] | None = None
    reference: str = "reference"
    messages: Callable[[R], Messages] | None = None
    describe: Callable[[Any], dict[str, Any]] = _count
    documents: "Callable[[], SearchStrategy[dict[str, Any]]] | str | None" = None
    synthetic: Callable[..., Sequence[R]] | str | None = None

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
        """The columns that a list of records shows: `overview`, by default the id and those of the table."""
        paths = column_paths(self.model)
        others = {
            name: partial(_text_at, attrgetter(path)) for name, path in paths.items() if name not in ("id", "synthetic")
        }
        return self.overview or {"id": lambda record: str(_id(record)), **others}

    def reads(self, document: Mapping[str, Any]) -> bool:
        """Tell whether a document may be a record of this kind, or have many."""
        is_one = not self.keys.isdisjoint(document) and not self.is_other(document)
        return is_one or (self.unpack is not None and self.unpack(document) is not None)

    def left_out(self, duplicate: Duplicate, record: R, file: str, counting: str) -> Issue:
        """Return the issue of a record that does not count, beside one with the same key in the file `counting`."""
        message = f"{counting} has the same {self.identity}, and counts{duplicate.why}"
        value = shown(_id(record))
        return Issue(file, "$", self.duplicate_rule, duplicate.severity, value, message, LEFT_OUT)

    def __repr__(self) -> str:
        return f"<Kind {self.noun}>"
