"""Requests to a server of the OpenAI protocol: concurrency, cost limit, timeouts and retries."""

import asyncio
import json
import logging
import math
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic_core import PydanticSerializationError, to_json

from attune_bench.runner.budget import Budget
from attune_bench.runner.calls import Call, CallFailedError, Decoding, Response, SchemaRefusedError
from attune_bench.runner.folder import note_refusal, remove_refusal
from attune_bench.runner.prices import Price
from attune_bench.runner.providers import Endpoint
from attune_bench.runner.responses import LARGEST, TOO_LARGE, Fault, read_response
from attune_bench.runner.throttle import Throttle, asked_wait
from attune_data.text import printable

__all__ = ["Client", "request_body"]

_TRIES = 6
_BACKOFF = 0.25  # seconds, doubled with each try
_LONGEST_WAIT = 60.0
_TOTAL = 5  # times the timeout of one try, for all tries and the waits between them
_DEAD = 8  # calls in a row that failed however often they were tried
_LOGGERS = ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy")
_SCHEMA_REFUSED = (400, 404, 422)  # what servers answer to a schema that they do not take, among other things


class Client:
    """A connection to one endpoint; an asynchronous context.

    Parameters
    ----------
    endpoint : Endpoint
        The server.
    concurrency : int
        The most calls under way; fewer while the server says that they are too many.
    call_timeout : float
        Seconds for one try of a call, from its sending to the last byte of its response.
    prices : mapping of str to Price
        Of models whose price the server does not tell.
    budget : Budget, optional
        The limit of the cost.
    shared : asyncio.Semaphore, optional
        Limits the calls under way at this and other endpoints together.
    folder : Path, optional
        Where it is noted that the server refuses schemas.

    Attributes
    ----------
    stopped : str or None
        The reason why no more calls are sent, None at first; may be set from outside.

    Notes
    -----
    Responses of status 408, 409, 429 and 5xx, faults of the connection, timeouts and responses that are not of the
    protocol are tried again, six times at most (429 more often), within five times the timeout. Redirects are not
    followed, as the key would go with them. After a refusal of every call (401, 402, 404, a quota that is used up, a
    redirect), or when eight calls in a row have failed, no more are sent. An answer that ended early is a response.

    A call with a schema that is refused with 400, 404 or 422 is sent once more without it, while no other with a
    schema is sent to the model. Where that is answered, no more calls are sent; else the refusal was not the schema's.
    Where the model's server has taken a schema of that name before, the call failed as one without a schema does.
    The folder notes the refusal before the call without the schema, as confirmed when its answer is recorded, and no
    longer where it has none. Until a model's server has taken a schema, one call with a schema is under way, so that
    a refusal costs one call.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        concurrency: int = 8,
        call_timeout: float = 120.0,
        prices: Mapping[str, Price] | None = None,
        budget: Budget | None = None,
        shared: asyncio.Semaphore | None = None,
        folder: Path | None = None,
    ) -> None:
        import httpx2

        self.endpoint = endpoint
        self.stopped: str | None = None
        self._timeout = call_timeout
        self._prices = prices or {}
        self._budget = budget or Budget()
        self._shared = shared or asyncio.Semaphore(concurrency)
        self._throttle = Throttle(concurrency)
        self._folder = folder
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._begun: set[str] = set()
        self._taken: set[tuple[str, str]] = set()
        self._refusal = ""
        self._failures = 0
        self._answered = False
        is_remote = not endpoint.is_loopback  # A proxy does not reach this machine's own servers.
        # A connection each, as a pool of several looks at all of them, twice for each request.
        self._connect = partial(
            httpx2.AsyncClient,
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity", **dict(endpoint.headers)},
            timeout=httpx2.Timeout(None, connect=call_timeout),  # A try has a timeout of its own.
            limits=httpx2.Limits(max_connections=1),
            follow_redirects=False,
            trust_env=is_remote,
            verify=httpx2.create_ssl_context(trust_env=is_remote),
        )
        self._idle = [self._connect()]  # One at once: a proxy that cannot be used is an error before any call.
        self._error = httpx2.HTTPError
        url = f"{endpoint.url}/chat/completions"
        self._url = httpx2.URL(url)
        # The query may contain a secret; as a part of the URL it would be in httpx2's log.
        target = urlsplit(url).path + (f"?{endpoint.query}" if endpoint.query else "")
        self._extensions = {"target": target.encode()}

    async def __aenter__(self) -> Self:
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._redact)
        return self

    def _redact(self, record: logging.LogRecord) -> bool:
        """Redact secrets in what is logged of a server's headers."""
        record.msg, record.args = self.endpoint.redact(record.getMessage()), ()
        return True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for http in self._idle:
                await http.aclose()
        finally:
            for name in _LOGGERS:
                logging.getLogger(name).removeFilter(self._redact)

    async def request(
        self, call: Call, decoding: Decoding, record: Callable[[Call, Response], Awaitable[None]]
    ) -> Response:
        """Request a response, as often as it takes.

        Parameters
        ----------
        call : Call
            The call.
        decoding : Decoding
            What is sent with it.
        record : callable
            Records the response to the call as it was sent; no other call takes the place of this one before that is
            done.

        Returns
        -------
        Response
            The response; of an empty text where the model said nothing.

        Raises
        ------
        CallFailedError
            No response came; the text says why and contains no key. `BudgetExceededError` where it may cost too much,
            `SchemaRefusedError` where the server takes the call without its schema only; that response is recorded.
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
                    if call.schema:
                        await turn.enter_async_context(self._turns[call.model])
                        if call.model in self._begun:
                            await turn.aclose()
                    began = min(began, loop.time())
                    bound, price = await self._budget.reserve(call, decoding.max_tokens), 0.0
                    self._check_stopped()
                    await self._budget.sent(bound)
                    price = bound  # Also where this is cancelled: the server may go on and charge for it.
                    sent, result = await self._send(call, decoding, turn)
                    if isinstance(result, Response):
                        price = bound if result.cost is None else result.cost
                        result = replace(result, bound=bound)
                        await record(sent, result)
                        self._throttle.answered()
                        self._count(result)
                        if sent is not call:
                            raise self._refused(call)
                        return result
                    if not result.charged:
                        price = 0.0
                        await self._budget.not_charged(bound)
                    if result.status == 429:
                        self._throttle.too_many(call_number=call_number, wait=result.wait)
            finally:
                self._throttle.release()
                await self._budget.settle(bound, price)
            faults += 1
            tries += result.status != 429
            reason = self._said(result.explained())
            if result.fatal:
                self.stopped = reason
            if not result.retried:
                # One conversation may be too long for the model; that all are tells of the model or the request.
                raise CallFailedError(reason) if self._answered else self._failed(reason)
            wait = result.wait or min(_BACKOFF * 2 ** min(faults, 10), 30.0) * random.uniform(0.5, 1.0)  # noqa: S311
            # Since the first try, as other calls that are tried again may have all places.
            spent = loop.time() - began
            if tries == _TRIES or spent + wait > _TOTAL * self._timeout:
                raise self._failed(f"{reason}; tried for {spent:.0f} s")
            await asyncio.sleep(wait)

    def _check_stopped(self) -> None:
        if self.stopped is not None:
            raise CallFailedError(self.stopped)

    def _count(self, response: Response) -> None:
        """Begin to count failures anew, unless the server broke off the answer, which is one of them."""
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
        return printable(self.endpoint.redact(f"{self.endpoint.url}: {what}"))

    async def _send(self, call: Call, decoding: Decoding, turn: AsyncExitStack) -> tuple[Call, Response | Fault]:
        """Send a request, and where it is refused once more without its schema; return what was sent and what came.

        For the second, `turn` enters the turn of the model, unless it has it as the first call.
        """
        result = await self._post(call, decoding)
        if not call.schema:
            return call, result
        kind = (call.model, call.schema_name)
        if isinstance(result, Response):
            self._taken.add(kind)
        if isinstance(result, Response) or not result.status:  # Silence says nothing, and may last.
            self._begun.add(call.model)
        elif result.status in _SCHEMA_REFUSED and kind not in self._taken:
            if call.model in self._begun:
                await turn.enter_async_context(self._turns[call.model])
            if self.stopped is not None or kind in self._taken:
                return call, result
            served, said = (self.endpoint.provider, call.model), self._said(result.reason)
            if self._folder is not None:
                note_refusal(self._folder, served, said)
            # What was refused is not charged, so that one bound is enough for both.
            bare, answered = call.without_schema(), False
            try:
                result = await self._post(bare, decoding)
                answered = isinstance(result, Response)
            finally:  # Also where this is cancelled.
                if not answered and self._folder is not None:
                    remove_refusal(self._folder, served)
            if answered:
                self._refusal = self.stopped = said
                return bare, result
        return call, result

    def _refused(self, call: Call) -> SchemaRefusedError:
        """Confirm that the schema of a call was refused, as the answer without it is recorded."""
        if self._folder is not None:
            note_refusal(self._folder, (self.endpoint.provider, call.model), self._refusal, confirmed=True)
        return SchemaRefusedError(self._refusal)

    async def _post(self, call: Call, decoding: Decoding) -> Response | Fault:
        """Send a request once and read what comes."""
        body = _encoded(request_body(call, decoding, self.endpoint.provider))
        data, loop = bytearray(), asyncio.get_running_loop()
        http = self._idle.pop() if self._idle else self._connect()
        began = loop.time()
        try:
            async with (
                asyncio.timeout(self._timeout),
                http.stream("POST", self._url, content=body, extensions=dict(self._extensions)) as response,
            ):
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > LARGEST:
                        return Fault(TOO_LARGE, retried=True, charged=response.is_success)
        except TimeoutError:
            return Fault(f"no response within {self._timeout:g} s", retried=True, charged=True)
        except self._error as error:
            name = type(error).__name__
            unsent = name in ("ConnectError", "ConnectTimeout")
            reason = "no connection" if unsent else f"the connection broke ({name})"
            return Fault(reason, retried=True, charged=not unsent)
        finally:
            self._idle.append(http)
        seconds = round(loop.time() - began, 3)
        found = read_response(
            data,
            status=0 if response.is_success else response.status_code,
            wait=asked_wait(response.headers.get("Retry-After"), _LONGEST_WAIT),
            endpoint=self.endpoint,
            price=self._prices.get(call.model),
        )
        return replace(found, seconds=seconds) if isinstance(found, Response) else found


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return to_json(body)
    except PydanticSerializationError:  # Half of a surrogate pair, which is no UTF-8.
        return json.dumps(body).encode()


def request_body(call: Call, decoding: Decoding, provider: str) -> dict[str, Any]:
    """Return the body of a request to a provider, as JSON."""
    body: dict[str, Any] = {"model": call.model, "messages": list(call.messages)}
    if decoding.max_tokens is not None:
        # OpenAI's own server knows the newer name only, others the older one only.
        body["max_completion_tokens" if provider == "openai" else "max_tokens"] = decoding.max_tokens
    if decoding.temperature is not None:
        body["temperature"] = decoding.temperature
    if decoding.seed is not None:
        body["seed"] = decoding.seed
    if provider == "openrouter":
        body["usage"] = {"include": True}
    if call.schema:
        schema = {"name": call.schema_name, "strict": True, "schema": call.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if decoding.reasoning_effort is not None:
        body["reasoning_effort"] = decoding.reasoning_effort
    return body | dict(decoding.extra_body)
