"""Make a built site smaller: ``python -m website.shrink site``, the last step of ``make docs``.

Most bytes of a built page say nothing to a reader: the indentation of templates, a span around every name, operator and
punctuation mark of code, the titles of links that repeat their address, how every icon is drawn, quotes and end tags
that HTML does not need, and the configuration of the site, which its script takes once. Figures have names for scripts
and many digits. The index of the search has markup, the code of every example, and the address and the path of the page
at each of its headings; and it is there twice: as a script for pages that are read as files, and as JSON for others,
which take the script as well.
"""

import json
import re
import shutil
import sys
from itertools import groupby
from os.path import commonprefix
from pathlib import Path
from urllib.parse import quote

_KEPT = re.compile(r"(<(?:pre|script|style|textarea)\b.*?</(?:pre|script|style|textarea)>)", re.DOTALL)
_PLAIN = re.compile(r'<span class="(?:n|o|p|w|x)">([^<]*)</span>')
_TITLE = re.compile(r'(<a class="autorefs[^"]*") title="[^"]*"')
_UNSEEN = re.compile(
    r'(?<= class="lucide) lucide-[\w-]+|<meta name="generator"[^>]*>|(?<=class=")language-\w+ (?=[^">]*highlight")|'
    r"(?<=md-nav__item) md-nav__item--pruned"
)
"""Names that no style and no script has, and with what the site was built."""
_ICON = (
    ' xmlns="http://www.w3.org/2000/svg" fill="none" stroke="currentColor" stroke-linecap="round" '
    'stroke-linejoin="round" stroke-width="2"'
)
"""How icons are drawn, which site.css says."""
_CODE = re.compile(r"(<(?:script|style|textarea)\b.*?</(?:script|style|textarea)>)", re.DOTALL)
_START = re.compile(r"<[a-zA-Z][^<>]*>")
_QUOTED = re.compile(r'(\s[\w:-]+=)"([\w./#:+-]+)"(?=[\s>])')
_END = re.compile(r"</li>(?=<li|</ul>|</ol>)|</t[dh]>(?=<t[dh]|</tr>)|</tr>(?=<tr|</tbody>|</thead>)")
"""End tags that the next tag implies."""
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

_FIGURE = (
    (re.compile(r' (?:aria-[\w-]+|role|class|pointer-events|xmlns:xlink|version|stroke-miterlimit)="[^"]*"'), ""),
    (re.compile(r' (?:opacity="1"|font-weight="normal"|transform="translate\(0,0\)")'), ""),
    (re.compile(r"(\d+\.\d)\d+"), r"\1"),
    (re.compile(r'<path (?:d="M0,0h0v0h0Z"|d="" display="none")/>'), ""),
)
"""What figures of Vega say to scripts and styles, which an image does not have, and digits below a tenth of a pixel."""
_GROUP = re.compile(r"<g>((?:(?!</?g\b).)*)</g>|<g [^>]*></g>", re.DOTALL)
"""A group that changes nothing, or draws nothing."""

_CONFIG = re.compile(r'(?<=<script id="__config" type="application/json">).+?(?=</script>)')
_OWN = ("base", "search")
"""What the configuration of a page has of its own; the script of the site has the rest, once."""
_CONFIGURED = re.compile(r"JSON\.parse\(\w+\.textContent\)")
"""Where that script reads the configuration of a page."""

_REFERENCE = "reference/"
_LINK = re.compile(
    r"(<a href=\S+ class=md-nav__link>)<span class=md-ellipsis>(?:<span class=md-typeset>([^<]*)</span>|([^<]*))</span>"
)
"""A link of the navigation, and the spans around its words, which site.css makes needless."""
_ARROW = re.compile(r'(<a href=\S+ class=md-nav__link>[^<]*)<span class="md-nav__icon md-icon"></span></a>')
"""A link to another part of the site; site.css draws its arrow."""
_SCRIPT = re.compile(r"<script>(.+?)</script>", re.DOTALL)
_DRAWN = re.compile(r'<svg class="?lucide"? viewBox="0 0 24 24">(.+?)</svg>', re.DOTALL)
_MASKED = '<svg class="lucide icon-%s" viewBox="0 0 24 24"></svg>'
"""An icon as a page has it, and as the style of the site draws it."""
_OF_REFERENCE = (
    (re.compile(r'<span title=(?:"[^"]*"|[^\s>]+)>([^<]*)</span>'), r"\1"),
    (re.compile(r"<div class=doc-md-description><p>((?:[^<]|<(?!p\b|div|/p>|/div>))*)</p></div>"), r"\1"),
    (re.compile(r" class=doc-section-item|(?<=<pre>)<span></span>"), ""),
    (re.compile(r'"doc (doc-object-name|doc-contents) (?:doc-\w+-name)?"'), r"\1"),
    (re.compile(r'"autorefs autorefs-internal"'), "autorefs"),
    (re.compile(r'"doc doc-object doc-\w+"'), '"doc doc-object"'),
    (re.compile(r'"doc doc-(heading|children)"'), r"doc-\1"),
    # The signature of an attribute without a type is its name, which its heading has.
    (
        re.compile(
            r'(<span class=doc-object-name>(\w+)</span></h\d>)<div class="doc-signature highlight">'
            r"<pre><code>\2\n?</code></pre></div>"
        ),
        r"\1",
    ),
)
"""What the reference says twice, and names that no style has."""


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
    return _without_implied(_with_contents_once(re.sub(r"(?<=>)\n|\n(?=<)", "", above)) + content + below)


def _without_implied(text: str) -> str:
    """Return a page without what its tags imply, and what the style of the site says."""
    parts = _CODE.split(text)
    for place in range(0, len(parts), 2):
        plain = _START.sub(lambda tag: _QUOTED.sub(r"\1\2", tag[0]), parts[place].replace(_ICON, ""))
        parts[place] = _END.sub("", plain)
    return "".join(parts)


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


def figure(text: str) -> str:
    """Return a figure of Vega, which pages show as an image, without what no image shows.

    Examples
    --------
    >>> figure('<svg class="marks"><g role="x"><path d="M0.55,0h1"/></g><g id="a"></g></svg>')
    '<svg><path d="M0.5,0h1"/></svg>'
    """
    for pattern, by in _FIGURE:
        text = pattern.sub(by, text)
    found = 1
    while found:
        text, found = _GROUP.subn(r"\1", text)
    return text


def index(text: str) -> str:
    """Return the script of an index of the search: without markup, and in the reference without code of examples.

    The script has the path of each page, and what the addresses of its headings begin with, once.

    Examples
    --------
    >>> item = '{"location": "reference/a.html#a.b", "level": 1, "title": "b", "text": "<p>B.</p>", "path": ["A"]}'
    >>> made = index(f'{{"config": null, "items": [{item}]}}')
    >>> '[["reference/a.html#a.b",["A"],[["",1,"b","B."]]]]' in made
    True
    """
    found = json.loads(text)
    for item in found["items"]:
        of_reference = item["location"].startswith(_REFERENCE)
        text = _EXAMPLE.sub("", item["text"]) if of_reference else item["text"]
        text = " ".join(_TAG.sub(" ", text).split())
        is_cut = of_reference and not item["location"].startswith(_METHODS) and len(text) > _MOST
        item["text"] = text[:_MOST].rpartition(" ")[0] if is_cut else text
    pages = []
    # The page itself has no place in it: its headings share more of their addresses without it.
    for (_, path), items in groupby(found["items"], lambda item: (item["location"].partition("#")[:2], item["path"])):
        rows = [(item["location"], item["level"], item["title"], item["text"]) for item in items]
        begin = commonprefix([location for location, *_ in rows])  # noqa: RUF071 - of characters
        pages.append((begin, path, [(location.removeprefix(begin), *others) for location, *others in rows]))
    config, packed = (json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in (found["config"], pages))
    return (
        f"var __index={{config:{config},items:{packed}.flatMap(([begin,path,rows])=>rows.map("
        "([end,level,title,text])=>({location:begin+end,level,title,text,path,tags:[]})))}"
    )


def shrink(site: Path) -> None:
    """Rewrite pages, figures and the index of the search of a site in place; scripts and icons become own files."""
    scripts, icons, shared = dict[str, int](), dict[str, int](), set[str]()
    for path in sorted(site.rglob("*.html")):
        text = page(path.read_text(encoding="utf-8"))
        of = path.relative_to(site).parts
        for pattern, by in _OF_REFERENCE if of[0] == "reference" else ():
            text = pattern.sub(by, text)
        text = _ARROW.sub(r"\1</a>", _LINK.sub(r"\1\2\3", text))
        root = "../" * (len(of) - 1)
        config = json.loads(_CONFIG.findall(text)[0])
        own = json.dumps({name: config.pop(name) for name in _OWN})
        shared.add(json.dumps(config))
        text = own.join(_CONFIG.split(text))
        for found in dict.fromkeys(_SCRIPT.findall(text)):
            source = f"{root}assets/script-{scripts.setdefault(found, len(scripts))}.js"
            text = text.replace(f"<script>{found}</script>", f"<script src={source}></script>")
        path.write_text(_DRAWN.sub(lambda found: _MASKED % icons.setdefault(found[1], len(icons)), text), "utf-8")
    for path in site.rglob("*.svg"):
        drawn = path.read_text(encoding="utf-8")
        if 'class="marks"' in drawn:
            path.write_text(figure(drawn), encoding="utf-8")
    for script, number in scripts.items():
        (site / "assets" / f"script-{number}.js").write_text(script, encoding="utf-8")
    with (site / "assets" / "site.css").open("a", encoding="utf-8") as style:
        for drawn, number in icons.items():
            source = quote(f'<svg{_ICON.replace("currentColor", "black")} viewBox="0 0 24 24">{drawn}</svg>')
            style.write(f'.icon-{number}{{background:currentcolor;mask:url("data:image/svg+xml,{source}")}}\n')
    shutil.rmtree(site / "assets" / "stylesheets" / "classic")  # of a theme that the site does not have
    [bundle] = site.glob("assets/javascripts/bundle.*.js")
    script = bundle.read_text(encoding="utf-8")
    if script.count(_LOADED) != 1:
        raise ValueError(f"{bundle.name} does not say once from where the index of the search comes: {_LOADED}")
    if not len(_CONFIGURED.findall(script)) == len(shared) == 1:
        raise ValueError(f"{bundle.name} does not read a configuration once, or pages have {len(shared)} of them")
    script = _CONFIGURED.sub(lambda found: f"Object.assign({next(iter(shared))},{found[0]})", script)
    bundle.write_text(script.replace(_LOADED, "true?"), encoding="utf-8")
    (site / "search.js").write_text(index((site / "search.json").read_text(encoding="utf-8")), encoding="utf-8")
    (site / "search.json").unlink()


if __name__ == "__main__":
    shrink(Path(sys.argv[1]))
