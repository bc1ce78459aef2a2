"""Correlation of metrics, win rates, differences of modes and shifts of ranks, by hand on small scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from attune_bench.benchmarks.attunebench.analyses._common import direction

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.analyses import metric_correlation, mode_differences, rank_shifts, win_rates
from attune_bench.stats.series import METRICS
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
    lower = {metric for metric in METRICS if not metric.startswith("hp_") and direction(metric) < 0}
    assert lower == {metric for metric in METRICS if metric.endswith(("_mae", "_distance"))}
    for metric in METRICS:
        if metric.startswith("hp_"):
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
    assert [(row["models"], row["participants"]) for row in rows] == [(3, 6)] * 3
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
    found = win_rates(scores)
    matrix = rates_of(values).rates
    for row in found.iter_rows(named=True):
        assert row["rate"] == pytest.approx(matrix["abcd".index(row["model_a"]), "abcd".index(row["model_b"])])
        assert row["low"] <= row["rate"] <= row["high"]
    assert found.height == 12


@pytest.mark.parametrize("metric", ["pooled_binary_om_metrics.mcc", "hp_perspective_gap"])
def test_win_rates_of_what_cannot_win(scores_of: Build, metric: str) -> None:
    with pytest.raises(MetricInputError, match=metric):
        win_rates(scores_of({}), metrics=[metric])


# Modes.


def _in_modes(build: Build, values: Mapping[tuple[str, str], Sequence[Any]], metric: str = F1) -> Scores:
    table = {f"{model} {mode}": {metric: row} for (model, mode), row in values.items()}
    return build(_table(table), modes={f"{model} {mode}": (model, mode) for model, mode in values})


def test_mode_differences_by_hand(scores_of: Build) -> None:
    scores = _in_modes(
        scores_of,
        {
            ("a", "default"): [10, 20, 30, 40, 50, None],
            ("a", "omniscient"): [20, 30, 40, 50, 60, 90],
            ("b", "default"): [50] * 6,
            ("b", "omniscient"): [50] * 6,
            ("c", "verbose"): [90] * 6,
        },
        COMPOSITE,
    )
    rows = mode_differences(scores, metrics=[COMPOSITE]).to_dicts()
    assert [(row["model"], row["mode"], row["reference"]) for row in rows] == [
        ("a", "omniscient", "default"),
        ("b", "omniscient", "default"),
    ]
    first, second = rows
    assert (first["value"], first["value_reference"], first["difference"]) == (40, 30, 10)
    # All five alike: 2 of 32 exchanges are as large; Holm over two models.
    assert (first["p"], first["p_holm"], first["n"]) == (2 / 32, 4 / 32, 5)
    assert [second[name] for name in ("difference", "low", "high", "p", "p_holm")] == [0, 0, 0, 1, 1]


def test_rank_shifts_by_hand(scores_of: Build) -> None:
    # By default c, b, a; when it thinks aloud a, c, b. d has one mode and is not ranked.
    scores = _in_modes(
        scores_of,
        {
            ("a", "default"): [0.1] * 6,
            ("b", "default"): [0.2] * 6,
            ("c", "default"): [0.3] * 6,
            ("d", "default"): [0.9] * 6,
            ("a", "verbose"): [0.9] * 6,
            ("b", "verbose"): [0.2] * 6,
            ("c", "verbose"): [0.4] * 6,
        },
    )
    found = rank_shifts(scores, metrics=[F1])
    assert found.select("model", "rank_reference", "rank", "shift", "low", "high", "models").rows() == [
        ("a", 3, 1, 2, 2, 2, 3),
        ("b", 2, 3, -1, -1, -1, 3),
        ("c", 1, 2, -1, -1, -1, 3),
    ]


def test_lower_errors_rank_first_and_ties_share_a_rank(scores_of: Build) -> None:
    scores = _in_modes(
        scores_of,
        {
            ("a", "default"): [1.0] * 6,
            ("b", "default"): [2.0] * 6,
            ("a", "verbose"): [2.0] * 6,
            ("b", "verbose"): [2.0] * 6,
        },
        MAE,
    )
    found = rank_shifts(scores, metrics=[MAE])
    assert found.select("model", "rank_reference", "rank", "shift").rows() == [("a", 1, 1.5, -0.5), ("b", 2, 1.5, 0.5)]


def test_intervals_of_shifts_are_shifts_that_occur(scores_of: Build) -> None:
    generator = np.random.default_rng(4)
    values = {(model, mode): generator.random(20).tolist() for model in "abc" for mode in ("default", "verbose")}
    for row in rank_shifts(_in_modes(scores_of, values), metrics=[F1]).iter_rows(named=True):
        assert row["low"] <= row["shift"] <= row["high"]
        assert {row["low"] % 1, row["high"] % 1} == {0}


@pytest.mark.parametrize(("analysis", "of"), [(metric_correlation, "a rank correlation"), (rank_shifts, "a shift")])
def test_no_bca_of_ranks(scores_of: Build, analysis: Callable[..., Any], of: str) -> None:
    values = {(model, mode): [0.1, 0.5] for model in "abc" for mode in ("default", "verbose")}
    scores = scores_of(
        _table(
            {
                f"{model} {mode}": {F1: [place / 9, 1], VA: [1 - place / 9, 0]}
                for place, (model, mode) in enumerate(values)
            }
        ),
        modes={f"{model} {mode}": (model, mode) for model, mode in values},
    )
    with pytest.raises(MetricInputError, match=f"no BCa interval of {of}.*; use percentile-expanded or percentile"):
        analysis(
            scores, interval="bca", **({"metrics": [F1, VA]} if analysis is metric_correlation else {"metrics": [F1]})
        )
