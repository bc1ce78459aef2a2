"""Corrected correlations by a second derivation, and planted skills: one and two are both recovered."""

from collections.abc import Callable
from math import isnan, sqrt

import numpy as np
import pytest
from synthetic.skills import Floats, skill_scores

from attune_metrics import MetricInputError
from attune_metrics.stats.separation import separation
from attune_metrics.stats.skills import Correlation, disattenuated, shared_dimensions

BOTH, PEOPLE = skill_scores([0, 1], models=9, participants=15, between=0.5, seed=3)


def test_spearmans_correction_by_mean_products() -> None:
    # A second derivation, by the analysis of variance and of covariance: sums of products of every model with the mean,
    # and what is left of every cell, in loops; and Spearman's formula of 1904 on what independent errors would leave.
    models, n = BOTH.shape[1:]

    def component(a: Floats, b: Floats) -> tuple[float, float]:
        of_models = of_cells = 0.0
        for m in range(models):
            of_models += n * (a[m].mean() - a.mean()) * (b[m].mean() - b.mean())
            for u in range(n):
                rest_a = a[m, u] - a[m].mean() - a[:, u].mean() + a.mean()
                rest_b = b[m, u] - b[m].mean() - b[:, u].mean() + b.mean()
                of_cells += rest_a * rest_b
        mean_product, rest = of_models / (models - 1), of_cells / (models - 1) / (n - 1)
        return (mean_product - rest) / n, mean_product / n

    one, other = BOTH
    (true, total), (other_true, other_total) = component(one, one), component(other, other)
    common, _ = component(one, other)
    found = disattenuated(one, other, range(n))
    assert found.corrected.estimate == pytest.approx(common / sqrt(true * other_true), abs=1e-9)
    without_shared_noise = common / sqrt(total * other_total)
    spearman = without_shared_noise / sqrt(true / total * (other_true / other_total))
    assert found.corrected.estimate == pytest.approx(spearman, abs=1e-9)
    assert found.observed == pytest.approx(np.corrcoef(one.mean(axis=1), other.mean(axis=1))[0, 1], abs=1e-12)
    assert found.reliabilities == pytest.approx((true / total, other_true / other_total), abs=1e-12)


def test_the_ends_are_fishers_each_corrected() -> None:
    found = disattenuated(BOTH[0], BOTH[1], PEOPLE)
    reach = 1.959963984540054 / sqrt(9 - 3)
    kept = sqrt(found.reliabilities[0] * found.reliabilities[1])
    shared = found.observed - found.corrected.estimate * kept
    ends = [(np.tanh(np.arctanh(found.observed) + side * reach) - shared) / kept for side in (-1, 1)]
    assert (found.corrected.low, found.corrected.high) == pytest.approx(ends, abs=1e-12)


def test_independent_noise_leaves_spearmans_formula_as_it_is() -> None:
    # Noise of the second metric is unrelated to the noise of the first in every model by construction.
    signs = np.array([[1, 1, -1, -1], [1, -1, 1, -1]])
    a = np.arange(6.0)[:, np.newaxis] ** 1.5 + signs[0] * np.array([[1], [2], [1], [2], [1], [2]])
    b = np.sqrt(np.arange(6.0))[:, np.newaxis] + signs[1] * np.array([[0.1], [0.2], [0.2], [0.1], [0.3], [0.2]])
    found = disattenuated(a, b, range(4))
    alone = [separation(values, range(4)).reliability.estimate for values in (a, b)]
    assert found.corrected.estimate == pytest.approx(found.observed / sqrt(alone[0] * alone[1]), abs=1e-9)
    assert found.within.estimate == pytest.approx(0, abs=1e-12)


def test_nothing_is_clipped_beyond_one() -> None:
    over = [_eleven([0, 0], seed) for seed in range(20)]
    estimates = [one.corrected.estimate for one in over if not isnan(one.corrected.estimate)]
    assert max(estimates) > 1
    assert min(estimates) < 1
    assert np.mean(estimates) == pytest.approx(1, abs=0.05)


def _eleven(skills: list[int], seed: int, *, between: float = 0, reliability: float = 0.9) -> Correlation:
    (a, b), people = skill_scores(skills, models=11, between=between, reliability=reliability, seed=seed)
    return disattenuated(a, b, people)


def test_one_skill_and_two_skills_are_recovered() -> None:
    one, people = skill_scores([0] * 4, seed=5)
    two, _ = skill_scores([0, 0, 1, 1], seed=5)
    none, _ = skill_scores([0, 1, 2, 3], seed=5)
    assert [shared_dimensions(values, people).number for values in (one, two, none)] == [1, 2, 0]
    assert disattenuated(one[0], one[3], people).corrected.estimate == pytest.approx(1, abs=0.1)
    across = disattenuated(two[0], two[3], people).corrected
    assert across.low < 0 < across.high
    assert across.high < 0.6
    same = disattenuated(two[0], two[1], people).corrected
    assert same.high > 1
    assert same.low > 0.9


def test_shared_noise_is_no_skill() -> None:
    # Models that hardly differ, and errors that the metrics share: their means go together by noise alone.
    found, numbers = [], []
    for seed in range(20):
        values, people = skill_scores([0, 1, 2], reliability=0.6, shared_noise=0.9, participants=20, seed=seed)
        found.append(disattenuated(values[0], values[1], people))
        numbers.append(shared_dimensions(values, people, draws=200, seed=seed).number)
    assert np.mean([one.observed for one in found]) == pytest.approx(0.4 * 0.9, abs=0.1)
    assert np.nanmean([one.corrected.estimate for one in found]) == pytest.approx(0, abs=0.15)
    # 5% of draws of noise are above.
    assert sum(number > 0 for number in numbers) <= 3


def test_eleven_models_say_little_of_a_correlation() -> None:
    found = _eleven([0, 1], 4, between=0.6, reliability=0.95).corrected
    assert found.high - found.low > 0.6


def test_within_models_is_the_pooled_correlation_over_units() -> None:
    one, other = BOTH - BOTH.mean(axis=2, keepdims=True)
    found = disattenuated(BOTH[0], BOTH[1], PEOPLE).within
    assert found.estimate == pytest.approx(np.corrcoef(one.ravel(), other.ravel())[0, 1], abs=1e-12)
    # Errors correlate 0.4 and so do not the units' own parts: (0.4 + 0) / (1 + 1).
    assert found.low < 0.2 < found.high


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda values: values[:, :5], "fewer than 6 models"),
        (lambda values: values * 0, "all models have the same values"),
        (
            lambda values: values - values.mean(axis=2, keepdims=True) + np.arange(9)[:, np.newaxis] / 1000,
            "the models do not differ reliably in one of the two",
        ),
    ],
)
def test_what_has_no_corrected_correlation(change: Callable[[Floats], Floats], reason: str) -> None:
    one, other = change(BOTH)
    found = disattenuated(one, other, PEOPLE)
    assert isnan(found.corrected.estimate)
    assert found.corrected.reason == reason


def test_errors() -> None:
    with pytest.raises(MetricInputError, match="differ"):
        disattenuated([[1, 2]], [[1, 2, 3]], [1, 2])
    with pytest.raises(MetricInputError, match="two metrics, 6 models"):
        shared_dimensions(BOTH[:, :5], PEOPLE)
    with pytest.raises(MetricInputError, match="do not differ"):
        shared_dimensions(BOTH * 0, PEOPLE)
