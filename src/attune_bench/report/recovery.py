"""The section of a page on the recovery of the state, of any benchmark that records states."""

from functools import partial

import polars as pl

from attune_bench.analyses.recovery import WITHIN
from attune_bench.report import drawing
from attune_bench.report.columns import Section
from attune_bench.report.figures import estimate
from attune_bench.report.page_scores import PageScores
from attune_bench.report.plots import PlotRow, RowPlot, axis_of
from attune_bench.report.sections import drawn_section
from attune_bench.scores.table import ScoreTable
from attune_data.text import plural
from attune_metrics.metric import Metric

_SHARE = Metric(name="back", label="back", low=0, high=1)


def recovery_section(page: PageScores, frame: pl.DataFrame) -> Section:
    """Return the section of what `attune_bench.analyses.recovery.recovery_of_paths` gives of the scores of a page."""
    entry = page.analyses["state_recovery"]
    found = page.in_order(page.hide_small_cells(frame))
    caption = (
        f"Share of the falls after which the state is as good as before within {WITHIN} replies, with its interval. "
        "Conversations that end before are censored."
    )
    return drawn_section(
        page, entry.title, found, "back", caption, partial(recovery_plot, page.table), rows_need=entry.rows_need,
        finding=_finding,
    )  # fmt: skip


def _finding(rows: pl.DataFrame) -> str:
    """Say which model brings the state back least often on any axis; without a test."""
    least = min(rows.to_dicts(), key=lambda row: row["back"])
    return (
        f"Within {plural(WITHIN, 'reply', 'replies')}, {least['model']} brings {least['axis']} back after "
        f"{least['back']:.0%} of its falls"
    )


def recovery_plot(table: ScoreTable, rows: pl.DataFrame) -> RowPlot:
    """Return the share of falls after which the state was back, for each model, an axis beside the other."""
    axes = list(dict.fromkeys(rows["axis"]))
    models = list(dict.fromkeys(rows["model"]))
    marks = {}
    for row in drawing.rows_of(rows, "back"):
        falls = f"{plural(row['falls'], 'fall')} in {plural(row['n'], table.provenance.unit)}"
        said = f"{row['model']}, {row['axis']}: {drawing.shown(row, 'back', _SHARE)}, {falls}"
        marks[row["model"], row["axis"]] = estimate(row | {"text": said}, "back")
    drawn = [
        PlotRow(name=model, marks=[[marks[model, axis]] if (model, axis) in marks else [] for axis in axes])
        for model in models
    ]
    held = [axis_of([0, 1], _SHARE, f"{axis} back in {WITHIN}") for axis in axes]
    return RowPlot(rows=drawn, axes=held, numbers=drawing.numbered(table, rows.to_dicts(), "model"))
