"""What scores of this benchmark keep beyond their values: the record of every run, turn by turn."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from attune_bench.benchmarks.attunebench.conversation_score import TurnScore
from attune_bench.benchmarks.attunebench.records import COUNTED
from attune_bench.benchmarks.attunebench.terms import CELLS, COUNTS, IDENTITY
from attune_bench.score_table import KEYS, ScoreTable
from attune_bench.stats.series import ScoreSeries
from attune_bench.texts import Texts
from attune_metrics.metric import MetricInputError

__all__ = ["record_grid", "records_of", "turn_frame"]

Record = Mapping[str, Any]


def records_of(scores: ScoreTable) -> Texts:
    """Return the record of every run, with the keys of ``scores.json``.

    Raises
    ------
    MetricInputError
        Where the scores have none, as those of another benchmark or of a table.
    """
    if scores.detail is None:
        raise MetricInputError("these scores have no records of runs; score the runs again, or read their scores.json")
    return scores.detail


def record_grid(scores: ScoreTable, series: ScoreSeries) -> list[list[Record | None]]:
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
