"""A progress display for what takes longer than two seconds, on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

__all__ = ["Phase", "progress"]

Phase = Callable[[str, int | None], Callable[[int], None]]

_QUIET_SECONDS = 2.0


@contextmanager
def progress() -> Iterator[Phase]:
    """Yield a function that begins a phase, given what is counted and how much of it there is (None: not known).

    It returns a function that is told how much is done. A bar appears on standard error once two seconds have passed
    since the beginning of the first phase.
    """
    if not sys.stderr.isatty():
        yield lambda _what, _total: lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
    began, shown = monotonic(), False

    def phase(what: str, total: int | None) -> Callable[[int], None]:
        task = bar.add_task(what, total=total)

        def update(done: int) -> None:
            nonlocal shown
            if not shown and monotonic() - began > _QUIET_SECONDS:
                shown = True
                bar.start()
            bar.update(task, completed=done)

        return update

    try:
        yield phase
    finally:
        if shown:
            bar.stop()
