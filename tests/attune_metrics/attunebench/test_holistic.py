"""The conversation as a whole. Expected values are derived by hand in the comments."""

from typing import Any

import pytest

from attune_metrics import (
    MetricInputError,
    four_branch_mae,
    four_branch_normalized,
    q1_looking_for_score,
    q2_emotion_clarity_match,
    q3_follow_up_score,
    q3_model_fit_match,
    q3_model_fit_ordinal_distance,
)
from attune_metrics.attunebench.composite import RELEASED
from attune_metrics.attunebench.holistic import (
    MODEL_FIT_OPTIONS,
    FourBranchScores,
    four_branch_scores,
    score_four_branch,
)


@pytest.mark.parametrize(
    ("reference", "predicted", "documented", "released"),
    [
        # Shared 1 of 3; 2 * 1 / (2 + 2)
        (["Listen", "Advice"], ["advice ", "Calm"], 1 / 3, 1 / 2),
        # Shared 1 of 2; repeats and blanks drop out: 2 * 1 / (1 + 2)
        (["Listen", "listen", " "], ["LISTEN", "Other"], 1 / 2, 2 / 3),
        ("Listen", ["listen"], 1, 1),  # a bare text is a list of one
        ([], [], 1, 1),
        (None, [" "], 1, 1),
        (["Listen"], None, 0, 0),
        ("", {"Listen"}, 0, 0),
    ],
)
def test_q1(reference: Any, predicted: Any, documented: float, released: float) -> None:
    assert q1_looking_for_score(reference, predicted) == pytest.approx(documented, abs=1e-12)
    assert q1_looking_for_score(reference, predicted, protocol=RELEASED) == pytest.approx(released, abs=1e-12)
    assert q1_looking_for_score(predicted, reference, protocol="released") == pytest.approx(released, abs=1e-12)


@pytest.mark.parametrize("match", [q2_emotion_clarity_match, q3_model_fit_match])
def test_q2_and_q3_match(match: Any) -> None:
    assert match("Implied or indirect", " IMPLIED OR INDIRECT ") == 1
    assert match("Implied or indirect", "Clear") == 0
    assert match(None, " ") == 1
    assert match("Clear", None) == 0


@pytest.mark.parametrize(
    ("reference", "predicted", "expected"),
    [
        (MODEL_FIT_OPTIONS[1], MODEL_FIT_OPTIONS[3].upper(), 2),
        (MODEL_FIT_OPTIONS[2], MODEL_FIT_OPTIONS[2] + " ", 0),
        (MODEL_FIT_OPTIONS[0], MODEL_FIT_OPTIONS[3], 3),
        ("so-so", None, 0),  # both unknown
        (MODEL_FIT_OPTIONS[0], "so-so", 3),
        (None, MODEL_FIT_OPTIONS[0], 3),
    ],
)
def test_q3_ordinal_distance(reference: str | None, predicted: str | None, expected: float) -> None:
    assert q3_model_fit_ordinal_distance(reference, predicted) == expected


def test_q3_follow_up() -> None:
    # "felt too rushed" has 2 of 3 tokens in "felt rushed": recall 2/3. Back: 2/3 and 0, precision 1/3.
    # F1 = 2 * 2/3 * 1/3 / 1 = 4/9
    score = q3_follow_up_score(["felt too rushed"], ["felt rushed", "no warmth"])
    assert score == pytest.approx(4 / 9, abs=1e-12)


def test_q3_follow_up_credit_starts_at_three_tenths() -> None:
    # 3 shared of 10 tokens counts: 0.3 both ways, F1 0.3.
    assert q3_follow_up_score(["a b c d e f"], ["a b c g h i j"]) == pytest.approx(0.3, abs=1e-12)
    # 2 shared of 7 = 0.2857 does not.
    assert q3_follow_up_score(["a b c d"], ["a b e f g"]) == 0


def test_q3_follow_up_repeats_count_each_and_one_may_serve_several() -> None:
    # Truth: "a b" twice and "c": recall (1 + 1 + 0) / 3; precision 1. F1 = 2 * 2/3 / (5/3) = 4/5
    assert q3_follow_up_score(["a b", "A B ", "c"], ["a b"]) == pytest.approx(0.8, abs=1e-12)


@pytest.mark.parametrize(
    ("reference", "predicted", "expected"),
    [([], [], 1), (None, [" "], 1), (["a"], [], 0), ([], "a", 0), ("a", "A", 1), (["a"], ["b"], 0)],
)
def test_q3_follow_up_odd_cases(reference: Any, predicted: Any, expected: float) -> None:
    assert q3_follow_up_score(reference, predicted) == expected


def test_four_branch() -> None:
    # |6 - 4| = 2, |5 - 4| = 1 (missing is 4), |1 - 7| = 6; managing is not in the truth. Mean 3.
    reference = {"perceiving": 6, "facilitating": 5, "understanding": 1, "managing": None}
    predicted = {"perceiving": 4, "understanding": 7, "managing": 2}
    expected = FourBranchScores(3.0, 0.5, {"perceiving": 2, "facilitating": 1, "understanding": 6})
    assert four_branch_scores(reference, predicted) == expected
    assert four_branch_mae(reference, predicted) == 3
    assert four_branch_normalized(reference, predicted) == 0.5


def test_four_branch_without_truth() -> None:
    assert four_branch_scores({}, {"perceiving": 1}) == FourBranchScores(0.0, 1.0, {})


def test_four_branch_unchecked() -> None:
    # |1 - 15| = 14 is over the span: normalized is floored at 0.
    assert score_four_branch({"perceiving": 1, "other": 3}, {"perceiving": 15}).normalized == 0


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ({"using": 3}, "reference: unknown branch 'using'; expected perceiving, facilitating"),
        ({"managing": 10}, r"reference managing 10 is outside 1-7; is this a 0-10 scale\?"),
        ([3, 4, 5, 6], "reference is .* expected a mapping branch"),
    ],
)
def test_bad_branches_raise(ratings: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        four_branch_scores(ratings, {})


def test_bad_texts_raise() -> None:
    with pytest.raises(MetricInputError, match="reference is 3"):
        q1_looking_for_score([3], [])  # type: ignore[list-item]
    with pytest.raises(MetricInputError, match=r"predicted is .* expected a list of texts"):
        q3_follow_up_score([], {"a": 1})
    with pytest.raises(MetricInputError, match="predicted is 2"):
        q2_emotion_clarity_match("Clear", 2)  # type: ignore[arg-type]
    with pytest.raises(MetricInputError, match="unknown protocol 'x'"):
        q1_looking_for_score([], [], protocol="x")
