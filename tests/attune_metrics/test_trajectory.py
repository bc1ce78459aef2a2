"""Changes of state, failed episodes, scene means, SAGE's board, the shape of curves."""

from collections.abc import Callable
from fractions import Fraction
from math import inf, isnan, nan, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attune_metrics as am

states = st.integers(0, 100)
curves = st.lists(states, min_size=1, max_size=12)
quick = settings(deadline=None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), ("3", 3), ("+2", 2), (" -4 ", -4), (2.9, 2), (-2.9, -2), (-0.5, 0), ("7.99", 7), (11, 10), (-1e9, -10)],
)
def test_a_change_is_truncated_then_clipped(value: object, expected: int) -> None:
    assert am.clip_delta(value) == expected


@pytest.mark.parametrize("value", [None, "", "much", nan, inf, "-inf", [1], {"delta": 1}, 10**400])
def test_what_is_no_change_is_refused(value: object) -> None:
    with pytest.raises(am.MetricInputError, match="finite number"):
        am.clip_delta(value)


def test_a_change_too_long_to_be_written_is_refused_too() -> None:
    with pytest.raises(am.MetricInputError, match="is infinite or too large"):
        am.clip_delta(10**5000)


def test_states_stop_at_both_ends_and_move_on_from_there() -> None:
    # 5 - 10 stops at 0, so +3 gives 3; 12 is clipped to 10; 95 + 10 stops at 100.
    assert am.state_curve(5, [-8, 3, 12]) == [5, 0, 3, 13]
    assert am.state_curve(95, ["10", -1]) == [95, 100, 99]
    assert am.state_curve(40, []) == [40]
    with pytest.raises(am.MetricInputError, match="initial 101 is outside 0-100"):
        am.state_curve(101, [])


@given(states, st.lists(st.integers(-20, 20)))
@quick
def test_states_stay_in_range_and_move_by_ten_at_most(initial: int, deltas: list[int]) -> None:
    curve = am.state_curve(initial, deltas)
    assert len(curve) == len(deltas) + 1
    assert min(curve) >= 0
    assert max(curve) <= 100
    assert np.abs(np.diff(curve)).max(initial=0) <= 10


def test_failed_episodes() -> None:
    scores, failed = [0.5, -0.25, nan, nan], [False, True, True, False]
    assert am.treat_failed(scores, failed, "start").tolist()[:3] == [0.5, -0.25, 0]
    assert am.treat_failed(scores, failed, "worst").tolist()[:3] == [0.5, -1, -1]
    excluded = am.treat_failed(scores, failed, "exclude")
    assert excluded[0] == 0.5
    assert np.isnan(excluded[1:]).all()
    # An episode that did not fail and has no value is nobody's guess.
    assert all(isnan(am.treat_failed(scores, failed, treatment)[3]) for treatment in ("exclude", "start", "worst"))
    assert scores[1] == -0.25


def test_failed_episodes_take_states_from_the_anchors() -> None:
    finals, failed = [30, nan, 60], [False, True, True]
    assert am.treat_failed(finals, failed, "start", start=[70, 80, 75]).tolist() == [30, 80, 60]
    assert am.treat_failed(finals, failed, "worst", worst=[90, 95, 85]).tolist() == [30, 95, 85]
    assert am.treat_failed([], [], "start").shape == (0,)


@pytest.mark.parametrize(
    ("values", "failed", "treatment", "message"),
    [
        ([1, 2], [True], "start", r"failed is bool of shape \(1,\); expected bool of \(2,\)"),
        ([1, 2], [0, 1], "start", "failed is int64"),
        ([1], [True], "zero", "unknown treatment 'zero'; expected exclude, start, worst"),
        (["high"], [True], "start", "values value 'high' is not a number"),
    ],
)
def test_bad_failures_are_named(values: list[object], failed: list[object], treatment: str, message: str) -> None:
    with pytest.raises(am.MetricInputError, match=message):
        am.treat_failed(values, failed, treatment)  # type: ignore[arg-type]


def test_scene_means() -> None:
    means = am.scene_means(["support", "charm", "support", "support", "charm"], [0.2, -0.4, 0.6, nan, 0.0])
    # Support (0.2 + 0.6) / 2, charm -0.4 / 2; all four 0.4 / 4; scenes (0.4 - 0.2) / 2.
    assert means.by_scene == {"charm": -0.2, "support": pytest.approx(0.4, abs=1e-12)}
    assert list(means.by_scene) == ["charm", "support"]
    assert means.n_by_scene == {"charm": 2, "support": 2}
    assert means.n == 4
    assert [means.overall, means.macro] == pytest.approx([0.1, 0.1], abs=1e-12)


def test_unequal_scenes_tell_micro_from_macro() -> None:
    means = am.scene_means(["a", "a", "a", "b"], [1, 1, 1, -1])
    assert (means.overall, means.macro) == (0.5, 0)


def test_a_scene_without_values_has_no_mean_and_leaves_no_macro() -> None:
    means = am.scene_means(["a", "b"], [1, nan])
    assert (means.overall, means.n, means.n_by_scene) == (1, 1, {"a": 1, "b": 0})
    assert isnan(means.by_scene["b"])
    assert isnan(means.macro)
    none = am.scene_means([], [])
    assert isnan(none.overall)
    assert isnan(none.macro)
    assert none.by_scene == {}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-1, 1)), min_size=1), st.randoms())
@quick
def test_order_of_episodes_does_not_matter(episodes: list[tuple[str, float]], random: Random) -> None:
    turned = random.sample(episodes, len(episodes))
    first, second = (am.scene_means([s for s, _ in some], [v for _, v in some]) for some in (episodes, turned))
    assert first == second


@pytest.mark.parametrize(
    ("scenes", "values", "message"),
    [(["a"], [1, 2], "1 scenes, 2 values"), ([None], [1], "scene None is not a text"), ("ab", [1, 2], "a list of")],
)
def test_bad_scenes_are_named(scenes: list[str], values: list[float], message: str) -> None:
    with pytest.raises(am.MetricInputError, match=message):
        am.scene_means(scenes, values)


def test_sage_counts_at_its_two_thresholds() -> None:
    scores = am.sage_scores([100, 99, 10, 9, 0])
    assert (scores.n, scores.score, scores.successes, scores.failures) == (5, 43.6, 1, 2)
    # Wilson with z of 97.5%: (p + z^2/2n -+ z sqrt(p (1 - p) / n + z^2/4n^2)) / (1 + z^2/n).
    z, n = 1.959963984540054, 5
    for interval, p in ((scores.success, 0.2), (scores.failure, 0.4)):
        margin = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        ends = [(p + z * z / (2 * n) + side * margin) / (1 + z * z / n) for side in (-1, 1)]
        assert [interval.low, interval.high] == pytest.approx(ends, abs=1e-12)
        assert (interval.estimate, interval.method) == (p, "wilson")


def test_sage_counts_what_lies_between_whole_numbers() -> None:
    scores = am.sage_scores([99.5, 9.5, 10.5])
    assert (scores.successes, scores.failures) == (0, 1)


def test_sage_without_conversations_is_undefined() -> None:
    with pytest.warns(am.UndefinedMetricWarning, match="undefined: sage_scores; there are no conversations") as caught:
        scores = am.sage_scores([])
    assert caught[0].filename == __file__
    assert isnan(scores.score)
    assert scores.success.reason == "no trials"
    with pytest.raises(am.MetricInputError, match="final 104 is outside 0-100"):
        am.sage_scores([104])


@given(st.integers(0, 10_000))
@quick
def test_half_up_as_in_exact_arithmetic(total: int) -> None:
    exact = Fraction(total, 100)
    assert am.round_half_up(total / 100) == pytest.approx(float((exact * 10 + Fraction(1, 2)) // 1 / 10), abs=1e-12)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(28.95, 29.0), (68.15, 68.2), (61.25, 61.3), (35.85, 35.9), (0.25, 0.3), (-0.25, -0.3), (1e-7, 0), (1e300, 1e300)],
)
def test_half_up(value: float, expected: float) -> None:
    assert am.round_half_up(value) == expected


@pytest.mark.parametrize("value", [nan, inf, "many", None])
def test_what_cannot_be_rounded_is_refused(value: float) -> None:
    with pytest.raises(am.MetricInputError, match="is not a finite number"):
        am.round_half_up(value)


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
