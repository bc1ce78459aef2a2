"""One call to a model, and the function that makes it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Call", "CallFailedError", "Complete", "Message", "Role", "message"]

Role = Literal["model", "judge", "simulator"]
"""Who is asked: the evaluated model, who judges it, or who plays the person that it talks with."""

Message = Mapping[str, str]
"""One message of a request: its ``role`` and its ``content``."""


def message(role: str, content: str) -> Message:
    """Return one message of a request."""
    return {"role": role, "content": content}


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
    role : {"model", "judge", "simulator"}
        As what it is asked, which says where it is served and whom its cost is counted to; its name does not.
    messages : tuple of Message
        The request.
    schema : mapping
        JSON schema of the answer, for servers that take a response format; empty for an answer in free text.
    schema_name : str
        Its name, the kind of the call: letters and ``_`` only.

    Examples
    --------
    >>> Call("post", "vendor/model", "model", ({"role": "user", "content": "Hello"},), {"type": "object"}, "post").size
    5
    """

    id: str
    model: str
    role: Role
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    schema_name: str

    @property
    def is_judge(self) -> bool:
        """Whether a judge is asked."""
        return self.role == "judge"

    @property
    def size(self) -> int:
        """The number of bytes of text that are sent, from which the number of tokens can be estimated."""
        return sum(len(message["content"].encode("utf-8", "surrogatepass")) for message in self.messages)


Complete = Callable[[Call, int], Awaitable[str]]
"""Returns the text that the model answered.

The number is 0 at first and one more each time that an answer could not be read.
Raises `CallFailedError` where there is no answer.
"""
