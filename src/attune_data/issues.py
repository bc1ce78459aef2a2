"""What loading noticed: one `Issue` per finding, and the errors that carry them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LEFT_OUT", "Issue", "LoadError", "PublishError", "Severity", "SourceError", "issues_frame", "shown"]

LEFT_OUT = "record left out"
"""What the library did about a record that cannot be used."""

Severity = Literal["error", "warning", "note"]

_VALUE_LENGTH = 80


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
    """

    file: str
    path: str
    rule: str
    severity: Severity
    value: str
    message: str
    consequence: str

    @property
    def found(self) -> str:
        """The value found, empty where nothing or null was."""
        return "" if self.value == "null" else self.value

    def __str__(self) -> str:
        value = f" (found {self.found})" if self.found else ""
        return f"{self.severity}: {self.file} {self.path}: {self.message}{value}; {self.consequence} [{self.rule}]"


def shown(value: Any) -> str:
    """Return a value as short JSON for an issue: one line, no more than 80 characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        text = repr(type(value))
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _VALUE_LENGTH else text[: _VALUE_LENGTH - 3] + "..."


def issues_frame(issues: Iterable[Issue]) -> "pl.DataFrame":
    """Return issues as a polars frame, one row each, the columns being the fields of `Issue`."""
    import polars as pl

    names = [field.name for field in fields(Issue)]
    rows = [astuple(issue) for issue in issues]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


class SourceError(ValueError):
    """A source that cannot be read at all: no such file, nothing in it, or not the kind that was asked for."""


class PublishError(ValueError):
    """What cannot be published: its licence forbids it, or the repository cannot be written."""


class LoadError(ValueError):
    """Raised by ``on_error="raise"``: lists every issue of severity error.

    Attributes
    ----------
    issues : tuple of Issue
        Everything that was noticed, warnings and notes included.
    """

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.issues = tuple(issues)
        errors = [str(issue) for issue in issues if issue.severity == "error"]
        super().__init__("\n".join([f"{plural(len(errors), 'error')} while loading:", *errors]))
