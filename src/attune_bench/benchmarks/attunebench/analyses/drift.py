"""Drift: whether models do worse, or better, late in a conversation.

Turn t of T is in third ``floor(3 (t - 1) / T)``: early, middle or late. The turns of a conversation are those that any
model was scored on, in the order of their numbers, so that a model that left turns out is compared on the same thirds.
A conversation of fewer than three turns has no thirds and does not count.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.detail import record_grid
from attune_bench.benchmarks.attunebench.records import TURN_KEYS
from attune_bench.benchmarks.attunebench.terms import CELLS
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions
from attune_bench.stats.paired import TESTED, paired, tested
from attune_bench.stats.series import Draws, ScoreSeries
from attune_bench.undefined import null
from attune_metrics.metric import MetricInputError
from attune_metrics.stats.bootstrap import Floats, point_estimate

__all__ = ["DRIFTING", "turn_drift"]

_THIRDS = 3
_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("model", "condition", "metric"), pl.String),
    **dict.fromkeys(("early", "middle", "late", "drift"), pl.Float64),
    **TESTED,
}

DRIFTING = (
    "avg_emotion_f1",
    "avg_emotion_va_score",
    "avg_binary_om_accuracy",
    "avg_binary_human_accuracy",
    "avg_pairwise_accuracy",
    "pooled_binary_om_metrics.accuracy",
)
"""The metrics of turns that enter the composite, and pooled OM accuracy."""

Grid = list[list[Mapping[str, Any] | None]]


def turn_drift(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return each model's scores in the early, middle and late third of conversations, and late minus early.

    Parameters
    ----------
    scores : ScoreTable
        Scores of this benchmark, with the records of their runs.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. Metrics that turns have; by default `DRIFTING`.

    Returns
    -------
    polars.DataFrame
        ``model, condition, metric, early, middle, late, drift, low, high, p, p_min, p_holm, significant, n, clusters,
        mde, reason``. A third's value is a mean over conversations of the mean over its turns; that of a pooled score
        is from the counts of all its turns. All are over the ``n`` conversations that have a value both early and late
        (`middle` over those of them that have one in the middle), so that ``drift`` is `late` minus `early`;
        ``p_holm`` is Holm's over the models of a mode.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, turns do not have a metric, or the scores have no records.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = turn_drift(score(load("demo"), load_runs("demo")), metrics=["avg_pairwise_accuracy"])
    >>> row = found.row(0, named=True)
    >>> row["n"], row["low"] < row["drift"] < row["high"]
    (40, True)
    """
    chosen = AnalysisOptions(**options)
    metrics = chosen.names(scores, DRIFTING)
    for metric in metrics:
        if metric not in TURN_KEYS:
            raise MetricInputError(f"turns do not have {metric!r}; expected one of {', '.join(TURN_KEYS)}")
    series = ScoreSeries(scores)
    grid = record_grid(scores, series)
    draws = Draws(series, chosen)
    thirds = [_thirds(of_group[unit] for of_group in grid) for unit in range(len(series.units))]
    families = [f"the models of mode {mode!r}" for _, mode in series.groups]
    rows: dict[tuple[int, str], tuple[Any, ...]] = {}
    for metric in metrics:
        statistic = series.statistic(metric)
        early, middle, late = _values(grid, thirds, metric)
        thirds_of = np.concatenate([late, early]), [(group, len(late) + group) for group in range(len(late))]
        found = paired(series, *thirds_of, families, draws, chosen, statistic, of=metric)
        columns = tested(found, families, draws)
        between = point_estimate(np.where(np.isnan(early + late), np.nan, middle), statistic=statistic).tolist()
        for group, (identity, pair, own) in enumerate(zip(series.groups, found, columns, strict=True)):
            values = pair.second, null(between[group]), pair.first, pair.difference
            rows[group, metric] = (*identity, metric, *values, *own)
    draws.skewed.warn_of_differences()
    ordered = [rows[group, metric] for group in range(len(series.groups)) for metric in metrics]
    return pl.DataFrame(ordered, schema=_SCHEMA, orient="row")


def _thirds(records: Iterable[Mapping[str, Any] | None]) -> dict[int, int]:
    """Return the third of each turn number of a conversation, none where it has fewer than three turns."""
    numbers = sorted({turn["turnNumber"] for record in records if record for turn in record["turn_scores"]})
    if len(numbers) < _THIRDS:
        return {}
    return {number: _THIRDS * place // len(numbers) for place, number in enumerate(numbers)}


def _values(grid: Grid, thirds: list[dict[int, int]], metric: str) -> Floats:
    """Return a metric's terms (thirds, groups, terms, units)."""
    key, pooled = TURN_KEYS[metric], "." in metric
    terms = np.full((_THIRDS, len(grid), len(CELLS) if pooled else 1, len(thirds)), np.nan)
    for group, records in enumerate(grid):
        for unit, record in enumerate(records):
            turns: list[list[Any]] = [[] for _ in range(_THIRDS)]
            for turn in record["turn_scores"] if record and thirds[unit] else ():
                if (value := turn.get(key)) is not None:
                    turns[thirds[unit][turn["turnNumber"]]].append(value)
            for third, values in enumerate(turns):
                if values and pooled:
                    terms[third, group, :, unit] = [sum(value[cell] for value in values) for cell in CELLS]
                elif values:
                    terms[third, group, 0, unit] = sum(values) / len(values)
    return terms
