"""The runner knows no benchmark."""

import ast
import re
from pathlib import Path

import pytest

from attune_bench import runner

NAMES = re.compile(r"(?<![A-Za-z])(?:attunebench|eibench|sage|emobench|eqbench)(?![A-Za-z])", re.IGNORECASE)


def _docstrings(tree: ast.AST) -> set[int]:
    """Return the ids of the strings that stand alone as statements."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


@pytest.mark.parametrize("path", sorted(Path(runner.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_the_runner_names_no_benchmark(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = _docstrings(tree)
    for node in ast.walk(tree):
        if id(node) in documented:
            continue
        said = [value for _, value in ast.iter_fields(node) if isinstance(value, str)]
        assert not [text for text in said if NAMES.search(text)], f"{path.name}: {said}"
