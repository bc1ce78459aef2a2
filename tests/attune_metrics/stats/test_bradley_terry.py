"""Bradley-Terry strengths and ratings: by hand, against a literal fit, and against evalica."""

import json
from math import exp, inf, isnan, log, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.bootstrap import Resamples, draw_resamples
from attune_metrics.stats.bradley_terry import bradley_terry
from attune_metrics.stats.pairwise_ratings import Rating, bradley_terry_ratings

pytestmark = pytest.mark.filterwarnings("ignore:comparisons have:attune_metrics.metric.UnreliableIntervalWarning")

quick = settings(deadline=None)
EVALICA = Path(__file__).with_name("evalica_bradley_terry.json")

# Citations among four journals of statistics, 1987-89: a row cites a column. Stigler (1994), Stat. Sci. 9, 94-108;
# Agresti, Categorical Data Analysis, 2nd ed., table 10.10. To be cited is a win over the journal that cites.
JOURNALS = [[0, 33, 320, 284], [730, 0, 813, 276], [498, 68, 0, 325], [221, 17, 142, 0]]


# Strengths of wins.


def probabilities(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(strengths - strengths[:, np.newaxis]))


def test_journals() -> None:
    # Published to five digits: BradleyTerry2 1.1 for R, data set `citations`; choix 0.4.1 gives the same to ten:
    # 0, -2.9490724968, -0.4795697698, 0.2689540558.
    strengths = bradley_terry(np.array(JOURNALS).T)
    assert strengths - strengths[0] == pytest.approx([0, -2.94907, -0.47957, 0.26895], abs=5e-6)
    assert strengths - strengths[0] == pytest.approx([0, -2.9490724968, -0.4795697698, 0.2689540558], abs=5e-10)
    assert strengths.sum() == pytest.approx(0, abs=1e-12)


def test_two_items_are_the_log_odds() -> None:
    assert bradley_terry([[0, 3], [1, 0]]) == pytest.approx([log(3) / 2, -log(3) / 2], abs=1e-12)
    assert bradley_terry([[nan, 1e15], [1.0, 99.0]]) == pytest.approx([log(1e15) / 2, -log(1e15) / 2], rel=1e-12)
    assert bradley_terry([[0, 0.5], [0.5, 0]]).tolist() == [0, 0]
    assert bradley_terry([[7]]).tolist() == [0]
    assert bradley_terry(np.empty((0, 0))).tolist() == []


def test_a_chain_of_neighbours() -> None:
    # Only neighbours meet, each with odds of a million: every step down the chain is log(1e6), 40 steps overflow exp.
    k = 60
    wins: NDArray[np.float64] = np.diag(np.full(k - 1, 1e6), 1) + np.diag(np.ones(k - 1), -1)
    assert -np.diff(bradley_terry(wins)) == pytest.approx(np.full(k - 1, log(1e6)), rel=1e-9)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.sampled_from([3, 50, 10**6]))
@quick
def test_expected_wins_are_the_wins(k: int, seed: int, most: int) -> None:
    # What makes strengths the most likely ones: everybody is expected to win as often as it did.
    wins = np.random.default_rng(seed).integers(1, most, size=(k, k)).astype(float)
    np.fill_diagonal(wins, 0)
    strengths = bradley_terry(wins)
    expected = ((wins + wins.T) * probabilities(strengths)).sum(axis=1)
    assert expected == pytest.approx(wins.sum(axis=1), rel=1e-9)
    # Names of items and the number of times that all is played do not matter; losses for wins turn the order.
    assert bradley_terry(np.flip(wins))[::-1] == pytest.approx(strengths, abs=1e-9)
    assert bradley_terry(wins * 7) == pytest.approx(strengths, abs=1e-9)
    assert bradley_terry(wins.T) == pytest.approx(-strengths, abs=1e-9)


@pytest.mark.parametrize(
    ("wins", "reason"),
    [
        ([[0, 3], [0, 0]], r"items \[0\] never lost to the others"),
        ([[0, 0], [3, 0]], r"items \[1\] never lost to the others"),
        ([[0, 0], [0, 0]], r"items \[0\] were never compared with the others"),
        ([[0, 1, 2, 0], [1, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 0]], r"items \[0, 1\] never lost to the others"),
        ([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], r"items \[0, 1\] were never compared with"),
    ],
)
def test_no_finite_strengths(wins: Any, reason: str) -> None:
    with pytest.warns(UndefinedMetricWarning, match=f"^undefined: bradley_terry; {reason}"):
        assert np.isnan(bradley_terry(wins)).all()


@pytest.mark.parametrize(
    ("wins", "message"),
    [
        ([[0, 1, 2], [1, 0, 2]], r"wins has shape \(2, 3\); expected one row and one column for each item"),
        ([[0, -1], [1, 0]], r"wins\[0, 1\] is -1; expected a count from 0"),
        ([[0, 1], [nan, 0]], r"wins\[1, 0\] is nan; expected a count from 0"),
        ([[0, float("inf")], [1, 0]], r"wins\[0, 1\] is inf"),
        ([1, 2], r"wins has shape \(2,\); expected \(items, items\)"),
    ],
)
def test_malformed_wins(wins: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        bradley_terry(wins)


def test_the_wins_given_are_not_changed() -> None:
    wins = np.array([[5.0, 1], [2, 5]])
    bradley_terry(wins)
    assert wins.tolist() == [[5, 1], [2, 5]]


# Ratings of comparisons.


def rated(left: str, right: str, outcome: Any, clusters: Any = None, **options: Any) -> list[Rating]:
    clusters = range(len(left)) if clusters is None else clusters
    return bradley_terry_ratings(
        [*left], [*right], outcome, draw_resamples(clusters, n_resamples=500), **options
    ).models


def literal_strengths(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit by Hunter's MM algorithm, one model at a time, as Zermelo wrote it."""
    k = len(wins)
    p = [1.0] * k
    for _ in range(5000):
        p = [
            sum(wins[i]) / sum((wins[i][j] + wins[j][i]) / (p[i] + p[j]) for j in range(k) if j != i) for i in range(k)
        ]
    logs = np.log(np.array(p))
    return np.array(logs - logs.mean(), dtype=np.float64)


def compared(seed: int, models: int, n: int) -> tuple[NDArray[np.str_], NDArray[np.str_], NDArray[np.float64]]:
    generator = np.random.default_rng(seed)
    names = np.array([f"m{place}" for place in range(models)])
    left = generator.integers(models, size=n)
    right = (left + generator.integers(1, models, size=n)) % models
    return names[left], names[right], generator.choice([0, 0.5, 1], size=n, p=[0.4, 0.2, 0.4])


def test_two_models_by_hand() -> None:
    # Four wins, two ties and one loss are 5 wins of 7: the strengths differ by log(5 / 2).
    ada, bob = rated("aaaabaa", "bbbbabb", [1, 1, 1, 1, 1, 0.5, 0.5])
    assert (ada.model, ada.wins, ada.ties, ada.losses, ada.rank, ada.group) == ("a", 4, 2, 1, 1, 1)
    assert (bob.model, bob.wins, bob.ties, bob.losses, bob.rank, bob.group) == ("b", 1, 2, 4, 2, 1)
    assert ada.strength.estimate == pytest.approx(log(5 / 2) / 2, abs=1e-12)
    assert bob.strength.estimate == pytest.approx(-log(5 / 2) / 2, abs=1e-12)
    assert ada.probability == pytest.approx(1 / (1 + exp(-log(5 / 2) / 2)), abs=1e-12)
    assert (ada.strength.n, ada.strength.clusters) == (7, 7)


def test_three_models_are_the_literal_fit() -> None:
    wins = np.array([[0, 3, 5.5], [1, 0, 2], [0.5, 3, 0]])
    left, right, outcome, weights = zip(
        *[("abc"[i], "abc"[j], 1, wins[i, j]) for i in range(3) for j in range(3) if i != j], strict=True
    )
    found = {one.model: one.strength.estimate for one in rated("".join(left), "".join(right), outcome, weights=weights)}
    expected = literal_strengths(wins)
    assert [found[name] for name in "abc"] == pytest.approx(expected, abs=1e-12)
    assert bradley_terry(wins) == pytest.approx(expected, abs=1e-12)


def test_the_strengths_are_those_of_evalica() -> None:
    stored = json.loads(EVALICA.read_text(encoding="utf-8"))
    found = bradley_terry_ratings(
        stored["left"], stored["right"], stored["outcome"], draw_resamples(range(len(stored["left"])), n_resamples=2)
    ).models
    strengths = {one.model: one.strength.estimate for one in found}
    assert strengths == pytest.approx(stored["strengths"], abs=1e-6)


def test_every_resample_is_fitted_as_a_table_of_its_own() -> None:
    left, right, outcome = compared(3, 4, 60)
    clusters = np.repeat(np.arange(12), 5)
    resamples = draw_resamples(clusters, n_resamples=40, seed=2)
    expected = []
    for counts in np.asarray(resamples.counts):
        again = np.repeat(np.arange(60), counts[clusters])
        one = Resamples(np.zeros(len(again), dtype=np.intp), np.ones((1, 1), dtype=np.uint8))
        fitted = bradley_terry_ratings(left[again], right[again], outcome[again], one).models
        expected.append({rating.model: rating.strength.estimate for rating in fitted})
    for rating in bradley_terry_ratings(left, right, outcome, resamples, method="percentile").models:
        drawn = [one[rating.model] for one in expected]
        assert (rating.strength.low, rating.strength.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]))
        assert rating.strength.low < rating.strength.estimate < rating.strength.high
        assert (10 <= rating.strength.clusters <= 12, rating.reason) == (True, None)


def test_an_expanded_interval_is_wider() -> None:
    left, right, outcome = compared(3, 4, 200)
    resamples = draw_resamples(np.repeat(np.arange(10), 20), n_resamples=400)
    expanded, percentile = (
        bradley_terry_ratings(left, right, outcome, resamples, method=method).models
        for method in ("percentile-expanded", "percentile")
    )
    for one, other in zip(expanded, percentile, strict=True):
        assert one.strength.low < other.strength.low < other.strength.high < one.strength.high


def test_groups_that_never_met_are_not_compared() -> None:
    found = {one.model: one for one in rated("abcd" * 5, "badc" * 5, [1, 1, 1, 1, 1, 0.5, 1, 1, 1, 1] * 2)}
    assert {name: one.group for name, one in found.items()} == {"a": 1, "b": 1, "c": 2, "d": 2}
    assert found["a"].strength.estimate + found["b"].strength.estimate == pytest.approx(0, abs=1e-12)
    assert found["c"].strength.estimate + found["d"].strength.estimate == pytest.approx(0, abs=1e-12)
    assert sorted(one.rank for one in found.values()) in ([1, 1, 2, 2], [1, 1.5, 1.5, 2], [1.5] * 4)
    assert found["c"].reason == "compared within group 2 of 2 only"


def test_an_unbeaten_model_has_no_strength() -> None:
    first, *middle, last = rated("aaabcbd" * 4, "bcdcbdc" * 4, [1, 1, 1, 1, 1, 1, 0] * 4)
    assert (first.model, first.group, first.reason) == ("a", 1, "won every comparison")
    assert isnan(first.strength.estimate)
    assert isnan(first.rank)
    assert isnan(first.probability)
    assert first.wins == 12
    assert [one.model for one in middle] == ["b", "c"]
    assert {one.group for one in middle} == {2}
    assert middle[0].strength.estimate == pytest.approx(0, abs=1e-12)
    assert middle[0].rank == 1.5
    assert (last.model, last.group, last.reason) == ("d", 3, "lost every comparison")


def test_a_model_between_two_groups() -> None:
    found = {one.model: one for one in rated("abcda", "baacb", [1, 1, 0, 0, 1])}
    assert found["c"].reason == "beat only models that never beat it, and lost only to models that it never beat"
    assert [found[name].group for name in "abcd"] == [1, 1, 2, 3]


def test_ties_only() -> None:
    for one in rated("abc" * 3, "bca" * 3, [0.5] * 9):
        assert (one.strength.estimate, one.rank, one.ties, one.wins, one.losses) == (0, 2, 6, 0, 0)
        assert one.reason == "no variation among clusters" or "undefined in" in str(one.reason)


def test_a_group_that_falls_apart_in_many_resamples_has_no_interval() -> None:
    ada, _ = rated("aaaa", "bbbb", [1, 1, 1, 0], method="percentile-expanded")
    assert ada.strength.estimate == pytest.approx(log(3) / 2)
    assert isnan(ada.strength.low)
    assert str(ada.reason).startswith("the statistic is undefined in ")
    # Of the influence of clusters there is one, of the rank there is not.
    ada, _ = rated("aaaa", "bbbb", [1, 1, 1, 0])
    assert ada.strength.low < ada.strength.estimate < ada.strength.high
    assert (isnan(ada.rank_low), isnan(ada.rank_high)) == (True, True)
    assert str(ada.reason).startswith("the rank is undefined in ")


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(5, 60))
@quick
def test_the_order_of_rows_and_sides_does_not_matter(seed: int, models: int, n: int) -> None:
    left, right, outcome = compared(seed, models, n)
    generator = np.random.default_rng(seed)
    weights, clusters = generator.random(n), generator.integers(6, size=n)
    one = bradley_terry_ratings(left, right, outcome, draw_resamples(clusters, n_resamples=50), weights=weights).models
    order, turned = generator.permutation(n), generator.random(n) < 0.5
    swapped = np.where(turned, right, left)[order], np.where(turned, left, right)[order]
    other = bradley_terry_ratings(
        *swapped, np.where(turned, 1 - outcome, outcome)[order],
        draw_resamples(clusters[order], n_resamples=50), weights=weights[order],
    ).models  # fmt: skip
    assert repr([(x.model, x.group, x.reason) for x in one]) == repr([(x.model, x.group, x.reason) for x in other])
    for x, y in zip(one, other, strict=True):
        assert y.strength.estimate == pytest.approx(x.strength.estimate, abs=1e-9, nan_ok=True)
        assert (y.strength.low, y.strength.high) == pytest.approx(
            (x.strength.low, x.strength.high), abs=1e-9, nan_ok=True
        )
        assert (y.wins, y.ties, y.losses) == pytest.approx((x.wins, x.ties, x.losses))


def test_labels_can_be_numbers() -> None:
    resamples = draw_resamples(range(3), n_resamples=5)
    assert {one.model for one in bradley_terry_ratings([1, 2, 1], [2, 1, 2], [1, 1, 0.5], resamples).models} == {1, 2}
    assert bradley_terry_ratings([], [], [], draw_resamples([])).models == []


def test_weights_of_zero_do_not_count() -> None:
    ada, bob, eve = rated("aabb", "bbae", [1, 0, 0.5, 1], weights=[1, 1, 1, 0])
    assert (ada.strength.estimate, bob.strength.estimate, eve.reason) == (0, 0, "no comparison counts")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": ["a", None]}, "left has labels of the types NoneType, str; expected texts, or whole numbers"),
        ({"left": [1, 2]}, "labels of mixed types"),
        ({"left": np.array([["a"], ["b"]])}, r"left has shape \(2, 1\) of <U1"),
        ({"left": ["a"]}, "left has 1 comparisons, clusters 2"),
        ({"left": ["c", "b"]}, "comparison 0 is of 'c' with itself"),
        ({"outcome": [1, 0.7]}, r"outcome\[1\] is 0.7; expected 1, 0.5 or 0"),
        ({"outcome": [nan, 1]}, r"outcome\[0\] is nan"),
        ({"weights": [1, -1]}, r"weights\[1\] is -1; expected a finite number from 0"),
        ({"weights": [inf, 1]}, r"weights\[0\] is inf"),
        ({"method": "bca"}, "unknown method 'bca'"),
        ({"level": 95}, "level 95"),
    ],
)
def test_malformed_comparisons(change: Any, message: str) -> None:
    given: Any = {"left": ["a", "b"], "right": ["c", "c"], "outcome": [1, 0], **change}
    with pytest.raises(MetricInputError, match=message):
        bradley_terry_ratings(resamples=draw_resamples(range(2), n_resamples=5), **given)
