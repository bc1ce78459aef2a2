"""The page of EIBench, and the states that its figures draw."""

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest
from episodes import episodes_of
from pages import Tags, headings, left_out, section, tables, text_of

from attune_bench import Scores, score
from attune_bench.benchmarks.eibench.report import mean_states
from attune_data import Collection, Episode, Scenario, Scenarios, load_scenarios
from attune_metrics.signature import Signature

EVIL = "<img src=x onerror=alert(1)>"
DRIFTS = {"invented/calm": (-5, 4), EVIL: (-2, 2), "invented/rash": (2, -1)}
FAILED = "Failed scenarios and choices of scoring"
SETTINGS: dict[str, Any] = {"simulator": "<b>sim</b>", "prompt_version": "v1-<i>", "max_rounds": 8, "config_hash": "0f"}


@pytest.fixture(scope="module")
def scenarios() -> Collection[Scenario]:
    return load_scenarios("demo")


@pytest.fixture(scope="module")
def episodes(scenarios: Collection[Scenario]) -> list[Episode]:
    return episodes_of(scenarios, DRIFTS, failures=["invented/rash"], **SETTINGS)


@pytest.fixture(scope="module")
def scores(episodes: list[Episode], scenarios: Collection[Scenario]) -> Scores:
    return score(scenarios, episodes)


@pytest.fixture(scope="module")
def page(scores: Scores, episodes: list[Episode], scenarios: Collection[Scenario]) -> str:
    return scores.report(format="html", data=scenarios, results=episodes, resamples=200)


# States by round.


def told(name: str, states: Sequence[tuple[int | None, int | None]], model: str = "m", **changes: Any) -> Episode:
    """Return an episode of a demo scenario in which the person says these states, the first of them at the start."""
    history: list[dict[str, Any]] = []
    for place, (anger, trust) in enumerate(states):
        history += [{"role": "defender", "content": "Yes."}] if place else []
        history.append({"role": "aggressor", "content": "No.", "meta": {"anger": anger, "trust": trust}})
    ends = {"ended_by": "max_rounds", "final_anger": states[-1][0], "final_trust": states[-1][1]}
    return Episode(profile_id=name, model=model, history=history, **{**ends, **changes})


def test_states_are_means_in_which_an_ended_episode_keeps_its_last_state(scenarios: Collection[Scenario]) -> None:
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


def test_a_state_that_is_not_told_is_left_out_of_its_round(scenarios: Collection[Scenario]) -> None:
    found = mean_states(
        [
            told("demo_repair_01", [(80, 10), (None, 20), (60, 30)]),
            told("demo_repair_02", [(60, 20), (50, 40), (40, 50)]),
        ],
        scenarios,
        resamples=50,
    )
    assert found.filter(axis="anger").select("mean", "n").rows() == [(70, 2), (50, 1), (50, 2)]


def test_repeats_of_a_scenario_are_paths_of_their_own(scenarios: Collection[Scenario]) -> None:
    again = told("demo_support_01", [(80, 10), (None, 10), (90, 0), (100, 0)]).model_copy(update={"repeat": 2})
    found = mean_states(
        [
            told("demo_support_01", [(80, 10), (70, 20), (60, 30)]),
            again,
            told("demo_support_02", [(60, 20), (50, 40)]),
        ],
        scenarios,
        resamples=50,
    )
    # Anger of the first scenario: 80; 70 alone; (60 + 90) / 2; (60 + 100) / 2. The second one stays at 50.
    means = [70, 60, (75 + 50) / 2, (80 + 50) / 2]
    assert found.filter(axis="anger").select("mean", "n").rows() == [(mean, 2) for mean in means]


def test_the_interval_of_a_state_is_that_of_resampled_scenarios() -> None:
    # 16 scenarios, half at 0, half at 100: as in the tests of rewards a resample's mean is 100 B / 16, its quantile
    # B = 4, so 25 to 75.
    known = load_scenarios("demo")
    support = known.where(scene="support")[0]
    copies = [support.model_copy(update={"scenario_id": f"s{place}"}) for place in range(16)]
    given = [told(f"s{place}", [(50, 50), (100 * (place % 2), 50)]) for place in range(16)]
    last = mean_states(given, copies).filter(axis="anger", round=1).to_dicts()[0]
    assert [last[name] for name in ("mean", "low", "high", "n", "reason")] == [50, 25, 75, 16, None]
    # P(B <= 6) = .227, P(B <= 7) = .402: the quartiles are 7 and 9.
    half = mean_states(given, copies, level=0.5, interval="percentile").filter(axis="anger", round=1).to_dicts()[0]
    assert [half[name] for name in ("mean", "low", "high")] == [50, 43.75, 56.25]


# The page.


@pytest.mark.slow
def test_a_section_for_each_subject(page: str) -> None:
    assert headings(page) == [
        "Trajectories",
        "Scores",
        "Profiles",
        "Comparisons",
        "Win rates",
        "Ratings",
        "Separation of models",
        "Subgroups",
        "Difficulty of scenarios",
        FAILED,
        "Recovery of the state",
        "Scenes",
        "Comparisons by scene",
        "Methods",
        "Limits",
        "Data",
    ]
    assert left_out(page) == {
        "Correlation of metrics without noise": "fewer than 6 models",
    }


def test_the_values_are_those_of_the_scores(page: str, scores: Scores) -> None:
    [board] = tables(section(page, "Scores"))
    head, *rows = board
    cells = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    for row in scores.summary(metrics=["reward"], resamples=200).iter_rows(named=True):
        ends = f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
        assert cells[row["model"]]["Reward"] == f"{100 * row['value']:.1f} {ends}"
        assert cells[row["model"]]["n"] == str(row["n"])
    [pairs] = tables(section(page, "Comparisons"))
    compared = scores.compare_all(metrics=["reward"], resamples=200)
    assert compared.height == len(pairs) - 1 == 3
    for row, cells_of in zip(compared.iter_rows(named=True), pairs[1:], strict=True):
        ends = f"[{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]"
        assert cells_of[:3] == [row["model_a"], row["model_b"], f"{100 * row['difference']:+.1f} {ends}"]


def test_each_scene_is_a_stratum(page: str, scores: Scores) -> None:
    [_, *rows] = tables(section(page, "Subgroups"))[0]
    frame = scores.by("scene", metrics=["reward"], resamples=200)
    found = {(row[0], row[1]): row[2] for row in rows}
    assert len(found) == frame.height == 4 * 3
    for row in frame.iter_rows(named=True):
        assert found[row["stratum"], row["model"]] == f"{100 * row['value']:.1f}"
    [meanings] = tables(section(page, "Scenes"))
    assert [row[0] for row in meanings[1:]] == ["Support", "Defense", "Repair", "Charm"]
    assert meanings[1][3] == "sadness, pain, despair"


def test_models_are_compared_within_each_scene(page: str, scores: Scores) -> None:
    found = tables(section(page, "Comparisons by scene"))
    assert [len(table) for table in found] == [1 + 3] * 4
    titles = re.findall(r"<h3>(.*?):", section(page, "Comparisons by scene"))
    # In the order of the benchmark.
    assert titles == ["support", "defense", "repair", "charm"]
    charm = scores.keep(units=scores.units.filter(scene="charm")["unit"])
    expected = charm.compare_all(metrics=["reward"], resamples=200)
    rows = {(row[0], row[1]): row[2] for row in found[3][1:]}
    for row in expected.iter_rows(named=True):
        assert rows[row["model_a"], row["model_b"]] == f"{100 * row['difference']:+.1f}"


def test_failed_episodes_are_shown_under_three_treatments(
    page: str, scores: Scores, episodes: list[Episode], scenarios: Collection[Scenario]
) -> None:
    kinds, _, treatments = tables(section(page, FAILED))
    # Every seventh of 16: places 6 and 13.
    assert kinds == [
        ["model", "error", "parse failed", "empty reply", "empty simulator reply", "no final state"],
        ["invented/rash", "0", "2", "0", "0", "0"],
    ]
    rewards = [
        scores.variant(failed=name)
        .summary(metrics=["reward"], resamples=1)
        .filter(model="invented/rash")["value"]
        .item()
        for name in ("exclude", "start", "worst")
    ]
    expected = [f"{100 * reward:.1f}" for reward in rewards]
    assert len(set(expected)) == 3
    assert treatments[0] == ["model", "exclude", "start", "worst"]
    assert ["invented/rash", *expected] in treatments
    none = score(scenarios, [one for one in episodes if one.model != "invented/rash"])
    assert "No scenario failed." in text_of(section(none.report(format="html", resamples=50), FAILED))


def test_it_says_how_to_cite_and_what_is_comparable(
    page: str, episodes: list[Episode], scenarios: Collection[Scenario]
) -> None:
    [line] = re.findall(r"attune:[^<]*", page)
    signature = Signature.parse(line)
    assert signature.metric == "all"
    assert signature.variant == "rule=evaluation,failed=exclude"
    assert (signature.n, signature.clusters, signature.excluded, signature.boot) == (16, 16, 0, 200)
    text = text_of(page)
    assert "All runs: version of the simulator's instructions v1-<i>, simulator <b>sim</b>, number of rounds 8" in text
    assert text.count("Numbers are comparable within one simulator and one version of its instructions only.") == 1
    assert "Rule: evaluation (how an axis is scored; evaluation, as published: " in text
    assert "Failed: exclude (what a failed episode counts; exclude: nothing; " in text
    assert "Licence of the scenarios: CC BY 4.0." in text
    assert "SYNTHETIC demonstration data." in text
    own = Scenarios([one.model_copy(update={"licence": None, "synthetic": None}) for one in scenarios])
    foreign = text_of(score(own, episodes).report(format="html", data=own, resamples=50))
    assert "Creative Commons Attribution-NonCommercial 4.0, the licence of EIBench." in foreign
    assert "SYNTHETIC" not in foreign


@pytest.mark.slow
def test_bands_have_the_level_that_is_asked_for(
    scores: Scores, episodes: list[Episode], scenarios: Collection[Scenario]
) -> None:
    page = scores.report(format="html", data=scenarios, results=episodes, resamples=50, level=0.5)
    assert "Bands are 50% intervals" in text_of(section(page, "Trajectories"))
    assert "95%" not in text_of(page)


def test_another_variant_is_another_page(scores: Scores) -> None:
    page = scores.variant(failed="worst", rule="directed").report(format="html", resamples=50)
    text = text_of(page)
    assert "EIBench, rule directed, failed worst, n = 16 scenarios" in text
    assert "Failed: worst" in text


def test_nothing_from_data_is_markup_and_nothing_is_fetched(page: str) -> None:
    assert EVIL not in page
    assert EVIL in unescape(page)
    tags = Tags(page)
    assert tags.open == []
    assert not {"img", "b", "i", "iframe", "use"} & {tag for tag, _ in tags.found}
    assert not any("src" in found for _, found in tags.found)
    links = {found.get("href") for _, found in tags.found} - {None, "data:,"}
    assert all(str(link).startswith("#") for link in links)
    assert "default-src 'none'; " in page
    assert page.count("<script>") == 1


def test_a_figure_of_all_models_and_one_of_each(page: str) -> None:
    drawn = section(page, "Trajectories")
    # A panel for each scene and axis, and of each model for each scene.
    assert drawn.count("<svg") == 4 * 2 + 3 * 4
    of_all = re.findall(r"<title>([^<]*, round \d+: [\d.]+)</title>", drawn)
    assert 3 * 4 * 2 * 6 < len(of_all) <= 3 * 4 * 2 * 9
    # The mean anchors of the four scenarios of support: (75 + 70 + 65 + 80) / 4, (35 + 35 + 25 + 35) / 4.
    assert "start 72.5<" in drawn
    assert "target 32.5<" in drawn
    # Nine rounds at most and the start, four scenes, two axes, three models; each mark says its numbers.
    marks = re.findall(r"<title>(round \d+: mean [^<]*)</title>", drawn)
    assert 3 * 4 * 2 * 6 < len(marks) <= 3 * 4 * 2 * 9
    assert sum(mark.endswith("n = 4 scenarios") for mark in marks) >= 2 / 3 * len(marks)


@pytest.mark.slow
def test_every_model_is_said_where_every_model_is_drawn(scenarios: Collection[Scenario]) -> None:
    path = [(80, 10), (70, 20)]
    known = scenarios[:2]
    names = [one.id for one in known]
    shown = [told(name, path) for name in names]
    silent = [
        Episode.model_validate(
            {
                "profile_id": name,
                "model": "n",
                "ended_by": "max_rounds",
                "final_anger": 50,
                "final_trust": 50,
                "history": [],
            }
        )
        for name in names
    ]
    for more, said in (([told(name, path, model="n") for name in names], True), (silent, False)):
        both = [*shown, *more]
        page = score(known, both).report(format="html", data=known, results=both, resamples=50)
        assert ("Every model, by scene." in text_of(section(page, "Trajectories"))) == said


@pytest.mark.slow
def test_without_what_a_section_needs_it_says_so(scenarios: Collection[Scenario], scores: Scores) -> None:
    ends: dict[str, Any] = {"ended_by": "max_rounds", "final_anger": 50, "final_trust": 50, "history": []}
    bare = [Episode(profile_id=one.id, model="m", **ends) for one in scenarios]
    known = scenarios[1:]
    page = score(known, bare).report(format="html", data=known, results=bare, resamples=50)
    why = left_out(page)
    assert why["Comparisons"] == "the scores have one model"
    assert why["Trajectories"] == "no episode that did not fail says how the state moved"
    assert "Left out: 1 episode of scenarios that are not in the data." in text_of(page)
    assert (
        "All runs: not recorded, so perhaps not the same: version of the simulator's instructions, instructions"
        in text_of(page)
    )
    without = left_out(scores.report(format="html", resamples=50))
    assert without["Trajectories"] == "need the scenarios and the episodes (--data, --results)"
    other = left_out(scores.report(format="html", data=scenarios, results=bare, resamples=50))
    assert other["Trajectories"] == "the episodes are not those that were scored"


@pytest.mark.slow
def test_the_order_of_the_episodes_changes_nothing(
    page: str, episodes: list[Episode], scenarios: Collection[Scenario]
) -> None:
    again = score(scenarios[::-1], episodes[::-1])
    assert again.report(format="html", data=scenarios[::-1], results=episodes[::-1], resamples=200) == page
