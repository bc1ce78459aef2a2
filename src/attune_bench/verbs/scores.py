"""Scores with their verbs: summary, comparison, subgroups, ranks, signature, report, files."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex, overload

import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks import all_benchmarks, benchmark_in_use
from attune_bench.report.document import Format, render
from attune_bench.report.notebook import Report, framed, report_html, scores_html
from attune_bench.report.text import report_document
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.file_types import is_score_file
from attune_bench.scores.files import read_score_file
from attune_bench.scores.pair_tables import is_comparisons, read_comparisons
from attune_bench.scores.pairwise import described
from attune_bench.scores.rating_tables import RATING_NAMES
from attune_bench.scores.records import score_records
from attune_bench.scores.table import ScoreTable, metrics_per_unit
from attune_bench.scores.table_columns import COLUMNS
from attune_bench.scores.table_files import description_of, read_table, unreadable
from attune_bench.scores.tables_in import score_table
from attune_bench.scores.tables_out import long_table, write_long_table
from attune_bench.stats.comparability import allow_mixed
from attune_bench.stats.compare import compare, compare_all
from attune_bench.stats.debias import Source, debias, debias_pairs
from attune_bench.stats.labels import Labels, rated_by
from attune_bench.stats.options import AnalysisKeywords, ComparisonKeywords, Margin, SamplingKeywords
from attune_bench.stats.planning import plan
from attune_bench.stats.rank import rank, ratings
from attune_bench.stats.signing import sign
from attune_bench.stats.subgroups import by
from attune_bench.stats.summary import summary
from attune_bench.verbs.writing import write_scores
from attune_data.collection import Collection, Kind, chosen_places
from attune_data.comparisons import COMPARISON
from attune_data.export import to_pandas
from attune_data.io.documents import check_input, read_input
from attune_data.io.sources import frame_code, type_of_table
from attune_data.issues import SourceError, issues_frame
from attune_data.loading import recognise
from attune_data.query import Queryable
from attune_data.references import resolve
from attune_metrics.metric import MetricInputError

if TYPE_CHECKING:
    import pandas as pd

    from attune_bench.adapters.samples import SampleTable
    from attune_bench.report.drawing import Chart
    from attune_bench.report.transcripts import TranscriptFolder

ReportFormat = Format | Literal["html"]


class Scores(ScoreTable):
    """Scores of models on units: what `score` returns and every analysis takes.

    They are also the rows of a long table, one a model, condition, unit and metric that has a value for each unit:
    ``len`` counts them, a loop gives each as a dict by column, brackets take a position, or a slice, a list or a mask
    for a list of rows. `to_polars` gives all rows at once; so do ``polars.DataFrame(scores)``,
    ``pyarrow.table(scores)`` and whatever else reads the Arrow PyCapsule protocol. Where no metric has a value for each
    unit, there is no such table, and all of these are an error. Scores are true where `values` has a row. Two are equal
    where their content is.

    Attributes
    ----------
    values : polars.DataFrame
        A row a model, condition and unit; a column for each term.
    units : polars.DataFrame
        A row a unit: ``unit, cluster``, its traits, and what random answers to it score, ``chance.<metric>``.
    metrics : mapping of str to Metric
        The catalogue entries of the metrics.
    provenance : Provenance
        Benchmark, protocol, hashes, settings of the runs.
    detail : sequence of mapping, optional
        What the benchmark keeps of each row of `values` beyond this.
    repeats : polars.DataFrame, optional
        The values of each repeat; `values` has their means.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> scores
    <Scores of 2 models, 1 mode, 40 conversations, 76 metrics; protocol documented>
    >>> scores.summary(metrics=["composite_score"])["n"].to_list()
    [40, 40]
    >>> len(scores), scores[0]["model"], scores[0]["metric"], scores[0]["value"]
    (4400, 'synthetic/attentive', 'composite_score', 66.72)
    """

    @classmethod
    def of(cls, table: ScoreTable) -> Self:
        """Return a table of scores with its verbs."""
        return cls(**{field.name: getattr(table, field.name) for field in fields(table)})

    @classmethod
    def from_table(
        cls,
        table: pl.DataFrame | str | os.PathLike[str],
        *,
        metrics: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the scores of anybody's per-item results.

        Parameters
        ----------
        table : polars.DataFrame or path
            A frame, or a CSV, XLSX, JSONL or Parquet file, with the columns ``model, unit, metric, value`` and
            optionally ``condition``, ``cluster``, ``repeat`` and traits of units. An undefined value is empty, null or
            NA. Where models were asked several times, ``repeat`` names the time; the values are then means over
            repeats. A table with ``model`` and ``unit`` and a column of numbers for each metric, or with ``unit`` and a
            column of numbers for each model, is read as such, and a note says so. In a table of ratings, with a column
            ``rater`` or ``judge``, a rater is the condition; ``responder, item, dimension, rating`` may stand for
            ``model, unit, metric, value``; a rating outside of the metric's range is left out, and an issue.
        metrics : mapping of str to mapping, optional
            By metric: ``label, low, high, higher_is_better, scale, digits, group``, all optional. A metric that is not
            described is a mean and better when higher, which every output says. Where this is not given, the file
            ``results.toml`` beside a file ``results.csv`` says the same in tables ``[metrics.NAME]``.
        about : mapping, optional
            ``title``, ``unit``, ``cluster``, ``condition``: what they are called; ``primary``: the main metric;
            ``private``: true where clusters are people, of whom a page shows no value that rests on few; ``synthetic``:
            true where units are invented; ``traits``: columns of numbers that are neither metrics nor models. The TOML
            file has them at its top; it counts where this is not given.
        columns : mapping of str to str, optional
            Columns of another name, as in ``{"unit": "item_id", "model": "system"}``.

        Raises
        ------
        MetricInputError
            Where the table is wrong; the text names row, column and value.
        SourceError
            Where the file cannot be read, or has records or written scores; the text says what reads these.
        ImportError
            Where the file is a workbook, and the extra ``excel`` is not installed.
        TypeError
            Where the table is something else; the text says what makes a frame or scores of it.

        Examples
        --------
        >>> rows = [("a", "q1", 1.0), ("a", "q2", 0.0), ("b", "q1", 1.0), ("b", "q2", 1.0)]
        >>> frame = pl.DataFrame(rows, schema=["model", "unit", "value"], orient="row")
        >>> frame = frame.with_columns(metric=pl.lit("hit"))
        >>> Scores.from_table(frame, metrics={"hit": {"label": "Hit rate", "low": 0, "high": 1}})
        <Scores of 2 models, 2 units, 1 metric>
        """
        if not isinstance(table, pl.DataFrame):
            path = _path_of_scores(table, "the table")
            if is_score_file(path):
                raise SourceError(f"{path} is a file of scores, no table of results; Scores.read(...) reads it")
            with _or_records(path):
                return cls._of_file(path, metrics, about, columns)
        return cls.of(score_table(table, metrics=metrics, about=about, columns=columns))

    @classmethod
    def _of_file(
        cls,
        path: Path,
        metrics: Mapping[str, Any] | None,
        about: Mapping[str, Any] | None,
        columns: Mapping[str, str] | None,
    ) -> Self:
        metrics, about, columns, name = _described(path, metrics, about, columns)
        found = read_table(path, names=(*COLUMNS, *RATING_NAMES, *(columns or {}).values()))
        if is_comparisons(found, columns):
            return cls._of_comparisons(path, metrics, about, columns)
        table, first_row, assumed = found
        made = score_table(
            table, metrics=metrics, about=about, columns=columns, name=name, first_row=first_row, assumed=assumed,
            description=path.with_suffix(".toml").name,
        )  # fmt: skip
        return cls.of(made)

    @classmethod
    def _of_comparisons(
        cls,
        path: Path,
        metrics: Mapping[str, Any] | None,
        about: Mapping[str, Any] | None,
        columns: Mapping[str, str] | None,
    ) -> Self:
        comparisons, assumed = read_comparisons(path, columns=columns)
        scored = score_records(_of_kind(COMPARISON), comparisons, None)
        return cls.of(described(scored, comparisons, metrics or {}, about or {}, str(path), assumed))

    @classmethod
    def from_lm_eval(
        cls, path: str | os.PathLike[str], *, cluster: str | None = None, traits: Sequence[str] = (), **options: Any
    ) -> Self:
        """Return the scores of any tasks of lm-evaluation-harness, from the samples that it logged.

        Parameters
        ----------
        path, cluster, traits
            As for `attune_bench.adapters.samples.lm_eval_samples`: the folder of ``--output_path``, and the fields of
            documents that name clusters and traits.
        **options
            ``metrics`` and ``about``, as for `from_table`, for what the harness does not say.

        Raises
        ------
        SourceError, MetricInputError
            As that function and `from_table`.
        """
        from attune_bench.adapters.samples import lm_eval_samples

        return cls._from_samples(lm_eval_samples(path, cluster=cluster, traits=traits), **options)

    @classmethod
    def from_inspect(
        cls,
        logs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        cluster: str | None = None,
        traits: Sequence[str] = (),
        **options: Any,
    ) -> Self:
        """Return the scores of any tasks of Inspect, from its logs.

        Parameters
        ----------
        logs, cluster, traits
            As for `attune_bench.adapters.samples.inspect_samples`: a log, several, or a folder, and the keys of
            samples' metadata that name clusters and traits.
        **options
            ``metrics`` and ``about``, as for `from_table`, for what the harness does not say.

        Raises
        ------
        SourceError, MetricInputError, ImportError
            As that function and `from_table`.
        """
        from attune_bench.adapters.samples import inspect_samples

        return cls._from_samples(inspect_samples(logs, cluster=cluster, traits=traits), **options)

    @classmethod
    def _from_samples(
        cls, found: "SampleTable", metrics: Mapping[str, Any] | None = None, about: Mapping[str, Any] | None = None
    ) -> Self:
        """Return the scores of a harness's samples; of a metric, what the caller says counts first."""
        said = {name: {**found.metrics.get(name, {}), **own} for name, own in (metrics or {}).items()}
        return cls.from_table(found.frame, metrics={**found.metrics, **said}, about={**found.about, **(about or {})})

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, columns: Mapping[str, str] | None = None) -> Self:
        """Read scores: a file that `write` wrote, a benchmark's own, or a table as for `from_table`.

        Parameters
        ----------
        path : path
            The file.
        columns : mapping of str to str, optional
            For a table: columns of another name, as in ``{"unit": "item_id", "model": "system"}``.

        Raises
        ------
        SourceError
            Where the file is not there or holds no scores, or columns are named for a file that is no table.
        ImportError
            Where the file is a workbook, and the extra ``excel`` is not installed.
        TypeError
            Where this is no path.
        """
        target = _path_of_scores(path, "the path")
        is_scores = is_score_file(target)
        if not is_scores and target.suffix.lower() != ".json" and not _is_json_object(target):
            return cls.from_table(target, columns=columns)
        if columns and target.exists():
            raise SourceError(f"{path} is a file of scores, which has its columns; leave out --columns (columns=)")
        if is_scores:
            return cls._of_score_file(target)
        with _or_records(target):
            try:
                content = json.loads(read_input(target))
            except OSError as error:
                raise unreadable(target, error) from None
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{path} is not JSON: {error}") from None
            keys = content.keys() if isinstance(content, dict) else set()
            for benchmark in all_benchmarks():
                if benchmark.scores_format and benchmark.scores_format.keys <= keys:
                    return cls.of(resolve(benchmark.scores_format.read)(target))
            if isinstance(content, list) and content and isinstance(content[0], dict):
                mend = "in pandas frame.to_json('results.jsonl', orient='records', lines=True)"
                raise SourceError(f"{path} is a list of rows; write a row a line to a file .jsonl: {mend}")
            raise SourceError(f"{path} holds no scores; is it a file that `attune-bench score` wrote?")

    @classmethod
    def _of_score_file(cls, path: Path) -> Self:
        scores = cls.of(read_score_file(path))
        used = benchmark_in_use(scores.provenance.benchmark)
        if scores.detail is not None and used is not None and used.scores_format is not None:
            try:
                resolve(used.scores_format.check)(scores)
            except MetricInputError as error:
                raise SourceError(f"{path} contains damaged scores ({error}); write them again") from None
        return scores

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the scores, whole or not at all: a ``.parquet`` file, or ``.json`` where the benchmark has such a file.

        Raises
        ------
        ValueError
            Where the name ends otherwise, or the benchmark has no file of its own.
        OSError
            Where the file cannot be written.
        """
        write_scores(self, path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the value of every unit to a CSV file, and what its metrics are to a TOML file of the same name.

        A row is a model, condition, unit and metric; see `attune_bench.scores.tables_out.long_table` for the columns.
        What `from_table`, and every command that takes scores, reads back gives equal results. Left out are
        metrics of pooled counts, settings of runs, and what random answers score: `write` keeps all.

        Parameters
        ----------
        path : str or path-like
            Ending in ``.csv``. Files of that name are replaced, each whole.

        Raises
        ------
        ValueError, OSError
            Where the name ends otherwise, no metric has a value for each unit, or a file cannot be written.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from attune_bench import score
        >>> from attune_data import load, load_runs
        >>> with TemporaryDirectory() as folder:
        ...     score(load("demo"), load_runs("demo")).to_csv(Path(folder, "scores.csv"))
        ...     Scores.from_table(Path(folder, "scores.csv"))
        <Scores of 2 models, 1 mode, 40 conversations, 55 metrics>
        """
        write_long_table(self, path)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows that `to_csv` writes; see `attune_bench.scores.tables_out.long_table` for the columns.

        Raises
        ------
        MetricInputError
            Where no metric has a value for each unit, or a trait has the name of another column.

        Examples
        --------
        >>> from attune_bench import score
        >>> from attune_data import load, load_runs
        >>> score(load("demo"), load_runs("demo")).to_polars().filter(metric="composite_score")["value"].len()
        80
        """
        return long_table(self)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows of `to_polars` as a frame of pandas; see `attune_data.to_pandas` for its types.

        Raises
        ------
        MetricInputError
            As `to_polars`.
        ImportError
            Without pandas, which the extra ``pandas`` installs.
        """
        return to_pandas(self.to_polars())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows of `to_polars` as a capsule of the Arrow PyCapsule protocol, which needs no pyarrow."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        if not (names := metrics_per_unit(self)):
            return self.to_polars().height  # which says why there is none
        return len(names) * (self.values if self.repeats is None else self.repeats).height

    def __bool__(self) -> bool:
        return not self.values.is_empty()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.to_polars().iter_rows(named=True)

    @overload
    def __getitem__(self, key: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | Iterable[SupportsIndex]) -> list[dict[str, Any]]: ...
    def __getitem__(
        self, key: SupportsIndex | slice | Iterable[SupportsIndex]
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Return the row at a position, or the rows that a slice, a list of positions or a mask chooses.

        Each access makes the table anew: where many are needed, take them from `to_polars`.

        Raises
        ------
        IndexError
            Where there is no such position, or a mask has another length.
        TypeError
            Where a list has anything but whole numbers, or anything but true and false.
        """
        frame = self.to_polars()
        if isinstance(key, slice):
            return frame[key].rows(named=True)
        places = chosen_places(key, frame.height, "rows of scores")
        return frame.row(places, named=True) if isinstance(places, int) else frame[places].rows(named=True)

    @property
    def issues(self) -> pl.DataFrame:
        """What was not scored, one row each, as in a collection's issues."""
        return issues_frame(self.provenance.issues)

    def summary(self, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
        """Return every metric with its interval; see `attune_bench.stats.summary.summary`."""
        return summary(self, **options)

    def compare(self, a: str, b: str, **options: Unpack[ComparisonKeywords]) -> pl.DataFrame:
        """Compare two models on the units of both; see `attune_bench.stats.compare.compare`."""
        return compare(self, a, b, **options)

    def compare_all(self, **options: Unpack[ComparisonKeywords]) -> pl.DataFrame:
        """Compare every two models of a condition; see `attune_bench.stats.compare.compare_all`."""
        return compare_all(self, **options)

    def plan(
        self,
        *,
        difference: float | None = None,
        participants: int | None = None,
        models: Sequence[str] | None = None,
        looks: int = 1,
        **options: Unpack[AnalysisKeywords],
    ) -> pl.DataFrame:
        """Plan a comparison with these scores as the pilot; see `attune_bench.stats.planning.plan`."""
        return plan(self, difference=difference, participants=participants, models=models, looks=looks, **options)

    def by(
        self, trait: str, *, data: Queryable | None = None, compare: bool = False, **options: Unpack[AnalysisKeywords]
    ) -> pl.DataFrame:
        """Return every metric per stratum of a trait; see `attune_bench.stats.subgroups.by`."""
        return by(self, trait, data=data, compare=compare, **options)

    def rank(self, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
        """Return the rank of every model with its interval; see `attune_bench.stats.rank.rank`."""
        return rank(self, **options)

    def ratings(self, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
        """Return the Bradley-Terry strength of every model; see `attune_bench.stats.rank.ratings`."""
        return ratings(self, **options)

    def rated_by(self, people: str, *, judges: Sequence[str] = (), metric: str | None = None) -> tuple[Self, Labels]:
        """Return the scores by judges, and one rater's ratings; see `attune_bench.stats.labels.rated_by`."""
        return rated_by(self, people, judges=judges, metric=metric)

    def debias(self, labels: Source, *, metric: str | None = None, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
        """Return a judge's metric corrected by people's ratings; see `attune_bench.stats.debias.debias`."""
        return debias(self, labels, metric=metric, **options)

    def debias_pairs(
        self, labels: Source, *, metric: str | None = None, **options: Unpack[SamplingKeywords]
    ) -> pl.DataFrame:
        """Return the corrected difference of every two models; see `attune_bench.stats.debias.debias_pairs`."""
        return debias_pairs(self, labels, metric=metric, **options)

    def report(
        self,
        *,
        format: ReportFormat = "table",  # noqa: A002
        data: Collection[Any] | None = None,
        results: Sequence[Any] | None = None,
        small_cells: bool = False,
        margin: Margin | None = None,
        labels: pl.DataFrame | str | os.PathLike[str] | None = None,
        label_metric: str | None = None,
        transcripts: "bool | TranscriptFolder" = False,
        progress: Callable[[str], object] = lambda _: None,
        **options: Unpack[SamplingKeywords],
    ) -> str:
        """Return a report: a text, or a page of HTML with comparisons, figures and subgroups. A notebook displays it.

        Parameters
        ----------
        format : {"table", "markdown", "latex", "csv", "json", "html"}
            HTML is a whole page.
        data, results, small_cells, margin, labels, label_metric, transcripts
            For HTML: what was scored against, what was scored, whether to show what rests on few people, the smallest
            difference of interest of the main metric, people's ratings with the judge's metric that they are of, and
            whether to show transcripts; see `attune_bench.report.html.html_report`.
        progress : callable
            Called with the name of each phase of a page when it begins.
        **options
            ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see
            `attune_bench.stats.options.AnalysisOptions`.

        Raises
        ------
        ValueError
            Where there is no such format, an option for HTML is given for a text, or as `html_report`.

        Examples
        --------
        >>> from attune_bench import score
        >>> from attune_data import load, load_runs
        >>> print(score(load("demo"), load_runs("demo")).report(resamples=200).partition(",")[0])
        synthetic/attentive has the highest Composite
        """
        if format == "html":
            from attune_bench.report.html import html_report

            page = html_report(
                self, benchmark=benchmark_in_use(self.provenance.benchmark), data=data, results=results,
                small_cells=small_cells, margin=margin, labels=labels, label_metric=label_metric,
                transcripts=transcripts, progress=progress, **options,
            )  # fmt: skip
            return Report(page, partial(framed, page))
        if small_cells or transcripts or any(one is not None for one in (data, results, margin, labels, label_metric)):
            raise ValueError(
                "data, results, small_cells, margin, labels, label_metric and transcripts are for format='html'; "
                f"{format!r} takes none"
            )
        text = render(report_document(self, format=format, **options), format=format)
        return Report(text, partial(report_html, self, **options)) if format in ("table", "markdown") else text

    def plot(
        self,
        metric: str | None = None,
        *,
        condition: str | None = None,
        levels: Mapping[str, float] | None = None,
        **options: Unpack[SamplingKeywords],
    ) -> "Chart":
        """Draw a metric of every model with its interval; see `attune_bench.report.figures.scores`."""
        # Found here, as most uses of scores draw nothing, and figures take long to import.
        from attune_bench.report import figures

        return figures.scores(self, metric, condition=condition, levels=levels, **options)

    def _repr_html_(self) -> str:
        return self._html

    @cached_property
    def _html(self) -> str:
        return scores_html(self)

    def allow_mixed(self) -> Self:
        """Return the scores to be compared although their runs differ; see `attune_bench.stats.comparability`."""
        return allow_mixed(self)

    def sign(
        self,
        *,
        within: Iterable[str] | None = None,
        question: str | None = None,
        models: Sequence[str] | None = None,
        labels: str | None = None,
        margin: Margin | None = None,
        looks: int | Literal["any"] | None = None,
        look: int | None = None,
        exchanges: int | None = None,
        of: Literal["values", "differences", "ranks"] = "values",
        **options: Unpack[AnalysisKeywords],
    ) -> str:
        """Return the signature of an analysis; see `attune_bench.stats.signing.sign`."""
        return sign(
            self, within=within, question=question, models=models, labels=labels, margin=margin, looks=looks, look=look,
            exchanges=exchanges, of=of, **options,
        )  # fmt: skip


def _of_kind(kind: Kind[Any, Any]) -> Benchmark:
    """Return the benchmark that scores records of a kind."""
    return next(one for one in all_benchmarks() if one.results is not None and resolve(one.results) is kind)


def _described(
    path: Path,
    metrics: Mapping[str, Any] | None,
    about: Mapping[str, Any] | None,
    columns: Mapping[str, str] | None,
) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None, Mapping[str, str] | None, str]:
    """Return what is given about a table, else what the TOML file beside it says, and what errors call the table."""
    if (metrics is not None and about is not None) or not (found := description_of(path)).file:
        return metrics, about, columns, str(path)
    metrics, about = found.metrics if metrics is None else metrics, found.about if about is None else about
    return metrics, about, {**found.columns, **(columns or {})}, f"{path} (with {found.file})"


def _path_of_scores(given: object, what: str) -> Path:
    """Return the path of a file of scores; raise a TypeError that says what makes scores of anything else."""
    if isinstance(given, str | os.PathLike):
        return Path(given)
    instead = "expected a polars.DataFrame, or the path of a file"
    if isinstance(given, ScoreTable):
        instead = "these are scores already"
    elif isinstance(given, Collection):
        instead = "attune_bench.score(data, results) makes scores of records"
    elif frame := frame_code(given):
        instead = f"give Scores.from_table({frame})"
    elif isinstance(given, list | dict):
        instead = "Scores.from_table(polars.DataFrame(rows)) takes rows"
    raise TypeError(f"{what} is of type {type_of_table(given) or type(given).__name__}; {instead}")


def _is_json_object(path: Path) -> bool:
    """Tell whether a file is one JSON object, and not rows of a table, an object a line."""
    try:
        check_input(path)
        with path.open("rb") as file:
            first, only = file.readline(_FIRST_LINE).strip(), not file.read(_FIRST_LINE).strip()
        if not first.startswith(b"{"):
            return False
        json.loads(first)
    except OSError:
        return False
    except (ValueError, RecursionError):
        return True
    return only and path.suffix.lower() not in {".jsonl", ".ndjson"}


_FIRST_LINE = 100_000


@contextmanager
def _or_records(path: Path) -> Iterator[None]:
    """Say of a file that cannot be read as scores what records it has, where it has any."""
    try:
        yield
    except (SourceError, MetricInputError) as error:
        if path == Path("demo") and not path.exists():
            raise SourceError(
                "demo has records, no scores; score(load('demo'), load_runs('demo')) makes them"
            ) from None
        try:
            kind = recognise(path)
        except SourceError:
            raise error from None
        raise SourceError(
            f"{path} contains {kind.plural}, no scores; attune-bench score makes them, in Python attune_bench.score"
        ) from None
