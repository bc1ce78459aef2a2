"""JSON objects kept as text: a sequence of them, equal where they are."""

import zlib
from math import isnan, nan
from typing import Any

import polars as pl
import pytest

from attune_bench.scores.table import JsonColumn

OBJECTS: list[dict[str, Any]] = [{"a": 1, "b": 0.1 + 0.2}, {"b": None, "c": [5e-324, {"d": "é\u2028"}]}, {}]


def test_the_objects_are_the_same() -> None:
    found = JsonColumn.of(OBJECTS)
    assert (len(found), list(found), found[-1]) == (3, OBJECTS, {})
    assert list(found[1:]) == OBJECTS[1:]
    assert list(found.at([2, 0])) == [OBJECTS[2], OBJECTS[0]]
    assert isnan(JsonColumn.of([{"a": nan}])[0]["a"])
    with pytest.raises(IndexError):
        found[3]


def test_compressed_objects_are_the_same() -> None:
    texts = JsonColumn.of(OBJECTS)
    packed = JsonColumn(pl.Series([zlib.compress(text.encode()) for text in texts.texts()]))
    assert packed == texts
    assert list(packed.texts()) == list(texts.texts())
    assert list(packed.at([2, 0])) == [OBJECTS[2], OBJECTS[0]]


def test_equal_objects_are_equal_in_whatever_order_their_keys_are() -> None:
    assert JsonColumn.of([{"a": 1, "b": 2}]) == JsonColumn.of([{"b": 2, "a": 1}])
    assert JsonColumn.of([{"a": 1}]) != JsonColumn.of([{"a": 2}])
    assert JsonColumn.of([{"a": 1}]) != [{"a": 1}]
    assert JsonColumn(pl.Series([], dtype=pl.String)) == JsonColumn.of([])
    assert JsonColumn.of([{"a": 1}]) != JsonColumn.of([{"a": 1}, {}])
    assert JsonColumn.of([{"a": 1}]) == JsonColumn.of([{"a": 1.0}])


def test_nan_equals_nan() -> None:
    assert JsonColumn.of([{"a": nan}]) == JsonColumn.of([{"a": nan}])
    assert JsonColumn.of([{"a": nan, "b": [nan]}]) == JsonColumn.of([{"b": [nan], "a": nan}])
    assert JsonColumn.of([{"a": nan}]) != JsonColumn.of([{"a": None}])
