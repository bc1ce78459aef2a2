"""What an analysis is: its function, what it needs, and what a report says of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from attune_bench.glossary import FrameColumn

__all__ = ["Analysis"]


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
    estimate : str
        The column of the frame whose interval its columns ``low`` and ``high`` are; where empty, reports show these as
        columns of their own.
    signed : tuple of str
        Columns whose sign matters, so that reports print it.
    by : tuple of str
        Columns that reports make tables by, beside ``condition``, ``reference`` and ``metric``.
    heads : mapping of str to str
        By column its heading, where it is not the name.
    row : str
        What a row of the frame is.
    columns : mapping of str to FrameColumn
        What its columns mean, in order; see `attune_bench.glossary.columns`.
    """

    function: Callable[..., pl.DataFrame]
    title: str
    note: str
    exchanged: str = ""
    metrics: tuple[str, ...] | None = None
    takes_metrics: bool = True
    needs: tuple[Literal["data", "results"], ...] = ()
    rows_need: str = "scores of at least one model"
    estimate: str = ""
    signed: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    row: str = ""
    columns: Mapping[str, FrameColumn] = field(default_factory=dict)
