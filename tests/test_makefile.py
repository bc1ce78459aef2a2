"""The Makefile and pip say at once what a machine lacks, before anything is installed."""

import importlib.util
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make") or ""


@pytest.mark.posix
@pytest.mark.skipif(not MAKE, reason="make is not installed")
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


def test_the_build_refuses_an_older_python(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = ROOT / project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["path"]
    interface = ModuleType("interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("package_metadata", hook)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    build = module.PackageMetadata()
    build.root = ROOT
    build.update(project["project"] | {"version": "0"})
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    monkeypatch.setattr(sys, "version", "3.10.13 (main)")
    with pytest.raises(SystemExit) as stopped:
        build.update(project["project"])
    assert stopped.value.code == (
        "attune-bench needs Python 3.11 or newer, and this is Python 3.10.13: make an environment with a newer one, "
        "such as python3.11 -m venv .venv"
    )


@pytest.mark.slow
def test_pip_of_an_older_python_says_which_python_is_needed(tmp_path: Path) -> None:
    for python in filter(None, map(shutil.which, ("python3.10", "python3.9", "python3.8"))):
        # A shim of pyenv may be there without its Python.
        if subprocess.run([python, "-m", "venv", tmp_path], capture_output=True, check=False).returncode == 0:
            break
    else:
        pytest.skip("no older Python is installed")
    command = [str(tmp_path / "bin" / "pip"), "install", "--no-deps", f"{ROOT}[plots]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "attune-bench needs Python 3.11 or newer, and this is Python 3." in done.stdout + done.stderr
