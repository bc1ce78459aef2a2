"""Make a built site smaller: ``python -m website.shrink site``, the last step of ``make docs``.

Most bytes of a built page say nothing to a reader: the indentation of templates, a span around every name, operator and
punctuation mark of code, and the titles of links that repeat their address or their sign. The index of the search has
markup and the code of every example, and is there twice: as a script for pages that are read as files, and as JSON for
others, which take the script as well.
"""

import json
import re
import shutil
import sys
from pathlib import Path

_KEPT = re.compile(r"(<(?:pre|script|style|textarea)\b.*?</(?:pre|script|style|textarea)>)", re.DOTALL)
_PLAIN = re.compile(r'<span class="(?:n|o|p|w|x)">([^<]*)</span>')
_TITLE = re.compile(r'(<a class="autorefs[^"]*"| class="headerlink"(?: href="[^"]*")?) title="[^"]*"')
_UNSEEN = re.compile(r'(?<= class="lucide) lucide-[\w-]+|<meta name="generator"[^>]*>')
"""Names of icons, which no style has, and with what the site was built."""
_BLOCK = r"(?:div|h\d|li|ol|p|section|table|tbody|td|th|thead|tr|ul)"
_BREAK = re.compile(rf"(</?{_BLOCK}\b[^>]*>)\n|\n(?=</?{_BLOCK}\b)")
_CONTENT = "<article"
_CONTENTS = '<nav class="md-nav md-nav--secondary"'
_METHODS = "reference/attune_metrics/stats/"
"""The part of the reference of which the search knows the whole text."""
_MOST = 80
"""How many letters of any other part of the reference it knows, after the name."""
_EXAMPLE = re.compile(r"<pre>.*?</pre>\s*", re.DOTALL)
_TAG = re.compile(r"</?(?:code|em|strong|a|span|p|ul|ol|li|table|thead|tbody|tr|th|td|div)\b[^>]*>")
_LOADED = 'location.protocol==="file:"?'
"""What decides, in the script of the site, from where the index comes."""

_REFERENCE = "reference/"


def page(text: str) -> str:
    r"""Return a page of HTML without what no browser shows.

    Examples
    --------
    >>> page('<p>\n    a  b</p>\n\n<pre><span class="n">x</span>\n\n  y</pre>')
    '<p>a  b</p><pre>x\n\n  y</pre>'
    """
    found = []
    for place, part in enumerate(_KEPT.split(text)):
        if place % 2:
            found.append(_PLAIN.sub(r"\1", part) if part.startswith("<pre") else part)
        else:
            found.append(_BREAK.sub(r"\1", re.sub(r"\s*\n\s*", "\n", part)))
    above, content, below = _UNSEEN.sub("", _TITLE.sub(r"\1", "".join(found))).partition(_CONTENT)
    # The navigation has no sentence in which a line break is a space.
    return _with_contents_once(re.sub(r"(?<=>)\n|\n(?=<)", "", above)) + content + below


def _with_contents_once(above: str) -> str:
    """Return what precedes the content without the first of two lists of its headings, which the second repeats."""
    if above.count(_CONTENTS) < 2:
        return above
    begin = above.index(_CONTENTS)
    depth = 0
    for found in re.finditer(r"</?nav\b", above[begin:]):
        depth += -1 if found[0].startswith("</") else 1
        if not depth:
            return above[:begin] + above[begin + found.end() :].partition(">")[2]
    raise ValueError("the list of headings has no end")


def index(text: str) -> str:
    """Return an index of the search without markup, and in the reference without code of examples.

    Examples
    --------
    >>> index('{"items": [{"location": "reference/a.html", "text": "<p>A.</p> <pre>1 + 1</pre>"}]}')
    '{"items":[{"location":"reference/a.html","text":"A."}]}'
    """
    found = json.loads(text)
    for item in found["items"]:
        of_reference = item["location"].startswith(_REFERENCE)
        text = _EXAMPLE.sub("", item["text"]) if of_reference else item["text"]
        text = " ".join(_TAG.sub(" ", text).split())
        is_cut = of_reference and not item["location"].startswith(_METHODS) and len(text) > _MOST
        item["text"] = text[:_MOST].rpartition(" ")[0] if is_cut else text
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def shrink(site: Path) -> None:
    """Rewrite the pages and the index of the search of a site in place."""
    for path in site.rglob("*.html"):
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.rmtree(site / "assets" / "stylesheets" / "classic")  # of a theme that the site does not have
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
