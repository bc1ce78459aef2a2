"""Corrected correlations by a second derivation, and planted skills: one and two are both recovered."""

from collections.abc import Callable
from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import fmin
from synthetic.skills import Floats, skill_scores

from attune_metrics import MetricInputError
from attune_metrics.stats.dimensions import shared_dimensions
from attune_metrics.stats.separation import separation
from attune_metrics.stats.skills import Correlation, disattenuated
from attune_metrics.stats.sums import noise_freedom, relative_means

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


def test_the_ends_without_noise_are_fishers() -> None:
    one, other = BOTH.mean(axis=2, keepdims=True) + 1e-6 * BOTH
    found = disattenuated(one, other, PEOPLE).corrected
    reach = 1.959963984540054 / sqrt(9 - 3)
    assert (found.low, found.high) == pytest.approx(
        [np.tanh(np.arctanh(found.estimate) + side * reach) for side in (-1, 1)], abs=1e-6
    )


def test_the_ends_are_by_the_likelihood_of_the_means() -> None:
    # A second derivation: Wishart's density by scipy, of means of which Nelder and Mead find the likeliest spreads; and
    # by which the estimated noise adds to the variance by numerical derivatives of the estimate.
    found = disattenuated(BOTH[0], BOTH[1], PEOPLE)
    parts = [relative_means(values, PEOPLE) for values in BOTH]
    means, moved = (np.stack([part[place].ravel() for part in parts]) for place in (0, 1))
    seen, noise = means @ means.T / 8, moved @ moved.T / 8
    freedom = 14 * min(noise_freedom(part[1], 14) for part in parts)
    assert found.reliabilities == pytest.approx(1 - np.diag(noise) / np.diag(seen), abs=1e-12)

    def misfit(spreads: Floats, rho: float) -> float:
        a, b = np.exp(spreads)
        both = np.array([[a * a, rho * a * b], [rho * a * b, b * b]]) + noise
        return -float(stats.wishart.logpdf(seen * 8, 8, both))

    def best(rho: float) -> float:
        start = np.log(np.diag(seen - noise)) / 2
        found: Any = fmin(misfit, start, args=(rho,), xtol=1e-10, ftol=1e-10, disp=False)
        return -misfit(found, rho)

    def corrected(total: Floats, error: Floats) -> float:
        true = total - error
        return float(true[0, 1] / np.sqrt(true[0, 0] * true[1, 1]))

    def variance(of: Callable[[Floats], float], at: Floats, degrees: float) -> float:
        steps = [np.array(one) * 1e-6 for one in ([[1, 0], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 1]])]
        slopes = [(of(at + step) - of(at - step)) / 2e-6 for step in steps]
        places = [(0, 0), (0, 1), (1, 1)]
        return sum(
            slopes[p] * slopes[q] * float(at[i, m] * at[j, n] + at[i, n] * at[j, m]) / degrees
            for p, (i, j) in enumerate(places)
            for q, (m, n) in enumerate(places)
        )

    more = variance(lambda error: corrected(seen, error), noise, freedom)
    wider = 1 + more / variance(lambda total: corrected(total, noise), seen, 8)
    reach = 1.959963984540054 * sqrt(wider / 6)
    highest = best(found.corrected.estimate)
    for end in (found.corrected.low, found.corrected.high):
        assert 2 / 8 * (highest - best(end)) == pytest.approx(2 * np.log(np.cosh(reach)), rel=1e-5)
    assert -1 < found.corrected.low < found.corrected.high < 1


def test_ends_that_nothing_rules_out_are_one() -> None:
    # Reliabilities of about 0.3 of six models go with any correlation.
    (one, other), people = skill_scores([0, 1], models=6, reliability=0.4, participants=20, seed=3)
    found = disattenuated(one, other, people)
    assert min(found.reliabilities) > 0.3
    assert (found.corrected.low, found.corrected.high) == (-1, max(1, found.corrected.estimate))


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
    every = [_eleven([0, 0], seed) for seed in range(20)]
    over = [one for one in every if not isnan(one.corrected.estimate)]
    estimates = [one.corrected.estimate for one in over]
    assert max(estimates) > 1
    assert min(estimates) < 1
    assert np.mean(estimates) == pytest.approx(1, abs=0.05)
    assert all(one.corrected.low <= min(one.corrected.estimate, 1) for one in over)
    assert all(one.corrected.high == max(one.corrected.estimate, 1) for one in over if one.corrected.estimate > 1)


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
    assert same.high >= 1
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
            "one of the two has a reliability below 0.3",
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


@pytest.mark.slow
@pytest.mark.parametrize(("models", "reliability", "rho"), [(6, 0.8, 0.6), (11, 0.8, 0.9), (40, 0.5, 0.0)])
def test_intervals_of_the_corrected_correlation_cover(models: int, reliability: float, rho: float) -> None:
    # docs/separation.md has more cells. The standard error of a share of 0.95 of 200 is 0.015.
    found = []
    for seed in range(300):
        (one, other), people = skill_scores(
            [0, 1], models=models, participants=10, between=rho, reliability=reliability, seed=seed
        )
        found.append(disattenuated(one, other, people).corrected)
    shown = [one for one in found if not isnan(one.low)]
    assert len(shown) > 200
    assert 0.91 <= np.mean([one.low <= rho <= one.high for one in shown]) <= 0.99
