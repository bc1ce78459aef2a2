"""Rank correlation, against published values, scipy and its invariances."""

import warnings
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.agreement import kendall_tau_b, kendall_tau_b_rows, spearman_rho, spearman_rho_rows

Pair = tuple[list[int], list[int]]

small = st.integers(-3, 3)
pairs = st.integers(2, 12).flatmap(
    lambda n: st.tuples(st.lists(small, min_size=n, max_size=n), st.lists(small, min_size=n, max_size=n))
)
quick = settings(deadline=None)


def both(reference: Any, predicted: Any) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return np.array([spearman_rho(reference, predicted), kendall_tau_b(reference, predicted)])


def same(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=0, atol=1e-12, equal_nan=True))


def test_published_values() -> None:
    # The examples of scipy.stats.kendalltau and spearmanr (SciPy 1.14 reference).
    assert kendall_tau_b([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]) == pytest.approx(-0.4714045208, abs=1e-10)
    assert spearman_rho([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) == pytest.approx(0.8207826817, abs=1e-10)


def test_by_hand() -> None:
    # Pairs of (1, 2, 2) and (1, 2, 3): 2 concordant, 1 tied on one side: 2 / sqrt(2 * 3).
    assert kendall_tau_b([1, 2, 2], [1, 2, 3]) == pytest.approx(2 / 6**0.5, abs=1e-12)
    # Ranks (1, 2.5, 2.5) and (1, 2, 3), less 2: products 1 + 0 + 0.5; squares 1.5 and 2.
    assert spearman_rho([1, 2, 2], [1, 2, 3]) == pytest.approx(1.5 / 3**0.5, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 6))
@settings(deadline=None, max_examples=15)
def test_rows_are_those_of_scipy(seed: int, n: int, values: int) -> None:
    # One value (constant rows) gives nan in both.
    x, y = np.random.default_rng(seed).integers(0, values, size=(2, 8, n)) / 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.stats.ConstantInputWarning)
        rho = [scipy.stats.spearmanr(*row).statistic for row in zip(x, y, strict=True)]
        tau = [scipy.stats.kendalltau(*row).statistic for row in zip(x, y, strict=True)]
    assert same(spearman_rho_rows(x, y), rho)
    assert same(kendall_tau_b_rows(x, y), tau)


@given(pairs)
@quick
def test_rows_are_the_single_values(pair: Pair) -> None:
    reference, predicted = pair
    rows = [reference, predicted], [predicted, predicted]
    rho, tau = spearman_rho_rows(*rows), kendall_tau_b_rows(*rows)
    assert same([rho[0], tau[0]], both(reference, predicted))
    assert same([rho[1], tau[1]], both(predicted, predicted))


@given(pairs, st.randoms())
@quick
def test_invariances(pair: Pair, random: Any) -> None:
    reference, predicted = map(np.array, pair)
    value = both(reference, predicted)
    assert same(value, both(predicted, reference))
    # Only the order counts: any increasing transform, the order reversed.
    assert same(value, both(np.exp(reference), predicted**3 + 1e6))
    assert same(value, -both(-reference, predicted))
    order = random.sample(range(len(reference)), len(reference))
    assert same(value, both(reference[order], predicted[order]))
    assert np.isnan(value).all() or (np.abs(value) <= 1).all()
    # Exactly 1, not nearly.
    assert len(set(pair[0])) == 1 or both(reference, reference).tolist() == [1, 1]
    assert np.isnan(value).any() == (1 in (len(set(pair[0])), len(set(pair[1]))))


def test_infinite_values_have_ranks() -> None:
    assert both([-np.inf, 0, np.inf], [1, 2, 3]).tolist() == [1, 1]


@pytest.mark.parametrize("pair", [([1, 1], [1, 2]), ([1], [2]), ([], []), ([1, nan], [1, 2]), ([1, 2], [1, None])])
@pytest.mark.parametrize("correlation", [spearman_rho, kendall_tau_b])
def test_undefined(correlation: Any, pair: Any) -> None:
    with pytest.warns(UndefinedMetricWarning, match=f"^undefined: {correlation.__name__}; it needs values that differ"):
        assert isnan(correlation(*pair))


def test_an_undefined_row_leaves_the_others() -> None:
    rows, up = np.array([[1, 2, 3], [1, nan, 3], [1, 1, 1], [3, 2, 1]]), np.array([[1, 2, 3]] * 4)
    assert same(spearman_rho_rows(rows, up), [1, nan, nan, -1])
    assert same(kendall_tau_b_rows(rows, up), [1, nan, nan, -1])
    assert kendall_tau_b_rows(np.empty((0, 3)), np.empty((0, 3))).shape == (0,)
    assert same(spearman_rho_rows(np.empty((2, 0)), np.empty((2, 0))), [nan, nan])


@pytest.mark.parametrize(
    ("reference", "predicted", "message"),
    [
        ([1, 2], [1, 2, 3], r"reference has shape \(2,\), predicted \(3,\)"),
        (["1", "2"], [1, 2], "reference value '1' is not a number; convert text to a number first"),
        ([1, 2], [1, "2"], "predicted value '2' is not a number; convert text"),
        ([[1, 2]], [[1, 2]], r"reference has shape \(1, 2\); expected \(n\)"),
        ([1, 2], [1, object()], "predicted value <object.* is not a number$"),
        (3, 3, r"reference has shape \(\)"),
    ],
)
def test_malformed(reference: Any, predicted: Any, message: str) -> None:
    for correlation in (spearman_rho, kendall_tau_b):
        with pytest.raises(MetricInputError, match=message):
            correlation(reference, predicted)


def test_malformed_rows() -> None:
    with pytest.raises(MetricInputError, match="reference has rows of unequal length; fill up with nan"):
        spearman_rho_rows([[1, 2], [1]], [[1, 2], [1, 2]])  # type: ignore[list-item, unused-ignore]
    with pytest.raises(MetricInputError, match="expected \\(rows, n\\)"):
        kendall_tau_b_rows([1, 2], [1, 2])
