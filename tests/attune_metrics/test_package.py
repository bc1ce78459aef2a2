"""The package as a whole: its names, its documented examples, what importing it costs, what depends on what."""

import ast
import doctest
import graphlib
import importlib
import inspect
import pkgutil
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import pytest
from public_names import public_names

import attune_metrics

MODULES = [
    "attune_metrics",
    *(info.name for info in pkgutil.walk_packages(attune_metrics.__path__, "attune_metrics.")),
]
PUBLIC = [name for name in MODULES if "._" not in name]


def output(program: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", MODULES)
def test_documented_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_documented_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(examples) > 100


# The root.


ERRORS = {"MetricInputError", "UndefinedMetricWarning", "UnknownEmotionWarning"}


def test_the_root_has_the_functions_of_the_catalogue() -> None:
    functions = [metric.function for metric in attune_metrics.CATALOG.values() if metric.function is not None]
    names = {(f.func if isinstance(f, partial) else f).__name__ for f in functions}
    assert set(attune_metrics.__all__) == names | {"CATALOG", "Metric"} | ERRORS
    assert set(attune_metrics.__all__) <= set(dir(attune_metrics))


def test_names_of_the_root_are_those_of_a_module() -> None:
    modules = [importlib.import_module(name) for name in PUBLIC[1:]]
    homes = [(module, public_names(module)) for module in modules]
    for name in attune_metrics.__all__:
        member = getattr(attune_metrics, name)
        assert any(name in names and getattr(module, name) is member for module, names in homes), name
        assert member.__doc__ or name == "CATALOG"


def test_what_the_root_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'attune_metrics' has no attribute 'bootstrap'"):
        attune_metrics.bootstrap  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'bootstrap'"):
        from attune_metrics import bootstrap  # type: ignore[attr-defined]  # noqa: F401


def test_star_import_gives_every_name() -> None:
    assert output("from attune_metrics import *; print(emotion_f1(['a'], ['A']), len(CATALOG) > 100)") == "1.0 True"


def test_public_names_are_defined_in_one_module() -> None:
    homes: dict[str, set[str]] = {}
    for name in PUBLIC[1:]:
        module = importlib.import_module(name)
        for entry in public_names(module):
            if entry != "METRICS" and not hasattr(module, "__path__"):
                homes.setdefault(entry, set()).add(name)
    assert {entry: found for entry, found in homes.items() if len(found) > 1} == {}


def test_names_in_public_signatures_are_public() -> None:
    public = {entry for name in PUBLIC[1:] for entry in public_names(importlib.import_module(name))}
    defined, used = set[str](), set[str]()
    for name in MODULES[1:]:
        module = importlib.import_module(name)
        for member in ast.parse(inspect.getsource(module)).body:
            if isinstance(member, ast.Assign):
                defined |= {target.id for target in member.targets if isinstance(target, ast.Name)}
            elif isinstance(member, ast.FunctionDef | ast.ClassDef):
                defined.add(member.name)
                parts = ast.walk(member) if member.name in public else ()
                given = [getattr(part, key, None) for part in parts for key in ("annotation", "returns")]
                found = [node for annotation in given if annotation for node in ast.walk(annotation)]
                used |= {node.id for node in found if isinstance(node, ast.Name)}
    assert {"Floats", "Interval", "MeasurementLevel", "Rule"} <= used & defined
    assert used & defined <= public


# Importing.


def test_importing_loads_nothing_heavy() -> None:
    program = (
        "import sys, attune_metrics, attune_metrics.testing; "
        "print([n for n in ('numpy', 'scipy', 'hypothesis', 'pydantic', 'polars', 'attune_data', 'attune_bench') "
        "if n in sys.modules])"
    )
    assert output(program.replace(", attune_metrics.testing", "")) == "[]"
    assert "hypothesis" not in output(program)


def test_a_metric_of_plain_values_is_scored_without_numpy() -> None:
    program = (
        "import sys, attune_metrics as am; "
        "am.emotion_va_score(['Upset', 'Afraid', 'Proud', 'Alert'], ['Upset', 'Afraid', 'Guilty', 'Alert']); "
        "am.emotion_va_score(['Upset'], ['Upset'] * 30); am.binary_mcc({}, {}); am.panas01(None); "
        "am.q1_looking_for_score([], []); am.largest_drop([3, 2]); "
        "print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    )
    assert output(program) == "[]"


def test_undefined_values_warn_and_do_not_raise_by_default() -> None:
    assert issubclass(attune_metrics.UndefinedMetricWarning, UserWarning)
    assert issubclass(attune_metrics.MetricInputError, ValueError)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        attune_metrics.emotion_f1([], [])
    assert caught == []


def imported(name: str) -> set[str]:
    """Return the modules of the package that a module imports, late and for type checking too."""
    found = set[str]()
    for node in ast.walk(ast.parse(Path(importlib.import_module(name).__file__ or "").read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (parts & set(MODULES)) or {node.module or ""}
    return found & set(MODULES)


def test_no_import_circle() -> None:
    graph = {name: imported(name) for name in MODULES}
    assert graph["attune_metrics.catalog"] >= {"attune_metrics.metric", "attune_metrics.curves"}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises where there is a circle
