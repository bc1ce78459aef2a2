"""The commands that hand scores on: `export`, `leaderboard` and `lm-eval-path`."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import click
import polars as pl

from attune_bench.adapters.eee import Publisher, Relationship, Samples, eee_records
from attune_bench.adapters.exports import check_proposable, flat_tables, hub_results, push_hub_results
from attune_bench.adapters.r_tables import table_files
from attune_bench.cli.analysis_options import kind_option, metric_option, sampling_options
from attune_bench.cli.help import VerbGroup
from attune_bench.cli.options import (
    FILE,
    NamedPath,
    columns_option,
    data_option,
    many,
    option,
    output_option,
    own_benchmark_option,
    results_option,
    verb,
    was_given,
    where_option,
)
from attune_bench.cli.output import UserError, emit, kind_of, mistakes, progress, say, warnings_on_stderr, writing
from attune_bench.cli.scores import benchmark_of_scores, read_scores, records_of, sampling_of, traits_of
from attune_bench.cli.sources import loaded, subgroup
from attune_bench.leaderboard.boards import Entry, check_entry, leaderboard_content, make_boards
from attune_bench.leaderboard.page import leaderboard_page
from attune_bench.report.privacy import hides
from attune_bench.scores.file_types import TABLES_ALONE, is_score_file
from attune_bench.scores.tables_out import description_toml
from attune_bench.verbs.scores import Scores
from attune_data.collection import Collection
from attune_data.export import parquet_bytes, to_csv
from attune_data.io.documents import whole_folder
from attune_data.issues import SourceError
from attune_data.loading import recognise
from attune_data.text import listed, plural, pluralize

_FORMATS = {
    **dict.fromkeys(("organization", "relationship", "samples", "licence"), ("eee",)),
    "dataset": ("eee", "hub"),
    "push": ("hub",),
}
"""The formats of options that are not for every format."""


@verb("export scores.json --format csv -o tables", "export demo --format csv -o data", variants=True)
@click.argument("source", required=False)
@option("--scores", "The same as SOURCE, for scores.", NamedPath(), folded=True)
@columns_option
@own_benchmark_option
@option(
    "--format",
    "Tables, or of scores Every Eval Ever or results of model pages on the Hub.",
    ("eee", "hub", "csv", "parquet"),
    required=True,
)
@output_option("A new folder.", required=True)
@where_option
@kind_option
@metric_option
@many("--by", "A trait; its strata are exported too.")
@data_option("What was scored against, for traits and samples")
@option("--small-cells", "Export values of fewer than 5 people, and units of people, too.", bool)
@option("--organization", "For eee: who publishes the scores.")
@option("--relationship", "For eee: to the models' makers.", get_args(Relationship), folded=True)
@option("--dataset", "For eee and hub: the data set on the Hub, owner/name.")
@results_option("For eee: the results that were scored; their texts are written too", name="--samples", folded=True)
@option("--licence", "For --samples: what they are published under, for instance cc-by-4.0.", folded=True)
@option(
    "--push",
    "For hub: propose them to the models' repositories, as pull requests; refused for synthetic data.",
    bool,
    folded=True,
)
@sampling_options()
@click.pass_context
def export(
    ctx: click.Context,
    /,
    source: str | None,
    scores: str | None,
    format: str,  # noqa: A002
    output: Path,
    where: tuple[str, ...],
    kind: str | None,
    metric: tuple[str, ...],
    by: tuple[str, ...],
    data: str | None,
    small_cells: bool,
    organization: str | None,
    relationship: Relationship | None,
    dataset: str | None,
    samples: tuple[str, ...],
    licence: str | None,
    push: bool,
    **given: Any,
) -> None:
    """Write the tables of records, or scores in another format; the content of SOURCE says which of both it is.

    Records (a folder, a file, an archive, hf://owner/name, or demo): every table as CSV or Parquet, with a codebook of
    the columns. In CSV, missing is NA, each diagnosis is a column of TRUE and FALSE, and read.R reads all into R.

    Scores: eee: a record of Every Eval Ever for each model, with intervals, subgroups, protocol and signature. hub:
    for each model the file .eval_results/BENCHMARK.yaml of its repository. csv and parquet: the summary, subgroups, the
    score of every unit, which other commands read, and what the metrics are. Values that rest on fewer than 5 people
    are left out, and so are values of single units of people. All formats say where data are synthetic. --samples
    RESULTS adds to the records of eee a line for each metric and unit, with whole conversations and annotations.
    """
    chosen = _one_source(source, scores)
    if source is not None and _has_records(chosen):
        _export_records(ctx, chosen, output, format, where, kind)
        return
    for name in (name for name in ctx.params if was_given(ctx, name)):
        if name in ("where", "kind"):
            raise UserError(
                f"--{name} is for records, and {chosen} has none; attune-bench subset takes parts of scores"
            )
        if format not in (formats := _FORMATS.get(name, (format,))):
            raise UserError(f"--{name} is for --format {' or '.join(formats)}; leave it out")
    if by and format == "hub":
        raise UserError("pages of models have no subgroups; leave out --by")
    read = read_scores(Path(chosen), given)
    options = {**sampling_of(given), **({"metrics": list(metric)} if metric else {})}
    truth, texts = _samples(read, samples, data, licence, small_cells=small_cells)
    traits: dict[str, Any] = {"by": by, "data": (traits_of(read, data) if truth is None else truth) if by else None}
    written: dict[str, bytes] = {}
    records: dict[str, dict[str, Any]] = {}
    found: dict[str, str] = {}
    with mistakes(), warnings_on_stderr():
        if format == "eee":
            if organization is None:
                raise UserError("--format eee needs --organization: who publishes the scores")
            publisher = Publisher(
                organization=organization, relationship=relationship or "third_party", dataset=dataset or "",
                retrieved=int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()),
            )  # fmt: skip
            records = eee_records(read, publisher, **traits, small_cells=small_cells, **options)
        elif format == "hub":
            if dataset is None:
                raise UserError("--format hub needs --dataset: the data set on the Hub, owner/name")
            found = hub_results(read, dataset=dataset, small_cells=small_cells, **options)
            if push:
                check_proposable(found)
            written = {path: text.encode() for path, text in found.items()}
        else:
            written = _table_files(read, flat_tables(read, **traits, small_cells=small_cells, **options), format)
    with writing(output, "--output"), whole_folder(output) as folder:
        if texts is not None:
            records = texts.write(records, folder)
        written |= {path: json.dumps(record, indent=2).encode() + b"\n" for path, record in records.items()}
        for path, content in written.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    with_samples = sum("detailed_evaluation_results" in record for record in records.values())
    emit(f"{output}: {plural(len(written) + with_samples, 'file')}")
    if format in ("csv", "parquet") and hides(read, small_cells=small_cells):
        say(
            f"No table of {pluralize(read.provenance.unit)}: it shows single {pluralize(read.provenance.unit)} of "
            "people (--small-cells)"
        )
    if push:
        with mistakes():
            for address in push_hub_results(found):
                emit(address)


def _one_source(source: str | None, scores: str | None) -> str:
    """Return the source that is named as an argument or by ``--scores``."""
    if source is not None and scores is not None:
        raise UserError(f"two sources are given: {source} and --scores {scores}; leave one out")
    if (found := source or scores) is None:
        raise UserError(
            "SOURCE is missing: records, such as demo, or a file of scores; see: attune-bench export --help"
        )
    return found


def _has_records(source: str) -> bool:
    """Tell whether a source has records rather than scores; of a source that does not exist, say so."""
    if source.lower().endswith(TABLES_ALONE) or is_score_file(source):
        return False
    try:
        recognise(source)
    except SourceError:
        if not Path(source).exists():
            raise
        return False
    return True


_OF_RECORDS = ("source", "format", "output", "where", "kind", "benchmark")


def _export_records(
    ctx: click.Context, source: str, output: Path, ending: str, where: tuple[str, ...], kind: str | None
) -> None:
    """Write the tables of records, a codebook and for CSV a script of R."""
    of, records = loaded(source, ctx.params["benchmark"], kind)
    for name in ctx.params:
        if name not in _OF_RECORDS and was_given(ctx, name):
            raise UserError(f"--{name.replace('_', '-')} is for scores, and {source} has {of.plural}; leave it out")
    if ending not in ("csv", "parquet"):
        raise UserError(f"--format {ending} is for scores; {of.plural} are exported as csv or parquet")
    part = subgroup(of, records, where)
    files = table_files(part, "csv" if ending == "csv" else "parquet")
    with writing(output, "--output"), whole_folder(output) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    chosen = f" of {len(records)}" if where else ""
    say(f"{output}: {plural(len(part), of.noun, of.plural)}{chosen} in {plural(len(files), 'file')}")
    if ending == "csv":
        say(f'In R: source("{output / "read.R"}", chdir = TRUE)')


def _table_files(scores: Scores, tables: Mapping[str, pl.DataFrame], suffix: str) -> dict[str, bytes]:
    """Return the files of flat tables, and of what describes the table of units where there is one."""
    metadata = {"synthetic": "true"} if scores.provenance.synthetic else None
    found = {
        f"{name}.{suffix}": to_csv(frame).encode() if suffix == "csv" else parquet_bytes(frame, metadata=metadata)
        for name, frame in tables.items()
    }
    if "scores" in tables:
        found["scores.toml"] = description_toml(scores, tables["scores"]).encode()
    return found


def _samples(
    scores: Scores, results: tuple[str, ...], data: str | None, licence: str | None, *, small_cells: bool
) -> tuple[Collection[Any] | None, Samples | None]:
    """Return the data that scores are of, and what samples are made of, where these are asked for."""
    if not results:
        if licence is not None:
            raise UserError("--licence is for --samples; leave it out")
        return None, None
    if licence is None:
        raise UserError("--samples needs --licence: what the samples are published under")
    benchmark = benchmark_of_scores(scores)
    if benchmark is None:
        raise UserError("scores of a table have no records to make samples of; leave out --samples")
    if benchmark.data is not None and data is None:
        raise UserError(f"which {kind_of(benchmark.data).plural} were scored? --samples needs them too: --data")
    truth = None if data is None else records_of(scores, "data", data)
    made = records_of(scores, "results", *results)
    with mistakes():
        return truth, Samples(scores, results=made, data=truth, licence=licence, small_cells=small_cells)


@verb("lm-eval-path")
def lm_eval_path() -> None:
    """Print the folder of tasks for lm-evaluation-harness.

    For instance: lm_eval --include_path "$(attune-bench lm-eval-path)" --tasks attunebench ...
    """
    emit(str(files("attune_bench.adapters") / "lm_eval_tasks"))


class _WithDefault(VerbGroup):
    """A group in which what names no command of its own is arguments of `build`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names, "--help-all"}:
            args = ["build", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_WithDefault, examples=("leaderboard scores.json -o site",))
def leaderboard() -> None:
    """Make a leaderboard of files of scores; check entries before they are submitted.

    leaderboard ENTRY... -o SITE, short for leaderboard build, writes SITE/index.html and SITE/board.json. An ENTRY is a
    file of scores, or a TOML file that describes one.
    """


_entries = click.argument("entries", metavar="ENTRY", nargs=-1, required=True, type=FILE)


@verb("leaderboard build scores.json -o board")
@_entries
@output_option("A new folder.", required=True)
@option("--small-cells", "Show values of fewer than 5 people, too.", bool)
@sampling_options()
def build(entries: tuple[Path, ...], output: Path, small_cells: bool, **given: Any) -> None:
    """Write the site of a leaderboard.

    The site is a page for any browser, and board.json with every number.

    An ENTRY is a file of scores, or a TOML file that describes one. Models are in tiers by the main
    metric. Those that may not be compared are on boards of their own. Values that rest on fewer than 5 people are left
    out.
    """
    with writing(output, "--output"), whole_folder(output) as folder:
        boards = make_boards(_read(entries, small_cells=small_cells), small_cells=small_cells)
        if not any(board.table.groups for board in boards):
            raise UserError(f"no model can be ranked: {listed([why for one in boards for why in one.left_out], 3)}")
        with mistakes():
            content = leaderboard_content(boards, small_cells=small_cells, **sampling_of(given))
        page, numbers = leaderboard_page(content), json.dumps(content, separators=(",", ":"))
        (folder / "index.html").write_bytes(page.encode())
        (folder / "board.json").write_bytes(f"{numbers}\n".encode())
    rows = sum(len(board.table.groups) for board in boards)
    emit(f"{output / 'index.html'}: {plural(rows, 'row')} on {plural(len(boards), 'board')}, opens in any browser")


def _read(paths: Sequence[Path], *, small_cells: bool) -> list[Entry]:
    """Return the entries of files; raise where anything is wrong with one."""
    read: list[Entry] = []
    wrong: list[str] = []
    with progress() as phase:
        step = phase("reading entries", len(paths))
        for place, path in enumerate(paths, start=1):
            # Models of a table that were run on few people are left out; an entry is of one model, and would be empty.
            entry, found = check_entry(path, small_cells=small_cells or path.suffix.lower() != ".toml")
            read += [] if entry is None else [entry]
            wrong += found
            step(place)
    if wrong:
        others = f"; and {plural(len(wrong) - 1, 'other mistake')}: see attune-bench leaderboard check"
        raise UserError(f"{wrong[0]}{others if len(wrong) > 1 else ''}")
    return read


@verb("leaderboard check scores.json")
@_entries
def check(entries: tuple[Path, ...]) -> int:
    """List all that is wrong with entries, a line each.

    An ENTRY is a TOML file beside its scores, or a file of scores. Exits with 1 where anything is wrong.
    """
    wrong = 0
    for path in entries:
        entry, found = check_entry(path)
        wrong += len(found)
        for mistake in found:
            emit(mistake)
        if entry is not None and not found:
            held = entry.table.provenance
            size = f"{plural(len(entry.table.models), 'model')}, {plural(entry.table.units.height, held.unit)}"
            emit(f"{path}: nothing wrong; {held.title}, {size}")
    return int(wrong > 0)


leaderboard.add_command(build)
leaderboard.add_command(check)
