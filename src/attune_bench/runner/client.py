"""Requests to a server of the OpenAI protocol, with patience for what servers do."""

import asyncio
import json
import logging
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from attune_bench.runner.calls import Call, CallFailedError
from attune_bench.runner.journal import Answer
from attune_bench.runner.prices import Budget, Price
from attune_bench.runner.providers import Endpoint
from attune_bench.runner.throttle import Throttle, asked_wait
from attune_data.extras import require
from attune_data.text import printable, shortened

if TYPE_CHECKING:
    import httpx2

__all__ = ["Client", "Keep", "Sampling"]

Keep = Callable[[Answer], Awaitable[None]]

_TRIES = 6
_BACKOFF = 0.25  # seconds, doubled with each try
_LONGEST_WAIT = 60.0
_TOTAL = 5  # times the timeout of one try, for all tries and the waits between them
_LARGEST = 1_000_000  # bytes of an answer
_SHORTEST = 12  # letters of a secret that is blotted out of an answer, in which words such as "none" may stand
_DEAD = 8  # calls in a row that failed however often they were tried
_LOGGERS = ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy")
_AGAIN = (408, 409, 429)
_FORMAT = (400, 404, 422)  # what servers answer to a response format that they do not take
_NEVER = {
    401: "does not accept the key",
    402: "asks for payment",
    404: "knows no such model, or is at another URL",
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is sent with every call; an answer is good for these values only.

    Attributes
    ----------
    temperature : float or None
        None for the server's own.
    seed : int or None
        None for none.
    max_tokens : int
        The most tokens of an answer.
    """

    temperature: float | None
    seed: int | None
    max_tokens: int


class _FaultError(Exception):
    """One try failed. `wait` is what the server asked for; `charged` tells whether it may have been paid for."""

    def __init__(
        self, reason: str, *, status: int = 0, again: bool = False, wait: float = 0.0, charged: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.again = again
        self.wait = wait
        self.charged = charged


class Client:
    """A connection to one endpoint; an asynchronous context.

    Its `stopped` is the reason why no more calls are sent, None at first; it may be set from outside.

    Parameters
    ----------
    endpoint : Endpoint
        The server.
    concurrency : int
        The most calls under way at once; fewer while the server says that they are too many.
    call_timeout : float
        Seconds for one try of a call, from its sending to the last byte of its answer.
    prices : mapping of str to Price
        Of models whose price the server does not tell.
    budget : Budget, optional
        The limit of the cost.
    places : asyncio.Semaphore, optional
        Places for calls under way that are shared with other endpoints.

    Raises
    ------
    ImportError
        httpx2 is not installed.

    Notes
    -----
    Answers of status 408, 409, 429 and 5xx, faults of the connection, timeouts and answers that are not of the
    protocol are tried again, six times at most (429 more often), within five times the timeout. Redirects are not
    followed, as the key would go with them. Where a model's server refuses a call with 400, 404 or 422 but takes it
    without the response format, that is left out from then on. After a refusal that holds for every call (401, 402,
    404, a redirect), or when eight calls in a row have failed, no more are sent.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        concurrency: int = 8,
        call_timeout: float = 120.0,
        prices: Mapping[str, Price] | None = None,
        budget: Budget | None = None,
        places: asyncio.Semaphore | None = None,
    ) -> None:
        httpx = require("httpx2", "run")
        self.endpoint = endpoint
        self.stopped: str | None = None
        self._timeout = call_timeout
        self._prices = prices or {}
        self._budget = budget
        self._places = places
        self._throttle = Throttle(concurrency)
        self._plain: set[str] = set()
        self._failures = 0
        self._answered = False
        self._http: httpx2.AsyncClient = httpx.AsyncClient(
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity", **dict(endpoint.headers)},
            timeout=httpx.Timeout(call_timeout),
            limits=httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
            follow_redirects=False,
            trust_env=not endpoint.is_loopback,  # A proxy does not reach this machine's own servers.
        )
        self._error: type[Exception] = httpx.HTTPError
        self._url = f"{endpoint.url}/chat/completions"
        # The query may hold a secret; in the URL it would stand in httpx2's log.
        target = urlsplit(self._url).path + (f"?{endpoint.query}" if endpoint.query else "")
        self._extensions = {"target": target.encode()}

    async def __aenter__(self) -> Self:
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._blot)
        return self

    def _blot(self, record: logging.LogRecord) -> bool:
        """Blot secrets out of what is logged of a server's headers."""
        record.msg, record.args = self.endpoint.without_secrets(record.getMessage()), ()
        return True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._http.aclose()
        finally:
            for name in _LOGGERS:
                logging.getLogger(name).removeFilter(self._blot)

    async def ask(self, call: Call, sampling: Sampling, keep: Keep) -> Answer:
        """Make a call, as often as it takes.

        Parameters
        ----------
        call : Call
            The call.
        sampling : Sampling
            What is sent with it.
        keep : callable
            Keeps the answer; no other call takes the place of this one before that is done.

        Returns
        -------
        Answer
            The answer; of an empty text where the model said nothing.

        Raises
        ------
        CallFailedError
            There is no answer; the text says why and holds no key. `BudgetSpentError` where it may cost too much.
        """
        tries, faults, began, loop = 0, 0, math.inf, asyncio.get_running_loop()
        while True:
            self._check_stopped()
            try:
                async with self._place(again=faults > 0):
                    began = min(began, loop.time())
                    answer = await self._try(call, sampling)
                    await keep(answer)
            except _FaultError as fault:
                faults += 1
                tries += fault.status != 429
                reason = self._explained(fault)
                if fault.status in _NEVER or 300 <= fault.status < 400:
                    self.stopped = reason
                if not fault.again:
                    # One conversation may be too long for the model; that all are tells of the model or the request.
                    raise (CallFailedError(reason) if self._answered else self._failed(reason)) from None
                jitter = random.uniform(0.5, 1.0)  # noqa: S311 - no secret
                wait = fault.wait or min(_BACKOFF * 2 ** min(faults, 10), 30.0) * jitter
                # Since the first try, as other calls that are tried again may hold all places.
                spent = loop.time() - began
                if tries == _TRIES or spent + wait > _TOTAL * self._timeout:
                    raise self._failed(f"{reason}; tried for {spent:.0f} s") from None
            else:
                self._failures, self._answered = 0, True
                return answer
            await asyncio.sleep(wait)

    def _failed(self, reason: str) -> CallFailedError:
        self._failures += 1
        if self._failures >= _DEAD and self.stopped is None:
            self.stopped = f"{reason}; gave up on this server after {_DEAD} such calls in a row"
        return CallFailedError(reason)

    def _explained(self, fault: _FaultError) -> str:
        """Return what a server did, on one line, without secrets and without what could drive a terminal."""
        what = f"{fault.reason}; it {_NEVER[fault.status]}" if fault.status in _NEVER else fault.reason
        return printable(self.endpoint.without_secrets(f"{self.endpoint.url}: {what}"))

    def _check_stopped(self) -> None:
        if self.stopped is not None:
            raise CallFailedError(self.stopped)

    @asynccontextmanager
    async def _place(self, *, again: bool) -> AsyncIterator[None]:
        """Wait for a place here and among all endpoints; what becomes of the call tells how many there may be."""
        async with self._throttle.place(again=again) as number, self._places or nullcontext():
            self._check_stopped()
            try:
                yield
            except _FaultError as fault:
                if fault.status == 429:
                    self._throttle.too_many(began=number, wait=fault.wait)
                raise
        self._throttle.answered()

    async def _try(self, call: Call, sampling: Sampling) -> Answer:
        """Make a call once, or twice where the server does not take the response format."""
        formatted = bool(call.schema) and call.model not in self._plain
        try:
            return await self._pay(call, sampling, formatted=formatted)
        except _FaultError as fault:
            if fault.status not in _FORMAT or not formatted:
                raise
        answer = await self._pay(call, sampling, formatted=False)
        self._plain.add(call.model)
        return answer

    async def _pay(self, call: Call, sampling: Sampling, *, formatted: bool) -> Answer:
        """Send a call within the budget."""
        if self._budget is None:
            return await self._send(call, sampling, formatted=formatted)
        bound = await self._budget.put_aside(call, sampling.max_tokens)
        price = 0.0
        try:
            self._check_stopped()
            await self._budget.note(bound)
            price = bound  # also where this is cancelled: the server may go on and charge for it
            answer = await self._send(call, sampling, formatted=formatted)
            price = bound if answer.cost is None else answer.cost
            return replace(answer, bound=bound)
        except _FaultError as fault:
            if not fault.charged:
                price = 0.0
                await self._budget.note(-bound)
            raise
        finally:
            await self._budget.book(bound, price)

    async def _send(self, call: Call, sampling: Sampling, *, formatted: bool) -> Answer:
        body = json.dumps(self._body(call, sampling, formatted=formatted)).encode()
        data = bytearray()
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._http.stream("POST", self._url, content=body, extensions=dict(self._extensions)) as response,
            ):
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > _LARGEST:
                        reason = f"an answer of more than {_LARGEST:,} bytes"
                        raise _FaultError(reason, again=True, charged=response.is_success)
        except TimeoutError:
            raise _FaultError(f"no answer within {self._timeout:g} s", again=True, charged=True) from None
        except self._error as error:
            name = type(error).__name__
            unsent = name in ("ConnectError", "ConnectTimeout")
            reason = "no connection" if unsent else f"the connection broke ({name})"
            raise _FaultError(reason, again=True, charged=not unsent) from None
        payload = _json(data)
        status = response.status_code
        if response.is_success:
            status = _status_within(payload)
        if status:
            # Before it is shortened, which could leave half of a secret.
            said = self.endpoint.without_secrets(_message(payload))
            raise _fault(status, said, response.headers.get("Retry-After"))
        text = _text(payload)
        if text is None:
            raise _FaultError("an answer that is not of the OpenAI protocol", again=True, charged=True)
        text = self.endpoint.without_secrets(text, shortest=_SHORTEST)
        return self._answer(call, text, payload.get("usage"))

    def _body(self, call: Call, sampling: Sampling, *, formatted: bool) -> dict[str, Any]:
        provider = self.endpoint.provider
        body: dict[str, Any] = {
            "model": call.model,
            "messages": list(call.messages),
            # OpenAI's own server knows the newer name only, others the older one only.
            "max_completion_tokens" if provider == "openai" else "max_tokens": sampling.max_tokens,
        }
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if provider == "openrouter":
            body["usage"] = {"include": True}
        if formatted:
            schema = {"name": call.schema_name, "strict": True, "schema": call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _answer(self, call: Call, text: str, usage: Any) -> Answer:
        counted = usage if isinstance(usage, dict) else {}
        prompt, answer = (_amount(counted.get(f"{what}_tokens")) for what in ("prompt", "completion"))
        cost = _amount(counted.get("cost"))
        if cost is None and prompt is not None and answer is not None and call.model in self._prices:
            cost = self._prices[call.model].of(int(prompt), int(answer))
        prompt_tokens, answer_tokens = (None if n is None else int(n) for n in (prompt, answer))
        return Answer(text, prompt_tokens, answer_tokens, cost)


def _json(data: bytes | bytearray) -> dict[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def _status_within(payload: Mapping[str, Any]) -> int:
    """Return the status of an error that came as a success, as OpenRouter's do; 0 for none."""
    error = payload.get("error")
    if not error or payload.get("choices"):
        return 0
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _message(payload: Mapping[str, Any]) -> str:
    """Return what a server says of an error, an empty text for nothing."""
    error = payload.get("error")
    said = error.get("message") if isinstance(error, dict) else error
    said = said if isinstance(said, str) else payload.get("message")
    return said.strip() if isinstance(said, str) else ""


def _fault(status: int, said: str, retry_after: str | None) -> _FaultError:
    reason = f"status {status}"
    if 300 <= status < 400:
        reason += ", a redirect, which is not followed; give the URL that it leads to"
    elif said:
        reason += f" ({shortened(said, 200)})"
    return _FaultError(
        reason, status=status, again=status in _AGAIN or status >= 500, wait=asked_wait(retry_after, _LONGEST_WAIT)
    )


def _text(payload: Mapping[str, Any]) -> str | None:
    """Return the text of an answer, None where it is none; a model that said nothing said an empty text."""
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else "" if content is None else None


def _amount(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e15 else None
