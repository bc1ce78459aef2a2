"""What analyses warn of: families in which nothing could have been significant, and unreliable intervals."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from attune_data.text import plural
from attune_metrics.metric import UnreliableIntervalWarning

__all__ = ["OneWarning", "warn_out_of_reach"]


def warn_out_of_reach(limit: str, tests: int, family: str, smallest: float, advice: str, *, stacklevel: int) -> None:
    """Warn that no Holm-corrected p-value of a family can be below `smallest`, what the limit is and what would help.

    `stacklevel` is counted from the caller.
    """
    warnings.warn(
        f"{limit} too few for {plural(tests, 'test')} ({family}): no Holm-corrected p can be below "
        f"{min(smallest, 1):.3g}; {advice}",
        stacklevel=stacklevel + 1,
    )


class OneWarning:
    """Lets one warning of each kind of unreliable interval through, however many series an analysis has.

    Examples
    --------
    >>> once = OneWarning()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for share in ("30%", "40%"):
    ...         with once.of_all():
    ...             warnings.warn(f"one cluster has {share}", UnreliableIntervalWarning)
    >>> [str(warning.message) for warning in caught]
    ['one cluster has 30%']
    """

    def __init__(self) -> None:
        self._said: set[type[Warning]] = set()

    @contextmanager
    def of_all(self) -> Iterator[None]:
        """Run a part of the analysis."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnreliableIntervalWarning)
            yield
        for one in caught:
            if one.category in self._said:
                continue
            if issubclass(one.category, UnreliableIntervalWarning):
                self._said.add(one.category)
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
