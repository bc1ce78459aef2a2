"""The aggregates of ``scores.json``: one row per evaluated model and mode, means over its conversations."""

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from attune_bench.benchmarks.attunebench.conversation_score import ConversationScore, PostScore, wide_parts
from attune_bench.benchmarks.attunebench.coverage import OUTCOMES, TASKS
from attune_bench.benchmarks.attunebench.records import CELLS, COUNTS, IDENTITY
from attune_bench.benchmarks.attunebench.reference import BINARY_TASKS, counts_key
from attune_bench.score_table import ScoreTable
from attune_bench.stats.series import ScoreSeries
from attune_bench.stats.summary import coverage, points, z_scores
from attune_metrics.attunebench import composite
from attune_metrics.attunebench.binary import BinaryCounts
from attune_metrics.attunebench.holistic import BRANCHES

__all__ = ["IN_COMPOSITE", "MEANS", "POOLED", "aggregates", "pillars", "values_of"]

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
_NOT_MEANS = (*IDENTITY, "source_file", "turn_scores", "post_score", "coverage", "calls", "chance", *POOLED)
MEANS = (
    *(name for name in ConversationScore.__annotations__ if name not in _NOT_MEANS),
    *_PILLARS,
    *(name for name in PostScore.__annotations__ if name not in ("panas_item_errors", "four_branch_per_branch")),
    *(f"four_branch_{branch}_mae" for branch in BRANCHES),
)


def aggregates(scores: ScoreTable) -> list[dict[str, Any]]:
    """Return one row per model and mode, sorted by model, then mode, as ``scores.json`` has them.

    Parameters
    ----------
    scores : ScoreTable
        Scores of this benchmark.

    Returns
    -------
    list of dict
        Each value is the mean over conversations, null and nan skipped; ``<name>_n`` is the number it rests on,
        ``<name>_se`` the standard deviation (n - 1) over sqrt(n), null below two values; it ignores that participants
        repeat.
        ``coverage_<task>`` pools predictions present over questions expected; ``calls_<outcome>`` counts calls by how
        the answer was read, in the ``calls_n`` runs that say so. ``composite_z`` is the z-score of the composite
        across rows (n - 1), 0 with fewer than two rows or no spread.
    """
    series = ScoreSeries(scores)
    covered = coverage(scores)
    means = {name: (points(series, name), series.values(name)[:, 0]) for name in MEANS}
    z = z_scores(series, scores.metrics["composite_z"])
    frame = scores.values
    rows = []
    for place, (model, mode) in enumerate(series.groups):
        scored = series.scored[place]
        people = {label for label, there in zip(series.labels, scored, strict=True) if there and label[0]}
        row: dict[str, Any] = {
            "em_model": model,
            "mode": mode,
            "n_conversations": int(scored.sum()),
            "n_participants": len(people) or None,
        }
        for name, (values, units) in means.items():
            known = units[place][~np.isnan(units[place])].tolist()
            row[name] = values[place]
            row[f"{name}_n"] = len(known)
            if name in IN_COMPOSITE:
                row[f"{name}_se"] = _sd(known) / sqrt(len(known)) if len(known) > 1 else None
        own = frame.filter(pl.col("model") == model, pl.col("condition") == mode)
        for name in POOLED:
            row[name] = _pool(own.select(f"{name}.{cell}" for cell in CELLS).drop_nulls())
        for task in TASKS:
            row[f"coverage_{task}"] = covered[model, mode].get(task)
        calls = own.select(f"calls.{outcome}" for outcome in OUTCOMES).drop_nulls()
        row["calls_n"] = calls.height
        for outcome in OUTCOMES:
            row[f"calls_{outcome}"] = int(calls[f"calls.{outcome}"].sum()) if calls.height else None
        row["composite_z"] = z[place]
        rows.append(row)
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


def values_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return every number of a conversation that has a mean over conversations, under the names of `MEANS`."""
    post = record["post_score"] or {}
    errors = post.get("four_branch_per_branch", {})
    return {**record, **pillars(record), **post, **{f"four_branch_{name}_mae": error for name, error in errors.items()}}


def _pool(counts: pl.DataFrame) -> dict[str, Any] | None:
    """Return the scores of the counts of all runs, None where no run has any."""
    if counts.is_empty():
        return None
    pooled = BinaryCounts(*(int(column.sum()) for column in counts))
    return {name: getattr(pooled, name) for name in COUNTS}


def _sd(values: Sequence[float]) -> float:
    """Return the standard deviation (n - 1)."""
    mean = fmean(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
