"""What an answer of before is good for: the same request in every part, and no other."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from attune_bench.runner import Call, Endpoint
from attune_bench.runner.client import Client, Sampling
from attune_bench.runner.desk import Desk
from attune_bench.runner.journal import Journal
from attune_bench.runner.meter import Meter

CALL = Call("turn-1/draft", "m", "model", ({"role": "user", "content": "Hello"},), {}, "draft")
PARTS: dict[str, Any] = {
    "call": CALL,
    "attempt": 0,
    "sampling": Sampling(0.0, None, 100),
    "conversation_id": "c1",
    "provenance": {"mode": "default", "prompt_hash": "p", "codebook_hash": "b"},
}
CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "the question": {"call": replace(CALL, id="turn-2/draft")},
    "the model": {"call": replace(CALL, model="other")},
    "the role": {"call": replace(CALL, role="judge")},
    "the messages": {"call": replace(CALL, messages=({"role": "user", "content": "Hello you"},))},
    "the schema": {"call": replace(CALL, schema={"type": "string"})},
    "the attempt": {"attempt": 1},
    "the temperature": {"sampling": Sampling(0.5, None, 100)},
    "the seed": {"sampling": Sampling(0.0, 1, 100)},
    "the length": {"sampling": Sampling(0.0, None, 101)},
    "the conversation": {"conversation_id": "c2"},
    "the mode": {"provenance": PARTS["provenance"] | {"mode": "verbose"}},
    "the prompts": {"provenance": PARTS["provenance"] | {"prompt_hash": "q"}},
    "the codebook": {"provenance": PARTS["provenance"] | {"codebook_hash": "d"}},
}


@pytest.mark.parametrize("changed", CHANGES)
def test_an_answer_is_good_for_its_own_request_only(changed: str, tmp_path: Path) -> None:
    async def answer(url: str, *asked: dict[str, Any]) -> None:
        where = Endpoint("local", url)
        async with Client(where) as client, Journal(tmp_path / "journal") as journal:
            desk = Desk({"model": client, "judge": client}, journal, Meter(1, 2))
            for parts in asked:
                await desk.answer(**parts)

    with ModelServer() as server:
        asyncio.run(answer(server.url, PARTS, PARTS | CHANGES[changed]))
        asyncio.run(answer(server.url, PARTS | CHANGES[changed], PARTS))
        assert server.calls == (1 if changed == "nothing" else 2)


def test_a_seed_is_another_for_what_is_asked_once_more(tmp_path: Path) -> None:
    async def answer(url: str) -> None:
        async with Client(Endpoint("local", url)) as client, Journal(tmp_path / "journal") as journal:
            desk = Desk({"model": client}, journal, Meter(1, 1))
            for attempt in (0, 1):
                await desk.answer(**PARTS | {"attempt": attempt, "sampling": Sampling(None, 7, 100)})
            assert desk.stopped is None

    with ModelServer() as server:
        asyncio.run(answer(server.url))
        assert [body["seed"] for body in server.bodies] == [7, 8]
