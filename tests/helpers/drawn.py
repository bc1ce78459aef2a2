"""Documents of a kind of record, drawn by hypothesis and the same in every run."""

import json
from functools import cache
from typing import Any

from hypothesis import Phase, given, settings

from attune_data import Kind
from attune_data.testing import documents

__all__ = ["drawn", "richest"]

Json = dict[str, Any]


def drawn(kind: Kind[Any, Any], count: int = 3) -> list[Json]:
    """Return some documents of a kind, of different ids."""
    return _drawn(kind, 10 + count)[-count:]  # The first ones are the smallest.


@cache
def richest(kind: Kind[Any, Any]) -> Json:
    """Return the longest of a hundred documents, to be read only."""
    return max(_drawn(kind, 100), key=lambda document: len(json.dumps(document)))


def _drawn(kind: Kind[Any, Any], examples: int) -> list[Json]:
    found: dict[str, Json] = {}

    @settings(max_examples=examples, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(documents(kind))
    def draw(document: Json) -> None:
        found.setdefault(kind.model.model_validate_json(json.dumps(document)).id, document)

    draw()
    return list(found.values())
