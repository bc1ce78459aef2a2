"""Documents of scores: what commands print, with notes, warnings and where the numbers come from.

Scores as a notebook shows them: the board with intervals.

A notebook is saved with what it showed, and is forwarded as a page is: it hides what a page hides.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from typing_extensions import Unpack

from attune_bench.report.columns import PERSON, Cell, Table, label, number, text_column, under_condition
from attune_bench.report.privacy import shown_summary, without_few
from attune_bench.report.tables import (
    board,
    calls_table,
    failure_tables,
    group_name,
    metric_tables,
    model_frame,
)
from attune_bench.report.text import Document, Format
from attune_bench.scores.provenance import kind_of_group, people_among, setting_text
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import check_comparable, common_settings, differences, in_words
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.signing import sign
from attune_bench.stats.summary import chance_of_units, summary
from attune_data.issues import Html, page, table, tag
from attune_data.text import listed, plural, sanitize
from attune_metrics.stats.bootstrap import STATISTICS


def provenance_line(table: ScoreTable) -> str:
    """Return what has to be said of all the numbers: benchmark, protocol, variant, conditions, n, version."""
    held = table.provenance
    clusters = table.units["cluster"].drop_nulls().n_unique() + table.units["cluster"].null_count()
    conditions = [condition for condition in table.conditions if condition is not None]
    size = plural(table.units.height, held.unit)
    if held.cluster != held.unit and clusters != table.units.height:
        size += f" by {plural(clusters, held.cluster)}"
    parts = [
        held.title,
        *([f"protocol {held.protocol}"] if held.protocol else []),
        *(f"{name} {option}" for name, option in held.variant.items()),
        *([f"{held.condition}{'s' if len(conditions) > 1 else ''} {', '.join(conditions)}"] if conditions else []),
        f"n = {size}",
        f"attune-bench {held.library_version}",
        *([f"{plural(len(held.issues), 'result')} not scored"] if held.issues else []),
        *(["SYNTHETIC demonstration data"] if held.synthetic else []),
    ]
    return sanitize(", ".join(parts))


def standing_notes(table: ScoreTable) -> list[str]:
    """Return what has to be said below every table of these scores."""
    synthetic = ["SYNTHETIC demonstration data."] if table.provenance.synthetic else []
    return [*synthetic, *table.provenance.notes, *people_notes(table), *settings_notes(table)]


def people_notes(table: ScoreTable) -> list[str]:
    """Return which rows are people's, where some are."""
    people = people_among(table.models)
    return [f"{PERSON} marks people who answered what the models were asked: {listed(people)}."] if people else []


def settings_notes(table: ScoreTable) -> list[str]:
    """Return in which settings that change an answer the runs differ, and which are the same."""
    found = differences(table)
    mark = "MIXED: the" if table.provenance.mixed else "The"
    said = f"{mark} runs differ in what changes an answer, and their numbers are not comparable"
    common, unknown = common_settings(table)
    parts = [", ".join(f"{name} {value}" for name, value in common.items())] if common else []
    parts += [f"not recorded, so perhaps not the same: {', '.join(unknown)}"] if unknown else []
    notes = [f"{said}: {in_words(found)}."] if found else []
    return notes + ([f"All runs: {'; '.join(parts)}."] if parts else [])


def settings_table(table: ScoreTable) -> Table:
    """Return with which settings every model was run, a row a model and condition."""
    held = table.provenance
    names = [
        *held.comparability_keys,
        *dict.fromkeys(name for own in table.settings.values() for name in own if name not in held.comparability_keys),
    ]
    rows: list[dict[str, Any]] = []
    for model, condition in table.groups:
        own = table.settings.get((model, condition), {})
        values = {name: ", ".join(map(setting_text, own[name])) if name in own else None for name in names}
        rows.append({"name": group_name(table, model, condition), "kind": kind_of_group(model), **values})
    columns = [text_column("row", "name", is_name=True), text_column("kind", "kind")]
    columns += [text_column(held.comparability_keys.get(name, name.replace("_", " ")), name) for name in names]
    return Table("settings", "How the rows were made", columns, rows)


def chance_notes(table: ScoreTable, chance: pl.DataFrame) -> list[str]:
    """Return what random answers score on average in the metrics of the board, a sentence a condition.

    `chance` is what `attune_bench.stats.summary.chance_of_units` gives; a null value is not said.
    """
    found = chance.filter(pl.col("metric").is_in(table.headline)).drop_nulls("chance")
    notes = []
    for (condition,), rows in found.group_by("condition", maintain_order=True):
        values = {row["metric"]: row["chance"] for row in rows.iter_rows(named=True)}
        said = ", ".join(
            f"{label(table.metrics[name])} {number(values[name], table.metrics[name])}"
            for name in table.headline
            if name in values
        )
        under = under_condition(table, condition) if len(table.conditions) > 1 else ""
        notes.append(f"Random answers on these data{under} score on average: {said}.")
    return notes


def report_document(
    table: ScoreTable,
    *,
    format: Format = "table",  # noqa: A002
    **options: Unpack[SamplingKeywords],
) -> Document:
    """Return the report of scores: the board with intervals, every metric of a group, failed units, calls.

    Where no metric has a group to be shown in, the board has all its metrics, else the main one. CSV is of one table:
    the summary of every metric.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    format : {"table", "markdown", "csv", "json"}
        What it is for.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Raises
    ------
    MixedSettingsError
        Where the runs differ in what changes an answer; see `attune_bench.stats.comparability`.
    """
    check_comparable(table)
    if format == "csv":
        return document(
            table, [Table("summary", "", (), (), summary(table, **options))], signature=sign(table, **options)
        )
    chosen = AnalysisOptions(**options)
    frame = model_frame(table, chosen)
    shown = [table.primary] if any(metric.group for metric in table.metrics.values()) else table.headline
    top = board(table, summary(table, metrics=shown, **options), shown, chosen)
    everything = Table("models", "", (), (), frame)
    tables = [everything, top, *metric_tables(table, frame, chosen)]
    tables += [*failure_tables(table), *calls_table(table)]
    random = chance_of_units(table)
    if not random.is_empty():
        # For JSON alone.
        tables.append(Table("chance", "", (), (), random))
    notes = [_COVERAGE] if any(metric.coverage for metric in table.metrics.values()) else []
    listed = {name: metric.label for name, metric in table.metrics.items() if metric.group}
    lacking = [called for name, called in listed.items() if chosen.lacks_weight(table, name)]
    if lacking:
        held = table.provenance
        notes.append(f"No mean over {held.cluster}s, as each {held.unit} counts: {', '.join(lacking)}.")
    return document(
        table,
        tables,
        notes=notes,
        signature=sign(table, metrics=shown, **options),
        head=provenance_line(table),
    )


_COVERAGE = (
    "(In parentheses) coverage: predictions present of the questions that count. [n] where a value rests on fewer "
    "units."
)


def document(
    table: ScoreTable,
    tables: Sequence[Table],
    *,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    signature: str | None = None,
    head: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    """Return tables about scores with what has to be said beside them."""
    held = table.provenance
    about = {
        "benchmark": held.benchmark,
        "protocol": held.protocol,
        "synthetic": held.synthetic,
        **({"variant": held.variant} if held.variant else {}),
        "not_scored": len(held.issues),
        **({"settings": [one.model_dump(mode="json") for one in held.settings]} if held.settings else {}),
        **({"mixed": True} if held.mixed and differences(table) else {}),
        **({"people": people} if (people := people_among(table.models)) else {}),
        **(metadata or {}),
    }
    return Document(
        tables=tables,
        warnings=warnings,
        head=head,
        notes=[*notes, *standing_notes(table)],
        signature=signature,
        metadata=about,
        rename={"condition": held.condition},
    )


_MODELS, _METRICS = 30, 5
_MANY = 100_000  # rows, above which 10,000 resamples would keep a reader waiting


def scores_html(scores: ScoreTable) -> str:
    """Return scores as a piece of HTML for a notebook: the first metrics of the board, the best model first.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> "67.34" in scores_html(score(load("demo"), load_runs("demo")))
    True
    """
    title, about = scores.provenance.title, tag("p", provenance_line(scores), class_="quiet")
    if scores.values.is_empty():
        return page(title, about, tag("p", "No result was scored."))
    metrics = [name for name in scores.headline if scores.metric(name).statistic in STATISTICS][:_METRICS]
    metrics = metrics or [scores.primary]
    options = AnalysisOptions(resamples=10_000 if scores.values.height <= _MANY else 1_000)
    found = shown_summary(scores, small_cells=False, metrics=metrics, resamples=options.resamples)
    # Its order tells of the values.
    made = board(without_few(scores, small_cells=False), found, metrics, options)
    rows = [[_cell(column.cell(row)) for column in made.columns] for row in made.rows]
    reasons = dict.fromkeys(row["reason"] for row in made.rows if row["reason"])
    beyond = [f"and {len(rows) - _MODELS} more rows"] if len(rows) > _MODELS else []
    others = len(scores.metrics) - len(metrics)
    more = [f"{others} more metrics: summary() has all, report() the whole report."] if others else []
    said = [*beyond, *made.notes, *reasons, *standing_notes(scores), *more]
    head = [column.head for column in made.columns]
    return page(title, about, table(rows[:_MODELS], head=head), *(tag("div", note, class_="quiet") for note in said))


def _cell(cell: Cell) -> Html:
    return Html(tag("div", cell.text) + (tag("div", cell.small, class_="quiet") if cell.small else ""))
