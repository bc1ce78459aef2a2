"""What a user holds after loading: the good records, in order, and what was noticed about the rest."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Never, Protocol, TypeVar, cast, overload

from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.run import Run
from attune_data.attunebench.run_tables import RunTables, join_runs
from attune_data.attunebench.tables import Tables, build_table
from attune_data.eibench.scenario import SCENES, Episode, Scenario
from attune_data.eibench.tables import (
    EpisodeTables,
    SageTables,
    ScenarioTables,
    episode_builder,
    sage_builder,
    scenario_builder,
)
from attune_data.export import Exportable
from attune_data.frames import Frames
from attune_data.io.files import write_whole
from attune_data.issues import Issue
from attune_data.matching import count_people
from attune_data.query import Queryable, either, repeated
from attune_data.sage.dialogue import SageDialogue
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Collection"]


class _Writable(Protocol):
    @property
    def id(self) -> str: ...
    def to_line(self) -> bytes: ...


T = TypeVar("T", bound=_Writable)


class _TablesOf:
    """The attribute `tables`, of the class that goes with the kind of record."""

    @overload
    def __get__(self, instance: None, owner: object) -> "_TablesOf": ...
    @overload
    def __get__(self, instance: "Collection[Conversation]", owner: object) -> Tables: ...
    @overload
    def __get__(self, instance: "Collection[Scenario]", owner: object) -> ScenarioTables: ...
    @overload
    def __get__(self, instance: "Collection[Episode]", owner: object) -> EpisodeTables: ...
    @overload
    def __get__(self, instance: "Collection[SageDialogue]", owner: object) -> SageTables: ...
    @overload
    def __get__(self, instance: "Collection[Run]", owner: object) -> Never: ...
    def __get__(self, instance: "Collection[Any] | None", owner: object) -> "Frames | _TablesOf":
        return self if instance is None else instance._tables


_BUILDERS: dict[type, tuple[type[Frames], Callable[[Any], "Callable[[str], pl.DataFrame]"]]] = {
    Conversation: (Tables, lambda records: partial(build_table, records=records)),
    Scenario: (ScenarioTables, scenario_builder),
    Episode: (EpisodeTables, episode_builder),
    SageDialogue: (SageTables, sage_builder),
}


def _all(records: Iterable[object], kind: type) -> bool:
    return all(isinstance(record, kind) for record in records)


class Collection(Queryable, Exportable, Sequence[T], Generic[T]):
    """An immutable sequence of records that also finds them by id, and conversations by trait.

    Parameters
    ----------
    records : sequence
        The records, in order.
    found : sequence of Issue, optional
        What loading noticed.
    files : mapping of str to str, optional
        Id of a record to the file that it came from.
    filters : sequence of str, optional
        What was asked for to come here, for the repr.
    root : Collection, optional
        What this is a part of; its values are those that a query may name.
    kind : type, optional
        Class of the records, where there may be none.

    Attributes
    ----------
    tables : Tables, ScenarioTables, EpisodeTables or SageTables
        The records as tidy frames, each built once, when first asked for; `joined` gives those of runs.

    Raises
    ------
    TypeError
        Where conversations stand beside other records.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> len(conversations), len(conversations.issues)
    (40, 0)
    >>> conversations[conversations[3].id] is conversations[3]
    True
    """

    def __init__(
        self,
        records: Sequence[T],
        found: Sequence[Issue] = (),
        *,
        files: Mapping[str, str] | None = None,
        filters: Sequence[str] = (),
        root: "Collection[T] | None" = None,
        kind: type[T] | None = None,
    ) -> None:
        self._records = tuple(records)
        if len({issubclass(kind, Conversation) for kind in {type(record) for record in self._records}}) > 1:
            raise TypeError("a collection holds conversations or runs, not both; see runs.joined(conversations)")
        self._found = tuple(found)
        self._files = dict(files or {})
        self._filters = tuple(filters)
        self._root = root
        first = type(self._records[0]) if self._records else None
        self._kind: type | None = kind or (root._kind if root else None) or first

    @property
    def files(self) -> Mapping[str, str]:
        """The file that each record came from, by id."""
        return MappingProxyType(self._files)

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> "Collection[T]": ...
    def __getitem__(self, key: int | str | slice) -> "T | Collection[T]":
        """Return the record at a position or with an id, or a collection of a slice, which keeps all issues."""
        if isinstance(key, slice):
            return self._part(self._records[key], self._filters)
        if isinstance(key, str):
            if key in self._by_id:
                return self._by_id[key]
            near = get_close_matches(key, self._by_id, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f" among {len(self)} records"
            raise KeyError(f"no record with id {key!r}{hint}")
        return self._records[key]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[T]:
        return iter(self._records)

    def __contains__(self, item: object) -> bool:
        """Tell whether a record, or a record with this id, is in the collection."""
        return item in self._by_id if isinstance(item, str) else item in self._records

    @cached_property
    def _by_id(self) -> dict[str, T]:
        return {record.id: record for record in self._records}

    tables = _TablesOf()

    @cached_property
    def _tables(self) -> Frames:
        kind = self._kind_with_tables
        if kind is None:
            raise TypeError(
                "runs, and records of several kinds, have no tables; those of runs are in joined(conversations)"
            )
        frames, build = _BUILDERS[kind]
        root = None if self._root is None else self._root._tables
        return frames(build(self._records), self._found, self._filters, root)

    @property
    def _kind_with_tables(self) -> type | None:
        kind = next((kind for kind in _BUILDERS if issubclass(self._kind or Conversation, kind)), None)
        return kind if kind and _all(self._records, kind) else None

    def _frames(self) -> "Iterator[tuple[str, pl.DataFrame]]":
        import polars as pl

        columns = {
            "id": [record.id for record in self],
            "file": [self.files.get(record.id) for record in self],
            "record": [record.to_line().decode() for record in self],
        }
        yield "records", pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        if self._kind_with_tables:
            yield from self._tables._frames()

    @overload
    def joined(self: "Collection[Run]", truth: Iterable[Conversation]) -> RunTables: ...
    @overload
    def joined(self: "Collection[Episode]", truth: Iterable[Scenario]) -> EpisodeTables: ...
    def joined(self, truth: Iterable[Any]) -> RunTables | EpisodeTables:
        """Return runs beside the conversations, or episodes beside the scenarios, that they are of, as tidy frames.

        Parameters
        ----------
        truth : iterable of Conversation or of Scenario
            What `load` or `load_scenarios` gives. A run or an episode whose conversation or scenario is not there keeps
            its rows, without it.

        Raises
        ------
        TypeError
            Where the collection does not hold runs with conversations, or episodes with scenarios, only.

        Examples
        --------
        >>> from attune_data import load, load_runs
        >>> tables = load_runs("demo").joined(load("demo"))
        >>> tables.where(em_model="synthetic/hasty", category="Health")
        <RunTables of 6 runs, 6 participants; em_model=synthetic/hasty, category=Health>
        """
        others: list[Any] = list(truth) if hasattr(truth, "__iter__") else [truth]
        noticed = truth.found if isinstance(truth, Collection) else ()
        found = tuple(dict.fromkeys((*self._found, *noticed)))
        if self._are(Run) and _all(others, Conversation):
            return RunTables(join_runs(cast("Any", self._records), others), found, self._filters)
        if self._are(Episode) and _all(others, Scenario):
            return EpisodeTables(episode_builder(cast("Any", self._records), others), found, self._filters)
        raise TypeError(
            "only runs are joined with conversations, load_runs(...).joined(load(...)),"
            " and only episodes with scenarios, load_episodes(...).joined(load_scenarios(...))"
        )

    def _are(self, kind: type) -> bool:
        """Tell whether the records are of a kind; of none at all, what they would be."""
        return issubclass(self._kind or kind, kind) and _all(self._records, kind)

    def _traits(self) -> "pl.DataFrame":
        return self._tables._traits()

    def _origin(self) -> "Collection[T]":
        return self if self._root is None else self._root

    def _keep(self, rows: Sequence[int], *labels: str) -> "Collection[T]":
        records = [self._records[row] for row in rows]
        return self._part(records, (*self._filters, *labels))

    def _part(self, records: Sequence[T], filters: Sequence[str]) -> "Collection[T]":
        return Collection(records, self._found, files=self.files, filters=filters, root=self._origin())

    def __or__(self, other: "Collection[T]") -> "Collection[T]":
        """Return the records of both, those of `self` first.

        Of two with one id that of `self` counts; where they differ, the other is an issue.
        """
        if not isinstance(other, Collection):
            return NotImplemented
        records = list(self)
        differing: list[Issue] = []
        for record in other:
            first = self._by_id.get(record.id)
            if first is None:
                records.append(record)
            elif first != record:
                files = self._files.get(record.id), other._files.get(record.id)
                differing.append(repeated(type(record).__name__.lower(), record.id, *files))
        found = tuple(dict.fromkeys((*self._found, *other._found, *differing)))
        filters = either(self._filters, other._filters)
        root = self._common_origin(other)
        return Collection(
            records, found, files={**other.files, **self.files}, filters=filters, root=root, kind=self._kind
        )

    def to_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Write the records to a JSONL file, which `load` or `load_runs` reads back as equal records.

        The file appears when it is complete: it is written beside its place and renamed, so that nobody reads half
        of it and a failure leaves an older file as it was.

        Parameters
        ----------
        path : str or path-like
            A name that ends in ``.jsonl``, in a folder that exists.

        Raises
        ------
        ValueError
            Where the name ends otherwise, so that it could not be loaded as what it is.

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

    def publish(self, repo_id: str, *, licence: str, private: bool = True) -> str:
        """Publish the collection as a data set of the Hugging Face Hub, in one commit.

        The repository holds what `to_parquet` writes, every table as a config that ``datasets.load_dataset(repo_id,
        "turns")`` loads, the default being the first table, and ``records``, from which `load` or `load_runs` of
        ``hf://owner/name`` gives equal records; and a card: fields, counts, licence, how to load it, the request not to
        train on the data and their canary, else one of the library. The token is that of ``hf auth login`` or
        ``HF_TOKEN``; ``HF_ENDPOINT`` is asked if it is set.

        Parameters
        ----------
        repo_id : str
            ``owner/name``. It is created if it is not there; else the card and the tables are replaced, tables of an
            earlier publication that are not written any more are deleted, and other files stay.
        licence : str
            What the data are published under: an id of the Hub, for instance ``cc-by-4.0``, that
            ``codebook/publishing.toml`` describes.
        private : bool
            Who sees a repository that is created: its owner, or everybody. With True an existing one that is public
            is refused; an existing private one stays private.

        Returns
        -------
        str
            ``hf://owner/name@commit``, which `load` takes.

        Raises
        ------
        PublishError
            Where the licence that a record states, or that of its benchmark, does not allow this one (see
            `attune_data.licences.permitted`), or the repository cannot be written.

        Examples
        --------
        >>> from attune_data import PublishError, load
        >>> own = load("demo")[0].model_copy(update={"licence": "CC BY-NC 4.0"})
        >>> try:
        ...     Collection([own]).publish("owner/name", licence="mit")
        ... except PublishError as error:
        ...     print(str(error).partition(": ")[2].partition(";")[0])
        it is under cc-by-nc-4.0, which does not allow publishing under 'mit'
        """
        from attune_data.publish import publish

        return publish(self, repo_id, licence=licence, private=private)

    def _summary(self) -> str:
        kind = type(self._records[0]).__name__.removeprefix("Sage").lower() if self._records else "record"
        people = count_people(getattr(record, "participant_id", None) for record in self._records)
        participants = [plural(people, "participant")] if people else []
        counts = Counter(issue.severity for issue in self._found)
        listed = [plural(counts[severity], severity) for severity in ("error", "warning", "note") if counts[severity]]
        return ", ".join([plural(len(self), kind) + self._by_scene(), *participants, *(listed or ["no issues"])])

    def _by_scene(self) -> str:
        """Return how many records there are of each scene, where they are of scenes."""
        counts = Counter(record.scene for record in self._records if isinstance(record, Scenario | Episode))
        known = sorted(counts, key=lambda scene: (*SCENES, scene).index(scene))
        return f" ({', '.join(f'{counts[scene]} {scene}' for scene in known)})" if counts else ""

    def __repr__(self) -> str:
        filters = f"; {self._asked()}" if self._filters else ""
        return f"<Collection of {self._summary()}{filters}>"

    def _repr_html_(self) -> str:
        from attune_data.display.collection import collection_html

        return collection_html(self._records, self._summary(), self._asked())
