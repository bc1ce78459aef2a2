"""Process rewards, trace advantages and turn advantages: worked values and properties."""

from collections import defaultdict
from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_metrics import MetricInputError
from attune_metrics.turn_credit import process_rewards, trace_advantages, turn_advantages

quick = settings(deadline=None)
unit = st.floats(-1, 1)
traces = st.lists(st.lists(st.floats(-0.1, 0.1), max_size=8), min_size=1, max_size=6)


def test_process_rewards() -> None:
    # 0.5 * 0.02 + 0.5 * 0.01; 0.5 * -0.03 + 0.5 * -0.04; no change.
    assert process_rewards([-2, 3, 0], [1, -4, 0]) == pytest.approx([0.015, -0.035, 0], abs=1e-12)
    assert process_rewards([-10, 10], [10, -10]) == pytest.approx([0.1, -0.1], abs=1e-12)
    # A state may be set anew, and so move from end to end.
    assert process_rewards([-100], [100]) == pytest.approx([1], abs=1e-12)


def test_the_floor_holds_where_rewards_hardly_differ() -> None:
    # Mean 0.12, deviations -0.02, 0.02, 0, 0: std sqrt(0.0008 / 3) = 0.01633, below the floor of 0.1.
    rewards = [0.10, 0.14, 0.12, 0.12]
    expected = np.array([-0.02, 0.02, 0, 0]) / (0.1 + 1e-6)
    assert trace_advantages(rewards, ["p"] * 4) == pytest.approx(expected, abs=1e-12)
    assert trace_advantages(rewards, ["p"] * 4) == pytest.approx([-0.2, 0.2, 0, 0], abs=1e-5)
    unfloored = np.array([-0.02, 0.02, 0, 0]) / (sqrt(0.0008 / 3) + 1e-6)
    assert trace_advantages(rewards, ["p"] * 4, sigma_floor=0) == pytest.approx(unfloored, abs=1e-11)


def test_rewards_that_differ_are_divided_by_their_deviation() -> None:
    # Mean 0; squares 0.36 + 0.04 + 0.25 + 0.01 = 0.66; std sqrt(0.66 / 3) = 0.469042.
    rewards = [-0.6, 0.2, 0.5, -0.1]
    found = trace_advantages(rewards, [3] * 4)
    assert found == pytest.approx(np.array(rewards) / (sqrt(0.22) + 1e-6), abs=1e-12)
    assert found == pytest.approx([-1.2792, 0.4264, 1.0660, -0.2132], abs=5e-5)


def test_groups_are_apart_and_in_any_order() -> None:
    found = trace_advantages([-0.6, 0.7, 0.2, 0.5, -0.1], ["p", "q", "p", "p", "p"])
    alone = 0.7 / (1 + 1e-6)
    together = trace_advantages([-0.6, 0.2, 0.5, -0.1], ["p"] * 4)
    assert found == pytest.approx([together[0], alone, *together[1:]], abs=1e-12)


def test_a_group_of_equal_rewards_has_no_advantage() -> None:
    assert trace_advantages([0.5, 0.5], [1, 1], sigma_floor=0).tolist() == [0, 0]


def test_turn_advantages() -> None:
    # Mean of 0.015, -0.035, 0 is -1/150; times 15: 0.325, -0.425, 0.1 beside the trace's 0.2.
    rewards = [0.015, -0.035, 0]
    assert turn_advantages([0.2], rewards, [0, 0, 0]) == pytest.approx([0.525, -0.225, 0.3], abs=1e-12)
    uncentered = turn_advantages([0.2], rewards, [0, 0, 0], centered=False)
    assert uncentered == pytest.approx([0.425, -0.325, 0.2], abs=1e-12)
    assert turn_advantages([0.2], rewards, [0, 0, 0], alpha=0).tolist() == [0.2, 0.2, 0.2]


def test_the_worked_example_from_rewards_to_turns() -> None:
    whole = trace_advantages([0.10, 0.14, 0.12, 0.12], [0, 0, 0, 0])
    rewards = process_rewards([-2, 3, 0], [1, -4, 0])
    # The trace's advantage is 0.02 / (0.1 + 1e-6), not 0.2.
    exact = 0.02 / 0.100001 + np.array([0.325, -0.425, 0.1])
    assert turn_advantages(whole, rewards, [1, 1, 1]) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("centered", [True, False])
def test_a_trace_of_one_turn_gets_no_credit(centered: bool) -> None:
    found = turn_advantages([0.3, -0.1], [0.07, 0.1, 0.1], [0, 1, 1], centered=centered)
    assert found[0] == 0.3
    assert found[1] == pytest.approx(-0.1 if centered else 1.4, abs=1e-12)


def test_turns_may_come_in_any_order_and_traces_may_have_none() -> None:
    found = turn_advantages([1, 5, 2], [0.02, 0.1, 0.04, 0.0], [2, 0, 2, 0])
    # Trace 0: mean 0.05, credit 15 * +-0.05; trace 2: mean 0.03, credit 15 * +-0.01.
    assert found == pytest.approx([1.85, 1.75, 2.15, 0.25], abs=1e-12)


@given(traces, st.floats(0, 30), st.data())
@quick
def test_centred_credit_of_a_trace_sums_to_zero(ragged: list[list[float]], alpha: float, data: st.DataObject) -> None:
    whole = data.draw(st.lists(unit, min_size=len(ragged), max_size=len(ragged)))
    place = [trace for trace, turns in enumerate(ragged) for _ in turns]
    rewards = [reward for turns in ragged for reward in turns]
    found = turn_advantages(whole, rewards, place, alpha=alpha)
    credit: dict[int, float] = defaultdict(float)
    for trace, value in zip(place, found.tolist(), strict=True):
        credit[trace] += value - whole[trace]
    assert all(abs(total) < 1e-12 for total in credit.values())


@given(traces, st.booleans())
@quick
def test_turn_advantages_as_trace_by_trace(ragged: list[list[float]], centered: bool) -> None:
    place = [trace for trace, turns in enumerate(ragged) for _ in turns]
    whole = [float(trace) for trace in range(len(ragged))]
    expected = []
    for trace, turns in enumerate(ragged):
        mean = sum(turns) / len(turns) if centered and turns else 0
        expected += [trace + (15 * (reward - mean) if len(turns) > 1 else 0) for reward in turns]
    found = turn_advantages(whole, [reward for turns in ragged for reward in turns], place, centered=centered)
    assert found == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), unit), min_size=1, max_size=30), st.floats(0, 0.5))
@quick
def test_trace_advantages_as_group_by_group(rewards: list[tuple[int, float]], floor: float) -> None:
    by_group: dict[int, list[float]] = defaultdict(list)
    for group, reward in rewards:
        by_group[group].append(reward)
    expected = []
    for group, reward in rewards:
        held = by_group[group]
        mean, std = (np.mean(held), np.std(held, ddof=1)) if len(held) > 1 else (0.0, 1.0)
        expected.append((reward - mean) / (max(std, floor) + 1e-6))
    found = trace_advantages([reward for _, reward in rewards], [group for group, _ in rewards], sigma_floor=floor)
    # Rewards equal but for rounding are divided by 1e-6 without a floor.
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_nothing_gives_nothing() -> None:
    assert process_rewards([], []).shape == (0,)
    assert trace_advantages([], []).shape == (0,)
    assert turn_advantages([], [], []).shape == (0,)
    assert turn_advantages([0.5], [], []).shape == (0,)


def test_bad_input_is_named() -> None:
    with pytest.raises(MetricInputError, match=r"trust_changes\[1\] is nan; expected a finite number from -100 to 100"):
        process_rewards([1, 2], [1, nan])
    with pytest.raises(MetricInputError, match="2 changes of anger, 1 of trust"):
        process_rewards([1, 2], [1])
    with pytest.raises(MetricInputError, match=r"rewards\[0\] is inf"):
        trace_advantages([inf], [0])
    with pytest.raises(
        MetricInputError, match=r"groups are int64 of shape \(1,\); expected int or str of shape \(2,\)"
    ):
        trace_advantages([1, 2], [0])
    with pytest.raises(MetricInputError, match="groups are float64"):
        trace_advantages([1, 2], [0.5, nan])
    with pytest.raises(MetricInputError, match="sigma_floor -1 is outside"):
        trace_advantages([1], [0], sigma_floor=-1)
    with pytest.raises(MetricInputError, match="trace 2 of 2; traces count from 0"):
        turn_advantages([1, 2], [0.1], [2])
    with pytest.raises(MetricInputError, match="trace -1 of 2"):
        turn_advantages([1, 2], [0.1], [-1])
    with pytest.raises(MetricInputError, match="traces are float64"):
        turn_advantages([1, 2], [0.1], [0.0])
    with pytest.raises(MetricInputError, match="alpha nan is not a finite number"):
        turn_advantages([1, 2], [0.1], [0], alpha=nan)
