"""Families of tests: the remark that none of one could have been significant after correction."""

import warnings

from attune_data.text import plural

__all__ = ["warn_out_of_reach"]


def warn_out_of_reach(limit: str, tests: int, family: str, smallest: float, advice: str, *, stacklevel: int) -> None:
    """Warn that no Holm-corrected p-value of a family can be below `smallest`, what the limit is and what would help.

    `stacklevel` is counted from the caller.
    """
    warnings.warn(
        f"{limit} too few for {plural(tests, 'test')} ({family}): no Holm-corrected p can be below "
        f"{min(smallest, 1):.2g}; {advice}",
        stacklevel=stacklevel + 1,
    )
