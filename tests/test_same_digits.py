"""Every number is the same to its last digit on any processor, with any number of threads, in any process."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterable
from math import fsum
from pathlib import Path
from typing import Any

import every_output
import pytest
import statistics_digest
from processors import KERNELS, environment, runs_here
from slow_cases import slow_except

from attune_bench import score
from attune_data import load, load_runs

TESTS = Path(__file__).parent
NUMERIC = (
    *(f"attune_metrics/stats/test_{name}.py" for name in ("agreement", "bradley_terry", "comparison", "resampling")),
    *(f"attune_metrics/stats/test_{name}.py" for name in ("prediction_powered", "statistics")),
    *(f"attune_bench/stats/test_{name}.py" for name in ("ratings", "unit_of_measurement")),
    "attune_bench/core/test_scoring.py",
)
"""Tests of what goes through linear algebra, against numbers derived by hand or published, and of scores."""


LAST_DIGIT_VARIES = frozenset(
    "arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt corrcoef cos cosh cov dot einsum exp exp2 expm1 "
    "float_power hypot inner linalg log log10 log1p log2 logaddexp matmul polyfit power sin sinh tan tanh tensordot "
    "vdot @".split()
)
"""What numpy computes by the instructions of the processor: AVX-512 has its own, which few machines can show."""

MADE_UP_FOR = {
    "attune_metrics/stats/bradley_terry.py": {"linalg", "log", "log1p", "@"},  # rounded steps; what decides only
    "attune_metrics/stats/dawid_skene.py": {*"@ einsum exp expm1 linalg log logaddexp sinh".split()},  # 8 digits
    "attune_metrics/stats/judge_panels.py": {"log"},  # rounded to 9 digits
    "attune_metrics/stats/pairwise.py": {"linalg"},  # rounded likewise
    "attune_metrics/stats/ranking.py": {"@"},  # of whole numbers
    "attune_metrics/stats/dimensions.py": {"linalg", "@"},  # eigenvalues, rounded to 9 digits
    "attune_metrics/stats/sums.py": {"@"},  # of numbers so coarse that every order of addition is exact
}


def run(arguments: list[object], variables: dict[str, str]) -> str:
    """Return what a program of Python prints under variables of the environment."""
    tools = str(TESTS.parent / "tools")
    alone = os.environ | {"SOURCE_DATE_EPOCH": "0", "PYTHONPATH": tools} | variables
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False, env=alone, cwd=TESTS)
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")[-4000:]
    return done.stdout.decode()


def is_numpy(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "np"


def test_nothing_that_is_computed_by_instructions_of_the_processor_reaches_a_number() -> None:
    source = TESTS.parent / "src"
    found: dict[str, set[str]] = {}
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        nodes = [*ast.walk(ast.parse(text))] if "numpy" in text or " @ " in text else []
        named = {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_numpy(node.value)}
        named |= {"@" for node in nodes if isinstance(node, ast.MatMult)}
        if used := named & LAST_DIGIT_VARIES:
            found[path.relative_to(source).as_posix()] = used
    assert found == MADE_UP_FOR


@pytest.fixture(params=slow_except(KERNELS, "Prescott", "Haswell"))
def kernel(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not runs_here(name):
        pytest.skip(f"this processor does not run the kernel {name} of OpenBLAS")
    return name


@pytest.fixture(scope="module")
def digits() -> list[str]:
    return statistics_digest.digest().splitlines()


def test_statistics_have_the_same_digits_under_every_kernel(kernel: str, digits: list[str]) -> None:
    place = [*KERNELS].index(kernel)
    variables = environment(kernel, 1 + place % 2, plain=place % 2 == 1, hash_seed=place)
    used, *lines = run([TESTS / "helpers" / "statistics_digest.py"], variables).splitlines()
    assert used == kernel
    assert [line for line, expected in zip(lines, digits, strict=True) if line != expected] == []


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with inputs and, under ``here``, all outputs as this processor makes them."""
    folder = tmp_path_factory.mktemp("outputs")
    every_output.write_inputs(folder / "inputs")
    run([TESTS / "helpers" / "every_output.py", folder / "here"], {"PYTHONHASHSEED": "99"})
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_all_outputs_are_the_same_bytes_under_every_kernel(kernel: str, outputs: Path) -> None:
    place = [*KERNELS].index(kernel)
    variables = environment(kernel, 2 - place % 2, plain=place % 2 == 0, hash_seed=place)
    own = outputs / kernel
    run([TESTS / "helpers" / "every_output.py", own], {**variables, "POLARS_MAX_THREADS": str(1 + place)})
    expected, found = contents(outputs / "here"), contents(own)
    assert found.keys() == expected.keys()
    assert sum(name.endswith((".svg", ".html")) for name in found) > 30
    assert [name for name, content in expected.items() if found[name] != content] == []


def test_scores_do_not_depend_on_how_python_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    conversations, runs = load("demo")[:8], load_runs("demo")[:16]
    before, plain = score(conversations, runs).to_polars(), sum

    def compensated(values: Iterable[Any], start: Any = 0) -> Any:
        """Add as Python does from 3.12 on: floats without the error of each step."""
        given = [start, *values]
        kinds = {type(value) for value in given}
        return fsum(given) if float in kinds and kinds <= {int, float} else plain(given[1:], start)

    monkeypatch.setattr("builtins.sum", compensated)
    assert sum([0.1] * 10) == 1
    assert score(conversations, runs).to_polars().equals(before)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["Haswell", "SkylakeX", "Prescott"])
def test_the_numeric_tests_pass_under_every_kernel(name: str, threads: int) -> None:
    if not runs_here(name):
        pytest.skip(f"this processor does not run the kernel {name} of OpenBLAS")
    variables = environment(name, threads, plain=name == "Prescott")
    files = [TESTS / file for file in NUMERIC]
    said = run(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files], variables)
    assert " passed" in said
