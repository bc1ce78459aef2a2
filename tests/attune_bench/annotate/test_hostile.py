"""Hostile requests: each is refused with its status, and the log has no texts, secrets or names of people."""

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from toy_study import MARKUP, ORIGIN, WHOLE, Browser, Toy, toy_application

from attune_bench.annotate import LOG, guard
from attune_bench.annotate.app import MOST_FIELDS, Application
from attune_bench.annotate.guard import HEADERS, Limits, Rate, cookie

pytestmark = pytest.mark.slow

SECRET_THOUGHT = WHOLE["why"]


class Log(logging.Handler):
    """What was logged: the lines of the server, and everything that any handler would write."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.whole = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.whole += self.format(record)
        if record.name == LOG.name:
            self.lines.append(record.getMessage())

    @property
    def last(self) -> str:
        return self.lines[-1]


@pytest.fixture(autouse=True)
def log() -> Iterator[Log]:
    """Watch the log; after each test it has no text of anybody, no link, no person."""
    log, level = Log(), LOG.level
    logging.getLogger().addHandler(log)
    LOG.setLevel(logging.INFO)
    yield log
    logging.getLogger().removeHandler(log)
    LOG.setLevel(level)
    assert SECRET_THOUGHT not in log.whole
    assert "pseudonym" not in log.whole
    for line in log.lines:
        assert re.fullmatch(r"(GET|HEAD|POST|-) (-|/[a-z_/{}:]*) \d{3} \d+ ms( [A-Za-z]+( < [\w.]+:\d+)+)?", line), line


def test_whoever_has_no_link_or_a_made_up_link_sees_nothing(application: Application, log: Log) -> None:
    client = TestClient(application.asgi, base_url=ORIGIN, headers={"origin": ORIGIN})
    paths = ["/", "/screen/read", "/withdraw", "/enter/made-up", "/enter/" + "x" * 5000]
    for cookies in ({}, {cookie(ORIGIN): "made-up"}):
        client.cookies.update(cookies)
        assert [client.get(path).status_code for path in paths] == [403] * len(paths)
    assert log.last.startswith("GET /enter/{secret} 403")
    assert client.get("/screen/read").status_code == 429  # By now a stranger who knocked too often.


def test_one_persons_link_opens_nothing_of_another(application: Application, ann: Browser) -> None:
    bob = Browser(application)
    ann.go_to("ask/1")
    assert ann.send("ask/1", **WHOLE).status_code == 303
    bob.go_to("ask/1")
    assert SECRET_THOUGHT not in bob.client.get("/screen/ask/1").text
    # A page of ann that stayed open in a browser in which bob's link was opened later.
    assert bob.send("ask/1", **{**WHOLE, "person": ann.person.id}).status_code == 403
    assert bob.client.post("/withdraw", data={"person": ann.person.id}).status_code == 403
    assert bob.state("ask/1").revision == 0
    assert len(application.store.people()) == 2


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "", "http://127.0.0.1:8018", ORIGIN + "."])
def test_a_form_of_another_page_is_refused(ann: Browser, origin: str) -> None:
    for path in ("/screen/read", "/language", "/withdraw"):
        assert ann.client.post(path, data={"language": "de"}, headers={"origin": origin}).status_code == 403
    assert ann.store.answers(ann.person.id) == {}
    assert ann.store.people() == [ann.person]


@pytest.mark.parametrize("host", ["elsewhere.example", "127.0.0.1", "127.0.0.1:8018", "localhost:8017", ""])
def test_another_host_is_refused(ann: Browser, host: str) -> None:
    assert ann.client.get("/screen/read", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "SECRET-WORD"])
def test_other_methods_are_refused(ann: Browser, method: str, log: Log) -> None:
    assert ann.client.request(method, "/screen/read").status_code == 405
    assert log.last.startswith("- - 405")


def test_heads_answer_like_pages_without_a_body(ann: Browser) -> None:
    found = ann.client.head("/screen/read")
    assert (found.status_code, found.content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..%5capp.py",
        "/static/style.css%00.js",
        "/static/",
        "/static",
        "/screen/",
        "/screen/../withdraw",
        "/screen/%2e%2e/%2e%2e/etc/passwd",
        "/screen//etc/passwd",
        "/screen/ask/9",
        "/screen/" + "a/" * 2000,
        "//elsewhere.example/",
        "/admin",
    ],
)
def test_there_are_no_other_paths(ann: Browser, path: str) -> None:
    scope_path = path.partition("?")[0]
    statuses = asyncio.run(_ask(ann, scope_path))
    assert statuses in ([404], [307])  # A redirection from /static to /static/, where nothing is.


async def _ask(browser: Browser, path: str) -> list[int]:
    """Ask for a path as it is, which a client would tidy up."""
    from urllib.parse import unquote

    found: list[int] = []
    headers = [(b"host", b"127.0.0.1:8017"), (b"cookie", f"{cookie(ORIGIN)}={browser.secret}".encode())]
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "path": unquote(path), "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "scheme": "http", "headers": headers,
        "client": ("203.0.113.1", 1), "server": ("127.0.0.1", 8017),
    }  # fmt: skip

    async def receive() -> guard.Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: guard.Message) -> None:
        if "status" in message:
            found.append(message["status"])

    await browser.client.app(scope, receive, send)
    return found


def test_large_bodies_are_refused_declared_or_not(ann: Browser, log: Log) -> None:
    ann.go_to("ask/1")
    long = b"why=" + b"x" * 10_000_000
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert ann.client.post("/screen/ask/1", content=long, headers=headers).status_code == 413
    assert log.last.startswith("POST - 413")

    def parts() -> Iterator[bytes]:
        for start in range(0, len(long), 65536):
            yield long[start : start + 65536]

    found = ann.client.post("/screen/ask/1", content=parts(), headers=headers)
    assert found.status_code == 413
    assert found.headers["connection"] == "close"
    assert log.last.startswith("POST /screen/{key:path} 413")
    for length in ("-1", "1e3", "9" * 5000):
        assert ann.client.post("/screen/ask/1", headers={**headers, "content-length": length}).status_code == 413
    assert ann.state("ask/1").revision == 0


def test_forms_of_another_kind_are_refused(ann: Browser) -> None:
    ann.go_to("ask/1")
    path, many = "/screen/ask/1", "&".join(f"a{n}=1" for n in range(MOST_FIELDS + 1))
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert ann.client.post(path, files={"why": ("a.txt", b"x")}).status_code == 415
    assert ann.client.post(path, json=WHOLE).status_code == 415
    assert ann.client.post(path, content=many, headers=form).status_code == 413
    assert ann.state("ask/1").revision == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"one": MARKUP},
        {"one": "yes'; DROP TABLE answer; --"},
        {"scale": "8"},
        {"scale": "٣"},
        {"some": "maybe"},
        {"tags.Proud": "8"},
        {"tags.Proud": "0"},
        {"why": "x" * 201},
    ],
)
def test_values_that_no_page_offers_are_refused_and_nothing_is_lost(ann: Browser, wrong: dict[str, Any]) -> None:
    ann.go_to("ask/1")
    assert ann.send("ask/1", **WHOLE).status_code == 303
    for action in ("next", "save", "back"):
        assert ann.send("ask/1", revision=1, action=action, **{**WHOLE, **wrong}).status_code == 422
    assert ann.state("ask/1").value == {**WHOLE, "tags": {}}


def test_markup_is_shown_as_text_wherever_it_comes_from(ann: Browser) -> None:
    ann.go_to("ask/1")
    assert ann.send("ask/1", **{**WHOLE, "why": MARKUP}).status_code == 303
    page = ann.client.get("/screen/ask/1").text
    assert ann.state("ask/1").value == {**WHOLE, "why": MARKUP, "tags": {}}
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2  # In the conversation and in the field.
    assert "49" not in page  # No template was run.
    assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/script.js" defer>']
    assert not re.search(r" (on\w+|style)=", page.replace("onclick=&#39;", ""))
    headers = ann.client.get("/screen/ask/1").headers
    assert all(headers[name] == value for name, value in HEADERS.items())
    assert "unsafe" not in headers["content-security-policy"]


def test_odd_bytes_in_a_text_break_nothing(ann: Browser) -> None:
    ann.go_to("ask/1")
    raw = "one=yes&scale=3&why=" + quote(b"a\x00b\xff\xed\xa0\x80\x1b[31m\r\nc") + "&one=&revision=1x&%00=&="
    headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-7"}
    assert ann.client.post("/screen/ask/1", content=raw, headers=headers).status_code == 303
    why = ann.state("ask/1").value["why"]
    assert why == "ab\ufffd\ufffd\ufffd\ufffd[31m\nc"
    assert ann.client.get("/screen/ask/1").status_code == 200


def test_posts_that_are_sent_again_change_nothing(ann: Browser) -> None:
    ann.go_to("ask/1")
    other = {**WHOLE, "one": "no"}
    assert ann.send("ask/1", revision=0, **WHOLE).status_code == 303
    # The same once more, as a browser sends that had no response; then another of another tab.
    assert ann.send("ask/1", revision=0, **WHOLE).status_code == 303
    assert ann.send("ask/1", revision=0, **other).status_code == 409
    assert ann.send("ask/1", revision=1, **other).status_code == 303
    assert ann.send("ask/1", revision=1, action="undo").status_code == 409
    assert ann.send("ask/1", revision=0, **WHOLE).status_code == 409  # The first, recorded and played again.
    assert (ann.state("ask/1").revision, ann.state("ask/1").value) == (2, {**other, "tags": {}})


def test_screens_are_answered_in_their_order(ann: Browser) -> None:
    assert ann.client.get("/screen/ask/1").headers["location"] == "/screen/read"
    assert ann.send("ask/1", **WHOLE).status_code == 404
    ann.go_to("check")
    assert ann.send("check", right="no").status_code == 422
    assert ann.send("ask/1", **WHOLE).status_code == 404
    assert ann.state("ask/1").revision == 0


@pytest.mark.parametrize("kind", [KeyError, ValueError, RuntimeError])
def test_a_failure_is_logged_by_its_place_without_its_text(
    application: Application, ann: Browser, kind: type[Exception], log: Log
) -> None:
    assert isinstance(application.job, Toy)
    application.job.failure = kind(SECRET_THOUGHT)
    found = ann.client.get("/screen/read")
    assert found.status_code == 500
    assert SECRET_THOUGHT not in found.text
    assert "What you answered before is saved" in found.text
    assert log.last.split(" ms ")[1].startswith(f"{kind.__name__} < toy_study.py:")


def test_a_link_and_an_address_have_so_many_requests(tmp_path: Path) -> None:
    application = toy_application(tmp_path, limits=Limits(per_link=1, per_address=3, strangers=1))
    ann, bob = Browser(application), Browser(application)
    statuses = [ann.client.get("/screen/read").status_code for _ in range(12)]
    assert statuses == [200] * 10 + [429] * 2
    assert int(ann.client.get("/screen/read").headers["retry-after"]) >= 1
    assert bob.client.get("/screen/read").status_code == 200  # Behind the same address.
    assert {bob.client.get("/static/style.css").status_code for _ in range(40)} == {200, 429}
    assert Browser(application, address="203.0.113.2").client.get("/screen/read").status_code == 200
    application.store.close()


def test_made_up_links_are_strangers_all_the_same(application: Application, ann: Browser) -> None:
    stranger = TestClient(application.asgi, base_url=ORIGIN, client=("203.0.113.1", 1))
    for n in range(30):
        stranger.cookies.set(cookie(ORIGIN), f"made-up-{n}")
        status = stranger.get("/screen/read").status_code
    assert status == 429
    assert ann.client.get("/screen/read").status_code == 200  # Whose link is known, at the same address.


@pytest.mark.slow
def test_a_hundred_people_behind_one_address_are_not_slowed(application: Application) -> None:
    people = [Browser(application) for _ in range(100)]
    for _ in range(3):
        assert {one.client.get("/static/icon.svg").status_code for one in people} == {200}


def test_addresses_of_version_six_count_by_their_network() -> None:
    addresses = ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "203.0.113.1", "no address"]
    found = [guard._address({"client": (one, 1)}) for one in addresses]
    assert found == ["2001:db8::/64", "2001:db8::/64", "2001:db8:0:1::/64", "203.0.113.1", "no address"]
    assert guard._address({"client": None}) == "unknown"


def test_keys_of_a_rate_are_forgotten_when_there_are_too_many() -> None:
    rate = Rate(1, most_keys=3)
    for n in range(5):
        assert rate.wait(f"key {n}") == 0
    assert len(rate._buckets) == 3


def test_web_sockets_are_not_answered(application: Application) -> None:
    async def asked() -> None:
        await application.asgi({"type": "websocket"}, None, None)  # type: ignore[arg-type]

    asyncio.run(asked())


def test_cookies_are_of_this_site_alone_and_of_https_where_that_is_served(tmp_path: Path) -> None:
    found = {}
    for origin in (ORIGIN, "https://study.example.org"):
        folder = tmp_path / origin[:5]
        folder.mkdir()
        application = toy_application(folder, origin=origin)
        _, secret = application.store.add_person(language="en")
        client = TestClient(application.asgi, base_url=origin, headers={"origin": origin}, follow_redirects=False)
        found[origin] = client.post(f"/enter/{secret}").headers["set-cookie"].lower()
        application.store.close()
    assert all(" httponly;" in one and "samesite=strict" in one and "path=/;" in one for one in found.values())
    assert found[ORIGIN].startswith("attune_8017=")
    assert "secure" not in found[ORIGIN]
    assert found["https://study.example.org"].startswith("__host-attune=")
    assert "; secure" in found["https://study.example.org"]
    assert "domain" not in json.dumps(found)
