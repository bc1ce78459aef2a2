"""Episodes scored anew: rewards, both rules, failed episodes under each treatment, variants, what is refused.

The anchors of every scenario here, where nothing else is said: anger 70, target 25, worst 90; trust 15, 50, 0.
"""

from pathlib import Path
from typing import Any

import pytest
from anchored import DATA, EPISODES, FAILED, FIVE, R1, R2, S1, STATES, ended, played, scenario, scenarios

from attune_bench import Scores, score
from attune_bench.stats.comparability import MixedSettingsError
from attune_data import Episode
from attune_metrics import MetricInputError
from attune_metrics.catalog import CATALOG
from attune_metrics.signature import Signature


def one(scores: Scores, *names: str) -> tuple[Any, ...]:
    """Return some values of the only episode."""
    [row] = scores.values.select(names).rows()
    return row


# Rewards.


@pytest.mark.parametrize(
    ("state", "anger", "trust", "reward"),
    [
        # (70 - x) / 45 above the target, (70 - x) / 20 beyond the start; (x - 15) / 35, (x - 15) / 15.
        ((70, 15), 0, 0, 0),
        ((50, 30), 4 / 9, 3 / 7, S1),
        ((80, 10), -1 / 2, -1 / 3, R1),
        ((70, 14), 0, -1 / 15, -1 / 30),
        ((26, 49), 44 / 45, 34 / 35, (44 / 45 + 34 / 35) / 2),
        ((20, 60), 1, 1, R2),
        ((95, 0), -1, -1, -1),
    ],
)
def test_rewards_of_the_specification(state: tuple[int, int], anger: float, trust: float, reward: float) -> None:
    scores = score(scenarios(["s1"]), [ended("s1", state)])
    for found in (scores, score(scenarios(["s1"]), [ended("s1", state)], published=True)):
        values = one(found, "anger_score", "trust_score", "reward", "final_anger", "final_trust")
        assert values == pytest.approx((anger, trust, reward, *state), abs=1e-12)


@pytest.mark.parametrize("reward", STATES)
def test_states_of_exact_rewards(reward: float) -> None:
    assert one(score(scenarios(["s1"]), played({"m": [reward]}, ["s1"])), "reward") == (reward,)


def test_rewards_are_computed_from_states_and_anchors_not_from_what_was_recorded() -> None:
    scores = score(DATA, EPISODES)
    assert scores.values["unit"].to_list() == ["r1", "r2", "s1"]
    assert scores.values["reward"].to_list() == pytest.approx([R1, R2, S1], abs=1e-12)
    # The scenario's scene, not the episode's.
    assert scores.units.rows() == [("r1", None, "repair"), ("r2", None, "repair"), ("s1", None, "support")]


ORDERED = (50, 30, 90), (50, 70, 0)
RULES: dict[str, tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int], Any, Any]] = {
    # Anchors of anger and trust, the state, the scores by the rule as published, and with fixed directions.
    "anger-tied-below": ((20, 20, 60), ORDERED[1], (10, 50), (-1, 0), (1, 0)),
    "anger-tied-at": ((20, 20, 60), ORDERED[1], (20, 50), (1, 0), (1, 0)),
    "anger-tied-above": ((20, 20, 60), ORDERED[1], (30, 50), (1, 0), (-1 / 4, 0)),
    "anger-tied-worst": ((20, 20, 60), ORDERED[1], (60, 50), (1, 0), (-1, 0)),
    "anger-turned-below": ((20, 40, 60), ORDERED[1], (10, 50), (-1, 0), (1, 0)),
    "anger-turned-at": ((20, 40, 60), ORDERED[1], (20, 50), (0, 0), (1, 0)),
    "anger-turned-between": ((20, 40, 60), ORDERED[1], (30, 50), (1 / 2, 0), (1 / 2, 0)),
    "anger-turned-above": ((20, 40, 60), ORDERED[1], (50, 50), (1, 0), (-1 / 2, 0)),
    "anger-worst-at-start": ((70, 25, 70), ORDERED[1], (70, 50), (0, 0), (0, 0)),
    "anger-worst-passed": ((70, 25, 70), ORDERED[1], (71, 50), (-1, 0), (-1, 0)),
    "trust-turned-below": (ORDERED[0], (60, 40, 0), (50, 20), (0, 1), (0, -2 / 3)),
    "trust-turned-at": (ORDERED[0], (60, 40, 0), (50, 40), (0, 1), (0, 1)),
    "trust-turned-between": (ORDERED[0], (60, 40, 0), (50, 50), (0, 1 / 2), (0, 1)),
    "trust-turned-above": (ORDERED[0], (60, 40, 0), (50, 80), (0, -1), (0, 1)),
    "trust-tied-half": (ORDERED[0], (50, 50, 0), (50, 25), (0, -1 / 2), (0, -1 / 2)),
    "trust-tied-below": (ORDERED[0], (50, 50, 0), (50, 49), (0, -1 / 50), (0, -1 / 50)),
    "trust-tied-at": (ORDERED[0], (50, 50, 0), (50, 50), (0, 1), (0, 1)),
    "both-turned": ((20, 40, 60), (60, 40, 0), (10, 20), (-1, 1), (1, -2 / 3)),
    "ordered": ((70, 25, 90), (15, 50, 0), (50, 30), (4 / 9, 3 / 7), (4 / 9, 3 / 7)),
}


@pytest.mark.parametrize(("anger", "trust", "state", "published", "directed"), RULES.values(), ids=RULES)
def test_rules_differ_where_anchors_are_out_of_order(
    anger: Any, trust: Any, state: tuple[int, int], published: Any, directed: Any
) -> None:
    scores = score([scenario("s1", anger=anger, trust=trust)], [ended("s1", state)])
    assert scores.choices["rule"] == ("evaluation", "directed")
    for rule, expected in (("evaluation", published), ("directed", directed)):
        variant = scores.variant(rule=rule)
        assert one(variant, "anger_score", "trust_score") == pytest.approx(expected, abs=1e-12)
        assert one(variant, "reward") == pytest.approx((sum(expected) / 2,), abs=1e-12)


# Failed episodes.


@pytest.mark.parametrize(
    ("treatment", "rewards", "anger"),
    [
        ("exclude", [1, None, None, None, None], [20, None, None, None, None]),
        # No state recorded: that of the start. A record of an error is left out, as in the published numbers.
        ("start", [1, -1 / 30, -1 / 4, 0, None], [20, 70, 80, 70, None]),
        ("worst", [1, -1, -1, -1, -1], [20, 90, 90, 90, 90]),
    ],
)
@pytest.mark.parametrize("rule", ["evaluation", "directed"])
def test_failed_episodes_count_as_asked(
    treatment: str, rule: str, rewards: list[float | None], anger: list[float | None]
) -> None:
    scores = score(FIVE, FAILED).variant(failed=treatment, rule=rule)
    assert scores.provenance.variant == {"rule": rule, "failed": treatment}
    assert scores.values["reward"].to_list() == [None if x is None else pytest.approx(x, abs=1e-12) for x in rewards]
    assert scores.values["final_anger"].to_list() == anger
    kinds = [name for name in scores.values.columns if name.startswith("failed.")]
    failures = [[kind for kind in kinds if row[kind]] for row in scores.values.iter_rows(named=True)]
    assert failures == [
        [],
        ["failed.parse_failed"],
        ["failed.empty_reply"],
        ["failed.no_final_state"],
        ["failed.error"],
    ]


def test_means_and_counts_under_each_treatment() -> None:
    scores = score(FIVE, FAILED)
    found = {}
    for treatment in scores.choices["failed"]:
        [row] = scores.variant(failed=treatment).summary(metrics=["reward"], resamples=1).to_dicts()
        found[treatment] = (row["value"], row["n"], row["excluded"])
    # (1 - 1/30 - 1/4 + 0) / 4 and (1 - 4) / 5
    assert found == {
        "exclude": (1, 1, 4),
        "start": (pytest.approx(43 / 240, abs=1e-12), 4, 1),
        "worst": (pytest.approx(-0.6, abs=1e-12), 5, 0),
    }


@pytest.mark.parametrize("state", [(None, 15), (70, None)])
def test_half_a_final_state_is_none(state: tuple[int | None, int | None]) -> None:
    scores = score(scenarios(["s1"]), [ended("s1", state)])
    names = "failed.no_final_state", "reward", "anger_score", "trust_score"
    assert one(scores, *names) == (1, None, None, None)


def test_the_worst_case_scores_minus_1_and_the_start_what_it_scores_where_anchors_are_tied() -> None:
    # Initial 20 is the target: the published rule gives 1 from 20 upwards, so to the worst state, 60, too.
    tied = scenario("s1", anger=(20, 20, 60), trust=(50, 50, 0))
    scores = score([tied], [ended("s1", (None, None))])
    assert one(scores.variant(failed="worst"), "reward", "final_anger") == (-1, 60)
    assert one(scores.variant(failed="start"), "reward", "final_anger") == (1, 20)


# Variants.


def test_the_default_is_the_first_of_every_choice_and_variants_can_be_taken_back() -> None:
    scores = score(FIVE, FAILED)
    assert scores.choices == {"rule": ("evaluation", "directed"), "failed": ("exclude", "start", "worst")}
    assert scores.provenance.variant == {"rule": "evaluation", "failed": "exclude"}
    again = scores.variant(failed="worst").variant(rule="directed").variant(failed="exclude", rule="evaluation")
    assert again.values.equals(scores.values)
    assert again.sign() == scores.sign()


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"failed": "best"}, "failed is 'best'; expected exclude, start, worst"),
        ({"rules": "directed"}, "these scores do not depend on 'rules'; their choices are rule, failed"),
    ],
)
def test_an_unknown_variant_is_refused(chosen: dict[str, str], said: str) -> None:
    with pytest.raises(MetricInputError, match=said):
        score(FIVE, FAILED).variant(**chosen)


def test_variants_are_in_the_signature_and_differ() -> None:
    scores = score(FIVE, FAILED)
    signed = {
        Signature.parse(scores.variant(failed=name).sign(metrics=["reward"])) for name in scores.choices["failed"]
    }
    assert {signature.variant for signature in signed} == {
        f"rule=evaluation,failed={name}" for name in ("exclude", "start", "worst")
    }
    assert {(signature.n, signature.excluded) for signature in signed} == {(1, 4), (4, 1), (5, 0)}


def test_a_part_has_the_variants_of_its_own() -> None:
    scores = score(FIVE, [*FAILED, *played({"z": [1.0] * 5}, "abcde")])
    part = scores.keep(groups=[("lab/m", None)], units="ab").variant(failed="worst")
    assert part.values.select("model", "unit", "reward").rows() == [("lab/m", "a", 1.0), ("lab/m", "b", -1.0)]
    assert part.variant(failed="exclude").values["reward"].to_list() == [1.0, None]
    assert scores.variant(failed="worst").keep(groups=part.groups, units="ab").values.equals(part.values)


def test_variants_are_in_the_file(tmp_path: Path) -> None:
    scores = score(DATA, [*EPISODES[:2], ended("r2", (20, 60), ended_by="parse_failed")])
    scores.variant(failed="start").write(tmp_path / "scores.parquet")
    again = Scores.read(tmp_path / "scores.parquet")
    assert again.provenance.variant == {"rule": "evaluation", "failed": "start"}
    for chosen in ({}, {"failed": "exclude"}, {"failed": "worst", "rule": "directed"}):
        ours, theirs = scores.variant(**{"failed": "start", **chosen}), again.variant(**chosen)
        assert ours.summary(resamples=50).equals(theirs.summary(resamples=50))


# Means of scenes.


def test_the_macro_mean_is_over_the_scenes_that_were_played() -> None:
    scores = score(DATA, EPISODES)
    [macro] = scores.summary(metrics=["reward_macro"], resamples=50)["value"]
    assert macro == pytest.approx((S1 + (R1 + R2) / 2) / 2, abs=1e-12)
    assert scores.metrics["reward_macro"].terms == ("reward.support", "n.support", "reward.repair", "n.repair")
    every = score(scenarios(["s1", "d1", "r1", "c1"]), played({"m": [1.0, 0.5, 0.0, -1.0]}, ["s1", "d1", "r1", "c1"]))
    assert every.summary(metrics=["reward_macro"], resamples=50)["value"].to_list() == [0.125]
    assert every.metrics["reward_macro"] == CATALOG["reward_macro"]


def test_the_macro_mean_is_undefined_where_nothing_of_a_scene_counts() -> None:
    names = ["s1", "s2", "r1"]
    lost = [*played({"m": [1.0, 0.0]}, names[:2]), ended("r1", (25, 50), "m", ended_by="parse_failed")]
    scores = score(scenarios(names), lost)
    values = {
        name: scores.variant(failed=name).summary(metrics=["reward_macro"], resamples=50)["value"].item()
        for name in ("exclude", "start", "worst")
    }
    assert values == {"exclude": None, "start": 0.75, "worst": -0.25}


def test_rewards_by_scene() -> None:
    found = score(DATA, EPISODES).by("scene", metrics=["reward", "final_anger"], resamples=50)
    # Scenes in the order of the benchmark.
    assert found.select("stratum", "metric", "n").rows() == [
        ("support", "reward", 1), ("repair", "reward", 2), ("support", "final_anger", 1), ("repair", "final_anger", 2),
    ]  # fmt: skip
    assert found["value"].to_list() == pytest.approx([S1, (R1 + R2) / 2, 50, 50], abs=1e-12)


# What cannot be scored together.


def several(**fields: tuple[Any, Any]) -> list[Episode]:
    """Return an episode of model a and one of model b, which differ in a field."""
    [(name, values)] = fields.items()
    return [ended("s1", (25, 50), model, **{name: value}) for model, value in zip("ab", values, strict=True)]


@pytest.mark.parametrize(
    ("field", "what", "values"),
    [
        ("simulator", "simulator", ("x", "y")),
        ("simulator", "simulator", ("x", None)),
        ("prompt_version", "version of the simulator's instructions", ("v1", "v2")),
        ("max_rounds", "number of rounds", (8, 20)),
        ("temperature", "temperature", (0.7, None)),
        ("answer_format", "answer format", ("schema", "free")),
        ("config_hash", "configuration", ("0f", "f0")),
        ("config_hash", "configuration", ("0f", None)),
    ],
)
def test_what_is_not_comparable_is_refused(field: str, what: str, values: tuple[Any, Any]) -> None:
    scores = score(scenarios(["s1"]), several(**{field: values}))
    # A temperature that is recorded as null is the server's own; in any other field null is nothing.
    shown = ["recorded" if None in values and field != "temperature" else str(values[0])]
    shown.append(str(values[1] or ("of the server" if field == "temperature" else "not recorded")))
    for refused in (lambda: scores.compare("a", "b"), scores.compare_all, scores.rank, scores.report):
        with pytest.raises(MixedSettingsError, match=f"{what} {shown[0]} .of a., {shown[1]} .of b.. --allow-mixed"):
            refused()
    # Of one model too.
    alone = [one.model_copy(update={"model": "a", "scenario_id": name}) for one, name in
             zip(several(**{field: values}), ("s1", "s2"), strict=True)]  # fmt: skip
    with pytest.raises(MixedSettingsError, match=f"{what} "):
        score(scenarios(["s1", "s2"]), alone).report()


def test_episodes_of_one_simulator_and_several_models_are_comparable() -> None:
    settings = {"simulator": "x", "prompt_version": "v1", "max_rounds": 8, "config_hash": "0f"}
    scores = score(scenarios(["s1"]), played({"a": [1.0], "b": [0.0]}, ["s1"], **settings))
    assert {name: [value] for name, value in settings.items()}.items() <= {
        name: list(values) for name, values in scores.provenance.settings[0].settings.items()
    }.items()
    said = (
        "All runs: version of the simulator's instructions v1, simulator x, number of rounds 8, configuration 0f; not "
        "recorded, so perhaps not the same: instructions, temperature, answer format."
    )
    assert said in " ".join(scores.report(resamples=50).split())


def test_settings_that_episodes_do_not_name_are_told() -> None:
    scores = score(scenarios(["s1"]), played({"a": [1.0]}, ["s1"]))
    said = (
        "All runs: not recorded, so perhaps not the same: version of the simulator's instructions, instructions, "
        "simulator, number of rounds, temperature, answer format, configuration."
    )
    assert said in " ".join(scores.report(resamples=50).split())


@pytest.mark.parametrize(
    ("episodes", "said"),
    [
        ([], "no episodes to score"),
        ([ended("s1", (25, 50))] * 2, "two episodes of scenario 's1' and model 'lab/m'"),
        (
            several(scenario_hash=("0f", "f0")),
            "'s1' has another text in the episodes of 'a' than in the episodes of 'b'",
        ),
        (
            [ended("s1", (25, 50), "a"), ended("s9", (25, 50), "b")],
            "none of the 1 episode of model 'b' is of one of the 1 scenario: check that both come from the same",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(episodes: list[Episode], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        score(scenarios(["s1"]), episodes, benchmark="eibench")


def test_the_order_of_episodes_and_scenarios_changes_nothing() -> None:
    straight, turned = score(FIVE, FAILED), score(FIVE[::-1], FAILED[::-1])
    assert turned.values.equals(straight.values)
    assert turned.units.equals(straight.units)
    assert turned.report(format="json", resamples=50) == straight.report(format="json", resamples=50)


def test_progress_counts_the_episodes() -> None:
    told: list[int] = []
    score(DATA, EPISODES, progress=told.append)
    assert told == [3]


def test_scores_are_synthetic_where_any_scenario_that_was_played_is() -> None:
    data = [scenario("s1", synthetic=True), scenario("s2"), scenario("s3")]
    episodes = [ended(one.id, (50, 30)) for one in data]
    assert not score(data, episodes[1:]).provenance.synthetic
    assert score(data, episodes).provenance.synthetic


def test_the_codebook_is_no_part_of_the_signature() -> None:
    assert Signature.parse(score(DATA, EPISODES).sign()).codebook is None
