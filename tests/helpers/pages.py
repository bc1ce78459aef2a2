"""Reading pages of HTML in tests: elements, headings, tables, what was left out."""

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "wbr"}


class Tags(HTMLParser):
    """Every element of a page with its attributes, and the text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.within = ""
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.within = tag
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.within not in {"style", "script"}:
            self.text += data


def headings(page: str) -> list[str]:
    """Return the headings of sections."""
    return [unescape(heading) for heading in re.findall(r"<h2>(.*?)</h2>", page)]


def text_of(markup: str) -> str:
    """Return what is read of markup: no tags, no style, no script."""
    body = re.sub(r"<(style|script|title)\b.*?</\1>|<wbr>", "", markup, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def section(page: str, heading: str) -> str:
    """Return the markup of the section under a heading."""
    sections: list[str] = re.findall(r"<section\b.*?</section>", page, flags=re.DOTALL)
    [found] = [one for one in sections if headings(one) == [heading]]
    return found


def tables(markup: str, *, figures: bool = False) -> list[list[list[str]]]:
    """Return every table as rows of the texts of its cells, the head first; those that are `figures`, or the others."""
    return [
        [[text_of(cell) for cell in re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row)] for row in _rows(table)]
        for table in re.findall(r"<table\b.*?</table>", markup, flags=re.DOTALL)
        if figures == (re.match(r'<table class="(ranking|cells|pairs)\b', table) is not None)
    ]


def cells(markup: str) -> dict[tuple[str, str], str]:
    """Return by row and column what the cells of the one figure of cells print; names are without numbers."""
    [[head, *rows]] = tables(markup, figures=True)
    columns = [re.sub(r" [0-9]+$", "", name) for name in head[1:]]
    return {
        (re.sub(r"^[0-9]+ ", "", row), column): shown
        for row, *inside in rows
        for column, shown in zip(columns, inside, strict=True)
    }


def _rows(table: str) -> Iterator[str]:
    yield from re.findall(r"<tr\b[^>]*>(.*?)</tr>", table, flags=re.DOTALL)


def left_out(page: str) -> dict[str, str]:
    """Return by section why it is not in the report."""
    found = re.search(r'<p class="quiet" id="not-in-this-report">(.*?)</p>', page)
    items = map(text_of, re.findall(r"<span>(.*?)</span>", found[1])) if found else ()
    return {item.partition(": ")[0]: item.partition(": ")[2] for item in items}
