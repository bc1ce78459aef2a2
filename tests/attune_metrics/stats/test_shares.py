"""The interval of a share of clustered units: by hand, against scipy, at the ends, and where there is none."""

from math import isnan, log, nan, sqrt

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from attune_metrics import MetricInputError
from attune_metrics.stats.cluster_means import clopper_pearson_interval, share_of_clusters_interval
from attune_metrics.stats.sums import jackknife_error


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_by_hand(level: float) -> None:
    # Clusters of two with 0, 1, 2 and 0 ones of 8: the share is 3/8, and a cluster left out moves it by
    # (k - 2 p) / 6: -1/8, 1/24, 5/24, -1/8, whose squares add up to 44 / 576. t has 3 degrees of freedom.
    [one] = share_of_clusters_interval([0, 0, 1, 0, 1, 1, 0, 0], [*"aabbccdd"], level=level)
    error = sqrt(3 / 4 * 44 / 576)
    reach = float(stats.t.ppf((1 + level) / 2, 3)) * error / (3 / 8 * 5 / 8)
    ends = expit(log(3 / 5) - reach), expit(log(3 / 5) + reach)
    assert (one.estimate, one.low, one.high) == pytest.approx((3 / 8, *ends), abs=1e-12)
    assert (one.n, one.clusters, one.method, one.level, one.reason) == (8, 4, "logit-t", level, None)


def test_the_jackknife_is_that_of_leaving_out_each_cluster_and_unequal_clusters_count_as_fewer() -> None:
    generator = np.random.default_rng(1)
    labels = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 7, 8, 20])
    values = (generator.random(len(labels)) < 0.3).astype(float)
    [one] = share_of_clusters_interval(values, labels)
    share = values.mean()
    moved = np.array([values[labels != label].mean() - share for label in range(9)])
    # The sizes have the sum 56 and the sum of squares 604: 56^2 / 604 = 5.19 clusters.
    reach = stats.t.ppf(0.975, 56**2 / 604 - 1) * jackknife_error(moved) / (share * (1 - share))
    assert (one.low, one.high) == pytest.approx(tuple(expit(log(share / (1 - share)) + reach * np.array([-1, 1]))))


def test_all_units_alike_are_as_many_trials_as_clusters() -> None:
    none, every = share_of_clusters_interval([[0] * 10, [1] * 10], [0, 0, 0, 1, 1, 2, 2, 3, 3, 4])
    # 1 - 0.025^(1/5).
    assert (none.estimate, none.low, none.high) == pytest.approx((0, 0, 1 - 0.025**0.2), abs=1e-12)
    assert (every.low, every.high) == pytest.approx((0.025**0.2, 1), abs=1e-12)
    exact = clopper_pearson_interval(5, 5)
    assert (every.low, every.high, every.method) == (exact.low, exact.high, "clopper-pearson")
    assert (none.n, none.clusters) == (10, 5)


def test_zeros_and_ones_mirror_and_missing_units_count_nowhere() -> None:
    generator = np.random.default_rng(2)
    labels, values = generator.integers(8, size=40), (generator.random(40) < 0.2).astype(float)
    one, other = share_of_clusters_interval([values, 1 - values], labels)
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low), abs=1e-12)
    order = generator.permutation(40)
    assert share_of_clusters_interval(values[order], labels[order]) == [one]
    missing = np.r_[values, nan, nan]
    assert share_of_clusters_interval(missing, [*labels, 0, 99]) == [one]


def test_no_interval() -> None:
    found = share_of_clusters_interval(np.array([[nan, nan, nan, nan], [0, 1, nan, nan], [0, 1, 1, 0]]), [*"aabb"])
    reasons = ["no unit has a value", "all values are in one cluster", "no variation among clusters"]
    assert [one.reason for one in found] == reasons
    assert all(isnan(one.low) and isnan(one.high) for one in found)
    assert isnan(found[0].estimate)
    assert [one.estimate for one in found[1:]] == [0.5, 0.5]


def test_wrong_input() -> None:
    with pytest.raises(MetricInputError, match=r"value 0\.5 is neither 0 nor 1"):
        share_of_clusters_interval([0, 0.5], [*"ab"])
    with pytest.raises(MetricInputError, match="2 terms; expected one"):
        share_of_clusters_interval([[[1, 0], [1, 0]]], [*"ab"])
    with pytest.raises(MetricInputError, match="level"):
        share_of_clusters_interval([1, 0], [*"ab"], level=1)
