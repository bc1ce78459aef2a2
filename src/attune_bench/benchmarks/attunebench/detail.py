"""The records that scores of AttuneBench keep of their runs: by run, by series and unit, and as a frame of turns."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from attune_bench.benchmarks.attunebench.conversation_score import (
    AVERAGED,
    BINARY_TASKS,
    CELLS,
    COUNTS,
    IDENTITY,
    TurnScore,
    counts_key,
)
from attune_bench.scores.parts import KEYS
from attune_bench.scores.table import JsonColumn, ScoreTable
from attune_metrics.metric import MetricInputError

if TYPE_CHECKING:
    from attune_bench.stats.options import ScoreSeries

COUNTED = tuple(map(counts_key, BINARY_TASKS))
TURN_KEYS: Mapping[str, str] = {
    **{f"avg_{name}": name for name in AVERAGED},
    **{f"pooled_{name}.{score}": name for name in COUNTED for score in COUNTS if score not in CELLS},
}
"""Metrics of conversations that are computed from turns, and the key of a turn that each is computed from."""


Record = Mapping[str, Any]


def records_of(scores: ScoreTable) -> JsonColumn:
    """Return the record of every run, with the keys of ``scores.json``.

    Raises
    ------
    MetricInputError
        Where the scores have no records: scores of another benchmark, or read from a table.
    """
    if scores.detail is None:
        raise MetricInputError("these scores have no records of runs; score the runs again, or read their scores.json")
    return scores.detail


def record_grid(scores: ScoreTable, series: "ScoreSeries") -> list[list[Record | None]]:
    """Return the record of each series and unit, None where the model was not run on the unit."""
    rows = zip(scores.values.select(KEYS).iter_rows(), records_of(scores), strict=True)
    found = dict(rows)
    return [[found.get((*group, unit)) for unit in series.units] for group in series.groups]


def turn_frame(scores: ScoreTable) -> pl.DataFrame:
    """Return one row a turn of a run: identity, ``turnNumber``, every turn metric; counts as ``<task>_metrics_tp``.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> turn_frame(score(load("demo"), load_runs("demo"))).select("em_model", "turnNumber", "pairwise_accuracy").shape
    (400, 3)
    """
    turns = [(record, turn) for record in records_of(scores) for turn in record["turn_scores"]]
    columns: dict[str, list[Any]] = {key: [record.get(key) for record, _ in turns] for key in IDENTITY}
    schema: dict[str, Any] = dict.fromkeys(IDENTITY, pl.String)
    for name in TurnScore.__annotations__:
        if name in COUNTED:
            columns |= {f"{name}_{score}": [(turn.get(name) or {}).get(score) for _, turn in turns] for score in COUNTS}
            schema |= {f"{name}_{score}": pl.Int64 if score in CELLS else pl.Float64 for score in COUNTS}
        else:
            columns[name] = [turn.get(name) for _, turn in turns]
            schema[name] = pl.Int64 if name == "turnNumber" else pl.Float64
    return pl.DataFrame(columns, schema=schema)
