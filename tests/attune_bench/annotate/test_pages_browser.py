"""The pages in a browser: accessible in the light and the dark, by keyboard alone, with and without the script."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from socket import socket
from threading import Thread
from time import sleep
from typing import Any

import pytest
import uvicorn
from browsers import axe_script, browsers, choose_scheme, violations
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from toy_study import WHOLE, toy_application

from attune_bench.annotate.admin import Administration
from attune_bench.annotate.server import Address, configuration
from attune_bench.annotate.store import NOTHING, Saved, Store

pytestmark = pytest.mark.slow
Start = Callable[..., Any]
RIGHT: dict[str, Any] = {"right": "yes"}
DONE = {"read": {}, "exercise": RIGHT, "check": RIGHT, "ask/1": WHOLE, "ask/2": WHOLE}


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    with browsers() as start:
        yield start


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe_script(tmp_path_factory.mktemp("axe"))


class Study:
    """A study that is served, with a person who has a browser."""

    def __init__(self, folder: Path) -> None:
        with closing(socket()) as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.application = toy_application(folder, origin=self.url)
        self.store: Store = self.application.store
        at = configuration(self.application, Address("127.0.0.1", port))
        self.server = uvicorn.Server(at)
        self.thread = Thread(target=self.server.run)
        self.thread.start()
        self.person, self.secret = self.store.add_person(language="en")
        while not self.server.started:
            sleep(0.01)

    def enter(self, browser: Any) -> None:
        browser.get(f"{self.url}/enter/{self.secret}")

    def begin(self, browser: Any) -> None:
        """Enter, and go on to the first page that is not done."""
        self.enter(browser)
        press_to_leave(browser, "main button.primary")

    def do(self, *keys: str) -> None:
        for key in keys:
            self.store.save(self.person.id, key, DONE[key], revision=self.state(key).revision, done=True)

    def state(self, key: str) -> Saved:
        return self.store.answers(self.person.id).get(key, NOTHING)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.store.close()


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    study = Study(tmp_path)
    yield study
    study.close()


def wait(browser: Any, condition: Callable[[Any], Any]) -> Any:
    return WebDriverWait(browser, 10, 0.05).until(condition)


@contextmanager
def leaving(browser: Any) -> Iterator[None]:
    """Wait, after what is done here, for another page."""
    old = browser.find_element(By.TAG_NAME, "html").id
    yield
    # The browser fails where an element of the old page is asked just as the new page comes.
    wait(browser, lambda _: any(page.id != old for page in browser.find_elements(By.TAG_NAME, "html")))


def press_to_leave(browser: Any, selector: str) -> None:
    """Press a button, and wait for the page that it brings."""
    with leaving(browser):
        browser.find_element(By.CSS_SELECTOR, selector).click()


def press(browser: Any, button: str) -> None:
    """Press one of the buttons of a screen, and wait for the page that it brings."""
    press_to_leave(browser, f".actions [value={button}]")


def each_page(study: Study, browser: Any) -> Iterator[str]:
    """Open every kind of page."""
    study.enter(browser)
    yield "enter"
    press_to_leave(browser, "main button.primary")
    for path in ("/screen/read", "/screen/exercise"):
        browser.get(study.url + path)
        yield path
        study.do("read")
    study.store.save(study.person.id, "exercise", {"right": "no"}, revision=0, done=True)
    browser.get(study.url + "/screen/exercise")
    yield "explanation"
    browser.get(study.url + "/screen/check")
    browser.find_element(By.CSS_SELECTOR, "[value=no]").click()
    press(browser, "next")
    yield "a check that is wrong"
    study.do("check")
    browser.get(study.url + "/screen/ask/1")
    yield "questions"
    press(browser, "next")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".problem")) == 2
    yield "questions without an answer"
    study.do("ask/1", "ask/2")
    for path in ("/done", "/withdraw", "/nothing"):
        browser.get(study.url + path)
        yield path


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (320, "dark"), (1280, "dark")])
def test_pages_are_accessible_and_fit(study: Study, start: Start, axe: str, width: int, scheme: str) -> None:
    browser = start(width)
    choose_scheme(browser, scheme)
    for page in each_page(study, browser):
        assert (page, violations(browser, axe)) == (page, [])
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert (page, wide) == (page, width)


def each_page_of_the_administration(study: Study, browser: Any) -> Iterator[str]:
    """Open every kind of page of the administrator."""
    Administration(study.application, "of-the-administrator")
    study.do("read", "exercise", "check", "ask/1")
    gone, _ = study.store.add_person(language="de")
    browser.get(f"{study.url}/admin/enter/of-the-administrator")
    yield "enter"
    press_to_leave(browser, "main button.primary")
    yield "begun"
    with leaving(browser):
        browser.find_element(By.XPATH, "//button[text()='Make a backup']").click()
    browser.find_element(By.XPATH, "//button[text()='Download the results']").click()
    wait(browser, lambda _: [one.kind for one in study.store.copies()].count("download"))
    study.application.withdraw(gone)
    browser.get(f"{study.url}/admin")
    assert "delete that copy" in browser.find_element(By.CSS_SELECTOR, ".problem").text
    yield "after a withdrawal"
    browser.find_element(By.LINK_TEXT, "Agreement between annotators").click()
    yield "agreement"
    browser.get(f"{study.url}/admin")
    browser.find_element(By.XPATH, "//button[text()='Add, and show their links']").click()
    wait(browser, lambda b: b.title.startswith("Links"))
    yield "links"


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_the_administration_is_accessible_and_works(
    study: Study, start: Start, axe: str, width: int, scheme: str
) -> None:
    browser = start(width)
    choose_scheme(browser, scheme)
    for page in each_page_of_the_administration(study, browser):
        assert (page, violations(browser, axe)) == (page, [])
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert (page, wide) == (page, width)
        # Nothing of a table is cut off, such as what to do with a copy.
        cut = "return [...document.querySelectorAll('.wide')].filter((one) => one.scrollWidth > one.clientWidth).length"
        assert (page, browser.execute_script(cut)) == (page, 0)
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


SEEN = """
const one = document.activeElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
const at = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height / 2, 20));
return {
  name: one.name || one.className || one.tagName, type: one.type, value: one.value, checked: one.checked,
  outline: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
  seen: !!at && (one.contains(at) || at.contains(one)), height: box.height, width: box.width,
};
"""


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("width", [400, 1280])
def test_a_person_gets_to_the_end_by_keyboard_alone(study: Study, start: Start, width: int, script: bool) -> None:
    browser = start(width, script=script)
    choose_scheme(browser, "light")
    study.enter(browser)
    chosen = {"right": Keys.SPACE, "one": Keys.SPACE, "scale": Keys.ARROW_RIGHT, "why": "Because."}
    pressed = 0
    while not browser.current_url.endswith("/done"):
        assert pressed < 300, browser.current_url
        browser.switch_to.active_element.send_keys(Keys.TAB)
        pressed += 1
        seen = browser.execute_script(SEEN)
        assert seen["outline"] >= 2, seen  # The focus is seen wherever it is, and not below something else.
        assert seen["seen"], seen
        if seen["type"] not in (None, "radio", "checkbox"):
            assert min(seen["height"], seen["width"]) >= 24, seen
        here = browser.switch_to.active_element
        if (key := chosen.get(seen["name"])) and not (
            seen["checked"] or (seen["type"] == "textarea" and seen["value"])
        ):
            here.send_keys(key)
        elif seen["name"] == "primary" or (seen["name"] == "action" and seen["value"] == "next"):
            with leaving(browser):
                here.send_keys(Keys.ENTER)
    value = study.state("ask/2").value
    assert (value["one"], value["why"], "scale" in value) == ("yes", "Because.", True)


def test_each_click_is_saved_at_once_and_undone(study: Study, start: Start) -> None:
    browser = start(1280)
    study.do("read", "exercise", "check")
    study.begin(browser)
    browser.get(study.url + "/screen/ask/1")
    assert not browser.find_element(By.CSS_SELECTOR, "[value=undo]").is_displayed()
    browser.find_element(By.CSS_SELECTOR, "[name=one][value=yes]").click()
    wait(browser, lambda _: study.state("ask/1").value == {"one": "yes", "tags": {}})
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".status").text == "Saved.")
    browser.find_element(By.CSS_SELECTOR, "[name=one][value=no]").click()
    wait(browser, lambda _: study.state("ask/1").revision == 2)
    browser.refresh()
    assert browser.find_element(By.CSS_SELECTOR, "[name=one][value=no]").is_selected()
    press(browser, "undo")
    assert browser.find_element(By.CSS_SELECTOR, "[name=one][value=yes]").is_selected()


def test_a_tap_on_an_answer_goes_on_to_the_next_question_and_a_key_does_not(study: Study, start: Start) -> None:
    browser = start(400)
    study.do("read", "exercise", "check")
    study.begin(browser)
    browser.get(study.url + "/screen/ask/1")
    below = 0.42 * 900  # the conversation, which stays in sight

    def top(name: str) -> float:
        found = f"document.querySelector('[name^={name}]').closest('.field').getBoundingClientRect().top"
        return float(browser.execute_script(f"return {found}"))

    begun = top("some")
    browser.find_element(By.CSS_SELECTOR, "[name=one][value=no]").send_keys(Keys.ARROW_UP)
    wait(browser, lambda _: study.state("ask/1").value.get("one") == "yes")
    sleep(0.6)  # as long as scrolling takes
    assert top("some") == pytest.approx(begun, abs=100)
    assert top("some") > below + 100
    browser.find_element(By.CSS_SELECTOR, "[name=one][value=no]").click()
    wait(browser, lambda _: abs(top("some") - below) < 20)
    assert top("scale") < 900  # The next question peeks out.
    browser.find_element(By.CSS_SELECTOR, "[name=some][value=no]").click()
    sleep(0.6)
    assert abs(top("some") - below) < 20  # More than one may be chosen.
    browser.find_element(By.CSS_SELECTOR, "[name=scale][value='3']").click()
    wait(browser, lambda _: abs(top("tags") - below) < 20)


def test_going_on_waits_for_what_is_being_saved(study: Study, start: Start) -> None:
    browser = start(1280)
    study.do("read", "exercise", "check")
    study.begin(browser)
    browser.get(study.url + "/screen/ask/1")
    slow = {"offline": False, "latency": 400, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", slow)
    for name, value in (("one", "yes"), ("scale", "3"), ("scale", "4")):
        browser.find_element(By.CSS_SELECTOR, f"[name={name}][value='{value}']").click()
    browser.find_element(By.NAME, "why").send_keys("Because.")
    press(browser, "next")  # The text is saved when its field is left, which this does.
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**slow, "latency": 0})
    assert browser.current_url.endswith("/screen/ask/2")
    found = study.state("ask/1")
    assert (found.value, found.done) == ({"one": "yes", "scale": "4", "tags": {}, "why": "Because."}, True)


def test_what_was_given_without_a_connection_is_saved_when_there_is_one(study: Study, start: Start) -> None:
    browser = start(400)
    study.do("read", "exercise", "check")
    study.begin(browser)
    browser.get(study.url + "/screen/ask/1")
    cut = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", cut)
    browser.find_element(By.CSS_SELECTOR, "[name=one][value=yes]").click()
    wait(browser, lambda b: "Not saved yet" in b.find_element(By.CSS_SELECTOR, ".status").text)
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**cut, "offline": False})
    wait(browser, lambda _: study.state("ask/1").value.get("one") == "yes")


def test_another_tab_says_that_the_page_was_changed(study: Study, start: Start) -> None:
    browser = start(1280)
    study.do("read", "exercise", "check")
    study.begin(browser)
    browser.get(study.url + "/screen/ask/1")
    study.do("ask/1")  # In another tab.
    browser.find_element(By.CSS_SELECTOR, "[name=one][value=no]").click()
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "[role=alert]"))
    assert "changed in another window" in browser.find_element(By.CSS_SELECTOR, "[role=alert]").text
    assert browser.find_element(By.CSS_SELECTOR, "[name=one][value=yes]").is_selected()
    browser.find_element(By.CSS_SELECTOR, "[name=one][value=no]").click()
    wait(browser, lambda _: study.state("ask/1").value["one"] == "no")


def test_another_language_keeps_the_screen_and_what_was_being_written(study: Study, start: Start) -> None:
    browser = start(1280)
    study.do("read", "exercise", "check")
    study.begin(browser)
    browser.get(study.url + "/screen/ask/1")
    browser.find_element(By.NAME, "why").send_keys("Because.")
    browser.find_element(By.CSS_SELECTOR, "[name=language][value=de]").click()
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "html[lang=de] [name=why]"))
    assert browser.current_url.endswith("/screen/ask/1")
    assert browser.find_element(By.NAME, "why").get_attribute("value") == "Because."
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
