"""What `pyproject.toml` lets install: lowest versions with wheels, with which the library runs, and no two extras that
cannot run together."""

import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
WHEELS = ("--only-binary", ":all:")
ASKED = (
    *(("3.11",), ("3.12",), ("3.13",), ("3.14",)),
    *(("3.14", "--extra", "pandas"), ("3.11", "--extra", "annotate"), ("3.14", "--extra", "annotate")),
)
Uv = Callable[..., str]
PART = """
import importlib.metadata, json
from attune_bench import score
from attune_data import load, load_runs
scores = score(load("demo"), load_runs("demo"))
assert scores.compare_all(metrics=["composite_score"], resamples=99).height > 0
print(json.dumps({one.name: one.version for one in importlib.metadata.distributions()}))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a new environment that has uv."""
    folder = tmp_path_factory.mktemp("lowest")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"], check=True)
    return python


@pytest.fixture(scope="module")
def uv(python: Path) -> Uv:
    """Return what calls ``uv pip`` and returns what it prints."""

    def call(*arguments: str | Path) -> str:
        command = [python, "-m", "uv", "pip", *arguments]
        return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout

    return call


def lowest(uv: Uv, version: str, *options: str) -> str:
    """Return the lowest versions for a version of Python, one a line."""
    printed = ("--quiet", "--no-header", "--no-annotate")
    resolution = ("--resolution", "lowest-direct", "--python-version", version)
    return uv("compile", "pyproject.toml", *printed, *resolution, *options)


def test_the_lowest_versions_have_wheels(uv: Uv) -> None:
    # At once, as a resolution mostly waits.
    with ThreadPoolExecutor(len(ASKED)) as pool:
        every, with_wheels = ([pool.submit(lowest, uv, *one, *wheels) for one in ASKED] for wheels in ((), WHEELS))
    # With wheels alone a resolution steps over versions that have none, and says nothing of it.
    for one, free, limited in zip(ASKED, every, with_wheels, strict=True):
        assert free.result().splitlines() == limited.result().splitlines(), one


def test_the_library_runs_with_the_lowest_versions(uv: Uv, python: Path, tmp_path: Path) -> None:
    pinned = lowest(uv, f"{sys.version_info.major}.{sys.version_info.minor}")
    (tmp_path / "lowest.txt").write_text(pinned, encoding="utf-8")
    uv("install", "--quiet", "--python", python, *WHEELS, "-r", tmp_path / "lowest.txt")
    uv("install", "--quiet", "--python", python, "--no-deps", ROOT)
    done = subprocess.run([python, "-I", "-W", "error", "-c", PART], stdout=subprocess.PIPE, text=True, check=True)
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", pinned, re.MULTILINE):
        assert f'"{version}"' in done.stdout, name
    subprocess.run([python.with_name("attune-bench"), "demo"], cwd=tmp_path, check=True)


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_each_extra_alone_and_all_that_run_together_can_be_installed(version: str, uv: Uv) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    # docs/install.md: all but one of the two that ask for different versions of openai.
    sets = [[one] for one in extras]
    sets += [[one for one in extras if one != left_out] for left_out in ("inspect", "verifiers")]
    for names in sets:
        chosen = [word for name in names for word in ("--extra", name)]
        for resolution in ("highest", "lowest-direct") if len(names) == 1 else ("highest",):
            found = uv(
                "compile", "--quiet", "pyproject.toml", "--python-version", version, "--resolution", resolution, *chosen
            )
            assert "pydantic==" in found, (names, resolution)


def test_extras_that_cannot_run_together_are_refused(uv: Uv, capfd: pytest.CaptureFixture[str]) -> None:
    for extra in ("inspect", "verifiers"):
        assert "openai==" in uv("compile", "--quiet", "pyproject.toml", "--extra", extra)
    capfd.readouterr()
    with pytest.raises(subprocess.CalledProcessError):
        uv("compile", "--quiet", "pyproject.toml", "--extra", "inspect", "--extra", "verifiers")
    said = capfd.readouterr().err
    assert "No solution found" in said
    assert all(word in said for word in ("attune-bench", "verifiers", "openai"))
