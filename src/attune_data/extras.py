"""The one place that turns a missing extra into an error that says what to install."""

from importlib import import_module
from types import ModuleType

__all__ = ["require"]


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
