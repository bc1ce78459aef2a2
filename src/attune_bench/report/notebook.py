"""What notebooks display of scores and reports.

A notebook is saved with its output and forwarded as a page is: it hides what a page hides.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Self

from typing_extensions import Unpack

from attune_bench.report.answer import answers
from attune_bench.report.columns import Cell
from attune_bench.report.notes import provenance_line, standing_notes
from attune_bench.report.page_scores import PageScores
from attune_bench.report.privacy import few_groups, hides, shown_summary, without_few
from attune_bench.report.tables import board
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_data.issues import Html, page, table, tag
from attune_metrics.stats.bootstrap import STATISTICS


class Report(str):
    """A report as text or as a page of HTML, which a notebook displays.

    A text is displayed as its first sentences and its board. As on a page, values of few people are hidden, since
    notebooks are saved with what they display.
    """

    _shown: Callable[[], str]

    def __new__(cls, text: str, shown: Callable[[], str]) -> Self:
        """Return a text that is displayed as the HTML that `shown` returns."""
        made = super().__new__(cls, text)
        made._shown = shown
        return made

    def _repr_html_(self) -> str:
        return self._shown()


def framed(page: str) -> str:
    """Return a page of HTML in a frame, for a notebook."""
    return f'<iframe srcdoc="{escape(page)}" title="report" style="width: 100%; height: 75vh; border: 0"></iframe>'


def report_html(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> str:
    """Return the report as a piece of HTML for a notebook: the sentences of the page, and the board.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> shown = report_html(score(load("demo"), load_runs("demo")), resamples=200)
    >>> "synthetic/attentive has the highest Composite" in shown, "67.34" in shown
    (True, True)
    """
    few = few_groups(scores) if hides(scores, small_cells=False) else []
    shown = scores.keep(groups=[group for group in scores.groups if group not in few])
    asked = PageScores(table=shown, analyses={}, small_cells=False, options=options, only_sentences=True)
    return scores_html(scores, answers(asked) if shown.groups else (), **options)


_MODELS, _METRICS = 30, 5
_MANY = 100_000  # rows, above which 10,000 resamples would keep a reader waiting


def scores_html(scores: ScoreTable, answer: Sequence[str] = (), **options: Unpack[SamplingKeywords]) -> str:
    """Return scores as a piece of HTML for a notebook: the first metrics of the board, the best model first.

    `answer` has paragraphs that stand above.

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
    options.setdefault("resamples", 10_000 if scores.values.height <= _MANY else 1_000)
    found = shown_summary(scores, small_cells=False, metrics=metrics, **options)
    # Its order tells of the values.
    made = board(without_few(scores, small_cells=False), found, metrics, AnalysisOptions(**options))
    rows = [[_cell(column.cell(row)) for column in made.columns] for row in made.rows]
    beyond = [f"and {len(rows) - _MODELS} more rows"] if len(rows) > _MODELS else []
    others = len(scores.metrics) - len(metrics)
    more = [f"{others} more metrics: summary() has all, report() the whole report."] if others else []
    reasons = dict.fromkeys(row["reason"] for row in made.rows if row["reason"])
    below = [
        tag("div", note, class_="quiet") for note in (*beyond, *made.notes, *reasons, *standing_notes(scores), *more)
    ]
    above = [tag("p", text) for text in answer]
    return page(title, *above, about, table(rows[:_MODELS], head=[column.head for column in made.columns]), *below)


def _cell(cell: Cell) -> Html:
    return Html(tag("div", cell.text) + (tag("div", cell.small, class_="quiet") if cell.small else ""))
