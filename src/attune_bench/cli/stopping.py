"""How SIGINT and SIGTERM stop a process: once, however many come, within two seconds, with exit status 130.

The first signal interrupts the command, which then cleans up undisturbed, as all others are ignored. What takes longer
than the grace is left: every file is written whole or, as the cache file of a run, can be cut off anywhere. A signal
after the command has ended changes nothing.
"""

import atexit
import io
import os
import signal
import sys

TYPE_CHECKING = False  # As in `attune_bench`.
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

STOPPED = 130
"""The exit status."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE = 1.5  # seconds


def _interrupt() -> "NoReturn":
    raise KeyboardInterrupt


class _Process:
    """What a signal does to the process.

    Attributes
    ----------
    stopped : bool
        Whether a signal has come.
    react : callable
        What the first signal does.
    words : str
        Message of a stop.
    """

    stopped = False
    react: "Callable[[], object]" = staticmethod(_interrupt)
    words = ""


process: _Process = _Process()


def prepare_process() -> None:
    """From here on let the first signal stop the process, and let standard streams that are closed lead nowhere."""
    for number in _SIGNALS:
        # What a script starts in the background ignores SIGINT.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
            # Python takes its own handlers back before it has ended; a signal would then kill a process that is done.
            atexit.register(signal.signal, number, signal.SIG_IGN)
    _open_streams()
    if sys.platform != "win32":
        from threading import Thread

        # A handler waits for what the main thread is doing, such as a look-up of a name; the pipe does not.
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        Thread(target=_leave_in_time, args=(reading,), daemon=True).start()


def leave() -> "NoReturn":
    """End the process, whatever else is under way in it."""
    from select import select

    words, process.words = process.words, ""
    try:
        # A pipe that nobody reads would block; Windows can tell it of sockets alone.
        if sys.platform == "win32" or select((), (2,), (), 0)[1]:
            os.write(2, words.encode())
    except OSError:
        pass
    os._exit(STOPPED)


def _stop(_number: int, _frame: "FrameType | None") -> None:
    if not process.stopped:
        process.stopped = True
        sys.stderr = io.StringIO()  # Libraries report an interruption that they cannot raise.
        process.react()


def _leave_in_time(reading: int) -> None:
    from time import sleep

    while os.read(reading, 1)[0] not in _SIGNALS:
        pass
    sleep(_GRACE)
    leave()


def _open_streams() -> None:
    """Open the null device for closed standard streams: else other files would get their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - closed with the process
