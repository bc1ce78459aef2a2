"""States of a simulated person, 0-100, that move with every reply: their steps as columns, and a rule on them."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from attune_data.columns import Column, Columns
from attune_data.repair import IssueCollector

if TYPE_CHECKING:
    import polars as pl

_MOMENTS = {"before": "before, 0-100", "delta": "after less before, -100 to 100", "after": "after, 0-100"}


def step_columns(axis: str, paths: Iterable[Sequence[int | None]]) -> Columns:
    """Return before, change and after of every step of every path of states.

    Examples
    --------
    >>> step_columns("anger", [[40, 50, 45]])
    {'anger_before': [40, 50], 'anger_delta': [10, -5], 'anger_after': [50, 45]}
    """
    steps = [step for path in paths for step in pairwise(path)]
    return {
        f"{axis}_before": [before for before, _ in steps],
        f"{axis}_delta": [None if before is None or after is None else after - before for before, after in steps],
        f"{axis}_after": [after for _, after in steps],
    }


def step_dtypes(axes: Iterable[str]) -> "dict[str, pl.DataType]":
    """Return the columns of `step_columns` and their dtypes."""
    import polars as pl

    return {f"{axis}_{moment}": pl.Int8() for axis in axes for moment in _MOMENTS}


def step_meanings(axes: Iterable[str]) -> dict[str, Column]:
    """Return what the columns of `step_columns` mean."""
    return {
        f"{axis}_{moment}": Column(
            f"{axis.title()} {words}.",
            null=True,
            low=-100 if moment == "delta" else 0,
            high=100,
            source="computed of the states in the history",
        )
        for axis in axes
        for moment, words in _MOMENTS.items()
    }


def check_change(step: tuple[int | None, int | None, int | None], path: str, findings: IssueCollector) -> None:
    """Report a recorded change that does not lead from the state before to the one after, within 0-100."""
    before, delta, after = step
    if before is None or delta is None or after is None:
        return
    if min(max(before + delta, 0), 100) != after:
        message = f"the state went from {before} to {after}"
        findings.add(path, "state-change", "warning", delta, message, "kept; the states count")
