"""What calls cost: prices, an upper bound before a call, and a limit that no run exceeds."""

import asyncio
import json
import math
import os
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from attune_bench.runner.calls import Call, CallFailedError

__all__ = ["Budget", "BudgetSpentError", "Price", "PriceError", "dollars", "most_tokens", "read_prices"]


class PriceError(ValueError):
    """Prices cannot be read or are missing; the text says which and what to do."""


class BudgetSpentError(CallFailedError):
    """The next call could exceed the limit."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens of prompts and of answers.

    Examples
    --------
    >>> Price(0.5, 2.0).of(1_000_000, 500_000)
    1.5
    """

    input: float
    output: float

    def of(self, prompt_tokens: int, answer_tokens: int) -> float:
        """Return the price of a number of tokens, in US dollars."""
        return (self.input * prompt_tokens + self.output * answer_tokens) / 1e6


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
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "prices.toml")
    ...     _ = path.write_text('["vendor/model"]\ninput = 0.15\noutput = 0.6')
    ...     read_prices(path)
    {'vendor/model': Price(input=0.15, output=0.6)}
    """
    try:
        data = Path(path).read_bytes()
        content = json.loads(data) if os.fspath(path).lower().endswith(".json") else tomllib.loads(data.decode())
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
    """Return an amount in cents; what is less than one is not shown as nothing.

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
    >>> most_tokens(Call("post", "m", "model", ({"role": "user", "content": "Hello you"},), {}, "post"))
    35
    """
    texts = [message["content"] for message in call.messages] + [json.dumps(call.schema)]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + 12 * len(texts)


class Budget:
    """A limit in US dollars: each call's upper bound is put aside before it is sent, its price booked afterwards.

    Parameters
    ----------
    limit : float
        The most that may be spent.
    prices : mapping of str to Price
        The price of every model that is asked.
    spent : float
        What was spent before.
    keep : callable, optional
        Keeps the bound of a call before that is sent, and minus the bound where the server then charged nothing.

    Raises
    ------
    PriceError
        The limit is not a positive number.

    Examples
    --------
    >>> budget = Budget(1.0, {"m": Price(1.0, 1.0)})
    >>> budget.spent
    0.0
    """

    def __init__(
        self,
        limit: float,
        prices: Mapping[str, Price],
        spent: float = 0.0,
        keep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        if not 0 < limit < math.inf:
            raise PriceError(f"the limit of the cost is {limit}; expected a positive number of US dollars")
        self.limit = limit
        self.spent = spent
        self._prices = prices
        self._keep = keep
        self._aside = 0.0
        self._under_way = 0
        self._settled = asyncio.Condition()

    async def put_aside(self, call: Call, max_tokens: int) -> float:
        """Put the upper bound of a call aside, waiting for calls under way where it may fit once they are booked.

        Raises
        ------
        BudgetSpentError
            It cannot fit any more.
        """
        bound = self._prices[call.model].of(most_tokens(call), max_tokens)
        async with self._settled:
            while self.spent + self._aside + bound > self.limit:
                if not self._under_way:
                    raise BudgetSpentError(
                        f"the limit of {self.limit:g} USD: {self.spent:.4f} are spent and the next call may cost "
                        f"{bound:.4f}; a higher limit (--max-cost) lets it go on"
                    )
                await self._settled.wait()
            self._aside += bound
            self._under_way += 1
        return bound

    async def note(self, amount: float) -> None:
        """Keep that an amount may be charged, so that a later run knows of it whatever becomes of this one."""
        if self._keep is not None:
            await self._keep(amount)

    async def book(self, bound: float, price: float) -> None:
        """Book the price of a call whose bound was put aside; 0 where the server charged nothing."""
        async with self._settled:
            self._under_way -= 1
            self._aside = self._aside - bound if self._under_way else 0.0
            self.spent += price
            self._settled.notify_all()
