"""Two models on the same units: paired bootstrap and permutation test, against hand counts and scipy."""

import itertools
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest
import scipy.stats

from attune_metrics import MetricInputError
from attune_metrics.stats.bootstrap import STATISTICS, bootstrap, bootstrap_distribution, draw_resamples
from attune_metrics.stats.comparison import PermutationTest, paired_bootstrap, paired_permutation_test


def ratio(sums: Any, n: Any) -> Any:
    del n
    return sums[..., 0] / sums[..., 1]


def only(results: list[Any]) -> Any:
    [result] = results
    return result


def test_interval_of_a_mean_difference_is_that_of_the_differences() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.normal(size=(2, 4, 40))
    clusters = generator.integers(15, size=40)
    resamples = draw_resamples(clusters, n_resamples=2_000)
    for paired, single in zip(paired_bootstrap(a, b, resamples), bootstrap(a - b, resamples), strict=True):
        assert (paired.estimate, paired.low, paired.high) == pytest.approx(
            (single.estimate, single.low, single.high), abs=1e-12
        )


def test_units_count_where_both_sides_have_a_value() -> None:
    a, b = [1, nan, 5, 4, 7], [0, 3, nan, 1, 2]
    resamples = draw_resamples(range(5), n_resamples=500)
    interval = only(paired_bootstrap(a, b, resamples))
    # Units 0, 3, 4: differences 1, 3, 5.
    assert (interval.estimate, interval.n, interval.clusters) == (3, 3, 3)
    test = only(paired_permutation_test(a, b, range(5)))
    assert (test.difference, test.n, test.clusters, test.exchanges, test.p_value) == (3, 3, 3, 8, 0.25)


def test_difference_of_any_statistic() -> None:
    a, b = np.random.default_rng(3).uniform(1, 2, size=(2, 1, 2, 12))
    resamples = draw_resamples(range(12), n_resamples=1_000)
    difference = np.subtract(*(bootstrap_distribution(side, resamples, statistic=ratio) for side in (a, b)))
    interval = only(paired_bootstrap(a, b, resamples, statistic=ratio, method="percentile"))
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(difference, [0.025, 0.975])), abs=1e-12)


@pytest.mark.parametrize("method", ["percentile-expanded", "percentile", "bca"])
def test_a_model_against_itself(method: Any) -> None:
    values = np.random.default_rng(0).normal(size=30)
    values[4] = nan
    interval = only(paired_bootstrap(values, values, draw_resamples(range(30)), method=method))
    assert (interval.estimate, interval.low, interval.high, interval.reason) == (0, 0, 0, None)
    test = only(paired_permutation_test(values, values, range(30)))
    assert test == PermutationTest(0.0, 1.0, 1.0, 29, 29, 0, 1, True)


def test_sides_that_are_equal_in_every_cluster() -> None:
    a, b = [0.1, 0.2, 0.3, 0.7], [0.3, 0.2, 0.1, 0.7]
    interval = only(paired_bootstrap(a, b, draw_resamples(list("xxxy"), n_resamples=100)))
    assert (interval.low, interval.high, interval.reason) == (0, 0, None)
    assert only(paired_permutation_test(a, b, list("xxxy"))).p_value == 1


def test_a_constant_difference_has_no_interval() -> None:
    a = np.array([0.5, 0.25, 0.75])
    interval = only(paired_bootstrap(a + 0.125, a, draw_resamples(range(3), n_resamples=100)))
    assert interval.reason == "no variation among clusters"
    assert (interval.estimate, isnan(interval.low), isnan(interval.high)) == (0.125, True, True)


@pytest.mark.parametrize("size", [2, 5, 9, 12])
def test_scipy_gives_the_same_exact_p(size: int) -> None:
    a, b = np.random.default_rng(size).normal([[0.6], [0.0]], size=(2, size))
    other = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis), permutation_type="samples", vectorized=True, n_resamples=9_999
    )
    test = only(paired_permutation_test(a, b, range(size)))
    assert test.p_value == pytest.approx(float(other.pvalue), abs=1e-12)
    assert test.difference == pytest.approx(float(other.statistic), abs=1e-12)
    assert (test.exchanges, test.exact) == (2**size, True)


def test_scipy_gives_the_same_random_p() -> None:
    a, b = np.random.default_rng(6).normal([[0.5], [0.0]], size=(2, 13))
    other = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis), permutation_type="samples", vectorized=True, n_resamples=9_999
    )
    assert len(other.null_distribution) == 2**13  # exact
    exact = float(other.pvalue)
    test = only(paired_permutation_test(a, b, range(13)))
    assert (test.exchanges, test.exact) == (9_999, False)
    assert 0.01 < exact < 0.9
    assert test.p_value == pytest.approx(exact, abs=4 * sqrt(exact * (1 - exact) / 9_999))


def test_clusters_are_exchanged_whole_and_the_statistic_recomputed() -> None:
    generator = np.random.default_rng(4)
    clusters = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4])
    a, b = generator.uniform(1, 2, size=(2, 2, 9))
    a[0] += 0.3
    observed = a[0].sum() / a[1].sum() - b[0].sum() / b[1].sum()
    reached = 0
    for pattern in itertools.product([False, True], repeat=5):
        swap = np.array(pattern)[clusters]
        one, other = np.where(swap, b, a), np.where(swap, a, b)
        reached += abs(one[0].sum() / one[1].sum() - other[0].sum() / other[1].sum()) >= abs(observed) - 1e-12
    test = only(paired_permutation_test([a], [b], clusters, statistic=ratio))
    assert (test.exchanges, test.clusters, test.n) == (32, 5, 9)
    assert test.difference == pytest.approx(observed, abs=1e-12)
    assert test.p_value == reached / 32
    assert 2 < reached < 32


def test_ties_count_whatever_the_rounding() -> None:
    # Differences 1, 2, -3, 3 tenths: sum 3. Of 1 + 2 + {6, 0, 0, -6} and 1 - 2 + {6, 0, 0, -6} the sums 9, 3, 3, -3 and
    # 5, -7 reach 3, and so do their opposites: 12 of 16.
    a, b = [0.3, 0.5, 0.1, 0.7], [0.2, 0.3, 0.4, 0.4]
    assert only(paired_permutation_test(a, b, range(4))).p_value == 0.75
    large_a, large_b = (1e6 * np.array(side) for side in (a, b))
    assert only(paired_permutation_test(large_a, large_b, range(4))).p_value == 0.75


def test_sums_that_differ_by_rounding_are_equal() -> None:
    # 0.1 + 0.2 and 0.3 + 0 are the same sum, and as floats 0.30000000000000004 and 0.3.
    a, b, clusters = [0.1, 0.2, 0.5], [0.3, 0.0, 0.5], ["x", "x", "y"]
    for labels in (clusters, ["x"] * 3):
        interval = only(paired_bootstrap(a, b, draw_resamples(labels)))
        assert (interval.estimate, interval.low, interval.high, interval.reason) == (0, 0, 0, None)
        test = only(paired_permutation_test(a, b, labels))
        assert (test.difference, test.p_value, test.exchanges) == (0, 1, 1)


def test_clusters_without_a_difference_leave_the_test_exact() -> None:
    # 40 units, 3 of which differ, all in one direction: 2 of 8.
    b = np.linspace(0, 1, 40)
    a = b.copy()
    a[[3, 17, 30]] += [0.5, 0.25, 0.125]
    same, other = paired_permutation_test([a, np.sin(9 * b)], [b, b], range(40))
    assert (same.p_value, same.exchanges, same.exact, same.clusters) == (0.25, 8, True, 40)
    assert (other.exchanges, other.exact) == (9_999, False)


def test_random_p_is_never_zero() -> None:
    # All 60 differences are above 0: a random exchange reaches that with a chance of 2 in 2^60.
    b = np.zeros(60)
    test = only(paired_permutation_test(b + np.arange(1, 61), b, range(60), n_permutations=199))
    assert test.p_value == 1 / 200


def test_smallest_p_value_of_a_mean() -> None:
    # Six clusters, five of which differ: the largest of 32 exchanges is that in which all five have one sign, and its
    # opposite.
    b = np.zeros(6)
    a = np.array([1.0, 2, 3, 4, -5, 0])
    test = only(paired_permutation_test(a, b, range(6)))
    reached = sum(abs(np.dot(signs, [1, 2, 3, 4, 5])) >= 5 for signs in itertools.product([-1, 1], repeat=5))
    assert (test.p_value, test.p_min, test.exchanges) == (reached / 32, 2 / 32, 32)
    assert only(paired_permutation_test(np.abs(a), b, range(6))).p_value == 2 / 32
    # One cluster that differs: both exchanges are as large.
    assert only(paired_permutation_test([1, 2, 3], [0, 2, 3], range(3))).p_min == 1


def test_smallest_p_value_of_random_exchanges() -> None:
    test = only(paired_permutation_test(np.arange(13.0) - 5.5, np.zeros(13), range(13), n_permutations=199))
    assert (test.p_min, test.exact, test.differing) == (1 / 200, False, 13)
    assert test.p_value > 0.1


@pytest.mark.parametrize("n", [1, 9_999, 99_999])
def test_more_random_exchanges_than_there_are_different_ones(n: int) -> None:
    # 13 of 20 clusters differ, all in one direction: of their 8,192 exchanges 2 are as large, however many are drawn.
    a = np.where(np.arange(20) < 13, 1.0, 0.0)
    for seed in range(3):
        test = only(paired_permutation_test(a, np.zeros(20), range(20), n_permutations=n, seed=seed))
        assert (test.differing, test.p_min) == (13, max(2 / 8_192, 1 / (1 + n)))
        assert test.p_value >= test.p_min


def test_random_p_is_not_below_the_share_of_the_largest_exchanges() -> None:
    # Of 9,999 random exchanges of 13 clusters, 2.4 are expected to be as large as the largest; none is with a chance of
    # 9%, which would give 1 / 10,000.
    a = np.arange(1, 14)
    p = [only(paired_permutation_test(a, 0 * a, range(13), seed=seed)).p_value for seed in range(30)]
    assert min(p) == 2 / 8_192


def test_smallest_p_value_where_clusters_differ_in_what_the_statistic_ignores() -> None:
    # Precision of TP, TN, FP, FN: the third cluster differs in TN alone, so that its exchange changes nothing. Of 8
    # exchanges 2 with the first two in one direction, each with the third either way: 4 are the largest.
    a = np.array([[3, 3, 2], [1, 1, 5], [1, 1, 2], [0, 0, 0]], dtype=float)
    b = np.array([[1, 1, 2], [1, 1, 1], [3, 3, 2], [0, 0, 0]], dtype=float)
    test = only(paired_permutation_test([a], [b], range(3), statistic=STATISTICS["precision"]))
    assert (test.exchanges, test.p_value, test.p_min) == (8, 0.5, 0.5)


def test_an_undefined_exchange_counts_as_large() -> None:
    # The ratio of b is undefined once its sole weight is exchanged away: 0 / 0. Of 4 exchanges, both that exchange one
    # cluster only leave one side without weight.
    a, b = [[3.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]
    test = only(paired_permutation_test([a], [b], ["x", "y"], statistic=ratio))
    assert (test.difference, test.p_value, test.exchanges) == (2, 1, 4)


@pytest.mark.parametrize(
    ("a", "b", "clusters", "reason"),
    [
        ([], [], [], "no unit has a value on both sides"),
        ([nan, 1], [1, nan], ["x", "y"], "no unit has a value on both sides"),
        ([1, 2], [3, 4], ["x", "x"], "all values are in one cluster"),
        ([1] * 20 + [nan], [3] * 20 + [1], ["x"] * 20 + ["y"], "all values are in one cluster"),
    ],
)
def test_no_test(a: Any, b: Any, clusters: Any, reason: str) -> None:
    test = only(paired_permutation_test(a, b, clusters))
    assert (test.reason, test.exchanges, test.exact) == (reason, 0, False)
    assert isnan(test.p_value)
    assert isnan(test.p_min)
    interval = only(paired_bootstrap(a, b, draw_resamples(clusters, n_resamples=50)))
    assert isnan(interval.low)
    assert interval.reason in {reason, "no unit has a value"}


def test_undefined_difference() -> None:
    test = only(paired_permutation_test([[[1, 2], [0, 0]]], [[[1, 2], [1, 1]]], ["x", "y"], statistic=ratio))
    assert test.reason == "the statistic is undefined"
    assert isnan(test.difference)


def test_odd_input() -> None:
    resamples = draw_resamples(range(3), n_resamples=10)
    with pytest.raises(MetricInputError, match=r"a of shape \(2, 1, 3\) and b of shape \(1, 1, 3\)"):
        paired_bootstrap([[1, 2, 3], [4, 5, 6]], [1, 2, 3], resamples)
    with pytest.raises(MetricInputError, match=r"b of shape \(2,\) has 2 units, clusters 3"):
        paired_permutation_test([1, 2, 3], [1, 2], range(3))
    with pytest.raises(MetricInputError, match="n_permutations 0 is not a whole number from 1"):
        paired_permutation_test([1, 2, 3], [1, 2, 4], range(3), n_permutations=0)
    with pytest.raises(MetricInputError, match="seed"):
        paired_permutation_test([1, 2, 3], [1, 2, 4], range(3), seed=1.5)  # type: ignore[arg-type]
