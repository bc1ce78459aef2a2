"""Separation against other derivations: Cronbach's alpha, standard errors, scipy's non-central F, the planted truth."""

from itertools import combinations
from math import inf, isnan, nan

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from synthetic.skills import Floats, skill_scores

from attune_metrics import MetricInputError
from attune_metrics.stats.power import mde_factor, minimum_detectable_effect
from attune_metrics.stats.separation import separation, units_for_reliability
from attune_metrics.stats.sums import clustered_standard_error

VALUES = np.random.default_rng(1).normal(size=(5, 30)) + np.arange(5)[:, np.newaxis] / 3 + np.arange(30) / 10
PEOPLE = np.arange(30) // 3


def test_reliability_is_cronbachs_alpha_of_models_over_units() -> None:
    items = VALUES.var(axis=0, ddof=1).sum() / VALUES.sum(axis=1).var(ddof=1)
    assert separation(VALUES, range(30)).reliability.estimate == pytest.approx(30 / 29 * (1 - items), abs=1e-12)


def test_the_error_of_clusters_is_the_standard_error_of_differences() -> None:
    pairs = [VALUES[a] - VALUES[b] for a, b in combinations(range(5), 2)]
    squares = [clustered_standard_error(pair, PEOPLE) ** 2 for pair in pairs]
    found = separation(VALUES, PEOPLE)
    error = found.detectable * found.seen / mde_factor(10)
    assert error == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-12)
    # The variance of means is half the mean square of their differences.
    means = VALUES.mean(axis=1)
    assert found.reliability.estimate == pytest.approx(1 - np.mean(squares) / 2 / means.var(ddof=1), abs=1e-12)
    assert found.seen == pytest.approx(np.ptp(means), abs=1e-12)
    two = separation(VALUES[:2], PEOPLE)
    assert two.detectable * two.seen == pytest.approx(
        minimum_detectable_effect(VALUES[0], VALUES[1], PEOPLE.tolist()), abs=1e-12
    )


def test_shares_are_the_analysis_of_variance() -> None:
    rows, n = VALUES.shape
    units = rows * ((VALUES.mean(axis=0) - VALUES.mean()) ** 2).sum() / (n - 1)
    models = n * ((VALUES.mean(axis=1) - VALUES.mean()) ** 2).sum() / (rows - 1)
    rest = ((VALUES - VALUES.mean()) ** 2).sum() - units * (n - 1) - models * (rows - 1)
    residual = rest / (n - 1) / (rows - 1)
    parts = np.array([(models - residual) / n, (units - residual) / rows, residual])
    found = separation(VALUES, range(n))
    shares = [found.model.estimate, found.unit.estimate, found.within.estimate]
    assert shares == pytest.approx(parts / parts.sum(), abs=1e-12)
    assert all(one.low < one.estimate < one.high for one in (found.model, found.unit, found.within))


def test_the_interval_of_equally_noisy_models_is_of_the_noncentral_f() -> None:
    # Two models are equally noisy by construction, so that nothing is estimated of that: exact ends by scipy, whose
    # non-central F Patnaik's approximates beyond a non-centrality of 200.
    for shift in (0.1, 0.5, 1.0, 6.0):
        values = np.random.default_rng(3).normal(size=(2, 20)) + np.array([[0], [shift]])
        found = separation(values, range(20)).reliability
        ratio = 1 / (1 - found.estimate)
        for end, level in ((found.low, 0.975), (found.high, 0.025)):
            if end > 0:
                assert stats.ncf.cdf(ratio, 1, 19, end / (1 - end)) == pytest.approx(level, abs=0.01)
            else:
                assert stats.f.cdf(ratio, 1, 19) <= level


def test_unequal_noise_makes_the_interval_wider() -> None:
    generator = np.random.default_rng(4)
    common = generator.normal(size=60)
    even = np.linspace(0, 1, 12)[:, np.newaxis] + generator.normal(size=(12, 60))
    two_families = even + 2 * np.where(np.arange(12) < 6, 1, -1)[:, np.newaxis] * (common - common.mean())
    even_ends, ends = (separation(values, range(60)).reliability for values in (even, two_families))
    assert ends.estimate < even_ends.estimate
    assert ends.high - ends.low > 2 * (even_ends.high - even_ends.low)


def test_scale_order_and_incomplete_units_do_not_matter() -> None:
    found = separation(VALUES, PEOPLE)
    order = np.random.default_rng(0).permutation(30)
    more = np.hstack([VALUES[:, order] * 7 - 3, np.full((5, 2), [[nan, 9.0]]) * np.eye(5)[:, :1]])
    more[0, -1] = nan
    again = separation(more, [*PEOPLE[order], 77, 78])
    for name in ("reliability", "model", "unit", "within"):
        one, other = getattr(found, name), getattr(again, name)
        assert (other.estimate, other.low, other.high) == pytest.approx((one.estimate, one.low, one.high), abs=1e-9)
    assert (again.seen, again.detectable) == pytest.approx((7 * found.seen, found.detectable), abs=1e-9)


def test_intervals_of_shares_are_shares_and_hold_the_estimate() -> None:
    for seed in range(100):  # of noise alone, where a part of the variance is below 0 as often as above
        found = separation(np.random.default_rng(seed).normal(size=(4, 30)), range(30))
        for part in (found.unit, found.within):
            assert 0 <= part.low <= part.estimate <= part.high <= 1


def test_below_zero_is_no_zero() -> None:
    # Means 2 and 2.01, differences far noisier: F is far below 1.
    found = separation([[1.0, 3.0, 2.0, 2.0], [3.0, 1.0, 2.02, 2.02]], range(4)).reliability
    assert found.estimate < -10
    assert found.low == 0
    assert units_for_reliability(found.estimate, 4) == inf


@pytest.mark.parametrize(
    ("values", "people", "reason"),
    [
        ([[1, 2, 3]], [1, 2, 3], "fewer than two models"),
        ([[1, 2, 3], [2, 3, 5]], [1, 1, 1], "fewer than two clusters"),
        ([[1, 2, nan], [nan, nan, 5]], [1, 2, 3], "no unit has a value of every model"),
        ([[1, 2, 3], [1, 2, 3]], [1, 2, 3], "all models have the same values"),
        ([[1, 3], [3, 1]], [1, 2], "all models have the same mean"),
    ],
)
def test_what_has_no_reliability(values: list[list[float]], people: list[int], reason: str) -> None:
    found = separation(values, people)
    assert isnan(found.reliability.estimate)
    assert (found.reliability.reason, found.model.reason) == (reason, reason)


def test_what_has_no_interval() -> None:
    assert separation([[1, 2], [3, 5]], [1, 2]).reliability.reason == "fewer than three clusters"
    same = separation([[1, 2, 4], [2, 3, 5]], [1, 2, 3])
    assert (same.reliability.estimate, same.reliability.reason) == (1, "no variation among clusters")
    assert isnan(same.reliability.low)
    assert isnan(same.model.low)


def test_errors() -> None:
    with pytest.raises(MetricInputError, match=r"expected \(models, units\)"):
        separation([[1, 2]], [1])
    with pytest.raises(MetricInputError, match="infinite"):
        separation([[1, inf]], [1, 2])
    with pytest.raises(MetricInputError, match="target"):
        units_for_reliability(0.5, 10, target=1)


def test_so_many_units_as_needed_give_the_reliability() -> None:
    small = [separation(*_one(50, seed)).reliability.estimate for seed in range(40)]
    needed = units_for_reliability(float(np.mean(small)), 100)
    large = [separation(*_one(int(needed) // 2, seed)).reliability.estimate for seed in range(40)]
    assert np.mean(large) == pytest.approx(0.9, abs=0.03)


def _one(participants: int, seed: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return one metric; the spread of the models is of 50 participants with a reliability of 0.7."""
    reliability = 0.7 * participants / (0.7 * participants + 0.3 * 50)
    values, people = skill_scores([0], models=20, participants=participants, reliability=reliability, seed=seed)
    return values[0], people


@pytest.mark.slow
@pytest.mark.parametrize("models", [4, 11])
@pytest.mark.parametrize("participants", [10, 50])
def test_intervals_cover_a_reliability_and_the_share_between_models(models: int, participants: int) -> None:
    # docs/separation.md has more cells. Means of models as far apart as a reliability of 0.8 says; two families of
    # models share errors, as large as their own.
    generator, simulations = np.random.default_rng([models, participants]), 300
    people = np.arange(participants).repeat(2)
    family = np.where(np.arange(models) < models // 2, 1.0, -1.0)
    covariance = np.eye(models) / people.size + np.outer(family, family) / participants
    noise = (np.trace(covariance) - covariance.sum() / models) / (models - 1)
    single = np.eye(models) + np.outer(family, family)
    within = (np.trace(single) - single.sum() / models) / (models - 1)
    between = 4 * noise
    share = between / (between + 1 + single.sum() / models**2 - within / models + within)
    covered = np.zeros(2)
    for _ in range(simulations):
        true = generator.normal(size=models)
        true *= np.sqrt(between / true.var(ddof=1))
        of_families = np.outer(family, generator.normal(size=participants).repeat(2))
        rest = generator.normal(size=(models, people.size)) + generator.normal(size=people.size)
        found = separation(true[:, np.newaxis] + of_families + rest, people)
        covered += [one.low <= truth <= one.high for one, truth in ((found.reliability, 0.8), (found.model, share))]
    # The standard error of a share of 0.95 is 0.013.
    assert (covered / simulations > 0.91).all()


@pytest.mark.slow
@pytest.mark.parametrize(("models", "units", "apart"), [(4, 25, 0.17), (11, 50, 0.1), (40, 200, 0.05)])
def test_intervals_cover_a_reliability_of_zeros_and_ones(models: int, units: int, apart: float) -> None:
    # Hits of models whose probabilities lie evenly, on units of unequal difficulty.
    generator, simulations, base = np.random.default_rng([models, units]), 300, np.linspace(-1, 1, models)
    chance = 0.5 + apart * base[:, np.newaxis] + np.linspace(-0.25, 0.25, 501)
    signal, noise = apart**2 * base.var(ddof=1), (chance * (1 - chance)).mean() / units
    truth, covered = signal / (signal + noise), 0
    for _ in range(simulations):
        hit = 0.5 + apart * base[:, np.newaxis] + generator.uniform(-0.25, 0.25, units)
        found = separation((generator.random((models, units)) < hit).astype(float), range(units)).reliability
        covered += found.low <= truth <= found.high
    assert 0.91 <= covered / simulations <= 0.99
