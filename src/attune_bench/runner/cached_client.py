"""Requests through the cache file: a response that was paid for is not requested again."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from attune_bench.runner.budget import BudgetExceededError
from attune_bench.runner.cache import Cache, CacheError, cache_key
from attune_bench.runner.calls import Call, CallFailedError, Decoding, Response, Role, SchemaRefusedError
from attune_bench.runner.client import Client
from attune_bench.runner.jobs import Job
from attune_bench.runner.meter import Meter

__all__ = ["Asked", "CachedCalls", "CachedClient"]


class Asked(NamedTuple):
    """A call of a job as it is sent, and the key of its response in the cache."""

    key: str
    call: Call
    attempt: int
    decoding: Decoding
    job: Job


class CachedCalls(ABC):
    """Gives responses of before from the cache; how others are got, a subclass says.

    Parameters
    ----------
    providers : mapping of str to str
        Who serves each role.
    cache : Cache
        The responses of before.
    meter : Meter
        Counts the responses.

    Attributes
    ----------
    stopped : str or None
        The reason why no more calls are sent.
    disk_error : CacheError, OSError or None
        The error of the disk, if that is the reason.
    schema_refusal : SchemaRefusedError or None
        What a server said that takes calls without their schemas only, if that is the reason.
    of_schemas : Meter
        Counts the responses to calls with schemas.
    """

    def __init__(self, providers: Mapping[Role, str], cache: Cache, meter: Meter) -> None:
        self.stopped: str | None = None
        self.disk_error: CacheError | OSError | None = None
        self.schema_refusal: SchemaRefusedError | None = None
        self.of_schemas: Meter = Meter(0, 0)
        self._providers = providers
        self._cache = cache
        self._meter = meter

    @abstractmethod
    async def request(self, call: Call, attempt: int, job: Job) -> Response:
        """Return the response to a call of a job."""

    def _look_up(self, call: Call, attempt: int, job: Job) -> tuple[Asked, Response | None]:
        """Return a call as it is sent, and the response of before."""
        decoding = job.decoding[call.role].of_attempt(attempt + call.sample)
        asked = Asked(self._key(call, attempt, job, decoding), call, attempt, decoding, job)
        cached = self._cache.get(asked.key)
        if cached is not None and job.fails_for(cached, attempt):
            cached = None  # The job failed for it; the server may be well again.
        self._meter.calls += attempt > 0  # What is asked again was not planned.
        return asked, cached

    def _count(self, call: Call, response: Response, *, is_new: bool) -> None:
        for meter in (self._meter, self.of_schemas) if call.schema else (self._meter,):
            meter.count(response, role=call.role, is_new=is_new)

    def _key(self, call: Call, attempt: int, job: Job, decoding: Decoding) -> str:
        """Return the key of a response to a call as it is sent."""
        return cache_key(
            unit=job.unit_id,
            inputs=dict(job.cache_inputs),
            provider=self._providers[call.role],
            model=call.model,
            role=call.role,
            call=call.id,
            attempt=attempt,
            messages=list(call.messages),
            schema=call.schema,
            decoding=decoding.content(),
        )

    def stop_for(self, error: CacheError | OSError) -> None:
        """Send no more calls, as the disk does not take what comes of them."""
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
        By the role of who is asked.
    cache, meter
        As of `CachedCalls`.
    """

    schema_refusal: SchemaRefusedError | None

    def __init__(self, clients: Mapping[Role, Client], cache: Cache, meter: Meter) -> None:
        super().__init__({role: client.endpoint.provider for role, client in clients.items()}, cache, meter)
        self._clients = clients

    async def request(self, call: Call, attempt: int, job: Job) -> Response:
        """Return the response to a call of a job."""
        asked, cached = self._look_up(call, attempt, job)
        response, client = cached, self._clients[call.role]
        if response is None:
            try:
                response = await client.request(call, asked.decoding, partial(self._record, asked))
            except CacheError as error:
                self.stop_for(error)
                raise CallFailedError(str(error)) from None
            except CallFailedError as error:
                if isinstance(error, SchemaRefusedError):
                    self.schema_refusal = error
                if isinstance(error, BudgetExceededError):
                    self._stop(str(error))
                elif client.stopped is not None:
                    self._stop(client.stopped)
                raise
        self._count(call, response, is_new=cached is None)
        return response

    async def _record(self, asked: Asked, sent: Call, response: Response) -> None:
        """Record the response to a call as it was sent."""
        is_same = sent is asked.call
        key = asked.key if is_same else self._key(sent, asked.attempt, asked.job, asked.decoding)
        await self._cache.add(key, response)

    def _stop(self, reason: str) -> None:
        super()._stop(reason)
        for client in self._clients.values():
            client.stopped = self.stopped
