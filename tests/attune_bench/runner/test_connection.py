"""What a connection makes of the ways in which servers answer."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from model_server import reply

from attune_bench.runner.connection import Connection

YES = reply("200 OK", "Yes.")
CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""A certificate for localhost, signed by itself, and its key."""


def ask(
    answer: bytes,
    *,
    requests: int = 2,
    content: bytes = b"{}",
    ends: bool = False,
    secure: bool = False,
    context: Callable[[], ssl.SSLContext] = lambda: ssl.create_default_context(cafile=CERTIFICATE),
) -> tuple[list[tuple[int, str]], int]:
    """Make requests one after another; return status and text of each response, and how many connections it took."""
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len(content))
                writer.write(answer)
                if ends:
                    return
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async def each() -> list[tuple[int, str]]:
        own: dict[str, Any] = {}
        if secure:
            own["ssl"] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            own["ssl"].load_cert_chain(CERTIFICATE)
        async with await asyncio.start_server(serve, "127.0.0.1", 0, **own) as server:
            url = httpx2.URL(
                scheme="https" if secure else "http",
                host="localhost",
                port=server.sockets[0].getsockname()[1],
                path="/",
            )
            async with httpx2.AsyncClient(transport=Connection(url, context())) as http:
                found = [await http.post(url, content=content) for _ in range(requests)]
                return [(one.status_code, one.text) for one in found]

    return asyncio.run(each()), connections


@pytest.mark.parametrize(
    ("answer", "connections"),
    [
        (YES, 1),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nYe\r\n2\r\ns.\r\n0\r\n\r\n", 1),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" + YES, 1),
        (reply("200 OK", "Yes.", "Connection: close"), 2),
        (YES.replace(b"HTTP/1.1", b"HTTP/1.0"), 2),
        (YES + reply("408 Request Timeout", ""), 2),
    ],
    ids=["length", "chunks", "informational", "close", "old", "more than was asked for"],
)
def test_a_connection_is_used_again_where_it_can_be(answer: bytes, connections: int) -> None:
    assert ask(answer) == ([(200, "Yes.")] * 2, connections)


def test_an_answer_that_lasts_as_long_as_the_connection() -> None:
    assert ask(b"HTTP/1.1 200 OK\r\n\r\nYes.", ends=True) == ([(200, "Yes.")] * 2, 2)


@pytest.mark.parametrize("answer", [b"SSH-2.0-server\r\n\r\n", b"", YES[:-1], YES[:20]])
def test_no_answer_of_the_protocol(answer: bytes) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(answer, ends=True)


def test_a_request_that_is_larger_than_what_is_sent_at_once() -> None:
    assert ask(YES, content=bytes(5_000_000)) == ([(200, "Yes.")] * 2, 1)


def test_a_secure_connection() -> None:
    assert ask(YES, secure=True) == ([(200, "Yes.")] * 2, 1)


def test_a_certificate_that_nobody_trusts() -> None:
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(YES, secure=True, context=ssl.create_default_context)
