"""People rate and compare at a browser, with and without a script, on a telephone and on a desk, to the tables."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsers import browsers
from reading import Reader, served

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


class Rater(Reader):
    """Somebody at a browser who chooses by the texts of a page."""

    def __init__(self, browser: Any, link: str, width: int, choose: Callable[[list[str]], str]) -> None:
        super().__init__(browser, link, width)
        self.choose, self.seen = choose, ""

    def answer(self) -> None:
        """Answer the page, as wide as it is."""
        assert self.browser.execute_script("return document.documentElement.scrollWidth") <= self.width
        self.seen += self.browser.page_source
        if texts := [one.text for one in self.all(".passage .text")]:
            self.click(self.all(f"input[name=rating][value='{self.choose(texts)}']")[0])
        self.press("form.answers button.primary")


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
    with served(folder, "rate", *arguments, *options) as links, browsers() as start:
        for link, (width, script) in zip(links, WINDOWS, strict=True):
            browser = start(width, script=script)
            rater = Rater(browser, link, width, choose)
            rater.answer_all()
            assert [word for word in ("vendor", "large", "small") if word in rater.seen] == []
            assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


def test_texts_are_rated_at_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts.csv").write_text(TEXTS, encoding="utf-8")
    play(tmp_path, lambda texts: "7" if texts[0].startswith("Yes, and why. </script><b>") else "3", "texts.csv", *SCALE)
    labels = {(row["model"], row["rating"], row["raters"]) for row in rows(Path("out/labels.csv"))}
    assert labels == {("vendor/large", "1.0", "4"), ("vendor/small", str(1 / 3), "4")}
    command("judge", "agree", "out/ratings.csv", "--expert", "rater-1", "rater-2", "--judge", "rater-3")


SCALE = ("--range", "0", "1")


def test_pairs_are_compared_at_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text(PAIRS, encoding="utf-8")
    play(tmp_path, lambda texts: "1" if texts[0].startswith("Yes") else "-1", "pairs.csv")
    found = rows(Path("out/comparisons.csv"))
    assert len(found) == 24
    assert {(row["winner"], row["margin"]) for row in found} == {("vendor/large", "1")}
    command("validate", "out/comparisons.csv")
    command("rank", "out/comparisons.csv")
