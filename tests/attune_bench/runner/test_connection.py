"""What a connection makes of the ways in which servers answer."""

import asyncio
import shutil
import subprocess
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext, create_default_context

import httpcore2
import httpx2
import pytest
from model_server import reply

from attune_bench.runner.connection import Connection

YES = reply("200 OK", "Yes.")
OPENSSL = shutil.which("openssl") or ""


def ask(
    answer: bytes,
    *,
    content: bytes = b"{}",
    ends: bool = False,
    secure: tuple[Path, Path] | None = None,
    context: SSLContext | None = None,
) -> tuple[list[tuple[int, str]], int]:
    """Make two requests in turn; return status and text of each response, and how many connections they took.

    Where a certificate and its key are given, the connections are secure.
    """
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
        own = None
        if secure is not None:
            own = SSLContext(PROTOCOL_TLS_SERVER)
            own.load_cert_chain(*secure)
        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=own) as server:
            url = f"http{'s' * (own is not None)}://localhost:{server.sockets[0].getsockname()[1]}/"
            async with httpx2.AsyncClient(transport=Connection(url, context or create_default_context())) as http:
                found = [await http.post(url, content=content) for _ in range(2)]
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
    ],
    ids=["length", "chunks", "informational", "close", "old"],
)
def test_a_connection_is_used_again_where_it_can_be(answer: bytes, connections: int) -> None:
    assert ask(answer) == ([(200, "Yes.")] * 2, connections)


def test_an_answer_that_lasts_as_long_as_the_connection() -> None:
    assert ask(b"HTTP/1.1 200 OK\r\n\r\nYes.", ends=True) == ([(200, "Yes.")] * 2, 2)


@pytest.mark.parametrize("answer", [b"SSH-2.0-server\r\n\r\n", b"", YES[:-1], YES[:20]])
def test_no_answer_of_the_protocol(answer: bytes) -> None:
    with pytest.raises(httpcore2.RemoteProtocolError):
        ask(answer, ends=True)


def test_a_request_that_is_larger_than_what_is_sent_at_once() -> None:
    assert ask(YES, content=bytes(5_000_000)) == ([(200, "Yes.")] * 2, 1)


def test_what_comes_after_an_answer_is_not_the_next_answer() -> None:
    told = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(YES)
        if not told.is_set():
            await asyncio.sleep(0.02)
            writer.write(reply("408 Request Timeout", "Late.", "Connection: close"))
            await writer.drain()
            told.set()
        writer.close()

    async def each() -> list[str]:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            async with httpx2.AsyncClient(transport=Connection(url, create_default_context())) as http:
                first = await http.post(url, content=b"{}")
                await told.wait()
                await asyncio.sleep(0.05)  # until it has come
                return [first.text, (await http.post(url, content=b"{}")).text]

    assert asyncio.run(each()) == ["Yes.", "Yes."]


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".invalid"])
def test_a_name_that_no_host_can_have(host: str) -> None:
    async def each() -> None:
        async with httpx2.AsyncClient(transport=Connection(f"http://{host}/", create_default_context())) as http:
            await http.get(f"http://{host}/")

    with pytest.raises(httpcore2.ConnectError):
        asyncio.run(each())


@pytest.mark.skipif(not OPENSSL, reason="makes a certificate with openssl")
def test_a_secure_connection(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost"
    files = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([OPENSSL, *made.split(), *files], check=True, capture_output=True)
    trusting = create_default_context(cafile=certificate)
    assert ask(YES, secure=(certificate, key), context=trusting) == ([(200, "Yes.")] * 2, 1)
    assert ask(YES, secure=(certificate, key), context=trusting, ends=True) == ([(200, "Yes.")] * 2, 2)
    with pytest.raises(httpcore2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(YES, secure=(certificate, key))
