"""Adjusted p-values, proportions and power: published values, statsmodels, hand derivations."""

from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from attune_metrics import (
    MetricInputError,
    UndefinedMetricWarning,
    benjamini_hochberg,
    clopper_pearson_interval,
    clustered_standard_error,
    holm,
    mcnemar_test,
    minimum_detectable_difference,
    units_needed,
    wilson_interval,
)

quick = settings(deadline=None, max_examples=50)


# Families of tests.


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02, nan]), max_size=20))
@quick
def test_statsmodels_gives_the_same_adjusted_p_values(p_values: list[float]) -> None:
    known = [p for p in p_values if not isnan(p)]
    for adjust, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        adjusted = adjust(p_values)
        assert np.isnan(adjusted).tolist() == [isnan(p) for p in p_values]
        if known:
            expected = multipletests(known, method=method)[1]
            assert adjusted[~np.isnan(adjusted)].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_adjusted_by_hand() -> None:
    # Holm: 4 x 0.01, 3 x 0.02, 2 x 0.03 (not below the one before), 1 x 0.04 (likewise).
    p_values = [0.03, nan, 0.01, 0.04, 0.02]
    assert holm(p_values).tolist() == pytest.approx([0.06, nan, 0.04, 0.06, 0.06], abs=1e-12, nan_ok=True)
    # Benjamini-Hochberg: 4/1 x 0.01, 4/2 x 0.02, 4/3 x 0.03, 4/4 x 0.04, all 0.04.
    assert benjamini_hochberg(p_values).tolist() == pytest.approx([0.04, nan, 0.04, 0.04, 0.04], abs=1e-12, nan_ok=True)
    assert holm([0.6, 0.7]).tolist() == [1, 1]


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize(
    ("p_values", "message"),
    [
        ([0.1, 1.5], r"p_values\[1\] 1.5 is outside 0-1"),
        ([-0.1], r"p_values\[0\] -0.1 is outside 0-1"),
        ([[0.1, 0.2]], r"p_values has shape \(1, 2\); expected \(tests\)"),
        (["0.5"], "p_values value '0.5' is not a number; convert text to a number first"),
    ],
)
def test_odd_p_values(adjust: Any, p_values: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        adjust(p_values)


# Proportions.


@pytest.mark.parametrize(
    ("successes", "low", "high"),
    [(8, 0.4902, 0.9433), (0, 0, 0.2775), (10, 0.7225, 1)],  # Wilson of 10 trials, any table
)
def test_wilson(successes: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, 10)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
    assert (interval.estimate, interval.n, interval.clusters, interval.method) == (successes / 10, 10, 10, "wilson")


def test_clopper_pearson_without_successes() -> None:
    # (1 - high)^10 = 0.025.
    interval = clopper_pearson_interval(0, 10)
    assert (interval.low, interval.high) == pytest.approx((0, 1 - 0.025**0.1), abs=1e-12)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95]))
@quick
def test_statsmodels_gives_the_same_proportions(counts: tuple[int, int], level: float) -> None:
    for interval, method in (
        (wilson_interval(*counts, level=level), "wilson"),
        (clopper_pearson_interval(*counts, level=level), "beta"),
    ):
        expected = proportion_confint(*counts, alpha=1 - level, method=method)
        assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-9)
        assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
        assert (interval.low == 0) == (counts[0] == 0)
        assert (interval.high == 1) == (counts[0] == counts[1])


@pytest.mark.parametrize("make", [wilson_interval, clopper_pearson_interval])
def test_odd_proportions(make: Any) -> None:
    assert make(0, 0).reason == "no trials"
    assert isnan(make(0, 0).low)
    assert isnan(make(0, 0).estimate)
    for successes, trials, message in [
        (11, 10, r"11 successes in 10 trials; is the order successes, trials\?"),
        (-1, 10, "successes -1 is not a whole number from 0"),
        (0.5, 10, "successes 0.5 is not a whole number"),
    ]:
        with pytest.raises(MetricInputError, match=message):
            make(successes, trials)
    with pytest.raises(MetricInputError, match="level"):
        make(1, 2, level=95)


@pytest.mark.parametrize(("only_a", "only_b"), [(121, 59), (59, 121), (3, 0), (7, 7)])
def test_mcnemar(only_a: int, only_b: int) -> None:
    test = mcnemar_test(only_a, only_b)
    other = mcnemar([[0, only_a], [only_b, 0]], exact=False, correction=False)
    assert (test.chi_square, test.p_value) == pytest.approx((other.statistic, other.pvalue), abs=1e-12)


def test_mcnemar_by_hand() -> None:
    # 62^2 / 180
    assert mcnemar_test(121, 59).chi_square == pytest.approx(21.3556, abs=5e-5)
    with pytest.warns(UndefinedMetricWarning, match="undefined: mcnemar_test; the models never differ") as caught:
        assert isnan(mcnemar_test(0, 0).p_value)
    assert caught[0].filename == __file__
    with pytest.raises(MetricInputError, match="only_b -1"):
        mcnemar_test(3, -1)


# Power.


def test_statsmodels_gives_the_same_clustered_standard_error() -> None:
    generator = np.random.default_rng(3)
    clusters = generator.integers(12, size=70)
    values = generator.normal(size=70) + generator.normal(size=12)[clusters]
    model = sm.OLS(values, np.ones(70)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert clustered_standard_error(values, clusters) == pytest.approx(float(model.bse[0]), abs=1e-12)


def test_standard_error_of_independent_units() -> None:
    # Variance of 1, 2, 3, 6 with n - 1: (4 + 1 + 0 + 9) / 3.
    assert clustered_standard_error([1, nan, 2, 3, 6], range(5)) == pytest.approx(sqrt(14 / 3 / 4), abs=1e-12)
    assert clustered_standard_error([0.1] * 9, range(9)) == 0


def test_detectable_difference_and_units() -> None:
    # Differences 1, 3, 2, 2: standard error sqrt(2/3) / 2; 1.959964 + 0.841621 = 2.801585 of any table.
    a, b = [5, 4, 3, 4, nan], [4, 1, 1, 2, 7]
    error = sqrt(2 / 3) / 2
    detectable = minimum_detectable_difference(a, b, range(5))
    assert detectable == pytest.approx(2.801585 * error, abs=1e-6)
    # n in proportion to 1 / difference^2: 4 units for this one, 16 for half of it, 64 for a quarter.
    assert [units_needed(a, b, range(5), difference=detectable / part) for part in (1, 2, 4)] == [4, 16, 64]
    assert units_needed(a, b, range(5), difference=detectable / 2.01) == 17


def test_participants_not_units_carry_the_information() -> None:
    # Each difference three times within its participant: the mean, the error and the power stay, n is three times.
    a, b = [5, 4, 3, 4], [4, 1, 1, 2]
    long_a, long_b = np.repeat(a, 3), np.repeat(b, 3)
    clusters = np.repeat(range(4), 3)
    expected = minimum_detectable_difference(a, b, range(4))
    assert minimum_detectable_difference(long_a, long_b, clusters) == pytest.approx(expected, abs=1e-12)
    assert units_needed(long_a, long_b, clusters, difference=expected / 2) == 48


@pytest.mark.parametrize(
    ("a", "b", "clusters", "why"),
    [
        ([1, 2, 3], [0.9, 1.9, 2.9], range(3), "the difference does not vary among clusters"),
        ([1, 2, 3], [1, 2, 3], range(3), "the difference does not vary among clusters"),
        ([1, 2], [2, 4], ["x", "x"], "fewer than two clusters have a value"),
        ([], [], [], "fewer than two clusters have a value"),
    ],
)
def test_no_power(a: Any, b: Any, clusters: Any, why: str) -> None:
    with pytest.warns(UndefinedMetricWarning, match=f"undefined: minimum_detectable_difference; {why}") as caught:
        assert isnan(minimum_detectable_difference(a, b, clusters))
    assert caught[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning, match="undefined: units_needed"):
        assert isnan(units_needed(a, b, clusters, difference=1))


def test_odd_power_input() -> None:
    with pytest.warns(UndefinedMetricWarning, match="undefined: clustered_standard_error") as caught:
        assert isnan(clustered_standard_error([1, 2], ["x", "x"]))
    assert caught[0].filename == __file__
    with pytest.raises(MetricInputError, match=r"2 series of 1 terms; expected one, shape \(units,\)"):
        clustered_standard_error([[1, 2], [3, 4]], range(2))
    with pytest.raises(MetricInputError, match="differ"):
        minimum_detectable_difference([1, 2], [[1, 2], [3, 4]], range(2))
    for difference in (0, -1):
        with pytest.raises(MetricInputError, match=f"difference {difference} is not above 0; give its size"):
            units_needed([1, 2], [2, 4], range(2), difference=difference)
