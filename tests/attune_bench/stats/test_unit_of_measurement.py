"""What is decided about models does not depend on the unit in which their values are measured."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.analyses.models import win_rates
from attune_bench.stats.comparison import compare_all
from attune_bench.stats.options import SamplingKeywords
from attune_bench.stats.ranking import rank
from attune_bench.stats.subgroups import subgroups
from attune_bench.stats.tiers import tiers
from attune_metrics.stats.arrays import average_ranks
from attune_metrics.stats.ranking import rank_intervals
from attune_metrics.stats.resampling import draw_resamples

MEASURED = ("value", "difference", "difference_low", "difference_high", "mde")


def scores_of(values: Mapping[str, Sequence[float]], factor: float, *, of_cluster: int = 2) -> Scores:
    rows = [
        (model, f"u{unit:03}", f"p{unit // of_cluster}", "points", value * factor)
        for model, own in values.items()
        for unit, value in enumerate(own)
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row")
    low, high = sorted((0 * factor, 6 * factor))
    return Scores.from_table(
        frame, metrics={"points": {"low": low, "high": high, "higher_is_better": factor > 0, "scale": 10}}
    )


def decided(frame: pl.DataFrame, *measured: str) -> pl.DataFrame:
    """Return what a frame says without its values, which are in the unit of the scores."""
    return frame.drop(*MEASURED, *measured, strict=False)


@pytest.mark.parametrize("factor", [10, 1 / 10, 1 / 3, 2.0**-7, 2.0**9, -1, -1 / 3])
def test_verdicts_p_ranks_and_tiers_are_those_of_any_unit(factor: float) -> None:
    source = np.random.default_rng(4)
    values = {f"m{model}": (source.integers(0, 4 + model, 24) * 1.0).tolist() for model in range(4)}
    known = [f"u{unit:03}" for unit in range(24)]
    options: SamplingKeywords = {"resamples": 400}

    def found(scores: Scores) -> list[pl.DataFrame]:
        halves = subgroups(scores, {"half": known[::2]}, known=known, compare=True, **options)
        return [
            decided(compare_all(scores, **options), "low", "high"),
            decided(halves, "low", "high"),
            decided(rank(scores, **options)),  # low and high are ranks
            decided(win_rates(scores, **options)),
            decided(tiers(scores, **options).models),
        ]

    for one, same in zip(found(scores_of(values, 1)), found(scores_of(values, factor)), strict=True):
        assert same.equals(one), (one, same)


VALUES = [[5, 5, 2, 2, 4, 2, 2, 2, 0, 0, 2, 2, 0, 2], *np.random.default_rng(0).integers(0, 6, (4, 14)).tolist()]


@pytest.mark.parametrize("values", VALUES)
def test_p_of_a_subgroup_counts_differences_that_only_rounding_separates_from_zero(values: list[int]) -> None:
    known = [f"u{unit:03}" for unit in range(14)]
    strata = {"first": known[:7], "last": known[7:]}
    of_one, of_tenth = (
        subgroups(scores_of({"m": values}, factor, of_cluster=1), strata, known=known, compare=True, resamples=2000)
        for factor in (1, 1 / 10)
    )
    assert decided(of_one, "low", "high").equals(decided(of_tenth, "low", "high"))
    assert of_one["p"].null_count() == 0


def test_ranks_of_fifths_are_those_of_whole_numbers() -> None:
    source = np.random.default_rng(0)
    for _ in range(60):
        whole = source.integers(0, 6, (6, 12)) * 1.0
        units = [f"u{unit}" for unit in range(12)]
        drawn = draw_resamples(units, n_resamples=200)
        assert rank_intervals(whole / 5, drawn) == rank_intervals(whole, drawn)


def test_neighbours_that_are_apart_by_more_than_rounding_do_not_tie() -> None:
    assert average_ranks(np.array([1.0, 1 + 1e-13, 2]), 1e-12).tolist() == [1.5, 1.5, 3]
    assert average_ranks(np.array([1.0, 1 + 1e-11, 2]), 1e-12).tolist() == [1, 2, 3]
