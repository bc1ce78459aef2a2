"""Answers to calls: from the journal, or from a model and into the journal."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from attune_bench.runner.calls import Call, CallFailedError, Role
from attune_bench.runner.client import Client, Sampling
from attune_bench.runner.journal import Answer, Journal, JournalError, key_of
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import BudgetSpentError

__all__ = ["Desk"]


class Desk:
    """Answers calls: from the journal, or by a client and into the journal.

    Parameters
    ----------
    clients : mapping of str to Client
        By the role of who is asked.
    journal : Journal
        What was answered before.
    meter : Meter
        Counts the answers.

    Notes
    -----
    `stopped` is the reason why no more calls are sent, `broken` the error of the disk, if that is the reason.
    """

    def __init__(self, clients: Mapping[Role, Client], journal: Journal, meter: Meter) -> None:
        self.stopped: str | None = None
        self.broken: JournalError | OSError | None = None
        self._clients = clients
        self._journal = journal
        self._meter = meter

    async def answer(
        self, call: Call, attempt: int, sampling: Sampling, conversation_id: str, provenance: Mapping[str, Any]
    ) -> Answer:
        """Answer a call of a conversation; `provenance` is what the answer depends on beside the request."""
        client = self._clients[call.role]
        if sampling.seed is not None:  # The same seed would give the same answer again.
            sampling = replace(sampling, seed=sampling.seed + attempt)
        key = key_of(
            conversation=conversation_id,
            provenance=dict(provenance),
            provider=client.endpoint.provider,
            model=call.model,
            role=call.role,
            call=call.id,
            attempt=attempt,
            messages=list(call.messages),
            schema=call.schema,
            sampling=asdict(sampling),
        )
        found = self._journal.get(key)
        answer = found
        self._meter.calls += attempt > 0  # What is asked for once more was not planned.
        if answer is None:
            try:
                answer = await client.ask(call, sampling, partial(self._journal.add, key))
            except JournalError as error:
                self.end(error)
                raise CallFailedError(str(error)) from None
            except CallFailedError as error:
                if isinstance(error, BudgetSpentError):
                    self._stop(str(error))
                elif client.stopped is not None:
                    self._stop(client.stopped)
                raise
        self._meter.count(answer, role=call.role, is_new=found is None)
        return answer

    def end(self, error: JournalError | OSError) -> None:
        """Let no more calls be sent, as the disk does not take what comes of them."""
        self.broken = self.broken or error
        self._stop(str(error))

    def _stop(self, reason: str) -> None:
        """Let no more calls be sent; what is under way is waited for, as it is paid for."""
        self.stopped = self.stopped or reason
        for client in self._clients.values():
            client.stopped = self.stopped
