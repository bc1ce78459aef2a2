"""The tables of how results were had: failed units, choices of scoring, calls."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from attune_bench.report.columns import Table, count_column, number_column, text_column
from attune_bench.report.tables import group_name, label, sorted_groups
from attune_bench.score_table import ScoreTable
from attune_bench.stats.series import ScoreSeries
from attune_bench.stats.summary import points

__all__ = ["calls_table", "failure_tables"]


def failure_tables(table: ScoreTable) -> list[Table]:
    """Return how many units failed, by kind, and the primary metric under every choice of the variants."""
    counted = _counted(table)
    kinds = [name for name in counted.columns if name.startswith("failed.")]
    tables = []
    if kinds:
        counts = counted.group_by("model", "condition").agg(pl.col(kinds).sum().cast(pl.Int64))
        by_group = {(row["model"], row["condition"]): row for row in counts.iter_rows(named=True)}
        rows = [
            {"name": group_name(table, *group), **by_group[group]}
            for group in sorted_groups(table)
            if any(by_group[group][kind] for kind in kinds)
        ]
        heads = {kind: kind.removeprefix("failed.").replace("_", " ") for kind in kinds}
        columns = [text_column("model", "name", is_name=True), *(count_column(heads[kind], kind) for kind in kinds)]
        if rows:
            frame = counts.sort("model", "condition").rename({kind: kind.removeprefix("failed.") for kind in kinds})
            each = "" if table.repeats is None else ", each repeat counted"
            title = f"Failed {table.provenance.unit}s, by kind{each}"
            tables.append(Table("failed", title, columns, rows, frame))
    for name, options in table.choices.items():
        tables.append(_variant_table(table, name, options))
    return tables


def _counted(table: ScoreTable) -> pl.DataFrame:
    """Return the rows whose counts add up: those of single repeats where values are means over them."""
    return table.values if table.repeats is None else table.repeats


def _variant_table(table: ScoreTable, name: str, options: Sequence[str]) -> Table:
    """Return the primary metric of every model under each option of a choice, the other choices as they are."""
    metric = table.metric(table.primary)
    values: dict[str, Mapping[tuple[str, str | None], float | None]] = {}
    for option in options:
        series = ScoreSeries(table.variant(**{name: option}))
        values[option] = dict(zip(series.groups, points(series, metric.name), strict=True))
    rows = [
        {
            "name": group_name(table, *group),
            "model": group[0],
            "condition": group[1],
            **{option: values[option].get(group) for option in options},
        }
        for group in sorted_groups(table)
    ]
    columns = [
        text_column("model", "name", is_name=True),
        *(number_column(option, option, lambda _: metric) for option in options),
    ]
    schema = {"model": pl.String, "condition": pl.String, **dict.fromkeys(options, pl.Float64)}
    frame = pl.DataFrame([{key: row[key] for key in schema} for row in rows], schema=schema)
    return Table(f"by_{name}", f"{label(metric)} under each choice of {name}", columns, rows, frame)


_CALLS_NOTE = (
    "Calls: how answers were read, those of judges included: parsed at first, repaired (the text of the answer was "
    "mended), retried (read when asked again) or failed (not read; what it was asked for is missing)."
)


def calls_table(table: ScoreTable) -> list[Table]:
    """Return how the answers of the models were read, where the results say so."""
    counted = _counted(table)
    outcomes = [name for name in counted.columns if name.startswith("calls.")]
    if not outcomes:
        return []
    counts = (
        counted.drop_nulls(outcomes)
        .group_by("model", "condition")
        .agg(pl.col("unit").n_unique().cast(pl.Int64).alias("n"), pl.col(outcomes).sum().cast(pl.Int64))
    )
    by_group = {(row["model"], row["condition"]): row for row in counts.iter_rows(named=True)}
    rows: list[dict[str, Any]] = [
        {
            "name": group_name(table, *group),
            "total": sum(by_group[group][outcome] for outcome in outcomes),
            **by_group[group],
        }
        for group in sorted_groups(table)
        if group in by_group
    ]
    if not rows:
        return []
    heads: Iterable[tuple[str, str]] = ((name.removeprefix("calls."), name) for name in outcomes)
    columns = [
        text_column("model", "name", is_name=True),
        count_column("calls", "total"),
        *(count_column(head, name) for head, name in heads),
        count_column(f"of {table.provenance.unit}s", "n"),
    ]
    return [Table("calls", "Calls", columns, rows, notes=(_CALLS_NOTE,))]
