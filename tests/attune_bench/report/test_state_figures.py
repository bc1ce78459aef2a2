"""The figure of states round by round, and how episodes and dialogues fill it."""

import re
from html import unescape
from itertools import pairwise
from typing import Any

import pytest
from episodes import episodes_of
from pages import text_of

from attune_bench.benchmarks.eibench.report import transcript
from attune_bench.report.columns import Figure
from attune_bench.report.plots import drawn, looks
from attune_bench.report.transcripts import state_paths
from attune_data import Scenario, load_scenarios
from attune_data.display import parts_html
from attune_data.kinds import EPISODE

ANCHORS = {"anger": {"start": 60, "target": 20, "worst": None}}


def texts(drawing: str, tag: str = "text") -> list[str]:
    return [unescape(found) for found in re.findall(rf"<{tag}[^>]*>([^<]*)</{tag}>", drawing)]


def test_the_panel_goes_on_to_the_last_round_and_marks_say_their_state() -> None:
    plot = state_paths({"anger": {"a<b": [60, 50], "c": [60, None, 70]}}, anchors=ANCHORS, last=8)
    drawing = drawn(plot, "caption")
    assert "8" in texts(drawing)
    titles = texts(drawing, "title")
    assert "a<b, round 1: 50" in titles
    # What is not known is no mark.
    assert not any(title.startswith("c, round 1:") for title in titles)
    assert "c, round 2: 70" in titles
    assert {"start 60", "target 20", "a<b", "c"} <= set(texts(drawing))
    assert not any(text.startswith("worst") for text in texts(drawing))


def test_models_differ_in_more_than_colour() -> None:
    plot = state_paths({"anger": {f"vendor/{place}": [50, 40 + place] for place in range(9)}}, anchors={}, last=8)
    found = [(line.colour, line.shape) for line in plot.panels[0].lines]
    assert len(found) == len(set(found)) == 9
    assert len({shape for _, shape in found[:6]}) == 6
    assert len(set(looks(20))) == 20


def test_no_state_is_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="no state is known"):
        state_paths({"anger": {"a": [None]}}, anchors={}, last=8)


def figures(scenario: Scenario, episodes: dict[str, Any]) -> list[Figure]:
    return [part for part in transcript(scenario, episodes) if isinstance(part, Figure)]


@pytest.mark.slow
def test_all_models_of_a_scenario_are_in_one_figure_with_its_anchors() -> None:
    scenario = load_scenarios("demo")["demo_support_01"]
    drifts = {"invented/calm": (-5, 4), "invented/rash": (2, -1)}
    episodes = {one.model: one for one in episodes_of([scenario], drifts)}
    [figure] = figures(scenario, episodes)
    drawing = drawn(figure.chart, figure.caption)
    for axis in ("anger", "trust"):
        start, target, worst = scenario.anchors(axis)
        for name, state in (("start", start), ("target", target), ("worst", worst)):
            assert f"{name} {state}" in texts(drawing)
        for model, episode in episodes.items():
            told = [getattr(line.meta, axis) for line in episode.history if line.meta is not None]
            assert told[0] == start
            for number, state in enumerate(told):
                assert f"{model}, round {number}: {state}" in texts(drawing, "title")
    # Rounds that no episode reached are there: the benchmark has 8 where a record does not say.
    assert figure.chart.last == 8
    longer = {name: one.model_copy(update={"max_rounds": 12}) for name, one in episodes.items()}
    assert figures(scenario, longer)[0].chart.last == 12


def test_a_dialogue_says_how_the_state_moved() -> None:
    scenario = load_scenarios("demo")["demo_support_01"]
    [episode] = episodes_of([scenario], {"m": (-5, 4)})
    said = text_of("".join(parts_html(EPISODE.parts(episode))))
    start = scenario.anchors("anger")[0]
    moved = re.findall(r"anger (\d+) \(([+-]\d+)\), trust (\d+) \(([+-]\d+)\)", said)
    assert len(moved) >= 2
    assert int(moved[0][1]) == int(moved[0][0]) - start
    for before, after in pairwise(moved):
        assert int(after[0]) - int(before[0]) == int(after[1])
    assert figures(scenario, {"m": episode.model_copy(update={"history": ()})}) == []
