"""What watches hostile cases sees what goes wrong in them, and names the seed."""

from pathlib import Path

import hostile
import pytest

CASES = """
import os, sys
sys.path.append({helpers!r})
import hostile

def case(seed, folder):
    if seed == 1:
        yield "wrong"
    if seed == 2:
        raise KeyError("broken")
    if seed == 3:
        bytes(range(256)) * 2**20
    if seed == 5:
        os._exit(7)

hostile.main(case, most_bytes=2**27)
"""


@pytest.mark.slow
def test_it_sees_what_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile, "_AT_ONCE", 3)
    program = tmp_path / "cases.py"
    program.write_text(CASES.format(helpers=str(Path(hostile.__file__).parent)), encoding="utf-8")
    assert hostile.failures(program, tmp_path, 1) == []
    wrong, broken, large, ended = hostile.failures(program, tmp_path, 9)
    assert wrong == "seed 1: 'wrong'"
    assert broken.startswith("seed 2: ")
    assert "KeyError" in broken
    assert large.startswith("seed 3: 'it took ")
    assert ended.startswith("['began 5']: the process ended with 7")
