"""The nightly run: ten times the hostile cases of a submission, then the fast tests with other versions.

The fast tests run with the lowest dependencies that `pyproject.toml` allows, and on every later Python that is found:
on the path as ``python3.12`` and so on, or among the versions of pyenv. The summary names those that are not there.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
LATER = ("3.12", "3.13", "3.14")
LOWEST = ("--resolution", "lowest-direct", "--only-binary", ":all:", "--no-binary", "attune-bench")


def main() -> int:
    """Run every part, print the summary, and return 1 where one failed."""
    summary = [_tests("hostile tests, ten times", sys.executable, "-m", "slow", "--scale", "10", "tests/hostile")]
    summary.append(_fast_tests("lowest dependencies", sys.executable, LOWEST))
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


def _fast_tests(name: str, python: str, resolution: Sequence[str] = ()) -> str:
    """Run the fast tests in an environment of their own, and return their line of the summary."""
    with TemporaryDirectory() as folder:
        own = f"{folder}/bin/python"
        uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", own]
        for command in ([python, "-m", "venv", folder], [*uv, *resolution, "-e", ".[dev]"]):
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
