"""The bootstrap: known answers, an independent tool, clusters, missing values, and what has no interval."""

import itertools
import subprocess
import sys
from dataclasses import replace
from math import nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from attune_metrics import MetricInputError
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import (
    Interval,
    Method,
    Resamples,
    bootstrap,
    bootstrap_distribution,
    draw_resamples,
    mean_of_sums,
    point_estimate,
)

# Efron & Tibshirani (1993), table 3.1: mean LSAT score and mean GPA of 15 law schools.
LSAT = np.array([576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]) / 100
GPA = np.array([3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96])
LAW = [LSAT, GPA, LSAT**2, GPA**2, LSAT * GPA]


def correlation(sums: Any, n: Any) -> Any:
    x, y, xx, yy, xy = np.moveaxis(sums, -1, 0) / n
    return (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))


def direct_correlation(x: Any, y: Any, axis: int = -1) -> Any:
    x, y = x - x.mean(axis, keepdims=True), y - y.mean(axis, keepdims=True)
    return (x * y).sum(axis) / np.sqrt((x * x).sum(axis) * (y * y).sum(axis))


def ratio(sums: Any, n: Any) -> Any:
    del n
    return sums[..., 0] / sums[..., 1]


def counted(clusters: list[str], *counts: list[int]) -> Resamples:
    return replace(draw_resamples(clusters), counts=np.array(counts, dtype=np.uint8))


def close(interval: Interval, other: Any) -> None:
    expected = other.confidence_interval
    assert (interval.low, interval.high) == pytest.approx((float(expected.low), float(expected.high)), abs=1e-9)


def test_standard_error_over_all_resamples() -> None:
    # The variance of 1, 2, 3 with n is 2/3, that of a mean of three (2/3) / 3: the root is sqrt(2) / 3.
    draws = itertools.product(range(3), repeat=3)
    every = counted(["a", "b", "c"], *(np.bincount(draw, minlength=3).tolist() for draw in draws))
    distribution = bootstrap_distribution([1, 2, 3], every)
    assert distribution.shape == (1, 27)
    assert distribution.std() == pytest.approx(sqrt(2) / 3, abs=1e-12)
    assert distribution.std() == pytest.approx(0.4714045, abs=1e-7)


def test_law_schools() -> None:
    # Efron & Tibshirani (1993): correlation 0.776, standard error 0.131 to 0.134 at 800 to 3,200 resamples (table 6.1).
    resamples = draw_resamples(range(15), n_resamples=50_000, seed=3)
    [interval] = bootstrap([LAW], resamples, statistic=correlation, method="bca")
    assert interval.estimate == pytest.approx(0.776374, abs=5e-7)
    assert bootstrap_distribution([LAW], resamples, statistic=correlation).std() == pytest.approx(0.133, abs=0.003)
    # BCa, 0.31 to 0.94: the low end is a quantile near 0.005 and moves by 0.01 from seed to seed.
    assert interval.low == pytest.approx(0.31, abs=0.03)
    assert interval.high == pytest.approx(0.94, abs=0.005)


@pytest.mark.parametrize(("method", "name"), [("percentile", "percentile"), ("bca", "BCa")])
def test_scipy_gives_the_same_interval_of_a_correlation(method: Any, name: Any) -> None:
    # Both draw the same integers from the same seed, so the intervals are equal, not only near.
    other = scipy.stats.bootstrap(
        (LSAT, GPA), direct_correlation, paired=True, n_resamples=4_000, method=name, rng=np.random.default_rng(5)
    )
    [interval] = bootstrap(
        [LAW], draw_resamples(range(15), n_resamples=4_000, seed=5), statistic=correlation, method=method
    )
    close(interval, other)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("method", "name"), [("percentile", "percentile"), ("bca", "BCa")])
def test_scipy_gives_the_same_interval_of_a_mean_with_ties(method: Any, name: Any, level: float) -> None:
    success = np.array([1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1.0])
    other = scipy.stats.bootstrap(
        (success,), np.mean, n_resamples=3_000, confidence_level=level, method=name, rng=np.random.default_rng(2)
    )
    resamples = draw_resamples(range(13), n_resamples=3_000, seed=2)
    close(bootstrap(success, resamples, method=method, level=level)[0], other)


def test_scipy_gives_the_same_clustered_interval() -> None:
    # To scipy each cluster is one pair (sum, size), so its acceleration leaves out whole clusters, too.
    generator = np.random.default_rng(8)
    clusters = np.repeat(np.arange(17), generator.integers(1, 6, 17))
    values = generator.gamma(2, size=len(clusters)) + generator.normal(size=17)[clusters]
    pairs = np.bincount(clusters, values), np.bincount(clusters)
    other = scipy.stats.bootstrap(
        pairs,
        lambda total, size, axis=-1: total.sum(axis) / size.sum(axis),
        paired=True,
        n_resamples=3_000,
        method="BCa",
        rng=np.random.default_rng(4),
    )
    [interval] = bootstrap(values, draw_resamples(clusters, n_resamples=3_000, seed=4), method="bca")
    close(interval, other)
    assert (interval.n, interval.clusters) == (len(clusters), 17)
    assert interval.estimate == pytest.approx(values.mean(), abs=1e-12)


@pytest.mark.parametrize("clusters", [2, 5, 10, 200])
def test_expanded_levels(clusters: int) -> None:
    values = np.random.default_rng(clusters).normal(size=clusters)
    resamples = draw_resamples(range(clusters), n_resamples=2_000)
    [interval] = bootstrap(values, resamples, level=0.9)
    reach = sqrt(clusters / (clusters - 1)) * scipy.stats.t.ppf(0.05, clusters - 1)
    tail = scipy.stats.norm.cdf(reach)
    expected = np.quantile(bootstrap_distribution(values, resamples), [tail, 1 - tail])
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), abs=1e-12)
    assert interval.method == "percentile-expanded"


def test_expanded_level_by_hand() -> None:
    # t(9, 0.025) = -2.262157 of any table; times sqrt(10 / 9) it is -2.384527, and Phi of that 0.008551. The 10,001
    # resamples have the means 0, 0.0001, ..., 1, so quantiles are levels.
    steps = np.arange(10_001) / 10_000
    resamples = replace(draw_resamples(range(10)), counts=np.ones((10_001, 10), dtype=np.uint8))
    drawn = iter(steps)

    def one_step(sums: Any, n: Any) -> Any:
        del sums
        return np.full(n.shape, 0.5) if n.ndim == 1 else np.fromiter(drawn, float, len(n))[:, np.newaxis]

    [interval] = bootstrap(np.arange(10), resamples, statistic=one_step)
    assert (interval.low, interval.high) == pytest.approx((0.008551, 0.991449), abs=1e-6)


def test_mean_of_clusters_is_a_ratio_of_sums() -> None:
    # a holds 1 and 2, b holds 6: twice a (3 + 3) / 4, each once 9 / 3, twice b 12 / 2.
    resamples = counted(["a", "b", "a"], [2, 0], [1, 1], [0, 2])
    assert bootstrap_distribution([1, 6, 2], resamples).tolist() == [[1.5, 3, 6]]


def test_missing_values_leave_sum_and_number_of_their_series_only() -> None:
    resamples = counted(["a", "b", "c"], [1, 2, 0], [0, 3, 0], [1, 0, 2])
    distribution = bootstrap_distribution([[1.0, nan, 3.0], [1.0, 2.0, 3.0]], resamples)
    assert distribution[0].tolist() == pytest.approx([1, nan, 7 / 3], nan_ok=True, abs=1e-12)
    assert distribution[1].tolist() == pytest.approx([5 / 3, 2, 7 / 3], abs=1e-12)


def test_a_unit_that_lacks_one_term_lacks_them_all() -> None:
    resamples = counted(["a", "b", "c"], [1, 1, 1])
    # Without b: (3 + 1) / (4 + 4).
    assert bootstrap_distribution([[[3.0, 5.0, 1.0], [4.0, nan, 4.0]]], resamples, statistic=ratio).tolist() == [[0.5]]
    [interval] = bootstrap([[[3.0, 5.0, 1.0], [4.0, nan, 4.0]]], draw_resamples("a b c".split()), statistic=ratio)
    assert (interval.estimate, interval.n, interval.clusters) == (0.5, 2, 2)


def test_series_share_resamples() -> None:
    resamples = draw_resamples(range(30), seed=1)
    values = np.random.default_rng(1).normal(size=30)
    one, other = bootstrap_distribution([values, 2 * values + 1], resamples)
    assert other == pytest.approx(2 * one + 1, abs=1e-12)


@pytest.mark.parametrize("method", ["percentile-expanded", "percentile", "bca"])
@pytest.mark.parametrize(
    ("values", "clusters", "reason", "estimate"),
    [
        ([], [], "no unit has a value", nan),
        ([nan, nan], ["a", "b"], "no unit has a value", nan),
        ([3, 5], ["a", "a"], "all values are in one cluster", 4),
        ([3, None, 5], ["a", "b", "a"], "all values are in one cluster", 4),
        ([0.1] * 7, range(7), "no variation among clusters", 0.1),
        # Clusters of unequal size and equal means: 0.1 + 0.5 and 0.2 + 0.4 + 0.3.
        ([0.1, 0.5, 0.2, 0.4, 0.3], list("aabbb"), "no variation among clusters", 0.3),
    ],
)
def test_no_interval_without_variation(method: Any, values: Any, clusters: Any, reason: str, estimate: float) -> None:
    [interval] = bootstrap(values, draw_resamples(clusters, n_resamples=500), method=method)
    assert interval.reason == reason
    assert np.isnan([interval.low, interval.high]).all()
    assert interval.estimate == pytest.approx(estimate, nan_ok=True, abs=1e-12)


def test_undefined_statistic() -> None:
    resamples = draw_resamples(range(4), n_resamples=500)
    [interval] = bootstrap([[[1, 2, 3, 4], [0, 0, 0, 0]]], resamples, statistic=ratio)
    assert interval.reason == "the statistic is undefined"
    assert np.isnan(interval.estimate)


def test_resamples_without_a_value() -> None:
    # Of 1,000 resamples, without any unit that has a value: 25, a tail of 95%, then one more.
    counts = np.tile(np.array([[2, 1, 0], [1, 1, 1], [0, 2, 1], [1, 0, 2]], dtype=np.uint8), (250, 1))
    counts[:25] = [0, 0, 3]
    resamples = Resamples(np.arange(3), counts)
    values = [1, 4, nan]
    [interval] = bootstrap(values, resamples, method="percentile")
    # Means left: 2 (twice 1 and once 4), 2.5, 4 and 1.
    assert (interval.low, interval.high, interval.reason) == (1, 4, None)
    counts[25] = [0, 0, 3]
    [interval] = bootstrap(values, resamples, method="percentile")
    assert interval.reason == "the statistic is undefined in 26 of 1000 resamples, too many for an interval"
    assert np.isnan([interval.low, interval.high]).all()


def test_bca_refuses_an_estimate_outside_its_resamples() -> None:
    resamples = counted(["a", "b"], [2, 0], [2, 0], [1, 1])
    with pytest.warns(UnreliableIntervalWarning, match="here one has 50%"):
        [interval] = bootstrap([1, 9], resamples, method="bca")
    assert interval.reason is None
    [interval] = bootstrap([1, 9, 11], counted(["a", "b", "c"], [3, 0, 0], [2, 1, 0]), method="bca")
    assert interval.reason == "the BCa correction is undefined; are there too few clusters?"
    assert np.isnan([interval.low, interval.high]).all()


def test_bca_warns_of_a_cluster_with_more_than_a_fifth_of_the_units() -> None:
    # Ten clusters of one unit and one of three: 3 of 13, or where two of the others have no value 3 of 11.
    clusters = [*range(10), 10, 10, 10]
    values = np.random.default_rng(2).normal(size=(3, 13))
    values[1, :2] = nan
    resamples = draw_resamples(clusters, n_resamples=200)
    with pytest.warns(UnreliableIntervalWarning, match="more than 20% of the units, and here one has 27%;") as caught:
        bootstrap(values, resamples, method="bca")
    assert [warning.filename for warning in caught] == [__file__]
    bootstrap(values, resamples, method="percentile-expanded")
    # A fifth is not more than a fifth, and a series without an interval is none to warn of.
    five = draw_resamples(range(5), n_resamples=200)
    bootstrap(np.array([[1, 2, 3, 4, 9], [nan, nan, nan, 1, 1]]), five, method="bca")


def test_counts() -> None:
    resamples = draw_resamples(["b", "a", "b", "c"], n_resamples=5_000, seed=9)
    assert resamples.clusters.tolist() == [1, 0, 1, 2]
    assert resamples.counts.shape == (5_000, 3)
    assert set(np.asarray(resamples.counts).sum(axis=1).tolist()) == {3}
    # The count of a cluster is binomial (3, 1/3): variance 2/3.
    assert np.asarray(resamples.counts).var(axis=0) == pytest.approx(np.full(3, 2 / 3), abs=0.05)
    assert not np.array_equal(resamples.counts, draw_resamples("a b c".split(), n_resamples=5_000, seed=8).counts)


def test_mean_of_sums() -> None:
    assert mean_of_sums(np.array([6.0, 1.0]), np.array(4.0)) == 1.5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], r"shape \(2,\) has 2 units, clusters 3"),
        ([[1, 2], [3, 4], [5, 6]], r"clusters 3; is it transposed\?"),
        ([1, float("inf"), 2], r"values\[1\] is inf; a missing value is nan"),
        ([[1, 2, 3], [1, 2, -np.inf]], r"values\[1, 2\] is -inf"),
        (["0.5", "1", "2"], "values value '0.5' is not a number; convert text to a number first"),
        ([1, "x", 2], "values value 'x' is not a number"),
        ([1, {}, 2], "values value {} is not a number"),
        (np.array(["2026-01-01"] * 3, dtype="datetime64[D]"), r"value datetime.date\(2026, 1, 1\) is not"),
        ([[1, 2, 3], [1, 2]], "values has rows of unequal length; fill up with nan"),
        (3, "0 dimensions"),
        (np.zeros((1, 1, 1, 3)), "4 dimensions"),
    ],
)
def test_odd_values(values: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        bootstrap(values, draw_resamples("a b c".split()))


@pytest.mark.parametrize("kind", [float, int])
def test_a_masked_value_is_missing(kind: type) -> None:
    masked: Any = np.ma.masked_array(np.array([9, 2, 3], dtype=kind), mask=[True, False, False])
    assert point_estimate(masked).tolist() == [2.5]


@pytest.mark.parametrize(
    ("clusters", "options", "message"),
    [
        ("abc", {}, r"clusters is 'abc' \(str\); expected a list of labels, one for each unit"),
        (None, {}, "clusters is None"),
        ([["a"], ["b"]], {}, "of the types list"),
        (["a", None], {}, r"clusters\[1\] is None; a unit of no cluster is given a label of its own"),
        ([1.0, nan], {}, r"clusters\[1\] is nan"),
        (pd.Series([1, None], dtype="Int64"), {}, r"clusters\[1\] is <NA>; a unit of no cluster"),
        (["a", 1], {}, "of the types int, str; use text for all"),
        (["a"], {"seed": -1}, "seed -1 is not a whole number from 0"),
        (["a"], {"seed": None}, "seed None is not a whole number"),
        (["a"], {"n_resamples": 0}, "n_resamples 0 is not a whole number from 1"),
        (["a"], {"n_resamples": 10**8}, "n_resamples 100000000 is not a whole number from 1 to 10,000,000"),
        (["a"], {"n_resamples": 10**5000}, "n_resamples of hundreds of digits is not a whole number from 1 to 10,000"),
        (["a"], {"n_resamples": 1e4}, r"n_resamples 10000.0 is not a whole number"),
        (["a"], {"n_resamples": True}, "n_resamples True"),
    ],
)
def test_odd_clusters(clusters: Any, options: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        draw_resamples(clusters, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 95}, r"level 95 is outside 0-1; is this a 0-100 scale\?"),
        ({"level": 1}, "level 1 is not between 0 and 1; 0.95 is usual"),
        ({"method": "BCa"}, "unknown method 'BCa'; expected percentile-expanded, percentile, bca"),
        ({"statistic": lambda sums, _: sums}, r"the statistic made shape \(1, 1\) of sums of shape \(1, 1\)"),
    ],
)
def test_odd_options(options: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        bootstrap([1, 2, 4], draw_resamples(range(3)), **options)


@pytest.mark.slow
def test_statistics_run_without_the_slow_part_of_scipy() -> None:
    program = (
        "import sys; "
        "from attune_metrics.stats.comparison import paired_permutation_test; "
        "from attune_metrics.stats.comparison import holm; "
        "from attune_metrics.stats.cluster_means import clopper_pearson_interval, mcnemar_test; "
        "from attune_metrics.stats.bootstrap import bootstrap, draw_resamples; "
        "w = draw_resamples(range(9)); x = [*range(9)]; "
        "[bootstrap(x, w, method=m) for m in ('percentile-expanded', 'bca')]; paired_permutation_test(x, x[::-1], x); "
        "clopper_pearson_interval(3, 9); mcnemar_test(3, 9); holm([0.1]); "
        "print([n for n in ('scipy.stats', 'scipy.optimize') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("method", ["percentile-expanded", "percentile", "bca"])
def test_a_distribution_that_is_known_is_not_made_again(method: Method) -> None:
    values = np.random.default_rng(1).normal(size=(2, 9))
    resamples = draw_resamples(range(9), n_resamples=200)
    distribution = bootstrap_distribution(values, resamples)
    assert bootstrap(values, resamples, method=method, distribution=distribution) == bootstrap(
        values, resamples, method=method
    )
    # The quantiles are those of what is given: shifted by 1, so are the ends of a percentile interval.
    [plain, _] = bootstrap(values, resamples, method="percentile")
    [shifted, _] = bootstrap(values, resamples, method="percentile", distribution=distribution + 1)
    assert (shifted.low, shifted.high) == pytest.approx((plain.low + 1, plain.high + 1), abs=1e-12)
    with pytest.raises(MetricInputError, match=r"shape \(1, 200\); expected \(2, 200\) \(series, resamples\)"):
        bootstrap(values, resamples, distribution=distribution[:1])
