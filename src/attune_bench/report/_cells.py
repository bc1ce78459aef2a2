"""Cells of the page's tables: what is printed, and what a column is sorted by."""

from collections.abc import Mapping
from typing import Any

from attune_bench._scenario_commands import hundred, hundreds, point
from attune_bench.report._page import Cell
from attune_bench.stats_tables import interval, number, p_value

__all__ = ["count_cell", "hundred_cell", "number_cell", "p_cell", "point_cell", "score_cell", "sizes_cell"]


def score_cell(row: Mapping[str, Any], key: str, metric: str, *, ends: tuple[str, str] = ("low", "high")) -> Cell:
    """Return the cell of a score with its interval below it."""
    low, high = (row[end] for end in ends)
    signed = key == "difference"
    small = "" if low is None else interval(low, high, metric, signed=signed)
    return number_cell(row[key], metric, small, signed=signed)


def number_cell(value: float | None, metric: str, small: str = "", *, signed: bool = False) -> Cell:
    """Return the cell of a number, sorted by what is printed: the page holds no digit beyond it."""
    text = number(value, metric, signed=signed)
    return Cell(text, small, None if value is None else float(text))


def p_cell(value: float | None) -> Cell:
    """Return the cell of a p-value."""
    return Cell(p_value(value), value=None if value is None else round(value, 4))


def sizes_cell(row: Mapping[str, Any]) -> Cell:
    """Return the cell of the numbers of conversations and participants."""
    return Cell(str(row["n"]), f"({row['participants']}){' few' if row.get('mark') == 'few' else ''}", row["n"])


def count_cell(value: int) -> Cell:
    """Return the cell of a count."""
    return Cell(str(value), value=value)


def point_cell(value: float | None) -> Cell:
    """Return the cell of a number with one decimal."""
    return Cell(text := point(value), value=None if value is None else float(text))


def hundred_cell(
    value: float | None, low: float | None = None, high: float | None = None, *, signed: bool = False, more: str = ""
) -> Cell:
    """Return the cell of 100 times a value, with its interval, and what more there is to say, below it."""
    text = hundred(value, signed=signed)
    ends = "" if low is None else hundreds(low, high, signed=signed)
    return Cell(text, " ".join(filter(None, (ends, more))), None if value is None else float(text))
