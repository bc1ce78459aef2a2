"""Frames that belong together: one table with a row a unit, by which the rows of all are asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from attune_data._text import plural
from attune_data.export import Exportable
from attune_data.issues import Issue
from attune_data.query import Queryable, either

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

    def _frames(self) -> "Iterator[tuple[str, pl.DataFrame]]":
        return ((name, getattr(self, name)) for name in self.names)

    def _on(self, frame: "pl.DataFrame") -> "list[pl.Expr]":
        """Return what rows of a frame have in common with their unit; a null in a key equals another."""
        import polars as pl

        return [pl.col(key).cast(pl.String).fill_null("") for key in self._keys if key in frame.columns]

    def _traits(self) -> "pl.DataFrame":
        frame: pl.DataFrame = getattr(self, self.names[0])
        return frame

    def _origin(self) -> Self:
        return self._root or self

    def _keep(self, rows: Sequence[int], label: str) -> Self:
        kept = self._traits()[rows]

        def build(name: str) -> "pl.DataFrame":
            if name == self.names[0]:
                return kept
            frame: pl.DataFrame = getattr(self, name)
            return frame.join(kept, on=self._on(frame), how="semi")

        return type(self)(build, self._found, (*self._filters, label), self._origin())

    def __or__(self, other: Self) -> Self:
        """Return the units of both, those of `self` first; one that is in both is there once."""
        if type(other) is not type(self):
            return NotImplemented

        def build(name: str) -> "pl.DataFrame":
            import polars as pl

            own: pl.DataFrame = getattr(self, name)
            new: pl.DataFrame = getattr(other, name).join(self._traits(), on=self._on(own), how="anti")
            return pl.concat([own, new])

        found = dict.fromkeys((*self._found, *other._found))
        return type(self)(build, tuple(found), either(self._filters, other._filters))

    def __len__(self) -> int:
        """Return the number of units: rows of the first table."""
        return self._traits().height

    def _summary(self) -> str:
        return plural(len(self), self._unit)

    def __repr__(self) -> str:
        filters = f"; {', '.join(self._filters)}" if self._filters else ""
        return f"<{type(self).__name__} of {self._summary()}{filters}>"
