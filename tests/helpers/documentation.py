"""The blocks of code of the documentation's pages, and how they run as they are written."""

import re
from pathlib import Path
from typing import NamedTuple

from environments import Shell

__all__ = ["BLOCK", "Block", "blocks_of", "run_block"]

BLOCK = re.compile(
    r"(?:`([\w.-]+)`:\n\n)?(?:<!-- not run: ([^\n]+) -->\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE
)
"""The file that a block is the content of, if the text says so; why it is not run; its language; its text."""

SERVER = "http://localhost:8000/v1"
"""Where pages have a server of models."""


class Block(NamedTuple):
    """A block of code."""

    file: str
    not_run: str
    language: str
    text: str


def blocks_of(page: str, section: str = "") -> list[Block]:
    """Return the blocks of a page of docs, or of one of its sections."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    if section:
        heading = re.search(rf"^(##+) {re.escape(section)}\n", text, re.MULTILINE)
        assert heading, f"{page} has no section {section}"
        text = re.split(rf"^#{{2,{len(heading[1])}}} ", text[heading.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    return [Block(*found) for found in BLOCK.findall(text)]


def run_block(block: Block, shell: Shell, folder: Path, *, server: str = SERVER, status: int = 0) -> str:
    """Run a block in a folder, or write the file that it is; return what it prints.

    Another server than the page's takes its place; nothing else is changed.
    """
    text = block.text.replace(SERVER, server)
    if block.file:
        (folder / block.file).write_text(text, encoding="utf-8")
        return ""
    if block.language == "sh":
        return shell(text, folder, status)
    assert block.language == "python"
    program = "python -m doctest -o ELLIPSIS" if text.startswith(">>> ") else "python"
    return shell(f"{program} /dev/stdin <<'END OF BLOCK'\n{text}END OF BLOCK\n", folder, status)
