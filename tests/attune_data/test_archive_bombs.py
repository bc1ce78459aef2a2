"""Archives that unpack to 10 GB or claim to: small on disk, reported at once, whatever is good before them is read."""

import bz2
import gzip
import json
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from attune_data import Collection, Issue, SourceError, load

Json = dict[str, Any]
Record = Callable[[str], bytes]

TEN_GB = 10 * 2**30


def ids(records: Collection[Any]) -> list[str]:
    return [record.id for record in records]


def brief(found: Sequence[Issue]) -> list[tuple[str, str, str]]:
    return [(issue.file, issue.rule, issue.severity) for issue in found]


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".tgz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def compressed(name: str, data: bytes) -> bytes:
    compress = COMPRESSORS.get(Path(name).suffix)
    return compress(data) if compress else data


def tar_header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, target
    return info.tobuf()


@pytest.fixture
def record(conversation: Json) -> Callable[[str], bytes]:
    """Return a maker of the bytes of a conversation with an id."""
    return lambda name: json.dumps({**conversation, "conversationId": name}).encode()


def test_header_of_negative_size_ends(record: Record, tmp_path: Path) -> None:
    good = record("a")
    header = bytearray(tar_header("0.json"))
    header[124:136] = b"\xff" * 10 + b"\xfc\x00"  # -1024 in base 256
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    body = tar_header("1.json", len(good)) + good + bytes(-len(good) % 512)
    (tmp_path / "a.tar").write_bytes(body + header + bytes(1024))
    loaded = load(tmp_path / "a.tar")
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [("a.tar", "unreadable", "error")]


def test_header_that_claims_a_huge_name_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar_header("x", 2**30, tarfile.GNUTYPE_LONGNAME) + bytes(4096))
    with pytest.raises(SourceError, match="a header of more than 65,536 bytes"):
        load(tmp_path / "a.tar")


def zeros(name: str, size: int) -> bytes:
    """Return zeros in compressed form, as one stream after another."""
    block = 2**24
    return compressed(name, bytes(block)) * (size // block)


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tar.bz2", "a.tar.xz"])
def test_tar_bomb_is_reported_at_once(name: str, record: Record, tmp_path: Path) -> None:
    good = record("a")
    start = tar_header("0.json", len(good)) + good + bytes(-len(good) % 512)
    path = tmp_path / name
    path.write_bytes(compressed(name, start + tar_header("1.json", TEN_GB)) + zeros(name, 2**28))
    began = monotonic()
    loaded = load(path)
    assert monotonic() - began < 5
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [(name, "unreadable", "error")]
    assert "2,147,483,648 bytes, the limit" in loaded.found[0].message


def test_zip_bomb_is_reported_at_once(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    deflate = zlib.compressobj(wbits=-15)
    start = deflate.compress(bytes(2**24)) + deflate.flush(zlib.Z_FULL_FLUSH)
    again = deflate.compress(bytes(2**24)) + deflate.flush(zlib.Z_FULL_FLUSH)
    stream = start + again * (TEN_GB // 2**24 - 1) + deflate.flush()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr("0.json", record("a"))
        archive.writestr("1.json", stream)
        bomb = archive.getinfo("1.json")
        bomb.file_size, bomb.compress_type = TEN_GB, zipfile.ZIP_DEFLATED
    data = path.read_bytes()
    place = data.index(b"1.json") - 30
    path.write_bytes(data[: place + 8] + b"\x08\0" + data[place + 10 :])
    assert path.stat().st_size < 2**24
    began = monotonic()
    loaded = load(path)
    assert monotonic() - began < 5
    assert ids(loaded) == ["a"]
    assert brief(loaded.found) == [("1.json", "unreadable", "error")]
    assert "67,108,864 bytes, the limit of one record" in loaded.found[0].message


def test_line_too_long_costs_only_itself(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attune_data._documents.RECORD_LIMIT", 10_000)
    for size, problems in ((10_000, "invalid-json"), (10_001, "unreadable"), (50_000, "unreadable")):
        path = tmp_path / "a.jsonl.gz"
        path.write_bytes(gzip.compress(b"\n".join([record("a"), b"x" * size, record("b")])))
        loaded = load(path)
        assert ids(loaded) == ["a", "b"]
        assert brief(loaded.found) == [("a.jsonl.gz:2", problems, "error")]


def test_compressed_bomb_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attune_data._documents.ALL_LIMIT", 2**28)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(bytes(2**24)) * (TEN_GB // 2**24))
    loaded = load(tmp_path / "a.jsonl.gz")
    assert len(loaded) == 0
    assert loaded.found[-1].rule == "unreadable"
