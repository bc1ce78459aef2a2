"""Cases of a parametrised test of which most are of the slow suite."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_except(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Return the cases as parameters, all but the quick ones with the mark `slow`."""
    found = list(cases)
    if missing := [case for case in quick if case not in found]:
        raise ValueError(f"no cases {missing!r}")
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in found]


def slow_after(quick: int, cases: Iterable[Any]) -> list[Any]:
    """Return the cases, of which a tuple is one of several parameters, all after the first `quick` with the mark."""
    found = list(cases)
    if not 0 < quick < len(found):
        raise ValueError(f"{quick} quick cases of {len(found)}")
    return [*found[:quick], *(_slow(case) for case in found[quick:])]


def _slow(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
