"""The tables of comparisons and subgroups: long frames as text in 100 columns, Markdown, CSV or JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING, Any

from attune_bench.report.text import FORMATS, WIDTH, Format, escaped, markdown_table
from attune_data.text import grid, printable, shortened, width

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Column", "Row", "Section", "StatsTable", "interval", "number", "p_value", "render", "sizes"]

_NAME_WIDTH = 26

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, and the cell of a row of the frame; `is_name` where it may be cut to fit."""

    head: str
    cell: Callable[[Row], str]
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a heading."""

    title: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class StatsTable:
    """What a command prints.

    Attributes
    ----------
    key : str
        Name of the rows in JSON.
    frame : polars.DataFrame
        Every number, one row each.
    columns : sequence of Column
        What the text shows of a row; why an interval is missing becomes a footnote.
    sections : sequence of Section
        The rows, in parts.
    notes : sequence of str
        Sentences below the tables.
    signature : str, optional
        The line to quote; None where the text of another table below it has it.
    metadata : mapping
        Further keys of JSON's ``metadata``.
    extra : mapping of str to frame
        Further frames of JSON, by key.
    """

    key: str
    frame: "pl.DataFrame"
    columns: Sequence[Column]
    sections: Sequence[Section]
    notes: Sequence[str]
    signature: str | None
    metadata: Mapping[str, Any]
    extra: "Mapping[str, pl.DataFrame]" = field(default_factory=dict)


def render(table: StatsTable, *, format: Format = "table") -> str:  # noqa: A002
    """Return a table as text, without a final newline.

    Raises
    ------
    ValueError
        Where there is no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    if format == "json":
        metadata = {"signature": table.signature, **table.metadata, "notes": list(table.notes)}
        frames = {table.key: table.frame, **table.extra}
        return json.dumps({"metadata": metadata, **{key: frame.to_dicts() for key, frame in frames.items()}}, indent=2)
    if format == "csv":
        import polars as pl

        return table.frame.with_columns(signature=pl.lit(table.signature)).write_csv().rstrip("\n")
    reasons = list(dict.fromkeys(row["reason"] for section in table.sections for row in section.rows if row["reason"]))
    notes = [f"[{number}] {reason}." for number, reason in enumerate(reasons, start=1)]
    body = [
        (section.title, [[printable(column.cell(row)) for column in table.columns] + _mark(row, reasons)
                         for row in section.rows])
        for section in table.sections
    ]  # fmt: skip
    head = [column.head for column in table.columns] + ([""] if reasons else [])
    if format == "markdown":
        blocks = [markdown_table(printable(title), head, rows) for title, rows in body]
        signature = [f"`{table.signature}`"] if table.signature else []
        return "\n\n".join([*blocks, *map(escaped, map(printable, [*notes, *table.notes])), *signature])
    legend, body = _cut(table.columns, head, body)
    blocks = [f"{fill(printable(title), WIDTH)}\n{grid(head, rows)}" for title, rows in body]
    # A signature is one word, for copying: it is never broken.
    signature = [table.signature] if table.signature else []
    return "\n\n".join(
        [*legend, *blocks, *(fill(printable(note), WIDTH) for note in [*notes, *table.notes]), *signature]
    )


def _mark(row: Row, reasons: Sequence[str]) -> list[str]:
    if not reasons:
        return []
    return [f"[{reasons.index(row['reason']) + 1}]" if row["reason"] else ""]


Body = list[tuple[str, list[list[str]]]]


def _cut(columns: Sequence[Column], head: list[str], body: Body) -> tuple[list[str], Body]:
    """Cut names where the tables would be too wide; each gets a number, since names may differ only where they are cut.

    Returns the legend, a block of lines or none, and the tables.
    """
    widest = max((width(line) for _, rows in body for line in grid(head, rows).splitlines()), default=0)
    if widest <= WIDTH:
        return [], body
    places = [place for place, column in enumerate(columns) if column.is_name]
    names = list(dict.fromkeys(row[place] for _, rows in body for row in rows for place in places))
    spare = WIDTH - widest + sum(max(width(row[place]) for _, rows in body for row in rows) for place in places)
    room = max(min(spare // len(places), _NAME_WIDTH), 8)
    short = {name: shortened(f"{number}. {name}", room) for number, name in enumerate(names, start=1)}
    legend = "\n".join(fill(f"{number}. {name}", WIDTH) for number, name in enumerate(names, start=1))
    cut = [
        (title, [[short[cell] if place in places else cell for place, cell in enumerate(row)] for row in rows])
        for title, rows in body
    ]
    return [legend], cut


def number(value: float | None, metric: str, *, signed: bool = False) -> str:
    """Return a value with the digits that its metric is reported with; ``-`` where there is none."""
    if value is None:
        return "-"
    digits = 2 if metric in {"composite_score", "equal_weight_composite"} else 3
    # Adding 0 turns a rounded -0.0 into 0.0.
    return f"{round(value, digits) + 0.0:{'+' if signed else ''}.{digits}f}"


def interval(low: float | None, high: float | None, metric: str, *, signed: bool = False) -> str:
    """Return the two ends of an interval; ``-`` where there is none."""
    if low is None:
        return "-"
    return f"[{number(low, metric, signed=signed)}, {number(high, metric, signed=signed)}]"


def sizes(row: Row) -> str:
    """Return the number of conversations, and that of participants."""
    return f"{row['n']} ({row['participants']})"


def p_value(value: float | None) -> str:
    """Return a p-value with 4 digits, never as 0; ``-`` where there is none."""
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"
