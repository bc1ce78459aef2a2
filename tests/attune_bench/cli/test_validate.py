"""The command `validate`: records of every kind, each issue with its file, place and value."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import Call, Scored, Scorings, bend, strict_json

from attune_data import load_scenarios

Files = tuple[Path, Path]


def test_clean_files(call: Call, files: Files) -> None:
    data, runs = files
    # The example has two notes on comparisons without a winner or text, and totals that contradict their items.
    status, out, err = call("validate", data)
    assert (status, err) == (0, "")
    assert re.search(r"^2 conversations loaded; 0 errors, \d+ warnings, \d+ notes$", out, re.MULTILINE)
    status, out, err = call("validate", data, "--results", runs)
    assert (status, err) == (0, "")
    assert re.search(r"^2 conversations and 2 runs loaded; 0 errors, ", out, re.MULTILINE)


def test_every_benchmark_is_recognised_by_its_content(call: Call, scored: Scorings) -> None:
    said = {
        "attunebench": "40 conversations and 80 runs loaded; 0 errors, 0 warnings, 0 notes",
        # The six failures are warnings; the summaries that lie beside the episodes a note.
        "eibench": "48 scenarios and 144 episodes loaded; 0 errors, 6 warnings, 1 note",
    }
    for name, line in said.items():
        found = scored(name)
        status, out, err = call("validate", found.data, "--results", found.results)
        assert (status, err, out.splitlines()[-1]) == (0, "", line)
    assert call("validate", scored("sage").results)[1] == "12 dialogues loaded; 0 errors, 0 warnings, 0 notes\n"


def test_a_table_of_comparisons_is_checked_as_it_is_scored(call: Call, tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("unit,a,b,margin,first\nq1,x,y,2,x\nq2,x,y,-4,x\n")
    one_order = "Each pair of models was shown in one order only"
    status, out, err = call("validate", votes)
    assert (status, err, one_order in out) == (0, "", True)
    assert one_order in " ".join(strict_json(call("validate", votes, "--format", "json")[1])["notes"])
    votes.with_suffix(".toml").write_text("largest_margin = 3\n")
    said = f"attune-bench: {votes}:3: margin is -4; the largest margin is 3, as largest_margin says"
    for command in (["validate", votes], ["score", "--results", votes, "--output", tmp_path / "scores.parquet"]):
        assert call(*command)[2].startswith(said)
    votes.write_text("unit,a,b,margin,first\nq1,x,y,2,x\nq2,x,y,-3,y\n")
    assert one_order not in call("validate", votes)[1]


def test_it_names_file_place_value_and_rule(call: Call, files: Files) -> None:
    data, _ = files
    bend(data / "conversation_2.json", postPanas={"totalPositiveAffect": 99})
    status, out, _ = call("validate", data)
    assert status == 0
    found = re.search(r"^warning +out-of-range, 1 in 1 file\n +(.*)\n +(.*)$", out, re.MULTILINE)
    assert found
    assert found[1].endswith("; clamped to 70")
    assert found[2] == "conversation_2.json  $.postPanas.totalPositiveAffect  99"


def test_errors_come_first_and_the_exit_status_is_1(call: Call, files: Files) -> None:
    data, _ = files
    (data / "conversation_3.json").write_text('{"conversationId": ')
    status, out, err = call("validate", data)
    assert (status, err) == (1, "")
    assert out.startswith("error    invalid-json, 1 in 1 file\n")
    assert "\n    conversation_3.json  $\n" in out
    severities = re.findall(r"^(error|warning|note) ", out, re.MULTILINE)
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert re.search(r"^2 conversations loaded; 1 error, ", out, re.MULTILINE)


def test_a_line_of_scenarios_that_is_broken(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "scenarios.jsonl"
    path.write_bytes(load_scenarios("demo")[0].to_line() + b'\n{"scene_tag": "war"}\n')
    status, out, err = call("validate", path)
    assert (status, err) == (1, "")
    assert out.startswith("error    ")
    assert re.search(r"^    scenarios\.jsonl:2  \$", out, re.MULTILINE)
    assert re.search(r"^1 scenario loaded; \d+ errors?, ", out, re.MULTILINE)


@pytest.mark.parametrize(
    "changes",
    [{"postPanas": {"totalPositiveAffect": 99}}, {"turns": []}],
    ids=["out-of-range", "no-turns"],
)
def test_strict_counts_warnings(call: Call, tmp_path: Path, changes: dict[str, Any]) -> None:
    (tmp_path / "conversation_1.json").write_text(
        json.dumps({"conversationId": "c1", "turns": [{"turnNumber": 1}]} | changes)
    )
    assert call("validate", tmp_path)[0] == 0
    assert call("validate", tmp_path, "--strict")[0] == 1


def test_strict_passes_notes(call: Call, tmp_path: Path) -> None:
    turn = {"turnNumber": "1", "moodShiftTags": [{"emotion": "Upset", "intensity": "moderate"}]}
    (tmp_path / "conversation_1.json").write_text(json.dumps({"conversationId": "c1", "turns": [turn]}))
    status, out, _ = call("validate", tmp_path, "--strict")
    assert status == 0
    assert "0 errors, 0 warnings, 2 notes" in out


def test_json(call: Call, files: Files) -> None:
    data, runs = files
    (data / "conversation_3.json").write_text("[]")
    bend(runs / "c1_vendor_model_default.json", conversationId="c9")
    status, out, err = call("validate", data, "--results", runs, "--format", "json")
    assert (status, err) == (1, "")
    content = strict_json(out)
    assert (content["conversations"], content["runs"]) == (2, 2)
    assert all(
        list(issue) == ["file", "path", "rule", "severity", "value", "message", "consequence", "count"]
        for issue in content["issues"]
    )
    errors = [issue["rule"] for issue in content["issues"] if issue["severity"] == "error"]
    assert errors == ["not-a-record", "run-without-conversation"]


def test_runs_without_their_conversation(call: Call, files: Files) -> None:
    data, runs = files
    assert call("validate", data, "--results", runs)[0] == 0
    bend(runs / "c1_vendor_model_default.json", conversationId="c9")
    status, out, _ = call("validate", data, "--results", runs)
    assert status == 1
    assert "run-without-conversation, 1 in 1 file" in out


def test_results_of_several_folders(call: Call, episodes: Scored) -> None:
    folders = sorted(Path(episodes.results).iterdir())
    status, out, _ = call("validate", episodes.data, "--results", *folders[:2])
    assert status == 0
    assert "48 scenarios and 96 episodes loaded; 0 errors, 0 warnings" in out


def test_results_that_are_all_broken_are_listed(call: Call, files: Files, tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.json").write_text("{")
    status, out, err = call("validate", files[0], "--results", tmp_path / "bad")
    assert (status, err) == (1, "")
    assert out.startswith("error    invalid-json, 1 in 1 file\n")
    assert "\n    x.json  $\n" in out
    assert "2 conversations and 0 runs loaded; 1 error, " in out


def test_many_notes_of_one_rule_are_one(call: Call, files: Files) -> None:
    data, _ = files
    bend(data / "conversation_1.json", turns=[{"turnNumber": str(i)} for i in range(1, 9)])
    _, out, _ = call("validate", data / "conversation_1.json")
    assert "note     number-as-text, 8 in 1 file\n" in out
    # Of each of the first three messages its place; "read as 1" differs from "read as 2".
    assert "  ... and 5 more of the rule number-as-text\n" in out


def test_no_control_characters_are_printed(call: Call, files: Files) -> None:
    data, _ = files
    bend(data / "conversation_1.json", conversationWideQuestions={"q3_modelFit": "\x1b[31mred\x1b[0m"})
    name = "conversation_\x1b[7m.json"
    (data / "conversation_2.json").rename(data / name)
    bend(data / name, turns=[])
    _, out, _ = call("validate", data)
    assert "\x1b" not in out


def test_the_demo(call: Call) -> None:
    status, out, err = call("validate", "demo", "--strict")
    assert (status, err) == (0, "")
    assert out == "40 conversations loaded; 0 errors, 0 warnings, 0 notes\n"
    assert call("validate", "demo", "--benchmark", "eibench")[1].startswith("16 scenarios loaded; ")
