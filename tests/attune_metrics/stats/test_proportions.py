"""Proportions: published values, statsmodels, hand derivations."""

from math import isnan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.cluster_means import clopper_pearson_interval, mcnemar_test, wilson_interval

quick = settings(deadline=None, max_examples=15)


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
