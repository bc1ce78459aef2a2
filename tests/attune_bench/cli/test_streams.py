"""Standard streams that are closed or full, odd terminals, and what is no file in place of an input."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Call
from interrupts import SCRIPT

from attune_bench.benchmarks.attunebench.task import bundled_prompts


def shell(line: str) -> tuple[int, str, str]:
    """Run a command line, in which $A is the script, by a shell, which can close streams."""
    env = {**os.environ, "PYTHONWARNINGS": "error", "A": f"{sys.executable} {SCRIPT}"}
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, env=env, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.posix
@pytest.mark.parametrize(
    ("line", "status"),
    [
        pytest.param("$A validate demo <&- >&- 2>&-", 0, marks=pytest.mark.slow),
        ("$A validate no-such <&- >&- 2>&-", 2),
        pytest.param(
            "$A run local m demo --base-url http://127.0.0.1:9/v1 -o {tmp} --dry-run <&- >&-", 0, marks=pytest.mark.slow
        ),
        pytest.param("$A --help 2>/dev/full", 0, marks=pytest.mark.linux),
        pytest.param("$A validate no-such 2>/dev/full", 2, marks=pytest.mark.slow),
    ],
)
def test_streams_that_are_closed_lead_nowhere(line: str, status: int, tmp_path: Path) -> None:
    found, out, err = shell(line.format(tmp=tmp_path / "runs"))
    assert (found, err) == (status, "")
    assert bool(out) == (">&-" not in line and status == 0)


@pytest.mark.linux
@pytest.mark.parametrize(
    "command",
    ["--version", *(pytest.param(one, marks=pytest.mark.slow) for one in ("--help", "schema run", "describe demo"))],
)
def test_a_full_output_is_one_error(command: str) -> None:
    said = "attune-bench: standard output cannot be written: No space left on device\n"
    assert shell(f"$A {command} >/dev/full") == (2, "", said)


@pytest.mark.parametrize("columns", ["0", "-1", "abc", "1"])
def test_any_size_of_a_terminal(call: Call, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    for command in (["--help"], ["describe", "demo"], ["report", "--help"]):
        status, out, err = call(*command)
        assert (status, err) == (0, "")
        assert out


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))  # The whole path may be too long.


RUN = ("run", "local", "m", "demo", "--base-url", "http://127.0.0.1:9/v1", "--dry-run")
INPUTS: dict[str, tuple[str, ...]] = {
    "scores": ("report", "--scores", "odd.json"),
    "scores.parquet": ("report", "--scores", "odd.parquet"),
    "table.csv": ("compare", "--scores", "odd.csv"),
    "table.jsonl": ("rank", "--scores", "odd.jsonl"),
    "source": ("validate", "odd.json"),
    "source.parquet": ("describe", "odd.parquet"),
    "zip": ("describe", "odd.zip"),
    "tar": ("describe", "odd.tar"),
    "show": ("show", "odd.json", "c1"),
    "results": ("score", "--results", "odd.jsonl", "--data", "demo"),
    "data": ("score", "--results", "demo", "--data", "odd.parquet"),
    "runs": ("rejudge", "odd.json", "--judge-model", "j", "--data", "demo"),
    "codebook.toml": (*RUN, "--codebook", "odd.toml"),
    "codebook.json": (*RUN, "--codebook", "odd.json"),
    "prices": (*RUN, "--prices", "odd.toml"),
    "prompts": (*RUN, "--prompts", "odd"),
    "template": (*RUN, "--prompts", "prompts"),
}


@pytest.mark.posix
@pytest.mark.parametrize(
    ("make", "arguments"),
    [(unix_socket, INPUTS["scores"]), (unix_socket, INPUTS["prices"]), *((fifo, one) for one in INPUTS.values())],
)
def test_what_is_no_file_is_one_error(
    call: Call,
    make: Callable[[Path], None],
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if arguments[-1] == "prompts":
        bundled_prompts().write("prompts")
        (odd := next(Path("prompts").glob("*.md"))).unlink()
    else:
        odd = Path(next(argument for argument in arguments if argument.startswith("odd")))
    make(odd)
    status, out, err = call(*arguments)
    assert (status in (1, 2), err.count("\n")) == (True, int(status == 2)), err
    assert odd.name in out + err
