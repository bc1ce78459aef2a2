import csv
import json
import re
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import pytest

from attune_bench import Scores, __version__

Json = dict[str, Any]
Call = Callable[..., tuple[int, str, str]]
Spawn = Callable[..., subprocess.CompletedProcess[bytes]]
Files = tuple[Path, Path]


def _bend(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), encoding="utf-8")


# validate.


def test_validate_clean_files(call: Call, files: Files) -> None:
    data, runs = files
    # The example holds two notes on comparisons without a winner or text, and totals that contradict their items.
    status, out, err = call("validate", data)
    assert (status, err) == (0, "")
    assert re.search(r"^2 conversations loaded; 0 errors, \d+ warnings, \d+ notes$", out, re.MULTILINE)
    status, out, err = call("validate", data, "--results", runs)
    assert (status, err) == (0, "")
    assert re.search(r"^2 conversations and 2 runs loaded; 0 errors, ", out, re.MULTILINE)


def test_validate_names_file_place_value_and_rule(call: Call, files: Files) -> None:
    data, _ = files
    _bend(data / "conversation_2.json", postPanas={"totalPositiveAffect": 99})
    status, out, _ = call("validate", data)
    assert status == 0
    found = re.search(r"^warning +conversation_2\.json +\$\.postPanas\.totalPositiveAffect\n +(.*)$", out, re.MULTILINE)
    assert found
    assert found[1].endswith("(found 99); clamped to 70 [out-of-range]")


def test_validate_puts_errors_first_and_exits_with_1(call: Call, files: Files) -> None:
    data, _ = files
    (data / "conversation_3.json").write_text('{"conversationId": ')
    status, out, err = call("validate", data)
    assert (status, err) == (1, "")
    assert out.startswith("error    conversation_3.json  $\n")
    severities = re.findall(r"^(error|warning|note) ", out, re.MULTILINE)
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert re.search(r"^2 conversations loaded; 1 errors?, ", out, re.MULTILINE)


@pytest.mark.parametrize(
    "changes",
    [{"postPanas": {"totalPositiveAffect": 99}}, {"turns": []}],
    ids=["out-of-range", "no-turns"],
)
def test_validate_strict_counts_warnings(call: Call, tmp_path: Path, changes: Json) -> None:
    (tmp_path / "conversation_1.json").write_text(
        json.dumps({"conversationId": "c1", "turns": [{"turnNumber": 1}]} | changes)
    )
    assert call("validate", tmp_path)[0] == 0
    assert call("validate", tmp_path, "--strict")[0] == 1


def test_validate_strict_passes_notes(call: Call, tmp_path: Path) -> None:
    turn = {"turnNumber": "1", "moodShiftTags": [{"emotion": "Upset", "intensity": "moderate"}]}
    (tmp_path / "conversation_1.json").write_text(json.dumps({"conversationId": "c1", "turns": [turn]}))
    status, out, _ = call("validate", tmp_path, "--strict")
    assert status == 0
    assert "0 errors, 0 warnings, 2 notes" in out


def test_validate_json(call: Call, files: Files) -> None:
    data, runs = files
    (data / "conversation_3.json").write_text("[]")
    _bend(runs / "c1_vendor_model_default.json", conversationId="c9")
    status, out, err = call("validate", data, "--results", runs, "--json")
    assert (status, err) == (1, "")
    content = json.loads(out, parse_constant=_refuse)
    assert (content["conversations"], content["runs"]) == (2, 2)
    assert all(
        list(issue) == ["file", "path", "rule", "severity", "value", "message", "consequence"]
        for issue in content["issues"]
    )
    errors = [issue["rule"] for issue in content["issues"] if issue["severity"] == "error"]
    assert errors == ["not-a-record", "run-without-conversation"]


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


def test_validate_finds_runs_without_their_conversation(call: Call, files: Files) -> None:
    data, runs = files
    assert call("validate", data, "--results", runs)[0] == 0
    _bend(runs / "c1_vendor_model_default.json", conversationId="c9")
    status, out, _ = call("validate", data, "--results", runs)
    assert status == 1
    assert "[run-without-conversation]" in out


def test_validate_shortens_many_issues_of_one_rule(call: Call, files: Files) -> None:
    data, _ = files
    _bend(data / "conversation_1.json", turns=[{"turnNumber": str(i)} for i in range(1, 9)])
    _, out, _ = call("validate", data / "conversation_1.json")
    assert out.count("[number-as-text]") == 1
    assert "... and 7 more of this rule in this file" in out


def test_validate_prints_no_control_characters(call: Call, files: Files) -> None:
    data, _ = files
    _bend(data / "conversation_1.json", conversationWideQuestions={"q3_modelFit": "\x1b[31mred\x1b[0m"})
    name = "conversation_\x1b[7m.json"
    (data / "conversation_2.json").rename(data / name)
    _bend(data / name, turns=[])
    _, out, _ = call("validate", data)
    assert "\x1b" not in out


def test_validate_demo(call: Call) -> None:
    status, out, err = call("validate", "demo", "--strict")
    assert (status, err) == (0, "")
    assert out == "40 conversations loaded; 0 errors, 0 warnings, 0 notes\n"


# score.


@pytest.mark.parametrize("protocol", ["documented", "released"])
def test_score(call: Call, files: Files, tmp_path: Path, protocol: str) -> None:
    data, runs = files
    output = tmp_path / "out.json"
    status, out, err = call(
        "score", "--results", runs, "--ground-truth", data, "--output", output, "--protocol", protocol
    )
    assert (status, err) == (0, "")
    assert out.startswith(f"{output}: 2 runs of 1 model and mode, protocol {protocol}\n")
    assert out.endswith(f"next: attune-bench report --scores {output}\n")
    scores = Scores.read(output)
    assert scores.metadata["protocol"] == protocol
    # Derived in test_scoring.py.
    assert [record["composite_score"] for record in scores.records] == [
        64.69 if protocol == "documented" else 66.04
    ] * 2


def test_score_writes_scores_json_here_by_default(
    call: Call, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("score", "--results", "runs", "--ground-truth", "data")[0] == 0
    assert len(Scores.read("scores.json").records) == len(files)


def test_score_says_what_was_not_scored(call: Call, files: Files, tmp_path: Path) -> None:
    data, runs = files
    _bend(runs / "c1_vendor_model_default.json", conversationId="c9")
    output = tmp_path / "out.json"
    status, out, err = call("score", "--results", runs, "--ground-truth", data, "--output", output)
    assert (status, err) == (0, "")
    assert "1 run of 1 model and mode" in out
    assert re.search(r"^1 error and \d+ warnings in the files; see: attune-bench validate ", out, re.MULTILINE)
    assert [issue.rule for issue in Scores.read(output).metadata["issues"]] == ["run-without-conversation"]


# report.


@pytest.mark.parametrize("format_", ["table", "markdown", "csv", "json"])
def test_report(call: Call, scores_file: Path, format_: str) -> None:
    status, out, err = call("report", "--scores", scores_file, "--format", format_)
    assert (status, err) == (0, "")
    assert ("\\u043c" if format_ == "json" else "модель/深度-1") in out
    assert "documented" in out
    assert out.endswith("\n")
    assert not out.endswith("\n\n")
    if format_ == "csv":
        assert [row["em_model"] for row in csv.DictReader(StringIO(out))] == ["b", "модель/深度-1"]
    elif format_ == "json":
        assert json.loads(out)["metadata"]["protocol"] == "documented"


def test_report_is_a_table_by_default(call: Call, scores_file: Path) -> None:
    assert call("report", "--scores", scores_file) == call("report", "--scores", scores_file, "--format", "table")


# Help and version.

COMMANDS = ("demo", "validate", "show", "describe", "score", "report")


def test_version(call: Call) -> None:
    assert call("--version") == (0, f"{__version__}\n", "")


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=str)
def test_help(call: Call, command: tuple[str, ...]) -> None:
    status, out, err = call(*command, "--help")
    assert (status, err) == (0, "")
    assert "Usage: attune-bench" in out
    for name in () if command else COMMANDS:
        assert name in out


# Mistakes of the user.

SCORE = ("score", "--results", "runs", "--ground-truth", "data")
MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown-command": (("scores",), "score"),
    "unknown-option": ((*SCORE, "--out", "x.json"), "--out"),
    "unknown-option-of-a-command": (("stats", "--scores", "x", "--out"), "See: attune-bench stats --help"),
    "validate-without-a-source": (("validate",), "SOURCE is missing. See: attune-bench validate --help"),
    "option-that-is-needed": (("eibench", "run", "local", "m", "demo"), "--simulator-model is missing. See:"),
    "option-without-a-value": (("stats", "--scores"), "--scores requires an argument"),
    "validate-two-sources": (("validate", "data", "runs"), "runs"),
    "validate-missing": (("validate", "date"), "no such file or folder: date"),
    "validate-empty-folder": (("validate", "empty"), "empty has no .json, .jsonl or .parquet file"),
    "validate-other-suffix": (("validate", "notes.txt"), "neither a .json, .jsonl or .parquet file"),
    "validate-results-missing": (("validate", "data", "--results", "rums"), "no such file or folder: rums"),
    "validate-results-empty": (("validate", "data", "--results", "empty"), "empty has no"),
    "show-without-an-id": (("show", "demo"), "ID"),
    "show-missing": (("show", "date", "c1"), "no such file or folder: date"),
    "show-another-id": (("show", "data", "c1x"), "no record with id 'c1x'; did you mean 'c1'"),
    "show-begun-twice": (("show", "data", "c"), "2 ids begin with 'c', for instance 'c1' and 'c2'"),
    "show-nothing-usable": (("show", "bad", "c1"), "attune-bench validate bad"),
    "describe-without-a-source": (("describe",), "SOURCE"),
    "describe-missing": (("describe", "date"), "no such file or folder: date"),
    "describe-nothing-usable": (("describe", "bad"), "no usable conversation in bad"),
    "score-without-arguments": (("score",), "--results"),
    "score-without-ground-truth": (("score", "--results", "runs"), "--ground-truth"),
    "score-option-without-value": (("score", "--results", "runs", "--ground-truth"), "--ground-truth"),
    "score-positional": (("score", "runs", "data"), "--results"),
    "score-unknown-protocol": ((*SCORE, "--protocol", "paper"), "documented"),
    "score-results-missing": (("score", "--results", "rums", "--ground-truth", "data"), "rums"),
    "score-truth-missing": (("score", "--results", "runs", "--ground-truth", "date"), "date"),
    "score-results-empty": (("score", "--results", "empty", "--ground-truth", "data"), "empty has no"),
    "score-truth-empty": (("score", "--results", "runs", "--ground-truth", "empty"), "empty has no"),
    "score-nothing-usable-in-truth": (
        ("score", "--results", "runs", "--ground-truth", "bad"),
        "no usable conversation in bad",
    ),
    "score-nothing-usable-in-results": (
        ("score", "--results", "bad", "--ground-truth", "data"),
        "no usable run file in bad",
    ),
    "score-swapped": (
        ("score", "--results", "data", "--ground-truth", "runs"),
        "runs contains 2 runs and no conversation; load_runs reads runs",
    ),
    "score-no-overlap": (("score", "--results", "other", "--ground-truth", "data"), "none of the 1 runs in other"),
    "score-no-output-folder": ((*SCORE, "--output", "none/scores.json"), "no such folder: none"),
    "score-output-is-a-folder": ((*SCORE, "--output", "empty"), "empty"),
    "score-output-below-a-file": ((*SCORE, "--output", "notes.txt/scores.json"), "notes.txt"),
    "report-without-scores": (("report",), "--scores"),
    "report-unknown-format": (("report", "--scores", "scores.json", "--format", "html"), "markdown"),
    "report-missing": (("report", "--scores", "none.json"), "none.json: cannot be read: No such file"),
    "report-folder": (("report", "--scores", "data"), "data: cannot be read: Is a directory"),
    "report-no-json": (("report", "--scores", "notes.txt"), "notes.txt: the file: Invalid JSON"),
    "report-conversation": (
        ("report", "--scores", "data/conversation_1.json"),
        "is it a file that `attune-bench score`",
    ),
    "report-foreign-aggregates": (("report", "--scores", "foreign.json"), "foreign.json: aggregates.0"),
    "line-break-in-a-name": (("validate", "no\nsuch"), "no such file or folder"),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_on_standard_error_and_exit_2(
    call: Call, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "bad", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").write_text("protocol: documented")
    (tmp_path / "bad" / "x.json").write_text("{")
    foreign = {"metadata": {"protocol": "documented"}, "conversations": [], "aggregates": [{"model": "a"}]}
    (tmp_path / "foreign.json").write_text(json.dumps(foreign))
    run = files[1] / "c1_vendor_model_default.json"
    (tmp_path / "other" / "x.json").write_bytes(run.read_bytes())
    _bend(tmp_path / "other" / "x.json", conversationId="c9")
    before = sorted(tmp_path.rglob("*"))

    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("attune-bench: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert words in err
    assert sorted(tmp_path.rglob("*")) == before  # nothing was written


def test_an_unwritable_folder(call: Call, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where tests run as root no folder refuses, so the refusal is made.
    def refuse(*_: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    output = tmp_path / "out.json"
    status, out, err = call("score", "--results", files[1], "--ground-truth", files[0], "--output", output)
    assert (status, out) == (2, "")
    assert err == f"attune-bench: {output} cannot be written: Permission denied; choose another --output\n"
    assert not [path for path in tmp_path.iterdir() if output.name in path.name]


def test_an_interrupt_gives_no_traceback(call: Call, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("attune_data.load", interrupt)
    status, out, err = call("validate", files[0])
    assert (status, out) == (130, "")
    assert err.count("\n") <= 1
