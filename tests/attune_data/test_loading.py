"""Loading as a whole: what is raised, duplicates, subsets, progress, imports, and the golden files."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attune_data import LoadError, SourceError, load, load_codebook, load_runs

Json = dict[str, Any]
Save = Callable[[Any, str], Path]
Put = Callable[[Json, str, Any], Json]

REPOSITORY = Path(__file__).parents[2]
VECTORS = REPOSITORY / "tests" / "golden" / "vectors"
README_EXAMPLE = REPOSITORY.parent / "shared" / "samples" / "attunebench" / "readme_example.json"


# What is raised.


def test_raise_lists_every_error_and_carries_every_issue(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(b"{", "1.json")
    save({**conversation, "turns": [{"turnNumber": "1"}]}, "2.json")
    save({"turns": []}, "3.json")
    with pytest.raises(LoadError, match="2 errors while loading") as raised:
        load(tmp_path, on_error="raise")
    assert "1.json" in str(raised.value)
    assert "3.json $.conversationId" in str(raised.value)
    assert [(issue.file, issue.severity) for issue in raised.value.issues] == [
        ("1.json", "error"),
        ("2.json", "note"),
        ("3.json", "error"),
    ]
    assert raised.value.issues == load(tmp_path).found


def test_raise_does_not_raise_for_warnings_and_notes(conversation: Json, save: Save) -> None:
    conversation["turns"] = [{"turnNumber": "1"}, {"turnNumber": 5}]
    loaded = load(save(conversation, "1.json"), on_error="raise")
    assert {issue.severity for issue in loaded.found} == {"note", "warning"}


@pytest.mark.parametrize("loader", [load, load_runs])
def test_unknown_choice_of_on_error(loader: Callable[..., object], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="on_error is 'ignore'; expected 'report' or 'raise'"):
        loader(tmp_path, on_error="ignore")


NEEDED_PLACES = ("$.conversationId", "$.turns[0].turnNumber")
OBJECT_PLACES = ("$.metadata", "$.participant_profile.demographics", "$.turns[0].annotations")
LIST_PLACES = ("$.turns[0].moodShiftTags", "$.turns[0].annotations.pairwiseComparisons")

NEEDED: list[tuple[str, Any]] = [
    *itertools.product(NEEDED_PLACES, ({"a": 1}, [3], True)),
    *itertools.product(("$.turns",), ("text", {"0": {}}, 3)),
]
OPTIONAL: list[tuple[str, Any]] = [
    *itertools.product(("$.turns[1].userMessage",), ({"a": 1}, [3], True)),
    *itertools.product(OBJECT_PLACES, ("text", "", [{}], 3)),
    *itertools.product(LIST_PLACES, ("", {"0": {}}, 3)),
]


@pytest.mark.parametrize(("path", "value"), NEEDED)
def test_value_of_another_type_where_one_is_needed_is_an_error_at_its_place(
    path: str, value: Any, conversation: Json, save: Save, put: Put
) -> None:
    loaded = load(save(put(conversation, path, value), "1.json"))
    assert len(loaded) == 0
    assert [(issue.path, issue.rule, issue.severity) for issue in loaded.found] == [(path, "invalid-value", "error")]
    assert json.loads(loaded.found[0].value) == value


@pytest.mark.parametrize(("path", "value"), OPTIONAL)
def test_value_of_another_type_costs_only_itself(
    path: str, value: Any, conversation: Json, save: Save, put: Put
) -> None:
    loaded = load(save(put(conversation, path, value), "1.json"))
    changed = [(issue.path, issue.severity, issue.value) for issue in loaded.found if issue.rule == "unknown-value"]
    assert changed == [(path, "warning", json.dumps(value))]
    assert json.loads(loaded[0].to_json()) == put(conversation, path, None)


@pytest.mark.parametrize("path", ["$.conversationId", "$.em_model", "$.turns[1].turnNumber"])
def test_missing_key_that_is_needed_is_an_error_at_its_place(
    path: str, run: Json, save: Save, drop: Callable[[Json, str], Json]
) -> None:
    loaded = load_runs(save(drop(run, path), "1.json"))
    assert [(issue.path, issue.rule, issue.severity) for issue in loaded.found] == [(path, "invalid-value", "error")]


@pytest.mark.parametrize(
    ("path", "item"),
    [
        ("$.turns[0].moodShiftTags", {"intensity": 3}),
        ("$.turns[0].moodShiftTags", 7),
        ("$.turns[0].moodShiftTags", None),
        ("$.turns[0].annotations.binaryJudgements", {"observedBehavior": "yes"}),
        ("$.conversationWideQuestions.q1_lookingFor", None),
        ("$.turns[0].annotations.selectedPairwiseQuestions", {}),
    ],
)
def test_item_that_says_nothing_costs_only_itself(
    path: str, item: Any, conversation: Json, save: Save, pick: Callable[[Any, str], Any]
) -> None:
    before = json.loads(json.dumps(conversation))
    pick(conversation, path).append(item)
    place = f"{path}[{len(pick(before, path))}]"
    loaded = load(save(conversation, "1.json"))
    assert json.loads(loaded[0].to_json()) == before
    assert [(issue.path, issue.rule, issue.severity) for issue in loaded.found] == [(place, "unknown-value", "warning")]


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_deep_nesting_is_an_error(depth: int, save: Save) -> None:
    text = b'{"conversationId":"c","turns":' + b"[" * depth + b"]" * depth + b"}"
    loaded = load(save(text, "1.json"))
    assert [(issue.path, issue.severity) for issue in loaded.found] == [("$", "error")]


def test_place_in_text_that_is_not_json_is_named(save: Save) -> None:
    message = load(save(b'{"conversationId": "c",\n "turns": oops}', "1.json")).found[0].message
    assert "line 2, column 11" in message
    assert "cut off" in load(save(b'{"conversationId": "c", "turns": [', "1.json")).found[0].message


# Duplicates.


def test_first_of_two_files_with_one_id_counts(conversation: Json, save: Save, tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        save({**conversation, "metadata": {"model": name}}, f"{name}.json")
    loaded = load(tmp_path)
    assert [record.metadata.model for record in loaded] == ["a"]
    assert [(issue.file, issue.path, issue.rule, issue.severity) for issue in loaded.found] == [
        (name, "$", "duplicate-conversation", "error") for name in ("b.json", "c.json")
    ]


TIMES = [
    ("2026-04-01T10:00:00Z", "2026-04-02T09:00:00Z", "b"),
    ("2026-04-02T09:00:00Z", "2026-04-01T10:00:00Z", "a"),
    ("2026-04-01T10:00:00Z", "2026-04-01T10:00:00Z", "b"),
    ("2026-04-01T10:00:00.5Z", "2026-04-01T10:00:00Z", "a"),
    ("2026-04-01T12:00:00+02:00", "2026-04-01T11:00:00Z", "b"),
    ("2026-04-01T10:00:00Z", "2026-04-01T10:00:00+00:00", "b"),
    ("2026-04-01T10:00:00Z", None, "a"),
    (None, "2026-04-01T10:00:00Z", "b"),
    (None, None, "b"),
    ("2026-04-01T10:00:00", "2026-04-01T11:00:00Z", "b"),
]


@pytest.mark.parametrize(("first", "second", "counts"), TIMES)
def test_later_of_two_runs_counts_then_the_later_name(
    first: str | None, second: str | None, counts: str, run: Json, save: Save, tmp_path: Path
) -> None:
    for name, time in (("b", second), ("a", first)):
        save({**run, "run_timestamp": time, "source_file": name}, f"{name}.json")
    loaded = load_runs(tmp_path)
    other = {"a": "b", "b": "a"}[counts]
    assert [record.source_file for record in loaded] == [counts]
    assert [(issue.file, issue.path, issue.rule) for issue in loaded.found] == [(f"{other}.json", "$", "duplicate-run")]
    assert f"{counts}.json" in loaded.found[0].message


def test_latest_of_three_runs_counts(run: Json, save: Save, tmp_path: Path) -> None:
    for name, day in (("a", 3), ("b", 1), ("c", 2)):
        save({**run, "run_timestamp": f"2026-04-0{day}", "source_file": name}, f"{name}.json")
    loaded = load_runs(tmp_path)
    assert [record.source_file for record in loaded] == ["a"]
    assert [issue.file for issue in loaded.found] == ["b.json", "c.json"]


@pytest.mark.parametrize(
    ("key", "value"), [("conversationId", "other"), ("em_model", "kiln/glaze-2"), ("mode", "verbose")]
)
def test_runs_that_differ_in_conversation_model_or_mode_all_count(
    key: str, value: str, run: Json, save: Save, tmp_path: Path
) -> None:
    save(run, "a.json")
    save({**run, key: value}, "b.json")
    loaded = load_runs(tmp_path)
    assert len(loaded) == 2
    assert loaded.found == ()


# Subsets.


def save_numbers(conversation: Json, save: Save, folder: str, numbers: set[int] | frozenset[int]) -> None:
    for number in numbers:
        save({**conversation, "conversationId": f"{folder}{number}"}, f"{folder}conversation_{number}.json")


def test_whole_subset_has_no_issue(conversation: Json, save: Save, tmp_path: Path) -> None:
    wanted = load_codebook().subsets["Subsample20"]
    save_numbers(conversation, save, "Subsample20/", wanted)
    save_numbers(conversation, save, "Sample200/", {5, 6})
    for source in (tmp_path, tmp_path / "Subsample20"):
        loaded = load(source, subset="Subsample20")
        assert {record.id for record in loaded} == {f"Subsample20/{number}" for number in wanted}
        assert loaded.found == ()


def test_missing_and_extra_numbers_of_a_subset_are_issues(conversation: Json, save: Save, tmp_path: Path) -> None:
    wanted = load_codebook().subsets["Subsample20"]
    gone = min(wanted)
    save_numbers(conversation, save, "Subsample20/", (wanted - {gone}) | {100_000})
    loaded = load(tmp_path / "Subsample20", subset="Subsample20")
    assert len(loaded) == 19
    assert [(issue.file, issue.path, issue.rule, issue.severity, issue.value) for issue in loaded.found] == [
        ("Subsample20", "$", "subset-missing", "warning", f"[{gone}]"),
        ("Subsample20", "$", "subset-extra", "warning", '["conversation_100000.json"]'),
    ]


def test_subset_of_a_folder_with_another_name_takes_its_numbers(conversation: Json, save: Save, tmp_path: Path) -> None:
    wanted = load_codebook().subsets["Subsample25"]
    save_numbers(conversation, save, "all/", wanted | {100_000})
    loaded = load(tmp_path / "all", subset="Subsample25")
    assert {record.id for record in loaded} == {f"all/{number}" for number in wanted}
    assert loaded.found == ()


def test_unknown_subset_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown subset 'Subsample2'.*did you mean 'Subsample2[05]'"):
        load(tmp_path, subset="Subsample2")


def test_subset_needs_a_folder(conversation: Json, save: Save, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="needs a folder"):
        load(save(conversation, "conversation_5.json"), subset="Sample200")
    with pytest.raises(SourceError, match=r"no such file or folder: .*nowhere"):
        load(tmp_path / "nowhere", subset="Sample200")


# Progress.


def test_progress_counts_the_records_read(conversation: Json, run: Json, save: Save, tmp_path: Path) -> None:
    for number in range(3):
        save({**conversation, "conversationId": str(number)}, f"data/{number}.json")
        save({**run, "conversationId": str(number)}, f"runs/{number}.json")
    counts: list[int] = []
    load(tmp_path / "data", progress=counts.append)
    load_runs(tmp_path / "runs", progress=counts.append)
    assert counts == [1, 2, 3, 1, 2, 3]


# Importing.

IMPORT = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import attune_data
heavy = {"scipy.stats", "scipy.optimize", "datasets", "altair", "attune_metrics", "attune_bench"}
print(sorted(heavy & sys.modules.keys()))
modules = (".py", ".pyc", ".so", ".pth")
print([p for p in opened if "attune_data" in p and not p.endswith(modules)])
print([p for p in opened if p.endswith((".toml", ".json", ".jsonl", ".csv", ".parquet"))])
print(any(p.endswith((".py", ".pyc")) and "attune_data" in p for p in opened))
"""


def test_import_loads_nothing_heavy_and_opens_no_data_file() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]", "[]", "True"]


# Golden files.


def written_and_read(loaded: Any, folder: Path) -> list[tuple[str, Any, Any]]:
    files = sorted(folder.glob("*.json"))
    assert len(files) == len(loaded) >= 10
    return [
        (path.name, json.loads(record.to_json()), json.loads(path.read_bytes()))
        for path, record in zip(files, loaded, strict=True)
    ]


@pytest.mark.parametrize("name", ["plain", "odd", "old"])
@pytest.mark.parametrize(("part", "loader"), [("data", load), ("runs", load_runs)], ids=["data", "runs"])
def test_golden_files_load_without_an_error_and_come_back(
    name: str, part: str, loader: Callable[..., Any], save: Save
) -> None:
    loaded = loader(VECTORS / name / part, on_error="raise" if name != "old" else "report")
    assert [str(issue) for issue in loaded.found if issue.severity == "error"] == []
    changed = {issue.file for issue in loaded.found if issue.rule == "out-of-range"}
    for file, written, read in written_and_read(loaded, VECTORS / name / part):
        if name != "old":
            assert (written == read) is (file not in changed), file
        again = loader(save(written, "again.json"))
        assert again[0].to_json() == json.dumps(written, separators=(",", ":"), ensure_ascii=False).encode()
        assert {issue.rule for issue in again.found}.isdisjoint({"old-spelling", "number-as-text", "out-of-range"})


@pytest.mark.skipif(not README_EXAMPLE.is_file(), reason="the documentation's example is not beside the repository")
def test_example_of_the_documentation_loads_without_an_issue() -> None:
    loaded = load(README_EXAMPLE, on_error="raise")
    assert loaded.found == ()
    assert json.loads(loaded[0].to_json()) == json.loads(README_EXAMPLE.read_bytes())
