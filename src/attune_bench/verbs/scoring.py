"""Scoring results against data, and chance: what answering at random scores on given data.

Chance depends on the data: on how often a comparison has no winner, how many options a question has, how far moods
moved.
"""

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from attune_bench.benchmarks import all_benchmarks, benchmark_named
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.columns import build_frame
from attune_bench.scores.records import check_records, score_records
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import ScoreSeries, points
from attune_bench.stats.summary import RANDOM_ANSWERS, chance_of_units
from attune_bench.verbs.scores import Scores
from attune_data.io.sources import frame_code, is_dataset, type_of_table
from attune_data.record import Record
from attune_data.references import resolve
from attune_data.tables import Frames
from attune_data.text import did_you_mean
from attune_metrics.metric import MetricInputError, check_whole
from attune_metrics.stats.bootstrap import STATISTICS


def score(
    data: Iterable[Any],
    results: Iterable[Any] | None = None,
    *,
    benchmark: str | Benchmark | None = None,
    progress: Callable[[int], object] | None = None,
    **options: Any,
) -> Scores:
    """Score results of models against the data they are of.

    Parameters
    ----------
    data : iterable of record
        The reference: conversations, scenarios. For a benchmark without reference data, the results.
    results : iterable of record, optional
        What models made of it: runs, episodes.
    benchmark : str or Benchmark, optional
        The benchmark: a name in the registry, ``module:NAME`` of a benchmark outside the library, or its entry; by
        default the one that the records belong to.
    progress : callable, optional
        Called with the number of results scored so far, after some at a time.
    **options
        What the benchmark's own scoring takes, such as ``protocol``.

    Returns
    -------
    Scores
        Every metric of every model and unit; ``.issues`` has what was not scored.

    Raises
    ------
    MetricInputError
        Where the records are of no benchmark, of two, or of the wrong side, or a side is missing or too many; where
        something else than records is given, with what makes records or scores of it.
    ValueError
        Where there is no benchmark of that name, or its scoring refuses the results.
    TypeError
        Where its scoring has no such option.

    Notes
    -----
    It can be called from several threads. Processes of your own are to be started with ``spawn`` or ``forkserver``:
    with ``fork`` one can wait forever (docs/scale.md).

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"), protocol="documented")
    >>> scores.units.height, scores.models
    (40, ('synthetic/attentive', 'synthetic/hasty'))
    """
    given = _records(data, "data")
    made = None if results is None else _records(results, "results")
    chosen = benchmark_chosen(benchmark, given, made)
    if isinstance(benchmark, str):
        chosen = replace(chosen, name=benchmark)  # Scores record the import path of a benchmark outside the library.
    return Scores.of(score_records(chosen, given, made, progress=progress, **options))


def _records(given: Any, side: str) -> Sequence[Any]:
    """Return records as a sequence; raise a MetricInputError where they are something else."""
    what, instead = "", ""
    if isinstance(given, str | os.PathLike):
        what, instead = f"the text {str(given)!r:.80}", "; load, load_runs and load_records of attune_data load them"
    elif typed := type_of_table(given):
        frame = frame_code(given)
        takes = f"({frame}) a table of results" if frame else " a polars.DataFrame with columns of models and units"
        what, instead = f"a {typed}", f", Scores.from_table{takes}"
    elif is_dataset(given):
        what, instead = f"a datasets.{type(given).__name__}", "; attune_data.load_records makes records of a Dataset"
    elif isinstance(given, ScoreTable):
        what, instead = "scores", ", of which scores are made"
    elif isinstance(given, Frames):
        what, instead = "tables", "; give the collection that has these tables"
    elif isinstance(given, Record | Mapping):
        what, instead = f"one {type(given).__name__}", "; give a list of them"
    elif not isinstance(given, Iterable) or isinstance(given, bytes | io.IOBase):
        what = f"of type {type(given).__name__}"
    if what:
        raise MetricInputError(f"the {side} are {what}; score takes records{instead}")
    return given if isinstance(given, Sequence) else list(given)


def benchmark_chosen(
    benchmark: str | Benchmark | None, data: Sequence[Any], results: Sequence[Any] | None = None
) -> Benchmark:
    """Return the benchmark that was named, else the one that records belong to.

    Raises
    ------
    MetricInputError
        As `benchmark_of`.
    ValueError
        Where there is no benchmark of that name.
    """
    if benchmark is None:
        return benchmark_of(data, results)
    if not isinstance(benchmark, str | Benchmark):
        raise TypeError(f"the benchmark is of type {type(benchmark).__name__}; expected its name, or a Benchmark")
    return benchmark if isinstance(benchmark, Benchmark) else benchmark_named(benchmark)


def benchmark_of(data: Sequence[Any], results: Sequence[Any] | None) -> Benchmark:
    """Return the benchmark that records belong to.

    Raises
    ------
    MetricInputError
        Where they are of no benchmark, or of two.
    """
    found = None
    for records in (data, results):
        if records is None or not len(records):
            continue
        own = next((benchmark for benchmark in all_benchmarks() if _has(benchmark, records[0])), None)
        if own is None:
            kind = type(records[0]).__name__
            hint = "load them with attune_data" if isinstance(records[0], dict) else "name one with benchmark=..."
            raise MetricInputError(f"{kind} is a record of no benchmark; {hint}")
        if found is not None and own is not found:
            raise MetricInputError(
                f"the data are of {found.title}, the results of {own.title}; score each with its own"
            )
        found = own
    if found is None:
        raise MetricInputError("nothing to score: neither data nor results")
    return found


def _has(benchmark: Benchmark, record: object) -> bool:
    kinds = [resolve(reference) for reference in (benchmark.units, benchmark.results) if reference is not None]
    return any(isinstance(record, kind.model) for kind in kinds)


_BASELINE = "chance"
_RANGE = (0.025, 0.975)
# The tails of 95% need at least one repeat each.
_MIN_REPEATS = 40
_EXACT = "exact"


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
        Scores give the metrics with a known expected value, on the units scored, by condition. Data, such as
        conversations, tell every metric: the others are simulated.
    seed : int
        Of the simulation.
    repeats : int
        How often the benchmark's random baseline answers all of the data; at least 1. Of scores nothing is simulated.
    benchmark : str or Benchmark, optional
        The benchmark of the data; by default the one that the records belong to.
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
    >>> found.filter(metric="avg_response_similarity").select("n", "how").rows()
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
            raise MetricInputError(f"no option {name!r}; {did_you_mean(name, known)}")


def _of_scores(table: ScoreTable) -> pl.DataFrame:
    """Return the expected values that scores have."""
    found = chance_of_units(table)
    if found.is_empty():
        raise MetricInputError(
            "these scores do not say what random answers score; give the data instead: chance(data), as in "
            'chance(load("..."))'
        )
    ends = (pl.lit(None, pl.Float64).alias(end) for end in ("low", "high"))
    return found.with_columns(*ends, how=pl.lit(_EXACT)).select(*RANDOM_ANSWERS)


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
    return build_frame(RANDOM_ANSWERS, rows)


def _values(scores: Scores) -> dict[str, tuple[float, int]]:
    """Return the value of each metric that one predictor has a value of, and on how many units it rests."""
    series = ScoreSeries(scores)
    found = {}
    for name, metric in scores.metrics.items():
        if metric.statistic in STATISTICS and (value := points(series, name)[0]) is not None:
            found[name] = value, int((~np.isnan(series.values(name)[:, 0])).sum())
    return found
