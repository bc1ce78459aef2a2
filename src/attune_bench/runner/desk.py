"""Answers to calls: from the journal, or from a model and into the journal."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from attune_bench.runner.calls import Call, CallFailedError
from attune_bench.runner.client import Client, Sampling
from attune_bench.runner.journal import Answer, Journal, JournalError, key_of
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import BudgetSpentError
from attune_bench.runner.settings import Settings

__all__ = ["Desk"]


class Desk:
    """Answers calls: from the journal, or by a client and into the journal.

    Parameters
    ----------
    clients : mapping of bool to Client
        The client of the judges, and that of the model.
    journal : Journal
        What was answered before.
    meter : Meter
        Counts the answers.
    max_tokens : int
        The most tokens of an answer.

    Notes
    -----
    `stopped` is the reason why no more calls are sent, `broken` the error of the journal, if that is the reason.
    """

    def __init__(self, clients: Mapping[bool, Client], journal: Journal, meter: Meter, max_tokens: int) -> None:
        self.stopped: str | None = None
        self.broken: JournalError | None = None
        self._clients = clients
        self._journal = journal
        self._meter = meter
        self._max_tokens = max_tokens

    async def answer(
        self, call: Call, attempt: int, conversation_id: str, settings: Settings, provenance: Mapping[str, Any]
    ) -> Answer:
        """Answer a call of a conversation; `provenance` is that of the settings."""
        client = self._clients[call.is_judge]
        sampling = Sampling(settings.temperature, settings.seed, self._max_tokens)
        key = key_of(
            conversation=conversation_id,
            provenance=dict(provenance),
            server=[client.endpoint.provider, client.endpoint.url],
            model=call.model,
            mode=settings.mode,
            call=call.id,
            attempt=attempt,
            messages=list(call.messages),
            schema=call.schema,
            max_tokens=self._max_tokens,
        )
        found = self._journal.get(key)
        answer = found
        self._meter.calls += attempt > 0  # What is asked for once more was not planned.
        if answer is None:
            try:
                answer = await client.ask(call, sampling, partial(self._journal.add, key))
            except JournalError as error:
                self.broken = error
                self._stop(str(error))
                raise CallFailedError(str(error)) from None
            except CallFailedError as error:
                if isinstance(error, BudgetSpentError):
                    self._stop(str(error))
                elif client.stopped is not None:
                    self._stop(client.stopped)
                raise
        self._meter.count(answer, is_judge=call.is_judge, is_new=found is None)
        return answer

    def _stop(self, reason: str) -> None:
        """Let no more calls be sent; what is under way is waited for, as it is paid for."""
        self.stopped = self.stopped or reason
        for client in self._clients.values():
            client.stopped = self.stopped
