"""What the commands of EIBench and of SAGE share: reading, what was noticed about files, points, tables of pairs."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, TypeVar

from attune_bench._usage import emit
from attune_bench.report import Format
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.stats_tables import Column, StatsTable
    from attune_data import Collection, Episode, SageDialogue
    from attune_data.issues import Issue

__all__ = [
    "PAIRS_NOTE",
    "emit_tables",
    "first_issue",
    "hundred",
    "hundreds",
    "issue_notes",
    "pair_columns",
    "pairs_title",
    "point",
    "points",
    "read_all",
]

T = TypeVar("T", "Episode", "SageDialogue")

PAIRS_NOTE = (
    "Difference: A minus B on the n scenarios of both, with its 95% interval by resampling scenarios. p: exchanging A "
    "and B within scenarios. Holm: p corrected for the pairs. Detectable: the smallest true difference found with 80% "
    "power at an uncorrected 0.05."
)


def read_all(load: "Callable[..., Collection[T]]", sources: Sequence[str], progress: Any) -> "Collection[T]":
    """Return the records of all sources in one collection."""
    return reduce(or_, (load(source, progress=progress) for source in sources))


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


def point(value: float | None, *, signed: bool = False) -> str:
    """Return a value with one decimal; ``-`` where there is none."""
    # Adding 0 turns a rounded -0.0 into 0.0.
    return "-" if value is None else f"{round(value, 1) + 0.0:{'+' if signed else ''}.1f}"


def points(low: float | None, high: float | None, *, signed: bool = False) -> str:
    """Return the two ends of an interval, as `point` does."""
    return "-" if low is None else f"[{point(low, signed=signed)}, {point(high, signed=signed)}]"


def hundred(value: float | None, *, signed: bool = False) -> str:
    """Return 100 times a value, as `point` does."""
    return point(None if value is None else 100 * value, signed=signed)


def hundreds(low: float | None, high: float | None, *, signed: bool = False) -> str:
    """Return 100 times the two ends of an interval, as `point` does."""
    return "-" if low is None else f"[{hundred(low, signed=signed)}, {hundred(high, signed=signed)}]"


def pairs_title(pairs: "pl.DataFrame") -> str:
    """Return how many pairs of a Holm family are told apart."""
    return f"told apart {pairs['told_apart'].sum()} of {pairs.height} (Holm p < 0.05, family of {pairs['p'].count()})"


def pair_columns(*, times_100: bool) -> "list[Column]":
    """Return the columns of a table of pairs, their differences as they are or 100 times."""
    from attune_bench.stats_tables import Column, p_value

    one, both = (hundred, hundreds) if times_100 else (point, points)
    return [
        Column("A", lambda row: row["model_a"], is_name=True),
        Column("B", lambda row: row["model_b"], is_name=True),
        Column("difference", lambda row: one(row["difference"], signed=True)),
        Column("95% interval", lambda row: both(row["low"], row["high"], signed=True)),
        Column("p", lambda row: p_value(row["p"])),
        Column("Holm", lambda row: p_value(row["p_holm"])),
        Column("n", lambda row: str(row["n"])),
        Column("detectable", lambda row: one(row["detectable"])),
    ]


def emit_tables(whole: "StatsTable", parts: "Sequence[StatsTable]", format: Format) -> None:  # noqa: A002
    """Print the whole as CSV or JSON, or its parts as text, with the signature below the last of them."""
    from attune_bench.stats_tables import render

    if format in {"csv", "json"}:
        emit(render(whole, format=format))
        return
    *above, last = parts
    emit("\n\n".join(render(part, format=format) for part in (*(replace(it, signature=None) for it in above), last)))
