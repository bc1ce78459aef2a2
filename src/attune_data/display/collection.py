"""A collection as HTML: its size, its filters and its first records; and as a list of its records."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attune_data.display.html import page, table, tag
from attune_data.text import printable, shortened, width

__all__ = ["collection_html", "collection_text"]

_SHOWN, _COLUMNS = 10, 7
_CELL, _LONGEST = 30, 120


def collection_html(records: Sequence[Any], shown: Mapping[str, Callable[[Any], str]], summary: str, asked: str) -> str:
    """Return a collection as a piece of HTML for a notebook.

    Parameters
    ----------
    records : sequence
        The records.
    shown : mapping
        The columns of the table of the first records: from heading to the text of a record.
    summary : str
        How many of what there are, and issues.
    asked : str
        What was asked for to come here.

    Examples
    --------
    >>> "&lt;b&gt;" in collection_html(["<b>"], {"id": str}, "1 record", "")
    True
    """
    first = records[:_SHOWN]
    parts = [tag("p", f"Asked for: {asked}")] if asked else []
    if records:
        cells = [[_cell(text(record)) for record in first] for text in list(shown.values())[:_COLUMNS]]
        parts.append(table([list(row) for row in zip(*cells, strict=True)], head=list(shown)[:_COLUMNS]))
    if len(records) > len(first):
        parts.append(tag("div", f"and {len(records) - len(first)} more", kind="quiet"))
    return page(summary, *parts)


def collection_text(records: Sequence[Any], shown: Mapping[str, Callable[[Any], str]], columns: int) -> str:
    """Return a line a record: its whole id, then what fits the width and is not in the id.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> runs = load_runs("demo")
    >>> print(collection_text(runs[:1], runs.kind.shown, 80))
    id                                                                turns
    4efd4f90-903b-4d76-96bd-e0f73f874014/synthetic/attentive/default  5
    """
    ids = [printable(record.id) for record in records]
    lines = _padded(["id", *ids])
    for heading, text in shown.items():
        cells = [printable(" ".join(text(record).split())) for record in records]
        if heading == "id" or all(f"/{cell}/" in f"/{name}/" for cell, name in zip(cells, ids, strict=True)):
            continue
        column = _padded([heading, *(shortened(cell, _CELL) for cell in cells)])
        wider = [f"{line}  {cell}" for line, cell in zip(lines, column, strict=True)]
        if width(wider[0]) > columns:
            break
        lines = wider
    return "\n".join(line.rstrip() for line in lines)


def _cell(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _padded(cells: Sequence[str]) -> list[str]:
    widest = max(map(width, cells))
    return [cell + " " * (widest - width(cell)) for cell in cells]
