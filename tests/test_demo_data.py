"""The demonstration data of the package are what the tool of the repository generates."""

from synthetic.demo import PACKAGE, demo_files


def test_the_files_are_what_the_tool_writes() -> None:
    written = demo_files()
    # Compared outside the assertion: a difference of megabytes is nothing to print.
    others = [path for path, data in written.items() if (PACKAGE / path).read_bytes() != data]
    assert others == [], "make demo-data writes these files again"
