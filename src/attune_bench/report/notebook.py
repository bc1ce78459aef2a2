"""Scores as a notebook shows them: the board with intervals.

A notebook is saved with what it showed, and is forwarded as a page is: it hides what a page hides.
"""

from attune_bench.report.columns import Cell
from attune_bench.report.provenance import provenance_line, standing_notes
from attune_bench.report.shown import shown_summary
from attune_bench.report.suppression import without_few
from attune_bench.report.tables import board
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import AnalysisOptions
from attune_data.issues import Html, page, table, tag
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = ["scores_html"]

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
    title, about = scores.provenance.title, tag("p", provenance_line(scores), kind="quiet")
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
    return page(title, about, table(rows[:_MODELS], head=head), *(tag("div", note, kind="quiet") for note in said))


def _cell(cell: Cell) -> Html:
    return Html(tag("div", cell.text) + (tag("div", cell.small, kind="quiet") if cell.small else ""))
