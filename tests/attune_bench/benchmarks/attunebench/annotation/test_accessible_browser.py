"""Every kind of page of the three jobs by axe-core, in each language, as wide as a telephone and a desk."""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from annotating import Patient
from browsers import axe_script, browsers, resize, violations
from model_server import ModelServer, reply
from reading import started

from attune_bench.annotate.texts import LANGUAGES
from attune_bench.benchmarks.attunebench.annotation.study import EXAMPLE
from attune_data import load

pytestmark = pytest.mark.slow

WIDTHS = (400, 1280)
SAVED = ("--file", "study.db", "--output", "out")
TEXTS = "model,unit,text,prompt\na,q1,Yes.,Why?\nb,q1,No.,Why?\n"
PAIRS = "unit,a,b,text_a,text_b,prompt\nq1,a,b,Yes.,No.,Why?\n"
ANSWERS: dict[str, Any] = {
    "answer": "Yes",
    "q3_modelFit": "Mostly off-target or intrusive",
    "tags.Upset": "4",
    "text": "Own words.",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers() as start:
        yield start()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe_script(tmp_path_factory.mktemp("axe"))


class Visitor:
    """A person who answers over HTTP, and a browser in which the link of that person was opened."""

    def __init__(self, browser: Any, axe: str, link: str, **answers: Any) -> None:
        self.browser, self.axe = browser, axe
        self.origin, self.secret = link.split("/enter/")
        self.person = Patient(self.origin, self.secret, **ANSWERS, **answers)
        browser.get(link)
        self.check(link)
        browser.find_element("css selector", "main button.primary").click()

    def close(self) -> None:
        self.person.close()

    def look_at(self, *places: str) -> None:
        """Check pages in each language."""
        for language in LANGUAGES:
            self.person.client.post("/language", data={"language": language})
            for place in places:
                self.browser.get(self.origin + place)
                assert self.browser.current_url == self.origin + place
                assert self.browser.find_element("css selector", "html").get_attribute("lang") == language
                self.check(f"{place} {language}")

    def check(self, page: str) -> None:
        """Check the page that is open in each width."""
        for width in WIDTHS:
            resize(self.browser, width)
            assert (page, width, violations(self.browser, self.axe)) == (page, width, [])
            assert (page, self.browser.execute_script("return document.documentElement.scrollWidth")) == (page, width)


def kinds(places: Iterable[str]) -> list[str]:
    """Return the first page of each kind."""
    found: dict[str, str] = {}
    for place in places:
        found.setdefault(re.sub(r"\d+", "N", place), place)
    return [*found.values()]


def in_chinese_too() -> str:
    """Return the study of the demo with its English texts for people who choose Chinese."""
    text = EXAMPLE.read_text(encoding="utf-8").replace('["en", "de"]', '["en", "de", "zh"]')
    text = re.sub(r'\{ en = ("[^"]*"),', r"{ zh = \1, en = \1,", text)
    text = re.sub(r"^(lead|title)\.en = (.*)$", r"\1.en = \2\n\1.zh = \2", text, flags=re.MULTILINE)
    return re.sub(r'^en = (""".*?""")$', r"en = \1\nzh = \1", text, flags=re.MULTILINE | re.DOTALL)


def test_pages_of_collecting_are_accessible(tmp_path: Path, browser: Any, axe: str) -> None:
    fails = False
    refused = reply("400 Bad Request", "{}")
    with ModelServer(fault=lambda _number, _body: refused if fails else None) as models:
        study = in_chinese_too().replace("http://localhost:8000/v1", models.url)
        (tmp_path / "study.toml").write_text(study, encoding="utf-8")
        with started(tmp_path, "collect", "study.toml", "--people", "2", *SAVED) as (_, _, links):
            with closing(Visitor(browser, axe, links[0], messages=("It is a lot.", "Yes."))) as ann:
                ann.person.answer_until("/screen/talk")
                ann.look_at("/screen/talk")
                fails = True
                ann.person.answer()
                ann.look_at("/screen/talk")  # without the answer
                fails = False
                ann.person.answer_until("/screen/turn/1/edited")
                fails = True
                ann.look_at("/screen/turn/1/edited")
                fails = False
            with closing(Visitor(browser, axe, links[1], messages=("It is a lot.", "Yes."))) as bob:
                bob.person.answer_all()
                pages = kinds(bob.person.seen)
                bob.look_at(*pages, "/done", "/withdraw", "/nothing")
    assert {"/screen/consent", "/screen/participant", "/screen/felt_off", "/screen/turn/1/pair/0"} <= {*pages}


def test_pages_of_predicting_are_accessible(tmp_path: Path, browser: Any, axe: str) -> None:
    shortest = min(load("demo"), key=lambda one: len(one.turns))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "conversation_1.json").write_bytes(shortest.to_json())
    command = ("predict", "data", "--as", "ann", *SAVED)
    with started(tmp_path, *command) as (_, _, [link]), closing(Visitor(browser, axe, link)) as ann:
        ann.person.answer_until("/screen/1/turn-1/pairwise")
        ann.look_at("/screen/1/turn-1/pairwise")
        ann.person.answer_all()
        pages = kinds(ann.person.seen)
        ann.look_at(*pages)
    assert {"/screen/begin", "/screen/1/turn-1/read-hp", "/screen/1/post/whole"} <= {*pages}


@pytest.mark.parametrize(("table", "options"), [(TEXTS, ("--range", "0", "1")), (PAIRS, ())], ids=["texts", "pairs"])
def test_pages_of_rating_are_accessible(
    tmp_path: Path, browser: Any, axe: str, table: str, options: tuple[str, ...]
) -> None:
    (tmp_path / "table.csv").write_text(table)
    command = ("rate", "table.csv", *options, *SAVED)
    with started(tmp_path, *command) as (_, _, [link]), closing(Visitor(browser, axe, link)) as ann:
        ann.person.answer_all()
        ann.look_at(*ann.person.seen)
