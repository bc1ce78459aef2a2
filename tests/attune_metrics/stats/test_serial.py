"""What follows within series: by brute force, on planted dependence, and what is refused."""

from itertools import permutations
from math import isnan
from typing import Any

import numpy as np
import pytest
from synthetic.misreads import misreads

from attune_metrics import MetricInputError
from attune_metrics.stats.association import lagged_association, outcome_association
from attune_metrics.stats.serial import serial_dependence

PEOPLE: dict[str, Any] = {"participants": 25, "each": 2}


def test_over_all_orders_of_a_series_there_is_no_dependence() -> None:
    # The sum of N over all orders is 0, and Q is the same for each: the sums that are set to 0 cancel at r = 0.
    orders = [*permutations([1.0, 1.0, 0.0, 0.0, 0.0])]
    series = np.arange(len(orders)).repeat(5)
    found = serial_dependence(np.concatenate(orders), series, [*range(5)] * len(orders), series)
    assert found.effect.estimate == pytest.approx(0, abs=1e-9)
    assert found.effect.low < 0 < found.effect.high
    # The ordinary correlation within the series is biased: (k - 1) / (T - 1) - k / (T - 1).
    assert found.uncontrolled == pytest.approx(1 / 4 - 2 / 4, abs=1e-12)
    assert (found.mean, found.after, found.otherwise) == pytest.approx((0.4, 0.4, 0.4), abs=1e-9)


def test_a_gap_parts_neighbours_and_a_long_alternation_is_negative() -> None:
    bad = [1.0, 0, 1, 0, 0, 1, 1, 0, 1, 0] * 10
    series = np.arange(10).repeat(10)
    together = serial_dependence(bad, series, [*range(10)] * 10, series)
    parted = serial_dependence(bad, series, [0, 1, 2, 3, 5, 6, 7, 8, 9, 10] * 10, series)
    assert (together.pairs, parted.pairs) == (90, 80)
    assert -0.98 < together.effect.estimate < parted.effect.estimate < 0
    # Ten equal series do not say how far others would differ.
    assert (together.effect.reason, isnan(together.effect.low)) == ("no variation among clusters", True)
    always = serial_dependence([1.0, 0] * 50, series, [*range(10)] * 10, series)
    assert always.effect.reason == "values change so rarely, or so often, that nothing bounds the dependence"


def naive(planted: Any) -> float:
    """Return the correlation of neighbours in the deviations from the means of conversations."""
    pairs = []
    for name in range(planted.conversation.max() + 1):
        own = planted.bad[planted.conversation == name]
        pairs += [*zip(own[:-1] - own.mean(), own[1:] - own.mean(), strict=True)]
    x, y = np.array(pairs).T
    return float(x @ y / (x @ x))


@pytest.mark.parametrize("dependence", [0.0, 0.3])
def test_planted_dependence_is_found_without_bias(dependence: float) -> None:
    planted = [misreads(dependence=dependence, seed=seed, **PEOPLE) for seed in range(30)]
    found = [serial_dependence(one.bad, one.conversation, one.turn, one.participant) for one in planted]
    assert np.mean([one.effect.estimate for one in found]) == pytest.approx(dependence, abs=0.04)
    # Hard conversations make dependence where there is none, and short series hide it where there is some.
    assert np.mean([one.uncontrolled for one in found]) > dependence + 0.1
    assert np.mean([naive(one) for one in planted]) < dependence - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("dependence", [0.0, 0.3])
def test_intervals_cover_what_was_planted(dependence: float) -> None:
    covered, linked = [], []
    for seed in range(300):
        one = misreads(dependence=dependence, effect=0.4, seed=seed, **PEOPLE)
        found = serial_dependence(one.bad, one.conversation, one.turn, one.participant).effect
        covered.append(found.low <= dependence <= found.high)
        effect = lagged_association(one.bad, one.outcome, one.conversation, one.turn, one.participant).effect
        linked.append(effect.low <= 0.4 + 0.5 * dependence <= effect.high)
    assert 0.92 < np.mean(covered) < 0.98
    assert 0.91 < np.mean(linked) < 0.98


def test_an_association_by_loops_and_without_the_level_of_a_series() -> None:
    one = misreads(participants=6, effect=0.5, seed=4)
    found = lagged_association(one.bad, one.outcome, one.conversation, one.turn, one.participant)
    above = below = 0.0
    for name in range(one.conversation.max() + 1):
        x, y = (values[one.conversation == name].tolist() for values in (one.bad, one.outcome))
        neighbours = range(len(x) - 1)
        apart = [(s, t) for s in neighbours for t in neighbours if t - s > 1]
        for s, t in apart:
            weight = len(neighbours) / len(apart)
            above += weight * (x[t] - x[s]) * (y[t + 1] - y[s + 1])
            below += weight * (x[t] - x[s]) ** 2
    assert found.effect.estimate == pytest.approx(above / below, abs=1e-12)
    higher = one.outcome + 9 * one.conversation
    raised = lagged_association(one.bad, higher, one.conversation, one.turn, one.participant)
    assert raised.effect.estimate == pytest.approx(found.effect.estimate, abs=1e-9)


def test_an_association_of_two_groups_is_the_difference_of_their_means() -> None:
    found = outcome_association([0, 0, 1, 1, 1], [1, 2, 4, 5, 9], list("abcde"))
    assert found.estimate == pytest.approx(6 - 1.5)
    assert found.low < found.estimate < found.high
    assert outcome_association([1, 1], [0, 3], [0, 1]).reason == "no variation among clusters"
    assert outcome_association([], [], []).reason is not None


def test_what_says_nothing_is_refused_with_the_reason() -> None:
    series, places = np.arange(9).repeat(4), [*range(4)] * 9
    never = serial_dependence(np.zeros(36), series, places, series)
    assert (isnan(never.effect.estimate), never.effect.reason) == (True, "no variation among clusters")
    few = serial_dependence([1.0, 0, 0, 0] * 9, series, places, [0] * 36)
    assert few.effect.reason == "fewer than 8 clusters have a series with different values"
    nothing = serial_dependence([], [], [], [])
    assert (isnan(nothing.effect.estimate), nothing.pairs) == (True, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [1.0, 0.0]}, "expected as many of each: 2 values, 3 series"),
        ({"values": [1.0, float("nan"), 0.0]}, "values have to be finite numbers"),
        ({"places": [0, 0, 1]}, "two values of a series have one place"),
        ({"clusters": ["p", "q", "q"]}, "a series has values of two clusters"),
    ],
)
def test_mistakes(change: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {"values": [1.0, 0.0, 1.0], "series": ["a"] * 3, "places": [0, 1, 2], "clusters": ["p"] * 3}
    with pytest.raises(MetricInputError, match=message):
        serial_dependence(**(right | change))
    with pytest.raises(MetricInputError, match="3 values and 1 outcomes"):
        lagged_association(outcomes=[1.0], **right)
    with pytest.raises(MetricInputError, match="1 outcomes and 3 clusters"):
        outcome_association([1, 2, 3], [1], [1, 2, 3])
