"""The terms of scores: the record of each run as columns of numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from attune_bench.benchmarks.attunebench.conversation_score import ConversationScore, CountScores, PostScore, wide_parts
from attune_bench.benchmarks.attunebench.coverage import OUTCOMES, TASKS
from attune_bench.benchmarks.attunebench.reference import BINARY_TASKS, counts_key
from attune_metrics.attunebench import composite
from attune_metrics.attunebench.holistic import BRANCHES
from attune_metrics.metric import MetricInputError

__all__ = [
    "CELLS",
    "COUNTS",
    "IDENTITY",
    "IN_COMPOSITE",
    "MEANS",
    "POOLED",
    "columns_of",
    "pillars",
    "values_of",
]

IDENTITY = ("conversationId", "participant_id", "em_model", "mode")
COUNTS = tuple(CountScores.__annotations__)
CELLS = ("tp", "tn", "fp", "fn")
POOLED = tuple(f"pooled_{counts_key(task)}" for task in BINARY_TASKS)
IN_COMPOSITE = (
    "avg_emotion_f1",
    "avg_emotion_va_score",
    "avg_binary_om_accuracy",
    "avg_binary_human_accuracy",
    "avg_pairwise_accuracy",
    "panas_baseline_adjusted",
    "q1_looking_for_score",
    "q2_emotion_clarity_match",
    "q3_model_fit_match",
    "q3_follow_up_score",
    "four_branch_normalized",
    "composite_score",
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
    """Return the records of runs as columns, one for each term; of a run without a record all terms are None.

    `others` are the means of another measure of similarity, beyond those that every record has.

    Raises
    ------
    MetricInputError
        Where a composite cannot be computed from a record; the text names it.
    """
    columns: dict[str, list[Any]] = {}
    values = [{} if record is None else _values(record) for record in records]
    for name in (*MEANS, *others):
        columns[name] = [of_record.get(name) for of_record in values]
    for name in POOLED:
        for cell in CELLS:
            columns[f"{name}.{cell}"] = [counts and counts[cell] for counts in (of.get(name) for of in values)]
    for task in TASKS:
        for part in ("present", "expected"):
            counts = [of_record.get("coverage", {}).get(task) for of_record in values]
            columns[f"coverage.{task}.{part}"] = [count and count[part] for count in counts]
    calls = [of_record.get("calls") for of_record in values]
    for outcome in OUTCOMES:
        columns[f"calls.{outcome}"] = [of_record and of_record[outcome] for of_record in calls]
    return columns


def _values(record: ConversationScore) -> dict[str, Any]:
    try:
        return values_of(record)
    except MetricInputError as error:
        of = f"conversation {record['conversationId']!r}, model {record['em_model']!r}, mode {record['mode']!r}"
        raise MetricInputError(f"{of}: {error}") from None


def pillars(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the three pillars of a conversation's composite, each 0 to 1; null where the composite is."""
    post = record["post_score"]
    values: dict[str, float | None] = {
        "emotion_blend": composite.emotion_blend(record["avg_emotion_f1"], record["avg_emotion_va_score"]),
        "evaluation_quality": composite.evaluation_quality(
            om_accuracy=record["avg_binary_om_accuracy"],
            human_accuracy=record["avg_binary_human_accuracy"],
            pairwise_accuracy=record["avg_pairwise_accuracy"],
        ),
        "holistic": post and composite.holistic(**wide_parts(post)),
    }
    return values


def values_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return every number of a conversation that has a mean over conversations, under the names of `MEANS`."""
    post = record["post_score"] or {}
    errors = post.get("four_branch_per_branch", {})
    return {**record, **pillars(record), **post, **{f"four_branch_{name}_mae": error for name, error in errors.items()}}
