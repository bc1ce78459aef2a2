"""What is said of EIBench's scores: coverage, other texts, failures by kind, every treatment, in every format."""

import csv
import json
from io import StringIO

import pytest
from anchored import DATA, EPISODES, FAILED, FIVE, R1, R2, S1, ended, scenario

from attune_bench import score
from attune_bench.scores.provenance import fingerprint


def test_coverage_is_of_the_scenarios_given_and_others_are_told() -> None:
    scores = score(DATA, [*EPISODES, ended("elsewhere", (1, 1))])
    [row] = scores.summary(metrics=["reward"], resamples=50).to_dicts()
    assert (row["value"], row["n"], row["coverage"]) == (pytest.approx((S1 + R1 + R2) / 3, abs=1e-12), 3, 0.75)
    note = "Left out: 1 episode of scenarios that are not in the data."
    assert note in scores.provenance.notes
    assert note in " ".join(scores.report(resamples=50).split())
    assert not any("Left out" in note for note in score(DATA, EPISODES).provenance.notes)


def test_episodes_of_another_text_are_counted_and_told() -> None:
    said = "Caution: 1 episode played on another text of the scenario than the data's."
    hashed = [
        episode.model_copy(update={"scenario_hash": fingerprint([one])})
        for episode, one in zip(EPISODES, DATA, strict=False)
    ]
    renamed = [scenario("s1", title="Another"), *DATA[1:]]
    assert said in score(renamed, hashed).provenance.notes
    assert said in " ".join(score(renamed, hashed).report(resamples=50).split())
    for data, episodes in ((DATA, hashed), (renamed, EPISODES)):  # the second do not say
        assert not any("Caution" in note for note in score(data, episodes).provenance.notes)


def test_a_report_names_failures_treatments_and_coverage() -> None:
    episodes = [one.model_copy(update={"model": "\x1b[31m|red"}) for one in FAILED]
    scores = score([*FIVE, scenario("f", "support")], episodes)
    text = scores.variant(failed="worst").report(resamples=200)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines()[:-1])) <= 100
    name = "\ufffd[31m|red"
    assert text.startswith(f"{name} has the value -60.0 [-100.0, 60.0] in Reward.\n")
    lines = [line.split() for line in text.splitlines()[1:]]
    # 100 (1 - 4) / 5; 5 of 6 scenarios; (20 + 4 * 90) / 5 and 60 / 5.
    [rewards, states] = [line for line in lines if line[:1] == [name] and "[" in "".join(line[1:])]
    assert rewards[1] == "-60.0"
    assert (states[1], states[4], states[-2:]) == ("76.0", "12.0", ["5", "83%"])
    kinds = lines[lines.index(["Failed", "scenarios,", "by", "kind"]) + 1 :]
    assert kinds[0][1:] == "error parse failed empty reply empty simulator reply no final state".split()
    assert kinds[2][1:] == ["1", "1", "1", "0", "1"]
    treatments = lines[lines.index("Reward under each choice of failed".split()) + 1 :]
    assert (treatments[0][1:], treatments[2][1:]) == (["exclude", "start", "worst"], ["100.0", "17.9", "-60.0"])
    markdown = scores.report(format="markdown", resamples=200)
    assert "\x1b" not in markdown
    assert "\\|red | 100.0 " in markdown


def test_without_a_failure_no_kinds_are_listed() -> None:
    assert "Failed scenarios" not in score(DATA, EPISODES).report(resamples=50)


def test_json_and_csv_have_counts_and_every_treatment() -> None:
    scores = score(FIVE, FAILED)
    content = json.loads(scores.report(format="json", resamples=50), parse_constant=pytest.fail)
    [model] = content["models"]
    counts = {"failed_error": 1, "failed_parse_failed": 1, "failed_empty_reply": 1, "failed_empty_simulator_reply": 0}
    assert model.items() >= {**counts, "failed_no_final_state": 1, "reward": 1.0, "reward_n": 1, "n": 5}.items()
    [treatments] = content["by_failed"]
    assert treatments == {
        "model": "lab/m", "condition": None, "exclude": 1.0, "start": pytest.approx(43 / 240), "worst": -0.6
    }  # fmt: skip
    assert content["metadata"]["variant"] == {"rule": "evaluation", "failed": "exclude"}
    rows = csv.DictReader(StringIO(scores.report(format="csv", resamples=50)))
    cells = next(row for row in rows if row["metric"] == "reward")
    assert (cells["value"], cells["n"], cells["excluded"], cells["model"]) == ("1.0", "1", "4", "lab/m")
