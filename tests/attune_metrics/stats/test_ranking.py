"""Models against each other: ranks with intervals, win rates."""

from collections.abc import Sequence
from fractions import Fraction
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.bootstrap import Resamples, draw_resamples
from attune_metrics.stats.ranking import rank_intervals, win_rates

quick = settings(deadline=None)
scores = st.integers(1, 8).flatmap(
    lambda n: st.lists(st.lists(st.none() | st.integers(0, 4), min_size=n, max_size=n), min_size=1, max_size=4)
)


def reference_win_rate(one: Sequence[int | None], other: Sequence[int | None]) -> Fraction | None:
    won = [
        Fraction(a > b) + Fraction(a == b, 2)
        for a, b in zip(one, other, strict=True)
        if a is not None and b is not None
    ]
    return sum(won, Fraction(0)) / len(won) if won else None


# Win rates.


def test_win_rates_by_hand() -> None:
    # Model 0 on units 0, 1: wins, ties. Model 2 shares unit 2 with model 0 and no other unit.
    found = win_rates([[0.9, 0.5, 0.7], [0.1, 0.5, 0.7], [nan, nan, 0.9]])
    assert found.rates.tolist() == [[0.5, 2 / 3, 0], [1 / 3, 0.5, 0], [1, 1, 0.5]]
    assert found.n.tolist() == [[3, 3, 1], [3, 3, 1], [1, 1, 1]]


@given(scores)
@quick
@pytest.mark.filterwarnings("ignore::attune_metrics.UndefinedMetricWarning")
def test_win_rates_are_those_of_the_definition(rows: list[list[int | None]]) -> None:
    found = win_rates(np.array(rows, dtype=float))
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            expected = reference_win_rate(one, other)
            assert isnan(found.rates[i, j]) if expected is None else found.rates[i, j] == pytest.approx(float(expected))
    # Only the order of scores counts.
    assert np.array_equal(win_rates(np.array(rows, dtype=float) ** 3).rates, found.rates, equal_nan=True)


def test_models_without_common_units() -> None:
    with pytest.warns(UndefinedMetricWarning, match="win_rates; models 0 and 1 share no unit"):
        found = win_rates([[1, nan], [nan, 1]])
    assert np.isnan(found.rates).tolist() == [[False, True], [True, False]]
    assert found.n.tolist() == [[1, 0], [0, 1]]


def test_no_models() -> None:
    found = win_rates(np.empty((0, 5)))
    assert found.rates.shape == found.n.shape == (0, 0)


# Ranks.


def test_ranks_over_all_resamples_by_hand() -> None:
    # Units a, b. Model 0: 0 and 2; model 1: 1 and 1. In the resamples aa, ab, ba, bb model 0 has rank 2, 1.5, 1.5, 1.
    # The lowest rank that reaches a share of 0.3 is 1.5, as for 0.7; for 0.2 it is 1, for 0.8 it is 2.
    counts = np.array([[2, 0], [1, 1], [1, 1], [0, 2]], dtype=np.uint8)
    resamples = Resamples(np.array([0, 1]), counts)
    for level, low, high in ((0.4, 1.5, 1.5), (0.6, 1, 2)):
        for interval in rank_intervals([[0, 2], [1, 1]], resamples, method="percentile", level=level):
            assert (interval.estimate, interval.low, interval.high) == (1.5, low, high)
            assert (interval.n, interval.clusters, interval.level, interval.method) == (2, 2, level, "percentile")


def test_ranks_that_never_change_are_intervals_of_one_rank() -> None:
    rows = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [-1, -1, -2, -2]])
    found = rank_intervals(rows, draw_resamples(list("abcd")))
    assert [(i.estimate, i.low, i.high, i.reason) for i in found] == [(2, 2, 2, None), (1, 1, 1, None), (3, 3, 3, None)]


def test_expanded_intervals_of_ranks_are_not_narrower() -> None:
    rows = np.random.default_rng(5).normal(size=(6, 8))
    resamples = draw_resamples(range(8), seed=2)
    plain, wide = (rank_intervals(rows, resamples, method=method) for method in ("percentile", "percentile-expanded"))
    pairs = list(zip(plain, wide, strict=True))
    assert all(w.low <= p.low <= p.high <= w.high for p, w in pairs)
    assert any(w.low < p.low or p.high < w.high for p, w in pairs)


def test_ranks_do_not_depend_on_the_order_of_units() -> None:
    rows = np.random.default_rng(1).normal(size=(4, 12))
    people = np.array(list("aabbbcddefgg"))
    order = np.random.default_rng(2).permutation(12)
    found = rank_intervals(rows, draw_resamples(people, seed=4))
    assert found == rank_intervals(rows[:, order], draw_resamples(people[order], seed=4))
    assert {i.clusters for i in found} == {7}
    assert {i.n for i in found} == {12}
    # The ranks of any number of models add up, those of their names only change place.
    assert sum(i.estimate for i in found) == 10
    assert found[::-1] == rank_intervals(np.flip(rows, axis=0), draw_resamples(people, seed=4))


def test_missing_scores_leave_the_mean_to_the_others() -> None:
    rows = np.array([[4, 4, nan, 4], [3, 3, 9, 3]])
    found = rank_intervals(rows, draw_resamples(list("abcd")), level=0.9)
    # Means 4 and 4.5.
    assert [(i.estimate, i.n, i.clusters) for i in found] == [(2, 3, 3), (1, 4, 4)]


@pytest.mark.parametrize(
    ("rows", "people", "reason"),
    [
        ([[1, 2], [2, 1]], "aa", "a model has values in fewer than two clusters"),
        ([[1, 2], [2, nan]], "ab", "a model has values in fewer than two clusters"),
        ([[1, 2], [nan, nan]], "ab", "a model has values in fewer than two clusters"),
        ([[1, 2, 3], [2, 2, nan]], "abc", "a model has no value in"),
    ],
)
def test_no_interval_of_ranks(rows: Any, people: str, reason: str) -> None:
    for interval in rank_intervals(rows, draw_resamples(list(people))):
        assert isnan(interval.low)
        assert isnan(interval.high)
        assert interval.reason
        assert interval.reason.startswith(reason)


def test_ranks_have_an_interval_while_the_resamples_without_a_value_fit_in_a_tail() -> None:
    rows = np.array([[1, 2, 3, 4, 5], [2, 2, nan, nan, 3]])
    resamples = draw_resamples(range(5), n_resamples=1000, seed=1)
    [reason] = {interval.reason for interval in rank_intervals(rows, resamples, level=0.999)}
    lacking = int(str(reason).removeprefix("a model has no value in ").split()[0]) / 1000
    assert 0 < lacking < 0.05  # 0.4^5 is 0.01
    for tails, known in ((2.2 * lacking, True), (1.8 * lacking, False)):
        assert all((i.reason is None) == known for i in rank_intervals(rows, resamples, level=1 - tails))


def test_ranks_of_malformed_scores() -> None:
    resamples = draw_resamples(list("abc"))
    with pytest.raises(MetricInputError, match=r"^scores of shape"):
        rank_intervals([[1, 2]], resamples)
    with pytest.raises(MetricInputError, match=r"scores has shape \(3,\); expected \(models, units\)"):
        rank_intervals([1, 2, 3], resamples)
    with pytest.raises(MetricInputError, match="unknown method 'bca'"):
        rank_intervals([[1, 2, 3]], resamples, method="bca")  # type: ignore[arg-type]
    with pytest.raises(MetricInputError, match="level 95"):
        rank_intervals([[1, 2, 3]], resamples, level=95)
    assert rank_intervals(np.empty((0, 3)), resamples) == []
