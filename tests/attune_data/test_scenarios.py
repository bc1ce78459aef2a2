"""Scenarios of EIBench: what is read, what is mended, what is refused, and how they are written back."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from hub_server import HubServer

from attune_data import Collection, LoadError, PublishError, Scenario, Scenarios, SourceError, load_runs, load_scenarios
from attune_data.eibench.records import SCENES, scenes
from attune_data.licences import permitted

Json = dict[str, Any]
Save = Callable[[Any, str], Path]
Change = Callable[[Json, str, Any], Json]
SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "eibench"


@pytest.fixture
def scenario() -> Json:
    return {
        "id": "scene_repair_07",
        "title": "The lent umbrella",
        "aggressor_profile": {"system_prompt": "You lent it.", "opening_line": "So where is it?"},
        "defender_profile": {"system_prompt": "You lost it."},
        "goal_one_liner": "Own up.",
        "success_criteria": ["It is said plainly"],
        "must_avoid": ["The weather"],
        "strip_defender_strategy_ok": True,
        "initial_calibration": {"initial_anger": 60, "initial_trust": 30},
        "rub_goals": {"target_anger": 20, "target_trust": 65},
        "worst_case": {"worst_anger_min": 90, "worst_trust_min": 5, "reason": "It was a gift."},
        "scene_tag": "repair",
        "prompt": [{"role": "system", "content": "You lost it."}, {"role": "user", "content": "So where is it?"}],
        "data_source": "repair",
    }


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def found(loaded: Collection[Scenario]) -> list[tuple[str, str, str]]:
    return [(issue.path, issue.rule, issue.severity) for issue in loaded.found]


# As it is in the files.


def test_a_test_record_is_read_without_an_issue_and_written_back(scenario: Json, save: Save) -> None:
    loaded = load_scenarios(save(lines(scenario), "repair_final.jsonl"), on_error="raise")
    (record,) = loaded
    assert loaded.found == ()
    assert json.loads(record.to_json()) == scenario
    assert (record.scene, record.split, record.worst_case.worst_trust) == ("repair", "test", 5)
    assert loaded["scene_repair_07"] is record


def test_a_train_record_has_other_keys(scenario: Json, save: Save) -> None:
    del scenario["strip_defender_strategy_ok"]
    scenario |= {
        "id": "scene_charm_gen_1767802776_00494",
        "scene_tag": "charm",
        "success_criteria_weights": [0.25, 0.75],
        "rewrite_ok": False,
        "aggressor_profile": {"system_prompt": "You read."},
        "defender_profile": {"system_prompt": "You ask.", "opening_line": "Excuse me."},
    }
    scenario["rub_goals"] |= {"target_anger_range": [15, 25], "target_trust_range": [60, 70]}
    (record,) = loaded = load_scenarios(save(lines(scenario), "charm_final.jsonl"))
    assert loaded.found == ()
    assert json.loads(record.to_json()) == scenario
    assert (record.split, record.success_criteria_weights) == ("train", (0.25, 0.75))


@pytest.mark.parametrize(
    "key", ["title", "aggressor_profile", "success_criteria", "must_avoid", "prompt", "data_source"]
)
@pytest.mark.parametrize("absent", [True, False])
def test_optional_keys_may_be_absent_or_null(key: str, absent: bool, scenario: Json, save: Save) -> None:
    if absent:
        del scenario[key]
    else:
        scenario[key] = None
    (record,) = load_scenarios(save(lines(scenario), "a.jsonl"))
    assert json.loads(record.to_json()) == scenario


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the real records are not beside the repository")
def test_the_real_records_load_without_an_issue_and_are_written_back() -> None:
    loaded = load_scenarios(SAMPLES, on_error="raise")
    assert loaded.found == ()
    files = [SAMPLES / split / f"{scene}_final.jsonl" for split in ("test", "train") for scene in sorted(SCENES)]
    published = [json.loads(line) for file in files for line in file.read_bytes().split(b"\n") if line]
    assert [json.loads(record.to_json()) for record in loaded] == published
    assert Counter((record.split, record.scene) for record in loaded) == {
        (split, scene): count for split, count in (("test", 2), ("train", 1)) for scene in SCENES
    }
    assert [len(load_scenarios(SAMPLES, split=split)) for split in ("test", "train")] == [8, 4]


# What the official loader skips without a word, or reads as something else.


def test_what_is_skipped_silently_elsewhere_is_an_issue(scenario: Json, save: Save) -> None:
    data = lines(scenario) + b'\n{"id": "cut o\n' + lines({**scenario, "id": "b"})
    loaded = load_scenarios(save(data, "repair_final.jsonl"))
    assert [record.id for record in loaded] == ["scene_repair_07", "b"]
    (issue,) = loaded.found
    assert (issue.file, issue.rule, issue.severity) == ("repair_final.jsonl:3", "invalid-json", "error")
    assert "is the file cut off?" in issue.message


def test_a_wrapped_record_and_a_start_at_its_older_place(scenario: Json, save: Save) -> None:
    start = scenario.pop("initial_calibration")
    scenario["meta_config"] = {"initial_calibration": start}
    (record,) = loaded = load_scenarios(save(lines({"row": scenario}), "a.jsonl"))
    assert found(loaded) == [
        ("$.row", "old-spelling", "note"),
        ("$.meta_config.initial_calibration", "old-spelling", "note"),
    ]
    assert json.loads(record.to_json()) == {**scenario, "initial_calibration": start}


def test_a_row_as_the_hub_shows_it_is_taken_out_of_its_wrapper(scenario: Json, save: Save) -> None:
    wrapped = {"row_idx": 4, "row": scenario, "truncated_cells": []}
    (record,) = loaded = load_scenarios(save(lines(wrapped), "a.jsonl"))
    assert found(loaded) == [("$.row", "old-spelling", "note")]
    assert json.loads(record.to_json()) == scenario


def test_a_scenario_with_a_key_of_that_name_is_no_wrapper(scenario: Json, save: Save) -> None:
    as_text = {**scenario["initial_calibration"], "initial_anger": "60"}
    for start in (scenario["initial_calibration"], as_text):
        given = {**scenario, "row": {"number": 3}, "initial_calibration": start}
        (record,) = load_scenarios(save(lines(given), "a.jsonl"))
        assert json.loads(record.to_json())["row"] == {"number": 3}


def test_a_start_at_its_older_place_is_read_where_there_is_no_other(scenario: Json, save: Save) -> None:
    scenario["meta_config"] = {"initial_calibration": {"initial_anger": 1, "initial_trust": 1}}
    scenario["initial_calibration"]["initial_anger"] = "60"
    (record,) = loaded = load_scenarios(save(lines(scenario), "a.jsonl"))
    assert record.initial_calibration.initial_anger == 60
    assert found(loaded) == [("$.initial_calibration.initial_anger", "number-as-text", "note")]


STRICT = [
    ("$.id", None),
    ("$.id", ""),
    ("$.scene_tag", "banter"),
    ("$.scene_tag", None),
    ("$.initial_calibration.initial_trust", "calm"),
    ("$.rub_goals.target_anger", -1),
    ("$.rub_goals.target_trust", 101),
    ("$.worst_case.worst_anger_min", 90.5),
    ("$.worst_case.worst_trust_min", True),
]


@pytest.mark.parametrize(("path", "value"), STRICT)
def test_id_scene_and_anchors_are_strict(path: str, value: Any, scenario: Json, save: Save, put: Change) -> None:
    source = save(lines(put(scenario, path, value)), "a.jsonl")
    loaded = load_scenarios(source)
    assert len(loaded) == 0
    (issue,) = loaded.found
    assert (issue.path, issue.severity, issue.consequence) == (path, "error", "record left out")
    assert issue.value == json.dumps(value)
    with pytest.raises(LoadError, match="1 error while loading"):
        load_scenarios(source, on_error="raise")


@pytest.mark.parametrize("path", ["$.id", "$.scene_tag"])
def test_id_and_scene_are_needed(path: str, scenario: Json, save: Save, drop: Callable[..., Json]) -> None:
    loaded = load_scenarios(save(lines(drop(scenario, path)), "a.jsonl"))
    assert found(loaded) == [(path, "invalid-value", "error")]


ANCHORS = (
    *("$.initial_calibration.initial_anger", "$.initial_calibration.initial_trust"),
    *("$.rub_goals.target_anger", "$.rub_goals.target_trust"),
    *("$.worst_case.worst_anger_min", "$.worst_case.worst_trust_min"),
)


@pytest.mark.parametrize("path", ANCHORS)
def test_a_missing_anchor_is_a_warning_and_stays_missing(
    path: str, scenario: Json, save: Save, drop: Callable[..., Json], put: Change
) -> None:
    for without in (drop(scenario, path), put(scenario, path, None)):
        (record,) = loaded = load_scenarios(save(lines(without), "a.jsonl"))
        assert found(loaded) == [(path, "missing-anchor", "warning")]
        assert record.missing_anchors == (path.removeprefix("$."),)
        assert json.loads(record.to_json()) == without
        with pytest.raises(ValueError, match=f"has no {path.removeprefix('$.')}$"):
            record.anchors("anger")


@pytest.mark.parametrize("block", ["initial_calibration", "rub_goals", "worst_case"])
def test_a_missing_block_is_both_of_its_anchors(block: str, scenario: Json, save: Save) -> None:
    nothing = {name: value for name, value in scenario.items() if name != block}
    for without in (nothing, {**scenario, block: None}, {**scenario, block: {}}):
        (record,) = loaded = load_scenarios(save(lines(without), "a.jsonl"))
        assert [path for path, *_ in found(loaded)] == [path for path in ANCHORS if block in path]
        assert json.loads(record.to_json()) == without
    row = load_scenarios(save(lines(nothing), "a.jsonl")).tables.scenarios.row(0, named=True)
    names = [path.rpartition(".")[2].removesuffix("_min") for path in ANCHORS]
    assert {name for name in names if row[name] is None} == {name for name, path in zip(names, ANCHORS, strict=True)
                                                             if block in path}  # fmt: skip


@pytest.mark.parametrize(("value", "rule"), [("60", "number-as-text"), (60.0, "fraction")])
def test_an_anchor_of_another_type_that_says_the_same(value: Any, rule: str, scenario: Json, save: Save) -> None:
    scenario["initial_calibration"]["initial_anger"] = value
    (record,) = loaded = load_scenarios(save(lines(scenario), "a.jsonl"))
    assert record.initial_calibration.initial_anger == 60
    assert found(loaded) == [("$.initial_calibration.initial_anger", rule, "note")]


# The rows of the table of degenerate anchors, and each order on its own.
@pytest.mark.parametrize(
    ("anger", "trust", "axes"),
    [
        ((20, 60, 90), (5, 30, 65), ""),
        ((20, 20, 60), (5, 30, 65), "anger"),
        ((40, 20, 60), (5, 30, 65), "anger"),
        ((20, 60, 60), (5, 30, 65), "anger"),
        ((20, 60, 50), (5, 30, 65), "anger"),
        ((20, 60, 90), (0, 60, 40), "trust"),
        ((20, 60, 90), (0, 50, 50), "trust"),
        ((20, 60, 90), (30, 30, 65), "trust"),
        ((20, 60, 90), (35, 30, 65), "trust"),
        ((0, 0, 60), (0, 0, 50), "anger trust"),
    ],
)
def test_anchors_out_of_order_are_a_warning(
    anger: tuple[int, int, int], trust: tuple[int, int, int], axes: str, scenario: Json, save: Save
) -> None:
    scenario["rub_goals"] = {"target_anger": anger[0], "target_trust": trust[2]}
    scenario["initial_calibration"] = {"initial_anger": anger[1], "initial_trust": trust[1]}
    scenario["worst_case"] = {"worst_anger_min": anger[2], "worst_trust_min": trust[0]}
    loaded = load_scenarios(save(lines(scenario), "a.jsonl"))
    assert len(loaded) == 1
    assert found(loaded) == [("$", "anchor-order", "warning")] * len(axes.split())
    assert [issue.message.split()[1] for issue in loaded.found] == axes.split()


def test_texts_without_which_a_scenario_cannot_be_played(scenario: Json, save: Save) -> None:
    scenario["aggressor_profile"] = {"system_prompt": " "}
    del scenario["defender_profile"]
    loaded = load_scenarios(save(lines(scenario, {**scenario, "id": "c", "scene_tag": "charm"}), "a.jsonl"))
    prompts = [f"$.{side}_profile.system_prompt" for side in ("aggressor", "defender")]
    opening = "$.aggressor_profile.opening_line"  # In charm the model opens.
    assert [path for path, *_ in found(loaded)] == [*prompts, opening, *prompts]
    assert {rule for _, rule, _ in found(loaded)} == {"missing-text"}


# Splits, sets of files, copies.


@pytest.fixture
def both(scenario: Json, save: Save, tmp_path: Path) -> Path:
    """Return a folder with one scenario a scene in each split, of ids that do not tell it."""
    for split in ("test", "train"):
        for scene in SCENES:
            save(lines({**scenario, "id": f"{split}-{scene}", "scene_tag": scene}), f"data/{split}/{scene}_final.jsonl")
    save(lines({"other": 1}), "data/notes.jsonl")
    return tmp_path / "data"


@pytest.mark.parametrize("split", ["test", "train"])
def test_the_folder_tells_the_split(split: Any, both: Path) -> None:
    of_split = load_scenarios(both, split=split)
    assert [issue.message for issue in of_split.found] == ["1 file is not read here: notes.jsonl"]
    assert {record.split for record in of_split} == {split}
    assert list(of_split) == list(load_scenarios(both).where(split=split)) == list(load_scenarios(both / split))
    (one,) = load_scenarios(both / split / "charm_final.jsonl", split=split)
    assert one == of_split[f"{split}-charm"]


def test_an_archive_and_a_data_set_on_the_hub_are_read_as_the_folder(
    both: Path, hub: HubServer, tmp_path: Path
) -> None:
    archive = shutil.make_archive(str(tmp_path / "set"), "zip", both)
    files = {path.relative_to(both).as_posix(): path.read_bytes() for path in both.rglob("*.jsonl")}
    hub.add("lab/scenarios", files)
    for source in (archive, "hf://lab/scenarios"):
        assert list(load_scenarios(source, split="test")) == list(load_scenarios(both, split="test"))
    assert hub.downloaded == [f"test/{scene}_final.jsonl" for scene in sorted(SCENES)]
    assert list(load_scenarios(archive)) == list(load_scenarios("hf://lab/scenarios")) == list(load_scenarios(both))
    assert list(load_scenarios("hf://lab/scenarios/train")) == list(load_scenarios(both, split="train"))


def test_the_split_that_is_asked_for_leaves_the_other_unread(both: Path) -> None:
    (both / "train" / "charm_final.jsonl").write_bytes(b"{")
    assert "train" not in repr(load_scenarios(both, split="test").found)


def test_without_folders_the_id_tells_and_no_answer_is_an_issue(scenario: Json, save: Save) -> None:
    ids = ["scene_repair_07", "scene_repair_gen_1767800812_00007", "mine"]
    source = save(lines(*({**scenario, "id": name} for name in ids)), "all.jsonl")
    assert [record.split for record in load_scenarios(source)] == ["test", "train", None]
    loaded = load_scenarios(source, split="train")
    assert [record.id for record in loaded] == ids[1:2]
    assert found(loaded) == [("$.id", "unknown-split", "error")]
    with pytest.raises(ValueError, match="split is 'dev'; expected 'test' or 'train'"):
        load_scenarios(source, split="dev")  # type: ignore[arg-type]


def test_without_folders_of_splits_every_file_is_read(scenario: Json, save: Save, tmp_path: Path) -> None:
    for name in ("scene_repair_07", "scene_repair_gen_1767800812_00007", "scene_repair_gen_old"):
        save(lines({**scenario, "id": name}), f"data/{name}_final.jsonl")
    loaded = load_scenarios(tmp_path / "data", split="train")
    assert [record.id for record in loaded] == ["scene_repair_gen_1767800812_00007"]
    assert [rule for _, rule, _ in found(loaded)] == ["unknown-split"]


def test_the_folder_counts_more_than_the_form_of_the_id(scenario: Json, save: Save, tmp_path: Path) -> None:
    save(lines(scenario), "data/train/repair_final.jsonl")
    (record,) = load_scenarios(tmp_path / "data")
    assert (record.id, record.split) == ("scene_repair_07", "train")


def test_a_source_of_the_other_split_only_is_an_issue(both: Path, scenario: Json, save: Save) -> None:
    for source, count in ((both / "test", 4), (save(lines(scenario), "all.jsonl"), 1)):
        loaded = load_scenarios(source, split="train")
        (issue,) = loaded.found
        assert (len(loaded), issue.rule, issue.severity) == (0, "missing-split", "warning")
        assert (issue.file, json.loads(issue.value)) == (str(source), {"test": count})
        assert issue.message == "no scenario is of the split train; is this the right folder?"


def test_what_the_place_told_is_written_by_a_collection_only(both: Path, tmp_path: Path) -> None:
    loaded = load_scenarios(both)
    assert not any(b'"split"' in record.to_json() for record in loaded)
    loaded.to_jsonl(tmp_path / "one.jsonl")
    loaded.to_parquet(tmp_path / "tables")
    for written in (tmp_path / "one.jsonl", tmp_path / "tables"):
        again = load_scenarios(written)
        assert list(again) == list(loaded)
        assert Counter(record.split for record in again) == {"test": 4, "train": 4}


def test_a_scene_of_which_no_file_is_there(both: Path) -> None:
    for split in ("test", "train"):
        (both / split / "defense_final.jsonl").unlink()
    (issue,) = (issue for issue in load_scenarios(both).found if issue.rule != "passed-over")
    assert (issue.rule, issue.severity) == ("missing-scene", "warning")
    assert issue.message == "no scenario of the scene defense; is a file missing?"
    assert json.loads(issue.value) == {"charm": 2, "repair": 2, "support": 2}
    assert load_scenarios(both / "test" / "charm_final.jsonl").found == ()


def test_an_id_that_comes_twice(scenario: Json, save: Save) -> None:
    loaded = load_scenarios(save(lines(scenario, scenario, {**scenario, "title": "Another"}), "a.jsonl"))
    assert [(issue.file, issue.severity) for issue in loaded.found] == [("a.jsonl:2", "note"), ("a.jsonl:3", "error")]
    assert {issue.rule for issue in loaded.found} == {"duplicate-record"}
    assert [record.title for record in loaded] == ["The lent umbrella"]


def test_another_kind_of_record_is_named(run: Json, scenario: Json, save: Save) -> None:
    with pytest.raises(SourceError, match="contains 1 run and no scenario; load_runs reads runs"):
        load_scenarios(save(run, "run.json"))
    with pytest.raises(SourceError, match="contains 1 scenario and no run; load_scenarios reads scenarios"):
        load_runs(save(scenario, "scenario.json"))


def test_rows_of_a_dataset(scenario: Json) -> None:
    columns = {key: [value] for key, value in scenario.items()}
    (record,) = load_scenarios(datasets.Dataset.from_dict(columns))
    assert json.loads(record.to_json()) == scenario
    (record,) = load_scenarios(datasets.Dataset.from_dict({"record": [json.dumps(scenario)]}))
    assert json.loads(record.to_json()) == scenario
    with pytest.raises(SourceError, match="'id' and 'scene_tag'"):
        load_scenarios(datasets.Dataset.from_dict({"title": ["a"]}))


# The demo and the codebook.


def test_the_demo_is_well_made() -> None:
    demo = load_scenarios("demo", on_error="raise")
    assert demo.found == ()
    assert Counter(record.scene for record in demo) == dict.fromkeys(SCENES, 4)
    assert all(record.synthetic for record in demo)
    for record in demo:
        assert record.id == f"demo_{record.scene}_{record.id[-2:]}"
        assert (record.aggressor_profile.opening_line is None) == (scenes()[record.scene].opens == "model")
        assert record.aggressor_profile.system_prompt.count("### ") == 6
        assert record.defender_profile.system_prompt.count("### ") == 4


def test_the_codebook_describes_every_scene() -> None:
    assert tuple(scenes()) == SCENES
    assert [scene for scene in SCENES if scenes()[scene].opens == "model"] == ["charm"]


def test_only_the_demo_may_be_published_under_a_free_licence(scenario: Json) -> None:
    assert permitted(load_scenarios("demo"), "cc-by-4.0")[1] == ()
    own = Scenarios([Scenario.model_validate(scenario)])
    with pytest.raises(
        PublishError, match=r"of EIBench, which is under cc-by-nc-4.0, which does not allow .* 'cc-by-4.0'"
    ):
        permitted(own, "cc-by-4.0")
    assert [benchmark.name for benchmark in permitted(own, "cc-by-nc-4.0")[1]] == ["EIBench"]
