"""What every request is held to: host, origin, size, time and number; and the headers of every response."""

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("attune_bench.annotate")
"""One line a request: method, route, status and time; never a secret, an address's answers or a text."""

COOKIE = "attune"
"""The name of the cookie with the secret of a personal link."""

ADMIN_COOKIE = "attune_admin"
"""The name of the cookie with the secret of the administrator's link."""

HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # With no-referrer a browser would send the origin of a form as null.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "x-robots-tag": "noindex, nofollow",
    "cache-control": "no-store",
}
"""The headers of every response."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one browser may send.

    Attributes
    ----------
    body : int
        The most bytes of a request.
    body_seconds : float
        The most seconds for the whole of a request to arrive.
    per_link : float
        Requests a second of one personal link, ten times as many at once.
    per_address : float
        Requests a second of one address, ten times as many at once; a class of people may share an address.
    strangers : float
        Requests a second of one address that are answered by a refusal, ten times as many at once; then the address
        gets no answer without a link.
    """

    body: int = 128 * 1024
    body_seconds: float = 20.0
    per_link: float = 10.0
    per_address: float = 300.0
    strangers: float = 1.0


class Rate:
    """How many requests each of many keys may make: so many a second, ten times as many at once.

    Parameters
    ----------
    per_second : float
        Of one key.
    most_keys : int
        Of the keys that are remembered; the key that was used least recently is forgotten first.
    """

    def __init__(self, per_second: float, most_keys: int = 100_000) -> None:
        self._rate = per_second
        self._most = most_keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, count: int = 1) -> float:
        """Count a request; return 0, or the seconds until one is allowed where there are too many.

        With a count of 0 the request is not counted.
        """
        now, full = time.monotonic(), 10 * self._rate
        tokens, at = self._buckets.pop(key, (full, now))
        tokens = min(full, tokens + (now - at) * self._rate)
        missing = max(1 - tokens, 0.0)
        self._buckets[key] = (tokens if missing else tokens - count, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return missing / self._rate


class _TooLargeError(Exception):
    pass


@dataclass(slots=True)
class Guard:
    """An application that lets another have the requests that are in order.

    Parameters
    ----------
    app : application
        The application.
    origin : str
        Where people reach the server, such as ``http://127.0.0.1:8017``; scheme, host and port.
    limits : Limits
        What one browser may send.
    """

    app: App
    origin: str
    limits: Limits = field(default_factory=Limits)
    _links: Rate = field(init=False)
    _addresses: Rate = field(init=False)
    _strangers: Rate = field(init=False)

    def __post_init__(self) -> None:
        self._links = Rate(self.limits.per_link)
        self._addresses = Rate(self.limits.per_address)
        self._strangers = Rate(self.limits.strangers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # No page opens a web socket.
            return
        begun = time.perf_counter()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message.get("headers", ())}
                added = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in own]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        refused = self._refusal(scope)
        if refused:
            await _refuse(sending, *refused)
        else:
            try:
                await self.app(scope, self._bounded(receive), sending)
            except (_TooLargeError, TimeoutError) as error:
                if not status:
                    late = isinstance(error, TimeoutError)
                    await _refuse(sending, 408 if late else 413, "the request took too long" if late else "too large")
        if status in (403, 404):
            self._strangers.wait(_address(scope))
        route = getattr(scope.get("route"), "path", "-")
        LOG.info("%s %s %d %.0f ms", scope["method"], route, status, 1000 * (time.perf_counter() - begun))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and reason where a request is refused unread."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        own = urlsplit(self.origin)
        # Another host than ours is another page that made its own name point to this machine.
        if headers.get("host", "").lower() != own.netloc:
            return 421, "this server has another address; use the link that you were given"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "no page asks for this"
        if scope["method"] == "POST" and headers.get("origin", "").lower() != self.origin:
            return 403, "the form is not one of this server"
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > self.limits.body:
            return 413, "too large"
        secret = cookie(headers.get("cookie", ""))
        link = sha256(secret.encode("latin-1")).hexdigest() if secret else ""
        wait = max(
            self._addresses.wait(_address(scope)),
            self._links.wait(link) if link else self._strangers.wait(_address(scope), 0),
        )
        if wait:
            return 429, f"too many requests; try again in {math.ceil(wait)} s"
        return None

    def _bounded(self, receive: Receive) -> Receive:
        """Return how a request is received: in bytes and seconds that are limited."""
        size, ends = 0, time.monotonic() + self.limits.body_seconds
        complete = False

        async def bounded() -> Message:
            nonlocal size, complete
            if complete:  # What comes now is that the browser leaves.
                return await receive()
            message = await asyncio.wait_for(receive(), max(ends - time.monotonic(), 0.001))
            size += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if size > self.limits.body:
                raise _TooLargeError
            return message

        return bounded


def cookie(header: str) -> str:
    """Return the secret that a browser sends; empty for none."""
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("unknown",))[0])


async def _refuse(send: Send, status: int, reason: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    if status == 429:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{reason}\n".encode()})
