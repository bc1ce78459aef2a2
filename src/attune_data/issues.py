"""What loading noticed: one `Issue` per finding, and the errors that carry them."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from attune_data.text import plural, printable

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "LEFT_OUT",
    "Issue",
    "IssueLog",
    "LoadError",
    "PublishError",
    "Severity",
    "SourceError",
    "count_severities",
    "file_of",
    "issues_frame",
    "shown",
]

LEFT_OUT = "record left out"
"""What the library did about a record that cannot be used."""

Severity = Literal["error", "warning", "note"]

_VALUE_LENGTH = 80
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that loading or scoring noticed.

    Attributes
    ----------
    file : str
        The file within the source; ``name:line`` for a line of JSONL.
    path : str
        JSON path of the place in it, ``$`` for the whole record.
    rule : str
        Name of the rule, stable across versions.
    severity : {"error", "warning", "note"}
        error: the record is left out; warning: a value was changed or contradicts another; note: nothing is lost.
    value : str
        The value found, as JSON, shortened.
    message : str
        What is wrong and the likely mistake.
    consequence : str
        What the library did about it.
    count : int
        How many findings this is: 1, or as many as were counted only, beyond the first 1,000 of a rule in a file.
    """

    file: str
    path: str
    rule: str
    severity: Severity
    value: str
    message: str
    consequence: str
    count: int = 1

    @property
    def found(self) -> str:
        """The value found, empty where nothing or null was."""
        return "" if self.value == "null" else self.value

    def __str__(self) -> str:
        value = f" (found {self.found})" if self.found else ""
        return printable(
            f"{self.severity}: {self.file} {self.path}: {self.message}{value}; {self.consequence} [{self.rule}]"
        )


class IssueLog:
    """Issues in the order in which they were noticed: of a rule in a file the first 1,000, then how many more.

    A file of millions of mistakes would else take the memory of all of them.
    """

    def __init__(self) -> None:
        self._kept: list[Issue] = []
        self._counts: Counter[tuple[str, str, Severity]] = Counter()

    def append(self, issue: Issue) -> None:
        """Keep an issue, or count it."""
        key = _key(issue)
        self._counts[key] += issue.count
        if self._counts[key] <= _KEPT:
            self._kept.append(issue)

    def extend(self, issues: Iterable[Issue]) -> None:
        """Append issues."""
        for issue in issues:
            self.append(issue)

    def replace(self, before: Issue, after: Issue) -> None:
        """Append an issue in the place of one that was kept."""
        self._kept.remove(before)
        self._counts[_key(before)] -= 1
        self.append(after)

    @property
    def has_errors(self) -> bool:
        """Whether a record had to be left out."""
        return any(severity == "error" for _, _, severity in self._counts)

    def __iter__(self) -> Iterator[Issue]:
        yield from self._kept
        for (file, rule, severity), count in self._counts.items():
            if count > _KEPT:
                message = f"{count - _KEPT:,} more of the rule {rule} in this file"
                yield Issue(file, "$", rule, severity, "null", message, "counted, not listed", count - _KEPT)


def _key(issue: Issue) -> tuple[str, str, Severity]:
    return file_of(issue.file), issue.rule, issue.severity


def file_of(name: str) -> str:
    """Return the file of a record's name: without the number of a line or row."""
    return re.sub(r"[: ]\d+$", "", name)


def count_severities(issues: Iterable[Issue]) -> Counter[str]:
    """Return how many findings have each severity."""
    counts: Counter[str] = Counter()
    for issue in issues:
        counts[issue.severity] += issue.count
    return counts


def shown(value: Any) -> str:
    """Return a value as short JSON for an issue: one line, no more than 80 characters."""
    if isinstance(value, str):  # It may be a whole file.
        value = value[:_VALUE_LENGTH]
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)[: _VALUE_LENGTH + 1]
    except (ValueError, RecursionError):
        text = repr(type(value))
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _VALUE_LENGTH else text[: _VALUE_LENGTH - 3] + "..."


def issues_frame(issues: Iterable[Issue]) -> "pl.DataFrame":
    """Return issues as a polars frame, one row each, the columns being the fields of `Issue`."""
    import polars as pl

    names = [field.name for field in fields(Issue)]
    rows = [astuple(issue) for issue in issues]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String) | {"count": pl.Int64}, orient="row")


class SourceError(ValueError):
    """A source that cannot be read at all: no such file, nothing in it, or not the kind that was asked for."""

    def __str__(self) -> str:
        return printable(super().__str__())


class PublishError(ValueError):
    """What cannot be published: its licence forbids it, or the repository cannot be written."""


class LoadError(ValueError):
    """Raised by ``on_error="raise"``: lists every issue of severity error.

    Attributes
    ----------
    issues : tuple of Issue
        Everything that was noticed, warnings and notes included.
    """

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues: tuple[Issue, ...] = tuple(issues)
        errors = [str(issue) for issue in self.issues if issue.severity == "error"]
        count = count_severities(self.issues)["error"]
        super().__init__("\n".join([f"{plural(count, 'error')} while loading:", *errors]))
