"""Scoring: records in, numbers out. Every metric of AttuneBench per turn and per conversation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from attune_bench.benchmarks.attunebench.aggregates import wide_parts
from attune_bench.benchmarks.attunebench.records import (
    AVERAGED,
    OUTCOMES,
    TASKS,
    CallCounts,
    ConversationScore,
    CountScores,
    Coverage,
    PostScore,
    TurnScore,
)
from attune_bench.benchmarks.attunebench.reference import Truth, TurnTruth, branch_ratings, panas_form, prepare_truth
from attune_bench.benchmarks.attunebench.table import provenance_of, scores_of
from attune_bench.fingerprint import codebook_hash, fingerprint
from attune_bench.scores import Scores
from attune_bench.stats.intervals import null
from attune_data import Collection, Conversation, Issue, Run, RunTurn
from attune_data.attunebench.run import PostConversation
from attune_data.issues import shown
from attune_metrics.attunebench import composite, holistic, phrasing
from attune_metrics.attunebench.binary import Answers, BinaryCounts, PreparedAnswers, count_answers
from attune_metrics.attunebench.emotion import prepare_tags, score_tags
from attune_metrics.attunebench.holistic import score_four_branch
from attune_metrics.attunebench.pairwise import score_comparisons
from attune_metrics.attunebench.panas import Panas, PreparedPanas, prepare_panas, score_panas
from attune_metrics.attunebench.protocol import DOCUMENTED, Protocol, get_protocol
from attune_metrics.attunebench.response import JUDGE_DIMENSIONS, score_draft_binary, score_draft_judge, score_response

__all__ = ["hp_asked", "score"]


def score(
    conversations: Iterable[Conversation],
    runs: Iterable[Run],
    *,
    protocol: str | Protocol = DOCUMENTED,
    progress: Callable[[int], object] | None = None,
) -> Scores:
    """Score the predictions of evaluated models against what the participants annotated.

    Parameters
    ----------
    conversations : iterable of Conversation
        The ground truth; `attune_data.load` gives it. Of one id the first counts.
    runs : iterable of Run
        The predictions; `attune_data.load_runs` gives them.
    protocol : str or Protocol
        ``"documented"`` or ``"released"``.
    progress : callable, optional
        Called with the number of runs scored so far.

    Returns
    -------
    Scores
        Per turn, per conversation, and per model and mode. A run whose conversation is not there, that shares no turn
        with it, or that repeats another's conversation, model and mode, is in ``.issues`` and not scored. A metric
        that is undefined is null.

    Raises
    ------
    MetricInputError
        Where there is no protocol of that name.

    Examples
    --------
    >>> from attune_data import load
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import prior
    >>> conversations = load("demo")
    >>> scores = score(conversations, prior(conversations))
    >>> len(scores.records)
    40
    """
    chosen = get_protocol(protocol)
    files = runs.files if isinstance(runs, Collection) else {}
    by_id: dict[str, Conversation] = {}
    for conversation in conversations:
        by_id.setdefault(conversation.id, conversation)
    truth_of = cache(lambda conversation_id: prepare_truth(by_id[conversation_id], chosen))
    scored: set[tuple[str, str, str]] = set()
    records: list[ConversationScore] = []
    issues: list[Issue] = []
    given = list(runs)
    for count, run in enumerate(given, start=1):
        problem = None
        if run.conversation_id not in by_id:
            problem = (
                "$.conversationId",
                "run-without-conversation",
                "no conversation with this id; is the data right?",
            )
        elif run.key in scored:
            problem = ("$", "duplicate-run", "another run of the same conversation, model and mode came before it")
        elif (record := _score_run(truth_of(run.conversation_id), run, chosen)) is None:
            problem = ("$.turns", "no-shared-turn", "the run shares no turn number with its conversation")
        else:
            scored.add(run.key)
            records.append(record)
        if problem:
            path, rule, message = problem
            value = shown(run.conversation_id)
            issues.append(Issue(files.get(run.id, run.id), path, rule, "error", value, message, "run not scored"))
        if progress:
            progress(count)
    used = {record["conversationId"] for record in records}
    held = provenance_of(
        protocol=chosen.name,
        synthetic=any(conversation.synthetic for conversation in by_id.values()),
        issues=tuple(issues),
        codebook=codebook_hash(),
        data=fingerprint(conversation for conversation in by_id.values() if conversation.id in used),
        runs=fingerprint(given),
    )
    return scores_of(records, held)


def _score_run(truth: Truth, run: Run, protocol: Protocol) -> ConversationScore | None:
    predicted = {turn.turn_number: turn for turn in run.turns}
    shared = [number for number in truth.turns if number in predicted]
    if not shared:
        return None
    asks_hp = hp_asked(run)
    pooled = {name: BinaryCounts() for name in _BINARY}
    turns = [_score_turn(number, truth.turns[number], predicted[number], asks_hp, pooled) for number in shared]
    post, form = None, prepare_panas(Panas())
    if run.post_conversation is not None and run.complete:
        form = prepare_panas(panas_form(run.post_conversation.predicted_post_panas), protocol=protocol)
        post = _score_post(truth, run.post_conversation, form, protocol)
    record: dict[str, Any] = {
        "conversationId": run.conversation_id,
        "mode": run.mode,
        "em_model": run.em_model,
        "participant_id": truth.conversation.participant_id,
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
    for name in _BINARY:
        asked = asks_hp or not name.endswith("_hp")
        record[f"pooled_binary_{name}"] = _counted(pooled[name]) if asked else None
    _add_perspective(record)
    _add_composites(record, post)
    record["coverage"] = _coverage(truth, predicted, form)
    if calls := _calls(run):
        record["calls"] = calls
    return record  # type: ignore[return-value]  # built key by key; the vectors test every key


def hp_asked(run: Run) -> bool:
    """Tell whether a model was asked the questions in their HP-facing phrasing too."""
    return any(turn.em_binary_om_assessment_hp or turn.em_binary_human_prediction_hp for turn in run.turns)


# Names in scores.json of the four binary tasks, as in `binary_<name>` without the middle word.
_BINARY = ("om_metrics", "human_metrics", "om_metrics_hp", "human_metrics_hp")


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

    om = count_answers(truth.observed, turn.em_binary_om_assessment)
    human = count_answers(truth.preferred, turn.em_binary_human_prediction)
    pooled["om_metrics"] += om
    pooled["human_metrics"] += human
    om_hp = human_hp = None
    if asks_hp:
        om_hp = count_answers(truth.observed, turn.em_binary_om_assessment_hp)
        human_hp = count_answers(truth.preferred, turn.em_binary_human_prediction_hp)
        pooled["om_metrics_hp"] += om_hp
        pooled["human_metrics_hp"] += human_hp
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
    actual, predicted = truth.conversation.conversation_wide_questions, post.predicted_conversation_wide
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
            gap = phrasing.hp_perspective_gap(observer=observer, hp=hp)
            alignment = phrasing.hp_perspective_alignment(observer=observer, hp=hp)
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


def _coverage(truth: Truth, predicted: Mapping[int, RunTurn], form: PreparedPanas) -> dict[str, Coverage]:
    """Count predictions present of the questions that count, over all turns of the conversation."""
    present = dict.fromkeys(TASKS, 0)
    expected = present.copy()
    for number, turn_truth in truth.turns.items():
        turn = predicted.get(number, _NO_TURN)
        for name, answers, answered in (
            ("binary_om", turn.em_binary_om_assessment, turn_truth.observed),
            ("binary_human", turn.em_binary_human_prediction, turn_truth.preferred),
            ("binary_om_hp", turn.em_binary_om_assessment_hp, turn_truth.observed),
            ("binary_human_hp", turn.em_binary_human_prediction_hp, turn_truth.preferred),
        ):
            expected[name] += len(answered.yes) + len(answered.no)
            present[name] += _answered(answers, answered)
        positions = [position for position, _ in turn_truth.comparisons.keyed]
        expected["pairwise"] += len(positions)
        present["pairwise"] += len(positions) - list(map(turn.em_pairwise_selections.get, positions)).count(None)
    present["panas"], expected["panas"] = _panas_coverage(truth.post_panas, form)
    return {name: {"present": present[name], "expected": expected[name]} for name in present}


def _panas_coverage(truth: PreparedPanas, form: PreparedPanas) -> tuple[int, int]:
    """Count the items predicted of the items rated; of the two totals where no item is rated."""
    if truth.items:
        return len(truth.items.keys() & form.items.keys()), len(truth.items)
    pairs = ((truth.totals.positive, form.totals.positive), (truth.totals.negative, form.totals.negative))
    there = [guess is not None for total, guess in pairs if total is not None]
    return sum(there), len(there)


def _calls(run: Run) -> CallCounts | None:
    """Count calls by how the answer was read; None where the run file, of another runner perhaps, does not say."""
    calls = (run.model_extra or {}).get("calls")
    if not isinstance(calls, Mapping):
        return None
    said = [call.get("outcome") for call in calls.values() if isinstance(call, Mapping)]
    counts = {outcome: said.count(outcome) for outcome in OUTCOMES}
    return counts if any(counts.values()) else None  # type: ignore[return-value]  # its keys are OUTCOMES


_NO_TURN = RunTurn(turn_number=0)


def _answered(answers: Answers, reference: PreparedAnswers) -> int:
    return sum(
        len(questions) - list(map(answers.get, questions)).count(None) for questions in (reference.yes, reference.no)
    )
