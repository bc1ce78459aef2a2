"""What tests of commands share: types, the files that commands read, and readers of what they print."""

import csv
import json
import re
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

Call = Callable[..., tuple[int, str, str]]
"""Run a command in this process: exit status, standard output, standard error."""

Spawn = Callable[..., subprocess.CompletedProcess[bytes]]
"""Run a command in a process of its own."""

QUICK = ("--resamples", "200")


class Scored(NamedTuple):
    """A file of scores with its data and results, as a command line names them; SAGE has no data."""

    scores: Path
    data: str
    results: str


Scorings = Callable[[str], Scored]
"""From the name of a benchmark to its files."""


def strict_json(text: str) -> Any:
    """Return what strict JSON says, which has no NaN."""

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def csv_rows(text: str) -> list[dict[str, str]]:
    """Return the rows of CSV."""
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def too_wide(text: str) -> list[str]:
    """Return the lines beyond 100 columns; a signature and the command that prints it are never broken."""
    return [line for line in text.splitlines() if len(line) > 100 and not line.startswith(("attune:", "signature: "))]


def without_call(text: str) -> str:
    """Return an output without the command beside the hash of its signature, which says how it was called."""
    return re.sub(r"(?m)^(signature: \w+) \(whole: .*\)$", r"\1", text)


def bend(path: Path, **changes: Any) -> None:
    """Exchange keys of a file that is a JSON object."""
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), encoding="utf-8")
