"""The scores of a conversation: every key that its record in ``scores.json`` has, and how its value is made.

A new metric is a key of `TurnScore` or `PostScore`, with its call in `_score_turn` or `_score_post`; the mean over
turns of ``name`` is the key ``avg_name`` of `ConversationScore`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from attune_bench.benchmarks.attunebench.coverage import CallCounts, Coverage, count_calls, count_predictions
from attune_bench.benchmarks.attunebench.reference import (
    BINARY_TASKS,
    Truth,
    TurnTruth,
    branch_ratings,
    counts_key,
    panas_form,
)
from attune_bench.benchmarks.attunebench.values import Count, Number, OfCounts
from attune_bench.undefined import null
from attune_data import Run, RunTurn
from attune_data.attunebench.records import PostConversation
from attune_metrics.attunebench import composite, holistic, questions
from attune_metrics.attunebench.composite import Protocol
from attune_metrics.attunebench.emotion import prepare_tags, score_tags
from attune_metrics.attunebench.holistic import score_four_branch
from attune_metrics.attunebench.panas import Panas, PreparedPanas, prepare_panas, score_panas
from attune_metrics.attunebench.preferences import (
    JUDGE_DIMENSIONS,
    score_comparisons,
    score_draft_binary,
    score_draft_judge,
    score_response,
)
from attune_metrics.attunebench.questions import BinaryCounts, count_answers

__all__ = [
    "AVERAGED",
    "ConversationScore",
    "CountScores",
    "PostScore",
    "TurnScore",
    "hp_asked",
    "score_conversation",
    "wide_parts",
]

# Keys that this version does not know are kept.
_OPEN = with_config(ConfigDict(extra="allow"))


@_OPEN
class CountScores(TypedDict):
    """Binary counts, and the scores that follow from them."""

    tp: Count
    tn: Count
    fp: Count
    fn: Count
    accuracy: OfCounts
    precision: OfCounts
    recall: OfCounts
    f1: OfCounts
    mcc: OfCounts


@_OPEN
class TurnScore(TypedDict):
    """The metrics of one turn; null where undefined, or where the HP-facing phrasing was not asked."""

    turnNumber: Count
    emotion_hit_rate: Number
    emotion_intensity_mae: Number | None
    emotion_precision: Number
    emotion_recall: Number
    emotion_f1: Number
    emotion_f1_intensity: Number
    emotion_va_score: Number
    emotion_va_intensity_score: Number
    binary_om_accuracy: Number
    binary_human_accuracy: Number
    binary_om_metrics: CountScores
    binary_human_metrics: CountScores
    binary_om_accuracy_hp: Number | None
    binary_human_accuracy_hp: Number | None
    binary_om_metrics_hp: CountScores | None
    binary_human_metrics_hp: CountScores | None
    pairwise_accuracy: Number
    pairwise_kendall_tau: Number | None
    response_similarity: Number
    response_similarity_original: Number
    response_similarity_llm_improved: Number
    response_similarity_human_edited: Number
    response_preference_alignment: Number
    draft_judge_score: Number | None
    draft_binary_alignment: Number | None


@_OPEN
class PostScore(TypedDict):
    """The metrics of what is predicted after the last turn."""

    panas_mae: Number | None
    panas_normalized: Number | None
    panas_pa_mae: Number | None
    panas_na_mae: Number | None
    panas_pa_normalized: Number | None
    panas_na_normalized: Number | None
    panas_pa_baseline_adjusted: Number | None
    panas_na_baseline_adjusted: Number | None
    panas_baseline_adjusted: Number | None
    panas_item_baseline_adjusted: Number | None
    panas_item_mae: Number | None
    panas_item_normalized: Number | None
    panas_item_errors: dict[str, Number]
    q1_looking_for_score: Number
    q2_emotion_clarity_match: Number
    q3_model_fit_match: Number
    q3_model_fit_ordinal_distance: Number
    q3_follow_up_score: Number
    four_branch_mae: Number
    four_branch_normalized: Number
    four_branch_per_branch: dict[str, Number]


@_OPEN
class ConversationScore(TypedDict):
    """The scores of one run: means over its turns, pooled counts, composites; null where undefined.

    ``calls`` is there where the run file says how its answers were read.
    """

    conversationId: str
    mode: str
    em_model: str
    participant_id: NotRequired[str | None]
    source_file: NotRequired[str | None]
    turn_scores: list[TurnScore]
    post_score: PostScore | None
    avg_emotion_hit_rate: Number | None
    avg_emotion_hit_rate_tagged_only: Number | None
    avg_emotion_intensity_mae: Number | None
    avg_emotion_f1: Number | None
    avg_emotion_f1_intensity: Number | None
    avg_emotion_va_score: Number | None
    avg_emotion_va_intensity_score: Number | None
    avg_binary_om_accuracy: Number | None
    avg_binary_human_accuracy: Number | None
    avg_binary_om_accuracy_hp: Number | None
    avg_binary_human_accuracy_hp: Number | None
    avg_pairwise_accuracy: Number | None
    avg_pairwise_kendall_tau: Number | None
    avg_response_similarity: Number | None
    avg_response_similarity_original: Number | None
    avg_response_similarity_llm_improved: Number | None
    avg_response_similarity_human_edited: Number | None
    avg_response_preference_alignment: Number | None
    avg_draft_judge_score: Number | None
    avg_draft_binary_alignment: Number | None
    avg_four_branch_mae: Number | None
    pooled_binary_om_metrics: CountScores
    pooled_binary_human_metrics: CountScores
    pooled_binary_om_metrics_hp: CountScores | None
    pooled_binary_human_metrics_hp: CountScores | None
    hp_perspective_gap: Number | None
    hp_perspective_alignment: Number | None
    hp_perspective_gap_mcc: Number | None
    hp_perspective_alignment_mcc: Number | None
    turn_level_average: Number | None
    conversation_wide_average: Number | None
    composite_score: Number | None
    equal_weight_composite: Number | None
    coverage: NotRequired[dict[str, Coverage]]
    calls: NotRequired[CallCounts]


AVERAGED = tuple(name for name in TurnScore.__annotations__ if f"avg_{name}" in ConversationScore.__annotations__)
"""The metrics of turns of which a conversation has the mean, ``avg_<name>``."""


def score_conversation(truth: Truth, run: Run, protocol: Protocol) -> ConversationScore | None:
    """Return the scores of a run; None where it shares no turn number with its conversation."""
    predicted = {turn.turn_number: turn for turn in run.turns}
    shared = [number for number in truth.turns if number in predicted]
    if not shared:
        return None
    asks_hp = hp_asked(run)
    pooled = {task: BinaryCounts() for task in BINARY_TASKS}
    turns = [_score_turn(number, truth.turns[number], predicted[number], asks_hp, pooled) for number in shared]
    post, form = None, prepare_panas(Panas())
    if run.post_conversation is not None and run.complete:
        form = prepare_panas(panas_form(run.post_conversation.predicted_post_panas), protocol=protocol)
        post = _score_post(truth, run.post_conversation, form, protocol)
    record: dict[str, Any] = {
        "conversationId": run.conversation_id,
        "mode": run.mode,
        "em_model": run.em_model,
        "participant_id": truth.participant_id,
        "source_file": run.source_file,
        "turn_scores": turns,
        "post_score": post,
    }
    for name in AVERAGED:
        record[f"avg_{name}"] = _mean([turn[name] for turn in turns])  # type: ignore[literal-required]
    record["avg_emotion_hit_rate_tagged_only"] = _mean(
        [turn["emotion_hit_rate"] for turn in turns if truth.turns[turn["turnNumber"]].tags.words]
    )
    record["avg_four_branch_mae"] = post and post["four_branch_mae"]
    for task, counts in pooled.items():
        asked = asks_hp or not task.endswith("_hp")
        record[f"pooled_{counts_key(task)}"] = _counted(counts) if asked else None
    _add_perspective(record)
    _add_composites(record, post)
    record["coverage"] = count_predictions(truth, predicted, form)
    if calls := count_calls(run):
        record["calls"] = calls
    return record  # type: ignore[return-value]  # built key by key; the vectors test every key


def hp_asked(run: Run) -> bool:
    """Tell whether a model was asked the questions in their HP-facing phrasing too."""
    return any(turn.em_binary_om_assessment_hp or turn.em_binary_human_prediction_hp for turn in run.turns)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _counted(counts: BinaryCounts) -> CountScores:
    return {
        "tp": counts.tp,
        "tn": counts.tn,
        "fp": counts.fp,
        "fn": counts.fn,
        "accuracy": counts.accuracy,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "mcc": counts.mcc,
    }


def _score_turn(
    number: int, truth: TurnTruth, turn: RunTurn, asks_hp: bool, pooled: dict[str, BinaryCounts]
) -> TurnScore:
    """Score one turn; its binary counts are added to `pooled`."""
    emotion = score_tags(truth.tags, prepare_tags((tag.emotion, tag.intensity) for tag in turn.em_emotion_tags))
    pairwise = score_comparisons(truth.comparisons, turn.em_pairwise_selections)
    response = score_response(truth.responses, turn.em_drafted_response)

    counts = {
        task: count_answers(*sides(truth, turn))
        for task, sides in BINARY_TASKS.items()
        if asks_hp or not task.endswith("_hp")
    }
    for task, own in counts.items():
        pooled[task] += own
    om, human = counts["binary_om"], counts["binary_human"]
    om_hp, human_hp = counts.get("binary_om_hp"), counts.get("binary_human_hp")
    # By definition a turn without judgements scores 1 in the observer phrasing and 0 in the other.
    judged = truth.observed.judged
    return {
        "turnNumber": number,
        "emotion_hit_rate": emotion.hit_rate,
        "emotion_intensity_mae": null(emotion.intensity_mae),
        "emotion_precision": emotion.precision,
        "emotion_recall": emotion.recall,
        "emotion_f1": emotion.f1,
        "emotion_f1_intensity": emotion.f1_intensity,
        "emotion_va_score": emotion.va_score,
        "emotion_va_intensity_score": emotion.va_intensity_score,
        "binary_om_accuracy": om.accuracy if judged else 1.0,
        "binary_human_accuracy": human.accuracy if judged else 1.0,
        "binary_om_metrics": _counted(om),
        "binary_human_metrics": _counted(human),
        "binary_om_accuracy_hp": None if om_hp is None else om_hp.accuracy,
        "binary_human_accuracy_hp": None if human_hp is None else human_hp.accuracy,
        "binary_om_metrics_hp": None if om_hp is None else _counted(om_hp),
        "binary_human_metrics_hp": None if human_hp is None else _counted(human_hp),
        "pairwise_accuracy": pairwise.accuracy,
        "pairwise_kendall_tau": null(pairwise.kendall_tau),
        "response_similarity": response.similarity,
        "response_similarity_original": response.original,
        "response_similarity_llm_improved": response.llm_improved,
        "response_similarity_human_edited": response.human_edited,
        "response_preference_alignment": response.preference_alignment,
        "draft_judge_score": null(
            score_draft_judge({name: getattr(turn.em_draft_judge_scores, name) for name in JUDGE_DIMENSIONS})
        ),
        "draft_binary_alignment": null(score_draft_binary(truth.preferred, turn.em_draft_binary_assessment)),
    }


def _score_post(truth: Truth, post: PostConversation, form: PreparedPanas, protocol: Protocol) -> PostScore:
    panas = score_panas(truth.post_panas, form, baseline=truth.pre_panas)
    actual, predicted = truth.wide, post.predicted_conversation_wide
    branches = score_four_branch(truth.branches, branch_ratings(predicted.four_branch_scores))
    return {
        "panas_mae": null(panas.mae),
        "panas_normalized": null(panas.normalized),
        "panas_pa_mae": null(panas.pa_mae),
        "panas_na_mae": null(panas.na_mae),
        "panas_pa_normalized": null(panas.pa_normalized),
        "panas_na_normalized": null(panas.na_normalized),
        "panas_pa_baseline_adjusted": null(panas.pa_baseline_adjusted),
        "panas_na_baseline_adjusted": null(panas.na_baseline_adjusted),
        "panas_baseline_adjusted": null(panas.baseline_adjusted),
        "panas_item_baseline_adjusted": null(panas.item_baseline_adjusted),
        "panas_item_mae": null(panas.item_mae),
        "panas_item_normalized": null(panas.item_normalized),
        "panas_item_errors": panas.item_errors,
        "q1_looking_for_score": holistic.q1_looking_for_score(
            actual.q1_looking_for, predicted.q1_looking_for, protocol=protocol
        ),
        "q2_emotion_clarity_match": holistic.q2_emotion_clarity_match(
            actual.q2_emotion_clarity, predicted.q2_emotion_clarity
        ),
        "q3_model_fit_match": holistic.q3_model_fit_match(actual.q3_model_fit, predicted.q3_model_fit),
        "q3_model_fit_ordinal_distance": holistic.q3_model_fit_ordinal_distance(
            actual.q3_model_fit, predicted.q3_model_fit
        ),
        "q3_follow_up_score": holistic.q3_follow_up_score(
            actual.q3_follow_up_what_felt_off, predicted.q3_follow_up_what_felt_off
        ),
        "four_branch_mae": branches.mae,
        "four_branch_normalized": branches.normalized,
        "four_branch_per_branch": branches.per_branch,
    }


def _add_perspective(record: dict[str, Any]) -> None:
    """Add how far the two phrasings of a question agree; null where the HP-facing one was not asked."""
    pooled, pooled_hp = record["pooled_binary_human_metrics"], record["pooled_binary_human_metrics_hp"]
    for suffix, observer, hp in (
        ("", record["avg_binary_human_accuracy"], record["avg_binary_human_accuracy_hp"]),
        ("_mcc", pooled["mcc"], pooled_hp and pooled_hp["mcc"]),
    ):
        gap = alignment = None
        if hp is not None:
            gap = questions.hp_perspective_gap(observer=observer, hp=hp)
            alignment = questions.hp_perspective_alignment(observer=observer, hp=hp)
        record[f"hp_perspective_gap{suffix}"] = gap
        record[f"hp_perspective_alignment{suffix}"] = alignment


def _add_composites(record: dict[str, Any], post: PostScore | None) -> None:
    om, human = record["avg_binary_om_accuracy"], record["avg_binary_human_accuracy"]
    pairwise = record["avg_pairwise_accuracy"]
    blend = composite.emotion_blend(record["avg_emotion_f1"], record["avg_emotion_va_score"])
    turn_level = composite.turn_level_average(
        emotion_blend=blend, binary_mean=composite.binary_mean(om, human), pairwise_accuracy=pairwise
    )
    record["turn_level_average"] = turn_level
    if post is None:
        record.update(conversation_wide_average=None, composite_score=None, equal_weight_composite=None)
        return
    wide = wide_parts(post)
    wide_average = composite.conversation_wide_average(**wide)
    record["conversation_wide_average"] = wide_average
    record["composite_score"] = composite.composite_score(
        emotion_blend=blend,
        evaluation_quality=composite.evaluation_quality(
            om_accuracy=om, human_accuracy=human, pairwise_accuracy=pairwise
        ),
        holistic=composite.holistic(**wide),
    )
    record["equal_weight_composite"] = composite.equal_weight_composite(
        turn_level_average=turn_level, conversation_wide_average=wide_average
    )


def wide_parts(post: Mapping[str, Any]) -> dict[str, float]:
    """Return the three parts of the holistic pillar from a conversation's ``post_score``."""
    return {
        "panas01": composite.panas01(post["panas_baseline_adjusted"]),
        "conversation_wide": composite.conversation_wide(
            post["q1_looking_for_score"],
            post["q2_emotion_clarity_match"],
            post["q3_model_fit_match"],
            post["q3_follow_up_score"],
        ),
        "four_branch_normalized": post["four_branch_normalized"],
    }
