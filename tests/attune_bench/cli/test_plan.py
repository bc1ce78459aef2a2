"""The command `plan`, from a pilot and from assumptions."""

from pathlib import Path

import pytest
from commands import Call, Scored, csv_rows, strict_json, too_wide

from attune_bench import Scores

STATED = ("--sd", "20", "--correlation", "0.5", "--icc", "0.3", "--units-per-participant", "4")


@pytest.mark.slow
def test_from_a_pilot(call: Call, conversations: Scored) -> None:
    arguments = ("plan", "--scores", conversations.scores, "--metric", "avg_emotion_f1", "--difference", "0.05")
    status, out, err = call(*arguments, "--format", "json")
    assert (status, err) == (0, "")
    content = strict_json(out)
    [row] = content["plan"]
    [own] = Scores.read(conversations.scores).compare_all(metrics=["avg_emotion_f1"]).to_dicts()
    assert [row[key] for key in ("mode", "n", "clusters", "mde")] == ["default", 40, 24, own["mde"]]
    assumed = {key: content["metadata"][key] for key in ("power", "alpha", "sided", "looks")}
    assert assumed == {"power": 0.8, "alpha": 0.05, "sided": 2, "looks": 1}
    assert "A pilot says this only roughly" in content["metadata"]["notes"][1]
    for form in ("table", "markdown"):
        status, out, err = call(*arguments, "--format", form)
        assert (status, err) == (0, "")
        assert f"{row['participants']}" in out
        assert "Power 80%" in out
    status, out, _ = call(*arguments, "--format", "csv")
    assert csv_rows(out)[0]["participants"] == str(row["participants"])


@pytest.mark.slow
def test_both_directions_agree(call: Call, conversations: Scored) -> None:
    arguments = ("plan", "--scores", conversations.scores, "--format", "json")
    [shown] = strict_json(call(*arguments, "--participants", "50")[1])["plan"]
    [needed] = strict_json(call(*arguments, "--difference", repr(shown["difference"]))[1])["plan"]
    assert needed["participants"] == 50


@pytest.mark.slow
def test_two_models_and_every_two(call: Call, demo_scores: Path) -> None:
    arguments = ("plan", "--scores", demo_scores, "--difference", "2")
    status, out, err = call(*arguments)
    assert (status, err, too_wide(out)) == (0, "", [])
    every = strict_json(call(*arguments, "--format", "json")[1])["plan"]
    assert len(every) == 3
    model = (every[1]["model_a"], every[1]["model_b"])
    assert strict_json(call(*arguments, "--model", *model, "--format", "json")[1])["plan"] == every[1:2]


def test_few_are_marked_and_what_compare_warns_of_is_printed(call: Call, tmp_path: Path) -> None:
    pilot = tmp_path / "pilot.csv"

    def planned(models: int, units: int) -> str:
        rows = [f"m{model},q{unit},hit,{(model + 2) * unit % 7}" for model in range(models) for unit in range(units)]
        pilot.write_text("\n".join(["model,unit,metric,value", *rows, ""]), encoding="utf-8")
        status, out, err = call("plan", "--scores", pilot, "--difference", "1")
        assert (status, err) == (0, "")
        return " ".join(out.split())

    found = planned(models=4, units=8)
    assert " 8 few " in found
    # Of 8 units 6 differ (7 is 0 modulo 7): the smallest p-value, 2 / 2^6, times the 6 pairs is 0.1875.
    assert "Warning: 6 units with a difference are too few for 6 tests" in found
    assert "[1] no minimum detectable effect with fewer than 7 units." in planned(models=2, units=6)
    assert "Nothing to compare: 1 model scored; attune-bench report shows the values." in planned(models=1, units=9)


def test_from_assumptions(call: Call) -> None:
    status, out, err = call("plan", "--difference", "5", *STATED)
    assert (status, err, too_wide(out)) == (0, "", [])
    assert "20  0.5  0.3              4   0           5            62    248" in out
    [row] = strict_json(call("plan", "--participants", "62", *STATED, "--format", "json")[1])["plan"]
    assert (row["participants"], row["units"], row["n"]) == (62, 248, None)
    assert 4.9 < row["difference"] <= 5
    out = call("plan", "--participants", "6", *STATED)[1]
    assert "[1] no difference is detectable with fewer than 7 participants." in out


def test_looks_are_planned(call: Call) -> None:
    status, out, err = call("plan", "--difference", "5", *STATED, "--looks", "5")
    assert (status, err, too_wide(out)) == (0, "", [])
    said = " ".join(out.split())
    assert "units expected" in said
    assert "5 64 256 51" in said
    assert "four of five such studies find it at one of 5 looks, by compare --looks 5 at 0.05 over all looks." in said
    last = "and stop where the models differ; a look at fewer than 12 decides nothing."
    assert f"Look 5 times, each after an equal part of the participants, {last}" in said
    assert "expected: how many participants that takes on average, if the true difference is this large." in said
    assert "Test once" not in said
    content = strict_json(call("plan", "--difference", "5", *STATED, "--looks", "5", "--format", "json")[1])
    assert content["metadata"]["looks"] == 5
    assert content["plan"][0]["participants_expected"] == pytest.approx(50.9, abs=0.1)
    once = " ".join(call("plan", "--difference", "5", *STATED)[1].split())
    assert "by the two-sided permutation test of compare at 0.05." in once
    assert "Test once, when all participants are there." in once
    assert "expected" not in once


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            STATED,
            "give one of --difference, to learn how many participants it needs, and --participants, to learn how small",
        ),
        (("--difference", "1", "--participants", "9", *STATED), "give one of --difference"),
        (("--difference", "1", "--sd", "1"), "Name the scores of a pilot, or state --sd, --correlation and --icc"),
        (("--difference", "1", "--scores", "SCORES", "--icc", "1"), "leave out --icc, or "),
        (("--difference", "1", "--scores", "SCORES", "--model", "a"), "--model names a; name two models"),
        (("--difference", "200", "--scores", "SCORES"), "is as large as its range, 0 to 100"),
        (("--difference", "1", "--scores", "SCORES", "--looks", "0"), "looks 0 is not a whole number from 1 to 20"),
        (("--difference", "1", *STATED, "--looks", "21"), "looks 21 is not a whole number from 1 to 20"),
        (("--difference", "1", *STATED, "--metric", "x"), "--metric is of a pilot; name its SCORES"),
        (("--difference", "1", *STATED, "--allow-mixed"), "--allow-mixed is of a pilot; name its SCORES"),
        (("--difference", "-1", *STATED), "difference -1.0 is not above 0"),
    ],
)
def test_mistakes(call: Call, conversations: Scored, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = call("plan", *(str(conversations.scores) if one == "SCORES" else one for one in arguments))
    assert (status, out) == (2, "")
    assert err.startswith("attune-bench: ")
    assert message in err
    assert err.count("\n") == 1
