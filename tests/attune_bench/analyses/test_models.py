"""Correlation of metrics across models, and win rates, by hand on small scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from attune_bench import Scores
from attune_bench.analyses import win_rates
from attune_bench.benchmarks.attunebench.scoring import METRICS
from attune_bench.stats.options import direction
from attune_metrics import MetricInputError
from attune_metrics.stats.ranking import win_rates as rates_of

Json = dict[str, Any]
Build = Callable[..., Scores]
COMPOSITE, PAIRWISE, F1, VA = "composite_score", "avg_pairwise_accuracy", "avg_emotion_f1", "avg_emotion_va_score"
MAE = "avg_emotion_intensity_mae"


def _table(columns: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, dict[str, Json]]:
    """Turn {model: {metric: values}} into {model: {conversation: {metric: value}}}."""
    return {
        model: {
            f"c{i}": dict(zip(values, row, strict=True)) for i, row in enumerate(zip(*values.values(), strict=True))
        }
        for model, values in columns.items()
    }


# Which direction is better.


def test_every_metric_has_a_direction_or_none() -> None:
    lower = {name for name, metric in METRICS.items() if not name.startswith("hp_") and direction(metric) < 0}
    assert lower == {metric for metric in METRICS if metric.endswith(("_mae", "_distance"))}
    for name, metric in METRICS.items():
        if name.startswith("hp_"):
            with pytest.raises(MetricInputError, match="neither higher nor lower"):
                direction(metric)


# Win rates.


def test_win_rates_by_hand(scores_of: Build) -> None:
    # Of five conversations a wins two, ties one, loses one; one b lacks.
    scores = scores_of(_table({"a": {COMPOSITE: [9, 8, 5, 1, 10]}, "b": {COMPOSITE: [1, 2, 5, 6, None]}}))
    rows = win_rates(scores, metrics=[COMPOSITE]).to_dicts()
    assert [(row["model_a"], row["model_b"], row["rate"], row["n"]) for row in rows] == [
        ("a", "b", 2.5 / 4, 4),
        ("b", "a", 1.5 / 4, 4),
    ]
    assert rows[0]["reason"] == "fewer than 5 participants"


def test_lower_errors_win(scores_of: Build) -> None:
    scores = scores_of(_table({"a": {MAE: [1.0] * 6}, "b": {MAE: [2.0] * 6}}))
    assert win_rates(scores, metrics=[MAE])["rate"].to_list() == [1.0, 0.0]
    assert win_rates(scores, metrics=[MAE])["reason"].to_list() == ["no variation among participants"] * 2


def test_win_rates_agree_with_the_matrix(scores_of: Build) -> None:
    values = np.random.default_rng(0).integers(0, 4, size=(4, 30)) / 4
    scores = scores_of(_table({model: {PAIRWISE: row.tolist()} for model, row in zip("abcd", values, strict=True)}))
    found = win_rates(scores, metrics=[PAIRWISE])
    matrix = rates_of(values).rates
    for row in found.iter_rows(named=True):
        assert row["rate"] == pytest.approx(matrix["abcd".index(row["model_a"]), "abcd".index(row["model_b"])])
        assert row["low"] <= row["rate"] <= row["high"]
    assert found.height == 12


@pytest.mark.parametrize("metric", ["pooled_binary_om_metrics.mcc", "hp_perspective_gap"])
def test_win_rates_of_what_cannot_win(scores_of: Build, metric: str) -> None:
    with pytest.raises(MetricInputError, match=metric):
        win_rates(scores_of({}), metrics=[metric])
