"""Gaps, errors by branch and turn drift, by hand on small scores."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.analyses import branch_errors, perspective_gap, phrasing_gap, turn_drift
from attune_bench.benchmarks.attunebench.analyses.drift import _thirds
from attune_metrics import MetricInputError
from attune_metrics.attunebench.holistic import BRANCHES

Json = dict[str, Any]
Build = Callable[..., Scores]
OM, HP, HP_FACING = "avg_binary_om_accuracy", "avg_binary_human_accuracy", "avg_binary_human_accuracy_hp"


def _accuracies(first: str, second: str, pairs: Sequence[tuple[Any, Any]]) -> dict[str, Json]:
    return {f"c{i}": {first: one, second: other} for i, (one, other) in enumerate(pairs)}


# Perspective gap.


def test_perspective_gap_by_hand(scores_of: Build) -> None:
    # Differences .1, 0, .2, .1, 0: mean .08. Of the 8 exchanges of the three that differ, this one and its opposite are
    # as large: p 2/8. The other model's five differences all count: p 2/32. Holm: .0625 x 2, then .25.
    some = [(0.9, 0.8), (0.8, 0.8), (0.7, 0.5), (0.6, 0.5), (0.5, 0.5)]
    every = [(0.9, 0.8), (0.8, 0.7), (0.7, 0.5), (0.6, 0.5), (0.5, 0.4)]
    rows = perspective_gap(scores_of({"b": _accuracies(OM, HP, every), "a": _accuracies(OM, HP, some)})).to_dicts()
    assert [(row["model"], row["mode"]) for row in rows] == [("a", "default"), ("b", "default")]
    first, second = rows
    assert first["om"] == pytest.approx(0.7, abs=1e-12)
    assert first["hp"] == pytest.approx(0.62, abs=1e-12)
    assert first["gap"] == pytest.approx(0.08, abs=1e-12)
    assert (first["p"], second["p"]) == (0.25, 0.0625)
    assert (first["p_holm"], second["p_holm"]) == (0.25, 0.125)
    assert (first["n"], first["participants"], first["reason"]) == (5, 5, None)
    assert 0 <= first["low"] < 0.08 < first["high"] <= 0.2


def test_perspective_gap_exchanges_participants_not_conversations(scores_of: Build) -> None:
    # Six conversations of two participants: 4 exchanges, two of them as large.
    pairs = [(0.9, 0.8)] * 6
    people = {f"c{i}": f"P{i % 2}" for i in range(6)}
    scores = scores_of({"a": _accuracies(OM, HP, pairs)}, people=people)
    row = perspective_gap(scores).row(0, named=True)
    assert (row["p"], row["n"], row["participants"]) == (0.5, 6, 2)
    assert (row["low"], row["high"], row["reason"]) == (None, None, "fewer than 5 participants")
    # As if by six: 2 of 64.
    assert perspective_gap(scores, unit="conversation")["p"].to_list() == [2 / 64]


def test_families_are_modes(scores_of: Build) -> None:
    table = {"a": _accuracies(OM, HP, [(0.9, 0.8)] * 5)}
    scores = scores_of({"x": table["a"], "y": table["a"]}, modes={"x": ("a", "default"), "y": ("a", "verbose")})
    assert perspective_gap(scores)["p_holm"].to_list() == [2 / 32, 2 / 32]


def test_a_family_too_large_for_the_resamples_is_a_warning(scores_of: Build) -> None:
    # With 13 participants exchanges are drawn: of 50 the smallest p is 1/51, and 3/51 is not below .05.
    table = {model: _accuracies(OM, HP, [(0.9, 0.8)] * 13) for model in "abc"}
    with pytest.warns(UserWarning, match=r"50 resamples are too few for 3 tests \(the models of mode 'default'\)"):
        perspective_gap(scores_of(table), resamples=50)


# Phrasing gap.


def test_phrasing_gap_is_the_aggregate(scores_of: Build) -> None:
    pairs = [(0.9, 0.6), (0.8, 0.9), (0.7, 0.5), (0.6, 0.5), (0.5, None)]
    scores = scores_of({"a": _accuracies(HP, HP_FACING, pairs)})
    # Where both are there: (.3 - .1 + .2 + .1) / 4; .75 against .625.
    row = phrasing_gap(scores).row(0, named=True)
    assert row["observer"] == pytest.approx(0.75, abs=1e-12)
    assert row["hp_facing"] == pytest.approx(0.625, abs=1e-12)
    assert row["gap"] == pytest.approx(0.125, abs=1e-12)
    assert (row["n"], row["reason"]) == (4, "fewer than 5 participants")


def test_phrasing_that_was_not_asked(scores_of: Build) -> None:
    row = phrasing_gap(scores_of({"a": _accuracies(HP, HP_FACING, [(0.9, None)] * 6)})).row(0, named=True)
    assert [row[name] for name in ("observer", "hp_facing", "gap", "low", "high", "p", "p_holm")] == [None] * 7
    assert (row["n"], row["reason"]) == (0, "no conversation has a value")


# Errors by branch.


def test_branch_errors_by_hand(scores_of: Build, make_record: Callable[..., Json]) -> None:
    post = make_record()["post_score"]
    errors = [{"perceiving": 1.0, "managing": 3.0}, {"perceiving": 2.0}, {"perceiving": 6.0, "managing": 0.0}]
    table = {f"c{i}": {"post_score": post | {"four_branch_per_branch": error}} for i, error in enumerate(errors)}
    rows = branch_errors(scores_of({"a": table})).to_dicts()
    assert [(row["branch"], row["mae"], row["n"]) for row in rows] == [
        ("perceiving", 3.0, 3),
        ("facilitating", None, 0),
        ("understanding", None, 0),
        ("managing", 1.5, 2),
    ]
    assert [row["branch"] for row in rows] == list(BRANCHES)


# Turn drift.


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
    assert (row["n"], row["p"], row["p_holm"]) == (2, 1.0, 1.0)


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
