"""The Makefile says at once what a machine lacks, before anything is installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make") or ""

pytestmark = pytest.mark.skipif(not MAKE, reason="make is not installed")


@pytest.mark.parametrize(
    ("lack", "said"),
    [
        ("sys.version_info = (3, 10, 13, 'final', 0)", "needs Python 3.11 or newer"),
        ("sys.modules['venv'] = None", "has no module venv"),
        ("sys.modules['ensurepip'] = None", "has no module venv"),
    ],
    ids=["Python 3.10", "without venv", "without ensurepip"],
)
@pytest.mark.parametrize("target", ["demo", "docs", "test", "lint"])
def test_a_machine_without_what_is_needed_gets_one_line(target: str, lack: str, said: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    # It runs code, told of what the machine lacks, and nothing else: -m venv would leave the file "began".
    python.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] || exec touch began\nexec {sys.executable} -c "import sys; {lack}\n$2"\n',
        encoding="utf-8",
    )
    python.chmod(0o755)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run([MAKE, target, f"PYTHON={python}"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / "began").exists()
