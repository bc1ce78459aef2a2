"""Make a built site smaller: ``python -m website.shrink site``, the last step of ``make docs``.

Most bytes of a built page say nothing to a reader: the indentation of templates, a span around every name and
punctuation mark of code, which no style colours, and the titles of links that repeat their address. The index of the
search has markup and the code of every example, and is there twice: as a script for pages that are read as files, and
as JSON for others, which take the script as well.
"""

import json
import re
import sys
from pathlib import Path

_KEPT = re.compile(r"(<(?:pre|script|style|textarea)\b.*?</(?:pre|script|style|textarea)>)", re.DOTALL)
_PLAIN = re.compile(r'<span class="(?:n|p|w|x)">([^<]*)</span>')
_TITLE = re.compile(r'(<a class="autorefs[^"]*") title="[^"]*"')
_EXAMPLE = re.compile(r"<pre>.*?</pre>\s*", re.DOTALL)
_TAG = re.compile(r"</?(?:code|em|strong|a|span|p|ul|ol|li|table|thead|tbody|tr|th|td|div)\b[^>]*>")
_LOADED = 'location.protocol==="file:"?'
"""What decides, in the script of the site, from where the index comes."""

_REFERENCE = "reference/"


def page(text: str) -> str:
    """Return a page of HTML without what no browser shows.

    Examples
    --------
    >>> page('<p>\\n    a  b</p>\\n\\n<pre><span class="n">x</span>\\n\\n  y</pre>')
    '<p>\\na  b</p>\\n<pre>x\\n\\n  y</pre>'
    """
    parts = _KEPT.split(text)
    for place, part in enumerate(parts):
        of_code = place % 2 and part.startswith("<pre")
        parts[place] = _PLAIN.sub(r"\1", part) if of_code else part if place % 2 else re.sub(r"\s*\n\s*", "\n", part)
    return _TITLE.sub(r"\1", "".join(parts))


def index(text: str) -> str:
    """Return an index of the search without markup, and in the reference without code of examples.

    Examples
    --------
    >>> index('{"items": [{"location": "reference/a.html", "text": "<p>A.</p> <pre>1 + 1</pre>"}]}')
    '{"items":[{"location":"reference/a.html","text":"A."}]}'
    """
    found = json.loads(text)
    for item in found["items"]:
        text = _EXAMPLE.sub("", item["text"]) if item["location"].startswith(_REFERENCE) else item["text"]
        item["text"] = " ".join(_TAG.sub(" ", text).split())
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def shrink(site: Path) -> None:
    """Rewrite the pages and the index of the search of a site in place."""
    for path in site.rglob("*.html"):
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    [bundle] = site.glob("assets/javascripts/bundle.*.js")
    script = bundle.read_text(encoding="utf-8")
    if script.count(_LOADED) != 1:
        raise ValueError(f"{bundle.name} does not say once from where the index of the search comes: {_LOADED}")
    bundle.write_text(script.replace(_LOADED, "true?"), encoding="utf-8")
    made = index((site / "search.json").read_text(encoding="utf-8"))
    (site / "search.js").write_text(f"var __index = {made}", encoding="utf-8")
    (site / "search.json").unlink()


if __name__ == "__main__":
    shrink(Path(sys.argv[1]))
