"""Scores of results that each answer one record of the data, as most benchmarks of questions have them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from attune_bench.scores.table import CHANCE, REPEAT, ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_data.text import plural
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import Metric, MetricInputError

D = TypeVar("D")
R = TypeVar("R")

_NAMES = ("model", "condition", "unit", "metric", REPEAT)


def score_items(
    data: Iterable[D],
    results: Iterable[R],
    values: Callable[[D, R], Mapping[str, Sequence[float | None]]],
    *,
    row: Callable[[R], tuple[str, str | None, str]],
    metrics: Iterable[Metric] = (),
    cluster: str | None = None,
    traits: Sequence[str] = (),
    chance: Callable[[D], Mapping[str, float]] | None = None,
    words: Mapping[str, str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score each result by the record of the data that it answers.

    Parameters
    ----------
    data, results : iterable of record
        A record has an ``id``. A result whose record is not among `data` is not scored; a note counts such results.
        Where a result has a ``repeat``, it is the result of this repeat.
    values : callable
        ``values(record, result)`` returns a mapping from the name of each metric to a list of values: one value, or
        several if the result has answers of several repeats. An undefined value is None; a metric that the record does
        not have is left out.
    row : callable
        From a result to its model, its condition and the id of its record.
    metrics : iterable of Metric, optional
        The metrics with label, range and direction. A metric that is not among them is looked up in
        `attune_metrics.catalog.CATALOG`; any other is a mean, and higher is better.
    cluster : str, optional
        The attribute of a record that is equal in records that are not independent; by default each record is a
        cluster of its own.
    traits : sequence of str
        Attributes of a record, texts or None, by which scores are asked for.
    chance : callable, optional
        From a record to the expected value of random answers, by metric.
    words : mapping, optional
        The words for ``unit``, ``cluster`` and ``condition``, and the ``primary`` metric; see `Scores.from_table`.
    progress : callable, optional
        Called with the number of results in the end.

    Returns
    -------
    ScoreTable
        The scores; `attune_bench.score` adds where they come from.

    Raises
    ------
    MetricInputError
        If no result answers a record of the data, if two results of a model answer one record in one repeat, or if a
        value is out of the range of its metric.
    """
    of_id, given = {record.id: record for record in data}, list(results)  # type: ignore[attr-defined]  # of any kind
    pairs = [(of_id[row(result)[2]], result) for result in given if row(result)[2] in of_id]
    words = words or {}
    about = {
        name: (cluster and getattr(record, cluster), *(getattr(record, trait) for trait in traits))
        for name, record in of_id.items()
    }
    rows = [
        (*row(result), metric, repeat, value, *about[row(result)[2]])
        for record, result in pairs
        for metric, repeat, value in _values_by_repeat(result, values(record, result))
    ]
    unit = words.get("unit", "unit")
    if not rows:
        raise MetricInputError(f"none of {plural(len(given), 'result')} is of one of {plural(len(of_id), unit)}")
    schema = dict.fromkeys((*_NAMES, "value", "cluster", *traits), pl.String) | {"value": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if frame[REPEAT].n_unique() == 1:
        frame = frame.drop(REPEAT)
    found = {*frame["metric"]}
    known = {**CATALOG} | {metric.name: metric for metric in metrics}
    entries = {name: metric for name, metric in known.items() if name in found}
    scores = score_table(frame, metrics=entries, about=words)
    if chance is not None:
        expected = [chance(of_id[name]) for name in scores.units["unit"]]
        columns = [
            pl.Series(f"{CHANCE}{name}", [one.get(name) for one in expected], pl.Float64) for name in scores.metrics
        ]
        scores = replace(scores, units=scores.units.with_columns(columns))
    if progress:
        progress(len(given))
    left_out = plural(len(given) - len(pairs), "result")
    return scores.note(f"Left out: {left_out} of {unit}s that are not scored.") if len(pairs) < len(given) else scores


def _values_by_repeat(
    result: object, found: Mapping[str, Sequence[float | None]]
) -> Iterator[tuple[str, str, float | None]]:
    """Yield metric, name of the repeat and value: the result may name its repeat, or have values of several."""
    own = getattr(result, "repeat", None)
    has_several = any(len(of_metric) > 1 for of_metric in found.values())
    for metric, of_metric in found.items():
        for place, value in enumerate(of_metric):
            repeat = place if own is None else f"{own}.{place}" if has_several else own
            yield metric, str(repeat), value
