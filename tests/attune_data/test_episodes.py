"""Episodes of EIBench: official results and richer records, how they ended, their turns, and copies."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_data import (
    Collection,
    Episode,
    Episodes,
    EpisodeTables,
    Scenario,
    SourceError,
    load,
    load_episodes,
    load_scenarios,
)
from attune_data.kinds import EPISODE

Json = dict[str, Any]
Save = Callable[[Any, str], Path]


def person(content: str, anger: int, trust: int, **meta: Any) -> Json:
    return {"role": "aggressor", "content": content, "meta": {"anger": anger, "trust": trust, **meta}}


def model(content: str) -> Json:
    return {"role": "defender", "content": content}


def official(**changes: Any) -> Json:
    """Return a line of official results: a repair scenario from 70, 15 to 66, 17 in two rounds."""
    noted = {"post_adjust_notes": [], "quadrant": "Repair"}
    return {
        "model": "vendor/model",
        "profile_id": "scene_repair_01",
        "scene_tag": "repair",
        "ended_by": "simulator_stop",
        "n_rounds": 2,
        "final_anger": 66,
        "final_trust": 17,
        "goal_score": None,
        "reward": 0.073016,
        "anger_score": 0.088889,
        "trust_score": 0.057143,
        "goal_reason": None,
        "stop_reason": None,
        "history": [
            person("Where is it?", 70, 15),
            model("I lost it."),
            person("Lost.", 68, 15, **noted),
            model("And I hid it."),
            person("Goodbye.", 66, 17, **noted, stop_reason="had enough"),
        ],
        **changes,
    }


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def rules(loaded: Collection[Episode]) -> list[tuple[str, str, str]]:
    return [(issue.path, issue.rule, issue.severity) for issue in loaded.found]


def turns(*records: Json) -> pl.DataFrame:
    return Episodes([Episode.model_validate(record) for record in records]).tables.turns


# Reading and writing.


def test_an_official_result_is_read_without_an_issue_and_written_back(save: Save, tmp_path: Path) -> None:
    save(lines(official()), "vendor_model/results.jsonl")
    save({"model": "vendor/model", "n": 1}, "vendor_model/summary.json")
    loaded = load_episodes(tmp_path, on_error="raise")
    assert [(issue.rule, issue.severity) for issue in loaded.found] == [("passed-over", "note")]  # the summary
    (episode,) = loaded
    assert json.loads(episode.to_json()) == official()
    assert (episode.id, episode.outcome) == ("scene_repair_01/vendor/model", "simulator_stop")
    assert repr(loaded) == "<Collection of 1 episode (1 repair), 1 note>"


def test_our_richer_record_is_written_back(save: Save) -> None:
    richer = official(
        simulator="vendor/sim",
        prompt_version="en-1",
        config_hash="ab12",
        max_rounds=8,
        initial_anger=70,
        initial_trust=15,
        licence="CC BY 4.0",
    )
    read = {"reflection": "1. ...", "parse": "repaired"}
    richer["history"][2]["meta"] |= {"anger_delta": -2, "trust_delta": 0, **read}
    richer["history"][4]["meta"] |= {"anger_delta": -2, "trust_delta": 2, **read}
    (episode,) = loaded = load_episodes(save(lines(richer), "a.jsonl"), on_error="raise")
    assert loaded.found == ()
    assert json.loads(episode.to_json()) == richer
    assert episode.id == "scene_repair_01/vendor/model/vendor/sim/ab12"


def test_thinking_is_beside_the_words_and_in_older_files_within_them(save: Save) -> None:
    line = official()
    line["history"][1] |= {"content": "<think>Say it.</think>I lost it."}
    line["history"][3] |= {"thinking": "Say all of it."}
    (episode,) = loaded = load_episodes(save(line, "results.jsonl"))
    assert loaded.found == ()
    assert [line.thinking for line in episode.history[1::2]] == [None, "Say all of it."]
    assert json.loads(episode.to_json()) == line
    assert loaded.tables.turns["model_reply"].to_list() == ["<think>Say it.</think>I lost it.", "And I hid it."]
    text = EPISODE.transcript(episode, 60)
    assert "Model\n  And I hid it.\n  thought       Say all of it.\n" in text
    assert text.count("thought ") == 1


def test_bare_nan_is_read_as_null(save: Save) -> None:
    data = lines(official()).replace(b'"goal_score": null', b'"goal_score": NaN')
    (episode,) = loaded = load_episodes(save(data, "results.jsonl"))
    assert episode.goal_score is None
    assert rules(loaded) == [("$.goal_score", "unknown-value", "warning")]
    assert b"NaN" not in episode.to_json()


@pytest.mark.parametrize(
    "key",
    [field.alias or name for name, field in Episode.model_fields.items() if field.annotation in (str, str | None)],
)
def test_a_number_where_text_belongs_costs_no_episode(key: str, save: Save) -> None:
    (episode,) = loaded = load_episodes(save(lines(official(**{key: 12})), "a.jsonl"))
    assert json.loads(episode.to_json())[key] == "12"
    assert (f"$.{key}", "number-where-text", "note") in rules(loaded)


@pytest.mark.parametrize(
    ("key", "value"), [("final_anger", 101), ("final_trust", 17.5), ("model", None), ("model", "")]
)
def test_what_is_scored_is_strict(key: str, value: Any, save: Save) -> None:
    loaded = load_episodes(save(lines(official(**{key: value})), "a.jsonl"))
    assert len(loaded) == 0
    assert [path for path, *_ in rules(loaded)] == [f"$.{key}"]


def test_a_fraction_in_a_text_is_not_rounded(save: Save) -> None:
    loaded = load_episodes(save(lines(official(final_anger="44.5")), "a.jsonl"))
    assert len(loaded) == 0
    assert rules(loaded) == [
        ("$.final_anger", "number-as-text", "note"),
        ("$.final_anger", "invalid-value", "error"),
    ]


def test_roles_of_a_training_history_are_translated(save: Save) -> None:
    record = official()
    names = {"aggressor": "user", "defender": "assistant"}
    for line in record["history"]:
        line["role"] = names[line["role"]]
    (episode,) = loaded = load_episodes(save(lines(record), "a.jsonl"))
    assert json.loads(episode.to_json()) == official()
    assert {rule for _, rule, _ in rules(loaded)} == {"old-spelling"}


def test_a_summary_is_told_from_episodes(save: Save) -> None:
    summary = {"model": "vendor/model", "n": 1, "overall": {"reward": 0.5}, "by_scene": {}}
    expected = "contains a summary of episodes and no episode; load_episodes reads the results.jsonl beside it"
    with pytest.raises(SourceError, match=expected):
        load_episodes(save(summary, "summary.json"))


# How it ended.

OPENING, REPLY, ANSWER = person("Well?", 70, 15), model("Sorry."), person("Hm.", 66, 17)
STOPPED = person("Bye.", 66, 17, stop_reason="")
FAILED = person("...", 66, 17, parse_failed=True, raw_preview="{")


@pytest.mark.parametrize(
    ("ended_by", "history", "outcome"),
    [
        ("max_rounds", [OPENING, REPLY, ANSWER], "max_rounds"),
        ("simulator_stop", [OPENING, REPLY, STOPPED], "simulator_stop"),
        ("parse_failed", [OPENING, REPLY, FAILED], "parse_failed"),
        ("simulator_stop", [OPENING, REPLY, ANSWER], "empty_reply"),  # nothing follows the person
        ("simulator_stop", [OPENING, REPLY, ANSWER, model(" ")], "empty_reply"),
        ("simulator_stop", [], "empty_reply"),  # charm: the model did not open
        ("simulator_stop", [OPENING, REPLY, ANSWER, REPLY], "empty_simulator_reply"),
        ("simulator_stop", [OPENING, REPLY, person("", 66, 17)], "empty_simulator_reply"),
        ("gave_up", [OPENING, REPLY, ANSWER], "gave_up"),
        (None, [OPENING, REPLY, ANSWER], None),
    ],
)
def test_outcomes(ended_by: str | None, history: list[Json], outcome: str | None, save: Save) -> None:
    (episode,) = loaded = load_episodes(save(lines(official(ended_by=ended_by, history=history)), "a.jsonl"))
    assert episode.outcome == outcome
    expected = {"max_rounds": [], "simulator_stop": [], "gave_up": ["unknown-outcome"], None: ["unknown-outcome"]}
    assert [rule for _, rule, _ in rules(loaded)] == expected.get(outcome, ["failed-episode"])


def test_without_a_history_the_outcome_is_as_recorded() -> None:
    record = official()
    del record["history"]
    assert Episode.model_validate(record).outcome == "simulator_stop"


def test_an_error_is_kept_and_reported(save: Save) -> None:
    failed = {"model": "m", "profile_id": "s", "scene_tag": "charm", "error": "timed out"}
    (episode,) = loaded = load_episodes(save(lines(failed), "results.jsonl"))
    assert episode.outcome == "error"
    assert json.loads(episode.to_json()) == failed
    (issue,) = loaded.found
    assert (issue.rule, issue.value, issue.consequence) == ("failed-episode", '"timed out"', "kept, as error")


# What contradicts itself.


def test_states_that_contradict_each_other(save: Save) -> None:
    record = official(final_anger=60, final_trust=None, scene_tag="banter")
    record["history"][2]["meta"] |= {"anger_delta": -3, "trust_delta": 0}
    assert rules(load_episodes(save(lines(record), "a.jsonl"))) == [
        ("$.scene_tag", "unknown-scene", "warning"),
        ("$.final_trust", "missing-final-state", "warning"),
        ("$.final_anger", "final-state", "warning"),
        ("$.history[2].meta.anger_delta", "state-change", "warning"),
    ]


def test_a_person_who_fell_silent_had_moved_before(save: Save) -> None:
    # The history ends with the state before, 66 and 17, and the final one is right.
    record = official(final_anger=60, final_trust=20, history=[OPENING, REPLY, ANSWER, REPLY])
    assert rules(load_episodes(save(lines(record), "a.jsonl"))) == [("$", "failed-episode", "warning")]


def test_a_change_beyond_ten_is_kept_as_it_was(save: Save) -> None:
    record = official()
    record["history"][2]["meta"] |= {"anger": 55, "anger_delta": "-15"}
    (episode,) = loaded = load_episodes(save(lines(record), "a.jsonl"))
    assert episode.history[2].meta is not None
    assert episode.history[2].meta.anger_delta == -15
    assert [rule for _, rule, _ in rules(loaded)] == ["number-as-text"]


def test_a_change_that_the_ends_of_the_scale_cut_is_right(save: Save) -> None:
    after = person("No!", 100, 0, anger_delta=10, trust_delta=-10, stop_reason="over")
    record = official(final_anger=100, final_trust=0, history=[person("Well?", 95, 4), REPLY, after])
    assert load_episodes(save(lines(record), "a.jsonl")).found == ()


# Copies.


def test_of_an_error_and_a_result_the_result_counts(save: Save) -> None:
    failed = {"model": "vendor/model", "profile_id": "scene_repair_01", "scene_tag": "repair", "error": "timed out"}
    for first, second, dropped in ((failed, official(), 1), (official(), failed, 2)):
        loaded = load_episodes(save(lines(first, second), "results.jsonl"))
        assert [episode.outcome for episode in loaded] == ["simulator_stop"]
        copies = [issue for issue in loaded.found if issue.rule == "duplicate-record"]
        assert [(issue.file, issue.severity) for issue in copies] == [(f"results.jsonl:{dropped}", "note")]


def test_of_two_errors_the_first_counts(save: Save) -> None:
    failed = {"model": "vendor/model", "profile_id": "scene_repair_01", "scene_tag": "repair", "error": "timed out"}
    loaded = load_episodes(save(lines(failed, {**failed, "error": ""}), "results.jsonl"))
    assert [episode.error for episode in loaded] == ["timed out"]
    assert ("$", "duplicate-record", "error") in rules(loaded)


def test_an_empty_error_is_one_too() -> None:
    assert Episode.model_validate({"model": "m", "profile_id": "s", "error": ""}).outcome == "error"


def test_of_two_results_the_first_counts(save: Save) -> None:
    loaded = load_episodes(save(lines(official(), official(reward=0.5), official()), "results.jsonl"))
    assert [episode.reward for episode in loaded] == [0.073016]
    assert [(issue.file, issue.severity) for issue in loaded.found] == [
        ("results.jsonl:2", "error"),
        ("results.jsonl:3", "note"),
    ]


def test_another_simulator_or_configuration_is_another_episode(save: Save) -> None:
    others = [official(simulator=one, config_hash=two) for one in ("a", "b") for two in ("1", "2")]
    loaded = load_episodes(save(lines(official(), *others), "results.jsonl"))
    assert len({episode.id for episode in loaded}) == 5
    assert loaded.found == ()
    one = loaded.tables.where(simulator="a", config_hash="2")
    assert (len(one), one.turns.height) == (1, 2)
    assert loaded.where(simulator=None).tables.turns.height == 2


# Tables.

STEPS = [f"{axis}_{moment}" for axis in ("anger", "trust") for moment in ("before", "delta", "after")]


def test_one_row_an_update_of_the_state() -> None:
    frame = turns(official())
    assert frame.select("turn_number", "model_reply", "person_reply", *STEPS).rows() == [
        (1, "I lost it.", "Lost.", 70, -2, 68, 15, 0, 15),
        (2, "And I hid it.", "Goodbye.", 68, -2, 66, 15, 2, 17),
    ]
    assert frame["stop_reason"].to_list() == [None, "had enough"]


def test_in_charm_the_model_opens_and_its_last_reply_has_no_row() -> None:
    history = [
        model("Is that moss?"),
        person("Yes.", 25, 20),
        model("Which?"),
        person("Haircap.", 20, 30),
        model("Oh."),
    ]
    record = official(scene_tag="charm", ended_by="max_rounds", final_anger=20, final_trust=30, history=history)
    frame = turns(record, {**record, "model": "other", "initial_anger": 30, "initial_trust": 15})
    # Without a start nothing tells the first change.
    assert frame.select("model_reply", *STEPS).rows() == [
        ("Is that moss?", None, None, 25, None, None, 20),
        ("Which?", 25, -5, 20, 20, 10, 30),
        ("Is that moss?", 30, -5, 25, 15, 5, 20),
        ("Which?", 25, -5, 20, 20, 10, 30),
    ]


def test_updates_that_are_not_replies() -> None:
    unread = official(ended_by="parse_failed", history=[OPENING, REPLY, FAILED])
    silent = official(history=[OPENING, REPLY, person("Hm.", 69, 15), model("Please.")])  # 66, 17 is in no message
    frame = turns(unread, {**silent, "model": "other"})
    assert frame.select("model", "person_reply", "parse_failed", "anger_before", "anger_after").rows() == [
        ("vendor/model", "...", True, 70, 66),
        ("other", "Hm.", False, 70, 69),
        ("other", "", False, 69, 66),
    ]


def test_a_person_who_goes_on_answers_no_reply() -> None:
    frame = turns(official(history=[OPENING, REPLY, ANSWER, ANSWER]))
    assert frame["model_reply"].to_list() == ["Sorry.", None]


def test_joined_with_scenarios() -> None:
    demo = load_scenarios("demo")
    record = official(profile_id="demo_charm_01", scene_tag="charm", history=[REPLY, person("Mm.", 20, 30)])
    episodes = Episodes([Episode.model_validate(one) for one in (record, official())])
    tables = episodes.joined(demo)
    assert isinstance(tables, EpisodeTables)
    names = ["title", "initial_anger", "target_trust", "worst_anger", "outcome", "n_turns"]
    assert tables.episodes.select(names).rows() == [
        ("The allotment next door", 25, 60, 70, "empty_reply", 1),
        (None, 70, None, None, "simulator_stop", 2),
    ]
    assert tables.where(scene="charm").turns.select(STEPS).rows() == [(25, -5, 20, 25, 5, 30)]
    with pytest.raises(TypeError, match="episodes are joined with scenarios"):
        episodes.joined(load("demo"))  # type: ignore[arg-type]


def test_filters_by_scene_split_model_and_outcome() -> None:
    scenario = json.loads(load_scenarios("demo")[0].to_json())
    scenarios = [
        Scenario.model_validate({**scenario, "id": name, "split": split})
        for name, split in (("s", "test"), ("t", "train"))
    ]
    records = [official(profile_id=name, model=who, scene_tag="support") for name in "st" for who in ("a", "b")]
    records[3] |= {"ended_by": "max_rounds", "scene_tag": "charm"}
    tables = Episodes([Episode.model_validate(record) for record in records]).joined(scenarios)
    assert [len(tables.where(**{key: value})) for key, value in (
        ("scene", "support"), ("split", "train"), ("model", ["a", "b"]), ("outcome", "max_rounds"),
    )] == [3, 2, 4, 1]  # fmt: skip
    assert {name: len(part) for name, part in tables.stratify("outcome").items()} == {
        "max_rounds": 1,
        "simulator_stop": 3,
    }
    # All episodes of a scenario are drawn and split together.
    assert [set(part.episodes["scenario_id"]) for part in tables.split(0.5, 0.5, seed=1)] in (
        [{"s"}, {"t"}],
        [{"t"}, {"s"}],
    )
    assert len(tables.sample(1, seed=1)) == 2
    with pytest.raises(ValueError, match="cannot sample 3 scenarios of 2"):
        tables.sample(3, seed=1)
    with pytest.raises(ValueError, match="no episode has model 'c'"):
        tables.where(model="c")
    with pytest.raises(ValueError, match="no trait 'diagnosis'"):
        tables.where(diagnosis="ADHD")
    with pytest.raises(ValueError, match="no trait 'screen'"):
        tables.where(screen="who_5")


def test_parts_with_nothing_in_them_keep_their_tables(save: Save) -> None:
    none = load_episodes(save(lines(official()), "a.jsonl")).filter("final_anger > 90")
    assert (none.tables.episodes.height, none.tables.turns.height) == (0, 0)
    assert none.tables.turns.schema == turns(official()).schema
    assert load_episodes(save(b"{}", "b.json")).tables.episodes.height == 0
    both = Episodes([Episode.model_validate(official(model=who)) for who in "ab"]).tables
    assert (both.where(model="a") | both.where(model="b")).turns.height == 4


def test_in_a_notebook_text_is_data() -> None:
    hostile = official(model="<script>", profile_id="<b>")
    html = Episodes([Episode.model_validate(hostile)])._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert "simulator_stop" in html
    assert "The allotment next door" not in load_scenarios("demo")._repr_html_()  # the first ten only
    assert "After the night shift" in load_scenarios("demo")._repr_html_()
