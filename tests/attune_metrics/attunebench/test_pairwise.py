"""Pairwise preferences. Expected values are derived by hand in the comments."""

from itertools import product
from math import isnan
from statistics import fmean
from typing import Any

import pytest

from attune_metrics import MetricInputError, UndefinedMetricWarning, pairwise_accuracy, pairwise_kendall_tau
from attune_metrics.attunebench.preferences import (
    Comparison,
    pairwise_wins,
    prepare_comparisons,
    score_comparisons,
    score_random_choices,
)

# Wins: original 2, human 1, alternate 0.
TURN = [
    Comparison("original", "alternate", "A"),
    Comparison("human", "original", "B"),
    Comparison("alternate", "human", "B"),
    Comparison("human", "alternate", None),
]


def test_accuracy_counts_every_comparison() -> None:
    # Right: 0, 1. Wrong: 2, and 3 because a None winner is never matched.
    assert pairwise_accuracy(TURN, ["A", "B", "A", "A"]) == 0.5
    # A missing prediction is wrong, also for a None winner.
    assert pairwise_accuracy(TURN, {}) == 0.0
    assert pairwise_accuracy(TURN, [None, "B", None, None]) == 0.25


@pytest.mark.parametrize("predicted", [["A", "B"], {0: "A", 1: "B"}, {"0": "A", "1": "B"}, {"1": "b", "0": " a "}])
def test_predictions_by_position(predicted: Any) -> None:
    assert pairwise_accuracy(TURN, predicted) == 0.5


def test_wins() -> None:
    assert pairwise_wins(TURN) == {"alternate": 0, "human": 1, "original": 2}
    assert list(pairwise_wins(TURN)) == ["alternate", "human", "original"]


def test_tau_of_three_labels() -> None:
    # Truth: original, human, alternate.
    assert pairwise_kendall_tau(TURN, ["A", "B", "B", None]) == 1.0
    # Predicted wins alternate 2, human 1, original 0: reversed.
    assert pairwise_kendall_tau(TURN, ["B", "A", "A", None]) == -1.0
    # Predicted wins human 2, original 1, alternate 0: one of three pairs is discordant.
    assert pairwise_kendall_tau(TURN, ["A", "A", "B", None]) == pytest.approx(1 / 3, abs=1e-12)


def test_tau_ranks_ties_by_name() -> None:
    # Predicted: every label wins once, so alternate, human, original: against original, human, alternate all reversed.
    assert pairwise_kendall_tau(TURN, ["A", "A", "A", None]) == -1.0
    # No true winner at all: alternate, human, original; predicted original 2, human 1.
    nobody = [Comparison(first, second, None) for first, second, _ in TURN]
    assert pairwise_kendall_tau(nobody, ["A", "B", "B", None]) == -1.0


def test_tau_counts_true_and_predicted_wins_independently() -> None:
    # Position 3 has no true winner, yet its prediction counts: human 2, alternate 1, original 0. Against original,
    # human, alternate the label original is discordant with both: (1 - 2) / 3. Without position 3 it would be -1.
    assert pairwise_kendall_tau(TURN, [None, "A", "A", "A"]) == pytest.approx(-1 / 3, abs=1e-12)


def test_tau_of_other_and_of_four_labels() -> None:
    # b beats a, c beats d; equal wins by name: b, c, a, d. Predicted a and c: a, c, b, d.
    # Discordant of six pairs: (b, c), (b, a), (c, a): 0.
    assert pairwise_kendall_tau([("a", "b", "B"), ("c", "d", "A")], ["A", "A"]) == 0.0


def test_no_comparisons() -> None:
    assert pairwise_accuracy([], {}) == 1.0
    assert pairwise_wins([]) == {}
    with pytest.warns(UndefinedMetricWarning, match="undefined: pairwise_kendall_tau; it needs") as caught:
        assert isnan(pairwise_kendall_tau([], {}))
    assert caught[0].filename == __file__


def test_no_prediction_leaves_tau_undefined() -> None:
    with pytest.warns(UndefinedMetricWarning):
        assert isnan(pairwise_kendall_tau(TURN, [None] * 4))


def test_the_fast_door_ignores_other_keys_and_values() -> None:
    scores = score_comparisons(prepare_comparisons(TURN), {"0": "A", "1": "C", "12": "A", "x": "B"})
    assert scores.accuracy == 0.25
    # One label alone in all comparisons: no pair to rank.
    assert isnan(score_comparisons(prepare_comparisons([Comparison("a", "a", "A")]), {"0": "A"}).kendall_tau)


# Labels sorted: alternate, human, original. Wins: human 1 (position 1), original 1 (position 2); the win of position 0
# goes to an open label. Ranked: human, original, alternate.
OPEN = [
    Comparison(None, "alternate", "A"),
    Comparison("human", None, "A"),
    Comparison("alternate", "original", "B"),
    Comparison(None, None, "B"),
]


def test_open_labels_win_nothing() -> None:
    prepared = prepare_comparisons(OPEN)
    assert prepared.wins == {"alternate": 0, "human": 1, "original": 1}
    assert prepared.ranking == ("human", "original", "alternate")
    assert len(prepared.compared) == 4


def test_open_labels_take_part_in_the_accuracy_only() -> None:
    prepared = prepare_comparisons(OPEN)
    # Right: 0, 1, 3. Wrong: 2. Predicted wins human 1, alternate 1; ranked alternate, human, original: against human,
    # original, alternate the label alternate is discordant with both: (1 - 2) / 3.
    scores = score_comparisons(prepared, {"0": "A", "1": "A", "2": "A", "3": "B"})
    assert scores.accuracy == 0.75
    assert scores.kendall_tau == pytest.approx(-1 / 3, abs=1e-12)
    # What is predicted of open labels (0 and 3) changes the accuracy, not tau.
    for choices, accuracy in (({"3": "B"}, 0.5), ({"3": "A"}, 0.25), ({"0": "A", "3": "B"}, 0.75)):
        scores = score_comparisons(prepared, {"1": "A", "2": "A"} | choices)
        assert scores.accuracy == accuracy
        assert scores.kendall_tau == pytest.approx(-1 / 3, abs=1e-12)


def test_tau_is_undefined_where_only_open_labels_are_predicted_to_win() -> None:
    scores = score_comparisons(prepare_comparisons(OPEN), {"0": "A", "1": "B", "3": "B"})
    # Right: 0, 3. No named label wins, so there is no predicted ranking.
    assert scores.accuracy == 0.5
    assert isnan(scores.kendall_tau)


@pytest.mark.parametrize("labels", [(None, None), ("human", None), (None, "human")])
def test_tau_needs_two_named_labels(labels: tuple[str | None, str | None]) -> None:
    prepared = prepare_comparisons([Comparison(*labels, "A"), Comparison(*labels, "B")])
    scores = score_comparisons(prepared, {"0": "A", "1": "A"})
    assert scores.accuracy == 0.5
    assert isnan(scores.kendall_tau)


@pytest.mark.parametrize("metric", [pairwise_accuracy, pairwise_kendall_tau])
def test_the_checked_door_demands_labels(metric: Any) -> None:
    for comparison in OPEN[:2]:
        with pytest.raises(MetricInputError, match=r"None.* is not \(first label, second label, winner\)"):
            metric([comparison], ["A"])


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        ({"4": "A"}, "position 4 is beyond the 4 comparisons; positions count from 0"),
        ({-1: "A"}, "position -1 is beyond the 4 comparisons"),
        (["A"] * 5, "position 4 is beyond the 4 comparisons"),
        ({"first": "A"}, "position 'first' is not a whole number"),
        ({1.0: "A"}, "position 1.0 is not a whole number"),
        ({True: "A"}, "position True is not a whole number"),
        ({0: "A", "0": "B"}, "position 0 is given twice"),
        ({0: "original"}, "winner 'original' is not A, B or None; is this a label?"),
        ({0: 1}, "winner 1 is not A, B or None$"),
        ("ABAB", r"predicted is 'ABAB' \(str\); expected a list"),
        (None, "predicted is None"),
    ],
)
def test_bad_predictions_raise(predicted: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message.replace("?", r"\?")):
        pairwise_accuracy(TURN, predicted)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ([("human", "human", "A")], "compares 'human' with itself"),
        ([("human", "original")], "is not \\(first label, second label, winner\\)"),
        ([("human", "original", "human")], "reference winner 'human' is not A, B or None; is this a label"),
        ([("human", 3, "A")], "is not \\(first label"),
        (None, "reference is None; expected a list of comparisons"),
    ],
)
def test_bad_comparisons_raise(reference: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        pairwise_wins(reference)


# Random choices.

# Twelve comparisons, four of each pair.
PAIRS = [("original", "alternate"), ("original", "human"), ("alternate", "human")] * 4
# Of the 4096 outcomes 1121 rank alternate, human, original (a h o), 475 the reverse, and 625 each of the other four:
# equal wins go by name, which favours a before h before o. Kendall's tau with a true order is 1 for the same, 1/3 for
# one pair turned, -1/3 for two, -1 for the reverse.
#   a h o: (1121 + (625 + 625 - 625 - 625)/3 - 475)/4096 = 646/4096
#   a o h: (625 + (1121 + 625 - 625 - 475)/3 - 625)/4096 = 646/3/4096
#   h a o: as a o h; the other three are the reverses of these.
EXPECTED_TAU = {
    "aho": 646 / 4096,
    "aoh": 646 / 3 / 4096,
    "hao": 646 / 3 / 4096,
    "oah": -646 / 3 / 4096,
    "hoa": -646 / 3 / 4096,
    "oha": -646 / 4096,
}


def with_order(order: str) -> list[Comparison]:
    """Return the comparisons, each won by the label whose first letter comes first."""
    return [Comparison(one, other, "A" if order.index(one[0]) < order.index(other[0]) else "B") for one, other in PAIRS]


@pytest.mark.parametrize("order", EXPECTED_TAU)
def test_random_choices_by_enumeration(order: str) -> None:
    turn = with_order(order)
    found = score_random_choices(prepare_comparisons(turn))
    assert found.kendall_tau == pytest.approx(EXPECTED_TAU[order], abs=1e-12)
    assert found.accuracy == 0.5
    # The mean over all choices, scored one by one.
    prepared = prepare_comparisons(turn)
    keys = [str(place) for place in range(12)]
    taus = [
        score_comparisons(prepared, dict(zip(keys, chosen, strict=True))).kendall_tau
        for chosen in product("AB", repeat=12)
    ]
    assert fmean(taus) == pytest.approx(found.kendall_tau, abs=1e-12)


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        # The other two are compared four times. Of 16 outcomes the first by name wins in 11, as 2 to 2 is a tie.
        # 646/4096 (11 + 5/3)/16
        ("alternate", 0.12485758463541667),
        # -646/4096 (11/3 + 5)/16
        ("original", -0.08542887369791667),
        # 646/4096 (11/3 - 5/3)/16
        ("human", 0.01971435546875),
    ],
)
def test_random_choices_where_one_always_wins(best: str, expected: float) -> None:
    taus = []
    for outcome in product("AB", repeat=4):
        rest = iter(outcome)
        turn = [Comparison(*pair, "AB"[pair.index(best)] if best in pair else next(rest)) for pair in PAIRS]
        taus.append(score_random_choices(prepare_comparisons(turn)).kendall_tau)
    assert fmean(taus) == pytest.approx(expected, abs=1e-12)


def test_random_choices_of_comparisons_without_a_winner() -> None:
    # Two of three have a winner, of which half are met.
    turn = [Comparison("a", "b", "A"), Comparison("a", "b", "B"), Comparison("a", "b", None)]
    assert score_random_choices(prepare_comparisons(turn)).accuracy == pytest.approx(1 / 3, abs=1e-12)
    nothing = score_random_choices(prepare_comparisons([]))
    assert nothing.accuracy == 1
    assert isnan(nothing.kendall_tau)


def test_random_choices_where_a_label_is_open_in_one_comparison_only() -> None:
    # The true order is human, original. Of the outcomes (nothing or human, human or original) only nothing and original
    # turn it round; human and original is a tie, which goes by name.
    turn = [Comparison(None, "human", "B"), Comparison("human", "original", "A")]
    found = score_random_choices(prepare_comparisons(turn))
    assert found.accuracy == 0.5
    assert found.kendall_tau == pytest.approx(3 / 4 - 1 / 4, abs=1e-12)


def test_random_choices_of_open_labels() -> None:
    assert isnan(score_random_choices(prepare_comparisons([Comparison(None, None, "A")])).kendall_tau)
    assert isnan(score_random_choices(prepare_comparisons([Comparison("a", None, "A")])).kendall_tau)
    # Of the outcomes (a or nothing, b or nothing) the one without a win is undefined. The true order is a, b by name. a
    # is first where it wins, alone or with b, and second where b wins alone: (1 + 1 - 1)/3.
    turn = [Comparison("a", None, "A"), Comparison("b", None, "B")]
    assert score_random_choices(prepare_comparisons(turn)).kendall_tau == pytest.approx(1 / 3, abs=1e-12)
