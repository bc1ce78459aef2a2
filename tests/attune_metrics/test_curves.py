"""The shape of curves."""

from collections.abc import Callable
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attune_metrics as am

states = st.integers(0, 100)
curves = st.lists(states, min_size=1, max_size=12)
quick = settings(deadline=None)


def test_shape_of_a_curve() -> None:
    curve = [40, 55, 50, 52, 38, 45, 55, 30]
    # Trapezoids 47.5 + 52.5 + 51 + 45 + 41.5 + 50 + 42.5 = 330 over 7 turns.
    assert am.emotion_curve_area(curve) == pytest.approx(330 / 7, abs=1e-12)
    # The last fall, 55 to 30, is deeper than 55 to 38; it counts from the first 55, and the end is its bottom.
    assert am.largest_drop(curve) == 25
    assert am.recovery_time(curve) == inf
    assert am.recovery_time(curve[:7]) == 2
    assert am.turns_to_target(curve, target=52) == 1
    assert am.turns_to_target(curve, target=40) == 0
    assert am.turns_to_target(curve, target=56) == inf


def test_of_equal_drops_the_first_counts() -> None:
    assert am.largest_drop([50, 40, 50, 50, 40]) == 10
    assert am.recovery_time([50, 40, 50, 50, 40]) == 1


def test_recovery_may_go_beyond_the_peak() -> None:
    assert am.recovery_time([50, 40, 45, 60]) == 2


@pytest.mark.parametrize(
    ("metric", "curve", "reason"),
    [(am.emotion_curve_area, [40], "the curve has no turn"), (am.recovery_time, [40, 40, 50], "the curve never falls")],
)
def test_undefined_shapes_warn_the_caller(metric: Callable[..., float], curve: list[float], reason: str) -> None:
    with pytest.warns(am.UndefinedMetricWarning, match=f"undefined: {metric.__name__}; {reason}") as caught:
        assert isnan(metric(curve))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        ([], "curve is empty"),
        ([40, 140], "state 140 is outside 0-100"),
        ([40, None], "state None is not"),
        (40, "list"),
    ],
)
def test_bad_curves_are_named(curve: list[float], message: str) -> None:
    for metric in (am.emotion_curve_area, am.largest_drop, am.recovery_time):
        with pytest.raises(am.MetricInputError, match=message):
            metric(curve)


@given(curves)
@quick
def test_largest_drop_over_all_pairs(curve: list[int]) -> None:
    floats = [float(state) for state in curve]
    assert am.largest_drop(floats) == max(a - b for place, a in enumerate(floats) for b in floats[place:])


@given(curves.filter(lambda curve: len(curve) > 1))
@quick
def test_area_as_numpy_integrates(curve: list[int]) -> None:
    expected = np.trapezoid(curve) / (len(curve) - 1)
    assert am.emotion_curve_area([float(state) for state in curve]) == pytest.approx(expected, abs=1e-12)
