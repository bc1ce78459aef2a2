"""Tables as text, as Markdown, as CSV and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Literal, get_args

import polars as pl

from attune_bench.report.columns import Table
from attune_bench.report.layout import laid_out, paragraph, text_tables
from attune_data.export import to_csv, to_markdown
from attune_data.text import WIDTH, printable

__all__ = ["FORMATS", "Document", "Format", "json_content", "render", "strict"]

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
