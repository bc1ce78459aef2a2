"""Judges corrected by people: by hand, an independent tool, properties, refusals, cautions, and how many labels."""

import warnings
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attune_metrics import MetricInputError
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import bootstrap, draw_resamples
from attune_metrics.stats.judges import (
    PredictionPowered,
    prediction_powered,
    prediction_powered_difference,
)
from attune_metrics.stats.power import labels_needed

# Generated: 40 scores, and the ratings of 12 of them drawn at random.
JUDGED = [
    2.39, 5.97, 4.17, 6.43, 2.01, 5.41, 6.43, 3.13, 5.89, 4.99, 2.46, 5.71, 5.66, 3.96, 4.52, 4.77, 4.08, 3.76, 5.7,
    2.91, 2.99, 4.66, 5.0, 2.58, 3.61, 2.01, 2.11, 6.75, 6.14, 6.65, 4.51, 3.66, 1.8, 4.41, 2.77, 3.37, 6.22, 6.18,
    1.02, 6.47,
]  # fmt: skip
PLACES = [3, 6, 13, 15, 16, 19, 24, 26, 27, 30, 31, 37]
RATINGS = [6.24, 5.04, 4.26, 5.17, 4.53, 2.03, 3.12, 1.0, 6.52, 4.58, 2.57, 5.18]


def corrected(judged: Any, rated: Any, clusters: Any = None, resamples: int = 200, **options: Any) -> PredictionPowered:
    """Return the correction of one series, without warnings."""
    drawn = draw_resamples(range(len(judged)) if clusters is None else clusters, n_resamples=resamples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        [found] = prediction_powered(judged, rated, drawn, **options)
    return found


def ends(found: PredictionPowered) -> tuple[float, float, float]:
    return found.corrected.estimate, found.corrected.low, found.corrected.high


def rated_at(places: list[int], ratings: list[float], units: int) -> list[float]:
    rated = np.full(units, nan)
    rated[places] = ratings
    return rated.tolist()


GENERATED = JUDGED, rated_at(PLACES, RATINGS, 40)


def test_by_hand() -> None:
    # Rated: j 1, 2, 3 and h 1, 3, 2: means 2 and 2, covariance (1 + 0) / 3, variance 2 / 3, b = 1 / 2. Mean of all j is
    # 20 / 5 = 4, so that the estimate is 2 + (4 - 2) / 2. The variance of h is 2 / 3 too: the correlation is 1 / 2.
    found = corrected([1, 2, 3, 6, 8], [1, 3, 2, nan, nan])
    assert found.corrected.estimate == pytest.approx(3, abs=1e-12)
    assert (found.slope, found.correlation) == pytest.approx((0.5, 0.5), abs=1e-12)
    assert (found.judge.estimate, found.people.estimate) == (4, 2)
    assert (found.judge.n, found.corrected.n, found.judge.clusters, found.corrected.clusters) == (5, 3, 5, 3)


def test_ppi_python() -> None:
    # ppi-python 0.2.3: ppi_mean_pointestimate(h, j of the rated, j of all, lam=1), then with lam the slope of the
    # data; lam=28 / 40 with the other 28 scores gives the first value again.
    assert corrected(*GENERATED, slope=1).corrected.estimate == pytest.approx(3.9015, abs=1e-9)
    tuned = corrected(*GENERATED)
    assert tuned.slope == pytest.approx(1.0202984120664096, abs=1e-9)
    assert tuned.corrected.estimate == pytest.approx(3.895711569492396, abs=1e-9)
    assert corrected(*GENERATED, slope=tuned.slope).corrected.estimate == pytest.approx(
        tuned.corrected.estimate, abs=1e-12
    )


def test_truescore() -> None:
    # truescore 0.7.4: ppi_estimate(scores, ratings, places), which chooses lambda_ 0.58..., and with lambda_ 0.35; b is
    # lambda_ over the share of units that nobody rated.
    for chosen, point in ((0.5819683301462378, 3.94958385407614), (0.35, 4.044083333333333)):
        assert corrected(*GENERATED, slope=chosen * 40 / 28).corrected.estimate == pytest.approx(point, abs=1e-12)


def test_slope_0_is_what_people_say_alone() -> None:
    found = corrected(*GENERATED, slope=0)
    assert ends(found) == pytest.approx((found.people.estimate, found.people.low, found.people.high), abs=1e-12)
    assert found.equivalent_ratings == pytest.approx(12)


def test_an_uncorrelated_judge_corrects_nothing() -> None:
    found = corrected([1, 1, 3, 3, 9, 9], [2, 4, 2, 4, nan, nan])
    assert (found.slope, found.correlation, found.corrected.estimate) == (0, 0, 3)


def test_constant_ratings() -> None:
    found = corrected([*range(1, 9), 30], [0.3] * 8 + [nan])
    assert (found.slope, found.corrected.estimate) == (0, 0.3)
    assert isnan(found.correlation)
    assert found.corrected.reason == "no variation among clusters"
    assert "the ratings do not vary" in found.cautions[1]


@pytest.mark.parametrize("method", ["percentile-expanded", "percentile", "bca"])
def test_all_rated_is_the_mean_of_the_ratings(method: Any) -> None:
    rated = np.random.default_rng(1).normal(size=40)
    found = corrected(JUDGED, rated, method=method)
    [mean] = bootstrap(rated, draw_resamples(range(40), n_resamples=200), method=method)
    assert ends(found) == pytest.approx((mean.estimate, mean.low, mean.high), abs=1e-12)
    assert found.equivalent_ratings == pytest.approx(40)
    assert found.people == mean


@given(st.permutations(range(40)))
def test_the_order_of_units_does_not_matter(order: list[int]) -> None:
    labels = [str(place // 2) for place in range(40)]
    judged, rated = (np.array(one) for one in GENERATED)
    first = corrected(judged, rated, labels, 50)
    again = corrected(judged[order], rated[order], [labels[place] for place in order], 50)
    assert repr(first) == repr(again)


@given(st.floats(-5, 5), st.floats(0.1, 9), st.floats(-100, 100))
def test_scale_and_shift(shift: float, factor: float, of_judge: float) -> None:
    first = corrected(*GENERATED, resamples=50)
    judged, rated = (np.array(one) for one in GENERATED)
    moved = corrected(factor * judged + of_judge, 2 * rated + shift, resamples=50)
    assert np.array(ends(moved)) == pytest.approx(2 * np.array(ends(first)) + shift, abs=1e-9)
    assert moved.slope == pytest.approx(2 * first.slope / factor, rel=1e-9)
    assert (moved.correlation, moved.equivalent_ratings) == pytest.approx(
        (first.correlation, first.equivalent_ratings), rel=1e-9
    )


def test_clusters_are_drawn_whole() -> None:
    # Pairs of equal units: as many units again, no more information.
    single = corrected(*GENERATED)
    judged, rated = (np.repeat(one, 2) for one in GENERATED)
    paired = corrected(judged, rated, [place // 2 for place in range(80)])
    assert ends(paired) == pytest.approx(ends(single))
    assert (paired.judge.clusters, paired.corrected.clusters, paired.corrected.n) == (40, 12, 24)
    apart = corrected(judged, rated)
    assert apart.corrected.high - apart.corrected.low < 0.85 * (paired.corrected.high - paired.corrected.low)


def test_a_rating_without_a_score_counts_for_nothing() -> None:
    judged, rated = (np.array(one) for one in GENERATED)
    judged[3] = nan
    kept = np.arange(40) != 3
    first, second = corrected(judged, rated), corrected(judged[kept], rated[kept])
    assert (first.corrected.estimate, first.judge.n, first.corrected.n) == (second.corrected.estimate, 39, 11)


def test_series_share_the_resamples() -> None:
    judged, rated = (np.array(one) for one in GENERATED)
    resamples = draw_resamples(range(40), n_resamples=50)
    with pytest.warns(UnreliableIntervalWarning):
        both = prediction_powered([judged, judged[::-1]], [rated, rated[::-1]], resamples, slope=1)
    assert both[0].corrected.estimate == corrected(judged, rated, resamples=50, slope=1).corrected.estimate
    assert both[0].corrected.estimate == both[1].corrected.estimate


@pytest.mark.parametrize(
    ("judged", "rated", "reason"),
    [
        ([1, 2, 3], [nan, nan, nan], "no unit is rated"),
        ([1, 2, 3], [2, nan, nan], "fewer than 2 units are rated"),
        ([nan, 2, 3], [2, 1, nan], "fewer than 2 units are rated"),
        ([0.3, 0.1 + 0.2, 3], [2, 1, nan], "the judge scores all rated units the same"),
    ],
)
def test_what_has_no_correction(judged: list[float], rated: list[float], reason: str) -> None:
    found = corrected(judged, rated)
    assert found.corrected.reason is not None
    assert found.corrected.reason.startswith(reason)
    assert np.isnan([*ends(found), found.slope, found.equivalent_ratings]).all()
    assert found.cautions == ()
    assert not isnan(found.judge.estimate)


def test_many_clusters_are_drawn_as_ever() -> None:
    judged, people = drawn_data(20_001, 0.5)
    rated = np.where(np.arange(20_001) % 10 == 0, people, nan)
    found = corrected(judged, rated, resamples=40)
    assert found.corrected.low < people.mean() < found.corrected.high
    assert found.equivalent_ratings > 2 * found.corrected.n


def test_a_fixed_slope_needs_no_varying_judge() -> None:
    assert corrected([3, 3, 6], [2, 1, nan], slope=1).corrected.estimate == 2.5


def test_no_interval_where_resamples_often_lack_ratings() -> None:
    found = corrected([*range(1, 60)], [1, 2, *[nan] * 57])
    assert not isnan(found.corrected.estimate)
    assert isnan(found.corrected.low)
    assert isnan(found.equivalent_ratings)
    assert found.corrected.reason is not None
    assert "undefined in" in found.corrected.reason
    one = corrected([1, 2, 3, 4], [1, 2, nan, nan], clusters=["a", "a", "b", "c"])
    assert one.corrected.reason == "all values are in one cluster"


@pytest.mark.parametrize(
    ("judged", "rated", "options", "message"),
    [
        ([1, 2], [1, 2, 3], {}, "rated of shape"),
        ([[1, 2], [1, 2]], [1, 2], {}, "differ"),
        ([[[1, 2], [1, 2]]], [[[1, 2], [1, 2]]], {}, "2 terms of a unit"),
        ([1, 2], [1, np.inf], {}, "is inf"),
        ([1, "2"], [1, 2], {}, "convert text"),
        ([1, 2], [1, 2], {"slope": nan}, "slope nan"),
        ([1, 2], [1, 2], {"method": "t"}, "unknown method"),
        ([1, 2], [1, 2], {"level": 1}, "level 1"),
    ],
)
def test_wrong_input(judged: Any, rated: Any, options: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        prediction_powered(judged, rated, draw_resamples(range(2), n_resamples=9), **options)


def drawn_data(units: int, noise: float) -> tuple[Any, Any]:
    generator = np.random.default_rng(3)
    people = generator.normal(size=units)
    return people + noise * generator.normal(size=units), people


def test_no_caution_where_all_is_well(recwarn: pytest.WarningsRecorder) -> None:
    judged, people = drawn_data(200, 0.5)
    people[np.random.default_rng(4).permutation(200)[40:]] = nan
    [found] = prediction_powered(judged, people, draw_resamples(range(200), n_resamples=500))
    assert found.cautions == ()
    assert found.equivalent_ratings > 40
    assert len(recwarn) == 0


def test_cautions() -> None:
    judged, people = drawn_data(200, 4.0)
    people[np.argsort(judged)[:-20]] = nan  # what the judge liked best
    with pytest.warns(UnreliableIntervalWarning, match="20 ratings, fewer than 30.*below 0.5.*drawn at random"):
        [found] = prediction_powered(judged, people, draw_resamples(range(200), n_resamples=500))
    assert len(found.cautions) == 3


def test_a_judge_that_is_the_negative_of_people_is_worth_as_much() -> None:
    judged, rated = drawn_data(200, 0.5)
    found, opposite = corrected(judged, rated), corrected(-judged, rated)
    assert opposite.correlation == pytest.approx(-found.correlation)
    assert ends(opposite) == pytest.approx(ends(found))
    assert opposite.cautions == found.cautions == ()


def test_difference_is_of_differences() -> None:
    generator = np.random.default_rng(5)
    a, b, of_a, of_b = generator.normal(size=(4, 40))
    of_a[20:], of_b[:5] = nan, nan
    resamples = draw_resamples(range(40), n_resamples=200)
    with pytest.warns(UnreliableIntervalWarning) as caught:
        [found] = prediction_powered_difference(a, b, of_a, of_b, resamples)
    assert len(caught) == 1
    assert found == corrected(a - b, of_a - of_b)
    assert found.corrected.n == 15
    with pytest.raises(MetricInputError, match="differ"):
        prediction_powered_difference(a, [b, b], of_a, of_b, resamples)


def test_labels_needed() -> None:
    given: Any = {"spread": 0.2, "correlation": 0.6, "units": 400}
    needed = labels_needed(0.12, **given)
    from scipy.stats import t

    def width(n: int) -> float:
        return float(2 * t.ppf(0.975, n - 1) * 0.2 * sqrt(0.64 / n + 0.36 / 400))

    assert width(needed) <= 0.12 < width(needed - 1)
    assert labels_needed(0.12, **given, design_effect=2) > 1.9 * needed
    assert labels_needed(0.12, **given, level=0.9) < needed
    assert labels_needed(100, **given) == 2
    assert labels_needed(width(400) * (1 + 1e-9), **given) == 400
    with pytest.raises(
        MetricInputError, match=r"width 0\.03 cannot be reached: with ratings of all 400 units .* 0.0393"
    ):
        labels_needed(0.03, **given)


def test_labels_needed_are_enough() -> None:
    generator = np.random.default_rng(6)
    needed = labels_needed(0.5, spread=1, correlation=0.8, units=300)
    people = generator.normal(size=(200, 300))
    judged = 0.8 * people + 0.6 * generator.normal(size=people.shape)
    people[generator.random(people.shape).argsort(axis=1) >= needed] = nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        found = prediction_powered(judged, people, draw_resamples(range(300), n_resamples=500))
    assert np.mean([one.corrected.high - one.corrected.low for one in found]) == pytest.approx(0.5, rel=0.06)


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"spread": -1},
        {"spread": 0},
        {"correlation": 1.1},
        {"units": 1},
        {"design_effect": 0},
        {"level": 0},
    ],
)
def test_labels_needed_refuses(wrong: Any) -> None:
    options: Any = {"width": 0.1, "spread": 0.2, "correlation": 0.5, "units": 100, **wrong}
    with pytest.raises(MetricInputError):
        labels_needed(options.pop("width"), **options)
