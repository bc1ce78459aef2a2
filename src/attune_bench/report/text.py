"""The report of scores as text, and the short one of demonstration data."""

import warnings
from collections import Counter
from math import isfinite

from typing_extensions import Unpack

from attune_bench.report.answer import Answer, answers, plain_sentence
from attune_bench.report.columns import Cell, Column, Row, Table, estimate_column, label, range_words, text_column
from attune_bench.report.document import Document, Format, document
from attune_bench.report.notes import missing_notes, provenance_line, size_words
from attune_bench.report.page_scores import PageScores
from attune_bench.report.tables import board, calls_table, failure_tables, metric_tables, model_frame
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import check_comparable
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.signing import sign
from attune_bench.stats.summary import chance_of_units, summary
from attune_data.text import joined, plural, pluralize


def report_document(
    table: ScoreTable,
    *,
    format: Format = "table",  # noqa: A002
    **options: Unpack[SamplingKeywords],
) -> Document:
    """Return the report of scores: the page's sentences, the board with intervals, metrics, failed units, calls.

    Every metric of a group has a row. Where no metric has a group to be shown in, the board has all its metrics, else
    the main one. CSV is of one table: the summary of every metric.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    format : {"table", "markdown", "latex", "csv", "json"}
        What it is for.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Raises
    ------
    MixedSettingsError
        Where the runs differ in settings that change answers; see `attune_bench.stats.comparability`.
    """
    check_comparable(table)
    if format == "csv":
        every = Table("summary", "", (), (), summary(table, **options))
        return document(table, [every], signature=sign(table, **options))
    chosen = AnalysisOptions(**options)
    frame = model_frame(table, chosen)
    shown = [table.primary] if any(metric.group for metric in table.metrics.values()) else table.headline
    found = summary(table, metrics=shown, **options)
    top = board(table, found, shown, chosen)
    everything = Table("models", "", (), (), frame)
    tables = [everything, top, *metric_tables(table, frame, chosen)]
    tables += [*failure_tables(table), *calls_table(table)]
    if not (random := chance_of_units(table)).is_empty():
        # For JSON alone.
        tables.append(Table("chance", "", (), (), random))
    page = PageScores(table=table, analyses={}, small_cells=True, options=options, only_sentences=True, board=found)
    notes = [_COVERAGE] if any(metric.coverage for metric in table.metrics.values()) else []
    notes += missing_notes(table, [table.primary])
    listed = {name: metric.label for name, metric in table.metrics.items() if metric.group}
    lacking = [called for name, called in listed.items() if chosen.lacks_weight(table, name)]
    if lacking:
        held = table.provenance
        notes.append(f"No mean over {pluralize(held.cluster)}, as each {held.unit} counts: {', '.join(lacking)}.")
    return document(
        table, tables, answer=answers(page), head=provenance_line(table), notes=notes,
        signature=sign(table, metrics=shown, **options),
    )  # fmt: skip


_COVERAGE = (
    "(In parentheses) coverage: predictions present of the questions that count. [n] where a value rests on fewer "
    "units."
)


_MOST_ROWS = 8
_BAR = 24  # columns
_BLOCKS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589\u2588"  # eighths of a column, from the left


def ranking_document(table: ScoreTable, *, blocks: bool = True) -> Document:
    """Return a short report: how the models of the first condition compare, and their ranking with bars.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    blocks : bool
        Whether bars are of block characters, not of number signs.
    """
    page = PageScores(table=table, analyses={}, small_cells=False, options={}, only_sentences=True)
    condition, *others = table.conditions
    with warnings.catch_warnings():
        # The page has them.
        warnings.simplefilter("ignore")
        answer = Answer(page, condition)
        random = answer.random_answers() if answer.metric.name in answer.chances else []
        said, rows = " ".join([f"{answer.finding()}.", *random, *answer.prior()]), answer.rows
    if not rows:
        errors = [one for one in table.provenance.issues if one.severity == "error"]
        why = [f"{one.file}: {one.message}; {one.consequence}." for one in errors[:_MOST_ROWS]]
        return Document([], answer=[_size(table), plain_sentence(said), *why])
    metric = table.metric(table.primary)
    columns = [text_column("model", "model", is_name=True), estimate_column(label(metric), "value", lambda _: metric)]
    high = metric.high if isfinite(metric.high) else max((row["value"] for row in rows), default=metric.low)
    if isfinite(metric.low) and metric.low < high:

        def bar(row: Row) -> Cell:
            return Cell(_bar((row["value"] - metric.low) / (high - metric.low), blocks=blocks))

        columns.append(Column(range_words(metric), bar, is_text=True))
    more = [f"{len(rows) - _MOST_ROWS} more rows"] if len(rows) > _MOST_ROWS else []
    more += [plural(len(others), f"more {table.provenance.condition}")] if others else []
    notes = (f"The page has {' and '.join(more)}.",) if more else ()
    made = Table("ranking", "", columns, rows[:_MOST_ROWS], notes=notes)
    return Document([made], answer=[_size(table), plain_sentence(said)])


def _size(table: ScoreTable) -> str:
    """Return how many units and models there are, and whether the data are synthetic."""
    kinds = Counter(map(kind_of_group, table.models))
    rows = [plural(kinds[kind], kind) for kind in sorted(kinds, key=["model", "baseline", "person"].index)]
    of = "SYNTHETIC data of " if table.provenance.synthetic else ""
    return f"{of}{table.provenance.title}: {size_words(table)}, {joined(rows)}"


def _bar(share: float, *, blocks: bool) -> str:
    part = min(max(share, 0), 1) * _BAR
    if not blocks:
        return "#" * round(part)
    whole, eighths = divmod(round(8 * part), 8)
    return _BLOCKS[8] * whole + _BLOCKS[eighths].strip()
