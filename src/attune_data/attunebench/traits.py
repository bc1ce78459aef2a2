"""Traits of a conversation that follow from others: published screens and bands of scores, groups of diagnoses.

A score that is missing or outside its instrument's range is in no group.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from attune_data.attunebench.diagnoses import UNKNOWN, diagnosis_group_names
from attune_data.attunebench.instruments import Instrument, instruments
from attune_data.attunebench.parts import ComputedScores
from attune_data.meanings import Column
from attune_data.traits import Trait

if TYPE_CHECKING:
    import polars as pl

__all__ = ["conversation_traits", "group_columns", "group_dtypes", "group_meanings", "score_meanings"]

_SIDES: dict[str | bool, str] = {True: "screen-positive", False: "screen-negative"}


def _scores() -> Iterable[Instrument]:
    return (instruments[name] for name in ComputedScores.model_fields)


def group_dtypes() -> "dict[str, pl.DataType]":
    """Return the columns of screens and bands, and their dtypes.

    Examples
    --------
    >>> list(group_dtypes())[:4]
    ['who_5_screen', 'asrs_6_screen', 'aq_10_screen', 'promis_anxiety_t_band']
    """
    import polars as pl

    screens = {f"{one.name}_screen": pl.Boolean() for one in _scores() if one.cut_off}
    return screens | {f"{one.name}_band": pl.Enum([band.name for band in one.bands]) for one in _scores() if one.bands}


def group_columns(traits: Mapping[str, Sequence[float | None]]) -> dict[str, Sequence[str | bool | None]]:
    """Return the screens, true where positive, and the bands of scores; null where a score is in no group."""
    found: dict[str, Sequence[str | bool | None]] = {}
    for one in _scores():
        if one.cut_off:
            sides = map(one.screen, traits[one.name])
            found[f"{one.name}_screen"] = [side and side == _SIDES[True] for side in sides]
        if one.bands:
            found[f"{one.name}_band"] = list(map(one.band, traits[one.name]))
    return found


def score_meanings(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns of scores of instruments with the range of the instrument and its full name."""
    return {
        one.name: columns[one.name]._replace(
            low=one.low,
            high=one.high,
            source=f"{columns[one.name].source}; {one.title}, in codebook/instruments.toml",
        )
        for one in _scores()
    }


def group_meanings() -> dict[str, Column]:
    """Return what the columns of screens and bands mean."""
    screens = {
        f"{one.name}_screen": Column(
            f"Whether {one.name} is screen-positive, {one.cut_off}; screening is not diagnosis.",
            null=True,
            source=f"computed of {one.name} with its cut-off in codebook/instruments.toml",
        )
        for one in _scores()
        if one.cut_off
    }
    bands = {
        one.name: Column(
            f"Published band of {one.name}.",
            null=True,
            source=f"computed of {one.name} with its bands in codebook/instruments.toml",
        )
        for one in _scores()
        if one.bands
    }
    return screens | {f"{name}_band": column for name, column in bands.items()}


@functools.cache
def conversation_traits() -> Mapping[str, Trait]:
    """Return the traits of the ``conversations`` table that are not just a column, by the name they are asked for.

    Examples
    --------
    >>> conversation_traits()["diagnosis"].values[:3]
    ('AnxDep', 'ADHD', 'ASD')
    """
    groups = Trait("diagnosis_groups", values=diagnosis_group_names(), missing=UNKNOWN)
    found = {
        "diagnosis": Trait("diagnosis_groups", also="diagnoses", values=groups.values, missing=UNKNOWN),
        "diagnosis_group": groups,
        "diagnosis_groups": groups,
    }
    for one in _scores():
        found[one.name] = Trait(one.name, low=one.low, high=one.high)
        if one.cut_off:
            name = f"{one.name}_screen"
            found[name] = Trait(name, values=(True, False), labels=_SIDES, is_group=True)
        if one.bands:
            name = f"{one.name}_band"
            found[name] = Trait(name, values=tuple(band.name for band in one.bands), is_group=True)
    return found
