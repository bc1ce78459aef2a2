"""Limits of what is taken from the Hub, where the token goes, and what the cache may hold already."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_server import TOKEN, Failure, HubServer, answer

from attune_data import PublishError, SourceError, load, publish
from attune_data.io import documents
from attune_data.io import hub as hub_module

Json = dict[str, Any]
Record = Callable[[str], bytes]
COMMIT, TREE, RESOLVE = WHERE = ("/api/datasets/lab/data$", "/tree/", "/resolve/")


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


def listed(**changes: Any) -> Json:
    """Return the entry of a file in a list."""
    entry = {"type": "file", "path": "x.json", "size": 1, "oid": "0" * 40}
    return {**entry, **changes}


def test_many_files(hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    assert data
    monkeypatch.setattr(hub_module, "FILES_LIMIT", 10)
    link = f'<{hub.url}/api/datasets/lab/data/tree/more>; rel="next"'
    wrong(hub, TREE, answer(json.dumps([listed()] * 4).encode(), Link=link))
    assert "more than 10 files and folders, the limit" in failure()
    assert len(hub.requests) == 2 + 3  # The commit, twice; pages.


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


def test_a_file_of_another_size_than_the_list_states(hub: HubServer, data: dict[str, bytes]) -> None:
    sizes = {path: len(content) + (path == "conversation_1.json") for path, content in data.items()}
    wrong(hub, TREE, json.dumps([listed(path=path, size=size) for path, size in sizes.items()]).encode())
    size = len(data["conversation_1.json"])
    text = failure()
    assert text.startswith(
        f"hf://lab/data, file conversation_1.json: {size:,} bytes are in the cache, {size + 1:,} in the Hub's list"
    )
    assert Path(text.split("; delete ")[1].removesuffix(" and load it again")).is_file()


@pytest.mark.parametrize("name", ["../conversation_9.json", "a/../../../../../conversation_9.json"])
def test_a_name_that_leads_out_of_the_cache_is_passed_over(name: str, hub: HubServer, data: dict[str, bytes]) -> None:
    hub.repositories["lab/data"].commit({**data, name: data["conversation_0.json"]})
    assert len(load("hf://lab/data")) == len(data)
    home = Path(os.environ["HF_HOME"])
    assert "conversation_9.json" not in {path.name for path in (*home.rglob("*"), *home.parent.iterdir())}


def test_folders_and_what_else_git_has_are_no_issue(hub: HubServer, data: dict[str, bytes]) -> None:
    content = data["conversation_0.json"]
    good = listed(path="conversation_0.json", size=len(content))
    wrong(hub, TREE, json.dumps([listed(type="directory", path="x"), listed(type="commit", path="y"), good]).encode())
    assert load("hf://lab/data").found == ()


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
    assert "or does not answer as a Hub does" in failure()


@pytest.mark.parametrize(
    "revision", ["..%2F..%2F..%2Fx", "%2Fetc%2Fx", "a%00b", "a%0Ab", "a%5Cb", "a%2F", "a%2F%2Fb", "%2E%2E", "a%2F.b"]
)
def test_revision_that_leads_out_of_the_cache(revision: str, hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    with pytest.raises(SourceError, match="no branch, tag or commit can have the name"):
        load(f"hf://lab/data@{revision}")
    assert hub.requests == []


# The token.


@pytest.mark.usefixtures("token")
@pytest.mark.parametrize("where", WHERE)
def test_redirect_to_another_origin_is_followed_without_the_token(
    where: str, hub: HubServer, other: HubServer, data: dict[str, bytes]
) -> None:
    """As the Hub does with large files, which are elsewhere."""
    other.repositories = hub.repositories
    commit = hub.repositories["lab/data"].refs["main"]

    def fail(_method: str, path: str) -> Failure:
        if where not in f"{path}$":
            return None
        about = {"X_Repo_Commit": commit, "X_Linked_Etag": f'"{hashlib.sha256(path.encode()).hexdigest()}"'}
        return answer(b"see there", 302, Location=other.url + path, **about)

    hub.fail = fail
    assert len(load("hf://lab/data")) == len(data)
    assert other.requests
    assert set(other.tokens) == {None}
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}


@pytest.mark.usefixtures("token")
def test_token_that_the_hub_repeats_is_not_shown(hub: HubServer, data: dict[str, bytes]) -> None:
    assert data
    wrong(hub, COMMIT, answer(b"", 418, X_Error_Message=TOKEN, X_Error_Code=TOKEN))
    assert "status 418" in failure()
    wrong(hub, COMMIT, lambda handler: handler.connection.sendall(f"{TOKEN} 200 OK\r\n\r\n".encode()))
    assert "[token]" in failure()
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


@pytest.mark.usefixtures("token")
def test_token_that_may_not_be_sent_unasked(
    hub: HubServer, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    assert len(load("hf://lab/data")) == len(data)
    assert set(hub.tokens) == {None}
