"""Real TRL on a processor: two steps on episodes, advantages of turns, and the gradient of the loss written out."""

import json
import subprocess
from pathlib import Path

import pytest
from environments import new_environment

HELPER = Path(__file__).parents[2] / "helpers" / "trl_training.py"


@pytest.mark.slow
def test_two_steps_of_a_tiny_model(tmp_path: Path) -> None:
    python = new_environment(tmp_path, "trl", torch=True) / "python"
    done = subprocess.run([str(python), str(HELPER), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["steps"], found["moved"], found["batches"]) == (2, True, 2)
    assert found["advantages"] < 1e-5
    assert found["nothing_on_the_person"]
    assert found["largest"] > 1e-3
    assert found["distance"] < 1e-6
