"""Scores: what `score` returns and `scores.json` holds, as plain rows and as polars frames."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, NotRequired

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from typing_extensions import TypedDict

from attune_bench._version import __version__
from attune_bench.aggregates import Aggregate, aggregate
from attune_data import Issue, SourceError
from attune_data.issues import issues_frame

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ConversationScore", "CountScores", "Coverage", "PostScore", "Scores", "TurnScore"]


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


class ConversationScore(TypedDict):
    """The scores of one run: means over its turns, pooled counts, composites; null where undefined."""

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


class Metadata(TypedDict):
    """How the scores were made: protocol, library version, whether the data are synthetic, what was not scored."""

    protocol: str
    library_version: NotRequired[str]
    synthetic: NotRequired[bool]
    issues: NotRequired[list[Issue]]


class _File(TypedDict):
    metadata: Metadata
    conversations: list[ConversationScore]
    aggregates: list[dict[str, Any]]


@dataclass(frozen=True)
class Scores:
    """Scores per turn, per conversation, and per model and mode.

    Attributes
    ----------
    metadata : dict
        ``protocol``, ``library_version``, ``synthetic``, ``issues``.
    records : list of dict
        One per scored run, with the keys of ``scores.json``.
    aggregates : list of dict
        One per model and mode: each average's mean over conversations under its own name, ``<name>_n`` the number it
        rests on, ``<name>_se``, pooled counts, coverage, pillars, ``composite_z``.
    """

    metadata: Metadata
    records: Sequence[ConversationScore]
    aggregates: Sequence[Aggregate] = field(repr=False)

    @classmethod
    def of(
        cls, records: Sequence[ConversationScore], *, protocol: str, synthetic: bool, issues: Iterable[Issue] = ()
    ) -> "Scores":
        """Aggregate the records of scored runs."""
        metadata: Metadata = {
            "protocol": protocol,
            "library_version": __version__,
            "synthetic": synthetic,
            "issues": list(issues),
        }
        return cls(metadata, records, aggregate(records))

    def __repr__(self) -> str:
        conversations = len({record["conversationId"] for record in self.records})
        return (
            f"<Scores of {len(self.records)} runs: {len(self.aggregates)} models and modes on {conversations} "
            f"conversations, protocol {self.metadata['protocol']}>"
        )

    @property
    def issues(self) -> "pl.DataFrame":
        """The runs that were not scored, one row each, as in a collection's issues."""
        return issues_frame(self.metadata.get("issues", []))

    @cached_property
    def turns(self) -> "pl.DataFrame":
        """One row per turn of a run: identity, ``turnNumber``, every turn metric; counts as ``<task>_metrics_tp``."""
        return _frame(
            {**_identity(record), **turn} for record in self.records for turn in _flat_all(record["turn_scores"])
        )

    @cached_property
    def conversations(self) -> "pl.DataFrame":
        """One row per run: identity, averages, composites, post-conversation metrics, counts and coverage."""
        rows = []
        for record in self.records:
            row: dict[str, Any] = {k: v for k, v in record.items() if k not in ("turn_scores", "post_score")}
            row["turns"] = len(record["turn_scores"])
            rows.append(_flat({**_identity(record), **row, **(record["post_score"] or {})}))
        return _frame(rows)

    @cached_property
    def models(self) -> "pl.DataFrame":
        """One row per model and mode, in the order of `aggregates`."""
        return _frame(_flat_all(self.aggregates))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write ``scores.json``: nan as the text ``"NaN"``, which `read` turns back; never half a file."""
        target = Path(path)
        content = {"metadata": self.metadata, "conversations": self.records, "aggregates": self.aggregates}
        data = to_json(content, inf_nan_mode="strings")
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            try:
                file.write(data)
                file.close()
                Path(file.name).chmod(0o666 & ~_umask())
                Path(file.name).replace(target)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Scores":
        """Read a file of scores.

        Raises
        ------
        SourceError
            Where the file is not there or holds no scores.
        """
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise SourceError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            content = TypeAdapter(_File).validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the file"
            hint = "is it a file that `attune-bench score` wrote?"
            raise SourceError(f"{path}: {place}: {first['msg']}; {hint}") from None
        rows = [{k: nan if v == "NaN" else v for k, v in row.items()} for row in content["aggregates"]]
        return cls(content["metadata"], content["conversations"], rows)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _identity(record: ConversationScore) -> dict[str, Any]:
    return {key: record.get(key) for key in ("conversationId", "participant_id", "em_model", "mode")}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}_{inner}": item for inner, item in _flat(value).items()}
        else:
            flat[key] = value
    return flat


def _flat_all(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [_flat(row) for row in rows]


_TEXT = frozenset(("conversationId", "participant_id", "em_model", "mode", "source_file"))
_INTEGER_ENDINGS = ("_tp", "_tn", "_fp", "_fn", "_n", "_present", "_expected")
_INTEGERS = frozenset(("turnNumber", "turns", "n_conversations", "n_participants"))


def _frame(rows: Iterable[Mapping[str, Any]]) -> "pl.DataFrame":
    """Return rows as a frame whose dtypes follow from the names, so that a column of nulls has a type too."""
    import polars as pl

    table = list(rows)
    names = dict.fromkeys(name for row in table for name in row)
    schema: dict[str, Any] = {}
    for name in names:
        integer = name in _INTEGERS or name.endswith(_INTEGER_ENDINGS)
        schema[name] = pl.String if name in _TEXT else pl.Int64 if integer else pl.Float64
    return pl.DataFrame({name: [row.get(name) for row in table] for name in names}, schema=schema)
