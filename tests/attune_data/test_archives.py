"""Archives as sources: read as the folder they hold, never written to disk, and safe whatever is in them."""

import gzip
import io
import json
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from archive_files import Loader, both_loaders, brief, compressed, ids, pack, tar_header
from slow_cases import slow_except

from attune_data import LoadError, SourceError, load, load_codebook, load_runs
from attune_data.io import documents

Json = dict[str, Any]
Save = Callable[[Any, str], Path]

ARCHIVES = ["a.zip", "a.tar", "a.tar.gz", "a.tgz"]
TARS = ARCHIVES[1:]

every_archive = pytest.mark.parametrize("name", ARCHIVES)
every_tar = pytest.mark.parametrize("name", TARS)


Record = Callable[[str], bytes]


# As a folder.


@every_archive
def test_archive_reads_as_the_folder_of_its_members(name: str, record: Record, save: Save, tmp_path: Path) -> None:
    members = {
        "b/conversation_2.json": record("two"),
        "./a/conversation_9.json": record("nine"),
        "a/conversation_10.json": record("ten"),
        "a/conversation_11.json": b"{",
        "a/other.json": record("not preferred"),
        "a/lines.jsonl": record("not preferred either"),
        "_hidden/conversation_1.json": b"{",
        ".git/conversation_1.json": b"{",
        "__MACOSX/a/._conversation_9.json": b"\0\5",
        "annotation_codebook.json": b"{}",
        "README.md": b"# Data",
    }
    for member, data in members.items():
        save(data, f"folder/{member}")
    packed, folder = load(pack(tmp_path / name, members)), load(tmp_path / "folder")
    assert ids(packed) == ids(folder) == ["ten", "nine", "two"]
    assert packed.found[1:] == folder.found[1:]
    assert brief(packed.found) == [(name, "passed-over", "note"), ("a/conversation_11.json", "invalid-json", "error")]
    assert (
        packed.found[0].message == folder.found[0].message == "2 files are not read here: a/lines.jsonl, a/other.json"
    )
    assert packed.files == folder.files


@every_archive
def test_lines_of_members(name: str, record: Record, tmp_path: Path) -> None:
    members = {
        "2.jsonl.gz": gzip.compress(record("c") + b"\n{\n" + record("d")),
        "1.jsonl": record("a") + b"\n\n" + record("b") + b"\n",
    }
    loaded = load(pack(tmp_path / name, members))
    assert ids(loaded) == ["a", "b", "c", "d"]
    assert brief(loaded.found) == [("2.jsonl.gz:2", "invalid-json", "error")]


@every_archive
def test_runs_in_an_archive(name: str, run: Json, tmp_path: Path) -> None:
    loaded = load_runs(pack(tmp_path / name, {"r/1.json": json.dumps(run).encode()}))
    assert [json.loads(item.to_json()) for item in loaded] == [run]


def test_letter_case_of_the_suffix_does_not_matter(record: Record, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar.gz", {"1.json": record("a")}).rename(tmp_path / "A.TAR.GZ")
    assert ids(load(path)) == ["a"]


@pytest.mark.parametrize("place", ["Subsample20/", "Test Samples/Subsample20/", ""])
@every_archive
def test_subset_of_an_archive(name: str, place: str, record: Record, tmp_path: Path) -> None:
    numbers = sorted(load_codebook().subsets["Subsample20"])
    members = {f"{place}conversation_{number}.json": record(str(number)) for number in [*numbers[1:], 100_000]}
    if place:
        members[f"Sample200/conversation_{numbers[0]}.json"] = b"{"
    loaded = load(pack(tmp_path / name, members), subset="Subsample20")
    assert sorted(map(int, ids(loaded))) == numbers[1:]
    extra = [(name, "subset-extra", "warning")] if place else []
    assert brief(loaded.found) == [(name, "subset-missing", "warning"), *extra]


def test_archive_named_like_the_subset_is_its_folder(record: Record, tmp_path: Path) -> None:
    numbers = load_codebook().subsets["Subsample20"]
    members = {f"conversation_{number}.json": record(str(number)) for number in [*numbers, 100_000]}
    loaded = load(pack(tmp_path / "Subsample20.tar.gz", members), subset="Subsample20")
    assert brief(loaded.found) == [("Subsample20.tar.gz", "subset-extra", "warning")]


@every_archive
def test_subset_of_an_archive_that_holds_nothing_of_it(name: str, record: Record, tmp_path: Path) -> None:
    members = {"conversation_100000.json": record("a"), "../evil.json": record("evil")}
    with pytest.raises(SourceError, match=f"{name} has none of the 20 files"):
        load(pack(tmp_path / name, members), subset="Subsample20")


def test_extra_files_of_a_subset_are_named(record: Record, tmp_path: Path) -> None:
    numbers = load_codebook().subsets["Subsample20"]
    members = {f"Subsample20/conversation_{number}.json": record(str(number)) for number in [*numbers, 100_000]}
    (extra,) = load(pack(tmp_path / "a.zip", members), subset="Subsample20").found
    assert extra.message == "1 files are not part of Subsample20: Subsample20/conversation_100000.json"


@every_archive
def test_nested_archive_is_not_entered(name: str, record: Record, tmp_path: Path) -> None:
    inner = pack(tmp_path / "inner.zip", {"1.json": record("a")}).read_bytes()
    with pytest.raises(SourceError, match=r"has no .*archive in it is not entered.*deep/inner\.zip"):
        load(pack(tmp_path / name, {"deep/inner.zip": inner}))
    assert ids(load(pack(tmp_path / name, {"deep/inner.zip": inner, "2.json": record("b")}))) == ["b"]


@every_archive
def test_archive_without_records(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no \.json, \.jsonl or \.parquet file"):
        load(pack(tmp_path / name, {"notes.txt": b"x"}))


@every_archive
def test_nothing_is_written(name: str, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack(tmp_path / name, {"1.json": record("a")})
    for variable in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert ids(load(path)) == ["a"]
    assert sorted(tmp_path.rglob("*")) == before


# Members that are not read.


@pytest.mark.parametrize(
    "outside",
    ["../evil.json", "a/../../evil.json", "/etc/evil.json", "..\\evil.json", "C:\\evil.json", "//host/x/evil.json"],
)
@every_archive
@both_loaders
def test_name_that_leads_outside_is_reported(
    loader: Loader, name: str, outside: str, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    loaded = loader(pack(tmp_path / name, {outside: record("evil"), "1.json": record("a")}))
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [(outside, "unreadable", "error")]
    assert "leads out of the archive" in loaded.found[0].message
    assert sorted(tmp_path.rglob("*")) == [tmp_path / name, tmp_path / "here"]


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.FIFOTYPE, "a device"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"),
    ],
)
@every_tar
def test_tar_member_that_is_no_file_is_reported(
    name: str, kind: bytes, what: str, record: Record, tmp_path: Path
) -> None:
    good = record("a")
    path = pack(tmp_path / name, {"1.json": good})
    odd = tar_header("0.json", kind=kind, target="/etc/passwd")
    path.write_bytes(compressed(name, odd + tar_header("1.json", len(good)) + good + bytes(-len(good) % 512 + 1024)))
    loaded = load(path)
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [("0.json", "unreadable", "error")]
    assert what in loaded.found[0].message


@pytest.mark.parametrize(("mode", "what"), [(stat.S_IFLNK, "a link"), (stat.S_IFIFO, "a device")])
def test_zip_member_that_is_no_file_is_reported(mode: int, what: str, record: Record, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        odd = zipfile.ZipInfo("0.json")
        odd.external_attr = (mode | 0o777) << 16
        archive.writestr(odd, "/etc/passwd")
        archive.writestr("1.json", record("a"))
    loaded = load(tmp_path / "a.zip")
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [("0.json", "unreadable", "error")]
    assert what in loaded.found[0].message


@every_archive
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_later_member_of_the_same_name_counts(name: str, record: Record, tmp_path: Path) -> None:
    loaded = load(pack(tmp_path / name, {"1.json": record("old"), "./1.json": record("new")}))
    assert ids(loaded) == ["new"]
    assert brief(loaded.found) == [("./1.json", "unreadable", "error")]


@pytest.mark.parametrize("locked", [1, 2])
def test_encrypted_members_are_one_issue(locked: int, record: Record, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {f"{number}.json": record(str(number)) for number in range(2)})
    data = bytearray(path.read_bytes())
    headers = [found.start() for found in re.finditer(b"PK\1\2", data)]
    for header in headers[:locked]:
        data[header + 8] |= 1
    path.write_bytes(data)
    loaded = load(path)
    assert len(loaded) == 2 - locked
    assert brief(loaded.found) == [("a.zip", "unreadable", "error")]
    assert f"{locked} of 2 files are encrypted" in loaded.found[0].message


# Damage.


@every_archive
def test_what_is_no_archive_is_one_error(name: str, save: Save) -> None:
    for data in (b"", b"nonsense" * 1000, b"\x1f\x8b", bytes(600)):
        with pytest.raises(SourceError, match=r"cannot be read as a|has no"):
            load(save(data, name))


@every_archive
def test_archive_of_which_nothing_may_be_read_has_issues_only(name: str, tmp_path: Path) -> None:
    loaded = load(pack(tmp_path / name, {"README.md": b"# Data", "../x.json": b"{}"}))
    assert (ids(loaded), brief(loaded.found)) == ([], [("../x.json", "unreadable", "error")])


@every_archive
def test_archive_cut_off_anywhere_is_reported_and_gives_no_wrong_record(
    name: str, record: Record, tmp_path: Path
) -> None:
    whole = pack(tmp_path / name, {f"{number}.json": record(str(number)) for number in range(3)}).read_bytes()
    for end in [*range(0, len(whole) - 1025, 101), len(whole) - 1030]:
        (tmp_path / name).write_bytes(whole[:end])
        try:
            loaded = load(tmp_path / name)
        except SourceError:
            continue
        assert ids(loaded) == ["0", "1", "2"][: len(loaded)]
        assert brief(loaded.found) == [(name, "unreadable", "error")], end


@pytest.mark.parametrize("name", slow_except(ARCHIVES, "a.zip", "a.tar.gz"))
def test_changed_byte_is_reported_or_harmless(name: str, record: Record, tmp_path: Path) -> None:
    whole = pack(tmp_path / name, {f"{number}.json": record(str(number)) for number in range(3)}).read_bytes()
    expected = {number: json.loads(record(number)) for number in "012"}
    directory = whole.find(b"PK\1\2") if name == "a.zip" else len(whole)
    names = {place for found in re.finditer(rb"\d\.json", whole[directory:]) for place in range(*found.span())}
    for place in [*range(0, directory, 1 + len(whole) // 300), *range(directory, len(whole))]:
        if place - directory in names:  # A zip has no checksum of a name: it may stop being a record's.
            continue
        data = bytearray(whole)
        data[place] ^= 0xFF
        (tmp_path / name).write_bytes(data)
        try:
            loaded = load(tmp_path / name)
        except SourceError:
            continue
        if name != "a.tar":  # The content of a plain tar has no checksum.
            good = [json.loads(item.to_json()) == expected.get(item.id) for item in loaded]
            assert (all(good) and len(good) == 3) or loaded.found, place


def test_damaged_member_costs_only_itself(record: Record, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {f"{number}.json": record(str(number)) for number in range(3)})
    data = bytearray(path.read_bytes())
    data[data.index(b"1.json") + 60] ^= 0xFF
    path.write_bytes(data)
    loaded = load(path)
    assert ids(loaded) == ["0", "2"]
    assert brief(loaded.found) == [("1.json", "unreadable", "error")]
    with pytest.raises(LoadError, match="member cannot be read"):
        load(path, on_error="raise")


# Limits.


@every_archive
@pytest.mark.parametrize("limit", [2**20, pytest.param(documents.RECORD_LIMIT, marks=pytest.mark.slow)])
def test_record_too_large_costs_only_itself(
    name: str, limit: int, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "RECORD_LIMIT", limit)
    members = {"0.json": record("a"), "1.json": b" " * (limit + 1), "2.json": record("b")}
    loaded = load(pack(tmp_path / name, members))
    assert ids(loaded) == ["a", "b"]
    assert brief(loaded.found) == [("1.json", "unreadable", "error")]
    assert f"larger than {limit:,} bytes, the limit of one record" in loaded.found[0].message


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.jsonl.gz"])
def test_limit_of_all_stops_reading(name: str, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(record("0"))
    monkeypatch.setattr("attune_data.io.documents.ALL_LIMIT", 5 * size)
    monkeypatch.setattr("attune_data.io.documents.ALL_LIMIT", 5 * size)
    numbers = [str(number) for number in range(10)]
    if name == "a.jsonl.gz":
        (tmp_path / name).write_bytes(gzip.compress(b"".join(record(number) + b"\n" for number in numbers)))
        loaded = load(tmp_path / name)
    else:
        loaded = load(pack(tmp_path / name, {f"{number}.json": record(number) for number in numbers}))
    assert ids(loaded) == numbers[: len(loaded)]
    assert len(loaded) <= 5
    assert [issue.rule for issue in loaded.found] == ["unreadable"]
    assert f"more than {5 * size:,} bytes, the limit of one source" in loaded.found[0].message


@every_archive
def test_too_many_members_are_reported(
    name: str, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attune_data.io.archives.MEMBERS_LIMIT", 3)
    loaded = load(pack(tmp_path / name, {f"{number}.json": record(str(number)) for number in range(5)}))
    assert ids(loaded) == ["0", "1", "2"]
    assert "more than 3 members, the limit" in loaded.found[0].message


def test_order_of_a_tar_does_not_matter(record: Record, tmp_path: Path) -> None:
    names = ["5", "2", "9", "1", "7"]
    loaded = load(pack(tmp_path / "a.tar.gz", {f"{name}.json": record(name) for name in names}))
    assert ids(loaded) == sorted(names)


@pytest.mark.parametrize("name", ["a.tar.bz2", "A.TAR.XZ", "a.7z"])
def test_another_kind_of_archive_is_to_be_unpacked(name: str, save: Save, record: Record) -> None:
    path = save(b"", f"folder/{name}")
    with pytest.raises(SourceError, match=r"\.tar\.gz, \.tgz; unpack it and load the folder"):
        load(path)
    save(record("a"), "folder/1.json")
    assert load(path.parent).found[0].message == f"1 file is not read here: {name}"


@pytest.mark.posix
def test_pipe_named_like_an_archive_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip")
    with pytest.raises(SourceError, match="not a regular file"):
        load(tmp_path / "a.zip")


def test_archive_of_the_tar_program_with_long_and_odd_names(record: Record, tmp_path: Path) -> None:
    long = "n" * 180 + ".json"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with tarfile.open(tmp_path / "a.tgz", "w:gz", format=form) as archive:
            for name in (f"{'d' * 120}/{long}", "größe.json"):
                info = tarfile.TarInfo(name)
                info.size = len(record(name))
                archive.addfile(info, io.BytesIO(record(name)))
        loaded = load(tmp_path / "a.tgz")
        assert ids(loaded) == [f"{'d' * 120}/{long}", "größe.json"]
        assert loaded.found == ()
