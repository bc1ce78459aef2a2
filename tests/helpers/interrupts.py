"""Commands in a process of their own that is signalled or killed at any moment, and runs that then go on."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from model_server import ModelServer

CONCURRENCY = 4
STOPPED = b"attune-bench: stopped; the same command goes on from here\n"
OWN_OPTIONS = {"attunebench": ("--judge-model=judge/one",), "eibench": ("--simulator-model=vendor/person",)}

SCRIPT = Path(sys.executable).with_name("attune-bench")


class Ended(NamedTuple):
    """How a process ended; `seconds` are counted from the first signal."""

    status: int
    seconds: float
    out: bytes
    err: bytes


def start(
    *arguments: object, code: str | None = None, prepare: Callable[[], object] = lambda: None
) -> subprocess.Popen[bytes]:
    """Start a command: the script, or Python code that calls `main`."""

    def prepared() -> None:
        # What is started by a process in the background inherits that SIGINT is ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        prepare()

    return subprocess.Popen(
        [sys.executable, "-Werror", *([SCRIPT] if code is None else ["-c", code]), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=prepared,  # noqa: PLW1509 - it takes no lock
    )


def start_run(
    server: ModelServer,
    output: Path,
    limit: int,
    *,
    benchmark: str = "attunebench",
    code: str | None = None,
    prepare: Callable[[], object] = lambda: None,
) -> subprocess.Popen[bytes]:
    """Start a run of a benchmark on its demo data."""
    options = [f"--base-url={server.url}", f"--output={output}", f"--limit={limit}", f"--concurrency={CONCURRENCY}"]
    asked = ["run", "local", "vendor/model", "demo", f"--benchmark={benchmark}", *OWN_OPTIONS[benchmark]]
    return start(*asked, *options, code=code, prepare=prepare)


def finish(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """Wait for the end of a process; return its status and standard error."""
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def until(server: ModelServer, process: subprocess.Popen[bytes], calls: int) -> None:
    """Wait until a server was sent so many calls, or the process ends."""
    while server.calls < calls and process.poll() is None:
        time.sleep(0.001)


def until_prepared(process: subprocess.Popen[bytes]) -> None:
    """Wait until the process catches SIGTERM, which Python itself does not: the first act of `main`."""
    caught = 0
    while process.poll() is None and not caught >> (signal.SIGTERM - 1) & 1:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)


def until_says(process: subprocess.Popen[bytes], line: bytes) -> None:
    """Wait until a process prints a line."""
    assert process.stdout is not None
    while (said := process.stdout.readline()) != line + b"\n":
        assert said, process.communicate()[1]


def interrupt(process: subprocess.Popen[bytes], signals: Sequence[int], *, apart: float = 0.003) -> Ended:
    """Send signals, some seconds apart, and wait for the end; a process that goes on for 30 seconds is killed."""
    began = time.monotonic()
    for number in signals:
        process.send_signal(number)  # Nothing is sent to one that has ended.
        time.sleep(apart)
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    return Ended(process.returncode, time.monotonic() - began, out, err)


# Of a batch there are no seconds.
_TIMED = re.compile(rb'"(run_timestamp|duration_seconds|seconds)": ("[^"]*"|null|[\d.e+-]+)')


def run_files(folder: Path) -> dict[str, bytes]:
    """Read the run files of a folder, by name, without time stamps and durations."""
    found = {path.name: _TIMED.subn(b"", path.read_bytes()) for path in sorted(folder.glob("[!._]*.json"))}
    assert all(times >= 2 for _, times in found.values())
    return {name: content for name, (content, _) in found.items()}


def results(output: Path, benchmark: str) -> dict[str, bytes]:
    """Read what a run of a benchmark made, by name, without time stamps and durations."""
    if benchmark == "attunebench":
        return run_files(output)
    made = output / "vendor_model"
    return {name: _TIMED.sub(b"", (made / name).read_bytes()) for name in ("results.jsonl", "summary.json")}


def recorded(output: Path, benchmark: str) -> int:
    """Count the responses in the cache file of a run."""
    cache = output / ("" if benchmark == "attunebench" else "vendor_model") / ".cache.jsonl"
    return cache.read_bytes().count(b"\n") if cache.exists() else 0
