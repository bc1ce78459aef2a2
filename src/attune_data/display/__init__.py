"""A record, a collection, a table as text: in a terminal, in a notebook."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from attune_data.issues import Html, details, page, table, tag
from attune_data.record import Record, is_generated
from attune_data.text import grid, labelled, plural, printable, ruled, shortened, width, wrapped

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Beside", "beside_text", "collection_html", "collection_text", "entries_html", "fields_text", "frames_html"]

_QUESTION = 16
Row = tuple[str, Sequence[str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A part of a record, with what each of some models answered there.

    Attributes
    ----------
    heading : str
        What the part is; empty where it goes on.
    texts : sequence of (str, str)
        Who said what: a speaker and a text.
    rows : sequence of (str, sequence of str)
        What was asked, and the answers: the one that counts, None where there is none, then that of each model. A row
        without answers is a heading of those below.
    compared : bool
        Whether an answer is right where it equals the first one; those that differ are marked.
    stacked : bool
        Whether answers are long texts, which go below each other.
    """

    heading: str = ""
    texts: Sequence[tuple[str, str]] = ()
    rows: Sequence[Row] = ()
    compared: bool = False
    stacked: bool = False


def beside_text(head: str, parts: Sequence[Beside], first: str, names: Sequence[str], columns: int) -> str:
    """Return a record with the answers of models as text that is safe to print.

    Parameters
    ----------
    head : str
        What is known of the record.
    parts : sequence of Beside
        Its parts, with the answers of the models in the order of `names`.
    first : str
        Whose the answers that count are.
    names : sequence of str
        The models; each is called by its number.
    columns : int
        How wide the text may be.

    Examples
    --------
    >>> felt = Beside(heading="TURN 1", rows=[("Upset", ["5", "3", "5"]), ("Afraid", ["-", "2", "-"])], compared=True)
    >>> print(beside_text("Conversation c1", [felt], "participant", ["vendor/a", "vendor/b"], 40))
    Conversation c1
    <BLANKLINE>
      1             vendor/a
      2             vendor/b
      *             differs from participant
    <BLANKLINE>
    TURN 1 ---------------------------------
    <BLANKLINE>
            participant   1  2
    --------------------------
    Upset             5  3*  5
    Afraid            -  2*  -
    """
    legend = [(str(number), name) for number, name in enumerate(names, start=1)]
    if any(part.compared for part in parts):
        legend.append(("*", f"differs from {first}"))
    blocks = [head.splitlines(), labelled(legend, columns)]
    for part in parts:
        if part.heading:
            blocks.append([ruled(part.heading, columns)])
        blocks += ([speaker, *_indented(text, columns)] for speaker, text in part.texts)
        blocks.append([*_rows(part, first, len(names), columns)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _indented(text: str, columns: int) -> list[str]:
    return [f"  {line}".rstrip() for line in wrapped(text, columns - 2) or ["-"]]


def _rows(part: Beside, first: str, models: int, columns: int) -> Iterator[str]:
    """Yield the answers as a table where it fits the width, else below each other."""
    heads = [first, *(str(number) for number in range(1, models + 1))]
    body = [(printable(question), _marked(answers, part.compared)) for question, answers in part.rows]
    left = columns - sum(
        2 + max(map(width, cells)) for cells in zip(heads, *(row for _, row in body if row), strict=True)
    )
    if left >= _QUESTION and not part.stacked and body:
        empty = [""] * len(heads)
        rows = [[shortened(question, left), *(row or empty)] for question, row in body]
        yield from grid(["", *heads], rows).splitlines()
        return
    for question, answers in body:
        said = "\n".join(_below(heads, answers, apart=part.stacked))
        yield from labelled([(question, said)], columns, hanging=(question,)) if said else wrapped(question, columns)


def _below(heads: Sequence[str], answers: Sequence[str], *, apart: bool) -> Iterator[str]:
    """Yield a line for each who answered, or for each answer with who gave it."""
    given = [(who, answer) for who, answer in zip(heads, answers, strict=False) if answer]
    if apart:
        yield from (f"{who}: {answer}" for who, answer in given)
        return
    for answer in dict.fromkeys(answer for _, answer in given):
        yield f"{answer}: {', '.join(who for who, own in given if own == answer)}"


def _marked(answers: Sequence[str | None], compared: bool) -> list[str]:
    if not answers:
        return []
    right, *others = answers
    marks = ("*" if compared and right and answer and answer != right else "" for answer in others)
    marked = [f"{printable(answer or '-')}{mark}" for answer, mark in zip(others, marks, strict=True)]
    return ["" if right is None else printable(right or "-"), *marked]


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


_LABEL = 22


def fields_text(record: Record, columns: int) -> str:
    """Return a record as text that is safe to print: its id, then every field that has a value.

    Examples
    --------
    >>> class Note(Record):
    ...     id: str
    ...     stars: int
    ...     said: dict[str, list[int]]
    >>> print(fields_text(Note(id="a", stars=3, said={"first": [1, 2], "then": [3]}), 40))
    Note a
      stars  3
      said   first: 1, 2
             then: 3
    """
    name: Any = getattr(record, "id", "")
    synthetic = " (synthetic)" if is_generated(record) else ""
    given = record.model_dump(by_alias=True, exclude_none=True)
    said = {key: _lines(value) for key, value in given.items() if key not in ("id", "synthetic")}
    rows = labelled(said.items(), columns, label=min(max(map(len, said), default=0) + 2, _LABEL))
    return "\n".join([*wrapped(f"{type(record).__name__} {name}{synthetic}", columns), *rows])


def _lines(value: Any) -> str:
    """Return a value as lines: a line an entry of an object, and an item of a list of more than words."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_line(item)}" for key, item in value.items())
    return "\n".join(map(_line, value)) if _is_list(value) else str(value)


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    if _is_list(value):
        return ", ".join(map(_line, value))
    return "-" if value is None else str(value)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


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
