"""Strata: the units of scores by the values of a trait, which the scores or the data have."""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import ClassVar

import polars as pl

from attune_bench.scores.table import UNIT_KEYS, ScoreTable
from attune_data.columns import Column, Schema
from attune_data.query import Queryable, Unit
from attune_data.tables import Frames

_UNKNOWN = ("no answer", "unknown")


class UnitTraits(Frames):
    """The units of scores as a frame that is asked for subgroups."""

    names: ClassVar[tuple[str, ...]] = ("units",)
    unit: ClassVar[Unit] = Unit("unit", ("unit",), "cluster", own="unit", named_by="cluster")

    @classmethod
    def schemas(cls) -> Mapping[str, Schema]:
        """Return no column: which there are depends on the scores."""
        return {}

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return no column: which there are depends on the scores."""
        return {}

    @cached_property
    def units(self) -> pl.DataFrame:
        """One row a unit: its cluster and its traits."""
        return self._build("units")


def unit_traits(table: ScoreTable) -> UnitTraits:
    """Return the traits that the scores have of their units."""
    return UnitTraits(partial(_units, table.units.select(*UNIT_KEYS, *table.traits)))


def asked(table: ScoreTable, data: Queryable | None) -> Queryable:
    """Return what is asked for traits: the data, or without them the traits that the scores have.

    Raises
    ------
    ValueError
        Where there are neither.
    """
    if data is None and not table.traits:
        raise ValueError(
            f"these scores have no traits of their {table.provenance.unit}s; give what was scored against: data=..."
        )
    return unit_traits(table) if data is None else data


def _units(frame: pl.DataFrame, _: str) -> pl.DataFrame:
    return frame


def strata_of(data: Queryable, trait: str) -> dict[str, list[str]]:
    """Return the units with each value of a trait; they overlap where a unit has two."""
    return {name: part.unit_ids for name, part in data.stratify(trait).items()}


def strata_and_known(data: Queryable, trait: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the strata of a trait, and the units whose value is known, among which complements are taken."""
    strata = strata_of(data, trait)
    unknown = {unit for name in _UNKNOWN for unit in strata.get(name, ())}
    return strata, [unit for unit in data.unit_ids if unit not in unknown]
