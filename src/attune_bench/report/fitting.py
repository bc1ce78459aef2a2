"""Figures of a given width: names cut to fit their axis, panels as wide as the space beside it."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import count
from os.path import commonprefix
from typing import Any

from attune_data.text import cut_in_middle, shortened, width

__all__ = ["fitted", "short_names"]

_NARROW = 600
_NARROW_NAMES = 18
_NARROW_TICKS = 3
_LETTER = 7.2  # pixels of a letter of an axis, on average

Specification = dict[str, Any]


def short_names(texts: Iterable[str], most: int = 34, numbers: Mapping[str, int] | None = None) -> dict[str, str]:
    """Return by name what an axis says: names beyond `most` columns without their middle.

    Names that are then alike are without the start that they share. Where that does not help all have a number, their
    own in `numbers` or that of their place.

    Examples
    --------
    >>> short_names(["lab/short", "lab/a-rather-long-name-of-a-model-with-thinking-2026"])["lab/short"]
    'lab/short'
    >>> short_names(["lab/a-rather-long-name-of-a-model-with-thinking-2026"]).popitem()[1]
    'lab/a-rather-lon...h-thinking-2026'
    >>> [*short_names(f"lab/a-rather-long-name-of-{size}-with-thinking-2026" for size in ("big", "small")).values()]
    ['...big-with-thinking-2026', '...small-with-thinking-2026']
    """
    given = list(dict.fromkeys(texts))
    places = numbers or {text: place for place, text in enumerate(given, start=1)}
    return _cut_apart(given, most) or {text: f"{places[text]}. {cut_in_middle(text, most)}" for text in given}


def _cut_apart(texts: Iterable[str], most: int) -> dict[str, str]:
    """Return names cut so that they differ; none where they do not."""
    found = {text: cut_in_middle(text, most) for text in texts}
    alike: dict[str, list[str]] = {}
    for text, cut in found.items():
        alike.setdefault(cut, []).append(text)
    for group in alike.values():
        if len(group) > 1:
            shared = len(commonprefix(group))  # noqa: RUF071 - of characters
            found |= {text: shortened(f"...{text[shared:]}", most) for text in group}
    return found if len(set(found.values())) == len(found) else {}


def fitted(specification: Specification, total: int) -> Specification:
    """Return a specification of Vega-Lite that is drawn in a width; where it is narrow, with shorter names.

    Examples
    --------
    >>> fitted({"mark": "point", "width": 300}, 1000)["width"]
    1000
    """
    made = deepcopy(specification)
    if total < _NARROW:
        _shorten_names(made)
        for legend in _all(made, "legend"):
            legend |= {"direction": "vertical", "columns": 1}
        for axis in _all(made, "axis"):
            if "tickCount" in axis:
                axis["tickCount"] = min(axis["tickCount"], _NARROW_TICKS)
    names = [name for axis in _name_axes(made) for name in axis["scale"]["domain"]]
    beside = 24 + max((_LETTER * width(name) for name in names), default=24.0)
    if panels := made.get("hconcat"):
        space = total - beside - 24 * len(panels)
        whole = sum(panel["width"] for panel in panels)
        return {**made, "hconcat": [{**panel, "width": panel["width"] * space / whole} for panel in panels]}
    if "facet" in made:
        columns = min(made.get("columns", 1), total // 300) or 1
        of_columns = {"columns": columns} if "columns" in made else {}
        return {**made, **of_columns, "spec": {**made["spec"], "width": (total - beside - 16) / columns - 24}}
    return {**made, "width": total, "autosize": {"type": "fit-x", "contains": "padding"}}


def _shorten_names(specification: Specification) -> None:
    """Shorten the names of the vertical axes, and in the data."""
    short: dict[str, Mapping[str, str]] = {}
    for axis in _name_axes(specification):
        domain = axis["scale"]["domain"]
        # As wide as it takes for them to differ.
        cut = (found for most in count(_NARROW_NAMES) if (found := _cut_apart(domain, most)))
        short.setdefault(axis["field"], next(cut) if domain else {})
        axis["scale"]["domain"] = [short[axis["field"]].get(name, name) for name in axis["scale"]["domain"]]
    for given in _all(specification, "data"):
        given["values"] = [
            row | {key: of[row[key]] for key, of in short.items() if row.get(key) in of} for row in given["values"]
        ]


def _all(inside: Any, key: str) -> Iterator[dict[str, Any]]:
    """Yield every mapping that a specification has by a key."""
    for name, part in inside.items() if isinstance(inside, dict) else enumerate(inside):
        if name == key and isinstance(part, dict):
            yield part
        if isinstance(part, dict | list) and name != "values":
            yield from _all(part, key)


def _name_axes(specification: Specification) -> list[dict[str, Any]]:
    """Return the vertical axes of names, as `attune_bench.report.drawing.names` makes them."""
    return [
        axis for axis in _all(specification, "y") if axis.get("type") == "nominal" and "domain" in axis.get("scale", {})
    ]
