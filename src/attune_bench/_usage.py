"""What commands share: the error of a user's mistake, and how text is printed."""

import sys

__all__ = ["UsageError", "emit"]


class UsageError(Exception):
    """A mistake of the user; its text says what to do."""


def emit(text: str) -> None:
    """Write text to standard output, with one newline at its end."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
