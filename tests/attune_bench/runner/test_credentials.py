"""Credentials reach the server that they are for, and no other: redirects, proxies, user parts of URLs."""

import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from model_server import ModelServer, reply
from slow_cases import slow_after

from attune_bench.runner import Endpoint, endpoint

Invoke = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.usefixtures("elsewhere", "impatient")

KEY = "sk-SECRET-0123456789abcdef"
STATUSES = ("301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect")


@contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """Take connections on a port of all addresses of this machine; yield the port and what was sent there."""
    sent: list[bytes] = []
    with socket.create_server(("", 0)) as server:

        def take() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.settimeout(5)
                        sent.append(connection.recv(65536))

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield server.getsockname()[1], sent
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)


@pytest.mark.parametrize(
    ("place", "status"),
    slow_after(
        3,
        [
            *(("127.0.0.2", status) for status in STATUSES),
            *((place, STATUSES[3]) for place in ("127.0.0.1", "localhost", "user:word@127.0.0.1")),
        ],
    ),
)
def test_a_redirect_takes_no_key_elsewhere(
    place: str, status: str, call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    with listening() as (port, sent):
        raw = reply(status, "", f"Location: http://{place}:{port}/v1/chat/completions?from={KEY}")
        with ModelServer(lambda _number, _body: raw) as server:
            url = server.url.replace("//", "//me:word-SECRET@")
            status_code, out, err = call("run", "local", "m", "demo", "--limit", 1, "--base-url", url)
            assert server.calls == 1
    assert sent == []
    assert status_code == 1
    assert "a redirect, which is not followed; give the URL that it leads to" in err
    files = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert "SECRET" not in "".join([out, err, *files])


@pytest.mark.parametrize("host", slow_after(2, ["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0"]))  # noqa: S104
def test_no_proxy_gets_what_is_sent_to_this_machine(host: str, call: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    address = {"localhost": "127.0.0.1", "0.0.0.0": "127.0.0.1"}.get(host, host)  # noqa: S104
    with listening() as (port, sent):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        with ModelServer(host=address) as server:
            url = server.url.replace(address, host)
            assert call("run", "local", "m", "demo", "--limit", 1, "--base-url", url)[0] == 0
            assert f"Bearer {KEY}".encode() in server.headers
    assert sent == []


@pytest.mark.slow
def test_a_proxy_of_the_environment_is_used_for_other_machines(call: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is reached without TLS is reached so through the proxy too, which then sees the key."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    with listening() as (port, sent):
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        for scheme in ("http", "https"):
            url = f"{scheme}://models.invalid/v1"
            options = ("--limit", 1, "--base-url", url, "--call-timeout", 0.5, "--output", scheme)
            assert call("run", "local", "m", "demo", *options)[0] == 1
    plain = [one for one in sent if one.startswith(b"POST http://models.invalid/v1/chat/completions")]
    tunnels = [one for one in sent if one.startswith(b"CONNECT models.invalid:443")]
    assert plain
    assert tunnels
    # A call whose time was up before anything was sent leaves a connection without a request.
    assert len(plain) + len(tunnels) == len([one for one in sent if one])
    assert not any(KEY.encode() in one for one in tunnels), "with TLS the proxy sees the name of the server alone"


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        *(("localhost", True), ("LOCALHOST", True), ("gpu.localhost", True), ("127.0.0.1", True), ("127.8.9.1", True)),
        *(("[::1]", True), ("0.0.0.0", True), ("[::]", True), ("10.0.0.1", False), ("[fe80::1]", False)),  # noqa: S104
        *(("localhost.example.org", False), ("127.0.0.1.example.org", False), ("notlocalhost", False)),
    ],
)
def test_what_is_on_this_machine(host: str, is_local: bool) -> None:
    assert Endpoint("openai-compatible", f"http://{host}:8000/v1").is_loopback is is_local


def test_a_key_takes_the_place_of_a_user_part() -> None:
    url = "http://me:word@127.0.0.1:8000/v1"
    assert dict(endpoint("local", base_url=url).headers) == {"Authorization": "Basic " + b64encode(b"me:word").decode()}
    assert dict(endpoint("local", base_url=url, api_key=KEY).headers) == {"Authorization": f"Bearer {KEY}"}
