"""Real TRL on a processor: two steps on episodes, advantages of turns, and the gradient of the loss written out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import HELPERS, Shell


@pytest.mark.slow
def test_two_steps_of_a_tiny_model(page_shell: Callable[..., Shell], tmp_path: Path) -> None:
    printed = page_shell("training.md", torch=True)(f"python {HELPERS / 'trl_training.py'} .", tmp_path)
    found = json.loads(printed.splitlines()[-1])
    assert (found["steps"], found["moved"], found["batches"]) == (2, True, 2)
    assert found["advantages"] < 1e-5
    assert found["nothing_on_the_person"]
    assert found["largest"] > 1e-3
    assert found["distance"] < 1e-6
