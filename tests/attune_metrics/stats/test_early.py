"""The difference of two models at a look: Student's t, the likelihood ratio of the t-test, and what neither can say."""

from math import inf, isnan, sqrt

import early_looks
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import nct, skew, t, ttest_1samp

from attune_metrics.metric import MetricInputError
from attune_metrics.stats.bootstrap import STATISTICS
from attune_metrics.stats.comparison import Pairs
from attune_metrics.stats.early import early_differences
from attune_metrics.stats.looking import Looking
from attune_metrics.stats.looks import critical_values, p_over_looks

ANY, PRIOR = Looking(), 50 / 8.211968062
A = np.array([5.0, 4, 3, 4, 5, 4, 3, 6, 5, 7, 4, 5, 3, 6])
B = np.array([4.0, 1, 1, 2, 4, 1, 3, 3, 1, 4, 1, 3, 2, 3])


def pairs_of(a: np.ndarray, b: np.ndarray, clusters: object = None) -> Pairs:
    return Pairs([a, b], [(0, 1)], range(len(a)) if clusters is None else clusters)  # type: ignore[arg-type]


def test_a_planned_look_is_students_t_without_skewness() -> None:
    # Hall's cubic by its cube, of scipy's skewness; the ends are the effects at which it is the quantile of t.
    gaps, size, skewness = A - B, 14, float(skew(A - B))
    [found] = early_differences(pairs_of(A, B), Looking(3, 4))

    def beyond(effect: float, quantile: float = 0.0) -> float:
        value = float(ttest_1samp(gaps, effect).statistic)
        w = min(max(value, -3), 3) / sqrt(size)
        moved = ((1 + skewness * w / 3) ** 3 - 1) / skewness + skewness / (6 * size) - w
        return value + sqrt(size) * moved - quantile

    alone = ttest_1samp(gaps, 0)
    p_value = max(2 * t(13).sf(beyond(0)), float(alone.pvalue))  # Both have to rule it out.
    assert found.p_value == pytest.approx(p_over_looks(max(p_value, 2 / 2**13), 3, 4), rel=1e-9)
    nominal = 2 * t(10**9).sf(critical_values(4)[2])
    quantile = t(13).ppf(1 - nominal / 2)
    low, high = (brentq(beyond, -2, 6, args=(end,)) for end in (quantile, -quantile))
    student = alone.confidence_interval(1 - nominal)
    assert (found.low, found.high) == pytest.approx((min(low, student.low), max(high, student.high)), rel=1e-6)
    assert low < student.low
    assert high < student.high
    assert (found.first, found.second, found.difference) == pytest.approx((A.mean(), B.mean(), gaps.mean()))
    assert (found.clusters, found.differing) == (14, 13)
    error = gaps.std(ddof=1) / sqrt(size)
    assert found.mde == pytest.approx((quantile + t(13).ppf(0.8)) * error, rel=1e-6)


def test_skewness_makes_nothing_found_that_student_would_not_find() -> None:
    for seed in range(40):
        gaps = np.random.default_rng(seed).exponential(size=12) * (-1) ** seed - 0.4
        [found] = early_differences(pairs_of(gaps, gaps * 0), ANY)
        value = float(ttest_1samp(gaps, 0).statistic)
        assert found.p_value >= ANY.p(value, 11, 12) - 1e-12
        reach = ANY.factor(11) * gaps.std(ddof=1) / sqrt(12)
        assert found.low <= gaps.mean() - reach + 1e-12
        assert found.high >= gaps.mean() + reach - 1e-12


def test_without_skewness_the_interval_is_students() -> None:
    both = np.concatenate([A - B, B - A]) + 1  # as far above the mean as below
    [found] = early_differences(pairs_of(both, both * 0), Looking(3, 4))
    ends = ttest_1samp(both, 0).confidence_interval(1 - 2 * t(10**9).sf(critical_values(4)[2]))
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=1e-6)


def test_the_likelihood_ratio_is_its_integral() -> None:
    # Densities of the t statistic: mixed over normal effects (in standard deviations) against no effect.
    clusters, value = 12, 3.1
    prior = sqrt(1 / PRIOR)

    def mixed(effect: float) -> float:
        weight = np.exp(-0.5 * (effect / prior) ** 2) / (prior * sqrt(2 * np.pi))
        return float(weight * nct(clusters - 1, effect * sqrt(clusters)).pdf(value))

    ratio = quad(mixed, -6, 6, limit=200)[0] / t(clusters - 1).pdf(value)
    assert ANY.p(value, clusters - 1, clusters) == pytest.approx(1 / ratio, rel=1e-5)


def test_the_interval_at_any_time_is_the_published_one() -> None:
    # avlm::t_radius of Lindon and others: f = (r alpha^2)^(1 / (nu + 1)), sqrt(nu (1 - f) / (f - r)).
    for freedom in (9, 24, 199):
        ratio = PRIOR / (PRIOR + freedom + 1)
        power = (ratio * 0.05**2) ** (1 / (freedom + 1))
        assert ANY.factor(freedom) == pytest.approx(sqrt(freedom * (1 - power) / (power - ratio)), rel=1e-6)
        assert ANY.p(ANY.factor(freedom), freedom, 60) == pytest.approx(0.05, rel=1e-9)
    # Howard and others, equation 14, with many clusters: sqrt((v + g) log((v + g) / (alpha^2 g))) / sqrt(G), v = G.
    many = 1_000_000
    boundary = sqrt((many + PRIOR) * np.log((many + PRIOR) / (0.05**2 * PRIOR))) / sqrt(many)
    assert ANY.factor(many - 1) == pytest.approx(boundary, rel=1e-4)
    assert ANY.factor(4) == inf
    assert [ANY.factor(size, level=0.99) > ANY.factor(size) for size in (20, 60)] == [True, True]


def test_the_constant_is_the_best_for_50_clusters() -> None:
    def width(prior: float) -> float:
        return float((50 + prior) / 50 * np.log((50 + prior) / (0.05**2 * prior)))

    assert width(PRIOR) < min(width(PRIOR * 0.95), width(PRIOR * 1.05))


def test_clusters_and_other_statistics() -> None:
    people, a, b = [f"p{unit // 2}" for unit in range(28)], np.repeat(A, 2), np.repeat(B, 2)
    [alone], [together] = (early_differences(pairs_of(a, b, own), ANY) for own in (None, people))
    assert (alone.clusters, together.clusters) == (28, 14)
    assert alone.difference == together.difference
    assert together.high - together.low > alone.high - alone.low
    mcc = STATISTICS["mcc"]
    counts = np.random.default_rng(0).integers(0, 4, size=(2, 4, 30)).astype(float)
    pairs = Pairs(counts, [(0, 1)], range(30))
    [found] = early_differences(pairs, Looking(1, 2), statistic=mcc)
    assert found.low < found.difference < found.high
    assert found.difference == pairs.observed(mcc)[0].item()


def test_odd_cases_have_a_reason() -> None:
    [equal] = early_differences(pairs_of(A, A), ANY)
    assert (equal.difference, equal.low, equal.high, equal.p_value) == (0, 0, 0, 1)
    [constant] = early_differences(pairs_of(A, A - 1), ANY)
    # Nothing but exchanges of the models can tell: no sign of k clusters is turned in 2 of 2^k.
    assert (constant.reason, isnan(constant.low)) == ("no variation among clusters", True)
    assert constant.p_value == constant.p_min == pytest.approx(2 / 2 ** len(A))
    # Equal precision of other counts: the models differ everywhere, and not in the statistic.
    ones, zeros = np.ones(20), np.zeros(20)
    counts = [np.array([3 * ones, ones, zeros, zeros]), np.array([ones, ones, zeros, 2 * ones])]
    [equal] = early_differences(Pairs(counts, [(0, 1)], range(20)), ANY, statistic=STATISTICS["precision"])
    assert (equal.difference, isnan(equal.p_value)) == (0, True)
    [none] = early_differences(pairs_of(A * np.nan, B), Looking(1, 2))
    assert (none.clusters, none.reason, isnan(none.difference)) == (0, "no unit has a value", True)
    for few in ((A[:11], B[:11]), (A[:11], A[:11] - 1), (A, B, ["a"] * len(A))):
        [found] = early_differences(pairs_of(*few), Looking(2, 2))
        assert (isnan(found.low), isnan(found.p_value), isnan(found.p_min), isnan(found.mde)) == (True,) * 4
        assert found.reason == "fewer than 12 clusters"
    [strict] = early_differences(pairs_of(A, B), ANY, level=1 - 1e-9)
    assert (isnan(strict.low), strict.reason) == (True, "so few clusters decide nothing at any time")
    assert isnan(strict.mde)


def test_few_clusters_that_differ_cannot_be_significant() -> None:
    # Five of one sign: exchanges give 2 / 2^5 at the least, whatever t says.
    a, b = np.array([3.0, 3.1, 3.0, 3.1, 3.0, *[1.0] * 7]), np.ones(12)
    [found] = early_differences(pairs_of(a, b), Looking(2, 2))
    assert found.p_value == found.p_min == pytest.approx(p_over_looks(1 / 16, 2, 2))
    assert (isnan(found.low), found.reason) == (True, "the models differ in fewer than 6 clusters")
    [ever] = early_differences(pairs_of(a, b), ANY)
    assert ever.p_value >= 1 / 16


@pytest.mark.parametrize(
    ("look", "looks", "message"),
    [
        (1, None, "give both the number of planned looks and which look this is"),
        (None, 2, "give both the number of planned looks and which look this is"),
        (3, 2, "look 3 of 2 planned"),
        (1, 21, "looks 21 is not a whole number from 1 to 20"),
    ],
)
def test_refusals(look: int | None, looks: int | None, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        Looking(look, looks)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["4 looks", "any"])
def test_the_error_over_all_looks_is_held(design: str) -> None:
    found = early_looks.simulated(25, "normal", design, has_effect=False, simulations=600)
    assert found.decided <= 0.075  # 0.05 and 2.8 standard errors
    assert found.missed <= 0.075
    strong = early_looks.simulated(25, "normal", design, has_effect=True, simulations=200)
    assert strong.decided > found.decided + 0.1
    assert strong.used < 25
    assert early_looks.family_error(4, design, 200) <= 0.1


@pytest.mark.slow
def test_skewed_differences_hardly_err_more() -> None:
    found = early_looks.simulated(25, "exponential", "4 looks", has_effect=False, simulations=600)
    assert found.decided <= 0.085  # Student's t alone errs in 0.098
