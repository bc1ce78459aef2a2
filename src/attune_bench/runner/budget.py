"""A limit of the cost that no run exceeds."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping

from attune_bench.runner.calls import Call, CallFailedError, Decoding
from attune_bench.runner.prices import Price, PriceError, most_tokens

__all__ = ["Budget", "BudgetExceededError", "check_limited"]


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

    async def sent(self, bound: float | None) -> None:
        """Record that a call of this bound is about to be sent."""
        if self._record is not None and bound is not None:
            await self._record(bound)

    async def not_charged(self, bound: float | None) -> None:
        """Record that the server charged nothing for a call of this bound."""
        if self._record is not None and bound is not None:
            await self._record(-bound)

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
