"""Ratings of models from their scores: who wins by the metric's direction, groups, clusters, command and page."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.stats.rank import ratings
from attune_metrics import MetricInputError
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.pairwise_ratings import bradley_terry_ratings

Call = Callable[..., tuple[int, str, str]]
COLUMNS = [
    *("condition", "metric", "model", "strength", "low", "high", "wins", "ties", "losses", "group", "rank", "n"),
    *("clusters", "reason"),
]


def table(values: Mapping[str, Sequence[float | None]], *, clusters: int = 8, lower: bool = False) -> Scores:
    rows = [
        {"model": model, "unit": f"u{i:02}", "cluster": f"c{i % clusters}", "metric": "hit", "value": value}
        for model, of_model in values.items()
        for i, value in enumerate(of_model)
    ]
    frame = pl.DataFrame(rows, schema_overrides={"value": pl.Float64}, infer_schema_length=None)
    return Scores.from_table(frame, metrics={"hit": {"higher_is_better": not lower}})


A = [3.0, 3, 3, 3, 1, 2, 3, 1] * 4
B = [2.0, 2, 2, 2, 2, 2, 2, 2] * 4


def test_two_models_by_hand() -> None:
    # Of eight units five are won, one is a tie and two are lost: 5.5 of 8, four times over.
    found = table({"a": A, "b": B}).ratings(resamples=300)
    assert found.columns == COLUMNS
    first, second = found.to_dicts()
    assert (first["model"], first["wins"], first["ties"], first["losses"]) == ("a", 20, 4, 8)
    assert (second["model"], second["wins"], second["ties"], second["losses"]) == ("b", 8, 4, 20)
    assert (first["group"], first["rank"], second["rank"], first["n"], first["clusters"]) == (1, 1, 2, 32, 8)
    assert first["strength"] == pytest.approx(log(5.5 / 2.5) / 2, abs=1e-12)
    assert second["strength"] == pytest.approx(-first["strength"], abs=1e-12)


def test_lower_values_win_where_they_are_better() -> None:
    higher, lower = (table({"a": A, "b": B}, lower=one).ratings(resamples=100) for one in (False, True))
    assert lower["model"].to_list() == ["b", "a"]
    assert lower["wins"].to_list() == higher["wins"].to_list()


def test_intervals_draw_clusters_unless_units_are_asked_for() -> None:
    scores = table({"a": A, "b": B, "c": [2.0, 3, 2, 1] * 8}, clusters=10)
    left, right, outcome, units = [], [], [], []
    values = {"a": A, "b": B, "c": [2.0, 3, 2, 1] * 8}
    for a, b in ("ab", "ac", "bc"):
        for i, (x, y) in enumerate(zip(values[a], values[b], strict=True)):
            left.append(a)
            right.append(b)
            outcome.append((x > y) + (x == y) / 2)
            units.append(i)
    for unit, labels in (("cluster", [f"c{i % 10}" for i in units]), ("unit", [f"u{i:02}" for i in units])):
        resamples = draw_resamples(labels, n_resamples=400, seed=5)
        expected = bradley_terry_ratings(left, right, outcome, resamples, method="percentile-expanded").models
        found = scores.ratings(resamples=400, seed=5, unit=unit)
        for row, one in zip(found.to_dicts(), expected, strict=True):
            assert (row["model"], row["rank"]) == (one.model, one.rank)
            ends = one.strength.estimate, one.strength.low, one.strength.high
            assert (row["strength"], row["low"], row["high"]) == pytest.approx(ends, nan_ok=True)
            assert row["low"] < row["strength"] < row["high"]


def test_models_without_common_units_are_other_groups() -> None:
    none = [None] * 32
    found = table(
        {"a": [*A, *none], "b": [*B, *none], "c": [*none, *A], "d": [*none, *B], "e": [None] * 64}, clusters=32
    )
    rows = {row["model"]: row for row in found.ratings(resamples=300).to_dicts()}
    assert {name: row["group"] for name, row in rows.items()} == {"a": 1, "b": 1, "c": 2, "d": 2, "e": None}
    assert rows["a"]["strength"] == pytest.approx(rows["c"]["strength"])
    assert rows["c"]["reason"] == "compared within group 2 of 2 only"
    assert (rows["e"]["strength"], rows["e"]["reason"]) == (None, "has no unit with another model")


def test_an_unbeaten_model_has_no_strength() -> None:
    rows = {row["model"]: row for row in table({"a": [9.0] * 32, "b": A, "c": B}).ratings(resamples=300).to_dicts()}
    assert (rows["a"]["strength"], rows["a"]["rank"], rows["a"]["wins"]) == (None, None, 64)
    assert rows["a"]["reason"] == "won every comparison"
    assert (rows["a"]["group"], rows["b"]["group"], rows["c"]["group"]) == (1, 2, 2)


def test_few_clusters_have_no_interval() -> None:
    first = table({"a": A, "b": B}, clusters=4).ratings(resamples=300).row(0, named=True)
    assert (first["low"], first["reason"]) == (None, "fewer than 5 clusters")
    assert first["strength"] is not None


def test_one_model_has_no_rating() -> None:
    assert table({"a": A}).ratings(resamples=50).is_empty()


def test_no_bca() -> None:
    with pytest.raises(MetricInputError, match="no BCa interval of a strength"):
        ratings(table({"a": A, "b": B}), interval="bca")


def test_the_order_of_rows_does_not_matter() -> None:
    scores = table({"a": A, "b": B, "c": [2.0, 3, 2, 1] * 8})
    again = replace(scores, values=scores.values.sample(fraction=1, shuffle=True, seed=3))
    assert again.ratings(resamples=100).equals(scores.ratings(resamples=100))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "scores.parquet"
    table({"a": A, "b": B, "c": [2.0, 3, 2, 1] * 8}).write(path)
    return path


def test_command(call: Call, results: Path) -> None:
    status, out, err = call("analyze", "ratings", "--scores", results, "--resamples", 300)
    assert (status, err) == (0, "")
    assert "Ratings, hit" in out
    assert "Strength: Bradley-Terry, in log odds; 0 is the mean of the models." in out
    status, out, _ = call("analyze", "ratings", "--scores", results, "--resamples", 300, "--format", "json")
    found: Any = json.loads(out)["ratings"]
    assert [row["model"] for row in found["rows"]] == ["a", "c", "b"]
    assert "analyze%20ratings" in found["metadata"]["signature"]


def test_page(results: Path) -> None:
    scores = Scores.read(results)
    page = scores.report(format="html", resamples=200)
    assert "Ratings, hit" in page
    assert "a strength has no BCa interval" in scores.report(format="html", resamples=200, interval="bca")
