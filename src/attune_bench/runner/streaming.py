"""Answers that arrive as server-sent events of the OpenAI protocol: shown as they come, and joined to a whole one."""

import json
from collections.abc import Callable
from typing import Any

from attune_bench.runner.calls import SHORTEST_SECRET, Endpoint

Show = Callable[[str], object]
"""Is given all of an answer that has come so far, each time that there is more; after a fault it begins anew."""

_OF_SECRETS = "".join(map(chr, range(ord("!"), ord("~") + 1)))


class EventJoiner:
    r"""Joins the events of a streamed answer to the JSON of an answer that is sent whole.

    Parameters
    ----------
    endpoint : Endpoint
        The server; its secrets are redacted in what is shown.
    show : callable
        See `Show`. A word is shown when it is complete: the half of a secret could not be redacted.

    Examples
    --------
    >>> seen = []
    >>> joiner = EventJoiner(Endpoint("openai-compatible", "http://localhost/v1"), seen.append)
    >>> joiner.take(b'data: {"choices": [{"delta": {"content": "I see"}}]}\n\ndata: {"choices": [{"delta":')
    >>> joiner.take(b' {"content": " it."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n')
    >>> seen, joiner.payload()["choices"][0]["message"]["content"]
    (['I ', 'I see '], 'I see it.')
    """

    def __init__(self, endpoint: Endpoint, show: Show) -> None:
        self._endpoint = endpoint
        self._show = show
        self._rest = b""
        self._text = ""
        self._shown = ""
        self._found: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}

    def take(self, data: bytes) -> None:
        """Take what came of the stream; the last line may be incomplete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._event(line.removeprefix(b"data:").strip())
        whole_words = self._text.rstrip(_OF_SECRETS)
        shown = self._endpoint.redact(whole_words, min_length=SHORTEST_SECRET)
        if shown != self._shown:
            self._shown = shown
            self._show(shown)

    def _event(self, data: bytes) -> None:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):  # the end, "[DONE]"
            return
        if not isinstance(event, dict):
            return
        self._found |= {key: event[key] for key in ("usage", "error") if event.get(key)}
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            self._choice |= {key: choice[key] for key in ("finish_reason", "error") if choice.get(key)}
            delta = choice.get("delta")
            piece = delta.get("content") if isinstance(delta, dict) else None
            self._text += piece if isinstance(piece, str) else ""

    def payload(self) -> dict[str, Any]:
        """Return the answer as a server sends it whole; without choices where the stream ended before its end."""
        choice = {"message": {"role": "assistant", "content": self._text}, **self._choice}
        return {**self._found, "choices": [choice] if self._choice else []}
