"""Other processes that do a part of the work; without them, or where one fails, this process does it itself.

Each is a Python of its own that imports what it needs and talks over its standard streams. It takes no part in the
signals of the terminal, and ends when this process does, however that ends: it reads the end of its input.
"""

import gc
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, Self, TypeVar

from attune_data.references import resolve

T = TypeVar("T")


R = TypeVar("R")


_SERVE = "import sys; sys.path[:] = sys.argv[2:]; from attune_bench.verbs.workers import serve; serve(sys.argv[1])"


_AHEAD = 2


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _NotDoneError(Exception):
    """A process has not done its task."""


class _Worker:
    """A process that works."""

    def __init__(self, reference: str) -> None:
        self.has_ended = False
        self._process = subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, "-c", _SERVE, reference, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def send(self, message: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - a pipe
        with suppress(OSError, ValueError):  # It has ended, or its pipe is closed, which `receive` tells.
            stdin.write(message)
            stdin.flush()

    def receive(self) -> Any:
        """Return the result of its task.

        Raises
        ------
        _NotDoneError
            Where it did not do the task.
        """
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - a pipe
        try:
            is_done, found = pickle.load(stdout)  # noqa: S301 - from a process of our own
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            self.has_ended, is_done, found = True, False, None
        if not is_done:
            raise _NotDoneError
        return found

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()


class Workers(Generic[T, R]):
    """Processes that work on tasks beside this one; they start at once, and end with the ``with`` block.

    Parameters
    ----------
    count : int
        How many processes work, this one included.
    reference : str
        ``module:name`` of what makes the function that does a task.
    """

    def __init__(self, count: int, reference: str) -> None:
        self._all: list[_Worker] = []
        try:
            for _ in range(count - 1 if sys.executable else 0):
                self._all.append(_Worker(reference))
        except OSError:
            # The machine allows no more; what this process opens needs room too.
            for _ in range(min(4, len(self._all))):
                self._all.pop().stop()

    def __enter__(self) -> Self:
        self._interval = sys.getswitchinterval()
        # A result takes many reads of a pipe. After each, its thread waits that long for the thread that scores.
        sys.setswitchinterval(1e-4)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setswitchinterval(self._interval)
        for worker in self._all:
            worker.stop()

    def map(self, work: Callable[[T], R], arguments: tuple[Any, ...], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the result of each task, in their order.

        Parameters
        ----------
        work : callable
            Does a task in this process, in the thread that takes the results.
        arguments : tuple
            What the reference is called with for the same, once in each of the others.
        tasks : iterable
            Few of them are read ahead.
        """
        if not self._all:
            yield from map(work, tasks)
            return
        message = pickle.dumps(arguments, pickle.HIGHEST_PROTOCOL)
        waiting: SimpleQueue[tuple[T, Future[R]] | None] = SimpleQueue()

        def ask(worker: _Worker) -> None:
            worker.send(message)
            for task, result in iter(waiting.get, None):
                try:
                    worker.send(pickle.dumps(task, pickle.HIGHEST_PROTOCOL))
                    result.set_result(worker.receive())
                except Exception as error:
                    result.set_exception(error)
                    if worker.has_ended:
                        return

        def work_here() -> None:
            """Do the first task that waits, if any does."""
            with suppress(Empty):
                if (first := waiting.get_nowait()) is not None:
                    task, result = first
                    try:
                        result.set_result(work(task))
                    except Exception as error:
                        result.set_exception(error)

        def first_result() -> R:
            """Return the result of the first task that is pending; meanwhile work too."""
            task, result = pending.popleft()
            while not result.done() and not waiting.empty():
                work_here()
            try:
                return result.result()
            except _NotDoneError:
                return work(task)

        pending: deque[tuple[T, Future[R]]] = deque()
        threads: list[Thread] = []
        try:
            for worker in self._all:
                thread = Thread(target=ask, args=(worker,))
                thread.start()
                threads.append(thread)
            for task in tasks:
                pending.append((task, Future()))
                waiting.put(pending[-1])
                # As many wait as there are processes to take one at once.
                while waiting.qsize() > len(threads):
                    work_here()
                while pending and (pending[0][1].done() or len(pending) > _AHEAD * (len(threads) + 2)):
                    yield first_result()
            while pending:
                yield first_result()
        except BaseException:
            self.__exit__()
            raise
        finally:
            for _ in threads:
                waiting.put(None)
            for thread in threads:
                thread.join()


def serve(reference: str) -> None:
    """Do the tasks that come on standard input, until it ends; first comes what the reference is called with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(400_000, 20, 20)  # As the command line has it.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What is printed is no answer.
    with suppress(OSError, EOFError):
        make = resolve(reference)
        work = make(*pickle.load(sys.stdin.buffer))  # noqa: S301 - from the process that started this one
        while True:
            task = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
            try:
                answer = pickle.dumps((True, work(task)), pickle.HIGHEST_PROTOCOL)
            except Exception:  # The process that asked does the task again, and raises.
                answer = pickle.dumps((False, None))
            answers.write(answer)
            answers.flush()
    os._exit(0)
