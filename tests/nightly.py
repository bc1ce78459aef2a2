"""The nightly run: ten times the hostile cases of a submission, further cases of slow tests, then other versions.

The fast tests run with the lowest dependencies that `pyproject.toml` allows, and on every later Python that is found:
on the path as ``python3.12`` and so on, or among the versions of pyenv. The summary names those that are not there.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
LATER = ("3.12", "3.13", "3.14")


def main() -> int:
    """Run every part, print the summary, and return 1 where one failed."""
    summary = [_tests("hostile tests, ten times", sys.executable, "-m", "slow", "--scale", "10", "tests/hostile")]
    summary.append(_tests("further cases of slow tests", sys.executable, "-m", "nightly"))
    summary.append(_fast_tests("lowest dependencies", sys.executable, lowest=True))
    for version in LATER:
        python = next(_found(version), None)
        summary.append(_fast_tests(f"Python {version}", python) if python else f"not there  Python {version}")
    sys.stdout.write("\n".join(["", "Nightly run:", *summary, ""]))
    return any(line.startswith("FAILED") for line in summary)


def _found(version: str) -> Iterator[str]:
    """Yield the interpreters of a version that run; a shim of pyenv may be there and not run."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for path in (shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
        asked = path and subprocess.run([path, "-c", "import ensurepip, venv"], capture_output=True, check=False)
        if asked and not asked.returncode:
            yield str(path)


def _fast_tests(name: str, python: str, *, lowest: bool = False) -> str:
    """Run the fast tests in an environment of their own, and return their line of the summary."""
    with TemporaryDirectory() as folder:
        own, pinned = f"{folder}/bin/python", f"{folder}/lowest.txt"
        uv = [sys.executable, "-m", "uv", "pip"]
        install = [*uv, "install", "--quiet", "--python", own]
        commands = [[python, "-m", "venv", folder]]
        if lowest:
            # In two steps: a resolution with wheels alone steps over versions that have none, and says nothing of it.
            resolve = [*uv, "compile", "--quiet", "--python", own, "--resolution", "lowest-direct", "--extra", "dev"]
            commands += [[*resolve, "-o", pinned, "pyproject.toml"], [*install, "--only-binary", ":all:", "-r", pinned]]
        commands.append([*install, "-e", ".[dev]"])
        for command in commands:
            if subprocess.run(command, cwd=ROOT, check=False).returncode:
                return f"FAILED     {name}: the environment could not be made"
        return _tests(name, own)


def _tests(name: str, python: str, *arguments: str) -> str:
    """Run tests, and return their line of the summary."""
    sys.stdout.write(f"\n=== {name}\n")
    sys.stdout.flush()
    began = time.monotonic()
    processes = str((os.cpu_count() or 1) + 1)
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-n", processes, "--dist", "worksteal", *arguments]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    return f"{'FAILED' if status else 'passed'}     {name}, {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
