"""Groups that follow from a number: published screens and bands of an instrument, halves and thirds of the data.

A score that is missing or outside its instrument's range is in no group.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from statistics import median
from typing import TYPE_CHECKING, Literal, get_args

from attune_data.attunebench.instruments import Screen, instruments
from attune_data.text import meant

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SCREEN", "Bins", "bin_rows", "group_names", "group_traits", "groups", "screen_trait"]

SCREEN = "screen"
Bins = Literal["median", "tertile"]
_PARTS = {"median": 2, "tertile": 3}


def group_traits(columns: Sequence[str]) -> list[str]:
    """Return the names of the groupings that these columns allow: ``asrs_6_screen``, ``promis_sleep_t_band``, ..."""
    known = [instruments[name] for name in columns if name in instruments]
    screens = [f"{one.name}_screen" for one in known if one.cut_off]
    return screens + [f"{one.name}_band" for one in known if one.bands]


def group_names(trait: str) -> tuple[str, ...]:
    """Return the groups of a grouping in their order; nothing for any other trait."""
    name, _, kind = trait.rpartition("_")
    if name not in instruments or kind not in {"screen", "band"}:
        return ()
    return get_args(Screen) if kind == "screen" else tuple(band.name for band in instruments[name].bands)


def groups(traits: "pl.DataFrame", trait: str) -> list[str | None]:
    """Return the group of each conversation; None where its score is in no group."""
    name, _, kind = trait.rpartition("_")
    one = instruments[name]
    group: Callable[[float | None], str | None] = one.screen if kind == "screen" else one.band
    return [group(score) for score in traits[name].to_list()]


def screen_trait(instrument: object) -> str:
    """Return the grouping of a screen; `ValueError` where there is none of this name."""
    asked = str(instrument).strip().lower()
    if asked not in instruments:
        screens = [name for name, one in instruments.items() if one.cut_off]
        raise ValueError(f"no screen {instrument!r}; {meant(asked, screens)}")
    instruments[asked].screen(None)  # says what there is where nobody published a cut-off
    return f"{asked}_screen"


def bin_rows(
    values: Sequence[float | None], people: Sequence[Sequence[int]], trait: str, bins: Bins
) -> dict[str, list[int]]:
    """Return the positions of the conversations on each side of the median or of the tertiles, lowest first.

    A participant counts once towards the cut, with the median of their conversations. Values equal to a cut are below
    it. What is in no bin is left out, and so are bins that hold nothing.
    """
    if bins not in _PARTS:
        raise ValueError(f"bins is {bins!r}; expected 'median' or 'tertile'")
    inside = [value if _in_range(trait, value) else None for value in values]
    given = [[value for row in rows if (value := inside[row]) is not None] for rows in people]
    ordered = sorted(median(mine) for mine in given if mine)
    parts = _PARTS[bins]
    cuts = [_quantile(ordered, part, parts) for part in range(1, parts)] if ordered else []
    found: dict[str, list[int]] = {}
    for low, high in pairwise([-inf, *cuts, inf]):
        rows = [row for row, value in enumerate(inside) if value is not None and low < value <= high]
        if rows:
            found[_between(low, high)] = rows
    return found


def _quantile(ordered: Sequence[float], part: int, parts: int) -> float:
    """Return a quantile by linear interpolation; between two equal values it is that value to the last digit."""
    below, rest = divmod(part * (len(ordered) - 1), parts)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return low + (high - low) * rest / parts


def _between(low: float, high: float) -> str:
    """Return ``> 6, <= 9``, without a side that is open."""
    sides = [f"> {low:.12g}"] if low > -inf else []
    return ", ".join([*sides, f"<= {high:.12g}"] if high < inf else sides)


def _in_range(trait: str, value: float | None) -> bool:
    one = instruments[trait] if trait in instruments else None  # noqa: SIM401  # get() words an error for each miss
    return value is not None and (one is None or one.low <= value <= one.high)
