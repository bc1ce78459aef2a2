"""Data sets on the Hub as sources: what is read, what is downloaded, and what serves without the Hub."""

import io
import json
import logging
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer
from slow_cases import slow_after

from attune_data import Collection, Issue, SourceError, load, load_codebook, load_runs, load_tables

Json = dict[str, Any]
Record = Callable[[str], bytes]


@pytest.fixture
def record(conversation: Json) -> Record:
    """Return the function from an id to a conversation's bytes."""
    return lambda name: json.dumps({**conversation, "conversationId": name}).encode()


def ids(records: Collection[Any]) -> list[str]:
    return [record.id for record in records]


def brief(found: Sequence[Issue]) -> list[tuple[str, str, str]]:
    return [(issue.file, issue.rule, issue.severity) for issue in found]


def asked(hub: HubServer, source: str, **options: Any) -> tuple[list[str], int]:
    """Load; return the ids and the number of requests."""
    hub.requests.clear()
    return ids(load(source, **options)), len(hub.requests)


# What is read.


def test_by_name(hub: HubServer, record: Record) -> None:
    files = {"b/conversation_2.json": record("two"), "a/conversation_1.json": record("one")}
    hub.add("lab/data", {**files, "README.md": b"# Data", "annotation_codebook.json": b"{}", "other.json": b"[]"})
    loaded = load("hf://lab/data")
    assert ids(loaded) == ["one", "two"]
    assert brief(loaded.found) == [("hf://lab/data", "passed-over", "note")]
    assert "1 file is not read here: other.json" in loaded.found[0].message
    assert hub.downloaded == sorted(files)


@pytest.mark.parametrize("address", ["hf://datasets/lab/data", "hf://lab/data/", "hf://lab/data@main"])
def test_other_ways_to_write_the_address(address: str, hub: HubServer, record: Record) -> None:
    hub.add("lab/data", {"conversation_1.json": record("one")})
    assert ids(load(address)) == ["one"]


@pytest.mark.parametrize("revision", ["v1", "refs/pr/1", "refs%2Fpr%2F1", "feature%2Fx", "COMMIT"])
def test_by_revision(revision: str, hub: HubServer, record: Record) -> None:
    sha = hub.add("lab/data", {"conversation_1.json": record("old")})
    repository = hub.repositories["lab/data"]
    repository.refs |= dict.fromkeys(("v1", "refs/pr/1", "feature/x"), sha)
    repository.commit({"conversation_1.json": record("new")})
    assert ids(load(f"hf://lab/data@{revision.replace('COMMIT', sha)}")) == ["old"]
    assert ids(load("hf://lab/data")) == ["new"]


@pytest.mark.parametrize("folder", ["part/one", "part/one/"])
def test_folder(folder: str, hub: HubServer, record: Record) -> None:
    names = ("part/one/conversation_1.json", "part/one/deep/conversation_2.json", "part/other/conversation_3.json")
    hub.add("lab/data", {name: record(name) for name in names} | {"part/one-more/conversation_4.json": b"{"})
    loaded = load(f"hf://lab/data@main/{folder}")
    assert ids(loaded) == [*names[:2]]
    assert hub.downloaded == [*names[:2]]
    assert loaded.files == {names[0]: "conversation_1.json", names[1]: "deep/conversation_2.json"}


def test_place_of_an_issue_is_as_in_a_folder(hub: HubServer, record: Record) -> None:
    hub.add("lab/data", {"part/conversation_1.json": b"{", "part/conversation_2.json": record("two")})
    assert brief(load("hf://lab/data").found) == [("part/conversation_1.json", "invalid-json", "error")]
    assert brief(load("hf://lab/data/part").found) == [("conversation_1.json", "invalid-json", "error")]


def test_one_file_of_lines_and_an_archive(hub: HubServer, record: Record) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversation_1.json", record("packed"))
    lines = record("a") + b"\n{\n" + record("b")
    hub.add("lab/data", {"data/all.jsonl": lines, "data.zip": packed.getvalue(), "README.md": b"#"})
    assert ids(load("hf://lab/data/data.zip")) == ["packed"]
    loaded = load("hf://lab/data/data/all.jsonl")
    assert ids(loaded) == ids(load("hf://lab/data")) == ["a", "b"]
    assert brief(loaded.found) == [("all.jsonl:2", "invalid-json", "error")]


def test_hidden_files_are_passed_over(hub: HubServer, record: Record) -> None:
    hidden = (".git/x.json", "_old/x.json", "a/_x.json", ".x.json")
    hub.add("lab/data", {**dict.fromkeys(hidden, b"{"), "a/x.json": record("x")})
    assert brief(load("hf://lab/data").found) == []
    assert hub.downloaded == ["a/x.json"]


def test_names_that_are_patterns_too(hub: HubServer, record: Record) -> None:
    names = ["[ab]/conversation_1.json", "a/conversation_1.json", "a b/conversation_*.json", "ä/conversation_%2F.json"]
    hub.add("lab/data", {name: record(name) for name in names})
    assert ids(load("hf://lab/data/[ab]")) == names[:1]
    assert hub.downloaded == names[:1]
    assert ids(load("hf://lab/data")) == sorted(names)


def test_runs_and_tables(hub: HubServer, conversation: Json, run: Json) -> None:
    hub.add("lab/data", {"conversation_1.json": json.dumps(conversation).encode()})
    hub.add("lab/runs", {"results/one.json": json.dumps(run).encode()})
    assert [json.loads(loaded.to_json()) for loaded in load_runs("hf://lab/runs")] == [run]
    assert load_tables("hf://lab/data").turns.equals(load("hf://lab/data").tables.turns)


def test_subset_downloads_only_its_files(hub: HubServer, record: Record) -> None:
    wanted = sorted(load_codebook().subsets["Subsample20"])
    numbers = {*wanted, *range(1, 40)}
    hub.add("lab/data", {f"all/conversation_{n}.json": record(str(n)) for n in numbers})
    loaded = load("hf://lab/data", subset="Subsample20")
    assert sorted(map(int, ids(loaded))) == wanted
    assert hub.downloaded == sorted(f"all/conversation_{n}.json" for n in wanted)
    assert loaded.found == ()


@pytest.mark.parametrize("address", ["hf://lab/data", "hf://lab/data/Subsample20"])
def test_subset_has_its_own_folder(address: str, hub: HubServer, record: Record) -> None:
    first, *others = sorted(load_codebook().subsets["Subsample20"])
    files = {f"Subsample20/conversation_{n}.json": record(str(n)) for n in others}
    hub.add("lab/data", {**files, f"all/conversation_{first}.json": record("elsewhere")})
    loaded = load(address, subset="Subsample20")
    assert sorted(map(int, ids(loaded))) == others
    assert brief(loaded.found) == [(address, "subset-missing", "warning")]


def test_subset_of_one_file(hub: HubServer) -> None:
    with pytest.raises(SourceError, match="needs a folder"):
        load("hf://lab/data/all.jsonl", subset="Subsample20")
    assert hub.requests == []


# The cache.


def test_second_load_asks_once_and_a_commit_never(hub: HubServer, record: Record) -> None:
    sha = hub.add("lab/data", {f"conversation_{n}.json": record(str(n)) for n in range(20)})
    expected = sorted(map(str, range(20)))
    first, requests = asked(hub, "hf://lab/data")
    assert sorted(first) == expected
    assert requests == 2 * (1 + 1 + 20)  # the commit, the list of files, each file: what it is, then itself
    assert asked(hub, "hf://lab/data") == (first, 1)
    assert asked(hub, f"hf://lab/data@{sha}") == (first, 0)
    assert asked(hub, f"hf://lab/data@{sha}/") == (first, 0)


def test_new_commit_is_loaded_and_what_it_shares_is_not_downloaded_twice(hub: HubServer, record: Record) -> None:
    files = {"conversation_1.json": record("one"), "conversation_2.json": record("two")}
    hub.add("lab/data", files)
    load("hf://lab/data")
    hub.repositories["lab/data"].commit({**files, "conversation_2.json": record("three")})
    assert asked(hub, "hf://lab/data")[0] == ["one", "three"]
    assert hub.downloaded == ["conversation_2.json"]


def test_order_does_not_depend_on_what_is_cached(hub: HubServer, record: Record) -> None:
    hub.add("lab/data", {f"conversation_{n}.json": record(str(n)) for n in range(5)})
    assert ids(load("hf://lab/data/conversation_3.json")) == ["3"]
    assert ids(load("hf://lab/data")) == ["0", "1", "2", "3", "4"]


def test_offline_and_cached(hub: HubServer, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    sha = hub.add("lab/data", {"conversation_1.json": record("one")})
    load("hf://lab/data")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for address in ("hf://lab/data", f"hf://lab/data@{sha}"):
        loaded = load(address)
        assert (ids(loaded), loaded.found) == (["one"], ())
    assert asked(hub, "hf://lab/data") == (["one"], 0)


def test_offline_and_only_a_part_is_cached(hub: HubServer, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("lab/data", {"a/conversation_1.json": record("one"), "b/conversation_2.json": record("two")})
    load("hf://lab/data/a")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert ids(load("hf://lab/data/a")) == ["one"]
    with pytest.raises(SourceError, match="1 of 2 files are not in the cache"):
        load("hf://lab/data")


@pytest.mark.parametrize("how", slow_after(1, ["closed", "status", "silent"]))
def test_hub_down_and_cached_is_a_note(
    how: str, hub: HubServer, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    sha = hub.add("lab/data", {"conversation_1.json": record("one")})
    load("hf://lab/data")
    if how == "closed":
        hub.close()
    if how == "silent":
        monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.3)
    hub.fail = lambda _method, _path: 503 if how == "status" else "hang"
    loaded = load("hf://lab/data")
    assert ids(loaded) == ["one"]
    (note,) = loaded.found
    assert (note.file, note.rule, note.severity) == ("hf://lab/data", "hub-cache", "note")
    assert sha in note.message
    assert ("status 503" in note.message) == (how == "status")
    assert load(f"hf://lab/data@{sha}").found == ()


def test_endpoint_is_the_one_of_the_moment(hub: HubServer, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    hub.add("lab/data", {"conversation_1.json": record("one")})
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert ids(load("hf://lab/data")) == ["one"]


def test_client_is_left_as_it_was(hub: HubServer, record: Record) -> None:
    from huggingface_hub import get_session

    hub.add("lab/data", {"conversation_1.json": record("one")})
    handlers, before = logging.getLogger("huggingface_hub").handlers, get_session().event_hooks
    load("hf://lab/data")
    with pytest.raises(SourceError):
        load("hf://lab/none")
    after = get_session().event_hooks
    assert {name: list(hooks) for name, hooks in after.items()} == {name: list(h) for name, h in before.items()}
    assert [handler.filters for handler in handlers] == [[]] * len(handlers)


@pytest.mark.slow
def test_loads_in_several_threads(hub: HubServer, record: Record) -> None:
    names = "abc"
    for name in names:
        hub.add(f"lab/{name}", {f"conversation_{n}.json": record(f"{name}{n}") for n in range(5)})
    with ThreadPoolExecutor(6) as pool:
        loaded = list(pool.map(load, [f"hf://lab/{name}" for name in names * 4]))
    assert [ids(records) for records in loaded] == [[f"{name}{n}" for n in range(5)] for name in names * 4]


def in_process(code: str, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", "-c", code]
    everything = {**os.environ, **environment}
    return subprocess.run(command, env=everything, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_in_a_process_of_its_own_nothing_but_the_result_is_printed(hub: HubServer, record: Record) -> None:
    hub.add("lab/data", {f"conversation_{n}.json": record(str(n)) for n in range(3)})
    code = "from attune_data import load; print([record.id for record in load('hf://lab/data')])"
    for environment in ({"HF_HUB_DISABLE_PROGRESS_BARS": "0"}, {"HF_HUB_OFFLINE": "1"}):
        done = in_process(code, environment)
        assert (done.stdout, done.stderr) == ("['0', '1', '2']\n", "")


def test_repository_of_parquet(
    hub: HubServer,
    conversation: Json,
    save: Callable[[Any, str], Path],
    tmp_path: Path,
) -> None:
    packed = tmp_path / "packed"
    load(save(conversation, "conversation_1.json")).to_parquet(packed)
    files = {path.relative_to(packed).as_posix(): path.read_bytes() for path in packed.rglob("*") if path.is_file()}
    hub.add("lab/data", {**files, "README.md": b"# Data"})
    loaded = load("hf://lab/data")
    assert [json.loads(record.to_json()) for record in loaded] == [conversation]
    assert loaded.found == ()
    assert hub.downloaded == ["records.parquet"]
    assert load_tables("hf://lab/data").turns.equals(loaded.tables.turns)
