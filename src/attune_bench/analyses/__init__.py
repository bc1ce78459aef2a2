"""The paper's analyses, a function and a table each; what one needs beside the scores is in `ANALYSES`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from attune_bench.analyses.drift import turn_drift
from attune_bench.analyses.gaps import branch_errors, perspective_gap, phrasing_gap
from attune_bench.analyses.groups import diagnosis_groups
from attune_bench.analyses.models import metric_correlation, win_rates
from attune_bench.analyses.modes import mode_differences, rank_shifts
from attune_bench.analyses.questions import question_agreement
from attune_bench.analyses.variance import conversation_difficulty, variance_split

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ANALYSES",
    "Analysis",
    "branch_errors",
    "conversation_difficulty",
    "diagnosis_groups",
    "metric_correlation",
    "mode_differences",
    "perspective_gap",
    "phrasing_gap",
    "question_agreement",
    "rank_shifts",
    "turn_drift",
    "variance_split",
    "win_rates",
]


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysis and what it needs.

    Attributes
    ----------
    function : callable
        ``function(scores, **needs, **options)``, which gives a frame.
    title : str
        For reports.
    needs : tuple of {"data", "runs"}
        The keywords it takes beside the scores.
    rows_need : str
        What scores must hold for the frame to have a row.
    """

    function: "Callable[..., pl.DataFrame]"
    title: str
    needs: tuple[Literal["data", "runs"], ...] = ()
    rows_need: str = "scores of at least one model"


_TWO_MODELS = "scores of at least two models in one mode"
_TWO_MODES = "scores of a model in at least two modes"

ANALYSES: Mapping[str, Analysis] = MappingProxyType(
    {
        "perspective_gap": Analysis(perspective_gap, "Perspective gap: OM minus HP accuracy"),
        "phrasing_gap": Analysis(phrasing_gap, "Phrasing gap: HP accuracy, asked as an observer minus HP-facing"),
        "turn_drift": Analysis(turn_drift, "Turn drift: late minus early third"),
        "diagnosis_groups": Analysis(
            diagnosis_groups,
            "Diagnosis groups, against no diagnosis",
            ("data",),
            "conversations of participants with and without a diagnosis",
        ),
        "metric_correlation": Analysis(metric_correlation, "Spearman's correlation of metrics across models"),
        "mode_differences": Analysis(mode_differences, "Differences between modes", rows_need=_TWO_MODES),
        "rank_shifts": Analysis(
            rank_shifts, "Shifts of rank between modes", rows_need="scores of two models in the same two modes"
        ),
        "win_rates": Analysis(win_rates, "Win rates", rows_need=_TWO_MODELS),
        "question_agreement": Analysis(
            question_agreement, "Agreement by question", ("data", "runs"), "binary questions with an answer"
        ),
        "branch_errors": Analysis(branch_errors, "Errors by branch"),
        "variance_split": Analysis(variance_split, "Variance between conversations and between models"),
        "conversation_difficulty": Analysis(conversation_difficulty, "Difficulty of conversations"),
    }
)
