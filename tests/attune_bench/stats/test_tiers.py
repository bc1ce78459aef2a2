"""Tiers of models from their scores, and tests of so many pairs that the usual resamples are too few."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.stats.compare import compare_all, enough_exchanges
from attune_bench.stats.rank import tiers
from attune_metrics.stats.comparison import Pairs, PermutationTest, permutation_test_of_pairs


def scores_of(values: Mapping[str, Sequence[float | None]], **about: str) -> Scores:
    rows = [(model, f"u{unit:03}", "hit", value) for model, own in values.items() for unit, value in enumerate(own)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return Scores.from_table(frame, metrics={"hit": {}}, about=about)


def test_models_are_in_the_tiers_that_the_comparisons_give() -> None:
    # Of 10 units one model is above the other by 1 in each: p is 2 / 2^10, times 3 pairs 0.006. The third differs from
    # the first in 5 units, p at least 2 / 2^5 = 0.0625, and from the second in 5 others.
    values = {"b": [1.0] * 10, "a": [2.0] * 10, "c": [2.0] * 5 + [1.0] * 5}
    found = tiers(scores_of(values))
    rows = found.models.select("model", "rank", "tier", "tier_first", "tier_last").rows()
    # c does not differ significantly from b, which begins the second tier.
    assert rows == [("a", 1.0, 1, 1, 1), ("c", 2.0, 1, 1, 2), ("b", 3.0, 2, 1, 2)]
    assert found.pairs.select("model_a", "model_b", "significant").rows() == [
        ("a", "c", False),
        ("a", "b", True),
        ("c", "b", False),
    ]


def test_a_model_without_a_value_has_no_tier() -> None:
    found = tiers(scores_of({"a": [1.0, 2.0], "none": [None, None]}), resamples=50)
    assert found.models.select("model", "tier", "reason").rows()[1] == ("none", None, "no unit has a value")


def test_one_model() -> None:
    found = tiers(scores_of({"a": [1.0, 2.0]}), resamples=50)
    assert found.models["tier"].to_list() == [1]
    assert found.pairs.is_empty()


@pytest.mark.parametrize(("pairs", "resamples", "enough"), [(3655, 10_000, 146_200), (0, 50, 50), (2, 50, 80)])
def test_enough_exchanges(pairs: int, resamples: int, enough: int) -> None:
    # The smallest p-value is one of all exchanges and one more: times the pairs it is below 0.025.
    assert enough_exchanges(pairs, resamples) == enough
    assert pairs / (1 + enough) < 0.025


def _many() -> Scores:
    source = random.Random(1)
    units = [source.random() for _ in range(30)]
    level = {f"m{place}": 0.02 * (place // 3) for place in range(12)}
    values: dict[str, list[float | None]] = {
        model: [unit + more + source.gauss(0, 0.01) for unit in units] for model, more in level.items()
    }
    values["m0"][3] = values["m5"][7] = None  # 29 units each, of other units
    return scores_of(values)


@pytest.mark.slow
def test_many_models_that_differ_are_all_found_by_every_analysis() -> None:
    # 40 models, 780 pairs, each of which differs in 20 units by far more than the noise: with 10,000 exchanges the
    # smallest corrected p-value would be 780 / 10,001.
    source = random.Random(1)
    values = {f"m{place:02}": [place + source.gauss(0, 0.1) for _ in range(20)] for place in range(40)}
    scores = scores_of(values)
    every = compare_all(scores, resamples=100)
    assert every["significant"].sum() == every.height == 780
    assert tiers(scores, resamples=100).models["tier"].to_list() == [*range(1, 41)]
    ends = compare_all(scores.keep(groups=[("m00", None), ("m01", None)]), resamples=100)
    both = every.filter(model_a="m01", model_b="m00")
    # Intervals are those of the resamples, and of the exchanges more are made.
    assert both.select("difference", "low", "high").equals(ends.select("difference", "low", "high"))
    assert (both["p_min"].item(), ends["p_min"].item()) == (1 / 31_201, 1 / 101)


def test_pairs_that_lack_different_units_are_tested_as_alone() -> None:
    scores = _many()
    every = compare_all(scores, resamples=2_640)
    for row in every.sample(6, seed=1).iter_rows(named=True):
        alone = scores.compare(row["model_a"], row["model_b"], resamples=2_640).row(0, named=True)
        assert (row["p"], row["p_min"], row["n"]) == (alone["p"], alone["p_min"], alone["n"])


@pytest.mark.parametrize("weight", ["unit", "cluster"])
def test_pairs_in_small_blocks_have_the_same_digits(monkeypatch: pytest.MonkeyPatch, weight: Any) -> None:
    # 6 models of 20 clusters of 2 units; each lacks another unit, but two lack none, and two a whole cluster.
    source = random.Random(2)
    lacking = {0: {0}, 1: {2}, 2: {5, 6}, 3: {8, 9}}
    rows = [
        (f"m{number}", f"u{unit:02}", f"c{unit // 2:02}", "hit", source.gauss(number / 9, 1))
        for number in range(6)
        for unit in range(40)
        if unit not in lacking.get(number, set())
    ]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row"))
    cells: list[int] = []

    def counted(pairs: Pairs, **options: Any) -> list[PermutationTest]:
        cells.append(pairs.sums[..., 0].size)
        return permutation_test_of_pairs(pairs, **options)

    monkeypatch.setattr("attune_bench.stats.compare.permutation_test_of_pairs", counted)
    options: Any = {"resamples": 200, "weight": weight, **({} if weight == "cluster" else {"margin": 0.3})}
    whole, together = compare_all(scores, **options), len(cells)
    monkeypatch.setattr("attune_bench.stats.compare._MOST_CELLS", 100)  # 5 sides of 20 clusters
    assert compare_all(scores, **options).equals(whole)
    assert max(cells[together:]) <= 100 < max(cells[:together])


@pytest.mark.parametrize("higher", [True, False])
def test_a_tier_does_not_say_that_a_model_is_worse_which_is_better_on_the_same_units(higher: bool) -> None:
    # On the 20 units that both have, b is better by 1 in each: p is far below 0.05. The 20 others of a are easy and
    # those of b hard, so that the mean of a, (9.5 + 5) / 2, is above that of b, (6 + 0) / 2.
    side = 1 if higher else -1
    values = {"a": [9.5] * 20 + [5.0] * 20 + [None] * 20, "b": [None] * 20 + [6.0] * 20 + [0.0] * 20}
    rows = [
        (model, f"u{unit:03}", "hit", None if value is None else side * value)
        for model, own in values.items()
        for unit, value in enumerate(own)
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    scores = Scores.from_table(frame, metrics={"hit": {"higher_is_better": higher}}, about={"unit": "question"})
    with pytest.warns(UserWarning, match="worse on the questions that both have: b below a; each"):
        found = tiers(scores, resamples=200)
    assert found.pairs["significant"].to_list() == [True]
    assert found.models.select("model", "rank", "tier", "tier_first", "tier_last").rows() == [
        ("a", 1.0, 1, 1, 1),
        ("b", 2.0, 1, 1, 1),
    ]


def test_models_without_a_unit_in_common_are_named() -> None:
    # d has no value, so no rank that could mislead.
    values: dict[str, list[float | None]] = {
        "a": [1.0, 2.0, None],
        "b": [None, 2.0, 3.0],
        "c": [None, None, 3.0],
        "d": [None] * 3,
    }
    with pytest.warns(UserWarning, match="no unit in common: c and a; the ranks of such two do not say which is"):
        found = tiers(scores_of(values), resamples=50)
    assert found.models["tier"].to_list() == [1, 1, 1, None]
