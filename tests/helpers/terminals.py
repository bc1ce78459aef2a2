"""A terminal in the place of standard output."""

import sys

import pytest


def show_on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, *, colours: bool = False) -> None:
    """Let standard output be a terminal of some columns."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color" if colours else "dumb")
    monkeypatch.delenv("NO_COLOR", raising=False)
