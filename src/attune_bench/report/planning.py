"""Tables of planned comparisons: how many participants are needed, or how small a difference some show."""

import polars as pl

from attune_bench.report.columns import (
    UNDEFINED,
    Cell,
    Column,
    Table,
    count_column,
    number_column,
    size_column,
    text_column,
)
from attune_bench.report.tables import label, metric_of
from attune_bench.report.words import drawn, under_condition
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import FEW, AnalysisOptions

__all__ = ["assumed_notes", "assumed_table", "pilot_notes", "pilot_tables"]

_TEST = (
    "Power 80%: if the true difference is this large, four of five such studies find it, by the two-sided permutation "
    "test of compare at 0.05. This is for one pair: where several are corrected for each other, more {0}s are needed. "
    "Test once, when all {0}s are there."
)


def pilot_tables(table: ScoreTable, frame: pl.DataFrame) -> list[Table]:
    """Return a table for each metric and condition of `frame`, from `attune_bench.stats.planning.plan`."""
    of = metric_of(table)
    cluster, unit = drawn(table, AnalysisOptions()), table.provenance.unit
    columns = [
        text_column("A", "model_a", is_name=True),
        text_column("B", "model_b", is_name=True),
        size_column("pilot"),
        number_column("mde of pilot", "mde", of),
        number_column("difference", "difference", of),
        *_sizes(cluster, unit),
    ]
    tables: list[Table] = []
    for (metric, condition), rows in frame.group_by("metric", "condition", maintain_order=True):
        under = under_condition(table, None if condition is None else str(condition))
        shown = [{**row, "mark": "few" if row["clusters"] < FEW else ""} for row in rows.iter_rows(named=True)]
        title = f"Plan: {label(table.metrics[str(metric)])}{under}"
        tables.append(Table("plan", title, columns, shown, None if tables else frame))
    return tables or [Table("plan", "", (), (), frame)]


def assumed_table(frame: pl.DataFrame) -> Table:
    """Return the table of a plan from assumptions, as from `plan_from_assumptions`."""
    stated = [("sd", "sd"), ("r", "correlation"), ("ICC", "icc"), ("units of each", "units_per_participant")]
    columns = [_plain(*one) for one in (*stated, ("CV", "units_cv"), ("difference", "difference"))]
    return Table("plan", "Plan", [*columns, *_sizes("participant", "unit")], frame.to_dicts(), frame)


def _sizes(cluster: str, unit: str) -> list[Column]:
    """Return the columns of how many are planned."""
    participants = count_column(f"{cluster}s", "participants")
    return [participants] if cluster == unit else [participants, count_column(f"{unit}s", "units")]


def _plain(head: str, key: str) -> Column:
    """Return a column of numbers that are of no metric."""
    return Column(head, lambda row: Cell(UNDEFINED if row[key] is None else f"{row[key]:g}", value=row[key]))


def pilot_notes(table: ScoreTable) -> list[str]:
    """Return the sentences below a plan from a pilot."""
    cluster, unit = drawn(table, AnalysisOptions()), table.provenance.unit
    each = f", and have as many {unit}s each, as unequally many" if cluster != unit else ""
    within = f" ({cluster}s)" if cluster != unit else ""
    return [
        f"pilot: {unit}s that both models have{within}. mde of pilot: the smallest true difference that the pilot "
        f"would have found. {cluster}s: how many in all. {_TEST.format(cluster)}",
        f"Assumed: new {cluster}s are as unlike each other as those of the pilot{each}; both models answer the same "
        f"{unit}s. A pilot says this only roughly: plan for more. few: a pilot of fewer than {FEW} {cluster}s.",
    ]


def assumed_notes() -> list[str]:
    """Return the sentences below a plan from assumptions."""
    return [
        f"participants: how many in all. {_TEST.format('participant')}",
        "Assumed: sd, the standard deviation of a unit's score; r, the correlation of both models' scores on a unit; "
        "ICC, the share of the variance of the two models' difference that is between participants; CV, the standard "
        "deviation of the number of units of a participant, over its mean: 0 if all have equally many. Both models "
        "answer the same units. With a lower r, a higher sd, ICC or CV more participants are needed.",
    ]
