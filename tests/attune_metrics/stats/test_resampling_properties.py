"""What never changes a result, and what changes it in a known way, on random input."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attune_metrics.stats.bootstrap import Interval, bootstrap, bootstrap_distribution, draw_resamples
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.stats.sums import clustered_standard_error

# Random clusters are often large ones, of which BCa intervals warn; `test_resampling` has the warning.
pytestmark = pytest.mark.filterwarnings("ignore::attune_metrics.metric.UnreliableIntervalWarning")

METHODS = ("percentile-expanded", "percentile", "bca")
few = settings(deadline=None, max_examples=12)
methods = st.sampled_from(METHODS)
seeds = st.integers(0, 3)


@dataclass(frozen=True)
class Units:
    """Values of two models in three metrics, some missing, of units in clusters, and another order of the units."""

    values: Any
    clusters: list[str]
    order: Any


@st.composite
def units(draw: st.DrawFn) -> Units:
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    size, clusters = draw(st.integers(1, 40)), draw(st.integers(1, 30))
    values = generator.normal(0.6, 0.3, size=(2, 3, size))
    if draw(st.booleans()):
        values = values.round(1)  # ties
    values[generator.random(values.shape) < draw(st.sampled_from([0, 0.2]))] = np.nan
    labels = [f"p{label}" for label in generator.integers(clusters, size=size)]
    return Units(values, labels, generator.permutation(size))


def results(values: Any, clusters: list[str], method: Any, seed: int) -> str:
    resamples = draw_resamples(clusters, n_resamples=200, seed=seed)
    a, b = values
    return repr(
        [
            bootstrap(a, resamples, method=method),
            bootstrap([a], resamples, statistic=lambda sums, n: sums[..., 0] / (sums[..., 1] + n), method=method),
            paired_bootstrap(a, b, resamples, method=method),
            paired_permutation_test(a, b, clusters, n_permutations=99, seed=seed),
            [clustered_standard_error(series, clusters) for series in a],
        ]
    )


@pytest.mark.filterwarnings("ignore::attune_metrics.UndefinedMetricWarning")
@given(units(), methods, seeds)
@few
def test_order_of_units_never_matters(units: Units, method: str, seed: int) -> None:
    moved = units.values[..., units.order], [units.clusters[place] for place in units.order]
    assert results(*moved, method, seed) == results(units.values, units.clusters, method, seed)


@pytest.mark.filterwarnings("ignore::attune_metrics.UndefinedMetricWarning")
@given(units(), methods, seeds)
@few
def test_same_seed_same_bytes(units: Units, method: str, seed: int) -> None:
    assert results(units.values, units.clusters, method, seed) == results(units.values, units.clusters, method, seed)


@given(units())
@few
def test_names_of_clusters_matter_by_their_order_only(units: Units) -> None:
    longer = draw_resamples([f"participant {label}" for label in units.clusters], n_resamples=50)
    assert np.array_equal(longer.counts, draw_resamples(units.clusters, n_resamples=50).counts)


def assert_close(one: Interval, low: float, high: float, estimate: float) -> None:
    ends = one.estimate, one.low, one.high
    assert ends == pytest.approx((estimate, low, high), abs=1e-9, nan_ok=True)


@given(units(), methods, st.floats(-3, 3), st.sampled_from([0.1, 1, 7.3]))
@few
def test_intervals_of_means_move_with_shift_and_scale(units: Units, method: Any, shift: float, scale: float) -> None:
    resamples = draw_resamples(units.clusters, n_resamples=200)
    a, b = units.values
    for plain, moved in zip(
        bootstrap(a, resamples, method=method), bootstrap(scale * a + shift, resamples, method=method), strict=True
    ):
        assert moved.reason == plain.reason
        assert_close(moved, scale * plain.low + shift, scale * plain.high + shift, scale * plain.estimate + shift)
    for plain, moved in zip(
        paired_bootstrap(a, b, resamples, method=method),
        paired_bootstrap(scale * a + shift, scale * b + shift, resamples, method=method),
        strict=True,
    ):
        assert_close(moved, scale * plain.low, scale * plain.high, scale * plain.estimate)


@given(units(), st.sampled_from(["percentile-expanded", "percentile"]))
@few
def test_changing_places_changes_the_sign(units: Units, method: Any) -> None:
    resamples = draw_resamples(units.clusters, n_resamples=200)
    a, b = units.values
    for one, other in zip(
        paired_bootstrap(a, b, resamples, method=method), paired_bootstrap(b, a, resamples, method=method), strict=True
    ):
        assert_close(one, -other.high, -other.low, -other.estimate)
    tests = paired_permutation_test(a, b, units.clusters, n_permutations=99)
    others = paired_permutation_test(b, a, units.clusters, n_permutations=99)
    for test, back in zip(tests, others, strict=True):
        assert (test.p_value, test.difference) == pytest.approx(
            (back.p_value, -back.difference), abs=1e-12, nan_ok=True
        )


@given(units(), methods)
@few
def test_other_series_do_not_matter(units: Units, method: Any) -> None:
    resamples = draw_resamples(units.clusters, n_resamples=200)
    for series, interval in zip(units.values[0], bootstrap(units.values[0], resamples, method=method), strict=True):
        [alone] = bootstrap(series, resamples, method=method)
        assert_close(alone, interval.low, interval.high, interval.estimate)


@given(units())
@few
def test_intervals_nest(units: Units) -> None:
    resamples = draw_resamples(units.clusters, n_resamples=200)
    narrow, usual, wide = (
        bootstrap(units.values[0], resamples, method="percentile"),
        bootstrap(units.values[0], resamples),
        bootstrap(units.values[0], resamples, level=0.99),
    )
    for inner, middle, outer in zip(narrow, usual, wide, strict=True):
        assume(outer.reason is None)
        assert outer.low <= middle.low <= inner.low <= inner.high <= middle.high <= outer.high


@given(units())
@few
def test_distribution_is_that_of_the_drawn_units(units: Units) -> None:
    # Each resample, unit by unit: the values of the drawn clusters, as often as drawn.
    resamples = draw_resamples(units.clusters, n_resamples=20)
    drawn = np.asarray(resamples.counts)[:, resamples.clusters]
    for series, means in zip(units.values[0], bootstrap_distribution(units.values[0], resamples), strict=True):
        known = ~np.isnan(series)
        for counts, mean in zip(drawn[:, known], means, strict=True):
            expected = np.repeat(series[known], counts).mean() if counts.any() else np.nan
            assert mean == pytest.approx(expected, abs=1e-12, nan_ok=True)
