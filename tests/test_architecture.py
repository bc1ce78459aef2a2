"""What may know what: no circle of imports, no private module of another package, no benchmark outside its room."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from attune_bench import BENCHMARKS

SRC = Path(__file__).parents[1] / "src"
FILES: Mapping[str, Path] = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SRC.rglob("*.py"))
}
NAMED = re.compile(r"(?<![A-Za-z0-9])(attunebench|eibench|sage|emobench|eqbench)(?![A-Za-z0-9])", re.IGNORECASE)
ROOMS = tuple(
    f"{package}.{name}"
    for package in ("attune_bench.benchmarks", "attune_data", "attune_metrics")
    for name in (benchmark.name for benchmark in BENCHMARKS)
)
# The registries, and the public names of the packages.
MAY_NAME = (
    "attune_bench.adapters.inspect_tasks",
    "attune_bench.benchmarks",
    "attune_data",
    "attune_data.kinds",
    "attune_eibench",
    "attune_metrics",
    "attune_metrics.catalog",
)


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that a file imports, late imports and those for types too, as far as they are ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module in FILES:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else str(node.module)


def words(tree: ast.AST) -> Iterator[str]:
    """Yield the names, import paths and strings of a file, but for docstrings."""
    described = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    # A string below a constant is its docstring.
    described |= {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.value
        for name in ("id", "attr", "name", "arg", "module", "asname"):
            if isinstance(value := getattr(node, name, None), str):
                yield value


def benchmarks_in(tree: ast.AST) -> list[str]:
    """Return the names and strings of a file that have the name of a benchmark as a whole word."""
    spaced = ((word, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", word).replace("_", " ")) for word in words(tree))
    return sorted({word for word, apart in spaced if NAMED.search(word) or NAMED.search(apart)})


def circles(edges: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Return a circle of imports for each module that is reached from itself first."""
    done: set[str] = set()
    found: list[tuple[str, ...]] = []

    def walk(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            found.append((*way[way.index(name) :], name))
        elif name not in done:
            for other in sorted(edges.get(name, ())):
                walk(other, (*way, name))
            done.add(name)

    for name in sorted(edges):
        walk(name, ())
    return found


TREES = {name: ast.parse(path.read_bytes()) for name, path in FILES.items()}


@cache
def edges() -> dict[str, set[str]]:
    """Return what each module imports; not found while tests are collected, which every process does."""
    return {name: {other for other in imports(tree) if other != name} for name, tree in TREES.items()}


def test_no_circle_of_imports() -> None:
    assert len(edges()) > 150
    assert sum(map(len, edges().values())) > 700
    assert circles(edges()) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [("a", "b", "c", "a")]


def test_no_package_imports_a_private_module_of_another() -> None:
    private = {
        (name, other)
        for name, others in edges().items()
        for other in others
        if other.split(".")[0] != name.split(".")[0] and any(part.startswith("_") for part in other.split("."))
    }
    assert private == set()


def test_no_package_imports_one_above_it() -> None:
    below = {
        "attune_metrics": set(),
        "attune_data": {"attune_metrics"},
        "attune_bench": {"attune_metrics", "attune_data"},
        "attune_eibench": {"attune_bench"},
    }
    crossing = {
        (name, other)
        for name, others in edges().items()
        for other in others
        if (own := name.split(".")[0]) != (its := other.split(".")[0]) and its not in below[own]
    }
    assert crossing == set()


@pytest.mark.parametrize("name", [name for name in FILES if name not in MAY_NAME])
def test_no_benchmark_is_named_outside_its_room(name: str) -> None:
    if not any(name == room or name.startswith(f"{room}.") for room in ROOMS):
        assert benchmarks_in(TREES[name]) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from attune_data.eibench import tables", ["attune_data.eibench"]),
        ("load_sage = 1", ["load_sage"]),
        ("class SageTables: ...", ["SageTables"]),
        ("x = f'{n} of EQBench'", [" of EQBench"]),
        ("def f() -> None:\n    '''Of EIBench.'''\n    # SAGE\n    message = 'attune_bench'", []),
    ],
)
def test_a_name_of_a_benchmark_is_found(source: str, found: list[str]) -> None:
    assert benchmarks_in(ast.parse(source)) == found


@pytest.mark.parametrize("name", ["emobench", "eqbench"])
def test_a_benchmark_of_questions_is_small(name: str) -> None:
    files = [path for module, path in FILES.items() if name in module.split(".")]
    assert len(files) <= 4
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 500
