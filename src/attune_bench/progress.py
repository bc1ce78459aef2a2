"""A progress display for what takes longer than two seconds, on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

__all__ = ["progress"]

_QUIET_SECONDS = 2.0


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how much is done; it shows a bar on standard error once two seconds have passed.

    Parameters
    ----------
    what : str
        What is counted, for instance ``"scoring runs"``.
    total : int, optional
        How much there is; without it the bar shows the count alone.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total)
    began, shown = monotonic(), False

    def update(done: int) -> None:
        nonlocal shown
        if not shown and monotonic() - began > _QUIET_SECONDS:
            shown = True
            bar.start()
        if shown:
            bar.update(task, completed=done)

    try:
        yield update
    finally:
        if shown:
            bar.stop()
