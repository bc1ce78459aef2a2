"""Files appear whole or not at all, whoever else writes them."""

from collections.abc import Iterator
from errno import ENOSPC
from pathlib import Path

import pytest

from attune_data.io.documents import write_whole


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "a.json"

    def parts() -> Iterator[bytes]:
        yield b"begun before, "
        write_whole(path, [b"begun later"])  # of this very process, as in two containers one number may be
        assert path.read_bytes() == b"begun later"
        yield b"ended later"

    write_whole(path, parts())
    assert path.read_bytes() == b"begun before, ended later"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"x"
        raise OSError(ENOSPC, "No space left on device")

    path = tmp_path / "a.json"
    path.write_bytes(b"before")
    with pytest.raises(OSError, match=r"^\[Errno 28\] No space left on device: '[^']*a\.json'$"):
        write_whole(path, parts())
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
