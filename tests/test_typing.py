"""A program of a user under pyright's strict rules, and the types of what the packages make public."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from environments import NO_BYTECODE

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "tests" / "helpers" / "typed_program.py"
PACKAGES = ("attune_data", "attune_metrics", "attune_bench")
# Classes of the harnesses, of which this environment has no types; the class of the connections of the runner, as
# --verifytypes finds no type of httpx2; and the commands with the pages that they serve, which nobody imports.
SERVED = ("attune_bench.annotate.", "attune_bench.benchmarks.attunebench.annotation.")
LEFT_OUT = ("attune_bench.adapters.", "attune_bench.runner.connection.", "attune_bench.cli.", *SERVED)


@pytest.fixture(scope="module")
def pyright(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the call of pyright, which brings its own Node, on the library as this environment has it."""
    home = tmp_path_factory.mktemp("pyright") / "venv"
    venv.create(home, with_pip=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "pyright[nodejs]"], check=True, env={**os.environ, **NO_BYTECODE})
    return [str(home / "bin" / "pyright"), "--pythonpath", sys.executable]


def _run(call: list[str], folder: Path) -> Any:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([*call, "--outputjson"], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("{"), done.stderr
    return json.loads(done.stdout)


def test_the_program_runs(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, PROGRAM], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plot.svg", "ranks.svg", "scores.parquet"]


def test_a_strict_program_has_no_unknown_type(pyright: list[str], tmp_path: Path) -> None:
    settings = {"typeCheckingMode": "strict", "include": ["program.py", "wrong.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    program = PROGRAM.read_text(encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    # It would find one.
    (tmp_path / "wrong.py").write_text(f"{program}\nwrong: int = first.participant_id\n", encoding="utf-8")
    found = _run(pyright, tmp_path)
    assert found["summary"]["filesAnalyzed"] == 2
    assert [(Path(one["file"]).name, one["rule"]) for one in found["generalDiagnostics"]] == [
        ("wrong.py", "reportAssignmentType")
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_have_known_types(package: str, pyright: list[str], tmp_path: Path) -> None:
    found = _run([*pyright, "--verifytypes", package, "--ignoreexternal"], tmp_path)["typeCompleteness"]
    assert found["packageName"] == package
    assert len(found["symbols"]) > 500
    unknown = [
        one["name"]
        for one in found["symbols"]
        if one["isExported"] and not one["isTypeKnown"] and not any(place in one["name"] for place in LEFT_OUT)
    ]
    assert unknown == []
