"""Power: statsmodels, hand derivations."""

from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import settings

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.power import clustered_standard_error, minimum_detectable_effect, units_needed

quick = settings(deadline=None, max_examples=50)


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
    detectable = minimum_detectable_effect(a, b, range(5))
    assert detectable == pytest.approx(2.801585 * error, abs=1e-6)
    # n in proportion to 1 / difference^2: 4 units for this one, 16 for half of it, 64 for a quarter.
    assert [units_needed(a, b, range(5), difference=detectable / part) for part in (1, 2, 4)] == [4, 16, 64]
    assert units_needed(a, b, range(5), difference=detectable / 2.01) == 17


def test_participants_not_units_carry_the_information() -> None:
    # Each difference three times within its participant: the mean, the error and the power stay, n is three times.
    a, b = [5, 4, 3, 4], [4, 1, 1, 2]
    long_a, long_b = np.repeat(a, 3), np.repeat(b, 3)
    clusters = np.repeat(range(4), 3)
    expected = minimum_detectable_effect(a, b, range(4))
    assert minimum_detectable_effect(long_a, long_b, clusters) == pytest.approx(expected, abs=1e-12)
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
    with pytest.warns(UndefinedMetricWarning, match=f"undefined: minimum_detectable_effect; {why}") as caught:
        assert isnan(minimum_detectable_effect(a, b, clusters))
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
        minimum_detectable_effect([1, 2], [[1, 2], [3, 4]], range(2))
    for difference in (0, -1):
        with pytest.raises(MetricInputError, match=f"difference {difference} is not above 0; give its size"):
            units_needed([1, 2], [2, 4], range(2), difference=difference)
