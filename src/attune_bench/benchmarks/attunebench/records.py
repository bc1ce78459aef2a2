"""The parts of ``scores.json`` by their keys there, and its rows as the columns of a frame."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from attune_bench.benchmarks.attunebench.conversation_score import (
    AVERAGED,
    ConversationScore,
    CountScores,
    TurnScore,
)
from attune_bench.benchmarks.attunebench.coverage import OUTCOMES, TASKS
from attune_data import Issue
from attune_metrics.attunebench.emotion import NEGATIVE_AFFECT, POSITIVE_AFFECT
from attune_metrics.attunebench.holistic import BRANCHES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CELLS", "COUNTS", "IDENTITY", "TURN_KEYS", "Metadata", "frame"]

IDENTITY = ("conversationId", "participant_id", "em_model", "mode")


@with_config(ConfigDict(extra="allow"))
class Metadata(TypedDict):
    """How the scores were made: protocol, library version, whether the data are synthetic, what was not scored.

    ``notes`` are sentences that stand under every table; the key is absent without any. ``codebook``, ``data`` and
    ``runs`` are hashes of the bundled codebook, of the conversations and of the runs, which signatures carry.
    """

    protocol: str
    library_version: NotRequired[str]
    synthetic: NotRequired[bool]
    issues: NotRequired[list[Issue]]
    notes: NotRequired[list[str]]
    codebook: NotRequired[str]
    data: NotRequired[str]
    runs: NotRequired[str]


COUNTS = tuple(CountScores.__annotations__)
CELLS = ("tp", "tn", "fp", "fn")
_COUNTED = tuple(name for name in TurnScore.__annotations__ if f"pooled_{name}" in ConversationScore.__annotations__)
TURN_KEYS: Mapping[str, str] = {
    **{f"avg_{name}": name for name in AVERAGED},
    **{f"pooled_{name}.{score}": name for name in _COUNTED for score in COUNTS if score not in CELLS},
}
"""The metrics of conversations that are made of turns, and the key of a turn that has what they are made of."""

# Objects within a row, and the keys that each becomes columns for, whether a row has them or not.
_PARTS: Mapping[str, tuple[str, ...]] = {
    "panas_item_errors": (*POSITIVE_AFFECT, *NEGATIVE_AFFECT),
    "four_branch_per_branch": BRANCHES,
    **dict.fromkeys(TASKS, ("present", "expected")),
    "calls": OUTCOMES,
}
_TEXT = frozenset((*IDENTITY, "source_file"))
_INTEGERS = frozenset(
    ("turnNumber", "turns", "n_conversations", "n_participants", *(f"calls_{outcome}" for outcome in OUTCOMES))
)
_INTEGER_ENDINGS = ("_tp", "_tn", "_fp", "_fn", "_n", "_present", "_expected")


def _paths(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the numbers below a key; a key that holds no object is its own path."""
    if name.endswith(("_metrics", "_metrics_hp")):
        parts: tuple[str, ...] = COUNTS
    else:
        parts = _PARTS.get(name, ())
    if name == "coverage":
        yield from (("coverage", task, part) for task in TASKS for part in _PARTS[task])
    elif parts:
        yield from ((name, part) for part in parts)
    else:
        yield (name,)


def _dig(row: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if row is None:
            return None
        row = row.get(key)
    return row


def frame(rows: Iterable[Mapping[str, Any]], names: Iterable[str]) -> "pl.DataFrame":
    """Return rows as a frame with a fixed schema: a column per name, objects spread over columns of their own.

    The dtype follows from the name, so that a column of nulls has one too.
    """
    import polars as pl

    table = list(rows)
    columns, schema = {}, {}
    for path in (path for name in names for path in _paths(name)):
        column = "_".join(path)
        integer = column in _INTEGERS or column.endswith(_INTEGER_ENDINGS)
        columns[column] = [_dig(row, path) for row in table]
        schema[column] = pl.String if column in _TEXT else pl.Int64 if integer else pl.Float64
    return pl.DataFrame(columns, schema=schema)
