"""Responses and drafts. Expected values are derived by hand in the comments."""

from math import isnan
from typing import Any

import pytest

from attune_metrics import (
    MetricInputError,
    UndefinedMetricWarning,
    draft_binary_alignment,
    draft_judge_score,
    response_preference_alignment,
    response_similarity,
    response_similarity_human_edited,
    response_similarity_llm_improved,
    response_similarity_original,
)
from attune_metrics.attunebench.preferences import (
    ResponseScores,
    prepare_responses,
    response_scores,
    score_draft_binary,
    score_draft_judge,
    score_response,
    token_jaccard,
)
from attune_metrics.attunebench.questions import prepare_answers

# Against the draft "a b c d": original 1/7 (shared a), alternate 2/4 (a b), human 3/4 (a b c).
TEXTS = {"original": "a x y z", "alternate": "A  b\tB", "human": "c b a"}
DRAFT = "a b c D"


@pytest.mark.parametrize(
    ("reference", "predicted", "expected"),
    [
        ("That sounds hard", "that sounds difficult", 2 / 4),
        ("a a a b", "a", 1 / 2),  # sets: repeats do not count
        ("hard.", "hard", 0.0),  # punctuation stays
        ("a\n b", "B\tA", 1.0),
        ("", "  ", 1.0),
        (None, None, 1.0),
        ("a", None, 0.0),
    ],
)
def test_token_jaccard(reference: str | None, predicted: str | None, expected: float) -> None:
    assert token_jaccard(reference, predicted) == expected


def test_similarities() -> None:
    assert response_similarity_original(TEXTS, DRAFT) == pytest.approx(1 / 7, abs=1e-12)
    assert response_similarity_llm_improved(TEXTS, DRAFT) == 0.5
    assert response_similarity_human_edited(TEXTS, DRAFT) == 0.75
    assert response_similarity(TEXTS, DRAFT) == 0.75


def test_preference_alignment_weights_by_wins() -> None:
    # (1 * 1/7 + 2 * 1/2 + 4 * 3/4) / 7 = (1/7 + 4) / 7 = 29/49
    wins = {"original": 1, "alternate": 2, "human": 4}
    assert response_preference_alignment(TEXTS, DRAFT, wins=wins) == pytest.approx(29 / 49, abs=1e-12)


def test_preference_alignment_renormalises_over_responses_with_text() -> None:
    # Without the human text: (1/7 + 2 * 1/2) / 3 = 8/21
    texts = TEXTS | {"human": " "}
    wins = {"original": 1, "alternate": 2, "human": 4}
    assert response_preference_alignment(texts, DRAFT, wins=wins) == pytest.approx(8 / 21, abs=1e-12)
    # The human text alone.
    assert response_preference_alignment({"human": "c b a"}, DRAFT, wins=wins) == 0.75


@pytest.mark.parametrize("wins", [None, {}, {"original": 0, "human": 0}])
def test_preference_alignment_without_any_win_is_the_similarity(wins: Any) -> None:
    assert response_preference_alignment(TEXTS, DRAFT, wins=wins) == 0.75


@pytest.mark.parametrize("wins", [{"human": 3}, {"somebody": 2}])
def test_preference_alignment_with_wins_only_on_missing_texts_is_zero(wins: dict[str, int]) -> None:
    assert response_preference_alignment(TEXTS | {"human": None}, DRAFT, wins=wins) == 0.0


@pytest.mark.parametrize("draft", [None, "", " \n"])
def test_without_a_draft_all_is_zero(draft: str | None) -> None:
    assert response_scores({}, draft, wins={"human": 1}) == ResponseScores(0, 0, 0, 0, 0)
    assert response_scores(TEXTS, draft) == ResponseScores(0, 0, 0, 0, 0)


def test_missing_texts_have_similarity_zero() -> None:
    assert response_scores({"human": "a"}, "a") == ResponseScores(1, 0, 0, 1, 1)
    assert response_scores({}, "a") == ResponseScores(0, 0, 0, 0, 0)


def test_prepared_responses_serve_many_drafts() -> None:
    wins = {"original": 1, "human": 1}
    prepared = prepare_responses(TEXTS, wins)
    for draft in (DRAFT, "x y", None):
        assert score_response(prepared, draft) == response_scores(TEXTS, draft, wins=wins)


@pytest.mark.parametrize(
    ("reference", "predicted", "wins", "message"),
    [
        ({"humanEdited": "a"}, "a", None, "unknown response 'humanEdited'; expected original, alternate, human"),
        ({"human": 3}, "a", None, r"response 'human' is 3 \(int\); expected a text or None"),
        ({}, 3, None, "predicted is 3"),
        ({}, "a", {"human": -1}, "wins of 'human' -1 is outside"),
        ({}, "a", {"human": "2"}, "wins of 'human' '2' is not a finite number"),
        ({}, "a", ["human"], "wins is .* expected a mapping"),
        ("text", "a", None, "reference is 'text'"),
    ],
)
def test_bad_responses_raise(reference: Any, predicted: Any, wins: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        response_scores(reference, predicted, wins=wins)


def test_token_jaccard_takes_texts_only() -> None:
    with pytest.raises(MetricInputError, match="reference is 3"):
        token_jaccard(3, "a")  # type: ignore[arg-type]


def test_draft_judge_score() -> None:
    # (mean(7, 4, 4, 2) - 1) / 6 = 3.25 / 6
    ratings = {"overall_score": 7, "emotional_appropriateness": 4, "helpfulness": 4, "tone_match": 2}
    assert draft_judge_score(ratings) == pytest.approx(3.25 / 6, abs=1e-12)
    # Other keys are ignored, None is left out: (mean(3, 5) - 1) / 6 = 1/2
    assert draft_judge_score({"overall_score": 3, "tone_match": 5, "helpfulness": None, "style": 1}) == 0.5


@pytest.mark.parametrize("ratings", [{}, {"overall_score": None}, {"style": 4}])
def test_draft_judge_score_is_undefined_without_ratings(ratings: Any) -> None:
    with pytest.warns(UndefinedMetricWarning, match="no dimension is rated") as caught:
        assert isnan(draft_judge_score(ratings))
    assert caught[0].filename == __file__


def test_the_fast_judge_score_clamps_and_skips_what_is_no_number() -> None:
    assert score_draft_judge({"overall_score": 9, "tone_match": 8}) == 1.0
    assert score_draft_judge({"overall_score": 0}) == 0.0
    assert score_draft_judge({"overall_score": True, "helpfulness": "7", "tone_match": 4}) == 0.5
    assert isnan(score_draft_judge({"overall_score": True}))


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ({"overall_score": 8}, r"overall_score 8 is outside 1-7; is this a 0-10 scale\?"),
        ({"tone_match": "5"}, "tone_match '5' is not a finite number; convert text"),
        ({"tone_match": True}, "tone_match True is not a finite number"),
        (5, "scores is 5"),
    ],
)
def test_bad_ratings_raise(ratings: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        draft_judge_score(ratings)


def test_draft_binary_alignment() -> None:
    # Counted: B1-B4. Right: B1, B3. Wrong: B2 na, B4 missing.
    reference = {"B1": "yes", "B2": "no", "B3": "No", "B4": "no", "B5": "na", "B6": None}
    predicted = {"B1": "YES", "B2": "na", "B3": "no", "B5": "na"}
    assert draft_binary_alignment(reference, predicted) == 0.5


@pytest.mark.parametrize(
    ("reference", "predicted"), [({"B1": "yes"}, {}), ({"B1": "na"}, {"B1": "yes"}), ({}, {"B1": "yes"}), ({}, {})]
)
def test_draft_binary_alignment_is_undefined(reference: Any, predicted: Any) -> None:
    with pytest.warns(UndefinedMetricWarning, match="the assessment is empty or no question"):
        assert isnan(draft_binary_alignment(reference, predicted))
    assert isnan(score_draft_binary(prepare_answers(reference), predicted))


def test_draft_binary_alignment_checks_answers() -> None:
    with pytest.raises(MetricInputError, match="unknown answer 'maybe'"):
        draft_binary_alignment({"B1": "yes"}, {"B1": "maybe"})
