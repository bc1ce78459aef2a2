"""A benchmark as other harnesses run it: they ask about one unit at a time, and each is scored by itself."""

from collections.abc import Mapping
from math import nan
from typing import Any

from attune_bench.benchmarks import benchmark_named
from attune_bench.runner.running import askable, listed_settings
from attune_bench.runner.task import RunSettings, Source, Task
from attune_bench.scores.records import score_records
from attune_bench.scores.table import ScoreTable, metrics_per_unit
from attune_data.loading import load_records
from attune_data.query import spelled_alike
from attune_data.record import Record
from attune_data.references import resolve
from attune_data.text import did_you_mean

Questions = dict[str, list[int]]
"""By task, how many questions have a prediction and how many count."""


class BenchmarkUnits:
    """The units of a benchmark that a model can be asked about, and how their results are scored.

    Parameters
    ----------
    benchmark : str
        A name in the registry, or ``module:NAME``.
    source : str
        The data, as for the benchmark's loader.

    Attributes
    ----------
    benchmark : Benchmark
        Its entry.
    task : Task
        How a model is asked.
    units : dict of str to Record
        By id.
    synthetic : bool
        Whether any unit is invented.

    Raises
    ------
    SourceError
        The source cannot be read.
    RunError
        No record of the source can be asked about.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> of = BenchmarkUnits("attunebench", "demo")
    >>> run = load_runs("demo")[0]
    >>> len(of.units), round(of.values(run.conversation_id, run)["avg_pairwise_accuracy"], 2)
    (40, 0.72)
    """

    def __init__(self, benchmark: str, source: str) -> None:
        self.benchmark = benchmark_named(benchmark)
        self.task: Task[Any, Any] = resolve(self.benchmark.task)
        loaded = load_records(source, resolve(self.benchmark.units))
        self._files: Mapping[str, str] = loaded.files
        self.units: dict[str, Any] = {unit.id: unit for unit in askable(self.task, loaded)}
        clusters = [getattr(unit, self.benchmark.cluster) for unit in self.units.values()]
        self._clusters = dict(zip(self.units, spelled_alike(clusters), strict=True))
        self.synthetic = any(unit.synthetic for unit in self.units.values())

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise a ValueError where the value of an option is not one of its values."""
        for option in self.benchmark.options:
            given = options.get(option.name)
            for value in () if given is None or not option.values else given if option.multiple else [given]:
                if value not in option.values:
                    raise ValueError(f"{option.name}: no {value!r}; {did_you_mean(str(value), option.values)}")

    def settings(self, model: str, **options: Any) -> RunSettings:
        """Return the settings of a model from options of the benchmark's task.

        Raises
        ------
        ValueError
            An option has a value that is not one of its values, or the options ask in several ways.
        """
        self.check(options)
        each = listed_settings(self.task.settings(model, **options))
        if len(each) != 1:
            raise ValueError(f"{self.benchmark.title}: these options ask in {len(each)} ways; choose one")
        settings: RunSettings = each[0]
        return settings

    def cluster(self, unit: str) -> str | None:
        """Return the cluster of a unit as scores write it: its participant or its own id; None if it has none."""
        return self._clusters[unit]

    def with_fields(self, record: Record, unit: str, settings: RunSettings, provider: str) -> Record:
        """Return a result with the record of its run; one provider served all roles."""
        source = Source(dict.fromkeys(settings.decoding, provider), self._files.get(unit))
        return record.model_copy(update=dict(self.task.fields(self.units[unit], settings, source)))

    def score(self, results: Mapping[str, Record], **options: Any) -> ScoreTable:
        """Score results by the id of their unit, with options of the benchmark's own scoring.

        Units without a result are not expected to have one.
        """
        made = list(results.values())
        if self.benchmark.data is None:
            return score_records(self.benchmark, made, None, **options)
        return score_records(self.benchmark, [self.units[unit] for unit in results], made, **options)

    def values(self, unit: str, result: Record, **options: Any) -> dict[str, float]:
        """Return the scores of one unit on the metrics of the board that have values of units, nan where undefined."""
        return self.values_and_questions(unit, result, **options)[0]

    def values_and_questions(
        self, unit: str, result: Record, **options: Any
    ) -> tuple[dict[str, float], dict[str, Questions]]:
        """Return the same as `values`, and how many questions of each of these metrics were answered.

        The questions are ``[present, expected]`` by metric and task: questions with a prediction, and questions that
        count; a metric that asks no questions has none. The ``coverage`` of `attune_bench.stats.summary.summary` is
        ``sum(present) / sum(expected)`` over units, of the task where this is lowest.
        """
        scores = self.score({unit: result}, **options)
        row = next(scores.values.iter_rows(named=True), {})
        own = [name for name in scores.headline if name in metrics_per_unit(scores)]
        values = {name: nan if row.get(name) is None else row[name] for name in own}
        return values, {
            name: {
                task: [row[f"coverage.{task}.present"], row[f"coverage.{task}.expected"]]
                for task in scores.metric(name).coverage
                if row.get(f"coverage.{task}.expected")
            }
            for name in own
        }
