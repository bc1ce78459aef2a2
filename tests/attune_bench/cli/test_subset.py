"""The command `subset`: a part of the units by trait, against the others, on the scores of any benchmark."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, Call, Scored, strict_json, too_wide

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_data import load, load_scenarios
from attune_metrics.signature import Signature

SUBSET = "stratum n clusters metric model mode value low high mark reason".split()
GAP = "difference difference_low difference_high p p_holm significant".split()


def _subset(call: Call, scores: Path, *arguments: object) -> Any:
    status, out, err = call(
        "subset", "--scores", scores, "--data", "demo", "--format", "json", *QUICK, *arguments
    )  # fmt: skip
    assert (status, err) == (0, "")
    return strict_json(out)


@pytest.mark.slow
def test_json_keys_and_values(call: Call, demo_scores: Path) -> None:
    content = _subset(
        call, demo_scores, "--where", "diagnosis=none", "--where", "category=Family", "--where", "category=Health"
    )
    assert list(content) == ["metadata", "subgroups"]
    assert [list(row) for row in content["subgroups"]] == [SUBSET] * 3
    assert content["metadata"]["filter"] == "diagnosis=none, category=Family or Health"
    part = {c.id for c in load("demo").where(diagnosis="none", category=["Family", "Health"])}
    for row in content["subgroups"]:
        values = [
            record["composite_score"]
            for record in records_of(Scores.read(demo_scores))
            if record["em_model"] == row["model"] and record["conversationId"] in part
        ]
        assert row["n"] == len(part) == len(values)
        assert row["value"] == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_conditions_are_named_after_one_option_or_each_after_its_own(call: Call, demo_scores: Path) -> None:
    together = _subset(call, demo_scores, "--where", "diagnosis=none", "category=Family", "category=Health")
    assert together["metadata"]["filter"] == "diagnosis=none, category=Family or Health"


def test_a_part_is_compared_with_the_rest(call: Call, demo_scores: Path) -> None:
    content = _subset(call, demo_scores, "--filter", "n_turns > 5", "--compare", "--metric", "avg_emotion_f1")
    rows = content["subgroups"]
    assert [list(row) for row in rows] == [[*SUBSET, *GAP]] * 6
    inside, outside = rows[:3], rows[3:]
    for one, other in zip(inside, outside, strict=True):
        assert (one["stratum"], other["stratum"]) == ("filter n_turns > 5", "not (filter n_turns > 5)")
        assert one["n"] + other["n"] == 40
        assert one["difference"] == pytest.approx(one["value"] - other["value"], abs=1e-12)
        # One stratum is a family of one.
        assert one["p_holm"] == one["p"]
        assert other["difference"] is None
    assert Signature.parse(content["metadata"]["signature"]).filter == "filter n_turns > 5; compared"


def test_a_complement_is_not_all_of_the_conditions(call: Call, demo_scores: Path) -> None:
    rows = _subset(call, demo_scores, "--where", "diagnosis=ADHD", "category=Family", "--compare")["subgroups"]
    question = "diagnosis=ADHD, category=Family"
    assert {row["stratum"] for row in rows} == {question, f"not ({question})"}


@pytest.mark.slow
def test_who_has_no_valid_score_is_not_in_the_complement_of_a_screen(call: Call, demo_scores: Path) -> None:
    strata = load("demo").stratify("who_5_screen")
    rows = _subset(call, demo_scores, "--where", "who_5_screen=screen-positive", "--compare")["subgroups"]
    assert rows[0]["n"] == len(strata["screen-positive"])
    assert rows[-1]["n"] == len(strata["screen-negative"]) < 40 - rows[0]["n"]


@pytest.mark.slow
def test_strata_of_a_trait_overlap_and_the_table_says_so(call: Call, demo_scores: Path) -> None:
    arguments = ("--scores", demo_scores, "--data", "demo", "--by", "diagnosis_group", "--compare", *QUICK)
    status, out, _ = call("subset", *arguments)
    assert status == 0
    parts = load("demo").stratify("diagnosis_group")
    several = sum(sum(c in part for part in parts.values()) > 1 for c in load("demo"))
    assert several > 0
    assert f"Strata overlap: {several} conversations are in several." in out
    assert "Composite, baseline/prior, mode default, family of 3 tests" in out
    assert "[1] fewer than 5 participants." in out
    assert too_wide(out) == []


def test_an_empty_subset_is_a_row(call: Call, demo_scores: Path) -> None:
    rows = _subset(call, demo_scores, "--filter", "n_turns > 500", "--compare")["subgroups"]
    assert (rows[0]["n"], rows[0]["value"], rows[0]["reason"]) == (0, None, "no conversation has a value")


# The others.


@pytest.mark.slow
@pytest.mark.parametrize("data", [False, True], ids=["traits-of-the-scores", "traits-of-the-data"])
def test_scenes_of_eibench(call: Call, episodes: Scored, data: bool) -> None:
    source = ("--data", episodes.data) if data else ()
    command = ("subset", "--scores", episodes.scores, *source, "--format", "json", "--failed", "worst", *QUICK)
    status, out, err = call(*command, "--by", "scene")
    assert (status, err) == (0, "")
    by_scene = strict_json(out)["subgroups"]
    assert {(row["stratum"], row["n"]) for row in by_scene} == {
        (scene, 12) for scene in ("charm", "defense", "repair", "support")
    }
    scores = Scores.read(episodes.scores).variant(failed="worst")
    expected = scores.keep(units=load_scenarios(episodes.data).where(scene="repair").unit_ids)
    rewards = dict(expected.summary(metrics=["reward"], resamples=1).select("model", "value").iter_rows())
    assert {row["model"]: row["value"] for row in by_scene if row["stratum"] == "repair"} == rewards
    part = strict_json(call(*command, "--where", "scene=repair")[1])
    assert {row["model"]: row["value"] for row in part["subgroups"]} == rewards
    assert part["metadata"]["variant"] == {"rule": "evaluation", "failed": "worst"}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        # Unit n has n % 4 turns and is checked where n is even: of 12 units 3 with 1, 3 with 2, 6 even ones.
        (["turns=1"], 3),
        (["turns=1.0", "turns=2"], 6),
        (["checked=true"], 6),
        (["checked=False", "turns=3"], 3),
        (["turns=no answer"], 0),
    ],
)
def test_a_value_is_read_as_the_type_of_its_column(call: Call, tmp_path: Path, where: list[str], expected: int) -> None:
    path = tmp_path / "results.jsonl"
    every = {"model": "m", "metric": "accuracy"}
    rows = [{**every, "unit": f"q{n}", "value": n % 3, "turns": n % 4, "checked": n % 2 == 0} for n in range(12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, out, err = call("subset", "--scores", path, "--where", *where, "--format", "json", *QUICK)
    assert (status, err) == (0, "")
    assert [row["n"] for row in strict_json(out)["subgroups"]] == [expected]
    status, _, err = call("subset", "--scores", path, "--where", "turns=many", *QUICK)
    assert (status, "turns is a number, not 'many'" in err) == (2, True)


@pytest.mark.slow
def test_a_screen_is_asked_for_by_its_label_or_as_true(call: Call, demo_scores: Path) -> None:
    one, other = (
        _subset(call, demo_scores, "--where", f"who_5_screen={value}", "n_turns=5", "--compare")["subgroups"]
        for value in ("screen-positive", "TRUE")
    )
    assert [{**row, "stratum": None} for row in one] == [{**row, "stratum": None} for row in other]
    part = load("demo").where(who_5_screen=True, n_turns=5)
    assert one[0]["n"] == len(part) > 0


def test_traits_of_a_table(call: Call, results_csv: Path) -> None:
    status, out, err = call("subset", "--scores", results_csv, "--by", "topic", "--format", "json", *QUICK)
    assert (status, err) == (0, "")
    rows = strict_json(out)["subgroups"]
    # Of 200 every third, from the first, is easy.
    assert [(row["stratum"], row["model"], row["n"]) for row in rows] == [
        ("easy", "alpha", 67), ("hard", "alpha", 133), ("easy", "beta", 67), ("hard", "beta", 133),
    ]  # fmt: skip


def test_a_condition_takes_the_names_of_units_as_texts(call: Call, results_csv: Path) -> None:
    condition = ["--filter", "unit LIKE 'q1_' OR length(unit) = 2"]
    status, out, err = call("subset", "--scores", results_csv, *condition, "--format", "json", *QUICK)
    assert (status, err) == (0, "")
    assert [row["n"] for row in strict_json(out)["subgroups"]] == [20, 20]  # q10 to q19, and q0 to q9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which units? Choose some, for instance --where TRAIT=VALUE, or use --by TRAIT"),
        (["--where", "diagnosis"], "--where 'diagnosis' is not of the form TRAIT=VALUE"),
        (["--where", "diagnosis=ADHDD"], "no conversation has diagnosis 'ADHDD'; did you mean 'ADHD'?"),
        (["--where", "diagnoses=ADHD", "--where"], "--where is given without a value"),
        (
            ["--filter", "gender > 3"],
            "the condition gender > 3 does not fit its columns: gender is text, and text is in single quotes; write ",
        ),
        (["--filter", "n_turn > 3"], "no trait 'n_turn'; did you mean 'n_turns'?"),
        (["--by", "categry"], "no trait 'categry'; did you mean 'category'?"),
        (["--where", "who_6_screen=screen-positive"], "no trait 'who_6_screen'; did you mean 'who_5_screen'?"),
    ],
)
def test_mistakes_are_one_line(call: Call, demo_scores: Path, arguments: list[str], message: str) -> None:
    status, out, err = call("subset", "--scores", demo_scores, "--data", "demo", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"attune-bench: {message}")
    assert err.count("\n") == 1


def test_data_that_do_not_fit_are_a_mistake(
    call: Call, demo_scores: Path, dialogues: Scored, results_csv: Path, files: tuple[Path, Path]
) -> None:
    for arguments, message in (
        (
            ("--scores", demo_scores, "--data", files[0], "--by", "category"),
            "none of the 40 conversations scored is in",
        ),
        (("--scores", demo_scores, "--by", "category"), "these scores have no traits of their conversations; name the"),
        (("--scores", dialogues.scores, "--data", dialogues.results, "--by", "model"), "scores of SAGE take no --data"),
        (
            ("--scores", results_csv, "--data", "demo", "--by", "topic"),
            "scores of a table take no --data; leave it out",
        ),
        (("--scores", results_csv, "--by", "topics"), "no trait 'topics'; did you mean 'topic'?"),
    ):
        status, out, err = call("subset", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err


def test_traits_of_the_data_choose_the_units_that_those_of_the_scores_choose(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    assert call("score", "--results", "demo", "--data", "demo", "--benchmark", "emobench", "-o", path)[0] == 0
    asked = ("subset", "--scores", path, "--by", "task", "--format", "json", *QUICK)
    of_data, of_scores = (strict_json(call(*asked, *more)[1])["subgroups"] for more in (("--data", "demo"), ()))
    key = ["stratum", "metric", "model"]
    assert sorted(of_data, key=lambda row: [row[name] for name in key]) == sorted(
        of_scores, key=lambda row: [row[name] for name in key]
    )
    assert {row["stratum"]: row["n"] for row in of_data} == {"EA": 40, "EU": 40}
