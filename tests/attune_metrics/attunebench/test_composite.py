"""Composites. Expected values are derived by hand in the comments."""

from math import isnan, nan
from typing import Any

import pytest

from attune_metrics import MetricInputError
from attune_metrics.attunebench.composite import (
    binary_mean,
    composite_score,
    conversation_wide,
    conversation_wide_average,
    emotion_blend,
    equal_weight_composite,
    evaluation_quality,
    holistic,
    panas01,
    turn_level_average,
)
from attune_metrics.attunebench.questions import hp_perspective_alignment, hp_perspective_gap


def test_pillars() -> None:
    assert emotion_blend(0.4, 0.6) == 0.5
    assert binary_mean(0.8, 0.6) == pytest.approx(0.7, abs=1e-12)
    # 0.5 * 0.7 + 0.5 * 0.3
    quality = evaluation_quality(om_accuracy=0.8, human_accuracy=0.6, pairwise_accuracy=0.3)
    assert quality == pytest.approx(0.5, abs=1e-12)
    assert conversation_wide(1.0, 0.0, 0.5, 0.3) == pytest.approx(0.45, abs=1e-12)
    # 0.4 * 0.25 + 0.3 * 0.5 + 0.3 * 1
    pillar = holistic(panas01=0.25, conversation_wide=0.5, four_branch_normalized=1.0)
    assert pillar == pytest.approx(0.55, abs=1e-12)


def test_panas01() -> None:
    assert (panas01(-1), panas01(0.5), panas01(1.0)) == (0, 0.75, 1)
    assert panas01(None) == panas01(nan) == 0.5


def test_composite_score() -> None:
    # 24 * 0.3 + 49 * 0.7 + 27 * 0.55 = 7.2 + 34.3 + 14.85
    assert composite_score(emotion_blend=0.3, evaluation_quality=0.7, holistic=0.55) == 56.35
    assert composite_score(emotion_blend=1, evaluation_quality=1, holistic=1) == 100
    # 100/3 rounds to two decimals.
    assert composite_score(emotion_blend=1 / 3, evaluation_quality=1 / 3, holistic=1 / 3) == 33.33


def test_equal_weights() -> None:
    assert turn_level_average(emotion_blend=0.2, binary_mean=0.5, pairwise_accuracy=0.8) == pytest.approx(
        0.5, abs=1e-12
    )
    wide = conversation_wide_average(panas01=0.1, conversation_wide=0.2, four_branch_normalized=0.6)
    assert wide == pytest.approx(0.3, abs=1e-12)
    # (0.5 + 0.3) / 2, and two thirds of a hundred to two decimals
    assert equal_weight_composite(turn_level_average=0.5, conversation_wide_average=0.3) == 40
    assert equal_weight_composite(turn_level_average=1.0, conversation_wide_average=1 / 3) == 66.67


def test_perspective() -> None:
    assert hp_perspective_gap(observer=0.75, hp=0.5) == 0.25
    assert hp_perspective_gap(observer=-1, hp=1) == -2
    assert hp_perspective_alignment(observer=0.5, hp=0.75) == 1.5
    assert hp_perspective_alignment(observer=0.5, hp=-0.25) == -0.5
    assert hp_perspective_alignment(observer=0.0, hp=0.5) == 0
    assert hp_perspective_alignment(observer=-0.2, hp=0.5) == 0


def test_undefined_parts_make_an_undefined_composite() -> None:
    assert isnan(composite_score(emotion_blend=0.3, evaluation_quality=0.7, holistic=nan))
    assert isnan(hp_perspective_alignment(observer=nan, hp=0.5))


def test_an_average_may_pass_one_by_a_rounding_error() -> None:
    assert emotion_blend(1 + 2e-16, 1.0) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (64.2, r"f1 64.2 is outside 0-1; is this a 0-100 scale\?"),
        (-0.1, "f1 -0.1 is outside 0-1"),
        (None, "f1 None is not a finite number"),
        ("0.5", "f1 '0.5' is not a finite number; convert text"),
    ],
)
def test_bad_values_raise(value: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        emotion_blend(value, 0.5)


def test_panas01_checks_its_range() -> None:
    with pytest.raises(MetricInputError, match=r"panas_baseline_adjusted -1.5 is outside -1-1; is this a difference\?"):
        panas01(-1.5)


def test_arguments_that_could_be_swapped_are_keyword_only() -> None:
    functions: list[Any] = [evaluation_quality, composite_score, holistic, hp_perspective_gap, equal_weight_composite]
    for function in functions:
        with pytest.raises(TypeError, match="positional"):
            function(0.5, 0.5, 0.5)
