"""The site of the documentation: all pages in its navigation, all public names in its reference; it reads offline."""

import ast
import re
import shutil
import subprocess
import tomllib
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from browsers import axe_script, browsers, choose_scheme, serious_violations
from environments import new_environment

from attune_bench import figures, score
from attune_bench.cli import app
from attune_data import load, load_runs
from website.shrink import figure

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGES = ("attune_data", "attune_metrics", "attune_bench")
SEEN = ("index", "start", "statistics", "eibench", "boards", "reference/attune_metrics/stats/bootstrap")
"""Pages of every sort: text, code, tables, figures, reference."""

Open = Callable[..., Any]


def pages_of(entries: list[Any]) -> Iterator[str]:
    """Yield the pages of a part of the navigation."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for part in entry.values():
                yield from [part] if isinstance(part, str) else pages_of(part)


def test_every_page_is_in_the_navigation_once() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    listed = sorted(pages_of(settings["nav"]))
    assert listed == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@pytest.mark.slow
def test_the_picture_of_the_start_page_is_of_the_demo(tmp_path: Path) -> None:
    scores = score(load("demo"), load_runs("demo"))
    figures.save(figures.profile(scores, "synthetic/attentive"), tmp_path / "profile.svg")
    drawn, shown = (
        set(re.findall(r'aria-label="([^"]*)"', (folder / "profile.svg").read_text(encoding="utf-8")))
        for folder in (tmp_path, DOCS / "assets")
    )
    assert drawn == shown
    assert any(label.startswith("synthetic/attentive, Emotion F1: 0.465") for label in shown)


def names_of(file: Path) -> list[str]:
    """Return the full names of the functions and classes of a module without an underscore, and of what it exports."""
    module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    names: set[str] = set()
    for line in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__":
            names.update(ast.literal_eval(line.value))
        elif isinstance(line, ast.FunctionDef | ast.ClassDef):
            names.add(line.name)
    return [f"{module}.{name}" for name in sorted(names) if not name.startswith("_")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built with the extra alone from copies of what it is built of; a warning fails the build."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("codebook", "docs", "src", "website"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", folder)
    python = new_environment(folder / "environment", "docs") / "python"
    build = [str(python), "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    subprocess.run([str(python), "-m", "website.shrink", "site"], cwd=folder, check=True)
    assert "griffe" not in done.stdout + done.stderr, (
        done.stderr
    )  # the reader of docstrings, whose warnings fail nothing
    return folder / "site"


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    found = zlib.decompress((site / "objects.inv").read_bytes().split(b"zlib.\n", 1)[1]).decode()
    there = {line.split(" ", 1)[0] for line in found.splitlines()}
    files = [
        file
        for package in PACKAGES
        for file in (ROOT / "src" / package).rglob("*.py")
        if "/_" not in file.as_posix().removesuffix("/__init__.py")
    ]
    plugins = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["plugins"]
    left_out = tuple(f"{name}." for name in plugins["api-autonav"]["exclude"])
    names = [name for file in files for name in names_of(file) if not f"{name}.".startswith(left_out)]
    assert len(names) > 800
    assert [name for name in names if name not in there] == []


@pytest.mark.slow
def test_the_site_has_at_most_10_megabytes(site: Path) -> None:
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) <= 10_000_000


def test_figures_keep_every_text_and_mark_when_the_site_shrinks() -> None:
    for path in [*(DOCS / "boards").glob("*.svg"), DOCS / "assets" / "profile.svg"]:
        drawn = path.read_text(encoding="utf-8")
        small = figure(drawn)
        ElementTree.fromstring(small)  # noqa: S314  # our own
        assert len(small) < 0.8 * len(drawn)
        for kept in (r">([^<>]+)</text>", r' transform="translate\(([1-9]\d*)', r' (fill|stroke)="([^"]*)"'):
            assert re.findall(kept, small) == re.findall(kept, drawn) != []


@pytest.mark.slow
def test_every_command_is_described(site: Path) -> None:
    page = (site / "commands.html").read_text(encoding="utf-8")
    assert {
        name for name in app.list_commands(click.Context(app)) if f"Usage: attune-bench {name}" not in page
    } == set()
    assert page.count("-h, --help ") == page.count("Usage: attune-bench ")


@pytest.mark.slow
def test_no_file_asks_for_another_host(site: Path) -> None:
    loads = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 200
    assert {hit for page in pages for hit in loads.findall(page.read_text(encoding="utf-8"))} == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"@import|url\(['\"]?(?:https?:)?//[^)]*\)", styles) == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Open]:
    with browsers() as start:
        yield start


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("page", SEEN)
@pytest.mark.parametrize("width", [1280, 400])
def test_a_page_reads_without_a_network(browser: Open, site: Path, address: str, page: str, width: int) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    listed = "return performance.getEntriesByType('resource').map(one => one.name)"
    for base in (site.as_uri(), address):
        opened = browser(width)
        opened.get(f"{base}/{page}.html")
        if base == address:  # a browser lists no files
            WebDriverWait(opened, 20).until(lambda it: it.execute_script(listed))
        assert [name for name in opened.execute_script(listed) if not name.startswith(base)] == []
        assert [line for line in opened.get_log("browser") if line["level"] == "SEVERE"] == []
        assert opened.execute_script("return document.documentElement.scrollWidth") <= width
        images = opened.execute_script("return [...document.images].map(one => one.complete && one.naturalWidth)")
        assert all(images)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["file", "server"])
def test_search_finds_a_method(browser: Open, site: Path, address: str, by: str) -> None:
    from selenium.common.exceptions import NoSuchShadowRootException
    from selenium.webdriver.support.wait import WebDriverWait

    opened = browser()
    opened.get(f"{site.as_uri() if by == 'file' else address}/index.html")
    opened.find_element("css selector", "button.md-search__button").click()
    wait = WebDriverWait(opened, 30, ignored_exceptions=[NoSuchShadowRootException])
    dialogue = wait.until(lambda it: it.switch_to.active_element.shadow_root)
    opened.switch_to.active_element.send_keys("expanded percentile")
    found = wait.until(lambda _: dialogue.find_elements("css selector", "a[href*='h=expanded']"))
    titles = [one.text.splitlines()[0] for one in found]
    assert "The default interval stays" in titles
    assert "bootstrap" in titles


@pytest.mark.slow
def test_headings_link_to_themselves(browser: Open, address: str) -> None:
    opened = browser()
    opened.get(f"{address}/reference/attune_metrics/stats/bootstrap.html")
    links = opened.execute_script(
        "return [...document.querySelectorAll('article [id] > .headerlink')].map(a => [a.parentElement.id, a.hash])"
    )
    assert ["attune_metrics.stats.bootstrap.bootstrap", "#attune_metrics.stats.bootstrap.bootstrap"] in links
    assert all(link == f"#{name}" for name, link in links)


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe_script(tmp_path_factory.mktemp("axe"))


@pytest.mark.slow
@pytest.mark.parametrize("page", SEEN)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_accessible(browser: Open, axe: str, address: str, page: str, scheme: str) -> None:
    opened = browser()
    choose_scheme(opened, scheme)
    opened.get(f"{address}/{page}.html")
    assert serious_violations(opened, axe) == []


@pytest.mark.slow
def test_full_names_in_pages_lead_to_the_reference(site: Path) -> None:
    page = (site / "metrics" / "emotion.html").read_text(encoding="utf-8")
    address = "../reference/attune_metrics/attunebench/emotion.html#attune_metrics.attunebench.emotion"
    assert re.search(rf'<a [^>]*href="?{re.escape(address)}"?[^>]*><code>', page)
    assert [found for found in site.rglob("*.html") if "<autoref" in found.read_text(encoding="utf-8")] == []
