"""Asking the models of a study for people: each answer once, stored when it comes, within the limits of the cost."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from urllib.parse import urlsplit

from attune_bench.annotate import LOG
from attune_bench.annotate.screens import SendError
from attune_bench.annotate.store import COST, NOTHING, Person, Store, Value
from attune_bench.benchmarks.attunebench.annotation.study import Limits, Model, Study
from attune_bench.runner.calls import Call, CallFailedError, Endpoint, Message, Response, endpoint, message
from attune_bench.runner.client import Client
from attune_bench.runner.cost import Budget, BudgetExceededError, RunOptions

_IMPROVE = """Here is a conversation between a person and an assistant.

{conversation}

Write the assistant's last response anew, so that it suits the person's feelings and needs better. Keep the language \
and about the length. Write nothing but the response."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message of a person, and the model's reply; empty while there is none."""

    message: str
    reply: str = ""


def has_ended(answers: Mapping[str, Value]) -> bool:
    """Tell whether the person has ended the conversation."""
    return bool(answers.get("talk", {}).get("ended"))


def exchanges(answers: Mapping[str, Value]) -> list[Exchange]:
    """Return the conversation of a person; until it has ended, the last message may have no reply yet."""
    found: list[Exchange] = []
    while said := answers.get(f"message/{len(found) + 1}"):
        reply = answers.get(f"reply/{len(found) + 1}", {})
        found.append(Exchange(said["text"], reply.get("text", "")))
    if found and not found[-1].reply and has_ended(answers):  # It was sent while another window ended the conversation.
        found.pop()
    return found


def responses(answers: Mapping[str, Value], number: int) -> dict[str, str]:
    """Return the responses to a message by their labels in the data, empty while there is none."""
    return {
        "original": exchanges(answers)[number - 1].reply,
        "alternate": answers.get(f"improved/{number}", {}).get("text", ""),
        "human": answers.get(f"turn/{number}/edited", {}).get("text", ""),
    }


def talk_messages(instruction: str | None, talk: Sequence[Exchange]) -> list[Message]:
    """Return the request for the reply to the last message."""
    said = [message("system", instruction)] if instruction else []
    for one in talk:
        said.append(message("user", one.message))
        said += [message("assistant", one.reply)] if one.reply else []
    return said


def improving_messages(instruction: str | None, talk: Sequence[Exchange]) -> list[Message]:
    """Return the request for a better version of the last reply."""
    said = "\n\n".join(f"Person: {one.message}\n\nAssistant: {one.reply}" for one in talk)
    asked = message("user", _IMPROVE.format(conversation=said))
    return [message("system", instruction), asked] if instruction else [asked]


@dataclass(slots=True)
class _UnderWay:
    """An answer that is being written."""

    text: str = ""
    task: "asyncio.Task[None]" = field(init=False)


def endpoints(study: Study) -> dict[Model, Endpoint]:
    """Return the server of each model.

    Raises
    ------
    ProviderError
        A server has no key, or its address cannot be used.
    """
    models = dict.fromkeys((study.model, study.improving))
    return {model: endpoint(model.provider, base_url=model.base_url) for model in models}


class Asker:
    """Asks the models of a study.

    Parameters
    ----------
    study : Study
        The models, and what they may cost.
    store : Store
        Where answers and costs are kept.

    Raises
    ------
    ProviderError
        A server has no key, or its address cannot be used.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self._study = study
        self._store = store
        self._endpoints = endpoints(study)
        self._under_way: dict[tuple[str, str], _UnderWay] = {}
        self._paying = Lock()

    @property
    def hosts(self) -> list[str]:
        """Where messages are sent to."""
        return sorted({urlsplit(one.url).hostname or one.url for one in self._endpoints.values()})

    async def ask(self, person: Person, key: str, model: Model, messages: Sequence[Message]) -> AsyncIterator[str]:
        """Yield all that has come so far of an answer, again and again, until it is stored under a key.

        The answer is asked for once, however many pages wait for it, and is stored also where nobody waits any more.

        Raises
        ------
        SendError
            No answer came; the person may try again.
        """
        place = person.id, key
        answer = self._under_way.get(place)
        if answer is None:
            answer = self._under_way[place] = _UnderWay()
            answer.task = asyncio.create_task(self._answer(answer, person, key, model, messages))
            answer.task.add_done_callback(partial(self._forget, place))
        while not answer.task.done():
            await asyncio.wait({answer.task}, timeout=0.1)
            yield answer.text
        answer.task.result()

    def _forget(self, place: tuple[str, str], task: "asyncio.Task[None]") -> None:
        del self._under_way[place]
        if not task.cancelled():
            task.exception()  # Asked for here, as nobody may be waiting any more.

    async def _answer(
        self, answer: _UnderWay, person: Person, key: str, model: Model, messages: Sequence[Message]
    ) -> None:
        if key in await asyncio.to_thread(self._store.answers, person.id):
            return

        async def reserve(usd: float) -> None:
            await asyncio.to_thread(self._pay, person, usd, within=self._study.limits if usd > 0 else None)

        async def settle(response: Response) -> None:
            if response.cost is not None:
                await asyncio.to_thread(self._pay, person, response.cost - (response.bound or 0.0))

        def show(text: str) -> None:
            answer.text = text

        limits = self._study.limits
        budget = Budget(max(limits.person, limits.study), model.prices, record=reserve) if limits else None
        options = RunOptions(call_timeout=model.timeout, prices=model.prices)
        call = Call(key, model.name, "model", tuple(messages))
        try:
            async with Client(self._endpoints[model], options, budget) as client:
                response = await client.request(call, model.decoding, settle, show)
        except BudgetExceededError as error:
            LOG.warning("no more calls: %s", error)
            raise SendError("cost_reached") from None
        except CallFailedError as error:
            # What the server says may quote the person, and stands in brackets.
            LOG.warning("no answer: %s", re.sub(r" \(.*", "", str(error), flags=re.DOTALL))
            raise SendError("no_answer") from None
        text = response.text.encode("utf-8", "replace").decode().strip()  # Half of a surrogate pair cannot be stored.
        if not text or response.finish_reason in ("error", "content_filter"):
            raise SendError("no_answer")
        try:
            await asyncio.to_thread(self._store.save, person.id, key, {"text": text}, revision=0, done=True)
        except KeyError:  # The person has withdrawn meanwhile.
            raise SendError("no_answer") from None

    def _pay(self, person: Person, usd: float, within: Limits | None = None) -> None:
        """Note a cost before it may arise, and afterwards what it was less: a server that is killed noted enough."""
        with self._paying:
            saved = self._store.answers(person.id).get(COST, NOTHING)
            own, together = saved.value.get("usd", 0.0) + usd, (self._store.about(COST) or 0.0) + usd
            if within:
                for spent, whose, limit in ((own, "person", within.person), (together, "study", within.study)):
                    if spent > limit:
                        raise BudgetExceededError(f"[limits] {whose} = {limit:g} in the study file would be exceeded")
            self._store.set_about(COST, max(together, 0.0))
            with suppress(KeyError):  # The person has withdrawn meanwhile.
                self._store.save(person.id, COST, {"usd": max(own, 0.0)}, revision=saved.revision, done=True)
