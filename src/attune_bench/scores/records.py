"""Records as a benchmark scores them, and the records that scores were made of: both are checked."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from math import isfinite
from typing import Any, TypeVar

import polars as pl

from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.parts import CHANCE, KEYS, REPEAT
from attune_bench.scores.provenance import fingerprint, group_settings, results_fingerprint, sent_where_set, version_of
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_data.collection import Kind
from attune_data.record import is_generated
from attune_data.references import Reference, resolve
from attune_data.text import did_you_mean, plural, pluralize
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import Metric, MetricInputError

_NOT_SET = "not set"
_OF_ALL = ("data", "results", "progress")

Row = tuple[str, str | None, str]
"""Model, condition and unit."""


class ScoredRecords:
    """The records that scores were made of, checked.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    benchmark : Benchmark, optional
        The benchmark of the scores; None for scores of anybody's table.
    results : sequence of record
        The results that were scored.
    data : sequence of record, optional
        What they were scored against, of a benchmark that has data.
    use : str
        What the records are for, in messages.

    Attributes
    ----------
    benchmark : Benchmark
        The benchmark of the scores.
    results : mapping of (str, str or None, str) to record
        The result of each row of the scores: model, condition, unit.
    units : mapping of str to record
        The data by id; empty where there are none.
    made, given : Kind
        The kind of the results and of the data, the latter None where there are none.

    Raises
    ------
    MetricInputError
        The scores are means over repeats, of no benchmark, or of one that does not name the results' rows; data are
        missing or too many; these are not the records that were scored.

    Examples
    --------
    >>> from attune_bench import benchmark_named, score
    >>> from attune_data import load, load_runs
    >>> data, runs = load("demo"), load_runs("demo")
    >>> found = ScoredRecords(
    ...     score(data, runs), benchmark=benchmark_named("attunebench"), results=runs, data=data, use="samples"
    ... )
    >>> result = found.results["synthetic/hasty", "default", data[0].id]
    >>> result.em_model, found.units[result.conversation_id] is data[0]
    ('synthetic/hasty', True)
    """

    def __init__(
        self,
        table: ScoreTable,
        *,
        benchmark: Benchmark | None,
        results: Sequence[Any],
        data: Sequence[Any] | None = None,
        use: str,
    ) -> None:
        self.benchmark: Benchmark = _with_rows(benchmark, table, data, use)
        self.made: Kind[Any, Any] = resolve(self.benchmark.results)
        self.given: Kind[Any, Any] | None = resolve(self.benchmark.data)
        self.units: Mapping[str, Any] = {record.id: record for record in data or ()}
        check_records(self.benchmark, "results", results, self.benchmark.results)
        runs = table.provenance.runs
        _check_hash(self.made, runs, use, _hashes(results, self.made, version_of(runs)))
        if data is not None and self.given is not None:
            check_records(self.benchmark, "data", data, self.benchmark.data)
            _check_unique(len(data), self.units, self.given.noun)
            # Benchmarks of the library hash the units that were scored, others all data.
            scored = [self.units[unit] for unit in table.units["unit"] if unit in self.units]
            recorded = table.provenance.data
            hashes = (fingerprint(records, version=version_of(recorded)) for records in (scored, data))
            _check_hash(self.given, recorded, use, hashes)
        row = resolve(self.benchmark.row)
        self.results: Mapping[Row, Any] = {row(result): result for result in results}
        if table.repeats is not None and len(self.results) < len(results):
            raise MetricInputError(f"these scores are means over repeats, which have no {use}; score one repeat alone")
        _check_unique(len(results), self.results, self.made.noun)
        self._check_rows(table)

    def _check_rows(self, table: ScoreTable) -> None:
        """Raise a MetricInputError where a score is of no result, or of no record of the data."""
        for key in table.values.select(KEYS).iter_rows():
            if key not in self.results:
                raise MetricInputError(f"no {self.made.noun} has the row {key} of the scores")
            if self.given is not None and key[2] not in self.units:
                raise MetricInputError(f"no {self.given.noun} has the id {key[2]!r} of a unit of the scores")


def check_records(benchmark: Benchmark, side: str, records: Sequence[Any], reference: Reference) -> None:
    """Raise a MetricInputError where records are not of the kind that a benchmark takes on one side."""
    kind = resolve(reference)
    other = next((record for record in records if not isinstance(record, kind.model)), None)
    if other is not None:
        raise MetricInputError(f"the {side} have a {type(other).__name__}; {benchmark.title} takes {kind.plural}")


def _with_rows(benchmark: Benchmark | None, table: ScoreTable, data: object, use: str) -> Benchmark:
    """Return the benchmark of scores; raise a MetricInputError where it does not tell the row of a result."""
    if benchmark is None:
        raise MetricInputError(f"{table.provenance.title}: only scores of a benchmark have records to make {use} of")
    if benchmark.row is None:
        raise MetricInputError(f"{benchmark.title} does not say which result a score is of (Benchmark.row)")
    if benchmark.data is None and data is not None:
        raise MetricInputError(f"{benchmark.title} is scored from its results alone, and its {use} take no data")
    if benchmark.data is not None and data is None:
        raise MetricInputError(f"{benchmark.title} scores results against data, and its {use} need both")
    return benchmark


def _check_unique(records: int, found: Mapping[Any, Any], noun: str) -> None:
    """Raise a MetricInputError where two records are of one thing: which of them was scored cannot be told."""
    if len(found) < records:
        raise MetricInputError(f"two {pluralize(noun)} are of the same thing; give the one that was scored")


def _hashes(results: Sequence[Any], kind: Kind[Any, Any], version: int) -> Iterator[str]:
    """Yield the hashes that scores may record of results, each made when it is asked for."""
    yield results_fingerprint(results, kind, version=version)
    # Scores of version 0.2.0 and before have the hash of everything that results say.
    yield fingerprint(results, version=1)


def _check_hash(kind: Kind[Any, Any], recorded: str | None, use: str, hashes: Iterable[str]) -> None:
    """Raise a MetricInputError where the scores record another hash than the records have."""
    if recorded is None:
        raise MetricInputError(f"the scores have no hash of their {kind.plural}: {use} need scores of all units")
    if recorded not in hashes:
        raise MetricInputError(
            f"these are not the {kind.plural} that were scored, or not all of them: the scores record another hash"
        )


def score_records(
    benchmark: Benchmark,
    data: Sequence[Any],
    results: Sequence[Any] | None,
    *,
    progress: Callable[[int], object] | None = None,
    **options: Any,
) -> ScoreTable:
    """Score results of a benchmark against its data, and note in the scores where they come from.

    Parameters
    ----------
    benchmark : Benchmark
        The benchmark that scores.
    data, results : sequence of record
        As for `attune_bench.score`; of a benchmark without data, `data` has the results.
    progress, **options
        As for `attune_bench.score`.

    Raises
    ------
    MetricInputError, TypeError
        As `attune_bench.score`.
    """
    if benchmark.data is None and results is not None:
        raise MetricInputError(f"{benchmark.title} scores results alone; give only these, score(results)")
    if benchmark.data is not None and results is None:
        raise MetricInputError(f"{benchmark.title} scores results against data; give both, score(data, results)")
    sources = [data] if results is None else [data, results]
    references = (benchmark.data, benchmark.results) if results is not None else (benchmark.results,)
    if results and data and _are(data, benchmark.results) and _are(results, benchmark.data):
        first, second = (resolve(one).plural for one in references)
        found = f"the data have a {type(data[0]).__name__}; {benchmark.title} takes {first}"
        raise MetricInputError(f"{found}, then {second}: the arguments are swapped")
    for side, records, reference in zip(("data", "results")[-len(sources) :], sources, references, strict=True):
        check_records(benchmark, side, records, reference)
    scorer = resolve(benchmark.score)
    known = {option: one.kind for option, one in signature(scorer).parameters.items() if option not in _OF_ALL}
    for option in options.keys() - known if Parameter.VAR_KEYWORD not in known.values() else ():
        raise TypeError(f"{benchmark.title} has no option {option!r}; {did_you_mean(option, known)}")
    scores: ScoreTable = scorer(*sources, progress=progress, **options)
    held = scores.provenance
    if held.benchmark is not None:
        return scores
    # The scoring of a benchmark outside the library need not say this.
    about = {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "synthetic": any(is_generated(record) for records in sources for record in records),
        "data": None if benchmark.data is None else fingerprint(sources[0]),
        "runs": results_fingerprint(sources[-1], resolve(benchmark.results)),
    }
    if benchmark.comparability_keys:
        row = resolve(benchmark.row)
        settings = ((*row(result)[:2], _recorded(result, benchmark.comparability_keys)) for result in sources[-1])
        about |= {"settings": group_settings(settings), "comparability_keys": dict(benchmark.comparability_keys)}
    return replace(scores, provenance=held.model_copy(update=about))


def _are(records: Sequence[Any], reference: Reference) -> bool:
    return isinstance(records[0], resolve(reference).model)


def _recorded(result: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return settings as a result records them: None for one that it does not record, a text for one that is null."""
    given = {name: getattr(result, name) for name in result.model_fields_set} | (result.model_extra or {})
    return {name: _setting(given[name]) if name in given else None for name in names} | sent_where_set(given)


def _setting(value: Any) -> str | float:
    """Return a setting as it is compared: a value that is neither text nor number becomes JSON."""
    if value is None:
        return _NOT_SET
    is_plain = isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
    plain: str | float = value if is_plain else json.dumps(value, sort_keys=True)
    return plain


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
    return (
        scores.note(f"Left out: {left_out} of {pluralize(unit)} that are not scored.")
        if len(pairs) < len(given)
        else scores
    )


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
