"""A page of HTML: elements that escape, sections as markup, style, the script that sorts, figures as inline SVG."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from xml.etree import ElementTree

from attune_bench.report import drawing
from attune_bench.report.columns import Cell, Figure, Markup, Part, Section, Table
from attune_data.display.html import Html
from attune_data.text import printable

__all__ = ["document", "element", "figure_element", "page", "section_element", "table_element"]

_DARK = {
    drawing.INK: "#e6e9ec",
    drawing.MUTED: "#9aa4af",
    drawing.GRID: "#363d45",
    drawing.PAPER: "#15181b",
    drawing.SKY: "#56b4e9",
    drawing.ORANGE: "#f0894a",
}
# Figures are drawn once, for light; by their colours style sheets find what to change in the dark.
_RECOLOURED = "\n".join(
    f'  svg [{attribute}="{light}"] {{ {attribute}: {dark}; }}'
    for light, dark in _DARK.items()
    for attribute in ("fill", "stroke")
)
_STYLE = f"""
:root {{ color-scheme: light dark; --ink: {drawing.INK}; --muted: {drawing.MUTED}; --grid: {drawing.GRID};
  --paper: {drawing.PAPER}; --shade: #f5f6f7; }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ --ink: {_DARK[drawing.INK]}; --muted: {_DARK[drawing.MUTED]}; --grid: {_DARK[drawing.GRID]};
    --paper: {_DARK[drawing.PAPER]}; --shade: #1d2125; }}
{_RECOLOURED}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 76rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }}
h1 {{ margin: 0 0 .3rem; font-size: 1.75rem; line-height: 1.2; }}
h2 {{ margin: 3rem 0 .6rem; padding-top: 1rem; border-top: 1px solid var(--grid); font-size: 1.25rem; }}
h3 {{ margin: 1.8rem 0 .4rem; font-size: 1rem; overflow-wrap: anywhere; }}
p, ul {{ margin: .5rem 0; max-width: 46rem; overflow-wrap: anywhere; }}
ul {{ padding-left: 1.2rem; }}
.quiet, figcaption {{ color: var(--muted); font-size: .9rem; overflow-wrap: anywhere; }}
.notice {{ padding: .4rem .8rem; border-left: 3px solid {drawing.ORANGE}; background: var(--shade); }}
code {{ font-size: .85rem; overflow-wrap: anywhere; }}
.scroll {{ overflow-x: auto; margin: .6rem 0; }}
table {{ border-collapse: separate; border-spacing: 0; font-size: .9rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .32rem .7rem .32rem 0; border-bottom: 1px solid var(--grid); text-align: right; vertical-align: top;
  white-space: nowrap; }}
th.text, td.text {{ text-align: left; }}
td.text {{ min-width: 9.5rem; max-width: 22rem; white-space: normal; overflow-wrap: anywhere; }}
th:first-child, td:first-child {{ position: sticky; left: 0; background: var(--paper); }}
@media screen and (max-width: 40rem) {{ td.text {{ min-width: 6rem; max-width: 36vw; }} }}
thead th {{ white-space: normal; border-bottom: 1.5px solid var(--muted); font-weight: 600; vertical-align: bottom; }}
th button {{ all: unset; cursor: pointer; }}
th button:focus-visible {{ outline: 2px solid {drawing.SKY}; outline-offset: 2px; }}
th button::after {{ content: " \\2195"; color: var(--muted); }}
th[aria-sort=ascending] button::after {{ content: " \\2191"; }}
th[aria-sort=descending] button::after {{ content: " \\2193"; }}
td small {{ display: block; color: var(--muted); font-size: .8em; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(29rem, 100%), 1fr)); column-gap: 2rem; }}
.grid figure {{ display: flex; flex-direction: column-reverse; justify-content: flex-end; min-width: 0; }}
.grid figcaption {{ color: var(--ink); font-weight: 600; }}
figure {{ margin: 1rem 0 1.6rem; }}
figure svg {{ display: block; height: auto; max-width: 100%; min-width: min(30rem, var(--width)); overflow: visible; }}
figure .scroll {{ padding: 0 1.5rem; margin-inline: -1.25rem; }}
@media print {{
  body {{ max-width: none; padding: 0; font-size: 10pt; }}
  .scroll {{ overflow: visible; }}
  table {{ font-size: 8pt; }}
  th, td {{ padding-right: .5rem; }}
  th:first-child, td:first-child {{ position: static; }}
  tr, figure {{ break-inside: avoid; }}
  h2, h3 {{ break-after: avoid; }}
  th button::after {{ content: ""; }}
  figure svg {{ max-width: 14cm; }}
}}
"""
_SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sorted = head.getAttribute("aria-sort"), text = !("value" in body.rows[0].cells[column].dataset);
      const rising = sorted ? sorted === "descending" : text;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const order = (a, b) => text ? key(a).localeCompare(key(b)) : key(a) - key(b);
      const known = row => key(row) !== "";
      const rows = [...body.rows];
      const ordered = rows.filter(known).sort((a, b) => rising ? order(a, b) : order(b, a));
      body.append(...ordered, ...rows.filter(row => !known(row)));
    });
  });
}
"""


def element(name: str, *children: str, **attributes: str) -> Html:
    """Return an element: `Html` as it is, other text and the values of attributes escaped; ``_`` in names is ``-``.

    Examples
    --------
    >>> print(element("td", "a < b", data_value='"'))
    <td data-value="&quot;">a &lt; b</td>
    """
    inside = "".join(child if isinstance(child, Html) else escape(printable(child)) for child in children)
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{given}>{inside}</{name}>")


def section_element(section: Section) -> Html:
    """Return a section of the page under its heading; small figures go side by side."""
    parts: list[Html] = []
    for is_small, run in groupby(section.parts, lambda part: isinstance(part, Figure) and part.is_small):
        made = [_part(part) for part in run]
        parts += [element("div", *made, class_="grid")] if is_small else made
    return element("section", element("h2", section.title), *parts)


def _part(part: Part) -> Html:
    if isinstance(part, Table):
        return table_element(part)
    if isinstance(part, Figure):
        return figure_element(part)
    if isinstance(part, Markup):
        return part.html
    if isinstance(part, tuple):
        return element("ul", *(element("li", text) for text in part))
    return element("p", part)


def table_element(table: Table) -> Html:
    """Return a table under its heading, which scrolls within itself where it is too wide; below it its notes.

    Its rows are those of the table as text, cell by cell; a row's ``reason`` is a note that the row refers to.

    Examples
    --------
    >>> from attune_bench.report.columns import text_column
    >>> found = table_element(Table("k", "", [text_column("model", "m", is_name=True)], [{"m": "<b>"}]))
    >>> "<bdi>&lt;b&gt;</bdi>" in found
    True
    """
    rows = [[column.cell(row) for column in table.columns] for row in table.rows]
    reasons = list(dict.fromkeys(row["reason"] for row in table.rows if row.get("reason")))
    heads = [column.head for column in table.columns]
    is_text = [
        column.is_name or any(isinstance(cells[place].value, str) for cells in rows)
        for place, column in enumerate(table.columns)
    ]
    if reasons:
        heads.append("note")
        is_text.append(True)
        for cells, row in zip(rows, table.rows, strict=True):
            cells.append(Cell(f"[{reasons.index(row['reason']) + 1}]" if row.get("reason") else ""))
    top = [
        element("th", head, scope="col", class_="text" if text else "number")
        for head, text in zip(heads, is_text, strict=True)
    ]
    body = [element("tr", *map(_cell, cells, is_text)) for cells in rows]
    kind = {"class_": "sortable"} if len(rows) > 1 else {}
    drawn = element("table", element("thead", element("tr", *top)), element("tbody", *body), **kind)
    notes = [f"[{place}] {reason}." for place, reason in enumerate(reasons, start=1)]
    return _joined(
        *([element("h3", table.title)] if table.title else []),
        element("div", drawn, class_="scroll", tabindex="0") if rows else element("p", "No rows."),
        *(element("p", note, class_="quiet") for note in [*notes, *table.notes]),
    )


def _cell(cell: Cell, text: bool) -> Html:
    if text:
        return element("td", element("bdi", cell.text), *_small(cell), class_="text")
    value = "" if cell.value is None else repr(float(cell.value))
    return element("td", cell.text, *_small(cell), data_value=value)


def _small(cell: Cell) -> list[Html]:
    return [Html(" "), element("small", cell.small)] if cell.small else []


def _joined(*parts: Html) -> Html:
    return Html("".join(parts))


def figure_element(figure: Figure) -> Html:
    """Return a chart as inline SVG; each mark shows its own label where the pointer rests on it."""
    name = "http://www.w3.org/2000/svg"
    ElementTree.register_namespace("", name)
    root = ElementTree.fromstring(drawing.svg(figure.chart))  # noqa: S314 - drawn here
    for mark in root.iter():
        of_frame = mark.get("aria-roledescription") in {"axis", "legend", "title"}
        if mark.get("role") == "graphics-symbol" and not of_frame and (text := mark.get("aria-label")):
            title = ElementTree.Element(f"{{{name}}}title")
            title.text = text
            mark.insert(0, title)
        # The figure is one image with a name; its marks keep their titles, and say nothing twice.
        for attribute in ("role", "aria-label", "aria-roledescription", "aria-hidden", "pointer-events"):
            mark.attrib.pop(attribute, None)
    root.set("role", "img")
    root.set("aria-label", printable(figure.caption))
    root.set("style", f"--width: {root.get('width')}px")
    drawn = Html(ElementTree.tostring(root, encoding="unicode"))
    return element(
        "figure", element("div", drawn, class_="scroll", tabindex="0"), element("figcaption", figure.caption)
    )


def page(title: str, top: Iterable[Html], sections: Sequence[Section]) -> str:
    """Return the whole page of a report; nothing on it may be fetched, and no script but its own may run."""
    return document(title, [element("h1", title), *top, *map(section_element, sections)])


def document(title: str, body: Iterable[Html], *, style: str = "", script: str = "") -> str:
    """Return a whole page with the style of all, and the script that sorts; `style` and `script` are added to these.

    Nothing on it may be fetched, and no other script may run.
    """
    scripts = f"{_SCRIPT}{script}"
    hashed = b64encode(sha256(scripts.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hashed}'; img-src data:"
    head = (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<link rel="icon" href="data:,">\n{element("title", title)}\n<style>{_STYLE}{_of_transcripts()}{style}</style>'
    )
    content = "\n".join(body)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n<main>\n{content}\n</main>\n'
        f"<script>{scripts}</script>\n</body>\n</html>\n"
    )


@cache
def _of_transcripts() -> str:
    """Return the style of transcripts."""
    return (files("attune_bench.report") / "transcripts.css").read_text(encoding="utf-8")
