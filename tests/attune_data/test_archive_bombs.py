"""Archives that unpack to 10 GB or claim to: small on disk, reported at once, whatever is good before them is read."""

import gzip
import tarfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from archive_files import TEN_GB, Loader, both_loaders, brief, ids, tar_bomb, tar_header, tar_member, zip_bomb
from slow_cases import slow_after

from attune_data import SourceError, load

Json = dict[str, Any]
Record = Callable[[str], bytes]


def test_header_of_negative_size_ends(record: Record, tmp_path: Path) -> None:
    header = bytearray(tar_header("0.json"))
    header[124:136] = b"\xff" * 10 + b"\xfc\x00"  # -1024 in base 256
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    (tmp_path / "a.tar").write_bytes(tar_member("1.json", record("a")) + header + bytes(1024))
    loaded = load(tmp_path / "a.tar")
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [("a.tar", "unreadable", "error")]


def test_header_that_claims_a_huge_name_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar_header("x", 2**30, tarfile.GNUTYPE_LONGNAME) + bytes(4096))
    with pytest.raises(SourceError, match="a header of more than 65,536 bytes"):
        load(tmp_path / "a.tar")


@pytest.mark.parametrize("name", slow_after(2, ["a.tar.gz", "a.tar.bz2", "a.tar.xz"]))
@both_loaders
def test_tar_bomb_is_reported_at_once(loader: Loader, name: str, record: Record, tmp_path: Path) -> None:
    path = tar_bomb(tmp_path / name, record("a"))
    began = process_time()
    loaded = loader(path)
    assert process_time() - began < 5
    assert list(tmp_path.iterdir()) == [path]
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [(name, "unreadable", "error")]
    assert "2,147,483,648 bytes, the limit" in loaded.found[0].message


@both_loaders
def test_zip_bomb_is_reported_at_once(loader: Loader, record: Record, tmp_path: Path) -> None:
    path = zip_bomb(tmp_path / "a.zip", record("a"))
    assert path.stat().st_size < 2**24
    began = process_time()
    loaded = loader(path)
    assert process_time() - began < 5
    assert list(tmp_path.iterdir()) == [path]
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [("1.json", "unreadable", "error")]
    assert "67,108,864 bytes, the limit of one record" in loaded.found[0].message


def test_line_too_long_costs_only_itself(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attune_data.io.documents.RECORD_LIMIT", 10_000)
    for size, problems in ((10_000, "invalid-json"), (10_001, "unreadable"), (50_000, "unreadable")):
        path = tmp_path / "a.jsonl.gz"
        path.write_bytes(gzip.compress(b"\n".join([record("a"), b"x" * size, record("b")])))
        loaded = load(path)
        assert ids(loaded) == ["a", "b"]
        assert brief(loaded.found) == [("a.jsonl.gz:2", problems, "error")]


@pytest.mark.slow
def test_compressed_bomb_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attune_data.io.documents.ALL_LIMIT", 2**28)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(bytes(2**24)) * (TEN_GB // 2**24))
    loaded = load(tmp_path / "a.jsonl.gz")
    assert len(loaded) == 0
    assert loaded.found[-1].rule == "unreadable"
