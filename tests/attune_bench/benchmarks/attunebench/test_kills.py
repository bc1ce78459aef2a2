"""Runs in a process of their own that is interrupted, started twice or may write no more, and then goes on."""

import signal
from pathlib import Path

import pytest
from interrupts import CONCURRENCY, STOPPED, finish, interrupt, start_run, until
from model_server import ModelServer

from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, planned_calls
from attune_data import load


def planned(limit: int) -> int:
    settings = AttuneBenchSettings("vendor/model", judges=("judge/one",))
    return sum(len(planned_calls(conversation, settings)) for conversation in load("demo")[:limit])


@pytest.mark.slow
def test_an_interrupted_run_says_so_and_goes_on(tmp_path: Path) -> None:
    with ModelServer(latency=0.05) as server:
        process = start_run(server, tmp_path, 3)
        until(server, process, 10)
        ended = interrupt(process, [signal.SIGINT, signal.SIGINT])
        assert (ended.status, ended.err) == (130, STOPPED)
        kept = (tmp_path / ".cache.jsonl").read_bytes()
        assert kept.endswith(b"\n")
        sent = server.calls
        assert sent <= kept.count(b"\n") + CONCURRENCY
        assert finish(start_run(server, tmp_path, 3)) == (0, b"")
        assert server.calls == planned(3) + sent - kept.count(b"\n")


@pytest.mark.slow  # quick is that of EIBench
def test_a_second_process_refuses_the_folder(tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: "stall") as server:
        first = start_run(server, tmp_path, 2)
        until(server, first, 1)
        status, err = finish(start_run(server, tmp_path, 2))
        first.kill()
        assert finish(first)[0] == -signal.SIGKILL
    assert status == 2
    assert b"another run is using" in err
    assert b"Traceback" not in err
    with ModelServer() as server:  # The lock is gone with the process that held it.
        assert finish(start_run(server, tmp_path, 2)) == (0, b"")


@pytest.mark.slow  # quick is a disk that fills up, in this process
def test_a_file_that_may_not_grow_is_one_error_and_the_cache_file_is_intact(tmp_path: Path) -> None:
    import resource

    def no_more_than_20_kilobytes() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    with ModelServer() as server:
        status, err = finish(start_run(server, tmp_path, 3, prepare=no_more_than_20_kilobytes))
        assert status == 2
        assert err.count(b"\n") == 1
        assert b"File too large" in err
        kept, sent = (tmp_path / ".cache.jsonl").read_bytes(), server.calls
        assert kept.endswith(b"\n")
        assert kept.count(b"\n") <= sent <= kept.count(b"\n") + CONCURRENCY
        assert finish(start_run(server, tmp_path, 3)) == (0, b"")
        assert server.calls == planned(3) + sent - kept.count(b"\n")
