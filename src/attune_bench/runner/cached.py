"""Calls answered from the cache: earlier responses are returned, other calls are sent to a model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from attune_bench.runner.cache import Cache, CacheError, cache_key
from attune_bench.runner.calls import Call, CallFailedError, Decoding, Response, Role
from attune_bench.runner.client import Client
from attune_bench.runner.cost import BudgetExceededError, Job, Meter


class Asked(NamedTuple):
    """A call of a job as it is sent, and the key of its response in the cache."""

    key: str
    call: Call
    attempt: int
    decoding: Decoding
    job: Job


class CachedCalls(ABC):
    """Returns earlier responses from the cache; a subclass defines how other responses are obtained.

    Parameters
    ----------
    providers : mapping of str to str
        Who serves each role.
    cache : Cache
        The earlier responses.
    meter : Meter
        Counts the responses.

    Attributes
    ----------
    stopped : str or None
        The reason why no more calls are sent.
    disk_error : CacheError, OSError or None
        The error of the disk, if that is the reason.
    sent : dict of str to set of str
        By the file of a job, the calls that had no earlier response.
    """

    def __init__(self, providers: Mapping[Role, str], cache: Cache, meter: Meter) -> None:
        self.stopped: str | None = None
        self.disk_error: CacheError | OSError | None = None
        self.sent: dict[str, set[str]] = {}
        self._providers = providers
        self._cache = cache
        self._meter = meter

    @abstractmethod
    async def request(self, call: Call, attempt: int, job: Job) -> Response:
        """Return the response to a call of a job."""

    def _look_up(self, call: Call, attempt: int, job: Job) -> tuple[Asked, Response | None]:
        """Return a call as it is sent, and its earlier response, if there is one to use."""
        of_role = job.decoding[call.role]
        own = replace(of_role, **call.decoding) if call.decoding else of_role
        decoding = own.of_attempt(attempt + call.sample)
        asked = Asked(self._key(call, attempt, job, decoding), call, attempt, decoding, job)
        cached = self._cache.get(asked.key)
        if cached is not None and job.fails_for(cached, attempt):
            cached = None  # The job failed because of this response; the server may work again.
        self._meter.calls += attempt > 0  # A repeated attempt is not among the planned calls.
        return asked, cached

    def _key(self, call: Call, attempt: int, job: Job, decoding: Decoding) -> str:
        """Return the key of a response to a call as it is sent."""
        return cache_key(
            messages=call.messages,
            unit=job.unit_id,
            inputs=dict(job.cache_inputs),
            provider=self._providers[call.role],
            model=call.model,
            role=call.role,
            schema=call.schema,
            call=call.id,
            attempt=attempt,
            decoding=decoding.content(),
        )

    def stop_for(self, error: CacheError | OSError) -> None:
        """Send no more calls, because their results cannot be written to disk."""
        self.disk_error = self.disk_error or error
        self._stop(str(error))

    def _stop(self, reason: str) -> None:
        """Send no more calls; those under way are waited for, as they are paid for."""
        self.stopped = self.stopped or reason


class CachedClient(CachedCalls):
    """Returns a cached response, or requests and records it.

    Parameters
    ----------
    clients : mapping of str to Client
        The client for each role.
    cache, meter
        As of `CachedCalls`.
    """

    def __init__(self, clients: Mapping[Role, Client], cache: Cache, meter: Meter) -> None:
        super().__init__({role: client.endpoint.provider for role, client in clients.items()}, cache, meter)
        self._clients = clients

    async def request(self, call: Call, attempt: int, job: Job) -> Response:
        """Return the response to a call of a job."""
        asked, cached = self._look_up(call, attempt, job)
        if cached is not None:
            self._meter.count_earlier()
            return cached
        self.sent.setdefault(job.file_name, set()).add(call.id)
        client = self._clients[call.role]
        try:
            response = await client.request(call, asked.decoding, partial(self._cache.add, asked.key))
        except CacheError as error:
            self.stop_for(error)
            raise CallFailedError(str(error)) from None
        except CallFailedError as error:
            if isinstance(error, BudgetExceededError):
                self._stop(str(error))
            elif client.stopped is not None:
                self._stop(client.stopped)
            raise
        self._meter.count(response, role=call.role, is_new=True)
        return response

    def _stop(self, reason: str) -> None:
        super()._stop(reason)
        for client in self._clients.values():
            client.stopped = self.stopped
