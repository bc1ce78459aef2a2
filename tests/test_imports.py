"""What importing does, what depends on what, what is exported, and that every example in a docstring runs."""

import ast
import doctest
import importlib
import inspect
import json
import linecache
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import synthetic
from slow_cases import slow_after

import attune_bench
import attune_data
import attune_metrics
from attune_bench import Scores

Spawn = Callable[..., subprocess.CompletedProcess[bytes]]
PACKAGES = {package.__name__: package for package in (attune_metrics, attune_data, attune_bench)}
SLOW = (
    *("numpy", "scipy", "pydantic", "polars", "datasets", "huggingface_hub", "httpx2", "altair", "rich"),
    *("starlette", "uvicorn", "jinja2"),
)


def _names(package: ModuleType) -> Iterator[str]:
    yield package.__name__
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield found.name


# What other harnesses import: the classes and decorators of their modules come with an extra.
OF_HARNESSES = (
    "attune_bench.adapters.inspect_ai",
    "attune_bench.adapters.lm_eval",
    "attune_bench.adapters.trl",
)

EXTRAS = {"inspect": "inspect_ai", "lm-eval": "lm_eval", "trl": "trl", "verifiers": "verifiers"}


@pytest.mark.parametrize("name", [*OF_HARNESSES, "attune_eibench"])
def test_a_module_of_a_harness_says_which_extra_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = "verifiers" if name == "attune_eibench" else next(e for e in EXTRAS if e.replace("-", "_") in name)
    for loaded in [one for one in sys.modules if one in {*OF_HARNESSES, "attune_eibench"}]:
        monkeypatch.delitem(sys.modules, loaded)
    for hidden in EXTRAS.values():
        monkeypatch.setitem(sys.modules, hidden, None)
    said = rf"is not installed; it comes with an extra: pip install 'attune-bench\[{extra}\]'"
    with pytest.raises(ImportError, match=said):
        importlib.import_module(name)


MODULES = [name for package in PACKAGES.values() for name in _names(package) if name not in OF_HARNESSES]


# Importing, in a process of its own.

LOADED = """
import json, logging, sys
before = {*sys.modules}
opened, connected = [], []
def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith((".toml", ".json", ".jsonl")):
        opened.append(str(arguments[0]))
    if event == "socket.connect":
        connected.append(str(arguments))
sys.addaudithook(watch)
import MODULE
print(json.dumps([sorted({*sys.modules} - before), opened, connected, len(logging.root.handlers)]))
"""


@pytest.fixture(scope="module", params=["attune_metrics", "attune_data", "attune_bench", "attune_bench.cli"])
def imported(request: pytest.FixtureRequest, spawn: Spawn) -> tuple[str, set[str], list[str], list[str], int]:
    done = spawn(code=LOADED.replace("MODULE", request.param))
    assert done.stderr == b""
    modules, opened, connected, handlers = json.loads(done.stdout)
    return request.param, set(modules), opened, connected, handlers


def test_importing_loads_the_package_alone(imported: tuple[str, set[str], list[str], list[str], int]) -> None:
    name, modules, *_ = imported
    assert name in modules
    assert {module.partition(".")[0] for module in modules} - sys.stdlib_module_names == {name.partition(".")[0]}


# Everybody installs these; what is large or rarely needed is an extra.
BASE = {
    *("click", "httpcore2", "httpx2", "huggingface_hub", "numpy", "orjson", "polars", "pydantic", "pyyaml", "rich"),
    *("scipy", "typing-extensions"),
}


def test_base_dependencies() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {re.split(r"[^\w-]", one)[0] for one in project["dependencies"]} == BASE


@pytest.mark.slow
def test_scoring_loads_what_it_needs(spawn: Spawn) -> None:
    code = "import json, sys\nimport attune_bench\nfrom attune_data import load, load_runs\n"
    code += "import warnings\nwarnings.filterwarnings('ignore', '.* far from the rest')\n"  # 24 participants
    code += "attune_bench.score(load('demo'), load_runs('demo')).summary(resamples=9)\n"
    done = spawn(code=code + "print(json.dumps(sorted(sys.modules)))")
    assert done.stderr == b""
    assert set(json.loads(done.stdout)).intersection(("scipy.stats", "scipy.optimize", "datasets", "altair")) == set()


@pytest.mark.parametrize(
    "arguments",
    slow_after(2, [["--help"], ["--version"], ["report", "--help"], ["run", "--help"], ["annotate", "--help"]]),
    ids=str,
)
def test_help_loads_nothing_slow(spawn: Spawn, arguments: list[str]) -> None:
    code = "import json, sys\nfrom attune_bench.cli import main\n"
    code += f"try:\n    main({arguments!r})\nexcept SystemExit:\n    print(json.dumps(sorted(sys.modules)))"
    done = spawn(code=code)
    assert done.stderr == b""
    modules = set(json.loads(done.stdout.splitlines()[-1]))
    assert "click" in modules
    allowed = {"numpy", "polars", "pydantic", "scipy"} if len(arguments) > 1 else set()
    assert modules.intersection(SLOW) - allowed == set()


def test_importing_does_no_work(imported: tuple[str, set[str], list[str], list[str], int]) -> None:
    assert imported[2:] == ([], [], 0)


# Which package knows which.

KNOWS = {
    "attune_metrics": {"attune_metrics"},
    "attune_data": {"attune_data"},
    "attune_bench": {"attune_metrics", "attune_data", "attune_bench"},
}


def _sources(package: ModuleType) -> list[Path]:
    return sorted(path for folder in package.__path__ for path in Path(folder).rglob("*.py"))


def _imported(source: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}: a relative import"
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module":
            found |= {
                a.value.split(".")[0] for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
            }
    return found


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_imports_only_those_below_it(name: str) -> None:
    sources = _sources(PACKAGES[name])
    assert len(sources) > 5
    for source in sources:
        assert {other for other in _imported(source) if other.startswith("attune_")} <= KNOWS[name], source


MATHEMATICS = {"numpy", "scipy", "attune_metrics"}


def test_the_mathematics_needs_numpy_and_scipy_only() -> None:
    for source in _sources(attune_metrics):
        # `attune_metrics.testing` draws its input with what the extra installs.
        allowed = MATHEMATICS | ({"hypothesis"} if source.name == "testing.py" else set())
        assert _imported(source) - sys.stdlib_module_names - allowed == set(), source


# Exports and docstrings.


def test_modules_export_what_they_have() -> None:
    for name in MODULES:
        module = importlib.import_module(name)
        exported = getattr(module, "__all__", ())
        assert len(set(exported)) == len(exported), name
        assert [entry for entry in exported if not hasattr(module, entry)] == [], name


def test_modules_and_exports_have_docstrings() -> None:
    for name in MODULES:
        module = importlib.import_module(name)
        assert module.__doc__, name
        described = [thing for entry, thing in vars(module).items() if not entry.startswith("_") and "._" not in name]
        own = [
            thing
            for thing in described
            if getattr(thing, "__module__", None) == name and inspect.isroutine(thing) | inspect.isclass(thing)
        ]
        assert [thing for thing in own if not thing.__doc__] == [], name


@pytest.fixture(scope="module")
def demo_read_once() -> Iterator[None]:
    """Let the examples, most of which begin with the demo and its scores, share these: nothing changes them."""
    read = {name: cache(getattr(attune_data, name)) for name in ("load", "load_runs")}
    score = attune_bench.score
    scores = cache(lambda: score(read["load"]("demo"), read["load_runs"]("demo")))

    def shared(name: str) -> Callable[..., Any]:
        plain = getattr(attune_data, name)
        return lambda *given, **options: (read[name] if given == ("demo",) else plain)(*given, **options)

    def scored(*given: Any, **options: Any) -> Scores:
        of_demo = [*map(id, given)] == [id(one("demo")) for one in read.values()]
        return scores() if of_demo and not options else score(*given, **options)

    with pytest.MonkeyPatch.context() as patch:
        for name in read:
            patch.setattr(attune_data, name, shared(name))
        patch.setattr(attune_bench, "score", scored)
        yield


@pytest.fixture(scope="module")
def sources_stay() -> Iterator[None]:
    """Spare doctest its debugger's look, at each docstring, at whether any file of any module has changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linecache, "checkcache", lambda filename=None: None)  # noqa: ARG005
        yield


# Their examples draw, or compare all models.
LONG = {
    "attune_bench.adapters.arrow",
    "attune_bench.adapters.eee",
    "attune_bench.analyses.models",
    "attune_bench.benchmarks.attunebench.analyses",
    "attune_bench.report.data_page",
    "attune_bench.report.figures",
    "attune_bench.report.html",
    "attune_bench.stats.compare",
    "attune_bench.stats.subgroups",
    "attune_bench.verbs.scores",
    "attune_bench.verbs.scoring",
    "attune_data.testing",
}
assert LONG.issubset(MODULES)


@pytest.mark.usefixtures("demo_read_once", "sources_stay")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
        for name in (*MODULES, *_names(synthetic))
        if not name.startswith("attune_metrics")
    ],
)
def test_examples_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), raise_on_error=False, verbose=False)
    assert results.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for package in (attune_data, attune_bench):
        found = [
            test
            for name in MODULES
            if name.startswith(package.__name__)
            for test in finder.find(importlib.import_module(name))
            if test.examples
        ]
        assert len(found) >= 2, package.__name__
