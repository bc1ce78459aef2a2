"""Documents of scores: tables and sentences, printed as text, Markdown, LaTeX, CSV or JSON."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import isnan
from typing import Any, Literal, get_args

import polars as pl

from attune_bench.report.columns import UNDEFINED, Cell, Table, numbered_reasons, text_column
from attune_bench.report.notes import reading_notes, standing_notes
from attune_bench.report.tables import group_name
from attune_bench.scores.provenance import kind_of_group, people_among, setting_text
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import is_mixed
from attune_data.export import to_csv, to_latex, to_markdown
from attune_data.text import WIDTH, Tone, grid, sanitize, toned, width, wrapped
from attune_metrics.signature import short_signature

_GAP = 2
_NAME, _NAME_OF_SEVERAL = 24, 16  # columns that a name has at least, alone in its row or one of several
_LEAST = 8  # columns of a cell, where it would not fit at all otherwise
_MOST_KEYS = 3
_TONED: dict[str, Tone] = dict.fromkeys(("Warning:", "MIXED:", "SYNTHETIC"), "warning")


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table as texts.

    `names` are the places of the columns that have names, of models for instance; `left` those of columns of text.
    """

    title: str
    head: list[str]
    rows: list[list[str]]
    tones: list[list[Tone]]
    names: list[int]
    left: list[int]
    heads_are_names: bool
    notes: list[str]
    key: str = ""
    caption: str = ""

    @property
    def widths(self) -> list[int]:
        """How wide every column is."""
        return [
            max(width(line) for cells in (self.head, *self.rows) for line in cells[place].split("\n"))
            for place in range(len(self.head))
        ]

    @property
    def keys(self) -> int:
        """How many columns, from the first, say what a row is of: those to the last of the first that has names."""
        return max((place for place in self.names if place < _MOST_KEYS), default=0) + 1

    @property
    def marked(self) -> bool:
        """Whether the last column is of footnotes."""
        return len(self.head) > 2 and not self.head[-1]


def text_tables(tables: Sequence[Table]) -> tuple[list[TextTable], list[str]]:
    """Return tables as texts, and the footnotes: why rows have no interval, what a dash is."""
    reasons = numbered_reasons(row for table in tables for row in table.rows)
    found, undefined = [], False
    for one in (given for given in tables if given.columns or given.title):
        cells = [[column.cell(row) for column in one.columns] for row in one.rows]
        # A minus sign that is a value is no undefined one.
        undefined |= any(cell.text == UNDEFINED and cell.value is None for own in cells for cell in own)
        places = [reasons.get(row.get("reason") or "") for row in one.rows]
        marked = any(places)
        marks = [[f"[{place}]" if place else ""] if marked else [] for place in places]
        texts = [[*map(_shown, own), *mark] for own, mark in zip(cells, marks, strict=True)]
        tones: list[list[Tone]] = [[cell.tone for cell in own] + [""] * marked for own in cells]
        head = [sanitize(column.head) for column in one.columns] + ([""] if marked else [])
        names = [place for place, column in enumerate(one.columns) if column.is_name]
        left = [place for place, column in enumerate(one.columns) if column.is_text]
        of_heads = any(column.head_is_name for column in one.columns)
        notes = [sanitize(note) for note in one.notes]
        title, caption = sanitize(one.title), sanitize(one.caption)
        found.append(TextTable(title, head, texts, tones, names, left, of_heads, notes, one.key, caption))
    footnotes = [sanitize(f"[{place}] {reason}.") for reason, place in reasons.items()]
    return found, [*footnotes, *([f"{UNDEFINED}: undefined, or not known."] if undefined else [])]


def _shown(cell: Cell) -> str:
    return sanitize(f"{cell.text} {cell.small}".rstrip())


def paragraph(text: str, columns: int, *, colours: bool = False) -> str:
    """Return text in lines that fit; words with a hyphen, such as names, are not cut."""
    filled = "\n".join(wrapped(text, columns))
    begin, blank, rest = filled.partition(" ")
    return f"{toned(begin, _TONED.get(begin, '') if colours else '')}{blank}{rest}"


def laid_out(table: TextTable, columns: int, *, colours: bool = False) -> list[str]:
    """Return a table cut between columns into parts that fit, each with the columns of its keys, and its notes.

    Parameters
    ----------
    table : TextTable
        The table; where it is too wide, its names are wrapped, not cut.
    columns : int
        How wide lines may be.
    colours : bool
        Whether for a terminal that shows colours.
    """
    prose = min(columns, WIDTH)  # Paragraphs with longer lines read badly.
    if not table.head:
        return [paragraph(table.title, prose, colours=colours)]
    table = _wrapped(table, columns)
    found = []
    for count, part in enumerate(_parts(table.widths, table.keys, columns, marked=table.marked)):
        places = [*range(table.keys), *part]
        left = [number for number, place in enumerate(places) if place in table.left]
        head, *rows = [[cells[place] for place in places] for cells in (table.head, *table.rows)]
        tones = [[own[place] for place in places] for own in table.tones] if colours else []
        title = f"{table.title.rpartition(': ')[0] or table.title} (continued)".lstrip() if count else table.title
        title = paragraph(title, prose)
        if colours:
            title = "\n".join(toned(line, "title") for line in title.split("\n"))
        found.append("\n".join(filter(None, [title, grid(head, rows, tones, left=left)])))
    return [*found, *(paragraph(note, prose, colours=colours) for note in table.notes)]


def _wrapped(table: TextTable, columns: int) -> TextTable:
    """Return the table with cells of several lines: names that spare a block, then all that does not fit."""
    limits, keys = table.widths, table.keys
    room = columns - sum(limits) - _GAP * (len(limits) - 1)
    if room >= 0:
        return table
    names = range(1, len(limits)) if table.heads_are_names else table.names
    share = (room + sum(limits[place] for place in names)) // max(len(names), 1)
    shorter = limits.copy()
    for place in names:
        cells = (width(row[place]) for row in table.rows if table.heads_are_names)
        least = max([_NAME if len(names) == 1 else _NAME_OF_SEVERAL, *cells])
        shorter[place] = min(limits[place], max(share, least))
    one, other = (len([*_parts(made, keys, columns, marked=table.marked)]) for made in (shorter, limits))
    limits = shorter if one < other else limits
    # The widest column has to fit beside the keys, with footnotes where it is the last.
    beside = [_GAP + one for one in limits[keys:]]
    if table.marked:
        beside[-2:] = [sum(beside[-2:])]
    room = columns - max(beside, default=0) - _GAP * (keys - 1)
    if sum(limits[:keys]) > room:
        limits[:keys] = [min(one, max(room // keys, _LEAST)) for one in limits[:keys]]
    left = columns - sum(limits[:keys]) - _GAP * keys
    limits[keys:] = [min(one, max(left, _LEAST)) for one in limits[keys:]]

    def wrap(texts: Sequence[str]) -> list[str]:
        return ["\n".join(wrapped(text, limit)) for text, limit in zip(texts, limits, strict=True)]

    return replace(table, head=wrap(table.head), rows=[wrap(row) for row in table.rows])


def _parts(widths: Sequence[int], keys: int, columns: int, *, marked: bool) -> Iterator[range]:
    """Yield the places of the columns of each block, the keys apart: as many as fit, one at least.

    The last column of a table that is `marked` is of footnotes, and stays beside the one before it.
    """
    ends = [*range(keys + 1, len(widths) - 1), len(widths)] if marked else [*range(keys + 1, len(widths) + 1)]
    first = keys
    before = sum(widths[:keys]) + _GAP * (keys - 1)
    for end, after in zip(ends, [*ends[1:], None], strict=True):
        if after is None or before + sum(_GAP + one for one in widths[first:after]) > columns:
            yield range(first, end)
            first = end
    if not ends:
        yield range(0)


Format = Literal["table", "markdown", "latex", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class Document:
    """What a command prints.

    Attributes
    ----------
    tables : sequence of Table
        From the top; CSV is of the first frame.
    answer : sequence of str
        What was found, in paragraphs above all.
    head : str
        A sentence above the tables.
    notes : sequence of str
        Sentences below all.
    warnings : sequence of str
        What the analysis warned of, below the notes; CSV has no place for notes and none for these.
    quotes : sequence of str
        Sentences to quote, last in a text.
    signature : str, optional
        Every setting, in one line; a text for a terminal has its hash.
    metadata : mapping
        Further keys of JSON's ``metadata``.
    rename : mapping of str to str
        What columns of frames are called in CSV and JSON.
    comments : sequence of str
        Which of the notes say how a table was read; LaTeX has them as comments.
    """

    tables: Sequence[Table]
    answer: Sequence[str] = ()
    head: str = ""
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    quotes: Sequence[str] = ()
    signature: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    comments: Sequence[str] = ()

    def renamed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a frame with its columns renamed, but not to the name of another column."""
        names = {old: new for old, new in self.rename.items() if old in frame.columns and new not in frame.columns}
        return frame.rename(names)


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
        frame = document.renamed(frame)
        if document.signature:
            frame = frame.with_columns(signature=pl.lit(document.signature))
        return to_csv(frame).rstrip("\n")
    if format == "latex":
        return _latex(document)
    return _markdown(document) if format == "markdown" else _text(document, columns, colours=colours)


def json_content(document: Document) -> dict[str, Any]:
    """Return what JSON says of a document: ``metadata``, then the rows of every frame under its key."""
    notes = [*(note for table in document.tables for note in table.notes), *document.notes, *document.warnings]
    metadata = {"signature": document.signature, **document.metadata, "notes": notes}
    if document.answer:
        metadata["answer"] = [*document.answer]
    rows = {
        table.key: strict(document.renamed(table.frame).to_dicts())
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
    blocks = [to_markdown(text) for text in (*document.answer, document.head) if text]
    for one in tables:
        rule = ["---" if place == 0 or place in one.left else "---:" for place in range(len(one.head))]
        lines = [one.head, rule, *one.rows] if one.head else []
        cells = "\n".join(f"| {' | '.join(map(to_markdown, line))} |" for line in lines)
        title = f"**{to_markdown(one.title)}**" if cells else to_markdown(one.title)
        blocks += [f"{title}\n\n{cells}".strip(), *map(to_markdown, one.notes)]
    quoted = [f"> {to_markdown(text)}" for text in document.quotes]
    signature = [f"`{document.signature}`"] if document.signature else []
    return "\n\n".join(
        [*blocks, *map(to_markdown, [*footnotes, *document.notes, *document.warnings]), *quoted, *signature]
    )


def _latex(document: Document) -> str:
    r"""Return tables for LaTeX with the package booktabs.

    Each is a float with a caption, a label and its notes; the last has the notes of all, to which the others refer.
    What a text says of how it was made, the sentences to quote, and the signature, are comments: a paper takes the
    tables with ``\input``.
    """
    tables, footnotes = text_tables(document.tables)
    made = [f"% {sanitize(text)}" for text in (document.head, *document.comments) if text]
    answer = [f"% {_latex_sentence(text)}" for text in document.answer]
    blocks = ["\n".join(["% \\usepackage{booktabs}", *made]), *answer]
    said = [*footnotes, *(text for text in document.notes if text not in document.comments), *document.warnings]
    said, labels, counts = [*map(_latex_sentence, said)], list[str](), Counter[str]()
    for one in tables:
        label = re.sub(r"[^A-Za-z0-9]+", "-", one.key).strip("-")
        counts[label] += bool(one.head)
        labels.append(f"tab:{label}-{counts[label]}" if counts[label] > 1 else f"tab:{label}")
    last = max((place for place, one in enumerate(tables) if one.head), default=None)
    for place, one in enumerate(tables):
        notes = [*map(_latex_sentence, one.notes)]
        if one.head:
            general = said if place == last else [rf"Notes: Table~\ref{{{labels[last or 0]}}}."] if said else []
            blocks.append(_float(one, labels[place], [*notes, *general]))
        else:
            blocks += filter(None, [_latex_sentence(one.title), *notes])
    if last is None:
        blocks += filter(None, [" ".join(said)])
    blocks += [f"% To quote: {_latex_sentence(text)}" for text in document.quotes]
    return "\n\n".join([*blocks, *([f"% {document.signature}"] if document.signature else [])])


def _latex_sentence(text: str) -> str:
    """Return a sentence, or the heading of a column, for LaTeX: p and n are in mathematical italics."""
    return re.sub(r"(?<![\w$\\/-])[pn](?![\w/])", r"$\g<0>$", to_latex(text))


def _float(one: TextTable, label: str, notes: Sequence[str]) -> str:
    r"""Return a table of LaTeX with the notes below it, all within ``\begin{table}`` and ``\end{table}``."""
    places = "".join("l" if place == 0 or place in one.left else "r" for place in range(len(one.head)))
    cells = [[*map(to_latex if one.heads_are_names else _latex_sentence, one.head)]]
    cells += [[*map(to_latex, row)] for row in one.rows]
    head, *rows = [rf"{' & '.join(line)} \\" for line in cells]
    caption = one.caption or one.title
    said = _latex_sentence(caption if caption.endswith(".") else f"{caption}.")
    below = [r"\par\smallskip", rf"\parbox{{\linewidth}}{{\footnotesize {' '.join(notes)}}}"]
    lines = [
        r"\begin{table}", r"\centering", *([rf"\caption{{{said}}}"] if caption else []), rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{places}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}",
        *(below if notes else []), r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines)


def _text(document: Document, columns: int, *, colours: bool) -> str:
    tables, footnotes = text_tables(document.tables)
    notes = [*footnotes, *map(sanitize, [*document.notes, *document.warnings])]
    prose = min(columns, WIDTH)
    above, below = (
        [paragraph(text, prose, colours=colours) for text in said if text]
        for said in (map(sanitize, (*document.answer, document.head)), notes)
    )
    quoted = [paragraph(f"To quote: {text}", prose) for text in map(sanitize, document.quotes)]
    signature = [f"signature: {short_signature(document.signature)}"] if document.signature else []
    blocks = [block for table in tables for block in laid_out(table, columns, colours=colours)]
    return "\n\n".join([*above, *blocks, *below, *quoted, *signature])


def settings_table(table: ScoreTable) -> Table:
    """Return with which settings every model was run, a row a model and condition."""
    held = table.provenance
    names = list(dict.fromkeys([*held.comparability_keys, *chain.from_iterable(table.settings.values())]))
    rows: list[dict[str, Any]] = []
    for model, condition in table.groups:
        own = table.settings.get((model, condition), {})
        values = {name: ", ".join(map(setting_text, own[name])) if name in own else None for name in names}
        rows.append({"name": group_name(table, model, condition), "kind": kind_of_group(model), **values})
    columns = [text_column("row", "name", is_name=True), text_column("kind", "kind")]
    columns += [text_column(held.comparability_keys.get(name, name.replace("_", " ")), name) for name in names]
    return Table("settings", "", columns, rows)


def document(
    table: ScoreTable,
    tables: Sequence[Table],
    *,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    quotes: Sequence[str] = (),
    signature: str | None = None,
    answer: Sequence[str] = (),
    head: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    """Return tables about scores with the notes that belong beside them."""
    held = table.provenance
    about = {
        "benchmark": held.benchmark,
        "protocol": held.protocol,
        "synthetic": held.synthetic,
        **({"variant": held.variant} if held.variant else {}),
        "not_scored": len(held.issues),
        **({"settings": [one.model_dump(mode="json") for one in held.settings]} if held.settings else {}),
        **({"mixed": True} if is_mixed(table) else {}),
        **({"people": people} if (people := people_among(table.models)) else {}),
        **(metadata or {}),
    }
    return Document(
        tables=tables, answer=answer, head=head, notes=[*notes, *standing_notes(table)], warnings=warnings,
        quotes=quotes, signature=signature, metadata=about, rename={"condition": held.condition},
        comments=reading_notes(table),
    )  # fmt: skip
