"""How often, after what waits and in what form a call is sent."""

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from model_server import Json, ModelServer, answer_to, reply, said

from attune_bench.runner import Call, CallFailedError, Endpoint, RunOptions, client
from attune_bench.runner.calls import Decoding, ProviderError, Response
from attune_bench.runner.client import Client

BUSY = reply("429 Too Many Requests", "")
BROKEN = reply("500 Internal Server Error", "")


def call(content: str = "Hello") -> Call:
    return Call("post", "m", "model", ({"role": "user", "content": content},), {}, "post")


def ask(
    server: ModelServer, *contents: str, provider: str = "openai-compatible", decoding: Decoding | None = None
) -> list[Any]:
    """Make calls one after another; return what came of each."""
    kept: list[Response] = []

    async def keep(answer: Response) -> None:
        kept.append(answer)

    async def each() -> list[Any]:
        came: list[Any] = []
        async with Client(Endpoint(provider, server.url), RunOptions(call_timeout=30.0)) as asked:
            for content in contents:
                try:
                    came.append(await asked.request(call(content), decoding or Decoding(None, None, 10), keep))
                except CallFailedError as error:
                    came.append(str(error))
        return came

    came = asyncio.run(each())
    assert kept == [one for one in came if isinstance(one, Response)]
    return came


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return what the client waits between tries, of which no time passes."""
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(client, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": note}))
    return waited


def test_six_tries_after_ever_longer_waits_that_differ(waits: list[float]) -> None:
    with ModelServer(lambda _number, _body: BROKEN) as server:
        (failed,) = ask(server, "a")
        assert server.calls == 6
    assert "status 500" in failed
    # Doubled from a quarter of a second, each by half at most less, so that calls do not come back together.
    shares = [wait / (0.25 * 2**n) for n, wait in enumerate(waits, 1)]
    assert len(shares) == 5
    assert all(0.5 <= share <= 1 for share in shares)
    assert len(set(shares)) > 1


def test_a_busy_server_is_asked_more_than_six_times(waits: list[float]) -> None:
    with ModelServer(lambda number, _body: BUSY if number < 10 else None) as server:
        (answer,) = ask(server, "a")
        assert server.calls == 10
    assert isinstance(answer, Response)
    assert max(waits) <= 30


def test_a_wait_that_is_asked_for_is_kept(waits: list[float]) -> None:
    wait = reply("503 Service Unavailable", "", "Retry-After: 7")
    with ModelServer(lambda number, _body: wait if number == 1 else None) as server:
        ask(server, "a")
    assert waits == [7.0]


@pytest.mark.usefixtures("waits")
def test_eight_failures_in_a_row_are_the_end_and_an_answer_between_them_is_not() -> None:
    with ModelServer(lambda _number, body: None if "good" in json.dumps(body) else BROKEN) as server:
        came = ask(server, *["bad"] * 7, "good", *["bad"] * 7, "good")
        assert [isinstance(one, Response) for one in came] == [*[False] * 7, True] * 2
        sent = server.calls
        came = ask(server, *["bad"] * 8, "good")
        assert server.calls == sent + 8 * 6
    assert "gave up on this server" in came[8]


@pytest.mark.parametrize(("concurrency", "connections"), [(1, 1), (4, 4), (50, 10)])
def test_as_many_connections_are_made_as_calls_are_under_way_at_once(concurrency: int, connections: int) -> None:
    async def keep(_answer: Response) -> None:
        pass

    async def ask_in_waves(server: ModelServer) -> None:
        async with Client(Endpoint("openai-compatible", server.url), RunOptions(concurrency=concurrency)) as asked:
            for _ in range(3):
                calls = (asked.request(call(str(n)), Decoding(None, None, 10), keep) for n in range(10))
                await asyncio.gather(*calls)

    # The calls of a wave begin together, as far as there are places; those after them need no further connection.
    with ModelServer() as server:
        asyncio.run(ask_in_waves(server))
        assert (server.calls, server.connections) == (30, connections)


@pytest.mark.usefixtures("waits")
def test_a_connection_that_broke_is_made_anew() -> None:
    with ModelServer(lambda number, _body: "reset" if number == 2 else None) as server:
        assert all(isinstance(answer, Response) for answer in ask(server, *"abcd"))
        assert (server.calls, server.connections) == (5, 2)


def test_a_connection_that_the_server_ended_is_not_used_again(waits: list[float]) -> None:
    asked = 0

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"}]")  # of the messages
        writer.write(said("Yes."))
        writer.close()

    async def keep(_answer: Response) -> None:
        await asyncio.sleep(0.05)  # until the end of the connection is known

    async def each() -> None:
        async with await asyncio.start_server(answer_once, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            async with Client(Endpoint("openai-compatible", url)) as client_of_it:
                for content in "abc":
                    await client_of_it.request(call(content), Decoding(None, None, None), keep)

    asyncio.run(each())
    assert (asked, waits) == (3, [])


@pytest.mark.parametrize("proxy", ["socks5://ann:secret@127.0.0.1:1", "gopher://ann:secret@127.0.0.1:1"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setitem(sys.modules, "socksio", None)
    server = Endpoint("openai-compatible", "https://models.example/v1")
    with pytest.raises(ProviderError, match=r"^the proxy in HTTPS_PROXY.*expected http://HOST:PORT") as raised:
        Client(server)
    assert "secret" not in str(raised.value)
    assert raised.value.__suppress_context__


def test_a_proxy_is_not_asked_for_a_server_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer() as server:
        assert isinstance(ask(server, "a")[0], Response)


@pytest.mark.parametrize(
    ("provider", "own"),
    [
        ("openai-compatible", {"max_tokens": 10}),
        ("prime", {"max_tokens": 10}),
        ("openai", {"max_completion_tokens": 10}),
        ("openrouter", {"max_tokens": 10, "usage": {"include": True}}),
    ],
)
def test_what_each_provider_is_sent(provider: str, own: Json) -> None:
    common = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    with ModelServer() as server:
        ask(server, "a", provider=provider)
        ask(server, "a", provider=provider, decoding=Decoding(0.0, 0, 10))
        assert server.bodies == [common | own, common | own | {"temperature": 0.0, "seed": 0}]


def test_an_answer_beside_an_error_is_an_answer() -> None:
    def both(_number: int, body: Json) -> bytes:
        answered = json.loads(said(answer_to(body)).partition(b"\r\n\r\n")[2])
        return reply("200 OK", json.dumps({**answered, "error": {"code": 502, "message": "late"}}))

    with ModelServer(both) as server:
        (answer,) = ask(server, "a")
        assert server.calls == 1
    assert isinstance(answer, Response)
