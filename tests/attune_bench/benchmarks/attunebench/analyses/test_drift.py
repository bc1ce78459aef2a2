"""Turn drift, by hand on small scores."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.analyses import _thirds, turn_drift
from attune_metrics import MetricInputError

Json = dict[str, Any]
Build = Callable[..., Scores]


def _turns(make_record: Callable[..., Json], values: Sequence[float | None], **numbers: Any) -> Json:
    """Return turns from 1 with values of emotion VA; None is a turn that the run lacks."""
    turn: Json = make_record()["turn_scores"][0]
    return {
        "turn_scores": [
            turn | {"turnNumber": number, "emotion_va_score": value} | {k: v[number - 1] for k, v in numbers.items()}
            for number, value in enumerate(values, start=1)
            if value is not None
        ]
    }


@pytest.mark.parametrize(
    ("turns", "thirds"),
    [
        # floor(3 (t - 1) / T)
        (1, []),
        (2, []),
        (3, [0, 1, 2]),
        (4, [0, 0, 1, 2]),
        (5, [0, 0, 1, 1, 2]),
        (6, [0, 0, 1, 1, 2, 2]),
        (7, [0, 0, 0, 1, 1, 2, 2]),
        (8, [0, 0, 0, 1, 1, 1, 2, 2]),
    ],
)
def test_thirds(turns: int, thirds: list[int]) -> None:
    record = {"turn_scores": [{"turnNumber": 10 * number} for number in range(turns, 0, -1)]}
    assert list(_thirds([None, record]).values()) == thirds


def test_turn_drift_by_hand(scores_of: Build, make_record: Callable[..., Json]) -> None:
    # Five turns: early .2 and .4, middle .6 and .8, late 1. Three: each one. Two: left out.
    table = {
        "c1": _turns(make_record, [0.2, 0.4, 0.6, 0.8, 1.0]),
        "c2": _turns(make_record, [0.5, 0.1, 0.4]),
        "c3": _turns(make_record, [0.9, 0.0]),
    }
    row = turn_drift(scores_of({"a": table}), metrics=["avg_emotion_va_score"]).row(0, named=True)
    assert row["early"] == pytest.approx((0.3 + 0.5) / 2, abs=1e-12)
    assert row["middle"] == pytest.approx((0.7 + 0.1) / 2, abs=1e-12)
    assert row["late"] == pytest.approx((1.0 + 0.4) / 2, abs=1e-12)
    assert row["drift"] == pytest.approx(0.3, abs=1e-12)
    # Differences .7 and -.1: of the four exchanges .3, .4, -.4, -.3 all are as large.
    assert (row["n"], row["p"], row["p_holm"], row["significant"]) == (2, 1.0, 1.0, False)
    assert (row["p_min"], row["mde"], row["reason"]) == (0.5, None, "fewer than 5 participants")


def test_turns_that_a_run_lacks_do_not_move_the_thirds(scores_of: Build, make_record: Callable[..., Json]) -> None:
    scores = scores_of(
        {
            "a": {"c1": _turns(make_record, [0.2, 0.4, 0.6, 0.8, 1.0])},
            # Its last turn is in the middle third of the conversation.
            "b": {"c1": _turns(make_record, [0.2, 0.4, 0.6, 0.8, None])},
            # Its first turn is missing: of the early third the other one counts.
            "c": {"c1": _turns(make_record, [None, 0.4, 0.6, 0.8, 0.5])},
        }
    )
    found = turn_drift(scores, metrics=["avg_emotion_va_score"])
    assert found["n"].to_list() == [1, 0, 1]
    assert found["drift"].to_list() == [pytest.approx(0.7), None, pytest.approx(0.1)]
    assert found["reason"].to_list()[1] == "no conversation has a value"


def test_drift_of_pooled_counts(scores_of: Build, make_record: Callable[..., Json]) -> None:
    counts: Json = make_record()["turn_scores"][0]["binary_om_metrics"]

    def of(tp: int, tn: int, fp: int, fn: int) -> Json:
        return counts | {"tp": tp, "tn": tn, "fp": fp, "fn": fn}

    cells = [of(3, 1, 0, 0), of(1, 1, 1, 1), of(0, 2, 2, 0)], [of(5, 0, 0, 1), of(1, 1, 0, 0), of(2, 0, 0, 4)]
    table = {f"c{i}": _turns(make_record, [0.5] * 3, binary_om_metrics=cells[i]) for i in range(2)}
    row = turn_drift(scores_of({"a": table}), metrics=["pooled_binary_om_metrics.accuracy"]).row(0, named=True)
    # Right of asked: early 4 + 5 of 4 + 6, middle 2 + 2 of 4 + 2, late 2 + 2 of 4 + 6.
    assert row["early"] == pytest.approx(9 / 10, abs=1e-12)
    assert row["middle"] == pytest.approx(4 / 6, abs=1e-12)
    assert row["late"] == pytest.approx(4 / 10, abs=1e-12)
    assert row["drift"] == pytest.approx(-0.5, abs=1e-12)


def test_undefined_turns_are_skipped(scores_of: Build, make_record: Callable[..., Json]) -> None:
    errors = [None, 2.0, 1.0, 1.0, None], [1.0, 1.0, None, None, 4.0]
    table = {f"c{i}": _turns(make_record, [0.5] * 5, emotion_intensity_mae=errors[i]) for i in range(2)}
    row = turn_drift(scores_of({"a": table}), metrics=["avg_emotion_intensity_mae"]).row(0, named=True)
    # The first conversation has no late value; the second has no middle one.
    assert (row["early"], row["middle"], row["late"], row["n"]) == (1.0, None, 4.0, 1)


@pytest.mark.parametrize("metric", ["composite_score", "avg_emotion_hit_rate_tagged_only", "avg_four_branch_mae"])
def test_drift_of_what_turns_do_not_have(scores_of: Build, metric: str) -> None:
    with pytest.raises(MetricInputError, match=f"turns do not have '{metric}'; expected one of avg_emotion"):
        turn_drift(scores_of({}), metrics=[metric])
