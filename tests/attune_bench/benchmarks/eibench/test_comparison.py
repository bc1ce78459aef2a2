"""Models of EIBench compared: pairs by scenario, Holm families, scenes, treatments of failures, the board.

The anchors of every scenario: anger 70, target 25, worst 90; trust 15, 50, 0.
"""

import json
from typing import Any

import pytest
from anchored import STATES, ended, failure, played, scenarios

from attune_bench import Scores, score
from attune_bench.stats.options import sorted_groups
from attune_bench.stats.subgroups import compare_by
from attune_metrics import MetricInputError

SIX = [f"s{place}" for place in range(6)]
TWELVE = [*SIX, *(f"r{place}" for place in range(6))]
# In support a is above b and c everywhere, b and c differ by turns; in repair all are equal.
BY_SCENE = {"a": [1.0] * 12, "b": [0.0] * 6 + [1.0] * 6, "c": [0.5, -0.5] * 3 + [1.0] * 6}
QUICK: dict[str, Any] = {"metrics": ["reward"], "resamples": 200}


def of_scenes() -> Scores:
    return score(scenarios(TWELVE), played(BY_SCENE, TWELVE))


def test_every_two_models_are_compared_with_holm_over_all_pairs() -> None:
    found = score(scenarios(SIX), played({k: v[:6] for k, v in BY_SCENE.items()}, SIX)).compare_all(**QUICK)
    assert found.select("model_a", "model_b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    ab, ac, bc = found.to_dicts()
    assert [pair["difference"] for pair in (ab, ac, bc)] == [1, 1, 0]
    # Of the 64 exchanges of six differences of one sign 2 are as large; those of +-0.5 are all as large as 0.
    assert [pair["p"] for pair in (ab, ac, bc)] == [1 / 32, 1 / 32, 1]
    # Smallest times 3, next times 2 but no less than the one before, largest times 1.
    assert [pair["p_holm"] for pair in (ab, ac, bc)] == [3 / 32, 3 / 32, 1]
    assert [pair["significant"] for pair in (ab, ac, bc)] == [False] * 3
    # A difference that never varies has no interval and no standard error.
    assert [ab[name] for name in ("low", "high", "mde")] == [None] * 3
    assert ab["reason"] == "all scenarios have the same difference"
    assert (ac["mde"], ac["reason"]) == (None, "no minimum detectable effect with fewer than 7 scenarios")
    assert ac["low"] < 1 < ac["high"]
    assert {(pair["n"], pair["clusters"], pair["condition"]) for pair in (ab, ac, bc)} == {(6, 6, None)}


def test_two_models_are_a_family_of_one() -> None:
    given = score(scenarios(SIX), played({k: v[:6] for k, v in BY_SCENE.items()}, SIX))
    [pair] = given.compare("b", "a", **QUICK).to_dicts()
    assert [pair[name] for name in ("difference", "p", "p_holm", "significant")] == [-1, 1 / 32, 1 / 32, True]


def test_each_scene_is_a_family_of_its_own() -> None:
    found = compare_by(of_scenes(), "scene", **QUICK)
    parts = {scene: rows.to_dicts() for (scene,), rows in found.group_by("stratum", maintain_order=True)}
    assert list(parts) == ["overall", "support", "repair"]
    assert [pair["n"] for pair in parts["overall"]] == [12] * 3
    assert [pair["difference"] for pair in parts["overall"]] == [0.5, 0.5, 0]
    # Three tests: 3/32. Were those of the scenes or of overall one family, it would be 6/32 or more.
    assert [pair["p_holm"] for pair in parts["support"]] == [3 / 32, 3 / 32, 1]
    assert [pair["p_holm"] for pair in parts["overall"]] == [3 / 32, 3 / 32, 1]
    for pair in parts["repair"]:
        assert [pair[name] for name in ("difference", "low", "high", "p", "p_holm", "n")] == [0, 0, 0, 1, 1, 6]
    assert of_scenes().compare_all(**QUICK).equals(found.filter(stratum="overall").drop("stratum"))
    two = compare_by(of_scenes(), "scene", models=("c", "a"), **QUICK)
    assert two.select("stratum", "difference", "p_holm").rows() == [
        ("overall", -0.5, 1 / 32), ("support", -1, 1 / 32), ("repair", 0, 1)
    ]  # fmt: skip


# a: s1 not readable, at the start state; s2 1, s3 0.5, s4 0. b: s1 1, s2 0.5, s3 0.5, no s4.
HALF = [
    ended("s1", STATES[0.0], "a", ended_by="parse_failed"),
    *played({"a": [1.0, 0.5, 0.0]}, ["s2", "s3", "s4"]),
    *played({"b": [1.0, 0.5, 0.5]}, ["s1", "s2", "s3"]),
]


@pytest.mark.parametrize(
    ("treatment", "difference", "n"),
    [
        # b minus a, as b has the higher mean over what it played, by every treatment.
        ("exclude", -1 / 4, 2),  # in common s2 and s3: -0.5 and 0
        ("start", 1 / 6, 3),  # s1 too: 1 - 0
        ("worst", 1 / 2, 3),  # s1: 1 + 1
    ],
)
def test_pairs_are_the_scenarios_that_count_for_both(treatment: str, difference: float, n: int) -> None:
    scores = score(scenarios(["s1", "s2", "s3", "s4"]), HALF).variant(failed=treatment)
    [pair] = scores.compare_all(**QUICK).to_dicts()
    assert (pair["model_a"], pair["n"]) == ("b", n)
    assert pair["difference"] == pytest.approx(difference, abs=1e-12)
    assert (pair["low"], pair["reason"]) == (None, "fewer than 5 scenarios")


def test_a_model_of_which_nothing_counts_stands_last_without_a_number() -> None:
    scores = score(scenarios(SIX), [*played({"b": [-1.0] * 6}, SIX), *(failure(name, "0lost") for name in SIX)])
    [_, pair] = compare_by(scores, "scene", **QUICK).to_dicts()
    assert (pair["stratum"], pair["model_a"], pair["model_b"]) == ("support", "b", "0lost")
    assert [pair[name] for name in ("difference", "p", "significant", "mde", "n")] == [None, None, None, None, 0]
    assert pair["reason"] == "no scenario has a value"
    assert sorted_groups(scores) == [("b", None), ("0lost", None)]
    assert scores.rank(resamples=50).select("model", "rank", "n").rows() == [("b", 1, 6), ("0lost", None, 0)]
    content = json.loads(scores.report(format="json", resamples=50))
    lost = next(row for row in content["models"] if row["model"] == "0lost")
    assert [lost[name] for name in ("reward", "reward_n", "n", "failed_error")] == [None, 0, 6, 6]
    # The published treatment leaves out errors; the strict one does not.
    treatments = next(row for row in content["by_failed"] if row["model"] == "0lost")
    assert [treatments[name] for name in ("exclude", "start", "worst")] == [None, None, -1]


def test_the_board_has_every_treatment_and_every_scene() -> None:
    scores = score(scenarios(["s1", "s2", "s3", "s4", "c1"]), HALF)
    assert sorted_groups(scores) == [("b", None), ("a", None)]
    found = scores.summary(metrics=["reward"], resamples=50)
    assert found.select("model", "n", "excluded", "coverage").rows() == [("a", 3, 1, 0.6), ("b", 3, 0, 0.6)]
    assert found["value"].to_list() == pytest.approx([1.5 / 3, 2 / 3], abs=1e-12)
    content = json.loads(scores.report(format="json", resamples=50))
    a = next(row for row in content["by_failed"] if row["model"] == "a")
    assert [a[name] for name in ("exclude", "start", "worst")] == pytest.approx([0.5, 0.375, 0.125], abs=1e-12)
    assert scores.by("scene", metrics=["reward"], resamples=50).select("stratum", "model", "n").rows() == [
        ("support", "a", 3), ("support", "b", 3)
    ]  # fmt: skip


def test_the_order_of_the_episodes_changes_no_number() -> None:
    given = played(BY_SCENE, TWELVE)
    forth, back = score(scenarios(TWELVE), given), score(scenarios(TWELVE)[::-1], given[::-1])
    assert compare_by(forth, "scene", **QUICK).equals(compare_by(back, "scene", **QUICK))
    assert forth.summary(resamples=50).equals(back.summary(resamples=50))
    assert forth.sign() == back.sign()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"resamples": 0}, "resamples"),
        ({"metrics": ["rewards"]}, "no metric 'rewards'; did you mean 'reward'"),
        ({"metrics": ["reward"], "failed": "worst"}, "no option 'failed'"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(MetricInputError, match=said):
        score(scenarios(["s1"]), played({"a": [1.0], "b": [1.0]}, ["s1"])).compare_all(**options)


def test_an_unknown_trait_is_refused() -> None:
    with pytest.raises(ValueError, match="scenes"):
        compare_by(of_scenes(), "scenes", **QUICK)


def test_names_are_neutralised() -> None:
    scores = score(scenarios(SIX), played({"\x1b[31m|red": [1.0] * 6, "b": [0.5] * 6}, SIX, simulator="\x1b]0;x\x07"))
    for text in (scores.report(resamples=50), scores.report(format="markdown", resamples=50)):
        assert "\x1b" not in text
        assert "\x07" not in text
