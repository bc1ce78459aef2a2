"""Aggregates: one row per evaluated model and mode, means over its conversations."""

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from statistics import fmean
from typing import Any

from attune_bench.benchmarks.attunebench.records import (
    CELLS,
    COUNTS,
    IDENTITY,
    OUTCOMES,
    TASKS,
    ConversationScore,
    PostScore,
)
from attune_data.matching import count_people
from attune_metrics.attunebench import composite
from attune_metrics.attunebench.binary import BinaryCounts
from attune_metrics.attunebench.holistic import BRANCHES

__all__ = ["IN_COMPOSITE", "MEANS", "POOLED", "aggregate", "pillars", "values_of", "wide_parts"]

POOLED = tuple(f"pooled_binary_{task}_metrics{phrasing}" for phrasing in ("", "_hp") for task in ("om", "human"))
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


def aggregate(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per model and mode, sorted by model, then mode.

    Parameters
    ----------
    records : sequence of mapping
        Conversation scores with the keys of ``scores.json``.

    Returns
    -------
    list of dict
        Each value is the mean over conversations, nulls skipped; ``<name>_n`` is the number it rests on, ``<name>_se``
        the standard deviation (n - 1) over sqrt(n), null below two values; it ignores that participants repeat.
        ``coverage_<task>`` pools predictions present over questions expected; ``calls_<outcome>`` counts calls by how
        the answer was read, in the ``calls_n`` runs that say so. ``composite_z`` is the z-score of the composite
        across rows (n - 1), 0 with fewer than two rows or no spread.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["em_model"], record["mode"]), []).append(record)
    rows = [_row(model, mode, group) for (model, mode), group in sorted(groups.items())]
    composites = [row["composite_score"] for row in rows if row["composite_score"] is not None]
    # Equal values have a mean that may differ from them in the last digit, and so a spread that is not 0.
    spread = _sd(composites) if len(set(composites)) > 1 else 0.0
    for row in rows:
        value = row["composite_score"]
        row["composite_z"] = None if value is None else (value - fmean(composites)) / spread if spread else 0.0
    return rows


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


def values_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return every number of a conversation that has a mean over conversations, under the names of `MEANS`."""
    post = record["post_score"] or {}
    errors = post.get("four_branch_per_branch", {})
    return {**record, **pillars(record), **post, **{f"four_branch_{name}_mae": error for name, error in errors.items()}}


def _row(model: str, mode: str, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    participants = count_people(record.get("participant_id") for record in records)
    row: dict[str, Any] = {
        "em_model": model,
        "mode": mode,
        "n_conversations": len(records),
        "n_participants": participants or None,
    }
    values = [values_of(record) for record in records]
    for name in MEANS:
        there = [value for of_record in values if (value := of_record.get(name)) is not None]
        row[name] = fmean(there) if there else None
        row[f"{name}_n"] = len(there)
        if name in IN_COMPOSITE:
            row[f"{name}_se"] = _sd(there) / sqrt(len(there)) if len(there) > 1 else None
    for name in POOLED:
        row[name] = _pool([record[name] for record in records if record[name] is not None])
    for task in TASKS:
        counts = [record["coverage"][task] for record in records if task in record.get("coverage", {})]
        expected = sum(count["expected"] for count in counts)
        row[f"coverage_{task}"] = sum(count["present"] for count in counts) / expected if expected else None
    calls = [record["calls"] for record in records if "calls" in record]
    row["calls_n"] = len(calls)
    for outcome in OUTCOMES:
        row[f"calls_{outcome}"] = sum(of_run[outcome] for of_run in calls) if calls else None
    return row


def _pool(counts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    if not counts:
        return None
    pooled = BinaryCounts(*(sum(count[cell] for count in counts) for cell in CELLS))
    return {name: getattr(pooled, name) for name in COUNTS}


def _sd(values: Sequence[float]) -> float:
    """Return the standard deviation (n - 1); nan where a value is, where the standard library would fail."""
    mean = fmean(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
