"""The records that scores were made of, checked: by kind, by hash, by row."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.fingerprint import fingerprint, results_fingerprint
from attune_bench.scores.table import KEYS, ScoreTable
from attune_data.collection import Kind
from attune_data.references import Reference, resolve
from attune_metrics.metric import MetricInputError

__all__ = ["Row", "ScoredRecords", "check_records"]

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
        Whose scores these are.
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
        self.benchmark = _with_rows(benchmark, table, data, use)
        self.made: Kind[Any, Any] = resolve(self.benchmark.results)
        self.given: Kind[Any, Any] | None = resolve(self.benchmark.data)
        self.units: Mapping[str, Any] = {record.id: record for record in data or ()}
        check_records(self.benchmark, "results", results, self.benchmark.results)
        # Scores of version 0.2.0 and before have the hash of everything that results say.
        hashes = results_fingerprint(results, self.made), fingerprint(results)
        _check_hash(self.made, table.provenance.runs, use, hashes)
        if data is not None and self.given is not None:
            check_records(self.benchmark, "data", data, self.benchmark.data)
            _check_unique(len(data), self.units, self.given.noun)
            # Benchmarks of the library hash the units that were scored, others all data.
            scored = [self.units[unit] for unit in table.units["unit"] if unit in self.units]
            _check_hash(self.given, table.provenance.data, use, map(fingerprint, (scored, data)))
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
        raise MetricInputError(f"two {noun}s are of the same thing; give the one that was scored")


def _check_hash(kind: Kind[Any, Any], recorded: str | None, use: str, hashes: Iterable[str]) -> None:
    """Raise a MetricInputError where the hash that scores record is none of those of the records."""
    if recorded is None:
        raise MetricInputError(f"the scores have no hash of their {kind.plural}: {use} need scores of all units")
    if recorded not in hashes:
        raise MetricInputError(
            f"these are not the {kind.plural} that were scored, or not all of them: the scores record another hash"
        )
