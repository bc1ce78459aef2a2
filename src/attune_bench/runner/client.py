"""Requests to a server of the OpenAI protocol: concurrency, timeouts, retries, and what a response says."""

import asyncio
import json
import logging
import math
import random
import re
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Self, get_args
from urllib.parse import urlsplit
from urllib.request import getproxies

from attune_bench.runner.calls import (
    SHORTEST_SECRET,
    Call,
    CallFailedError,
    Decoding,
    Endpoint,
    FinishReason,
    ProviderError,
    Response,
    json_bytes,
)
from attune_bench.runner.cost import Budget, Price, RunOptions
from attune_bench.runner.streaming import EventJoiner, Show
from attune_data.text import sanitize, shortened

LARGEST = 1_000_000
"""The most bytes of a response; a longer response is a fault."""

TOO_LARGE = f"a response of more than {LARGEST:,} bytes"
"""The reason of the fault of a response that is too large."""

_TOO_MANY = 429  # requests
_RETRIED = (408, 409, _TOO_MANY)
_REFUSALS = {401: "does not accept the key", 402: "asks for payment", 404: "knows no such model, or is at another URL"}
# What OpenRouter, LM Studio and others say under the status 400.
_NO_MODEL = re.compile(r"valid model|model.{0,100}(not found|not exist|unknown)|unknown model", re.IGNORECASE)
_OF_CALLS = ("/chat/completions", "/completions", "/models")
_NAMED_MODELS = 10
_MOST_MODELS = 1_000
_LONGEST_LISTING = 10.0  # seconds
_NO_QUOTA = "insufficient_quota"


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong with one try of a call.

    Attributes
    ----------
    reason : str
        What the server did, without secrets.
    status : int
        The HTTP status of the error; 0 where the server gave none.
    retried : bool
        Whether another try may get past it.
    wait : float
        Seconds that the server asked to wait.
    charged : bool
        Whether the try may have been paid for.
    fatal : bool
        Whether the server would refuse every other call too.
    unsent : bool
        Whether there was no connection to send the call by.
    """

    reason: str
    status: int = 0
    retried: bool = False
    wait: float = 0.0
    charged: bool = False
    fatal: bool = False
    unsent: bool = False

    def explained(self) -> str:
        """Return the reason, with what its status says of all calls."""
        return f"{self.reason}; it {_REFUSALS[self.status]}" if self.status in _REFUSALS else self.reason


def _may_lack_model(fault: Fault) -> bool:
    """Tell whether a server may have refused a call as it has no such model."""
    return fault.status == 404 or (fault.status == 400 and _NO_MODEL.search(fault.reason) is not None)


def likely_addresses(url: str) -> list[str]:
    """Return the base URLs of the same host that may have been meant: the URL without the path of a call, with /v1.

    Examples
    --------
    >>> likely_addresses("http://localhost:8000"), likely_addresses("http://localhost:11434/api")
    (['http://localhost:8000/v1'], ['http://localhost:11434/api/v1', 'http://localhost:11434/v1'])
    >>> likely_addresses("http://localhost:8000/v1/chat/completions"), likely_addresses("http://localhost:8000/v1")
    (['http://localhost:8000/v1'], [])
    """
    base = url
    for ending in _OF_CALLS:
        base = base.removesuffix(ending)
    parts = urlsplit(url)
    with_version = base if base.endswith("/v1") else f"{base}/v1"
    found = dict.fromkeys([with_version, f"{parts.scheme}://{parts.netloc}/v1"])
    return [one for one in found if one != url]


def models_text(model: str, known: Sequence[str]) -> str:
    """Return that a server has no such model, and which it has: the nearest ten.

    Examples
    --------
    >>> models_text("gemma-3", ["qwen3:8b", "gemma3:270m"])
    "it has no model 'gemma-3'; did you mean 'gemma3:270m'? It has gemma3:270m, qwen3:8b"
    >>> models_text("m", ["qwen3:8b"])
    "it has no model 'm'; it has qwen3:8b"
    """
    near = get_close_matches(model, known, n=_NAMED_MODELS, cutoff=0)
    meant = f"did you mean {near[0]!r}? It" if get_close_matches(model, near, n=1) else "it"
    more = f" and {len(known) - len(near)} more" if len(near) < len(known) else ""
    return f"it has no model {model!r}; {meant} has {', '.join(near)}{more}"


def read_response(
    data: bytes | bytearray, *, status: int, wait: float, endpoint: Endpoint, price: Price | None
) -> Response | Fault:
    """Read the body of a response.

    Parameters
    ----------
    data : bytes
        The body.
    status : int
        The HTTP status of a failure; 0 for a success.
    wait : float
        Seconds that the server asked to wait.
    endpoint : Endpoint
        The server; its secrets are redacted.
    price : Price, optional
        The price of the model, for a server that does not tell the cost.

    Returns
    -------
    Response or Fault
        A response without a text has an empty one: the model said nothing.
    """
    payload = _json(data)
    status = status or _status_within(payload)
    if status:
        # Before it is shortened, which could leave half of a secret.
        fault = _fault(status, endpoint.redact(_message(payload)), wait)
        # Mostly a 429, but unlike other 429s it does not pass with time.
        if _NO_QUOTA in (_of_error(payload, "code"), _of_error(payload, "type")):
            return replace(fault, reason=f"{fault.reason}; the quota of the key is used up", retried=False, fatal=True)
        return fault
    text = _text(payload)
    if text is None:
        return Fault("a response that is not of the OpenAI protocol", retried=True, charged=True)
    usage = payload.get("usage")
    counted = usage if isinstance(usage, dict) else {}
    prompt, completion = (_amount(counted.get(f"{what}_tokens")) for what in ("prompt", "completion"))
    # No request and no answer that says something is of 0 tokens: who says so did not count.
    prompt, completion = prompt or None, completion if completion or not text else None
    cost = _amount(counted.get("cost"))
    if cost is None and prompt is not None and completion is not None and price is not None:
        cost = price.of(int(prompt), int(completion))
    return Response(
        text=endpoint.redact(text, min_length=SHORTEST_SECRET),
        prompt_tokens=None if prompt is None else int(prompt),
        completion_tokens=None if completion is None else int(completion),
        cost=cost,
        finish_reason=_finish_reason(payload),
    )


def _json(data: bytes | bytearray) -> dict[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def _status_within(payload: Mapping[str, Any]) -> int:
    """Return the status of an error that came as a success, as OpenRouter's do; 0 for none."""
    if not payload.get("error") or payload.get("choices"):
        return 0
    code = _of_error(payload, "code")
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _of_error(payload: Mapping[str, Any], name: str) -> Any:
    """Return the value of an error under a name; the error itself where it is no object."""
    error = payload.get("error")
    return error.get(name) if isinstance(error, dict) else error


def _message(payload: Mapping[str, Any]) -> str:
    """Return what a server says of an error, an empty text for nothing."""
    said = _of_error(payload, "message")
    said = said if isinstance(said, str) else payload.get("message")
    return said.strip() if isinstance(said, str) else ""


def _fault(status: int, said: str, wait: float) -> Fault:
    reason, is_redirect = f"status {status}", 300 <= status < 400
    if is_redirect:
        reason += ", a redirect, which is not followed; give the URL that it leads to"
    elif said:
        reason += f" ({shortened(said, 200)})"
    retried = status in _RETRIED or status >= 500
    return Fault(reason, status, retried=retried, wait=wait, fatal=status in _REFUSALS or is_redirect)


def _choice(payload: Mapping[str, Any]) -> dict[str, Any]:
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _finish_reason(payload: Mapping[str, Any]) -> FinishReason | None:
    """Return why an answer is incomplete, None where nothing says that it is."""
    choice = _choice(payload)
    said = "error" if choice.get("error") else choice.get("finish_reason")
    return next((reason for reason in get_args(FinishReason) if reason == said), None)


def _text(payload: Mapping[str, Any]) -> str | None:
    """Return the text of a response, None where it has none; a model that said nothing said an empty text."""
    message = _choice(payload).get("message")
    if not isinstance(message, dict):
        return "" if _finish_reason(payload) == "error" else None
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else "" if content is None else None


def _amount(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e15 else None


def asked_wait(retry_after: str | None, longest: float) -> float:
    """Return the seconds that a Retry-After asks for, within reason; 0 for none.

    Parameters
    ----------
    retry_after : str or None
        The header: seconds or a date.
    longest : float
        The most seconds to return.

    Examples
    --------
    >>> asked_wait("2.5", longest=60.0), asked_wait("3600", longest=60.0), asked_wait("soon", longest=60.0)
    (2.5, 60.0, 0.0)
    """
    if retry_after is None:
        return 0.0
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            until = parsedate_to_datetime(retry_after)
        except (ValueError, OverflowError):
            return 0.0
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), longest) if math.isfinite(seconds) else 0.0


class Throttle:
    """Places for calls under way.

    Parameters
    ----------
    most : int
        The most calls under way.

    Notes
    -----
    A 429 halves the number of places, once for all calls that were under way then, and delays new calls by the time
    that the server asked for. Each response then adds a part of a place: one place for about as many responses as
    there are places.

    Examples
    --------
    >>> throttle = Throttle(8)
    >>> throttle.too_many(call_number=throttle.now(), wait=0.0)
    >>> throttle.places
    4.0
    """

    def __init__(self, most: int) -> None:
        self.places: float = float(most)
        self._most = most
        self._under_way = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._cut = -1
        self._sent = 0
        self._closed_until = 0.0

    def now(self) -> int:
        """Return the number of calls sent so far, by which `too_many` tells older calls from newer ones."""
        return self._sent

    async def acquire(self, *, first: bool = False) -> int:
        """Wait for a place, in order of arrival or before all others; return the number of the call.

        Whoever has acquired a place must `release` it.
        """
        if self._queue or self._under_way >= int(self.places):
            turn = asyncio.get_running_loop().create_future()
            (self._queue.appendleft if first else self._queue.append)(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self.release()  # The place was given in the same moment.
                raise
        else:
            self._under_way += 1
        try:
            while (wait := self._closed_until - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(wait)
        except asyncio.CancelledError:
            self.release()
            raise
        self._sent += 1
        return self._sent

    def release(self) -> None:
        """Give a place back."""
        self._under_way -= 1
        self._admit()

    def answered(self) -> None:
        """Note that the server took a call."""
        self.places = min(self.places + 1 / self.places, self._most)
        self._admit()

    def too_many(self, *, call_number: int, wait: float) -> None:
        """Note that the server refused the call of a number and asked for a wait in seconds."""
        if wait > 0:
            self._closed_until = max(self._closed_until, asyncio.get_running_loop().time() + wait)
        if call_number > self._cut:
            self.places = max(self.places / 2, 1.0)
            self._cut = self._sent

    def _admit(self) -> None:
        while self._queue and self._under_way < int(self.places):
            turn = self._queue.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)


_TRIES = 6
_TRIES_OF_NO_SERVER = 3
_BACKOFF = 0.25  # seconds, doubled with each try
_LONGEST_WAIT = 60.0
_TOTAL = 5  # times the timeout of one try, for all tries and the waits between them
_DEAD = 8  # calls in a row that failed however often they were tried
_LOGGERS = ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy")
_SCHEMA_REFUSED = (400, 422)  # what servers answer to a schema that they do not take, among other things
_OF_SCHEMA = re.compile("response.?format|schema|structured|grammar|guided", re.IGNORECASE)


class Client:
    """A connection to one endpoint; an asynchronous context.

    Parameters
    ----------
    endpoint : Endpoint
        The server.
    options : RunOptions, optional
        Of the run: the most calls under way, fewer while the server says that they are too many; the seconds for one
        try of a call, from its sending to the last byte of its response; prices, used where the server states no cost.
    budget : Budget, optional
        The limit of the cost.
    shared : asyncio.Semaphore, optional
        Limits the calls under way at this and other endpoints together.

    Attributes
    ----------
    stopped : str or None
        The reason why no more calls are sent, None at first; may be set from outside.

    Notes
    -----
    Responses of status 408, 409, 429 and 5xx, faults of the connection, timeouts and responses that are not of the
    protocol are tried again, six times at most (429 more often, a server of this machine that was never there three
    times), within five times the timeout. Redirects are not followed, as the key would go with them. After a refusal of
    every call (401, 402, 404, a quota that is used up, a redirect), or when eight calls in a row have failed, no more
    are sent; the reason of a 404 names the models that the server lists, or the address at which it lists some. An
    answer that ended early is a response.

    Until the server has answered a call to a model, one call with a schema to the model is under way, so that a refusal
    of every call costs one. Where a call with a schema is refused with 400, 404 or 422, and the server has answered no
    call to the model with a schema of that name before, the reason names ``--free-json``. Where the server says that it
    refuses the schema, it would refuse every such call, and no more calls are sent.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        options: RunOptions | None = None,
        budget: Budget | None = None,
        shared: asyncio.Semaphore | None = None,
    ) -> None:
        import httpx2

        from attune_bench.runner.connection import ERRORS, Connection

        self.endpoint = endpoint
        self.stopped: str | None = None
        self._options = options or RunOptions()
        self._budget = budget or Budget()
        self._shared = shared or asyncio.Semaphore(self._options.concurrency)
        self._throttle = Throttle(self._options.concurrency)
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._begun: set[str] = set()
        self._taken: set[tuple[str, str]] = set()
        self._failures = 0
        self._answered = False
        self._models: list[str] | None = None
        self._other_address = ""
        self._listing = asyncio.Lock()
        is_remote = not endpoint.is_loopback  # A proxy does not reach this machine's own servers.
        has_proxy = is_remote and not getproxies().keys().isdisjoint(("http", "https", "all"))
        context = httpx2.create_ssl_context(trust_env=is_remote)
        url = f"{endpoint.url}/chat/completions"

        def connect() -> httpx2.AsyncClient:
            # A client for each connection: a proxy needs the pool of `httpx2`, which examines all that it has twice for
            # each request.
            return httpx2.AsyncClient(
                headers={"Content-Type": "application/json", "Accept-Encoding": "identity", **dict(endpoint.headers)},
                timeout=httpx2.Timeout(None, connect=self._options.call_timeout),  # A try has a timeout of its own.
                limits=httpx2.Limits(max_connections=1),
                follow_redirects=False,
                trust_env=is_remote,
                verify=context,
                transport=None if has_proxy else Connection(url, context),
            )

        self._connect = connect
        try:
            self._idle = [self._connect()]  # One at once: a proxy that cannot be used is an error before any call.
        except (ImportError, ValueError):
            # Without what httpx2 says, as the address of a proxy may contain a password.
            raise ProviderError(
                "the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY cannot be used; expected http://HOST:PORT"
                " (socks5://HOST:PORT needs the package socksio)"
            ) from None
        self._errors = (httpx2.HTTPError, *ERRORS)
        self._url = httpx2.URL(url)
        # The query may contain a secret; as a part of the URL it would be in httpx2's log.
        self._query = f"?{endpoint.query}" if endpoint.query else ""
        extensions = {"target": f"{urlsplit(endpoint.url).path}/chat/completions{self._query}".encode()}
        # A request of these is built in half the time that `httpx2` takes to merge them with each body anew.
        self._headers = self._idle[0].build_request("GET", self._url).headers.raw
        self._new_request = partial(httpx2.Request, "POST", self._url, extensions=extensions)
        self._stream = httpx2.ByteStream

    async def __aenter__(self) -> Self:
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._redact)
        return self

    def _redact(self, record: logging.LogRecord) -> bool:
        """Redact secrets in log records about a server's headers."""
        record.msg, record.args = self.endpoint.redact(record.getMessage()), ()
        return True

    async def __aexit__(self, *exception: object) -> None:
        try:
            for http in self._idle:
                await http.aclose()
        finally:
            for name in _LOGGERS:
                logging.getLogger(name).removeFilter(self._redact)

    async def request(
        self,
        call: Call,
        decoding: Decoding,
        record: Callable[[Response], Awaitable[None]],
        show: Show | None = None,
    ) -> Response:
        """Request a response, as often as it takes.

        Parameters
        ----------
        call : Call
            The call.
        decoding : Decoding
            The decoding parameters that are sent with the call.
        record : callable
            Records the response; no other call takes the place of this one before that is done.
        show : callable, optional
            Shows the answer while it comes, for which the server is asked to stream it.

        Returns
        -------
        Response
            The response; of an empty text where the model said nothing.

        Raises
        ------
        CallFailedError
            No response came; the text says why and contains no key. `BudgetExceededError` where it may cost too much.
        """
        # All of it in one method: what it awaits shows as one frame in a traceback.
        tries, faults, began, loop = 0, 0, math.inf, asyncio.get_running_loop()
        while True:
            self._check_stopped()
            call_number = await self._throttle.acquire(first=began < math.inf)
            bound: float | None = None
            price: float | None = None
            try:
                async with self._shared, AsyncExitStack() as turn:
                    if call.schema and call.model not in self._begun:
                        await turn.enter_async_context(self._turns[call.model])
                        if call.model in self._begun:
                            await turn.aclose()
                    began = min(began, loop.time())
                    bound, price = await self._budget.reserve(call, decoding.max_tokens), 0.0
                    self._check_stopped()
                    await self._budget.note(bound, charged=True)
                    price = bound  # Also where this is cancelled: the server may go on and charge for it.
                    result = await self._post(call, decoding, show)
                    if isinstance(result, Response):
                        price = bound if result.cost is None else result.cost
                        result = replace(result, bound=bound)
                        await record(result)
                        self._throttle.answered()
                        self._count(call, result)
                        return result
                    # Within the turn, as other calls would be refused meanwhile.
                    result = self._named_refusal(call, await self._named_models(call, result))
                    if not result.charged:
                        price = 0.0
                        await self._budget.note(bound, charged=False)
                    if result.status == _TOO_MANY:
                        self._throttle.too_many(call_number=call_number, wait=result.wait)
            finally:
                self._throttle.release()
                await self._budget.settle(bound, price)
            faults += 1
            tries += result.status != _TOO_MANY
            reason = self._said(result.explained())
            if result.fatal:
                self.stopped = reason
            if not result.retried:
                # One conversation may be too long for the model; that all are tells of the model or the request.
                raise CallFailedError(reason) if self._answered else self._failed(reason)
            wait = result.wait or min(_BACKOFF * 2 ** min(faults, 10), 30.0) * random.uniform(0.5, 1.0)  # noqa: S311
            # Since the first try, as other calls that are tried again may have all places.
            spent = loop.time() - began
            if tries >= self._most_tries(result) or spent + wait > _TOTAL * self._options.call_timeout:
                raise self._failed(f"{reason}; tried for {spent:.0f} s")
            await asyncio.sleep(wait)

    def _most_tries(self, fault: Fault) -> int:
        """Return how often a call is tried: less often where no server was ever there, which is not busy but absent."""
        is_absent = fault.unsent and self.endpoint.is_loopback and not self._answered
        return _TRIES_OF_NO_SERVER if is_absent else _TRIES

    def _check_stopped(self) -> None:
        if self.stopped is not None:
            raise CallFailedError(self.stopped)

    def _count(self, call: Call, response: Response) -> None:
        """Begin to count failures anew, unless the server broke off the answer, which is one of them."""
        self._begun.add(call.model)
        if call.schema:
            self._taken.add((call.model, call.schema_name))
        if response.finish_reason == "error":
            self._failed(self._said("the answer broke off in an error"))
        else:
            self._failures, self._answered = 0, True

    def _failed(self, reason: str) -> CallFailedError:
        self._failures += 1
        if self._failures >= _DEAD and self.stopped is None:
            self.stopped = f"{reason}; gave up on this server after {_DEAD} such calls in a row"
        return CallFailedError(reason)

    def _said(self, what: str) -> str:
        """Return what a server did, on one line, without secrets and without what could drive a terminal."""
        return sanitize(self.endpoint.redact(f"{self.endpoint.url}: {what}"))

    def _named_refusal(self, call: Call, fault: Fault) -> Fault:
        """Return a fault, which names the option where it may be that the server takes no schemas."""
        if not fault.status:  # Silence says nothing, and may last: further calls do not wait for it.
            self._begun.add(call.model)
        names_schema = _OF_SCHEMA.search(fault.reason) is not None
        may_refuse = fault.status in _SCHEMA_REFUSED or (fault.status == 404 and names_schema)
        if not call.schema or not may_refuse or (call.model, call.schema_name) in self._taken:
            return fault
        reason = f"{fault.reason}; where the server takes no JSON schemas, --free-json asks without them"
        return replace(fault, reason=reason, fatal=fault.fatal or names_schema)

    async def _named_models(self, call: Call, fault: Fault) -> Fault:
        """Return a fault, which names the models that the server has where it lacks the model of the call."""
        if not _may_lack_model(fault):
            return fault
        async with self._listing:
            if self._models is None:
                self._models = await self._get_models(self.endpoint.url)
                if not self._models and fault.status == 404:
                    self._other_address = await self._find_address()
        if self._other_address:
            return Fault(f"{fault.reason}; {self._other_address}", fatal=True)
        if not self._models or call.model in self._models:
            return fault
        return Fault(f"{fault.reason}; {models_text(call.model, self._models)}", fatal=True)

    async def _find_address(self) -> str:
        """Return what the address of the server should be, by its list of models or else by how it was written."""
        others = likely_addresses(self.endpoint.url)
        for url in others:
            if await self._get_models(url):
                return f"the address of this server ends in /v1; try {url}"
        is_likely = self.endpoint.url.endswith(_OF_CALLS) or not urlsplit(self.endpoint.url).path
        return f"an address mostly ends in /v1; try {others[0]}" if is_likely else ""

    async def _get_models(self, url: str) -> list[str]:
        """Return the models that the server lists at a base URL; empty where it lists none."""
        data, target = bytearray(), f"{urlsplit(url).path}/models{self._query}".encode()
        try:
            async with (
                asyncio.timeout(min(self._options.call_timeout, _LONGEST_LISTING)),
                self._connect() as http,
                http.stream("GET", self._url, extensions={"target": target}) as response,
            ):
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > LARGEST:
                        return []
        except (TimeoutError, *self._errors):
            return []
        listed = _json(data).get("data")
        names = [one.get("id") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        return [name for name in names if isinstance(name, str) and name][:_MOST_MODELS]

    async def _post(self, call: Call, decoding: Decoding, show: Show | None) -> Response | Fault:
        """Send a request once and read what comes."""
        body = request_body(call, decoding, self.endpoint.provider)
        if show:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        joiner: EventJoiner | None = None
        data, loop, content = bytearray(), asyncio.get_running_loop(), json_bytes(body)
        headers = [*self._headers, (b"Content-Length", str(len(content)).encode())]
        http = self._idle.pop() if self._idle else self._connect()
        began = loop.time()
        try:
            request = self._new_request(headers=headers, cookies=http.cookies, stream=self._stream(content))
            async with (
                asyncio.timeout(self._options.call_timeout),
                aclosing(await http.send(request, stream=True)) as response,
            ):
                if show and response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    joiner = EventJoiner(self.endpoint, show)
                async for piece in response.aiter_bytes():
                    data += piece
                    if joiner:
                        joiner.take(piece)
                    if len(data) > LARGEST:
                        return Fault(TOO_LARGE, retried=True, charged=response.is_success)
        except TimeoutError:
            return Fault(f"no response within {self._options.call_timeout:g} s", retried=True, charged=True)
        except self._errors as error:
            name = type(error).__name__
            unsent = name in ("ConnectError", "ConnectTimeout")
            reason = f"no connection; {self.endpoint.how_to_reach}" if unsent else f"the connection broke ({name})"
            return Fault(reason, retried=True, charged=not unsent, unsent=unsent)
        finally:
            self._idle.append(http)
        seconds = round(loop.time() - began, 3)
        data = bytearray(json_bytes(joiner.payload())) if joiner else data
        status = 0 if response.is_success else response.status_code
        wait = asked_wait(response.headers.get("Retry-After"), _LONGEST_WAIT)
        price = self._options.prices.get(call.model)
        found = read_response(data, status=status, wait=wait, endpoint=self.endpoint, price=price)
        return replace(found, seconds=seconds) if isinstance(found, Response) else found


def request_body(call: Call, decoding: Decoding, provider: str) -> dict[str, Any]:
    """Return the body of a request to a provider, as JSON."""
    body: dict[str, Any] = {"model": call.model, "messages": list(call.messages)}
    if decoding.max_tokens is not None:
        # OpenAI's own server knows the newer name only, others the older one only.
        body["max_completion_tokens" if provider == "openai" else "max_tokens"] = decoding.max_tokens
    sent = {"temperature": decoding.temperature, "seed": decoding.seed}
    body |= {name: value for name, value in sent.items() if value is not None}
    if provider == "openrouter":
        body["usage"] = {"include": True}
    if call.schema:
        schema = {"name": call.schema_name, "strict": True, "schema": call.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if decoding.reasoning_effort is not None:
        body["reasoning_effort"] = decoding.reasoning_effort
    return body | dict(decoding.extra_body)
