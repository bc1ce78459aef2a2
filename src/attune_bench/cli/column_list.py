"""Every column of every table and frame of the library, and the commands that print them: `columns` and `schema`.

`attune_data` declares the columns of records; statistics and analyses declare the columns of their frames.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from textwrap import fill
from typing import Any, NamedTuple

import click
import polars as pl

from attune_bench.analyses import ANALYSES
from attune_bench.benchmarks import BENCHMARKS
from attune_bench.cli.analysis_options import format_option
from attune_bench.cli.options import option, verb, was_given
from attune_bench.cli.output import UserError, emit, mistakes
from attune_bench.scores.columns import Columns, Frame, FrameColumn, share, text, true_false, whole
from attune_bench.scores.columns import columns as frame_columns
from attune_bench.stats.compare import COMPARISONS, LOOK, SAME
from attune_bench.stats.consensus import CONFUSION, CONSENSUS, JUDGE_ERRORS, SHARED_ERRORS, UNIT_LEVELS
from attune_bench.stats.debias import JUDGED_MODELS, JUDGED_PAIRS
from attune_bench.stats.judges import JUDGES, RATER_PAIRS
from attune_bench.stats.label_planning import PANELS, RATINGS_NEEDED
from attune_bench.stats.planning import EXPECTED, PLAN
from attune_bench.stats.rank import RANKS
from attune_bench.stats.subgroups import COMPARED, SUBGROUPS
from attune_bench.stats.summary import DISTRIBUTION, EXPECTED_CHANCE, RANDOM_ANSWERS, SUMMARY
from attune_data.collection import Kind
from attune_data.columns import RECORDS_TABLE, Column, type_words
from attune_data.export import to_csv
from attune_data.kinds import KINDS
from attune_data.publishing import SCHEMA_KINDS, TABLE_SCHEMA_KINDS, json_schema, table_schema
from attune_data.references import resolve
from attune_data.tables import Frames
from attune_data.text import did_you_mean, range_text
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import Metric

_WIDTH = 100


class ListedColumn(NamedTuple):
    """A column as a reader looks it up; `missing` is None where nothing says it."""

    column: str
    meaning: str
    type: str
    low: float | None
    high: float | None
    missing: bool | None
    source: str

    @property
    def range(self) -> str:
        """The range in words; empty where there is none."""
        return range_text(self.low, self.high)


class ListedTable(NamedTuple):
    """A table or a frame: its chapter, its name, how to get it, what a row is, its columns in order."""

    chapter: str
    name: str
    origin: str
    row: str
    columns: Sequence[ListedColumn]


def listed_tables(name: str | None = None) -> list[ListedTable]:
    """Return the tables and frames of a name, in the order of the page of columns.

    Parameters
    ----------
    name : str, optional
        A kind of record, such as ``conversation``; a table, such as ``mood_tags``; a command, such as ``compare``; an
        analysis, such as ``win_rates``. Or a column or metric, such as ``p_holm``: the tables that have it, with this
        column alone. By default all.

    Raises
    ------
    ValueError
        Where there is none of this name; the text has the nearest.

    Examples
    --------
    >>> [table.origin for table in listed_tables("mood_tags")]
    ['`conversations.tables.mood_tags`', '`runs.joined(...).mood_tags`']
    >>> listed_tables("mood_tags")[0].columns[3].range
    '1 to 7'
    """
    known = [(table, [table.name, *names]) for table, names in _all()]
    if name is None:
        return [table for table, _ in known]
    if found := [table for table, names in known if name in names]:
        return found
    parts = [
        table._replace(columns=[column]) for table, _ in known for column in table.columns if column.column == name
    ]
    if not parts:
        names = list(dict.fromkeys(one for _, own in known for one in own))
        every = [*names, *dict.fromkeys(column.column for table, _ in known for column in table.columns)]
        hint = did_you_mean(name, every if get_close_matches(name, every, n=1) else names)
        raise ValueError(f"no table or column {name!r:.60}; {hint}")
    return parts


_SIGNED = frame_columns("signature")
FRAMES: Mapping[str, Frame] = {
    "summary": Frame(
        "`report --format csv`, `export` (`summary`), `scores.summary()`",
        "a model, condition and metric",
        SUMMARY | _SIGNED,
    ),
    "scores": Frame(
        "`export` (`scores`), `scores.to_csv()`, `scores.to_pandas()`; traits of units are further columns",
        "a model, condition, unit and metric; with `repeat`, a repeat of these",
        frame_columns(
            "model condition unit cluster repeat metric value",
            repeat=text("Which time, where models were asked several times."),
            value="The value of this unit, in the unit of the metric; empty where it is not defined.",
        ),
    ),
    "subgroups": Frame(
        "`subset`, `export` (`subgroups`), `scores.by()`",
        "a stratum, metric, model and condition",
        frame_columns("trait", trait=text("The trait that the strata are values of.")) | SUBGROUPS | COMPARED | _SIGNED,
    ),
    "comparisons": Frame(
        "`compare`, `scores.compare()`, `scores.compare_all()`",
        "a pair of models, condition and metric; with `--by`, in a stratum",
        frame_columns("stratum") | COMPARISONS | SAME | LOOK | _SIGNED,
    ),
    "ranks": Frame("`rank`, `scores.rank()`", "a condition, metric and model", RANKS | _SIGNED),
    "distribution": Frame(
        "`analyze distribution` (`stats`)", "a model, condition and metric that has a value for each unit", DISTRIBUTION
    ),
    "plan": Frame(
        "`plan`, `scores.plan()`",
        "a pair of models, condition and metric of the pilot; one row where assumptions are stated",
        PLAN | EXPECTED,
    ),
    "judged models": Frame(
        "`judge correct` (`debias`), `scores.debias()`", "a rated model and condition", JUDGED_MODELS | _SIGNED
    ),
    "judged differences": Frame(
        "`judge correct --format json` (`debias`), `scores.debias_pairs()`; every number is of A minus B",
        "a pair of rated models and condition",
        JUDGED_PAIRS,
    ),
    "ratings needed": Frame(
        "`judge plan` (`labels plan`), `attune_bench.stats.label_planning.plan_labels`",
        "a model and condition of the pilot; one row where numbers are stated",
        RATINGS_NEEDED,
    ),
    "panels of judges": Frame(
        "`judge plan --price`, `attune_bench.stats.label_planning.plan_judges`",
        "a model, and people alone or a panel of judges, the shortest interval first",
        PANELS,
    ),
    "judges": Frame("`judge agree` (`judges`)", "a data set, dimension and judge", JUDGES),
    "pairs of raters": Frame(
        "`judge agree --pairs` (`judges`)", "a data set, dimension and pair of raters", RATER_PAIRS
    ),
    "consensus": Frame("`judge consensus`", "a data set, dimension and model", CONSENSUS),
    "errors of judges": Frame(
        "`judge consensus --format json` (`judges`)", "a data set, dimension and judge", JUDGE_ERRORS
    ),
    "confusion of judges": Frame(
        "`judge consensus --format json` (`confusion`)", "a data set, dimension, judge, level and rating", CONFUSION
    ),
    "shared errors": Frame(
        "`judge consensus --format json` (`pairs`)", "a data set, dimension and pair of judges", SHARED_ERRORS
    ),
    "levels of units": Frame(
        "`judge consensus --format json` (`units`)", "a data set, dimension, unit and model", UNIT_LEVELS
    ),
    "chance": Frame("`report --format json` (`chance`)", "a condition and metric", EXPECTED_CHANCE),
    "random answers": Frame("`attune_bench.chance()`", "a metric; of scores, a condition and metric", RANDOM_ANSWERS),
    "file of scores": Frame(
        "`score -o scores.parquet`, `scores.write()`; what it says of metrics and runs is in the footer of the file",
        "a model, condition and unit, under each choice of its variants",
        frame_columns(
            "model condition unit cluster repeat <metric> <term> coverage.<task>.expected coverage.<task>.present "
            "failed.<kind> calls.<outcome> variant.<choice> trait.<name> chance.<metric> detail",
            **{
                "repeat": text("Which time, where models were asked several times; empty in the rows of means."),
                "<metric>": FrameColumn("The value of this unit; empty where it is not defined."),
                "<term>": FrameColumn("A count that a metric of pooled counts is made of, such as `.tp`."),
                "coverage.<task>.expected": FrameColumn("How many questions of a task count.", low=0),
                "coverage.<task>.present": FrameColumn("How many of them have a prediction.", low=0),
                "failed.<kind>": FrameColumn("How often this unit failed in this way.", low=0),
                "calls.<outcome>": FrameColumn("How many calls of this unit ended in this way.", low=0),
                "variant.<choice>": text("The choice that the numbers of this row rest on."),
                "trait.<name>": text("A trait of the unit, of any type."),
                "chance.<metric>": FrameColumn("What random answers to this unit score on average."),
                "detail": text("What the benchmark keeps beyond this, as JSON."),
            },
        ),
    ),
    "models in JSON": Frame(
        "`report --format json` (`models`)",
        "a model and condition",
        frame_columns(
            "model condition n clusters <metric> <metric>_n coverage_<task> failed_<kind> calls_<outcome>",
            **{
                "n": whole("How many units the model was run on."),
                "<metric>": FrameColumn("The value of the metric; empty where it is not defined."),
                "<metric>_n": whole("How many units it rests on."),
                "coverage_<task>": share("Share of the questions of a task that have a prediction."),
                "failed_<kind>": whole("How many units failed in this way."),
                "calls_<outcome>": whole("How many calls ended in this way."),
            },
        ),
    ),
    "leaderboard": Frame(
        "`leaderboard`: `models` of each condition in `board.json`",
        "a model",
        frame_columns(
            "model value rank rank_low rank_high n clusters reason tier tier_first tier_last kind metrics link date "
            "submitter licence library_version runs settings signature",
            value="The value of the metric by which models are ranked.",
            rank_low=FrameColumn("Best rank of the interval.", low=1),
            rank_high=FrameColumn("Worst rank of the interval.", low=1),
            tier=whole("Tier; models of one tier do not differ significantly in the paired test.", 1),
            tier_first=whole("First tier with a model that does not differ significantly from this model.", 1),
            tier_last=whole("Last tier with such a model.", 1),
            kind=text("`model`, `person` or `baseline`."),
            metrics=FrameColumn("By metric, the columns of `summary`.", "object"),
            link=text("Where the model is described, as its entry says."),
            date=text("When it was run, as its entry says."),
            submitter=text("Who submitted it, as its entry says."),
            licence=text("The licence of the model, as its entry says."),
            library_version=text("The version of this library that scored it."),
            runs=text("Hash of what was scored."),
            settings=FrameColumn("The settings of its runs, by name.", "object"),
        ),
    ),
    "metrics": Frame(
        "`export` (`metrics`)",
        "a metric",
        frame_columns(
            "metric label low high higher_is_better statistic source",
            label=text("What reports call it."),
            low="The lowest possible value; infinite where there is no bound.",
            high="The highest possible value; infinite where there is no bound.",
            higher_is_better=true_false("Whether a higher value is better; empty where neither direction is."),
            statistic=text("How values of units make a model's value: `mean`, `share`, or a score of pooled counts."),
            source=text("Where the definition is from."),
        ),
    ),
    "models": Frame(
        "`export` (`models`)",
        "a model",
        frame_columns(
            "model kind synthetic",
            kind=text("`model`, `person` or `baseline`."),
            synthetic=true_false("Whether data or results were generated rather than collected."),
        ),
    ),
    "issues": Frame(
        "`records.issues`, `scores.issues`",
        "a finding about a file",
        frame_columns(
            "file path rule severity value message consequence count",
            file=text("The file."),
            path=text("The place in it: a JSON path, `$` is the whole."),
            rule=text("The rule; the page on issues lists all."),
            severity=text(
                "`error`: the record is left out. `warning`: a value was changed, or contradicts another. `note`."
            ),
            value=text("The value, shortened."),
            message=text("The mistake."),
            consequence=text("What was done."),
            count=whole("How many issues the row stands for.", 1),
        ),
    ),
}
"""By name, the frames of any scores."""


def _all() -> Iterator[tuple[ListedTable, Sequence[str]]]:
    """Yield every table with the other names that it is asked for by."""
    for kind in KINDS:
        for table in _of_kind(kind):
            yield table, [kind.noun, kind.plural]
    records = [_of_records(name, pl.String(), column) for name, column in RECORDS_TABLE.items()]
    yield ListedTable("Records", "records", "`to_parquet()` of any records", "One row for each record.", records), []
    for name, frame in FRAMES.items():
        words = re.findall(r"`([a-z]+)", frame.origin)
        yield ListedTable("Scores and analyses", name, frame.origin, _each(frame.row), _of_frame(frame.columns)), words
    chapters = {"Further analyses": ANALYSES}
    for benchmark in BENCHMARKS:
        own = resolve(benchmark.analyses) or {}
        chapters[f"Further analyses of {benchmark.title}"] = {name: own[name] for name in own if name not in ANALYSES}
    for chapter, analyses in chapters.items():
        for name, analysis in analyses.items():
            row = f"{_each(analysis.row)} {analysis.note}"
            yield ListedTable(chapter, name, f"`analyze {name}`", row, _of_frame(analysis.columns)), ["analyze"]
    metrics = [_of_metric(metric) for metric in CATALOG.values() if metric.level != "turn"]
    about = "What the names in a column `metric` stand for; in `report --format json` each is a column."
    yield ListedTable("Metrics", "metric_names", "`attune_metrics.catalog.CATALOG`", about, metrics), []


_DIRECTIONS = {True: "Higher is better.", False: "Lower is better.", None: "Neither direction is better."}


def _of_metric(metric: Metric) -> ListedColumn:
    low, high = (end if isfinite(end) else None for end in (metric.low, metric.high))
    meaning = f"{metric.label}. {_DIRECTIONS[metric.higher_is_better]}"
    return ListedColumn(metric.name, meaning, "number", low, high, None, metric.source)


def _of_kind(kind: Kind[Any, Any]) -> Iterator[ListedTable]:
    chapter = kind.plural[:1].upper() + kind.plural[1:]
    made: dict[str, type[Frames]] = {f"`{kind.plural}.tables.{{}}`": kind.tables}
    if kind.joined is not None and kind.joined is not kind.tables:
        made[f"`{kind.plural}.joined(...).{{}}`"] = kind.joined
    for origin, frames in made.items():
        for name, schema in frames.schemas().items():
            meanings = frames.meanings()[name]
            columns = [_of_records(column, dtype, meanings[column]) for column, dtype in schema.items()]
            row = (getattr(frames, name).__doc__ or "").partition("\n")[0].replace("``", "`")
            yield ListedTable(chapter, name, origin.format(name), row, columns)


def _of_records(name: str, dtype: pl.DataType, column: Column) -> ListedColumn:
    return ListedColumn(
        name, column.description, type_words(dtype), column.low, column.high, column.null, column.source
    )


def _each(row: str) -> str:
    return f"One row for each {row.removeprefix('a ')}."


def _of_frame(columns: Columns) -> list[ListedColumn]:
    return [ListedColumn(name, one.description, one.type, one.low, one.high, None, "") for name, one in columns.items()]


def column_frame(tables: Sequence[ListedTable]) -> pl.DataFrame:
    """Return the columns of tables as a frame: a codebook for CSV and JSON.

    Returns
    -------
    polars.DataFrame
        ``chapter, table, origin, column, meaning, type, low, high, missing, source``, a row a column.
    """
    rows = [
        (table.chapter, table.name, table.origin.replace("`", ""), *column)
        for table in tables
        for column in table.columns
    ]
    names = ("chapter", "table", "origin", "column", "meaning", "type", "low", "high", "missing", "source")
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.String)
    schema |= {"low": pl.Float64, "high": pl.Float64, "missing": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def tables_text(tables: Sequence[ListedTable]) -> str:
    """Return the names of tables, by chapter."""
    chapters: dict[str, list[str]] = {}
    for table in tables:
        chapters.setdefault(table.chapter, []).append(table.name)
    listed = [_filled(f"{chapter}: {', '.join(dict.fromkeys(names))}", "") for chapter, names in chapters.items()]
    return "\n".join([*listed, "", "next: attune-bench columns NAME"])


def columns_text(tables: Sequence[ListedTable]) -> str:
    """Return the columns of tables as text of 100 columns of characters."""
    blocks = []
    for table in tables:
        blocks.append(f"{_filled(f'{table.name}: {table.origin}', '')}\n{_filled(table.row, '')}")
        for column in table.columns:
            facts = (f"{column.column}: {column.type}", column.range, "may be missing" if column.missing else "")
            lines = [_filled(", ".join(filter(None, facts)), "  "), _filled(column.meaning, "    ")]
            lines += [_filled(f"from: {column.source}", "    ")] if column.source else []
            blocks.append("\n".join(lines))
    return "\n\n".join(blocks).replace("`", "")


def _filled(text: str, indent: str) -> str:
    return fill(text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def columns_markdown(tables: Sequence[ListedTable]) -> str:
    """Return the columns of tables as Markdown, a chapter a heading."""
    blocks: list[str] = []
    chapter = ""
    before: dict[str, ListedTable] = {}
    for table in tables:
        if table.chapter != chapter:
            chapter = table.chapter
            blocks.append(f"## {chapter}")
        first = before.setdefault(table.name, table)
        title = table.name if first is table else f"{table.name} ({chapter.lower()})"
        # A table that is joined with another has its columns, which are said once.
        said = {column.column: column.meaning for column in first.columns} if first is not table else {}
        own = [column for column in table.columns if said.get(column.column) != column.meaning]
        joined = said.keys() <= {column.column for column in table.columns} and len(own) < len(table.columns)
        also = f" {first.origin} has the other columns, too; here most may be missing." if joined else ""
        found = f"{table.row} Found in {table.origin}.{also}"
        blocks += [f"### {title}", found, _grid(own if joined else table.columns)]
    return "\n\n".join(blocks)


def _grid(columns: Sequence[ListedColumn]) -> str:
    # Of an analysis the meaning says where a column is missing and comes from.
    facts = {
        "may be missing": ["yes" if column.missing else "" for column in columns],
        "source": [column.source for column in columns],
    }
    told = {head: cells for head, cells in facts.items() if any(cells)}
    rows = [[f"`{column.column}`", column.meaning, column.type, column.range] for column in columns]
    rows = [[*row, *cells] for row, *cells in zip(rows, *told.values(), strict=True)]
    return _markdown(["column", "meaning", "type", "range", *told], rows)


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


@verb("schema conversation")
@click.argument("kind", required=False)
@option("--tables", "The columns of its tables instead, by table.", bool)
def schema(kind: str | None, tables: bool) -> None:
    """Print the JSON Schema of a kind of record or of a file of the codebook; the same as columns KIND --schema.

    KIND is a kind of record, such as conversation, run or episode, or a file of the codebook, such as subsets. Without
    it, all of them are listed.
    """
    _print_schema(kind, tables=tables)


def _print_schema(kind: str | None, *, tables: bool) -> None:
    """Print a JSON Schema, of tables a Table Schema; without a kind the names of all."""
    if kind is None:
        emit("\n".join(TABLE_SCHEMA_KINDS if tables else SCHEMA_KINDS))
        return
    with mistakes():
        emit(json.dumps(table_schema(kind) if tables else json_schema(kind), indent=2, ensure_ascii=False))


@verb("columns mood_tags", "columns conversation --schema")
@click.argument("name", required=False)
@option("--schema", "Print the JSON Schema of NAME, a kind of record or a codebook's file.", bool)
@option("--tables", "For --schema: the columns of the tables of NAME instead, by table.", bool)
@format_option("table", "markdown", "csv", "json")
@click.pass_context
def columns(ctx: click.Context, /, name: str | None, schema: bool, tables: bool, format: str) -> None:  # noqa: A002
    """Print what columns mean: of the tables of records, and of what analyses print and write.

    NAME is a kind of record, such as conversation; a table, such as mood_tags; a command, such as compare; an analysis,
    such as win_rates; or a column or metric, such as p_holm. Without it, all tables are listed; with --format markdown,
    csv or json every column of all of them.

    CSV and JSON: a row a column, with chapter, table, origin, column, meaning, type, low, high, missing, source.
    """
    if schema:
        if was_given(ctx, "format"):
            raise UserError("a schema is JSON; leave out --format")
        _print_schema(name, tables=tables)
        return
    if tables:
        raise UserError("--tables is for --schema; give --schema too")
    with mistakes():
        found = listed_tables(name)
    match format:
        case "csv":
            emit(to_csv(column_frame(found)))
        case "json":
            emit(json.dumps({"columns": column_frame(found).to_dicts()}, indent=2, ensure_ascii=False))
        case "markdown":
            emit(columns_markdown(found))
        case _:
            emit(tables_text(found) if name is None else columns_text(found))
