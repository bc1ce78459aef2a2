"""The page of commands: what each prints of itself."""

from typing import Any

import click

from attune_bench.cli import app

__all__ = ["define_env"]

_WIDTH = 84


def define_env(env: Any) -> None:
    """Give pages the macro ``commands``."""
    env.macro(commands)


def commands() -> str:
    """Return a section for each command, with its help."""
    return "\n\n".join(_sections(app, "attune-bench"))


def _sections(group: click.Group, called: str) -> list[str]:
    context = click.Context(group, info_name=called)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            found += _sections(command, f"{called} {name}")
        elif command is not None:
            inner = click.Context(command, info_name=f"{called} {name}", terminal_width=_WIDTH)
            title = f"{called} {name}".removeprefix("attune-bench ")
            found.append(f"## {title}\n\n```text\n{command.get_help(inner)}\n```")
    return found
