"""The summary of one model, in the shape of EIBench's own: means, scenes, failures, every treatment, intervals.

The anchors of every scenario: anger 70, target 25, worst 90; trust 15, 50, 0.
"""

import json

import pytest
from anchored import DATA, EPISODES, FAILED, R1, R2, S1, ended, played, scenario, scenarios

from attune_bench import score
from attune_bench.benchmarks.eibench.scoring import model_summary
from attune_data import load_scenarios

BLOCK = "n failed reward low high anger_score trust_score final_anger final_trust reason".split()
TOP = "model synthetic n overall by_scene failed reward_if_failed scenarios coverage warnings".split()
# As in `anchored`, but of two scenes.
FIVE = [scenario("a", "support"), *(scenario(name, "repair") for name in "bcde")]


def test_summary_has_micro_and_macro_means_and_counts() -> None:
    found = model_summary(score(DATA, [*EPISODES, ended("elsewhere", (1, 1))]))
    assert list(found) == TOP
    assert list(found["overall"]) == [*BLOCK, "macro"]
    assert {scene: list(block) for scene, block in found["by_scene"].items()} == {"support": BLOCK, "repair": BLOCK}
    assert found["overall"]["reward"] == pytest.approx((S1 + R1 + R2) / 3, abs=1e-12)
    assert found["overall"]["macro"] == pytest.approx((S1 + (R1 + R2) / 2) / 2, abs=1e-12)
    assert found["by_scene"]["support"]["reward"] == pytest.approx(S1, abs=1e-12)
    assert found["by_scene"]["repair"]["final_anger"] == 50
    assert (found["overall"]["low"], found["overall"]["reason"]) == (None, "fewer than 5 scenarios")
    assert [found[name] for name in ("model", "n", "scenarios", "coverage")] == ["lab/m", 3, 4, 0.75]
    assert found["synthetic"] is False
    assert model_summary(score(load_scenarios("demo"), [ended("demo_support_01", (1, 1))]))["synthetic"] is True


def test_scenes_are_in_the_order_of_the_benchmark() -> None:
    names = ["c1", "r1", "d1", "s1"]
    found = model_summary(score(scenarios(names), played({"m": [1.0] * 4}, names)))
    assert list(found["by_scene"]) == ["support", "defense", "repair", "charm"]


def test_summary_shows_every_treatment_and_no_number_where_none_is() -> None:
    found = model_summary(score(FIVE, FAILED))
    assert found["failed"] == {
        "error": 1, "parse_failed": 1, "empty_reply": 1, "empty_simulator_reply": 0, "no_final_state": 1
    }  # fmt: skip
    assert (found["overall"]["failed"], found["by_scene"]["repair"]["failed"]) == (4, 4)
    assert found["by_scene"]["repair"]["reward"] is None
    assert found["by_scene"]["repair"]["reason"] == "no scenario has a value"
    assert found["overall"]["macro"] is None
    # (1 - 1/30 - 1/4 + 0) / 4 and (1 - 4) / 5
    assert found["reward_if_failed"] == pytest.approx({"exclude": 1, "start": 43 / 240, "worst": -0.6}, abs=1e-12)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.slow
def test_the_published_treatment_counts_all_but_errors() -> None:
    scores = score(FIVE, FAILED)
    published = model_summary(scores.variant(failed="start", rule="evaluation"))
    assert (published["n"], published["overall"]["reward"]) == (4, pytest.approx(43 / 240, abs=1e-12))
    # Support 1; repair (-1/30 - 1/4 + 0) / 3.
    assert published["overall"]["macro"] == pytest.approx((1 - 17 / 180) / 2, abs=1e-12)
    strict = model_summary(scores.variant(failed="worst"))
    assert (strict["n"], strict["overall"]["final_anger"], strict["overall"]["final_trust"]) == (5, 76, 12)
    assert strict["reward_if_failed"] == published["reward_if_failed"]


def test_the_interval_is_that_of_resampled_scenarios() -> None:
    # 16 rewards, half of them +1 and half -1: the mean of a resample is 2 B / 16 - 1 with B binomial (16, 1/2).
    # Expanded level for 16 scenarios: Phi(sqrt(16/15) * -2.1314) = 0.0139, between P(B <= 3) = 0.0106 and
    # P(B <= 4) = 0.0384, so the quantile is B = 4, a mean of -0.5; the other end by symmetry.
    names = [f"s{place}" for place in range(16)]
    overall = model_summary(score(scenarios(names), played({"m": [1.0, -1.0] * 8}, names)))["overall"]
    assert [overall[name] for name in ("reward", "low", "high", "reason")] == [0, -0.5, 0.5, None]


def test_scores_of_several_models_are_refused() -> None:
    scores = score(DATA, [*EPISODES, ended("s1", (1, 1), "other")])
    with pytest.raises(ValueError, match=r"these are scores of 2 models \(lab/m, other\); keep one"):
        model_summary(scores)
    alone = model_summary(scores.keep(groups=[("other", None)]))
    assert (alone["model"], alone["n"], alone["coverage"]) == ("other", 1, 0.25)


def test_it_says_where_its_interval_is_unreliable() -> None:
    names = [f"s{place:02}" for place in range(16)]
    skewed = model_summary(score(scenarios(names), played({"m": [1.0, *[-1.0] * 15]}, names)))
    assert any("far from the rest" in warning for warning in skewed["warnings"])
    even = model_summary(score(scenarios(names), played({"m": [1.0, -1.0] * 8}, names)))
    assert even["warnings"] == []
