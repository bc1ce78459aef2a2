"""People rate and compare at a browser, with and without a script, on a telephone and on a desk, to the tables."""

import csv
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsers import browsers
from selenium.webdriver.support.ui import WebDriverWait

from attune_bench.cli import main

pytestmark = pytest.mark.slow

TEXTS = "model,unit,text,prompt\n" + "".join(
    f'{model},q{n},"{said} </script><b>{n}</b>","Why, {n}?"\n'
    for n in range(6)
    for model, said in (("vendor/large", "Yes, and why."), ("vendor/small", "No."))
)
PAIRS = "unit,a,b,text_a,text_b\n" + "".join(
    f'q{n},vendor/large,vendor/small,"Yes, and why {n}.",No {n}.\n' for n in range(6)
)
WINDOWS = [(width, script) for width in (400, 1280) for script in (True, False)]


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[list[str]]:
    """Serve a study by the command, as a user does; give the links of people."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "attune_bench", "annotate", "rate", *arguments, "--port", port]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout
        assert process.stderr
        said: list[str] = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("Answers are kept"):
                break
        else:
            raise AssertionError(process.stderr.read())
        try:
            yield re.findall(r"^rater-\d+: (\S+)$", "".join(said), re.MULTILINE)
        finally:
            process.terminate()
            process.communicate()


def rate(browser: Any, link: str, width: int, choose: Callable[[list[str]], str]) -> str:
    """Answer page after page at a browser, and return the source of all pages."""

    def all_of(selector: str) -> list[Any]:
        return list(browser.find_elements("css selector", selector))

    def click(element: Any) -> None:
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(selector: str) -> None:
        page = all_of("html")[0].id
        click(all_of(selector)[0])
        WebDriverWait(browser, 20).until(lambda _: (found := all_of("html")) and found[0].id != page and all_of("h1"))

    browser.get(link)
    press("main button.primary")
    seen = ""
    while not browser.current_url.endswith("/done"):
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        seen += browser.page_source
        if texts := [one.text for one in all_of(".passage .text")]:
            click(all_of(f"input[name=rating][value='{choose(texts)}']")[0])
        press("form.answers button.primary")
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
    return seen


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    assert not ended.value.code


def play(folder: Path, choose: Callable[[list[str]], str], *arguments: str) -> None:
    """Let a person rate in each window; no page names a model."""
    options = ("--people", str(len(WINDOWS)), "--file", "study.db", "-o", "out")
    with served(folder, *arguments, *options) as links, browsers() as start:
        for link, (width, script) in zip(links, WINDOWS, strict=True):
            seen = rate(start(width, script=script), link, width, choose)
            assert [word for word in ("vendor", "large", "small") if word in seen] == []


def test_texts_are_rated_at_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts.csv").write_text(TEXTS)
    play(tmp_path, lambda texts: "7" if texts[0].startswith("Yes, and why. </script><b>") else "3", "texts.csv", *SCALE)
    labels = {(row["model"], row["rating"], row["raters"]) for row in rows(Path("out/labels.csv"))}
    assert labels == {("vendor/large", "1.0", "4"), ("vendor/small", str(1 / 3), "4")}
    command("judge", "agree", "out/ratings.csv", "--expert", "rater-1", "rater-2", "--judge", "rater-3")


SCALE = ("--range", "0", "1")


def test_pairs_are_compared_at_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text(PAIRS)
    play(tmp_path, lambda texts: "1" if texts[0].startswith("Yes") else "-1", "pairs.csv")
    found = rows(Path("out/comparisons.csv"))
    assert len(found) == 24
    assert {(row["winner"], row["margin"]) for row in found} == {("vendor/large", "1")}
    command("validate", "out/comparisons.csv")
    command("rank", "out/comparisons.csv")
