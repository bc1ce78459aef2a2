"""What workers in processes of their own are given to do; it imports little, as each of these processes imports it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

__all__ = ["failing", "killing"]


def killing(folder: str) -> Callable[[int], NoReturn]:
    """Return a function that ends its process at its first task."""
    mark = Path(folder, "killed")

    def work(_: int) -> NoReturn:
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("the process has ended")

    return work


def failing(folder: str) -> Callable[[int], NoReturn]:
    """Return a function that fails at every task, and leaves a file named after it in a folder."""

    def work(task: int) -> NoReturn:
        Path(folder, str(task)).touch()
        raise ValueError("elsewhere")

    return work
