"""What every request is held to: host, origin, size, time and number; and the headers of every response."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from traceback import extract_tb
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request

from attune_bench.annotate import LOG
from attune_bench.annotate.store import hashed

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def cookie(origin: str, *, administrator: bool = False) -> str:
    """Return the name of the cookie with the secret of a link.

    Under https no other host of the domain can set a person's cookie; under http, where all ports of a machine share
    their cookies, each port has its own.

    Examples
    --------
    >>> cookie("https://study.example.org")
    '__Host-attune'
    >>> cookie("http://127.0.0.1:8017", administrator=True)
    'attune_admin_8017'
    """
    parts = urlsplit(origin)
    if parts.scheme == "https":
        return "attune_admin" if administrator else "__Host-attune"
    port = parts.port or 80
    return f"attune_admin_{port}" if administrator else f"attune_{port}"


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

_METHODS = ("GET", "HEAD", "POST")
_CLOSING = (405, 408, 413, 421, 429, 500)
_FRAMES = 8  # of a failure, in the log
_WELCOME = "attune_bench.welcome"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one browser may send.

    Attributes
    ----------
    body : int
        The most bytes of a request.
    seconds : float
        The most seconds for the whole of a request to arrive.
    per_link : float
        Requests a second of one personal link, ten times as many at once.
    per_address : float
        Requests a second of one address, ten times as many at once; a class of people may share an address.
    strangers : float
        Requests a second of one address that are answered by a refusal, ten times as many at once; then the address
        gets no answer without a link.
    """

    body: int = 512 * 1024
    seconds: float = 20.0
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
        self._buckets: OrderedDict[str | bytes, tuple[float, float]] = OrderedDict()

    def wait(self, key: str | bytes, count: int = 1) -> float:
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


@dataclass(slots=True)
class Guard:
    """An application that lets another have the requests that are in order.

    A failure of the other application is logged as the type of the exception and the lines of code that led to it; its
    message may have an answer in it and is not written anywhere.

    Parameters
    ----------
    app : application
        The application. To tell that a request came by a link that it knows, it calls `welcome`.
    origin : str
        Where people reach the server, such as ``http://127.0.0.1:8017``; scheme, host and port.
    limits : Limits
        What one browser may send.
    """

    app: App
    origin: str
    limits: Limits = field(default_factory=Limits)
    _known: set[bytes] = field(init=False, default_factory=set)
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
                if status in _CLOSING:  # The rest of such a request is not waited for.
                    added.append((b"connection", b"close"))
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        link, address = self._link(scope), _address(scope)
        failure = ""
        if refused := self._refusal(scope, link, address):
            await _refuse(sending, *refused)
        else:
            try:
                await self.app(scope, self._bounded(receive), sending)
            except Exception as error:
                failure = f" {_where(error)}"
                if not status:
                    await _refuse(sending, 500, "something went wrong; what was saved before is kept")
        if secret := scope.get(_WELCOME):
            self._known.add(hashed(secret))
        if status in (403, 404):
            self._strangers.wait(address)
        method = scope["method"] if scope["method"] in _METHODS else "-"
        route = getattr(scope.get("route"), "path", "-")
        LOG.info("%s %s %d %.0f ms%s", method, route, status, 1000 * (time.perf_counter() - begun), failure)

    def _link(self, scope: Scope) -> bytes:
        """Return a hash of the link by which a request comes; empty where the link is not known to be anybody's."""
        cookies = Request(scope).cookies
        secrets = (cookies.get(cookie(self.origin, administrator=which), "") for which in (False, True))
        return next((link for link in map(hashed, secrets) if link in self._known), b"")

    def _refusal(self, scope: Scope, link: bytes, address: str) -> tuple[int, str] | None:
        """Return status and reason where a request is refused unread."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        own = urlsplit(self.origin)
        # Another host than ours is another page that made its own name point to this machine.
        if headers.get("host", "").lower() != own.netloc:
            return 421, "this server has another address; use the link that you were given"
        if scope["method"] not in _METHODS:
            return 405, "no page asks for this"
        if scope["method"] == "POST" and headers.get("origin", "").lower() != self.origin:
            return 403, "the form is not one of this server"
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 20) or int(length) > self.limits.body:
            return 413, "too large"
        # Whoever makes up a link for each request is a stranger all the same.
        known = self._links.wait(link) if link else self._strangers.wait(address, 0)
        if wait := max(self._addresses.wait(address), known):
            return 429, f"too many requests; try again in {math.ceil(wait)} s"
        return None

    def _bounded(self, receive: Receive) -> Receive:
        """Return how a request is received: in bytes and seconds that are limited."""
        size, ends = 0, time.monotonic() + self.limits.seconds
        complete = False

        async def bounded() -> Message:
            nonlocal size, complete
            if complete:  # What comes now is that the browser leaves.
                return await receive()
            try:
                async with asyncio.timeout(ends - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            size += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if size > self.limits.body:
                raise HTTPException(413)
            return message

        return bounded


def welcome(request: Request, secret: str) -> None:
    """Tell the guard that the secret by which a request came is somebody's."""
    request.scope[_WELCOME] = secret


def _address(scope: Scope) -> str:
    """Return the address that a request comes from; of version 6 its network, as a machine has all addresses of it."""
    host = str((scope.get("client") or ("unknown",))[0])
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return host if address.version == 4 else str(ip_network((int(address), 64), strict=False))


def _where(error: BaseException) -> str:
    """Return the type of an exception and the lines of code that led to it, without its message."""
    frames = extract_tb(error.__traceback__)[-_FRAMES:]
    return " < ".join([type(error).__name__, *(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(frames))])


async def _refuse(send: Send, status: int, reason: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    if status == 429:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{reason}\n".encode()})
