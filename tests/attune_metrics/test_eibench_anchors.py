"""Anchor scores: worked values, ill-ordered anchors, and what holds for any anchors."""

from itertools import product
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_metrics import MetricInputError, anchor_reward, anchor_score
from attune_metrics.eibench import Anchors, Axis, Rule, score_anchors

ANGER, TRUST = Anchors(70, 25, 90), Anchors(15, 50, 0)
RULES: list[Rule] = ["evaluation", "directed"]
AXES: list[Axis] = ["anger", "trust"]
each_rule = pytest.mark.parametrize("rule", RULES)
states = st.integers(0, 100)
rules = st.sampled_from(RULES)
quick = settings(deadline=None)


@each_rule
@pytest.mark.parametrize(
    ("final", "anger", "trust", "reward"),
    [
        # Anger: down 45 to the target, up 20 to the worst. Trust: up 35 to the target, down 15 to the worst.
        ((70, 15), 0, 0, 0),
        ((50, 30), 20 / 45, 15 / 35, 55 / 126),
        ((80, 10), -10 / 20, -5 / 15, -5 / 12),
        ((70, 14), 0, -1 / 15, -1 / 30),
        ((26, 49), 44 / 45, 34 / 35, 307 / 315),
        ((25, 50), 1, 1, 1),
        ((20, 60), 1, 1, 1),
        ((90, 0), -1, -1, -1),
        ((95, 0), -1, -1, -1),
    ],
)
def test_worked_values(final: tuple[int, int], anger: float, trust: float, reward: float, rule: Rule) -> None:
    assert anchor_score(ANGER, final[0], axis="anger", rule=rule) == pytest.approx(anger, abs=1e-12)
    assert anchor_score(TRUST, final[1], axis="trust", rule=rule) == pytest.approx(trust, abs=1e-12)
    assert anchor_reward(ANGER, TRUST, *final, rule=rule) == pytest.approx(reward, abs=1e-12)


@pytest.mark.parametrize(
    ("axis", "anchors", "final", "evaluation", "directed"),
    [
        # Inferred: 20 >= 20 is read as up, and so is the worst case of 60 a success.
        *[("anger", (20, 20, 60), x, e, d) for x, e, d in [(10, -1, 1), (20, 1, 1), (30, 1, -1 / 4), (60, 1, -1)]],
        # Directed: 1 up to 20, down to 0 at 40, down to -1 at 60.
        *[("anger", (20, 40, 60), x, e, d)
          for x, e, d in [(10, -1, 1), (20, 0, 1), (30, 0.5, 0.5), (40, 1, 0), (50, 1, -0.5), (60, 1, -1), (70, 1, -1)]
        ],
        # Worst on the target: nothing between 0 at the target and -1 beyond. Worst below it: never under 0.
        *[("anger", (20, 40, 40), x, 1, d) for x, d in [(40, 0), (41, -1), (100, -1)]],
        *[("anger", (20, 40, 30), x, 1, d) for x, d in [(40, 0), (60, 0)]],
        # Worst not above the start: no step between 0 and -1.
        *[("anger", (50, 20, 40), x, s, s) for x, s in [(50, 0), (51, -1), (35, 0.5), (40, 1 / 3)]],
        *[("trust", (60, 40, 0), x, e, d)
          for x, e, d in [(20, 1, -2 / 3), (40, 1, 1), (50, 0.5, 1), (80, -1, 1)]],
        *[("trust", (50, 50, 0), x, s, s) for x, s in [(25, -0.5), (49, -0.02), (50, 1)]],
        *[("trust", (50, 60, 50), x, s, s) for x, s in [(49, -1), (50, 0), (55, 0.5)]],
        # Target below a worst case below the start: reaching the target comes first.
        ("trust", (60, 40, 55), 50, 0.5, 1),
    ],
)  # fmt: skip
def test_ill_ordered_anchors(
    axis: Axis, anchors: tuple[int, int, int], final: int, evaluation: float, directed: float
) -> None:
    found = [anchor_score(Anchors(*anchors), final, axis=axis, rule=rule) for rule in RULES]
    assert found == pytest.approx([evaluation, directed], abs=1e-12)


ordered = st.lists(states, min_size=3, max_size=3, unique=True).map(sorted)


@given(st.sampled_from(AXES), ordered, states, states, rules)
@quick
def test_well_ordered_anchors(axis: Axis, values: list[int], one: int, other: int, rule: Rule) -> None:
    low, start, high = values
    target, worst = (low, high) if axis == "anger" else (high, low)
    better, worse = (min, max) if axis == "anger" else (max, min)

    def score(final: int) -> float:
        return anchor_score(Anchors(start, target, worst), final, axis=axis, rule=rule)

    assert -1 <= score(one) <= 1
    assert score(better(one, other)) >= score(worse(one, other))
    assert score(better(one, target)) == 1
    assert score(worse(one, worst)) == -1
    assert score(start) == 0


@given(st.sampled_from(AXES), st.tuples(states, states, states), states, states)
@quick
def test_any_anchors(axis: Axis, values: tuple[int, int, int], one: int, other: int) -> None:
    anchors = Anchors(*values)
    better, worse = (min, max) if axis == "anger" else (max, min)
    assert -1 <= anchor_score(anchors, one, axis=axis) <= 1
    found = [anchor_score(anchors, pick(one, other), axis=axis, rule="directed") for pick in (worse, better)]
    assert -1 <= found[0] <= found[1] <= 1


def plain(anchors: tuple[int, int, int], x: int, axis: str, rule: str) -> float:
    """Score one state by cases, each as the definition of its rule lists them."""
    i, g, w = anchors
    if rule == "directed" and axis == "anger" and g >= i:
        if x <= i:
            return 1
        if x <= g:
            return min(1, max(0, 1 - (x - i) / (g - i)))
        return -1 if w == g else min(0, max(-1, -(x - g) / (w - g)))
    up = g >= i if rule == "evaluation" else axis == "trust"
    if up:
        return 1 if x >= g else (x - i) / (g - i) if i <= x else (x - i) / (i - w) if w <= x else -1
    return 1 if x <= g else (i - x) / (i - g) if x <= i else (i - x) / (w - i) if x <= w else -1


@each_rule
@pytest.mark.parametrize("axis", AXES)
def test_many_at_once_as_case_by_case(axis: Axis, rule: Rule) -> None:
    levels = range(0, 101, 9)  # more states than one block holds
    grid = [((i, g, w), x) for i, g, w, x in product(levels, repeat=4)]
    columns = Anchors(*(np.array(values) for values in zip(*(anchors for anchors, _ in grid), strict=True)))
    found = score_anchors(columns, [x for _, x in grid], axis=axis, rule=rule)
    assert found.shape == (12**4,)
    np.testing.assert_allclose(found, [plain(anchors, x, axis, rule) for anchors, x in grid], rtol=0, atol=1e-12)
    for anchors, x in grid[::97]:
        assert anchor_score(Anchors(*anchors), x, axis=axis, rule=rule) == plain(anchors, x, axis, rule)


@each_rule
def test_no_final_state_has_no_score(rule: Rule) -> None:
    for axis, anchors in product(AXES, [ANGER, TRUST, Anchors(20, 20, 60)]):
        found = score_anchors(anchors, [nan, 0.0], axis=axis, rule=rule)
        assert isnan(found[0])
        assert not isnan(found[1])


@each_rule
def test_no_change_is_plain_zero(rule: Rule) -> None:
    assert str(anchor_score(ANGER, 70, axis="anger", rule=rule)) == "0.0"
    assert score_anchors(Anchors(20, 0, 60), [20, 20], axis="anger", rule=rule).tolist().__repr__() == "[0.0, 0.0]"


def test_minus_zero_ties_with_zero() -> None:
    # Target and start are one, so that the official rule takes more for better.
    assert anchor_score(Anchors(0.0, -0.0, 60), 10, axis="anger") == 1


def test_one_pair_of_anchors_serves_many_states() -> None:
    assert score_anchors(TRUST, [15, 50], axis="trust").tolist() == [0, 1]
    assert score_anchors(Anchors([15, 50], [50, 60], 0), 50, axis="trust").tolist() == [1, 0]
    assert score_anchors(TRUST, 50, axis="trust").shape == ()
    assert score_anchors(Anchors(20, [20, 40], 60), 30, axis="anger", rule="directed").tolist() == [-0.25, 0.5]


@pytest.mark.parametrize(
    ("anchors", "final", "options", "message"),
    [
        ((70, 25, 90), 101, {}, "final 101 is outside 0-100"),
        ((70, 25, 90), nan, {}, "final nan is not a finite number"),
        pytest.param((70, 25, 90), 10**5000, {}, "final has more digits than any float", id="huge"),
        ((70, 25, 190), 1, {}, "worst 190 is outside 0-100"),
        ((70, None, 90), 1, {}, "target None is not a finite number"),
        ((70, 25), 1, {}, "2 anchors; expected initial, target and worst"),
        (70, 1, {}, "anchors is 70 .*; expected a list of initial, target and worst"),
        ((70, 25, 90), 1, {"axis": "joy"}, "unknown axis 'joy'; expected anger, trust"),
        ((70, 25, 90), 1, {"rule": "official"}, "unknown rule 'official'; expected evaluation, directed"),
    ],
)
def test_bad_input_is_named(anchors: object, final: object, options: dict[str, str], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        anchor_score(anchors, final, **{"axis": "anger", **options})  # type: ignore[arg-type]
