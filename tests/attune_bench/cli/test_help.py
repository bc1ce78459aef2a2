"""The version, and the help of every command."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import Call, too_wide

from attune_bench import __version__
from attune_bench.cli import app

COMMANDS = app.list_commands(click.Context(app))


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the terminal be wider than what is printed may be."""
    monkeypatch.setenv("COLUMNS", "200")


def test_version(call: Call) -> None:
    assert call("--version") == (0, f"{__version__}\n", "")


@pytest.mark.slow
def test_the_package_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "attune_bench", "score", "--results", "demo", "--data", "demo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("scores.json: 80 runs")
    wrong = subprocess.run([*command[:3], "scroe"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr.count("attune-bench: no command 'scroe'")) == (2, 1)


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command(call: Call, flag: str) -> None:
    status, out, err = call(flag)
    assert (status, err) == (0, "")
    assert out.startswith("Usage: attune-bench [OPTIONS] COMMAND [ARGS]...\n")
    listed = re.findall(r"^  ([\w-]+)  +[A-Z]", out, re.MULTILINE)
    assert [name for name in listed if name in COMMANDS] == COMMANDS
    assert too_wide(out) == []


SUBCOMMANDS = ("batch export", "batch import", "labels draw", "labels plan", "leaderboard build", "leaderboard check")


@pytest.mark.parametrize("command", [*COMMANDS, *SUBCOMMANDS])
def test_help_of_a_command(call: Call, command: str) -> None:
    status, out, err = call(*command.split(), "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"Usage: attune-bench {command} ")
    assert "\n  -h, --help " in out
    assert too_wide(out) == []


def test_every_option_says_what_it_is_for() -> None:
    commands = {name: app.get_command(click.Context(app), name) for name in COMMANDS}
    silent = [
        f"{name} {option.opts[0]}"
        for name, command in commands.items()
        for option in getattr(command, "params", ())
        if isinstance(option, click.Option) and not option.help
    ]
    assert silent == []


def test_no_command_is_help(call: Call) -> None:
    assert call() == call("--help")
