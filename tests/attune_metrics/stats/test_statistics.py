"""Point estimates and the statistics by name: exact sums, the definitions of other modules."""

from fractions import Fraction
from math import isnan, nan
from random import Random
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attune_metrics import MetricInputError
from attune_metrics.attunebench.questions import BinaryCounts
from attune_metrics.eibench import scene_means
from attune_metrics.stats.agreement import krippendorff_alpha, krippendorff_alpha_interval
from attune_metrics.stats.bootstrap import (
    STATISTICS,
    bootstrap,
    draw_resamples,
    mean_of_means,
    mean_of_sums,
    point_estimate,
)
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.stats.ranking import rank_intervals
from attune_metrics.stats.sums import ROUNDING

quick = settings(deadline=None, max_examples=15)
# Sums of these round: cents, values of all sizes, and such as cancel.
number = st.integers(-10_000, 10_000).map(lambda cents: cents / 100) | st.floats(-1e12, 1e12)
maybe = number | st.just(nan)


def known(values: list[float]) -> list[float]:
    return [value for value in values if not isnan(value)]


@given(st.lists(maybe, min_size=1, max_size=40), st.data())
@quick
def test_a_mean_is_fmean_bit_for_bit_wherever_it_is_computed(values: list[float], data: st.DataObject) -> None:
    clusters = data.draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)))
    order = data.draw(st.permutations(range(len(values))))
    turned = [values[place] for place in order]
    expected = fmean(known(values)) if known(values) else nan
    estimates = [float(point_estimate(some)[0]) for some in (values, turned)]
    for some, labels in ((values, clusters), (turned, [clusters[place] for place in order])):
        [interval] = bootstrap(some, draw_resamples(labels, n_resamples=9))
        estimates.append(interval.estimate)
    assert [repr(estimate) for estimate in estimates] == [repr(expected)] * 4


@example([(-999_999_999_999.0, -1_000_000_000_000.0)], Random(0))
@given(st.lists(st.tuples(maybe, maybe), min_size=1, max_size=20), st.randoms(use_true_random=False))
@quick
def test_a_difference_is_that_of_both_means(pairs: list[tuple[float, float]], random: Any) -> None:
    common = [pair for pair in pairs if not isnan(sum(pair))]
    expected = fmean(a for a, _ in common) - fmean(b for _, b in common) if common else nan
    for some in (pairs, random.sample(pairs, len(pairs))):
        a, b = zip(*some, strict=True)
        units = range(len(some))
        [interval] = paired_bootstrap(a, b, draw_resamples(units, n_resamples=9))
        [test] = paired_permutation_test(a, b, units, n_permutations=9)
        assert repr(test.difference) == repr(interval.estimate)
        # Sides that are equal but for rounding, in proportion to their values, differ by exactly 0.
        largest = max((abs(value) for pair in common for value in pair), default=0)
        equal = interval.estimate == 0 and abs(expected) <= ROUNDING * largest
        assert repr(interval.estimate) == repr(expected) or equal


def test_ten_tenths_and_a_mean_of_the_benchmark() -> None:
    # Added one after the other: 0.9999999999999999 and 67.33675000000001.
    assert point_estimate([0.1] * 10).tolist() == [0.1]
    scores = [62.11, 71.302, 68.917, 67.018]
    assert point_estimate(scores).tolist() == [float(sum(map(Fraction, scores)) / 4)] == [fmean(scores)]


def test_sides_equal_but_for_rounding_differ_by_nothing() -> None:
    a, b = [0.1 + 0.2, 1.0, 2.0], [0.3, 1.0, 2.0]
    [interval] = paired_bootstrap(a, b, draw_resamples(range(3)))
    [test] = paired_permutation_test(a, b, range(3))
    assert (interval.estimate, interval.low, interval.high) == (0, 0, 0)
    assert (test.difference, test.p_value) == (0, 1)


def test_equal_means_share_a_rank_whatever_the_order() -> None:
    scores = [[0.1, 0.2, 0.3, 0.7], [0.7, 0.3, 0.2, 0.1], [0.3, 0.7, 0.1, 0.2], [0.9, 0.9, 0.9, 0.9]]
    ranks = rank_intervals(scores, draw_resamples(range(4), n_resamples=99))
    assert [rank.estimate for rank in ranks] == [3, 3, 3, 1]


def test_a_value_and_its_interval_have_one_estimate() -> None:
    ratings = [[1, 2, None, 1], [2, 2, 3, 3], [3, 1, 3, None], [1, 1, 2, 2], [5, 4, 5, 5]]
    value = krippendorff_alpha(ratings, level="interval")
    assert krippendorff_alpha_interval(ratings, draw_resamples(range(5)), level="interval").estimate == value


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 4), max_size=8))
@quick
def test_scores_of_pooled_counts_are_those_of_binary_counts(units: list[tuple[int, int, int, int]]) -> None:
    pooled = sum((BinaryCounts(*unit) for unit in units), BinaryCounts())
    terms = np.array(units, dtype=float).reshape(-1, 4).T[np.newaxis]
    for name in ("accuracy", "precision", "recall", "f1", "mcc"):
        found = float(point_estimate(terms, statistic=STATISTICS[name])[0])
        assert found == getattr(pooled, name) if units else isnan(found)


@given(st.lists(st.tuples(st.sampled_from("abcd"), number), min_size=1, max_size=30))
@quick
def test_a_mean_of_means_is_that_of_scene_means_bit_for_bit(episodes: list[tuple[str, float]]) -> None:
    scenes, values = [scene for scene, _ in episodes], [value for _, value in episodes]
    terms = []
    for group in sorted(set(scenes)):
        terms.append([value if scene == group else 0.0 for scene, value in episodes])
        terms.append([float(scene == group) for scene in scenes])
    found = float(point_estimate([terms], statistic=mean_of_means)[0])
    assert repr(found) == repr(scene_means(scenes, values).macro)


def test_a_mean_of_means_by_hand() -> None:
    # 0.5 and 0.25 in one group, -1 in the other: (0.375 - 1) / 2.
    terms = [[[0.5, 0.25, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]]
    assert point_estimate(terms, statistic=mean_of_means).tolist() == [-0.3125]
    assert isnan(point_estimate([[[1, 2], [1, 1], [0, 0], [0, 0]]], statistic=mean_of_means)[0])
    resampled = mean_of_means(np.array([[[2.0, 2, 4, 1]], [[3.0, 2, 4, 1]]]), np.array([[3.0], [3.0]]))
    assert resampled.tolist() == [[2.5], [2.75]]


def test_leaving_out_the_last_unit_of_a_group_leaves_no_mean_of_means() -> None:
    # 0.1 + 0.2 - 0.3 is not quite 0; without units it counts for nothing.
    left = np.array([0.1 + 0.2 - 0.3, 0.0, 1.0, 1.0])
    assert isnan(mean_of_means(left, np.array(1.0)))


def test_mean_and_share_are_the_mean_of_one_term() -> None:
    assert STATISTICS["mean"] is STATISTICS["share"] is mean_of_sums
    assert point_estimate([[1, 0, nan, 1], [nan, nan, nan, nan]], statistic=STATISTICS["share"])[0] == 2 / 3


def test_shapes() -> None:
    assert point_estimate([1, 2]).shape == (1,)
    assert point_estimate([[1, 2], [3, 4], [5, 6]]).tolist() == [1.5, 3.5, 5.5]
    assert point_estimate(np.empty((2, 3, 0))).shape == (2,)
    # A unit that lacks one term lacks them all: 1 + 3 over two units.
    assert point_estimate([[[1.0, 2.0, 3.0], [5.0, nan, 7.0]]]).tolist() == [2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (3, "values has 0 dimensions"),
        ([1, float("inf")], r"values\[0, 1\] is inf|values\[1\] is inf"),
        (["0.5"], "values value '0.5' is not a number; convert text"),
        ([[1, 2], [3]], "rows of unequal length"),
    ],
)
def test_bad_values_are_named(values: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        point_estimate(values)


def test_sums_beyond_any_float_are_undefined() -> None:
    assert isnan(point_estimate([1.7e308, 1.7e308])[0])
