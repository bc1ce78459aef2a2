"""The page of a leaderboard as markup: all is there without the script, and names stay text."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from html import unescape
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest
from leaderboards import EMPTY, EVIL, MODELS, hostile_content
from pages import Tags, headings, tables, text_of

from attune_bench import Scores
from attune_bench.leaderboard.boards import Entry, leaderboard_content, make_boards
from attune_bench.leaderboard.page import leaderboard_page
from attune_bench.report.tables import TIERS


@pytest.fixture(scope="module")
def page() -> str:
    return leaderboard_page(hostile_content())


def page_of(scores: Scores, **options: Any) -> str:
    return leaderboard_page(leaderboard_content(make_boards([Entry("t", scores)]), resamples=200, **options))


def scores_of(values: Mapping[str, Sequence[float | None]]) -> Scores:
    rows = [(model, f"u{unit}", "hit", value) for model, own in values.items() for unit, value in enumerate(own)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return Scores.from_table(frame, metrics={"hit": {"label": "Hits", "digits": 1}})


@pytest.mark.slow
def test_two_boards_and_what_tiers_are(page: str) -> None:
    assert headings(page) == ["Own <b>", "AttuneBench"]
    said = text_of(page)
    assert TIERS in said
    assert "9 models on 2 boards" in said
    assert "Models on different boards may not be compared" in said
    assert "SYNTHETIC demonstration data." in said


def test_names_stay_text(page: str) -> None:
    tags = Tags(page)
    assert {name for name, _ in tags.found} & {"img", "iframe", "object", "i", "b"} == set()
    assert [attributes.get("type") for name, attributes in tags.found if name == "script"] == [None]
    assert all(not key.startswith("on") for _, attributes in tags.found for key in attributes)
    assert EVIL in tags.text
    assert all(model in tags.text for model in MODELS)


def test_nothing_else_is_fetched_and_no_other_script_runs(page: str) -> None:
    [script] = re.findall(r"<script>(.*?)</script>\n</body>", page, flags=re.DOTALL)
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{hashed}'" in policy
    sources = [attributes["href"] for name, attributes in Tags(page).found if name == "link"]
    assert sources == ["data:,"]
    assert not re.search(r"@import|url\(", page)


def test_a_row_says_rank_tier_values_and_n(page: str) -> None:
    head, first, *_ = tables(page)[0]
    assert head == ["rank", "model", "tier", "Hits <i>", "cost", "questions"]
    # Models come in twos with the same level; vendor/large and vendor/small are the best with a value.
    assert first[1] in {"vendor/large", "vendor/small"}
    assert re.fullmatch(r"1 \[1, \d\]", first[0])
    assert first[2].startswith("1")
    assert re.fullmatch(r"\d\d\.\d \[\d\d\.\d, \d\d\.\d\]", first[3])
    assert first[5] == "24"


def test_a_model_without_a_value_comes_last_with_the_reason(page: str) -> None:
    last = tables(page)[0][-1]
    assert last[1] == EMPTY
    assert (last[0], last[2], last[3]) == ("-", "-", "- no question has a value")


def test_each_model_has_an_address(page: str) -> None:
    ids = [attributes["id"] for _, attributes in Tags(page).found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "model=vendor/large" in ids
    links = {unescape(link) for link in re.findall(r'href="#model=([^"]*)"', page)}
    assert {unquote(link) for link in links} >= set(MODELS)


def test_controls_wait_for_the_script_and_offer_what_there_is(page: str) -> None:
    found = Tags(page).found
    [form] = [attributes for name, attributes in found if name == "form"]
    assert "hidden" in form
    assert [attributes["id"] for name, attributes in found if name == "select"] == ["board", "condition", "subgroup"]
    alone = page_of(scores_of({"a": [1.0, 2.0]}))
    assert [attributes for name, attributes in Tags(alone).found if name == "select"] == []


def test_the_matrix_says_which_pairs_differ() -> None:
    # As in the tests of tiers: a differs from b, c from neither.
    page = page_of(scores_of({"b": [1.0] * 10, "a": [2.0] * 10, "c": [2.0] * 5 + [1.0] * 5}))
    ranking, [matrix] = tables(page)[0], tables(page, figures=True)
    assert [row[2] for row in ranking[1:]] == [
        "1",
        "1 no significant difference: 1\u20132",
        "2 no significant difference: 1\u20132",
    ]
    assert matrix == [
        ["", "1", "2", "3"],
        ["1 a", "", "\u00b7", "+"],
        ["2 c", "\u00b7", "", "\u00b7"],
        ["3 b", "\u2212", "\u00b7", ""],
    ]


def test_where_lower_is_better_the_lower_row_is_better() -> None:
    values = scores_of({"low": [1.0] * 10, "high": [2.0] * 10})
    cost = replace(values.metrics["hit"], higher_is_better=False)
    page = page_of(Scores(values.values, values.units, {"hit": cost}, values.provenance))
    assert "Ranked by Hits, lower is better" in text_of(page)
    assert tables(page, figures=True)[0][1:] == [["1 low", "", "+"], ["2 high", "\u2212", ""]]


def test_people_are_marked() -> None:
    page = page_of(scores_of({"human/ann": [1.0] * 6, "vendor/large": [2.0] * 6}))
    assert [row[1] for row in tables(page)[0][1:]] == ["vendor/large", "human/ann (person)"]
    assert "(person) marks people who answered what the models were asked: human/ann." in text_of(page)
    assert "1 model, 1 person on 1 board" in text_of(page)


def test_clusters_are_called_what_the_scores_call_them() -> None:
    held = scores_of({"a": [1.0, 2.0, 3.0, 4.0]})
    units = held.units.with_columns(cluster=pl.Series(["x", "x", "y", "y"]))
    about = held.provenance.model_copy(update={"cluster": "person"})
    assert tables(page_of(Scores(held.values, units, held.metrics, about)))[0][1][-1] == "4 2 people"


def test_one_model_has_no_matrix_and_no_sorting() -> None:
    page = page_of(scores_of({"a": [1.0] * 6}))
    assert headings(page) == ["Scores"]
    assert "sortable" not in re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    assert "Which models differ significantly" not in page
    assert len(tables(page)) == 2


def test_provenance_and_signature_of_each_row(page: str) -> None:
    [about] = [one for one in tables(page) if one[0][-1] == "signature" and one[1][1] == "Lab <b>"][:1]
    row = about[1]
    assert row[1:5] == ["Lab <b>", "2026-01-02", "cc-by-4.0", "https://example.org/?x=<y>"]
    assert row[-1].startswith("attune:")
    hrefs = [attributes["href"] for name, attributes in Tags(page).found if name == "a"]
    assert "https://example.org/?x=<y>" in hrefs


def test_subgroups_have_a_column_each(page: str) -> None:
    [of_topic] = [one for one in tables(page) if "grief" in one[0]][:1]
    assert of_topic[0] == ["model", EVIL, "grief", "joy"]
    assert re.fullmatch(r"\d\d\.\d \[\d\d\.\d, \d\d\.\d\] n = 8", of_topic[1][1])


def test_models_that_are_not_shown_are_named() -> None:
    content = hostile_content()
    board = {**content["boards"][0], "left_out": ["vendor/few: hit of fewer than 5 people"]}
    assert "Not shown: vendor/few: hit of fewer than 5 people." in text_of(
        leaderboard_page({**content, "boards": [board]})
    )


def test_a_board_of_which_nothing_is_shown() -> None:
    values = {"a": [1.0, 2.0, 3.0]}
    held = scores_of(values)
    people = held.units.with_columns(cluster=pl.col("unit"))
    private = held.provenance.model_copy(update={"private": True, "cluster": "person"})
    page = page_of(Scores(held.values, people, held.metrics, private))
    assert "Not shown: a: hit of fewer than 5 people." in text_of(page)
    assert tables(page) == []
