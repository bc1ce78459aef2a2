"""A Hub with a random fault at a random step: loading and publishing end, with records or one error, within bounds."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hub_server import CUT, HANG, TOKEN, Failure, HubServer, answer, endless
from memory import peak, start_peak

from attune_data import PublishError, SourceError, load, publish, publishing
from attune_data.io import hub as hub_client

pytestmark = pytest.mark.slow

Record = Callable[[str], bytes]
STEPS = ("/api/datasets/lab/data$", "/tree/", "/resolve/")
UPLOADS = ("/api/datasets/lab/", "create", "preupload", "/objects/batch", "/objects/0", "/commit/", "validate-yaml")
SECONDS = 40
"""A fault costs two tries of half a second and a pause; the rest is room for a machine that does other things too."""


def fault(draw: random.Random, elsewhere: str) -> Failure:
    """Return one of the ways in which a server can fail or lie."""
    junk = bytes(draw.choices(range(256), k=draw.choice((0, 1, 100, 5_000))))
    status = draw.choice((100, 199, 201, 204, 206, 226, 300, 304, 305, 400, 401, 403, 404, 408, 410, 416, 418, 429))
    header = draw.choice(("Content_Length", "Transfer_Encoding", "Content_Encoding", "Location", "Link", "Retry_After"))
    lengths = ("-1", "1", "9" * 30, "x", "gzip", "br", "chunked", "identity", "")
    links = (
        "/",
        "?",
        "//",
        f"{elsewhere}/x",
        "file:///x",
        f'<{elsewhere}/x>; rel="next"',
        '<?>; rel="next"',
        "<" * 999,
    )
    headers = {header: draw.choice((*lengths, *links, TOKEN))}
    entry = {"type": "file", "path": "../x.json", "size": 5, "oid": "0" * 40}
    values: list[Any] = [None, 7, "x", [], {}, [[]], [None], [{}], [[[[]]]] * 1_000, [{"type": "file"}]]
    values += [{"sha": "../../x"}, {"sha": "0" * 40}, {"error": TOKEN}]
    values += [[entry], [{**entry, "path": "x.json", "size": 10**12}]]
    body = json.dumps(draw.choice(values)).encode()
    ways: tuple[Failure, ...] = (
        *(CUT, HANG, draw.choice((400, 401, 403, 404, 409, 412, 416, 429, 500, 502, 503, 504)), junk, body),
        answer(draw.choice((junk, body)), status),
        answer(draw.choice((junk, body)), draw.choice((200, 200, 302, 307, 503)), **headers),
        answer(b"", 200, X_Error_Code=TOKEN, X_Error_Message=TOKEN),
        endless(junk or b" ", draw.choice((b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 500 No\r\n\r\n", b"", b"HTTP/9"))),
        endless(b"x", draw.choice((b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: ", b"", b"\r\n")), pause=0.05),
        lambda handler: handler.connection.sendall(junk + f"Bearer {TOKEN}\r\n\r\n".encode()),
        lambda handler: handler.connection.shutdown(2),
    )
    return draw.choice(ways)


def failing_at(
    where: str, failing: Failure, draw: random.Random | None = None, odds: float = 1
) -> Callable[..., Failure]:
    """Return what makes a server fail at a step, as often as the odds have it."""
    return lambda _method, path: failing if where in f"{path}$" and (not draw or draw.random() < odds) else None


def ends(act: Callable[[], Any], error: type[Exception]) -> bool:
    """Tell whether it has a result; one that has none has one clear error. Both come within the bounds."""
    began, found = time.monotonic(), None
    try:
        act()
    except error as caught:
        found = caught
    assert time.monotonic() - began < SECONDS
    if found is None:
        return True
    assert type(found) is error
    assert str(found).isprintable()
    assert len(str(found)) < 2_000
    assert TOKEN not in str(found)
    return False


@pytest.fixture
def other(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a second origin; set short times, small bounds and the token."""
    from huggingface_hub import constants

    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.5)
    monkeypatch.setattr(hub_client, "PAGES_LIMIT", 20)
    # At the lowest rate that is taken, an answer may last a thousand seconds.
    monkeypatch.setattr(hub_client, "ANSWER_LIMIT", 2**18)
    # The client library waits between its tries of an upload, longer each time.
    monkeypatch.setattr("huggingface_hub.utils._http.time", SimpleNamespace(sleep=lambda _seconds: None))
    hub.hang_seconds = 2
    server = HubServer("127.0.0.2")
    yield server
    server.close()


def test_loading(hub: HubServer, other: HubServer, record: Record, scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    hub.add("lab/data", {f"conversation_{n}.json": record(str(n)) for n in range(3)})
    home, outside = Path(os.environ["HF_HOME"]), set(Path(os.environ["HF_HOME"]).parent.iterdir())
    results, before = [], start_peak()
    for seed in range(50 * scale):
        draw = random.Random(seed)
        where, failing, odds = draw.choice(STEPS), fault(draw, other.url), draw.choice((0.4, 1, 1))

        hub.fail = failing_at(where, failing, draw, odds)
        results.append(ends(partial(load, "hf://lab/data"), SourceError))
        hub.fail = lambda _method, _path: None
        # What was cached under the fault is whole: without it everything loads, however busy the machine is.
        with monkeypatch.context() as patient:
            patient.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 60)
            assert len(load("hf://lab/data")) == 3, seed
        assert not any(TOKEN.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())
        assert set(home.parent.iterdir()) == outside
        shutil.rmtree(home)
    assert set(results) == {True, False}
    assert set(other.tokens) <= {None}
    assert peak() - before < 300 * 2**20


def test_publishing(hub: HubServer, other: HubServer, scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "_ANY_ANSWER", 3)  # In earnest minutes, for a commit may take its time.
    demo = load("demo")[:3]
    results, before = [], start_peak()
    for seed in range(20 * scale):
        draw = random.Random(seed)
        where, failing = draw.choice(UPLOADS), fault(draw, other.url)
        hub.fail = failing_at(where, failing)
        results.append(ends(partial(publish, demo, f"lab/data{seed}", licence="cc-by-4.0"), PublishError))
    assert set(results) == {True, False}
    assert set(other.tokens) <= {None}
    assert peak() - before < 300 * 2**20


def test_memory_of_the_largest_list(hub: HubServer, record: Record) -> None:
    """An endless list of pages of one megabyte, at the bounds of the library: it ends, and in little memory."""
    hub.add("lab/data", {"conversation_1.json": record("1")})
    entries = [{"type": "file", "path": f"{n}" * 100, "size": 1, "oid": "0" * 40} for n in range(1_000)]
    page = answer(json.dumps(entries).encode(), Link='<?page=next>; rel="next"')
    hub.fail = lambda _method, path: page if "/tree/" in path else None
    code = """
from attune_data import SourceError, load
from memory import peak, start_peak
load("demo")
before = start_peak()
try:
    load("hf://lab/data")
except SourceError as error:
    print(error)
assert peak() - before < 400 * 2**20
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "helpers")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=200, env=environment
    )
    assert "the limit" in done.stdout, done
    assert done.returncode == 0, done.stderr
