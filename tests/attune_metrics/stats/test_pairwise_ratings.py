"""Ratings of judged pairs: intervals of strengths, terms and ranks, and which pairs to judge next."""

import warnings
from math import inf, isnan, log, nan, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from attune_metrics import MetricInputError
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import Resamples, draw_resamples
from attune_metrics.stats.bradley_terry import drawn_blocks
from attune_metrics.stats.pair_planning import NextPair, next_pairs
from attune_metrics.stats.pairwise import ComparisonFit, fit_comparisons
from attune_metrics.stats.pairwise_ratings import ComparisonRatings, bradley_terry_ratings

pytestmark = pytest.mark.filterwarnings("ignore:comparisons have:attune_metrics.metric.UnreliableIntervalWarning")


def judged(n: int = 240, models: int = 4, clusters: int = 12) -> dict[str, Any]:
    """Return comparisons with ties, and a position that decides with the models."""
    generator = np.random.default_rng(6)
    left = generator.integers(models, size=n)
    right = (left + generator.integers(1, models, size=n)) % models
    position = generator.choice([-1.0, 1.0], size=n)
    drawn = (right - left) / models + 0.5 * position + generator.logistic(size=n)
    return {
        "left": left, "right": right, "outcome": np.where(np.abs(drawn) < 0.3, 0.5, drawn > 0),
        "clusters": np.arange(n) % clusters, "terms": {"position": position},
    }  # fmt: skip


def rated(data: dict[str, Any], n_resamples: int = 40, **options: Any) -> ComparisonRatings:
    clusters = data["clusters"]
    given = {name: values for name, values in data.items() if name != "clusters"}
    return bradley_terry_ratings(**given, resamples=draw_resamples(clusters, n_resamples=n_resamples), **options)


@pytest.mark.parametrize(("ties", "penalty"), [("half", None), ("davidson", None), ("davidson", 0.5)])
def test_every_resample_is_fitted_again(ties: Any, penalty: float | None) -> None:
    data = judged()
    found = rated(data, ties=ties, penalty=penalty, method="percentile")
    drawn = []
    for counts in np.asarray(draw_resamples(data["clusters"], n_resamples=40).counts):
        often = counts[data["clusters"]].astype(float)
        fit = fit_comparisons(**data, weights=often, ties=ties, penalty=penalty)
        drawn.append([*fit.strengths, fit.terms["position"], fit.tie or 0])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    for one in found.models:
        place = int(one.model)
        assert (one.strength.low, one.strength.high) == pytest.approx((low[place], high[place]), abs=1e-8)
        # Ranks in each resample: 1 more than the number of stronger models.
        ranks = sorted(1 + sum(other > row[place] for other in row[:4]) for row in drawn)
        assert (one.rank_low, one.rank_high) == (ranks[0], ranks[-1])  # 40 resamples have one below 2.5%
    position = found.terms["position"]
    assert (position.low, position.high) == pytest.approx((low[4], high[4]), abs=1e-8)
    assert (position.n, position.clusters) == (240, 12)
    assert (found.ties, found.penalty) == (ties, penalty or 0)
    assert (found.tie is None) == (ties == "half")
    if found.tie is not None:
        assert (found.tie.low, found.tie.high) == pytest.approx((low[5], high[5]), abs=1e-8)


def test_the_interval_of_the_influence_by_hand() -> None:
    # Three clusters of comparisons of two models: ada wins 2 of 3, 3 of 4 and 1 of 3. With p = 0.6 and curvature
    # 10 * 0.6 * 0.4 of the difference, the influence on the difference is (wins - 0.6 n) / 2.4, on a strength half.
    outcome = [1, 1, 0, 1, 1, 1, 0, 1, 0, 0]
    clusters = [*"aaabbbbccc"]
    found = bradley_terry_ratings(["ada"] * 10, ["bob"] * 10, outcome, draw_resamples(clusters, n_resamples=50))
    ada = found.models[0].strength
    squares = sum(((wins - 0.6 * n) / 4.8) ** 2 for wins, n in ((2, 3), (3, 4), (1, 3)))
    reach = student.ppf(0.975, 2) * sqrt(3 / 2 * squares)
    assert ada.estimate == pytest.approx(log(1.5) / 2, abs=1e-12)
    assert (ada.low, ada.high) == pytest.approx((ada.estimate - reach, ada.estimate + reach), abs=1e-12)
    assert (ada.method, ada.n, ada.clusters, ada.reason) == ("influence-t", 10, 3, None)


def test_nu_has_an_interval_above_zero() -> None:
    data = judged()
    tie = rated(data, ties="davidson").tie
    assert tie is not None
    # Symmetric in log nu.
    assert tie.low * tie.high == pytest.approx(tie.estimate**2, rel=1e-9)
    assert 0 < tie.low < tie.estimate < tie.high
    untied = {**data, "outcome": np.where(data["outcome"] == 0.5, 1, data["outcome"])}
    none = rated(untied, ties="davidson").tie
    assert none is not None
    assert (none.estimate, isnan(none.low), none.reason) == (0, True, "no variation among clusters")


def test_the_bias_is_removed_from_strengths() -> None:
    # Ada is shown first in nine of ten comparisons; the first one wins three of four, whoever it is.
    first = [1] * 36 + [-1] * 4
    outcome = [1, 1, 1, 0] * 9 + [0, 0, 0, 1]
    found = bradley_terry_ratings(
        ["ada"] * 40, ["bob"] * 40, outcome, draw_resamples(range(40), n_resamples=100), terms={"position": first}
    )
    ada, bob = found.models
    assert ada.strength.estimate == pytest.approx(0, abs=1e-12)
    assert found.terms["position"].estimate == pytest.approx(log(3), abs=1e-12)
    assert found.terms["position"].low < log(3) < found.terms["position"].high
    assert ada.without_terms == pytest.approx(log(28 / 12) / 2, abs=1e-12)
    assert bob.without_terms == -ada.without_terms
    # Without terms there is nothing to remove.
    plain = bradley_terry_ratings(["ada"] * 40, ["bob"] * 40, outcome, draw_resamples(range(40), n_resamples=100))
    assert [one.without_terms for one in plain.models] == [one.strength.estimate for one in plain.models]
    assert plain.terms == {}


def test_few_clusters_make_rough_intervals() -> None:
    strengths = "of fewer than 20, 95% intervals of strengths cover up to 98% of true values"
    terms = "of fewer than 5, 95% intervals of terms cover as few as 75% of true values"
    four, nineteen = judged(clusters=4), judged(clusters=19)
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (four, {}, f"4 clusters: {strengths}; {terms}"),
        (four, {"method": "percentile"}, f"4 clusters: {terms}"),
        ({**four, "terms": None}, {}, f"4 clusters: {strengths}"),
        (nineteen, {}, f"19 clusters: {strengths}"),
    ]
    for data, options, few in cases:
        with pytest.warns(UnreliableIntervalWarning, match=f"^comparisons have {few}; judge more units$"):
            rated(data, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rated(judged(clusters=20))
        rated(judged(clusters=5), method="percentile")
        rated({**four, "terms": None}, method="percentile")


def test_one_cluster_has_no_interval() -> None:
    found = bradley_terry_ratings([*"aab"], [*"bba"], [1, 0, 1], draw_resamples([*"xxx"], n_resamples=20))
    for one in found.models:
        assert one.reason == "all values are in one cluster"
        assert isnan(one.strength.low)
        assert isnan(one.rank_low)


def test_clusters_that_say_the_same_have_no_interval() -> None:
    found = bradley_terry_ratings(
        [*"aaa" * 4], [*"bbb" * 4], [1, 1, 0] * 4, draw_resamples([*"pppqqqrrrsss"], n_resamples=20)
    )
    assert {one.reason for one in found.models} == {"no variation among clusters"}


def test_a_term_that_predicts_every_outcome_leaves_no_number() -> None:
    found = bradley_terry_ratings(
        [*"ababab"], [*"bababa"], [1, 1, 0, 0, 1, 1], draw_resamples(range(6), n_resamples=20),
        terms={"x": [1, 1, -1, -1, 1, 1]},
    )  # fmt: skip
    why = "no finite strengths fit best beside term 'x': some outcomes never vary"
    assert found.terms["x"].reason == why
    assert {one.reason for one in found.models} == {why}
    assert all(isnan(one.strength.estimate) and isnan(one.rank) and isnan(one.probability) for one in found.models)
    assert [one.without_terms for one in found.models] == pytest.approx([0, 0], abs=1e-12)


def test_a_penalty_rates_an_unbeaten_model() -> None:
    left, right, outcome = [*"aabbc"] * 4, [*"bccab"] * 4, [1, 1, 1, 0, 1] * 4
    found = bradley_terry_ratings(left, right, outcome, draw_resamples(range(20), n_resamples=50), penalty=1)
    best = found.models[0]
    assert (best.model, best.rank, best.group) == ("a", 1, 1)
    assert best.strength.low < best.strength.estimate < best.strength.high
    assert best.reason == "finite by the penalty alone: won every comparison"
    assert (best.rank_low, best.rank_high) == (1, 1)


def test_blocks_of_resamples_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = judged()
    one = rated(data, ties="davidson")
    monkeypatch.setattr("attune_metrics.stats.bradley_terry._AT_ONCE", 1)
    assert rated(data, ties="davidson") == one
    rows = [part for part, _ in drawn_blocks(np.zeros((7, 3), dtype=np.uint8), 1)]
    assert rows == [slice(place, place + 1) for place in range(7)]


def test_resamples_that_are_drawn_anew_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = judged()
    one = rated(data)
    monkeypatch.setattr("attune_metrics.stats.bootstrap.MOST_KEPT", 0)
    assert not isinstance(draw_resamples(data["clusters"], n_resamples=40).counts, np.ndarray)
    assert rated(data) == one


def test_a_resample_in_which_a_term_does_not_vary_counts_as_undefined() -> None:
    # The term is other than 0 in one cluster of six, which is not drawn in a third of resamples.
    left, right = ["a"] * 24, ["b"] * 24
    outcome, clusters = [1, 0, 1, 1, 0, 1, 0, 0] * 3, np.repeat(np.arange(6), 4)
    term = [1.0, -1.0, 2.0, -2.0] + [0.0] * 20
    found = bradley_terry_ratings(
        left, right, outcome, draw_resamples(clusters, n_resamples=100), terms={"x": term}, method="percentile"
    )
    assert str(found.terms["x"].reason).startswith("the statistic is undefined in ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "bca"}, "^unknown method 'bca'; expected influence-t, percentile-expanded, percentile$"),
        ({"level": 1}, "^level 1 is not between 0 and 1"),
        ({"ties": "drop"}, "^unknown ties 'drop'"),
    ],
)
def test_unknown_options(change: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        rated(judged(), **change)


# Which pairs to judge next.


def ladder(wins: dict[str, int], n: int = 40) -> ComparisonFit:
    """Return the fit of n comparisons of each pair of neighbours, such as {"ab": 30}: a beats b in 30 of them."""
    left, right, outcome = [], [], []
    for pair, won in wins.items():
        left += [pair[0]] * n
        right += [pair[1]] * n
        outcome += [1] * won + [0] * (n - won)
    return fit_comparisons(left, right, outcome, clusters=range(len(left)))


def test_the_least_decided_neighbours_come_first() -> None:
    fit = ladder({"ab": 21, "bc": 39, "cd": 24})
    found = next_pairs(fit)
    assert [(pair.first, pair.second) for pair in found] == [("a", "b"), ("c", "d")]
    # 21 of 40: a difference of log(21 / 19), with a variance of 40 / (21 * 19).
    size, variance = 120, 40 / (21 * 19)
    reach = student.ppf(0.975, size - 1) * sqrt(size / (size - 1) * variance)
    assert found[0].difference == pytest.approx(log(21 / 19), abs=1e-10)
    assert (found[0].low, found[0].high) == pytest.approx((log(21 / 19) - reach, log(21 / 19) + reach), abs=1e-10)
    assert next_pairs(fit, n=1) == found[:1]
    assert next_pairs(fit, models=["d", "c"]) == found[1:]


def test_an_order_that_is_decided_needs_no_pairs() -> None:
    assert next_pairs(ladder({"ab": 37, "bc": 36})) == []
    assert next_pairs(ladder({"ab": 37, "bc": 36}), level=0.999999999) != []


def test_models_as_good_as_equal_are_decided() -> None:
    equal = ladder({"ab": 2000}, n=4000)
    assert next_pairs(equal) == [NextPair("a", "b", *next_pairs(equal)[0][2:])]
    # The ends are 1.96 * 2 / sqrt(4000), which is 0.062.
    assert next_pairs(equal, smallest_difference=0.063) == []
    assert len(next_pairs(equal, smallest_difference=0.061)) == 1


def test_models_of_different_groups_are_the_least_decided() -> None:
    found = next_pairs(ladder({"ab": 40, "bc": 22}))
    assert found[0][:2] == ("a", "b")
    assert isnan(found[0].difference)
    assert found[0][3:] == (-inf, inf)
    assert found[1][:2] == ("b", "c")
    # With a penalty, so many wins decide.
    left, right, outcome = ["a"] * 40 + ["b"] * 40, ["b"] * 40 + ["c"] * 40, [1] * 40 + [1] * 22 + [0] * 18
    fit = fit_comparisons(left, right, outcome, clusters=range(80), penalty=0.5)
    assert [pair[:2] for pair in next_pairs(fit)] == [("b", "c")]


def test_a_new_model_meets_the_model_in_the_middle() -> None:
    fit = ladder({"ab": 37, "bc": 36})
    assert [pair[:2] for pair in next_pairs(fit, models=["x", "y"])] == [("x", "b"), ("y", "b")]


def test_clusters_that_agree_with_themselves_decide_less() -> None:
    # 40 comparisons of which a wins 30, in 40 clusters, or in 4 in each of which one side wins all.
    outcome = [1] * 30 + [0] * 10
    alone, together = (
        fit_comparisons(["a"] * 40, ["b"] * 40, outcome, clusters=clusters)
        for clusters in (range(40), [place // 10 for place in range(40)])
    )
    assert next_pairs(alone) == []
    assert len(next_pairs(together)) == 1


def test_a_few_equal_clusters_do_not_decide() -> None:
    # Four clusters that say exactly the same have no influence; four comparisons of each do not decide.
    fit = fit_comparisons([*"aaa" * 4], [*"bbb" * 4], [1, 1, 0] * 4, clusters=[*"pppqqqrrrsss"])
    assert np.abs(fit.influence).max() < 1e-12
    assert len(next_pairs(fit)) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": []}, "^models is empty$"),
        ({"n": 0}, "^n 0 is not a whole number from 1"),
        ({"level": 2}, "^level 2 is outside 0-1"),
        ({"smallest_difference": -1}, "^smallest_difference -1"),
        ({"smallest_difference": nan}, "^smallest_difference nan is not a finite number"),
    ],
)
def test_plans_that_cannot_be_made(options: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        next_pairs(ladder({"ab": 30}), **options)
    with pytest.raises(MetricInputError, match=r"^the fit has no models$"):
        next_pairs(fit_comparisons([], [], [], clusters=[]))


def test_one_resample_alone() -> None:
    one = Resamples(np.zeros(3, dtype=np.intp), np.ones((1, 1), dtype=np.uint8))
    found = bradley_terry_ratings([*"aab"], [*"bba"], [1, 0, 1], one, method="percentile")
    assert found.models[0].reason == "all values are in one cluster"
