"""Tables as HTML: the name, the rows and the columns of each."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attune_data.display.html import Html, details, page, table, tag
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

__all__ = ["frames_html"]

_FEW = 8


def frames_html(frames: "Mapping[str, pl.DataFrame]", summary: str, asked: str) -> str:
    """Return frames by name as a piece of HTML for a notebook.

    Examples
    --------
    >>> import polars as pl
    >>> "&lt;b&gt;" in frames_html({"turns": pl.DataFrame({"<b>": [1]})}, "1 turn", "")
    True
    """
    parts = [tag("p", f"Asked for: {asked}")] if asked else []
    rows = [[name, f"{frame.height:,}", _columns(frame)] for name, frame in frames.items()]
    return page(f"Tables of {summary}", *parts, table(rows, head=["table", "rows", "columns"]))


def _columns(frame: "pl.DataFrame") -> Html:
    named = ", ".join(frame.columns[:_FEW])
    if frame.width <= _FEW:
        return tag("div", named)
    return details(f"{named} and {plural(frame.width - _FEW, 'column')} more", ", ".join(frame.columns[_FEW:]))
