"""AttuneBench on a page: what follows a misread of a model, and what follows a mismatch of the original model."""

from collections.abc import Iterable, Sequence
from functools import partial

import polars as pl

from attune_bench.benchmarks.attunebench.after_mismatch import AFFECT, BEHAVIOURS, WANTED
from attune_bench.report import drawing
from attune_bench.report.columns import Part, Row, Section, counts_units, label, with_note
from attune_bench.report.figures import estimate
from attune_bench.report.findings import models_of, not_counted
from attune_bench.report.page_scores import PageScores
from attune_bench.report.plots import PlotRow, RowPlot, axis_of
from attune_bench.report.sections import drawn_section
from attune_bench.report.tables import analysis_note, analysis_tables
from attune_bench.scores.table import ScoreTable
from attune_data import Conversation
from attune_data.text import joined, plural
from attune_metrics.metric import Metric

_DIFFERENCE = Metric(name="difference", label="difference")


def _said(page: PageScores, name: str, frame: pl.DataFrame) -> Sequence[Part]:
    entry = page.analyses[name]
    return with_note(
        analysis_tables(page.table, name, entry, frame), analysis_note(page.table, entry, frame, page.chosen)
    )


def misread_section(page: PageScores, metric: str = "avg_emotion_f1") -> Section:
    """Return the section on misreads in a row, of one metric."""
    entry, table = page.analyses["serial_misreads"], page.table
    title = f"{entry.title}: {label(table.metric(metric))}"
    if why := counts_units(table, page.chosen):
        return Section(title, left_out=why)
    if table.detail is None:
        return Section(title, left_out="needs the records of the runs, which these scores lack")
    frame = page.analysis("serial_misreads", [metric])
    caption = (
        "Share of badly read turns after a badly read turn minus after a well read one, within conversations. Badly "
        "read: worse than the median of all models' turns."
    )
    return drawn_section(
        page, title, frame, "difference", caption, partial(misread_plot, table),
        finding=lambda rows: of_following(models_of(rows).iter_rows(named=True)) + not_counted(rows),
    )  # fmt: skip


def of_following(rows: Iterable[Row]) -> str:
    """Say which models misread turns in a row, by their own intervals.

    Examples
    --------
    >>> of_following([{"model": "a", "low": 0.1, "high": 0.3}, {"model": "b", "low": -0.1, "high": 0.2}])
    'a reads a turn badly more often after a bad turn than after a good one, by its own interval'
    >>> of_following([{"model": "b", "low": -0.1, "high": 0.2}])
    'No model reads a turn badly more often after a bad turn, or less often, than its interval allows for chance'
    """
    known = [row for row in rows if row["low"] is not None]
    found = []
    for word, off in (("more", [r for r in known if r["low"] > 0]), ("less", [r for r in known if r["high"] < 0])):
        if off:
            who = (
                joined([row["model"] for row in off])
                if len(off) < 4
                else f"{len(off)} of {plural(len(known), 'model')}"
            )
            verb, own = ("reads", "its own interval") if len(off) == 1 else ("read", "their own intervals")
            found.append(f"{who} {verb} a turn badly {word} often after a bad turn than after a good one, by {own}")
    nothing = (
        "No model reads a turn badly more often after a bad turn, or less often, than its interval allows for chance"
    )
    return "; ".join(found) or nothing


def misread_plot(table: ScoreTable, found: pl.DataFrame) -> RowPlot:
    """Return how much likelier a turn is read badly after a bad turn than after a good one, for each model."""
    rows = sorted(drawing.rows_of(found, "difference"), key=lambda row: (-row["difference"], row["model"]))
    for row in rows:
        row["text"] = (
            f"{row['model']}: {row['after_bad']:.2f} after a bad turn, {row['after_good']:.2f} after a good one, "
            f"{drawing.shown(row, 'difference', _DIFFERENCE, signed=True)}"
        )
    ends = [0, *(row[end] for row in rows for end in ("difference", "low", "high"))]
    return RowPlot(
        rows=[PlotRow(name=row["model"], marks=[[estimate(row, "difference")]]) for row in rows],
        axes=[axis_of(ends, _DIFFERENCE, "after a bad turn minus after a good one")], lines={"": 0},
        numbers=drawing.numbered(table, rows, "model"),
    )  # fmt: skip


def mismatch_section(page: PageScores, data: Sequence[Conversation] | None) -> Section:
    """Return the section on what follows an unwanted or a missing behaviour of the original model."""
    title = page.analyses["after_mismatch"].title
    if data is None:
        return Section(title, left_out="needs the conversations (--data)")
    if why := counts_units(page.table, page.chosen):
        return Section(title, left_out=why)
    frame = page.analysis("after_mismatch", [], data=data)
    of_turns = frame.filter(~pl.col("outcome").str.contains(AFFECT)).drop_nulls("difference")
    if of_turns.is_empty():
        return Section(title, left_out="no two turns of a conversation that differ in such behaviours")
    caption = "The next turn after such a behaviour minus after other turns of the conversation: an association."
    drawn = of_turns.with_columns(condition=pl.lit(page.table.conditions[0], dtype=pl.String))
    return drawn_section(
        page, title, drawn, "difference", caption, partial(mismatch_plot, page.table),
        others=_said(page, "after_mismatch", frame.filter(pl.col("outcome").str.contains(AFFECT))), finding=of_outcomes,
    )  # fmt: skip


def of_outcomes(rows: pl.DataFrame) -> str:
    """Say which outcomes of the next turn go with a behaviour, by their own intervals.

    Examples
    --------
    >>> known = {"behaviour": "missing", "outcome": "negative emotion", "low": 0.1, "high": 0.3}
    >>> of_outcomes(pl.DataFrame([known]))
    'After a missing behaviour, negative emotion is more frequent in the next turn, by its own interval'
    >>> of_outcomes(pl.DataFrame([known | {"low": -0.1}]))
    'No outcome of the next turn goes with such a behaviour by more than its interval allows for chance'
    """
    found = []
    for row in rows.drop_nulls("low").iter_rows(named=True):
        if row["low"] > 0 or row["high"] < 0:
            verb = "are" if row["outcome"] == WANTED else "is"
            how = "more" if row["low"] > 0 else "less"
            said = f"{row['outcome']} {verb} {how} frequent in the next turn"
            whose = "their" if row["outcome"] == WANTED else "its"
            found.append(f"after {BEHAVIOURS[row['behaviour']]} behaviour, {said}, by {whose} own interval")
    nothing = "no outcome of the next turn goes with such a behaviour by more than its interval allows for chance"
    text = "; ".join(found) or nothing
    return text[:1].upper() + text[1:]


def mismatch_plot(_: ScoreTable, found: pl.DataFrame) -> RowPlot:
    """Return how much an outcome of the next turn differs after an unwanted or a missing behaviour, in any mode."""
    of_turns = found.filter(~pl.col("outcome").str.contains(AFFECT))
    rows = drawing.rows_of(of_turns.with_columns(condition=pl.lit(None, dtype=pl.String)), "difference")
    drawn = []
    for row in rows:
        name = f"{row['behaviour']}, then {row['outcome']}"
        row |= {"model": name, "text": f"{name}: {drawing.shown(row, 'difference', _DIFFERENCE, signed=True)}"}
        drawn.append(PlotRow(name=name, marks=[[estimate(row, "difference")]]))
    ends = [0, *(row[end] for row in rows for end in ("difference", "low", "high"))]
    return RowPlot(rows=drawn, axes=[axis_of(ends, _DIFFERENCE, "difference of shares")], lines={"": 0}, sentences=True)
