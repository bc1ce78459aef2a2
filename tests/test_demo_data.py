"""The demonstration data of the package are what the tool of the repository generates."""

import bz2

from synthetic.demo import PACKAGE, demo_files


def _read(path: str) -> bytes:
    data = (PACKAGE / path).read_bytes()
    return bz2.decompress(data) if path.endswith(".bz2") else data


def test_the_files_are_what_the_tool_writes() -> None:
    written = demo_files()
    # Compared outside the assertion: a difference of megabytes is nothing to print.
    others = [path for path, data in written.items() if _read(path) != data]
    assert others == [], "make demo-data writes these files again"
