"""References that are imported when they are first used: ``module:name``, entry points, modules of an extra."""

import warnings
from collections.abc import Container
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

Reference = Any
"""A value, or ``module:name`` of it: the module is imported when it is first used."""


def resolve(reference: Reference) -> Any:
    """Return what a reference names.

    Raises
    ------
    ValueError
        Where the text is not ``module:name``, or there is no such module or name.

    Examples
    --------
    >>> resolve("math:sqrt")(4.0)
    2.0
    """
    if not isinstance(reference, str):
        return reference
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise ValueError(f"{reference!r} is not of the form module:NAME")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ValueError(f"no module {module!r} for {reference!r}; is it installed, or in this folder?") from None
    if not hasattr(found, name):
        raise ValueError(f"module {module!r} has no {name!r}")
    return getattr(found, name)


class EntryPoints(Generic[T]):
    """The objects that installed packages declare as entry points of one group.

    A package is imported when one of its objects is asked for, not before.

    Parameters
    ----------
    group : str
        The group of entry points, as ``pyproject.toml`` of a package names it.
    expected : type
        The class of the objects. An object that has a `name` has the name of its entry point.
    taken : container of str
        Names of the library's own objects, which no package may use.
    """

    def __init__(self, group: str, expected: type[T], taken: Container[str]) -> None:
        self.group: str = group
        self.expected: type[T] = expected
        self.taken: Container[str] = taken

    @cached_property
    def declared(self) -> "dict[str, list[EntryPoint]]":
        """The entry points by name, found without importing their packages."""
        from importlib.metadata import entry_points

        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            found.setdefault(point.name, []).append(point)
        return found

    @cached_property
    def loaded(self) -> dict[str, T]:
        """The objects by name; a warning names each that cannot be used, which is left out."""
        found = {}
        for name in self.declared:
            try:
                found[name] = self.load(name)
            except ValueError as error:
                warnings.warn(f"{error}; it is left out", stacklevel=2)
        return found

    def load(self, name: str) -> T:
        """Import and return the object of a declared name.

        Raises
        ------
        ValueError
            If the package cannot be imported, if its object is of another class or has another name, or if the name is
            declared twice.
        """
        point, *others = self.declared[name]
        where = _described(point)
        if name in self.taken:
            raise ValueError(f"{where} of the group {self.group} has a name of attune-bench itself")
        if others:
            raise ValueError(f"{' and '.join(map(_described, (point, *others)))} have one name in {self.group}")
        try:
            found = point.load()
        except Exception as error:  # whatever the code of another package raises
            raise ValueError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
        if not isinstance(found, self.expected):
            raise ValueError(f"{where} is of type {type(found).__name__}, not {self.expected.__name__}")
        own_name = getattr(found, "name", name)
        if own_name != name:
            raise ValueError(f"{where} is named {own_name!r}; an entry point has the name of its object")
        return found


def _described(point: "EntryPoint") -> str:
    package = f" of the package {point.dist.name}" if point.dist else ""
    return f"the entry point {point.name} ({point.value}){package}"


def require(module: str, extra: str) -> ModuleType:
    """Import a module that only an extra of the distribution installs.

    Parameters
    ----------
    module : str
        Its full name.
    extra : str
        The extra that installs it.

    Returns
    -------
    module
        The module.

    Raises
    ------
    ImportError
        Where it is not installed; an error inside an installed one is raised as it is.

    Examples
    --------
    >>> require("no_such_module", "datasets")
    Traceback (most recent call last):
    ...
    ImportError: no_such_module is not installed; it comes with an extra: pip install 'attune-bench[datasets]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        message = f"{error.name} is not installed; it comes with an extra: pip install 'attune-bench[{extra}]'"
        raise ImportError(message, name=error.name) from None
