"""Pages of HTML in a browser: no errors, no request, sorting, and nothing wider than a small screen."""

import csv
import random
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import polars as pl
import pytest
from browsers import axe_script, browsers, choose_scheme, serious_violations
from episodes import episodes_of

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.baselines import BASELINES
from attune_data import load, load_scenarios

pytestmark = pytest.mark.slow

EVIL = "<img src=x onerror=alert(1)>"


class Shown(NamedTuple):
    """A page, its title, the models on it by name, and how many figures it has at least."""

    content: bytes
    title: str
    models: list[str]
    figures: int


def _attune() -> Shown:
    conversations = load("demo")
    runs = [
        run.model_copy(update={"em_model": EVIL}) if run.em_model == "baseline/lexicon" else run
        for predict in BASELINES.values()
        for run in predict(conversations)
    ]
    scores = score(conversations, runs)
    content = scores.report(format="html", data=conversations, results=runs, resamples=100).encode()
    return Shown(content, "AttuneBench scores", [EVIL, "baseline/chance", "baseline/prior"], 6)


def _eibench() -> Shown:
    scenarios = load_scenarios("demo")
    drifts = {EVIL: (-2, 2), "invented/calm": (-5, 4), "invented/rash": (2, -1)}
    episodes = episodes_of(scenarios, drifts, failures=[EVIL])
    scores = score(scenarios, episodes)
    content = scores.report(format="html", data=scenarios, results=episodes, resamples=100).encode()
    return Shown(content, "EIBench scores", list(drifts), 3)


def _table() -> Shown:
    source = random.Random(0)
    rows = [(model, f"q{unit}", "hit", source.random(), EVIL) for model in (EVIL, "b" * 300) for unit in range(40)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value", EVIL], orient="row")
    ratings = [(model, f"q{unit}", source.random()) for model in (EVIL, "b" * 300) for unit in range(12)]
    labels = pl.DataFrame(ratings, schema=["model", "unit", "rating"], orient="row")
    content = Scores.from_table(frame).report(format="html", labels=labels, resamples=100).encode()
    return Shown(content, "Scores", [EVIL, "b" * 300], 3)


@pytest.fixture(scope="module", params=[_attune, _eibench, _table], ids=["attune", "eibench", "table"])
def page(request: pytest.FixtureRequest) -> Shown:
    return request.param()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def server(page: Shown) -> Iterator[tuple[str, list[str]]]:
    """Serve the page on this machine, and list what was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.content)

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}/", asked
    listening.shutdown()
    listening.server_close()


@pytest.fixture(scope="module")
def open_browser() -> Iterator[Callable[..., Any]]:
    with browsers() as start:
        yield start


def test_opens_without_an_error_and_asks_for_nothing_else(
    open_browser: Callable[..., Any], server: tuple[str, list[str]], page: Shown
) -> None:
    address, asked = server
    asked.clear()
    browser = open_browser()
    browser.get(address)
    assert browser.execute_script("return document.querySelectorAll('svg').length") >= page.figures
    assert browser.get_log("browser") == []
    assert asked == ["/"]
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def column(browser: Any, number: int) -> list[str]:
    return browser.execute_script(  # type: ignore[no-any-return]
        "const [body] = document.querySelector('#scores table.sortable').tBodies;"
        "return [...body.rows].map(row => row.cells[arguments[0]].innerText)",
        number,
    )


def test_sorting(open_browser: Callable[..., Any], server: tuple[str, list[str]], page: Shown) -> None:
    from selenium.webdriver.common.by import By

    browser = open_browser()
    browser.get(server[0])
    model, number, *_ = browser.find_elements(By.CSS_SELECTOR, "#scores table.sortable thead button")
    number.click()
    first = [float(text.split()[0]) for text in column(browser, 1)]
    assert first == sorted(first, reverse=True)
    number.click()
    assert [float(text.split()[0]) for text in column(browser, 1)] == sorted(first)
    model.click()
    names = column(browser, 0)
    assert names == page.models
    heads = browser.find_elements(By.CSS_SELECTOR, "#scores table.sortable thead th[aria-sort]")
    assert [head.get_attribute("aria-sort") for head in heads[:1]] == ["ascending"]


def test_a_name_is_text(open_browser: Callable[..., Any], server: tuple[str, list[str]]) -> None:
    browser = open_browser()
    browser.get(server[0])
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert EVIL in browser.execute_script("return document.body.innerText")
    said = "return [...document.querySelectorAll('svg text, svg title, table.cells th')].map(e => e.textContent)"
    assert any(EVIL in text for text in browser.execute_script(said))


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_is_no_wider_than_the_screen(
    open_browser: Callable[..., Any], server: tuple[str, list[str]], width: int
) -> None:
    browser = open_browser(width)
    browser.get(server[0])
    assert browser.execute_script("return window.innerWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    # The heads of the ranking stand above its rows.
    lowest = "Math.max(...[...head.querySelectorAll('.at > *')].map(one => one.getBoundingClientRect().bottom))"
    body = "head.parentNode.tBodies[0].getBoundingClientRect().top"
    assert browser.execute_script(f"const head = document.querySelector('.ranking thead'); return {lowest} <= {body}")


def test_without_script_all_is_there(
    open_browser: Callable[..., Any], server: tuple[str, list[str]], page: Shown
) -> None:
    from selenium.webdriver.common.by import By

    browser = open_browser(script=False)
    browser.get(server[0])
    assert len(browser.find_elements(By.CSS_SELECTOR, "svg")) >= page.figures
    assert browser.find_elements(By.CSS_SELECTOR, "thead button") == []
    assert "Limits" in browser.find_element(By.TAG_NAME, "body").text


def test_the_dark_page_has_light_ink(open_browser: Callable[..., Any], server: tuple[str, list[str]]) -> None:
    browser = open_browser()
    inks = "return [...document.querySelectorAll('svg text')].map(e => getComputedStyle(e).fill)"
    seen = {}
    for scheme in ("light", "dark"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        browser.get(server[0])
        seen[scheme] = {*browser.execute_script(inks)}
    assert "rgb(27, 31, 36)" in seen["light"] - seen["dark"]
    assert "rgb(230, 233, 236)" in seen["dark"] - seen["light"]


def test_opens_from_a_file(open_browser: Callable[..., Any], page: Shown, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_bytes(page.content)
    browser = open_browser()
    browser.get(target.as_uri())
    assert browser.title == page.title
    assert browser.get_log("browser") == []


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe_script(tmp_path_factory.mktemp("axe"))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_no_serious_violation(
    open_browser: Callable[..., Any], server: tuple[str, list[str]], axe: str, width: int, scheme: str
) -> None:
    browser = open_browser(width)
    choose_scheme(browser, scheme)
    browser.get(server[0])
    assert serious_violations(browser, axe) == []


def test_figures_fit_a_narrow_screen(open_browser: Callable[..., Any], server: tuple[str, list[str]]) -> None:
    browser = open_browser(400)
    browser.get(server[0])
    marks = (
        "return [...document.querySelectorAll('figure svg, svg.interval')].filter(one => one.checkVisibility())"
        ".flatMap(one => [...one.querySelectorAll('path, circle, text')].map(mark => mark.getBoundingClientRect()))"
        ".filter(box => box.width > 0 && (box.left < 0 || box.right > 400)).length"
    )
    assert browser.execute_script(marks) == 0
    small = (
        "return [...document.querySelectorAll('figure svg')].filter(one => one.checkVisibility()).map(one => "
        "14 * one.getBoundingClientRect().width / one.viewBox.baseVal.width)"
    )
    sizes = browser.execute_script(small)
    assert sizes
    assert min(sizes) > 12


def test_the_four_branches_fit_a_phone(
    open_browser: Callable[..., Any], server: tuple[str, list[str]], page: Shown
) -> None:
    if page.title != "AttuneBench scores":
        pytest.skip("no other page has branches")
    browser = open_browser(360)
    browser.get(server[0])
    sizes = (
        "const one = document.querySelector('#profile-of-the-four-branches .scroll');"
        "return [one.scrollWidth - one.clientWidth, one.querySelectorAll('tbody td').length]"
    )
    assert browser.execute_script(sizes) == [0, 4 * len(page.models)]


def test_a_table_shows_that_it_scrolls(open_browser: Callable[..., Any], server: tuple[str, list[str]]) -> None:
    browser = open_browser(660)
    browser.get(server[0])
    wrong = (
        "return [...document.querySelectorAll('.scroll')].filter(one => one.checkVisibility() && "
        "(one.scrollWidth > one.clientWidth + 2) !== one.classList.contains('more')).length"
    )
    assert browser.execute_script(wrong) == 0
    assert browser.execute_script("return document.querySelectorAll('.scroll.more').length") > 0
    browser.execute_script("for (const one of document.querySelectorAll('.scroll')) one.scrollLeft = 10000")
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert browser.execute_script("return document.querySelectorAll('.scroll.more').length") == 0


def test_a_name_is_searched(open_browser: Callable[..., Any], server: tuple[str, list[str]], page: Shown) -> None:
    from selenium.webdriver.common.by import By

    browser = open_browser()
    browser.get(server[0])
    wanted = page.models[-1]
    browser.find_element(By.CSS_SELECTOR, "#controls input").send_keys(wanted[:40].upper())
    shown = "return [...document.querySelectorAll('[data-model]')].filter(one => !one.hidden && one.checkVisibility && "
    shown += (
        "one.namespaceURI.endsWith('html') && one.checkVisibility()).map(one => [one.dataset.model, one.dataset.other])"
    )
    names = {name for names in browser.execute_script(shown) for name in names if name is not None}
    others = browser.execute_script(
        "return document.querySelectorAll('table.ranking tr[data-model]:not([hidden])').length"
    )
    assert wanted in names
    assert others == 1
    assert f"1 of {len(page.models)}" in browser.find_element(By.CSS_SELECTOR, "#controls output").text


def test_a_model_is_highlighted_by_the_keyboard(
    open_browser: Callable[..., Any], server: tuple[str, list[str]]
) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = open_browser()
    browser.get(server[0])
    seen = []
    for _ in range(40):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        seen.append(active.get_attribute("class") or active.tag_name)
        outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", seen
        if seen[-1] == "name":
            break
    # The contents first; beside the page, where they are open, they have no summary.
    assert [one for one in seen if one != "a"] == ["input", "button", "name"]
    assert seen[0] == "a"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    model = browser.switch_to.active_element.text
    lit = browser.execute_script("return [...document.querySelectorAll('.lit')].map(one => one.dataset.model)")
    assert len(lit) > 3
    assert browser.switch_to.active_element.get_attribute("aria-pressed") == "true"
    assert any(model == name for name in lit)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.find_elements(By.CSS_SELECTOR, ".lit") == []


def test_sections_close_and_their_addresses_open_them(
    open_browser: Callable[..., Any], server: tuple[str, list[str]]
) -> None:
    from selenium.webdriver.common.by import By

    browser = open_browser(400)
    browser.get(server[0])
    browser.find_element(By.CSS_SELECTOR, "#controls button").click()
    assert browser.find_elements(By.CSS_SELECTOR, "details.part[open]") == []
    browser.find_element(By.CSS_SELECTOR, "nav summary").click()
    browser.find_element(By.CSS_SELECTOR, "nav a[href='#methods']").click()
    browser.execute_async_script("setTimeout(arguments[0], 50)")
    assert len(browser.find_elements(By.CSS_SELECTOR, "details.part[open]")) == 1
    assert browser.find_element(By.CSS_SELECTOR, "#methods p").is_displayed()


def test_the_contents_stay_beside_the_page(open_browser: Callable[..., Any], server: tuple[str, list[str]]) -> None:
    browser = open_browser()
    browser.get(server[0])
    browser.execute_script("document.querySelector('#limits').scrollIntoView()")
    link = browser.find_element("css selector", "nav a[href='#scores']")
    top = "return arguments[0].getBoundingClientRect().top"
    assert 0 <= browser.execute_script(top, link) < 100
    assert link.size["height"] > 0


def test_on_a_narrow_screen_each_cell_has_the_head_of_its_column(
    open_browser: Callable[..., Any], server: tuple[str, list[str]]
) -> None:
    browser = open_browser(400)
    browser.get(server[0])
    heads = (
        "const [table] = document.querySelectorAll('#methods table.stack'), [row] = table.tBodies[0].rows;"
        "return [[...table.tHead.rows[0].cells].slice(1).map(one => one.textContent), [...row.cells].slice(1)"
        ".map(one => getComputedStyle(one, '::before').content.replace(/^\"|\"$/g, ''))]"
    )
    of_columns, beside = browser.execute_script(heads)
    assert len(of_columns) >= 3
    assert beside == of_columns


def test_on_a_narrow_screen_columns_of_models_have_names_where_rows_are_no_models(
    open_browser: Callable[..., Any], server: tuple[str, list[str]]
) -> None:
    browser = open_browser(400)
    browser.get(server[0])
    found = browser.execute_script(
        "return [...document.querySelectorAll('table.cells')].map(table => ["
        "[...table.tBodies[0].rows].some(row => row.dataset.model !== undefined), "
        "[...table.tHead.querySelectorAll('th[data-model] > .long')].map(one => one.checkVisibility())])"
    )
    of_models = [(is_keyed, shown) for is_keyed, shown in found if shown]
    assert of_models
    # A number is enough where the rows say whose it is.
    assert all(set(shown) == {not is_keyed} for is_keyed, shown in of_models)


def test_print_shows_what_is_closed(
    open_browser: Callable[..., Any], server: tuple[str, list[str]], page: Shown
) -> None:
    for script in (True, False):
        browser = open_browser(script=script)
        browser.get(server[0])
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        folded = browser.find_elements("css selector", "details.fold table")
        # The page of two models of a user's table has one pair, which is not folded.
        assert folded or page.models == [EVIL, "b" * 300]
        assert all(one.size["height"] > 0 for one in folded)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_heads_have_no_buttons_in_print_and_sort_after_it(
    open_browser: Callable[..., Any], server: tuple[str, list[str]]
) -> None:
    # The browser repeats a head on the next sheet unless it has a button.
    browser = open_browser()
    browser.get(server[0])
    count = "return document.querySelectorAll('thead button').length"
    before = browser.execute_script(count)
    texts = "return [...document.querySelectorAll('thead th')].map(one => one.textContent)"
    heads = browser.execute_script(texts)
    assert before > 0
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(count) == 0
    assert browser.execute_script(texts) == heads
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(count) == before
    assert browser.execute_script(texts) == heads
    browser.find_element("css selector", "#scores table.sortable thead th:nth-child(2) button").click()
    assert browser.find_elements("css selector", "#scores th[aria-sort=descending]")


def test_a_figure_and_a_table_are_copied(open_browser: Callable[..., Any], server: tuple[str, list[str]]) -> None:
    browser = open_browser()
    browser.get(server[0])
    # What the page would copy.
    browser.execute_script(
        "window.copied = [];"
        "Object.defineProperty(navigator, 'clipboard', {value: {"
        "writeText: async text => { copied.push(text); },"
        "write: async ([item]) => { copied.push((await item.getType('image/png')).size); }}})"
    )
    for kind in ("SVG", "PNG", "CSV"):
        [button, *_] = [
            one for one in browser.find_elements("css selector", "#scores .copy button, figure + .copy button")
            if one.text == kind
        ]  # fmt: skip
        browser.execute_script("arguments[0].click()", button)
    wait = "const done = arguments[0], look = () => copied.length < 3 ? setTimeout(look, 20) : done(copied); look()"
    browser.set_script_timeout(20)
    found = browser.execute_async_script(wait)
    [size] = [one for one in found if isinstance(one, int)]
    assert size > 1000
    [drawn] = [one for one in found if isinstance(one, str) and one.startswith("<svg")]
    assert 'xmlns="http://www.w3.org/2000/svg"' in drawn
    [rows] = [[*csv.reader(one.splitlines())] for one in found if isinstance(one, str) and not one.startswith("<svg")]
    assert rows[0][0] == "model"
    assert {len(row) for row in rows} == {len(rows[0])}
    cells = browser.execute_script(
        "return [...document.querySelector('#scores table').tBodies[0].rows].map(row => row.cells[1].dataset.value)"
    )
    values = ["" if row[1] == "-" else float(row[1]) for row in rows[1:]]
    assert values == [float(one) if one else "" for one in cells]


def test_a_copied_matrix_has_whole_names(
    open_browser: Callable[..., Any], server: tuple[str, list[str]], page: Shown
) -> None:
    browser = open_browser()
    browser.get(server[0])
    browser.execute_script(
        "window.copied = [];"
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { copied.push(text); }}});"
        "document.querySelector('table.pairs').closest('.scroll').nextElementSibling.querySelector('button').click()"
    )
    wait = "const done = arguments[0], look = () => copied.length ? done(copied[0]) : setTimeout(look, 20); look()"
    rows = [*csv.reader(browser.execute_async_script(wait).splitlines())]
    assert {*rows[0][1:]} >= {*page.models}
    assert [row[0] for row in rows[1:]] == rows[0][1:]


def test_without_script_there_are_no_copy_buttons(
    open_browser: Callable[..., Any], server: tuple[str, list[str]]
) -> None:
    browser = open_browser(script=False)
    browser.get(server[0])
    assert browser.find_elements("css selector", ".copy") == []
