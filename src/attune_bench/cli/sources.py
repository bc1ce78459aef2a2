"""The sources that a command names: the kind of their records, and reading the records."""

import shlex
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import click

from attune_bench.benchmarks import BENCHMARKS, all_benchmarks, benchmark_named
from attune_bench.cli.options import option, scores_argument_of, where_traits
from attune_bench.cli.output import (
    Phase,
    UserError,
    command_line,
    first_issue,
    kind_of,
    mistakes,
    progress,
    validate_command,
)
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.file_types import TABLES_ALONE, is_score_file
from attune_data.collection import Collection, Kind
from attune_data.comparisons import COMPARISON
from attune_data.io.documents import read_input
from attune_data.issues import SourceError, count_severities
from attune_data.kinds import all_kinds
from attune_data.loading import load_records, parse_object, recognise
from attune_data.text import plural

if TYPE_CHECKING:
    from attune_bench.scores.table import ScoreTable

S = TypeVar("S", bound="ScoreTable")

Side = Literal["data", "units", "results"]

table_columns_option = option(
    "--columns", "Columns of a table of comparisons that have another name: a=left,b=right.", folded=True
)

baselines_option = option(
    "--baselines", "Add the benchmark's baselines, such as random answers, to compare models with.", bool
)


def kind_of_source(source: str, name: str | None, noun: str | None = None) -> Kind[Any, Any]:
    """Return the kind of the records in a source: by noun, else by the benchmark named, else by content.

    Raises
    ------
    UserError
        Where it is a file of scores or a table of results.
    """
    if is_table_of_comparisons(source):
        return COMPARISON
    if source.lower().endswith(TABLES_ALONE) or is_score_file(source):
        raise UserError(scores_instead(source) or _reads(source, "a table"))
    if noun is not None:
        if name is not None:
            raise UserError("--kind says what the records are, so leave --benchmark out")
        return next(kind for kind in all_kinds() if kind.noun == noun)
    of = None if name is None else named_benchmark(name)
    kinds = None if of is None else [kind_of(one) for one in (of.data, of.results, of.units) if one is not None]
    try:
        return recognise(source, kinds)
    except SourceError as error:
        raise UserError(scores_instead(source) or str(error)) from None


def is_table_of_comparisons(source: str) -> bool:
    """Tell whether a source is a table of comparisons."""
    if not is_table(source):
        return False
    # Found here and below, as reading tables needs polars, and records do not.
    from attune_bench.cli.tables import has_comparisons

    return has_comparisons(source)


def is_table(source: str) -> bool:
    """Tell whether a source is a table of CSV or XLSX."""
    return source.lower().endswith(TABLES_ALONE)


def _reads(source: str, what: str) -> str:
    """Say which command reads a file in the place of records: the same one, where it takes scores."""
    ctx, command = click.get_current_context(), f"attune-bench report {shlex.quote(source)}"
    if scores_argument_of(ctx.command) is not None:
        columns = ctx.params["columns"]
        command = f"{ctx.command_path} {shlex.quote(source)}{f' --columns {shlex.quote(columns)}' if columns else ''}"
    return f"{source} is {what}, and no file of records; {command} reads it"


def scores_instead(source: str) -> str:
    """Return which command reads a file of scores or a table of results; empty where a source is neither."""
    if is_score_file(source) or _is_benchmark_file(source):
        what = "a file of scores"
    else:
        from attune_bench.cli.tables import has_results

        if not has_results(source):
            return ""
        what = "a table of results"
    return _reads(source, what)


def _is_benchmark_file(source: str) -> bool:
    """Tell whether a file is one in which a benchmark writes its scores itself."""
    try:
        keys = parse_object(read_input(source)).keys()
    except (OSError, ValueError):
        return False
    formats = [benchmark.scores_format for benchmark in all_benchmarks()]
    return any(one is not None and one.keys <= keys for one in formats)


def making(ctx: click.Context, results: str, data: str | None) -> str:
    """Say which command goes on from results: the same one where it can score them itself, else `score` first."""
    words = f"--results {results}{'' if data is None else f' --data {data}'}"
    if (scores := scores_argument_of(ctx.command)) is not None and not scores.needed:
        return f"write: {ctx.command_path} {words}"
    return f"first: attune-bench score {words}"


def records_instead(ctx: click.Context, source: str) -> str:
    """Return how a command can be given the records of a source as scores; empty where the source has none."""
    try:
        kind = recognise(source)
    except SourceError:
        return ""
    path = shlex.quote(source)
    found = f"{source} contains {kind.plural}, and no scores"
    if (benchmark := benchmark_of_kind(kind, "results")) is not None:
        return f"{found}; {making(ctx, path, None if benchmark.data is None else 'DATA')}"
    if benchmark_of_kind(kind, "data") is not None:
        return f"{found}; {making(ctx, 'RESULTS', path)}, where RESULTS are what models answered"
    return f"{found}; attune-bench describe {path} counts them"


def named_benchmark(name: str) -> Benchmark:
    """Return the benchmark of a name that the user gave."""
    with mistakes():
        return benchmark_named(name)


def benchmark_of_kind(kind: Kind[Any, Any], *sides: Side) -> Benchmark | None:
    """Return the benchmark that has records of a kind as its data, or as its results."""
    named = ((benchmark, getattr(benchmark, side)) for benchmark in all_benchmarks() for side in sides)
    return next((benchmark for benchmark, one in named if one is not None and kind_of(one) is kind), None)


def benchmark_of(name: str | None, source: str, side: Side) -> Benchmark:
    """Return the benchmark named, else the benchmark of the data or results in a source."""
    if name is not None:
        return named_benchmark(name)
    if source == "demo":
        return BENCHMARKS[0]
    kind = kind_of_source(source, None)
    if (found := benchmark_of_kind(kind, side)) is None:
        known = (getattr(benchmark, side) for benchmark in BENCHMARKS)
        expected = ", ".join(kind_of(one).plural for one in known if one is not None)
        mend = "or name a benchmark with --benchmark"
        if benchmark_of_kind(kind, "units", "results") is not None:
            ctx = click.get_current_context(silent=True)
            takes_both = ctx is not None and {"results", "data"} <= ctx.params.keys()
            swapped = "; are --results and --data swapped?" if takes_both else ""
            mend = f"and {kind.plural} are {'data' if side == 'results' else 'the results of models'}{swapped}"
        raise UserError(f"{source} contains {kind.plural}; expected {expected}, {mend}")
    return found


def load(kind: Kind[Any, Any], sources: Sequence[str], phase: Phase | None = None) -> Collection[Any]:
    """Return the records of a kind in sources, in one collection, which may be empty; `phase` begins a phase."""
    with progress() if phase is None else nullcontext(phase) as begin:
        step = begin(f"reading {kind.plural}", None)
        found: Collection[Any] = reduce(or_, (_load_source(source, kind, step) for source in sources))
    return found


def _load_source(source: str, kind: Kind[Any, Any], step: Callable[[int], object]) -> Collection[Any]:
    """Return the records of a source, which may be a table of comparisons."""
    if kind is COMPARISON and is_table_of_comparisons(source):
        from attune_bench.cli.tables import comparisons_of

        return comparisons_of(source)
    if (columns := click.get_current_context().params.get("columns")) is not None:
        from attune_bench.cli.tables import columns_of

        columns_of(columns)  # which says what is wrong with it
        raise UserError(f"--columns names the columns of a table, and {source} is none; leave --columns out")
    found: Collection[Any] = load_records(source, kind, progress=step)
    return found


def read(kind: Kind[Any, Any], sources: Sequence[str], phase: Phase | None = None) -> Collection[Any]:
    """Return the records that `load` returns, at least one."""
    found = load(kind, sources, phase)
    check_usable(kind, sources, found)
    return found


def check_kind(kind: Kind[Any, Any], sources: Sequence[str], found: Collection[Any]) -> None:
    """Raise a UserError where no record was found, and a source has records of another kind."""
    for source in () if found else sources:
        with suppress(SourceError):
            if (other := recognise(source)) is not kind:
                raise UserError(f"{source} contains {other.plural} and no {kind.noun}")


def check_usable(kind: Kind[Any, Any], sources: Sequence[str], found: Collection[Any]) -> None:
    """Raise a UserError where sources have no usable record."""
    check_kind(kind, sources, found)
    if not found:
        of_kind = benchmark_of_kind(kind, "units", "results")
        see = validate_command(sources[:1], benchmark=of_kind)
        raise UserError(f"no usable {kind.noun} in {', '.join(sources)}{first_issue(found.found)}; see: {see}")


def loaded(source: str, benchmark: str | None, name: str | None) -> tuple[Kind[Any, Any], Any]:
    """Return the kind and the records of a source; `name` is the kind if the user gave it. No record is an error."""
    kind = kind_of_source(source, benchmark, name)
    records = load(kind, [source])
    if not records:
        see = command_line("validate", [source], {"--benchmark": benchmark, "--kind": name})
        raise UserError(f"no usable {kind.noun} in {source}; see: {see}")
    return kind, records


def subgroup(kind: Kind[Any, Any], records: Collection[Any], where: tuple[str, ...]) -> Collection[Any]:
    """Return the records with the values that ``--where`` asks for. No such record is an error."""
    if not where:
        return records
    with mistakes():
        part = records.where(**where_traits(where))
    if not part:
        raise UserError(f"none of {plural(len(records), kind.noun, kind.plural)} has {part.asked}")
    return part


@dataclass(frozen=True, slots=True)
class Scored(Generic[S]):
    """Scores, and the records that they were made of.

    Attributes
    ----------
    benchmark : Benchmark
        The benchmark that the results belong to.
    scores : ScoreTable
        The scores of the results and of the baselines.
    data : Collection or None
        The data that the models answered; None if the benchmark takes no data.
    results : Collection
        The models' answers.
    baselines : sequence of record
        The baselines' answers to the same units; empty without --baselines.
    """

    benchmark: Benchmark
    scores: S
    data: Collection[Any] | None
    results: Collection[Any]
    baselines: Sequence[Any] = ()

    @property
    def made(self) -> Sequence[Any]:
        """Everything that was scored."""
        return [*self.results, *self.baselines] if self.baselines else self.results


def scored_benchmark(name: str | None, results: Sequence[str], data: str | None) -> Benchmark:
    """Return the benchmark `name`; without a name, the benchmark of the first source of results.

    If this source is demo and other data are given, return the benchmark of the data.

    Raises
    ------
    UserError
        The benchmark needs data and none are given; the benchmark takes no data and data are given; or a source is a
        file of scores.
    """
    for source in results:
        if is_score_file(source):
            raise UserError(scores_instead(source))
    of_data = data is not None and results[0] == "demo" != data
    found = benchmark_of(name, data, "data") if of_data and data else benchmark_of(name, results[0], "results")
    if found.data is None and data is not None:
        raise UserError(f"{found.title} takes no data; leave out --data")
    if found.data is not None and data is None:
        raise UserError(f"give --data: the {kind_of(found.data).plural} that the models answered")
    return found


def check_baselines(benchmark: Benchmark) -> None:
    """Raise a UserError if a benchmark has no baselines, or no function `row`, which names the unit of a result."""
    if benchmark.baselines is None:
        raise UserError(f"{benchmark.title} has no baselines; leave out --baselines")
    if benchmark.row is None:
        raise UserError(
            f"{benchmark.title} has no function row, which names the unit of a result; leave out --baselines"
        )


def check_belongs(rows: int, results: Collection[Any], sources: Sequence[str], data: str | None) -> None:
    """Raise a UserError if none of the results has a row in the scores."""
    if not rows:
        kind = results.kind
        raise UserError(
            f"none of the {plural(len(results), kind.noun, kind.plural)} in {', '.join(sources)} belongs to the data "
            f"in {data}: check that both come from the same data set"
        )


def problems_of(scored: Scored[Any], results: Sequence[str], data: str | None, *, forced: str | None) -> str:
    """Return how many errors and warnings the sources have, and the command that lists them; empty for none."""
    read = [one.found for one in (scored.data, scored.results) if one is not None]
    counts = count_severities((*scored.scores.provenance.issues, *chain.from_iterable(read)))
    if not counts["error"] and not counts["warning"]:
        return ""
    said = f"{plural(counts['error'], 'error')} and {plural(counts['warning'], 'warning')}"
    beside = (results, ()) if data is None else ([data], results)
    return f"{said} in the files; see: {validate_command(*beside, benchmark=scored.benchmark, forced=forced)}"
