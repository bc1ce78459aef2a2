"""Serving: addresses, slow clients, files for the owner alone, stopping, and many people while the server is killed."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest
import toy_study
import uvicorn
from annotate_load import loaded
from starlette.testclient import TestClient
from toy_study import WHOLE, toy_application

from attune_bench.annotate import server
from attune_bench.annotate.guard import Limits
from attune_bench.annotate.server import Address, AddressError, check_output, configuration
from attune_bench.annotate.store import Store, StoreError

LONG = b"x" * 1_000_000


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("host", "public_url", "origin"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:8017"),
        ("::1", None, "http://[::1]:8017"),
        ("0.0.0.0", "https://Study.Example.org/", "https://study.example.org"),  # noqa: S104
        ("127.0.0.1", "https://study.example.org:443", "https://study.example.org"),
        ("127.0.0.1", "https://study.example.org:8443", "https://study.example.org:8443"),
        ("127.0.0.1", "https://xn--mller-kva.example", "https://xn--mller-kva.example"),
        ("127.0.0.1", "https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
    ],
)
def test_an_origin_is_as_browsers_name_it(host: str, public_url: str | None, origin: str) -> None:
    assert Address(host, 8017, public_url).origin == origin


@pytest.mark.parametrize(
    "public_url",
    [
        "http://study.example.org",
        "study.example.org",
        "https://",
        "https://study.example.org/path",
        "https://study.example.org?a=b",
        "https://name:word@study.example.org",
        "https://[::1",
        "https://größe.example",
        "https://study.example.org:http",
    ],
)
def test_what_is_no_origin_of_https_is_refused(public_url: str) -> None:
    with pytest.raises(AddressError, match="--public-url"):
        _ = Address("127.0.0.1", 8017, public_url).origin


def test_a_browser_is_let_in_on_the_port_that_http_has_anyway(tmp_path: Path) -> None:
    origin = Address("127.0.0.1", 80).origin
    assert origin == "http://127.0.0.1"
    application = toy_application(tmp_path, origin=origin)
    person, secret = application.store.add_person(language="en")
    client = TestClient(application.asgi, base_url=origin, headers={"origin": origin}, follow_redirects=False)
    assert "attune_80=" in client.post(f"/enter/{secret}").headers["set-cookie"]
    assert client.get("/").headers["location"] == "/screen/read"
    assert client.post("/screen/read", data={"person": person.id}).headers["location"] == "/screen/exercise"
    application.store.close()


def test_results_are_written_into_no_folder_that_has_something_else(tmp_path: Path) -> None:
    application = toy_application(tmp_path)
    application.store.add_person(language="en")
    check_output(application.store, application.output)  # There is none yet.
    application.output.mkdir()
    (application.output / "README.md").write_text("my own")
    with pytest.raises(
        StoreError, match=r"out has README\.md, which is no result of this study; choose another --output"
    ):
        check_output(application.store, application.output)
    application.export()
    check_output(application.store, application.output)
    application.store.close()


def test_other_machines_are_not_served_without_tls_in_front() -> None:
    with pytest.raises(AddressError, match="TLS"):
        _ = Address("0.0.0.0", 8017).origin  # noqa: S104


class Served:
    """A study on a port of this process, whose clients have half a second for a request."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        limits = Limits(seconds=0.5)
        self.application = toy_application(folder, origin=f"http://127.0.0.1:{self.port}", limits=limits)
        at = configuration(self.application, Address("127.0.0.1", self.port))
        self.server = uvicorn.Server(at)
        self.thread = Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            sleep(0.01)

    def connected(self) -> socket.socket:
        found = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return found

    def head(self, first: str, *more: str) -> bytes:
        return "\r\n".join([first, f"Host: 127.0.0.1:{self.port}", *more, "", ""]).encode()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.application.store.close()


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(server, "SECONDS", 0.5)
    found = Served(tmp_path)
    yield found
    found.close()


def until_closed(connection: socket.socket, drip: bytes = b"") -> tuple[bytes, float]:
    """Return what comes until the connection is closed, and the seconds; meanwhile bytes drip."""
    begun, found = monotonic(), b""
    connection.settimeout(0.1)
    while monotonic() - begun < 10:
        try:
            connection.sendall(drip)
            if not (part := connection.recv(65536)):
                return found, monotonic() - begun
            found += part
        except TimeoutError:
            continue
        except OSError:
            return found, monotonic() - begun
    raise AssertionError("the connection was not closed")


@pytest.mark.slow
def test_a_client_that_says_nothing_or_says_it_slowly_is_cut_off(served: Served) -> None:
    starts = {
        b"": b"",
        b"GET / HTTP/1.1\r\nX-Slow: ": b"x",
        served.head("POST /screen/read HTTP/1.1")[:-2]: b"A: b\r\n",
    }
    for start, drip in starts.items():
        with served.connected() as connection:
            connection.sendall(start)
            found, seconds = until_closed(connection, drip)
            assert (found, 0.3 < seconds < 3) == (b"", True)


def test_a_body_that_comes_slowly_is_refused(served: Served) -> None:
    _, secret = served.application.store.add_person(language="en")
    more = (f"Cookie: attune_{served.port}={secret}", f"Origin: {served.application.origin}", "Content-Length: 1000")
    with served.connected() as connection:
        connection.sendall(served.head("POST /screen/read HTTP/1.1", *more))
        found, seconds = until_closed(connection, b"a")
    assert found.startswith(b"HTTP/1.1 408")
    assert 0.3 < seconds < 3


@pytest.mark.slow
def test_a_client_that_takes_nothing_holds_no_connection(served: Served) -> None:
    with served.connected() as connection:
        asked = served.head("GET /static/style.css HTTP/1.1")
        connection.settimeout(0.2)
        begun = monotonic()
        while monotonic() - begun < 1:
            try:
                connection.sendall(asked * 10)
            except OSError:
                break
        for _ in range(40):
            if not served.server.server_state.connections:
                break
            sleep(0.1)
        assert len(served.server.server_state.connections) == 0


def test_a_large_body_is_refused_before_it_has_come(served: Served) -> None:
    for length in ("Content-Length: 10000000", "Transfer-Encoding: chunked"):
        _, secret = served.application.store.add_person(language="en")
        cookie = f"Cookie: attune_{served.port}={secret}"
        more = (cookie, f"Origin: {served.application.origin}", length)
        with served.connected() as connection:
            connection.sendall(served.head("POST /screen/read HTTP/1.1", *more))
            found, _ = until_closed(connection, b"f4240\r\n" + LONG + b"\r\n")
        assert found == b"" or found.startswith(b"HTTP/1.1 413")  # Reset while the client still sends.


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"x" * 100_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET http://elsewhere.example/ HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
    ],
)
def test_what_is_no_request_of_ours_is_refused(served: Served, raw: bytes) -> None:
    with served.connected() as connection:
        connection.sendall(raw)
        found, _ = until_closed(connection)
    assert re.match(rb"HTTP/1.1 (400|421) ", found)


@pytest.mark.slow
def test_a_stopped_server_has_written_results_and_its_files_are_the_owners_alone(tmp_path: Path) -> None:
    port, old, started = free_port(), os.umask(0o022), list[subprocess.Popen[str]]()
    try:
        for stop in (signal.SIGTERM, signal.SIGINT):
            folder = tmp_path / stop.name
            folder.mkdir()
            command = [sys.executable, toy_study.__file__, str(folder), str(port)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            started.append(process)
            assert process.stdout
            secret = process.stdout.readline().strip()
            connection = HTTPConnection("127.0.0.1", port)
            for _ in range(200):
                try:
                    connection.request("GET", "/", headers={"cookie": f"attune_{port}={secret}"})
                    break
                except OSError:
                    connection.close()
                    sleep(0.05)
            assert connection.getresponse().status == 303
            connection.close()
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.glob("study.db*")}
            assert modes == {"study.db": 0o600, "study.db-shm": 0o600, "study.db-wal": 0o600}
            process.send_signal(stop)
            said, logged = process.communicate(timeout=20)
            assert (process.returncode, said) == (0, "")
            assert [re.sub(r"\d+ ms", "", line) for line in logged.splitlines()] == ["GET / 303 "]
            [result] = (folder / "out").iterdir()
            assert [stat.S_IMODE(path.stat().st_mode) for path in (folder / "out", result)] == [0o700, 0o600]
            with Store(folder / "study.db") as store:
                assert len(store.people()) == 1
    finally:
        os.umask(old)
        for process in started:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_when_a_server_with_many_people_is_killed(tmp_path: Path) -> None:
    found = loaded(tmp_path, people=100, seconds=20, kills=4)
    assert (found.lost, found.doubled, found.refused) == (0, 0, [])
    assert found.saved > 300
    assert WHOLE["why"] not in (tmp_path / "log").read_text()
