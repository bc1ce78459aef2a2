"""The package as a whole: its names, its documented examples, what importing it costs."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
import warnings

import pytest

import attune_metrics

MODULES = [
    "attune_metrics",
    *(info.name for info in pkgutil.walk_packages(attune_metrics.__path__, "attune_metrics.")),
]


@pytest.mark.parametrize("name", MODULES)
def test_documented_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_documented_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(examples) > 40


@pytest.mark.parametrize("name", attune_metrics.__all__)
def test_public_names_exist_and_are_documented(name: str) -> None:
    member = getattr(attune_metrics, name)
    if inspect.isclass(member) or inspect.isfunction(member):
        assert member.__doc__


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in MODULES
        if not name.rpartition(".")[2].startswith("_")
        and name not in ("attune_metrics.checks", "attune_metrics.stats.arrays", "attune_metrics.stats.sums")
    ],
)
def test_public_names_of_modules_are_public_names_of_the_package(name: str) -> None:
    missing = set(importlib.import_module(name).__all__) - set(attune_metrics.__all__)
    # At package level `holistic` is the module.
    assert missing == ({"holistic"} if name.endswith(".composite") else set())
    assert inspect.ismodule(attune_metrics.attunebench.holistic)


def test_names_in_public_signatures_are_public() -> None:
    defined, used = set[str](), set[str]()
    for name in MODULES[1:]:
        module = importlib.import_module(name)
        for member in ast.parse(inspect.getsource(module)).body:
            if isinstance(member, ast.Assign):
                defined |= {target.id for target in member.targets if isinstance(target, ast.Name)}
            elif isinstance(member, ast.FunctionDef | ast.ClassDef):
                defined.add(member.name)
                parts = ast.walk(member) if member.name in attune_metrics.__all__ else ()
                given = [getattr(part, key, None) for part in parts for key in ("annotation", "returns")]
                found = [node for annotation in given if annotation for node in ast.walk(annotation)]
                used |= {node.id for node in found if isinstance(node, ast.Name)}
    assert {"Floats", "Interval", "Level", "Rule"} <= used & defined
    assert used & defined <= set(attune_metrics.__all__)


def test_importing_loads_nothing_heavy() -> None:
    program = (
        "import sys, attune_metrics; "
        "print([n for n in ('scipy', 'pydantic', 'polars', 'attune_data', 'attune_bench') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_few_tags_are_scored_without_a_solver() -> None:
    program = (
        "import sys, attune_metrics as am; "
        "am.emotion_va_score(['Upset', 'Afraid', 'Proud', 'Alert'], ['Upset', 'Afraid', 'Guilty', 'Alert']); "
        "am.emotion_va_score(['Upset'], ['Upset'] * 30); "
        "print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_undefined_values_warn_and_do_not_raise_by_default() -> None:
    assert issubclass(attune_metrics.UndefinedMetricWarning, UserWarning)
    assert issubclass(attune_metrics.MetricInputError, ValueError)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        attune_metrics.emotion_f1([], [])
    assert caught == []
