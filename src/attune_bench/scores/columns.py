"""Columns of frames: each declared once, with its name, type, range, meaning, and how tables show it.

A frame's columns stand beside the function that computes them; the frame is built against them (`build_frame`), and the
list of columns, CSV, JSON, tables and pages read them. Here are the words that several frames share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from attune_data.references import Reference
from attune_data.text import misspelt

if TYPE_CHECKING:
    from attune_bench.scores.table import ScoreTable
    from attune_data.comparisons import Comparison

Type = Literal["text", "number", "whole number", "true or false", "object"]
Shown = Literal["metric", "plain", "rank", "square", "p-value", "files"]
"""How tables show a number: in the unit of the row's metric, as it is, with one digit, in the squared unit, or as p; or
not at all, as it is for files alone."""

DTYPES: Mapping[Type, type[pl.DataType]] = {
    "text": pl.String,
    "number": pl.Float64,
    "whole number": pl.Int64,
    "true or false": pl.Boolean,
}


class FrameColumn(NamedTuple):
    """A column of a frame.

    Attributes
    ----------
    description : str
        What it means.
    type : Type
        What it holds; `DTYPES` has the dtype.
    low, high : float, optional
        The range of its numbers; None where there is no bound.
    shown : Shown
        How tables show its numbers.
    signed : bool
        Whether tables show the sign of a positive number.
    head : str
        Its heading in tables; by default its name.
    """

    description: str
    type: Type = "number"
    low: float | None = None
    high: float | None = None
    shown: Shown = "metric"
    signed: bool = False
    head: str = ""


Columns = dict[str, FrameColumn]
"""The columns of a frame by name, in order."""


def text(description: str, head: str = "") -> FrameColumn:
    """Return a column of text."""
    return FrameColumn(description, "text", head=head)


def whole(description: str, low: float | None = 0) -> FrameColumn:
    """Return a column of whole numbers, counts as a rule."""
    return FrameColumn(description, "whole number", low)


def true_false(description: str) -> FrameColumn:
    """Return a column of true and false."""
    return FrameColumn(description, "true or false")


def share(description: str, shown: Shown = "plain") -> FrameColumn:
    """Return a column of numbers from 0 to 1."""
    return FrameColumn(description, low=0, high=1, shown=shown)


COMMON_COLUMNS: Columns = {
    "model": text("The model; `human/...` is a person who answered, `baseline/...` a baseline."),
    "model_a": text("The first model of the pair.", "A"),
    "model_b": text("The second model of the pair.", "B"),
    "condition": text(
        "How the model was asked; empty where a benchmark has one way only. Commands call it what the benchmark does, "
        "such as `mode`."
    ),
    "metric": text("The metric, by its name in files of scores."),
    "unit": text("What is scored once: a conversation, a scenario, a question."),
    "cluster": text(
        "What the unit belongs to with others, such as the participant of several conversations; empty where each unit "
        "stands alone."
    ),
    "stratum": text("The part of the units: a value of the trait; of comparisons also `overall`, all units."),
    "value": FrameColumn(
        "The value, in the unit of the metric; reports may print a multiple, such as percent. Empty where it is not "
        "defined."
    ),
    "low": FrameColumn("Lower end of the interval, by default of 95%; empty where there is none."),
    "high": FrameColumn("Upper end of the interval; empty where there is none."),
    "n": whole("How many units the value rests on."),
    "clusters": whole("How many clusters, such as participants, these units come from."),
    "coverage": share(
        "Share of the questions that the model answered, the least where a metric has several tasks; of a metric that "
        "asks none, the share of all units that have a value. Empty where their number is not known."
    ),
    "excluded": whole("How many other units the model was run on that have no value."),
    "difference": FrameColumn("A minus B, in the unit of the metric, on the units of both.", signed=True),
    "p": share("p-value of the test that exchanges the two sides within each cluster, without correction.", "p-value"),
    "p_min": share(
        "The smallest p-value that this test could have given; few clusters cannot give a small one.", "p-value"
    ),
    "p_holm": share("p-value with Holm's correction for all tests of the family.", "p-value")._replace(head="Holm p"),
    "significant": true_false("Whether the corrected p-value is below 0.05.")._replace(head="differ"),
    "mde": FrameColumn(
        "Minimum detectable effect: the smallest true difference that such a comparison finds with 80% power, before "
        "correction. Empty where no result could be significant.",
        low=0,
    ),
    "rank": FrameColumn("Rank, 1 is the best; ties share their mean rank.", low=1, shown="rank"),
    "mark": text("`few`: fewer than 20 clusters. `too few`: fewer than 5, no interval."),
    "reason": text("Why a value or an interval is missing; empty where nothing is."),
    "signature": text("The line to quote: every setting of the analysis, so that somebody else can repeat it."),
    "models": whole("How many models the value rests on."),
    "repeats": whole("How many times the model was asked."),
    "letter": text("The letter of a choice."),
}


def columns(names: str, **own: str | FrameColumn) -> Columns:
    """Return columns by their names, in order: common columns, and the frame's own.

    Parameters
    ----------
    names : str
        Names, with blanks between them.
    **own : str or FrameColumn
        By name the columns that are not common, or mean something else here. A text is a new description of the
        common column of this name, or the description of a number.

    Raises
    ------
    KeyError
        Where a column is neither common nor given.

    Examples
    --------
    >>> found = columns("model rate n", rate="Wins per comparison.", n="How many units both have.")
    >>> found["rate"].type, found["model"].type, found["n"].type
    ('number', 'text', 'whole number')
    """
    if unused := own.keys() - names.split():
        raise KeyError(f"no such columns: {', '.join(sorted(unused))}")
    described = {
        name: COMMON_COLUMNS.get(name, FrameColumn(""))._replace(description=one) if isinstance(one, str) else one
        for name, one in own.items()
    }
    return {name: described.get(name) or COMMON_COLUMNS[name] for name in names.split()}


def build_frame(columns: Columns, rows: Sequence[Any]) -> pl.DataFrame:
    """Return rows as a frame of declared columns.

    Parameters
    ----------
    columns : mapping of str to FrameColumn
        The columns, which give names, order and dtypes.
    rows : sequence of sequence, or of mapping
        The values of each row, in the order of the columns or by their names.

    Examples
    --------
    >>> dict(build_frame(columns("model rank"), [("a", 1), ("b", 2)]).schema)
    {'model': String, 'rank': Float64}
    """
    schema = {name: DTYPES[column.type] for name, column in columns.items()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def undeclared(dtype: pl.DataType) -> FrameColumn:
    """Return a column that nothing declares, of the type that holds such values."""
    return FrameColumn("", next((kind for kind, own in DTYPES.items() if dtype == own), "text"))


class Frame(NamedTuple):
    """A frame: where it comes from, what a row is, its columns in order; some are there on request only."""

    origin: str
    row: str
    columns: Columns


def said_by_condition(scores: "ScoreTable", frame: pl.DataFrame, say: Callable[[pl.DataFrame], str]) -> str:
    """Return what `say` gives of the rows of each condition, with the condition where there are several.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> scores = Scores.from_table(pl.DataFrame({"model": "m", "unit": "u", "metric": "hit", "value": [1.0]}))
    >>> said_by_condition(scores, pl.DataFrame({"condition": ["x", "y", "y"]}), lambda rows: f"{rows.height}.")
    'condition x: 1. condition y: 2.'
    """
    several, said = frame["condition"].n_unique() > 1, []
    for (condition,), rows in frame.group_by("condition", maintain_order=True):
        if text := say(rows):
            said.append(f"{scores.provenance.condition} {condition}: {text}" if several else text)
    return " ".join(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """An analysis, what it needs, and what a report says of it.

    Attributes
    ----------
    function : callable
        ``function(scores, **needs, **options)``, which gives a frame.
    title : str
        Heading.
    note : str
        What the numbers are, in a sentence or two.
    exchanged : str
        For which tests p is corrected, where it is of the two sides of a pair exchanged within clusters.
    metrics : tuple of str, optional
        What it is about where no other metrics are asked for; None where that is its own affair.
    takes_metrics : bool
        Whether other metrics can be asked for.
    needs : tuple of {"data", "results"}
        The keywords it takes beside the scores: the reference data, what was scored.
    rows_need : str
        What scores must have for the frame to have a row.
    example : str
        Where a reader finds scores to try it on that allow it.
    estimate : str
        The column that the interval from ``low`` to ``high`` belongs to; where empty, reports show the two ends in
        columns of their own.
    by : tuple of str
        Columns that reports make tables by, beside ``condition``, ``reference`` and ``metric``.
    by_metric : bool
        Whether reports make a table for each metric; otherwise the metric is a column.
    by_formula : bool
        Whether its intervals are by formula, whatever interval is asked for.
    finding : callable, optional
        From the scores and the frame to what they show, in a sentence or two.
    figure : Reference, optional
        ``figure(scores, rows)`` gives what `attune_bench.report.figures.of_analysis` draws of the rows of one condition
        and metric: `attune_bench.report.drawing.Cells` or `attune_bench.report.plots.RowPlot`.
    row : str
        What a row of the frame is.
    columns : mapping of str to FrameColumn
        Its columns in order, which `build_frame` made the frame of.
    """

    function: Callable[..., pl.DataFrame]
    title: str
    note: str
    exchanged: str = ""
    metrics: tuple[str, ...] | None = None
    takes_metrics: bool = True
    needs: tuple[Literal["data", "results"], ...] = ()
    rows_need: str = "scores of at least one model"
    example: str = ""
    estimate: str = ""
    by: tuple[str, ...] = ()
    by_metric: bool = True
    by_formula: bool = False
    finding: Callable[[Any, pl.DataFrame], str] | None = None
    figure: Reference = None
    row: str = ""
    columns: Columns = field(default_factory=dict)


def misspelt_columns(comparisons: "Sequence[Comparison]") -> list[str]:
    """Return questions about columns that are nearly called as one that no comparison has."""
    given = {name for one in comparisons for name in one.model_fields_set}
    known = type(comparisons[0]).model_fields
    return [f"column {name} is read as a trait of units; did you mean {near}?" for name, near in misspelt(given, known)]
