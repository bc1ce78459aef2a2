"""Scores as the published evaluation gives them: rule, treatment of failures, defaults of missing anchors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from anchored import DATA, EPISODES, FAILED, FIVE, S1, ended, scenario

from attune_bench import Scores, score
from attune_data import Scenario


@pytest.mark.parametrize("rule", ["evaluation", "directed"])
def test_published_chooses_the_published_rule_and_treatment(rule: str) -> None:
    scores, published = score(FIVE, FAILED), score(FIVE, FAILED, published=True)
    assert published.provenance.variant == {"rule": "evaluation", "failed": "start"}
    assert published.choices == scores.choices
    assert published.sign() == scores.variant(failed="start").sign()
    assert published.provenance.notes == scores.provenance.notes
    for failed in scores.choices["failed"]:
        chosen = {"rule": rule, "failed": failed}
        assert published.variant(**chosen).values.equals(scores.variant(**chosen).values)


# The parts of a record that are given; start, target and worst case that it is scored by, as (anger, trust).
START, GOALS = {"initial_anger": 70, "initial_trust": 15}, {"target_anger": 25, "target_trust": 50}
WORST = {"worst_anger_min": 90, "worst_trust_min": 0}
DEFAULTS: dict[str, tuple[dict[str, Any], tuple[int | None, int | None], tuple[float, float], str]] = {
    # 4a of the specification. Start 50, so target 50, tied: 1 from 50 upwards, below it (x - 50) / (50 - worst) where
    # the worst case is below: of trust, 30; the worst anger, 75, is not.
    "nothing-above": ({}, (60, 60), (1, 1), "all six"),
    "nothing-at": ({}, (50, 50), (1, 1), "all six"),
    "nothing-below": ({}, (40, 40), (-1, -1 / 2), "all six"),
    "nothing-lost": ({}, (49, 29), (-1, -1), "all six"),
    "nothing-played": ({}, (None, None), (1, 1), "all six"),  # The state at the start, 50.
    # Worst anger 95, worst trust max(0, 15 - 20) = 0: (70 - 80) / 25 and (10 - 15) / 15.
    "worst": ({"initial_calibration": START, "rub_goals": GOALS}, (80, 10), (-2 / 5, -1 / 3), "worst_case"),
    "worst-beyond": ({"initial_calibration": START, "rub_goals": GOALS}, (95, 0), (-1, -1), "worst_case"),
    "worst-null": ({"initial_calibration": START, "rub_goals": GOALS, "worst_case": None}, (80, 10), (-2 / 5, -1 / 3),
                   "worst_case"),
    # Start 90: worst anger 115, to which 100 is 10 of 25.
    "worst-above-100": ({"initial_calibration": {**START, "initial_anger": 90}, "rub_goals": GOALS}, (100, 15),
                        (-2 / 5, 0), "worst_case"),
    # Targets 70 and 15, tied.
    "target": ({"initial_calibration": START, "worst_case": WORST}, (60, 10), (-1, -1 / 3), "rub_goals"),
    "target-at": ({"initial_calibration": START, "worst_case": WORST}, (70, 15), (1, 1), "rub_goals"),
    # Start 50, target 25, worst 90; start 50, target 50, tied, worst 0.
    "start": ({"rub_goals": GOALS, "worst_case": WORST}, (40, 25), (10 / 25, -1 / 2), "initial_calibration"),
    "start-worse": ({"rub_goals": GOALS, "worst_case": WORST}, (60, 50), (-10 / 40, 1), "initial_calibration"),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "state", "expected", "missing"), DEFAULTS.values(), ids=DEFAULTS)
def test_missing_anchors_count_as_published(
    parts: dict[str, Any], state: tuple[int | None, int | None], expected: tuple[float, float], missing: str
) -> None:
    lacking = Scenario.model_validate({"id": "s1", "scene_tag": "support", **parts})
    scores = score([lacking, scenario("s2")], [ended("s1", state), ended("s2", (50, 30))], published=True)
    first, second = scores.values.select("anger_score", "trust_score", "reward").rows()
    assert first == pytest.approx((*expected, sum(expected) / 2), abs=1e-12)
    assert second[2] == pytest.approx(S1, abs=1e-12)
    (said,) = [note for note in scores.provenance.notes if "anchors" in note]
    assert said.startswith("Missing anchors of 1 scenario count as published, by default: ")
    assert said.count("(1)") == (6 if missing == "all six" else 2)
    assert missing == "all six" or said.count(f"{missing}.") == 2


def test_the_worst_state_is_at_most_100() -> None:
    parts = {"initial_calibration": {**START, "initial_anger": 90}, "rub_goals": GOALS}
    lacking = Scenario.model_validate({"id": "s1", "scene_tag": "support", **parts})
    scores = score([lacking], [ended("s1", (None, None))], published=True).variant(failed="worst")
    assert scores.values.select("reward", "final_anger", "final_trust").rows() == [(-1, 100, 0)]


def test_a_scenario_without_an_anchor_is_left_out_and_told() -> None:
    lacking = Scenario.model_validate({"id": "s1", "scene_tag": "support", "rub_goals": GOALS, "worst_case": WORST})
    scores = score([lacking, *DATA[1:]], EPISODES)
    assert scores.values["unit"].to_list() == ["r1", "r2"]
    assert scores.provenance.expected == 3
    assert scores.provenance.notes[-1] == (
        "Left out: 1 episode of 1 scenario without an anchor: initial_calibration.initial_anger (1), "
        "initial_calibration.initial_trust (1); the option published scores them by default anchors."
    )
    assert "default anchors" in " ".join(scores.report(resamples=50).split())
    with pytest.raises(ValueError, match="1 more lack an anchor, which the option published fills in"):
        score([lacking, scenario("s2")], EPISODES[:1])


def test_the_command(call: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    records = [json.loads(one.to_json()) for one in (scenario("s1"), scenario("r1"))]
    del records[1]["worst_case"]
    data, results = tmp_path / "support_final.jsonl", tmp_path / "results.jsonl"
    data.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    episodes = [ended("s1", (80, 15), ended_by="parse_failed"), ended("r1", (80, 10))]
    results.write_bytes(b"".join(episode.to_line() + b"\n" for episode in episodes))
    # An anger of 80 is half of the way from 70 to 90: -1/2 and 0; the default of the worst anger is 95: -2/5 and -1/3.
    expected = {"s1": -1 / 4, "r1": -11 / 30}
    for options, counted in (([], {}), (["--published"], expected)):
        output = tmp_path / f"scores{len(options)}.parquet"
        status, out, _ = call("score", "--results", results, "--data", data, "-o", output, *options)
        assert status == 0
        assert "0 errors and" in out
        scores = Scores.read(output)
        found = {unit: reward for unit, reward in scores.values.select("unit", "reward").rows() if reward is not None}
        assert found == pytest.approx(counted, abs=1e-12)
    status, out, _ = call("report", "--scores", tmp_path / "scores1.parquet", "--resamples", 50)
    assert status == 0
    assert "failed start" in out
    assert "Missing anchors of 1 scenario count as published" in " ".join(out.split())
