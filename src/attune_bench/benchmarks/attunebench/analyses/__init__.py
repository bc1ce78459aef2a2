"""The paper's analyses, a function and a table each; what one needs beside the scores is in `ANALYSES`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from attune_bench.benchmarks.attunebench.aggregates import IN_COMPOSITE
from attune_bench.benchmarks.attunebench.analyses.drift import DRIFTING, turn_drift
from attune_bench.benchmarks.attunebench.analyses.gaps import branch_errors, perspective_gap, phrasing_gap
from attune_bench.benchmarks.attunebench.analyses.groups import diagnosis_groups
from attune_bench.benchmarks.attunebench.analyses.models import metric_correlation, win_rates
from attune_bench.benchmarks.attunebench.analyses.modes import mode_differences, rank_shifts
from attune_bench.benchmarks.attunebench.analyses.questions import question_agreement
from attune_bench.benchmarks.attunebench.analyses.variance import conversation_difficulty, variance_split
from attune_bench.benchmarks.attunebench.records import TASKS
from attune_metrics.attunebench.holistic import BRANCHES

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """An analysis, what it needs, and what a report says of it.

    Attributes
    ----------
    function : callable
        ``function(scores, **needs, **options)``, which gives a frame.
    title : str
        Heading.
    note : str
        What the numbers are, in a sentence or two.
    metrics : tuple of str
        What it is about where no other metrics are asked for.
    needs : tuple of {"data", "runs"}
        The keywords it takes beside the scores: the conversations, the runs.
    rows_need : str
        What scores must hold for the frame to have a row.
    """

    function: "Callable[..., pl.DataFrame]"
    title: str
    note: str
    metrics: tuple[str, ...]
    needs: tuple[Literal["data", "runs"], ...] = ()
    rows_need: str = "scores of at least one model"


_RESAMPLED = "95% intervals by resampling participants (expanded percentile)."
_EXCHANGED = f"{_RESAMPLED} p: exchanging the two sides within participants. Holm: p corrected for the"

ANALYSES: Mapping[str, Analysis] = MappingProxyType(
    {
        "perspective_gap": Analysis(
            function=perspective_gap,
            title="Perspective gap",
            note=f"Gap: accuracy on what the original model did (OM) minus on what the participant wanted (HP). "
            f"{_EXCHANGED} models of a mode.",
            metrics=("avg_binary_om_accuracy", "avg_binary_human_accuracy"),
        ),
        "phrasing_gap": Analysis(
            function=phrasing_gap,
            title="Phrasing gap",
            note=f"Gap: accuracy on what the participant wanted, asked as an observer minus asked as the participant. "
            f"{_EXCHANGED} models of a mode.",
            metrics=("avg_binary_human_accuracy", "avg_binary_human_accuracy_hp"),
        ),
        "turn_drift": Analysis(
            function=turn_drift,
            title="Turn drift",
            note=f"Means over conversations of at least three turns, by third; drift: late minus early. "
            f"{_EXCHANGED} models of a mode.",
            metrics=DRIFTING,
        ),
        "diagnosis_groups": Analysis(
            function=diagnosis_groups,
            title="Diagnosis groups",
            note="Difference: the group minus the conversations of participants without a diagnosis, unpaired. Groups "
            f"overlap: a participant can have several diagnoses, and any holds all. {_RESAMPLED} Holm: p corrected for "
            "the groups. few: fewer than 20 participants. too few: fewer than 5, no interval.",
            metrics=IN_COMPOSITE,
            needs=("data",),
            rows_need="conversations of participants with a diagnosis",
        ),
        "metric_correlation": Analysis(
            function=metric_correlation,
            title="Correlation of metrics across models",
            note=f"rho: Spearman's, of the models' aggregates. {_RESAMPLED} The models are fixed.",
            metrics=IN_COMPOSITE,
            rows_need="scores of at least three models in one mode",
        ),
        "mode_differences": Analysis(
            function=mode_differences,
            title="Differences between modes",
            note=f"Difference: the mode minus the reference, on the conversations of both. {_EXCHANGED} models.",
            metrics=IN_COMPOSITE,
            rows_need="scores of a model in at least two modes",
        ),
        "rank_shifts": Analysis(
            function=rank_shifts,
            title="Shifts of rank between modes",
            note=f"Shift: places won against the reference, among the models that have both modes. {_RESAMPLED}",
            metrics=("composite_score",),
            rows_need="scores of at least two models in the same two modes",
        ),
        "win_rates": Analysis(
            function=win_rates,
            title="Win rates",
            note=f"Rate: the share of conversations on which A is nearer the truth than B, ties half. {_RESAMPLED}",
            metrics=("avg_pairwise_accuracy",),
            rows_need="scores of at least two models in one mode",
        ),
        "question_agreement": Analysis(
            function=question_agreement,
            title="Agreement by question",
            note="Agreement: the share of answers that are the participant's, a missing one being a no; coverage: the "
            f"share that is not missing. {_RESAMPLED}",
            metrics=tuple(f"pooled_{name}_metrics{hp}.accuracy" for hp in ("", "_hp") for name in TASKS[:2]),
            needs=("data", "runs"),
            rows_need="binary questions that participants answered",
        ),
        "branch_errors": Analysis(
            function=branch_errors,
            title="Errors by branch",
            note=f"MAE on the scale of 1 to 7; lower is better. {_RESAMPLED}",
            metrics=tuple(f"four_branch_{branch}_mae" for branch in BRANCHES),
        ),
        "variance_split": Analysis(
            function=variance_split,
            title="Variance between conversations and between models",
            note="Method of moments on the conversations that every model has; models are fixed. The residual holds "
            f"both error and what a conversation adds for one model only: they cannot be told apart. {_RESAMPLED}",
            metrics=IN_COMPOSITE,
        ),
        "conversation_difficulty": Analysis(
            function=conversation_difficulty,
            title="Difficulty of conversations",
            note="Mean and standard deviation over the models.",
            metrics=("composite_score",),
        ),
    }
)
