"""What a cached response is good for: the same request in every part, and no other."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from slow_cases import slow_after

from attune_bench.runner import Call, Complete, Decoding, Endpoint, Job, Meter
from attune_bench.runner.cache import Cache
from attune_bench.runner.cached import CachedClient
from attune_bench.runner.client import Client
from attune_data.record import Record

CALL = Call("turn-1/draft", "m", "model", ({"role": "user", "content": "Hello"},), {}, "draft")
DECODING = Decoding(0.0, None, 100)


async def _never(_complete: Complete) -> Record:
    raise AssertionError


JOB = Job(
    unit_id="c1",
    model="m",
    condition=None,
    repeat=1,
    file_name="c1.json",
    decoding={"model": DECODING, "judge": DECODING},
    models=("m",),
    calls=1,
    cache_inputs={"mode": "default", "prompt_hash": "p", "codebook_hash": "b"},
    file_inputs={},
    recorded={},
    make=_never,
)
PARTS: dict[str, Any] = {"call": CALL, "attempt": 0, "job": JOB}


def decoded(decoding: Decoding) -> Job:
    return replace(JOB, decoding={"model": decoding, "judge": decoding})


CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "what the file depends on alone": {"job": replace(JOB, file_inputs={"content": "x"}, model="n", condition="o")},
    "the question": {"call": replace(CALL, id="turn-2/draft")},
    "the model": {"call": replace(CALL, model="other")},
    "the role": {"call": replace(CALL, role="judge")},
    "the messages": {"call": replace(CALL, messages=({"role": "user", "content": "Hello you"},))},
    "the schema": {"call": replace(CALL, schema={"type": "string"})},
    "the attempt": {"attempt": 1},
    "the temperature": {"job": decoded(Decoding(0.5, None, 100))},
    "the seed": {"job": decoded(Decoding(0.0, 1, 100))},
    "the length": {"job": decoded(Decoding(0.0, None, 101))},
    "the unit": {"job": replace(JOB, unit_id="c2")},
    "the mode": {"job": replace(JOB, cache_inputs={**JOB.cache_inputs, "mode": "verbose"})},
    "the prompts": {"job": replace(JOB, cache_inputs={**JOB.cache_inputs, "prompt_hash": "q"})},
    "the codebook": {"job": replace(JOB, cache_inputs={**JOB.cache_inputs, "codebook_hash": "d"})},
}


def ask(server: ModelServer, cache_file: Path, *asked: dict[str, Any], provider: str = "openai-compatible") -> Meter:
    """Request one after another; return the meter."""

    async def each() -> Meter:
        meter = Meter(1, 2)
        async with Client(Endpoint(provider, server.url)) as client, Cache(cache_file) as cache:
            cached = CachedClient({"model": client, "judge": client}, cache, meter)
            for parts in asked:
                await cached.request(**parts)
            assert cached.stopped is None
        return meter

    return asyncio.run(each())


@pytest.mark.parametrize("changed", slow_after(6, CHANGES))
def test_a_response_is_good_for_its_own_request_only(changed: str, tmp_path: Path) -> None:
    same = changed in ("nothing", "what the file depends on alone")
    with ModelServer() as server:
        ask(server, tmp_path / "cache", PARTS, PARTS | CHANGES[changed])
        again = ask(server, tmp_path / "cache", PARTS | CHANGES[changed], PARTS)
        assert server.calls == (1 if same else 2)
    assert (again.responses, again.requested, again.earlier, again.tokens) == (2, 0, 2, 0)
    assert ", 2 of them from before, 0 tokens" in again.text()


def test_a_response_is_good_for_its_own_provider_only(tmp_path: Path) -> None:
    with ModelServer() as server:
        ask(server, tmp_path / "cache", PARTS)
        ask(server, tmp_path / "cache", PARTS, provider="prime")
        assert server.calls == 2


def test_a_seed_is_another_for_what_is_asked_once_more(tmp_path: Path) -> None:
    with ModelServer() as server:
        job = decoded(Decoding(None, 7, 100))
        ask(server, tmp_path / "cache", *({"call": CALL, "attempt": n, "job": job} for n in (0, 1)))
        assert [body["seed"] for body in server.bodies] == [7, 8]


def test_each_of_several_samples_has_a_seed_and_an_answer_of_its_own(tmp_path: Path) -> None:
    with ModelServer() as server:
        job = decoded(Decoding(None, 7, 100))
        samples = [replace(CALL, id=f"q/{n}", sample=n) for n in range(3)]
        given = [{"call": one, "attempt": 0, "job": job} for one in samples]
        ask(server, tmp_path / "cache", *given)
        ask(server, tmp_path / "cache", *given)
        assert [body["seed"] for body in server.bodies] == [7, 8, 9]
