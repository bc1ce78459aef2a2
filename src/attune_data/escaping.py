"""Text of data within formats that would take it for something else: formulas in CSV, markup in Markdown."""

import json
import re
from typing import TYPE_CHECKING

from attune_data.text import printable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["flat", "from_csv_text", "to_csv", "to_csv_text", "to_markdown"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # some spreadsheets take full-width signs for formulas too
# A link, an image, a footnote and what one refers to need "](", "][" or "]:"; addresses become links of themselves.
_MARKUP = re.compile(
    r"""[\\`*|~$] | (?<![^\W_])_ | _(?![^\W_]) | \](?=[(\[:]) | <(?=[A-Za-z/!?]) | &(?=\#?\w+;) | :(?=//) | (?<=www)\.
        | ^[\#>] | ^[-+](?=\s)""",
    re.VERBOSE | re.IGNORECASE,
)


def to_csv_text(text: str) -> str:
    """Return a text as a cell of CSV: one that a spreadsheet would take for a formula begins with an apostrophe.

    A text that begins with apostrophes before such a formula gets one more, so that `from_csv_text` gives every text
    back. Numbers, negative ones too, stay as they are.

    Examples
    --------
    >>> to_csv_text("=1+1"), to_csv_text("'=1+1"), to_csv_text("-1.5"), to_csv_text("it's")
    ("'=1+1", "''=1+1", '-1.5', "it's")
    """
    return f"'{text}" if _is_formula(text.lstrip("'")) else text


def from_csv_text(text: str) -> str:
    """Return the text of a cell that `to_csv_text` wrote.

    Examples
    --------
    >>> from_csv_text("'=1+1"), from_csv_text("''=1+1"), from_csv_text("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return text[1:] if text.startswith("'") and _is_formula(text.lstrip("'")) else text


def _is_formula(text: str) -> bool:
    # Some spreadsheets leave out blanks before a formula.
    if text.startswith(("\t", "\r", "\n")):
        return True
    shown = text.strip()
    return shown.startswith(_FORMULA) and _NUMBER.fullmatch(shown) is None


def flat(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a frame in which each list is its JSON text.

    Examples
    --------
    >>> import polars as pl
    >>> flat(pl.DataFrame({"diagnoses": [["ADHD", "Anxiety"], [], None]}))["diagnoses"].to_list()
    ['["ADHD", "Anxiety"]', '[]', None]
    """
    import polars as pl

    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    texts = (
        [None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in frame[name].to_list()]
        for name in nested
    )
    return frame.with_columns(pl.Series(name, cells, pl.String) for name, cells in zip(nested, texts, strict=True))


def to_csv(frame: "pl.DataFrame") -> str:
    """Return a frame as CSV whose texts and names of columns are no formulas; a list is its JSON text.

    Examples
    --------
    >>> import polars as pl
    >>> print(to_csv(pl.DataFrame({"model": ["=cmd()", "a"], "difference": [-0.5, 1.0]})), end="")
    model,difference
    '=cmd(),-0.5
    a,1.0
    """
    import polars as pl

    frame = flat(frame)
    texts = frame.select(pl.col(pl.String, pl.Categorical, pl.Enum)).columns
    safe = [
        pl.Series(
            name, [text if text is None else to_csv_text(text) for text in frame[name].cast(pl.String)], pl.String
        )
        for name in texts
    ]
    return frame.with_columns(safe).rename(to_csv_text).write_csv()


def to_markdown(text: str) -> str:
    r"""Return text on one line that Markdown shows as it is: no markup, no HTML, no link, no end of a table's cell.

    Examples
    --------
    >>> print(to_markdown("*a*|<b>"), to_markdown("[a](http://b)"), to_markdown("avg_f1 [0.1, 0.2] <0.0001"))
    \*a\*\|&lt;b> [a\](http\://b) avg_f1 [0.1, 0.2] <0.0001
    """
    return _MARKUP.sub(lambda found: {"<": "&lt;", "&": "&amp;"}.get(found[0], f"\\{found[0]}"), printable(text))
