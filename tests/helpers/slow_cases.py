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
