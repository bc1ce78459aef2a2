"""What goes wrong with a data set on the Hub: one clear error, soon, with what to do; nothing half-written is kept."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hub_server import CUT, HANG, TOKEN, HubServer
from slow_cases import slow_after

from attune_data import PublishError, SourceError, load, publish

Json = dict[str, Any]
WHERE = ["/api/datasets/lab/data$", "/tree/", "/resolve/"]


@pytest.fixture
def data(hub: HubServer, conversation: Json) -> dict[str, bytes]:
    """Return the files of lab/data, which is on the Hub."""
    numbered = {f"sub/conversation_{n}.json": {**conversation, "conversationId": str(n)} for n in range(3)}
    files = {name: json.dumps(record).encode() for name, record in numbered.items()}
    hub.add("lab/data", files)
    return files


def failure(source: str, **options: Any) -> str:
    """Return the text of the one error, which comes within seconds and has no other behind it."""
    began = time.monotonic()
    with pytest.raises(SourceError) as caught:
        load(source, **options)
    assert time.monotonic() - began < 8
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    text = str(caught.value)
    assert "\n" not in text
    assert TOKEN not in text
    return text


# What is not there, and what may not be read.


def test_no_such_repository(hub: HubServer) -> None:
    text = failure("hf://lab/none")
    assert "no data set lab/none" in text
    assert "private" in text
    assert "hf auth login" in text
    assert "HF_TOKEN" in text
    assert len(hub.requests) == 1


def test_private_repository(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("lab/own", data, private=True)
    assert failure("hf://lab/own") == failure("hf://lab/none").replace("none", "own")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert len(load("hf://lab/own")) == 3
    assert set(hub.tokens[2:]) == {f"Bearer {TOKEN}"}


def test_gated_repository(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("lab/gated", data, gated=True)
    text = failure("hf://lab/gated")
    assert f"{hub.url}/datasets/lab/gated" in text
    assert "accept" in text
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert len(load("hf://lab/gated")) == 3


@pytest.mark.parametrize("status", [401, 403])
def test_token_that_is_not_valid(
    status: int, hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data
    hub.fail = lambda _method, _path: 403 if status == 403 else None
    monkeypatch.setenv("HF_TOKEN", "hf_this_is_wrong")
    text = failure("hf://lab/data")
    assert f"refuses access (status {status})" in text
    assert "this_is_wrong" not in text


@pytest.mark.parametrize("revision", ["none", "0" * 40, "v1%2F2"])
def test_no_such_revision(revision: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    text = failure(f"hf://lab/data@{revision}")
    assert f"no branch, tag or commit '{revision.replace('%2F', '/')}'" in text
    assert len(hub.requests) == 1


def test_slash_in_a_revision(data: dict[str, bytes]) -> None:
    assert data
    assert "%2F" in failure("hf://lab/data@feature/x")


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("sib", "in lab/data there are: sub"),
        ("sub/conversation_9.json", "in lab/data/sub there are: conversation_0.json"),
    ],
)
def test_no_such_path(path: str, there: str, data: dict[str, bytes]) -> None:
    assert data
    text = failure(f"hf://lab/data/{path}")
    assert f"no {path!r}" in text
    assert there in text


def test_nothing_to_read(hub: HubServer) -> None:
    hub.add("lab/tables", {"README.md": b"#", "data/x.csv": b"a,b"})
    hub.add("lab/empty", {})
    for name in ("tables", "empty"):
        assert f"hf://lab/{name} has no .json" in failure(f"hf://lab/{name}")
    hub.add("lab/packed", {"data.zip": b"PK"})
    assert "load it by itself: data.zip" in failure("hf://lab/packed")
    assert hub.downloaded == []


def test_file_of_another_kind(hub: HubServer) -> None:
    hub.add("lab/data", {"README.md": b"#"})
    assert "neither a .json" in failure("hf://lab/data/README.md")


# Addresses.


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("hf:/lab/data", "hf://lab/data"),
        (Path("hf://lab/data@v1/sub"), "hf://lab/data@v1/sub"),
        ("hf:lab/data", "hf://lab/data"),
        ("hf:///lab//data", "hf://lab/data"),
        ("HF://lab/data", "hf://lab/data"),
        (" hf://lab/data\n", "hf://lab/data"),
        ("hf://lab/data@", "hf://lab/data"),
        ("hf://lab/data/sub@v1", "hf://lab/data@v1/sub"),
        ("hf://lab/data/sub@a%2Fb", "hf://lab/data@a%2Fb/sub"),
        ("https://huggingface.co/datasets/lab/data", "hf://lab/data"),
        ("https://huggingface.co/datasets/lab/data/tree/main/a/b", "hf://lab/data@main/a/b"),
        ("http://hf.co/datasets/lab/data/blob/v1/a.json?x=1", "hf://lab/data@v1/a.json"),
    ],
)
def test_malformed_address_names_the_nearest(written: Any, meant: str, hub: HubServer) -> None:
    assert failure(written).endswith(f"did you mean {meant}?")
    assert hub.requests == []


@pytest.mark.parametrize(
    "written", ["hf://", "hf://lab", "hf://@v1", "hf://models/lab/x", "hf://datasets/x", "https://example.com/a/b.json"]
)
def test_malformed_address_that_is_near_nothing_gives_the_form(written: str) -> None:
    assert "the form is hf://owner/name" in failure(written)


@pytest.mark.parametrize("name", ["lab/a--b", "-lab/a", "lab/" + 100 * "a", "lab/a.git"])
def test_name_that_cannot_be(name: str, hub: HubServer) -> None:
    assert f"{name} cannot be the name of a data set" in failure(f"hf://{name}")
    assert hub.requests == []


# The network.


def test_offline_and_not_cached(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    assert data
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for revision in ("", "@main", "@" + "0" * 40):
        assert "HF_HUB_OFFLINE" in failure(f"hf://lab/data{revision}")
    assert hub.requests == []


def test_offline_by_the_client_itself(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in failure("hf://lab/data")
    assert hub.requests == []


@pytest.mark.parametrize("revision", slow_after(1, ["", "@" + "0" * 40]))
def test_nothing_listens(revision: str, hub: HubServer) -> None:
    hub.close()
    text = failure(f"hf://lab/data{revision}")
    assert f"the Hub at {hub.url} cannot be reached" in text
    assert "refused" in text


@pytest.mark.parametrize(
    "endpoint", slow_after(2, ["http://no-such-host.invalid", "not a url", "http://[", "http://127.0.0.1:99999"])
)
def test_wrong_endpoint(endpoint: str, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    assert f"the Hub at {endpoint}" in failure("hf://lab/data")
    assert hub.requests == []


@pytest.mark.slow
def test_password_of_the_endpoint_is_not_shown(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.close()
    monkeypatch.setenv("HF_ENDPOINT", hub.url.replace("//", "//me:pass@word@"))
    text = failure("hf://lab/data")
    assert f"the Hub at {hub.url} cannot" in text
    assert "word" not in text


def test_server_hangs(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    assert data
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.5)
    hub.fail = lambda _method, path: HANG if path.endswith("/api/datasets/lab/data") else None
    assert "does not answer" in failure("hf://lab/data")


@pytest.mark.parametrize("status", slow_after(2, [500, 502, 503, 504, 429]))
@pytest.mark.parametrize("where", WHERE)
def test_server_fails(status: int, where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    hub.fail = lambda _method, path: status if where in f"{path}$" else None
    assert f"status {status}" in failure("hf://lab/data")


@pytest.mark.slow
def test_one_failure_of_a_file_is_forgiven(hub: HubServer, data: dict[str, bytes]) -> None:
    hub.fail = lambda method, path: 503 if method == "HEAD" and hub.requests.count((method, path)) == 1 else None
    assert len(load("hf://lab/data")) == len(data)
    assert sorted(method for method, path in hub.requests if "/resolve/" in path) == ["GET"] * 3 + ["HEAD"] * 6


@pytest.mark.parametrize("answer", [b"<html>Log in to the network</html>", b"[]", b"{}", b'{"sha": 5}', b""])
@pytest.mark.parametrize("where", WHERE)
def test_answer_that_is_no_hub(answer: bytes, where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    hub.fail = lambda _method, path: answer if where in f"{path}$" else None
    text = failure("hf://lab/data")
    assert "HF_ENDPOINT" in text or "has no .json" in text


@pytest.mark.parametrize("where", slow_after(1, WHERE[:2]))
def test_answer_that_is_cut(where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    hub.fail = lambda _method, path: CUT if where in f"{path}$" else None
    assert "the Hub at" in failure("hf://lab/data")


@pytest.mark.slow
def test_download_that_is_cut_goes_on(hub: HubServer, data: dict[str, bytes]) -> None:
    cuts = iter(range(2))
    hub.fail = lambda method, path: CUT if "/resolve/" in path and method == "GET" and next(cuts, None) == 0 else None
    assert len(load("hf://lab/data")) == len(data)
    assert next(cuts, None) is None


@pytest.mark.slow
def test_download_that_ends_early(hub: HubServer, data: dict[str, bytes]) -> None:
    def fail(method: str, path: str) -> str | int | None:
        if "/resolve/" not in path or method != "GET":
            return None
        seen = hub.requests.count((method, path))
        return CUT if seen == 1 else 503

    hub.fail = fail
    assert "503" in failure("hf://lab/data")
    hub.fail = lambda _method, _path: None
    loaded = load("hf://lab/data")
    assert len(loaded) == len(data)
    assert loaded.found == ()


@pytest.mark.parametrize("problem", slow_after(1, [404, 503, CUT]))
def test_file_that_does_not_come_is_named(problem: Any, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    hub.fail = lambda _method, path: problem if path.endswith("conversation_1.json") else None
    assert failure("hf://lab/data").startswith("hf://lab/data, file sub/conversation_1.json: ")
    assert failure("hf://lab/data/sub/conversation_1.json").startswith("hf://lab/data/sub/conversation_1.json: ")


# The cache.


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let this process write no file beyond a size, which looks like a full disk."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.posix
def test_disk_is_full(hub: HubServer, conversation: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = {**conversation, "note": "x" * 200_000}
    hub.add("lab/long", {"conversation_1.json": json.dumps(long).encode()})
    monkeypatch.chdir(tmp_path)
    with largest_file(100_000):
        text = failure("hf://lab/long")
    assert "cannot be written" in text
    assert "HF_HOME" in text
    assert list(tmp_path.iterdir()) == []
    loaded = load("hf://lab/long")
    assert [json.loads(record.to_json()) for record in loaded] == [long]


def test_cache_that_cannot_be_made(data: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    assert data
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file" / "hub"))
    text = failure("hf://lab/data")
    assert "cannot be written" in text
    assert str(tmp_path) in text


def test_no_token_is_written(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    assert data
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    load("hf://lab/data")
    written = [path for path in Path(os.environ["HF_HOME"]).rglob("*") if path.is_file()]
    assert written
    assert [path for path in written if TOKEN.encode() in path.read_bytes()] == []
    assert f"Bearer {TOKEN}" in hub.tokens


def test_name_without_the_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "on the Hub is hf://lab/data" in failure("lab/data")
    (tmp_path / "lab").mkdir()
    assert "hf:" not in failure("lab/data")


@pytest.fixture
def any_host_by_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("any_host_by_proxy")
@pytest.mark.parametrize(
    "proxy",
    [
        "ftp://user:hf_secret@127.0.0.1:1",
        "socks5://user:hf_secret@127.0.0.1:1",
        "http://user:hf_secret@[::1",
        "http://user:hf_sec/ret@x",
    ],
)
def test_proxy_that_cannot_be_used(proxy: str, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    assert data
    monkeypatch.setenv("HTTP_PROXY", proxy)
    text = failure("hf://lab/data")
    assert "cannot be asked" in text
    assert "of proxies, HTTP_PROXY, HTTPS_PROXY and ALL_PROXY" in text
    assert "hf_sec" not in text
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(PublishError, match="was not published") as caught:
        publish(load("demo")[:1], "lab/new", licence="cc-by-4.0")
    assert "hf_sec" not in str(caught.value)


@pytest.mark.usefixtures("any_host_by_proxy")
def test_proxy_is_asked(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """The server reads the path of a request only, so that it serves as a proxy too."""
    monkeypatch.setenv("HTTP_PROXY", hub.url)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    assert len(load("hf://lab/data")) == len(data)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read(
    content: str | None, data: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data
    if content is not None:
        (tmp_path / "own.pem").write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
    text = failure("hf://lab/data")
    assert "the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read" in text
