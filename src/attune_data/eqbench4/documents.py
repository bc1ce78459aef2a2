"""Documents of EQ-Bench 4 for tests, which agree in what rules compare between records."""

from typing import Any

from hypothesis.strategies import SearchStrategy

from attune_data.eqbench4 import ENTRY, ROLEPLAY
from attune_data.testing import accepted


def roleplays() -> SearchStrategy[dict[str, Any]]:
    """Return a strategy of role-plays that one judge has judged."""
    return accepted(ROLEPLAY).map(lambda one: {**one, "pointwise_judge_model": "synthetic/judge"})


def entries() -> SearchStrategy[dict[str, Any]]:
    """Return a strategy of entries with one role-play."""
    same = {"n_scenarios": 1, "dims": {}, "profile_points": {"traits": {"yielding": [4.5]}}}
    return accepted(ENTRY).map(lambda one: {**one, **same})
