"""EmoBench's rule: worked by hand, and every accuracy of 2024 from the published predictions."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

from attune_metrics import MetricInputError
from attune_metrics.emobench import majority_accuracy

PUBLISHED = Path(__file__).parents[1] / "golden" / "emobench"


@pytest.mark.parametrize(
    ("samples", "most"),
    [
        ([2, 0, 0], 0),
        ([2, 0, 0, 2, 1], 2),  # two of each: the first that occurs
        ([0, 2, 2, 0, 1], 0),
        ([-1, -1, -1, -1, 3], 3),  # what cannot be read does not win
        ([None, None, 3], 3),  # a missing sample never does: it equals no other
        ([None, 2, None, 0, 0], 0),
        ([-1, None], None),
        ([3], 3),
    ],
)
def test_the_most_frequent_answer_counts(samples: list[int | None], most: int | None) -> None:
    found = [majority_accuracy([place], [samples]) for place in range(4)]
    assert found == [float(place == most) for place in range(4)]


def test_unreadable_answers_alone_are_wrong() -> None:
    assert majority_accuracy([0], [[-1, -1]]) == 0


def test_every_part_has_to_be_right() -> None:
    assert majority_accuracy([3, 0], [[3], [0]]) == 1
    assert majority_accuracy([3, 0], [[3], [1]]) == majority_accuracy([3, 0], [[0], [0]]) == 0


@pytest.mark.parametrize(
    ("labels", "predictions", "message"),
    [
        ([0], [], "1 labels and samples of 0 parts"),
        ([], [], "0 labels and samples of 0 parts; expected as many, one or more"),
        ([0], [[]], "samples has no answer; expected one"),
        ([0], [[None, None]], "samples has no answer but 2 missing"),
        ([-1], [[0]], "label"),
        ([0], [[-2]], "answer"),
        ([0], [["A"]], "answer"),
        ([0], [[True]], "answer"),
        ([0], "A", "predictions"),
        ([0], ["A"], "samples"),
    ],
)
def test_bad_input_is_named(labels: Any, predictions: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        majority_accuracy(labels, predictions)


@pytest.mark.slow
def test_every_published_accuracy_follows_from_the_published_predictions() -> None:
    expected = json.loads((PUBLISHED / "expected.json").read_text(encoding="utf-8"))
    cells = {
        (task, model, condition): value
        for task, models in expected.items()
        for model, conditions in models.items()
        for condition, value in conditions.items()
    }
    rows = pl.read_parquet(PUBLISHED / "predictions.parquet")
    keys = ["task", "model", "language", "cot", "order", "item"]
    items = rows.sort("part").group_by(keys, maintain_order=True).agg("label", "predictions")
    values: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for task, model, language, cot, order, _, labels, predictions in items.iter_rows():
        cell = values.setdefault((task, model, language + "_cot" * cot), {})
        cell.setdefault(order, []).append(majority_accuracy(labels, predictions))
    assert len(cells) == len(values) == 100
    for name, orders in values.items():
        assert {len(of_order) for of_order in orders.values()} == {200}
        # Published to two decimals; 0.005 is a tie of the last one, rounded to even.
        assert 100 * fmean(map(fmean, orders.values())) == pytest.approx(cells[name], abs=0.005 + 1e-9), name
