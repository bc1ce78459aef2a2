"""The table of any analysis: its columns follow from the names and types of the frame's columns."""

from dataclasses import replace
from itertools import chain

import polars as pl

from attune_bench.analyses.analysis import Analysis
from attune_bench.report.columns import (
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
from attune_bench.report.tables import label
from attune_bench.report.words import drawn, in_words, interval_words, random_words
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.paired import enough_exchanges
from attune_metrics.metric import Metric

__all__ = ["analysis_note", "analysis_tables", "exchanges_of", "only_reason"]

_HEADS = {
    **dict.fromkeys(("model_a", "metric_a"), "A"),
    **dict.fromkeys(("model_b", "metric_b"), "B"),
    "p_holm": "Holm p",
    "significant": "differ",
    "value_reference": "reference",
}
_PLAIN = Metric(name="", label="")
# The title of a table says these instead of a column; pairs that share them are a family.
_HEADED = ("condition", "reference", "metric")


def analysis_note(scores: ScoreTable, analysis: Analysis, frame: pl.DataFrame, options: AnalysisOptions) -> str:
    """Return what the numbers of an analysis are, with the intervals that were asked for, in the scores' words."""
    notes = [in_words(scores, analysis.note)]
    if "low" in frame.columns:
        notes.append(f"In brackets: {interval_words(scores, options)}.")
    if analysis.exchanged:
        random = random_words(exchanges_of(analysis, frame, options.resamples), options)
        notes.append(
            f"p: exchanging the two sides within {drawn(scores, options)}s{random}. p min: the smallest possible p. "
            f"Holm: p corrected for {analysis.exchanged}."
        )
    return " ".join(notes)


def exchanges_of(analysis: Analysis, frame: pl.DataFrame, resamples: int) -> int:
    """Return how many random exchanges an analysis made: enough for its largest family; the resamples without tests."""
    if not analysis.exchanged:
        return resamples
    pairs = frame.group_by([name for name in _HEADED if name in frame.columns]).len()["len"]
    return enough_exchanges(max(pairs, default=0), resamples)


def only_reason(frame: pl.DataFrame, estimate: str) -> str | None:
    """Return why no row has an estimate, where all have one reason; None where any has one or reasons differ."""
    if estimate not in frame.columns or "reason" not in frame.columns or frame[estimate].count():
        return None
    reasons: list[str | None] = frame["reason"].unique().to_list()
    return reasons[0] if len(reasons) == 1 else None


def analysis_tables(scores: ScoreTable, key: str, analysis: Analysis, frame: pl.DataFrame) -> list[Table]:
    """Return the tables of an analysis, by metric, condition and `Analysis.by`; all numbers go with the first.

    Parameters
    ----------
    scores : ScoreTable
        What was analysed.
    key : str
        Name of the analysis.
    analysis : Analysis
        Its entry.
    frame : polars.DataFrame
        What its function gave.
    """
    if frame.is_empty():
        return [Table(key, f"Nothing to show: this needs {in_words(scores, analysis.rows_need)}.", (), (), frame)]
    if (why := only_reason(frame, analysis.estimate)) is not None:
        return [Table(key, f"Nothing to show: {why}.", (), (), frame)]
    headed = [name for name in dict.fromkeys((*_HEADED, *analysis.by)) if name in frame.columns]
    columns = _columns(scores, analysis, frame, headed)
    tables: list[Table] = []
    for values, rows in frame.group_by(headed, maintain_order=True) if headed else [((), frame)]:
        said = dict(zip(headed, values, strict=True))
        title = [in_words(scores, analysis.title)]
        if "metric" in said:
            title.append(label(scores.metrics[str(said["metric"])]))
        title += [str(said[name]) for name in analysis.by if name in said]
        if said.get("condition") is not None:
            against = f" against {said['reference']}" if "reference" in said else ""
            title.append(f"{scores.provenance.condition} {said['condition']}{against}")
        if "p_holm" in frame.columns:
            title.append(f"family of {rows['p'].count()}")
        tables.append(Table(key, ", ".join(title), columns, rows.to_dicts(), None if tables else frame))
    return tables


def _columns(scores: ScoreTable, analysis: Analysis, frame: pl.DataFrame, headed: list[str]) -> list[Column]:
    """Return the columns: an estimate with its interval in one, as are units and clusters."""

    def metric(row: Row) -> Metric:
        return scores.metrics[row["metric"]] if "metric" in row else _PLAIN

    def share(_: Row) -> Metric:
        return _PLAIN

    def variance(row: Row) -> Metric:
        return replace(metric(row), scale=metric(row).scale ** 2)

    def place(_: Row) -> Metric:
        return replace(_PLAIN, digits=1)

    of = {"rank": place, "variance": variance} | dict.fromkeys(("rate", "coverage", "same", "strength"), share)
    names = frame.columns
    heads = {**_HEADS, **analysis.heads}
    # What one cell shows beside an estimate or a number of units.
    beside = {analysis.estimate: ("low", "high"), "share": ("share_low", "share_high"), "n": ("clusters",)}
    joined = {name: also for name, also in beside.items() if {name, *also} <= {*names}}
    hidden = {*headed, "reason", "mark", *chain(*joined.values())}
    columns = []
    for name, kind in frame.schema.items():
        head = heads.get(name, name.replace("_", " "))
        signed = name in analysis.signed
        if name in hidden:
            continue
        if name in joined and name == analysis.estimate:
            columns.append(estimate_column(head, name, of.get(name, metric), signed=signed))
        elif name in joined and name == "share":
            columns.append(estimate_column(head, name, share, low="share_low", high="share_high"))
        elif name in {"p", "p_min", "p_holm"}:
            columns.append(p_column(head, name))
        elif name in joined and name == "n":
            columns.append(size_column())
        elif kind == pl.Boolean:
            columns.append(yes_column(head, name))
        elif kind.is_float():
            columns.append(number_column(head, name, of.get(name, metric), signed=signed))
        elif kind.is_integer():
            columns.append(count_column(head, name))
        else:
            columns.append(text_column(head, name, is_name=name.startswith(("model", "metric"))))
    return columns
