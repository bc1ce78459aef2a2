"""The public names of a module: those without an underscore that it defines itself."""

import ast
import inspect
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["public_functions", "public_names"]


def public_names(module: ModuleType) -> set[str]:
    """Return the functions, classes and constants that a module defines under a name without an underscore."""
    names = set[str]()
    for line in ast.parse(inspect.getsource(module)).body:
        if isinstance(line, ast.FunctionDef | ast.ClassDef):
            names.add(line.name)
        elif isinstance(line, ast.Assign | ast.AnnAssign):
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            names |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def public_functions(module: ModuleType) -> dict[str, Any]:
    """Return the public functions of a module by name, without the checks (``check_*``) that modules share."""
    found = {name: getattr(module, name) for name in public_names(module) if not name.startswith("check_")}
    return {name: thing for name, thing in found.items() if isinstance(thing, FunctionType)}
