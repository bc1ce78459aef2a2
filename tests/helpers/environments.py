"""Environments of a test's own: this project as users install it, with what the development environment lacks."""

import atexit
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

__all__ = ["HELPERS", "NO_BYTECODE", "Shell", "new_environment", "new_shell"]

HELPERS = Path(__file__).parent
"""The folder of programs that such environments run."""

Shell = Callable[..., str]
"""Run a script in a folder, with variables of the environment as keywords; return what it prints.

It ends with the status 0, or another that is given."""

_TORCH = "torch==2.13.0"  # of later ones there may be no build without CUDA

NO_BYTECODE = {"PIP_COMPILE": "0"}
"""Variables with which pip compiles nothing: Python compiles what is imported, a small part of such packages."""


@cache
def _wheel() -> Path:
    """Build the wheel of this project, once in a process."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    build = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*build, "--wheel-dir", folder, HELPERS.parents[1]], check=True)
    [built] = folder.iterdir()
    return built


def new_environment(folder: Path, extras: str = "", *, torch: bool = False) -> Path:
    """Create an environment with this project and some extras of it; return its folder of programs."""
    venv.create(folder / "venv", with_pip=True)
    environment = {**os.environ, **NO_BYTECODE}
    programs = folder / "venv" / "bin"
    install = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if torch:
        subprocess.run([*install, _TORCH], check=True, env=environment)
    subprocess.run([*install, f"{_wheel()}[{extras}]" if extras else _wheel()], check=True, env=environment)
    return programs


def new_shell(folder: Path, extras: str = "", *, torch: bool = False) -> Shell:
    """Create an environment, by default with the base install; return what runs scripts in it, with no other code."""
    programs = new_environment(folder, extras, torch=torch)

    def shell(script: str, folder: Path, status: int = 0, **environment: str) -> str:
        own = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HF_HUB_OFFLINE": "1",
            "INSPECT_DISPLAY": "plain",
            "NO_COLOR": "1",
            "OMP_NUM_THREADS": "1",  # threads of torch would wait for each other where tests run side by side
            **NO_BYTECODE,
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
