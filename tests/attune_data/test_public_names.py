"""Names of attune_data are found on first use; importing the package costs nothing."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import attune_data


def test_every_public_name_is_found_on_first_use() -> None:
    tree = ast.parse(Path(str(attune_data.__file__)).read_bytes())
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
    monkeypatch.delitem(sys.modules, "attune_data.testing", raising=False)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match=r"hypothesis is not installed.*pip install 'attune-bench\[testing\]'"):
        importlib.import_module("attune_data.testing")
