"""The figure of states round by round, and how episodes and dialogues fill it."""

import re
from itertools import pairwise
from typing import Any

import pytest
from episodes import episodes_of
from pages import text_of

from attune_bench.benchmarks.eibench.report import transcript
from attune_bench.report.columns import Figure
from attune_bench.report.drawing import svg
from attune_bench.report.transcripts import state_paths
from attune_data import Scenario, load_scenarios
from attune_data.display import parts_html
from attune_data.kinds import EPISODE

ANCHORS = {"anger": {"start": 60, "target": 20, "worst": None}}


def looks(paths: Any) -> list[tuple[str, str]]:
    """Return colour and shape of each model, as the figure is asked to draw them."""
    [layer] = [
        one for one in state_paths(paths, anchors={}, last=8).to_dict()["spec"]["layer"] if "shape" in one["encoding"]
    ]
    return list(zip(*(layer["encoding"][name]["scale"]["range"] for name in ("fill", "shape")), strict=True))


def test_the_panel_goes_on_to_the_last_round_and_marks_say_their_state() -> None:
    drawn = svg(state_paths({"anger": {"a<b": [60, 50], "c": [60, None, 70]}}, anchors=ANCHORS, last=8))
    ticks = re.findall(r">(\d+)</text>", drawn)
    assert "8" in ticks
    assert 'aria-label="a&lt;b, round 1: anger 50"' in drawn
    # What is not known is no mark.
    assert "c, round 1:" not in drawn
    assert 'aria-label="c, round 2: anger 70"' in drawn
    assert ">start 60<" in drawn
    assert ">target 20<" in drawn
    assert ">worst" not in drawn


def test_models_differ_in_more_than_colour() -> None:
    names = [f"vendor/{place}" for place in range(20)]
    found = looks({"anger": {name: [50, 40] for name in names}})
    assert len(found) == len(set(found)) == 20
    assert len({shape for _, shape in found[:6]}) == 6


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
    drawn = svg(figure.chart)
    for axis in ("anger", "trust"):
        start, target, worst = scenario.anchors(axis)
        for name, state in (("start", start), ("target", target), ("worst", worst)):
            assert f">{name} {state}<" in drawn
        for model, episode in episodes.items():
            told = [getattr(line.meta, axis) for line in episode.history if line.meta is not None]
            assert told[0] == start
            for number, state in enumerate(told):
                assert f"{model}, round {number}: {axis} {state}" in drawn
    # Rounds that no episode reached are there: the benchmark has 8 where a record does not say.
    [domain] = {
        tuple(layer["encoding"]["x"]["scale"]["domain"])
        for layer in figure.chart.to_dict()["spec"]["layer"]
        if "domain" in layer["encoding"].get("x", {}).get("scale", {})
    }
    assert domain == (0, 8)
    longer = {name: one.model_copy(update={"max_rounds": 12}) for name, one in episodes.items()}
    assert "[0, 12]" in str(figures(scenario, longer)[0].chart.to_dict())


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
