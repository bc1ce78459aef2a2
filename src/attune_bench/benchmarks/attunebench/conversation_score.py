"""The scores of a conversation: every key of its record in ``scores.json``, and how its value is made.

A new metric is a key of `TurnScore` or `PostScore`, with its call in `_score_turn` or `_score_post`; the mean over
turns of ``name`` is the key ``avg_name`` of `ConversationScore`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isnan, nan
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, with_config
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from attune_data import Conversation, Run, RunTurn, Turn
from attune_data.attunebench.records import (
    ConversationWideQuestions,
    FourBranchScores,
    PostConversation,
    PredictedPanas,
)
from attune_data.attunebench.records import Panas as PanasRecord
from attune_metrics.attunebench import composite, holistic, questions
from attune_metrics.attunebench.composite import Protocol
from attune_metrics.attunebench.emotion import PreparedTags, prepare_tags, score_tags
from attune_metrics.attunebench.holistic import BRANCHES, score_four_branch
from attune_metrics.attunebench.panas import Panas, PreparedPanas, prepare_panas, score_panas
from attune_metrics.attunebench.preferences import (
    JUDGE_DIMENSIONS,
    Comparison,
    PreparedComparisons,
    PreparedResponses,
    prepare_comparisons,
    prepare_responses,
    score_comparisons,
    score_draft_binary,
    score_draft_judge,
    score_response,
)
from attune_metrics.attunebench.questions import (
    BinaryCounts,
    PreparedAnswers,
    count_predictions,
    hp_reference,
    om_reference,
    prepare_answers,
)
from attune_metrics.metric import MetricInputError, nan_to_none


@dataclass(frozen=True, slots=True)
class TurnTruth:
    """One turn's annotations, prepared."""

    tags: PreparedTags
    observed: PreparedAnswers
    preferred: PreparedAnswers
    comparisons: PreparedComparisons
    responses: PreparedResponses


BINARY_TASKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "binary_om": ("observed", "em_binary_om_assessment"),
        "binary_human": ("preferred", "em_binary_human_prediction"),
        "binary_om_hp": ("observed", "em_binary_om_assessment_hp"),
        "binary_human_hp": ("preferred", "em_binary_human_prediction_hp"),
    }
)
"""The binary tasks by name: the attribute of `TurnTruth` with the reference, and the attribute of `attune_data.RunTurn`
with the prediction. ``_hp`` marks the HP-facing phrasing."""


def counts_key(task: str) -> str:
    """Return the key that the counts of a binary task have in ``scores.json``.

    Examples
    --------
    >>> counts_key("binary_om"), counts_key("binary_om_hp")
    ('binary_om_metrics', 'binary_om_metrics_hp')
    """
    name = task.removesuffix("_hp")
    return f"{name}_metrics{task.removeprefix(name)}"


@dataclass(frozen=True, slots=True)
class Truth:
    """One conversation's annotations, prepared.

    `turns` are by number, in order of number; `expected` has how many questions of all turns count, by task.
    """

    participant_id: str | None
    synthetic: bool
    wide: ConversationWideQuestions
    turns: dict[int, TurnTruth]
    expected: dict[str, int]
    pre_panas: PreparedPanas
    post_panas: PreparedPanas
    branches: dict[str, int | None]


def prepare_truth(conversation: Conversation, protocol: Protocol) -> Truth:
    """Prepare a conversation; of turns with one number, and of judgements on one question, the last counts."""
    by_number = {turn.turn_number: turn for turn in conversation.turns}
    turns = {number: _prepare_turn(by_number[number]) for number in sorted(by_number)}
    expected = {
        task: sum(len(answers.yes) + len(answers.no) for answers in map(attrgetter(reference), turns.values()))
        for task, (reference, _) in BINARY_TASKS.items()
    }
    expected["pairwise"] = sum(len(turn.comparisons.compared) for turn in turns.values())
    return Truth(
        conversation.participant_id,
        conversation.synthetic,
        conversation.conversation_wide_questions,
        turns,
        expected,
        prepare_panas(panas_form(conversation.pre_panas), protocol=protocol),
        prepare_panas(panas_form(conversation.post_panas), protocol=protocol),
        branch_ratings(conversation.conversation_wide_questions.four_branch_scores),
    )


def _prepare_turn(turn: Turn) -> TurnTruth:
    annotations = turn.annotations
    observed, preferred = _reference_answers(turn)
    compared = [Comparison(c.response_a, c.response_b, c.winner) for c in annotations.pairwise_comparisons]
    comparisons = prepare_comparisons(compared)
    return TurnTruth(
        prepare_tags((tag.emotion, tag.intensity) for tag in turn.mood_shift_tags),
        observed,
        preferred,
        comparisons,
        prepare_responses(turn.responses, comparisons.wins),
    )


def _reference_answers(turn: Turn) -> tuple[PreparedAnswers, PreparedAnswers]:
    """Return the `observed` and the `preferred` answers of `TurnTruth`."""
    judgements = {judgement.question_id: judgement for judgement in turn.annotations.binary_judgements}.items()
    return (
        prepare_answers({q: om_reference(j.observed_behavior, j.llm_value) for q, j in judgements}),
        prepare_answers({q: hp_reference(j.preferred_behavior, j.observed_behavior) for q, j in judgements}),
    )


def answers_by_turn(conversation: Conversation) -> dict[int, dict[str, PreparedAnswers]]:
    """Return the `observed` and the `preferred` answers that `prepare_truth` prepares, by number of the turn."""
    by_number = {turn.turn_number: turn for turn in conversation.turns}
    names = ("observed", "preferred")
    return {
        number: dict(zip(names, _reference_answers(by_number[number]), strict=True)) for number in sorted(by_number)
    }


def panas_form(panas: PanasRecord | PredictedPanas) -> Panas:
    """Return a PANAS record as the metrics' form."""
    items = panas.responses if isinstance(panas, PanasRecord) else panas.items
    return Panas(items, panas.total_positive_affect, panas.total_negative_affect)


def branch_ratings(scores: FourBranchScores) -> dict[str, int | None]:
    """Return the four ratings by the name of their branch."""
    return {branch: getattr(scores, branch) for branch in BRANCHES}


def _undefined(value: Any) -> float:
    if value == "NaN" or (isinstance(value, float) and isnan(value)):
        return nan
    raise ValueError


class _StrictNumber:
    """A number, or nan: as the text ``NaN`` in JSON, which has no number for it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        undefined = core_schema.no_info_plain_validator_function(_undefined)
        return core_schema.union_schema(
            [core_schema.float_schema(strict=True, allow_inf_nan=False), undefined],
            custom_error_type="number",
            custom_error_message="Input should be a finite number",
        )


def _with_prefix(record: type, prefix: str) -> tuple[str, ...]:
    return tuple(name for name in record.__annotations__ if name.startswith(prefix))


Count = Annotated[int, Field(strict=True, ge=0, le=2**53)]
"""A number of things."""

Number = Annotated[float, _StrictNumber()]
"""A score; nan where it is undefined."""

OfCounts = Annotated[float, Field(strict=True, ge=-1 - 1e-9, le=1 + 1e-9)]
"""A score that follows from binary counts, with room for rounding."""


TASKS = (*BINARY_TASKS, "pairwise", "panas")


class Coverage(TypedDict):
    """Predictions present, of the ground-truth questions that count."""

    present: Count
    expected: Count


class CallCounts(TypedDict):
    """Calls by how the answer was read: at first, after repair of its text, after asking again, or not at all."""

    parsed: Count
    repaired: Count
    retried: Count
    failed: Count


OUTCOMES = tuple(CallCounts.__annotations__)


def _panas_coverage(truth: PreparedPanas, form: PreparedPanas) -> tuple[int, int]:
    """Count the items predicted of the items rated; of the two totals where no item is rated."""
    if truth.items:
        return len(truth.items.keys() & form.items.keys()), len(truth.items)
    pairs = ((truth.totals.positive, form.totals.positive), (truth.totals.negative, form.totals.negative))
    there = [guess is not None for total, guess in pairs if total is not None]
    return sum(there), len(there)


def count_calls(run: Run) -> CallCounts | None:
    """Count calls by how the answer was read; None where the run file, of another runner perhaps, does not say."""
    calls = (run.model_extra or {}).get("calls")
    if not isinstance(calls, Mapping):
        return None
    said = [call.get("outcome") for call in calls.values() if isinstance(call, Mapping)]
    counts = {outcome: said.count(outcome) for outcome in OUTCOMES}
    return counts if any(counts.values()) else None  # type: ignore[return-value]  # its keys are OUTCOMES


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


COUNTS = tuple(CountScores.__annotations__)


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
    """The metrics of the predictions after the last turn."""

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


# The keys that a metric gives, and its attributes, which are called so without the prefix.
_PANAS = tuple(name for name in _with_prefix(PostScore, "panas_") if name != "panas_item_errors")
PANAS = tuple(name.removeprefix("panas_") for name in _PANAS)
_of_panas = attrgetter(*PANAS)
_of_judge = attrgetter(*JUDGE_DIMENSIONS)
POOLED = tuple(f"pooled_{counts_key(task)}" for task in BINARY_TASKS)
AVERAGED = tuple(name for name in TurnScore.__annotations__ if f"avg_{name}" in ConversationScore.__annotations__)
"""The metrics of turns that a conversation averages: its key ``avg_<name>`` is the mean of the turns' ``name``."""


def score_conversation(truth: Truth, run: Run, protocol: Protocol) -> ConversationScore | None:
    """Return the scores of a run; None where it shares no turn number with its conversation."""
    predicted = {turn.turn_number: turn for turn in run.turns}
    shared = [number for number in truth.turns if number in predicted]
    if not shared:
        return None
    asks_hp = hp_asked(run)
    answered: Answered = {task: [] for task in BINARY_TASKS if asks_hp or not task.endswith("_hp")}
    turns = [_score_turn(number, truth.turns[number], predicted[number], answered) for number in shared]
    post, form = None, _NO_FORM
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
    of_turns = dict(zip(turns[0], zip(*(turn.values() for turn in turns), strict=True), strict=True))
    for name in AVERAGED:
        record[f"avg_{name}"] = _mean(of_turns[name])
    record["avg_emotion_hit_rate_tagged_only"] = _mean(
        [turn["emotion_hit_rate"] for turn in turns if truth.turns[turn["turnNumber"]].tags.words]
    )
    record["avg_four_branch_mae"] = post and post["four_branch_mae"]
    present = dict.fromkeys(TASKS, 0)
    for task, name in zip(BINARY_TASKS, POOLED, strict=True):
        if task not in answered:
            record[name] = None
            continue
        *cells, present[task] = map(sum, zip(*answered[task], strict=True))
        record[name] = count_scores(*cells)
    _add_perspective(record)
    _add_composites(record)
    present["pairwise"] = sum(
        len(positions := truth.turns[number].comparisons.positions)
        - list(map(predicted[number].em_pairwise_selections.get, positions)).count(None)
        for number in shared
    )
    present["panas"], panas_items = _panas_coverage(truth.post_panas, form)
    expected = {**truth.expected, "panas": panas_items}
    record["coverage"] = {task: {"present": present[task], "expected": expected[task]} for task in TASKS}
    if calls := count_calls(run):
        record["calls"] = calls
    return record  # type: ignore[return-value]  # built key by key; the vectors test every key


def hp_asked(run: Run) -> bool:
    """Tell whether a model was asked the questions in their HP-facing phrasing too."""
    return any(turn.em_binary_om_assessment_hp or turn.em_binary_human_prediction_hp for turn in run.turns)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None


# Turns have few questions, and so few different counts.
@lru_cache(maxsize=2**14)
def count_scores(tp: int, tn: int, fp: int, fn: int) -> CountScores:
    """Return binary counts with the scores that follow from them, by the keys of `CountScores`; not to be changed."""
    counts = BinaryCounts(tp, tn, fp, fn)
    return {name: getattr(counts, name) for name in COUNTS}  # type: ignore[return-value]  # COUNTS are its keys


_NO_FORM = prepare_panas(Panas())
Answered = dict[str, list[tuple[int, int, int, int, int]]]
"""By binary task that was asked, of each turn what `attune_metrics.attunebench.questions.count_predictions` returns."""


def _score_turn(number: int, truth: TurnTruth, turn: RunTurn, answered: Answered) -> TurnScore:
    """Score one turn; its counts of each binary task are added to `answered`."""
    emotion = score_tags(truth.tags, prepare_tags([(tag.emotion, tag.intensity) for tag in turn.em_emotion_tags]))
    pairwise = score_comparisons(truth.comparisons, turn.em_pairwise_selections)
    response = score_response(truth.responses, turn.em_drafted_response)

    counts: dict[str, CountScores] = {}
    for task, found in answered.items():
        reference, prediction = BINARY_TASKS[task]
        cells = count_predictions(getattr(truth, reference), getattr(turn, prediction))
        found.append(cells)
        counts[task] = count_scores(*cells[:4])
    om, human = counts["binary_om"], counts["binary_human"]
    om_hp, human_hp = counts.get("binary_om_hp"), counts.get("binary_human_hp")
    # By definition a turn without judgements scores 1 in the observer phrasing and 0 in the other.
    judged = truth.observed.judged
    return {
        "turnNumber": number,
        "emotion_hit_rate": emotion.hit_rate,
        "emotion_intensity_mae": nan_to_none(emotion.intensity_mae),
        "emotion_precision": emotion.precision,
        "emotion_recall": emotion.recall,
        "emotion_f1": emotion.f1,
        "emotion_f1_intensity": emotion.f1_intensity,
        "emotion_va_score": emotion.va_score,
        "emotion_va_intensity_score": emotion.va_intensity_score,
        "binary_om_accuracy": om["accuracy"] if judged else 1.0,
        "binary_human_accuracy": human["accuracy"] if judged else 1.0,
        "binary_om_metrics": om,
        "binary_human_metrics": human,
        "binary_om_accuracy_hp": om_hp and om_hp["accuracy"],
        "binary_human_accuracy_hp": human_hp and human_hp["accuracy"],
        "binary_om_metrics_hp": om_hp,
        "binary_human_metrics_hp": human_hp,
        "pairwise_accuracy": pairwise.accuracy,
        "pairwise_kendall_tau": nan_to_none(pairwise.kendall_tau),
        "response_similarity": response.similarity,
        "response_similarity_original": response.original,
        "response_similarity_llm_improved": response.llm_improved,
        "response_similarity_human_edited": response.human_edited,
        "response_preference_alignment": response.preference_alignment,
        "draft_judge_score": _judge_score(_of_judge(turn.em_draft_judge_scores)),
        "draft_binary_alignment": nan_to_none(score_draft_binary(truth.preferred, turn.em_draft_binary_assessment)),
    }


# Answers that are chosen from few are the same in many runs.
_chosen = lru_cache(maxsize=2**12)
_looking_for = _chosen(holistic.q1_looking_for_score)
_clarity = _chosen(holistic.q2_emotion_clarity_match)
_fit = _chosen(holistic.q3_model_fit_match)
_distance_of_fit = _chosen(holistic.q3_model_fit_ordinal_distance)
_felt_off = _chosen(holistic.q3_follow_up_score)


@_chosen
def _judge_score(ratings: tuple[float | None, ...]) -> float | None:
    return nan_to_none(score_draft_judge(dict(zip(JUDGE_DIMENSIONS, ratings, strict=True))))


def _score_post(truth: Truth, post: PostConversation, form: PreparedPanas, protocol: Protocol) -> PostScore:
    panas = score_panas(truth.post_panas, form, baseline=truth.pre_panas)
    told, said = truth.wide, post.predicted_conversation_wide
    branches = score_four_branch(truth.branches, branch_ratings(said.four_branch_scores))
    return {
        **dict(zip(_PANAS, map(nan_to_none, _of_panas(panas)), strict=True)),  # type: ignore[typeddict-item]
        "panas_item_errors": panas.item_errors,
        "q1_looking_for_score": _looking_for(told.q1_looking_for, said.q1_looking_for, protocol=protocol),
        "q2_emotion_clarity_match": _clarity(told.q2_emotion_clarity, said.q2_emotion_clarity),
        "q3_model_fit_match": _fit(told.q3_model_fit, said.q3_model_fit),
        "q3_model_fit_ordinal_distance": _distance_of_fit(told.q3_model_fit, said.q3_model_fit),
        "q3_follow_up_score": _felt_off(told.q3_follow_up_what_felt_off, said.q3_follow_up_what_felt_off),
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
        for score in (questions.hp_perspective_gap, questions.hp_perspective_alignment):
            record[f"{score.__name__}{suffix}"] = None if hp is None else score(observer=observer, hp=hp)


def _add_composites(record: dict[str, Any]) -> None:
    own = pillars(record)
    turn_level = composite.turn_level_average(
        emotion_blend=own["emotion_blend"],
        binary_mean=composite.binary_mean(record["avg_binary_om_accuracy"], record["avg_binary_human_accuracy"]),
        pairwise_accuracy=record["avg_pairwise_accuracy"],
    )
    post = record["post_score"]
    wide = post and composite.conversation_wide_average(**wide_parts(post))
    averages = {"turn_level_average": turn_level, "conversation_wide_average": wide}
    record |= averages
    record["composite_score"] = post and composite.composite_score(**own)
    record["equal_weight_composite"] = post and composite.equal_weight_composite(**averages)


_WIDE = ("q1_looking_for_score", "q2_emotion_clarity_match", "q3_model_fit_match", "q3_follow_up_score")


def wide_parts(post: Mapping[str, Any]) -> dict[str, float]:
    """Return the three parts of the holistic pillar from a conversation's ``post_score``."""
    return {
        "panas01": composite.panas01(post["panas_baseline_adjusted"]),
        "conversation_wide": composite.conversation_wide(*(post[name] for name in _WIDE)),
        "four_branch_normalized": post["four_branch_normalized"],
    }


IDENTITY = ("conversationId", "participant_id", "em_model", "mode")
CELLS = ("tp", "tn", "fp", "fn")
IN_COMPOSITE = (
    *"avg_emotion_f1 avg_emotion_va_score avg_binary_om_accuracy avg_binary_human_accuracy".split(),
    *("avg_pairwise_accuracy", "panas_baseline_adjusted", *_WIDE, "four_branch_normalized", "composite_score"),
)
_PILLARS = ("emotion_blend", "evaluation_quality", "holistic")
_NOT_MEANS = (*IDENTITY, "source_file", "turn_scores", "post_score", "coverage", "calls", *POOLED)
MEANS = (
    *(name for name in ConversationScore.__annotations__ if name not in _NOT_MEANS),
    *_PILLARS,
    *(name for name in PostScore.__annotations__ if name not in ("panas_item_errors", "four_branch_per_branch")),
    *(f"four_branch_{branch}_mae" for branch in BRANCHES),
)


def columns_of(records: Sequence[ConversationScore | None], others: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return the records of runs as columns, a column for each term; a run without a record has None in every column.

    `others` names the columns of another measure of similarity.

    Raises
    ------
    MetricInputError
        Where a composite cannot be computed from a record; the text names it.
    """
    absent: dict[str, Any] = dict.fromkeys((*MEANS, *others, *POOLED))
    values = [absent if record is None else absent | _values(record) for record in records]
    of_means = itemgetter(*MEANS, *others)
    columns: dict[str, list[Any]] = {name: [] for name in (*MEANS, *others)}
    for name, found in zip(columns, zip(*map(of_means, values), strict=True), strict=bool(values)):
        columns[name] = list(found)
    for name in POOLED:
        for cell in CELLS:
            columns[f"{name}.{cell}"] = [counts and counts[cell] for counts in (of[name] for of in values)]
    for task in TASKS:
        for part in ("present", "expected"):
            counts = [of_record.get("coverage", {}).get(task) for of_record in values]
            columns[f"coverage.{task}.{part}"] = [count and count[part] for count in counts]
    calls = [of_record.get("calls") for of_record in values]
    for outcome in OUTCOMES:
        columns[f"calls.{outcome}"] = [of_record and of_record[outcome] for of_record in calls]
    return columns


def pillars(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the three pillars of a conversation's composite, each 0 to 1; null where the composite is."""
    post = record["post_score"]
    return {
        "emotion_blend": composite.emotion_blend(record["avg_emotion_f1"], record["avg_emotion_va_score"]),
        "evaluation_quality": composite.evaluation_quality(
            om_accuracy=record["avg_binary_om_accuracy"],
            human_accuracy=record["avg_binary_human_accuracy"],
            pairwise_accuracy=record["avg_pairwise_accuracy"],
        ),
        "holistic": post and composite.holistic(**wide_parts(post)),
    }


def _values(record: ConversationScore) -> dict[str, Any]:
    """Return every number of a conversation that has a mean over conversations, under the names of `MEANS`."""
    post: Mapping[str, Any] = record["post_score"] or {}
    errors = post.get("four_branch_per_branch", {})
    try:
        own = pillars(record)
    except MetricInputError as error:
        of = f"conversation {record['conversationId']!r}, model {record['em_model']!r}, mode {record['mode']!r}"
        raise MetricInputError(f"{of}: {error}") from None
    return {**record, **own, **post, **{f"four_branch_{name}_mae": error for name, error in errors.items()}}
