"""The tables of how metrics are distributed over units."""

import polars as pl

from attune_bench.report.columns import Table, count_column, number_column, text_column
from attune_bench.report.tables import by_rank, label, metric_of
from attune_bench.report.words import under_condition
from attune_bench.score_table import ScoreTable

__all__ = ["distribution_tables"]


def distribution_tables(table: ScoreTable, distribution: pl.DataFrame) -> list[Table]:
    """Return a table of the distribution of each metric, for each model and condition."""
    of = metric_of(table)
    columns = [
        text_column("metric", "label"),
        count_column("n", "n"),
        *(
            number_column(name if name != "sd" else "SD", name, of)
            for name in ("mean", "sd", "lowest", "median", "highest")
        ),
    ]
    tables: list[Table] = []
    for (model, condition), rows in by_rank(table, distribution, ["model", "condition"]):
        shown = [{**row, "label": label(table.metrics[row["metric"]])} for row in rows.to_dicts()]
        title = f"{model}{under_condition(table, condition)}"
        tables.append(Table("distribution", title, columns, shown, None if tables else distribution))
    return tables
