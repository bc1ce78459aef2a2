"""A connection of `httpx2` to a server: HTTP/1.1 of `h11` over the streams of asyncio."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from ssl import SSLContext

import h11
import httpx2

_LONGEST_HEAD = 100_000  # bytes
_MOST_AT_ONCE = 64 * 1024  # bytes
_NEXT_ADDRESS = 0.25  # seconds after which another address of a host is tried too
_LONGEST_IDLE = 5.0  # seconds, after which servers may end a connection


class Connection(httpx2.AsyncBaseTransport):
    """A transport of one connection to one server, for one request at a time.

    The transport that `httpx2` has takes three times the processor time for a request: its pool examines its
    connections before and after each, and it serves several kinds of event loops.

    Parameters
    ----------
    url : httpx2.URL
        The server.
    context : SSLContext
        For TLS.
    """

    def __init__(self, url: httpx2.URL, context: SSLContext) -> None:
        context.set_alpn_protocols(["http/1.1"])
        is_secure = url.scheme == "https"
        self._host = url.raw_host.decode()
        self._port: int = url.port or (443 if is_secure else 80)
        self._context = context if is_secure else None
        self._is_open = False
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._http: h11.Connection
        self._expires = 0.0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, over a new connection where the last one ended."""
        if not self._is_usable():
            await self._open()
        target = request.extensions.get("target", request.url.raw_path)
        content = await request.aread()
        try:
            head = h11.Request(method=request.method, target=target, headers=request.headers.raw)
            parts = [self._http.send(part) or b"" for part in (head, h11.Data(data=content), h11.EndOfMessage())]
            self._writer.write(b"".join(parts))
            with suppress(OSError):  # A server may refuse a request before it has read all of it.
                await self._writer.drain()
            while not isinstance(event := await self.next_event(), h11.Response):
                pass  # an informational response
        except BaseException:
            await self.aclose()
            raise
        return httpx2.Response(event.status_code, headers=event.headers.raw_items(), stream=_Body(self))

    def _is_usable(self) -> bool:
        has_ended = not self._is_open or self._writer.is_closing() or self._reader.at_eof()
        return not has_ended and asyncio.get_running_loop().time() < self._expires

    async def _open(self) -> None:
        await self.aclose()
        try:
            self._reader, self._writer = await asyncio.open_connection(
                self._host, self._port, ssl=self._context, happy_eyeballs_delay=_NEXT_ADDRESS
            )
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from error
        self._http = h11.Connection(h11.CLIENT, _LONGEST_HEAD)
        self._is_open = True

    async def next_event(self) -> object:
        """Return what comes next of a response."""
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_MOST_AT_ONCE))
        except h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        except OSError as error:
            raise httpx2.ReadError(str(error)) from error
        return event

    async def end_response(self) -> None:
        """Prepare for the next request; close the connection where the response did not end, or ended it."""
        if self._http.our_state is self._http.their_state is h11.DONE and not self._http.trailing_data[0]:
            self._http.start_next_cycle()
            self._expires = asyncio.get_running_loop().time() + _LONGEST_IDLE
        else:
            await self.aclose()

    async def aclose(self) -> None:
        """Close the connection."""
        if self._is_open:
            self._is_open = False
            self._writer.transport.abort()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._connection.next_event(), h11.Data):
            yield bytes(event.data)

    async def aclose(self) -> None:
        await self._connection.end_response()
