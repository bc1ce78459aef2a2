"""The report of scores as text."""

from typing_extensions import Unpack

from attune_bench.report.columns import Table
from attune_bench.report.document import Document, Format, document
from attune_bench.report.notes import provenance_line
from attune_bench.report.tables import board, calls_table, failure_tables, metric_tables, model_frame
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import check_comparable
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.signing import sign
from attune_bench.stats.summary import chance_of_units, summary


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
        every = Table("summary", "", (), (), summary(table, **options))
        return document(table, [every], signature=sign(table, **options))
    chosen = AnalysisOptions(**options)
    frame = model_frame(table, chosen)
    shown = [table.primary] if any(metric.group for metric in table.metrics.values()) else table.headline
    top = board(table, summary(table, metrics=shown, **options), shown, chosen)
    everything = Table("models", "", (), (), frame)
    tables = [everything, top, *metric_tables(table, frame, chosen)]
    tables += [*failure_tables(table), *calls_table(table)]
    if not (random := chance_of_units(table)).is_empty():
        # For JSON alone.
        tables.append(Table("chance", "", (), (), random))
    notes = [_COVERAGE] if any(metric.coverage for metric in table.metrics.values()) else []
    listed = {name: metric.label for name, metric in table.metrics.items() if metric.group}
    lacking = [called for name, called in listed.items() if chosen.lacks_weight(table, name)]
    if lacking:
        held = table.provenance
        notes.append(f"No mean over {held.cluster}s, as each {held.unit} counts: {', '.join(lacking)}.")
    return document(
        table, tables, notes=notes, signature=sign(table, metrics=shown, **options), head=provenance_line(table)
    )


_COVERAGE = (
    "(In parentheses) coverage: predictions present of the questions that count. [n] where a value rests on fewer "
    "units."
)
