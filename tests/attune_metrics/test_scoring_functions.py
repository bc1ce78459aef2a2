"""Every scoring function by module and name: it can be imported from there, and is pure."""

import copy
import importlib
import pickle
import warnings
from math import nan

import pytest
from public_names import public_functions

from attune_metrics import UndefinedMetricWarning
from attune_metrics.attunebench.emotion import prepare_tags
from attune_metrics.attunebench.panas import Panas, prepare_panas
from attune_metrics.attunebench.preferences import Comparison, prepare_comparisons, prepare_responses
from attune_metrics.attunebench.questions import PreparedAnswers, prepare_answers
from attune_metrics.eibench import Anchors
from attune_metrics.testing import Call, _same

TAGS, GUESSED_TAGS = [("Upset", 5), ("Afraid", 3.0), ("Upset", None)], [("upset", 3), ("Guilty", 2)]
TRUE, GUESSED = {"B1": "yes", "B2": "no", "B3": "na"}, {"B1": "yes", "B2": "yes"}
COMPARED = [Comparison("original", "human", "B"), Comparison("alternate", "human", "A")]
CHOSEN = {"0": "B", "1": None}
REPLIES, DRAFT = {"original": "it will pass", "human": "that sounds hard"}, "that sounds difficult"
BEFORE, AFTER, FORECAST = Panas({"proud": 3}, 40, 30), Panas({"proud": 5}, 50, 20), Panas({"proud": 4}, 46, 22)
GOALS, GUESSED_GOALS = ["Vent", "Advice"], ["advice", "Other"]
BRANCHES, GUESSED_BRANCHES = {"perceiving": 6, "managing": 5}, {"perceiving": 4}
CURVE = [40, 50, 45, 60]
ANGER, TRUST = Anchors(70, 25, 90), Anchors(15, 50, 0)

CALLS: dict[str, dict[str, Call]] = {
    "attunebench.emotion": {
        "emotion_similarity": Call("Upset", "Afraid"),
        "prepare_tags": Call(TAGS),
        "score_tags": Call(prepare_tags(TAGS), prepare_tags(GUESSED_TAGS)),
        **{
            name: Call(TAGS, GUESSED_TAGS)
            for name in (
                "emotion_scores", "emotion_hit_rate", "emotion_precision", "emotion_recall", "emotion_f1",
                "emotion_f1_intensity", "emotion_intensity_mae", "emotion_va_score", "emotion_va_intensity_score",
            )
        },
    },
    "attunebench.questions": {
        "om_reference": Call(None, "yes"),
        "hp_reference": Call(None, "no"),
        "prepare_answers": Call(TRUE),
        "count_answers": Call(prepare_answers(TRUE), GUESSED),
        "count_predictions": Call(prepare_answers(TRUE), GUESSED),
        **{
            name: Call(TRUE, GUESSED)
            for name in (
                "binary_counts", "binary_accuracy", "binary_precision", "binary_recall", "binary_f1", "binary_mcc",
            )
        },
        "hp_perspective_gap": Call(observer=0.75, hp=0.5),
        "hp_perspective_alignment": Call(observer=0.75, hp=0.5),
    },
    "attunebench.preferences": {
        "prepare_comparisons": Call(COMPARED),
        "score_comparisons": Call(prepare_comparisons(COMPARED), CHOSEN),
        "score_random_choices": Call(prepare_comparisons(COMPARED)),
        "pairwise_accuracy": Call(COMPARED, CHOSEN),
        "pairwise_kendall_tau": Call(COMPARED, CHOSEN),
        "pairwise_wins": Call(COMPARED),
        "prepare_responses": Call(REPLIES, {"human": 2}),
        "score_response": Call(prepare_responses(REPLIES, {"human": 2}), DRAFT),
        "score_similarities": Call([0.2, 0.8, 0.5], [3, 1, 0]),
        "score_draft_judge": Call({"overall_score": 5}),
        "draft_judge_score": Call({"overall_score": 5}),
        "score_draft_binary": Call(PreparedAnswers(("B1",), ("B2",), judged=True), GUESSED),
        "draft_binary_alignment": Call(TRUE, GUESSED),
        **{
            name: Call(REPLIES, DRAFT)
            for name in (
                "response_scores", "response_similarity", "response_similarity_original",
                "response_similarity_llm_improved", "response_similarity_human_edited",
                "response_preference_alignment",
            )
        },
        "tokenize": Call("That sounds hard"),
        "jaccard": Call(frozenset("abc"), frozenset("bcd")),
        "token_jaccard": Call("That sounds hard", DRAFT),
    },
    "attunebench.panas": {
        "panas_totals": Call(AFTER),
        "prepare_panas": Call(AFTER),
        "score_panas": Call(prepare_panas(AFTER), prepare_panas(FORECAST)),
        **{
            name: Call(AFTER, FORECAST)
            for name in (
                "panas_scores", "panas_mae", "panas_normalized", "panas_pa_mae", "panas_na_mae",
                "panas_pa_normalized", "panas_na_normalized", "panas_item_mae", "panas_item_normalized",
            )
        },
        **{
            f"panas_{part}baseline_adjusted": Call(AFTER, FORECAST, baseline=BEFORE)
            for part in ("", "pa_", "na_", "item_")
        },
    },
    "attunebench.holistic": {
        "q1_looking_for_score": Call(GOALS, GUESSED_GOALS),
        "q2_emotion_clarity_match": Call("Implied", "implied "),
        "q3_model_fit_match": Call("Mostly well-matched", "Other"),
        "q3_model_fit_ordinal_distance": Call("Mostly well-matched", "Mostly off-target or intrusive"),
        "q3_follow_up_score": Call(["felt too rushed"], ["felt rushed", "no warmth"]),
        **{
            name: Call(BRANCHES, GUESSED_BRANCHES)
            for name in ("score_four_branch", "four_branch_scores", "four_branch_mae", "four_branch_normalized")
        },
    },
    "attunebench.composite": {
        "get_protocol": Call("released"),
        "emotion_blend": Call(0.5, 0.25),
        "binary_mean": Call(0.75, 0.25),
        "evaluation_quality": Call(om_accuracy=0.75, human_accuracy=0.25, pairwise_accuracy=1.0),
        "panas01": Call(0.5),
        "conversation_wide": Call(0.5, 1.0, 0.0, 0.5),
        "holistic": Call(panas01=0.5, conversation_wide=1.0, four_branch_normalized=0.0),
        "composite_score": Call(emotion_blend=0.25, evaluation_quality=0.75, holistic=0.5),
        "turn_level_average": Call(emotion_blend=0.25, binary_mean=0.5, pairwise_accuracy=0.75),
        "conversation_wide_average": Call(panas01=0.5, conversation_wide=0.25, four_branch_normalized=0.75),
        "equal_weight_composite": Call(turn_level_average=0.5, conversation_wide_average=0.25),
    },
    "curves": {
        "emotion_curve_area": Call(CURVE),
        "largest_drop": Call(CURVE),
        "recovery_time": Call(CURVE),
        "turns_to_target": Call(CURVE, target=45),
    },
    "eibench": {
        "clip_delta": Call("+2"),
        "state_curve": Call(95, [8, -2.5, "-12"]),
        "score_anchors": Call(Anchors([15, 50], [50, 60], [0, 30]), [50, 40], axis="trust"),
        "anchor_score": Call(ANGER, 60, axis="anger"),
        "anchor_reward": Call(ANGER, TRUST, 80, 15),
        "treat_failed": Call([0.5, 0.1, nan], [False, True, True], "start"),
        "scene_means": Call(["repair", "charm", "repair"], [0.5, -1, 0.25]),
    },
    "emobench": {"majority_accuracy": Call([3, 0], [[3, -1, 3], [0, None, 0]])},
    "sage": {
        "sage_success": Call(100),
        "sage_failure": Call(100),
        "sage_scores": Call([100, 55, 5, 100]),
        "round_half_up": Call(28.95),
    },
    "turn_credit": {
        "process_rewards": Call([-2, 3, 0], [1, -4, 0]),
        "token_advantages": Call([0.2], [[0.1, -0.1]], [[0, 0, -1, 1]], 5),
        "trace_advantages": Call([0.10, 0.14, 0.12], [7, 7, 8]),
        "turn_advantages": Call([-0.2, 0.2], [0.1, 0.015, -0.035, 0], [0, 1, 1, 1]),
    },
}  # fmt: skip


@pytest.mark.parametrize("module", CALLS)
def test_the_list_is_complete(module: str) -> None:
    found = importlib.import_module(f"attune_metrics.{module}")
    assert public_functions(found).keys() == CALLS[module].keys()


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, calls in CALLS.items() for name in calls])
def test_a_scoring_function_is_pure(module: str, name: str) -> None:
    function = getattr(importlib.import_module(f"attune_metrics.{module}"), name)
    call, given = CALLS[module][name], copy.deepcopy(CALLS[module][name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        results = [pickle.dumps(function(*given.arguments, **given.options)) for _ in range(2)]
    assert results[0] == results[1]
    assert _same((given.arguments, given.options), (call.arguments, call.options))
