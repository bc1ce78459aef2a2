"""What may know what: no circle of imports, no private module of another package, no benchmark outside its room."""

import ast
import re
import traceback
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from attune_bench import BENCHMARKS, score
from attune_bench.cli import main
from attune_data import load, load_runs
from attune_metrics.stats import bootstrap

SRC = Path(__file__).parents[1] / "src"
FILES: Mapping[str, Path] = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SRC.rglob("*.py"))
}
NAMED = re.compile(
    r"(?<![A-Za-z0-9])(attunebench|eibench|sage|emobench|eqbench|eqbench3|eqbench4|spiralbench)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
ROOMS = tuple(
    f"{package}.{name}"
    for package in ("attune_bench.benchmarks", "attune_data", "attune_metrics")
    for name in (benchmark.name for benchmark in BENCHMARKS)
)
# The registries, and the public names of the packages.
MAY_NAME = (
    "attune_bench.adapters.inspect_ai",
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


def run_edges() -> dict[str, set[str]]:
    """Return what each module imports when it runs, late imports too; what is imported for types alone is not."""
    found = {}
    for name, tree in TREES.items():
        for_types = [
            node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        ]
        hidden = {id(inner) for node in for_types for one in node.body for inner in ast.walk(one)}
        running = [
            node for node in ast.walk(tree) if id(node) not in hidden and isinstance(node, ast.Import | ast.ImportFrom)
        ]
        found[name] = {other for node in running for other in imports(node) if other != name}
    return found


def named(tree: ast.AST) -> set[str]:
    """Return the modules that strings of a file name, as references by name and imports by name do."""
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {module for text in strings if (module := text.partition(":")[0]) in FILES}


def longest_chain(edges: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Return the longest chain of modules of which each imports the next; there is no circle."""

    @cache
    def chain(name: str) -> tuple[str, ...]:
        return (name, *max((chain(other) for other in edges.get(name, ())), key=len, default=()))

    return max(map(chain, edges), key=len)


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


@pytest.mark.slow
def test_no_circle_of_imports() -> None:
    assert len(edges()) > 150
    assert sum(map(len, edges().values())) > 700
    assert circles(edges()) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [("a", "b", "c", "a")]


# What values are made by, and what is made of values: the first know nothing of the second.
VALUES = ("attune_bench.scores", "attune_bench.stats", *(str(one.score).partition(":")[0] for one in BENCHMARKS))
VERBS = tuple(f"attune_bench.{part}" for part in ("adapters", "benchmarks", "cli", "leaderboard", "report", "verbs"))


def beneath(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_scores_statistics_and_scoring_import_no_report_adapter_command_or_benchmark() -> None:
    checked = [name for name in FILES if beneath(name, *VALUES)]
    assert len(checked) > 20
    found = {
        (name, other)
        for name in checked
        for other in edges()[name] | named(TREES[name])
        if beneath(other, *VERBS)
        and not (name.startswith("attune_bench.benchmarks.") and beneath(other, name.rpartition(".")[0]))
    }
    assert found == set()


def test_reports_import_no_benchmark() -> None:
    reports = [name for name in FILES if beneath(name, "attune_bench.report")]
    found = {(name, other) for name in reports for other in edges()[name] | named(TREES[name])}
    assert {(name, other) for name, other in found if beneath(other, "attune_bench.benchmarks")} == set()


def test_a_module_named_by_a_string_is_found() -> None:
    tree = ast.parse("resolve('attune_bench.report.html:html_report'); import_module('attune_bench.cli'); x = 'a:b'")
    assert named(tree) == {"attune_bench.report.html", "attune_bench.cli"}


def test_the_longest_chain_of_imports_is_short() -> None:
    assert longest_chain({"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}) == ("a", "b", "c", "d")
    assert len(found := longest_chain(run_edges())) <= 14, found


def test_few_modules_stand_beside_the_folders() -> None:
    beside = {
        package: sorted(path.name for path in (SRC / package).glob("*.py"))
        for package in ("attune_bench", "attune_data")
    }
    assert len(beside["attune_bench"]) <= 4, beside
    assert len(beside["attune_data"]) <= 21, beside


def test_the_level_of_an_interval_passes_few_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    score(load("demo"), load_runs("demo")).write(tmp_path / "scores.parquet")
    ways: set[tuple[str, ...]] = set()
    own = bootstrap.quantile_of_sorted

    def quantile(*arguments: Any, **options: Any) -> Any:
        files = [frame.filename for frame in traceback.extract_stack() if Path(frame.filename).is_relative_to(SRC)]
        ways.add(tuple(dict.fromkeys(files)))
        return own(*arguments, **options)

    monkeypatch.setattr(bootstrap, "quantile_of_sorted", quantile)
    options = ("--metric", "composite_score", "--level", "0.9", "--resamples", "200")
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--scores", str(tmp_path / "scores.parquet"), *options])
    assert not ended.value.code
    assert ways
    assert max(map(len, ways)) <= 8, max(ways, key=len)


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
        "attune_eibench": {"attune_bench", "attune_data"},
    }
    crossing = {
        (name, other)
        for name, others in edges().items()
        for other in others
        if (own := name.split(".")[0]) != (its := other.split(".")[0]) and its not in below[own]
    }
    assert crossing == set()


def test_the_library_uses_no_tool_of_the_repository() -> None:
    """Tests have `tools` on the path of Python; users do not."""
    use = re.compile(r"""^ *(from|import) synthetic[ .]|["']synthetic\.\w+:""", re.MULTILINE)
    assert use.search("    from synthetic.runs import runs")
    assert [name for name, path in FILES.items() if use.search(path.read_text(encoding="utf-8"))] == []


def test_no_benchmark_is_named_outside_its_room() -> None:
    outside = [name for name in FILES if name not in MAY_NAME and not beneath(name, *ROOMS)]
    assert len(outside) > 100
    assert {name: found for name in outside if (found := benchmarks_in(TREES[name]))} == {}


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


OF_ANALYSES = (
    *(f"attune_bench.analyses.{name}" for name in ("cost", "recovery", "separation", "skills")),
    *(f"attune_bench.benchmarks.attunebench.{name}" for name in ("after_mismatch", "branches", "contamination")),
    *(f"attune_bench.benchmarks.attunebench.{name}" for name in ("serial_misreads", "truth", "truth_agreement")),
    *(f"attune_metrics.stats.{name}" for name in ("association", "dimensions", "early", "looking", "looks", "pareto")),
    *(f"attune_metrics.stats.{name}" for name in ("recovery_times", "separation", "serial", "skills")),
)
"""Files of one analysis each, or of its statistics."""


def test_an_analysis_is_short() -> None:
    lines = {name: len(FILES[name].read_text(encoding="utf-8").splitlines()) for name in OF_ANALYSES}
    assert {name: count for name, count in lines.items() if count > 250} == {}


@pytest.mark.parametrize(
    ("name", "most_files", "most_lines"),
    [("emobench", 4, 500), ("eqbench", 4, 500), ("eqbench3", 5, 2000), ("eqbench4", 4, 450), ("spiralbench", 4, 450)],
)
def test_a_benchmark_is_small(name: str, most_files: int, most_lines: int) -> None:
    files = [path for module, path in FILES.items() if name in module.split(".")]
    assert len(files) <= most_files
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= most_lines


def test_a_benchmark_that_is_played_is_small() -> None:
    # What SAGE adds to conversations with a simulated person (runner.episodes), which EIBench has too.
    lines = [
        len(path.read_text(encoding="utf-8").splitlines())
        for module, path in FILES.items()
        if module.startswith("attune_bench.benchmarks.sage")
    ]
    assert len(lines) <= 4
    assert sum(lines) <= 450
