"""Runs in a process of their own that is killed, interrupted or started twice, and then goes on."""

import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from model_server import ModelServer

from attune_bench.benchmarks.attunebench.flow import planned_calls
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings
from attune_data import load

RunFiles = Callable[[Path], dict[str, bytes]]

CONCURRENCY = 4


def start(
    server: ModelServer, output: Path, limit: int, *, prepare: Callable[[], object] | None = None
) -> subprocess.Popen[bytes]:
    # A process that is started in the background inherits that SIGINT is ignored.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from attune_bench.cli import main; main()"
    options = [f"--base-url={server.url}", f"--output={output}", f"--limit={limit}", f"--concurrency={CONCURRENCY}"]
    command = [sys.executable, "-Werror", "-c", code, "run", "local", "vendor/model", "demo", *options]
    return subprocess.Popen(
        [*command, "--judge-model", "judge/one"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=prepare,  # noqa: PLW1509 - it sets a limit and takes no lock
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def until(server: ModelServer, process: subprocess.Popen[bytes], calls: int) -> None:
    while server.calls < calls and process.poll() is None:
        time.sleep(0.001)


def planned(limit: int) -> int:
    settings = AttuneBenchSettings("vendor/model", judges=("judge/one",))
    return sum(len(planned_calls(conversation, settings)) for conversation in load("demo")[:limit])


@pytest.mark.parametrize(("kills", "limit"), [(2, 2), pytest.param(100, 30, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_was_not(
    kills: int, limit: int, tmp_path: Path, run_files: RunFiles
) -> None:
    moments = random.Random(5)
    with ModelServer(latency=0.02) as server:
        killed = 0
        while killed < kills:
            process = start(server, tmp_path / "killed", limit)
            # After its first calls, but for a few of the kills, which fall anywhere in its start.
            if moments.random() < 0.8:
                until(server, process, server.calls + 1)
                time.sleep(moments.uniform(0.0, 0.04))
            else:
                time.sleep(moments.uniform(0.0, 1.0))
            process.kill()
            status, _ = finish(process)
            assert status in (-signal.SIGKILL, 0)
            killed += 1
        assert finish(start(server, tmp_path / "killed", limit)) == (0, b"")
        assert planned(limit) <= server.calls <= planned(limit) + kills * CONCURRENCY
        assert finish(start(server, tmp_path / "whole", limit)) == (0, b"")
    assert len(run_files(tmp_path / "whole")) == limit
    assert run_files(tmp_path / "killed") == run_files(tmp_path / "whole")
    leftovers = {path.name for path in (tmp_path / "killed").iterdir()} - set(run_files(tmp_path / "killed"))
    assert {name for name in leftovers if not name.endswith(".tmp")} == {".cache.jsonl", ".lock", ".sources.json"}


def test_an_interrupted_run_says_so_and_goes_on(tmp_path: Path) -> None:
    with ModelServer(latency=0.05) as server:
        process = start(server, tmp_path, 3)
        until(server, process, 10)
        process.send_signal(signal.SIGINT)
        status, err = finish(process)
        assert status == 130
        assert err == b"attune-bench: stopped; the same command goes on from here\n"
        kept = (tmp_path / ".cache.jsonl").read_bytes()
        assert kept.endswith(b"\n")
        sent = server.calls
        assert sent <= kept.count(b"\n") + CONCURRENCY
        assert finish(start(server, tmp_path, 3)) == (0, b"")
        assert server.calls == planned(3) + sent - kept.count(b"\n")


def test_a_second_process_refuses_the_folder(tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: "stall") as server:
        first = start(server, tmp_path, 2)
        until(server, first, 1)
        status, err = finish(start(server, tmp_path, 2))
        first.kill()
        assert finish(first)[0] == -signal.SIGKILL
    assert status == 2
    assert b"another run is using" in err
    assert b"Traceback" not in err
    with ModelServer() as server:  # The lock is gone with the process that held it.
        assert finish(start(server, tmp_path, 2)) == (0, b"")


def test_a_file_that_may_not_grow_is_one_error_and_the_cache_file_is_intact(tmp_path: Path) -> None:
    def no_more_than_20_kilobytes() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    with ModelServer() as server:
        status, err = finish(start(server, tmp_path, 3, prepare=no_more_than_20_kilobytes))
        assert status == 2
        assert err.count(b"\n") == 1
        assert b"File too large" in err
        kept, sent = (tmp_path / ".cache.jsonl").read_bytes(), server.calls
        assert kept.endswith(b"\n")
        assert kept.count(b"\n") <= sent <= kept.count(b"\n") + CONCURRENCY
        assert finish(start(server, tmp_path, 3)) == (0, b"")
        assert server.calls == planned(3) + sent - kept.count(b"\n")
