"""A collection as HTML: its size, its filters and its first records."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attune_data.display.html import page, table, tag

__all__ = ["collection_html"]

_SHOWN = 10


def collection_html(
    records: Sequence[Any], overview: Mapping[str, Callable[[Any], str]], summary: str, asked: str
) -> str:
    """Return a collection as a piece of HTML for a notebook.

    Parameters
    ----------
    records : sequence
        The records.
    overview : mapping
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
    shown = records[:_SHOWN]
    parts = [tag("p", f"Asked for: {asked}")] if asked else []
    if records:
        parts.append(table([[text(record) for text in overview.values()] for record in shown], head=[*overview]))
    if len(records) > len(shown):
        parts.append(tag("div", f"and {len(records) - len(shown)} more", kind="quiet"))
    return page(summary, *parts)
