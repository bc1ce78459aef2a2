"""Commands in a real terminal: its width, its colours, and a run's line of progress."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Spawn
from model_server import ModelServer, reply

from attune_data.text import width


def in_terminal(columns: int, *arguments: object, **environment: str) -> str:
    """Return what a command line writes to a terminal of some columns."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    command = [sys.executable, "-c", "from attune_bench.cli import main; main()", *map(str, arguments)]
    env = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=env | {"TERM": "xterm"} | environment
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # so ends a terminal that nobody holds
            pass
        assert process.wait(60) == 0
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_the_width_is_that_of_the_terminal() -> None:
    text = in_terminal(70, "rank", "--help")
    assert 60 < max(map(width, text.splitlines())) <= 70


@pytest.mark.slow
def test_a_run_on_a_terminal_says_its_result_once(tmp_path: Path) -> None:
    with ModelServer(latency=0.3) as server:
        arguments = (
            "run",
            "local",
            "vendor/model",
            "demo",
            "--base-url",
            server.url,
            "--limit",
            1,
            "-o",
            tmp_path / "r",
        )
        shown = in_terminal(80, *arguments)
    before, _, after = shown.rpartition("\r\x1b[K")
    assert "waiting for the first answer" in before
    assert re.search(r"\r\[#+\.+\] 0/1 conversations, \d+/\d+ calls", before)
    assert all(width(line.replace("\x1b[K", "")) < 80 for line in before.split("\r"))
    assert after.splitlines()[0] == f"{tmp_path / 'r'}: 1 run"
    assert after.count("1/1 conversations") == 1


@pytest.mark.slow
def test_a_file_has_lines_in_order_without_control_characters(spawn: Spawn, tmp_path: Path) -> None:
    """Standard output and error in one file."""
    fails = reply("400 Bad Request", '{"error": {"message": "no such model"}}')
    code = "import os; os.dup2(1, 2)\nfrom attune_bench.cli import main; main()"
    run = ("run", "local", "vendor/model", "demo", "--free-json", "-o", tmp_path / "r")
    with ModelServer() as server:
        assert spawn(*run, "--base-url", server.url, "--limit", 1).returncode == 0
    with ModelServer(lambda _number, _body: fails) as server:
        done = spawn(*run, "--base-url", server.url, "--limit", 2, code=code, env={"COLUMNS": "50"})
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert all(line.isprintable() for line in lines)
    # What was made, then what was not: as it was said.
    assert lines[0] == f"{tmp_path / 'r'}: 1 run; 1 of them from before"
    assert re.match("attune-bench: 1 of 1 run was answered by http://.*, not by the server of this command", lines[1])
    assert re.match(r"attune-bench: stopped: .*status 400 \(no such model\)", lines[2])
    assert lines[-2].startswith("attune-bench: 1 conversation not finished, listed in ")
    assert lines[-1] == f"next: attune-bench score --results {tmp_path / 'r'} --data demo"
