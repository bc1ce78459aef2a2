"""Cost: prices, estimates, the limit of a run, and how far it has come."""

import asyncio
import json
import math
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Any, TypeAlias

from attune_bench.runner.calls import Call, CallFailedError, Complete, Decoding, Response, Role
from attune_data.codebook import parse_toml
from attune_data.io.documents import parse_json, read_input
from attune_data.record import Record
from attune_data.text import plural, pluralize


class PriceError(ValueError):
    """Prices cannot be read or are missing; the text says which and what to do."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens of prompts and of responses.

    Examples
    --------
    >>> Price(0.5, 2.0).of(1_000_000, 500_000)
    1.5
    """

    input: float
    output: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the price of a number of tokens, in US dollars."""
        return (self.input * prompt_tokens + self.output * completion_tokens) / 1e6


def read_prices(path: str | os.PathLike[str]) -> dict[str, Price]:
    r"""Read a file of prices.

    Parameters
    ----------
    path : str or path-like
        TOML, or JSON where the name ends so: per model a table with ``input`` and ``output``, in US dollars for a
        million tokens.

    Returns
    -------
    dict of str to Price
        By the name of the model.

    Raises
    ------
    PriceError
        Names the file, the place in it and the value.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "prices.toml")
    ...     _ = path.write_text('["vendor/model"]\ninput = 0.15\noutput = 0.6')
    ...     read_prices(path)
    {'vendor/model': Price(input=0.15, output=0.6)}
    """
    try:
        parse = parse_json if os.fspath(path).lower().endswith(".json") else parse_toml
        content = parse(read_input(path))
    except OSError as error:
        raise PriceError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise PriceError(f"{path}: {error}; prices are TOML, or JSON in a file of that ending") from None
    if not isinstance(content, dict) or not content:
        raise PriceError(f'{path}: holds no prices; expected ["MODEL"], then input = USD and output = USD')
    return {model: _price(entry, f"{path}: {model}") for model, entry in content.items()}


def _price(entry: object, place: str) -> Price:
    if not isinstance(entry, dict) or entry.keys() != {"input", "output"}:
        raise PriceError(f"{place}: {str(entry)[:60]!r} is not a table of input and output; quote a name with dots")
    for name, value in entry.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise PriceError(f"{place}.{name}: {str(value)[:60]!r} is not a price in US dollars for a million tokens")
    return Price(float(entry["input"]), float(entry["output"]))


def dollars(amount: float) -> str:
    """Return an amount in dollars and cents; less than a cent is ``<0.01``, not ``0.00``.

    Examples
    --------
    >>> dollars(1234.5), dollars(0.0), dollars(0.003)
    ('1,234.50', '0.00', '<0.01')
    """
    return "<0.01" if 0 < amount < 0.01 else f"{amount:,.2f}"


def most_tokens(call: Call) -> int:
    """Return more tokens than the prompt of a call has: one for every byte, which digits and symbols can take.

    Examples
    --------
    >>> most_tokens(Call("post", "m", "model", ({"role": "user", "content": "Hello you"},)))
    35
    """
    texts = [message["content"] for message in call.messages] + [json.dumps(call.schema)]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + 12 * len(texts)


@dataclass(slots=True)
class Meter:
    """Counts of a run; responses include those that an earlier run had paid for, tokens and costs do not.

    Examples
    --------
    >>> meter = Meter(units=2, calls=52, unit="conversation")
    >>> meter.count(Response("{}", 900, 100, cost=0.5), role="model", is_new=True)
    >>> meter.done = 1
    >>> meter.parts()
    ['1/2 conversations', '1/52 calls', '0.50 USD', 'about 26.00 expected', '1,000 tokens']
    >>> for _ in range(51):
    ...     meter.count_earlier()
    >>> meter.text()
    '1/2 conversations, 52/52 calls, 51 of them from before, 0.50 USD, 1,000 tokens'
    >>> Meter(units=2, calls=52, unit="conversation").text()
    '0/2 conversations, waiting for the first answer, 0 s'
    """

    units: int
    calls: int
    unit: str = "unit"
    done: int = 0
    failed: int = 0
    responses: int = 0
    earlier: int = 0
    requested: int = 0
    tokens: int = 0
    costs: dict[Role, float] = field(default_factory=dict)
    unpriced: int = 0
    _began: float = field(default_factory=monotonic)

    def count(self, response: Response, *, role: Role, is_new: bool) -> None:
        """Count a response."""
        self.responses += 1
        self.requested += is_new
        self.tokens += (response.prompt_tokens or 0) + (response.completion_tokens or 0)
        if response.cost is None:
            self.unpriced += 1
        else:
            self.costs[role] = self.costs.get(role, 0.0) + response.cost

    def count_earlier(self) -> None:
        """Count a response that an earlier run has paid for."""
        self.responses += 1
        self.earlier += 1

    def add(self, other: "Meter") -> None:
        """Add what another part of the same run has counted."""
        for name in ("units", "calls", "done", "failed", "responses", "earlier", "requested", "tokens", "unpriced"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for role, cost in other.costs.items():
            self.costs[role] = self.costs.get(role, 0.0) + cost

    @property
    def rate(self) -> float:
        """New responses per second."""
        return self.requested / max(monotonic() - self._began, 1e-3)

    @property
    def _cost(self) -> float:
        return math.fsum(self.costs.values())

    @property
    def share(self) -> float:
        """The share of the planned calls that have a response, 0 to 1."""
        return min(self.responses / self.calls, 1.0) if self.calls else 1.0

    def parts(self) -> list[str]:
        """Return what there is to say, the most important first."""
        done = f"{self.done:,}/{self.units:,} {pluralize(self.unit)}"
        elapsed = monotonic() - self._began
        if not self.responses and self.calls:
            return [done, f"waiting for the first answer, {_duration(elapsed)}"]
        parts = [done, f"{self.responses:,}/{self.calls:,} calls"]
        if self.earlier:
            parts.append(f"{self.earlier:,} of them from before")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        is_going = self.responses < self.calls and self.done + self.failed < self.units
        if self.requested > 1:
            parts.append(f"{self.rate:.1f}/s" if self.rate >= 1 else f"{60 * self.rate:.1f}/min")
            if is_going:
                parts.append(f"{_duration((self.calls - self.responses) / self.rate)} left")
        if priced := self.responses - self.earlier - self.unpriced:
            named = {role: dollars(cost) for role, cost in sorted(self.costs.items()) if role != "model" and cost}
            others = ", ".join(f"{role} {cost}" for role, cost in named.items())
            parts.append(f"{dollars(self._cost)} USD" + (f" ({others})" if others else ""))
            if is_going:
                parts.append(f"about {dollars(self._cost / priced * (self.calls - self.earlier))} expected")
        return [*parts, f"{self.tokens:,} tokens"]

    def text(self) -> str:
        """Return all of it on one line."""
        return ", ".join(self.parts())


def _duration(seconds: float) -> str:
    """Return a time as one would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


_BYTES = 4  # to a token, in English and Chinese text
_TEXT = 500  # characters of a text that is asked for, as a draft
_UNLIMITED = "the most is not known, as answers of the model have no limit (--max-tokens server)"


@dataclass(slots=True)
class Estimate:
    """Calls of one model, and tokens of prompts and responses: about, and at most.

    An answer that cannot be read is asked for again, which none of these numbers includes. What has no limit is at most
    infinite.
    """

    calls: int = 0
    prompt: int = 0
    most_prompt: float = 0
    completion: int = 0
    most_completion: float = 0

    def add(self, call: Call, decoding: Mapping[Role, Decoding]) -> None:
        """Add a call, with how the calls of each role are decoded."""
        limits = {role: math.inf if own.max_tokens is None else own.max_tokens for role, own in decoding.items()}
        limit = limits[call.role]
        self.calls += 1
        self.prompt += (call.size + call.pending * _TEXT) // _BYTES
        self.most_prompt += most_tokens(call)
        if call.pending:
            # It may quote answers of another role, which have no limit.
            self.most_prompt += call.pending * (math.inf if math.inf in limits.values() else limit)
        self.completion += int(min(_characters(call.schema) // _BYTES, limit))
        self.most_completion += limit


PROBE = "probe"
"""The kind (``schema_name``) of calls on which no score depends."""


def estimate(calls: Iterable[Call], decoding: Mapping[Role, Decoding]) -> dict[str, Estimate]:
    """Return the estimate of each model that calls are for.

    Parameters
    ----------
    calls : iterable of Call
        The calls.
    decoding : mapping of str to Decoding
        How they are decoded, by the role of who is asked.

    Returns
    -------
    dict of str to Estimate
        By the name of the model.

    Examples
    --------
    >>> call = Call("post", "m", "model", ({"role": "user", "content": "Hello you"},), {"type": "string"}, "post")
    >>> estimate([call, call], {"model": Decoding(0.0, None, 100)})["m"]
    Estimate(calls=2, prompt=4, most_prompt=102, completion=200, most_completion=200)
    """
    each: dict[str, Estimate] = {}
    for call in calls:
        each.setdefault(call.model, Estimate()).add(call, decoding)
    return each


def estimate_text(each: Mapping[str, Estimate], prices: Mapping[str, Price]) -> str:
    """Return estimates as lines, with the cost where the price is known."""
    lines = []
    for model, one in each.items():
        is_limited = math.isfinite(one.most_prompt + one.most_completion)
        most = f"at most {one.most_prompt:,} and {one.most_completion:,}" if is_limited else _UNLIMITED
        lines.append(
            f"{model}: {plural(one.calls, 'call')}, about {one.prompt:,} tokens of prompts and {one.completion:,} of "
            f"answers; {most}"
        )
        if model in prices:
            about = dollars(prices[model].of(one.prompt, one.completion))
            most = dollars(prices[model].of(one.most_prompt, one.most_completion)) if is_limited else ""
            lines.append(f"  cost: about {about} USD, at most {f'{most} USD' if is_limited else 'not known'}")
        else:
            table = f"[{json.dumps(model)}], then input = USD and output = USD"
            lines.append(f"  cost: not known, as the price is not; the TOML file of --prices has it as {table}")
    return "\n".join(lines)


def calls_within(
    calls: Iterable[Call], decoding: Mapping[Role, Decoding], prices: Mapping[str, Price], limit: float
) -> int:
    """Return after how many calls, by their estimates, a limit of the cost stops a run that makes one after another.

    Parameters
    ----------
    calls : iterable of Call
        The calls in order.
    decoding : mapping of str to Decoding
        How they are decoded, by the role of who is asked.
    prices : mapping of str to Price
        Of every model that is asked.
    limit : float
        US dollars.

    Returns
    -------
    int
        All of them, where the limit does not stop the run.

    Examples
    --------
    At 1 USD for a token, a call of 2 tokens with an answer of 100 tokens, at most 200:

    >>> call = Call("post", "m", "model", ({"role": "user", "content": "Hello you"},), {"type": "string"}, "post")
    >>> prices = {"m": Price(1e6, 1e6)}
    >>> [calls_within([call] * 9, {"model": Decoding(0.0, None, 200)}, prices, limit) for limit in (200, 400, 4000)]
    [0, 2, 9]
    """
    spent, count = 0.0, 0
    for call in calls:
        one, price = Estimate(), prices[call.model]
        one.add(call, decoding)
        # As the runner does: what the next call may cost at most has to fit.
        if spent + price.of(one.most_prompt, one.most_completion) > limit:
            break
        spent += price.of(one.prompt, one.completion)
        count += 1
    return count


def _characters(schema: Mapping[str, Any]) -> int:
    """Return the typical length of an answer of a schema, or in free text."""
    if not schema:
        return _TEXT
    if "enum" in schema:
        return round(fmean(len(str(option)) + 2 for option in schema["enum"]))
    if schema["type"] == "object":
        return sum(len(name) + 6 + _characters(inner) for name, inner in schema["properties"].items())
    return 2 * _characters(schema["items"]) if schema["type"] == "array" else _TEXT


Watch: TypeAlias = Callable[[Meter], object]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is made; no option changes a request.

    Attributes
    ----------
    concurrency : int
        The most calls under way at once, over all units and endpoints.
    call_timeout : float
        Seconds for one try of a call.
    max_cost : float, optional
        US dollars that the calls of the folder, earlier runs included, may cost at most; needs `prices`.
    prices : mapping of str to Price
        By the name of the model.
    command : str
        The command line that repeats the run, for the file of what was skipped; without keys.
    replace : bool
        Whether finished results of other settings in the folder are replaced; if not, they are a `ReplaceError`.

    Raises
    ------
    ValueError
        A number is not positive.

    Examples
    --------
    >>> RunOptions(concurrency=32).call_timeout
    120.0
    """

    concurrency: int = 8
    call_timeout: float = 120.0
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    command: str = ""
    replace: bool = False

    def __post_init__(self) -> None:
        for name in ("concurrency", "call_timeout"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a positive number")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A unit without a result, and why; `condition` is None where a benchmark has one condition only."""

    unit_id: str
    model: str
    condition: str | None
    repeat: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What came of a run.

    Attributes
    ----------
    folder : Path
        Where the files are.
    finished : int
        Files that are complete now.
    earlier : int
        Of these, those that were complete before.
    replaced : int
        Of these, those that replaced another result: of other settings, or of what has changed since.
    extended : int
        Of these, those that added answers to another result, without asking for an earlier answer again.
    skipped : tuple of Skipped
        What failed or was not begun, in order.
    stopped : str or None
        Why the run stopped before its end.
    meter : Meter
        Calls, tokens and costs.
    unread : int
        Answers that could not be read, and are missing, in all files that are complete now.
    unread_in : int
        Of these files, those that miss an answer.
    answers : int
        Answers in all files that are complete now, those that could not be read among them.
    unread_example : str
        Which model gave one of the answers of a file without any that could be read, and how it begins; empty where
        there was none.
    elsewhere : mapping of str to int
        How many of the earlier files have answers of the evaluated model from another server than the run's, by its
        URL, where that is known.
    sends_schema : bool
        Whether a call is sent with the JSON schema of its answer.
    """

    folder: Path
    finished: int
    earlier: int
    replaced: int
    extended: int
    skipped: tuple[Skipped, ...]
    stopped: str | None
    meter: Meter
    unread: int
    unread_in: int
    answers: int
    unread_example: str = ""
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    sends_schema: bool = False

    @property
    def is_unreadable(self) -> bool:
        """Whether there are answers, and none of them could be read."""
        return 0 < self.answers == self.unread


@dataclass(frozen=True, slots=True)
class Job:
    """One unit: the calls about it, and the file that is made of the answers.

    Attributes
    ----------
    unit_id : str
        The unit: a conversation, a scenario, a question.
    model : str
        The evaluated model.
    condition : str or None
        The condition that the model is evaluated in, for a benchmark that has several.
    repeat : int
        Which time the model is asked, from 1.
    file_name : str
        Name of the file, which may be in a folder.
    decoding : mapping of str to Decoding
        By the role of who is asked.
    models : tuple of str
        Who is asked.
    calls : int
        How many calls are planned.
    cache_inputs : mapping
        Extra inputs to the cache key of each response, which contains the request, the decoding and the provider.
    file_inputs : mapping
        Everything that the file depends on, as JSON.
    recorded : mapping
        What the file says of the settings it was made with, by which a file of other settings is recognised.
    make : callable
        Asks, and returns the record to write.
    answers_read : callable
        Given a result as JSON, whether each of its answers could be read.
    asked_once : bool
        Whether no answer is asked for again, so that one that broke off in an error leaves the unit unfinished.
    sends_schema : bool
        Whether a planned call is sent with the JSON schema of its answer.
    """

    unit_id: str
    model: str
    condition: str | None
    repeat: int
    file_name: str
    decoding: Mapping[Role, Decoding]
    models: tuple[str, ...]
    calls: int
    cache_inputs: Mapping[str, Any]
    file_inputs: Mapping[str, Any]
    recorded: Mapping[str, Any]
    make: Callable[[Complete], Awaitable[Record]]
    answers_read: Callable[[Mapping[str, Any]], Iterable[bool]] = lambda _: ()
    asked_once: bool = False
    sends_schema: bool = False

    def fails_for(self, response: Response, attempt: int) -> bool:
        """Tell whether a response leaves the unit unfinished: it broke off in an error and is not asked for again.

        What was filtered or cut off would be so again; what broke off may not, in a later run.
        """
        return response.finish_reason == "error" and (attempt > 0 or self.asked_once)


class BudgetExceededError(CallFailedError):
    """The next call could exceed the limit."""


def check_limited(limit: float | None, decoding: Iterable[Decoding]) -> None:
    """Raise a `PriceError` where a cost is limited and a call has no upper bound, as the answer has no limit."""
    if limit is not None and any(own.max_tokens is None for own in decoding):
        raise PriceError(
            "the cost is limited (--max-cost), but without a limit of tokens (--max-tokens server) nobody knows what a "
            "call may cost at most; give --max-tokens a number, or leave out --max-cost"
        )


class Budget:
    """A limit in US dollars: the upper bound of each call is reserved before it is sent, then settled by its price.

    Parameters
    ----------
    limit : float, optional
        The most that may be spent; None for no limit, where nothing is reserved.
    prices : mapping of str to Price, optional
        The price of every model that is asked.
    spent : float
        What was spent before.
    record : callable, optional
        Records the bound of a call before it is sent, and minus the bound where the server then charged nothing, so
        that a later run knows of it whatever becomes of this one.

    Raises
    ------
    PriceError
        The limit is not a positive number.

    Examples
    --------
    >>> Budget(1.0, {"m": Price(1.0, 1.0)}).spent
    0.0
    """

    def __init__(
        self,
        limit: float | None = None,
        prices: Mapping[str, Price] | None = None,
        spent: float = 0.0,
        record: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        if limit is not None and not 0 < limit < math.inf:
            raise PriceError(f"the limit of the cost is {limit}; expected a positive number of US dollars")
        self.limit = limit
        self.spent: float = spent
        self._prices = prices or {}
        self._record = record
        self._reserved = 0.0
        self._under_way = 0
        self._settled = asyncio.Condition()

    async def reserve(self, call: Call, max_tokens: int | None) -> float | None:
        """Reserve the upper bound of a call, after calls under way where it may fit once they are settled.

        The number of tokens may be None without a limit of the cost, see `check_limited`.

        Returns
        -------
        float or None
            The bound; None without a limit.

        Raises
        ------
        BudgetExceededError
            It cannot fit any more.
        """
        if self.limit is None:
            return None
        assert max_tokens is not None  # noqa: S101 - checked before the first call
        bound = self._prices[call.model].of(most_tokens(call), max_tokens)
        async with self._settled:
            while self.spent + self._reserved + bound > self.limit:
                if not self._under_way:
                    raise BudgetExceededError(
                        f"the limit of {self.limit:g} USD: {self.spent:.4f} are spent and the next call may cost "
                        f"{bound:.4f}; a higher limit (--max-cost) lets it go on"
                    )
                await self._settled.wait()
            self._reserved += bound
            self._under_way += 1
        return bound

    async def note(self, bound: float | None, *, charged: bool) -> None:
        """Record that a call of this bound is about to be sent, or that the server charged nothing for the call."""
        if self._record is not None and bound is not None:
            await self._record(bound if charged else -bound)

    async def settle(self, bound: float | None, price: float | None) -> None:
        """Replace a reserved bound by the price of its call, 0 where the server charged nothing."""
        if bound is None or price is None:
            return
        async with self._settled:
            self._under_way -= 1
            # The rest of a sum of floats that should be 0 would be waited for.
            self._reserved = self._reserved - bound if self._under_way else 0.0
            self.spent += price
            self._settled.notify_all()
