"""One call to a model, and the function that makes it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Call", "CallFailedError", "Complete", "Message"]

Message = Mapping[str, str]
"""One message of a request: its ``role`` and its ``content``."""


class CallFailedError(Exception):
    """The endpoint gave no answer, however often it was asked. The message holds no key."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model.

    Attributes
    ----------
    id : str
        Unique within one conversation and mode, for instance ``turn-3/read`` or ``turn-3/judge/<judge model>``.
    model : str
        The model that is asked.
    is_judge : bool
        Whether that is a judge rather than the evaluated model.
    messages : tuple of Message
        The request.
    schema : mapping
        JSON schema of the answer, for servers that take a response format.
    schema_name : str
        Its name, the kind of the call: letters and ``_`` only.

    Examples
    --------
    >>> Call("post", "vendor/model", False, ({"role": "user", "content": "Hello"},), {"type": "object"}, "post").size
    5
    """

    id: str
    model: str
    is_judge: bool
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    schema_name: str

    @property
    def size(self) -> int:
        """The number of characters that are sent, from which the number of tokens can be estimated."""
        return sum(len(message["content"]) for message in self.messages)


Complete = Callable[[Call, int], Awaitable[str]]
"""Returns the text that the model answered.

The number is 0 at first and 1 where the first answer could not be read; `Call.messages` differ between the two.
Raises `CallFailedError` where there is no answer.
"""
