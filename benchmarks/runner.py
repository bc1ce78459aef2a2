"""Runs of 200 conversations against a server in a process of its own, 32 calls at a time.

    PYTHONPATH=tools python benchmarks/runner.py

Prints each figure with its bound, and exits with 1 where one does not hold. At no latency the opponent is a loop that
sends the same bodies with bare httpx2 and keeps nothing. The two are timed in turn; the figure is the median of the
ratios of the pairs, by the time of the processor that a call takes in this process, as other processes do not change
that, and beside it by the clock. At a latency of 500 ms the rate is that of the time in which 32 calls are ready, from
the first answers until only 32 conversations are left; no client can be faster than 32 calls in 500 ms.
"""

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx2
from figures import Figure, report
from synthetic.conversations import conversations

from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings, planned_calls
from attune_bench.runner import Call, Meter, RunOptions, endpoint, run_sync
from attune_data import Conversation

SERVER = Path(__file__).parents[1] / "tests" / "helpers" / "model_server.py"
CONVERSATIONS = 200
CONCURRENCY = 32
LATENCY = 0.5
LEAST_SHARE = 0.85
PAIRS = 5
LEAST_OF_BARE = 0.714
SETTINGS = AttuneBenchSettings("vendor/model", judges=("vendor/judge",))


class Seen(NamedTuple):
    """How far a run is: its clock and processor times in seconds, its responses and its conversations done."""

    clock: float
    processor: float
    calls: int
    done: int

    @classmethod
    def now(cls, calls: int = 0, done: int = 0) -> "Seen":
        """Return what is so now."""
        return cls(time.perf_counter(), time.process_time(), calls, done)


@contextmanager
def served(latency: float) -> Iterator[str]:
    """Serve in a process of its own."""
    command = [sys.executable, str(SERVER), f"--latency={latency}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        server.communicate()


def run(data: list[Conversation], url: str) -> list[Seen]:
    """Run; return how far it was, twice a second, from its beginning to its end."""
    seen: list[Seen] = []

    def watch(meter: Meter) -> None:
        seen.append(Seen.now(meter.requested, meter.done))

    with TemporaryDirectory() as folder:
        options, server = RunOptions(concurrency=CONCURRENCY), endpoint("openai-compatible", base_url=url)
        outcome = run_sync(TASK, data, SETTINGS, server, output=folder, options=options, watch=watch)
    assert outcome.finished == len(data), outcome.skipped[:1]
    return seen


def _body(call: Call) -> dict[str, Any]:
    schema = {"name": call.schema_name, "strict": True, "schema": call.schema}
    wanted = {"type": "json_schema", "json_schema": schema}
    return {"model": call.model, "messages": list(call.messages), "response_format": wanted}


async def bare(data: list[Conversation], url: str) -> list[Seen]:
    """Send the bodies of the same calls in a plain loop; return its beginning and its end."""
    calls = [call for conversation in data for call in planned_calls(conversation, SETTINGS)]
    bodies = iter([_body(call) for call in calls])
    limits = httpx2.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    async with httpx2.AsyncClient(limits=limits, trust_env=False) as client:

        async def work() -> None:
            for body in bodies:
                answer = await client.post(f"{url}/chat/completions", content=json.dumps(body).encode())
                assert json.loads(answer.content)["choices"]

        began = Seen.now()
        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
        return [began, Seen.now(len(calls))]


def a_call(seen: list[Seen]) -> tuple[float, float]:
    """Return the processor and the clock time of a call, in microseconds."""
    first, last = seen[0], seen[-1]
    each = 1e6 / last.calls
    return each * (last.processor - first.processor), each * (last.clock - first.clock)


def figures() -> list[Figure]:
    """Measure."""
    gc.set_threshold(400_000, 20, 20)  # As the command line has it.
    data = conversations(CONVERSATIONS, seed=1)
    with served(0.0) as url:
        run(data[:2], url)  # What is imported at the first call is no part of either.
        pairs = [(a_call(run(data, url)), a_call(asyncio.run(bare(data, url)))) for _ in range(PAIRS)]
    of_bare = median(plain[0] / ours[0] for ours, plain in pairs)
    by_clock = median(plain[1] / ours[1] for ours, plain in pairs)
    ours, plain = (median(pair[which][0] for pair in pairs) for which in (0, 1))
    print(
        f"no latency: {by_clock:.2f} of bare httpx2 by the clock; "
        f"{ours:.0f} us of the processor a call, {plain:.0f} with bare httpx2",
        file=sys.stderr,
    )
    with served(LATENCY) as url:
        seen = run(data, url)
    ready = [entry for entry in seen if entry.calls and entry.done <= CONVERSATIONS - CONCURRENCY]
    began, ended = ready[0], ready[-1]
    share = (ended.calls - began.calls) / (ended.clock - began.clock) / (CONCURRENCY / LATENCY)
    return [
        Figure("calls a second of processor time, against bare httpx2", of_bare, LEAST_OF_BARE, at_least=True),
        Figure(f"calls at {LATENCY * 1000:.0f} ms, against all that are possible", share, LEAST_SHARE, at_least=True),
    ]


if __name__ == "__main__":
    sys.exit(report(figures()))
