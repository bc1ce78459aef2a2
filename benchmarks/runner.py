"""Runs of 200 conversations against a server in a process of its own, 32 calls at a time.

    python benchmarks/runner.py

Prints each figure with its bound, and exits with 1 where one does not hold. At a latency of 500 ms the rate is that
of the time in which 32 calls are ready, from the first answers until only 32 conversations are left; no client
can be faster than 32 calls in 500 ms. At none it is given as a ratio to a loop that sends the same bodies
with bare httpx2 and keeps nothing.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from attune_bench.benchmarks.attunebench.flow import planned_calls
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings
from attune_bench.benchmarks.attunebench.task import TASK
from attune_bench.runner import Call, Meter, RunOptions, endpoint, run_sync
from attune_data import Conversation
from attune_data.attunebench.synthetic.generator import conversations

SERVER = Path(__file__).parents[1] / "tests" / "helpers" / "model_server.py"
CONVERSATIONS = 200
CONCURRENCY = 32
LATENCY = 0.5
LEAST_SHARE = 0.85
SETTINGS = AttuneBenchSettings("vendor/model", judges=("vendor/judge",))


@contextmanager
def served(latency: float) -> Iterator[str]:
    """Serve in a process of its own."""
    command = [sys.executable, str(SERVER), f"--latency={latency}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        server.communicate()


def run(data: list[Conversation], url: str) -> list[tuple[float, int, int]]:
    """Run; return the time, the responses and the conversations done, twice a second."""
    seen: list[tuple[float, int, int]] = []

    def watch(meter: Meter) -> None:
        seen.append((time.perf_counter(), meter.requested, meter.done))

    with TemporaryDirectory() as folder:
        options, server = RunOptions(concurrency=CONCURRENCY), endpoint("openai-compatible", base_url=url)
        outcome = run_sync(TASK, data, SETTINGS, server, output=folder, options=options, watch=watch)
    assert outcome.finished == len(data), outcome.skipped[:1]
    return seen


def _body(call: Call) -> dict[str, Any]:
    schema = {"name": call.schema_name, "strict": True, "schema": call.schema}
    wanted = {"type": "json_schema", "json_schema": schema}
    return {"model": call.model, "messages": list(call.messages), "response_format": wanted}


async def bare(data: list[Conversation], url: str) -> float:
    """Send the bodies of the same calls in a plain loop; return the rate."""
    calls = [call for conversation in data for call in planned_calls(conversation, SETTINGS)]
    bodies = iter([_body(call) for call in calls])
    limits = httpx2.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    async with httpx2.AsyncClient(limits=limits, trust_env=False) as client:

        async def work() -> None:
            for body in bodies:
                answer = await client.post(f"{url}/chat/completions", content=json.dumps(body).encode())
                assert json.loads(answer.content)["choices"]

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
        return len(calls) / (time.perf_counter() - began)


def main() -> int:
    """Measure and print."""
    data = conversations(CONVERSATIONS, seed=1)
    with served(0.0) as url:
        seen = run(data, url)
        rate = seen[-1][1] / (seen[-1][0] - seen[0][0])
        plain = asyncio.run(bare(data, url))
    print(f"no latency: {rate:.0f} calls/s, {rate / plain:.2f} of {plain:.0f} with bare httpx2")
    with served(LATENCY) as url:
        seen = run(data, url)
    ready = [entry for entry in seen if entry[1] and entry[2] <= CONVERSATIONS - CONCURRENCY]
    (began, first, _), (ended, last, _) = ready[0], ready[-1]
    rate, most = (last - first) / (ended - began), CONCURRENCY / LATENCY
    print(f"{LATENCY * 1000:.0f} ms: {rate:.1f} calls/s, {rate / most:.3f} of {most:.0f} (at least {LEAST_SHARE})")
    return int(rate / most < LEAST_SHARE)


if __name__ == "__main__":
    sys.exit(main())
