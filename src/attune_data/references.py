"""What is named and imported when it is first used: objects as ``module:name``, and modules of an extra."""

from importlib import import_module
from types import ModuleType
from typing import Any

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
