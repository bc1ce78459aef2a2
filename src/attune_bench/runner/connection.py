"""A connection to a server for `httpx2`: one of `httpcore2`, without its pool, over the streams of asyncio."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from functools import partial
from ssl import SSLContext
from typing import Any

import httpcore2
import httpx2

ERRORS = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)
"""What a connection raises; `httpx2` has errors of the same names for its own transport."""

_NEXT_ADDRESS = 0.25  # seconds after which another address of a host is tried too


class Connection(httpx2.AsyncBaseTransport):
    """A transport of one connection, for one request at a time; of the timeouts of a request, ``connect`` alone counts.

    The transport of `httpx2` takes twice the processor time: the pool examines its connections before and after each
    request, and anyio serves several kinds of event loops.

    Parameters
    ----------
    url : str
        The URL of all requests; another path is an extension of a request, its ``target``.
    context : SSLContext
        For TLS.
    """

    def __init__(self, url: str, context: SSLContext) -> None:
        self._url = httpcore2.URL(url)
        self._new = partial(
            httpcore2.AsyncHTTPConnection,
            self._url.origin,
            context,
            httpx2.Limits().keepalive_expiry,
            network_backend=_Network(),
        )
        self._connection = self._new()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, by a new connection where the last one ended."""
        if self._connection.is_closed() or self._connection.has_expired():
            await self._connection.aclose()
            self._connection = self._new()
        assert isinstance(request.stream, httpx2.AsyncByteStream)  # noqa: S101 - an asynchronous client sends it
        response = await self._connection.handle_async_request(
            httpcore2.Request(
                request.method,
                self._url,
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx2.Response(response.status, headers=response.headers, stream=_Body(response))

    async def aclose(self) -> None:
        """Close the connection."""
        await self._connection.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._response.aiter_stream()

    async def aclose(self) -> None:
        await self._response.aclose()


class _Network(httpcore2.AsyncNetworkBackend):
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> "_Stream":
        del local_address, socket_options
        try:
            async with asyncio.timeout(timeout):
                streams = await asyncio.open_connection(host, port, happy_eyeballs_delay=_NEXT_ADDRESS)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout from error
        except (OSError, UnicodeError) as error:  # a UnicodeError where a part of the host's name is empty or too long
            raise httpcore2.ConnectError(str(error)) from error
        return _Stream(*streams)


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        del timeout
        try:
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        del timeout
        self._writer.write(buffer)
        try:
            await self._writer.drain()
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._writer.transport.abort()

    async def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "_Stream":
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout from error
        except OSError as error:
            await self.aclose()
            raise httpcore2.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        if info != "is_readable":
            return None
        # It is asked of an idle connection: what the server has sent since the last answer is no answer to a request.
        unread = self._reader._buffer  # type: ignore[attr-defined]
        return bool(unread) or self._reader.at_eof() or self._writer.is_closing()
