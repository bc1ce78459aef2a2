"""Answers that are streamed: shown as they come, whole in the end, and the key in none of it."""

import asyncio
from time import process_time
from types import SimpleNamespace

import pytest
from model_server import ModelServer, events, reply

from attune_bench.runner import Call, CallFailedError, client
from attune_bench.runner.calls import Decoding, Endpoint, Response, endpoint
from attune_bench.runner.client import Client
from attune_bench.runner.streaming import EventJoiner

KEY = "sk-5f3a9c1b7e2d4a6f8c0b"
CALL = Call("reply", "m", "model", ({"role": "user", "content": "Hello"},))


def ask(server: ModelServer) -> tuple[Response | str, list[str]]:
    """Return the answer, or why there is none, and all that was shown of it."""
    shown: list[str] = []

    async def request() -> Response | str:
        async def keep(_answer: Response) -> None:
            pass

        async with Client(endpoint("local", base_url=server.url, api_key=KEY)) as asked:
            try:
                return await asked.request(CALL, Decoding(None, None, 100), keep, shown.append)
            except CallFailedError as error:
                return str(error)

    return asyncio.run(request()), shown


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pass_over(_seconds: float) -> None:
        pass

    monkeypatch.setattr(client, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": pass_over}))


def stream(*lines: str) -> bytes:
    return reply("200 OK", "".join(lines), kind="text/event-stream")


def test_an_answer_is_shown_while_it_comes_and_is_whole_in_the_end() -> None:
    with ModelServer(answer=lambda _body: "I see. 我明白了。 Tell me more") as server:
        answer, shown = ask(server)
    assert isinstance(answer, Response)
    assert (answer.text, answer.prompt_tokens, answer.finish_reason) == ("I see. 我明白了。 Tell me more", 100, None)
    assert server.bodies[0]["stream"] is True
    assert server.bodies[0]["stream_options"] == {"include_usage": True}
    assert len(shown) > 1
    assert all(answer.text.startswith(text) for text in shown)
    assert "I see. 我明白了。 Tell me " in shown


def test_a_server_that_sends_the_answer_whole_is_understood() -> None:
    whole = b'{"choices": [{"message": {"content": "I see."}, "finish_reason": "stop"}]}'
    with ModelServer(lambda _number, _body: reply("200 OK", whole)) as server:
        answer, shown = ask(server)
    assert isinstance(answer, Response)
    assert (answer.text, shown) == ("I see.", [])


@pytest.mark.usefixtures("no_waits")
def test_a_stream_that_ends_early_or_in_an_error_is_asked_for_again_from_its_beginning() -> None:
    broken = stream(*events("Let me think about")[:2])
    error = stream('data: {"error": {"message": "overloaded", "code": 503}}\n\n')
    with ModelServer(
        lambda number, _body: {1: broken, 2: error}.get(number), answer=lambda _body: "I do see."
    ) as server:
        answer, shown = ask(server)
    assert isinstance(answer, Response)
    assert answer.text == "I do see."
    assert (shown[0], shown[-1]) == ("Let me ", "I do ")
    assert server.calls == 3


def test_a_key_that_a_server_repeats_is_shown_neither_whole_nor_in_part() -> None:
    pieces = ["Your key is ", KEY[:9], KEY[9:], " as sent"]
    lines = [f'data: {{"choices": [{{"delta": {{"content": "{piece}"}}}}]}}\n\n' for piece in pieces]
    with ModelServer(lambda _number, _body: stream(*lines, events("")[0])) as server:
        answer, shown = ask(server)
    assert isinstance(answer, Response)
    assert answer.text == "Your key is [redacted] as sent"
    assert shown[-1] == "Your key is [redacted] as "
    assert all(KEY[:6] not in text for text in shown)


def test_a_long_word_does_not_slow_down_what_comes_after_it() -> None:
    seen: list[str] = []
    joiner = EventJoiner(Endpoint("openai-compatible", "http://localhost/v1"), seen.append)
    begun = process_time()
    for piece in ("x" * 30_000, " ", "and more"):
        joiner.take(events(piece)[0].encode())
    assert process_time() - begun < 2  # A pattern that is tried at each of its characters takes ten times as long.
    assert seen[-1] == "x" * 30_000 + " and "
