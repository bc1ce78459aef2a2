"""Waits and the share that is back, by hand."""

import numpy as np
import pytest
from synthetic.misreads import falls

from attune_metrics.stats.recovery_times import (
    Wait,
    median_wait,
    share_back,
    wait_terms,
    waits_of_falls,
    waits_of_runs,
)

NONE = np.zeros(0)


def share(waits: list[Wait], within: int = 3) -> float:
    return float(share_back(wait_terms(waits, within), NONE))


def test_runs_end_or_are_cut_off() -> None:
    assert waits_of_runs([False, True, True, False, True, False]) == [Wait(2, "back"), Wait(1, "back")]
    assert waits_of_runs([False, False, True]) == [Wait(0, "censored")]
    assert waits_of_runs([]) == []


@pytest.mark.parametrize(
    ("states", "waits"),
    [
        ([50, 50, 60], []),
        ([50, 40, 50], [Wait(1, "back")]),
        # The second fall is within the first; the state has to reach 50.
        ([50, 40, 45, 41, 49, 50, 49], [Wait(4, "back"), Wait(0, "censored")]),
    ],
)
def test_falls_end_where_the_state_is_as_good_as_before(states: list[float], waits: list[Wait]) -> None:
    assert waits_of_falls(states) == waits


def test_an_end_by_the_person_is_no_censoring() -> None:
    assert waits_of_falls([50, 40, 40]) == [Wait(1, "censored")]
    assert waits_of_falls([50, 40, 40], left=True) == [Wait(2, "left")]
    assert waits_of_falls([50, 40, 50], left=True) == [Wait(1, "back")]


def test_the_share_with_censoring_and_people_who_leave() -> None:
    # At 1: four waited for, one back. At 2: one was censored; two waited for, one left. At 3: one back.
    waits = [Wait(1, "back"), Wait(1, "censored"), Wait(2, "left"), Wait(3, "back")]
    assert share(waits, 1) == 1 / 4
    assert share(waits, 2) == 1 / 4
    assert share(waits) == pytest.approx(1 / 4 + 3 / 4 * 1 / 2)
    assert median_wait(waits) == 3
    # Those who left count against: without censoring it is the plain share.
    assert share([Wait(1, "back"), Wait(1, "left"), Wait(2, "left"), Wait(2, "back")]) == 1 / 2


def test_what_was_not_observed_is_unknown() -> None:
    assert np.isnan(share([]))
    assert np.isnan(share([Wait(0, "censored")]))
    assert np.isnan(share([Wait(1, "back"), Wait(2, "censored")]))
    assert share([Wait(1, "back")]) == 1
    assert median_wait([Wait(5, "censored")]) is None


def test_censoring_does_not_bias_the_share() -> None:
    def found(turns: tuple[int, int]) -> float:
        given = falls(participants=4000, each=1, turns=turns, seed=1)
        waits = [wait for path, left in zip(*given[:2], strict=True) for wait in waits_of_falls(path, left=left)]
        return share(waits)

    assert found((3, 8)) == pytest.approx(found((40, 40)), abs=0.03)
