"""How skewed a mean is: by hand, against scipy, by its definition for clusters, and where it is undefined."""

from math import nan, sqrt

import numpy as np
import pytest
from scipy import stats

from attune_metrics import MetricInputError
from attune_metrics.stats.sums import clustered_standard_error, skewness_of_mean


def test_by_hand() -> None:
    # Values 0, 0, 0, 4 of mean 1: squares 1, 1, 1, 9 of mean 3, cubes -1, -1, -1, 27 of mean 6, skewness 6 / 3^1.5; of
    # the mean of four, half of that.
    assert skewness_of_mean([0, 0, 0, 4], range(4)) == pytest.approx([6 / 3**1.5 / 2], abs=1e-12)
    # In two clusters with the sums of deviations -2 and 2: standard error sqrt(2 * 8) / 4 = 1, standard deviation 2.
    assert skewness_of_mean([0, 0, 0, 4], [*"aabb"]) == pytest.approx([6 / 3**1.5 / 2], abs=1e-12)
    # One more cluster of another 0: nothing is worth as much as five independent units.
    assert skewness_of_mean([0, 0, 4, 4, 0], [*"aabbc"])[0] > skewness_of_mean([0, 0, 4, 4, 0], range(5))[0] > 0


def test_of_independent_units_it_is_scipys_over_the_root_of_their_number() -> None:
    values = np.random.default_rng(1).exponential(size=(3, 40))
    assert skewness_of_mean(values, range(40)) == pytest.approx(stats.skew(values, axis=1) / sqrt(40), abs=1e-12)


def test_of_clusters_it_is_that_of_the_effective_number_of_units() -> None:
    values, labels = np.random.default_rng(2).exponential(size=40), np.repeat(np.arange(10), 4)
    effective = values.var(ddof=1) / clustered_standard_error(values, labels) ** 2
    assert skewness_of_mean(values, labels) == pytest.approx([stats.skew(values) / sqrt(effective)], abs=1e-12)
    # Four equal units are worth one.
    alike = skewness_of_mean(np.repeat(values[:10], 4), labels)
    # But for n - 1 in the variance, of 40 units and of 10.
    assert alike == pytest.approx(sqrt(39 / 40 / (9 / 10)) * skewness_of_mean(values[:10], range(10)), abs=1e-12)


def test_scale_and_order_change_nothing_and_a_sign_the_sign() -> None:
    values, labels = np.random.default_rng(3).exponential(size=30), np.random.default_rng(4).integers(8, size=30)
    [found] = skewness_of_mean(values, labels)
    order = np.random.default_rng(5).permutation(30)
    others = [7 - 3 * values, 1e250 * values, np.r_[values[order]]]
    assert skewness_of_mean(others[0], labels) == pytest.approx([-found], abs=1e-12)
    assert skewness_of_mean(others[1], labels) == pytest.approx([found], abs=1e-12)
    assert skewness_of_mean(others[2], labels[order]) == pytest.approx([found], abs=1e-12)


def test_undefined_without_spread_or_clusters() -> None:
    values = [[nan, nan, nan, nan], [0.1, 0.1, 0.1, 0.3 - 0.2], [1, nan, nan, nan], [1, 5, nan, nan], [1, 5, 1, 5]]
    found = skewness_of_mean(np.array(values), [*"aabb"])
    assert np.isnan(found).all()  # the last differs within clusters only, so that the mean is known


def test_symmetric_values_have_none() -> None:
    assert skewness_of_mean([1, 2, 3, 4, 5], range(5)) == pytest.approx([0], abs=1e-12)


def test_wrong_input() -> None:
    with pytest.raises(MetricInputError, match="2 terms; expected one"):
        skewness_of_mean([[[1, 2], [3, 4]]], [*"ab"])
    with pytest.raises(MetricInputError, match="3 units, clusters 2"):
        skewness_of_mean([1, 2, 3], [*"ab"])
