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
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock
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


class _Worker:
    """A process that works."""

    def __init__(self, reference: str) -> None:
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
        with suppress(OSError):  # It has ended, which `receive` tells.
            stdin.write(message)
            stdin.flush()

    def receive(self) -> tuple[bool, Any]:
        """Return whether it did its task, and the result."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - a pipe
        try:
            found: tuple[bool, Any] = pickle.load(stdout)  # noqa: S301 - from a process of our own
        except (OSError, EOFError, pickle.UnpicklingError):
            return False, None
        return found

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()


class Workers(Generic[T, R]):
    """Processes that work on tasks; they start at once, and end with the ``with`` block.

    Parameters
    ----------
    count : int
        How many; with less than 2 this process works alone.
    reference : str
        ``module:name`` of what makes the function that does a task.
    """

    def __init__(self, count: int, reference: str) -> None:
        self._all: list[_Worker] = []
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._here = Lock()
        self._closed = False
        try:
            for _ in range(count if count > 1 and sys.executable else 0):
                self._all.append(_Worker(reference))
        except OSError:
            # The machine allows no more; what this process opens needs room too.
            for _ in range(min(4, len(self._all))):
                self._all.pop().stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        for worker in self._all:
            worker.stop()

    def map(self, work: Callable[[T], R], arguments: tuple[Any, ...], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the result of each task, in their order.

        Parameters
        ----------
        work : callable
            Does a task in this process.
        arguments : tuple
            What the reference is called with for the same, once in each of the others.
        tasks : iterable
            Few of them are read ahead.
        """
        if not self._all:
            yield from map(work, tasks)
            return
        message = pickle.dumps(arguments, pickle.HIGHEST_PROTOCOL)
        for worker in self._all:
            self._idle.put(worker)
        prepared: set[int] = set()

        def ask(task: T) -> R:
            worker = self._idle.get()
            try:
                if id(worker) not in prepared:
                    prepared.add(id(worker))
                    worker.send(message)
                worker.send(pickle.dumps(task, pickle.HIGHEST_PROTOCOL))
                is_done, found = worker.receive()
            finally:
                self._idle.put(worker)
            if is_done:
                result: R = found
                return result
            with self._here:
                if self._closed:
                    raise RuntimeError("the work was stopped")
                return work(task)

        pending: deque[Future[R]] = deque()
        with ThreadPoolExecutor(len(self._all)) as threads:
            try:
                for task in tasks:
                    pending.append(threads.submit(ask, task))
                    if len(pending) > _AHEAD * len(self._all):
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            except BaseException:
                self.__exit__()
                threads.shutdown(cancel_futures=True)
                raise


def serve(reference: str) -> None:
    """Do the tasks that come on standard input, until it ends; first comes what the reference is called with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(50_000, 20, 20)  # As in the process that started this one.
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
