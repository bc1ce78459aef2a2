"""A page of HTML: elements that escape, sections as markup, their parts, style, script, figures as inline SVG."""

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from attune_bench.report import drawing, plots
from attune_bench.report.columns import (
    UNDEFINED,
    Cell,
    Figure,
    Folded,
    Markup,
    Part,
    Row,
    Section,
    Table,
    interval,
    number,
    numbered_reasons,
    row_p,
    signs_of,
    swapped,
)
from attune_bench.stats.options import ALPHA
from attune_data.issues import Html, element
from attune_data.issues import style as records_style
from attune_data.text import plural, sanitize
from attune_metrics.metric import Metric

_DARK = {
    drawing.INK: "#e6e9ec",
    drawing.MUTED: "#9aa4af",
    drawing.GRID: "#363d45",
    drawing.PAPER: "#15181b",
    drawing.SKY: "#56b4e9",
    drawing.ORANGE: "#f0894a",
    **dict(zip(plots.COLOURS[2:5], ("#35b78d", "#dd85b8", "#c2a433"), strict=True)),
}
# Figures are drawn once, for light; by their colours style sheets find what to change in the dark.
_RECOLOURED = "\n".join(
    f'  svg[{attribute}="{light}"], svg [{attribute}="{light}"] {{ {attribute}: {dark}; }}'
    for light, dark in _DARK.items()
    for attribute in ("fill", "stroke")
)
_MOST_STACKED = 30  # columns of a table that have their heads beside their cells on a narrow screen
_STACKED = "".join(
    f"\n  .stack td:nth-child({n})::before {{ content: var(--c{n}); }}" for n in range(2, _MOST_STACKED + 1)
)
_STYLE = f"""
:root {{ color-scheme: light dark; --ink: {drawing.INK}; --muted: {drawing.MUTED}; --grid: {drawing.GRID};
  --paper: {drawing.PAPER}; --accent: {drawing.SKY}; --orange: {drawing.ORANGE}; --orange-ink: #a84400;
  --shade: #f5f6f7; --shadow: rgb(0 0 0 / .2); --link: #0b5a8f; --band: #f2f5f8; --mark: #fff3c4; --better: #cfe8f7;
  --better-ink: #0b3d5c; --worse: #fbdcc4; --worse-ink: #6b2c00; --mid: #f7f7f5; --up: #1f6fb4; --down: #b34d09; }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ --ink: {_DARK[drawing.INK]}; --muted: {_DARK[drawing.MUTED]}; --grid: {_DARK[drawing.GRID]};
    --paper: {_DARK[drawing.PAPER]}; --accent: {_DARK[drawing.SKY]}; --orange: {_DARK[drawing.ORANGE]};
    --orange-ink: #f5a878; --shade: #1d2125; --shadow: rgb(255 255 255 / .25); --link: #8ccbf5; --band: #1c2126;
    --mark: #4a3f10; --better: #123f5a; --better-ink: #c9e8fb; --worse: #5a2e0c; --worse-ink: #ffdcc2;
    --mid: #24292e; }}
{_RECOLOURED}
}}
@media screen and (max-width: 40rem) {{
{_STACKED}
}}
"""


@cache
def asset(name: str) -> str:
    """Return a style sheet or script of pages."""
    return files("attune_bench.report").joinpath(name).read_text(encoding="utf-8")


def breakable(text: str) -> Html:
    """Return a name that can be broken after ``/``, ``-`` and ``_``, and in its own direction.

    Examples
    --------
    >>> print(breakable("lab/a-b"))
    <bdi>lab/<wbr>a-<wbr>b</bdi>
    """
    pieces = re.split(r"(?<=[/_-])(?=[^/_-])", sanitize(text))
    return Html(f"<bdi>{'<wbr>'.join(map(escape, pieces))}</bdi>")


def section_element(section: Section, *, name: str = "", models: Collection[str] = ()) -> Html:
    """Return a section of the page under its heading, which can be closed; small figures go side by side.

    `name` is its address on the page. Marks of figures that are of one of the `models` say so to the script.
    """
    parts = element(
        "details", element("summary", element("h2", section.title)), *(_part(part, models) for part in section.parts),
        class_="part", open="",
    )  # fmt: skip
    return element("section", parts, **({"id": name} if name else {}))


def _part(part: Part, models: Collection[str]) -> Html:
    if isinstance(part, Table):
        return table_element(without_dashes(part), models)
    if isinstance(part, Figure):
        return figure_element(part)
    if isinstance(part, Folded):
        return folded(part.title, [_part(one, models) for one in part.parts])
    if isinstance(part, Markup):
        return part.html
    if isinstance(part, tuple):
        return element("ul", *(element("li", text) for text in part))
    return element("p", part)


def folded(title: str, inside: Sequence[Html], kind: str = "", *, is_open: bool = False) -> Html:
    """Return parts that are shown where their title is chosen, and in print."""
    given = {"open": ""} if is_open else {}
    return element("details", element("summary", title), *inside, class_=f"fold {kind}".rstrip(), **given)


def scrolled(inside: Html, called: str) -> Html:
    """Return what scrolls within itself where it is too wide, by the keyboard too."""
    return element("div", inside, class_="scroll", tabindex="0", role="region", aria_label=called)


def table_element(
    table: Table,
    models: Collection[str] = (),
    *,
    called: str = "",
    of_row: Callable[[Row], Mapping[str, str]] = lambda _: {},
) -> Html:
    """Return a table under its heading, which scrolls within itself where it is too wide; below it its notes.

    Rows have the same cells as in the table as text; a row's ``reason`` becomes a numbered note. Attributes name the
    one or two `models` of a row for the script; `of_row` adds attributes to a row, and `called` labels a table that has
    no title.

    Examples
    --------
    >>> from attune_bench.report.columns import text_column
    >>> found = table_element(Table("k", "", [text_column("model", "m", is_name=True)], [{"m": "<b>"}]))
    >>> "<bdi>&lt;b&gt;</bdi>" in found
    True
    """
    rows = [[column.cell(row) for column in table.columns] for row in table.rows]
    reasons = numbered_reasons(table.rows)
    heads = [column.head for column in table.columns]
    is_text = [
        column.is_name or any(isinstance(cells[place].value, str) for cells in rows)
        for place, column in enumerate(table.columns)
    ]
    if reasons:
        heads.append("note")
        is_text.append(False)
        for cells, row in zip(rows, table.rows, strict=True):
            place = reasons.get(row.get("reason") or "")
            cells.append(Cell(f"[{place}]" if place else "", value=place))
    top = [
        element("th", head, scope="col", class_="text" if text else "number")
        for head, text in zip(heads, is_text, strict=True)
    ]
    body = [
        element("tr", *map(_cell, cells, is_text), **_of_models(row, models), **of_row(row))
        for cells, row in zip(rows, table.rows, strict=True)
    ]
    kinds = [*(["sortable"] if len(rows) > 1 else []), *(["stack"] if len(heads) > _FEW_HEADS else [])]
    given = {"class_": " ".join(kinds)} if kinds else {}
    if "stack" in kinds:
        given["style"] = "".join(f"--c{place}:{_quoted(head)};" for place, head in enumerate(heads[1:], start=2))
    drawn = element("table", element("thead", element("tr", *top)), element("tbody", *body), **given)
    parts = [element("h3", table.title)] if table.title else []
    shown = scrolled(drawn, called or table.title or heads[0]) if rows else element("p", "No rows.")
    if len(rows) > _MANY_ROWS:
        shown = element("details", element("summary", f"Table of {len(rows)} rows"), shown, class_="long", open="")
    parts.append(shown)
    notes = [*(f"[{place}] {reason}." for reason, place in reasons.items()), *table.notes]
    return Html("".join([*parts, *(element("p", note, class_="quiet") for note in notes)]))


_FEW_HEADS = 3
"""Columns that fit a narrow screen; rows of more become lines there, each cell behind its head."""
_MANY_ROWS = 20
"""Rows that a narrow screen shows at once; a script closes longer tables there."""


def _quoted(text: str) -> str:
    """Return a text as a string of CSS."""
    plain = re.sub(r"\s+", " ", sanitize(text)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def without_dashes(table: Table) -> Table:
    """Return a table without the columns that have no value in any row; a note names them.

    Examples
    --------
    >>> from attune_bench.report.columns import text_column
    >>> columns = [text_column("model", "m", is_name=True), text_column("when", "t")]
    >>> found = without_dashes(Table("k", "", columns, [{"m": "a", "t": None}]))
    >>> [column.head for column in found.columns], found.notes
    (['model'], ('No row has a value of when.',))
    """
    empty = [
        column
        for column in table.columns
        if table.rows and all((cell := column.cell(row)).text == UNDEFINED and not cell.html for row in table.rows)
    ]
    if not empty:
        return table
    named = ", ".join(column.head for column in empty)
    columns = [column for column in table.columns if column not in empty]
    return replace(table, columns=columns, notes=(*table.notes, f"No row has a value of {named}."))


def _of_models(row: Row, models: Collection[str]) -> dict[str, str]:
    """Return the attributes that name the model of a row, or its two models, for the script."""
    named = {"data_model": row.get("model", row.get("model_a")), "data_other": row.get("model_b")}
    return {key: sanitize(name) for key, name in named.items() if name in models}


def _cell(cell: Cell, text: bool) -> Html:
    if text:
        return element("td", cell.html or breakable(cell.text), *_small(cell), class_="text")
    value = "" if cell.value is None else repr(float(cell.value))
    return element("td", cell.html or cell.text, *_small(cell), data_value=value)


def _small(cell: Cell) -> list[Html]:
    return [Html(" "), element("small", cell.small)] if cell.small and not cell.html else []


_STEPS = 5


def cells_element(cells: drawing.Cells, caption: str) -> Html:
    """Return a heat map as a table: coloured cells that print their numbers."""
    heads = []
    places = {name: cells.numbers.get(name, place) for place, name in enumerate(cells.x[1], start=1)}
    short = drawing.short_names(cells.x[1], _HEAD, places)
    # Where rows are models too, their heads say which model has which number.
    is_keyed = any(name in cells.numbers for name in cells.y[1])
    for name in cells.x[1]:
        numbered = [element("span", str(cells.numbers[name]))] if name in cells.numbers else []
        kind = {"class_": "long"} if numbered or len(cells.x[1]) > _FEW_COLUMNS else {}
        of_model = {"data_model": name, "title": name} if name in cells.numbers else {}
        of_model |= {} if numbered and is_keyed else {"class_": "named"}
        called = element("bdi", short[name]) if kind else breakable(name)
        heads.append(element("th", element("span", called, **kind), *numbered, scope="col", **of_model))
    found = {(row[cells.y[0]], row[cells.x[0]]): row for row in cells.rows}
    # Of many cells the names, which row and column have, would be most of the bytes.
    text = "text" if len(cells.rows) <= _MOST_NAMED_CELLS else "numbers"
    rows = []
    for name in cells.y[1]:
        numbered = [element("small", f"{cells.numbers[name]} ")] if name in cells.numbers else []
        head = element("th", *numbered, breakable(name), scope="row")
        inside = [_coloured(cells, found.get((name, other)), text) for other in cells.x[1]]
        rows.append(element("tr", head, *inside, **({"data_model": name} if name in cells.numbers else {})))
    top = element("thead", element("tr", element("td", ""), *heads))
    table = element("table", top, element("tbody", *rows), class_="cells")
    return element("figure", scrolled(table, caption), element("figcaption", caption))


def _coloured(cells: drawing.Cells, row: Row | None, text: str) -> Html:
    if row is None:
        return element("td", "", class_="none")
    far = 0.0 if row[cells.value] is None else (row[cells.value] - cells.middle) / cells.reach
    step = min(round(abs(far) * _STEPS), _STEPS)
    kind = {"class_": f"{'u' if far > 0 else 'd'}{step}"} if step else {}
    small = [Html(" "), element("small", row["small"])] if row.get("small") else []
    return element("td", row["shown"], *small, title=row.get(text, row["text"]), **kind)


_FEW_COLUMNS = 6
_HEAD, _ROW_HEAD = 24, 34
"""Letters of a name that fit the head of a column, which stands upright, and the head of a row."""

_MOST_NAMED_CELLS = 100


def figure_element(figure: Figure) -> Html:
    """Return a figure; each mark, or cell, shows its own label where the pointer rests on it."""
    heading = [element("h3", figure.finding)] if figure.finding else []
    if isinstance(figure.chart, drawing.Cells):
        return Html("".join([*heading, cells_element(figure.chart, figure.caption)]))
    made = element("figure", plots.drawn(figure.chart, figure.caption), element("figcaption", figure.caption))
    return Html("".join([*heading, made]))


def page(
    title: str,
    top: Iterable[Html],
    sections: Sequence[Section],
    *,
    answer: Html,
    end: Iterable[Html] = (),
    models: Collection[str] = (),
) -> str:
    """Return the whole page of a report; nothing on it may be fetched, and no script but its own may run.

    Parameters
    ----------
    title : str
        Its name, for the window and for bookmarks.
    top : iterable of Html
        Its heading, and paragraphs that apply to all numbers.
    sections : sequence of Section
        Its sections, which the contents list.
    answer : Html
        What it says first.
    end : iterable of Html
        Paragraphs below all sections.
    models : collection of str
        The models that it is about.
    """
    addresses = _addresses(section.title for section in sections)
    contents = [
        element("li", element("a", section.title, href=f"#{address}"))
        for section, address in zip(sections, addresses, strict=True)
    ]
    folded_contents = element("details", element("summary", "Contents"), element("ul", *contents))
    rail = [element("nav", folded_contents, class_="contents", aria_label="Contents")]
    rail += [_CONTROLS] if len(models) > 1 else []
    named = zip(sections, addresses, strict=True)
    shown = [section_element(section, name=address, models=models) for section, address in named]
    body = [
        element("div", *top, class_="top"), element("div", *rail, class_="rail"),
        element("div", answer, *shown, *end, class_="body"),
    ]  # fmt: skip
    return document(title, body, style=asset("report.css"), script=asset("report.js"), kind="report")


_CONTROLS = Html(
    '<div id="controls" hidden><label>Show models named '
    '<input type="search" autocomplete="off" placeholder="part of a name"></label>'
    '<button type="button">Close all sections</button><output></output></div>'
)


def _addresses(titles: Iterable[str]) -> list[str]:
    """Return an address on the page for each title: its letters and digits, numbered where two are alike."""
    found: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "section"
        alike = sum(one == plain or re.fullmatch(rf"{plain}-[0-9]+", one) is not None for one in found)
        found.append(f"{plain}-{alike + 1}" if alike else plain)
    return found


def document(title: str, body: Iterable[Html], *, style: str = "", script: str = "", kind: str = "") -> str:
    """Return a whole page with the style of all, and the script that sorts; `style` and `script` are added to these.

    `kind` is the class of its content.

    Nothing on it may be fetched, and no other script may run.
    """
    scripts = f"\n{asset('page.js')}{script}"
    hashed = b64encode(sha256(scripts.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hashed}'; img-src data:"
    head = (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<link rel="icon" href="data:,">\n{element("title", title)}\n'
        f"<style>{_STYLE}{asset('page.css')}{records_style()}{asset('transcripts.css')}{style}</style>"
    )
    content = "\n".join(body)
    given = f' class="{kind}"' if kind else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n<main{given}>\n{content}\n</main>\n'
        f"<script>{scripts}</script>\n</body>\n</html>\n"
    )


LARGE = 40  # models; the cells of their matrix are small
MOST_NUMBERED = 25
"""Of as many models a matrix has the numbers of each pair, which would be most of the bytes of a larger one."""
_NAMED = 12  # models; in a larger matrix the heads alone have names
_SIGNS = {1: ("better", "+"), -1: ("worse", "\u2212"), 0: ("same", "\u00b7"), None: ("none", "?")}


def pairs_matrix(
    models: Sequence[tuple[int, str]],
    pairs: Sequence[Mapping[str, Any]],
    metric: Metric,
    called: str,
    *,
    family: int,
    exchanges: int,
    numbers: bool,
) -> Html:
    """Return every model against every other: significantly better, worse or neither; and how to read the matrix.

    Parameters
    ----------
    models : sequence of (int, str)
        From the best, with their numbers.
    pairs : sequence of mapping
        A row a pair, as of `attune_bench.stats.compare.compare_all`.
    metric : Metric
        Metric of the comparison.
    called : str
        Label of the matrix for screen readers.
    family, exchanges : int
        Number of pairs in the Holm correction, and largest number of random exchanges.
    numbers : bool
        Whether the pointer reads the numbers of a pair.
    """
    signs = signs_of(pairs, metric)
    said: dict[tuple[str, str], str] = {}
    tested = [row for row in pairs if numbers and row["difference"] is not None]
    for row in (*tested, *map(swapped, tested)):
        one, other = row["model_a"], row["model_b"]
        names = f"{one} minus {other}: " if len(models) <= _NAMED else ""
        difference = number(row["difference"], metric, signed=True)
        within = interval(row["low"], row["high"], metric, signed=True)
        said[one, other] = f"{names}{difference} {within}, Holm p {row_p(row)}, n = {row['n']}"
    heads = [
        element("th", str(place), scope="col", title=sanitize(model), data_model=sanitize(model))
        for place, model in models
    ]
    rows = []
    numbered = {model: place for place, model in models}
    short = drawing.short_names(numbered, _ROW_HEAD, numbered)
    for place, model in models:
        cells = [element("th", f"{place} ", breakable(short[model]), scope="row", title=sanitize(model))]
        for _, other in models:
            kind, shown = ("self", "") if other == model else _SIGNS[signs.get((model, other))]
            title = {"title": said[model, other]} if (model, other) in said else {}
            cells.append(element("td", shown, class_=kind, **title))
        rows.append(element("tr", *cells, data_model=sanitize(model)))
    kind = "pairs large" if len(models) > LARGE else "pairs"
    top = element("thead", element("tr", element("td", ""), *heads))
    higher = "has higher values" if metric.higher_is_better is None else "is better"
    lower = "has lower values" if metric.higher_is_better is None else "is worse"
    note = (
        f"A row against a column: + the row {higher}, \u2212 it {lower}, \u00b7 no significant difference "
        f"(Holm-corrected p of {ALPHA:g} or more, over {plural(family, 'pair')}, with at most {exchanges:,} random "
        "exchanges), ? there is no comparison, or none that may be shown. Columns are numbered as rows are."
    )
    matrix = scrolled(element("table", top, element("tbody", *rows), class_=kind), called)
    return Html(matrix + element("p", note, class_="quiet"))
