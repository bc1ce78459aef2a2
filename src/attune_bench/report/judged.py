"""Tables of judges corrected by people, and of how many ratings are needed."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from attune_bench.report.columns import (
    UNDEFINED,
    Cell,
    Column,
    Row,
    Table,
    count_column,
    estimate_column,
    number_column,
    p_column,
    size_column,
    text_column,
    yes_column,
)
from attune_bench.report.tables import group_name, label, significant_words
from attune_bench.report.words import interval_words, under_condition
from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparison import count_significant
from attune_bench.stats.options import AnalysisOptions
from attune_metrics.metric import Metric

__all__ = ["judged_note", "judged_tables", "judged_warnings", "plan_note", "plan_table"]

_KINDS = {
    "judge": ("judge", "judge_low", "judge_high", "n", "clusters"),
    "people": ("people", "people_low", "people_high", "labels", "label_clusters"),
    "corrected": ("corrected", "low", "high", "labels", "label_clusters"),
}


def judged_tables(table: ScoreTable, key: str, frame: pl.DataFrame) -> list[Table]:
    """Return a table for each condition of `frame`, from `debias` or `debias_pairs`: three rows a model or pair.

    That of pairs is followed by a table of their tests.
    """
    paired = "model_a" in frame.columns
    names = [
        text_column(*one, is_name=True)
        for one in ((("A", "model_a"), ("B", "model_b")) if paired else (("model", "model"),))
    ]
    tables: list[Table] = []
    for (metric, condition), rows in frame.group_by("metric", "condition", maintain_order=True):
        of = table.metrics[str(metric)]
        columns = [
            *names,
            text_column("according to", "kind"),
            _estimate(of, signed=paired),
            size_column(),
            _plain("slope", "slope", 2),
            _plain("r", "correlation", 2),
            _plain("worth", "worth", 0),
        ]
        under = under_condition(table, None if condition is None else str(condition))
        title = f"{label(of)}{', A minus B' if paired else ''}{under}"
        shown = [one for row in rows.iter_rows(named=True) for one in _three(row)]
        tables.append(Table(key, title, columns, shown, None if tables else frame))
        if paired and rows["p"].count():
            tables.append(_tests(f"{label(of)}, A minus B corrected{under}", names, rows))
    return tables or [Table(key, "", (), (), frame)]


def _tests(title: str, names: list[Column], rows: pl.DataFrame) -> Table:
    """Return the table of the tests of corrected differences of one metric and condition."""
    [count] = count_significant(rows).iter_rows(named=True)
    columns = [*names, p_column("p", "p"), p_column("p min", "p_min"), p_column("Holm p", "p_holm")]
    columns.append(yes_column("differ", "significant"))
    return Table("tests", f"{title}: {significant_words(count, rows)}", columns, rows.to_dicts())


def _three(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the judge says, what people say, and the judge corrected."""
    found = []
    for kind, (value, low, high, n, clusters) in _KINDS.items():
        one = {"kind": kind, "value": row[value], "low": row[low], "high": row[high], "n": row[n]}
        one |= {name: row[name] for name in ("model", "model_a", "model_b") if name in row}
        one |= dict.fromkeys(("slope", "correlation", "worth", "reason"))
        if kind == "corrected":
            one |= {name: row[name] for name in ("slope", "correlation", "worth", "reason")}
        found.append({**one, "clusters": row[clusters], "kind": kind})
    return found


def _estimate(metric: Metric, *, signed: bool) -> Column:
    return estimate_column("value", "value", lambda _: metric, signed=signed)


def _plain(head: str, key: str, digits: int) -> Column:
    """Return a column of numbers of the corrected row; nothing in the others."""

    def cell(row: Row) -> Cell:
        value = row[key]
        if value is None:
            return Cell(UNDEFINED if row["kind"] == "corrected" else "")
        return Cell(f"{value:.{digits}f}", value=round(value, digits))

    return Column(head, cell)


def judged_warnings(table: ScoreTable, frame: pl.DataFrame) -> tuple[str, ...]:
    """Return why not to trust rows of `debias` or `debias_pairs`, each with the name of its model or pair."""
    found = []
    for row in frame.drop_nulls("note").iter_rows(named=True):
        name = row["model"] if "model" in row else f"{row['model_a']} minus {row['model_b']}"
        found.append(f"Warning: {group_name(table, name, row['condition'])}: {row['note']}.")
    return tuple(found)


def judged_note(table: ScoreTable, options: AnalysisOptions, *, tested: bool) -> str:
    """Return the sentences below tables of corrected judges, with tests of differences or without."""
    held = table.provenance
    note = (
        f"judge: mean score of all {held.unit}s. people: mean rating of the rated ones. corrected: what people would "
        f"have given all {held.unit}s, if chance chose the rated ones. slope: by how much ratings rise with a point of "
        "the judge. r: correlation of judge and people. worth: how many ratings without the judge would be as "
        f"precise. In brackets: {interval_words(table, options)}."
    )
    tests = (
        " p: that the corrected difference is 0; below 0.05 where its 95% interval, of the same resamples, excludes 0. "
        "p min: the smallest p that so many resamples could give. Holm p: corrected for the pairs of the table; two "
        "models differ where it is below 0.05."
    )
    return note + tests if tested else note


def plan_table(frame: pl.DataFrame, metrics: Mapping[str, Metric]) -> Table:
    """Return the table of how many ratings are needed; without models where the numbers were stated."""
    plain = Metric(name="value", label="Value")

    def of(row: Row) -> Metric:
        return metrics.get(str(row["metric"]), plain)

    rows = frame.to_dicts()
    name = [text_column("model", "model", is_name=True)] if any(row["model"] is not None for row in rows) else []
    columns = [
        *name,
        number_column("width", "width", of),
        number_column("sd", "sd", of),
        _rounded("r", "correlation"),
        _rounded("design effect", "design_effect"),
        count_column("pilot", "pilot"),
        count_column("scored", "n"),
        count_column("ratings needed", "labels"),
    ]
    return Table("plan", "How many ratings", columns, rows, frame)


def _rounded(head: str, key: str) -> Column:
    return Column(head, lambda row: Cell(UNDEFINED if row[key] is None else f"{row[key]:.2f}", value=row[key]))


def plan_note(level: float, fewest: int) -> str:
    """Return the sentences below a plan."""
    return (
        f"width: from end to end of the {100 * level:g}% interval of the corrected mean. sd: of the ratings. r: "
        "correlation of judge and people. A pilot says both only roughly: plan for a lower r. Rate at least "
        f"{fewest}, drawn at random by labels draw."
    )
