"""Models of EIBench set beside each other: pairs by scenario, Holm families, what is refused, the command.

The anchors of every scenario: anger 70, target 25, worst 90; trust 15, 50, 0. So a final state has one of the rewards
of `STATES`, to the last digit.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from attune_bench.benchmarks.eibench.comparison import (
    common_settings,
    compare_episodes,
    model_board,
    scene_board,
    summaries,
)
from episodes import write_episodes

from attune_data import Episode, Scenario
from attune_metrics.signature import Signature

Call = Callable[..., tuple[int, str, str]]

STATES = {1.0: (25, 50), 0.5: (25, 15), 0.0: (70, 15), -0.5: (90, 15), -1.0: (90, 0)}
PAIRS = "scene model_a model_b difference low high p p_holm told_apart n detectable reason".split()
QUICK = ("--resamples", "200")
SCENES = {"s": "support", "d": "defense", "r": "repair", "c": "charm"}


def scenarios(names: Sequence[str]) -> list[Scenario]:
    """Return scenarios whose scene is that of the letter with which their id begins."""
    return [
        Scenario.model_validate(
            {
                "id": name,
                "scene_tag": SCENES[name[0]],
                "initial_calibration": {"initial_anger": 70, "initial_trust": 15},
                "rub_goals": {"target_anger": 25, "target_trust": 50},
                "worst_case": {"worst_anger_min": 90, "worst_trust_min": 0},
            }
        )
        for name in names
    ]


def episode(name: str, model: str, reward: float, **changes: Any) -> Episode:
    """Return an episode of this reward."""
    anger, trust = STATES[reward]
    ends = {"final_anger": anger, "final_trust": trust, "ended_by": "max_rounds", "history": []}
    return Episode(profile_id=name, scene_tag=SCENES[name[0]], model=model, **{**ends, **changes})


def played(rewards: Mapping[str, Sequence[float]], names: Sequence[str], **changes: Any) -> list[Episode]:
    """Return an episode of each model and scenario."""
    return [
        episode(name, model, reward, **changes)
        for model, values in rewards.items()
        for name, reward in zip(names, values, strict=True)
    ]


SIX = [f"s{place}" for place in range(6)]
TWELVE = [*SIX, *(f"r{place}" for place in range(6))]
# In support a is above b and c everywhere, b and c differ by turns; in repair all are equal.
BY_SCENE = {"a": [1.0] * 12, "b": [0.0] * 6 + [1.0] * 6, "c": [0.5, -0.5] * 3 + [1.0] * 6}


def test_every_two_models_are_compared_with_holm_over_all_pairs() -> None:
    found = compare_episodes(played({k: v[:6] for k, v in BY_SCENE.items()}, SIX), scenarios(SIX), resamples=200)
    assert found.columns == PAIRS
    # a stands first, b and c, both at 0, by name.
    assert found.select("scene", "model_a", "model_b").rows() == [
        ("overall", "a", "b"), ("overall", "a", "c"), ("overall", "b", "c")
    ]  # fmt: skip
    ab, ac, bc = found.to_dicts()
    assert [pair["difference"] for pair in (ab, ac, bc)] == [1, 1, 0]
    # Of the 64 exchanges of six differences of one sign 2 are as large; those of +-0.5 are all as large as 0.
    assert [pair["p"] for pair in (ab, ac, bc)] == [1 / 32, 1 / 32, 1]
    # Smallest times 3, next times 2 but no less than the one before, largest times 1.
    assert [pair["p_holm"] for pair in (ab, ac, bc)] == [3 / 32, 3 / 32, 1]
    assert [pair["told_apart"] for pair in (ab, ac, bc)] == [False] * 3
    # A difference that never varies has no interval and no standard error.
    assert [ab[name] for name in ("low", "high", "detectable", "reason")] == [
        None, None, None, "no variation among clusters"
    ]  # fmt: skip
    # Differences of 0.5 and 1.5: standard error sqrt(6/5 * 6 * 0.25) / 6, times 1.959964 + 0.841621.
    assert ac["detectable"] == pytest.approx((6 / 5 * 1.5) ** 0.5 / 6 * 2.8015852, abs=1e-6)
    assert ac["low"] < 1 < ac["high"]


def test_each_scene_is_a_family_of_its_own() -> None:
    found = compare_episodes(played(BY_SCENE, TWELVE), scenarios(TWELVE), by="scene", resamples=200)
    parts = {scene: rows.to_dicts() for (scene,), rows in found.group_by("scene", maintain_order=True)}
    assert list(parts) == ["overall", "support", "repair"]
    assert [pair["n"] for pair in parts["overall"]] == [12] * 3
    assert [pair["difference"] for pair in parts["overall"]] == [0.5, 0.5, 0]
    # Three tests: 3/32. Were those of the scenes or of overall one family, it would be 6/32 or more.
    assert [pair["p_holm"] for pair in parts["support"]] == [3 / 32, 3 / 32, 1]
    assert [pair["p_holm"] for pair in parts["overall"]] == [3 / 32, 3 / 32, 1]
    for pair in parts["repair"]:
        assert [pair[name] for name in ("difference", "low", "high", "p", "p_holm", "n")] == [0, 0, 0, 1, 1, 6]
    without = compare_episodes(played(BY_SCENE, TWELVE), scenarios(TWELVE), resamples=200)
    assert without.equals(found.filter(scene="overall"))


# a: s1 not readable, at the start state; s2 1, s3 0.5, s4 0. b: s1 1, s2 0.5, s3 0.5, no s4.
HALF = [
    episode("s1", "a", 0.0, ended_by="parse_failed"),
    *(episode(name, "a", reward) for name, reward in (("s2", 1.0), ("s3", 0.5), ("s4", 0.0))),
    *(episode(name, "b", reward) for name, reward in (("s1", 1.0), ("s2", 0.5), ("s3", 0.5))),
]


@pytest.mark.parametrize(
    ("treatment", "first", "difference", "n"),
    [
        # In common s2 and s3: 0.5 and 0. Means: a 1.5 / 3, b 2 / 3.
        ("exclude", "b", -0.25, 2),
        # s1 too: 0 - 1. Means: a 1.5 / 4, b 2 / 3.
        ("start", "b", 1 / 6, 3),
        # s1: -1 - 1.
        ("worst", "b", 1 / 2, 3),
    ],
)
def test_pairs_are_the_scenarios_that_count_for_both(treatment: Any, first: str, difference: float, n: int) -> None:
    [pair] = compare_episodes(HALF, scenarios(["s1", "s2", "s3", "s4"]), failed=treatment, resamples=200).to_dicts()
    assert (pair["model_a"], pair["n"]) == (first, n)
    assert pair["difference"] == pytest.approx(difference, abs=1e-12)
    assert (pair["low"], pair["reason"]) == (None, "fewer than 5 scenarios")


def test_a_model_of_which_nothing_counts_stands_last_without_a_number() -> None:
    lost = [episode(name, "0lost", 1.0, error="refused") for name in SIX]
    given = played({"b": [-1.0] * 6}, SIX) + lost, scenarios(SIX)
    [pair] = compare_episodes(*given, by="scene", resamples=200).filter(scene="support").to_dicts()
    assert [pair[name] for name in ("model_a", "model_b", "difference", "p", "n")] == ["b", "0lost", None, None, 0]
    board = model_board(summaries(*given, resamples=200)).to_dicts()
    assert [row["model"] for row in board] == ["b", "0lost"]
    assert [board[1][name] for name in ("reward", "support", "n", "failed", "error")] == [None, None, 0, 6, 6]
    # The published treatment leaves out errors; the strict one does not.
    assert [board[1][f"reward_{name}"] for name in ("exclude", "start", "worst")] == [None, None, -1]


def test_the_board_holds_every_treatment_and_every_scene() -> None:
    known = scenarios(["s1", "s2", "s3", "s4", "c1"])
    found = summaries(HALF, known, resamples=200)
    b, a = model_board(found).to_dicts()
    assert [b["model"], a["model"]] == ["b", "a"]
    assert a["reward"] == pytest.approx(0.5, abs=1e-12)
    assert [a[f"reward_{name}"] for name in ("exclude", "start", "worst")] == pytest.approx(
        [0.5, 0.375, 0.125], abs=1e-12
    )
    assert [a[name] for name in ("n", "failed", "parse_failed", "error", "coverage")] == [3, 1, 1, 0, 0.6]
    assert (a["support"], a["charm"]) == (a["reward"], None)
    assert scene_board(found).select("model", "scene", "n", "failed").rows() == [
        ("b", "support", 3, 0), ("a", "support", 3, 1)
    ]  # fmt: skip


def test_the_order_of_the_episodes_changes_no_number() -> None:
    given = played(BY_SCENE, TWELVE)
    once = compare_episodes(given, scenarios(TWELVE), by="scene", resamples=200)
    again = compare_episodes(given[::-1], scenarios(TWELVE)[::-1], by="scene", resamples=200)
    assert once.equals(again)
    forth, back = (summaries(episodes, scenarios(TWELVE), resamples=200) for episodes in (given, given[::-1]))
    assert model_board(forth).equals(model_board(back))


@pytest.mark.parametrize(
    ("field", "what", "one", "other"),
    [
        ("simulator", "simulator", "x", "y"),
        ("simulator", "simulator", "x", None),
        ("prompt_version", "version of the simulator's instructions", "v1", "v2"),
        ("max_rounds", "number of rounds", 8, 20),
        ("config_hash", "configuration", "0f", "f0"),
        ("config_hash", "configuration", "0f", None),
    ],
)
def test_what_is_not_comparable_is_refused(field: str, what: str, one: Any, other: Any) -> None:
    episodes = [episode("s1", "a", 1.0, **{field: one}), episode("s1", "b", 1.0, **{field: other})]
    for function in (compare_episodes, summaries):
        with pytest.raises(ValueError, match=f"models that differ in the {what} are not comparable: ") as raised:
            function(episodes, scenarios(["s1"]))
        assert f"{other or 'none named'} (of b)" in str(raised.value)
        assert f"{one} (of a)" in str(raised.value)


def test_episodes_of_one_simulator_and_several_models_are_comparable() -> None:
    settings = {"simulator": "x", "prompt_version": "v1", "max_rounds": 8, "config_hash": "0f"}
    assert common_settings(played({"a": [1.0], "b": [0.0]}, ["s1"], **settings)) == settings


@pytest.mark.parametrize(
    ("episodes", "said"),
    [
        ([], "there are no episodes"),
        ([episode("s1", "a", 1.0)] * 2, "two episodes of scenario 's1' and model 'a'"),
        (
            [episode("s1", name, 1.0, scenario_hash=text) for name, text in (("a", "0f"), ("b", "f0"))],
            "scenario 's1' has another text in the episodes of 'a' than in those of 'b'",
        ),
        (
            [episode("s1", "a", 1.0), episode("s9", "b", 1.0)],
            "none of the 1 episode of model 'b' is of one of the 1 scenario",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(episodes: list[Episode], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        compare_episodes(episodes, scenarios(["s1"]))


def test_unknown_options_are_refused() -> None:
    given = played({"a": [1.0]}, ["s1"]), scenarios(["s1"])
    with pytest.raises(ValueError, match="unknown by 'model'"):
        compare_episodes(*given, by="model")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="resamples"):
        summaries(*given, resamples=0)


# The command.


@pytest.fixture
def folders(tmp_path: Path) -> Callable[..., tuple[list[Path], Path]]:
    """Return the function that writes the folders of models and the file of scenarios."""

    def write(episodes: Sequence[Episode], names: Sequence[str] = TWELVE) -> tuple[list[Path], Path]:
        data = tmp_path / "data.jsonl"
        data.write_bytes(b"".join(scenario.to_line() + b"\n" for scenario in scenarios(names)))
        return write_episodes(tmp_path / "results", episodes), data

    return write


Folders = Callable[..., tuple[list[Path], Path]]


def test_json_has_board_scenes_and_comparisons(call: Call, folders: Folders) -> None:
    paths, data = folders(played(BY_SCENE, TWELVE, simulator="sim", prompt_version="v1"))
    options = ("--data", data, "--format", "json", "--seed", 3, *QUICK)
    status, out, err = call("eibench", "compare", *paths, *options)
    assert (status, err) == (0, "")
    content = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert list(content) == ["metadata", "board", "scenes", "comparisons"]
    assert [row["reward"] for row in content["board"]] == [1, 0.5, 0.5]
    assert [len(content["scenes"]), len(content["comparisons"])] == [6, 3]
    assert list(content["comparisons"][0]) == PAIRS
    metadata = content["metadata"]
    assert [metadata[name] for name in ("rule", "treatment", "simulator", "prompt_version", "config_hash")] == [
        "evaluation", "exclude", "sim", "v1", None
    ]  # fmt: skip
    signature = Signature.parse(metadata["signature"])
    assert (signature.n, signature.clusters, signature.excluded, signature.seed) == (36, 12, 0, 3)
    # Neither the order of the folders nor that they are named one by one shows.
    assert call("eibench", "compare", *reversed(paths), *options)[1] == out
    assert call("eibench", "compare", paths[0].parent, *options)[1] == out
    by_scene = json.loads(call("eibench", "compare", *paths, *options, "--by", "scene")[1])
    assert [row["scene"] for row in by_scene["comparisons"]] == ["overall"] * 3 + ["support"] * 3 + ["repair"] * 3


def test_text_shows_three_treatments_where_any_episode_failed(call: Call, folders: Folders) -> None:
    paths, data = folders(HALF, ["s1", "s2", "s3", "s4"])
    status, out, err = call("eibench", "compare", *paths, "--data", data, *QUICK)
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines()[:-1])) <= 100
    lines = [line.split() for line in out.splitlines()]
    # Board, scenes, failures, each with the best first.
    assert [line[0] for line in lines if line and line[0] in {"a", "b"}] == ["b", "a"] * 3 + ["b"]
    assert ["a", "0", "1", "0", "0", "0", "50.0", "37.5", "12.5"] in lines
    assert [line[0] for line in lines if "75.0%" in line] == ["b", "a"]
    assert out.count("attune:") == 1
    text = " ".join(out.split())
    assert "Comparisons, overall: told apart 0 of 1 (Holm p < 0.05, family of 1)" in text
    assert "Numbers are comparable within one simulator and one version of its instructions only." in text
    assert "so not known to be one: simulator, version of the simulator's instructions, number of rounds, " in text
    published = call("eibench", "compare", *paths, "--data", data, "--published", *QUICK)[1]
    assert ["a", "37.5"] in [line.split()[:2] for line in published.splitlines()]


def test_without_a_failure_one_treatment_is_enough(call: Call, folders: Folders) -> None:
    paths, data = folders(played(BY_SCENE, TWELVE))
    out = call("eibench", "compare", *paths, "--data", data, "--by", "scene", *QUICK)[1]
    assert "Failed episodes" not in out
    assert [line for line in out.splitlines() if line.startswith("Comparisons, ")] == [
        f"Comparisons, {scene}: told apart 0 of 3 (Holm p < 0.05, family of 3)"
        for scene in ("overall", "support", "repair")
    ]


def test_one_model_is_a_board(call: Call, folders: Folders) -> None:
    paths, data = folders([*played({"a": [1.0] * 6}, SIX), episode("s9", "a", 1.0)])
    text = " ".join(call("eibench", "compare", *paths, "--data", data, *QUICK)[1].split())
    assert "Nothing to compare: there is one model." in text
    assert "Left out: 1 episode of scenarios that are not in the data." in text
    assert "Comparisons" not in text


def test_csv_is_the_board(call: Call, folders: Folders) -> None:
    paths, data = folders(HALF, ["s1", "s2", "s3", "s4"])
    b, a = csv.DictReader(StringIO(call("eibench", "compare", *paths, "--data", data, "--format", "csv", *QUICK)[1]))
    assert (b["model"], a["model"], a["support"], a["charm"]) == ("b", "a", "0.5", "")
    assert Signature.parse(a["signature"]).excluded == 1


def test_names_are_neutralised(call: Call, folders: Folders) -> None:
    episodes = played({"\x1b[31m|red": [1.0] * 6, "b": [0.5] * 6}, SIX, simulator="\x1b]0;x\x07")
    paths, data = folders(episodes)
    for form in ("table", "markdown"):
        status, out, _ = call("eibench", "compare", *paths, "--data", data, "--format", form, *QUICK)
        assert status == 0
        assert "\x1b" not in out
        assert "\x07" not in out


def test_mistakes_are_one_line(call: Call, folders: Folders, tmp_path: Path) -> None:
    episodes = [*played({"a": [1.0] * 6}, SIX, simulator="x"), *played({"b": [1.0] * 6}, SIX, simulator="y")]
    paths, data = folders(episodes)
    for arguments, said in (
        ((*paths, "--data", data), "models that differ in the simulator are not comparable: x (of a), y (of b)"),
        (("--data", data), "which episodes? Name a folder"),
        ((tmp_path / "none", "--data", data), "no such file or folder"),
        ((paths[0], "--data", data, "--by", "model"), "--by"),
        ((paths[0], "--data", data, "--published", "--failed", "worst"), "--published is --rule evaluation"),
        ((paths[0], "--data", data, "--resamples", 0), "resamples"),
    ):
        status, out, err = call("eibench", "compare", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert said in err
