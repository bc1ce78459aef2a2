"""A stand-in for a model, with which a study is tried: a server in the same process that needs no key."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from time import sleep
from typing import Any

_SENTENCES = (
    "That sounds like a lot to carry at once.",
    "What would you wish for, if it were only up to you?",
    "I can see why this stays with you.",
    "It makes sense that you feel two ways about it.",
    "What happened just before that?",
    "You do not have to decide it today.",
    "Who knows about this, apart from you?",
    "Thank you for telling me.",
)
_PAUSE = 0.05  # seconds between two words, so that an answer is seen to come


def stand_in_answer(messages: list[dict[str, Any]]) -> str:
    """Return what the stand-in says: two sentences, which the messages alone decide.

    Examples
    --------
    >>> stand_in_answer([{"role": "user", "content": "I have moved."}])
    'I can see why this stays with you. It makes sense that you feel two ways about it.'
    """
    return " ".join(Random(json.dumps(messages)).sample(_SENTENCES, 2))  # noqa: S311 - no secret


class _StandIn(BaseHTTPRequestHandler):
    """The OpenAI protocol, as far as the demo needs it; every answer is streamed."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = stand_in_answer(asked["messages"])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for word in answer.split(" "):
            self._event({"delta": {"content": f"{word} "}})
            sleep(_PAUSE)
        self._event({"delta": {}, "finish_reason": "stop"})

    def _event(self, choice: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps({'choices': [{'index': 0, **choice}]})}\n\n".encode())

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - as the base class has it
        del format, arguments


@contextmanager
def stand_in() -> Iterator[str]:
    """Serve the stand-in on a free port of this machine; yield the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _StandIn) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
