"""P-values of intervals: by hand, undefined resamples, the interval that ends at 0, Student's t."""

import warnings
from math import nan
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import Interval, draw_resamples
from attune_metrics.stats.judges import PredictionPowered, prediction_powered
from attune_metrics.stats.power import p_of_ends, two_sided_p

INTERVAL = Interval(1.0, nan, nan, 0.95, "percentile", 5, 5)
DRAWN = np.array([2.0, -3, 4, 1, 3])


def test_by_hand() -> None:
    # The quantile is at the levels 0, 1/4, 1/2, 3/4, 1 of -3, 1, 2, 3, 4: it is 0 at 3/4 of the way from 0 to 1/4. The
    # smallest level of five resamples is 1/6.
    assert two_sided_p(DRAWN, INTERVAL, "percentile", None) == pytest.approx((2 * 3 / 16, 2 / 6), abs=1e-9)
    assert two_sided_p(-DRAWN, INTERVAL, "percentile", None) == pytest.approx((2 * 3 / 16, 2 / 6), abs=1e-9)
    assert two_sided_p(DRAWN + 9, INTERVAL, "percentile", None) == pytest.approx((2 / 6, 2 / 6), abs=1e-9)
    # The upper end is at 3.5 where the quantile of the other side is: 7/8 of the way up, 1/8 from above.
    assert p_of_ends(DRAWN, 0, 3.5, INTERVAL, "percentile", None) == pytest.approx((3 / 16, 1 / 6), abs=1e-9)
    assert p_of_ends(DRAWN, -9, 2.5, INTERVAL, "percentile", None) == pytest.approx((1 / 6, 3 / 8), abs=1e-9)


def test_undefined_resamples_bound_the_p_value() -> None:
    # Two of seven: an interval of a tail below 2/7 does not exist.
    drawn = np.array([*DRAWN, nan, nan])
    assert two_sided_p(drawn, INTERVAL, "percentile", None) == pytest.approx((4 / 7, 4 / 7), abs=1e-9)


def test_no_p_value_is_above_1() -> None:
    assert two_sided_p(np.array([-1.0, 1]), INTERVAL, "percentile", None).p_value == 1


def corrected(shift: float, method: Any, level: float) -> PredictionPowered:
    generator = np.random.default_rng(8)
    people = generator.gamma(2, size=80) - 2 + shift
    judged = people + generator.normal(size=80)
    people[generator.permutation(80)[40:]] = nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        return prediction_powered(judged, people, draw_resamples(range(80)), method=method, level=level)[0]


@pytest.mark.parametrize("method", ["percentile-expanded", "percentile", "bca"])
@pytest.mark.parametrize("shift", [-0.5, 0.2, 0.35])
def test_p_is_the_alpha_whose_interval_ends_at_0(method: Any, shift: float) -> None:
    found = corrected(shift, method, 0.95)
    assert found.p_min < 0.001 < found.p_value < 1
    ends = corrected(shift, method, 1 - found.p_value).corrected
    assert min(abs(ends.low), abs(ends.high)) == pytest.approx(0, abs=1e-9)
    assert (found.p_value < 0.05) == (found.corrected.low > 0 or found.corrected.high < 0)


def test_student_gives_about_the_same() -> None:
    rated = np.random.default_rng(1).normal(0.15, size=200)
    [found] = prediction_powered(rated, rated, draw_resamples(range(200)), slope=0)
    assert found.p_value == pytest.approx(ttest_1samp(rated, 0).pvalue, abs=0.005)
