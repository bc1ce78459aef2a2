"""Folders and files that change, block or loop while they are read; compressed JSONL; writing JSONL."""

import gzip
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archive_files import Loader, both_loaders, brief, ids

from attune_data import Conversation, Conversations, SourceError, load, load_runs

Json = dict[str, Any]
Save = Callable[[Any, str], Path]


Record = Callable[[str], bytes]


# Files and folders in motion.


@pytest.mark.parametrize("suffix", ["json", "jsonl", "jsonl.gz"])
def test_file_that_vanishes_during_loading_is_reported(suffix: str, record: Record, save: Save, tmp_path: Path) -> None:
    for name in "abc":
        data = record(name)
        save(gzip.compress(data) if suffix == "jsonl.gz" else data, f"{name}.{suffix}")
    loaded = load(tmp_path, progress=lambda count: (tmp_path / f"b.{suffix}").unlink() if count == 1 else None)
    assert ids(loaded) == ["a", "c"]
    assert brief(loaded.found) == [(f"b.{suffix}", "unreadable", "error")]


@both_loaders
@pytest.mark.parametrize("step", ["stat", "open"])
def test_file_that_vanishes_just_before_it_is_read_is_reported(
    step: str, loader: Loader, record: Record, save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        save(record(name), f"{name}.json")
    whole = getattr(Path, step)

    def vanishing(path: Path, *args: Any, **kwargs: Any) -> Any:
        if path.name == "b.json":
            path.unlink(missing_ok=True)
        return whole(path, *args, **kwargs)

    monkeypatch.setattr(Path, step, vanishing)
    loaded = loader(tmp_path)
    assert ids(loaded) == ["a", "c"]
    assert brief(loaded.found) == [("b.json", "unreadable", "error")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "c.json"]


@both_loaders
def test_folder_that_vanishes_during_loading_is_reported(
    loader: Loader, record: Record, save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(record("a"), "1.json")
    save(record("b"), "sub/2.json")
    whole = Path.stat

    def vanishing(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.name == "sub":
            shutil.rmtree(path, ignore_errors=True)
        return whole(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", vanishing)
    loaded = loader(tmp_path)
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [("sub", "unreadable", "error")]


@both_loaders
def test_archive_that_vanishes_during_loading_is_reported(loader: Loader, record: Record, tmp_path: Path) -> None:
    import tarfile

    for name in "ab":
        (tmp_path / f"{name}.json").write_bytes(record(name))
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        for name in "ab":
            archive.add(tmp_path / f"{name}.json", f"{name}.json")
    original = tarfile.TarFile
    opened: list[int] = []

    class Vanishing(original):  # type: ignore[valid-type, misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            opened.append(1)
            (tmp_path / "x.tar.gz").unlink(missing_ok=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tarfile, "TarFile", Vanishing)
        loaded = loader(tmp_path / "x.tar.gz")
    assert len(opened) == 1
    assert ids(loaded) == []
    assert [(issue.file, issue.rule) for issue in loaded.found] == [("x.tar.gz", "unreadable")]


@pytest.fixture
def guarded() -> Iterator[Path]:
    """Return a folder in which permissions count, also for root: the test runs as nobody."""
    pl.DataFrame({"loaded": ["while the library's own files may be read"]})
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    user = os.geteuid()
    if user == 0:
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
    yield folder
    os.seteuid(user)
    for path in folder.rglob("*"):
        path.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.posix
@both_loaders
def test_what_may_not_be_read_is_reported(loader: Loader, record: Record, guarded: Path) -> None:
    for name in ("1.json", "closed/2.json", "open/3.json", "4.json"):
        (guarded / name).parent.mkdir(exist_ok=True)
        (guarded / name).write_bytes(record(name))
    (guarded / "closed").chmod(0)
    (guarded / "4.json").chmod(0)
    loaded = loader(guarded)
    assert ids(loaded) == ["1.json", "open/3.json"]
    assert brief(loaded.found) == [("closed", "unreadable", "error"), ("4.json", "unreadable", "error")]
    assert [issue.message for issue in loader(guarded / "closed").found] == [
        "the folder cannot be read: Permission denied"
    ]


@pytest.mark.posix
@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz"])
def test_archive_that_may_not_be_read_is_one_error(name: str, guarded: Path) -> None:
    (guarded / name).write_bytes(b"")
    (guarded / name).chmod(0)
    with pytest.raises(SourceError, match="Permission denied"):
        load(guarded / name)


@pytest.mark.posix
def test_file_in_a_folder_that_may_not_be_entered_is_not_said_to_be_missing(record: Record, guarded: Path) -> None:
    (guarded / "closed").mkdir()
    (guarded / "closed" / "1.json").write_bytes(record("a"))
    (guarded / "closed").chmod(0)
    with pytest.raises(SourceError, match=r"closed/1\.json cannot be reached: Permission denied$"):
        load(guarded / "closed" / "1.json")


@both_loaders
def test_links_that_go_in_circles_end(loader: Loader, record: Record, save: Save, tmp_path: Path) -> None:
    save(record("a"), "one/1.json")
    save(record("b"), "two/2.json")
    (tmp_path / "one" / "to").symlink_to(tmp_path / "two")
    (tmp_path / "two" / "to").symlink_to(tmp_path / "one")
    (tmp_path / "self").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    loaded = loader(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    assert sorted(ids(loaded)) == ["a", "b"]
    assert {(issue.rule, issue.severity) for issue in loaded.found} == {("passed-over", "note")}


@pytest.mark.posix
@pytest.mark.parametrize("suffix", ["json", "jsonl", "jsonl.gz"])
def test_pipes_and_devices_do_not_hang(suffix: str, record: Record, save: Save, tmp_path: Path) -> None:
    data = record("a")
    save(gzip.compress(data) if suffix == "jsonl.gz" else data, f"1.{suffix}")
    os.mkfifo(tmp_path / f"2.{suffix}")
    (tmp_path / f"3.{suffix}").symlink_to("/dev/zero")
    loaded = load(tmp_path)
    assert ids(loaded) == ["a"]
    assert [issue.message for issue in loaded.found] == ["a device or pipe, not a file"] * 2


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_sparse_file_of_10_gb_is_reported(suffix: str, record: Record, save: Save, tmp_path: Path) -> None:
    with (tmp_path / f"0.{suffix}").open("wb") as file:
        file.truncate(10 * 2**30 if suffix == "json" else 2**27)
    save(record("a"), f"1.{suffix}")
    loaded = load(tmp_path)
    assert ids(loaded) == ["a"]
    assert [issue.message for issue in loaded.found if issue.severity == "error"] == [
        "larger than 67,108,864 bytes, the limit of one record"
    ]


# Compressed JSONL.


def test_compressed_lines_read_as_plain_ones(record: Record, save: Save, tmp_path: Path) -> None:
    lines = b"\n".join([record("a"), b"", b"{", record("b")])
    plain, packed = load(save(lines, "x.jsonl")), load(save(gzip.compress(lines), "x.jsonl.gz"))
    assert ids(packed) == ids(plain) == ["a", "b"]
    assert brief(packed.found) == [("x.jsonl.gz:3", "invalid-json", "error")]
    save(record("c"), "y.jsonl")
    (tmp_path / "x.jsonl").unlink()
    assert ids(load(tmp_path)) == ["a", "b", "c"]


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda _: b"plain", lambda data: data[:-8] + bytes(8)])
def test_damaged_compression_is_one_issue(damage: Callable[[bytes], bytes], record: Record, save: Save) -> None:
    data = gzip.compress(b"\n".join(map(record, "abc")) + b"\n")
    loaded = load(save(damage(data), "x.jsonl.gz"))
    assert ids(loaded) == list("abc")[: len(loaded)]
    assert [issue.rule for issue in loaded.found if issue.file == "x.jsonl.gz"] == ["unreadable"]


# Writing JSONL.


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\n", "\r", "\x00", "\U0001f3fa"])
def test_written_lines_come_back_equal(character: str, conversation: Json, save: Save, tmp_path: Path) -> None:
    conversation["turns"][0]["userMessage"] = f"before{character}after"
    conversation["odd"] = {character: [None]}
    conversation["postPanas"] = None
    save(conversation, "in/1.json")
    short = {"conversationId": "short", "turns": [{"turnNumber": 1}]}
    save(short, "in/2.json")
    loaded = load(tmp_path / "in")
    loaded.to_jsonl(tmp_path / "out.jsonl")
    again = load(tmp_path / "out.jsonl")
    assert again.found == ()
    assert list(again) == list(loaded)
    assert [json.loads(item.to_json()) for item in again] == [conversation, short]
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 2


def test_written_runs_come_back_equal(run: Json, save: Save, tmp_path: Path) -> None:
    loaded = load_runs(save(run, "run.json"))
    loaded.to_jsonl(str(tmp_path / "runs.jsonl"))
    assert list(load_runs(tmp_path / "runs.jsonl")) == list(loaded)


def test_failure_of_writing_leaves_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    Conversations([Conversation(conversation_id="old")]).to_jsonl(path)
    before = path.read_bytes()
    bad = Conversation.model_construct(conversation_id="half \ud83c")
    with pytest.raises(ValueError, match=r"surrogate|utf-8"):
        Conversations([Conversation(conversation_id="new"), bad]).to_jsonl(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_written_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    Conversations([Conversation(conversation_id="a")]).to_jsonl(tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_missing_folder_is_named_and_no_temporary_file(tmp_path: Path) -> None:
    records = Conversations([Conversation(conversation_id="a")])
    for write, name in ((records.to_jsonl, "x.jsonl"), (records.to_parquet, "x")):
        with pytest.raises(FileNotFoundError) as raised:
            write(tmp_path / "none" / name)
        assert str(raised.value) == f"there is no folder {tmp_path / 'none'} to write {name} to"


@pytest.mark.parametrize("name", ["x.json", "x.jsonl.gz", "x"])
def test_name_of_another_kind_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"'{name}' has to end in \.jsonl"):
        Conversations([Conversation(conversation_id="a")]).to_jsonl(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
