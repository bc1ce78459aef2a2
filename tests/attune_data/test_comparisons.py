"""Comparisons in pairs: what a verdict says, what is wrong with one, and when two are the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from attune_data import load_records
from attune_data.comparisons import COMPARISON, Comparison


def made(**fields: Any) -> Comparison:
    return Comparison(**{"unit": "q1", "a": "large", "b": "small", **fields})


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"winner": "large"}, 1),
        ({"winner": "small"}, 0),
        ({"winner": "A"}, 1),
        ({"winner": "model_b"}, 0),
        ({"winner": "tie"}, 0.5),
        ({"winner": " Tie (bothbad) "}, 0.5),
        ({"margin": 2.5}, 1),
        ({"margin": -1}, 0),
        ({"margin": 0}, 0.5),
        ({"winner": "b", "margin": -3}, 0),
        ({}, None),
        # A model's name goes before the name of a side.
        ({"a": "b", "b": "a", "winner": "a"}, 0),
    ],
)
def test_what_a_verdict_says(fields: dict[str, Any], outcome: float | None) -> None:
    assert made(**fields).outcome == outcome
    assert made(**fields).fault == ""


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"b": "large", "winner": "a"}, "'large' is compared with itself; a and b are two models"),
        ({"winner": "medium"}, "winner is 'medium'; expected 'large', 'small', a, b or tie"),
        ({"winner": "a", "first": "tie"}, "first is 'tie'; expected 'large', 'small', a or b"),
        (
            {"winner": "small", "margin": 2},
            "winner is 'small' and margin 2, by which large won; a margin above 0 is for a",
        ),
        (
            {"winner": "tie", "margin": -2},
            "winner is 'tie' and margin -2, by which small won; a margin above 0 is for a",
        ),
    ],
)
def test_what_is_wrong_with_a_comparison(fields: dict[str, Any], fault: str, tmp_path: Path) -> None:
    wrong = made(**fields)
    assert (wrong.fault, wrong.outcome) == (fault, None)
    path = tmp_path / "one.json"
    path.write_bytes(wrong.to_json())
    (issue,) = load_records(path, COMPARISON).found
    assert (issue.rule, issue.severity, issue.message) == ("faulty-comparison", "error", fault)


def test_a_comparison_without_a_verdict_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps({"unit": "q", "a": "x", "b": "y", "winner": None}))
    (issue,) = load_records(path, COMPARISON).found
    assert (issue.rule, issue.severity) == ("no-verdict", "note")


def test_the_same_comparison_may_have_its_sides_swapped_where_the_order_is_known() -> None:
    one, swapped = made(first="a", winner="a"), made(a="small", b="large", first="large", winner="tie")
    assert COMPARISON.key(one) == COMPARISON.key(swapped)
    others: list[dict[str, Any]] = [{"first": "b"}, {"judge": "j"}, {"criterion": "c"}, {"repeat": 2}, {"unit": "q2"}]
    keys = [COMPARISON.key(made(**{"first": "a", **fields})) for fields in ({}, *others)]
    ids = [made(**{"first": "a", **fields}).id for fields in ({}, *others)]
    assert len({*keys}) == len({*ids}) == 6
    # Without an order, both may be comparisons of their own: one in each order.
    assert COMPARISON.key(made()) != COMPARISON.key(made(a="small", b="large"))
