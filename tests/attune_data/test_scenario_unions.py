"""Unions, parts and copies of scenarios, episodes and dialogues behave as those of conversations."""

import copy
import pickle
from typing import Any

import pytest

from attune_data import Dialogues, Episode, Episodes, SageDialogue, load_scenarios


def episode(scenario: str, anger: int, **changes: Any) -> Episode:
    """Return an episode with one update of the state; official records name no simulator and no configuration."""
    history = [
        {"role": "aggressor", "content": "Oh.", "meta": {"anger": 50, "trust": 50}},
        {"role": "defender", "content": "Tell me."},
        {"role": "aggressor", "content": "No.", "meta": {"anger": anger, "trust": 50}},
    ]
    return Episode(profile_id=scenario, scene="repair", model="m", final_anger=anger, history=history, **changes)


def dialogue(scenario: str, model: str, end: int, topic: str = "keys") -> SageDialogue:
    """Return a dialogue with one reply of the person."""
    said = [{"role": "user", "emotion_point": 40}, {"role": "assistant"}, {"role": "user", "emotion_point": end}]
    return SageDialogue(scenario_id=scenario, model=model, emo_point=end, topic=topic, history=said)


def test_episodes_without_a_simulator_are_one_where_scenario_and_model_are() -> None:
    left = Episodes([episode("s1", 40), episode("s2", 40)]).tables
    right = Episodes([episode("s2", 40), episode("s2", 40, simulator="x"), episode("s3", 40)]).tables
    both = left | right
    assert both.found == ()
    assert both.episodes.select("scenario_id", "simulator").rows() == [
        ("s1", None), ("s2", None), ("s2", "x"), ("s3", None)
    ]  # fmt: skip
    assert both.turns.height == 4


@pytest.mark.parametrize("tables", [False, True])
def test_of_two_that_differ_the_left_counts_and_the_other_is_an_issue(tables: bool) -> None:
    left, right = Episodes([episode("s1", 40)]), Episodes([episode("s1", 30), episode("s2", 30)])
    both: Any = left.tables | right.tables if tables else left | right
    [issue] = both.found
    assert (issue.rule, issue.severity, issue.value) == ("duplicate-record", "error", '"s1/m"')
    shown = both if tables else both.tables
    assert shown.turns["anger_after"].to_list() == [40, 30]


def test_dialogues_of_one_scenario_share_its_row() -> None:
    left = Dialogues([dialogue("s1", "a", 50), dialogue("s2", "a", 50)]).tables
    right = Dialogues([dialogue("s1", "b", 60), dialogue("s3", "b", 60)]).tables
    both = left | right
    assert both.found == ()
    assert both.scenarios["scenario_id"].to_list() == ["s1", "s2", "s3"]
    assert both.where(model="b").scenarios["scenario_id"].to_list() == ["s1", "s3"]
    assert both.where(model="b").turns["emotion_delta"].to_list() == [20, 20]


def test_a_part_knows_the_values_of_its_whole() -> None:
    demo = load_scenarios("demo")
    support = demo.where(scene="support")
    assert len(support.where(scene="repair")) == len(support.tables.where(scene="repair")) == 0
    assert len(support.tables | demo.where(scene="charm").tables) == 8
    # Unlike participants, scenarios are told apart by case.
    assert len(Episodes([episode("A", 1), episode("a", 1)]).sample(1, seed=0)) == 1


@pytest.mark.parametrize(
    "kept",
    [
        load_scenarios("demo"),
        load_scenarios("demo").where(scene="support"),
        Episodes([episode("s1", 40)]),
        Dialogues([dialogue("s1", "a", 50)]),
    ],
)
def test_collections_and_their_tables_can_be_copied(kept: Any) -> None:
    name = kept.tables.names[-1]
    frame = getattr(kept.tables, name)
    for twin in (pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept)):  # noqa: S301  # our own bytes
        assert list(twin) == list(kept)
        assert getattr(twin.tables, name).equals(frame)
    for tables in (pickle.loads(pickle.dumps(kept.tables)), copy.deepcopy(kept.tables)):  # noqa: S301  # our own bytes
        assert getattr(tables, name).equals(frame)
