"""How close judges are to experts: against kappas and means computed apart, and what each verdict needs."""

from itertools import combinations
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attune_metrics import MetricInputError
from attune_metrics.stats.agreement import cohen_kappa, cohen_kappa_interval
from attune_metrics.stats.bootstrap import bootstrap, draw_resamples, symmetric_levels
from attune_metrics.stats.judges import Reliability, judge_reliability

Table = NDArray[np.float64]
PEOPLE = [f"p{unit % 19}" for unit in range(60)]


def rated(errors: tuple[float, ...], units: int = 60, seed: int = 3) -> Table:
    """Return ratings from 1 to 5, a column for each standard deviation of a rater's error."""
    generator = np.random.default_rng(seed)
    noise = generator.normal(size=(units, len(errors))) * errors
    return np.clip(np.rint(3 + generator.normal(size=(units, 1)) + noise), 1, 5)


def with_gaps(ratings: Table) -> Table:
    table = ratings.copy()
    table[np.random.default_rng(8).random(table.shape) < 0.15] = nan
    return table


def kappa(one: Table, other: Table) -> float:
    both = ~np.isnan(one + other)
    return cohen_kappa(one[both], other[both], weights="quadratic")


def difference(ratings: Table) -> float:
    """Return the difference of a table with two experts, then a judge."""
    with_experts = (kappa(ratings[:, 0], ratings[:, 2]) + kappa(ratings[:, 1], ratings[:, 2])) / 2
    return with_experts - kappa(ratings[:, 0], ratings[:, 1])


def test_pairs_are_those_of_kappa_and_mean() -> None:
    ratings, resamples = rated((0.6, 0.6, 0.9, 1.2)), draw_resamples(PEOPLE, n_resamples=400)
    found = judge_reliability(ratings, [0, 1], resamples, weights="linear", by="rank", level=0.9)
    assert [(pair.one, pair.other) for pair in found.pairs] == [*combinations(range(4), 2)]
    for pair in found.pairs:
        one, other = ratings[:, pair.one], ratings[:, pair.other]
        assert pair.kappa == cohen_kappa_interval(one, other, resamples, weights="linear", by="rank", confidence=0.9)
        assert [pair.shift] == bootstrap(other - one, resamples, level=0.9)


@pytest.mark.parametrize(
    "people", [PEOPLE, pytest.param(list(range(60)), marks=pytest.mark.slow)], ids=["clusters", "units"]
)
def test_the_difference_is_resampled_as_a_whole(people: list[Any]) -> None:
    ratings = with_gaps(rated((0.6, 0.6, 0.9)))
    resamples = draw_resamples(people, n_resamples=300, seed=2)
    [judge] = judge_reliability(ratings, [0, 1], resamples).judges
    assert judge.difference.estimate == pytest.approx(difference(ratings), abs=1e-12)
    drawn = np.asarray(resamples.counts)[:, resamples.clusters]
    by_hand = [difference(np.repeat(ratings, counts, axis=0)) for counts in drawn]
    # A unit counts where two of the raters have a rating.
    counts = (~np.isnan(ratings)).sum(axis=1) > 1
    clusters = len({person for person, one in zip(people, counts, strict=True) if one})
    assert (judge.difference.n, judge.difference.clusters) == (counts.sum(), clusters)
    ends = np.quantile(by_hand, symmetric_levels(0.95, clusters))
    assert (judge.difference.low, judge.difference.high) == pytest.approx(tuple(ends), abs=1e-12)
    assert judge.difference.estimate == pytest.approx(judge.with_experts.estimate - judge.among_experts.estimate)


def test_the_shift_of_a_judge_is_the_mean_over_experts() -> None:
    # Judge minus first expert: mean of 1, 1, 0, 2 = 1; minus second, on the units it rated: mean of 2, 1, 3 = 2.
    ratings = np.array([[1, nan, 2], [2, 1, 3], [3, 2, 3], [3, 2, 5]])
    found = judge_reliability(ratings, [0, 1], draw_resamples(range(4), n_resamples=50))
    assert found.judges[0].shift.estimate == pytest.approx(1.5, abs=1e-12)
    # The sign follows the judge, wherever its column is.
    turned = judge_reliability(ratings[:, [2, 0, 1]], [1, 2], draw_resamples(range(4), n_resamples=50))
    assert turned.judges[0].shift.estimate == pytest.approx(1.5, abs=1e-12)
    assert [pair.shift.estimate for pair in turned.pairs][:2] == pytest.approx([-1, -2], abs=1e-12)


def found_of(errors: tuple[float, ...], **options: Any) -> Reliability:
    return judge_reliability(rated(errors, 200), [0, 1, 2], draw_resamples(range(200), n_resamples=1000), **options)


def test_verdicts() -> None:
    # A judge without error is closer to each expert than experts with errors are to each other, one with a large error
    # is not; a judge like the experts is undecided, until a margin is given that its interval keeps.
    exact, like, poor = found_of((0.8, 0.8, 0.8, 0.0, 0.8, 2.0)).judges
    assert (exact.verdict, like.verdict, poor.verdict) == ("closer", "undecided", "less close")
    assert exact.difference.low > 0 > poor.difference.high
    loss = -like.difference.low
    for margin, verdict in ((loss + 0.01, "as close"), (loss - 0.01, "undecided")):
        judges = found_of((0.8, 0.8, 0.8, 0.0, 0.8, 2.0), margin=margin).judges
        assert [one.verdict for one in judges] == ["closer", verdict, "less close"]


def test_order_of_units_and_of_experts_does_not_matter() -> None:
    ratings = with_gaps(rated((0.6, 0.7, 0.8, 0.9)))
    one = judge_reliability(ratings, [0, 1, 2], draw_resamples(PEOPLE, n_resamples=200))
    order = np.random.default_rng(1).permutation(60)
    resamples = draw_resamples([PEOPLE[unit] for unit in order], n_resamples=200)
    assert judge_reliability(ratings[order], [2, 0, 1], resamples) == one


def test_undefined() -> None:
    resamples = draw_resamples(range(6), n_resamples=100)
    constant = np.array([[3, 3, rating] for rating in (1, 2, 3, 3, 2, 1)])
    [judge] = judge_reliability(constant, [0, 1], resamples).judges
    assert isnan(judge.among_experts.estimate)
    assert isnan(judge.difference.estimate)
    assert judge.verdict is None
    assert judge.difference.reason == "the statistic is undefined"
    # A judge who never varies agrees by chance, and its shift is known all the same.
    assert judge.with_experts.estimate == 0
    assert judge.shift.estimate == pytest.approx(-1, abs=1e-12)
    apart = [[1, 1, nan], [2, 2, nan], [2, 1, nan], [nan, nan, 1], [nan, nan, 2], [nan, nan, 3]]
    [lone] = judge_reliability(apart, [0, 1], resamples).judges
    assert (lone.with_experts.n, lone.with_experts.reason) == (0, "no unit has a value")
    assert lone.verdict is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ratings": [1, 2, 3]}, r"ratings has shape \(3,\); expected \(units, raters\)"),
        ({"ratings": [[1, 2, float("inf")]] * 3}, "ratings: inf is infinite; a missing rating is nan"),
        ({"ratings": [[1, 2, "3"]] * 3}, "ratings value '3' is not a number; convert text"),
        ({"experts": [0]}, r"experts is \[0\]; name at least two columns, each once"),
        ({"experts": [0, 0]}, r"experts is \[0, 0\]; name at least two"),
        ({"experts": [0, 3]}, "experts 3 is not a whole number from 0 to 2"),
        ({"experts": [0, 1, 2]}, "every rater is an expert, and none is a judge"),
        ({"weights": "cubic"}, "unknown weights 'cubic'"),
        ({"by": "size"}, "unknown by 'size'"),
        ({"margin": 0}, "margin 0 is not above 0"),
        ({"margin": 2}, "margin 2 is of kappa, which is at most 1; expected a number below 1"),
        ({"level": 95}, "level 95 is outside 0-1"),
    ],
)
def test_malformed(changes: dict[str, Any], message: str) -> None:
    resamples = draw_resamples(range(3), n_resamples=10)
    given: dict[str, Any] = {"ratings": [[1, 2, 3]] * 3, "experts": [0, 1], **changes}
    with pytest.raises(MetricInputError, match=message):
        judge_reliability(given.pop("ratings"), given.pop("experts"), resamples, **given)
