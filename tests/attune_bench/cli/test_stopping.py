"""SIGINT and SIGTERM at chosen moments: the process ends soon, with status 130, and says one line at most."""

import signal
import sys
import time
from pathlib import Path

import pytest
from interrupts import STOPPED, interrupt, recorded, start, start_run, until_prepared, until_says
from model_server import ModelServer
from slow_cases import slow_except

from attune_bench.cli.run import _run, usage_errors
from attune_bench.cli.stopping import process as this_process

SIGNALS = (signal.SIGINT, signal.SIGTERM)
MANY = 5

# From the first signal a command has 1.5 s to clean up. The bound is above that for a machine under load, and far
# below the minute or more that each of these would otherwise take.
SECONDS = 10.0


@pytest.mark.posix
def test_little_is_imported_before_signals_are_caught() -> None:
    # Each of these takes about as long as all that is imported; until then Python itself reports an interruption.
    slow = ("typing", "re", "contextlib", "threading", "asyncio", "click", "pydantic", "numpy", "polars")
    code = "import sys; before = {*sys.modules}; import attune_bench.cli; print(*({*sys.modules} - before))"
    out, err = start(code=code).communicate(timeout=60)
    assert err == b""
    assert {"attune_bench.cli.stopping"} == {*out.decode().split()} & {"attune_bench.cli.stopping", *slow}


@pytest.mark.linux
@pytest.mark.parametrize("number", slow_except(SIGNALS, signal.SIGTERM))
def test_signals_before_the_first_import(number: int, tmp_path: Path) -> None:
    with ModelServer() as server:
        process = start_run(server, tmp_path, 1)
        until_prepared(process)
        ended = interrupt(process, [number] * MANY)
    assert (ended.status, ended.err) in ((130, b""), (130, STOPPED))
    assert ended.seconds < SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("number", slow_except(SIGNALS, signal.SIGINT))
def test_signals_while_a_server_says_nothing(number: int, tmp_path: Path) -> None:
    with ModelServer(lambda call, _body: "stall" if call > 8 else None) as server:
        process = start_run(server, tmp_path, 1)
        while recorded(tmp_path, "attunebench") < 8 and process.poll() is None:
            time.sleep(0.005)
        ended = interrupt(process, [number] * MANY)
    assert (ended.status, ended.err) == (130, STOPPED)
    assert ended.seconds < SECONDS
    assert recorded(tmp_path, "attunebench") == 8
    assert list(tmp_path.glob("*.tmp")) == []


@pytest.mark.parametrize("terminal", [True, False])
def test_a_stop_is_said_below_the_line_of_progress(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with usage_errors():
        assert this_process.words.encode() == b"\n" * terminal + STOPPED
    assert this_process.words == ""


# The disk takes its time, or hangs, once the first response is there.
FSYNC = """
import os, time
from attune_bench.cli import main
fsync = os.fsync
def slow(file):
    print("fsync", flush=True)
    time.sleep({seconds})
    fsync(file)
os.fsync = slow
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 60.0])
def test_signals_while_a_response_is_written(seconds: float, tmp_path: Path) -> None:
    with ModelServer() as server:
        process = start_run(server, tmp_path, 1, code=FSYNC.format(seconds=seconds))
        until_says(process, b"fsync")
        ended = interrupt(process, [signal.SIGINT] * MANY)
        assert (ended.status, ended.err) == (130, STOPPED)
        assert ended.seconds < SECONDS
        kept = (tmp_path / ".cache.jsonl").read_bytes()
        assert kept.endswith(b"\n")
        assert 0 < kept.count(b"\n") <= server.calls


WAITING = """
import sys
from attune_bench.cli import main, verbs
def call(_):
    print("ready", flush=True)
    {wait}
verbs.call = call
main()
"""
WAITS = {
    "cleaning up": "import time\n    try: time.sleep(60)\n    finally: time.sleep(60)",
    "a library in C": "import hashlib\n    hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)",
    "an error that follows": "import time\n    try: time.sleep(60)\n    finally: raise ImportError('half of numpy')",
    "no place to raise": "import time\n    type('C', (), {'__del__': lambda _: time.sleep(3)})()\n    time.sleep(60)",
    "a loop of its own": "import asyncio\n    asyncio.run(asyncio.sleep(60))",
    "leaving": "import atexit, time\n    atexit.register(time.sleep, 60)\n    sys.exit(0)",
}


@pytest.mark.posix
@pytest.mark.parametrize("wait", slow_except(WAITS.values(), WAITS["a library in C"]), ids=WAITS)
def test_signals_while_a_command_waits(wait: str) -> None:
    process = start(code=WAITING.format(wait=wait))
    until_says(process, b"ready")
    ended = interrupt(process, [*SIGNALS] * MANY)
    assert (ended.status, ended.err) == (130, b"")
    assert ended.seconds < SECONDS


ENDING = """
import builtins, os, time
from attune_bench.cli import main, verbs
class Last:
    def __del__(self, write=os.write, sleep=time.sleep):
        write(1, b"ending\\n")
        sleep(0.5)
builtins.last = Last()  # They go last, whatever the collector does.
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", slow_except(SIGNALS, signal.SIGINT))
def test_signals_after_a_command_has_ended_change_nothing(number: int) -> None:
    process = start("--version", code=ENDING)
    until_says(process, b"ending")
    ended = interrupt(process, [number] * MANY)
    assert (ended.status, ended.err) == (0, b"")


@pytest.mark.slow
def test_what_a_script_starts_in_the_background_ignores_ctrl_c() -> None:
    process = start("--version", prepare=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    until_prepared(process)
    assert interrupt(process, [signal.SIGINT] * MANY)[0] == 0


def test_a_signal_after_the_last_call_stops_the_run_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def judged(*, stopped: bool) -> int:
        if stopped:  # as a signal does while nothing is awaited any more
            this_process.stopped = True
            this_process.react()
        return 36

    monkeypatch.setattr(this_process, "stopped", False)
    assert _run(judged(stopped=False)) == 36
    with pytest.raises(KeyboardInterrupt):
        _run(judged(stopped=True))
