"""The page of EIBench, and the states that its figures draw."""

import re
import subprocess
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from episodes import episodes_of, write_episodes

from attune_bench.benchmarks.eibench.comparison import compare_episodes, model_board, summaries
from attune_bench.benchmarks.eibench.states import mean_states
from attune_bench.report.eibench_html import eibench_report
from attune_data import Episode, Scenario, load_scenarios
from attune_metrics.signature import Signature

Call = Callable[..., tuple[int, str, str]]

EVIL = "<img src=x onerror=alert(1)>"
DRIFTS = {"invented/calm": (-5, 4), EVIL: (-2, 2), "invented/rash": (2, -1)}
SECTIONS = ["Models", "Scenes", "Comparisons", "Trajectories", "Failed episodes", "Methods", "Limits", "Data"]
SETTINGS: dict[str, Any] = {"simulator": "<b>sim</b>", "prompt_version": "v1-<i>", "max_rounds": 8, "config_hash": "0f"}


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return list(load_scenarios("demo"))


@pytest.fixture(scope="module")
def episodes(scenarios: list[Scenario]) -> list[Episode]:
    return episodes_of(scenarios, DRIFTS, failures=["invented/rash"], **SETTINGS)


@pytest.fixture(scope="module")
def page(episodes: list[Episode], scenarios: list[Scenario]) -> str:
    return eibench_report(episodes, scenarios, resamples=200)


def text_of(page: str) -> str:
    """Return what is read of a page: no tags, no style, no script."""
    body = re.sub(r"<(style|script|title)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


# States by round.


def told(name: str, states: Sequence[tuple[int | None, int | None]], model: str = "m", **changes: Any) -> Episode:
    """Return an episode of a demo scenario in which the person says these states, the first of them at the start."""
    history: list[dict[str, Any]] = []
    for place, (anger, trust) in enumerate(states):
        history += [{"role": "defender", "content": "Yes."}] if place else []
        history.append({"role": "aggressor", "content": "No.", "meta": {"anger": anger, "trust": trust}})
    ends = {"ended_by": "max_rounds", "final_anger": states[-1][0], "final_trust": states[-1][1]}
    return Episode(profile_id=name, model=model, history=history, **{**ends, **changes})


def test_states_are_means_in_which_an_ended_episode_keeps_its_last_state(scenarios: list[Scenario]) -> None:
    found = mean_states(
        [
            told("demo_support_01", [(80, 10), (70, 20), (60, 30)]),
            told("demo_support_02", [(60, 20), (50, 40)]),
            told("demo_support_03", [(0, 99), (0, 99)], ended_by="parse_failed"),
            told("demo_charm_01", [(10, 10), (5, 15)]),
            told("demo_support_01", [(80, 10), (80, 10), (80, 10), (80, 10)], model="n"),
        ],
        scenarios,
        resamples=50,
    )
    rows = found.filter(model="m", scene="support").select("axis", "round", "mean", "n").rows()
    # (80 + 60) / 2, (70 + 50) / 2, (60 + 50) / 2; trust (10 + 20) / 2, (20 + 40) / 2, (30 + 40) / 2; round 3 is n's.
    assert rows == [
        *(("anger", place, mean, 2) for place, mean in enumerate((70, 60, 55, 55))),
        *(("trust", place, mean, 2) for place, mean in enumerate((15, 30, 35, 35))),
    ]
    assert found.filter(model="m", scene="charm")["round"].to_list() == [0, 1] * 2
    assert found["reason"].unique().to_list() == ["fewer than 5 scenarios"]


def test_a_state_that_is_not_told_is_left_out_of_its_round(scenarios: list[Scenario]) -> None:
    found = mean_states(
        [
            told("demo_repair_01", [(80, 10), (None, 20), (60, 30)]),
            told("demo_repair_02", [(60, 20), (50, 40), (40, 50)]),
        ],
        scenarios,
        resamples=50,
    )
    assert found.filter(axis="anger").select("mean", "n").rows() == [(70, 2), (50, 1), (50, 2)]


def test_the_interval_of_a_state_is_that_of_resampled_scenarios() -> None:
    # 16 scenarios, half at 0, half at 100: as in the tests of rewards a resample's mean is 100 B / 16, its quantile
    # B = 4, so 25 to 75.
    known = load_scenarios("demo")
    support = known.where(scene="support")[0]
    copies = [support.model_copy(update={"scenario_id": f"s{place}"}) for place in range(16)]
    given = [told(f"s{place}", [(50, 50), (100 * (place % 2), 50)]) for place in range(16)]
    last = mean_states(given, copies).filter(axis="anger", round=1).to_dicts()[0]
    assert [last[name] for name in ("mean", "low", "high", "n", "reason")] == [50, 25, 75, 16, None]


# The page.


def test_a_section_for_each_subject(page: str) -> None:
    assert re.findall(r"<h2>(.*?)</h2>", page) == SECTIONS
    assert re.findall(r"<h3>(.*?)</h3>", page) == ["All scenes", "Support", "Defense", "Repair", "Charm"]


def test_the_values_are_those_of_the_board_and_of_the_comparisons(
    page: str, episodes: list[Episode], scenarios: list[Scenario]
) -> None:
    text = text_of(page)
    board = model_board(summaries(episodes, scenarios, resamples=200))
    assert board.height == 3
    for row in board.iter_rows(named=True):
        ends = f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
        assert f"{row['model']} {100 * row['reward']:.1f} {ends} {100 * row['anger_score']:.1f}" in text
    pairs = compare_episodes(episodes, scenarios, by="scene", resamples=200)
    assert pairs.height == 15
    for row in pairs.iter_rows(named=True):
        ends = "" if row["low"] is None else f" [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]"
        assert f"{row['model_a']} {row['model_b']} {100 * row['difference']:+.1f}{ends}" in text


def test_failed_episodes_are_shown_under_three_treatments(
    page: str, episodes: list[Episode], scenarios: list[Scenario]
) -> None:
    # Every seventh of 16: places 6 and 13.
    row = model_board(summaries(episodes, scenarios, resamples=50)).filter(model="invented/rash").to_dicts()[0]
    rewards = " ".join(f"{100 * row[f'reward_{name}']:.1f}" for name in ("exclude", "start", "worst"))
    assert len(set(rewards.split())) == 3
    assert f"invented/rash 0 2 0 0 0 {rewards}" in text_of(page)
    none = eibench_report([one for one in episodes if one.model != "invented/rash"], scenarios, resamples=50)
    assert "No episode failed." in text_of(none)


def test_it_says_how_to_cite_and_what_is_comparable(
    page: str, episodes: list[Episode], scenarios: list[Scenario]
) -> None:
    [line] = re.findall(r"attune:[^<]*", page)
    signature = Signature.parse(line)
    assert (signature.metric, signature.protocol, signature.mode) == ("reward", "evaluation", "failed-exclude")
    assert (signature.n, signature.clusters, signature.excluded, signature.boot) == (46, 16, 2, 200)
    text = text_of(page)
    assert "All episodes: simulator <b>sim</b>, version of the simulator's instructions v1-<i>, number of" in text
    assert text.count("Numbers are comparable within one simulator and one version of its instructions only.") == 2
    assert "Licence of the scenarios: CC BY 4.0." in text
    assert "SYNTHETIC demonstration scenarios." in text
    own = [one.model_copy(update={"licence": None, "synthetic": None}) for one in scenarios]
    foreign = text_of(eibench_report(episodes, own, resamples=50))
    assert "Creative Commons Attribution-NonCommercial 4.0, that of EIBench." in foreign
    assert "SYNTHETIC" not in foreign


def test_nothing_from_data_is_markup_and_nothing_is_fetched(page: str) -> None:
    assert EVIL not in page
    assert EVIL in unescape(page)
    for tag in ("img", "b", "i", "iframe", 'link rel="stylesheet"', "a", "use"):
        assert f"<{tag}>" not in page
        assert f"<{tag} " not in page
    assert "src=" not in page.replace("src=x", "")
    assert "default-src 'none'; " in page
    assert page.count("<script>") == 1


def test_a_figure_for_each_model(page: str) -> None:
    assert page.count("<svg") == 3
    # Nine rounds at most and the start, four scenes, two axes, three models; each mark says its numbers.
    marks = re.findall(r"<title>([^<]*round \d+: mean [^<]*)</title>", page)
    assert 3 * 4 * 2 * 6 < len(marks) <= 3 * 4 * 2 * 9
    assert all(mark.endswith("n = 4 scenarios") or "invented/rash" in mark for mark in marks)


def test_without_what_a_section_needs_it_says_so(scenarios: list[Scenario]) -> None:
    ends: dict[str, Any] = {"ended_by": "max_rounds", "final_anger": 50, "final_trust": 50, "history": []}
    bare = [Episode(profile_id=one.id, model="m", **ends) for one in scenarios]
    text = text_of(eibench_report(bare, scenarios[1:], resamples=50))
    assert "Nothing to compare: there is one model." in text
    assert "None to show: no episode that did not fail says how the state moved." in text
    assert "Left out: 1 episode of scenarios that are not in the data." in text
    assert "Not named in the episodes, so not known to be one: simulator" in text


def test_the_order_of_the_episodes_changes_nothing(
    page: str, episodes: list[Episode], scenarios: list[Scenario]
) -> None:
    assert eibench_report(episodes[::-1], scenarios[::-1], resamples=200) == page


# The command.


@pytest.fixture
def folder(tmp_path: Path, episodes: list[Episode]) -> Path:
    named = [one.model_copy(update={"model": one.model.replace(EVIL, "evil")}) for one in episodes]
    return write_episodes(tmp_path / "results", named)[0].parent


def test_the_command_writes_the_page(call: Call, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    status, out, err = call("eibench", "report", folder, "--data", "demo", "--html", target, "--resamples", 50)
    assert (status, err) == (0, "")
    assert out.startswith(f"{target}: ")
    first = target.read_text(encoding="utf-8")
    assert re.findall(r"<h2>(.*?)</h2>", first) == SECTIONS
    apart = [folder / name for name in ("invented_rash", "evil", "invented_calm")]
    call("eibench", "report", *apart, "--data", "demo", "--html", target, "--resamples", 50)
    assert target.read_text(encoding="utf-8") == first
    call("eibench", "report", folder, "--data", "demo", "--html", target, "--resamples", 50, "--published")
    assert "failed-start" in target.read_text(encoding="utf-8")


def test_mistakes_are_one_line_and_write_nothing(
    call: Call, folder: Path, tmp_path: Path, episodes: list[Episode]
) -> None:
    target = tmp_path / "page.html"
    other = [one.model_copy(update={"model": "other", "simulator": "s2"}) for one in episodes[:16]]
    mixed = write_episodes(tmp_path / "more", other)[0]
    for arguments, said in (
        ((folder, mixed, "--data", "demo", "--html", target), "models that differ in the simulator are not comparable"),
        ((folder, "--data", "demo", "--html", tmp_path / "page.txt"), "is no name for a page"),
        ((folder, "--data", "demo", "--html", tmp_path / "no" / "page.html"), "no such folder"),
        (("--data", "demo", "--html", target), "which episodes?"),
        ((folder, "--data", "demo", "--html", target, "--seed", -1), "seed"),
    ):
        status, out, err = call("eibench", "report", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert said in err
        assert not target.exists()


WITHOUT = """
import sys
sys.modules["altair"] = None
from attune_bench.cli import main
main()
"""


def test_without_the_extra_it_says_how_to_get_it(
    spawn: Callable[..., subprocess.CompletedProcess[bytes]], folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "page.html"
    done = spawn("eibench", "report", folder, "--data", "demo", "--html", target, "--resamples", "50", code=WITHOUT)
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1
    assert "pip install 'attune-bench[plots]'" in done.stderr.decode()
    assert not target.exists()
