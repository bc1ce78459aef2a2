"""Differences between conditions and shifts of ranks, by hand on small scores; no BCa interval of ranks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from attune_bench import Scores
from attune_bench.analyses import condition_differences, rank_shifts
from attune_metrics import MetricInputError

Json = dict[str, Any]
Build = Callable[..., Scores]
COMPOSITE, F1, VA = "composite_score", "avg_emotion_f1", "avg_emotion_va_score"
MAE = "avg_emotion_intensity_mae"


def _table(columns: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, dict[str, Json]]:
    """Turn {model: {metric: values}} into {model: {conversation: {metric: value}}}."""
    return {
        model: {
            f"c{i}": dict(zip(values, row, strict=True)) for i, row in enumerate(zip(*values.values(), strict=True))
        }
        for model, values in columns.items()
    }


def _in_modes(build: Build, values: Mapping[tuple[str, str], Sequence[Any]], metric: str = F1) -> Scores:
    table = {f"{model} {mode}": {metric: row} for (model, mode), row in values.items()}
    return build(_table(table), modes={f"{model} {mode}": (model, mode) for model, mode in values})


def test_condition_differences_by_hand(scores_of: Build) -> None:
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
    rows = condition_differences(scores, metrics=[COMPOSITE]).to_dicts()
    assert [(row["model"], row["condition"], row["reference"]) for row in rows] == [
        ("a", "omniscient", "default"),
        ("b", "omniscient", "default"),
    ]
    first, second = rows
    assert (first["value"], first["value_reference"], first["difference"]) == (40, 30, 10)
    # All five alike: 2 of 32 exchanges are as large; Holm over two models.
    assert (first["p"], first["p_holm"], first["n"], first["clusters"]) == (2 / 32, 4 / 32, 5, 5)
    # A difference that never varies has no interval and no standard error.
    assert [first[name] for name in ("significant", "low", "high", "mde", "reason")] == [
        False, None, None, None, "all participants have the same difference"
    ]  # fmt: skip
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


def test_no_bca_of_ranks(scores_of: Build) -> None:
    values = {(model, mode): [0.1, 0.5] for model in "abcdef" for mode in ("default", "verbose")}
    scores = scores_of(
        _table(
            {
                f"{model} {mode}": {F1: [place / 12, 1], VA: [1 - place / 12, 0]}
                for place, (model, mode) in enumerate(values)
            }
        ),
        modes={f"{model} {mode}": (model, mode) for model, mode in values},
    )
    with pytest.raises(MetricInputError, match=r"no BCa interval of a shift.*; use percentile-expanded or percentile"):
        rank_shifts(scores, interval="bca", metrics=[F1])
