"""Planning without a pilot: hand derivations, agreement with a pilot, refusals."""

from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.metric import Metric
from attune_metrics.stats.power import (
    effect_after_pilot,
    mde_factor,
    minimum_detectable_effect,
    participants_after_pilot,
    participants_needed,
    planned_effect,
)

USUAL: dict[str, Any] = {"sd": 20, "correlation": 0.5, "icc": 0.3, "units_per_participant": 4}
PILOT: dict[str, Any] = {"mde": 10, "pilot_participants": 12}


def test_by_hand() -> None:
    # 2 x 400 x 0.5 = 400; design effect 1 + 3 x 0.3 = 1.9; four units: 400 x 1.9 / 4 = 190.
    assert planned_effect(30, **USUAL) == pytest.approx(mde_factor(30) * sqrt(190 / 30), abs=1e-12)
    # Independent units of one participant each.
    alone = planned_effect(30, sd=20, correlation=0, icc=0.9)
    assert alone == pytest.approx(mde_factor(30) * sqrt(800 / 30), abs=1e-12)


def test_unequal_participants_by_hand() -> None:
    # (0.75^2 + 1) x 4 = 6.25; design effect 1 + 5.25 x 0.4 = 3.1; 400 x 3.1 / 4 = 310 (Eldridge, Ashby, Kerry 2006).
    unequal = USUAL | {"icc": 0.4, "units_cv": 0.75}
    expected = mde_factor(30, units_cv=0.75) * sqrt(310 / 30)
    assert planned_effect(30, **unequal) == pytest.approx(expected, abs=1e-12)
    # Independent units: only the effective number of participants is smaller.
    independent = planned_effect(30, **USUAL | {"icc": 0, "units_cv": 0.75})
    assert independent == pytest.approx(mde_factor(30, units_cv=0.75) * sqrt(100 / 30), abs=1e-12)
    needed = int(participants_needed(5, **unequal))
    assert needed > participants_needed(5, **unequal | {"units_cv": 0})
    assert planned_effect(needed, **unequal) <= 5 < planned_effect(needed - 1, **unequal)
    pilot: dict[str, Any] = {"mde": planned_effect(20, **unequal), "pilot_participants": 20, "units_cv": 0.75}
    assert effect_after_pilot(50, **pilot) == pytest.approx(planned_effect(50, **unequal), rel=1e-12)
    assert participants_after_pilot(5, **pilot, units_per_participant=4) == needed


@pytest.mark.parametrize("difference", [0.5, 2, 5, 9])
def test_the_number_needed_is_the_first_that_is_enough(difference: float) -> None:
    needed = int(participants_needed(difference, **USUAL))
    assert planned_effect(needed, **USUAL) <= difference < planned_effect(needed - 1, **USUAL)


def test_a_large_difference_needs_seven() -> None:
    assert participants_needed(1e6, **USUAL) == 7


def test_a_pilot_with_what_is_assumed_says_the_same() -> None:
    # Differences of 50 participants, one unit each, whose variance with n - 1 is 1: sd^2 x 2 x (1 - r) = 1.
    differences = np.tile([-1.0, 1.0], 25) * sqrt(49 / 50)
    pilot = minimum_detectable_effect(differences, np.zeros(50), range(50))
    assert planned_effect(50, sd=1, correlation=0.5, icc=0) == pytest.approx(pilot, abs=1e-12)


def test_after_a_pilot() -> None:
    # Of a table of Student's t, 2.201 + 0.876 with 12 participants and 2.020 + 0.851 with 42: half of an effect of 10
    # needs 12 x 4 x (2.871 / 3.077)^2 = 41.8.
    assert participants_after_pilot(5, **PILOT) == 42
    assert effect_after_pilot(12, **PILOT) == 10
    four_times = effect_after_pilot(48, **PILOT)
    assert four_times == pytest.approx(5 * mde_factor(48) / mde_factor(12), abs=1e-12)
    for participants in (7, 8, 12, 13, 100, 10_000):
        assert participants_after_pilot(effect_after_pilot(participants, **PILOT), **PILOT) == participants
    assert participants_after_pilot(1e6, **PILOT) == 7


def test_a_pilot_is_as_good_as_its_assumptions() -> None:
    pilot: dict[str, Any] = {"mde": planned_effect(20, **USUAL), "pilot_participants": 20}
    assert effect_after_pilot(50, **pilot) == pytest.approx(planned_effect(50, **USUAL), rel=1e-12)
    assert participants_after_pilot(3, **pilot, units_per_participant=4) == participants_needed(3, **USUAL)


def test_undefined() -> None:
    with pytest.warns(UndefinedMetricWarning, match="fewer than 7 participants") as caught:
        assert isnan(planned_effect(6, **USUAL))
    assert caught[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning, match="fewer than 7 participants") as caught:
        assert isnan(effect_after_pilot(6, mde=1, pilot_participants=7))
    assert caught[0].filename == __file__
    for plan, given in ((planned_effect, USUAL), (effect_after_pilot, PILOT)):
        with pytest.warns(UndefinedMetricWarning, match="fewer than 12 participants"):
            assert isnan(plan(11, **given, looks=2))
        assert plan(12, **given, looks=2) > plan(12, **given) > 0
    with pytest.warns(UndefinedMetricWarning, match="the difference does not vary"):
        assert isnan(planned_effect(9, **USUAL | {"correlation": 1}))
    with pytest.warns(UndefinedMetricWarning, match="the difference does not vary"):
        assert isnan(participants_needed(9, **USUAL | {"correlation": 1}))


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("sd", 0, "sd 0 is not above 0"),
        ("sd", nan, "sd nan is not a finite number"),
        ("correlation", 1.2, "correlation 1.2 is outside -1-1"),
        ("icc", -0.1, "icc -0.1 is outside 0-1"),
        ("units_per_participant", 0.5, "units_per_participant 0.5 is outside 1-inf"),
        ("units_cv", -0.5, "units_cv -0.5 is outside 0-inf"),
        ("looks", 0, "looks 0 is not a whole number from 1 to 20"),
        ("looks", 21, "looks 21 is not a whole number from 1 to 20"),
    ],
)
def test_ranges(option: str, value: Any, message: str) -> None:
    for plan in (planned_effect, participants_needed):
        with pytest.raises(MetricInputError, match=message):
            plan(30, **USUAL | {option: value})


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("mde", 0, "mde 0 is not above 0"),
        ("mde", nan, "mde nan is not a finite number"),
        ("pilot_participants", 6, "pilot_participants 6 is not a whole number from 7"),
    ],
)
def test_ranges_of_a_pilot(option: str, value: Any, message: str) -> None:
    for plan in (effect_after_pilot, participants_after_pilot):
        with pytest.raises(MetricInputError, match=message):
            plan(30, **PILOT | {option: value})


def test_more_refusals() -> None:
    with pytest.raises(MetricInputError, match="of hundreds of digits is not a whole number"):
        planned_effect(10**400, **USUAL)
    with pytest.raises(MetricInputError, match="larger than any float; are sd and mde of the scale of the scores"):
        planned_effect(8, **USUAL | {"sd": 1e308, "correlation": -1, "icc": 1})
    with pytest.raises(MetricInputError, match="larger than any float"):
        effect_after_pilot(7, mde=1e308, pilot_participants=10**9)
    with pytest.raises(MetricInputError, match=r"units_per_participant 0\.5 is outside 1-inf"):
        participants_after_pilot(1, mde=10, pilot_participants=12, units_per_participant=0.5)
    with pytest.raises(MetricInputError, match="difference 0 is not above 0"):
        participants_needed(0, **USUAL)
    with pytest.raises(MetricInputError, match=r"more than 2\^53 units"):
        participants_needed(1e-9, **USUAL)
    with pytest.raises(MetricInputError, match=r"participants 7\.5 is not a whole number"):
        planned_effect(7.5, **USUAL)  # type: ignore[arg-type]


def test_a_smallest_difference_has_a_source() -> None:
    metric = Metric(name="m", label="M", smallest_difference=0.1, smallest_difference_source="Somebody 2020")
    assert metric.smallest_difference == 0.1
    for stated in ({"smallest_difference": 0.1}, {"smallest_difference_source": "x"}):
        with pytest.raises(ValueError, match="go together; give both or none"):
            Metric(name="m", label="M", **stated)
    with pytest.raises(ValueError, match="is not a finite number above 0"):
        Metric(name="m", label="M", smallest_difference=-1, smallest_difference_source="x")
