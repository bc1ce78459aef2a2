"""Comparisons while the data come in: columns, families, weights, strata, refusals, signature, words of commands."""

from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmark_scores import scores_named
from commands import QUICK, Call, strict_json, too_wide

from attune_bench import Scores
from attune_bench.stats.subgroups import compare_by
from attune_metrics import MetricInputError
from attune_metrics.signature import Signature
from attune_metrics.stats.comparison import Pairs, holm
from attune_metrics.stats.early import early_differences
from attune_metrics.stats.looking import Looking

ASKED: tuple[dict[str, Any], ...] = ({"looks": 4, "look": 3}, {"looks": "any"})


def table_of(models: int, units: int, *, each: int = 1) -> Scores:
    """Return scores of models m0, m1, ..., each a point higher than the one before, with `each` units of a person."""
    drawn = np.random.default_rng(3).normal(size=(models, units))
    rows = [
        (f"m{model}", f"u{unit:03}", f"p{unit // each}", "points", float(drawn[model, unit] + model))
        for model in range(models)
        for unit in range(units)
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row")
    return Scores.from_table(frame, about={"cluster": "person"})


@pytest.mark.parametrize("asked", ASKED)
def test_one_column_is_added_and_estimates_stay(asked: dict[str, Any]) -> None:
    scores = scores_named("eibench")
    plain = scores.compare_all(metrics=[scores.primary], resamples=200)
    found = scores.compare_all(metrics=[scores.primary], **asked)
    assert found.columns == [*plain.columns, "look"]
    same = ["model_a", "model_b", "difference", "n", "clusters"]
    assert found.select(same).equals(plain.select(same))
    assert set(found["look"]) == {"any" if asked["looks"] == "any" else "3 of 4"}
    assert (found["low"] < found["difference"]).all()
    expected = holm([nan if p is None else p for p in found["p"]]).tolist()
    assert [nan if p is None else p for p in found["p_holm"]] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", ["attunebench", "sage", "emobench"])
@pytest.mark.slow
def test_every_benchmark_can_be_looked_at(name: str) -> None:
    scores = scores_named(name)
    for asked in ASKED:
        found = scores.compare_all(metrics=[scores.primary], **asked)
        plain = scores.compare_all(metrics=[scores.primary], resamples=100)
        assert found["difference"].to_list() == plain["difference"].to_list()
        assert (found["p"].drop_nulls() <= 1).all()


def test_one_look_is_the_plain_comparison() -> None:
    scores = table_of(2, 12)
    plain = scores.compare_all(resamples=200)
    for asked in ({"looks": 1}, {"looks": 1, "look": 1}, {"looks": None, "look": None}):
        assert scores.compare_all(resamples=200, **asked).equals(plain)


def test_people_count_once_where_that_is_asked() -> None:
    scores = table_of(2, 48, each=4)
    [row] = scores.compare_all(weight="person", looks=2, look=2).to_dicts()
    values = scores.values.pivot("model", index="unit", values="points").sort("unit")
    gaps = (values["m1"] - values["m0"]).to_numpy().reshape(12, 4).mean(axis=1)
    [expected] = early_differences(Pairs([gaps, gaps * 0], [(0, 1)], range(12)), Looking(2, 2))
    assert row["p"] == pytest.approx(expected.p_value, rel=1e-9)
    assert abs(row["difference"]) == pytest.approx(abs(gaps.mean()))
    assert row["clusters"] == 12


def test_few_people_and_equal_models_have_a_reason() -> None:
    few = table_of(2, 11).compare_all(looks=2, look=2).row(0, named=True)
    assert (few["low"], few["p"], few["reason"]) == (None, None, "fewer than 12 people")
    equal = table_of(2, 12).compare("m0", "m0", looks=4, look=1).row(0, named=True)
    assert (equal["p"], equal["low"], equal["reason"]) == (1, 0, "the two are equal in every person")
    early = table_of(2, 12).compare_all(looks=20, look=1).row(0, named=True)
    assert early["reason"] == "no minimum detectable effect with 12 people that differ"
    assert early["p"] >= 0.05
    assert early["low"] < -50 < 50 < early["high"]
    rows = [
        (model, f"u{unit}", "points", float(unit + gap)) for model, gap in (("a", 0), ("b", 2)) for unit in range(12)
    ]
    constant = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    found = constant.compare_all(looks="any").row(0, named=True)
    assert (found["p"], found["low"], found["reason"]) == (2 / 2**12, None, "all units have the same difference")


def test_a_family_that_cannot_be_decided_is_warned_of() -> None:
    few = "12 people with a difference are too few for 105 tests .*: no Holm-corrected p can be below"
    asked: dict[str, dict[str, Any]] = {
        "a later look can decide more": {"looks": 4, "look": 2},
        "more people are needed": {"looks": 4, "look": 4},
    }
    for advice, look in asked.items():
        with pytest.warns(UserWarning, match=f"{few} .*; {advice}"):
            table_of(15, 12).compare_all(**look)
    many = "12 people with a difference are too few for 105 tests .*; 1 more would be needed"
    with pytest.warns(UserWarning, match=many):
        table_of(15, 12).compare_all(looks="any")


def test_each_stratum_is_a_family_at_the_same_look() -> None:
    scores = scores_named("eibench")
    found = compare_by(scores, "scene", metrics=[scores.primary], looks="any")
    assert set(found["look"]) == {"any"}
    for _, rows in found.group_by("stratum"):
        expected = holm([nan if p is None else p for p in rows["p"]]).tolist()
        assert [p for p in rows["p_holm"] if p is not None] == pytest.approx([p for p in expected if not isnan(p)])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"looks": 4}, "looks 4: which of them is this"),
        ({"look": 2}, "look 2 of how many"),
        ({"looks": 2, "look": 3}, "look 3 of 2 planned"),
        ({"looks": 1, "look": 2}, "look 2 of 1 planned"),
        ({"looks": 21, "look": 1}, "looks 21 is not a whole number from 1 to 20"),
        ({"looks": "any", "look": 1}, "look 1 of any number of looks; leave out look"),
        ({"looks": "any", "margin": 1.0}, "a test against a margin is made once, of all data"),
    ],
)
def test_refusals(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        table_of(2, 8).compare_all(**asked)


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    table_of(2, 24).to_csv(path)
    return path


def test_the_command_says_which_look(call: Call, csv: Path) -> None:
    status, out, err = call("compare", csv, "--looks", 4, "--look", 2, "--full")
    assert (status, err, too_wide(out)) == (0, "", [])
    said = " ".join(out.split())
    assert (
        "by Student's t over people, corrected for skewness, so wide that those of 4 looks hold together with 95%."
        in said
    )
    assert (
        "p: Student's t over people, corrected for 4 looks, each after an equal part of the planned people (O'Brien "
        "and Fleming); this is look 2, which assumes a plan of about 48 people, as 24 are compared here." in said
    )
    last = " ".join(call("compare", csv, "--looks", 4, "--look", 4)[1].split())
    assert "this is look 4, the last, which assumes that no more people are planned than the 24 compared here." in last
    assert "the smallest true difference that this look alone finds with 80% power." in said
    assert "(Student's t, over 4 looks)" in said
    assert "permutation" not in said
    signature = Signature.parse(call("signature", "compare", csv, "--looks", 4, "--look", 2)[1].splitlines()[1])
    assert (signature.look, signature.interval) == ("2 of 4", "t")
    content = strict_json(call("compare", csv, "--looks", 4, "--look", 2, "--format", "json")[1])
    assert content["comparisons"][0]["look"] == "2 of 4"


def test_the_command_says_that_it_holds_at_any_time(call: Call, csv: Path) -> None:
    said = " ".join(call("compare", csv, "--looks", "any", "--full")[1].split())
    assert "so wide that those of any number of looks hold together with 95%." in said
    assert "p: the likelihood ratio of Student's t over people, which holds at any number of looks." in said
    assert "(Student's t, over any number of looks)" in said
    latex = " ".join(call("compare", csv, "--looks", "any", "--format", "latex")[1].split())
    assert "$p$-values of Student's t over clusters, over any number of looks" in latex
    plain = " ".join(call("compare", csv, *QUICK)[1].split())
    assert "paired permutation test" in plain
    assert "looks" not in plain
    assert Signature.parse(call("signature", "compare", csv, *QUICK)[1].splitlines()[1]).look is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--looks", "4"), "looks 4: which of them is this"),
        (("--looks", "often"), "'often' is neither a whole number nor any"),
        (("--looks", "any", "--margin", "1"), "leave out margin or looks"),
    ],
)
def test_mistakes(call: Call, csv: Path, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = call("compare", csv, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
