"""The cache file: what was added survives everything, and a torn or foreign line does no harm."""

import asyncio
import errno
import json
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from attune_bench.runner.cache import Cache, CacheError, cache_key
from attune_bench.runner.calls import Response

ONE = Response('{"response": "Zeile\n\u2028 \ud800"}', 10, 2, 0.5)
TWO = Response("", None, None, None, 0.25)


def write(path: Path, entries: dict[str, Response]) -> None:
    async def add() -> None:
        async with Cache(path) as cache:
            await asyncio.gather(*(cache.add(key, answer) for key, answer in entries.items()))

    asyncio.run(add())


def read(path: Path) -> dict[str, Response | None]:
    async def get() -> dict[str, Response | None]:
        async with Cache(path) as cache:
            return {key: cache.get(key) for key in ("a", "b", "c") if cache.get(key)}

    return asyncio.run(get())


def test_what_was_added_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    write(path, {"a": ONE})
    write(path, {"b": TWO})
    assert read(path) == {"a": ONE, "b": TWO}


def test_a_write_that_was_cancelled_before_it_began_is_made_with_the_next(tmp_path: Path) -> None:
    async def add() -> None:
        async with Cache(tmp_path / "cache") as cache:
            first = asyncio.create_task(cache.add("a", ONE))
            await asyncio.sleep(0)
            [writer] = asyncio.all_tasks() - {first, asyncio.current_task()}
            writer.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            await asyncio.wait_for(cache.add("b", TWO), 60)

    asyncio.run(add())
    assert read(tmp_path / "cache") == {"a": ONE, "b": TWO}


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_taken_off(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "cache"
    write(path, {"a": ONE, "b": TWO})
    path.write_bytes(path.read_bytes()[:-cut])
    assert read(path) == {"a": ONE}
    assert path.read_bytes().endswith(b"\n")
    write(path, {"c": TWO})
    assert read(path) == {"a": ONE, "c": TWO}
    assert [json.loads(line)["key"] for line in path.read_bytes().splitlines()] == ["a", "c"]


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"null", b"{}", b"[1]", b"\xff", b'{"key": "b"}', b'{"key": [], "text": ""}', b'{"key": 1, "text": ""}'),
        *(b'{"key": "b", "text": null}', b'{"key": "b", "text": 5}', b'{"key": "b", "text": "", "cost": "1"}'),
        *(b'{"key": "b", "text": "", "cost": NaN}', b'{"key": "b", "text": "", "prompt_tokens": -3}'),
        *(b'{"reserved": "x"}', b'{"reserved": NaN}', b'{"reserved": true}', b'{"reserved": 1' + b"0" * 400 + b"}"),
    ],
)
def test_a_line_that_is_no_entry_is_passed_over(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cache"
    write(path, {"a": ONE})
    path.write_bytes(line + b"\n" + path.read_bytes())
    assert read(path) == {"a": ONE}
    assert unsettled(path) == 0.0


def unsettled(path: Path) -> float:
    async def get() -> float:
        async with Cache(path) as cache:
            return cache.unsettled

    return asyncio.run(get())


def test_what_was_reserved_is_unsettled_until_a_response_or_nothing_was_charged(tmp_path: Path) -> None:
    path = tmp_path / "cache"

    async def add() -> None:
        async with Cache(path) as cache:
            for amount in (0.1, 0.2, 0.3, -0.2, 0.25):
                await cache.reserve(amount)
            await cache.add("b", TWO)

    asyncio.run(add())
    # 0.2 was not charged, and the response settles its bound of 0.25.
    assert unsettled(path) == 0.4
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[-1])
    assert unsettled(path) == 0.0, "less than nothing is never unsettled"


def test_many_at_once(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    write(path, {str(n): ONE for n in range(300)} | {"a": TWO})
    assert len(path.read_bytes().splitlines()) == 301
    assert read(path) == {"a": TWO}


def test_a_response_is_on_disk_before_add_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced, fsync = tmp_path / "cache", [], os.fsync

    def note(file: int) -> None:
        fsync(file)
        synced.append(path.read_bytes())

    async def add() -> None:
        async with Cache(path) as cache:
            for n, key in enumerate("ab", 1):
                await cache.add(key, ONE)
                # Not only handed to the system, which a crash of the machine would lose.
                assert [json.loads(line)["key"] for line in synced[-1].splitlines()] == list("ab"[:n])
                assert len(cache.responses()) == n

    monkeypatch.setattr(os, "fsync", note)
    asyncio.run(add())


def test_a_response_waits_for_the_sync_that_it_shares_with_others_and_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced, fsync = tmp_path / "cache", [], os.fsync

    def note(file: int) -> None:
        fsync(file)
        synced.append(len(path.read_bytes().splitlines()))

    async def add() -> None:
        async with Cache(path) as cache:

            async def one_after_another(name: str) -> None:
                for n in range(5):
                    await cache.add(f"{name}{n}", ONE)

            await asyncio.gather(*map(one_after_another, "abcdefgh"))

    monkeypatch.setattr(os, "fsync", note)
    asyncio.run(add())
    # The eight go on together, each time that what all of them added is on disk.
    assert synced == [8, 16, 24, 32, 40]


def test_a_response_is_kept_though_the_caller_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write_all = tmp_path / "cache", os.write

    def write_late(file: int, data: memoryview) -> int:
        time.sleep(0.05)  # The cache is closed meanwhile.
        return write_all(file, data)

    monkeypatch.setattr(os, "write", write_late)

    async def cancel() -> None:
        async with Cache(path) as cache:
            adding = [asyncio.create_task(cache.add(key, ONE)) for key in ("a", "b")]
            await asyncio.sleep(0)
            for task in adding:
                task.cancel()
            await asyncio.gather(*adding, return_exceptions=True)

    asyncio.run(cancel())
    assert read(path) == {"a": ONE, "b": ONE}


def test_what_fits_on_a_full_disk_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, room, write_all = tmp_path / "cache", [250], os.write

    def write_some(file: int, data: memoryview) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write_all(file, data[: room[0]])
        room[0] -= written
        return written

    async def add() -> list[BaseException | None]:
        async with Cache(path) as cache:
            adding = [cache.add(key, ONE) for key in "abc"]
            together = await asyncio.gather(*adding, return_exceptions=True)
            return [*together, *await asyncio.gather(cache.add("d", ONE), return_exceptions=True)]

    monkeypatch.setattr(os, "write", write_some)
    # Each of them hears of it, those whose lines were written together with the one that did not fit too.
    came = asyncio.run(add())
    assert [str(error).partition(": ")[2] for error in came] == 4 * [
        "the cache file cannot be written: No space left on device"
    ]
    # A line is of some 150 bytes.
    assert read(path) == {"a": ONE}
    assert path.read_bytes().endswith(b"\n")


def test_a_folder_is_no_cache_file(tmp_path: Path) -> None:
    async def opened() -> Cache:
        return Cache(tmp_path)

    with pytest.raises(CacheError, match="Is a directory"):
        asyncio.run(opened())


OTHERS: dict[str, Any] = {"conversation": "d", "model": "n", "seed": 1, "messages": [{"role": "user", "content": "y"}]}


@pytest.mark.parametrize("part", OTHERS)
def test_every_part_counts(part: str) -> None:
    parts: dict[str, Any] = {
        "conversation": "c",
        "model": "m",
        "seed": None,
        "messages": [{"role": "user", "content": "x"}],
    }
    assert cache_key(**parts) != cache_key(**parts | {part: OTHERS[part]})


@pytest.mark.parametrize("text", ["", bytes(range(127)).decode(), "\x7f", "caf\u00e9", "\U0001f600", "half \ud800"])
def test_a_key_is_the_hash_of_sorted_json(text: str) -> None:
    parts: dict[str, Any] = {
        "unit": text,
        "messages": [{"role": "user", "content": text}, {"role": text, "content": "x"}],
        "attempt": 0,
    }
    assert cache_key(**parts) == sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
