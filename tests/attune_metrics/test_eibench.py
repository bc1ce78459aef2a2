"""Changes of state, failed episodes, scene means."""

from math import inf, isnan, nan
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attune_metrics as am
from attune_metrics.eibench import clip_delta, scene_means, state_curve, treat_failed

states = st.integers(0, 100)
quick = settings(deadline=None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), ("3", 3), ("+2", 2), (" -4 ", -4), (2.9, 2), (-2.9, -2), (-0.5, 0), ("7.99", 7), (11, 10), (-1e9, -10)],
)
def test_a_change_is_truncated_then_clipped(value: object, expected: int) -> None:
    assert clip_delta(value) == expected


@pytest.mark.parametrize("value", [None, "", "much", nan, inf, "-inf", [1], {"delta": 1}, 10**400])
def test_what_is_no_change_is_refused(value: object) -> None:
    with pytest.raises(am.MetricInputError, match="finite number"):
        clip_delta(value)


def test_a_change_too_long_to_be_written_is_refused_too() -> None:
    with pytest.raises(am.MetricInputError, match="is infinite or too large"):
        clip_delta(10**5000)


def test_states_stop_at_both_ends_and_move_on_from_there() -> None:
    # 5 - 10 stops at 0, so +3 gives 3; 12 is clipped to 10; 95 + 10 stops at 100.
    assert state_curve(5, [-8, 3, 12]) == [5, 0, 3, 13]
    assert state_curve(95, ["10", -1]) == [95, 100, 99]
    assert state_curve(40, []) == [40]
    with pytest.raises(am.MetricInputError, match="initial 101 is outside 0-100"):
        state_curve(101, [])


@given(states, st.lists(st.integers(-20, 20)))
@quick
def test_states_stay_in_range_and_move_by_ten_at_most(initial: int, deltas: list[int]) -> None:
    curve = state_curve(initial, deltas)
    assert len(curve) == len(deltas) + 1
    assert min(curve) >= 0
    assert max(curve) <= 100
    assert np.abs(np.diff(curve)).max(initial=0) <= 10


def test_failed_episodes() -> None:
    scores, failed = [0.5, -0.25, nan, nan], [False, True, True, False]
    assert treat_failed(scores, failed, "start").tolist()[:3] == [0.5, -0.25, 0]
    assert treat_failed(scores, failed, "worst").tolist()[:3] == [0.5, -1, -1]
    excluded = treat_failed(scores, failed, "exclude")
    assert excluded[0] == 0.5
    assert np.isnan(excluded[1:]).all()
    # An episode that did not fail and has no value is nobody's guess.
    assert all(isnan(treat_failed(scores, failed, treatment)[3]) for treatment in ("exclude", "start", "worst"))
    assert scores[1] == -0.25


def test_failed_episodes_take_states_from_the_anchors() -> None:
    finals, failed = [30, nan, 60], [False, True, True]
    assert treat_failed(finals, failed, "start", start=[70, 80, 75]).tolist() == [30, 80, 60]
    assert treat_failed(finals, failed, "worst", worst=[90, 95, 85]).tolist() == [30, 95, 85]
    assert treat_failed([], [], "start").shape == (0,)


@pytest.mark.parametrize(
    ("values", "failed", "treatment", "message"),
    [
        ([1, 2], [True], "start", r"failed is bool of shape \(1,\); expected bool of \(2,\)"),
        ([1, 2], [0, 1], "start", "failed is int64"),
        ([1], [True], "zero", "unknown treatment 'zero'; expected exclude, start, worst"),
        (["high"], [True], "start", "values value 'high' is not a number"),
        ([10**400], [True], "start", "values has a whole number that is too large for a float"),
    ],
)
def test_bad_failures_are_named(values: list[object], failed: list[object], treatment: str, message: str) -> None:
    with pytest.raises(am.MetricInputError, match=message):
        treat_failed(values, failed, treatment)  # type: ignore[arg-type]


def test_one_number_in_an_array_is_no_list_of_scenes() -> None:
    with pytest.raises(am.MetricInputError, match="expected a list of"):
        scene_means(np.array(1), [0.2])


def test_scene_means() -> None:
    means = scene_means(["support", "charm", "support", "support", "charm"], [0.2, -0.4, 0.6, nan, 0.0])
    # Support (0.2 + 0.6) / 2, charm -0.4 / 2; all four 0.4 / 4; scenes (0.4 - 0.2) / 2.
    assert means.by_scene == {"charm": -0.2, "support": pytest.approx(0.4, abs=1e-12)}
    assert list(means.by_scene) == ["charm", "support"]
    assert means.n_by_scene == {"charm": 2, "support": 2}
    assert means.n == 4
    assert [means.overall, means.macro] == pytest.approx([0.1, 0.1], abs=1e-12)


def test_unequal_scenes_tell_micro_from_macro() -> None:
    means = scene_means(["a", "a", "a", "b"], [1, 1, 1, -1])
    assert (means.overall, means.macro) == (0.5, 0)


def test_a_scene_without_values_has_no_mean_and_leaves_no_macro() -> None:
    means = scene_means(["a", "b"], [1, nan])
    assert (means.overall, means.n, means.n_by_scene) == (1, 1, {"a": 1, "b": 0})
    assert isnan(means.by_scene["b"])
    assert isnan(means.macro)
    none = scene_means([], [])
    assert isnan(none.overall)
    assert isnan(none.macro)
    assert none.by_scene == {}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-1, 1)), min_size=1), st.randoms())
@quick
def test_order_of_episodes_does_not_matter(episodes: list[tuple[str, float]], random: Random) -> None:
    turned = random.sample(episodes, len(episodes))
    first, second = (scene_means([s for s, _ in some], [v for _, v in some]) for some in (episodes, turned))
    assert first == second


@pytest.mark.parametrize(
    ("scenes", "values", "message"),
    [(["a"], [1, 2], "1 scenes, 2 values"), ([None], [1], "scene None is not a text"), ("ab", [1, 2], "a list of")],
)
def test_bad_scenes_are_named(scenes: list[str], values: list[float], message: str) -> None:
    with pytest.raises(am.MetricInputError, match=message):
        scene_means(scenes, values)
