"""Tables as text in 100 columns, as Markdown, as CSV and as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from textwrap import wrap
from typing import Any, Literal, get_args

import polars as pl

from attune_bench.report.columns import Cell, Row, Table
from attune_data.escaping import to_csv, to_markdown
from attune_data.text import grid, printable, shortened, width

__all__ = ["FORMATS", "WIDTH", "Document", "Format", "json_content", "render", "strict"]

Format = Literal["table", "markdown", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
WIDTH = 100
_NAME_WIDTH, _LEAST_NAME_WIDTH = 30, 8


@dataclass(frozen=True, slots=True)
class Document:
    """What a command prints.

    Attributes
    ----------
    tables : sequence of Table
        From the top; CSV is of the first frame.
    head : str
        A sentence above all.
    notes : sequence of str
        Sentences below all.
    signature : str, optional
        The line to quote.
    metadata : mapping
        Further keys of JSON's ``metadata``.
    rename : mapping of str to str
        What columns of frames are called in CSV and JSON.
    """

    tables: Sequence[Table]
    head: str = ""
    notes: Sequence[str] = ()
    signature: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)


def render(document: Document, *, format: Format = "table") -> str:  # noqa: A002
    """Return a document as text, without a final newline.

    Raises
    ------
    ValueError
        Where there is no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    if format == "json":
        return json.dumps(json_content(document), indent=2)
    if format == "csv":
        frame = next(table.frame for table in document.tables if table.frame is not None)
        frame = frame.rename(document.rename, strict=False)
        if document.signature:
            frame = frame.with_columns(signature=pl.lit(document.signature))
        return to_csv(frame).rstrip("\n")
    return _markdown(document) if format == "markdown" else _text(document)


def json_content(document: Document) -> dict[str, Any]:
    """Return what JSON says of a document: ``metadata``, then the rows of every frame under its key."""
    notes = [*(note for table in document.tables for note in table.notes), *document.notes]
    metadata = {"signature": document.signature, **document.metadata, "notes": notes}
    rows = {
        table.key: strict(table.frame.rename(document.rename, strict=False).to_dicts())
        for table in document.tables
        if table.frame is not None
    }
    return {"metadata": metadata, **rows}


def strict(value: Any) -> Any:
    """Return a value that strict JSON can have: nan is null."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, list):
        return [strict(item) for item in value]
    return None if isinstance(value, float) and isnan(value) else value


@dataclass(frozen=True, slots=True)
class _Grid:
    """A table as texts; `names` are the places of the columns that may be cut."""

    title: str
    head: list[str]
    rows: list[list[str]]
    names: list[int]
    notes: list[str]


def _grids(document: Document) -> tuple[list[_Grid], list[str]]:
    """Return every table as texts, and the footnotes of what rows have no interval."""
    reasons = list(dict.fromkeys(row["reason"] for table in document.tables for row in table.rows if row.get("reason")))
    grids = []
    for table in (one for one in document.tables if one.columns or one.title):
        marked = any(row.get("reason") for row in table.rows)
        rows = [[_shown(column.cell(row)) for column in table.columns] for row in table.rows]
        if marked:
            rows = [[*cells, _mark(row, reasons)] for cells, row in zip(rows, table.rows, strict=True)]
        head = [printable(column.head) for column in table.columns] + ([""] if marked else [])
        names = [place for place, column in enumerate(table.columns) if column.is_name]
        grids.append(_Grid(printable(table.title), head, rows, names, [printable(note) for note in table.notes]))
    return grids, [printable(f"[{place}] {reason}.") for place, reason in enumerate(reasons, start=1)]


def _shown(cell: Cell) -> str:
    return printable(f"{cell.text} {cell.small}".rstrip())


def _mark(row: Row, reasons: Sequence[str]) -> str:
    return f"[{reasons.index(row['reason']) + 1}]" if row.get("reason") else ""


def _markdown(document: Document) -> str:
    grids, footnotes = _grids(document)
    blocks = [to_markdown(document.head)] if document.head else []
    for table in grids:
        lines = [table.head, ["---", *("---:" for _ in table.head[1:])], *table.rows] if table.head else []
        cells = "\n".join(f"| {' | '.join(map(to_markdown, line))} |" for line in lines)
        title = f"**{to_markdown(table.title)}**" if cells else to_markdown(table.title)
        blocks += [f"{title}\n\n{cells}".strip(), *map(to_markdown, table.notes)]
    signature = [f"`{document.signature}`"] if document.signature else []
    return "\n\n".join([*blocks, *map(to_markdown, [*footnotes, *document.notes]), *signature])


def _text(document: Document) -> str:
    grids, footnotes = _grids(document)
    legend, grids = _cut(grids)
    blocks = [_filled(printable(document.head))] if document.head else []
    blocks += legend
    for table in grids:
        if not table.head:
            blocks.append(_filled(table.title))
            continue
        parts = list(_fitting(table.head, table.rows))
        for place, (head, rows) in enumerate(parts):
            title = f"{table.title} (continued)" if place else table.title
            blocks.append(f"{_filled(title)}\n{grid(head, rows)}" if title else grid(head, rows))
        blocks += [_filled(note) for note in table.notes]
    # A signature is one word, for copying: it is never broken.
    signature = [document.signature] if document.signature else []
    notes = [*footnotes, *map(printable, document.notes)]
    return "\n\n".join([*blocks, *(_filled(note) for note in notes), *signature])


def _filled(text: str) -> str:
    """Return text in lines that fit; words with a hyphen, such as names, are not cut."""
    return "\n".join(wrap(text, WIDTH, break_on_hyphens=False))


def _cut(grids: list[_Grid]) -> tuple[list[str], list[_Grid]]:
    """Cut names where tables would be too wide; each gets a number, since names may differ only where they are cut.

    Returns the legend, a block of lines or none, and the tables.
    """
    room = {
        id(one): _room(one)
        for one in grids
        if one.names and max(map(width, grid(one.head, one.rows).splitlines())) > WIDTH
    }
    wide = [
        one
        for one in grids
        if id(one) in room and any(width(row[place]) > room[id(one)] for row in one.rows for place in one.names)
    ]
    names = list(dict.fromkeys(row[place] for one in wide for row in one.rows for place in one.names))
    cut = []
    for one in grids:
        if one not in wide:
            cut.append(one)
            continue
        short = {name: shortened(f"{number}. {name}", room[id(one)]) for number, name in enumerate(names, start=1)}
        rows = [[short[cell] if place in one.names else cell for place, cell in enumerate(row)] for row in one.rows]
        cut.append(_Grid(one.title, one.head, rows, one.names, one.notes))
    legend = "\n".join(_filled(f"{number}. {name}") for number, name in enumerate(names, start=1))
    return [legend] if legend else [], cut


def _room(table: _Grid) -> int:
    """Return how wide a name may be for the table to fit, or its parts where it has too many columns to fit whole."""
    widths = [max(width(row[place]) for row in [table.head, *table.rows]) for place in range(len(table.head))]
    others = [columns for place, columns in enumerate(widths) if place not in table.names]
    room = (WIDTH - sum(others) - 2 * (len(widths) - 1)) // len(table.names)
    if room < _LEAST_NAME_WIDTH and table.names == [0]:
        room = WIDTH - max(others, default=0) - 2
    return max(min(room, _NAME_WIDTH), _LEAST_NAME_WIDTH)


def _fitting(head: list[str], rows: list[list[str]]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Cut a table between columns into tables that fit, each with the first column."""
    widths = [2 + max(width(cells[place]) for cells in [head, *rows]) for place in range(len(head))]
    first = 1
    if len(head) < 2:
        yield head, rows
    while first < len(head):
        last, taken = first + 1, widths[0] + widths[first]
        while last < len(head) and taken + widths[last] - 2 <= WIDTH:
            taken += widths[last]
            last += 1
        yield [head[0], *head[first:last]], [[row[0], *row[first:last]] for row in rows]
        first = last
