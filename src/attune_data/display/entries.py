"""A codebook as HTML: each of its tables, to be opened."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from attune_data.display.html import Html, details, page, table, tag

__all__ = ["entries_html"]

_LISTED = 12


def entries_html(title: str, tables: Mapping[str, Mapping[str, Any]], issues: Sequence[str] = ()) -> str:
    """Return tables of entries by name as a piece of HTML for a notebook.

    Examples
    --------
    >>> "&lt;b&gt;" in entries_html("Codebook", {"branches": {"managing": "<b>"}})
    True
    """
    found = [
        details(f"{name.replace('_', ' ')}, {len(entries)}", _entries(entries)) for name, entries in tables.items()
    ]
    noticed = [details(f"issues, {len(issues)}", tag("ul", *(tag("li", issue) for issue in issues)))] if issues else []
    return page(title, *found, *noticed)


def _entries(entries: Mapping[str, Any]) -> Html:
    first = next(iter(entries.values()), None)
    if not isinstance(first, BaseModel):
        return table([[name, _text(entry)] for name, entry in entries.items()])
    columns = list(type(first).model_fields)
    rows = [[_text(getattr(entry, column)) for column in columns] for entry in entries.values()]
    return table(rows, head=[column.replace("_", " ") for column in columns])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Collection) and not isinstance(value, str):
        items = [str(item) for item in (sorted(value) if isinstance(value, frozenset) else value)]
        separator = ", " if isinstance(value, frozenset) else "; "
        more = f"{separator}... ({len(items)})" if len(items) > _LISTED else ""
        return separator.join(items[:_LISTED]) + more
    return "" if value is None else str(value)
