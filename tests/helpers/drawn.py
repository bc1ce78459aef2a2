"""Documents of a kind of record, drawn by hypothesis and the same in every run."""

import json
from typing import Any

from hypothesis import Phase, given, settings

from attune_data import Kind
from attune_data.testing import documents

__all__ = ["drawn", "richest"]

Json = dict[str, Any]


def drawn(kind: Kind[Any, Any], count: int = 3) -> list[Json]:
    """Return some documents of a kind, of different ids."""
    found: dict[str, Json] = {}

    @settings(max_examples=20 * count, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(documents(kind))
    def draw(document: Json) -> None:
        found.setdefault(kind.model.model_validate_json(json.dumps(document)).id, document)

    draw()
    return list(found.values())[-count:]  # The first ones are the smallest.


def richest(kind: Kind[Any, Any]) -> Json:
    """Return the longest of some documents."""
    return max(drawn(kind, 20), key=lambda document: len(json.dumps(document)))
