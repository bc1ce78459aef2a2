"""Correlation of metrics across models, and win rates, by hand on small scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from attune_bench import Scores
from attune_bench.analyses import metric_correlation, win_rates
from attune_bench.benchmarks.attunebench.table import METRICS
from attune_bench.stats.ranking import direction
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


# Correlation.


def test_metric_correlation_by_hand(scores_of: Build) -> None:
    # Means of F1 .1, .2, .3, of VA .2, .6, .4: ranks 1 2 3 and 1 3 2, rho 1 - 6 (0 + 1 + 1) / (3 x 8) = .5. The MAE
    # falls as F1 rises: -1, and stays so in every resample, since no conversation differs.
    scores = scores_of(
        _table(
            {
                "a": {F1: [0.1] * 6, VA: [0.1, 0.3] * 3, MAE: [3.0] * 6},
                "b": {F1: [0.2] * 6, VA: [0.5, 0.7] * 3, MAE: [2.0] * 6},
                "c": {F1: [0.3] * 6, VA: [0.2, 0.6] * 3, MAE: [1.0] * 6},
            }
        )
    )
    rows = metric_correlation(scores, metrics=[F1, VA, MAE]).to_dicts()
    assert [(row["metric_a"], row["metric_b"]) for row in rows] == [(F1, VA), (F1, MAE), (VA, MAE)]
    assert [row["rho"] for row in rows] == pytest.approx([0.5, -1.0, -0.5], abs=1e-12)
    assert [(row["models"], row["clusters"]) for row in rows] == [(3, 6)] * 3
    assert (rows[1]["low"], rows[1]["reason"]) == (None, "no variation among clusters")
    # Drawing the first kind of conversation only: .1, .5, .2; the second only: .3, .7, .6, the same order. The order
    # never changes either.
    assert rows[0]["reason"] == "no variation among clusters"


def test_correlation_has_an_interval_where_the_order_can_change(scores_of: Build) -> None:
    generator = np.random.default_rng(1)
    table = {
        model: {
            F1: (place / 20 + generator.random(30) / 2).tolist(),
            VA: (place / 20 + generator.random(30) / 2).tolist(),
        }
        for place, model in enumerate("abcdefgh")
    }
    row = metric_correlation(scores_of(_table(table)), metrics=[F1, VA]).row(0, named=True)
    assert -1 <= row["low"] < row["high"] <= 1
    assert row["reason"] is None


def test_correlation_without_enough_models(scores_of: Build) -> None:
    columns: dict[str, list[Any]] = {F1: [0.1, 0.2], MAE: [0.2, 0.1]}
    two = metric_correlation(scores_of(_table({"a": columns, "b": columns})), metrics=[F1, MAE])
    assert two.height == 0
    lacking = {"a": columns, "b": columns, "c": columns | {MAE: [None, None]}}
    three = metric_correlation(scores_of(_table(lacking)), metrics=[F1, MAE])
    assert three.select("rho", "models", "reason").rows() == [(None, 2, "fewer than 3 models")]
    lacking["d"] = columns
    three = metric_correlation(scores_of(_table(lacking)), metrics=[F1, MAE])
    assert three.select("rho", "models", "reason").rows() == [(None, 3, "one of the two is the same for all models")]


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
    assert win_rates(scores, metrics=[MAE])["reason"].to_list() == ["no variation among clusters"] * 2


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
