"""A connection to a server for `httpx2`, without its pool."""

from collections.abc import AsyncIterator
from functools import partial
from ssl import SSLContext

import httpcore2
import httpx2

ERRORS = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)
"""What a connection raises; `httpx2` has errors of the same names for its own transport."""


class Connection(httpx2.AsyncBaseTransport):
    """A transport of one connection, for one request at a time.

    The pool of `httpx2` examines its connections before and after each request, which takes a fifth of its time.

    Parameters
    ----------
    url : str
        The URL of all requests; another path is an extension of a request, its ``target``.
    context : SSLContext
        For TLS.
    """

    def __init__(self, url: str, context: SSLContext) -> None:
        self._url = httpcore2.URL(url)
        expiry = httpx2.Limits().keepalive_expiry
        self._new = partial(httpcore2.AsyncHTTPConnection, self._url.origin, context, expiry)
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
