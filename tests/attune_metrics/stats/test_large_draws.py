"""Draws and comparisons of many clusters: the same numbers in blocks, on shared sides, and by Poisson draws."""

from math import fsum, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory import peak, start_peak

from attune_metrics.metric import MetricInputError
from attune_metrics.stats import bootstrap as resampling
from attune_metrics.stats import sums
from attune_metrics.stats.bootstrap import STATISTICS, bootstrap, bootstrap_distribution, draw_resamples
from attune_metrics.stats.comparison import (
    Pairs,
    bootstrap_of_pairs,
    paired_bootstrap,
    paired_permutation_test,
    permutation_test_of_pairs,
)
from attune_metrics.stats.sums import Streamed, products

POISSON = 5  # a limit that puts the few clusters of these tests above it


def results(labels: Any) -> str:
    generator = np.random.default_rng(3)
    a, b = generator.normal(size=(2, 3, len(labels)))
    a[1, ::7] = np.nan
    draws = draw_resamples(labels, n_resamples=700, seed=4)
    return repr(
        [
            bootstrap(a, draws, method="bca"),
            paired_bootstrap(a, b, draws),
            paired_permutation_test(a, b, labels, n_permutations=701, seed=2),
        ]
    )


@pytest.mark.parametrize("limit", [POISSON, 20_000])
def test_draws_that_are_not_kept_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    labels = np.arange(90) // 3
    monkeypatch.setattr(resampling, "MAX_MULTINOMIAL_CLUSTERS", limit)
    kept = results(labels)
    monkeypatch.setattr(resampling, "MOST_KEPT", 0)
    assert isinstance(draw_resamples(labels).counts, Streamed)
    assert results(labels) == kept


@pytest.mark.parametrize("limit", [POISSON, 20_000])
@pytest.mark.parametrize("clusters", [1, 7, 30])
def test_draws_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch, limit: int, clusters: int) -> None:
    monkeypatch.setattr(resampling, "MAX_MULTINOMIAL_CLUSTERS", limit)

    def drawn() -> tuple[Any, Any]:
        # Of whole numbers the sums are exact, whatever the blocks of the products.
        [test] = paired_permutation_test(np.arange(60) % 7, np.arange(60) % 5, range(60), n_permutations=1_003)
        return np.asarray(draw_resamples(range(clusters), n_resamples=1_003, seed=9).counts), test

    counts, test = drawn()
    # Blocks of four rows, drawn one by one.
    monkeypatch.setattr(sums, "_CELLS", 1)
    monkeypatch.setattr(resampling, "_AT_ONCE", 1)
    again, same = drawn()
    assert np.array_equal(again, counts)
    assert same == test


def test_poisson_draws_of_clusters_are_independent_and_vary_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MAX_MULTINOMIAL_CLUSTERS", POISSON)
    drawn = np.asarray(draw_resamples(range(8), n_resamples=40_000, seed=1).counts).astype(float)
    # Mean and variance 1, covariance 0 (-1/8 where eight are drawn); five standard errors: of the mean 1 / sqrt(n), of
    # the variance sqrt((mu4 - 1) / n) with mu4 = 4, of a covariance 1 / sqrt(n).
    error = 1 / sqrt(len(drawn))
    assert np.abs(drawn.mean(axis=0) - 1).max() < 5 * error
    covariance = np.cov(drawn.T)
    assert np.abs(np.diag(covariance) - 1).max() < 5 * sqrt(3) * error
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 5 * error
    # Chances of 0, 1, 2: e^-1, e^-1, e^-1 / 2, of 320,000 counts.
    for count, chance in enumerate((np.exp(-1), np.exp(-1), np.exp(-1) / 2)):
        assert abs((drawn == count).mean() - chance) < 5 * sqrt(chance * (1 - chance) / drawn.size)
    again = draw_resamples(range(8), n_resamples=40_000, seed=1)
    other = draw_resamples(range(8), n_resamples=40_000, seed=2)
    assert np.array_equal(np.asarray(again.counts), drawn)
    assert not np.array_equal(np.asarray(other.counts), drawn)


def test_more_than_20_000_clusters_are_drawn_by_poisson() -> None:
    few, many = (np.asarray(draw_resamples(range(size), n_resamples=8).counts) for size in (20_000, 20_001))
    assert set(few.sum(axis=1, dtype=int).tolist()) == {20_000}
    totals = many.sum(axis=1, dtype=int)
    # Each total is Poisson with mean 20,001: within 6 standard deviations, and 8 of them not all equal.
    assert len(set(totals.tolist())) > 1
    assert np.abs(totals - 20_001).max() < 6 * sqrt(20_001)


def test_poisson_intervals_are_as_multinomial_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mean over G clusters they are wider by the factor sqrt(1 + 1 / G), which is 1.001 here."""
    generator = np.random.default_rng(5)
    labels = generator.integers(600, size=1_500)  # of unequal sizes
    effect = generator.normal(size=600)[labels]
    values = np.array([effect + generator.normal(size=1_500), effect + generator.exponential(size=1_500)])
    counts = generator.integers(4, size=(1, 4, 1_500)).astype(float)
    plain = draw_resamples(labels, n_resamples=10_000, seed=1)
    monkeypatch.setattr(resampling, "MAX_MULTINOMIAL_CLUSTERS", POISSON)
    poisson = draw_resamples(labels, n_resamples=10_000, seed=2)
    # The quantile of 10,000 draws has the standard error sqrt(q (1 - q) / R) / phi(z), 0.027 standard deviations; five
    # of them, for a difference of two. Standard deviations differ by 1 / sqrt(2 R) each.
    normal = NormalDist()
    error = sqrt(0.025 * 0.975 / 10_000) / normal.pdf(normal.inv_cdf(0.025))
    for data, name in ((values, "mean"), (counts, "f1"), (counts, "mcc")):
        statistic = STATISTICS[name]
        spreads, intervals = [], []
        for draws in (plain, poisson):
            distribution = bootstrap_distribution(data, draws, statistic=statistic)
            spreads.append(distribution.std(axis=-1))
            intervals.append(bootstrap(data, draws, statistic=statistic, distribution=distribution))
        assert spreads[1] / spreads[0] == pytest.approx(1, abs=5 * sqrt(2) / sqrt(2 * 10_000))
        for one, other, spread in zip(*intervals, spreads[0], strict=True):
            assert one.estimate == other.estimate
            assert abs(one.low - other.low) < 5 * sqrt(2) * error * spread
            assert abs(one.high - other.high) < 5 * sqrt(2) * error * spread


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 2**32), st.sampled_from([0, 0.1, 0.6]), st.booleans(), st.sampled_from(["mean", "f1"]))
def test_shared_sides_give_what_each_pair_alone_gives(seed: int, lacking: float, together: bool, name: str) -> None:
    generator = np.random.default_rng(seed)
    units, models = int(generator.integers(1, 60)), int(generator.integers(1, 5))
    labels = generator.integers(30, size=units)
    # Whole numbers: sums of them are exact in any order.
    values = generator.integers(6, size=(models, 4 if name == "f1" else 1, units)).astype(float)
    missing = generator.random((1 if together else models, units)) < lacking
    values[np.broadcast_to(missing, (models, units))[:, np.newaxis].repeat(values.shape[1], axis=1)] = np.nan
    first, second = places = np.array([(i, j) for i in range(models) for j in range(i, models)]).T
    draws, statistic = draw_resamples(labels, n_resamples=60), STATISTICS[name]
    plain = (
        paired_bootstrap(values[first], values[second], draws, statistic=statistic),
        paired_permutation_test(values[first], values[second], labels, statistic=statistic, n_permutations=60),
    )
    pairs = Pairs(values, places.T, labels)
    assert pairs.sums.shape[1] <= (models if together or not lacking else models**2)
    shared = (
        bootstrap_of_pairs(pairs, draws, statistic=statistic),
        permutation_test_of_pairs(pairs, statistic=statistic, n_permutations=60),
    )
    assert repr(shared) == repr(plain)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([[0, 2]], r"pairs\[0, 1\] is 2; expected a position of 2 series"),
        ([[0, 1], [-1, 0]], r"pairs\[1, 0\] is -1; expected a position of 2 series"),
        ([0, 1], r"pairs has shape \(2,\) of int64; expected whole numbers \(pairs, 2\)"),
        ([[0.0, 1.0]], r"pairs has shape \(1, 2\) of float64; expected whole numbers \(pairs, 2\)"),
    ],
)
def test_pairs_are_of_two_series(places: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        Pairs([[1, 2], [3, 4]], places, ["x", "y"])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_resamples() -> None:
    """Kept, 20,000 resamples of 30,000 clusters are 600 MB; a block of 10 million numbers is 80 MB."""
    values = np.random.default_rng(1).normal(size=(2, 30_000))
    start = start_peak()
    draws = draw_resamples(range(30_000), n_resamples=20_000)
    intervals = bootstrap(values, draws)
    [test] = paired_permutation_test(values[0], values[1], range(30_000), n_permutations=20_000)
    assert peak() - start < 300_000_000
    assert all(interval.reason is None for interval in intervals)
    assert test.exchanges == 20_000


def test_a_statistic_that_is_no_ratio_is_refused_above_the_limit() -> None:
    values = np.ones(resampling.MAX_MULTINOMIAL_CLUSTERS + 1)
    resamples = draw_resamples(range(len(values)), n_resamples=2)
    with pytest.raises(MetricInputError, match=r"no ratio: .* above 20,000 clusters"):
        bootstrap(values, resamples, statistic=lambda sums, _n: sums[..., 0])
    few = draw_resamples(range(9), n_resamples=20)
    assert bootstrap(np.arange(9.0), few, statistic=lambda sums, _n: sums[..., 0])[0].estimate == 36


def test_weighted_sums_do_not_depend_on_the_order_of_addition() -> None:
    generator = np.random.default_rng(5)
    clusters = 37
    part = generator.lognormal(sigma=2, size=(clusters, 3, 2)) * [1.0, 1e-9]
    part[:, 2] = generator.integers(0, 6, size=(clusters, 2)) / 5
    counts = np.array(draw_resamples(range(clusters), n_resamples=200, seed=2).counts)
    order = generator.permutation(clusters)
    [(_, [sums])] = products(counts, part)
    [(_, [permuted])] = products(np.ascontiguousarray(counts[:, order]), np.ascontiguousarray(part[order]))
    assert (sums == permuted).all()
    for series in range(3):
        for term in range(2):
            exact = [fsum((row * part[:, series, term]).tolist()) for row in counts.astype(float)]
            np.testing.assert_allclose(sums[:, series, term], exact, rtol=1e-14)
