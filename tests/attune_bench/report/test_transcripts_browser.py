"""Transcripts in a browser: accessible, reached by the keyboard, no wider than the screen, and nothing in them runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import axe_script, browsers, choose_scheme, serious_violations

from attune_bench import score
from attune_bench.report import transcripts
from attune_bench.report.transcripts import TranscriptFolder
from attune_data import Conversations, load, load_episodes, load_runs, load_scenarios

pytestmark = pytest.mark.slow

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>" + "wide" * 60


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write pages with transcripts: on the page itself, beside it, and one of those beside it."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in ("within", "beside", "episodes")}
    options: Any = {"format": "html", "resamples": 20}
    scenarios, episodes = load_scenarios("demo"), load_episodes("demo")
    text = score(scenarios, episodes).report(data=scenarios, results=episodes, transcripts=True, **options)
    found["episodes"].write_text(text, encoding="utf-8")
    conversations = Conversations(
        [
            one.model_copy(update={"turns": (one.turns[0].model_copy(update={"user_message": EVIL}), *one.turns[1:])})
            for one in load("demo")
        ]
    )
    runs = list(load_runs("demo"))
    scores = score(conversations, runs)
    given: Any = {"data": conversations, "results": runs, **options}
    found["within"].write_text(scores.report(transcripts=True, **given), encoding="utf-8")
    beside = TranscriptFolder(name="beside-transcripts", page="beside.html")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(transcripts, "_MOST_INLINE", 0)
        found["beside"].write_text(scores.report(transcripts=beside, **given), encoding="utf-8")
    beside.write(folder)
    return found | {"one": min((folder / beside.name).iterdir())}


@pytest.fixture(scope="module")
def open_browser() -> Iterator[Callable[..., Any]]:
    with browsers() as start:
        yield start


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe_script(tmp_path_factory.mktemp("axe"))


@pytest.mark.parametrize("name", ["within", "beside", "episodes", "one"])
@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_a_page_is_accessible_and_no_wider_than_the_screen(
    open_browser: Callable[..., Any], axe: str, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    browser = open_browser(width)
    choose_scheme(browser, scheme)
    browser.get(pages[name].as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert serious_violations(browser, axe) == []


@pytest.mark.parametrize("name", ["within", "one"])
def test_a_text_is_no_markup(open_browser: Callable[..., Any], pages: dict[str, Path], name: str) -> None:
    browser = open_browser()
    browser.get(pages[name].as_uri())
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert EVIL in browser.execute_script("return document.body.textContent")
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_a_link_opens_its_transcript(open_browser: Callable[..., Any], pages: dict[str, Path]) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = open_browser()
    browser.get(pages["within"].as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    links = browser.find_elements(By.CSS_SELECTOR, ".picks a")
    browser.execute_script("document.querySelectorAll('details.unit').forEach(one => { one.open = false; })")
    target = str(links[-1].get_attribute("href")).partition("#")[2]
    links[-1].send_keys(Keys.ENTER)
    assert browser.find_element(By.ID, target).is_displayed()
    browser.get(pages["beside"].as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.find_elements(By.CSS_SELECTOR, ".picks a")[0].send_keys(Keys.ENTER)
    assert browser.find_elements(By.CSS_SELECTOR, ".said")
    browser.find_element(By.LINK_TEXT, "Back to the report").send_keys(Keys.ENTER)
    assert browser.current_url == pages["beside"].as_uri()


def test_the_keyboard_reaches_what_is_folded(open_browser: Callable[..., Any], pages: dict[str, Path]) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = open_browser()
    browser.get(pages["one"].as_uri())
    summaries = browser.find_elements(By.CSS_SELECTOR, "summary")
    assert len(summaries) > 5
    for summary in summaries[:5]:
        summary.send_keys(Keys.ENTER)
        assert summary.find_element(By.XPATH, "..").get_attribute("open") == "true"
    each = "return [...document.querySelectorAll('summary, a')].every(e => (e.focus(), document.activeElement === e))"
    assert browser.execute_script(each)
