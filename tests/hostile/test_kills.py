"""Runs that are killed at random moments: the same command goes on, and what it makes is what it would have made."""

import random
import signal
import time
from pathlib import Path

import pytest
from interrupts import CONCURRENCY, finish, results, start_run, until
from model_server import ModelServer, answer_to, talk

ANSWERS = {"attunebench": answer_to, "eibench": talk}


# Quick are the runs that are interrupted or killed once, in the tests of each benchmark and of its answer formats.
@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ANSWERS)
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_was_not(
    benchmark: str, scale: int, tmp_path: Path
) -> None:
    kills, limit = 10 * scale, 16
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
