"""Bootstrap intervals of agreement: those of the measure itself on the units that each resample holds."""

import warnings
from collections.abc import Callable
from functools import partial
from math import isnan, nan
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.agreement import (
    KappaWeights,
    MeasurementLevel,
    cohen_kappa,
    cohen_kappa_interval,
    fleiss_kappa,
    fleiss_kappa_interval,
    krippendorff_alpha,
    krippendorff_alpha_interval,
)
from attune_metrics.stats.bootstrap import Interval, Resamples, draw_resamples

Table = NDArray[np.float64]
LEVELS: tuple[MeasurementLevel, ...] = get_args(MeasurementLevel)
PEOPLE = [f"p{number % 17}" for number in range(40)]


def draw_ratings(missing: float) -> Table:
    # A true category for each unit, which every rater hits or misses by one.
    random = np.random.default_rng(11)
    ratings: Table = random.integers(1, 5, size=(40, 1)) + random.choice([0, 0, 0, 1], size=(40, 3)).astype(float)
    ratings[random.random(ratings.shape) < missing] = nan
    return ratings


def cohen_case(weights: KappaWeights | None) -> "Case":
    def measure(ratings: Table) -> float:
        return cohen_kappa(ratings[:, 0], ratings[:, 1], weights=weights)

    def interval(ratings: Table, resamples: Resamples, **options: Any) -> Interval:
        return cohen_kappa_interval(ratings[:, 0], ratings[:, 1], resamples, weights=weights, **options)

    return draw_ratings(0), measure, interval


def alpha_case(level: MeasurementLevel) -> "Case":
    return (
        draw_ratings(0.2),
        partial(krippendorff_alpha, level=level),
        partial(krippendorff_alpha_interval, level=level),
    )


Case = tuple[Table, Callable[[Table], float], Callable[..., Interval]]
WEIGHTS: tuple[KappaWeights | None, ...] = (None, "linear", "quadratic")
CASES: dict[str, Case] = {
    **{f"cohen {weights}": cohen_case(weights) for weights in WEIGHTS},
    "fleiss": (draw_ratings(0), fleiss_kappa, fleiss_kappa_interval),
    **{f"alpha {level}": alpha_case(level) for level in LEVELS},
}


def resampled(ratings: Table, resamples: Resamples, measure: Callable[[Table], float]) -> Table:
    drawn = np.asarray(resamples.counts)[:, resamples.clusters]
    return np.array([measure(np.repeat(ratings, counts, axis=0)) for counts in drawn])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("people", [PEOPLE, list(range(40))], ids=["clusters", "units"])
def test_percentiles_of_the_measure_on_each_resample(name: str, people: list[Any]) -> None:
    ratings, measure, interval = CASES[name]
    resamples = draw_resamples(people, n_resamples=300, seed=5)
    found = interval(ratings, resamples, method="percentile", confidence=0.9)
    low, high = np.quantile(resampled(ratings, resamples, measure), [0.05, 0.95])
    assert found.estimate == pytest.approx(measure(ratings), abs=1e-12)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    rated = (~np.isnan(ratings)).sum(axis=1) > 1
    assert found.n == rated.sum()
    assert found.clusters == len({person for person, has in zip(people, rated, strict=True) if has})
    assert (found.level, found.method, found.reason) == (0.9, "percentile", None)


@pytest.mark.parametrize("name", CASES)
def test_methods_and_order_of_units(name: str) -> None:
    ratings, _, interval = CASES[name]
    resamples = draw_resamples(PEOPLE, n_resamples=2000, seed=5)
    plain, wide, bca = (interval(ratings, resamples, method=m) for m in ("percentile", "percentile-expanded", "bca"))
    assert wide.low < plain.low < plain.estimate < plain.high < wide.high
    assert bca.low < bca.estimate < bca.high
    order = np.random.default_rng(3).permutation(len(ratings))
    shuffled = draw_resamples([PEOPLE[unit] for unit in order], n_resamples=2000, seed=5)
    assert interval(ratings[order], shuffled) == wide


@pytest.mark.parametrize("name", CASES)
def test_more_units_give_narrower_intervals(name: str) -> None:
    ratings, _, interval = CASES[name]
    few = interval(ratings, draw_resamples(range(40), n_resamples=2000))
    many = interval(np.tile(ratings, (9, 1)), draw_resamples(range(360), n_resamples=2000))
    assert many.high - many.low < (few.high - few.low) / 2


def test_ranks_are_those_of_all_units() -> None:
    resamples = draw_resamples(PEOPLE, n_resamples=200)
    ratings = draw_ratings(0)
    one, other, _ = ratings.T
    # The ranks of 10, 100, ... are those of 1, 2, ...
    by_rank = cohen_kappa_interval(10**one, 10**other, resamples, weights="quadratic", by="rank")
    assert by_rank == cohen_kappa_interval(one, other, resamples, weights="quadratic")


def test_text_ratings() -> None:
    resamples = draw_resamples(range(40), n_resamples=200)
    ratings = draw_ratings(0)
    text = ratings.astype(int).astype(str)
    assert fleiss_kappa_interval(text, resamples) == fleiss_kappa_interval(ratings, resamples)
    ratings, text = ratings.T, text.T
    assert cohen_kappa_interval(text[0], text[1], resamples) == cohen_kappa_interval(ratings[0], ratings[1], resamples)


@pytest.mark.parametrize("level", LEVELS)
def test_no_interval(level: MeasurementLevel) -> None:
    # No warning: the reason is in the result.
    def interval(ratings: Any, people: Any) -> Interval:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UndefinedMetricWarning)
            return krippendorff_alpha_interval(ratings, draw_resamples(people, n_resamples=500), level=level)

    for ratings, people, estimate, n, reason in (
        ([[1, 1], [2, 2], [3, 3]], "abc", 1, 3, "the statistic is undefined in"),
        ([[1, 1], [2, 3], [3, 3]], "aaa", None, 3, "all values are in one cluster"),
        ([[1, None], [None, 2]], "ab", nan, 0, "no unit has a value"),
        ([[None, None], [None, None]], "ab", nan, 0, "no unit has a value"),
        ([[2, 2], [2, 2], [2, 2]], "abc", nan, 3, "the statistic is undefined"),
        ([[i, i] for i in range(20)], range(20), 1, 20, "no variation among clusters"),
    ):
        found = interval(ratings, list(people))
        assert estimate is None or found.estimate == pytest.approx(estimate, abs=0, nan_ok=True)
        assert found.n == n
        assert isnan(found.low)
        assert isnan(found.high)
        assert found.reason
        assert found.reason.startswith(reason)


def test_malformed() -> None:
    resamples = draw_resamples(range(3))
    with pytest.raises(MetricInputError, match="has 2 units"):
        fleiss_kappa_interval([[1, 2], [1, 1]], resamples)
    with pytest.raises(MetricInputError, match="level 95"):
        cohen_kappa_interval([1, 2, 3], [1, 2, 2], resamples, confidence=95)
    with pytest.raises(MetricInputError, match="unknown method 'wald'"):
        krippendorff_alpha_interval([[1, 2]] * 3, resamples, level="ratio", method="wald")  # type: ignore[arg-type]
