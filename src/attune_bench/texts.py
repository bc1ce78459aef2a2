"""JSON objects kept as text, which takes a third of the memory that Python's own objects take, or compressed."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import Any, ClassVar, Self, SupportsIndex, overload

import polars as pl
from pydantic_core import from_json, to_json

from attune_data.record import canonical

__all__ = ["Texts"]


class Texts(Sequence[Mapping[str, Any]]):
    """JSON objects, each parsed anew when it is asked for.

    Parameters
    ----------
    stored : polars.Series
        One object each, as text or compressed by zlib; nan is ``NaN``.

    Examples
    --------
    >>> found = Texts.of([{"a": 1}, {"a": 0.5}])
    >>> found[1], list(found.texts())
    ({'a': 0.5}, ['{"a":1}', '{"a":0.5}'])
    """

    def __init__(self, stored: pl.Series) -> None:
        self._stored = stored

    @classmethod
    def of(cls, objects: Iterable[Mapping[str, Any]]) -> Self:
        """Return objects kept as text."""
        texts = [to_json(one, inf_nan_mode="constants").decode() for one in objects]
        return cls(pl.Series(texts, dtype=pl.String))

    def texts(self) -> Iterator[str]:
        """Yield the text of each object."""
        # Iterating over a series would make a list of thousands at a time.
        return map(self._text, range(len(self)))

    def _text(self, place: int) -> str:
        found: str | bytes = self._stored[place]
        return found if isinstance(found, str) else zlib.decompress(found).decode()

    def at(self, places: list[int]) -> Self:
        """Return the objects at some places, in that order."""
        return type(self)(self._stored.gather(places))

    @overload
    def __getitem__(self, place: SupportsIndex) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Mapping[str, Any] | Self:
        if isinstance(place, slice):
            return type(self)(self._stored[place])
        found: Mapping[str, Any] = from_json(self._text(index(place)))
        return found

    def __len__(self) -> int:
        return len(self._stored)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return NotImplemented
        if len(self) != len(other):
            return False
        return all(_equal(one, its) for one, its in zip(self.texts(), other.texts(), strict=True))

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # as of every sequence that compares its items


def _equal(first: str, second: str) -> bool:
    """Tell whether two texts are of equal objects, in which nan equals nan."""
    if first == second:
        return True
    one, its = from_json(first), from_json(second)
    return bool(one == its) or canonical(one) == canonical(its)
