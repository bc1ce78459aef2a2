"""The words of columns of frames: what a name means wherever it stands, and columns made of such names.

`attune_bench.frames` has the frames of any scores. An analysis has its own in `attune_bench.analyses.Analysis.columns`.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

__all__ = ["FrameColumn", "columns", "share", "text", "true_false", "whole"]

Type = Literal["text", "number", "whole number", "true or false", "object"]


class FrameColumn(NamedTuple):
    """A column of a frame: what it means, its type, and the range of its numbers, None where there is no bound."""

    description: str
    type: Type = "number"
    low: float | None = None
    high: float | None = None


def text(description: str) -> FrameColumn:
    """Return a column of text."""
    return FrameColumn(description, "text")


def whole(description: str, low: float | None = 0) -> FrameColumn:
    """Return a column of whole numbers, counts as a rule."""
    return FrameColumn(description, "whole number", low)


def true_false(description: str) -> FrameColumn:
    """Return a column of true and false."""
    return FrameColumn(description, "true or false")


def share(description: str) -> FrameColumn:
    """Return a column of numbers from 0 to 1."""
    return FrameColumn(description, low=0, high=1)


_COMMON: Mapping[str, FrameColumn] = {
    "model": text("The model; `human/...` is a person who answered, `baseline/...` a baseline."),
    "model_a": text("The first model of the pair."),
    "model_b": text("The second model of the pair."),
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
    "difference": FrameColumn("A minus B, in the unit of the metric, on the units of both."),
    "p": share("p-value of the test that exchanges the two sides within each cluster, without correction."),
    "p_min": share("The smallest p-value that this test could have given; few clusters cannot give a small one."),
    "p_holm": share("p-value with Holm's correction for all tests of the family."),
    "significant": true_false("Whether the corrected p-value is below 0.05."),
    "mde": FrameColumn(
        "Minimum detectable effect: the smallest true difference that such a comparison finds with 80% power, before "
        "correction. Empty where no result could be significant.",
        low=0,
    ),
    "rank": FrameColumn("Rank, 1 is the best; ties share their mean rank.", low=1),
    "mark": text("`few`: fewer than 20 clusters. `too few`: fewer than 5, no interval."),
    "reason": text("Why a value or an interval is missing; empty where nothing is."),
    "signature": text("The line to quote: every setting of the analysis, so that somebody else can repeat it."),
    "models": whole("How many models the value rests on."),
    "repeats": whole("How many times the model was asked."),
    "letter": text("The letter of a choice."),
}


def columns(names: str, **own: str | FrameColumn) -> dict[str, FrameColumn]:
    """Return columns by their names, in order: the common ones, and those of a frame's own.

    Parameters
    ----------
    names : str
        Names, with blanks between them.
    **own : str or FrameColumn
        By name what is not common, or means something else here; a text describes a number.

    Raises
    ------
    KeyError
        Where a column is neither common nor given.

    Examples
    --------
    >>> found = columns("model rate", rate="Wins per comparison.")
    >>> found["rate"].type, found["model"].type
    ('number', 'text')
    """
    given = {name: FrameColumn(one) if isinstance(one, str) else one for name, one in own.items()}
    if unused := given.keys() - names.split():
        raise KeyError(f"no such columns: {', '.join(sorted(unused))}")
    return {name: given.get(name) or _COMMON[name] for name in names.split()}
