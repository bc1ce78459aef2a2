"""Text for terminals: what can be shown safely, how wide it is, and how it is wrapped and aligned."""

import os
import shutil
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TextIO

WIDTH = 100
"""Columns of text that goes to no terminal, and the most of a paragraph."""

Tone = Literal["", "title", "best", "yes", "no", "error", "warning", "note"]
"""What a piece of text is, which a terminal shows as a colour."""

_STYLES: dict[str, dict[str, Any]] = {
    "title": {"bold": True},
    "best": {"bold": True},
    "yes": {"fg": "green"},
    "no": {"dim": True},
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
    "note": {"fg": "cyan"},
}
_NARROWEST = 40
_SPELLING = 0.8  # how much alike a name and its misspelling are, of 1
_LABEL = 14
_WITHOUT_WIDTH = 10  # characters to a column at most
# Emoji and several scripts are wrong without the zero-width joiner and non-joiner, and neither moves anything.
_JOINERS = "\u200c\u200d"


def sanitize(text: object) -> str:
    """Return text that cannot drive a terminal: control characters, line breaks, surrogates become U+FFFD."""
    given = str(text)
    if given.isprintable():
        return given
    return "".join([one if one.isprintable() or one in _JOINERS else "\ufffd" for one in given])


def plain(text: str) -> str:
    """Return a text with its line breaks, each line printable, with plain blanks for tabs and any other blanks."""
    return "\n".join(
        sanitize("".join(" " if character.isspace() else character for character in line.expandtabs(4)))
        for line in text.splitlines()
    )


def lines(text: str) -> list[str]:
    """Return the lines of a `plain` text, without blanks at their ends."""
    return [line.rstrip() for line in plain(text).split("\n")] if text else []


def wrapped(text: str, columns: int, *, hang: int = 0) -> list[str]:
    r"""Return the `lines` of a text cut between words, or within one that is too wide; indented lines stay so.

    The rest of a line that is cut is indented by `hang` more columns.

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
    """Yield a word, where it is wider than the column in pieces, which end after a hyphen or a slash if one fits."""
    while word:
        size = max(_fitting(word, columns), 1)
        if size < len(word):
            size = 1 + max(word.rfind(mark, 0, size) for mark in "-/") or size
        yield word[:size]
        word = word[size:]


def columns_of_terminal(most: int | None = WIDTH) -> int:
    """Return the width of standard output: of a terminal its own, 40 at least; of a file or a pipe `WIDTH`.

    It is `most` at most, as paragraphs with longer lines read badly; None for tables.
    """
    # Some environments have no standard output.
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    columns = max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)
    return columns if most is None else min(columns, most)


def has_colours(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal that shows colours, and nobody asks for none by ``NO_COLOR``."""
    dumb = os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR")
    return stream is not None and stream.isatty() and not dumb


def has_blocks(stream: TextIO | None) -> bool:
    """Tell whether block characters, which bars are made of, can be written to a stream."""
    try:
        "\u2588\u258f".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def toned(text: str, tone: Tone) -> str:
    """Return text with what makes a terminal show its tone."""
    from click import style

    return style(text, **_STYLES[tone]) if tone and text else text


def width(text: str) -> int:
    """Return the number of columns that text takes: wide characters take two, combining ones none."""
    from rich.cells import cell_len

    return cell_len(text)


def shortened(text: str, columns: int) -> str:
    """Cut text to a width, with ``...`` at its end where something was cut."""
    return text if _fitting(text, columns) == len(text) else f"{text[: _fitting(text, columns - 3)]}..."


def _fitting(text: str, columns: int) -> int:
    """Return how many characters of a text fit into a width, in little time whatever the text."""
    # A text may have any number of characters without a width: enough of them fill a line too.
    begins = range(1, min(len(text), _WITHOUT_WIDTH * max(columns, 1)) + 1)
    return bisect_right(begins, columns, key=lambda size: width(text[:size]))


def cut_in_middle(text: str, columns: int) -> str:
    """Cut text to a width, with ``...`` in its middle where something was cut: names differ at both ends.

    Examples
    --------
    >>> cut_in_middle("vendor/model-2026-thinking-high", 20), cut_in_middle("vendor/model", 20)
    ('vendor/mo...ing-high', 'vendor/model')
    """
    if width(text) <= columns:
        return text
    left, right, room = "", "", columns - 3
    while True:
        if width(left + text[len(left)] + right) > room:
            return f"{left}...{right}"
        left += text[len(left)]
        if width(left + text[-len(right) - 1] + right) > room:
            return f"{left}...{right}"
        right = text[-len(right) - 1] + right


def pluralize(noun: str) -> str:
    """Return the regular plural of an English noun, and ``people`` of a person; a plural stays as it is.

    Examples
    --------
    >>> [pluralize(noun) for noun in ("run", "reply", "essay", "speech", "class", "support case", "person")]
    ['runs', 'replies', 'essays', 'speeches', 'classes', 'support cases', 'people']
    >>> pluralize("questions")
    'questions'
    """
    if noun.endswith("person"):
        return f"{noun.removesuffix('person')}people"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    if noun.endswith("s") and not noun.endswith(("ss", "us", "is", "as", "os")):
        return noun
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def plural(count: int, singular: str, several: str | None = None) -> str:
    """Return a count with its noun, for instance ``1 run``, ``2 runs``, ``2 replies``."""
    return f"{count:,} {singular if count == 1 else several or pluralize(singular)}"


def range_text(low: float | None, high: float | None) -> str:
    """Return a range of numbers in words; None is an end without a bound, and two of them give an empty text.

    Examples
    --------
    >>> range_text(1, 7), range_text(0, None), range_text(None, 1)
    ('1 to 7', '0 or more', '1 or less')
    """
    if low is None:
        return "" if high is None else f"{high:g} or less"
    return f"{low:g} or more" if high is None else f"{low:g} to {high:g}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names with commas between them, with ``...`` for those beyond the first."""
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])


def joined(parts: Sequence[str]) -> str:
    """Return parts, at least one, as a sentence lists them.

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def did_you_mean(name: str, known: Collection[str], most: int = 12) -> str:
    """Return the question whether the nearest name was meant, or a name with this word; else the first known names.

    Examples
    --------
    >>> did_you_mean("categroy", ["category", "gender"]), did_you_mean("x", ["category", "gender"])
    ("did you mean 'category'?", 'expected one of category, gender')
    >>> did_you_mean("age", ["country", "age_range"])
    "did you mean 'age_range'?"
    """
    near = get_close_matches(name, known, n=1)
    near = near or [one for one in known if name.casefold() in one.casefold().split("_")][:2]
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"expected one of {listed([*known], most) or 'none'}"


def misspelt(names: Collection[str], known: Collection[str]) -> list[tuple[str, str]]:
    """Return each name that is not known and is spelt nearly as a known one that is not among the names, with this one.

    Examples
    --------
    >>> misspelt({"unit", "jugde", "topic"}, ["unit", "judge"])
    [('jugde', 'judge')]
    """
    free = [one for one in known if one not in names]
    return [
        (name, near)
        for name in sorted({*names} - {*known})
        for near in get_close_matches(name.lower(), free, 1, _SPELLING)
    ]


def grid(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    tones: Sequence[Sequence[Tone]] = (),
    *,
    left: Collection[int] = (),
) -> str:
    r"""Return a table, its first column aligned left, the others right.

    Parameters
    ----------
    head : sequence of str
        The headings of the columns.
    body : sequence of sequence of str
        The rows; a cell of several lines makes a row of several.
    tones : sequence of sequence of str, optional
        The tone of every cell of the body, for a terminal.
    left : collection of int
        The places of further columns that are aligned left.

    Examples
    --------
    >>> print(grid(["model", "value"], [["a model of\na long name", "0.5"]]))
    model        value
    ------------------
    a model of     0.5
    a long name
    """
    rows = [[cell.split("\n") for cell in cells] for cells in (head, *body)]
    widths = [max(width(line) for cells in rows for line in cells[place]) for place in range(len(head))]
    found = []
    for number, cells in enumerate(rows):
        own = tones[number - 1] if tones and number else [""] * len(cells)
        for line in range(max(map(len, cells))):
            parts = []
            for place, lines_of in enumerate(cells):
                text = lines_of[line] if line < len(lines_of) else ""
                blanks = " " * (widths[place] - width(text))
                # Blanks are outside of the tone, and none are at the end of a line.
                text = toned(text, own[place])  # type: ignore[arg-type]
                parts.append(f"{text}{blanks}" if place == 0 or place in left else f"{blanks}{text}")
            found.append("  ".join(parts).rstrip())
        if not number:
            found.append("-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(found)


def ruled(heading: str, columns: int) -> str:
    """Return a heading with a line after it, to a width."""
    return f"{heading} {'-' * (columns - width(heading) - 1)}"


def labelled(
    rows: Iterable[tuple[str, str]], columns: int, *, hanging: Collection[str] = (), label: int = _LABEL
) -> list[str]:
    """Return rows of a label and a wrapped value beside it; an empty value leaves the row out.

    `label` is how wide the labels are; one that is wider stands above its value.

    Examples
    --------
    >>> labelled([("topic", "one two three"), ("none", "")], 28)
    ['  topic         one two', '                three']
    """
    found: list[str] = []
    for name, value in rows:
        if not value.strip():
            continue
        first = name
        if width(name) >= label:
            found += [f"  {line}" for line in wrapped(name, columns - 2)]
            first = ""
        for number, line in enumerate(wrapped(value, columns - label - 2, hang=2 * (name in hanging))):
            start = "" if number else first
            found.append(f"  {start}{' ' * (label - width(start))}{line}".rstrip())
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
