"""The page of commands: what each prints of itself."""

from typing import Any

import click

from attune_bench.cli import app
from attune_bench.cli.help import show_all

__all__ = ["define_env"]

_WIDTH = 84


def define_env(env: Any) -> None:
    """Give pages the macro ``commands``."""
    env.macro(commands)


def commands() -> str:
    """Return a section for each command, with its help."""
    return "\n\n".join(_sections(app, "attune-bench"))


def _sections(group: click.Group, called: str) -> list[str]:
    found = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if command is None:
            continue
        full = f"{called} {name}"
        context = click.Context(command, info_name=full, terminal_width=_WIDTH, **app.context_settings)
        show_all(context)
        text = command.get_help(context)
        found.append(f"## {full.removeprefix('attune-bench ')}\n\n```text\n{text}\n```")
        if isinstance(command, click.Group):
            found += _sections(command, full)
    return found
