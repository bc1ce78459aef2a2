"""Commands that are sent two signals each at random moments: they end soon, without a traceback, and runs go on."""

import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from interrupts import CONCURRENCY, STOPPED, finish, interrupt, recorded, results, start, start_run, until_prepared
from model_server import ModelServer, answer_to, talk

from attune_data import load_runs

pytestmark = pytest.mark.slow

# Two seconds are promised: 1.5 are the most that a command may clean up, the rest is for a machine under load.
SECONDS = 6.0


@pytest.mark.parametrize(
    ("number", "times", "benchmark"),
    [(signal.SIGINT, 6, "attunebench"), (signal.SIGTERM, 3, "attunebench"), (signal.SIGINT, 3, "eibench")],
)
def test_a_run_that_is_stopped_at_any_moment_goes_on(
    number: int, times: int, benchmark: str, scale: int, tmp_path: Path
) -> None:
    moments, delay = random.Random(number), [0.3]
    answer = talk if benchmark == "eibench" else answer_to
    with ModelServer(lambda _number, _body: delay[0], answer=answer) as server:
        for folder in range(scale):
            stopped, lost, sent = tmp_path / f"stopped-{folder}", 0, server.calls
            delay[0] = 0.3
            for _ in range(times):
                calls, kept = server.calls, recorded(stopped, benchmark)
                process = start_run(server, stopped, 40, benchmark=benchmark)
                until_prepared(process)
                time.sleep(moments.uniform(0.0, 3.0))
                ended = interrupt(process, [number, number])
                assert ended.status == 130, ended
                assert ended.err in (b"", STOPPED)
                assert ended.seconds < SECONDS
                lost += server.calls - calls - (recorded(stopped, benchmark) - kept)
            assert lost <= times * CONCURRENCY
            delay[0] = 0.0
            assert finish(start_run(server, stopped, 40, benchmark=benchmark)) == (0, b"")
            sent = server.calls - sent
            calls = server.calls
            assert finish(start_run(server, tmp_path / f"whole-{folder}", 40, benchmark=benchmark)) == (0, b"")
            # No call is sent again whose answer was recorded.
            assert sent == server.calls - calls + lost
            assert results(stopped, benchmark) == results(tmp_path / f"whole-{folder}", benchmark)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_at_any_moment_says_nothing(number: int, scale: int, tmp_path: Path) -> None:
    moments, scores = random.Random(number), tmp_path / "scores.json"
    assert finish(start("score", "--results", "demo", "--data", "demo", "--output", scores)) == (0, b"")
    whole = scores.read_bytes()
    commands: list[list[object]] = [
        ["score", "--results", "demo", "--data", "demo", "--output", scores],
        ["report", "--scores", scores, "--resamples", 3_000_000],
        ["compare", "--scores", scores, "--resamples", 3_000_000],
        ["report", "--scores", scores, "--html", tmp_path / "page.html"],
        ["validate", "demo"],
        ["demo"],
    ]
    for command in commands * scale:
        process = start(*command)
        until_prepared(process)
        time.sleep(moments.uniform(0.0, 2.0))
        ended = interrupt(process, [number, number])
        assert ended.status in (130, 0), (command, ended)
        assert ended.err == b"", (command, ended)
        assert ended.seconds < SECONDS
        assert scores.read_bytes() == whole
        assert {path.name for path in tmp_path.iterdir()} <= {"scores.json", "page.html"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_processes_that_score_end_with_the_command(
    number: int, scale: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTUNE_TEST_MARK", str(tmp_path))
    runs, moments = tmp_path / "runs.jsonl", random.Random(number)
    lines = [run.to_line() for run in load_runs("demo")]
    runs.write_bytes(b"\n".join(lines * 40))
    target = tmp_path / "scores.json"
    for _ in range(2 * scale):
        process = start("score", "--results", runs, "--data", "demo", "--output", target, "--jobs", 3)
        until_prepared(process)
        time.sleep(moments.uniform(0.2, 3.0))
        ended = interrupt(process, [number, number])
        assert ended.status in ((-9,) if number == signal.SIGKILL else (130, 0))
        assert ended.err == b""
        # They read the end of their input; what they are doing then takes a moment.
        deadline = time.monotonic() + 30
        while _marked(str(tmp_path)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _marked(str(tmp_path))


def _marked(mark: str) -> list[str]:
    """Return the processes that were started with a mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found
