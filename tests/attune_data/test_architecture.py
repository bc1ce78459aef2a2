"""What may know what in attune_data: no circle of imports, no benchmark outside its room, names found on first use."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import attune_data

SRC = Path(str(attune_data.__file__)).parents[1]
FILES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((SRC / "attune_data").rglob("*.py"))
}
BENCHMARKS = re.compile(r"(?<![A-Za-z0-9])(attunebench|eibench|sage|emobench|eqbench)(?![A-Za-z0-9])", re.IGNORECASE)
ROOMS = ("attune_data.attunebench", "attune_data.eibench", "attune_data.sage")
# The registry, the names of the package, and whose data a record is.
MAY_NAME = ("attune_data", "attune_data.kinds", "attune_data.licences", "attune_data.codebook")
# The codebook and its reader of files refer to each other.
KNOWN_CIRCLE = {"attune_data.codebook", "attune_data._codebook_file"}


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, late and for types too."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module


def test_no_circle_of_imports() -> None:
    edges = {
        name: {other for other in imports(path) if other in FILES and other != name} for name, path in FILES.items()
    }
    assert len(edges) > 60
    done: set[str] = set()

    def circle(name: str, way: tuple[str, ...]) -> tuple[str, ...] | None:
        if name in way:
            return (*way[way.index(name) :], name)
        if name in done:
            return None
        found = next(filter(None, (circle(other, (*way, name)) for other in sorted(edges[name]))), None)
        if found is None or set(found) <= KNOWN_CIRCLE:
            done.add(name)
            return None
        return found

    assert [found for name in sorted(edges) if (found := circle(name, ()))] == []


def words(path: Path) -> Iterator[str]:
    """Yield the identifiers, import paths and strings of a file, but for docstrings."""
    tree = ast.parse(path.read_bytes())
    described = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.value
        for name in ("id", "attr", "name", "arg", "module"):
            if isinstance(value := getattr(node, name, None), str):
                yield value


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith(ROOMS) and name not in MAY_NAME])
def test_no_benchmark_is_named_outside_its_room(name: str) -> None:
    found = set(words(FILES[name]))
    spaced = {re.sub(r"(?<=[a-z])(?=[A-Z])", " ", word).replace("_", " ") for word in found}
    assert [word for word in (*found, *spaced) if BENCHMARKS.search(word)] == []


def test_every_public_name_is_found_on_first_use() -> None:
    tree = ast.parse(FILES["attune_data"].read_bytes())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == set(attune_data.__all__) == set(attune_data._HOMES)
    assert attune_data.__all__ == sorted(attune_data.__all__)
    for name, home in attune_data._HOMES.items():
        assert getattr(attune_data, name).__module__ == home
    assert set(attune_data.__all__) <= set(dir(attune_data))
    with pytest.raises(AttributeError, match="module 'attune_data' has no attribute 'laod'"):
        attune_data.laod  # noqa: B018


def test_importing_the_package_imports_none_of_its_modules() -> None:
    code = "import sys, attune_data; print([name for name in sys.modules if name.startswith('attune_data.')])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_strategies_need_hypothesis_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from attune_data.kinds import EPISODE
    from attune_data.testing import documents, synthetic

    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match=r"hypothesis is not installed.*pip install 'attune-bench\[testing\]'"):
        documents(EPISODE)
    with pytest.raises(ValueError, match="the library generates no episodes"):
        synthetic(EPISODE, 3)


def test_no_module_is_long() -> None:
    assert [name for name, path in FILES.items() if len(path.read_text(encoding="utf-8").splitlines()) > 400] == []
