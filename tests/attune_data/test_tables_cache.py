"""The cache of tables: a hit is a fresh load, whatever matters makes a new entry, and damage, races and a full disk."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from attune_data import SourceError, Tables, _tables_cache, load_tables
from attune_data.attunebench import loading
from attune_data.attunebench.tables import TABLES
from attune_data.io.sources import Document, documents

Json = dict[str, Any]
Save = Callable[[Any, str], Path]
ODD = Path(__file__).parents[1] / "golden" / "vectors" / "odd" / "data"
FILES = sorted([*(f"{name}.parquet" for name in (*TABLES, "issues")), "digests.json"])


def assert_same(first: Tables, second: Tables) -> None:
    assert first.found == second.found
    for name in TABLES:
        assert_frame_equal(getattr(first, name), getattr(second, name))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Path]]:
    """Set a cache folder of the test's own and return the function that lists its entries."""
    monkeypatch.setenv("ATTUNE_CACHE", str(tmp_path / "cache"))
    return lambda: sorted((tmp_path / "cache" / "tables").glob("*"))


Entries = Callable[[], list[Path]]


@pytest.fixture
def source(conversation: Json, save: Save) -> Path:
    """Return a folder of two conversations, one of them repeated, and a damaged file."""
    for name, key in (("1", "a"), ("2", "b"), ("3", "a")):
        save({**conversation, "conversationId": key}, f"in/{name}.json")
    return save(b"{", "in/4.json").parent


@pytest.mark.parametrize("chunk", [1, 1000])
def test_a_hit_is_a_fresh_load_and_parses_nothing(
    chunk: int, source: Path, cache: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (source, ODD):
        fresh = load_tables(folder)
        assert len(fresh.found) >= 2
        assert_same(load_tables(folder, cache=True), fresh)
    assert len(cache()) == 2
    assert [path.name for entry in cache() for path in sorted(entry.iterdir())] == FILES * 2
    fresh_ones = [load_tables(folder) for folder in (source, ODD)]
    monkeypatch.delattr(loading, "read_document")
    for folder, fresh in zip((source, ODD), fresh_ones, strict=True):
        assert_same(load_tables(folder, chunk=chunk, cache=True), fresh)


def test_without_asking_nothing_is_kept(source: Path, cache: Entries) -> None:
    load_tables(source)
    assert cache() == []


def test_a_hit_answers_queries_and_outlives_its_entry(cache: Entries, tmp_path: Path) -> None:
    fresh = load_tables("demo", cache=True)
    hit = load_tables("demo", cache=True)
    shutil.rmtree(tmp_path / "cache")
    assert_same(hit.where(diagnosis="ADHD"), fresh.where(diagnosis="ADHD"))
    assert_same(hit | fresh, fresh)
    assert cache() == []


def test_a_table_is_decoded_when_asked_for(cache: Entries, monkeypatch: pytest.MonkeyPatch) -> None:
    load_tables("demo", cache=True)
    read, heights = pl.read_parquet, []

    def counted(*args: Any) -> pl.DataFrame:
        heights.append(read(*args).height)
        return read(*args)

    monkeypatch.setattr(pl, "read_parquet", counted)
    tables = load_tables("demo", cache=True)
    assert heights == [0]  # the issues
    assert tables.conversations is tables.conversations
    assert heights == [0, 40]
    assert len(cache()) == 1


# What makes a new entry.


def test_changed_content_or_name_or_order_makes_a_new_entry(source: Path, cache: Entries) -> None:
    load_tables(source, cache=True)
    first, second = source / "1.json", source / "2.json"
    first.write_bytes(first.read_bytes().replace(b"Chile", b"China"))
    assert load_tables(source, cache=True).conversations["country"].to_list() == ["China", "Chile"]
    assert len(cache()) == 2
    first.rename(source / "1b.json")
    assert_same(load_tables(source, cache=True), load_tables(source))
    assert len(cache()) == 3
    second.rename(source / "0.json")
    assert load_tables(source, cache=True).conversations["conversation_id"].to_list() == ["b", "a"]
    assert len(cache()) == 4


def test_names_and_contents_do_not_run_into_each_other(cache: Entries, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [
        [Document("a", b"xy"), Document("b", b"")],
        [Document("a", b"x"), Document("b", b"y")],
        [Document("a", b"xyb")],
        [Document("a", b""), Document("b", b"")],
        [Document("a", b'["b", null, "error", 0]')],
        [Document("a", b"", "xy")],
        [Document("a", b"", "xy", "note")],
        [],
    ]
    for content in sources:
        monkeypatch.setattr(loading, "documents", lambda *_, content=content, **__: iter(content))
        assert_same(load_tables("x", cache=True), load_tables("x"))
        assert_same(load_tables("x", cache=True), load_tables("x"))
    assert len(cache()) == len(sources)


@pytest.mark.parametrize("package", ["pydantic", "polars"])
def test_another_version_makes_a_new_entry(
    package: str, source: Path, cache: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_tables(source, cache=True)
    monkeypatch.setattr(_tables_cache, "version", lambda name: "99.0" if name == package else version(name))
    _tables_cache._library.cache_clear()
    load_tables(source, cache=True)
    _tables_cache._library.cache_clear()
    assert len(cache()) == 2


@pytest.mark.parametrize("changed", ["attune_data/attunebench/rules.py", "attune_data/codebook/attunebench.toml"])
def test_changed_code_or_codebook_makes_a_new_entry(
    changed: str, source: Path, cache: Entries, tmp_path: Path, spawned: Callable[..., str]
) -> None:
    package = Path(loading.__file__).parents[1]
    shutil.copytree(package, tmp_path / "lib" / "attune_data")
    if not (package / "codebook").is_dir():
        shutil.copytree(package.parents[1] / "codebook", tmp_path / "lib" / "attune_data" / "codebook")
    code = "import sys, attune_data; attune_data.load_tables(sys.argv[1], cache=True); print(attune_data.__file__)"
    for count in (1, 1, 2):
        if count == 2:
            with (tmp_path / "lib" / changed).open("a") as file:
                file.write("\n# a comment\n")
        assert spawned(code, source, PYTHONPATH=str(tmp_path / "lib")).startswith(str(tmp_path))
        assert len(cache()) == count


@pytest.fixture
def spawned() -> Callable[..., str]:
    """Return the function that runs code in a process of its own and returns what it prints."""

    def run(code: str, *arguments: object, **environment: str) -> str:
        command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_source_that_changes_while_it_is_loaded_is_kept_as_what_was_loaded(
    source: Path, cache: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (source / "1.json").read_bytes()
    passes: list[int] = []

    def changing(*args: Any, **kwargs: Any) -> Iterator[Document]:
        if passes:
            (source / "1.json").write_bytes(before.replace(b"Chile", b"China"))
        passes.append(1)
        return documents(*args, **kwargs)

    monkeypatch.setattr(loading, "documents", changing)
    changed = load_tables(source, cache=True)
    assert changed.conversations["country"][0] == "China"
    assert len(passes) == 2
    monkeypatch.undo()
    monkeypatch.setenv("ATTUNE_CACHE", str(cache()[0].parents[1]))
    assert_same(load_tables(source, cache=True), changed)
    assert len(cache()) == 1
    (source / "1.json").write_bytes(before)
    assert load_tables(source, cache=True).conversations["country"][0] == "Chile"


# Damage, races, no room.


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "flipped", "all gone"])
def test_a_damaged_entry_is_rebuilt(name: str, damage: str, source: Path, cache: Entries) -> None:
    fresh = load_tables(source, cache=True)
    (entry,) = cache()
    path = entry / name
    whole = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "all gone":
        shutil.rmtree(entry)
        entry.mkdir()
    else:
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        path.write_bytes({"empty": b"", "cut": whole[:middle], "flipped": flipped}[damage])
    assert_same(load_tables(source, cache=True), fresh)
    assert cache() == [entry]
    assert path.read_bytes() == whole
    assert sorted(file.name for file in entry.iterdir()) == FILES


@pytest.mark.parametrize("digests", ["null", "[]", '{"turns": 1}', "{"])
def test_digests_of_another_kind_are_damage(digests: str, source: Path, cache: Entries) -> None:
    fresh = load_tables(source, cache=True)
    (cache()[0] / "digests.json").write_text(digests)
    assert_same(load_tables(source, cache=True), fresh)
    assert isinstance(json.loads((cache()[0] / "digests.json").read_bytes())["turns"], str)


def test_processes_at_once_all_succeed_and_leave_one_entry(source: Path, cache: Entries, tmp_path: Path) -> None:
    code = (
        "import sys, time; from attune_data import load_tables; load_tables('demo').turns\n"
        "while time.time() < float(sys.argv[2]): pass\n"
        "for _ in range(5): print(load_tables(sys.argv[1], cache=True).turns.height)"
    )
    begin = time.time() + 2
    command = [sys.executable, "-W", "error", "-c", code, str(source), str(begin)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [process.communicate() for process in running]
    assert printed == [("4\n" * 5, "")] * 3
    assert len(cache()) == 1
    assert list((tmp_path / "cache").rglob("*.tmp")) == []


def test_an_entry_written_meanwhile_by_another_process_counts(
    source: Path, cache: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def late(path: Path, target: Path) -> Path:
        shutil.copytree(path, target)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    fresh = load_tables(source, cache=True)
    assert len(cache()) == 1
    monkeypatch.undo()
    assert_same(fresh, load_tables(source))


def test_an_entry_written_meanwhile_and_removed_by_a_third_process_is_no_warning(
    source: Path, cache: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(path: Path) -> None:
        # Another process has just written the entry; by the time that this one hears of it, a third has removed it.
        raise OSError(errno.ENOTEMPTY, "Directory not empty", str(path))

    monkeypatch.setattr(Path, "rmdir", late)
    fresh = load_tables(source, cache=True)
    assert cache() == []
    monkeypatch.undo()
    assert_same(fresh, load_tables(source))


def test_a_cache_that_cannot_be_written_is_a_warning(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ATTUNE_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match=r"not kept in the cache: .*ATTUNE_CACHE names another folder") as warned:
        tables = load_tables(source, cache=True)
    assert warned[0].filename == __file__
    assert_same(tables, load_tables(source))


def test_a_full_disk_is_a_warning_and_leaves_nothing(
    source: Path, cache: Entries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _: object) -> None:
        if path.name == "panas.parquet":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(_tables_cache, "write_whole", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        tables = load_tables(source, cache=True)
    assert_same(tables, load_tables(source))
    assert cache() == []
    assert list((tmp_path / "cache" / "tables").iterdir()) == []


def test_an_error_of_the_source_is_not_kept(cache: Entries, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(SourceError, match="no such file"):
            load_tables(tmp_path / "none", cache=True)
    assert cache() == []


# Where it is.


@pytest.mark.parametrize(
    ("system", "environment", "expected"),
    [
        ("linux", {}, "/home/x/.cache/attune-bench"),
        ("linux", {"XDG_CACHE_HOME": "/c"}, "/c/attune-bench"),
        ("linux", {"XDG_CACHE_HOME": "c"}, "/home/x/.cache/attune-bench"),
        ("linux", {"XDG_CACHE_HOME": "/c", "ATTUNE_CACHE": "/own"}, "/own"),
        ("linux", {"ATTUNE_CACHE": "~/own"}, "/home/x/own"),
        ("darwin", {}, "/home/x/Library/Caches/attune-bench"),
        ("darwin", {"XDG_CACHE_HOME": "/c"}, "/c/attune-bench"),
        ("win32", {"LOCALAPPDATA": "/home/x/Local"}, "/home/x/Local/attune-bench"),
        ("win32", {}, "/home/x/AppData/Local/attune-bench"),
    ],
)
def test_the_folder_is_the_usual_one(
    system: str, environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ATTUNE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/x", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", system)
    assert _tables_cache._folder() == Path(expected)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_the_folder_is_the_user_s_alone(source: Path, cache: Entries) -> None:
    load_tables(source, cache=True)
    assert cache()[0].parent.stat().st_mode & 0o777 == 0o700
