"""Episodes scored anew: rewards, failed episodes under each treatment, means, intervals, the command.

The anchors of every scenario here, where nothing else is said: anger 70, target 25, worst 90; trust 15, 50, 0.
"""

import csv
import json
import re
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from attune_bench.benchmarks.eibench.scoring import episode_summary, score_episodes
from attune_bench.stats.signing import fingerprint
from attune_data import Episode, Scenario
from attune_metrics.signature import Signature

Call = Callable[..., tuple[int, str, str]]
Json = dict[str, Any]

BLOCK = "n failed reward low high anger_score trust_score final_anger final_trust reason".split()
TOP = "model n overall by_scene failed reward_if_failed scenarios coverage without_scenario other_text".split()
QUICK = ("--resamples", "200")


def scenario(name: str, scene: str = "support", anger: Sequence[int] = (70, 25, 90), trust: Any = (15, 50, 0)) -> Json:
    """Return a scenario with these anchors: initial, target, worst."""
    return {
        "id": name,
        "scene_tag": scene,
        "aggressor_profile": {"system_prompt": "Ada.", "opening_line": "Oh."},
        "defender_profile": {"system_prompt": "A friend."},
        "initial_calibration": {"initial_anger": anger[0], "initial_trust": trust[0]},
        "rub_goals": {"target_anger": anger[1], "target_trust": trust[1]},
        "worst_case": {"worst_anger_min": anger[2], "worst_trust_min": trust[2]},
    }


def episode(name: str, state: tuple[int | None, int | None], **changes: Any) -> Json:
    """Return a line of official results that says nothing right of its scores."""
    line = {"model": "lab/m", "profile_id": name, "scene_tag": "support", "ended_by": "max_rounds", "n_rounds": 8}
    return {**line, "final_anger": state[0], "final_trust": state[1], "reward": 0.77, "history": [], **changes}


def failure(name: str) -> Json:
    """Return a line of official results that says why there is no result."""
    return {"model": "lab/m", "profile_id": name, "scene_tag": "support", "error": "refused"}


def records(scenarios: Sequence[Json], episodes: Sequence[Json]) -> tuple[list[Episode], list[Scenario]]:
    """Return both as records."""
    return [Episode(**one) for one in episodes], [Scenario(**one) for one in scenarios]


# Three of four scenes; the rewards are those of the specification's vectors.
SCENARIOS = [scenario("s1"), scenario("r1", "repair"), scenario("r2", "repair"), scenario("c1", "charm")]
EPISODES = [episode("s1", (50, 30)), episode("r1", (80, 10)), episode("r2", (20, 60))]
# (70 - 50) / (70 - 25) and (30 - 15) / (50 - 15); (70 - 80) / (90 - 70) and (10 - 15) / 15; both targets reached.
S1, R1, R2 = (4 / 9 + 3 / 7) / 2, (-1 / 2 - 1 / 3) / 2, 1.0

# One good episode, at +1, and every kind of failure; what the last state would score stands beside it.
FAILED = [
    episode("a", (20, 60)),
    episode("b", (70, 14), ended_by="parse_failed"),  # 0 and -1/15
    episode("c", (80, 15), ended_by="simulator_stop"),  # an empty history: no reply of the model; -1/2 and 0
    episode("d", (None, None)),
    failure("e"),
]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Return the function that writes results as the official runner does, and scenarios: folder, file."""

    def write(episodes: Sequence[Json] = EPISODES, scenarios: Sequence[Json] = SCENARIOS) -> tuple[Path, Path]:
        folder, data = tmp_path / "lab_m", tmp_path / "data.jsonl"
        folder.mkdir()
        (folder / "summary.json").write_text('{"goal_score": NaN}')
        for path, lines in ((folder / "results.jsonl", episodes), (data, scenarios)):
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return folder, data

    return write


def strict(text: str) -> Any:
    """Read JSON that has no NaN."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def test_rewards_are_computed_from_states_and_anchors_not_from_what_was_recorded() -> None:
    frame = score_episodes(*records(SCENARIOS, EPISODES))
    assert frame["scenario_id"].to_list() == ["r1", "r2", "s1"]
    assert frame["scene"].to_list() == ["repair", "repair", "support"]  # the scenario's, not the episode's
    assert frame["reward"].to_list() == pytest.approx([R1, R2, S1], abs=1e-12)


@pytest.mark.parametrize(("rule", "scores"), [("evaluation", (-1, 1)), ("directed", (1, -2 / 3))])
def test_rules_differ_where_anchors_are_out_of_order(rule: Any, scores: tuple[float, float]) -> None:
    odd = scenario("s1", anger=(20, 40, 60), trust=(60, 40, 0))
    frame = score_episodes(*records([odd], [episode("s1", (10, 20))]), rule=rule)
    assert frame.select("anger_score", "trust_score").row(0) == pytest.approx(scores, abs=1e-12)


@pytest.mark.parametrize(
    ("treatment", "rewards", "anger"),
    [
        ("exclude", [1, None, None, None, None], [20, None, None, None, None]),
        # No state recorded: that of the start. A record of an error is left out, as in the published numbers.
        ("start", [1, -1 / 30, -1 / 4, 0, None], [20, 70, 80, 70, None]),
        ("worst", [1, -1, -1, -1, -1], [20, 90, 90, 90, 90]),
    ],
)
def test_failed_episodes_count_as_asked(treatment: Any, rewards: list[float | None], anger: list[float | None]) -> None:
    frame = score_episodes(*records([scenario(name) for name in "abcde"], FAILED), failed=treatment)
    assert frame["failure"].to_list() == [None, "parse_failed", "empty_reply", "no_final_state", "error"]
    assert frame["reward"].to_list() == [None if one is None else pytest.approx(one, abs=1e-12) for one in rewards]
    assert frame["final_anger"].to_list() == anger


@pytest.mark.parametrize("state", [(None, 15), (70, None)])
def test_half_a_final_state_is_none(state: tuple[int | None, int | None]) -> None:
    frame = score_episodes(*records([scenario("a")], [episode("a", state)]))
    assert frame.select("failure", "reward", "anger_score", "trust_score").row(0) == ("no_final_state", *[None] * 3)


def test_the_worst_case_scores_minus_1_and_the_start_what_it_scores_where_anchors_are_tied() -> None:
    # Initial 20 is the target: the published rule gives 1 from 20 upwards, so to the worst state, 60, too.
    tied = scenario("s1", anger=(20, 20, 60), trust=(50, 50, 0))
    given = records([tied], [episode("s1", (None, None))])
    assert score_episodes(*given, failed="worst").select("reward", "final_anger").row(0) == (-1, 60)
    assert score_episodes(*given, failed="start").select("reward", "final_anger").row(0) == (1, 20)


def test_summary_has_micro_and_macro_means_and_counts() -> None:
    found = episode_summary(*records(SCENARIOS, [*EPISODES, episode("elsewhere", (1, 1))]))
    assert list(found) == TOP
    assert list(found["overall"]) == [*BLOCK, "macro"]
    assert {scene: list(block) for scene, block in found["by_scene"].items()} == {"support": BLOCK, "repair": BLOCK}
    assert found["overall"]["reward"] == pytest.approx((S1 + R1 + R2) / 3, abs=1e-12)
    assert found["overall"]["macro"] == pytest.approx((S1 + (R1 + R2) / 2) / 2, abs=1e-12)
    assert found["by_scene"]["repair"]["final_anger"] == 50
    assert [found[name] for name in ("n", "scenarios", "coverage", "without_scenario")] == [3, 4, 0.75, 1]


def test_episodes_of_scenarios_that_are_not_there_are_told(
    written: Callable[..., tuple[Path, Path]], call: Call
) -> None:
    folder, data = written([*EPISODES, episode("elsewhere", (1, 1))])
    out = call("eibench", "score", folder, "--data", data, *QUICK)[1]
    assert "Left out: 1 episode of scenarios that are not in the data." in " ".join(out.split())


def test_episodes_of_another_text_are_counted_and_told(written: Callable[..., tuple[Path, Path]], call: Call) -> None:
    _, scenarios = records(SCENARIOS, EPISODES)
    played = {one.id: fingerprint([one]) for one in scenarios}
    lines = [{**one, "scenario_hash": played[one["profile_id"]]} for one in EPISODES]
    episodes, _ = records(SCENARIOS, lines)
    renamed = [one.model_copy(update={"title": "Another"}) if one.id == "s1" else one for one in scenarios]
    assert episode_summary(episodes, scenarios)["other_text"] == 0
    assert episode_summary(*records(SCENARIOS, EPISODES))["other_text"] == 0  # they do not say
    assert episode_summary(episodes, renamed)["other_text"] == 1
    folder, data = written(lines, [{**one, "title": "Another"} for one in SCENARIOS])
    out = call("eibench", "score", folder, "--data", data, *QUICK)[1]
    assert "Caution: 3 episodes played on another text of the scenario" in " ".join(out.split())


def test_summary_shows_every_treatment_and_no_number_where_none_is() -> None:
    scenarios = [scenario("a"), *(scenario(name, "repair") for name in "bcde")]
    found = episode_summary(*records(scenarios, FAILED))
    assert found["failed"] == {
        "error": 1, "parse_failed": 1, "empty_reply": 1, "empty_simulator_reply": 0, "no_final_state": 1
    }  # fmt: skip
    assert found["by_scene"]["repair"]["failed"] == 4
    assert found["by_scene"]["repair"]["reward"] is None
    assert found["by_scene"]["repair"]["reason"] == "no unit has a value"
    assert found["overall"]["macro"] is None
    # (1 - 1/30 - 1/4 + 0) / 4 and (1 - 4) / 5
    assert found["reward_if_failed"] == pytest.approx({"exclude": 1, "start": 43 / 240, "worst": -0.6}, abs=1e-12)


def test_the_interval_is_that_of_resampled_scenarios() -> None:
    # 16 rewards, half of them +1 and half -1: the mean of a resample is 2 B / 16 - 1 with B binomial (16, 1/2).
    # Expanded level for 16 scenarios: Phi(sqrt(16/15) * -2.1314) = 0.0139, between P(B <= 3) = 0.0106 and
    # P(B <= 4) = 0.0384, so the quantile is B = 4, a mean of -0.5; the other end by symmetry.
    names = [f"s{place}" for place in range(16)]
    episodes = [episode(name, (20, 60) if place % 2 else (90, 0)) for place, name in enumerate(names)]
    overall = episode_summary(*records([scenario(name) for name in names], episodes))["overall"]
    assert [overall[name] for name in ("reward", "low", "high", "reason")] == [0, -0.5, 0.5, None]


@pytest.mark.parametrize(
    ("episodes", "said"),
    [
        ([episode("s1", (1, 1)), episode("r1", (1, 1), model="other")], r"episodes of 2 models \(lab/m, other\)"),
        ([episode("s1", (1, 1), simulator="x"), episode("r1", (1, 1))], r"of 2 simulators \(none named, x\)"),
        ([episode("elsewhere", (1, 1))], "none of the 1 episode is of one of the 4 scenarios"),
        ([], "there are no episodes"),
    ],
)
def test_what_cannot_be_averaged_is_refused(episodes: list[Json], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        episode_summary(*records(SCENARIOS, episodes))


# The command.


def test_json_has_the_shape_of_the_official_summary(call: Call, written: Callable[..., tuple[Path, Path]]) -> None:
    folder, data = written()
    status, out, err = call("eibench", "score", folder, "--data", data, "--format", "json", "--seed", 3, *QUICK)
    assert (status, err) == (0, "")
    content = strict(out)
    metadata = content.pop("metadata")
    assert list(content) == TOP
    assert (content["model"], content["n"]) == ("lab/m", 3)
    assert content["by_scene"]["support"]["reward"] == pytest.approx(S1, abs=1e-12)
    assert content["overall"]["low"] is None
    assert content["overall"]["reason"] == "fewer than 5 scenarios"
    assert [metadata[name] for name in ("rule", "treatment", "simulator")] == ["evaluation", "exclude", None]
    signature = Signature.parse(metadata["signature"])
    assert (signature.metric, signature.protocol, signature.n, signature.seed) == ("reward", "evaluation", 3, 3)
    assert call("eibench", "score", folder, "--data", data, "--format", "json", "--seed", 3, *QUICK)[1] == out


def test_published_is_the_official_rule_and_treatment(call: Call, written: Callable[..., tuple[Path, Path]]) -> None:
    folder, data = written(FAILED, [scenario(name) for name in "abcde"])
    command = ("eibench", "score", folder, "--data", data, "--format", "json", *QUICK)
    published = strict(call(*command, "--published")[1])
    assert published == strict(call(*command, "--rule", "evaluation", "--failed", "start")[1])
    # The official summary counts all but errors.
    assert (published["n"], published["overall"]["reward"]) == (4, pytest.approx(43 / 240, abs=1e-12))
    for contrary in (("--rule", "directed"), ("--failed", "exclude"), ("--failed", "worst")):
        status, _, err = call(*command, "--published", *contrary)
        assert (status, err.count("\n")) == (2, 1)
        assert "--published is --rule evaluation --failed start" in err


def test_table_names_failures_treatments_and_coverage(call: Call, written: Callable[..., tuple[Path, Path]]) -> None:
    folder, data = written(
        [{**line, "model": "\x1b[31m|red"} for line in FAILED], [scenario(name) for name in "abcdef"]
    )
    status, out, _ = call("eibench", "score", folder, "--data", data, "--failed", "worst", *QUICK)
    assert status == 0
    assert "\x1b" not in out
    assert max(map(len, out.splitlines()[:-1])) <= 100
    # 100 * (1 - 4) / 5; 70 / 5 + 20 / 5 would be a mean of other states: (20 + 4 * 90) / 5 = 76.
    [overall] = [line.split() for line in out.splitlines() if line.startswith("overall")]
    assert overall[:4] == ["overall", "5", "4", "-60.0"]
    assert overall[-2:] == ["76.0", "12.0"]
    text = " ".join(out.split())
    assert "4 failed episodes (1 ended with an error, 1 simulator not readable, 1 no reply of the model, 1 no " in text
    assert "failed episodes left out: 100.0; failed episodes at the state they broke off in: 17.9;" in text
    assert "Coverage: 5 of 6 scenarios." in text
    # Failed episodes are counted above; beside them are told the two axes of the missing state only.
    assert "2 warnings in the files; the first: " in text
    markdown = call("eibench", "score", folder, "--data", data, "--format", "markdown", *QUICK)[1]
    assert "\x1b" not in markdown
    assert "| overall | 1 | 4 | 100.0 |" in markdown


def test_csv_has_every_scene_and_the_signature(call: Call, written: Callable[..., tuple[Path, Path]]) -> None:
    folder, data = written()
    rows = list(
        csv.DictReader(StringIO(call("eibench", "score", folder, "--data", data, "--format", "csv", *QUICK)[1]))
    )
    assert [row["scene"] for row in rows] == ["overall", "macro", "support", "repair"]
    assert list(rows[0]) == ["scene", *BLOCK, "model", "signature"]
    assert float(rows[1]["reward"]) == pytest.approx((S1 + (R1 + R2) / 2) / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("key", "values", "said"),
    [
        ("simulator", ("x", "y"), "2 simulators (x, y)"),
        ("prompt_version", ("1", None), "2 prompt versions (1, none named)"),
        ("config_hash", ("a", "b"), "2 configurations (a, b)"),
        ("max_rounds", (4, 8), "2 round limits (4, 8)"),
    ],
)
def test_configurations_are_not_averaged(key: str, values: tuple[Any, Any], said: str) -> None:
    episodes = [{**one, key: value} for one, value in zip(EPISODES, values, strict=False)]
    with pytest.raises(ValueError, match=re.escape(f"these are episodes of {said}; score each apart")):
        episode_summary(*records(SCENARIOS, episodes))


def test_mistakes_are_one_line(call: Call, written: Callable[..., tuple[Path, Path]], tmp_path: Path) -> None:
    folder, data = written([*EPISODES, episode("c1", (1, 1), model="other")])
    (tmp_path / "empty.jsonl").write_text("{}\n")
    for arguments, said in (
        ((folder, "--data", data), "these are episodes of 2 models (lab/m, other); score each apart"),
        ((tmp_path / "none", "--data", data), "no such file or folder"),
        ((folder, "--data", tmp_path / "empty.jsonl"), "no usable scenario in"),
        ((folder, "--data", "demo", "--resamples", 0), "2 models"),
        ((folder, "--data", data, "--rule", "best"), "--rule"),
    ):
        status, out, err = call("eibench", "score", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert said in err
