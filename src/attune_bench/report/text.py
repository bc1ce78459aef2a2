"""Tables of text in a number of columns: which names are cut, where a table goes on below, what is a footnote."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import isnan
from typing import Any, Literal, get_args

import polars as pl

from attune_bench.report.columns import PERSON, UNDEFINED, Cell, Row, Table
from attune_data.export import to_csv, to_markdown
from attune_data.text import WIDTH, Tone, cut_in_middle, grid, printable, toned, width, wrapped

__all__ = [
    "FORMATS",
    "Document",
    "Format",
    "TextTable",
    "json_content",
    "laid_out",
    "paragraph",
    "render",
    "strict",
    "text_tables",
]

_GAP = 2
_LEAST_NAME = {1: 24, 2: 16}  # columns of a name that is cut, by the number of names in a row
_LEAST_OF_ALL = 8
_LEAST_LABEL = 12
_MOST_KEYS = 3
_NEVER = 1_000_000
_TONED: dict[str, Tone] = dict.fromkeys(("Warning:", "MIXED:", "SYNTHETIC"), "warning")


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table as texts; `names` are the places of the columns that have names, of models for instance."""

    title: str
    head: list[str]
    rows: list[list[str]]
    tones: list[list[Tone]]
    names: list[int]
    heads_are_names: bool
    notes: list[str]

    @property
    def widths(self) -> list[int]:
        """How wide every column is."""
        return [max(width(cells[place]) for cells in (self.head, *self.rows)) for place in range(len(self.head))]

    @property
    def keys(self) -> int:
        """How many columns, from the first, say what a row is of: those to the last of the first that has names."""
        return max((place for place in self.names if place < _MOST_KEYS), default=0) + 1

    @property
    def marked(self) -> bool:
        """Whether the last column is of footnotes."""
        return len(self.head) > 2 and not self.head[-1]

    def widest_beside(self, widths: Sequence[int]) -> int:
        """Return what the widest column takes beside the keys, with that of footnotes where it is the last."""
        taken = [_GAP + one for one in widths[self.keys :]]
        if self.marked and len(taken) > 1:
            taken[-2:] = [sum(taken[-2:])]
        return max(taken, default=0)

    def named(self, names: Mapping[str, str]) -> "TextTable":
        """Return the table with other names."""
        rows = [[names[cell] if place in self.names else cell for place, cell in enumerate(row)] for row in self.rows]
        head = [self.head[0], *(names[name] for name in self.head[1:])] if self.heads_are_names else self.head
        return replace(self, head=head, rows=rows)

    def all_names(self) -> list[str]:
        """Return the names in it, from the top."""
        heads = self.head[1:] if self.heads_are_names else []
        return [*heads, *(row[place] for row in self.rows for place in self.names)]


def text_tables(tables: Sequence[Table]) -> tuple[list[TextTable], list[str]]:
    """Return tables as texts, and the footnotes: why rows have no interval, what a dash is."""
    reasons = list(dict.fromkeys(row["reason"] for table in tables for row in table.rows if row.get("reason")))
    found = []
    for table in (one for one in tables if one.columns or one.title):
        cells = [[column.cell(row) for column in table.columns] for row in table.rows]
        marked = any(row.get("reason") for row in table.rows)
        marks = [[_mark(row, reasons)] if marked else [] for row in table.rows]
        texts = [[*map(_shown, own), *mark] for own, mark in zip(cells, marks, strict=True)]
        tones: list[list[Tone]] = [[cell.tone for cell in own] + [""] * marked for own in cells]
        head = [printable(column.head) for column in table.columns] + ([""] if marked else [])
        names = [place for place, column in enumerate(table.columns) if column.is_name]
        of_heads = any(column.head_is_name for column in table.columns)
        notes = [printable(note) for note in table.notes]
        found.append(TextTable(printable(table.title), head, texts, tones, names, of_heads, notes))
    footnotes = [printable(f"[{place}] {reason}.") for place, reason in enumerate(reasons, start=1)]
    undefined = any(cell == UNDEFINED for one in found for row in one.rows for cell in row)
    return found, [*footnotes, *([f"{UNDEFINED}: undefined, or not known."] if undefined else [])]


def _shown(cell: Cell) -> str:
    return printable(f"{cell.text} {cell.small}".rstrip())


def _mark(row: Row, reasons: Sequence[str]) -> str:
    return f"[{reasons.index(row['reason']) + 1}]" if row.get("reason") else ""


def paragraph(text: str, columns: int, *, colours: bool = False) -> str:
    """Return text in lines that fit; words with a hyphen, such as names, are not cut."""
    filled = "\n".join(wrapped(text, columns))
    begin, blank, rest = filled.partition(" ")
    return f"{toned(begin, _TONED.get(begin, '') if colours else '')}{blank}{rest}"


def laid_out(
    tables: Sequence[TextTable], columns: int, *, numbers: Mapping[str, int], colours: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Return the legend of names, where some are cut, and the blocks of every table.

    Names are cut where more columns fit beside them, and all have numbers then, as cut names may be alike.

    Parameters
    ----------
    tables : sequence of TextTable
        From the top.
    columns : int
        How wide lines may be.
    numbers : mapping of str to int
        The numbers of names; others follow.
    colours : bool
        Whether for a terminal that shows colours.
    """
    rooms = [_room(one, columns) for one in tables]
    legend = ""
    if any(room is not None for room in rooms):
        numbered = _numbered({name: None for one in tables for name in one.all_names()}, numbers)
        wide = [one.named(numbered) for one in tables]  # A number takes room too.
        rooms = [_room(one, columns) for one in wide]
        # Perhaps so much that no cut helps any more.
        if fitting := [room for room in rooms if room is not None]:
            legend = "\n".join(numbered.values())  # Whole, for copying.
            short = {text: cut_in_middle(text, min(fitting)) for text in numbered.values()}
            tables = [one if room is None else one.named(short) for one, room in zip(wide, rooms, strict=True)]
    return [legend] if legend else [], [_blocks(one, columns, colours=colours) for one in tables]


def _numbered(names: Iterable[str], numbers: Mapping[str, int]) -> dict[str, str]:
    """Return names with their numbers, in the order of these."""
    given = {printable(name): number for name, number in numbers.items()}
    known = {name: given.get(name.removesuffix(PERSON).rstrip()) for name in names}
    found = {name: number for name, number in known.items() if number is not None}
    after = count(1 + max(numbers.values(), default=0))
    found |= {name: next(after) for name, number in known.items() if number is None}
    return {name: f"{number}. {name}" for name, number in sorted(found.items(), key=lambda item: item[1])}


def _room(table: TextTable, columns: int) -> int | None:
    """Return how wide names may be for a table to take the fewest blocks; None where they need no cut."""
    widest = max(map(width, table.all_names()), default=0)
    natural, keys = table.widths, table.keys
    cells = [max((width(row[place]) for row in table.rows), default=0) for place in range(len(natural))]

    def blocks(room: int) -> int:
        widths = [min(one, room) if place in table.names else one for place, one in enumerate(natural)]
        if table.heads_are_names:
            heads = (max(cell, min(one, room)) for cell, one in zip(cells[1:], natural[1:], strict=True))
            widths = [widths[0], *heads]
        beside = table.widest_beside(widths)
        fits = sum(widths[:keys]) + _GAP * (keys - 1) + beside <= columns
        return len(list(_parts(widths, keys, columns, marked=table.marked))) if fits else _NEVER

    least = _LEAST_NAME.get(len(table.names), min(_LEAST_NAME.values()))
    best, fewest = widest, blocks(widest) if natural else 1
    for room in range(widest - 1, _LEAST_OF_ALL - 1, -1) if fewest > 1 else ():
        # A name is cut to almost nothing only where a column would not fit at all otherwise.
        if (made := blocks(room)) < fewest and (room >= least or fewest == _NEVER):
            best, fewest = room, made
    return None if best == widest else best


def _parts(widths: Sequence[int], keys: int, columns: int, *, marked: bool) -> Iterator[range]:
    """Yield the places of the columns of each block, the keys apart: as many as fit, one at least.

    The last column of a table that is `marked` is of footnotes, and stays beside the one before it.
    """
    ends = [*range(keys + 1, len(widths) - 1), len(widths)] if marked else [*range(keys + 1, len(widths) + 1)]
    first = keys
    before = sum(widths[:keys]) + _GAP * (keys - 1)
    for end, after in zip(ends, [*ends[1:], None], strict=True):
        if after is None or before + sum(_GAP + one for one in widths[first:after]) > columns:
            yield range(first, end)
            first = end
    if not ends:
        yield range(0)


def _narrowed(table: TextTable, columns: int) -> TextTable:
    """Return the table with cells of several lines, where a column would not fit beside those of the keys."""
    widths, keys = table.widths, table.keys
    too_wide = sum(widths[:keys]) + _GAP * (keys - 1) + table.widest_beside(widths) - columns
    if too_wide <= 0:
        return table
    limits = [max(widths[0] - too_wide, _LEAST_LABEL), *widths[1:]]
    left = columns - sum(limits[:keys]) - _GAP * keys
    limits[keys:] = [min(one, max(left, _LEAST_LABEL)) for one in widths[keys:]]

    def narrow(cells: Sequence[str]) -> list[str]:
        return ["\n".join(wrapped(cell, limit)) for cell, limit in zip(cells, limits, strict=True)]

    return replace(table, head=narrow(table.head), rows=[narrow(row) for row in table.rows])


def _prose(columns: int) -> int:
    """Return how wide a paragraph is: lines that are longer read badly."""
    return min(columns, WIDTH)


def _continued(title: str, columns: int) -> str:
    """Return the title of a table that goes on below, on one line if what it is of is."""
    said = f"{title} (continued)" if title else ""
    return said if width(said) <= columns else f"{title.rpartition(': ')[0] or title} (continued)"


def _blocks(table: TextTable, columns: int, *, colours: bool) -> list[str]:
    """Return a table cut between columns into parts that fit, each with the columns of its keys, and its notes."""
    prose = _prose(columns)
    if not table.head:
        return [paragraph(table.title, prose, colours=colours)]
    table = _narrowed(table, columns)
    found = []
    for number, part in enumerate(_parts(table.widths, table.keys, columns, marked=table.marked)):
        places = [*range(table.keys), *part]
        head, *rows = [[cells[place] for place in places] for cells in (table.head, *table.rows)]
        tones = [[own[place] for place in places] for own in table.tones] if colours else []
        title = paragraph(_continued(table.title, prose) if number else table.title, prose)
        if colours:
            title = "\n".join(toned(line, "title") for line in title.split("\n"))
        found.append("\n".join(filter(None, [title, grid(head, rows, tones, left=table.names)])))
    return [*found, *(paragraph(note, prose, colours=colours) for note in table.notes)]


Format = Literal["table", "markdown", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


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
    warnings : sequence of str
        What the analysis warned of, below the notes; CSV has no place for notes and none for these.
    signature : str, optional
        The line to quote.
    metadata : mapping
        Further keys of JSON's ``metadata``.
    rename : mapping of str to str
        What columns of frames are called in CSV and JSON.
    numbers : mapping of str to int
        The numbers of names, where some are cut.
    """

    tables: Sequence[Table]
    head: str = ""
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    signature: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)


def render(
    document: Document,
    *,
    format: Format = "table",  # noqa: A002
    columns: int = WIDTH,
    colours: bool = False,
) -> str:
    """Return a document as text, without a final newline; a table for a terminal of some width, with its colours.

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
    return _markdown(document) if format == "markdown" else _text(document, columns, colours=colours)


def json_content(document: Document) -> dict[str, Any]:
    """Return what JSON says of a document: ``metadata``, then the rows of every frame under its key."""
    notes = [*(note for table in document.tables for note in table.notes), *document.notes, *document.warnings]
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


def _markdown(document: Document) -> str:
    tables, footnotes = text_tables(document.tables)
    blocks = [to_markdown(document.head)] if document.head else []
    for table in tables:
        lines = [table.head, ["---", *("---:" for _ in table.head[1:])], *table.rows] if table.head else []
        cells = "\n".join(f"| {' | '.join(map(to_markdown, line))} |" for line in lines)
        title = f"**{to_markdown(table.title)}**" if cells else to_markdown(table.title)
        blocks += [f"{title}\n\n{cells}".strip(), *map(to_markdown, table.notes)]
    signature = [f"`{document.signature}`"] if document.signature else []
    return "\n\n".join([*blocks, *map(to_markdown, [*footnotes, *document.notes, *document.warnings]), *signature])


def _text(document: Document, columns: int, *, colours: bool) -> str:
    tables, footnotes = text_tables(document.tables)
    legend, found = laid_out(tables, columns, numbers=document.numbers, colours=colours)
    notes = [*footnotes, *map(printable, [*document.notes, *document.warnings])]
    first, *others = [
        paragraph(text, min(columns, WIDTH), colours=colours) for text in (printable(document.head), *notes)
    ]
    # A signature is one word, for copying: it is never broken.
    signature = [document.signature] if document.signature else []
    blocks = [block for of_table in found for block in of_table]
    return "\n\n".join([*([first] if first else []), *legend, *blocks, *others, *signature])
