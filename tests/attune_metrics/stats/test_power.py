"""Power: statsmodels, hand derivations, simulation."""

from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import t

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.comparison import paired_permutation_test
from attune_metrics.stats.power import MDE_MIN_CLUSTERS, mde_factor, minimum_detectable_effect, units_needed
from attune_metrics.stats.sums import clustered_standard_error

SLOW = pytest.mark.slow


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


# Of 8 clusters p-values are multiples of 2 / 256; the largest below 0.05 is 12 / 256.
FACTOR_8 = float(t.ppf(1 - 6 / 256, 7) + t.ppf(0.8, 7))
A, B = [5, 4, 3, 4, 5, 4, 3, 4], [4, 1, 1, 2, 4, 1, 1, 2]
ERROR = sqrt(4 / 7 / 8)  # differences 1, 3, 2, 2 twice: squares about their mean 2 sum to 4


def test_detectable_difference() -> None:
    detectable = minimum_detectable_effect([*A, nan], [*B, 7], range(9))
    assert detectable == pytest.approx(FACTOR_8 * ERROR, abs=1e-12)
    # Tables have t(0.975) = 2.365 and t(0.8) = 0.896 with 7 degrees of freedom; 1 - 6 / 256 is just above 0.975.
    assert 2.365 + 0.896 < FACTOR_8 < 2.365 + 0.896 + 0.1
    # With many clusters the normal quantiles of any table, 1.959964 + 0.841621.
    assert mde_factor(10**7) == pytest.approx(2.801585, abs=1e-5)


def test_unequal_clusters_by_hand() -> None:
    # Six clusters of one unit and one of two, with the sums 0, 2, 0, 2, 0, 2, 2: the mean is 8 / 8 = 1, and sums of
    # deviations are -1, 1, -1, 1, -1, 1, 0. Left out, they move the mean by a seventh, but for the last.
    b, clusters = np.zeros(8), [0, 1, 2, 3, 4, 5, 6, 6]
    a = np.array([0.0, 2, 0, 2, 0, 2, 1, 1])
    error = sqrt(6 / 7 * 6 * (1 / 7) ** 2)
    # Sizes of mean 8 / 7 and mean square 10 / 7: an effective number of (8^2) / 10 = 6.4 clusters. The largest p-value
    # below 0.05 of multiples of 1 / 2^6 is 3 / 64.
    factor = float(t.ppf(1 - 3 / 64 / 2, 5.4) + t.ppf(0.8, 5.4))
    assert minimum_detectable_effect(a, b, clusters) == pytest.approx(factor * error, abs=1e-12)
    # 14 such clusters have an effective number of 12.8: Student's t with 11.8 degrees of freedom. The largest p-value
    # below 0.05 of multiples of 1 / 2^13 is 409 / 8192.
    twice = np.concatenate([clusters, np.array(clusters) + 7])
    found = minimum_detectable_effect(np.tile(a, 2), np.zeros(16), twice)
    factor = float(t.ppf(1 - 409 / 8192 / 2, 11.8) + t.ppf(0.8, 11.8))
    assert found == pytest.approx(factor * sqrt(13 / 14 * 12 * (1 / 15) ** 2), abs=1e-12)


def test_with_equal_clusters_the_effect_has_the_clustered_standard_error() -> None:
    values, clusters = np.random.default_rng(0).normal(size=36), np.repeat(range(12), 3)
    expected = mde_factor(12) * clustered_standard_error(values, clusters)
    assert minimum_detectable_effect(values, np.zeros(36), clusters) == pytest.approx(expected, abs=1e-12)


def test_one_large_cluster_does_not_hide_its_error() -> None:
    # 23 clusters of 4 units, one of 39, whose levels differ: the clustered standard error is four fifths of the truth.
    sizes = np.array([39, *[4] * 23])
    clusters = np.repeat(range(24), sizes)
    generator = np.random.default_rng(1)
    values = generator.normal(size=(400, 24))[:, clusters] + generator.normal(size=(400, len(clusters)))
    effects = [minimum_detectable_effect(one, np.zeros(len(one)), clusters) for one in values]
    units_cv = float(sizes.std() / sizes.mean())
    true = mde_factor(24, units_cv=units_cv) * sqrt(float((sizes**2 + sizes).sum())) / len(clusters)
    assert sqrt(np.mean(np.square(effects))) == pytest.approx(true, rel=0.1)


def test_the_factor_is_defined_from_seven_clusters_and_falls() -> None:
    assert all(isnan(mde_factor(clusters)) for clusters in range(MDE_MIN_CLUSTERS))
    factors = [mde_factor(clusters) for clusters in range(MDE_MIN_CLUSTERS, 300)]
    assert factors == sorted(factors, reverse=True)
    # Of 24 clusters with a coefficient of variation of 1, 12 are effective: 11 degrees of freedom of any table.
    assert mde_factor(24, units_cv=1) == pytest.approx(2.201 + 0.876, abs=2e-3)
    # Never fewer than 2; the largest p-value below 0.05 of multiples of 1 / 2^23 is 419430 / 2^23.
    least = float(t.ppf(1 - 419430 / 2**24, 2) + t.ppf(0.8, 2))
    assert mde_factor(24, units_cv=1e200) == pytest.approx(least, abs=1e-9)
    with pytest.raises(MetricInputError, match="units_cv -1 is outside 0-inf"):
        mde_factor(24, units_cv=-1)
    with pytest.raises(MetricInputError, match=r"clusters 7\.5 is not a whole number from 0"):
        mde_factor(7.5)  # type: ignore[arg-type]


def power(clusters: int, effect: float, *, simulations: int) -> float:
    """Return how often the test rejects, of differences that scatter by 1 about an effect, two units a cluster."""
    generator = np.random.default_rng(clusters)
    # Means of two units scatter by 1 where levels and units each have a share of the variance.
    levels = generator.normal(scale=sqrt(0.5), size=(simulations, clusters))
    differences = np.repeat(levels, 2, axis=1) + generator.normal(size=(simulations, 2 * clusters)) + effect
    labels = np.repeat(range(clusters), 2)
    tests = paired_permutation_test(differences, np.zeros_like(differences), labels, n_permutations=999)
    return sum(test.p_value < 0.05 for test in tests) / simulations


# Of up to 12 clusters every permutation is tried, of 12 in seconds.
@pytest.mark.parametrize("clusters", [7, *(pytest.param(clusters, marks=SLOW) for clusters in (9, 12, 13, 30))])
def test_power_at_the_detectable_difference(clusters: int) -> None:
    # The true standard error of the mean is 1 / sqrt(G). The seed is fixed; the Monte Carlo error is 0.9 points.
    assert 0.75 < power(clusters, mde_factor(clusters) / sqrt(clusters), simulations=2_000) < 0.85


@pytest.mark.slow
def test_normal_quantiles_would_promise_too_much() -> None:
    assert power(7, 2.801585 / sqrt(7), simulations=2_000) < 0.68


def test_units_needed() -> None:
    detectable = FACTOR_8 * ERROR
    assert units_needed(A, B, range(8), difference=detectable) == 8
    assert units_needed(A, B, range(8), difference=detectable * (1 - 1e-9)) == 9
    # The first number of clusters whose own minimum detectable effect is small enough.
    for difference in (0.1, 0.3, 0.5, 0.7):
        expected = next(g for g in range(7, 10_000) if mde_factor(g) * ERROR * sqrt(8 / g) <= difference)
        assert units_needed(A, B, range(8), difference=difference) == expected
    # With many clusters the normal quantiles of any table, with which the variance is 4 / 7.
    assert units_needed(A, B, range(8), difference=1e-6) == pytest.approx(2.801585**2 * 4 / 7 * 1e12, rel=1e-6)
    # However large the difference, fewer than 7 clusters cannot show it; a pilot may have fewer.
    assert units_needed(A, B, range(8), difference=100) == 7
    assert units_needed(A[:3], B[:3], range(3), difference=100) == 7


def test_participants_not_units_carry_the_information() -> None:
    # Each difference three times within its participant: the mean, the error and the power stay, n is three times.
    long_a, long_b, clusters = np.repeat(A, 3), np.repeat(B, 3), np.repeat(range(8), 3)
    expected = minimum_detectable_effect(A, B, range(8))
    assert minimum_detectable_effect(long_a, long_b, clusters) == pytest.approx(expected, abs=1e-12)
    needed = units_needed(A, B, range(8), difference=expected / 2)
    assert units_needed(long_a, long_b, clusters, difference=expected / 2) == 3 * needed


@pytest.mark.parametrize(
    ("a", "b", "clusters", "why"),
    [
        (np.arange(8) + 1.0, np.arange(8) + 0.9, range(8), "the difference does not vary among clusters"),
        (range(8), range(8), range(8), "the difference does not vary among clusters"),
        (A[:6], B[:6], range(6), "fewer than 7 clusters have a value"),
        ([1, 2], [2, 4], ["x", "x"], "fewer than 7 clusters have a value"),
        ([], [], [], "fewer than 7 clusters have a value"),
    ],
)
def test_no_power(a: Any, b: Any, clusters: Any, why: str) -> None:
    with pytest.warns(UndefinedMetricWarning, match=f"undefined: minimum_detectable_effect; {why}") as caught:
        assert isnan(minimum_detectable_effect(a, b, clusters))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("a", "b", "clusters", "why"),
    [
        ([1, 2, 3], [0.9, 1.9, 2.9], range(3), "the difference does not vary among clusters"),
        ([1, 2], [2, 4], ["x", "x"], "fewer than two clusters have a value"),
    ],
)
def test_a_pilot_that_says_nothing(a: Any, b: Any, clusters: Any, why: str) -> None:
    with pytest.warns(UndefinedMetricWarning, match=f"undefined: units_needed; {why}") as caught:
        assert isnan(units_needed(a, b, clusters, difference=1))
    assert caught[0].filename == __file__


def test_odd_power_input() -> None:
    with pytest.warns(UndefinedMetricWarning, match="undefined: clustered_standard_error") as caught:
        assert isnan(clustered_standard_error([1, 2], ["x", "x"]))
    assert caught[0].filename == __file__
    with pytest.raises(MetricInputError, match=r"2 series of 1 terms; expected one, shape \(units,\)"):
        clustered_standard_error([[1, 2], [3, 4]], range(2))
    with pytest.raises(MetricInputError, match="differ"):
        minimum_detectable_effect([1, 2], [[1, 2], [3, 4]], range(2))
    for difference in (1e-8, 1e-20, 1e-200, 5e-324):
        with pytest.raises(
            MetricInputError, match=f"difference {difference} needs more than 2\\^53 units; is it of the"
        ):
            units_needed(A, B, range(8), difference=difference)
    for difference in (0, -1):
        with pytest.raises(MetricInputError, match=f"difference {difference} is not above 0; give its size"):
            units_needed([1, 2], [2, 4], range(2), difference=difference)
