"""Broken copies of files: each loads or is an issue, and what loads can be written and read again.

Hypothesis gives the seeds, always the same ones: 250 for conversations and for runs, 100 for the smaller documents of
other kinds, three of them in the quick suite. Each seed makes 20 copies, a third of them of a document in older
spellings.
"""

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from attune_data import Collection, Kind, LoadError, SourceError, load_records
from attune_data.kinds import CONVERSATION, KINDS, RUN
from attune_data.testing import mutated

COPIES = 20
SECONDS = 45
SECONDS_OF_ONE = 2
# Pieces of documents in current spelling, and what stood there in older files.
OLDER = {
    '"yes"': '"TRUE"',
    '"no"': "0",
    '"intensity": 4': '"intensity": "moderate"',
    '"winner": "A"': '"winner": "response_1"',
    '"observedBehavior"': '"did_occur"',
    '"responseB"': '"response_2"',
    '"llmImproved"': '"alternate1"',
    '"q1_lookingFor"': '"Q1"',
    '"original"': '"Original"',
    '"turnNumber": 1': '"turnNumber": "1"',
    '"proud"': '" PROUD"',
    '"scene_tag": "defense"': '"scene_tag": " Defense"',
}
OLD_RULES = {"old-spelling", "two-spellings", "number-as-text"}


def check(data: bytes, kind: Kind[Any, Any], path: Path) -> bool:
    """Check what loading promises for any bytes at all; tell whether they loaded."""
    path.write_bytes(data)
    try:
        loaded: Collection[Any] = load_records(path, kind)
    except SourceError as error:  # What is left of it looks like another kind.
        assert f" and no {kind.noun}; " in str(error)  # noqa: PT017
        return False
    errors = [issue for issue in loaded.found if issue.severity == "error"]
    # A comparison that no fit can take stays readable, and its error says that scoring refuses it.
    left_out = [issue for issue in errors if issue.consequence != "kept; score refuses it"]
    assert bool(left_out) is (len(loaded) == 0), errors
    assert loaded.issues.height == len(loaded.found)
    assert all(str(issue).encode() and issue.message and issue.consequence for issue in loaded.found)
    try:
        load_records(path, kind, on_error="raise")
        rejected = False
    except LoadError:
        rejected = True
    assert rejected or not errors
    assert not rejected or errors or any(issue.rule == "out-of-range" for issue in loaded.found)
    if not loaded:
        return False
    written = loaded[0].to_json()
    path.write_bytes(written)
    again = load_records(path, kind)
    assert again[0].to_json() == written
    assert {issue.rule for issue in again.found}.isdisjoint(OLD_RULES)
    return True


# Of the other kinds, test_testing.py has quick ones.
def longest(kind: Kind[Any, Any]) -> str:
    """Return the longest record of the demonstration data as JSON."""
    return max((json.dumps(json.loads(record.to_line())) for record in load_records("demo", kind)), key=len)


@pytest.mark.parametrize(
    ("kind", "one_of"),
    [
        *(pytest.param(kind, 80, id=f"{kind.noun}-quick") for kind in (CONVERSATION, RUN)),
        *(pytest.param(kind, 1, id=kind.noun, marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_broken_files_load_or_are_reported(
    kind: Kind[Any, Any], one_of: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    by_hand = kind.noun in ("conversation", "run")
    seeds = (250 if by_hand else 100) // one_of
    whole = older = json.dumps(request.getfixturevalue(kind.noun)) if by_hand else longest(kind)
    for current, old in OLDER.items():
        older = older.replace(current, old)
    path = tmp_path / "mutant.json"
    tried: set[int] = set()
    outcomes: list[bool] = []
    slowest = 0.0

    @settings(max_examples=seeds, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(seed=st.integers(0, 2**64 - 1))
    def attempt(seed: int) -> None:
        nonlocal slowest
        rng = random.Random(seed)
        for number in range(COPIES):
            data = mutated(json.loads(whole if number % 3 else older), rng)
            tried.add(hash(data))
            started = time.process_time()
            outcomes.append(check(data, kind, path))
            slowest = max(slowest, time.process_time() - started)

    started = time.process_time()
    attempt()
    assert time.process_time() - started < SECONDS
    assert slowest < SECONDS_OF_ONE
    assert len(outcomes) == seeds * COPIES
    # The flat records, whose documents follow from their models, have fewer different mutants.
    assert len(tried) > (0.8 if kind.documents is None else 0.9) * len(outcomes)
    # Both ways out are taken often: a mutation that is never noticed, or always fatal, tests nothing. The values of a
    # scenario, an episode and a dialogue are nearly all needed.
    low = 0.2 if by_hand else 0.1
    assert low < sum(outcomes) / len(outcomes) < 0.8
