"""Documents of scores on standard output: for a terminal in its width and colours, with the hash of the signature."""

import re
import shlex
import sys

import click

from attune_bench.cli.output import WORDS, emit, write_warnings
from attune_bench.report.document import Document, Format, render
from attune_data.text import columns_of_terminal, has_colours


def signature_hint() -> str:
    """Return the end of the line with the hash of a signature: the command that prints the signature whole."""
    ctx = click.get_current_context()
    command = ctx.command_path.removeprefix("attune-bench ")
    # The signature is the same for every format, and its command takes none.
    words = re.sub(r" --format[ =]table(?= |$)", "", f" {shlex.join(ctx.meta[WORDS])}")
    return f"(whole: attune-bench signature {command}{words})"


def print_document(document: Document, format: Format) -> None:  # noqa: A002
    """Write a document to standard output, and of CSV, which has no place for them, the warnings to standard error."""
    emit(document_text(document, format))
    if format == "csv":
        write_warnings(document.warnings)


def document_text(document: Document, format: Format = "table") -> str:  # noqa: A002
    """Return a document as text for standard output: for a terminal in its width and colours."""
    text = render(document, format=format, columns=columns_of_terminal(None), colours=has_colours(sys.stdout))
    return f"{text} {signature_hint()}" if format == "table" and document.signature else text
