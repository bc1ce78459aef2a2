"""Scores of results that are each of one record of the data: what most benchmarks of questions need of scoring."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from attune_bench.scores.table import CHANCE, REPEAT, ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_data.text import plural
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import MetricInputError

D = TypeVar("D")
R = TypeVar("R")

_NAMES = ("model", "condition", "unit", "metric", REPEAT)


def score_items(
    data: Iterable[D],
    results: Iterable[R],
    values: Callable[[D, R], Mapping[str, Sequence[float | None]]],
    *,
    row: Callable[[R], tuple[str, str | None, str]],
    cluster: str | None = None,
    traits: Sequence[str] = (),
    chance: Callable[[D], Mapping[str, float]] | None = None,
    words: Mapping[str, str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score each result by the record of the data that it is of.

    Parameters
    ----------
    data, results : iterable of record
        A record has an ``id``. A result whose record is not among `data` is not scored, which a note says.
    values : callable
        ``values(record, result)`` returns by metric of the catalogue its value in each repeat, None where it is
        undefined; a metric that the record does not have is left out.
    row : callable
        From a result to its model, its condition and the id of its record.
    cluster : str, optional
        The attribute of a record that those share which are not independent; by default each is a cluster of its own.
    traits : sequence of str
        Attributes of a record, texts or None, by which scores are asked for.
    chance : callable, optional
        From a record to what random answers to it score on average, by metric.
    words : mapping, optional
        ``unit``, ``cluster`` and ``condition``, what they are called, and ``primary``; see `Scores.from_table`.
    progress : callable, optional
        Called with the number of results in the end.

    Returns
    -------
    ScoreTable
        Where they come from is added by `attune_bench.score`.

    Raises
    ------
    MetricInputError
        Where no result is of a record of the data, or as `Scores.from_table`.
    """
    known, given = {record.id: record for record in data}, list(results)  # type: ignore[attr-defined]  # of any kind
    pairs = [(known[row(result)[2]], result) for result in given if row(result)[2] in known]
    words = words or {}
    about = {
        name: (cluster and getattr(record, cluster), *(getattr(record, trait) for trait in traits))
        for name, record in known.items()
    }
    rows = [
        (*row(result), metric, str(repeat), value, *about[row(result)[2]])
        for record, result in pairs
        for metric, found in values(record, result).items()
        for repeat, value in enumerate(found)
    ]
    unit = words.get("unit", "unit")
    if not rows:
        raise MetricInputError(f"none of {plural(len(given), 'result')} is of one of {plural(len(known), unit)}")
    schema = dict.fromkeys((*_NAMES, "value", "cluster", *traits), pl.String) | {"value": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if frame[REPEAT].n_unique() == 1:
        frame = frame.drop(REPEAT)
    metrics = {name: CATALOG[name] for name in CATALOG if name in {*frame["metric"]}}
    scores = score_table(frame, metrics=metrics, about=words)
    if chance is not None:
        expected = [chance(known[name]) for name in scores.units["unit"]]
        columns = [pl.Series(f"{CHANCE}{name}", [one.get(name) for one in expected], pl.Float64) for name in metrics]
        scores = replace(scores, units=scores.units.with_columns(columns))
    if progress:
        progress(len(given))
    left_out = plural(len(given) - len(pairs), "result")
    return scores.note(f"Left out: {left_out} of {unit}s that are not scored.") if len(pairs) < len(given) else scores
