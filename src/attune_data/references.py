"""Values that are named ``module:name``, so that their module is imported when they are first used."""

from importlib import import_module
from typing import Any

__all__ = ["Reference", "resolve"]

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
