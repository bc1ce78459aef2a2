"""Margins of comparisons: columns, verdicts by corrected p-values, refusals, signature, command and page."""

from collections.abc import Callable, Iterable
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from benchmark_scores import scores_named
from commands import QUICK, Call, strict_json

from attune_bench import Scores
from attune_bench.stats.subgroups import compare_by
from attune_metrics import MetricInputError
from attune_metrics.metric import Metric
from attune_metrics.signature import Signature
from attune_metrics.stats.comparison import holm
from attune_metrics.stats.equivalence import verdict

FEW: dict[str, Any] = {"resamples": 200}
NEW = ["margin", "p_same", "p_same_holm", "verdict"]


def table_of(*values: Iterable[int]) -> pl.DataFrame:
    """Return a table of models a, b, ... with these values."""
    rows = [(m, f"q{i}", "hit", v) for m, own in zip("ab", values, strict=True) for i, v in enumerate(own)]
    return pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")


@pytest.fixture
def scores() -> Scores:
    return scores_named("eibench")


@pytest.mark.parametrize("margin", [0.001, 0.1, 0.5])
def test_columns_are_added_and_no_other_changes(scores: Scores, margin: float) -> None:
    plain = scores.compare_all(metrics=[scores.primary], **FEW)
    found = scores.compare_all(metrics=[scores.primary], margin=margin, **FEW)
    assert found.columns == [*plain.columns, *NEW]
    assert found.drop(NEW).equals(plain)
    assert set(found["margin"]) == {margin}
    assert found["p_same_holm"].to_list() == pytest.approx(holm(found["p_same"].to_list()).tolist(), abs=1e-12)
    for row in found.iter_rows(named=True):
        assert row["verdict"] == verdict(row["p_same_holm"], row["p_holm"])


def test_a_model_and_itself_are_the_same(scores: Scores) -> None:
    [row] = scores.compare(*scores.models[:1] * 2, metrics=[scores.primary], margin=0.01, **FEW).to_dicts()
    assert (row["p_same"], row["verdict"]) == (0, "practically the same")


def test_no_interval_no_test() -> None:
    [row] = Scores.from_table(table_of([0, 1, 2], [3, 4, 8])).compare_all(margin=5, **FEW).to_dicts()
    assert (row["p_same"], row["p_same_holm"], row["verdict"]) == (None, None, "undecided")


def test_each_stratum_is_a_family(scores: Scores) -> None:
    found = compare_by(scores, "scene", metrics=[scores.primary], margin={scores.primary: 0.3}, **FEW)
    for _, rows in found.group_by("stratum"):
        expected = holm([float("nan") if p is None else p for p in rows["p_same"]])
        known = [p for p in rows["p_same_holm"] if p is not None]
        assert known == pytest.approx([p for p in expected.tolist() if not isnan(p)], abs=1e-12)


def test_declared(scores: Scores) -> None:
    with pytest.raises(MetricInputError, match="its entry declares no smallest difference; give the smallest"):
        scores.compare_all(metrics=[scores.primary], margin="declared", **FEW)
    entry = {"smallest_difference": 0.2, "smallest_difference_source": "Somebody 2020"}
    rows = table_of(range(8), range(8))
    table = Scores.from_table(rows, metrics={"hit": entry})
    assert isinstance(table.metrics["hit"], Metric)
    assert table.compare_all(margin="declared", **FEW)["margin"].to_list() == [0.2]
    with pytest.raises(MetricInputError, match=r"metrics\.hit: hit: a smallest_difference and its source go together"):
        Scores.from_table(rows, metrics={"hit": {"smallest_difference": 0.2}})


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        (0, "margin 0 is not above 0"),
        (-1, "margin -1 is not above 0"),
        (float("nan"), "margin nan is not a finite number"),
        ("wide", "margin 'wide' is not a finite number"),
        (1_000, "is as large as its range"),
        ({}, "no margin of 'reward'; give the smallest difference that matters"),
        ({"reward": 0.1, "nothing": 1}, "no metric 'nothing'"),
    ],
)
def test_refusals(scores: Scores, margin: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        scores.compare_all(metrics=["reward"], margin=margin, **FEW)


def test_the_signature_has_the_margin_where_one_is_given(scores: Scores) -> None:
    plain = scores.sign(metrics=["reward"])
    signed = scores.sign(metrics=["reward"], margin={"reward": 0.1})
    assert Signature.parse(plain).margin is None
    assert Signature.parse(signed).margin == "0.1"
    assert signed.replace("|margin:0.1", "") == plain


def test_command(call: Call, tmp_path: Path, scores: Scores) -> None:
    path = tmp_path / "scores.parquet"
    scores.write(path)
    status, out, err = call("compare", "--scores", path, "--margin", "reward=0.1", "--format", "json", *QUICK)
    assert (status, err) == (0, "")
    expected = scores.compare_all(metrics=["reward"], margin=0.1, resamples=200)
    assert strict_json(out)["comparisons"] == expected.to_dicts()
    assert Signature.parse(strict_json(out)["metadata"]["signature"]).margin == "0.1"
    text = call("compare", "--scores", path, "--margin", 0.1, *QUICK)[1]
    assert "verdict" in text
    assert "practically the same where Holm p same is 0.05 or less" in " ".join(text.split())
    for margin, message in (
        (["x"], "'x' is not a number; expected VALUE, METRIC=VALUE or declared"),
        (["1", "2"], "--margin 1 2: expected VALUE, declared, or METRIC=VALUE once for each metric"),
        (["declared"], "its entry declares no smallest difference"),
    ):
        status, _, err = call("compare", "--scores", path, "--margin", *margin, *QUICK)
        assert (status, err.count("\n")) == (2, 1)
        assert message in err


@pytest.mark.slow
def test_page(scores: Scores) -> None:
    assert "Holm p same" not in scores.report(format="html", resamples=50)
    page = scores.report(format="html", resamples=50, margin={"reward": 0.1})
    assert "Holm p same" in page
    assert "margin:0.1" in page
    with pytest.raises(ValueError, match="are for format='html'"):
        scores.report(margin=0.1)


def test_a_margin_is_of_units_that_count_once(make_scores: Callable[..., Scores]) -> None:
    scores = make_scores(["a", "b"], conversations=8)
    with pytest.raises(MetricInputError, match="in a comparison with a margin each unit counts once; leave out weight"):
        scores.compare_all(metrics=["composite_score"], margin=1, weight="participant", resamples=50)
