"""Instruments: ranges and cut-offs against a list typed out from their publications, groups, the rule, the docs."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from attune_data import Conversations
from attune_data.attunebench.profile import Instrument, instruments
from attune_data.attunebench.records import ComputedScores

Json = dict[str, Any]
Load = Callable[[Any], Conversations]

DOCS = Path(__file__).parents[2] / "docs" / "instruments.md"
SCORES = "$.participant_profile.computed_scores"
TIPI = ("extraversion", "agreeableness", "conscientiousness", "stability", "openness")

RANGES: dict[str, tuple[float, float]] = {
    "who_5": (0, 25),  # five items of 0-5
    "asrs_6": (0, 6),  # six items that count or do not
    "aq_10": (0, 10),  # ten items that count or do not
    "promis_anxiety": (4, 20),  # four items of 1-5
    "promis_depression": (4, 20),
    "promis_sleep": (4, 20),
    **{f"tipi_{trait}": (2, 14) for trait in TIPI},  # two items of 1-7
    "panas_positive": (10, 70),  # ten words of 1-7
    "panas_negative": (10, 70),
}

# The T-scores of the raw sums 4 to 20 of the four-item short forms, version 1.0, from the scoring manuals.
T_SCORES = {
    "promis_anxiety_t": "40.3 48.0 51.2 53.7 55.8 57.7 59.5 61.4 63.4 65.3 67.3 69.3 71.2 73.3 75.4 77.9 81.6",
    "promis_depression_t": "41.0 49.0 51.8 53.9 55.7 57.3 58.9 60.5 62.2 63.9 65.7 67.5 69.4 71.2 73.3 75.7 79.4",
    "promis_sleep_t": "32.0 37.5 41.1 43.8 46.2 48.4 50.5 52.4 54.3 56.1 57.9 59.8 61.7 63.8 66.0 68.8 73.3",
}
BANDS = ("within normal limits", "mild", "moderate", "severe")
CUT_OFFS = {"who_5": "below 13", "asrs_6": "from 4", "aq_10": "from 6"}

SCREENED = [
    ("who_5", 0, "screen-positive"),
    ("who_5", 12, "screen-positive"),
    ("who_5", 13, "screen-negative"),
    ("who_5", 25, "screen-negative"),
    ("asrs_6", 0, "screen-negative"),
    ("asrs_6", 3, "screen-negative"),
    ("asrs_6", 4, "screen-positive"),
    ("asrs_6", 6, "screen-positive"),
    ("aq_10", 0, "screen-negative"),
    ("aq_10", 5, "screen-negative"),
    ("aq_10", 6, "screen-positive"),  # not "more than 6"
    ("aq_10", 10, "screen-positive"),
]
BANDED = [
    (54.9, "within normal limits"),
    (55, "mild"),
    (59.9, "mild"),
    (60, "moderate"),
    (69.9, "moderate"),
    (70, "severe"),
]


def t_scores(name: str) -> list[float]:
    return [float(score) for score in T_SCORES[name].split()]


# What is known of each instrument.


def test_every_computed_score_and_both_panas_totals_have_an_instrument() -> None:
    assert set(instruments) == {*ComputedScores.model_fields, "panas_positive", "panas_negative"}
    assert set(instruments) == {*RANGES, *T_SCORES}
    assert len(instruments) == 16


@pytest.mark.parametrize("name", RANGES)
def test_range(name: str) -> None:
    assert (instruments[name].low, instruments[name].high) == RANGES[name]


@pytest.mark.parametrize("name", T_SCORES)
def test_range_of_a_t_score_is_that_of_its_form(name: str) -> None:
    scores = t_scores(name)
    assert len(scores) == 17
    assert (instruments[name].low, instruments[name].high) == (scores[0], scores[-1])


@pytest.mark.parametrize("name", T_SCORES)
def test_no_t_score_lies_on_the_edge_of_a_band(name: str) -> None:
    edges = [band.low for band in instruments[name].bands[1:]]
    assert edges == [55, 60, 70]
    assert set(edges).isdisjoint(t_scores(name))


def test_cut_offs_and_bands_are_the_published_ones_and_no_others() -> None:
    assert {name: str(one.cut_off) for name, one in instruments.items() if one.cut_off} == CUT_OFFS
    banded = {name: tuple(band.name for band in one.bands) for name, one in instruments.items() if one.bands}
    assert banded == dict.fromkeys(T_SCORES, BANDS)


@pytest.mark.parametrize(
    ("name", "higher"),
    [
        ("who_5", "better well-being"),
        ("asrs_6", "more symptoms"),
        ("aq_10", "more traits"),
        *((name, "more symptoms") for name in ("promis_anxiety", "promis_depression_t", "promis_sleep_t")),
        *((f"tipi_{trait}", "more of the trait") for trait in TIPI),
        ("panas_negative", "more negative affect"),
    ],
)
def test_direction(name: str, higher: str) -> None:
    assert instruments[name].higher_is == higher


@pytest.mark.parametrize("name", [*RANGES, *T_SCORES])
def test_every_instrument_is_described_and_cited(name: str) -> None:
    one = instruments[name]
    assert one.name == name
    assert one.title
    assert one.measures
    assert one.if_outside.endswith("?")
    assert re.search(r"\(\d{4}\)\. .+ doi:10\.\d{4}", one.source)
    assert one.cut_off or one.bands or one.note


def test_the_known_error_of_the_aq_10_is_told() -> None:
    assert '"more than 6", which is a known error' in instruments["aq_10"].note
    assert "Waldren" in instruments["aq_10"].source
    assert "ASRS-5" in instruments["asrs_6"].note


# Groups.


@pytest.mark.parametrize(("name", "score", "group"), SCREENED)
def test_screen(name: str, score: float, group: str) -> None:
    assert instruments[name].screen(score) == group


@pytest.mark.parametrize("name", T_SCORES)
@pytest.mark.parametrize(("score", "band"), BANDED)
def test_band(name: str, score: float, band: str) -> None:
    assert instruments[name].band(score) == band


@pytest.mark.parametrize("name", T_SCORES)
def test_the_ends_of_the_range_are_in_a_band(name: str) -> None:
    one = instruments[name]
    assert (one.band(one.low), one.band(one.high)) == ("within normal limits", "severe")


@pytest.mark.parametrize("name", [*CUT_OFFS, *T_SCORES])
def test_missing_or_outside_the_range_is_in_no_group(name: str) -> None:
    one = instruments[name]
    group = one.screen if one.cut_off else one.band
    assert [group(score) for score in (None, one.low - 0.1, one.high + 0.1, math.nan)] == [None] * 4
    assert None not in {group(one.low), group(one.high)}


# Mistakes.


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: instruments["tipi_openness"].screen(9), r"tipi_openness has no published cut-off.*median or tertiles"),
        (lambda: instruments["panas_positive"].screen(None), r"panas_positive has no published cut-off.*median"),
        (lambda: instruments["promis_sleep_t"].screen(60), r"promis_sleep_t has no published cut-off.*see band\(\)"),
        (lambda: instruments["who_5"].band(9), r"who_5 has no published bands.*below 13.*see screen\(\)"),
        (lambda: instruments["promis_anxiety"].band(9), r"no published bands.*T-score, promis_anxiety_t"),
    ],
)
def test_what_nobody_published_is_an_error(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ask()


def test_a_misspelt_instrument_suggests_the_nearest() -> None:
    assert "asrs" not in instruments
    with pytest.raises(KeyError, match="no 'asrs'; the nearest is 'asrs_6'"):
        instruments["asrs"]


def test_an_instrument_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        instruments["who_5"].low = 1  # type: ignore[misc]  # this must not be possible
    assert instruments["who_5"] is instruments["who_5"]
    assert hash(instruments["who_5"])


@pytest.mark.slow
def test_the_file_is_read_at_the_first_look() -> None:
    code = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from attune_data.attunebench.profile import instruments
assert not [name for name in opened if name.endswith(".toml")], opened
assert "who_5" in instruments and "aq_10" in instruments
assert len([name for name in opened if name.endswith("instruments.toml")]) == 1, opened
assert "polars" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


# The rule of loading.


def bounds(one: Instrument) -> list[tuple[float, bool]]:
    step = 0.1 if one.name.endswith("_t") else 1
    return [(one.low - step, True), (one.low, False), (one.high, False), (one.high + step, True)]


@pytest.mark.parametrize("name", ComputedScores.model_fields)
def test_a_score_outside_its_range_is_kept_and_reported(name: str, conversation: Json, load_conversation: Load) -> None:
    for score, outside in bounds(instruments[name]):
        conversation["participant_profile"]["computed_scores"] = {name: score}
        loaded = load_conversation(conversation)
        assert getattr(loaded[0].participant_profile.computed_scores, name) == score
        found = [(issue.path, issue.rule, issue.severity, issue.consequence) for issue in loaded.found]
        expected = (f"{SCORES}.{name}", "score-range", "warning", "kept; in no group")
        assert found == [expected] * outside, score


@pytest.mark.parametrize("scores", [None, {}, {"who_5": None}, {"phq_9": 99}], ids=["null", "empty", "no", "unknown"])
def test_scores_that_are_missing_or_unknown_are_fine(scores: Any, conversation: Json, load_conversation: Load) -> None:
    conversation["participant_profile"]["computed_scores"] = scores
    assert load_conversation(conversation).found == ()


def test_the_message_gives_the_range_and_the_likely_mistake(conversation: Json, load_conversation: Load) -> None:
    conversation["participant_profile"]["computed_scores"] = {"who_5": 56, "promis_sleep_t": 12, "asrs_6": 6}
    first, second = load_conversation(conversation).found
    assert (first.value, first.message) == ("56", "outside 0-25; is it the percentage score, 0-100?")
    assert (second.value, second.message) == ("12", "outside 32-73.3; is it the raw sum, or a longer form?")


# The page of the documentation.


def rows() -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in DOCS.read_text(encoding="utf-8").splitlines() if "| `" in line]
    return {name.strip("`"): cells for name, *cells in lines}


def test_the_page_lists_every_instrument_with_its_range_and_limits() -> None:
    page = rows()
    assert set(page) == set(instruments)
    for name, (_, limits, higher, *groups) in page.items():
        one = instruments[name]
        assert (limits, higher) == (f"{one.low:g}-{one.high:g}", one.higher_is), name
        assert groups == ([str(one.cut_off)] if one.cut_off else [f"from {band.low:g}" for band in one.bands[1:]]), name


def test_the_page_warns_and_cites() -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert "Screening is not diagnosis" in page
    for one in instruments.values():
        assert all(citation in page for citation in one.source.split("\n")), one.name
