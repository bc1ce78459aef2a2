"""A record, a collection, a table as text: in a terminal, in a notebook."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from attune_data.issues import Html, details, element, page, table, tag
from attune_data.record import Record, is_generated
from attune_data.text import grid, labelled, lines, listed, plural, ruled, sanitize, shortened, width, wrapped

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What somebody said.

    Attributes
    ----------
    speaker : str
        Who.
    text : str
        What.
    is_person : bool
        Whether the speaker is the person, not the model.
    state : str
        The state that the person is in after it.
    notes : sequence of (str, str)
        The notes, by label; an empty text leaves a note out.
    folded : bool
        Whether HTML shows it where its speaker is chosen.
    """

    speaker: str
    text: str
    is_person: bool = False
    state: str = ""
    notes: Sequence[tuple[str, str]] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """Answers of models beside the one that counts.

    Attributes
    ----------
    asked : str
        What was asked.
    reference : str or None
        The answer that counts, empty where nobody gave one; None where no answer counts.
    predicted : sequence of str
        The answers of the models.
    same : sequence of bool or None
        Whether each agrees, as the benchmark scores it; None where it does not score this one.
    notes : sequence of str
        What HTML says of each in place of "same", "differs" and "not scored"; empty where it says that.
    """

    asked: str
    reference: str | None
    predicted: Sequence[str]
    same: Sequence[bool | None] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a record, alone or with what models made of it. It is shown in the order of its attributes.

    Attributes
    ----------
    heading : str
        What begins here; empty where the part goes on.
    title : str
        What stands above the rest.
    text : str
        A paragraph.
    messages : sequence of Message
        Who said what.
    facts : sequence of (str, str)
        The facts, by label; an empty text leaves a fact out.
    hanging : collection of str
        The labels of facts that are lists, shown one item a line.
    rows : sequence of Compared
        Answers.
    count : str
        How many of the answers of one model agree, where HTML does not say it as "1 of 2 the same".
    stacked : bool
        Whether answers are long texts, which a terminal shows below each other.
    opened : bool
        Whether HTML shows the answers that agree at once, too.
    folded : bool
        Whether HTML shows the part where its heading, or its title, is chosen.
    """

    heading: str = ""
    title: str = ""
    text: str = ""
    messages: Sequence[Message] = ()
    facts: Sequence[tuple[str, str]] = ()
    hanging: Collection[str] = ()
    rows: Sequence[Compared] = ()
    count: str = ""
    stacked: bool = False
    opened: bool = False
    folded: bool = False


def titled(noun: str, record: Any) -> str:
    """Return what a record is called: its noun, its id, and whether it was generated."""
    synthetic = " (synthetic)" if is_generated(record) else ""
    return f"{noun[:1].upper()}{noun[1:]} {getattr(record, 'id', '')}{synthetic}"


_TURN = re.compile(r"Turn \d+")


def turn_parts(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts of a record about the record itself, its turns, and folded parts, which explain them.

    Parts about the whole after the last turn are left out.

    Examples
    --------
    >>> [part.heading for part in turn_parts([Part(), Part(heading="Turn 2"), Part(heading="The whole"), Part()])]
    ['', 'Turn 2']
    """
    kept = True
    for part in parts:
        if part.heading:
            kept = part.folded or _TURN.fullmatch(part.heading) is not None
        if kept:
            yield part


def one_turn(noun: str, record: Any, number: int) -> Any:
    """Return a record with one of its turns, chosen by its number, and without the others.

    Raises
    ------
    ValueError
        Where the record has no turn of this number, or its kind has no turns.
    """
    turns = getattr(record, "turns", None)
    if turns is None:
        raise ValueError(f"the {noun} {record.id} has no numbered turns; show it whole")
    own = tuple(turn for turn in turns if turn.turn_number == number)
    if not own:
        numbers = listed([str(turn.turn_number) for turn in turns], _LISTED)
        has = f"has {plural(len(turns), 'turn')}: {numbers}" if turns else "has no turns"
        raise ValueError(f"no turn {number}: the {noun} {record.id} {has}")
    return record.model_copy(update={"turns": own})


def parts_text(
    title: str, parts: Iterable[Part], columns: int, *, reference: str = "", names: Sequence[str] = ()
) -> str:
    """Return the parts of a record, with the answers of models, as text that is safe to print.

    Parameters
    ----------
    title : str
        What the record is called.
    parts : iterable of Part
        Its parts, the first about the whole record.
    columns : int
        How wide the text may be.
    reference : str
        Who gave the answers that count, for instance ``participant``.
    names : sequence of str
        The models, in the order of their answers; each is called by its number.

    Examples
    --------
    >>> felt = [Compared("Upset", "5", ["3", "5"], [False, True]), Compared("Afraid", "", ["2", ""], [False, True])]
    >>> parts = [Part(facts=[("topic", "Work")]), Part(heading="Turn 1", rows=felt)]
    >>> print(parts_text("Conversation c1", parts, 40, reference="participant", names=["vendor/a", "vendor/b"]))
    Conversation c1
      topic         Work
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
    first, *others = parts
    blocks = [[*wrapped(title, columns), *_facts(first, columns)]]
    if names:
        legend = [(str(number), name) for number, name in enumerate(names, start=1)]
        blocks.append(labelled([*legend, ("*", f"differs from {reference}")], columns))
    heads = [reference, *map(str, range(1, len(names) + 1))]
    for part in (replace(first, facts=()), *others):
        blocks += _blocks(part, heads, columns)
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _blocks(part: Part, heads: Sequence[str], columns: int) -> Iterator[list[str]]:
    if part.heading:
        yield [ruled(part.heading.upper(), columns)]
    top = wrapped(part.title, columns)
    if part.text:
        yield [*top, *wrapped(part.text, columns)]
    for one in part.messages:
        who = f"{one.speaker} ({one.state})" if one.state else one.speaker
        said = wrapped(one.text, columns - 2) or ["-"]
        yield [*wrapped(who, columns), *(f"  {line}".rstrip() for line in said), *labelled(one.notes, columns)]
    if facts := _facts(part, columns):
        yield [*top, *facts]
    if part.rows:
        yield [*top, *_rows(part, heads, columns)]


_QUESTION = 16
_LABELS = (14, 22)


def _facts(part: Part, columns: int) -> list[str]:
    narrowest, widest = _LABELS
    label = max([narrowest, *(width(name) + 2 for name, text in part.facts if text.strip())])
    return labelled(part.facts, columns, hanging=part.hanging, label=min(label, widest))


def _rows(part: Part, heads: Sequence[str], columns: int) -> Iterator[str]:
    """Yield the answers as a table where it fits the width, else below each other."""
    body = [(sanitize(row.asked), _marked(row)) for row in part.rows]
    left = columns - sum(2 + max(map(width, cells)) for cells in zip(heads, *(cells for _, cells in body), strict=True))
    if left >= _QUESTION and not part.stacked:
        yield from grid(["", *heads], [[shortened(asked, left), *cells] for asked, cells in body]).splitlines()
        return
    for asked, cells in body:
        said = "\n".join(_below(heads, cells, apart=part.stacked))
        yield from labelled([(asked, said)], columns, hanging=(asked,))


def _below(heads: Sequence[str], answers: Sequence[str], *, apart: bool) -> Iterator[str]:
    """Yield a line for each who answered, or for each answer with who gave it."""
    given = [(who, answer) for who, answer in zip(heads, answers, strict=True) if answer]
    if apart:
        yield from (f"{who}: {answer}" for who, answer in given)
        return
    for answer in dict.fromkeys(answer for _, answer in given):
        yield f"{answer}: {', '.join(who for who, own in given if own == answer)}"


def _marked(row: Compared) -> list[str]:
    """Return the answers, those that differ with a mark."""
    marks = ["*" if same is False else "" for same in row.same] or [""] * len(row.predicted)
    models = [f"{_answer(text)}{mark}" for text, mark in zip(row.predicted, marks, strict=True)]
    return ["" if row.reference is None else _answer(row.reference), *models]


def _answer(text: str) -> str:
    return "; ".join(lines(text)) or "-"


def parts_html(parts: Iterable[Part], reference: str = "") -> list[Html]:
    """Return the parts of a record as HTML, with the answers of one model where they have some.

    Parameters
    ----------
    parts : iterable of Part
        The parts.
    reference : str
        Who gave the answers that count, for instance ``participant``.

    Examples
    --------
    >>> "&lt;b&gt;" in parts_html([Part(messages=[Message(speaker="Person", text="<b>")])])[0]
    True
    """
    groups: list[list[Part]] = []
    for part in parts:
        if part.heading or not groups:
            groups.append([])
        groups[-1].append(part)
    return [markup for group in groups for markup in _group(group, reference)]


def _group(parts: Sequence[Part], reference: str) -> list[Html]:
    """Return what stands below one heading: messages, and beside them what was noted."""
    said = [_message(one) for part in parts for one in part.messages]
    noted = [markup for part in parts for markup in _noted(part, reference)]
    inside = [*said, *noted]
    if said and noted:
        inside = [element("div", element("div", *said), element("div", *noted), class_="beside")]
    heading = parts[0].heading
    if heading and parts[0].folded:
        return [details(heading, *inside)]
    return [*([tag("h5", heading)] if heading else []), *inside]


def _message(one: Message) -> Html:
    said = [tag("p", one.text) if one.text.strip() else element("p", "(nothing)", class_="quiet")]
    if notes := facts_html(one.notes):
        said.append(notes if one.folded else details("Notes", notes))
    kind = f"said {'person' if one.is_person else 'model'}"
    if one.folded:
        return details(one.speaker, element("div", *said, class_=kind))
    state = [Html(" "), tag("span", one.state, class_="chip")] if one.state else []
    return element("div", element("div", tag("span", one.speaker), *state, class_="quiet"), *said, class_=kind)


def facts_html(facts: Iterable[tuple[str, str]]) -> Html:
    """Return the facts that are not empty, by label."""
    told = [element("div", tag("dt", name), tag("dd", text)) for name, text in facts if text.strip()]
    return element("dl", *told, class_="facts") if told else Html("")


def _noted(part: Part, reference: str) -> list[Html]:
    title = [tag("b", part.title)] if part.title else []
    inside = [*([tag("p", part.text)] if part.text else []), *filter(None, [facts_html(part.facts)])]
    texts = [row for row in part.rows if row.reference is None]
    inside += [details(row.asked, *(tag("p", text) for text in row.predicted)) for row in texts if any(row.predicted)]
    if rows := [row for row in part.rows if row.reference is not None]:
        scored = [same for row in rows for same in row.same if same is not None]
        title += [Html(" "), element("span", part.count or f"{sum(scored)} of {len(scored)} the same", class_="chip")]
        others = [] if part.opened else [row for row in rows if False not in row.same]
        shown = [row for row in rows if row not in others]
        inside += [_compared(shown, reference)] if shown else []
        inside += [details(f"The same, or not scored: {len(others)}", _compared(others, reference))] if others else []
    if not inside:
        return []
    return [details(part.title, *inside) if part.folded and part.title else element("div", *title, *inside)]


def _compared(rows: Sequence[Compared], reference: str) -> Html:
    """Return a table of the answers of one model beside those that count, the agreement in words."""
    heads = [element("th", text, scope="col") for text in ("asked", reference, "model", "agreement")]
    body = []
    for row in rows:
        [predicted], [same], [note] = row.predicted, row.same or [None], row.notes or [""]
        sign, words, kind = _AGREEMENT[same]
        answers = [tag("td", text or "-") for text in (row.asked, row.reference or "", predicted)]
        body.append(element("tr", *answers, element("td", f"{sign}{note or words}", class_=kind)))
    return element("table", element("thead", element("tr", *heads)), element("tbody", *body), class_="rows compared")


_AGREEMENT = {
    True: ("\u2713 ", "same", "same"),
    False: ("\u2717 ", "differs", "differs"),
    None: ("", "not scored", "quiet"),
}


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
        parts.append(tag("div", f"and {len(records) - len(first)} more", class_="quiet"))
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
    ids = [sanitize(record.id) for record in records]
    lines = _padded(["id", *ids])
    for heading, text in shown.items():
        cells = [sanitize(" ".join(text(record).split())) for record in records]
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


def fields_parts(record: Record, *, extra: bool = True) -> list[Part]:
    """Return the fields of a record that have a value, with `extra` the keys that its class does not name, too.

    Examples
    --------
    >>> class Note(Record):
    ...     id: str
    ...     stars: int
    ...     said: dict[str, list[int]]
    >>> print(parts_text("Note a", fields_parts(Note(id="a", stars=3, said={"first": [1, 2], "then": [3]})), 40))
    Note a
      stars         3
      said          first: 1, 2
                    then: 3
    """
    given = record.model_dump(by_alias=True, exclude_none=True) if extra else _named(record)
    return [Part(facts=[(key, _lines(value)) for key, value in given.items() if key not in ("id", "synthetic")])]


def _named(value: Any) -> Any:
    """Return a value without what the classes of records do not name, and without null."""
    if isinstance(value, Record):
        fields = {info.alias or name: getattr(value, name) for name, info in type(value).model_fields.items()}
        return {key: _named(one) for key, one in fields.items() if one is not None}
    if isinstance(value, Mapping):
        return {key: _named(one) for key, one in value.items()}
    return [_named(one) for one in value] if _is_list(value) else value


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
