"""The page of a leaderboard in a browser: searching, filtering, sorting, addresses of models, and 86 models at once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browsers import browsers
from leaderboards import EVIL, MODELS, hostile_content, many_scores

from attune_bench import Scores
from attune_bench.leaderboard.boards import Entry, leaderboard_content, make_boards
from attune_bench.leaderboard.page import leaderboard_page

pytestmark = pytest.mark.slow

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def open_browser() -> Iterator[Open]:
    with browsers() as start:
        yield start


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("site") / "index.html"
    path.write_text(leaderboard_page(hostile_content()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    entries = [Entry(f"{place}", scores) for place, scores in enumerate(many_scores())]
    path = tmp_path_factory.mktemp("many") / "index.html"
    content = leaderboard_content(make_boards(entries), resamples=1000)
    path.write_text(leaderboard_page(content), encoding="utf-8")
    return path


def shown(browser: Any, selector: str) -> list[str]:
    """Return the texts of what is seen of a selector."""
    return [one.text for one in browser.find_elements("css selector", selector) if one.is_displayed()]


def choose(browser: Any, name: str, text: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(browser.find_element("id", name)).select_by_visible_text(text)


@pytest.mark.parametrize("width", [1280, 400])
def test_opens_without_an_error_and_is_no_wider_than_the_screen(open_browser: Open, page: Path, width: int) -> None:
    browser = open_browser(width)
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.find_elements("css selector", "img") == []


def test_many_models_open_at_once(open_browser: Open, many: Path) -> None:
    assert many.stat().st_size < 2_000_000
    browser = open_browser()
    browser.get(many.as_uri())  # whatever is done once by the browser
    browser.get(many.as_uri())
    done = browser.execute_script("return performance.getEntriesByType('navigation')[0].domComplete")
    assert done < 3000  # milliseconds; a quarter of one second where nothing else runs
    assert len(browser.find_elements("css selector", ".ranking tbody tr")) == 86
    assert browser.execute_script("return document.querySelectorAll('table.pairs td').length") == 1 + 86 * 86
    # All of the matrix fits.
    narrow = "const one = document.querySelector('.matrix .scroll'); return one.scrollWidth <= one.clientWidth"
    assert browser.execute_script(narrow)


def test_searching(open_browser: Open, page: Path) -> None:
    browser = open_browser()
    browser.get(page.as_uri())
    browser.find_element("id", "search").send_keys("VENDOR/L")
    assert shown(browser, ".ranking tbody a") == ["vendor/large"] * 2
    assert shown(browser, "#found") == ["2 rows"]
    browser.find_element("id", "search").send_keys("arge of nobody")
    assert shown(browser, ".ranking tbody a") == []


def test_choosing_a_board_and_a_condition(open_browser: Open, page: Path) -> None:
    browser = open_browser()
    browser.get(page.as_uri())
    choose(browser, "board", "AttuneBench")
    assert shown(browser, "h2") == ["AttuneBench"]
    choose(browser, "board", "Own <b>")
    choose(browser, "condition", "condition plain")
    assert shown(browser, ".board h3") == ["condition plain"]
    assert len(shown(browser, ".ranking tbody a")) == len(MODELS)


def test_choosing_a_subgroup(open_browser: Open, page: Path) -> None:
    browser = open_browser()
    browser.get(page.as_uri())
    choose(browser, "condition", "condition plain")
    choose(browser, "subgroup", "topic: joy")
    assert shown(browser, ".ranking") == []
    assert [text.split()[0] for text in shown(browser, ".subgroups thead th")] == ["model", "joy"]
    values = [text.split()[0] for text in shown(browser, ".subgroups tbody td:not(.text)")]
    numbers = [float(text) for text in values if text != "-"]
    assert len(numbers) == len(MODELS) - 1
    assert numbers == sorted(numbers, reverse=True)
    choose(browser, "subgroup", "All units")
    assert len(shown(browser, ".ranking tbody a")) == len(MODELS)


def test_a_subgroup_has_its_best_model_first_where_lower_is_better(open_browser: Open, tmp_path: Path) -> None:
    rows = [
        (model, f"u{unit}", "cost", unit / 10 + more, "odd" if unit % 2 else "even")
        for model, more in (("a", 2.0), ("b", 1.0), ("c", 3.0))
        for unit in range(12)
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value", "topic"], orient="row")
    scores = Scores.from_table(frame, metrics={"cost": {"higher_is_better": False}})
    path = tmp_path / "index.html"
    content = leaderboard_content(make_boards([Entry("cost", scores)]), resamples=50)
    path.write_text(leaderboard_page(content), encoding="utf-8")
    browser = open_browser()
    browser.get(path.as_uri())
    for _ in range(2):
        choose(browser, "subgroup", "topic: odd")
        assert shown(browser, ".subgroups tbody td.text") == ["b", "a", "c"]
        browser.find_element("css selector", ".subgroups th[aria-sort] button").click()
        assert shown(browser, ".subgroups tbody td.text") == ["c", "a", "b"]
        choose(browser, "subgroup", "All units")


def test_sorting_by_another_metric(open_browser: Open, page: Path) -> None:
    browser = open_browser()
    browser.get(page.as_uri())
    [cost] = [
        one for one in browser.find_elements("css selector", "#part-0-0 .ranking th button") if one.text[:4] == "cost"
    ]
    cost.click()
    values = [float(text.split()[0]) for text in shown(browser, "#part-0-0 .ranking tbody td:nth-child(5)")]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("model", [EVIL, *MODELS[1:5]])
def test_the_address_of_a_model(open_browser: Open, page: Path, model: str) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = open_browser()
    browser.get(page.as_uri())
    [link] = [one for one in browser.find_elements("css selector", "#part-0-0 .ranking a") if one.text == model]
    browser.get(link.get_attribute("href"))
    [panel] = shown(browser, "#panel")
    assert model in panel
    assert "attune:" in panel
    assert "against" in panel
    assert "Holm p" in panel
    assert shown(browser, "#panel h2") == [model]
    assert len(shown(browser, ".ranking tr.chosen")) == 2  # under each condition
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert shown(browser, "#panel") == []
    assert browser.switch_to.active_element.text == model
    assert "#" not in browser.current_url


def test_an_address_of_no_model(open_browser: Open, page: Path) -> None:
    browser = open_browser()
    for hashed in ("#model=nobody", "#model=%", "#else"):
        browser.get("about:blank")
        browser.get(page.as_uri() + hashed)
        assert shown(browser, "#panel") == []
        assert browser.get_log("browser") == []


def test_the_keyboard_reaches_every_control(open_browser: Open, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = open_browser()
    browser.get(page.as_uri())
    seen = []
    for _ in range(12):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        seen.append(active.get_attribute("id") or active.get_attribute("role") or active.tag_name)
    assert seen[:5] == ["search", "board", "condition", "subgroup", "region"]
    assert seen[5:11] == ["button"] * 6
    labels = "return [...document.querySelectorAll('input, select')].map(one => one.labels.length)"
    assert browser.execute_script(labels) == [1, 1, 1, 1]


def test_without_script_all_is_there(open_browser: Open, page: Path) -> None:
    browser = open_browser(script=False)
    browser.get(page.as_uri())
    assert shown(browser, "#controls") == []
    assert shown(browser, "#panel") == []
    assert len(shown(browser, ".ranking tbody a")) == 2 * len(MODELS) + 2
    # An address leads to the row.
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#model=vendor/large")
    assert len(browser.find_elements("css selector", "tr:target")) == 1


def test_dark_and_light(open_browser: Open, page: Path) -> None:
    browser = open_browser()
    seen = {}
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.get(page.as_uri())
        colours = (
            "const one = getComputedStyle(document.querySelector('.better')); return [one.color, one.backgroundColor]"
        )
        seen[scheme] = browser.execute_script(colours)
    assert seen == {
        "light": ["rgb(11, 61, 92)", "rgb(207, 232, 247)"],
        "dark": ["rgb(201, 232, 251)", "rgb(18, 63, 90)"],
    }
