"""Planned looks at growing data: published constants, p-values over all looks, and what looks cost."""

from math import erfc, isnan, nan, pi, sqrt, tan
from statistics import NormalDist
from typing import Any

import pytest

from attune_metrics.metric import MetricInputError
from attune_metrics.stats.looking import Looking
from attune_metrics.stats.looks import critical_values, p_over_looks, plan_of_looks
from attune_metrics.stats.power import effect_after_pilot, participants_after_pilot, participants_needed, planned_effect

# Jennison and Turnbull (2000): C_P and C_B at alpha 0.05 in tables 2.1 and 2.3, for K = 2 to 5, 10 and 20.
LOOKS = (2, 3, 4, 5, 10, 20)
POCOCK = (2.178, 2.289, 2.361, 2.413, 2.555, 2.672)
OBRIEN_FLEMING = (1.977, 2.004, 2.024, 2.040, 2.087, 2.126)
# Inflation factors at alpha 0.05 and 80% power, in tables 2.2 and 2.4.
MOST_POCOCK = (1.110, 1.166, 1.202, 1.229)
MOST_OBRIEN_FLEMING = (1.008, 1.017, 1.024, 1.028)
USUAL: dict[str, Any] = {"sd": 20, "correlation": 0.5, "icc": 0.3, "units_per_participant": 4}


def test_constants_are_the_published_ones() -> None:
    assert [critical_values(looks, boundary="pocock")[0] for looks in LOOKS] == pytest.approx(POCOCK, abs=6e-4)
    assert [critical_values(looks)[-1] for looks in LOOKS] == pytest.approx(OBRIEN_FLEMING, abs=6e-4)
    assert critical_values(4).tolist() == pytest.approx([2.0243 * (4 / look) ** 0.5 for look in (1, 2, 3, 4)], abs=2e-4)
    # C_P at alpha 0.01, table 2.1.
    assert critical_values(5, level=0.99, boundary="pocock")[0] == pytest.approx(2.986, abs=6e-4)


def test_inflation_is_the_published_one() -> None:
    pocock = [plan_of_looks(looks, boundary="pocock") for looks in LOOKS[:4]]
    assert [one.most for one in pocock] == pytest.approx(MOST_POCOCK, abs=1e-3)
    default = [plan_of_looks(looks) for looks in LOOKS[:4]]
    assert [one.most for one in default] == pytest.approx(MOST_OBRIEN_FLEMING, abs=6e-4)
    # At the planned difference looks save participants, the more the more often; Pocock's the most.
    saved = [1 - one.expected for one in default]
    assert saved == sorted(saved)
    assert all(one.expected < other.expected < 1 for one, other in zip(pocock, default, strict=True))


def test_p_over_looks_is_alpha_at_the_critical_value() -> None:
    for boundary in ("obrien-fleming", "pocock"):
        for looks in (2, 5):
            for look, critical in enumerate(critical_values(looks, boundary=boundary), start=1):
                p = 2 * NormalDist().cdf(-float(critical))
                found = p_over_looks(p, look, looks, boundary=boundary)
                assert found == pytest.approx(0.05, abs=1e-7)


@pytest.mark.parametrize("look", [1, 2, 20])
def test_intervals_reach_to_the_critical_value_however_far_out(look: int) -> None:
    # With many degrees of freedom t is normal; of 20 looks the first has a tail of 1e-20.
    critical = float(critical_values(20)[look - 1])
    assert Looking(look, 20).factor(1e9) == pytest.approx(critical, rel=1e-6)
    # With one degree of freedom t has Cauchy's distribution.
    assert Looking(look, 20).factor(1) == pytest.approx(1 / tan(pi * erfc(critical / sqrt(2)) / 2), rel=1e-9)


def test_p_over_looks_at_its_ends() -> None:
    assert p_over_looks(0.03, 1, 1) == 0.03
    assert (p_over_looks(0, 2, 3), p_over_looks(1, 2, 3)) == (0, 1)
    assert isnan(p_over_looks(nan, 1, 3))
    rising = [p_over_looks(p, 2, 4) for p in (1e-300, 1e-9, 1e-3, 0.1, 0.5, 0.999)]
    assert rising == sorted(rising)
    assert 0 < rising[0] < 1e-100
    assert rising[-1] <= 1
    # The first of many looks decides little; the last one nearly as much as a single look.
    assert p_over_looks(0.01, 1, 4) > 0.1 > p_over_looks(0.01, 4, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: critical_values(0), "looks 0 is not a whole number from 1 to 20"),
        (lambda: critical_values(21), "looks 21 is not a whole number from 1 to 20"),
        (lambda: critical_values(2, boundary="haybittle"), "unknown boundary 'haybittle'"),  # type: ignore[arg-type]
        (lambda: critical_values(2, level=1), "level 1 is not between 0 and 1"),
        (lambda: plan_of_looks(2.5), r"looks 2\.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: p_over_looks(0.1, 3, 2), "look 3 of 2 planned; expected a number from 1 to 2"),
        (lambda: p_over_looks(0.1, 0, 2), "look 0 is not a whole number from 1"),
        (lambda: p_over_looks(1.1, 1, 2), r"p 1\.1 is outside 0-1"),
    ],
)
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        call()  # type: ignore[operator]


def test_plans_with_looks_need_more_and_agree() -> None:
    alone, looking = participants_needed(5, **USUAL), participants_needed(5, **USUAL, looks=5)
    assert alone < looking <= 1.028 * alone + 2
    assert planned_effect(int(looking), **USUAL, looks=5) <= 5 < planned_effect(int(looking) - 1, **USUAL, looks=5)
    needed = participants_after_pilot(5, mde=10, pilot_participants=12, looks=5)
    assert effect_after_pilot(int(needed), mde=10, pilot_participants=12, looks=5) <= 5
    assert effect_after_pilot(int(needed) - 1, mde=10, pilot_participants=12, looks=5) > 5
