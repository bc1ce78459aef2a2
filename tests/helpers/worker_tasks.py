"""What workers in processes of their own are given to do; it imports little, as each of these processes imports it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

__all__ = ["failing", "killing"]


def killing(folder: str) -> Callable[[int], int]:
    """Return a function that ends its process at its first task."""
    mark = Path(folder, "killed")

    def work(task: int) -> int:
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
        return task * task

    return work


def failing(message: str) -> Callable[[int], int]:
    """Return a function that raises an error with a message at the task 3."""

    def work(task: int) -> int:
        if task == 3:
            raise ValueError(message)
        return task * task

    return work
