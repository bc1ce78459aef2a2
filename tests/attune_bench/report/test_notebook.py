"""What notebooks display: reports, turns, runs, tables, figures; nothing of it makes a request."""

import re
from html import unescape
from typing import Any

import pytest
from pages import text_of

import attune_data
from attune_bench import Scores, score


@pytest.fixture(scope="module")
def scores() -> Scores:
    return score(attune_data.load("demo"), attune_data.load_runs("demo"))


def test_a_report_is_a_text_that_is_displayed_as_html(scores: Scores) -> None:
    report = scores.report(resamples=50)
    assert isinstance(report, str)
    shown = text_of(report._repr_html_())  # type: ignore[attr-defined]
    assert "synthetic/attentive has the highest Composite, and synthetic/hasty is significantly worse." in shown
    assert "67.34" in shown
    assert hasattr(scores.report(resamples=50, format="markdown"), "_repr_html_")
    assert not hasattr(scores.report(resamples=50, format="csv"), "_repr_html_")


def test_a_display_has_the_intervals_that_the_report_was_asked_for(scores: Scores) -> None:
    shown = scores.report(resamples=50, level=0.9)._repr_html_()  # type: ignore[attr-defined]
    assert "90% intervals" in text_of(shown)
    assert "95% intervals" not in text_of(shown)
    assert "(whole: attune-bench" not in scores.report(resamples=50)


def test_a_display_of_a_report_hides_few_people(scores: Scores) -> None:
    units = scores.values["unit"].unique().sort().to_list()[:3]
    few = Scores.of(scores.keep(units=units))
    report = few.report(resamples=50)
    value = re.search(r"synthetic/attentive +(\d+\.\d\d)", report)
    assert value
    assert value[1] not in text_of(report._repr_html_())  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_page_is_displayed_in_a_frame(scores: Scores) -> None:
    page = scores.report(format="html", resamples=50)
    assert page.startswith("<!DOCTYPE html>")
    shown = page._repr_html_()  # type: ignore[attr-defined]
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert text_of(page) in unescape(text_of(unescape(shown)))


def test_turns_and_runs_have_displays_that_escape_texts() -> None:
    conversation, run = attune_data.load("demo")[0], attune_data.load_runs("demo")[0]
    turn = conversation.turns[0].model_copy(update={"user_message": "<b>hello</b>"})
    shown = turn._repr_html_()
    assert "&lt;b&gt;hello" in shown
    assert "<b>hello" not in shown
    assert conversation.turns[0].llm_response[:30] in text_of(shown)
    assert "emotion: Upset; intensity: 4" in text_of(shown)
    assert run.turns[0].em_drafted_response[:30] in text_of(run.turns[0]._repr_html_())
    assert "Turn 1" in run._repr_html_()
    assert "mood_tags" in attune_data.load("demo").tables._repr_html_()


@pytest.mark.slow
def test_figures_are_displayed_as_svg_also_after_a_change(scores: Scores) -> None:
    figure = scores.plot(resamples=50)
    for chart in (figure, figure.properties(width=200), figure.copy()):
        shown: Any = chart._repr_mimebundle_()
        assert list(shown) == ["image/svg+xml"]
        assert not re.findall(r'(?:src|href)="http', shown["image/svg+xml"])
        assert "<script" not in shown["image/svg+xml"]
