"""Correlation of metrics across models, and win rates, by hand on small scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from attune_bench import Scores
from attune_bench.analyses import metric_correlation, win_rates
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


# Correlation.


def test_metric_correlation_by_hand(scores_of: Build) -> None:
    # Means of F1 rise from a to f; of VA they are .2, .6, .4, .9, .8, .95: ranks 1 3 2 5 4 6, so that rho is
    # 1 - 6 (0 + 1 + 1 + 1 + 1 + 0) / (6 x 35) = 31 / 35. The MAE falls as F1 rises: -1, and stays so in every resample,
    # since no conversation differs.
    va = {"a": (0.1, 0.3), "b": (0.5, 0.7), "c": (0.2, 0.6), "d": (0.86, 0.94), "e": (0.75, 0.85), "f": (0.9, 1.0)}
    scores = scores_of(
        _table(
            {
                model: {F1: [(place + 1) / 10] * 6, VA: [*of_model] * 3, MAE: [6.0 - place] * 6}
                for place, (model, of_model) in enumerate(va.items())
            }
        )
    )
    rows = metric_correlation(scores, metrics=[F1, VA, MAE]).to_dicts()
    assert [(row["metric_a"], row["metric_b"]) for row in rows] == [(F1, VA), (F1, MAE), (VA, MAE)]
    assert [row["rho"] for row in rows] == pytest.approx([31 / 35, -1.0, -31 / 35], abs=1e-12)
    assert [(row["models"], row["clusters"]) for row in rows] == [(6, 6)] * 3
    assert (rows[1]["low"], rows[1]["reason"]) == (None, "no variation among participants")
    # Drawing the first kind of conversation only: .1, .5, .2, .86, .75, .9; the second only: .3, .7, .6, .94, .85, 1.
    # The order never changes either.
    assert rows[0]["reason"] == "no variation among participants"


@pytest.mark.slow
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
    one = metric_correlation(scores_of(_table({"a": columns})), metrics=[F1, MAE])
    assert one.select("rho", "low", "high", "models", "reason").rows() == [(None, None, None, 1, "fewer than 6 models")]
    lacking = {**dict.fromkeys("abcde", columns), "f": columns | {MAE: [None, None]}}
    five = metric_correlation(scores_of(_table(lacking)), metrics=[F1, MAE])
    assert five.select("rho", "models", "reason").rows() == [(None, 5, "fewer than 6 models")]
    lacking["g"] = columns
    six = metric_correlation(scores_of(_table(lacking)), metrics=[F1, MAE])
    assert six.select("rho", "models", "reason").rows() == [(None, 6, "one of the two is the same for all models")]


@pytest.mark.slow
def test_correlation_leaves_out_baselines_and_people(scores_of: Build) -> None:
    generator = np.random.default_rng(2)
    columns = {name: {F1: generator.random(9).tolist(), VA: generator.random(9).tolist()} for name in "abcdefg"}
    lowest = {F1: [0.0] * 9, VA: [0.0] * 9}
    others = {"baseline/chance": lowest, "baseline/prior": lowest, "human/ann": {F1: [1.0] * 9, VA: [1.0] * 9}}
    models, every = (scores_of(_table(table)) for table in (columns, columns | others))
    assert metric_correlation(every, metrics=[F1, VA]).equals(metric_correlation(models, metrics=[F1, VA]))
    # Three models and three others are three models.
    few = scores_of(_table({name: columns[name] for name in "abc"} | others))
    row = metric_correlation(few, metrics=[F1, VA]).row(0, named=True)
    assert (row["rho"], row["models"], row["reason"]) == (None, 3, "fewer than 6 models")
    none = metric_correlation(scores_of(_table(others)), metrics=[F1, VA]).row(0, named=True)
    assert (none["rho"], none["models"], none["clusters"], none["reason"]) == (None, 0, 0, "fewer than 6 models")


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
