"""What is decided about models does not depend on the unit in which their values are measured."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest
from slow_cases import slow_after, slow_except

from attune_bench import Scores
from attune_bench.analyses.models import win_rates
from attune_bench.stats.compare import compare_all
from attune_bench.stats.options import SamplingKeywords, sorted_groups
from attune_bench.stats.rank import rank, tiers
from attune_bench.stats.subgroups import subgroups
from attune_metrics.stats.bootstrap import Method, bootstrap, draw_resamples
from attune_metrics.stats.ranking import rank_intervals
from attune_metrics.stats.repeats import rank_shares
from attune_metrics.stats.sums import average_ranks

MEASURED = ("value", "difference", "difference_low", "difference_high", "mde", "margin", "p_same", "p_same_holm")
FACTORS = [10, 1 / 10, 1 / 3, 2.0**-7, 2.0**9, -1, -1 / 3]


def scores_of(
    values: Mapping[str, Sequence[float]], factor: float, *, of_cluster: int = 2, low: float | None = 0
) -> Scores:
    rows = [
        (model, f"u{unit:03}", f"p{unit // of_cluster}", "points", value * factor)
        for model, own in values.items()
        for unit, value in enumerate(own)
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row")
    ends = {} if low is None else dict(zip(("low", "high"), sorted((low * factor, 6 * factor)), strict=True))
    return Scores.from_table(frame, metrics={"points": {**ends, "higher_is_better": factor > 0, "scale": 10}})


def decided(frame: pl.DataFrame, *measured: str) -> pl.DataFrame:
    """Return what a frame says without its values, which are in the unit of the scores."""
    return frame.drop(*MEASURED, *measured, strict=False)


@pytest.mark.parametrize("factor", slow_after(3, FACTORS))
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


def signs(frame: pl.DataFrame, factor: float) -> pl.DataFrame:
    """Return a comparison with what is decided of the ends of its intervals: on which side of 0 they are."""
    better, worse = ("low", "high") if factor > 0 else ("high", "low")
    sides = {"low": pl.col(better), "high": pl.col(worse), "side": pl.col("difference")}
    return decided(frame.with_columns(**{name: (end * factor).sign() for name, end in sides.items()}))


@pytest.mark.parametrize("interval", slow_except(["percentile-expanded", "percentile", "bca"], "percentile-expanded"))
@pytest.mark.parametrize("origin", [0, 1e7])
def test_differences_are_decided_alike_in_any_unit_and_from_any_origin(interval: Method, origin: float) -> None:
    # Far from 0, tenths differ by what rounding makes of large numbers, and no more of it is known.
    for seed in range(4):
        source = np.random.default_rng(seed)
        values = {f"m{model}": (source.integers(0, 4, 9 + seed) + origin).tolist() for model in range(3)}

        def found(factor: float, values: Mapping[str, Sequence[float]] = values) -> pl.DataFrame:
            margin = abs(factor)
            return compare_all(
                scores_of(values, factor, of_cluster=1, low=None), resamples=200, interval=interval, margin=margin
            )

        one = found(1)
        for factor in FACTORS:
            same = found(factor)
            assert signs(same, factor).equals(signs(one, 1)), (seed, factor)
            assert same["p_same"].to_list() == pytest.approx(one["p_same"].to_list(), rel=1e-4, nan_ok=True)


def test_models_that_only_rounding_separates_are_in_the_order_of_their_names() -> None:
    values = {"a": [1, 5], "b": [6, 0]}
    assert 6 * (1 / 10) > 1 / 10 + 5 * (1 / 10)
    for factor in (1, 1 / 10):
        table = scores_of(values, factor)
        assert [model for model, _ in sorted_groups(table)] == ["a", "b"]
        assert compare_all(table, resamples=50).select("model_a", "difference").rows() == [("a", 0)]


def test_shares_of_ranks_that_tie_in_a_chain_are_those_of_the_ranks() -> None:
    step = 0.6e-12
    shares = rank_shares([[1.0], [1 + step], [1 + 2 * step]])
    assert shares.tolist() == [[1 / 3] * 3] * 3


@pytest.mark.parametrize("scale", [1e-300, 1e-120, 1e160, 1e300])
def test_bca_corrects_alike_at_any_scale(scale: float) -> None:
    values, drawn = [3, 1, 4, 1, 5, 9, 2, 6], draw_resamples(range(8), n_resamples=200)
    [one], [other] = (bootstrap(np.array(values) * factor, drawn, method="bca") for factor in (1, scale))
    assert (other.low / scale, other.high / scale) == pytest.approx((one.low, one.high), rel=1e-12)
