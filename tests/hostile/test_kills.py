"""Runs that are killed at random moments: the same command goes on, and what it makes is what it would have made."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from interrupts import CONCURRENCY, finish, interrupt, results, run_files, start, start_run, until
from model_server import ModelServer, answer_to, talk

from attune_data import load_runs

ANSWERS = {"attunebench": answer_to, "eibench": talk}


# Quick are the runs that are interrupted or killed once, in the tests of each benchmark and of its answer formats.
@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ANSWERS)
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_was_not(
    benchmark: str, scale: int, tmp_path: Path
) -> None:
    kills, limit = 6 * scale, 16
    killed, whole, moments = tmp_path / "killed", tmp_path / "whole", random.Random(5)
    with ModelServer(latency=0.02, answer=ANSWERS[benchmark]) as server:
        for _ in range(kills):
            process = start_run(server, killed, limit, benchmark=benchmark)
            # After its first calls, but for a few of the kills, which fall anywhere in its start.
            if moments.random() < 0.8:
                until(server, process, server.calls + 1)
                time.sleep(moments.uniform(0.0, 0.1))
            else:
                time.sleep(moments.uniform(0.0, 1.0))
            process.kill()
            assert finish(process)[0] in (-signal.SIGKILL, 0)
        assert finish(start_run(server, killed, limit, benchmark=benchmark)) == (0, b"")
        sent = server.calls
        assert finish(start_run(server, whole, limit, benchmark=benchmark)) == (0, b"")
        assert 0 <= sent - (server.calls - sent) <= kills * CONCURRENCY
    assert results(killed, benchmark) == results(whole, benchmark)
    left = {path.name for path in killed.glob("**/*") if path.is_file() and not path.name.endswith(".tmp")}
    assert left == {path.name for path in whole.glob("**/*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_judging_anew_that_is_ended_again_and_again_ends_as_one_that_was_not(
    number: int, scale: int, tmp_path: Path
) -> None:
    ended, whole, runs, moments = tmp_path / "ended", tmp_path / "whole", tmp_path / "runs", random.Random(number)
    times = 4 * scale
    with ModelServer(latency=0.02) as server:
        assert finish(start_run(server, runs, 10)) == (0, b"")

        def judge(output: Path) -> subprocess.Popen[bytes]:
            options = ["--judge-provider=local", f"--base-url={server.url}", f"--concurrency={CONCURRENCY}"]
            judges = ["--judge-model=judge/two", "--judge-model=judge/three"]
            return start("rejudge", runs, "--data=demo", f"--output={output}", *judges, *options)

        before = server.calls
        for _ in range(times):
            process = judge(ended)
            until(server, process, server.calls + moments.randrange(20))
            time.sleep(moments.uniform(0.0, 0.05))
            assert interrupt(process, [number]).status in (-number, 130, 0)
            assert all(load_runs(path) for path in ended.glob("[!._]*.json"))
        assert finish(judge(ended)) == (0, b"")
        sent = server.calls - before
        assert finish(judge(whole)) == (0, b"")
        assert 0 <= 2 * sent - (server.calls - before) <= times * CONCURRENCY
    assert run_files(ended) == run_files(whole)
