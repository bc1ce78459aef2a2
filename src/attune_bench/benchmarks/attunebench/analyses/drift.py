"""Drift: whether models do worse, or better, late in a conversation.

Turn t of T is in third ``floor(3 (t - 1) / T)``: early, middle or late. The turns of a conversation are those that any
model was scored on, in the order of their numbers, so that a model that left turns out is compared on the same thirds.
A conversation of fewer than three turns has no thirds and does not count.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.aggregates import IN_COMPOSITE
from attune_bench.benchmarks.attunebench.analyses._common import aggregates, corrected, paired
from attune_bench.benchmarks.attunebench.records import CELLS, TurnScore, null
from attune_bench.stats.series import METRICS, Draws, Options, ScoreSeries, Settings, statistic_of
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.scores import Scores

__all__ = ["DRIFTING", "turn_drift"]

_THIRDS = 3
_SCHEMA: Mapping[str, type] = {
    **dict.fromkeys(("model", "mode", "metric"), str),
    **dict.fromkeys(("early", "middle", "late", "drift", "low", "high", "p", "p_holm"), float),
    **dict.fromkeys(("n", "participants"), int),
    "reason": str,
}


def _of_turn(metric: str) -> str:
    """Return the key that an aggregate's metric has in the scores of a turn."""
    key = metric.partition(".")[0]
    return key.removeprefix("pooled_") if "." in metric else key.removeprefix("avg_")


_BY_TURN = tuple(
    metric
    for metric in METRICS
    if metric.startswith(("avg_", "pooled_")) and _of_turn(metric) in TurnScore.__annotations__
)
DRIFTING = (*(metric for metric in IN_COMPOSITE if metric in _BY_TURN), "pooled_binary_om_metrics.accuracy")


def turn_drift(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Return each model's scores in the early, middle and late third of conversations, and late minus early.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.series.Settings`. Metrics that turns have; by default those that enter the composite, and
        pooled OM accuracy.

    Returns
    -------
    polars.DataFrame
        ``model, mode, metric, early, middle, late, drift, low, high, p, p_holm, n, participants, reason``. A third's
        value is a mean over conversations of the mean over its turns; that of a pooled score is from the counts of
        all its turns. All are over the ``n`` conversations that have a value both early and late (`middle` over those
        of them that have one there), so that ``drift`` is `late` minus `early`; ``p_holm`` is Holm's over the models of
        a mode.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, turns do not have a metric, or records contradict each other.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> found = turn_drift(score(load("demo"), load_runs("demo")), metrics=["avg_pairwise_accuracy"])
    >>> row = found.row(0, named=True)
    >>> row["n"], row["low"] < row["drift"] < row["high"]
    (40, True)
    """
    import polars as pl

    settings = Settings(**options)
    metrics = settings.names if settings.metrics is not None else DRIFTING
    for metric in metrics:
        if metric not in _BY_TURN:
            raise MetricInputError(f"turns do not have {metric!r}; expected one of {', '.join(_BY_TURN)}")
    series = ScoreSeries(scores)
    draws = Draws(series.clusters(settings.unit), settings)
    thirds = [_thirds([group[unit] for group in series.records]) for unit in range(len(series.units))]
    rows: dict[tuple[int, str], tuple[Any, ...]] = {}
    for metric in metrics:
        statistic = statistic_of(metric)
        early, middle, late = _values(series, thirds, metric)
        found = paired(series, late, early, series.scored, draws, settings, statistic)
        holm = corrected(found, [f"the models of mode {mode!r}" for _, mode in series.groups], settings)
        between = aggregates(np.where(np.isnan(early + late), np.nan, middle), statistic).tolist()
        for group, (identity, pair, p) in enumerate(zip(series.groups, found, holm, strict=True)):
            values = pair.second, null(between[group]), pair.first, pair.difference, pair.low, pair.high, pair.p, p
            rows[group, metric] = (*identity, metric, *values, pair.n, pair.participants, pair.reason)
    ordered = [rows[group, metric] for group in range(len(series.groups)) for metric in metrics]
    return pl.DataFrame(ordered, schema=_SCHEMA, orient="row")


def _thirds(records: Sequence[Mapping[str, Any] | None]) -> dict[int, int]:
    """Return the third of each turn number of a conversation, none where it has fewer than three turns."""
    numbers = sorted({turn["turnNumber"] for record in records if record for turn in record["turn_scores"]})
    if len(numbers) < _THIRDS:
        return {}
    return {number: _THIRDS * place // len(numbers) for place, number in enumerate(numbers)}


def _values(series: ScoreSeries, thirds: Sequence[Mapping[int, int]], metric: str) -> Floats:
    """Return a metric's terms (thirds, groups, terms, units)."""
    key, pooled = _of_turn(metric), "." in metric
    shape = _THIRDS, len(series.groups), len(CELLS) if pooled else 1, len(series.units)
    terms = np.full(shape, np.nan)
    for group, records in enumerate(series.records):
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
