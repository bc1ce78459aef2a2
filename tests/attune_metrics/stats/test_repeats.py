"""The variance of repeats by hand and by analysis of variance, and ranks over combinations of repeats."""

from itertools import product
from math import isnan, nan

import numpy as np
import pytest
from scipy.stats import chi2

from attune_metrics.metric import MetricInputError
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.repeats import crossed_variances, rank_shares, repeat_variance

VALUES = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 4.0, 3.0], [2.0, 3.0, 4.0, 5.0]])


def test_parts_are_those_of_the_analysis_of_variance() -> None:
    repeats, n = VALUES.shape
    mean, of_units, of_repeats = VALUES.mean(), VALUES.mean(axis=0), VALUES.mean(axis=1)
    between_repeats = n * ((of_repeats - mean) ** 2).sum()
    residual = ((VALUES - of_units - of_repeats[:, np.newaxis] + mean) ** 2).sum() / ((n - 1) * (repeats - 1))
    found = repeat_variance(VALUES, draw_resamples(range(n)), level=0.9)
    assert found.interaction.estimate == pytest.approx(residual, rel=1e-12)
    expected_unit = (repeats * ((of_units - mean) ** 2).sum() / (n - 1) - residual) / repeats
    assert found.unit.estimate == pytest.approx(expected_unit, rel=1e-12)
    assert found.repeat.estimate == pytest.approx((between_repeats / (repeats - 1) - residual) / n, rel=1e-12)
    ends = [max((between_repeats / chi2.ppf(share, repeats - 1) - residual) / n, 0) for share in (0.95, 0.05)]
    assert [found.repeat.low, found.repeat.high] == pytest.approx(ends, rel=1e-9)
    assert (found.n, found.repeats, found.repeat.method, found.repeat.level) == (4, 3, "chi-squared", 0.9)


def test_parts_of_clusters_by_hand() -> None:
    # Rows 1 1 3 and 1 3 3, of which the first two units are one cluster: u = 1 2 3, y = 0 -1 0 and 0 1 0.
    # u: mean of squares about 2 is 2/3; deviations of clusters -1 and 1, so e^2 = 2 x 2 / 9; v = 10/9.
    # y: means -1/3 and 1/3; squares about them 2/9 each; deviations -1/3 and 1/3, so e^2 = 2 x 2/9 / 9 = 4/81 each.
    # Residual: 2 x (2/9 + 4/81) = 44/81. Unit: 10/9 - 22/81 = 68/81. Row: 2 x (1/9 - 4/81) = 10/81.
    unit, row, residual = crossed_variances([[1, 1, 3], [1, 3, 3]], draw_resamples(list("xxy"), n_resamples=50))
    assert [part.estimate for part in (unit, row, residual)] == pytest.approx([68 / 81, 10 / 81, 44 / 81], abs=1e-12)
    assert (isnan(unit.low), unit.reason) == (True, "fewer than three clusters")


@pytest.mark.slow
def test_clusters_do_not_bias_variances_and_intervals_cover_them() -> None:
    # 12 clusters of 5 units that are alike by 0.7; unit and residual have the variances 1 and 0.5. Without the clusters
    # the variance of units is 0.95 on average and its interval by resamples covers it in 83%.
    labels, simulations = np.repeat(np.arange(12), 5), 400
    resamples, generator = draw_resamples(labels, n_resamples=1), np.random.default_rng(4)
    means, covered = np.zeros(2), np.zeros(2)
    for _ in range(simulations):
        unit = np.sqrt(0.7) * generator.normal(size=12)[labels] + np.sqrt(0.3) * generator.normal(size=60)
        found = crossed_variances(unit + np.sqrt(0.5) * generator.normal(size=(3, 60)), resamples)
        means += [found[0].estimate, found[2].estimate]
        covered += [found[0].low <= 1 <= found[0].high, found[2].low <= 0.5 <= found[2].high]
        assert {found[0].method, found[2].method} == {"log-t"}
    # The standard errors of the means are 0.018 and 0.003, that of a share 0.013.
    assert means / simulations == pytest.approx([1, 0.5], abs=0.04)
    assert (covered / simulations > 0.9).all()


def test_variances_without_variation_have_no_interval() -> None:
    unit, _, residual = crossed_variances([[1.0, 2, 3, 5], [2.0, 3, 4, 6]], draw_resamples(range(4)))
    assert residual.estimate == pytest.approx(0, abs=1e-12)
    assert residual.reason == "no variation among clusters"
    assert unit.low < unit.estimate < unit.high
    equal = crossed_variances([[2.0] * 4, [2.0] * 4], draw_resamples(range(4)))
    assert {part.reason for part in equal} == {"no variation among clusters"}


def test_the_error_of_as_many_repeats_as_there_are_has_the_variance_of_repeats_on_top() -> None:
    found = repeat_variance(VALUES, draw_resamples(range(4)))
    expected = found.mean_error**2 + max(found.repeat.estimate, 0) / 3
    assert found.standard_error(3) ** 2 == pytest.approx(expected, rel=1e-12)
    errors = [found.standard_error(repeats) for repeats in range(1, 20)]
    assert errors == sorted(errors, reverse=True)
    # What repeats share, no number of units removes.
    assert found.standard_error(1, units=1e12) ** 2 == pytest.approx(max(found.repeat.estimate, 0), abs=1e-9)


def test_a_unit_that_lacks_a_repeat_is_left_out() -> None:
    more = np.column_stack([VALUES, [5.0, nan, 1.0]])
    found = repeat_variance(more, draw_resamples(range(5)))
    whole = repeat_variance(VALUES, draw_resamples(range(4)))
    assert found.n == 4
    assert [part.estimate for part in (found.unit, found.repeat, found.interaction)] == pytest.approx(
        [part.estimate for part in (whole.unit, whole.repeat, whole.interaction)], rel=1e-12
    )


@pytest.mark.parametrize(
    ("values", "reason"),
    [([[1.0, 2.0]], "one repeat"), ([[1.0, nan], [2.0, 1.0]], "fewer than 2 units have a value in every repeat")],
)
def test_too_little_gives_nan_and_the_reason(values: list[list[float]], reason: str) -> None:
    found = repeat_variance(values, draw_resamples(range(2)))
    assert isnan(found.repeat.estimate)
    assert isnan(found.standard_error(2))
    assert found.repeat.reason == reason


def test_wrong_shapes_and_numbers_are_refused() -> None:
    with pytest.raises(MetricInputError, match=r"values of shape \(4, 3\) for 4 units"):
        repeat_variance(VALUES.T, draw_resamples(range(4)))
    with pytest.raises(MetricInputError, match="two rows or more"):
        crossed_variances(VALUES[:1], draw_resamples(range(4)))
    with pytest.raises(MetricInputError, match="units is 0"):
        repeat_variance(VALUES, draw_resamples(range(4))).standard_error(1, units=0)
    with pytest.raises(MetricInputError, match=r"values\[1\]"):
        rank_shares([[1.0], []])


def test_ranks_of_every_combination() -> None:
    values = [[0.5, 0.7, 0.2], [0.4, 0.5], [0.6]]
    shares = np.zeros((3, 3))
    for combination in product(*values):
        for model, value in enumerate(combination):
            better = sum(other > value for other in combination)
            tied = sum(other == value for other in combination)
            shares[model, better : better + tied] += 1 / tied / 6
    assert rank_shares(values) == pytest.approx(shares, abs=1e-12)


def test_of_many_combinations_as_many_are_drawn_as_the_seed_says() -> None:
    generator = np.random.default_rng(0)
    values = [generator.normal(size=12) for _ in range(5)]
    assert np.array_equal(rank_shares(values, seed=1), rank_shares(values, seed=1))
    assert not np.array_equal(rank_shares(values, seed=1), rank_shares(values, seed=2))
    assert rank_shares(values).sum(axis=0) == pytest.approx(np.ones(5))
    assert rank_shares(values).sum(axis=1) == pytest.approx(np.ones(5))
