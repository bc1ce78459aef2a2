"""What docs/stability.md calls public, a name a line: what a reviewer sees change (``make schemas`` writes it)."""

import importlib
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import click
from pydantic import BaseModel

from attune_bench.analyses import ANALYSES
from attune_bench.annotate import store
from attune_bench.benchmarks import BENCHMARKS
from attune_bench.cli import app
from attune_bench.leaderboard import boards
from attune_bench.runner.batch import Manifest
from attune_bench.scores import files
from attune_data.record import HASH_VERSION
from attune_data.references import resolve
from attune_metrics import CATALOG, stats
from attune_metrics.signature import Signature

SURFACE = Path(__file__).parents[1] / "public_surface.txt"
_PACKAGES = ("attune_data", "attune_metrics", "attune_bench")
_BELOW = (
    "attune_data.testing",
    "attune_metrics.testing",
    *(one.name for one in iter_modules(stats.__path__, "attune_metrics.stats.")),
)
_PLAIN = (str, int, float, tuple, type(None))
_ROOT = Path(__file__).parents[2]


def surface() -> str:
    """Return the text of the file."""
    chapters = {
        "Python": _names(),
        "Metrics": sorted(CATALOG),
        "Commands": _commands(app, "attune-bench"),
        "Analyses": _analyses(),
        "Files": _files(),
        "Signature": (field.name for field in fields(Signature)),
    }
    return "\n".join(f"# {title}\n\n" + "".join(f"{line}\n" for line in lines) for title, lines in chapters.items())


def _names() -> Iterator[str]:
    """Yield what packages export, then what modules define below the roots that keep their names as long."""
    for package in map(importlib.import_module, _PACKAGES):
        yield from _described(package, package.__all__)
    for module in map(importlib.import_module, _BELOW):
        called = {name: value for name, value in vars(module).items() if name[0] != "_" and callable(value)}
        yield from _described(module, (name for name, value in called.items() if value.__module__ == module.__name__))


def _described(module: ModuleType, names: Iterable[str]) -> Iterator[str]:
    """Yield each name with its parameters, and the public names of classes."""
    for name in sorted(names):
        value, full = getattr(module, name), f"{module.__name__}.{name}"
        yield f"{full}{_parameters(value)}"
        if inspect.isclass(value) and not issubclass(value, BaseException):
            yield from (f"{full}.{member}" for member in _members(value))


def _members(of: type) -> Iterator[str]:
    """Yield the public names that classes of this project give to a class, with the parameters of its methods."""
    own = [base for base in of.__mro__ if base.__module__.startswith("attune_")]
    names = {name for base in own for name in (*vars(base), *base.__annotations__)}
    if issubclass(of, BaseModel):
        names -= of.__class_vars__  # What a class declares of all its records; a notebook does not show it either.
    for name in sorted(name for name in names if not name.startswith(("_", "model_"))):
        yield f"{name}{_parameters(inspect.getattr_static(of, name, None))}"


def _parameters(value: Any) -> str:
    """Return the parameters of a function or class, without types, which mypy checks; a record's are its fields."""
    called = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    is_record = inspect.isclass(called) and issubclass(called, BaseModel | BaseException | dict)
    is_called = inspect.isfunction(called) or inspect.isclass(called) or callable(getattr(called, "__wrapped__", None))
    if is_record or not is_called:
        return ""
    signature = inspect.signature(called)
    shown = [
        one.replace(annotation=one.empty, default=one.default if isinstance(one.default, _PLAIN) else ...)
        if one.default is not one.empty
        else one.replace(annotation=one.empty)
        for one in signature.parameters.values()
        if one.name not in {"self", "cls"}
    ]
    return str(signature.replace(parameters=shown, return_annotation=signature.empty)).replace("Ellipsis", "...")


def _analyses() -> Iterator[str]:
    """Yield the name of each analysis: of all scores, then of each benchmark."""
    yield from sorted(ANALYSES)
    for benchmark in BENCHMARKS:
        yield from (f"{benchmark.name}: {name}" for name in sorted(resolve(benchmark.analyses)))


def _commands(command: click.Command, path: str) -> Iterator[str]:
    """Yield each command with its arguments and options."""
    context = click.Context(command, info_name=path.rpartition(" ")[2])
    if isinstance(command, click.Group):
        for name in sorted(command.list_commands(context)):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, f"{path} {name}")
        return
    arguments = [one.human_readable_name for one in command.params if isinstance(one, click.Argument)]
    yield " ".join([path, *arguments])
    for option in command.params:
        if isinstance(option, click.Option):
            names = ", ".join([*option.opts, *option.secondary_opts])
            choices = f" {'|'.join(map(str, option.type.choices))}" if isinstance(option.type, click.Choice) else ""
            yield f"  {names}{choices}"


def _files() -> Iterator[str]:
    """Yield each format of files with its version, and those of hashes and prompts; fields are in docs/schemas."""
    yield from (f"docs/schemas/{path.name}" for path in sorted((_ROOT / "docs" / "schemas").iterdir()))
    yield f"scores.parquet: formats {files._FORMAT}, {files._WITH_REPEATS}"
    yield f"board.json: format {boards.FORMAT}"
    yield f"files of calls, manifest: format {Manifest.model_fields['format'].default}"
    yield f"database of a study: version {store.VERSION}"
    yield f"hashes of data and results: v{HASH_VERSION}-"
    yield from (f"prompts: {name}" for name in sorted(path.stem for path in (_ROOT / "src").rglob("prompts/*.toml")))


if __name__ == "__main__":
    SURFACE.write_text(surface(), encoding="utf-8")
