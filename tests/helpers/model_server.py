"""A server of the OpenAI protocol that answers every question by a hash of it; with faults, where they are asked for.

As a program it serves on a free port, which it prints, until its standard input ends; ``GET /count`` tells how many
calls it was sent.
"""

import argparse
import asyncio
import json
import re
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any, Self

Json = dict[str, Any]
Fault = Callable[[int, Json], bytes | str | float | None]
"""Given the number of the call, from 1, and its body: None for an answer, a number of seconds for a late one, "reset",
"stall" or "trickle" for none, raw bytes for another."""

_SAGE = ("Content", "TargetCompletion", "Activity", "Analyse", "Thinking", "Origin", "Change", "Response")
_WORDS = "I hear how much this weighs on you and it makes sense that you feel torn about what comes next".split()


def reply(status: str, body: bytes | str, *headers: str, kind: str = "application/json") -> bytes:
    """Return a raw HTTP answer."""
    data = body.encode() if isinstance(body, str) else body
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", f"Content-Type: {kind}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + data


def said(content: Any, finish_reason: str = "stop", **usage: Any) -> bytes:
    """Return a raw HTTP answer with what a model said."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, **usage}
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "message": message, "finish_reason": finish_reason}]
    about = {"id": "1", "object": "chat.completion", "created": 0, "model": "loopback"}
    return reply("200 OK", json.dumps({**about, "choices": choices, "usage": usage}))


def events(text: str, **usage: Any) -> list[str]:
    """Return the server-sent events of an answer, a word each."""
    words = re.findall(r"\S*\s*", text)
    deltas = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words if word]
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, **usage}
    end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
    return [*(f"data: {json.dumps(event)}\n\n" for event in [*deltas, *end]), "data: [DONE]\n\n"]


def answer_to(body: Json) -> str:
    """Return the answer to a request: of its schema, else of the form of EQ-Bench or SAGE, else of any form."""
    digest = sha256(json.dumps([body["model"], body["messages"]]).encode()).digest()
    number = iter(range(1_000_000))

    def pick(options: list[Any]) -> Any:
        return options[sha256(digest + next(number).to_bytes(4, "big")).digest()[0] % len(options)]

    def fill(schema: Json) -> Any:
        if "enum" in schema:
            return pick(schema["enum"])
        if schema["type"] == "object":
            return {name: fill(inner) for name, inner in schema["properties"].items()}
        if schema["type"] == "array":
            return [fill(schema["items"]) for _ in range(pick([0, 1, 2]))]
        if schema["type"] == "number":
            return pick([3, 7.5, 12])
        return " ".join(pick(_WORDS) for _ in range(12))

    wanted = body.get("response_format")
    if wanted is not None:
        return json.dumps(fill(wanted["json_schema"]["schema"]))
    prompt = body["messages"][-1]["content"]
    if "Revised scores:" in prompt:  # the form of EQ-Bench
        ratings = {name: pick([*range(11)]) for name in re.findall(r"^(\w+): <rating>", prompt, re.MULTILINE)}
        rated = "\n".join(f"{name}: {rating}" for name, rating in ratings.items())
        return f"First pass scores:\n{rated}\n\nCritique: It depends.\n\nRevised scores:\n{rated}\n"
    if labels := [label for label in _SAGE if f"\n{label}:\n" in prompt]:
        texts = {label: fill({"type": "string"}) for label in labels}
        if "Response" not in labels:
            texts["Change"] = f"{pick([*range(-12, 13)]):+}"
        return "\n".join(f"{label}:\n{text}" for label, text in texts.items())
    asked = re.findall(r"^- (B\d+):", prompt, re.MULTILINE)
    yes_no = {"enum": ["yes", "no"]}
    pair = {"type": "object", "properties": {"observed": yes_no, "preferred": yes_no}}
    every = {
        "answers": {"type": "object", "properties": dict.fromkeys(asked, pair)},
        "drafted_response": {"type": "string"},
    }
    choices = {"type": "object", "properties": {key: {"enum": ["A", "B"]} for key in map(str, range(12))}}
    panas = {"type": "object", "properties": {"Proud": {"enum": [1, 4, 7]}}}
    return json.dumps(fill({"type": "object", "properties": {**every, "choices": choices, "panas": panas}}))


def talk(body: Json) -> str:
    """Return what a side of an EIBench episode says, by a hash of the request: now and then nothing, or no JSON."""
    digest = sha256(json.dumps([body["model"], body["messages"]]).encode()).digest()
    words = " ".join(_WORDS[byte % len(_WORDS)] for byte in digest[8:14])
    if "anger_delta" not in body["messages"][0]["content"]:
        return f"<think>{words}" if digest[0] < 8 else f"<think>Private {digest[1]}.</think>{words}."
    if digest[0] < 8:
        return "I would rather not."
    said = {
        "reflection": f"1. {words}",
        "anger_delta": digest[1] % 25 - 12,
        "trust_delta": f"{digest[2] % 25 - 12:+}",
        "reply": "" if digest[3] < 8 else f"{words}?",
        "continue": "no" if digest[4] < 32 else "yes",
        "stop_reason": "enough",
    }
    return json.dumps(said)


class ModelServer:
    """The server, in a thread; a context. `bodies` are the calls in order, `headers` those of the last one.

    A strict one serves nothing but the two paths of the protocol below /v1.
    """

    def __init__(
        self,
        fault: Fault = lambda _number, _body: None,
        *,
        latency: float = 0.0,
        answer: Callable[[Json], str] = answer_to,
        host: str = "127.0.0.1",
        models: list[str] | None = None,
        is_strict: bool = False,
    ) -> None:
        self.bodies: list[Json] = []
        self.headers = b""
        self.asked_for_models = b""
        self.calls = 0
        self.connections = 0
        self.under_way = 0
        self.most_under_way = 0
        self._keeps = True
        self._fault = fault
        self._latency = latency
        self._answer = answer
        self._host = host
        self._models = models
        self._is_strict = is_strict
        self._ready = threading.Event()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(lambda _port: self._ready.set())))
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self.end.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self.port}/v1"

    async def serve(self, ready: Callable[[int], object], *, keeps: bool = True) -> None:
        """Serve until `end` is set."""
        self._keeps = keeps
        self._loop, self.end = asyncio.get_running_loop(), asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        # Accepted by hand: what asyncio's own server accepts just before its loop ends is closed by nobody.
        with socket.create_server((self._host, 0), backlog=512) as listener:
            listener.setblocking(False)
            self._loop.add_reader(listener, self._accept, listener)
            self.port: int = listener.getsockname()[1]
            ready(self.port)
            await self.end.wait()
            self._loop.remove_reader(listener)
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0.01)  # Aborted connections are closed in the next round.

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # A client that is gone already.
            connection, _ = listener.accept()
            self.connections += 1
            task = self._loop.create_task(self._connected(connection))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            # A task that is cancelled before it began runs no line of its own.
            task.add_done_callback(lambda _task: connection.close())

    async def _connected(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=2**24)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                data = await reader.readexactly(int(length[1])) if length else b""
                if self._is_strict and not re.match(rb"\w+ /v1/(chat/completions|models)[ ?]", head):
                    writer.write(reply("404 Not Found", '{"detail": "Not Found"}'))
                    continue
                if head.startswith(b"GET"):
                    writer.write(self._listing(head) if b"/models" in head.split(b"\r\n")[0] else self._count())
                    continue
                self.under_way += 1
                self.most_under_way = max(self.most_under_way, self.under_way)
                try:
                    await self._serve(head, json.loads(data), writer)
                finally:
                    self.under_way -= 1
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client, or the server, is done.
        finally:
            writer.transport.abort()

    def _count(self) -> bytes:
        return reply("200 OK", str(self.calls))

    def _listing(self, head: bytes) -> bytes:
        """Return the models, to a path and headers that are noted as of the last listing."""
        self.asked_for_models = head
        if self._models is None:
            return reply("404 Not Found", "{}")
        return reply("200 OK", json.dumps({"object": "list", "data": [{"id": name} for name in self._models]}))

    async def _serve(self, head: bytes, body: Json, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        self.headers = head
        if self._keeps:
            self.bodies.append(body)
        fault = self._fault(self.calls, body)
        if self._latency:
            await asyncio.sleep(self._latency)
        if isinstance(fault, float):
            await asyncio.sleep(fault)
            fault = None
        if fault == "reset":
            writer.transport.abort()
            raise ConnectionResetError
        if fault == "stall":
            await self.end.wait()
        if fault == "trickle":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nContent-Type: application/json\r\n\r\n")
            for _ in range(100_000):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        text = self._answer(body) if fault is None else ""
        if fault is None and body.get("stream"):
            told = events(text, completion_tokens=len(text) // 4)
            head = reply("200 OK", "".join(told), kind="text/event-stream").partition(b"\r\n\r\n")[0]
            writer.write(head + b"\r\n\r\n")
            for event in told:
                writer.write(event.encode())
                await writer.drain()
                await asyncio.sleep(0.02)  # so that it comes in several pieces to a client that is slow too
            return
        writer.write(fault if isinstance(fault, bytes) else said(text, completion_tokens=len(text) // 4))
        await writer.drain()


def main() -> None:
    """Serve as a program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    server = ModelServer(latency=parser.parse_args().latency)

    async def serve() -> None:
        def ready(port: int) -> None:
            print(port, flush=True)  # noqa: T201 - what the starting process waits for

        async def until_the_end() -> None:
            await asyncio.to_thread(sys.stdin.read)
            server.end.set()

        watching = asyncio.create_task(until_the_end())
        await server.serve(ready, keeps=False)
        await watching

    asyncio.run(serve())


if __name__ == "__main__":
    main()
