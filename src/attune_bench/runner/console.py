"""What a run says on a terminal: a line of progress, the outcome, warnings."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from attune_bench.runner.jobs import RunOutcome, Skipped
from attune_bench.runner.meter import Meter
from attune_data.text import WIDTH, has_colours, plural, printable, toned, width

__all__ = ["progress_line", "report_made", "report_outcome", "warn", "warn_of"]

_PLAIN_SECONDS = 30.0
_LEAST_BAR, _MOST_BAR = 5, 24


@contextmanager
def progress_line() -> Iterator[Callable[[Meter], None]]:
    """Give a function that shows a meter: one line that changes on a terminal, else a line every half a minute.

    The line on a terminal is gone after a run that came to its end, which says the same of itself.
    """
    shown = monotonic()

    def show(meter: Meter) -> None:
        nonlocal shown
        if _can_rewrite():
            sys.stderr.write(f"\r{_bar(meter, _columns() - 1)}\x1b[K")
            sys.stderr.flush()
        elif monotonic() - shown > _PLAIN_SECONDS:
            shown = monotonic()
            _write_in_order(f"{meter.text()}\n")

    try:
        yield show
    except BaseException:
        sys.stderr.write("\n" if _can_rewrite() else "")
        raise
    sys.stderr.write("\r\x1b[K" if _can_rewrite() else "")


def _can_rewrite() -> bool:
    """Tell whether a line can take the place of another."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    """Return the width of the terminal that standard error is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


def _bar(meter: Meter, columns: int) -> str:
    """Return a bar and as much of what a meter says as fits beside it."""
    said = ""
    for part in meter.parts():
        longer = f"{said}, {part}" if said else part
        if width(longer) > columns - _LEAST_BAR - 3:
            break
        said = longer
    size = max(min(columns - width(said) - 3, _MOST_BAR), _LEAST_BAR)
    full = int(size * meter.share)
    return f"[{'#' * full}{'.' * (size - full)}] {said}"


def report_outcome(outcome: RunOutcome, made: str = "file") -> int:
    """Print what came of a run, counted as what it has made; return the exit status."""
    unit = outcome.meter.unit
    report_made(outcome, made)
    if outcome.stopped is not None:
        warn(f"stopped: {outcome.stopped}")
    warn_of([skipped for skipped in outcome.skipped if skipped.reason != outcome.stopped][:3])
    if outcome.skipped:
        count = plural(len(outcome.skipped), unit)
        after = "once that is mended, the same command goes on" if outcome.stopped else "the same command tries again"
        warn(f"{count} not finished, listed in {outcome.folder}/_skipped_*.json; {after}")
    return int(bool(outcome.skipped))


def report_made(outcome: RunOutcome, made: str) -> None:
    """Print what a run has made, what it has cost and what could not be read."""
    before = f", {outcome.earlier} of them from before" if outcome.earlier else ""
    _say(f"{outcome.folder}: {plural(outcome.finished, made)}{before}")
    if outcome.replaced:
        _say(
            f"{outcome.replaced} of them replaced results of other settings or of an older content; "
            "those responses stay in the cache, and another --output keeps both"
        )
    if outcome.meter.responses:
        _say(outcome.meter.text())
    if outcome.unread:
        answers, where = plural(outcome.unread, "answer"), plural(outcome.unread_in, outcome.meter.unit)
        are = "is" if outcome.unread == 1 else "are"
        _say(f"{answers} in {where} could not be read and {are} missing, see calls in the files")


def warn_of(skipped: Iterable[Skipped]) -> None:
    """Write a line for each unit without a result."""
    for one in skipped:
        condition = f" ({one.condition})" if one.condition else ""
        warn(f"{one.unit_id}{condition}: {one.reason}")


def warn(text: str) -> None:
    """Write a line to standard error, on a terminal in place of a line of progress."""
    clear = "\r\x1b[K" if _can_rewrite() else ""
    name = toned("attune-bench:", "warning" if has_colours(sys.stderr) else "")
    _write_in_order(f"{clear}{name} {printable(text)}\n")


def _write_in_order(text: str) -> None:
    """Write to standard error, after what was printed before: both may go to one file."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
