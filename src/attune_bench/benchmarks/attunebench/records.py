"""The rows of ``scores.json``, by their keys there, and as the columns of a frame."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from attune_data import Issue
from attune_metrics.attunebench.emotion import NEGATIVE_AFFECT, POSITIVE_AFFECT
from attune_metrics.attunebench.holistic import BRANCHES

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "AVERAGED",
    "CELLS",
    "COUNTS",
    "IDENTITY",
    "OUTCOMES",
    "TASKS",
    "TURN_KEYS",
    "CallCounts",
    "ConversationScore",
    "CountScores",
    "Coverage",
    "Metadata",
    "PostScore",
    "TurnScore",
    "frame",
]

# Keys that this version does not know are kept.
_OPEN = with_config(ConfigDict(extra="allow"))

IDENTITY = ("conversationId", "participant_id", "em_model", "mode")
TASKS = ("binary_om", "binary_human", "binary_om_hp", "binary_human_hp", "pairwise", "panas")


@_OPEN
class CountScores(TypedDict):
    """Binary counts, and the scores that follow from them."""

    tp: int
    tn: int
    fp: int
    fn: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    mcc: float


class Coverage(TypedDict):
    """Predictions present, of the ground-truth questions that count."""

    present: int
    expected: int


class CallCounts(TypedDict):
    """Calls by how the answer was read: at first, after repair of its text, after asking again, or not at all."""

    parsed: int
    repaired: int
    retried: int
    failed: int


@_OPEN
class TurnScore(TypedDict):
    """The metrics of one turn; null where undefined, or where the HP-facing phrasing was not asked."""

    turnNumber: int
    emotion_hit_rate: float
    emotion_intensity_mae: float | None
    emotion_precision: float
    emotion_recall: float
    emotion_f1: float
    emotion_f1_intensity: float
    emotion_va_score: float
    emotion_va_intensity_score: float
    binary_om_accuracy: float
    binary_human_accuracy: float
    binary_om_metrics: CountScores
    binary_human_metrics: CountScores
    binary_om_accuracy_hp: float | None
    binary_human_accuracy_hp: float | None
    binary_om_metrics_hp: CountScores | None
    binary_human_metrics_hp: CountScores | None
    pairwise_accuracy: float
    pairwise_kendall_tau: float | None
    response_similarity: float
    response_similarity_original: float
    response_similarity_llm_improved: float
    response_similarity_human_edited: float
    response_preference_alignment: float
    draft_judge_score: float | None
    draft_binary_alignment: float | None


@_OPEN
class PostScore(TypedDict):
    """The metrics of what is predicted after the last turn."""

    panas_mae: float | None
    panas_normalized: float | None
    panas_pa_mae: float | None
    panas_na_mae: float | None
    panas_pa_normalized: float | None
    panas_na_normalized: float | None
    panas_pa_baseline_adjusted: float | None
    panas_na_baseline_adjusted: float | None
    panas_baseline_adjusted: float | None
    panas_item_baseline_adjusted: float | None
    panas_item_mae: float | None
    panas_item_normalized: float | None
    panas_item_errors: dict[str, float]
    q1_looking_for_score: float
    q2_emotion_clarity_match: float
    q3_model_fit_match: float
    q3_model_fit_ordinal_distance: float
    q3_follow_up_score: float
    four_branch_mae: float
    four_branch_normalized: float
    four_branch_per_branch: dict[str, float]


@_OPEN
class ConversationScore(TypedDict):
    """The scores of one run: means over its turns, pooled counts, composites; null where undefined.

    ``calls`` is there where the run file says how its answers were read.
    """

    conversationId: str
    mode: str
    em_model: str
    participant_id: NotRequired[str | None]
    source_file: NotRequired[str | None]
    turn_scores: list[TurnScore]
    post_score: PostScore | None
    avg_emotion_hit_rate: float | None
    avg_emotion_hit_rate_tagged_only: float | None
    avg_emotion_intensity_mae: float | None
    avg_emotion_f1: float | None
    avg_emotion_f1_intensity: float | None
    avg_emotion_va_score: float | None
    avg_emotion_va_intensity_score: float | None
    avg_binary_om_accuracy: float | None
    avg_binary_human_accuracy: float | None
    avg_binary_om_accuracy_hp: float | None
    avg_binary_human_accuracy_hp: float | None
    avg_pairwise_accuracy: float | None
    avg_pairwise_kendall_tau: float | None
    avg_response_similarity: float | None
    avg_response_similarity_original: float | None
    avg_response_similarity_llm_improved: float | None
    avg_response_similarity_human_edited: float | None
    avg_response_preference_alignment: float | None
    avg_draft_judge_score: float | None
    avg_draft_binary_alignment: float | None
    avg_four_branch_mae: float | None
    pooled_binary_om_metrics: CountScores
    pooled_binary_human_metrics: CountScores
    pooled_binary_om_metrics_hp: CountScores | None
    pooled_binary_human_metrics_hp: CountScores | None
    hp_perspective_gap: float | None
    hp_perspective_alignment: float | None
    hp_perspective_gap_mcc: float | None
    hp_perspective_alignment_mcc: float | None
    turn_level_average: float | None
    conversation_wide_average: float | None
    composite_score: float | None
    equal_weight_composite: float | None
    coverage: NotRequired[dict[str, Coverage]]
    calls: NotRequired[CallCounts]


@_OPEN
class Metadata(TypedDict):
    """How the scores were made: protocol, library version, whether the data are synthetic, what was not scored.

    ``codebook``, ``data`` and ``runs`` are hashes of the bundled codebook, of the conversations and of the runs;
    `attune_bench.stats.signing` makes them.
    """

    protocol: str
    library_version: NotRequired[str]
    synthetic: NotRequired[bool]
    issues: NotRequired[list[Issue]]
    codebook: NotRequired[str]
    data: NotRequired[str]
    runs: NotRequired[str]


COUNTS = tuple(CountScores.__annotations__)
CELLS = ("tp", "tn", "fp", "fn")
AVERAGED = tuple(name for name in TurnScore.__annotations__ if f"avg_{name}" in ConversationScore.__annotations__)
"""The metrics of turns of which a conversation has the mean, ``avg_<name>``."""

_COUNTED = tuple(name for name in TurnScore.__annotations__ if f"pooled_{name}" in ConversationScore.__annotations__)
TURN_KEYS: Mapping[str, str] = {
    **{f"avg_{name}": name for name in AVERAGED},
    **{f"pooled_{name}.{score}": name for name in _COUNTED for score in COUNTS if score not in CELLS},
}
"""The metrics of conversations that are made of turns, and the key of a turn that has what they are made of."""
OUTCOMES = tuple(CallCounts.__annotations__)

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
