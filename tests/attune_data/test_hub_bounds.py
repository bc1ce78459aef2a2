"""A Hub that means harm: what it sends is bounded, the token stays with it, names and hashes lead nowhere else."""

import gzip
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_server import TOKEN, Failure, HubServer, answer, endless

from attune_data import PublishError, SourceError, load, publish
from attune_data.io import documents
from attune_data.io import hub as hub_client
from attune_data.io import hub as hub_module

Json = dict[str, Any]
Record = Callable[[str], bytes]
COMMIT, TREE, RESOLVE = WHERE = ("/api/datasets/lab/data$", "/tree/", "/resolve/")
MEGABYTES = 2**20


def slow(*values: Any) -> Any:
    """Return a case that only the slow suite tries."""
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.fixture
def data(hub: HubServer, record: Record) -> dict[str, bytes]:
    """Return the files of lab/data, which is on the Hub."""
    files = {f"conversation_{n}.json": record(str(n)) for n in range(3)}
    hub.add("lab/data", files)
    return files


@pytest.fixture
def other(hub: HubServer) -> Iterator[HubServer]:
    """Return another server, which is another origin than the Hub."""
    assert hub.url
    server = HubServer("127.0.0.2")
    yield server
    server.close()


@pytest.fixture
def token(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the token that the Hub accepts."""
    assert hub.url
    monkeypatch.setenv("HF_TOKEN", TOKEN)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the client's time limit half a second."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.5)


def wrong(hub: HubServer, where: str, failure: Any) -> None:
    """Let the Hub fail where the path has a text."""
    hub.fail = lambda _method, path: failure if where in f"{path}$" else None


def failure(source: str = "hf://lab/data") -> str:
    """Return the text of the one error, one line without the token."""
    with pytest.raises(SourceError) as caught:
        load(source)
    assert type(caught.value) is SourceError
    text = str(caught.value)
    assert text.isprintable()
    assert TOKEN not in text
    assert text.startswith(source)
    return text


def cached() -> list[Path]:
    """Return every file that was written."""
    return [path for path in Path(os.environ["HF_HOME"]).rglob("*") if path.is_file() and not path.is_symlink()]


def contents() -> list[Path]:
    return [path for path in cached() if path.parent.name == "blobs"]


def listed(**changes: Any) -> Json:
    """Return the entry of a file in a list."""
    entry = {"type": "file", "path": "x.json", "size": 1, "oid": "0" * 40}
    return {**entry, **changes}


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


# Bytes, pages, time.


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n"], ids=["body", "redirect"]
)
def test_endless_body(start: bytes, where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    wrong(hub, where, endless(b"[" + b" " * 2**16, start))
    limit = 2**16 if b"302" in start else len(data["conversation_0.json"]) if where == RESOLVE else 2**24
    assert f"of more than {limit:,} bytes" in failure()
    # What the sockets of both sides buffer comes on top, and as many downloads as run at once.
    assert hub.sent < limit + 8 * 8 * MEGABYTES
    assert contents() == []


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("status", [404, slow(500)])
def test_endless_body_of_an_error_is_not_read(status: int, where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    wrong(hub, where, endless(b" " * 2**16, b"HTTP/1.1 %d No\r\n\r\n" % status))
    assert f"status {status}" in failure()
    assert hub.sent < 8 * 8 * MEGABYTES


def page(hub: HubServer, entries: list[Json]) -> Callable[[Any], None]:
    return answer(json.dumps(entries).encode(), Link=f'<{hub.url}/api/datasets/lab/data/tree/more>; rel="next"')


@pytest.mark.parametrize("entries", [[], [listed()]])
def test_endless_pages(
    entries: list[Json], hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data
    monkeypatch.setattr(hub_client, "PAGES_LIMIT", 7)
    wrong(hub, TREE, page(hub, entries))
    assert "in more than 7 pages, the limit" in failure()
    assert len(hub.requests) == 1 + 7


def test_large_pages_are_bounded_together(
    hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data
    monkeypatch.setattr(hub_client, "LIST_LIMIT", 10_000)
    wrong(hub, TREE, page(hub, [listed(path="x" * 3_000)]))
    assert "of more than 10,000 bytes, the limit" in failure()
    assert len(hub.requests) == 1 + 4


@pytest.mark.parametrize("entries", [[], [listed()], [listed(path="x.txt")], [listed(size=10**12)]])
def test_a_wrong_list_is_not_kept(entries: list[Json], hub: HubServer, data: dict[str, bytes]) -> None:
    wrong(hub, TREE, answer(json.dumps(entries).encode()))
    assert failure()
    hub.fail = lambda _method, _path: None
    assert len(load("hf://lab/data")) == len(data)
    hub.requests.clear()
    assert len(load("hf://lab/data")) == len(data)
    assert not any("/tree/" in path for _, path in hub.requests)


def test_many_files(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    assert data
    monkeypatch.setattr(hub_module, "FILES_LIMIT", 10)
    wrong(hub, TREE, page(hub, [listed()] * 4))
    assert "more than 10 files and folders, the limit" in failure()
    assert len(hub.requests) == 1 + 3


def test_slow_list(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    assert data
    monkeypatch.setattr(hub_client, "LIST_SECONDS", 0)
    wrong(hub, TREE, page(hub, []))
    assert "takes more than 0 seconds for the list of files" in failure()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("part", "start"),
    [
        (b" ", b"HTTP/1.1 200 OK\r\n\r\n"),
        (b"1\r\n \r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (b"x", b"HTTP/1.1 200 OK\r\nX-Header: "),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n", b""),
    ],
    ids=["body", "chunks", "header", "early-hints"],
)
@pytest.mark.parametrize("where", [slow(TREE), slow(COMMIT), RESOLVE])
def test_trickle(part: bytes, start: bytes, where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    wrong(hub, where, endless(part, start, pause=0.02))
    # Without a bound it comes for as long as the server lives. With it half a second counts, and what a loaded machine
    # adds: the error may say that the answer is not what the list states, where all of a small file came in time.
    began = time.monotonic()
    text = failure()
    assert time.monotonic() - began < 30
    assert "does not answer within 0.5 seconds" in text or "less than 16,384 bytes a second" in text
    assert contents() == []


@pytest.mark.slow
def test_endless_redirects(hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    for where in WHERE:
        hub.requests.clear()
        wrong(hub, where, answer(b"", 302, Location="?"))
        assert "redirects more than 10 times, the limit" in failure()
    assert len([path for _, path in hub.requests if "/resolve/" in path]) <= 3 * 11


@pytest.mark.parametrize("encoding", ["gzip", slow("deflate, gzip"), slow("br")])
@pytest.mark.parametrize("where", WHERE)
def test_compressed_answers_are_refused(encoding: str, where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    bomb = gzip.compress(gzip.compress(b" " * 2**24))
    wrong(hub, where, answer(bomb, Content_Encoding=encoding))
    assert "compresses an answer" in failure()
    assert contents() == []


@pytest.mark.parametrize("length", ["-1", slow("9" * 20), "1", slow("0"), slow("x"), slow("1, 2")])
@pytest.mark.parametrize("where", WHERE)
def test_length_that_lies(length: str, where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    wrong(hub, where, answer(data["conversation_0.json"], Content_Length=length))
    text = failure()
    assert "the Hub at" in text
    assert contents() == []


def test_file_of_another_size_or_content(hub: HubServer, data: dict[str, bytes]) -> None:
    content = data["conversation_0.json"]
    for sent in (content + b"x", content[:-1], content[::-1]):
        wrong(hub, "conversation_0.json", sent)
        text = failure()
        assert text.startswith("hf://lab/data, file conversation_0.json: the Hub at ")
        assert "list of files" in text
    # The others may have come, whole.
    assert {path.read_bytes() for path in contents()} <= set(data.values())
    assert [path for path in cached() if path.name.endswith(".tmp")] == []
    hub.fail = lambda _method, _path: None
    assert len(load("hf://lab/data")) == 3


def test_more_than_one_source_may_have_is_not_downloaded(
    hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(map(len, data.values()))
    monkeypatch.setattr(documents, "ALL_LIMIT", size - 1)
    assert f"3 files of {size:,} bytes, more than {size - 1:,}, the limit of one source" in failure()
    assert hub.downloaded == []
    monkeypatch.setattr(documents, "ALL_LIMIT", size)
    assert len(load("hf://lab/data")) == 3
    # What is there already is not downloaded and so not bounded.
    monkeypatch.setattr(documents, "ALL_LIMIT", 1)
    assert len(load("hf://lab/data")) == 3


# Names and lists.


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../x.json", "leads out of the data set"),
        slow("a/../../x.json", "leads out of the data set"),
        slow("a/..", "leads out of the data set"),
        ("/etc/x.json", "leads out of the data set"),
        slow("//host/x.json", "leads out of the data set"),
        ("C:\\x.json", "leads out of the data set"),
        slow("C:x.json", "leads out of the data set"),
        slow("..\\x.json", "leads out of the data set"),
        slow("\\x.json", "leads out of the data set"),
        ("a//b.json", "not as git has names"),
        slow("./b.json", "not as git has names"),
        slow("b.json/", "not as git has names"),
        ("a\\b.json", "its name has '\\\\'"),
        ("a\0.json", "its name has '\\x00'"),
        slow("a\n.json", "its name has '\\n'"),
        ("a\x1b[31m.json", "its name has '\\x1b'"),
        slow("a\x9b.json", "its name has '\\x9b'"),
        ("a\ud800.json", "its name has '\\ud800'"),
    ],
)
def test_name_that_no_file_may_have_is_an_issue(name: str, why: str, hub: HubServer, data: dict[str, bytes]) -> None:
    content = data["conversation_0.json"]
    entries = [listed(path=path, size=len(content), oid=git_hash(content)) for path in (name, "conversation_0.json")]
    wrong(hub, TREE, json.dumps(entries).encode())
    before = set(Path(os.environ["HF_HOME"]).parent.rglob("*"))
    for _ in range(2):  # From the Hub, then from the cache.
        loaded = load("hf://lab/data")
        assert [record.id for record in loaded] == ["0"]
        (issue,) = loaded.found
        assert (issue.rule, issue.severity) == ("unreadable", "error")
        assert why in issue.message
        assert issue.file.isprintable()
    after = set(Path(os.environ["HF_HOME"]).parent.rglob("*"))
    assert all(path.is_relative_to(os.environ["HF_HOME"]) for path in after - before)
    assert hub.downloaded == ["conversation_0.json"]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ([], "entry 1 of the Hub's list of files is []"),
        (None, "entry 1 of the Hub's list of files is null"),
        (7, "entry 1 of the Hub's list of files is 7"),
        ("x.json", "entry 1 of the Hub's list of files is"),
        ({}, "entry 1 of the Hub's list of files is {}"),
        (listed(type=None), "entry 1 of"),
        (listed(path=None), "entry 1 of"),
        (listed(path=["x.json"]), "entry 1 of"),
        (listed(path=""), "entry 1 of"),
        (listed(size=-1), "its size is -1"),
        (listed(size="5"), 'its size is "5"'),
        (listed(size=10**30), f"its size is {10**30}"),
        (listed(size=1.5), "its size is 1.5"),
        (listed(size=True), "its size is true"),
        (listed(size=None), "its size is null"),
        (listed(oid=None), "its hash is null"),
        (listed(oid="../../x"), "its hash is"),
        (listed(oid="A" * 40), "its hash is"),
        (listed(lfs={"oid": "../" * 16}), "its hash is"),
        (listed(lfs={"oid": 5}), "its hash is 5"),
        (listed(lfs=7), "its hash is 7"),
    ],
)
def test_entry_that_is_no_file_is_an_issue(entry: Any, why: str, hub: HubServer, data: dict[str, bytes]) -> None:
    content = data["conversation_0.json"]
    good = listed(path="conversation_0.json", size=len(content), oid=git_hash(content))
    wrong(hub, TREE, json.dumps([entry, good]).encode())
    for _ in range(2):
        loaded = load("hf://lab/data")
        assert [record.id for record in loaded] == ["0"]
        (issue,) = loaded.found
        assert why in issue.message
        assert issue.file == ("x.json" if why.startswith("its") else "hf://lab/data")
    assert hub.downloaded == ["conversation_0.json"]


def test_folders_and_what_else_git_has_are_no_issue(hub: HubServer, data: dict[str, bytes]) -> None:
    content = data["conversation_0.json"]
    good = listed(path="conversation_0.json", size=len(content), oid=git_hash(content))
    wrong(hub, TREE, json.dumps([{"type": "directory", "path": "x"}, {"type": "commit", "path": "y"}, good]).encode())
    assert load("hf://lab/data").found == ()


@pytest.mark.parametrize(
    "names",
    [
        ("a.json", "A.json"),
        ("\u00e4.json", "a\u0308.json"),
        ("a.json", "a.json/b.json"),
        ("a.json/b.json", "a.json"),
        ("x" * 5_000 + ".json", "y/" * 2_500 + "z.json"),
    ],
    ids=["case", "normalisation", "file-and-folder", "folder-and-file", "long"],
)
def test_names_that_a_disk_may_not_have_are_read(
    names: tuple[str, str], hub: HubServer, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("lab/data", {name: record(str(number)) for number, name in enumerate(names)})
    assert sorted(record.id for record in load("hf://lab/data")) == ["0", "1"]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    loaded = load("hf://lab/data")
    assert sorted(record.id for record in loaded) == ["0", "1"]
    assert loaded.found == ()


def test_large_file_is_named_by_its_hash_of_lfs(hub: HubServer, data: dict[str, bytes]) -> None:
    content = data["conversation_0.json"]
    oid = hashlib.sha256(content).hexdigest()
    entry = listed(path="conversation_0.json", size=len(content), lfs={"oid": oid, "size": len(content)})
    wrong(hub, TREE, json.dumps([entry]).encode())
    assert len(load("hf://lab/data")) == 1
    assert [path.name for path in contents()] == [oid]
    from huggingface_hub import get_cached_repo_tree, try_to_load_from_cache

    # The `hf` tools find what is in the cache.
    (known,) = get_cached_repo_tree("lab/data", repo_type="dataset")
    assert (known.path, known.size, known.blob_id) == ("conversation_0.json", len(content), "0" * 40)
    place = try_to_load_from_cache("lab/data", "conversation_0.json", repo_type="dataset")
    assert isinstance(place, str)
    assert Path(place).read_bytes() == content


def test_what_the_hf_tools_downloaded_is_read(
    hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download("lab/data", repo_type="dataset")
    hub.requests.clear()
    assert len(load("hf://lab/data")) == len(data)
    assert [path for _, path in hub.requests] == ["/api/datasets/lab/data"]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert len(load("hf://lab/data")) == len(data)


@pytest.mark.parametrize("sha", ["../../../x", "0" * 39, "0" * 41, 5, None, "A" * 40, ["0" * 40], "x" * 10_000])
def test_commit_that_is_none(sha: Any, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    wrong(hub, COMMIT, json.dumps({"sha": sha}).encode())
    assert "does not answer as a Hub does" in failure()
    assert cached() == []


@pytest.mark.parametrize(
    "revision", ["..%2F..%2F..%2Fx", "%2Fetc%2Fx", "a%00b", "a%0Ab", "a%5Cb", "a%2F", "a%2F%2Fb", "%2E%2E", "a%2F.b"]
)
def test_revision_that_leads_out_of_the_cache(revision: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    with pytest.raises(SourceError, match="no branch, tag or commit can have the name"):
        load(f"hf://lab/data@{revision}")
    assert hub.requests == []


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b"[1" + b"0" * 5_000 + b"]", b"{", b"\xff", b"NaN", b"7", b'"x"', b"null", b'[{"a":'],
    ids=repr,
)
@pytest.mark.parametrize("where", [COMMIT, TREE])
def test_answer_that_is_no_list(body: bytes, where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    wrong(hub, where, body)
    assert "does not answer as a Hub does" in failure()


# The token.


@pytest.mark.usefixtures("token")
def test_next_page_at_another_origin_is_refused(hub: HubServer, other: HubServer, data: dict[str, bytes]) -> None:
    assert data
    for target in (other.url, hub.url.replace("127.0.0.1", "localhost"), f"//{other.url[7:]}", "https:"):
        wrong(hub, TREE, answer(b"[]", Link=f'<{target}/api/datasets/lab/data/tree/x>; rel="next"'))
        text = failure()
        assert "continues its list of files at another place" in text or "as a Hub does" in text
    assert other.requests == []


@pytest.mark.usefixtures("token")
@pytest.mark.parametrize("link", ["/api/datasets/lab/data/tree/x?page=2", "?page=2"])
def test_next_page_at_the_same_origin_has_the_token(link: str, hub: HubServer, record: Record) -> None:
    content = {f"conversation_{n}.json": record(str(n)) for n in range(2)}
    sha = hub.add("lab/data", content)
    entries = [listed(path=path, size=len(text), oid=git_hash(text)) for path, text in content.items()]
    pages: list[Failure] = [
        answer(json.dumps(entries[:1]).encode(), Link=f'<{link}>; rel="next"'),
        json.dumps(entries[1:]).encode(),
    ]

    def fail(_method: str, path: str) -> Failure:
        return pages.pop(0) if "/tree/" in path else None

    hub.fail = fail
    assert [record.id for record in load(f"hf://lab/data@{sha}")] == ["0", "1"]
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}


@pytest.mark.usefixtures("token")
@pytest.mark.parametrize("status", [slow(301), 302, slow(303), slow(307), slow(308)])
@pytest.mark.parametrize("where", WHERE)
def test_redirect_to_another_origin_is_followed_without_the_token(
    status: int, where: str, hub: HubServer, other: HubServer, data: dict[str, bytes]
) -> None:
    """As the Hub does with large files, which are elsewhere."""
    other.repositories = hub.repositories

    def fail(_method: str, path: str) -> Any:
        return answer(b"see there", status, Location=other.url + path) if where in f"{path}$" else None

    hub.fail = fail
    assert len(load("hf://lab/data")) == len(data)
    assert len(other.requests) == (3 if where == RESOLVE else 1)
    assert set(other.tokens) == {None}
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}


@pytest.mark.usefixtures("token")
def test_redirect_back_has_the_token_again(hub: HubServer, other: HubServer, data: dict[str, bytes]) -> None:
    hub.repositories["lab/own"] = hub.repositories["lab/data"]
    hub.repositories["lab/own"].private = True
    hub.fail = lambda _m, path: answer(b"", 307, Location=other.url + path) if "lab/data" in path else None
    other.fail = lambda _m, path: answer(b"", 307, Location=hub.url + path.replace("lab/data", "lab/own"))
    assert len(load("hf://lab/data")) == len(data)
    assert set(other.tokens) == {None}


@pytest.mark.usefixtures("token")
def test_relative_redirect_keeps_the_token(hub: HubServer, data: dict[str, bytes]) -> None:
    hub.repositories["lab/new"] = hub.repositories["lab/data"]
    hub.repositories["lab/new"].private = True
    hub.fail = lambda _m, path: (
        answer(b"", 307, Location=path.replace("lab/data", "lab/new")) if "lab/data" in path else None
    )
    assert len(load("hf://lab/data")) == len(data)
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}


@pytest.mark.usefixtures("token")
@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "http://[", *map(slow, ("http://", "\udc80", "ftp://x", "//", "http://a:b"))]
)
def test_redirect_to_nowhere(location: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    wrong(
        hub,
        TREE,
        endless(
            b"",
            b"HTTP/1.1 302 Go\r\nConnection: close\r\nContent-Length: 0\r\nLocation: %b\r\n\r\n"
            % os.fsencode(location),
        ),
    )
    assert "the Hub at" in failure()


@pytest.mark.usefixtures("token")
@pytest.mark.parametrize("where", [slow(COMMIT), TREE, slow(RESOLVE)])
def test_token_that_the_hub_repeats_is_not_shown(where: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    for sent in (f"{TOKEN} 200 OK\r\n\r\n", f"HTTP/1.1 200 {TOKEN}\r\n{TOKEN}\r\n\r\n"):
        wrong(hub, where, endless(b"", sent.encode(), pause=0.1))
        assert "cannot be reached" in failure()
    wrong(hub, where, answer(b"", 418, X_Error_Message=TOKEN, X_Error_Code=TOKEN))
    assert "status 418" in failure()
    assert not any(TOKEN.encode() in path.read_bytes() for path in cached())


@pytest.mark.parametrize("odd", ["hf_with blank", "hf_tab\tbed", "hf_ümlaut"])
def test_token_that_cannot_be_sent_is_not_shown(
    odd: str, hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data
    monkeypatch.setenv("HF_TOKEN", odd)
    with pytest.raises(SourceError, match="a character that no token has") as caught:
        load("hf://lab/data")
    with pytest.raises(PublishError, match="a character that none has") as refused:
        publish(load("demo"), "lab/new", licence="cc-by-4.0")
    assert odd[3:] not in str(caught.value) + str(refused.value)
    assert hub.requests == []


# Publishing.


@pytest.mark.slow
@pytest.mark.usefixtures("token")
def test_uploads_elsewhere_have_no_token(hub: HubServer, other: HubServer) -> None:
    """The Hub says where large files are stored, and where to tell that they were."""
    hub.uploads = other.url
    other.fail = lambda method, _path: answer(b"{}") if method == "POST" else None
    hub.objects = other.objects
    address = publish(load("demo"), "lab/new", licence="cc-by-4.0")
    assert len(load(address)) == len(load("demo"))
    assert {method for method, _ in other.requests} == {"PUT", "POST"}
    assert set(other.tokens) == {None}
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}


def test_nothing_but_the_data_set_is_asked_for(
    hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To know what to say of itself, the client library asks the Hub for the names of programs, without bounds."""
    from huggingface_hub import constants
    from huggingface_hub.utils import _detect_agent

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)
    monkeypatch.setattr(_detect_agent, "_registry", None)
    assert len(load("hf://lab/data")) == len(data)
    assert {path for _, path in hub.requests if "/datasets/lab/data" not in path} == set()


@pytest.mark.usefixtures("token")
def test_token_that_may_not_be_sent_unasked(
    hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    assert len(load("hf://lab/data")) == len(data)
    assert set(hub.tokens) == {None}


@pytest.mark.parametrize("may_link", [True, False])
def test_what_an_interrupted_download_left_in_place_of_a_link_is_replaced(
    may_link: bool, hub: HubServer, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not may_link:

        def refuse(*_given: Any) -> None:
            raise PermissionError

        monkeypatch.setattr(Path, "symlink_to", refuse)
    lines = b"".join(record(str(n)) + b"\n" for n in range(3))
    commit = hub.add("lab/data", {"a.jsonl": lines})
    link = Path(os.environ["HF_HOME"], "hub", "datasets--lab--data", "snapshots", commit, "a.jsonl")
    link.parent.mkdir(parents=True)
    link.write_bytes(lines[:-50])
    assert len(load("hf://lab/data/a.jsonl")) == 3
    assert link.read_bytes() == lines
    assert link.is_symlink() == may_link
    assert [path.name for path in link.parent.iterdir()] == ["a.jsonl"]
