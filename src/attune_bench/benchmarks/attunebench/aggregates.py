"""The aggregates of ``scores.json``: one row per evaluated model and mode, means over its conversations."""

from collections.abc import Sequence
from math import fsum, sqrt
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from attune_bench.benchmarks.attunebench.coverage import OUTCOMES, TASKS
from attune_bench.benchmarks.attunebench.terms import CELLS, COUNTS, IN_COMPOSITE, MEANS, POOLED
from attune_bench.score_table import ScoreTable
from attune_bench.stats.series import ScoreSeries
from attune_bench.stats.summary import coverage, points, z_scores
from attune_metrics.attunebench.questions import BinaryCounts

__all__ = ["aggregates"]


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
