"""The commands `debias`, `labels draw` and `labels plan`, from a sheet to corrected scores."""

import csv
from pathlib import Path
from random import Random
from typing import Any

import pytest
from commands import QUICK, Call, Scored, csv_rows, strict_json, too_wide
from pages import section, text_of

from attune_bench import Scores
from attune_metrics.signature import Signature

METRIC = ("--metric", "avg_draft_judge_score")


@pytest.fixture
def drawn(call: Call, conversations: Scored, tmp_path: Path) -> Path:
    path = tmp_path / "sheet.csv"
    status, out, err = call(
        "labels", "draw", "--scores", conversations.scores, *METRIC, "--n", 30, "--seed", 1, "-o", path
    )
    assert (status, err) == (0, "")
    assert out == f"{path}: 30 conversations, 60 rows to rate; fill in the column rating\n"
    return path


@pytest.fixture
def filled(conversations: Scored, drawn: Path) -> Path:
    """Return the sheet with ratings of people who are stricter than the judge."""
    values = Scores.read(conversations.scores).values
    judged = dict(zip(zip(values["model"], values["unit"], strict=True), values[METRIC[1]], strict=True))
    random = Random(1)
    with drawn.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["rating"] = f"{judged[row['model'], row['unit']] - 0.09 + random.gauss(0, 0.03):.3f}"
    path = drawn.with_name("labels.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_sheet_is_drawn_once(call: Call, conversations: Scored, drawn: Path) -> None:
    before = drawn.read_bytes()
    rows = csv_rows(before.decode())
    assert list(rows[0]) == ["model", "condition", "unit", "rating"]
    assert {row["rating"] for row in rows} == {""}
    again = ("labels", "draw", "--scores", conversations.scores, *METRIC, "--n", "30", "--seed", "1", "-o")
    status, _, err = call(*again, drawn)
    assert (status, drawn.read_bytes()) == (2, before)
    assert err == f"attune-bench: {drawn} exists, and may have ratings; choose another --output\n"
    assert call(*again, drawn.with_name("other.csv"))[0] == 0
    assert drawn.with_name("other.csv").read_bytes() == before
    assert [path.name for path in drawn.parent.glob(".*")] == []


@pytest.mark.slow
def test_json(call: Call, conversations: Scored, filled: Path) -> None:
    arguments = ("debias", "--scores", conversations.scores, "--labels", filled, *METRIC, *QUICK)
    status, out, err = call(*arguments, "--format", "json")
    assert (status, err) == (0, "")
    content: Any = strict_json(out)
    assert list(content) == ["metadata", "models", "differences"]
    assert [row["model"] for row in content["models"]] == ["synthetic/attentive", "synthetic/hasty"]
    for row in content["models"]:
        assert row["mode"] == "default"
        assert row["low"] < row["corrected"] < row["high"] < row["judge"]
        assert (row["labels"], row["n"], row["reason"]) == (30, 40, None)
    [pair] = content["differences"]
    assert (pair["model_a"], pair["labels"]) == ("synthetic/attentive", 30)
    assert pair["p_min"] <= pair["p"] == pair["p_holm"] < 0.05
    assert pair["significant"] is True
    signature = Signature.parse(content["metadata"]["signature"])
    assert (signature.metric, signature.boot) == (METRIC[1], 200)
    assert signature.labels is not None
    assert len(signature.labels) == 32
    # Also under the earlier name of the command.
    assert call("signature", *arguments)[1].splitlines()[1] == content["metadata"]["signature"]


@pytest.mark.slow
def test_table_and_csv(call: Call, conversations: Scored, filled: Path) -> None:
    arguments = ("debias", "--scores", conversations.scores, "--labels", filled, *METRIC, *QUICK)
    status, out, err = call(*arguments)
    assert (status, err, too_wide(out)) == (0, "", [])
    assert "Draft judge score, mode default\n" in out
    assert "Draft judge score, A minus B, mode default" in out
    assert out.count(" corrected  ") == 3
    title = "A minus B corrected, mode default: 1 of 1 pairs differ (Holm p < 0.05, family of 1), 1 by the uncorrected"
    assert title in " ".join(out.split())
    short, whole = call("signature", "judge", "correct", *arguments[1:])[1].splitlines()
    assert out.splitlines()[-1].startswith(f"{short} ")
    assert "|labels:" in whole
    status, out, _ = call(*arguments, "--format", "csv")
    assert [row["model"] for row in csv_rows(out)] == ["synthetic/attentive", "synthetic/hasty"]
    assert call(*arguments, "--format", "markdown")[0] == 0


@pytest.mark.slow
def test_warnings_are_printed(call: Call, conversations: Scored, filled: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("\n".join(filled.read_text(encoding="utf-8").splitlines()[:25]) + "\n", encoding="utf-8")
    status, out, err = call("debias", "--scores", conversations.scores, "--labels", few, *METRIC, *QUICK)
    assert (status, err) == (0, "")
    assert "Warning: synthetic/hasty: 12 ratings, fewer than 30" in " ".join(out.split())
    # Two models rated on one unit have no test, and nothing explains one.
    few.write_text("\n".join(filled.read_text(encoding="utf-8").splitlines()[:3]) + "\n", encoding="utf-8")
    status, out, err = call("debias", "--scores", conversations.scores, "--labels", few, *METRIC, *QUICK)
    assert (status, err, "Holm p" in out, "A minus B" in out) == (0, "", False, True)


def test_of_many_warnings_of_rows_the_first_are_printed(call: Call, tmp_path: Path) -> None:
    random, path = Random(3), tmp_path / "ratings.csv"
    rated = [
        (f"i{item}", f"m{model}", rater, "warmth", random.randint(1, 5))
        for model in range(5)
        for item in range(40)
        for rater in ("gpt", "human")
        if rater == "gpt" or item < 20
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("item", "responder", "rater", "dimension", "rating"), *rated])
    command = ("judge", "correct", path, "--people", "human", *QUICK)
    status, out, _ = call(*command)
    assert status == 0
    found = strict_json(call(*command, "--format", "json")[1])
    notes = [row["note"] for kind in ("models", "differences") for row in found[kind] if row["note"]]
    assert len(notes) == 15  # of each model and each pair: 20 ratings are few
    assert out.count("Warning: ") == 8 + 1
    assert "7 more warnings: under note in --format json." in " ".join(out.split())


def test_a_mistake_in_the_labels_is_one_line(call: Call, conversations: Scored, filled: Path) -> None:
    text = filled.read_text(encoding="utf-8").splitlines()
    filled.write_text("\n".join([*text[:2], text[2].rpartition(",")[0] + ",6", ""]), encoding="utf-8")
    status, out, err = call("debias", "--scores", conversations.scores, "--labels", filled, *METRIC)
    assert (status, out) == (2, "")
    said = "rating 6 is outside 0 to 1, the range of avg_draft_judge_score; is it on another scale?"
    assert err == f"attune-bench: {filled}, row 3: {said}\n"


@pytest.mark.slow
def test_a_page_has_the_ratings(call: Call, conversations: Scored, filled: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    of_page = ("report", "--scores", conversations.scores, "--html", page, *QUICK)
    status, out, err = call(*of_page, "--labels", filled, "--label-metric", METRIC[1])
    assert (status, err) == (0, "")
    assert out.startswith(f"{page}: ")
    found = section(page.read_text(encoding="utf-8"), "Judge and people")
    shown = Scores.read(conversations.scores).debias(filled, metric=METRIC[1], resamples=200)
    for value in shown["corrected"]:
        assert f" {value:.3f} [" in text_of(found)
    assert call(*of_page)[0] == 0
    assert "Judge and people" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--html", "page.html", "--label-metric", "m"),
            "--label-metric says what --labels rates; give --labels FILE too",
        ),
        (("--labels", "labels.csv"), "--margin, --labels and --label-metric are for the page; give --html FILE too"),
        (("--label-metric", "m"), "--margin, --labels and --label-metric are for the page; give --html FILE too"),
        (("--html", "labels.html", "--labels", "labels.html"), "labels.html is an input; choose another --html"),
        (("--html", "page.html", "--labels", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_wrong_ratings_for_a_page(call: Call, conversations: Scored, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = call("report", "--scores", conversations.scores, *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_plan_from_a_pilot(call: Call, conversations: Scored, filled: Path) -> None:
    arguments = ("labels", "plan", "--scores", conversations.scores, "--labels", filled, *METRIC, "--width")
    status, out, err = call(*arguments, "0.1", "--format", "json")
    assert (status, err) == (0, "")
    plan = strict_json(out)["plan"]
    assert [(row["pilot"], row["n"], row["reason"]) for row in plan] == [(30, 40, None)] * 2
    status, out, err = call(*arguments, "0.01")
    assert (status, err, too_wide(out)) == (0, "", [])
    assert "width 0.01 cannot be reached" in out


def test_plan_from_stated_numbers(call: Call) -> None:
    stated = ("--sd", "0.2", "--correlation", "0.6", "--scored", "200")
    status, out, err = call("labels", "plan", "--width", "0.1", *stated)
    assert (status, err, too_wide(out)) == (0, "", [])
    assert "0.100  0.200  0.60           1.00      -     200              47" in out
    assert (
        strict_json(call("labels", "plan", "--width", "0.1", *stated, "--format", "json")[1])["plan"][0]["labels"] == 47
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", "--width", "0.1"), "how many? Name a pilot"),
        (("plan", "--width", "0.1", "--scores", "SCORES"), "a pilot is SCORES and --labels"),
        (("plan", "--width", "0.1", "--scores", "SCORES", "--labels", "x.csv", "--sd", "1"), "leave out --sd"),
        (("plan", "--width", "0", "--sd", "1", "--correlation", "0", "--scored", "9"), "width is 0"),
        (("plan", "--width", "0.1", "--sd", "1", "--correlation", "2", "--scored", "9"), "correlation 2.0 is outside"),
        (("plan", "--width", "0.1", "--sd", "1", "--correlation", "0", "--scored", "9"), "cannot be reached"),
        (("draw", "--scores", "SCORES", "--n", "41", "-o", "new.csv"), "n is 41, and 40 conversations have a value"),
        (("draw", "--scores", "SCORES", "--n", "4", "-o", "new.txt"), "does not end in .csv"),
        (("draw", "--scores", "SCORES", "--n", "4", "-o", "no/new.csv"), "cannot be written"),
        (("draw", "--scores", "SCORES", "--n", "4", "-o", "new.csv", "--by", "x"), "unknown unit 'x'"),
    ],
)
def test_mistakes(
    call: Call, conversations: Scored, arguments: tuple[str, ...], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    status, out, err = call("labels", *(str(conversations.scores) if one == "SCORES" else one for one in arguments))
    assert (status, out) == (2, "")
    assert err.startswith("attune-bench: ")
    assert message in err
    assert err.count("\n") == 1
    assert not Path("new.csv").exists()
