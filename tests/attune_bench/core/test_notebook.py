"""What a notebook shows of scores: the board of the report, quickly, and every text escaped."""

import re

import polars as pl
import pytest
from notebook_pages import Page

from attune_bench import Scores, score
from attune_bench.report import notebook
from attune_data import load, load_runs

EVIL = "<img src=x onerror=alert(1)>"


def table(*models: str, units: int = 12, private: bool = False) -> Scores:
    rows = [
        {"model": model, "unit": f"u{unit}", "metric": "hit", "value": ((unit * 7 + place) % 5) / 4}
        for place, model in enumerate(models)
        for unit in range(units)
    ]
    metrics = {"hit": {"low": 0, "high": 1, "label": f"Hit {EVIL}"}}
    return Scores.from_table(pl.DataFrame(rows), metrics=metrics, about={"private": private})


@pytest.fixture(scope="module")
def scores() -> Scores:
    return score(load("demo"), load_runs("demo"))


def test_the_board_is_that_of_the_report(scores: Scores) -> None:
    page = Page(scores._repr_html_())
    assert page.open == []
    for row in scores.summary(metrics=scores.headline[:5]).iter_rows(named=True):
        metric = scores.metric(row["metric"])
        for value in (row["value"], row["low"], row["high"]):
            assert f"{value * metric.scale:.{metric.digits}f}" in page.text
    for text in ("SYNTHETIC", "40(24)", "n = 40 conversations by 24 participants", "71 more metrics"):
        assert text in page.text
    assert page.text.index("synthetic/attentive") < page.text.index("synthetic/hasty")


def test_it_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    held = table("a", "b")
    first = held._repr_html_()
    monkeypatch.setattr(notebook, "board", None)
    assert held._repr_html_() == first


def test_texts_are_escaped() -> None:
    page = Page(table(EVIL, "b")._repr_html_())
    assert (page.open, "img" in page.tags, page.attributes) == ([], False, {"class", "dir"})
    assert page.text.count(EVIL) >= 2


def test_few_units_have_no_interval_and_say_why() -> None:
    text = Page(table("a", "b", units=3)._repr_html_()).text
    assert "fewer than 5" in text
    assert "[0" not in text


@pytest.mark.parametrize(("units", "shown"), [(4, False), (5, True)])
def test_values_of_few_people_are_not_shown(units: int, shown: bool) -> None:
    text = Page(table("a", "b", units=units, private=True)._repr_html_()).text
    assert bool(re.search(r"0\.\d{3}", text)) is shown
    assert ("fewer than 5 units, not shown" in text) is not shown
    assert re.search(r"0\.\d{3}", Page(table("a", "b", units=units)._repr_html_()).text)


def test_many_models_are_cut() -> None:
    page = Page(table(*(f"m{place}" for place in range(33)))._repr_html_())
    assert page.tags.count("tr") == 1 + 30
    assert "and 3 more rows" in page.text


def test_no_scores() -> None:
    empty = table("a").keep(units=[])
    assert "No result was scored." in Page(empty._repr_html_()).text
