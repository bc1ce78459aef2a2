"""What docs/install.md says of Windows and macOS, by simulation: the branches that Linux does not take."""

import os
import re
import signal
import subprocess
import sys
from errno import EACCES
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

from attune_bench.cli import stopping
from attune_bench.runner import RunError, safe_name
from attune_bench.runner.cache import Cache, locked, note_source, noted_sources
from attune_bench.verbs.workers import processors
from attune_data.io.documents import whole_folder, write_whole

ROOT = Path(__file__).parents[1]


def test_every_text_file_is_opened_with_its_encoding() -> None:
    # The default is not UTF-8 on Windows; ruff has the rule in preview only.
    command = [sys.executable, "-m", "ruff", "check", "--preview", "--select", "PLW1514", "src", "tests", "tools"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_files_are_written_as_bytes() -> None:
    # As text they would have other line ends on Windows, and without an encoding other letters.
    lines = [line for path in (ROOT / "src").rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    code = [line for line in lines if not re.match(r" *(>>>|\.\.\.) ", line)]
    assert [line for line in code if re.search(r'(?<!formatter)\.write_text\(|open\([^)]*"[wax]t?"', line)] == []


def test_windows_locks_the_first_byte_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    locks: list[tuple[int, int]] = []

    def locking(_file: int, how: int, count: int) -> None:
        if locks:
            raise PermissionError(EACCES, "Permission denied")
        locks.append((how, count))

    windows = ModuleType("msvcrt")
    windows.LK_NBLCK, windows.locking = 2, locking  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    monkeypatch.setattr(sys, "platform", "win32")
    with locked(tmp_path), pytest.raises(RunError, match="another run is using"), locked(tmp_path):
        pass
    assert locks == [(2, 1)]


async def _add_nothing(path: Path) -> None:
    async with Cache(path):
        pass


def test_windows_does_not_translate_line_ends_of_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import asyncio

    given: list[int] = []
    opened = os.open

    def open_file(path: str | Path, flags: int, mode: int = 0o777) -> int:
        given.append(flags)
        return opened(path, flags & ~0x8000, mode)

    monkeypatch.setattr(os, "O_BINARY", 0x8000, raising=False)
    monkeypatch.setattr(os, "open", open_file)
    asyncio.run(_add_nothing(tmp_path / "cache.jsonl"))
    assert all(flags & 0x8000 for flags in given)
    assert given


def test_processors_are_counted_where_a_system_has_no_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert processors() == 12


def test_windows_has_no_pipe_that_wakes_for_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    handled: list[int] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)  # A script in the background ignores one.
    monkeypatch.setattr(signal, "signal", lambda number, _: handled.append(number))
    monkeypatch.setattr(signal, "set_wakeup_fd", lambda *_, **__: pytest.fail("a pipe is no socket"))
    monkeypatch.setattr("atexit.register", lambda *_: None)
    stopping.prepare_process()
    assert handled == [signal.SIGINT, signal.SIGTERM]


def test_windows_says_that_it_stopped_without_select(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[int, bytes]] = []

    def not_a_socket(*_: object) -> NoReturn:
        raise OSError(10038, "an operation was attempted on something that is not a socket")

    def leave(status: int) -> NoReturn:
        raise SystemExit(status)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("select.select", not_a_socket)
    monkeypatch.setattr(os, "write", lambda file, text: written.append((file, text)))
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(stopping.process, "words", "stopped\n")
    with pytest.raises(SystemExit, match="130"):
        stopping.leave()
    assert written == [(2, b"stopped\n")]


def test_a_folder_is_written_where_no_folder_can_be_renamed_onto_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rename = Path.rename

    def of_windows(path: Path, target: Path) -> Path:
        if Path(target).exists():
            raise FileExistsError(183, "Cannot create a file when that file already exists")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", of_windows)
    target = tmp_path / "tables"
    target.mkdir()
    for text, replace in (("first", False), ("second", True)):
        with whole_folder(target, replace=replace) as folder:
            (folder / "a.txt").write_text(text, encoding="utf-8")
        assert (target / "a.txt").read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_a_file_that_a_program_keeps_open_stays_and_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def in_use(path: Path, _target: Path) -> NoReturn:
        raise PermissionError(EACCES, "Permission denied", str(path))

    target = tmp_path / "scores.csv"
    target.write_bytes(b"before")
    monkeypatch.setattr(Path, "replace", in_use)
    with pytest.raises(PermissionError) as caught:
        write_whole(target, [b"after"])
    assert caught.value.filename == str(target)
    assert target.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]


def test_data_on_another_drive_are_noted_by_their_whole_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def other_drive(*_: object) -> NoReturn:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr(os.path, "relpath", other_drive)
    note_source(tmp_path, str(tmp_path / "data"))
    assert noted_sources(tmp_path) == [os.path.realpath(tmp_path / "data")]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("NUL", "-NUL"),
        ("com1.x", "-com1.x"),
        ("large..", "large-"),
        ('a<b>:"|?*\\', "a-b-------"),
        ("console", "console"),
    ],
)
def test_names_are_files_on_every_system(part: str, expected: str) -> None:
    assert safe_name([part], part) == expected


def test_a_name_is_one_file_however_a_system_spells_its_marks() -> None:
    # macOS may give a name back in parts; a file is looked for under one spelling.
    assert safe_name(["Zoe\u0308"], "") == safe_name(["Zo\u00eb"], "") == "Zo\u00eb"
