"""One call to a model: the request, how it is decoded, the response, and the function that makes it."""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from attune_bench.runner.extra_body import check_extra_body

__all__ = [
    "WHERE_SET",
    "Call",
    "CallFailedError",
    "Complete",
    "Decoding",
    "FinishReason",
    "IncompleteAnswerError",
    "Message",
    "Response",
    "Role",
    "SchemaRefusedError",
    "attempt_id",
    "message",
]

Role = Literal["model", "judge", "simulator"]
"""Who is asked: the evaluated model, a judge of it, or the simulator of the person that it talks with."""

FinishReason = Literal["length", "content_filter", "error"]
"""Why an answer is incomplete: it reached the most tokens, was filtered, or broke off in an error of the server."""

WHERE_SET = ("reasoning_effort", "extra_body")
"""Attributes of `Decoding` that results and keys name only where they are set."""

Message = Mapping[str, str]
"""One message of a request: its ``role`` and its ``content``."""


def message(role: str, content: str) -> Message:
    """Return one message of a request."""
    return {"role": role, "content": content}


class CallFailedError(Exception):
    """The endpoint gave no response, however often it was asked. The message contains no key."""


class IncompleteAnswerError(CallFailedError):
    """The answer ended early, see `FinishReason`; its text is not used, and another attempt may be made."""


class SchemaRefusedError(CallFailedError):
    """The endpoint refused a call that has a schema, and took the same call without it.

    Attributes
    ----------
    unused : str
        What answers to calls with schemas, which are not used, had taken; empty where none had come.
    """

    unused: str = ""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a response is decoded, and what else the server is told about it; sent with every call.

    Attributes
    ----------
    temperature : float or None
        None for the server's own.
    seed : int or None
        None for none; each attempt after the first adds 1.
    max_tokens : int or None
        The most tokens of a response; None for the server's own limit.
    reasoning_effort : str or None
        How much the model is to think, in a word that its server knows; None to send none.
    extra_body : mapping
        Further parameters of the request, by name.

    Raises
    ------
    ValueError
        The temperature is negative or no number, max_tokens is not positive, the reasoning effort is no word, or the
        further parameters cannot be sent, see `attune_bench.runner.extra_body.check_extra_body`.

    Examples
    --------
    >>> Decoding(0.0, None, 4096)
    Decoding(temperature=0.0, seed=None, max_tokens=4096, reasoning_effort=None, extra_body={})
    """

    temperature: float | None
    seed: int | None
    max_tokens: int | None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature is {self.temperature}; expected a number that is not negative")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}; expected a positive number")
        effort = self.reasoning_effort
        if effort is not None and not (effort.strip() and effort.isprintable()):
            raise ValueError(f"reasoning_effort is {effort!r}; expected a word such as low")
        check_extra_body(self.extra_body)

    def of_attempt(self, attempt: int) -> "Decoding":
        """Return how an attempt is decoded: the same seed would give the same answer again."""
        return self if self.seed is None else replace(self, seed=self.seed + attempt)

    def where_set(self) -> dict[str, Any]:
        """Return the attributes of `WHERE_SET` that are set."""
        return {name: value for name in WHERE_SET if (value := getattr(self, name))}

    def content(self) -> dict[str, Any]:
        """Return all of it as JSON, for keys; what is not set changes no key."""
        always = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}
        return always | self.where_set()

    def for_other_role(self, max_tokens: int) -> "Decoding":
        """Return how a judge or simulator is asked beside the model: without what was set for the model alone.

        `max_tokens` holds where the model has no limit.
        """
        return Decoding(self.temperature, self.seed, self.max_tokens or max_tokens)


@dataclass(frozen=True, slots=True)
class Response:
    """What a model answered to one request.

    Attributes
    ----------
    text : str
        The text; empty where the model said nothing.
    prompt_tokens, completion_tokens : int or None
        As the server counted them.
    cost : float or None
        US dollars; None where neither the server nor a price tells.
    bound : float or None
        The most that it may have cost, where the cost was limited.
    seconds : float or None
        From sending the request that was answered to the end of the response; None where it was not measured.
    finish_reason : {"length", "content_filter", "error"} or None
        Why the text is incomplete; None for a complete one.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    bound: float | None = None
    seconds: float | None = None
    finish_reason: FinishReason | None = None


def attempt_id(id: str, attempt: int) -> str:  # noqa: A002 - the name of the attribute
    """Return the id of an attempt at a call: that of the call at first, then with ``#2``, ``#3`` behind it.

    Examples
    --------
    >>> attempt_id("turn-3/read", 0), attempt_id("turn-3/read", 1)
    ('turn-3/read', 'turn-3/read#2')
    """
    return f"{id}#{attempt + 1}" if attempt else id


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model.

    Attributes
    ----------
    id : str
        Unique within one unit and its settings, for instance ``turn-3/read`` or ``turn-3/judge/<judge model>``.
    model : str
        The model that is asked.
    role : {"model", "judge", "simulator"}
        As what it is asked: this decides where it is served, how it is decoded and how its cost is counted.
    messages : tuple of Message
        The request.
    schema : mapping
        JSON schema of the answer, which is sent with the call; empty for an answer in free text.
    schema_name : str
        Its name, the kind of the call: letters and ``_`` only.
    attempt : int
        0, and 1 more each time that the answer is asked for again.
    sample : int
        Which of several answers to one request it asks for, from 0; a seed is that much higher.
    pending : int
        How many answers the request will quote that are not known yet; 0 in a call that can be made.

    Examples
    --------
    >>> call = Call("post", "vendor/model", "model", ({"role": "user", "content": "Hello"},))
    >>> call.size, call.again("Please answer in JSON.").id
    (5, 'post#2')
    """

    id: str
    model: str
    role: Role
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] = field(default_factory=dict)
    schema_name: str = "answer"
    attempt: int = 0
    sample: int = 0
    pending: int = 0

    @property
    def size(self) -> int:
        """The number of bytes of text that are sent, from which the number of tokens can be estimated."""
        return sum(len(message["content"].encode("utf-8", "surrogatepass")) for message in self.messages)

    def without_schema(self) -> "Call":
        """Return the same call for an answer in free text."""
        return replace(self, schema={})

    def again(self, note: str = "") -> "Call":
        """Return the call that asks for the same once more, with a note below the request."""
        first = self.id.removesuffix(f"#{self.attempt + 1}") if self.attempt else self.id
        *before, last = self.messages
        if note:
            last = message(last["role"], f"{last['content']}\n\n{note}")
        attempt = self.attempt + 1
        return replace(self, id=attempt_id(first, attempt), attempt=attempt, messages=(*before, last))


Complete = Callable[[Call, int], Awaitable[str]]
"""Returns the text that the model answered.

The number is 0 at first and one more each time that an answer could not be read.
Raises `CallFailedError` where there is no answer, and of these `IncompleteAnswerError` where it ended early.
"""
