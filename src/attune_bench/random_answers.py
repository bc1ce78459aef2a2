"""Chance: what answering at random scores on given data.

It depends on the data: on how often a comparison has no winner, how many options a question has, how far moods moved.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import signature
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from attune_bench.benchmarks.base import Benchmark
from attune_bench.score_table import ScoreTable
from attune_bench.scored_records import check_records
from attune_bench.scores import Scores
from attune_bench.scoring import benchmark_chosen, score
from attune_bench.stats.chance import chance_of_units
from attune_bench.stats.series import ScoreSeries
from attune_bench.stats.summary import points
from attune_data.references import resolve
from attune_data.text import meant
from attune_metrics.metric import MetricInputError, check_whole
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = ["chance"]

_BASELINE = "chance"
_RANGE = (0.025, 0.975)
# The tails of 95% need at least one repeat each.
_MIN_REPEATS = 40
_EXACT = "exact"
_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("condition", "metric"), pl.String),
    **dict.fromkeys(("chance", "low", "high"), pl.Float64),
    "n": pl.Int64,
    "how": pl.String,
}


def chance(
    given: ScoreTable | Iterable[Any],
    *,
    seed: int = 0,
    repeats: int = 100,
    benchmark: str | Benchmark | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Return what answering at random scores on given data.

    Not to be confused with the baseline of this name, such as `attune_bench.benchmarks.attunebench.baselines.chance`:
    that makes one set of random answers, this says what such answers score on average.

    Parameters
    ----------
    given : Scores, or iterable of record
        Scores tell the metrics whose expected value is known, on the units scored, by condition. Data, such as
        conversations, tell every metric: the others are simulated.
    seed : int
        Of the simulation.
    repeats : int
        How often the benchmark's random baseline answers all of the data; at least 1. Of scores nothing is simulated.
    benchmark : str or Benchmark, optional
        Whose data they are; by default the records tell.
    **options
        What the benchmark's scoring takes, such as ``protocol``. For scores, neither these nor `benchmark`.

    Returns
    -------
    polars.DataFrame
        ``condition, metric, chance, low, high, n, how``. ``chance`` is the expected value, where ``how`` is ``exact``,
        else the mean of the repeats. 95% of the repeats lie from ``low`` to ``high``; both are null for scores and
        below 40 repeats. ``n`` counts the units with a value. The condition is null for data. A metric that random
        answers have no value of, such as a judge's rating, has no row.

    Raises
    ------
    MetricInputError
        Where the benchmark has no random baseline, the scores do not say what random answers score, the records are of
        no benchmark or another kind, there are none, or an option is unknown or out of range.
    ValueError
        Where there is no benchmark of that name.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> found = chance(conversations, repeats=2)
    >>> found.filter(metric="avg_pairwise_accuracy").rows()
    [(None, 'avg_pairwise_accuracy', 0.5, None, None, 40, 'exact')]
    >>> found.filter(metric="composite_score").select("n", "how").rows()
    [(40, 'simulated')]
    """
    check_whole(seed, "seed", 0)
    check_whole(repeats, "repeats", 1)
    if isinstance(given, str | Path):
        raise MetricInputError(f"{str(given)!r} is a source, not data; load it first: chance(load({str(given)!r}))")
    if isinstance(given, ScoreTable):
        if benchmark is not None or options:
            named = ", ".join([*(["benchmark"] if benchmark is not None else []), *options])
            raise MetricInputError(f"scores are already made; {named} is for data")
        return _of_scores(given)
    data = given if isinstance(given, Sequence) else list(given)
    if not len(data):
        raise MetricInputError("no data to answer at random")
    chosen = benchmark_chosen(benchmark, data)
    predict = (resolve(chosen.baselines) or {}).get(_BASELINE)
    if predict is None:
        raise MetricInputError(f"{chosen.title} has no baseline named {_BASELINE!r}, so that nothing answers at random")
    check_records(chosen, "data", data, chosen.data)
    _check_options(options, resolve(chosen.score))
    seeds = np.random.SeedSequence(seed).generate_state(repeats).tolist()
    return _simulated(score(data, predict(data, seed=one), benchmark=chosen, **options) for one in seeds)


def _check_options(options: Iterable[str], score_records: Callable[..., Any]) -> None:
    """Refuse what the scoring of a benchmark does not take."""
    parameters = signature(score_records).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    known = ["seed", "repeats", "benchmark", *(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)]
    for name in options:
        if name not in known:
            raise MetricInputError(f"no option {name!r}; {meant(name, known)}")


def _of_scores(table: ScoreTable) -> pl.DataFrame:
    """Return the expected values that scores have."""
    found = chance_of_units(table)
    if found.is_empty():
        raise MetricInputError(
            "these scores do not say what random answers score; give the data instead: chance(data), as in "
            'chance(load("..."))'
        )
    ends = (pl.lit(None, pl.Float64).alias(end) for end in ("low", "high"))
    return found.with_columns(*ends, how=pl.lit(_EXACT)).select(*_SCHEMA)


def _simulated(repeats: Iterator[Scores]) -> pl.DataFrame:
    """Return the mean of every metric over repeats of random answers, or its expected value where that is known."""
    first = next(repeats)
    exact = {row["metric"]: row for row in chance_of_units(first).iter_rows(named=True)}
    # Scores are large: only one of them is kept.
    drawn = [_values(scores) for scores in chain([first], repeats)]
    rows = []
    for name in first.metrics:
        found = [of_repeat[name] for of_repeat in drawn if name in of_repeat]
        if not found:
            continue
        values = [value for value, _ in found]
        low, high = np.quantile(values, _RANGE).tolist() if len(values) >= _MIN_REPEATS else (None, None)
        mean, n, how = fmean(values), max(units for _, units in found), "simulated"
        if (known := exact.get(name)) is not None:
            mean, n, how = known["chance"], known["n"], _EXACT
        rows.append((None, name, mean, low, high, n, how))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _values(scores: Scores) -> dict[str, tuple[float, int]]:
    """Return the value of each metric that one predictor has a value of, and on how many units it rests."""
    series = ScoreSeries(scores)
    found = {}
    for name, metric in scores.metrics.items():
        if metric.statistic in STATISTICS and (value := points(series, name)[0]) is not None:
            found[name] = value, int((~np.isnan(series.values(name)[:, 0])).sum())
    return found
