"""How many calls are under way at one endpoint: fewer after it answers 429, then slowly more."""

import asyncio
import math
from collections import deque
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
