"""How deep a traceback of a call is: few frames of ours lie between a benchmark and the connection of a call."""

import asyncio
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import httpx2
import pytest
from model_server import ModelServer, reply, talk

import attune_bench
from attune_bench.benchmarks.attunebench.task import TASK as ATTUNEBENCH
from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings
from attune_bench.benchmarks.eibench.task import TASK as EIBENCH
from attune_bench.benchmarks.eibench.task import EIBenchSettings
from attune_bench.runner import Price, RunOptions, endpoint, run_sync
from attune_bench.runner.connection import Connection
from attune_data import Conversation, load_scenarios

SOURCE = Path(attune_bench.__file__).parent
PRICES = {name: Price(1.0, 1.0) for name in ("vendor/model", "judge/one", "vendor/person")}
DEEPEST = 6


def ours(names: Iterator[tuple[str, str]]) -> list[str]:
    return [name for file, name in names if Path(file).is_relative_to(SOURCE)]


def waiting(coroutine: Any) -> Iterator[tuple[str, str]]:
    """Yield file and name of a coroutine and of those that it awaits, outermost first."""
    while (code := getattr(coroutine, "cr_code", None)) is not None:
        assert isinstance(code, CodeType)
        yield code.co_filename, code.co_name
        coroutine = coroutine.cr_await


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[list[str]]]:
    """Give the frames of ours, by the name of a function, between it and the transport, for each request."""
    seen: list[tuple[list[str], list[list[str]]]] = []
    handle = Connection.handle_async_request

    async def note(transport: Connection, request: httpx2.Request) -> httpx2.Response:
        stack = [(frame.filename, frame.name) for frame in traceback.extract_stack()]
        loop = max(n for n, (file, name) in enumerate(stack) if (file, name) == (asyncio.events.__file__, "_run"))
        here = ours(iter(stack[loop:]))
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        seen.append((here, [ours(waiting(task.get_coro())) for task in tasks]))
        return await handle(transport, request)

    monkeypatch.setattr(Connection, "handle_async_request", note)

    def between(name: str) -> list[list[str]]:
        found = []
        for here, others in seen:
            if name in here:
                found.append(here[here.index(name) + 1 :])
            else:
                # It waits in a task of its own for the task that makes the call.
                (chain,) = (chain for chain in others if name in chain)
                found.append(chain[chain.index(name) + 1 :] + here)
        return found

    return between


@pytest.mark.usefixtures("impatient")
def test_between_a_conversation_and_the_transport(
    stacks: Callable[[str], list[list[str]]], five_turns: Conversation, tmp_path: Path
) -> None:
    def fault(number: int, _body: dict[str, Any]) -> bytes | None:
        if number in (3, 4):
            return reply(("429 Too Many Requests", "500 Internal Server Error")[number - 3], "{}")
        return None

    settings = AttuneBenchSettings("vendor/model", judges=("judge/one",))
    with ModelServer(fault) as server:
        where = endpoint("openai-compatible", base_url=server.url)
        options = RunOptions(max_cost=100.0, prices=PRICES)
        outcome = run_sync(ATTUNEBENCH, [five_turns], settings, where, output=tmp_path, options=options)
        assert outcome.finished == 1
        # Retries and calls within a limit of the cost among them.
        assert server.calls >= 26 + 2
        found = stacks("run_conversation")
        assert len(found) == server.calls
    assert max(map(len, found)) <= DEEPEST
    assert {tuple(names) for names in found} == {("ask_planned", "complete", "request", "request", "_post")}


def test_between_an_episode_and_the_transport(stacks: Callable[[str], list[list[str]]], tmp_path: Path) -> None:
    settings = EIBenchSettings("vendor/model", "vendor/person")
    with ModelServer(answer=talk) as server:
        where = endpoint("openai-compatible", base_url=server.url)
        assert run_sync(EIBENCH, load_scenarios("demo")[:2], settings, where, output=tmp_path).finished == 2
    assert {tuple(names) for names in stacks("run_conversation")} == {("complete", "request", "request", "_post")}
