"""The traits of units, asked for as those of records are: where, filter, stratify."""

from functools import cached_property, partial
from typing import ClassVar

import polars as pl

from attune_bench.score_table import ScoreTable
from attune_data.collection import Collection
from attune_data.frames import Frames
from attune_data.query import Queryable

__all__ = ["UNKNOWN", "UnitTraits", "strata_of", "unit_ids", "unit_traits"]

UNKNOWN = ("no answer", "unknown")
"""The strata of those whose value is not known; they are in no complement."""


class UnitTraits(Frames):
    """The units of scores as a frame that is asked for subgroups."""

    names: ClassVar[tuple[str, ...]] = ("units",)
    _unit = "unit"
    _keys: ClassVar[tuple[str, ...]] = ("unit",)

    @cached_property
    def units(self) -> pl.DataFrame:
        """One row a unit: its cluster and its traits."""
        return self._build("units")


def unit_traits(table: ScoreTable) -> UnitTraits:
    """Return the traits that the scores have of their units."""
    return UnitTraits(partial(_units, table.units))


def _units(frame: pl.DataFrame, _: str) -> pl.DataFrame:
    return frame


def unit_ids(data: Queryable) -> list[str]:
    """Return the units of a collection or of its tables, in order."""
    if isinstance(data, Collection):
        return [record.id for record in data]
    frame = data._traits()
    return frame[frame.columns[0]].to_list()


def strata_of(data: Queryable, trait: str) -> dict[str, list[str]]:
    """Return the units with each value of a trait; they overlap where a unit has two."""
    return {name: unit_ids(part) for name, part in data.stratify(trait).items()}
