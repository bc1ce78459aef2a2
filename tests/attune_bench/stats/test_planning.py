"""Planning from a pilot and from assumptions: hand derivations, both directions agree, what cannot be planned."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import polars as pl
import pytest
from benchmark_scores import NAMES, scores_named
from slow_cases import slow_except

from attune_bench import Scores
from attune_bench.stats.planning import plan_from_assumptions
from attune_metrics import MetricInputError
from attune_metrics.stats.power import mde_factor

DIFFERENCES = (1, 3, 2, 2, 1, 3, 2, 2)
STATED: dict[str, Any] = {"sd": 20, "correlation": 0.5, "icc": 0.3, "units_per_participant": 4}


def pilot(differences: Sequence[float] = DIFFERENCES, each: int = 2) -> Scores:
    """Return scores of two models on `each` units of every participant, who all have one difference on them."""
    rows = [
        (model, f"{person}-{unit}", str(person), "points", unit + sign * difference)
        for person, difference in enumerate(differences)
        for unit in range(each)
        for model, sign in (("a", 1.0), ("b", 0.0))
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row")
    return Scores.from_table(frame, about={"cluster": "participant"}, metrics={"points": {"low": 0, "high": 9}})


def test_by_hand() -> None:
    # The means of 8 participants have the standard error sqrt(4 / 7 / 8) = sqrt(1 / 14). Of a table of Student's t,
    # (2.093 + 0.861) sqrt(8 / 14 / 20) = 0.4993 with 20 and (2.101 + 0.862) sqrt(8 / 14 / 19) = 0.5138 with 19.
    [row] = pilot().plan(difference=0.5).to_dicts()
    assert row["mde"] == pytest.approx(mde_factor(8) * sqrt(1 / 14), abs=1e-12)
    assert (row["n"], row["clusters"], row["units_per_participant"]) == (16, 8, 2)
    assert (row["difference"], row["participants"], row["units"], row["reason"]) == (0.5, 20, 40, None)
    [row] = pilot().plan(participants=20).to_dicts()
    assert row["difference"] == pytest.approx(mde_factor(20) * sqrt(8 / 14 / 20), abs=1e-12)
    assert row["difference"] == pytest.approx(0.4993, abs=1e-4)


@pytest.mark.parametrize("name", slow_except(NAMES, "attunebench", "sage"))
def test_both_directions_agree(name: str) -> None:
    scores = scores_named(name)
    metrics = [scores.primary]
    for participants in (7, 8, 30, 1000):
        for row in scores.plan(participants=participants, metrics=metrics).to_dicts():
            if row["difference"] is None:
                assert row["reason"]
                continue
            models = (row["model_a"], row["model_b"])
            back = scores.plan(difference=row["difference"], models=models, metrics=metrics)
            [same] = [one for one in back.to_dicts() if one["condition"] == row["condition"]]
            assert (same["participants"], same["units"]) == (participants, row["units"])


def test_as_many_as_the_pilot_show_its_own_effect() -> None:
    scores = scores_named("eibench")
    compared = scores.compare_all(metrics=[scores.primary])
    size = compared["clusters"][0]
    found = scores.plan(participants=size, metrics=[scores.primary])
    for row, own in zip(found.to_dicts(), compared.to_dicts(), strict=True):
        assert {key: row[key] for key in ("model_a", "model_b", "n", "clusters", "mde")} == {
            key: own[key] for key in ("model_a", "model_b", "n", "clusters", "mde")
        }
        if own["clusters"] == size and own["mde"] is not None:
            assert row["difference"] == pytest.approx(own["mde"], rel=1e-12)


def test_a_plan_has_the_spread_of_the_pilots_sizes() -> None:
    # Six participants have a unit each, two have five: mean 2, mean square 7, so that CV^2 is 7 / 4 - 1.
    rows = [
        (model, f"{person}-{unit}", str(person), "points", unit + sign * difference)
        for person, difference in enumerate(DIFFERENCES)
        for unit in range(5 if person in {1, 5} else 1)
        for model, sign in (("a", 1.0), ("b", 0.0))
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row")
    scores = Scores.from_table(frame, about={"cluster": "participant"})
    [row] = scores.plan(participants=40).to_dicts()
    assert (row["units_per_participant"], row["units_cv"]) == (2, pytest.approx(sqrt(0.75), abs=1e-12))
    shrunk = mde_factor(40, units_cv=sqrt(0.75)) / mde_factor(8, units_cv=sqrt(0.75)) * sqrt(8 / 40)
    assert row["difference"] == pytest.approx(row["mde"] * shrunk, abs=1e-12)
    # Where each participant counts once, or units are drawn, sizes change nothing.
    assert scores.plan(participants=40, weight="participant")["units_cv"].item() == 0
    assert scores.plan(participants=40, unit="unit")["units_cv"].item() == 0


def test_units_may_be_drawn() -> None:
    # 16 units instead of 8 participants: standard error sqrt(8 / 15 / 16) = sqrt(1 / 30).
    [row] = pilot().plan(participants=64, unit="unit").to_dicts()
    assert row["difference"] == pytest.approx(mde_factor(64) * sqrt(16 / 30 / 64), abs=1e-12)
    assert (row["units_per_participant"], row["units"]) == (1, 64)


def test_what_cannot_be_planned_has_a_reason() -> None:
    [few] = pilot().plan(participants=6).to_dicts()
    assert (few["difference"], few["units"]) == (None, 12)
    assert few["reason"] == "no difference is detectable with fewer than 7 participants"
    [small] = pilot(DIFFERENCES[:6]).plan(difference=1).to_dicts()
    assert (small["participants"], small["units"], small["mde"]) == (None, None, None)
    assert small["reason"] == "no minimum detectable effect with fewer than 7 participants"
    [equal] = pilot([0] * 8).plan(difference=1).to_dicts()
    assert (equal["participants"], equal["reason"]) == (None, "the two are equal in every participant")


def test_a_pilot_warns_as_its_comparison() -> None:
    with pytest.warns(UserWarning, match="5 participants with a difference are too few for 1 test"):
        pilot(DIFFERENCES[:5]).plan(difference=1, resamples=10)


def test_from_assumptions() -> None:
    # 2 x 400 x 0.5 x (1 + 3 x 0.3) / 4 = 190, of which the root is the standard error of one participant.
    found = plan_from_assumptions(participants=30, **STATED).row(0, named=True)
    assert found["difference"] == pytest.approx(mde_factor(30) * sqrt(190 / 30), abs=1e-12)
    assert found["units"] == 120
    for participants in (7, 30, 200):
        difference = plan_from_assumptions(participants=participants, **STATED)["difference"].item()
        assert plan_from_assumptions(difference=difference, **STATED)["participants"].item() == participants
    constant = {**STATED, "correlation": 1}
    for asked in ({"difference": 5}, {"participants": 30}):
        [row] = plan_from_assumptions(**asked, **constant).to_dicts()
        assert row["reason"] == "with a correlation of 1 the difference does not vary"
        assert None in (row["difference"], row["participants"])
    # 10 x 1.1 is 11.000000000000002, and 11 units are enough.
    assert plan_from_assumptions(participants=10, **STATED | {"units_per_participant": 1.1})["units"].item() == 11


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "give either the difference to find or the number of participants"),
        ({"difference": 1, "participants": 9}, "give either the difference to find or the number of participants"),
        ({"difference": 0}, "difference 0 is not above 0"),
        ({"participants": -1}, "participants -1 is not a whole number from 0"),
        ({"participants": 2.5}, r"participants 2\.5 is not a whole number"),
        ({"participants": 10**400}, "participants of hundreds of digits is not a whole number"),
        ({"difference": 1, "looks": 21}, "looks 21 is not a whole number from 1 to 20"),
        ({"participants": 9, "looks": 0}, "looks 0 is not a whole number from 1 to 20"),
    ],
)
def test_refusals(asked: dict[str, Any], message: str) -> None:
    for plan in (pilot().plan, lambda **asked: plan_from_assumptions(**asked, **STATED)):
        with pytest.raises(MetricInputError, match=message):
            plan(**asked)


def test_looks_take_a_few_more_participants_and_fewer_on_average() -> None:
    for plan in (pilot().plan, lambda **asked: plan_from_assumptions(**asked, **STATED)):
        [alone], [looking] = (plan(difference=0.2, looks=looks).to_dicts() for looks in (1, 5))
        assert "participants_expected" not in alone
        # 1.0284 and 0.8176 of one look's, see test_looks; whole numbers.
        assert alone["participants"] <= looking["participants"] <= 1.0284 * alone["participants"] + 1
        share = looking["participants_expected"] / looking["participants"]
        assert share == pytest.approx(0.8176 / 1.0284, abs=1e-3)
        [shown] = plan(participants=looking["participants"], looks=5).to_dicts()
        assert shown["difference"] <= 0.2
        [few] = plan(participants=11, looks=2).to_dicts()
        assert few["reason"] == "no difference is detectable with fewer than 12 participants"
    [small] = pilot().plan(difference=5, looks=5).to_dicts()
    assert (small["participants"], small["participants_expected"]) == (12, 12), "no look at fewer decides anything"
    # Of looks after 4, 7, 11 and 14 participants the last alone decides, of those after 5, 10, 15 and 20 two.
    late, two = (
        plan_from_assumptions(participants=people, looks=4, **STATED)["participants_expected"][0] for people in (14, 20)
    )
    assert late == pytest.approx(14)
    assert two == pytest.approx(17.266, abs=1e-3)


def test_refusals_of_a_pilot() -> None:
    with pytest.raises(MetricInputError, match="difference 9 of 'points' is as large as its range, 0 to 9"):
        pilot().plan(difference=9)
    with pytest.raises(MetricInputError, match=r"needs more than 2\^53 units"):
        pilot().plan(difference=1e-9)
    with pytest.raises(MetricInputError, match="no scores of model 'c'"):
        pilot().plan(difference=1, models=("a", "c"))


def test_more_units_than_can_be_counted() -> None:
    with pytest.raises(MetricInputError, match=r"of 1e\+300 units each are more than 2\^53 units"):
        plan_from_assumptions(participants=9, **STATED | {"units_per_participant": 1e300})
