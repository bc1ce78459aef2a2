"""Documents of scores: what `report`, `compare` and the other analyses print."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import Unpack

from attune_bench.group_settings import people_among
from attune_bench.report.columns import Table
from attune_bench.report.outcomes import calls_table, failure_tables
from attune_bench.report.provenance import provenance_line, standing_notes
from attune_bench.report.render import Document, Format
from attune_bench.report.tables import board, group_name, metric_tables, model_frame, sorted_groups
from attune_bench.score_table import ScoreTable
from attune_bench.stats.chance import chance_of_units
from attune_bench.stats.comparability import check_comparable, differences
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.signing import sign
from attune_bench.stats.summary import summary

__all__ = ["document", "report_document"]


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
        options=chosen,
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
    options: AnalysisOptions | None = None,
) -> Document:
    """Return tables about scores with what has to be said beside them; `options` say what counts once."""
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
        numbers=_numbers(table, options),
    )


def _numbers(table: ScoreTable, options: AnalysisOptions | None) -> dict[str, int]:
    """Return the number of every model, and of each with its condition, from the best of the primary metric."""
    groups = sorted_groups(table, options)
    models = dict.fromkeys(model for model, _ in groups)
    return {name: place for place, name in enumerate(models, start=1)} | {
        group_name(table, *group): place for place, group in enumerate(groups, start=1)
    }
