"""What the commands of EIBench and of SAGE say alike: what was noticed about files, and points."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attune_data._text import plural

if TYPE_CHECKING:
    from attune_data.issues import Issue

__all__ = ["first_issue", "hundred", "issue_notes", "point", "points"]


def issue_notes(found: "Sequence[Issue]") -> list[str]:
    """Say what was noticed about the files, but failed episodes, which are counted."""
    listed = [issue for issue in found if issue.rule != "failed-episode"]
    counts = Counter(issue.severity for issue in listed)
    counted = [plural(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    return [f"{' and '.join(counted)} in the files{first_issue(listed)}."] if counted else []


def first_issue(found: "Sequence[Issue]") -> str:
    """Return the first of the worst findings, as the end of a sentence."""
    first = min((issue for issue in found if issue.severity != "note"), key=lambda issue: issue.severity, default=None)
    return f"; the first: {first.file} {first.path}: {first.message}; {first.consequence}" if first else ""


def hundred(value: float | None, *, signed: bool = False) -> str:
    """Return 100 times a value, with one decimal."""
    return point(None if value is None else 100 * value, signed=signed)


def point(value: float | None, *, signed: bool = False) -> str:
    # Adding 0 turns a rounded -0.0 into 0.0.
    return "-" if value is None else f"{round(value, 1) + 0.0:{'+' if signed else ''}.1f}"


def points(low: float | None, high: float | None, *, signed: bool = False) -> str:
    return "-" if low is None else f"[{point(low, signed=signed)}, {point(high, signed=signed)}]"
