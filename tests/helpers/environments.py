"""Environments of a test's own, for libraries that the development environment lacks."""

import subprocess
import venv
from pathlib import Path

import pytest

__all__ = ["new_environment"]

_TORCH = "torch==2.13.0"  # of later ones there may be no build without CUDA


def new_environment(folder: Path, extras: str, *packages: str, torch: bool = False) -> Path:
    """Create an environment with this project, some extras of it and packages; return its folder of programs.

    The test is skipped where it needs torch and no build is to be had.
    """
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    install = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if torch:
        done = subprocess.run([*install, _TORCH], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no build of {_TORCH} to be had: {done.stderr.strip()[-200:]}")
    root = Path(__file__).parents[2]
    subprocess.run([*install, *packages, "-e", f"{root}[{extras}]"], check=True)
    return programs
