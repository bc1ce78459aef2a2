"""How many calls an endpoint is sent at once: fewer when it says that they are too many, then slowly more."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["Throttle", "asked_wait"]


def asked_wait(retry_after: str | None, longest: float) -> float:
    """Return the seconds that a Retry-After asks for, within reason; 0 for none.

    Parameters
    ----------
    retry_after : str or None
        The header: seconds or a date.
    longest : float
        What is the longest within reason.

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
        The most calls at once.

    Notes
    -----
    A server that answers 429 halves the number, once for all calls that were under way then, and holds new calls back
    for the time it asked for. Each answer then adds a part of a place, one place for about as many answers as
    there are places.

    Examples
    --------
    >>> throttle = Throttle(8)
    >>> throttle.too_many(began=throttle.now(), wait=0.0)
    >>> throttle.places
    4.0
    """

    def __init__(self, most: int) -> None:
        self.places = float(most)
        self._most = most
        self._under_way = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._cut = -1
        self._sent = 0
        self._closed_until = 0.0

    def now(self) -> int:
        """Return the number of calls sent so far, by which `too_many` tells older calls from newer ones."""
        return self._sent

    @asynccontextmanager
    async def place(self, *, again: bool = False) -> AsyncIterator[int]:
        """Wait for a place, in order of arrival, those that are tried again first; give the number of the call."""
        if self._queue or self._under_way >= int(self.places):
            turn = asyncio.get_running_loop().create_future()
            (self._queue.appendleft if again else self._queue.append)(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._leave()  # The place was given in the same moment.
                raise
        else:
            self._under_way += 1
        try:
            while (wait := self._closed_until - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(wait)
            self._sent += 1
            yield self._sent
        finally:
            self._leave()

    def answered(self) -> None:
        """Note that the server took a call."""
        self.places = min(self.places + 1 / self.places, self._most)
        self._admit()

    def too_many(self, *, began: int, wait: float) -> None:
        """Note that the server refused the call of a number and asked for a wait in seconds."""
        if wait > 0:
            self._closed_until = max(self._closed_until, asyncio.get_running_loop().time() + wait)
        if began > self._cut:
            self.places = max(self.places / 2, 1.0)
            self._cut = self._sent

    def _leave(self) -> None:
        self._under_way -= 1
        self._admit()

    def _admit(self) -> None:
        while self._queue and self._under_way < int(self.places):
            turn = self._queue.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
