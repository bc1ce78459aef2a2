"""What a run says on a terminal: its progress, its outcome, and warnings."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from attune_bench.runner.cost import Meter, RunOutcome, Skipped
from attune_data.text import WIDTH, has_colours, plural, sanitize, toned, width

_PLAIN_SECONDS = 30.0
_LEAST_BAR, _MOST_BAR = 5, 24


@contextmanager
def progress_line() -> Iterator[Callable[[Meter], None]]:
    """Give a function that shows a meter: on a terminal one line that is updated, elsewhere a line every half minute.

    After a run that ended without an error, the line on a terminal is removed, because the run's outcome says the same.
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
    """Tell whether a line on standard error can be overwritten."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    """Return the width of the terminal that standard error writes to."""
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
    """Print the outcome of a run, with `made` as the noun for what it has made; return the exit status."""
    unit = outcome.meter.unit
    report_made(outcome, made)
    if outcome.stopped is not None:
        warn(f"stopped: {outcome.stopped}")
    other = [skipped for skipped in outcome.skipped if not (outcome.stopped or "").startswith(skipped.reason)]
    warn_of(other[:3])
    if outcome.skipped:
        count = plural(len(outcome.skipped), unit)
        after = "once that is mended, the run goes on from here" if outcome.stopped else "the same command tries again"
        warn(f"{count} not finished, listed in {outcome.folder}/_skipped_*.json; {after}")
    if outcome.is_unreadable:
        warn(unreadable_text(outcome))
    return int(bool(outcome.skipped) or outcome.is_unreadable)


def unreadable_text(outcome: RunOutcome) -> str:
    """Return that no answer could be read, what a model answered, and what to try."""
    example = f"; for instance, {outcome.unread_example}" if outcome.unread_example else ""
    longer = "a larger --max-tokens where answers end early"
    advice = f", {longer}, or --free-json where the server takes no schema" if outcome.sends_schema else f" or {longer}"
    answers = plural(outcome.answers, "answer")
    return f"no answer could be read, of {answers} in all{example}. Try a larger model{advice}"


def report_made(outcome: RunOutcome, made: str) -> None:
    """Print what a run has made, what it has cost and what could not be read."""
    unit, finished, earlier = outcome.meter.unit, outcome.finished, outcome.earlier
    each = f", one {unit} each" if finished > 1 and unit not in ("result", made) else ""
    before = f"; {earlier:,} of them from before" if earlier else ""
    if finished and earlier == finished and not outcome.skipped:
        before = f"; {'all ' if finished > 1 else ''}from before, nothing was asked"
    if finished:
        _say(f"{outcome.folder}: {plural(finished, made)}{each}{before}")
    for url, count in outcome.elsewhere.items():
        were = "was" if count == 1 else "were"
        of_all = f"{count:,} of {plural(finished, made)} {were} answered by {url}"
        warn(f"{of_all}, not by the server of this command; another --output asks this server")
    if outcome.replaced:
        _say(
            f"{outcome.replaced} of them replaced results of other settings or of an older content; "
            "those responses stay in the cache, and another --output keeps both"
        )
    if outcome.extended:
        _say(f"{outcome.extended} of them add answers to those from before; nothing was asked twice")
    if outcome.meter.responses:
        _say(outcome.meter.text())
    if outcome.unread and not outcome.is_unreadable:
        answers, where = plural(outcome.answers, "answer"), plural(outcome.unread_in, outcome.meter.unit)
        are = "is" if outcome.unread == 1 else "are"
        _say(f"{outcome.unread:,} of {answers} could not be read and {are} missing, in {where}; the files name them")


def warn_of(skipped: Iterable[Skipped]) -> None:
    """Write a line for each unit without a result."""
    for one in skipped:
        condition = f" ({one.condition})" if one.condition else ""
        warn(f"{one.unit_id}{condition}: {one.reason}")


def warn(text: str) -> None:
    """Write a line to standard error; on a terminal it replaces the line of progress."""
    clear = "\r\x1b[K" if _can_rewrite() else ""
    name = toned("attune-bench:", "warning" if has_colours(sys.stderr) else "")
    _write_in_order(f"{clear}{name} {sanitize(text)}\n")


def _write_in_order(text: str) -> None:
    """Write to standard error after flushing standard output: if both go to one file, the order is kept."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
