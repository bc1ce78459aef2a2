"""Two one-sided tests: hand derivations, the intervals they stand for, statsmodels, properties."""

from itertools import pairwise
from math import isnan, nan
from typing import Any

import equivalence as simulated
import interval_coverage
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired

from attune_metrics import MetricInputError
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.stats.equivalence import Equivalence, equivalence, verdict

METHODS: tuple[Any, ...] = ("percentile-expanded", "percentile", "bca")


def one(differences: Any, margin: float, **options: Any) -> Equivalence:
    resamples = draw_resamples(range(len(differences)), n_resamples=2_000)
    return equivalence(differences, np.zeros(len(differences)), resamples, margin=margin, **options)[0]


def test_by_hand() -> None:
    # Five resamples of the difference 0, 1, 2, 3, 4: its quantile at a level is 4 times the level.
    values, counts = [0, 4], np.array([[4, 0], [3, 1], [2, 2], [1, 3], [0, 4]], dtype=np.uint8)
    resamples = draw_resamples(["x", "y"], n_resamples=5)
    resamples = type(resamples)(resamples.clusters, counts)
    for margin, p_same in ((3, 1 - 3 / 4), (2.5, 1 - 2.5 / 4), (1, 1 - 1 / 4), (9, 1 / 6)):
        [found] = equivalence(values, [0, 0], resamples, margin=margin, method="percentile", alpha=0.4)
        assert found.p_same == pytest.approx(p_same, abs=1e-9), margin
    [turned] = equivalence([0, 0], values, resamples, margin=2.5, method="percentile", alpha=0.4)
    assert turned.p_same == pytest.approx(1 - 2.5 / 4, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_p_same_is_the_alpha_whose_interval_ends_at_the_margin(method: Any) -> None:
    generator = np.random.default_rng(4)
    a, b = generator.gamma(2, size=(2, 30))
    resamples = draw_resamples(range(30))
    for margin in (0.5, 0.7, 1.0):
        [found] = equivalence(a, b, resamples, margin=margin, method=method)
        [interval] = paired_bootstrap(a, b, resamples, method=method, level=1 - 2 * found.p_same)
        assert max(-interval.low, interval.high) == pytest.approx(margin, abs=1e-9)
        assert (found.p_same <= 0.05) == (max(-found.low, found.high) < margin)


def test_statsmodels_gives_about_the_same() -> None:
    generator = np.random.default_rng(1)
    a = generator.normal(size=200)
    b = a + generator.normal(0.05, 0.5, size=200)
    [found] = equivalence(a, b, draw_resamples(range(200)), margin=0.12)
    assert found.p_same == pytest.approx(ttost_paired(a, b, -0.12, 0.12)[0], abs=0.01)


def test_verdicts() -> None:
    generator = np.random.default_rng(2)
    noise = generator.normal(0, 0.1, size=40)
    noise -= noise.mean()
    assert one(noise, 0.5).verdict == "practically the same"
    assert one(noise + 1, 0.5).verdict == "different"
    assert one(noise[:6] * 10, 0.5).verdict == "undecided"
    # Certain, and too small to matter.
    small = one(noise + 0.2, 0.5)
    assert small.p_different < 0.001
    assert small.verdict == "practically the same"
    assert [verdict(*p) for p in ((0.05, nan), (nan, 0.04), (nan, 0.05), (nan, nan))] == [
        "practically the same", "different", "undecided", "undecided",
    ]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_equal_sides_are_the_same_for_certain(method: Any) -> None:
    [found] = equivalence([1, 2, 3], [1, 2, 3], draw_resamples(range(3)), margin=1e-6, method=method)
    assert (found.p_same, found.p_different, found.low, found.high) == (0, 1, 0, 0)
    assert found.verdict == "practically the same"


def test_no_interval() -> None:
    constant = one(np.full(8, 0.5), 1.0)
    assert isnan(constant.p_same)
    assert constant.reason == "no variation among clusters"
    lone = one([nan, 2, nan], 1.0)
    assert isnan(lone.p_same)
    assert (lone.verdict, lone.reason) == ("undecided", "all values are in one cluster")


@pytest.mark.parametrize("margin", [0, -1, nan, float("inf"), "1", None, True])
def test_margins_that_are_none(margin: Any) -> None:
    with pytest.raises(MetricInputError, match="margin"):
        one([1, 2, 3], margin)


@pytest.mark.parametrize("alpha", [0, 0.5, 1, nan])
def test_alphas_that_are_none(alpha: Any) -> None:
    with pytest.raises(MetricInputError, match="alpha"):
        one([1, 2, 3], 1, alpha=alpha)


@given(
    st.lists(st.integers(-4, 4), min_size=2, max_size=20),
    st.sampled_from(METHODS),
    st.lists(st.floats(0.05, 6), min_size=2, max_size=4),
)
@settings(deadline=None, max_examples=15)
@pytest.mark.filterwarnings("ignore::attune_metrics.metric.UnreliableIntervalWarning")
def test_properties(differences: list[int], method: Any, margins: list[float]) -> None:
    zeros = [0] * len(differences)
    resamples = draw_resamples(range(len(differences)), n_resamples=200)
    [test] = paired_permutation_test(differences, zeros, range(len(differences)))
    found = []
    for margin in sorted(margins):
        [here] = equivalence(differences, zeros, resamples, margin=margin, method=method)
        [turned] = equivalence(zeros, differences, resamples, margin=margin, method=method)
        assert turned.p_same == pytest.approx(here.p_same, abs=1e-9, nan_ok=True)
        assert turned.verdict == here.verdict
        assert here.p_different == test.p_value
        assert here.verdict == verdict(here.p_same, here.p_different)
        found.append(here)
    for tight, wide in pairwise(found):
        assert wide.p_same <= tight.p_same or isnan(tight.p_same)
        if tight.verdict == "practically the same":
            assert wide.verdict == tight.verdict


def test_models_that_differ_by_the_margin_are_seldom_called_the_same() -> None:
    # 500 simulations, seeded; the bound is five standard errors above 5%.
    design = interval_coverage.Design(25, "equal", 0.3)
    assert simulated.called_the_same(design, 500) <= 0.05 + 5 * (0.05 * 0.95 / 500) ** 0.5
