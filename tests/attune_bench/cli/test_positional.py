"""SCORES is the first argument of every analysis; `--scores` is its alias, and content tells what a file is."""

import json
from pathlib import Path
from shutil import copy

import pytest
from commands import QUICK, Call, Scored, without_call


@pytest.mark.parametrize(
    "command",
    [
        "report",
        "compare",
        "rank",
        "stats",
        "analyze",
        "subset --by topic",
        "plan --difference 0.1",
        "export --format csv -o {new}",
        "labels draw --n 4 -o {new}.csv",
    ],
)
def test_scores_are_an_argument_or_an_option(call: Call, results_csv: Path, tmp_path: Path, command: str) -> None:
    results = {}
    for name, given in (("argument", (results_csv,)), ("option", ("--scores", results_csv))):
        verb, *rest = command.format(new=tmp_path / name).split()
        group = [rest.pop(0)] if verb == "labels" else []
        status, out, err = call(verb, *group, *given, *rest)
        assert (status, err) == (0, "")
        results[name] = without_call(out).replace(name, "")
    assert results["argument"] == results["option"]


def test_names_of_analyses_follow_the_scores(call: Call, results_csv: Path) -> None:
    asked = ("win_rates", "separation")
    status, after, err = call("analyze", results_csv, *asked, *QUICK)
    assert (status, err) == (0, "")
    assert after.startswith("Win rates")
    assert without_call(call("analyze", *asked, "--scores", results_csv, *QUICK)[1]) == without_call(after)


def test_labels_and_judges_take_scores_first(call: Call, results_csv: Path) -> None:
    for command in (("debias",), ("labels", "plan", "--width", 1)):
        status, _, err = call(*command, "--labels", "none.csv", "--scores", results_csv)
        assert (status, "none.csv" in err) == (2, True)
        assert call(*command, results_csv, "--labels", "none.csv") == (status, "", err)


def test_content_tells_what_a_file_is(call: Call, conversations: Scored, episodes: Scored, tmp_path: Path) -> None:
    for scored in (conversations, episodes):
        renamed = tmp_path / "scores.txt"
        copy(scored.scores, renamed)
        status, out, err = call("rank", renamed, *QUICK)
        assert (status, err) == (0, "")
        assert without_call(out) == without_call(call("rank", scored.scores, *QUICK)[1])
        assert f"{renamed} is a file of scores, and no file of records" in call("describe", renamed)[2]


def test_rows_of_a_table_may_be_objects(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "results.jsonl"
    rows = [
        {"model": model, "unit": f"q{unit}", "metric": "hit", "value": unit % 2} for model in "ab" for unit in (1, 2)
    ]
    for lines in (rows, rows[:1]):
        table.write_text("\n".join(map(json.dumps, lines)))
        status, out, _ = call("rank", table)
        assert (status, "Ranks by hit" in out) == (0, True)
        assert f"{table} is a table of results" in call("describe", table)[2]
