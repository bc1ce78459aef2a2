"""Emotion tags. Expected values are derived by hand in the comments."""

import re
import warnings
from itertools import permutations
from math import isnan, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from attune_metrics import (
    MetricInputError,
    UndefinedMetricWarning,
    UnknownEmotionWarning,
    emotion_f1,
    emotion_f1_intensity,
    emotion_hit_rate,
    emotion_intensity_mae,
    emotion_precision,
    emotion_recall,
    emotion_va_intensity_score,
    emotion_va_score,
)
from attune_metrics.attunebench.emotion import (
    NEGATIVE_AFFECT,
    POSITIVE_AFFECT,
    VALENCE_AROUSAL,
    Tag,
    _best_assignment,
    emotion_scores,
    emotion_similarity,
    prepare_tags,
    score_tags,
)


def test_vocabulary_is_ten_and_ten_words_with_a_place_each() -> None:
    assert len(POSITIVE_AFFECT) == len(NEGATIVE_AFFECT) == 10
    assert {word.lower() for word in POSITIVE_AFFECT + NEGATIVE_AFFECT} == set(VALENCE_AROUSAL)
    assert POSITIVE_AFFECT[0] == "Proud"
    assert NEGATIVE_AFFECT[-1] == "Hostile"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # (0.042, 0.1): distance sqrt(0.011764) = 0.108462, / sqrt 2 = 0.076694
        ("Distressed", "Upset", 0.9233),
        # (0.777, -0.19): distance sqrt(0.639829) = 0.799893, / sqrt 2 = 0.565610
        ("Proud", "Afraid", 0.4344),
        # (0.05, -0.05): distance sqrt(0.005), / sqrt 2 = 0.05
        ("strong", " ALERT ", 0.95),
        ("hostile", "Hostile", 1.0),
        ("Happy", "Happy", 0.0),
    ],
)
def test_similarity(first: str, second: str, expected: float) -> None:
    assert emotion_similarity(first, second) == expected == emotion_similarity(second, first)


def test_set_metrics() -> None:
    # |G| = 3, |P| = 2, shared: upset.
    reference, predicted = ["Upset", "Afraid", "Proud"], ["upset", "Guilty"]
    assert emotion_hit_rate(reference, predicted) == pytest.approx(1 / 3, abs=1e-12)
    assert emotion_recall(reference, predicted) == pytest.approx(1 / 3, abs=1e-12)
    assert emotion_precision(reference, predicted) == 1 / 2
    assert emotion_f1(reference, predicted) == pytest.approx(2 / 5, abs=1e-12)


def test_intensity_metrics() -> None:
    # Shared: upset |5 - 3| = 2, afraid |2 - 7| = 5, mean 7/2. F1 = 2 * 2 / (2 + 3) = 4/5; times (1 - 7/12) = 1/3.
    reference = [("Upset", 5), ("Afraid", 2)]
    predicted = [("Scared", 1), ("Afraid", 7), ("Upset", 3)]
    assert emotion_intensity_mae(reference, predicted) == 3.5
    assert emotion_f1_intensity(reference, predicted) == pytest.approx(1 / 3, abs=1e-12)


def test_intensity_metrics_use_only_pairs_with_both() -> None:
    # Shared: upset (5, None) does not count, afraid |2 - 5| = 3. F1 = 1; times (1 - 3/6).
    reference: list[Tag] = [("Upset", 5), ("Afraid", 2)]
    predicted: list[Tag] = ["Upset", ("Afraid", 5)]
    assert emotion_intensity_mae(reference, predicted) == 3
    assert emotion_f1_intensity(reference, predicted) == 0.5


def test_va_score_is_mean_similarity_times_coverage() -> None:
    # One pair, Distressed-Upset 0.9233, coverage 1/2.
    assert emotion_va_score(["Distressed", "Proud"], ["Upset"]) == 0.46165
    # Crossed is best: 0.9233 twice and Proud-Proud 1 -> (0.9233 * 2 + 1) / 3
    three = emotion_va_score(["Distressed", "Proud", "Distressed"], ["Upset", "Upset", "Proud"])
    assert three == pytest.approx((2 * 0.9233 + 1) / 3, abs=1e-12)


def test_va_intensity_score_assigns_anew() -> None:
    # By similarity alone: equal words, 1. With intensity: equal words give 0.7 + 0.3 (1 - 6/6) = 0.7 each, crossed
    # 0.7 * 0.9233 + 0.3 = 0.94631 each.
    reference, predicted = [("Upset", 1), ("Distressed", 7)], [("Upset", 7), ("Distressed", 1)]
    assert emotion_va_score(reference, predicted) == 1.0
    assert emotion_va_intensity_score(reference, predicted) == pytest.approx(0.94631, abs=1e-12)


def test_va_intensity_score_without_an_intensity() -> None:
    assert emotion_va_intensity_score(["Upset"], [("Upset", 3)]) == 0.7


def test_both_sides_empty_is_perfect() -> None:
    with pytest.warns(UndefinedMetricWarning, match="undefined: intensity_mae"):
        scores = emotion_scores([], [])
    assert isnan(scores.intensity_mae)
    assert (scores.hit_rate, scores.precision, scores.recall, scores.f1) == (1, 1, 1, 1)
    assert (scores.f1_intensity, scores.va_score, scores.va_intensity_score) == (1, 1, 1)


@pytest.mark.parametrize(("reference", "predicted"), [(["Upset"], []), ([], ["Upset"])])
def test_one_side_empty_is_zero(reference: list[Any], predicted: list[Any]) -> None:
    with pytest.warns(UndefinedMetricWarning):
        scores = emotion_scores(reference, predicted)
    assert (scores.hit_rate, scores.precision, scores.recall, scores.f1) == (0, 0, 0, 0)
    assert (scores.f1_intensity, scores.va_score, scores.va_intensity_score) == (0, 0, 0)


def test_a_word_tagged_twice() -> None:
    # Sets: one word, whose last intensity is None. VA: lists of 2 and 1; best pair 1, or 0.7 + 0.3; coverage 1/2.
    with pytest.warns(UndefinedMetricWarning):
        scores = emotion_scores([("Upset", 2), ("Upset", None)], [("Upset", 2)])
    assert (scores.f1, scores.f1_intensity) == (1.0, 0.0)
    assert scores.va_score == 0.5
    assert scores.va_intensity_score == pytest.approx(0.5, abs=1e-12)


def test_an_unknown_word_counts_in_sets_and_is_similar_to_nothing() -> None:
    scores = emotion_scores([("Happy", 4)], [("happy ", 4)])
    assert (scores.f1, scores.intensity_mae, scores.va_score) == (1.0, 0.0, 0.0)
    assert scores.va_intensity_score == 0.3  # equal intensities alone


def test_no_shared_intensity_is_undefined() -> None:
    with pytest.warns(UndefinedMetricWarning, match="no shared emotion has an intensity on both sides") as caught:
        assert isnan(emotion_intensity_mae([("Upset", 3)], [("Afraid", 3)]))
    assert caught[0].filename == __file__


def test_prepared_tags_clamp_intensities() -> None:
    # 9 -> 7 and -2 -> 1
    assert prepare_tags([(" UPSET", 9), ("Afraid", -2)]).last == {"upset": 7, "afraid": 1}
    assert score_tags(prepare_tags([("Upset", 9)]), prepare_tags([("Upset", 5)])).intensity_mae == 2


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([("Upset", 8)], "intensity 8 is outside 1-7; is this a 0-10 scale?"),
        ([("Upset", 70)], "intensity 70 is outside 1-7; is this a 0-100 scale?"),
        ([("Upset", 0.5)], "intensity 0.5 is outside 1-7; is this a 0-1 scale?"),
        ([("Upset", -1)], "intensity -1 is outside 1-7; is this a difference?"),
        ([("Upset", 700)], "intensity 700 is outside 1-7$"),
        ([("Upset", "5")], "intensity '5' is not a finite number; convert text"),
        ([("Upset", True)], "intensity True is not a finite number"),
        ([("Upset", float("nan"))], "intensity nan is not a finite number"),
        (("Upset", 5), "predicted tag 5 is neither a word nor a"),
        ([{"emotion": "Upset"}], "is neither a word nor a"),
        ([" "], "has a blank word; a neutral turn has an empty list"),
        ("Upset", r"predicted tags is 'Upset' \(str\); expected a list of words"),
        (None, "predicted tags is None; expected a list"),
    ],
)
def test_bad_tags_raise(tags: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message.replace("?", r"\?")):
        emotion_f1([], tags)


@given(
    st.integers(1, 4).flatmap(
        lambda rows: st.integers(rows, 6).flatmap(
            lambda columns: st.lists(
                st.lists(st.floats(0, 1), min_size=columns, max_size=columns), min_size=rows, max_size=rows
            )
        )
    )
)
def test_assignment_equals_scipy_and_exhaustive_search(values: list[list[float]]) -> None:
    rows, columns = linear_sum_assignment(values, maximize=True)
    best = sum(values[row][column] for row, column in zip(rows, columns, strict=True))
    exhaustive = max(
        sum(row[column] for row, column in zip(values, chosen, strict=True))
        for chosen in permutations(range(len(values[0])), len(values))
    )
    assert _best_assignment(values) == pytest.approx(best, abs=1e-12)
    assert _best_assignment(values) == pytest.approx(exhaustive, abs=1e-12)


def test_similarity_lies_in_the_unit_square() -> None:
    assert all(0 <= v <= 1 and 0 <= a <= 1 for v, a in VALENCE_AROUSAL.values())
    assert sqrt(2) >= max(
        sqrt((v - w) ** 2 + (a - b) ** 2) for v, a in VALENCE_AROUSAL.values() for w, b in VALENCE_AROUSAL.values()
    )


@pytest.mark.parametrize("shares", [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3, 0.0, 0.0]], ids=["few", "many"])
def test_similarities_add_up_alike_on_every_python(shares: list[float]) -> None:
    values = [[share if row == column else 0.0 for column in range(5)] for row, share in enumerate(shares)]
    assert _best_assignment(values) == 0.6  # one after the other, as sum adds before Python 3.12: 0.6000000000000001


@pytest.mark.parametrize(
    ("reference", "predicted", "words"),
    [
        (["Upset"], ["Upsett"], ["'upsett' was predicted and can only lose: .*; the nearest in spelling is 'Upset'"]),
        (["Upset"], [("Sad", 3), "sad", "Proud"], ["'sad' was predicted .*; the nearest in spelling is 'Scared'$"]),
        ([], ["Joy", "Awe"], ["'awe' .*; they are Proud, Alert, .*, Hostile$", "'joy' "]),
        (["Sad"], ["sad"], []),  # the set metrics count it
        (["Sad"], ["Upset"], []),  # the reference's words are the participant's
        (["Upset"], [" PROUD"], []),
    ],
)
def test_a_word_that_can_only_lose_warns(reference: list[Any], predicted: list[Any], words: list[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        emotion_f1(reference, predicted)
    assert [one.category for one in caught] == [UnknownEmotionWarning] * len(words)
    assert all(re.search(pattern, str(one.message)) for pattern, one in zip(words, caught, strict=True))
    assert all(one.filename == __file__ for one in caught)
