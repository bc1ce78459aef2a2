"""Reading what a server of the OpenAI protocol sent: a text with its usage, or what went wrong."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from attune_bench.runner.calls import FinishReason, Response
from attune_bench.runner.prices import Price
from attune_bench.runner.providers import SHORTEST_SECRET, Endpoint
from attune_data.text import shortened

__all__ = ["LARGEST", "TOO_LARGE", "Fault", "read_response"]

LARGEST = 1_000_000
"""Bytes of a response, beyond which it is none."""

TOO_LARGE = f"a response of more than {LARGEST:,} bytes"
"""What is said of one."""

_RETRIED = (408, 409, 429)
_REFUSALS = {
    401: "does not accept the key",
    402: "asks for payment",
    404: "knows no such model, or is at another URL",
}
_NO_QUOTA = "insufficient_quota"


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong with one try of a call.

    Attributes
    ----------
    reason : str
        What the server did, without secrets.
    status : int
        The HTTP status of the error; 0 where the server gave none.
    retried : bool
        Whether another try may get past it.
    wait : float
        Seconds that the server asked to wait.
    charged : bool
        Whether the try may have been paid for.
    fatal : bool
        Whether the server would refuse every other call too.
    """

    reason: str
    status: int = 0
    retried: bool = False
    wait: float = 0.0
    charged: bool = False
    fatal: bool = False

    def explained(self) -> str:
        """Return the reason, with what its status says of all calls."""
        return f"{self.reason}; it {_REFUSALS[self.status]}" if self.status in _REFUSALS else self.reason


def read_response(
    data: bytes | bytearray, *, status: int, wait: float, endpoint: Endpoint, price: Price | None
) -> Response | Fault:
    """Read the body of a response.

    Parameters
    ----------
    data : bytes
        The body.
    status : int
        The HTTP status of a failure; 0 for a success.
    wait : float
        Seconds that the server asked to wait.
    endpoint : Endpoint
        The server, whose secrets are redacted.
    price : Price, optional
        The price of the model, for a server that does not tell the cost.

    Returns
    -------
    Response or Fault
        A response without a text has an empty one: the model said nothing.
    """
    payload = _json(data)
    status = status or _status_within(payload)
    if status:
        # Before it is shortened, which could leave half of a secret.
        fault = _fault(status, endpoint.redact(_message(payload)), wait)
        if _NO_QUOTA in (_of_error(payload, "code"), _of_error(payload, "type")):
            return replace(fault, reason=f"{fault.reason}; the quota of the key is used up", retried=False, fatal=True)
        return fault
    text = _text(payload)
    if text is None:
        return Fault("a response that is not of the OpenAI protocol", retried=True, charged=True)
    usage = payload.get("usage")
    counted = usage if isinstance(usage, dict) else {}
    prompt, completion = (_amount(counted.get(f"{what}_tokens")) for what in ("prompt", "completion"))
    # No request and no answer that says something is of 0 tokens: who says so did not count.
    prompt, completion = prompt or None, completion if completion or not text else None
    cost = _amount(counted.get("cost"))
    if cost is None and prompt is not None and completion is not None and price is not None:
        cost = price.of(int(prompt), int(completion))
    return Response(
        text=endpoint.redact(text, min_length=SHORTEST_SECRET),
        prompt_tokens=None if prompt is None else int(prompt),
        completion_tokens=None if completion is None else int(completion),
        cost=cost,
        finish_reason=_finish_reason(payload),
    )


def _json(data: bytes | bytearray) -> dict[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def _status_within(payload: Mapping[str, Any]) -> int:
    """Return the status of an error that came as a success, as OpenRouter's do; 0 for none."""
    if not payload.get("error") or payload.get("choices"):
        return 0
    code = _of_error(payload, "code")
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _of_error(payload: Mapping[str, Any], name: str) -> Any:
    """Return what is said of an error under a name; the error itself where it says nothing else."""
    error = payload.get("error")
    return error.get(name) if isinstance(error, dict) else error


def _message(payload: Mapping[str, Any]) -> str:
    """Return what a server says of an error, an empty text for nothing."""
    said = _of_error(payload, "message")
    said = said if isinstance(said, str) else payload.get("message")
    return said.strip() if isinstance(said, str) else ""


def _fault(status: int, said: str, wait: float) -> Fault:
    reason, is_redirect = f"status {status}", 300 <= status < 400
    if is_redirect:
        reason += ", a redirect, which is not followed; give the URL that it leads to"
    elif said:
        reason += f" ({shortened(said, 200)})"
    retried = status in _RETRIED or status >= 500
    return Fault(reason, status, retried=retried, wait=wait, fatal=status in _REFUSALS or is_redirect)


def _choice(payload: Mapping[str, Any]) -> dict[str, Any]:
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _finish_reason(payload: Mapping[str, Any]) -> FinishReason | None:
    """Return why an answer is incomplete, None where nothing says that it is."""
    choice = _choice(payload)
    said = "error" if choice.get("error") else choice.get("finish_reason")
    return next((reason for reason in get_args(FinishReason) if reason == said), None)


def _text(payload: Mapping[str, Any]) -> str | None:
    """Return the text of a response, None where it has none; a model that said nothing said an empty text."""
    message = _choice(payload).get("message")
    if not isinstance(message, dict):
        return "" if _finish_reason(payload) == "error" else None
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else "" if content is None else None


def _amount(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e15 else None
