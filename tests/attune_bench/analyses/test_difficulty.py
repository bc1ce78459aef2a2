"""Difficulty of units by hand; what has no value of each unit."""

from collections.abc import Callable
from typing import Any

import pytest

from attune_bench import Scores
from attune_bench.analyses import separation, skills, unit_difficulty
from attune_metrics import MetricInputError

Build = Callable[..., Scores]
METRIC = "composite_score"
TABLE = {"a": [1.0, 3.0, 5.0], "b": [2.0, 4.0, 9.0]}


def _scores(scores_of: Build, table: Any, **options: Any) -> Scores:
    cells = {
        model: {f"c{i}": {METRIC: value} for i, value in enumerate(values)} for model, values in dict(table).items()
    }
    return scores_of(cells, **options)


def test_difficulty_by_hand(scores_of: Build) -> None:
    table = {"a": [1.0, 3.0, 5.0], "b": [3.0, None, None], "c": [5.0, 4.0, None]}
    rows = unit_difficulty(_scores(scores_of, table)).rows()
    assert rows == [
        ("default", METRIC, "c0", 3.0, 2.0, 3),
        ("default", METRIC, "c1", 3.5, pytest.approx(0.5**0.5, abs=1e-12), 2),
        ("default", METRIC, "c2", 5.0, None, 1),
    ]


@pytest.mark.parametrize("analysis", [separation, skills, unit_difficulty])
def test_pooled_scores_have_no_value_of_a_conversation(scores_of: Build, analysis: Callable[..., Any]) -> None:
    with pytest.raises(MetricInputError, match=f"{analysis.__name__} needs a value of each conversation"):
        analysis(_scores(scores_of, TABLE), metrics=["pooled_binary_om_metrics.mcc"])
