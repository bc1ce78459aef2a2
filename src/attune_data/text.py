"""Text for terminals: what can be shown safely, how wide it is, and how it is wrapped and aligned."""

import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

__all__ = [
    "columns_of_terminal",
    "grid",
    "labelled",
    "lines",
    "listed",
    "meant",
    "plural",
    "printable",
    "ruled",
    "shortened",
    "width",
    "without_surrogates",
    "wrapped",
]

_WIDEST = 100
_LABEL = 14
# Emoji and several scripts are wrong without the zero-width joiner and non-joiner, and neither moves anything.
_JOINERS = "\u200c\u200d"


def printable(text: object) -> str:
    """Return text that cannot drive a terminal: control characters, line breaks, surrogates become U+FFFD."""
    return "".join(
        character if character.isprintable() or character in _JOINERS else "\ufffd" for character in str(text)
    )


def lines(text: str) -> list[str]:
    """Return the lines of a text, each printable, with plain blanks for tabs and for blanks of any other width."""
    return [
        printable("".join(" " if character.isspace() else character for character in line.expandtabs(4))).rstrip()
        for line in text.splitlines()
    ]


def wrapped(text: str, columns: int, *, hang: int = 0) -> list[str]:
    r"""Return the `lines` of a text cut between words, or within one that is too wide; indented lines stay so.

    What is cut off a line is indented by `hang` more columns.

    Examples
    --------
    >>> wrapped("one two three\n  four five", 8)
    ['one two', 'three', '  four', '  five']
    """
    found: list[str] = []
    for line in lines(text):
        current = indent = " " * min(len(line) - len(line.lstrip()), columns // 2)
        for word in line.split():
            for number, piece in enumerate(_pieces(word, columns - len(indent) - hang)):
                joined = current + " " * (number == 0 and current != indent) + piece
                if current.strip() and (number or width(joined) > columns):
                    found.append(current)
                    joined = indent + " " * hang + piece
                current = joined
        found.append(current.rstrip())
    return found


def _pieces(word: str, columns: int) -> Iterator[str]:
    """Yield a word, in pieces of one character at least where it is wider than the column."""
    piece = ""
    for character in word:
        if piece and width(piece + character) > columns:
            yield piece
            piece = ""
        piece += character
    yield piece


def columns_of_terminal() -> int:
    """Return the width to wrap at: that of the terminal, or of ``COLUMNS``, 100 at most and where there is none."""
    return max(40, min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST))


def width(text: str) -> int:
    """Return the number of columns that text takes: wide characters take two, combining ones none."""
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Fill text with blanks to a width, after it, or before it to align it right."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def shortened(text: str, columns: int) -> str:
    """Cut text to a width, with ``...`` at its end where something was cut."""
    if width(text) <= columns:
        return text
    while width(text) > columns - 3:
        text = text[:-1]
    return f"{text}..."


def plural(count: int, singular: str, several: str | None = None) -> str:
    """Return a count with its noun, for instance ``1 run``, ``2 runs``."""
    return f"{count:,} {singular if count == 1 else several or f'{singular}s'}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names with commas between them, with ``...`` for those beyond the first."""
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])


def meant(name: str, known: Collection[str]) -> str:
    """Return the question whether the nearest name is meant, or the first of those known where none is near.

    Examples
    --------
    >>> meant("categroy", ["category", "gender"]), meant("x", ["category", "gender"])
    ("did you mean 'category'?", 'expected one of category, gender')
    """
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"expected one of {listed([*known], 12) or 'none'}"


def grid(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table, its first column aligned left, the others right; a row of one cell is a heading within it."""
    full = [head, *body]
    widths = [max(width(cells[i]) for cells in full if i < len(cells)) for i in range(len(head))]
    rows = []
    for cells in full:
        others = [pad(cell, columns, right=True) for cell, columns in zip(cells[1:], widths[1:], strict=False)]
        rows.append("  ".join([pad(cells[0], widths[0]), *others]).rstrip())
    rows.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(rows)


def ruled(heading: str, columns: int) -> str:
    """Return a heading with a line after it, to a width."""
    return f"{heading} {'-' * (columns - width(heading) - 1)}"


def labelled(rows: Iterable[tuple[str, str]], columns: int, *, hanging: Collection[str] = ()) -> list[str]:
    """Return rows of a label and a wrapped value beside it; an empty value leaves the row out.

    Examples
    --------
    >>> labelled([("topic", "one two three"), ("none", "")], 28)
    ['  topic         one two', '                three']
    """
    found: list[str] = []
    for label, value in rows:
        if not value.strip():
            continue
        for number, line in enumerate(wrapped(value, columns - _LABEL - 2, hang=2 * (label in hanging))):
            found.append(f"  {pad('' if number else label, _LABEL)}{line}".rstrip())
    return found


def without_surrogates(value: Any) -> Any:
    """Replace halves of surrogate pairs in the texts of a parsed JSON value by U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value
