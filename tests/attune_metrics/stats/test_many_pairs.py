"""Permutation tests of many pairs: counted as they are drawn, block by block, they are the same tests."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from attune_metrics.stats import comparison
from attune_metrics.stats.bootstrap import mean_of_sums
from attune_metrics.stats.comparison import Pairs, paired_permutation_test, permutation_test_of_pairs
from attune_metrics.stats.sums import Floats

PAIRS = list(combinations(range(7), 2))
CLUSTERS = np.arange(60) // 2


def series() -> Floats:
    """Return values of 7 series on 60 units, small whole numbers, so that exchanges tie with what was observed."""
    generator = np.random.default_rng(5)
    values = generator.integers(0, 4, size=(7, 60)).astype(float)
    values[1] += 1
    values[generator.random(values.shape) < 0.1] = np.nan
    values[6] = values[5]
    return values


def mean(sums: Floats, n: Floats) -> Floats:
    """Return the mean, by a function that is not known to be one."""
    return mean_of_sums(sums, n)


def test_means_are_tested_as_any_statistic_is() -> None:
    pairs = Pairs(series(), PAIRS, CLUSTERS)
    of_means = permutation_test_of_pairs(pairs, n_permutations=999, seed=3)
    assert of_means == permutation_test_of_pairs(pairs, statistic=mean, n_permutations=999, seed=3)
    assert len({test.p_value for test in of_means}) > 5


def test_blocks_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.stack([series(), np.ones((7, 60))], axis=1)

    def ratio(sums: Floats, n: Floats) -> Floats:
        return np.asarray(sums[..., 0] / sums[..., 1] + 0 * n)

    whole = permutation_test_of_pairs(Pairs(values, PAIRS, CLUSTERS), statistic=ratio, n_permutations=500)
    monkeypatch.setattr(comparison, "MOST_DIFFERENCES", 1500)
    assert permutation_test_of_pairs(Pairs(values, PAIRS, CLUSTERS), statistic=ratio, n_permutations=500) == whole
    monkeypatch.setattr(comparison, "_PAIRS", 2)
    means = permutation_test_of_pairs(Pairs(series(), PAIRS, CLUSTERS), n_permutations=500)
    monkeypatch.undo()
    assert means == permutation_test_of_pairs(Pairs(series(), PAIRS, CLUSTERS), n_permutations=500)


def test_sides_that_are_shared_change_nothing() -> None:
    complete = Pairs(np.nan_to_num(series()), PAIRS, CLUSTERS)
    assert len(set(complete.first) | set(complete.second)) == 7
    tests = permutation_test_of_pairs(Pairs(series(), PAIRS, CLUSTERS), n_permutations=300)
    for pair, test in zip(PAIRS, tests, strict=True):
        assert permutation_test_of_pairs(Pairs(series(), [pair], CLUSTERS), n_permutations=300) == [test]


def test_random_exchanges_come_near_all_of_them() -> None:
    # 14 clusters that differ by 1 each but for the last, by -2: an exchange is as large as the observed 11 / 14 where
    # the sum of 13 signs and twice another is at least 11 in size.
    differences = [1] * 13 + [-2]
    sums = [
        sum(sign * one for sign, one in zip(signs, differences, strict=True)) for signs in product((1, -1), repeat=14)
    ]
    exact = Fraction(sum(abs(total) >= 11 for total in sums), 2**14)
    [test] = paired_permutation_test(differences, [0] * 14, range(14), n_permutations=99_999)
    assert not test.exact
    assert test.difference == pytest.approx(11 / 14, abs=1e-12)
    # Within 5 standard errors of a share of 99,999.
    assert test.p_value == pytest.approx(float(exact), abs=5 * (float(exact) / 99_999) ** 0.5)
