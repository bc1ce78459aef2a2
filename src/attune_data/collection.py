"""What a user holds after loading: the good records, in order, and what was noticed about the rest."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, overload

from attune_data.issues import Issue, issues_frame

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Collection"]


class _Writable(Protocol):
    @property
    def id(self) -> str: ...
    def to_json(self) -> bytes: ...


T = TypeVar("T", bound=_Writable)


class Collection(Sequence[T], Generic[T]):
    """An immutable sequence of records that also finds them by id.

    Parameters
    ----------
    records : sequence
        The records, in order.
    found : sequence of Issue, optional
        What loading noticed.
    files : mapping of str to str, optional
        Id of a record to the file that it came from.

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
        self, records: Sequence[T], found: Sequence[Issue] = (), *, files: Mapping[str, str] | None = None
    ) -> None:
        self._records = tuple(records)
        self._found = tuple(found)
        self.files = MappingProxyType(dict(files or {}))

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> "Collection[T]": ...
    def __getitem__(self, key: int | str | slice) -> "T | Collection[T]":
        """Return the record at a position or with an id, or a collection of a slice, which keeps all issues."""
        if isinstance(key, slice):
            return Collection(self._records[key], self._found, files=self.files)
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

    @property
    def found(self) -> tuple[Issue, ...]:
        """What loading noticed, as `Issue` objects."""
        return self._found

    @cached_property
    def issues(self) -> "pl.DataFrame":
        """What loading noticed, one row each: file, path, rule, severity, value, message, consequence."""
        return issues_frame(self._found)

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
        # In a hidden name, so that loading the folder passes over what a killed process leaves.
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as file:
                file.writelines(record.to_json() + b"\n" for record in self)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def __repr__(self) -> str:
        kind = type(self._records[0]).__name__.lower() if self._records else "record"
        counts = Counter(issue.severity for issue in self._found)
        listed = [_plural(counts[severity], severity) for severity in ("error", "warning", "note") if counts[severity]]
        return f"<Collection of {_plural(len(self), kind)}, {', '.join(listed) or 'no issues'}>"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
