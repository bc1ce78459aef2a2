"""HTML for notebooks: built of tags that escape what they are given, styled within itself, without any resource."""

from collections.abc import Iterable, Sequence
from html import escape

from attune_data.text import lines

__all__ = ["Html", "details", "page", "table", "tag"]

# Colours are translucent greys and mid-tones, which read on a light and on a dark page.
_STYLE = """<style>
.attune { font-size: 13px; line-height: 1.45; max-width: 68rem; text-align: start; }
.attune p { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.attune h4 { margin: 0 0 .5em; font-size: 1.1em; font-weight: 600; overflow-wrap: anywhere; }
.attune h5 { margin: 1.4em 0 .6em; padding-top: .7em; border-top: 1px solid rgba(128,128,128,.35); font-size: 1em; }
.attune table { border-collapse: collapse; border: 0; margin: .3em 0; font-size: 1em; }
.attune th, .attune td { border: 0; padding: .15em 1.2em .15em 0; text-align: left; vertical-align: top;
  background: none; white-space: normal; overflow-wrap: anywhere; max-width: 44rem; }
.attune th { font-weight: 600; }
.attune .names th, .attune .quiet, .attune summary { font-weight: 400; opacity: .68; }
.attune .names th { white-space: nowrap; }
.attune .rows thead th, .attune .rows td { border-bottom: 1px solid rgba(128,128,128,.25); padding-block: .3em; }
.attune details { margin: .35em 0; }
.attune summary { cursor: pointer; }
.attune ul { margin: .2em 0; padding-left: 1.3em; }
.attune .turn { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.attune .said { flex: 3 1 24rem; min-width: 0; }
.attune .noted { flex: 2 1 16rem; min-width: 0; }
.attune .message { margin-bottom: .7em; padding: .55em .9em; border-radius: .6em; }
.attune .participant { margin-right: 2em; background: rgba(59,130,246,.14); }
.attune .model { margin-left: 2em; background: rgba(128,128,128,.13); }
.attune .edge { margin: .5em 0; padding-left: .7em; border-left: 3px solid rgba(217,119,6,.75); }
.attune .edge p ~ * { padding-left: 1.2em; }
.attune .error { border-left-color: rgba(220,38,38,.8); }
.attune .note { border-left-color: rgba(128,128,128,.6); }
.attune .chip { display: inline-block; margin: 0 .35em .35em 0; padding: 0 .6em; border-radius: 1em;
  border: 1px solid rgba(128,128,128,.45); }
</style>"""


class Html(str):
    """Markup, as opposed to text, which `tag` escapes."""

    __slots__ = ()


def tag(name: str, *children: str, kind: str = "") -> Html:
    """Return an element around children: `Html` as it is, other text escaped, line breaks kept.

    Each element finds its own direction, so that right-to-left text turns nothing around it.

    Examples
    --------
    >>> print(tag("p", "a < b", tag("b", "c"), kind="quiet"))
    <p class="quiet" dir="auto">a &lt; b<b dir="auto">c</b></p>
    """
    inside = "".join(child if isinstance(child, Html) else escape("\n".join(lines(child))) for child in children)
    kinds = f' class="{kind}"' if kind else ""
    return Html(f'<{name}{kinds} dir="auto">{inside}</{name}>')


def details(summary: str, *children: str) -> Html:
    """Return children that are hidden until the summary is clicked."""
    return tag("details", tag("summary", summary), *children)


def table(rows: Iterable[Sequence[str]], *, head: Sequence[str] | None = None) -> Html:
    """Return a table; without a head the first cell of each row is its name."""
    if head is None:
        named = [tag("tr", tag("th", name), *(tag("td", cell) for cell in cells)) for name, *cells in rows]
        return tag("table", tag("tbody", *named), kind="names")
    top = tag("thead", tag("tr", *(tag("th", cell) for cell in head)))
    body = tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows))
    return tag("table", top, body, kind="rows")


def page(title: str, *children: str) -> str:
    """Return the whole of what a notebook shows for one object."""
    return _STYLE + tag("div", tag("h4", title), *children, kind="attune")
