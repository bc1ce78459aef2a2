"""Means in which each cluster counts once: by hand, against scipy, against the bootstrap's conventions."""

from math import inf, isnan, nan, sqrt
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from attune_metrics import MetricInputError
from attune_metrics.stats.bootstrap import point_estimate
from attune_metrics.stats.cluster_means import cluster_means, mean_of_clusters_interval

PEOPLE = ["eve", "ann", "ann", "bob", "ann", "joe", "bob"]
SCORES = [0.9, 0.5, 0.7, 0.2, nan, 0.4, 0.4]
MEANS = [0.6, 0.3, 0.9, 0.4]  # of ann, bob, eve and joe


def test_by_hand() -> None:
    assert cluster_means(SCORES, PEOPLE)[0].tolist() == pytest.approx(MEANS)
    # Mean 0.55; squares of deviations 0.0025 + 0.0625 + 0.1225 + 0.0225 = 0.21; t(3) = 3.1824.
    [one] = mean_of_clusters_interval(SCORES, PEOPLE)
    margin = 3.182446 * sqrt(0.21 / 3 / 4)
    assert (one.estimate, one.low, one.high) == pytest.approx((0.55, 0.55 - margin, 0.55 + margin), abs=1e-6)
    assert (one.n, one.clusters, one.method, one.reason) == (6, 4, "t", None)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (0, 100)])
def test_scipy_gives_the_same(low: float, high: float, level: float) -> None:
    values = low + (high - low) * np.array(SCORES)
    means = low + (high - low) * np.array(MEANS)
    [plain] = mean_of_clusters_interval(values, PEOPLE, level=level)
    expected = stats.t.interval(level, 3, loc=means.mean(), scale=stats.sem(means))
    assert (plain.low, plain.high) == pytest.approx(expected)
    [bounded] = mean_of_clusters_interval(values, PEOPLE, low=low, high=high, level=level)
    share = (means.mean() - low) / (high - low)
    error = stats.sem(means) / (high - low) / (share * (1 - share))
    ends = stats.t.interval(level, 3, loc=logit(share), scale=error)
    assert (bounded.low, bounded.high) == pytest.approx(tuple(low + (high - low) * expit(ends)))
    assert bounded.method == "logit-t"
    assert low < bounded.low < bounded.estimate < bounded.high < high


def test_clusters_of_one_unit_have_the_mean_of_units() -> None:
    values = np.random.default_rng(1).random((3, 40))
    found = mean_of_clusters_interval(values, range(40), low=0, high=1)
    assert [one.estimate for one in found] == point_estimate(values).tolist()
    # Four units each: the mean of means is that of units.
    found = mean_of_clusters_interval(values, np.repeat(np.arange(10), 4), low=0, high=1)
    assert [one.estimate for one in found] == pytest.approx([fmean(row) for row in values.tolist()])


def test_the_order_of_units_does_not_show() -> None:
    values, labels = np.random.default_rng(2).random(50), np.random.default_rng(3).integers(9, size=50)
    order = np.random.default_rng(4).permutation(50)
    kept = mean_of_clusters_interval(values, labels, low=0, high=1)
    assert kept == mean_of_clusters_interval(values[order], labels[order], low=0, high=1)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([nan, nan, nan], "no unit has a value"),
        ([0.5, 0.7, nan], "all values are in one cluster"),
        ([1, 1, 1], "no variation among clusters"),  # the mean is at the end of the range
        ([0.2, 0.4, 0.3], "no variation among clusters"),
    ],
)
def test_without_interval(values: list[float], reason: str) -> None:
    [one] = mean_of_clusters_interval(values, ["ann", "ann", "bob"], low=0, high=1)
    assert isnan(one.low)
    assert isnan(one.high)
    assert one.reason == reason


def test_half_a_range_is_none() -> None:
    [one] = mean_of_clusters_interval([1.0, 2, 9], list("abc"), low=0, high=inf)
    assert one.method == "t"
    assert one.low < 0


def test_a_mean_that_rounding_puts_outside_its_range_is_at_the_end() -> None:
    values = [0.1 + 0.2, 0.3, 0.1]  # 0.30000000000000004
    [one] = mean_of_clusters_interval(values, list("abc"), low=0, high=0.3)
    assert one.high < 0.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": 1, "high": 1}, "low 1 is not below high 1"),
        ({"low": nan}, "low nan is not below high inf"),
        ({"low": 0, "high": 0.5}, "a cluster has the mean 0.6.*, outside the range 0 to 0.5"),
        ({"level": 1}, "level"),
    ],
)
def test_refusals(options: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        mean_of_clusters_interval(SCORES, PEOPLE, **options)


def test_refused_values() -> None:
    with pytest.raises(MetricInputError, match="2 terms; expected one"):
        cluster_means(np.ones((1, 2, 3)), list("abc"))
    with pytest.raises(MetricInputError, match="3 units, clusters 2"):
        cluster_means([1, 2, 3], list("ab"))
    with pytest.raises(MetricInputError, match="inf"):
        cluster_means([1, 2, inf], list("abc"))
