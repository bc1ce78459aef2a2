"""Environments of a test's own: this project as users install it, with what the development environment lacks."""

import os
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["HELPERS", "Shell", "new_environment", "new_shell"]

HELPERS = Path(__file__).parent
"""The folder of programs that such environments run."""

Shell = Callable[..., str]
"""Run a script in a folder, with variables of the environment as keywords; return what it prints.

It ends with the status 0, or another that is given."""

_TORCH = "torch==2.13.0"  # of later ones there may be no build without CUDA


def new_environment(folder: Path, extras: str = "", *, torch: bool = False) -> Path:
    """Create an environment with this project and some extras of it; return its folder of programs.

    The test is skipped where it needs torch and no build is to be had.
    """
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    install = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if torch:
        done = subprocess.run([*install, _TORCH], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no build of {_TORCH} to be had: {done.stderr.strip()[-200:]}")
    root = HELPERS.parents[1]
    subprocess.run([*install, f"{root}[{extras}]" if extras else str(root)], check=True)
    return programs


def new_shell(folder: Path, *, torch: bool = False) -> Shell:
    """Create an environment with the base install; return what runs scripts in it, with no other Python code."""
    programs = new_environment(folder, torch=torch)

    def shell(script: str, folder: Path, status: int = 0, **environment: str) -> str:
        own = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HF_HUB_OFFLINE": "1",
            "INSPECT_DISPLAY": "plain",
            "NO_COLOR": "1",
            **environment,
        }
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=own,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    return shell
