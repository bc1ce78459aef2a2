"""Parquet, lines and tars that would fill the memory or take forever: bounded by what is asked of them at a time."""

import gzip
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archive_files import Loader, both_loaders, brief, ids, pack

from attune_data import load
from attune_data.io.archives import _Forwards

Record = Callable[[str], bytes]


def parquet(texts: Sequence[str | None], **options: Any) -> bytes:
    """Return a Parquet file of records in one group of rows, made by pyarrow."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    buffer = io.BytesIO()
    pq.write_table(pa.table({"record": pa.array(texts, pa.string())}), buffer, use_dictionary=False, **options)
    return buffer.getvalue()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many rows polars is asked for, each time."""
    lengths: list[int] = []
    whole = pl.LazyFrame.slice

    def slice_(frame: pl.LazyFrame, offset: int, length: int) -> pl.LazyFrame:
        lengths.append(length)
        return whole(frame, offset, length)

    monkeypatch.setattr(pl.LazyFrame, "slice", slice_)
    return lengths


@both_loaders
def test_rows_beyond_the_limit_are_not_unpacked(
    loader: Loader, tmp_path: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attune_data.io.documents.ALL_LIMIT", 2**20)
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet(["a" * 2**16] * 17, compression="zstd"))
    assert path.stat().st_size < 5000
    assert [issue.message.partition("; ")[0] for issue in loader(path).found] == [
        "the file cannot be read: it unpacks to more than 1,048,576 bytes, the limit of one source"
    ]
    assert asked == []


def test_few_large_rows_are_unpacked_at_a_time(
    record: Record, tmp_path: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 10_000
    texts = [record(f"{number:02}").decode().ljust(size) for number in range(20)]
    names = [f"{number:02}" for number in range(20)]
    path = tmp_path / "a.parquet"
    monkeypatch.setattr("attune_data.io.documents.RECORD_LIMIT", 4 * size + 100)
    path.write_bytes(parquet(texts, compression="zstd"))
    assert ids(load(path)) == names
    assert asked == [4] * 5
    asked.clear()
    # Each text is the difference from the one before, so that the pages' size says nothing of the texts'.
    for version in ("1.0", "2.0"):
        path.write_bytes(parquet(texts, column_encoding="DELTA_BYTE_ARRAY", data_page_version=version))
        assert ids(load(path)) == names
    assert asked == [1] * 40


def test_without_pyarrow_a_few_rows_are_read_at_a_time(
    record: Record, tmp_path: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [str(number) for number in range(600)]
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet([record(name).decode() for name in names]))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert ids(load(path)) == names
    assert asked == [256, 256, 88]
    # The size is known row by row only: what has been read counts.
    monkeypatch.setattr("attune_data.io.documents.ALL_LIMIT", 10 * len(record("0")) + 5)
    loaded = load(path)
    assert ids(loaded) == names[:10]
    assert "the limit of one source" in loaded.found[-1].message


def test_a_damaged_footer_is_one_issue(record: Record, tmp_path: Path) -> None:
    whole = parquet([record(name).decode() for name in "abc"])
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path = tmp_path / "a.parquet"
    issues = 0
    for place in range(footer, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        loaded = load(path)
        assert loaded.found or ids(loaded) == ["a", "b", "c"]
        issues += bool(loaded.found)
    assert issues > 20


@both_loaders
@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.zip", "x.tar.gz", "x.parquet"])
def test_records_without_end_are_one_issue(
    name: str, loader: Loader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attune_data.io.documents.RECORDS_LIMIT", 5)
    lines = b"{}\n" * 1000
    if name.endswith((".zip", ".tar.gz")):
        pack(tmp_path / name, {"x.jsonl": lines, "y.jsonl": lines})
    elif name.endswith(".parquet"):
        (tmp_path / name).write_bytes(parquet([None] * 1000))
    else:
        (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    found = loader(tmp_path / name).found
    assert len(found) == 6
    assert "it has more than 5 records, the limit of one source" in found[-1].message


@both_loaders
@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.zip", "x.tar.gz"])
def test_blank_lines_are_passed_over_together(
    name: str, loader: Loader, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blank = b"\n \r\n\t\n" * 100_000
    lines = b"".join([record("a"), b"\n", blank, b"  ", record("b"), b"\n", blank, b"{\n", blank])
    if name.endswith((".zip", ".tar.gz")):
        # The second is read after the first, which the archive has behind it.
        pack(tmp_path / name, {"y.jsonl": lines, "x.jsonl": record("c")})
    else:
        (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    calls: list[int] = []

    class Counted(io.BufferedReader):
        def readline(self, size: int | None = -1, /) -> bytes:
            calls.append(1)
            return super().readline(size)

    monkeypatch.setattr("attune_data.io.documents.io.BufferedReader", Counted)
    loaded = loader(tmp_path / name)
    assert sorted(ids(loaded))[:2] == ["a", "b"]
    # Line 1, three of each blank, line 300,002, three of each blank again.
    assert [issue.file.rpartition(":")[2] for issue in loaded.found] == ["600003"]
    assert len(calls) < 20


@pytest.mark.slow
def test_member_in_name_order_is_not_held(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = b"\n".join(record(str(number)).ljust(10_000) for number in range(300))
    taken: list[int] = []
    whole = _Forwards.take

    def take(stream: _Forwards, size: int) -> bytes:
        taken.append(size)
        return whole(stream, size)

    monkeypatch.setattr(_Forwards, "take", take)
    # A size that is a multiple of a block has no padding behind it.
    even = lines + b" " * (-len(lines) % 512)
    pack(tmp_path / "a.tar", {"1.jsonl": even, "2.jsonl": record("x"), "3.jsonl": record("y")})
    loaded = load(tmp_path / "a.tar")
    assert ids(loaded) == [*map(str, range(300)), "x", "y"]
    assert brief(loaded.found) == []
    assert max(taken) <= 2**20
    pack(tmp_path / "b.tar", {"3.jsonl": record("y"), "1.jsonl": even, "2.jsonl": record("x")})
    assert ids(load(tmp_path / "b.tar")) == ids(loaded)
