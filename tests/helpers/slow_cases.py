"""Cases of a parametrised test of which most are of the slow suite, or of the nightly run."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_except(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Return the cases as parameters, all but the quick ones with the mark `slow`."""
    return _marked_except(pytest.mark.slow, cases, quick)


def nightly_except(cases: Iterable[Any], *slow: Any) -> list[Any]:
    """Return the cases of a slow test as parameters, all but those of the slow suite with the mark `nightly`."""
    return _marked_except(pytest.mark.nightly, cases, slow)


def _marked_except(mark: pytest.MarkDecorator, cases: Iterable[Any], unmarked: tuple[Any, ...]) -> list[Any]:
    found = list(cases)
    if missing := [case for case in unmarked if case not in found]:
        raise ValueError(f"no cases {missing!r}")
    return [case if case in unmarked else pytest.param(case, marks=mark) for case in found]


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
