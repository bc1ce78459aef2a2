"""Odd cases at the level of `score`: what is missing, repeated, unknown or blank; incomplete runs; coverage."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attune_bench import score
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_data import Conversation, Run, RunTurn, Turn, load_runs

Json = dict[str, Any]
MakeConversation = Callable[..., Conversation]
MakeRun = Callable[..., Run]
ZERO = {"tp": 0, "tn": 0, "fp": 0, "fn": 0, "accuracy": 0, "precision": 0, "recall": 0, "f1": 0, "mcc": 0}
COMPARED = [
    {"responseA": "original", "responseB": "human", "winner": "A"},
    {"responseA": "human", "responseB": "alternate", "winner": "B"},
]


@pytest.fixture
def score_one(make_conversation: MakeConversation, make_run: MakeRun) -> Callable[[Json, Json], Json]:
    """Return the function that scores the example with fields of the conversation and of the run exchanged."""

    def build(truth: Json, predicted: Json) -> Json:
        scores = score([make_conversation(**truth)], [make_run(**predicted)])
        return dict(records_of(scores)[0])

    return build


def _tags(*tags: tuple[str, int | None]) -> list[Json]:
    return [{"emotion": emotion, "intensity": intensity} for emotion, intensity in tags]


def _judged(**answers: Any) -> Json:
    return {"annotations": {"binaryJudgements": [{"questionId": "B1", **answers}]}}


EMOTION: dict[str, tuple[Json, Json, Json]] = {
    "both-null": (
        {"moodShiftTags": None},
        {"em_emotion_tags": None},
        {"emotion_hit_rate": 1, "emotion_precision": 1, "emotion_recall": 1, "emotion_f1": 1}
        | {"emotion_f1_intensity": 1, "emotion_va_score": 1, "emotion_va_intensity_score": 1}
        | {"emotion_intensity_mae": None},
    ),
    "truth-empty": (
        {"moodShiftTags": []},
        {"em_emotion_tags": _tags(("Proud", 3))},
        {"emotion_hit_rate": 0, "emotion_precision": 0, "emotion_recall": 0, "emotion_f1": 0}
        | {"emotion_va_score": 0, "emotion_va_intensity_score": 0},
    ),
    "prediction-absent": (
        {"moodShiftTags": _tags(("Proud", 3))},
        {},
        {"emotion_hit_rate": 0, "emotion_precision": 0, "emotion_f1": 0, "emotion_va_score": 0},
    ),
    # Outside the twenty: in the sets, similar to nothing, itself included; .7 0 + .3 1 with equal intensities.
    "unknown-word": (
        {"moodShiftTags": _tags(("Wistful", 5))},
        {"em_emotion_tags": _tags((" wistful ", 5))},
        {"emotion_hit_rate": 1, "emotion_f1": 1, "emotion_va_score": 0, "emotion_va_intensity_score": 0.3},
    ),
    # Sets use the last tag, whose intensity is null; VA uses both tags: one of two matched, .7 + .3 for the first.
    "tagged-twice": (
        {"moodShiftTags": _tags(("Upset", 2), ("upset", None))},
        {"em_emotion_tags": _tags(("UPSET", 2))},
        {"emotion_f1": 1, "emotion_precision": 1, "emotion_intensity_mae": None, "emotion_f1_intensity": 0}
        | {"emotion_va_score": 0.5, "emotion_va_intensity_score": 0.5},
    ),
}
BINARY: dict[str, tuple[Json, Json, Json]] = {
    "no-judgements": (
        {},
        {"em_binary_om_assessment": {"B1": "yes"}, "em_binary_om_assessment_hp": {"B1": "yes"}},
        {"binary_om_accuracy": 1, "binary_human_accuracy": 1, "binary_om_accuracy_hp": 0}
        | {"binary_human_accuracy_hp": 0, "binary_om_metrics": ZERO, "binary_human_metrics_hp": ZERO},
    ),
    "only-na": (
        _judged(observedBehavior="na", preferredBehavior="na", llmValue="yes"),
        {"em_binary_om_assessment": {"B1": "yes"}},
        {"binary_om_accuracy": 0, "binary_human_accuracy": 0, "binary_om_metrics": ZERO},
    ),
    # llmValue stands in for the observation, never for the preference.
    "llm-value": (
        _judged(observedBehavior=None, preferredBehavior=None, llmValue="yes"),
        {"em_binary_om_assessment": {"B1": "yes"}, "em_binary_human_prediction": {"B1": "yes"}},
        {"binary_om_accuracy": 1, "binary_human_accuracy": 0, "binary_human_metrics": ZERO},
    ),
    "preference-na": (
        _judged(observedBehavior="yes", preferredBehavior="na"),
        {"em_binary_human_prediction": {"B1": "yes"}},
        {"binary_om_accuracy": 0, "binary_human_accuracy": 0, "binary_human_metrics": ZERO},
    ),
    # The last judgement on a question replaces the first entirely, its nulls included.
    "question-twice": (
        {
            "annotations": {
                "binaryJudgements": [
                    {"questionId": "B1", "observedBehavior": "yes", "preferredBehavior": "yes"},
                    {"questionId": "B1", "llmValue": "no"},
                ]
            }
        },
        {"em_binary_om_assessment": {"B1": "yes"}, "em_binary_human_prediction": {"B1": "yes"}},
        {"binary_om_accuracy": 0, "binary_om_metrics": ZERO | {"fp": 1}, "binary_human_metrics": ZERO},
    ),
    "prediction-na-is-no": (
        _judged(observedBehavior="no", preferredBehavior="yes"),
        {"em_binary_om_assessment": {"B1": "na"}, "em_binary_human_prediction": {"B1": "na"}},
        {"binary_om_accuracy": 1, "binary_human_accuracy": 0, "binary_human_metrics": ZERO | {"fn": 1}},
    ),
}
PAIRWISE: dict[str, tuple[Json, Json, Json]] = {
    "no-comparisons": (
        {"annotations": {"pairwiseComparisons": None}},
        {"em_pairwise_selections": {"0": "A"}},
        {"pairwise_accuracy": 1, "pairwise_kendall_tau": None},
    ),
    "no-usable-prediction": (
        {"annotations": {"pairwiseComparisons": COMPARED}},
        {"em_pairwise_selections": {"0": None, "7": "A"}},
        {"pairwise_accuracy": 0, "pairwise_kendall_tau": None},
    ),
    "null-winner": (
        # Truth without wins ranks by name: alternate, human, original; predicted original, then alternate, human.
        {"annotations": {"pairwiseComparisons": [c | {"winner": None} for c in COMPARED]}},
        {"em_pairwise_selections": {"0": "A", "1": None}},
        {"pairwise_accuracy": 0, "pairwise_kendall_tau": -1 / 3},
    ),
    "assignment-is-not-used": (
        {"annotations": {"pairwiseComparisons": COMPARED}},
        {
            "em_pairwise_selections": {"0": "A", "1": "B"},
            "pairwise_assignment": {"0": {"A": "human", "B": "original"}},
        },
        {"pairwise_accuracy": 1, "pairwise_kendall_tau": 1},
    ),
}
RESPONSE: dict[str, tuple[Json, Json, Json]] = {
    "blank-draft": (
        {"llmResponse": "a"},
        {"em_drafted_response": " \n"},
        {"response_similarity": 0, "response_similarity_original": 0, "response_preference_alignment": 0},
    ),
    "no-win-gives-the-overall-similarity": (
        {"llmResponse": "a b"},
        {"em_drafted_response": "A"},
        {"response_similarity": 0.5, "response_preference_alignment": 0.5, "response_similarity_human_edited": 0},
    ),
    "wins-without-text": (
        {"llmResponse": "a", "annotations": {"pairwiseComparisons": [COMPARED[0] | {"winner": "B"}]}},
        {"em_drafted_response": "a"},
        {"response_similarity": 1, "response_preference_alignment": 0},
    ),
    "judge-without-a-number": ({}, {"em_draft_judge_scores": {"other": 7}}, {"draft_judge_score": None}),
    "judge-clamped-high": ({}, {"em_draft_judge_scores": {"helpfulness": 9}}, {"draft_judge_score": 1}),
    "judge-clamped-low": ({}, {"em_draft_judge_scores": {"helpfulness": 0.5}}, {"draft_judge_score": 0}),
    "judge-by-model-is-not-used": (
        {},
        {"em_draft_judge_scores_by_model": {"j": {"helpfulness": 7}}},
        {"draft_judge_score": None},
    ),
    "draft-assessment-empty": (
        _judged(observedBehavior="yes"),
        {"em_draft_binary_assessment": {}, "em_draft_binary_assessment_by_model": {"j": {"B1": "yes"}}},
        {"draft_binary_alignment": None},
    ),
    "draft-assessment-na-is-wrong": (
        _judged(observedBehavior="no"),
        {"em_draft_binary_assessment": {"B1": "na"}},
        {"draft_binary_alignment": 0},
    ),
    "draft-without-a-question": (
        _judged(observedBehavior="na"),
        {"em_draft_binary_assessment": {"B1": "yes"}},
        {"draft_binary_alignment": None},
    ),
}
TURN = {**EMOTION, **BINARY, **PAIRWISE, **RESPONSE}


@pytest.mark.parametrize(("truth", "predicted", "expected"), TURN.values(), ids=TURN)
def test_turn(score_one: Callable[[Json, Json], Json], truth: Json, predicted: Json, expected: Json) -> None:
    record = score_one({"turns": [{"turnNumber": 1, **truth}]}, {"turns": [{"turnNumber": 1, **predicted}]})
    (turn,) = record["turn_scores"]
    for name, value in expected.items():
        assert turn[name] == pytest.approx(value, abs=1e-12), name


SKILLS = ("panas_pa_baseline_adjusted", "panas_na_baseline_adjusted", "panas_baseline_adjusted")
POST: dict[str, tuple[Json, Json, Json]] = {
    "panas-missing-on-both-ends": (
        {"postPanas": None},
        {"predicted_post_panas": None},
        {"panas_mae": None, "panas_normalized": None, "panas_pa_mae": None, "panas_na_normalized": None}
        | {"panas_item_mae": None, "panas_item_normalized": None, "panas_item_errors": {}}
        | {"panas_item_baseline_adjusted": None, **dict.fromkeys(SKILLS)},
    ),
    # A missing side is 40: |40 - 55|; the other affect is missing on both ends.
    "one-total-missing": (
        {"postPanas": {}},
        {"predicted_post_panas": {"totalPositiveAffect": 55}},
        {"panas_pa_mae": 15, "panas_na_mae": None, "panas_mae": 15, "panas_normalized": 0.75} | dict.fromkeys(SKILLS),
    ),
    "panas-unchanged": (
        {"prePanas": {"totalPositiveAffect": 30, "responses": {"proud": 3}}}
        | {"postPanas": {"totalPositiveAffect": 30, "responses": {"proud": 3}}},
        {"predicted_post_panas": {"totalPositiveAffect": 30, "items": {"Proud": 3}}},
        {"panas_mae": 0, "panas_item_mae": 0, "panas_item_baseline_adjusted": None, **dict.fromkeys(SKILLS)},
    ),
    "answers-missing-on-both-ends": (
        {"conversationWideQuestions": None},
        {"predicted_conversation_wide": None, "panas_strategy": "delta"},
        {"q1_looking_for_score": 1, "q2_emotion_clarity_match": 1, "q3_model_fit_match": 1}
        | {"q3_model_fit_ordinal_distance": 0, "q3_follow_up_score": 1, "four_branch_mae": 0}
        | {"four_branch_normalized": 1, "four_branch_per_branch": {}},
    ),
    "answers-missing-in-the-run": (
        {"conversationWideQuestions": {"q1_lookingFor": ["Other"], "q2_emotionClarity": "x", "q3_modelFit": "x"}},
        {"panas_strategy": "delta"},
        {"q1_looking_for_score": 0, "q2_emotion_clarity_match": 0, "q3_model_fit_match": 0}
        | {"q3_model_fit_ordinal_distance": 0, "q3_follow_up_score": 1},
    ),
    "unknown-option": (
        {"conversationWideQuestions": {"q3_modelFit": "Mostly well-matched"}},
        {"predicted_conversation_wide": {"q3_modelFit": "so so"}},
        {"q3_model_fit_match": 0, "q3_model_fit_ordinal_distance": 3},
    ),
    # {a b c d} with {a b c e f g h i j k}: 3 of 11, under 0.3; with {a b c e f g h i j}: 3 of 10 counts. F1 of equals.
    "follow-up-under-the-threshold": (
        {"conversationWideQuestions": {"q3_followUp_whatFeltOff": ["a b c d"]}},
        {"predicted_conversation_wide": {"q3_followUp_whatFeltOff": ["a b c e f g h i j k"]}},
        {"q3_follow_up_score": 0},
    ),
    "follow-up-at-the-threshold": (
        {"conversationWideQuestions": {"q3_followUp_whatFeltOff": ["A b c d", " "]}},
        {"predicted_conversation_wide": {"q3_followUp_whatFeltOff": ["a b c e f g h i j"]}},
        {"q3_follow_up_score": 0.3},
    ),
    "branch-missing-in-the-run": (
        {"conversationWideQuestions": {"fourBranchScores": {"managing": 7, "perceiving": None}}},
        {"predicted_conversation_wide": {"fourBranchScores": {"perceiving": 1}}},
        {"four_branch_mae": 3, "four_branch_normalized": 0.5, "four_branch_per_branch": {"managing": 3}},
    ),
}


@pytest.mark.parametrize(("truth", "predicted", "expected"), POST.values(), ids=POST)
def test_post_conversation(
    score_one: Callable[[Json, Json], Json], truth: Json, predicted: Json, expected: Json
) -> None:
    record = score_one(truth, {"post_conversation": predicted})
    for name, value in expected.items():
        assert record["post_score"][name] == pytest.approx(value, abs=1e-12), name
    assert record["avg_four_branch_mae"] == record["post_score"]["four_branch_mae"]


# Incomplete runs.

NULL_WHEN_INCOMPLETE = {
    "post_score",
    "avg_four_branch_mae",
    "conversation_wide_average",
    "composite_score",
    "equal_weight_composite",
}


@pytest.mark.parametrize("shape", ["null", "absent", "empty"])
def test_an_incomplete_run(make_conversation: MakeConversation, make_run: MakeRun, shape: str) -> None:
    content = make_run().model_dump()
    del content["post_conversation"]
    if shape != "absent":
        content["post_conversation"] = None if shape == "null" else {}
    complete: Json = dict(records_of(score([make_conversation()], [make_run()]))[0])
    (record,) = records_of(score([make_conversation()], [Run.model_validate(content)]))
    assert {name for name, value in record.items() if value is None} == NULL_WHEN_INCOMPLETE
    for name in record.keys() - NULL_WHEN_INCOMPLETE - {"coverage"}:
        assert dict(record)[name] == complete[name], name
    assert record["coverage"] == complete["coverage"] | {"panas": {"present": 0, "expected": 12}}


def test_a_run_without_the_hp_facing_phrasing(make_conversation: MakeConversation, make_run: MakeRun) -> None:
    turns = make_run().model_dump()["turns"]
    for name in ("em_binary_om_assessment_hp", "em_binary_human_prediction_hp"):
        turns[0][name] = {}
        turns[1][name] = None
        turns[2].pop(name, None)
    (record,) = records_of(score([make_conversation()], [make_run(turns=turns)]))
    nulls = {name for name, value in record.items() if value is None}
    assert nulls == {
        *(f"avg_binary_{task}_accuracy_hp" for task in ("om", "human")),
        *(f"pooled_binary_{task}_metrics_hp" for task in ("om", "human")),
        *(f"hp_perspective_{what}{suffix}" for what in ("gap", "alignment") for suffix in ("", "_mcc")),
    }
    for turn in record["turn_scores"]:
        assert {name for name, value in turn.items() if value is None and "_hp" in name} == {
            name for name in turn if name.endswith("_hp")
        }
    coverage = record.get("coverage", {})
    assert coverage["binary_om_hp"] == {"present": 0, "expected": 5}
    assert coverage["binary_human_hp"] == {"present": 0, "expected": 4}


def test_one_hp_facing_answer_in_one_turn_is_enough(make_conversation: MakeConversation, make_run: MakeRun) -> None:
    turns = make_run().model_dump()["turns"]
    for turn in turns:
        turn["em_binary_om_assessment_hp"] = turn["em_binary_human_prediction_hp"] = {}
    turns[1]["em_binary_human_prediction_hp"] = {"B1": "no"}
    (record,) = records_of(score([make_conversation()], [make_run(turns=turns)]))
    # OM: 1 of 4 "no", 1 of 1, no judgements 0. HP: 2 of 3 "no", a wrong answer, no judgements 0.
    assert record["avg_binary_om_accuracy_hp"] == pytest.approx((1 / 4 + 1 + 0) / 3, abs=1e-12)
    assert record["avg_binary_human_accuracy_hp"] == pytest.approx((2 / 3 + 0 + 0) / 3, abs=1e-12)


def test_perspective_alignment_without_a_positive_denominator(score_one: Callable[[Json, Json], Json]) -> None:
    truth = {"turns": [{"turnNumber": 1, **_judged(observedBehavior="yes")}]}
    answers = {"em_binary_human_prediction": {"B1": "no"}, "em_binary_human_prediction_hp": {"B1": "yes"}}
    record = score_one(truth, {"turns": [{"turnNumber": 1, **answers}]})
    assert (record["hp_perspective_gap"], record["hp_perspective_alignment"]) == (-1, 0)


# Coverage, counted by hand.


def test_coverage_counts_the_turns_that_the_run_lacks(make_conversation: MakeConversation, make_run: MakeRun) -> None:
    turns = make_run().model_dump()["turns"]
    (record,) = records_of(score([make_conversation()], [make_run(turns=turns[1:])]))
    # Turn 1 holds 4 OM questions, 3 HP questions and 4 comparisons; turn 2 holds 1 of each, the comparison open.
    assert record.get("coverage") == {
        "binary_om": {"present": 1, "expected": 5},
        "binary_human": {"present": 1, "expected": 4},
        "binary_om_hp": {"present": 1, "expected": 5},
        "binary_human_hp": {"present": 1, "expected": 4},
        "pairwise": {"present": 0, "expected": 5},
        "panas": {"present": 2, "expected": 12},
    }


TOTALS = {"totalPositiveAffect": 30, "totalNegativeAffect": 20}
PANAS: dict[str, tuple[Json | None, Json | None, int, int]] = {
    "items": ({"responses": {"proud": 3, "upset": 2, "alert": None}}, {"items": {"Upset": 1, "Guilty": 1}}, 1, 2),
    "items-predicted-as-null": ({"responses": {"proud": 3}}, {"items": {"Proud": None}}, 0, 1),
    "items-but-totals-predicted": ({"responses": {"proud": 3}, **TOTALS}, TOTALS, 0, 1),
    "totals": (TOTALS, TOTALS, 2, 2),
    "totals-one-predicted": (TOTALS, {"totalNegativeAffect": 20}, 1, 2),
    "totals-predicted-by-items": (TOTALS, {"items": {"Proud": 3}}, 1, 2),
    "one-total": ({"totalPositiveAffect": 30}, TOTALS, 1, 1),
    "totals-none-predicted": (TOTALS, None, 0, 2),
    "nothing": ({}, TOTALS, 0, 0),
    "null": (None, None, 0, 0),
}


@pytest.mark.parametrize(("actual", "predicted", "present", "expected"), PANAS.values(), ids=PANAS)
def test_panas_coverage(
    score_one: Callable[[Json, Json], Json], actual: Json | None, predicted: Json | None, present: int, expected: int
) -> None:
    record = score_one({"postPanas": actual}, {"post_conversation": {"predicted_post_panas": predicted}})
    assert record["coverage"]["panas"] == {"present": present, "expected": expected}


def test_issues_of_loaded_runs_name_the_file(tmp_path: Path) -> None:
    run = {"conversationId": "c9", "em_model": "vendor/model", "mode": "default", "turns": [{"turnNumber": 1}]}
    (tmp_path / "some.json").write_text(json.dumps({**run, "post_conversation": {"panas_strategy": "absolute"}}))
    (issue,) = score([], load_runs(tmp_path)).provenance.issues
    assert (issue.file, issue.rule) == ("some.json", "run-without-conversation")


def test_of_one_run_given_twice_the_first_counts() -> None:
    conversation = Conversation(conversation_id="c", turns=(Turn(turn_number=1),))
    run = Run(conversation_id="c", em_model="m", turns=(RunTurn(turn_number=1),))
    scores = score([conversation], [run, run])
    assert len(records_of(scores)) == 1
    assert [issue.rule for issue in scores.provenance.issues] == ["duplicate-run"]
