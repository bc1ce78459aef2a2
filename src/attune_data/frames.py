"""Frames that belong together: one table with a row a unit, by which the rows of all are asked for."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

from attune_data.export import Exportable
from attune_data.issues import Issue
from attune_data.query import Queryable, either, repeated
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Frames"]


class Frames(Queryable, Exportable):
    """Frames under the names of properties, the first with a row a unit, joined by keys that every one has.

    Parameters
    ----------
    build : callable
        From the name of a table to its frame.
    found : sequence of Issue, optional
        What loading noticed.
    filters : sequence of str, optional
        What was asked for to come here, for the repr.
    root : Frames, optional
        What these are a part of; its values are those that a query may name.
    """

    names: ClassVar[tuple[str, ...]]
    _unit: ClassVar[str]
    _keys: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        build: "Callable[[str], pl.DataFrame]",
        found: Sequence[Issue] = (),
        filters: Sequence[str] = (),
        root: "Self | None" = None,
    ) -> None:
        self._build = build
        self._found = tuple(found)
        self._filters = tuple(filters)
        self._root = root
        # What these rows are chosen from: a row of filters makes the frames of no part on its way.
        self._whole: Self | None = None

    def _frames(self) -> "Iterator[tuple[str, pl.DataFrame]]":
        return ((name, getattr(self, name)) for name in self.names)

    def _keys_of(self, frame: "pl.DataFrame") -> list[str]:
        return [key for key in self._keys if key in frame.columns]

    def _on(self, frame: "pl.DataFrame") -> "list[pl.Expr]":
        """Return what rows of a frame have in common with their unit; a null in a key equals another."""
        import polars as pl

        return [pl.col(key).cast(pl.String).fill_null("") for key in self._keys_of(frame)]

    def _traits(self) -> "pl.DataFrame":
        frame: pl.DataFrame = getattr(self, self.names[0])
        return frame

    def _origin(self) -> Self:
        return self if self._root is None else self._root

    def _keep(self, rows: Sequence[int], *labels: str) -> Self:
        whole = self if self._whole is None else self._whole
        build = partial(whole._rows_of, self._traits()[rows])
        part = type(self)(build, self._found, (*self._filters, *labels), self._origin())
        part._whole = whole
        return part

    def _rows_of(self, kept: "pl.DataFrame", name: str) -> "pl.DataFrame":
        if name == self.names[0]:
            return kept
        frame: pl.DataFrame = getattr(self, name)
        return frame.join(kept, on=self._on(frame), how="semi")

    def __or__(self, other: Self) -> Self:
        """Return the units of both, those of `self` first.

        Of two with one id that of `self` counts; where they differ, the other is an issue. To compare them, every table
        is built where an id is in both and the two are not parts of one whole.
        """
        if type(other) is not type(self):
            return NotImplemented
        differing = [repeated(self._unit, name) for name in self._differing(other)]
        found = dict.fromkeys((*self._found, *other._found, *differing))
        filters = either(self._filters, other._filters)
        return type(self)(partial(self._with, other), tuple(found), filters, self._common_origin(other))

    def _differing(self, other: Self) -> list[str]:
        """Return the ids in both whose rows are not the same."""
        if self._origin() is other._origin():
            return []
        mine, theirs = self._traits(), other._traits()
        both = mine.join(theirs, on=self._on(mine), how="semi")
        unequal: set[str | tuple[str | None, ...]] = set()
        for name in self.names if len(both) else ():
            frames = (getattr(tables, name) for tables in (self, other))
            shared = (frame.join(both, on=self._on(frame), how="semi") for frame in frames)
            left, right = (frame.rows_by_key(self._keys_of(frame)) for frame in shared)
            unequal |= {key for key in {*left, *right} if left.get(key) != right.get(key)}
        return sorted(key if isinstance(key, str) else "/".join(filter(None, key)) for key in unequal)

    def _with(self, other: Self, name: str) -> "pl.DataFrame":
        import polars as pl

        own: pl.DataFrame = getattr(self, name)
        new: pl.DataFrame = getattr(other, name).join(self._traits(), on=self._on(own), how="anti")
        return pl.concat([own, new])

    def __len__(self) -> int:
        """Return the number of units: rows of the first table."""
        return self._traits().height

    def _summary(self) -> str:
        return plural(len(self), self._unit)

    def __repr__(self) -> str:
        filters = f"; {self._asked()}" if self._filters else ""
        return f"<{type(self).__name__} of {self._summary()}{filters}>"
