"""Levels and judges' errors without any truth: recovery, what cannot be known, and two independent computations."""

from itertools import pairwise, product
from math import exp, isnan, log

import numpy as np
import pytest
from numpy.typing import NDArray

from attune_metrics.metric import MetricInputError
from attune_metrics.stats import dawid_skene
from attune_metrics.stats.dawid_skene import Consensus, ordinal_consensus, rating_levels

Ratings = NDArray[np.float64]


def rated(
    units: int = 300, shifts: tuple[float, ...] = (0.3, 0.0, -0.3, 0.0), *, shared: float = 0.0, seed: int = 1
) -> tuple[Ratings, Ratings]:
    """Return true levels 1 to 5, and ratings with logistic errors; the first two judges share a part of theirs."""
    generator = np.random.default_rng(seed)
    levels = generator.choice([1.0, 2, 3, 4, 5], size=units, p=[0.1, 0.2, 0.3, 0.2, 0.2])
    errors = generator.logistic(scale=0.3, size=(units, len(shifts)))
    errors[:, :2] += shared * generator.normal(size=(units, 1))
    return levels, np.clip(np.rint(levels[:, np.newaxis] + shifts + errors), 1, 5)


def found(ratings: Ratings, models: object = None) -> Consensus:
    return ordinal_consensus(ratings, range(len(ratings)), models=models)  # type: ignore[arg-type]


def test_levels_and_errors_are_recovered() -> None:
    levels, ratings = rated(1000)
    one = found(ratings)
    assert one.levels.tolist() == [1, 2, 3, 4, 5]
    assert one.means[0].low < levels.mean() < one.means[0].high
    assert one.means[0].estimate == pytest.approx(levels.mean(), abs=0.03)
    for place, judge in enumerate(one.judges):
        own = ratings[:, place]
        assert judge.accuracy == pytest.approx((own == levels).mean(), abs=0.04)
        assert judge.leniency == pytest.approx((own - levels).mean(), abs=0.04)
        assert judge.spread == pytest.approx((own - levels).std(), abs=0.04)
        counted = np.array([[(own[levels == t] == r).mean() for r in range(1, 6)] for t in range(1, 6)])
        assert np.abs(judge.confusion - counted).max() < 0.12
        assert judge.confusion.sum(axis=1) == pytest.approx(1)
    # Units: the errors of the expected level are smaller than the errors of the plain mean of the judges.
    assert np.square(one.unit_levels - levels).mean() < np.square(ratings.mean(axis=1) - levels).mean()


def test_each_model_has_its_own_mean_and_missing_ratings_do_not_move_it() -> None:
    levels, ratings = rated(600)
    models = np.where(levels + np.arange(600) % 3 > 4, "good", "bad").tolist()
    ratings[np.random.default_rng(0).random(ratings.shape) < 0.3] = np.nan
    ratings[5] = np.nan
    one = found(ratings, models)
    assert one.models == ("bad", "good")
    for name, mean, plain in zip(one.models, one.means, one.plain_means, strict=True):
        own = np.array(models) == name
        assert mean.low < levels[own].mean() < mean.high
        seen = ratings[own & ~np.isnan(ratings).all(axis=1)]
        assert mean.n == len(seen)
        assert plain == pytest.approx(np.nanmean(seen, axis=1).mean())
    assert isnan(one.unit_levels[5])
    assert np.isnan(one.unit_levels).sum() == np.isnan(ratings).all(axis=1).sum()


def test_a_judge_that_equals_the_truth_is_never_wrong() -> None:
    levels, ratings = rated(200)
    ratings[:, 2] = levels
    one = found(ratings)
    assert one.judges[2].accuracy == pytest.approx(1, abs=1e-3)
    assert one.means[0].estimate == pytest.approx(levels.mean(), abs=1e-3)
    assert one.unit_levels == pytest.approx(levels, abs=0.05)


def test_a_judge_that_is_the_negative_of_the_others_is_turned_round() -> None:
    _, ratings = rated()
    turned = ratings.copy()
    turned[:, 1] = 6 - ratings[:, 1]
    before, after = found(ratings), found(turned)
    assert after.means == before.means
    assert [judge.falls for judge in after.judges] == [False, True, False, False]
    assert after.judges[1].confusion.tolist() == before.judges[1].confusion[:, ::-1].tolist()
    assert after.judges[0].confusion.tolist() == before.judges[0].confusion.tolist()
    # Where three of four are turned, the majority sets the direction: all levels are turned.
    turned = 6 - ratings
    turned[:, 1] = ratings[:, 1]
    assert [judge.falls for judge in found(turned).judges] == [False, True, False, False]


def reasons(one: Consensus) -> list[str | None]:
    return [judge.reason for judge in one.judges]


def test_a_judge_that_says_nothing_is_left_out_and_named() -> None:
    _, ratings = rated()
    rest = found(ratings[:, 1:])
    for silent, reason in (
        (np.full(300, 4.0), "the same rating for every unit, which says nothing about the level"),
        (np.full(300, np.nan), "no rating"),
        (
            np.where(np.arange(300) < 3, np.arange(300) + 1.0, np.nan),
            "fewer than four units that another judge rated too",
        ),
    ):
        ratings[:, 0] = silent
        one = found(ratings)
        assert reasons(one) == [reason, None, None, None]
        assert isnan(one.judges[0].accuracy)
        assert one.means == rest.means
    ratings[:, 0] = np.random.default_rng(3).integers(1, 6, size=300)
    assert (reasons(found(ratings))[0] or "").startswith("does not follow the other judges beyond chance: r = ")
    assert found(ratings).means == rest.means


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([0], "one judge rated; with one, nothing shows how often it errs: at least 3 are needed"),
        ([0, 1], "two judges rated; with two, nothing shows which of them errs: at least 3 are needed"),
        (
            [0, 4],
            "none of 2 judges can be used; with fewer than 3, nothing shows which of them errs: at least 3 are needed",
        ),
        ([0, 1, 4], "2 of 3 judges can be used; with two, nothing shows which of them errs: at least 3 are needed"),
        ([0, 1, 5, 6], "2 of 4 judges fall where the others rise; nothing shows which half is right"),
    ],
)
def test_what_cannot_be_known_is_refused_by_name(columns: list[int], reason: str) -> None:
    _, ratings = rated(shifts=(0.3, 0.0, -0.3, 0.0, 0.0, 0.0, 0.0))
    ratings[:, 4] = 3
    ratings[:, 5:] = 6 - ratings[:, 5:]
    one = found(ratings[:, columns])
    assert one.reason == reason
    assert one.means[0].reason == reason
    numbers = [one.means[0].estimate, *one.plain_means, *one.unit_levels, *one.shares.ravel(), one.log_likelihood]
    assert np.isnan([*numbers, *(judge.accuracy for judge in one.judges)]).all()


@pytest.mark.slow
def test_shared_errors_are_seen_where_others_can_show_them() -> None:
    five = (0.0,) * 5
    for seed in range(3):
        apart, alike = (found(rated(600, five, shared=share, seed=seed)[1]) for share in (0.0, 0.7))
        assert min(pair.p_holm for pair in apart.pairs) > 0.01
        largest = max(alike.pairs, key=lambda pair: pair.excess)
        assert (largest.one, largest.other) == (0, 1)
        assert largest.p_holm < 0.001
        assert alike.pairs[0].excess > 0.05 > abs(apart.pairs[0].excess)
    # Of four judges the pair that shares errors looks like the other pair; of three, nothing shows.
    four = found(rated(2000, five[:4], shared=0.7)[1])
    assert {(pair.one, pair.other) for pair in four.pairs if pair.p_holm < 0.001} == {(0, 1), (2, 3)}
    assert found(rated(600, five[:3], shared=0.7)[1]).pairs == ()


def test_a_bias_that_all_judges_share_does_not_show() -> None:
    levels, ratings = rated(1000, (0.3, 0.0, -0.3, 0.0))
    _, lenient = rated(1000, (0.8, 0.5, 0.2, 0.5))
    assert found(ratings).means[0].estimate == pytest.approx(levels.mean(), abs=0.05)
    one = found(lenient)
    assert one.means[0].low > levels.mean() + 0.2
    assert sum(judge.leniency for judge in one.judges) == pytest.approx(0, abs=0.3)
    assert min(pair.p_holm for pair in one.pairs) > 0.05


def test_the_likelihood_never_falls_and_every_start_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    _, ratings = rated(80)
    likelihoods = []
    for steps in (1, 2, 4, 8, 20):
        monkeypatch.setattr(dawid_skene, "_MOST_STEPS", steps)
        likelihoods.append(found(ratings).log_likelihood)
    assert all(then >= before - 1e-3 for before, then in pairwise(likelihoods))  # up to the ridge
    assert likelihoods[0] < likelihoods[-1]
    monkeypatch.setattr(dawid_skene, "_MOST_STEPS", 8)
    assert found(ratings).reason == "the estimate did not converge in 8 steps"
    assert isnan(found(ratings).means[0].estimate)


def common(*groups: tuple[int, ...], judges: int) -> Ratings:
    """Return ratings of 60 units for each group of judges, by the judges of the group."""
    _, ratings = rated(60 * len(groups), (0.0,) * judges)
    for place, group in enumerate(groups):
        ratings[60 * place : 60 * place + 60, [judge for judge in range(judges) if judge not in group]] = np.nan
    return ratings


def test_judges_need_common_units_with_two_others() -> None:
    alone = "no two other judges have 4 units in common with it and with each other"
    pairs = found(common((0, 1), (2, 3), judges=4))
    assert (pairs.reason or "").startswith("none of 4 judges can be used; with fewer than 3, nothing shows")
    assert reasons(pairs) == [alone] * 4
    # Every two of three judges rated other units.
    assert found(common((0, 1), (1, 2), (0, 2), judges=3)).reason is None
    assert reasons(found(common((0, 1, 2), (2, 3), judges=4))) == [None, None, None, alone]
    assert reasons(found(common((0, 1, 2), (2, 3, 4), judges=5))) == [None] * 5
    apart = found(common((0, 1, 2), (3, 4, 5), judges=6))
    assert (apart.reason or "").startswith(
        "the judges are in 2 groups; no two judges of different groups have 4 units in"
    )
    assert reasons(apart) == ["in group 1 of 2"] * 3 + ["in group 2 of 2"] * 3


def test_two_judges_with_common_units_join_two_groups() -> None:
    shifts = (0.5, 0.0, -0.5, 0.3, 0.0, -0.3)
    levels, ratings = rated(600, shifts)
    for start, absent in ((0, [3, 4, 5]), (200, [0, 1, 2]), (400, [1, 2, 4, 5])):
        ratings[start : start + 200, absent] = np.nan
    joined = found(ratings)
    assert joined.reason is None
    assert [judge.leniency for judge in joined.judges] == pytest.approx(shifts, abs=0.2)
    assert joined.means[0].low < levels.mean() < joined.means[0].high
    assert {pair.reason for pair in joined.pairs} == {
        "no other two judges to compare with", "the two have no common units"
    }  # fmt: skip
    ratings[403:, 3] = np.nan
    assert (found(ratings).reason or "").startswith("the judges are in 2 groups")


def test_a_pair_without_two_others_to_compare_with_has_no_excess() -> None:
    for seed in range(2):
        _, ratings = rated(120, (0.0,) * 4, seed=seed)
        ratings[:60, 0] = ratings[60:, 1] = np.nan
        first, *others, last = found(ratings).pairs
        assert (isnan(last.excess), isnan(last.p)) == (True, True)
        assert (first.reason, last.reason) == ("the two have no common units", "no other two judges to compare with")
        assert [(isnan(pair.p), pair.reason) for pair in others] == [(False, None)] * 4
    few = ordinal_consensus(ratings, np.arange(120) % 9).pairs[1]
    assert (isnan(few.excess), isnan(few.p), few.reason) == (False, True, "there are fewer than 10 clusters")


def test_two_judges_without_common_units_do_not_hide_the_others() -> None:
    whole = found(rated(120, (0.0,) * 5)[1])
    one = found(common((0, 2, 3, 4), (1, 2, 3, 4), judges=5))
    assert len(one.pairs) == len(whole.pairs) == 10
    assert [(pair.one, pair.other) for pair in one.pairs if isnan(pair.excess)] == [(0, 1)]
    assert [(pair.one, pair.other) for pair in one.pairs if isnan(pair.p)] == [(0, 1)]
    # Judges 2, 3 and 4 rated all units.
    assert abs(one.pairs[-1].excess - whole.pairs[-1].excess) < 0.1


def test_order_of_units_and_judges_and_the_unit_do_not_matter() -> None:
    _, ratings = rated(100)
    one, mixed = found(ratings), found(ratings[::-1, ::-1])
    assert mixed.means[0].estimate == pytest.approx(one.means[0].estimate, abs=1e-6)
    assert mixed.means[0].low == pytest.approx(one.means[0].low, abs=1e-6)
    assert [j.accuracy for j in mixed.judges[::-1]] == pytest.approx([j.accuracy for j in one.judges], abs=1e-6)
    tens = found(10 * ratings - 20)
    assert tens.means[0].estimate == pytest.approx(10 * one.means[0].estimate - 20)
    assert tens.judges[0].leniency == pytest.approx(10 * one.judges[0].leniency)


def test_intervals_are_of_clusters_and_of_at_least_ten() -> None:
    _, ratings = rated(120)
    twice = np.repeat(ratings, 2, axis=0)
    whole = ordinal_consensus(twice, np.repeat(np.arange(120), 2))
    single = found(ratings)
    assert whole.means[0].low == pytest.approx(single.means[0].low, abs=1e-4)
    assert whole.means[0].clusters == 120
    few = ordinal_consensus(ratings, np.arange(120) % 9)
    assert few.means[0].reason == "fewer than 10 clusters"
    assert isnan(few.means[0].low)
    assert few.means[0].estimate == single.means[0].estimate
    _, ratings = rated(60)
    top = found(np.vstack([ratings, np.full((12, 4), 5.0)]), [0] * 60 + [1] * 12)
    assert top.means[1].reason == "every unit is at one end of the scale"
    nobody = found(np.vstack([ratings, np.full((2, 4), np.nan)]), [0] * 60 + [1] * 2)
    assert nobody.means[1].reason == "no unit that a judge rated"
    assert isnan(nobody.plain_means[1])


@pytest.mark.parametrize(
    ("ratings", "error"),
    [
        ([[1.0, 2.0], [np.inf, 2.0]], "a rating is infinite"),
        ([[1, 2], [2.5, 3.7]], "4 different ratings, 1, 2, 2.5, 3.7; expected an evenly spaced scale of at most 21"),
        ([[0, 1], [50, 2]], "expected an evenly spaced scale of at most 21 levels: round the ratings"),
        ([[np.nan, np.nan], [np.nan, np.nan]], "no rating"),
        ([1.0, 2.0], "expected (units, judges)"),
        ([[1.0, 2.0]], "2 labels of clusters"),
    ],
)
def test_other_ratings_are_refused(ratings: list[object], error: str) -> None:
    with pytest.raises(MetricInputError) as caught:
        ordinal_consensus(ratings, ["a", "b"])  # type: ignore[arg-type]
    assert error in str(caught.value)


def test_a_scale_has_the_levels_that_nobody_gave() -> None:
    assert rating_levels(np.array([[0, 2], [10, np.nan]])).tolist() == [0, 2, 4, 6, 8, 10]
    assert rating_levels([3, 3]).tolist() == [3]


def dawid_skene_1979(ratings: list[list[int]], steps: int) -> tuple[list[float], list[list[list[float]]]]:
    """Return shares and confusions of free matrices as the paper computes them, from the shares of votes."""
    levels, judges = range(2), range(len(ratings[0]))
    posterior = [[row.count(t) / len(row) for t in levels] for row in ratings]
    for _ in range(steps):
        shares = [sum(unit[t] for unit in posterior) / len(ratings) for t in levels]
        confusion = [
            [
                [
                    sum(unit[t] for unit, row in zip(posterior, ratings, strict=True) if row[j] == r)
                    / sum(unit[t] for unit in posterior)
                    for r in levels
                ]
                for t in levels
            ]
            for j in judges
        ]
        for place, row in enumerate(ratings):
            joint = [shares[t] * np.prod([confusion[j][t][row[j]] for j in judges]) for t in levels]
            posterior[place] = [float(one / sum(joint)) for one in joint]
    return shares, confusion


def test_two_levels_are_the_model_of_dawid_and_skene() -> None:
    _, ratings = rated(100, (0.3, -0.4, 0.0))
    binary = (ratings > 3).astype(int)
    shares, confusion = dawid_skene_1979(binary.tolist(), 250)
    one = found(binary.astype(float))
    assert one.shares[0] == pytest.approx(shares, abs=1e-4)
    for judge, expected in zip(one.judges, confusion, strict=True):
        assert judge.confusion == pytest.approx(np.array(expected), abs=1e-3)


@pytest.mark.slow
def test_a_general_optimizer_finds_the_same_maximum() -> None:
    """The likelihood written as loops, over shares and parts, maximised by quasi-Newton from several starts."""
    from scipy.optimize import minimize

    generator = np.random.default_rng(4)
    levels = generator.integers(0, 3, size=90)
    seen = levels[:, np.newaxis] + generator.logistic([0.2, 0.0, -0.2], [0.25, 0.35, 0.3], size=(90, 3))
    ratings = np.clip(np.rint(seen), 0, 2).astype(int)
    counts = {row: int((ratings == row).all(axis=1).sum()) for row in product(range(3), repeat=3)}

    def logistic(value: float) -> float:
        return 1 / (1 + exp(-value))

    def minus_likelihood(at: NDArray[np.float64]) -> float:
        weights = [1.0, exp(at[0]), exp(at[1])]
        shares = [one / sum(weights) for one in weights]
        scales = [exp(one) for one in at[2:5]]
        shifts = [at[5], at[6], -at[5] - at[6]]

        def rate(j: int, t: int, r: int) -> float:
            below = [logistic((k + 0.5 - t - shifts[j]) / scales[j]) for k in (-1, 0)]
            return [0.0, *below, 1.0][r + 2] - [0.0, *below, 1.0][r + 1]

        total = 0.0
        for row, count in counts.items():
            chance = sum(
                shares[t] * rate(0, t - 1, row[0] - 1) * rate(1, t - 1, row[1] - 1) * rate(2, t - 1, row[2] - 1)
                for t in range(3)
            )
            total += count * log(max(chance, 1e-300))
        return -total

    best = min(
        minimize(minus_likelihood, [0, 0, log(spread), log(spread), log(spread), 0, 0], method="BFGS").fun
        for spread in (0.2, 0.3, 0.5)
    )
    assert found(ratings.astype(float)).log_likelihood == pytest.approx(-best, abs=5e-3)


@pytest.mark.slow
def test_the_interval_is_as_wide_as_refits_without_each_unit_make_it() -> None:
    _, ratings = rated(60)
    mean = found(ratings).means[0]
    without = [found(np.delete(ratings, place, axis=0)).means[0].estimate for place in range(60)]
    error = np.sqrt(59 / 60 * ((np.array(without) - np.mean(without)) ** 2).sum())
    assert (mean.high - mean.low) / 2 == pytest.approx(2.0 * error, rel=0.1)
